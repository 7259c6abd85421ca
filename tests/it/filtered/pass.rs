//! One pass of a row reader under random filters, with its columns loaded at once, in part, or
//! never.

use dwio::adaptation::ScanAdaptation;
use dwio::config::Config;
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::{
    Payload, ReadOutcome, ReadRequest, ReadRows, ReaderFactory, ReaderParams, RowReader,
    RowReaderParams,
};
use dwio::scan_spec::{BoundColumn, ScanSpec, SplitBinding};
use format_parquet::ParquetReaderFactory;
use ocior::output::{OutputFormat, batch_writer};
use vector::sync::Arc;
use vector::{
    DecodedVector, MemoryPool, Result as Outcome, RowSet, RowType, RowVector, VectorRef, is_loaded,
    load_rows,
};

use super::filters::random_filter;
use super::values::Table;
use super::wanted::{Wanted, random_columns, samples};
use crate::random_files::one_of;
use crate::support::random::Random;

/// Number of recent columns that are compared again between reads; all of them are compared at the
/// end.
const MOST_RECENT: usize = 3;

/// Reads `file` in a random way and returns an error for a difference to `table`.
pub(super) fn check(table: &Table, file: &[u8], random: &mut Random) -> Result<(), String> {
    let pool = MemoryPool::root("filtered", u64::MAX);
    check_in(&pool, table, file, random)?;
    match pool.used() {
        0 => Ok(()),
        bytes => Err(format!("{bytes} bytes are still held when everything is dropped")),
    }
}

fn check_in(
    pool: &MemoryPool,
    table: &Table,
    file: &[u8],
    random: &mut Random,
) -> Result<(), String> {
    let files = MemoryFiles::new();
    files.put("f.parquet", file.to_vec());
    let leaf = pool.leaf("reader");
    let input = BufferedInput::new(files.open("f.parquet").map_err(told)?, leaf.clone());
    let params = ReaderParams { options: Config::new(), pool: leaf, file_schema: None };
    let reader = ParquetReaderFactory::default().open(input, params).map_err(told)?;
    let columns = random_columns(table, reader.row_type(), random);
    let bound = columns.iter().map(|c| BoundColumn::File { ordinal: c.place.column }).collect();
    let spec = Arc::new(ScanSpec::new(columns.iter().map(|c| c.spec.clone()).collect()));
    let binding = Arc::new(SplitBinding::new(bound));
    let described = format!("{:?}", spec.columns());
    let mut pass = Pass {
        table,
        adaptation: ScanAdaptation::new(columns.len()),
        columns,
        next_row: 0,
        kept: Vec::new(),
        late: Vec::new(),
    };
    // A row group belongs to the range that contains its start.
    let len = file.len() as u64;
    let cut = if random.once_in(5) { random.below(len) } else { len };
    for range in [0..cut, cut..len] {
        let params = RowReaderParams::new(Arc::clone(&spec), Arc::clone(&binding), range);
        let outcome = reader
            .row_reader(params)
            .map_err(told)
            .and_then(|mut rows| pass.run(rows.as_mut(), random));
        outcome.map_err(|wrong| format!("{wrong}\n with {described}"))?;
    }
    pass.skip_to(table.num_rows()).and_then(|()| pass.check_kept(usize::MAX))
}

fn told(error: vector::Error) -> String {
    format!("an error: {error}")
}

/// A column that was loaded, with its expected text.
struct Kept {
    vector: VectorRef,
    rows: RowSet,
    lines: Vec<String>,
}

/// State of the pass, and the rows that it must return.
struct Pass<'a> {
    table: &'a Table,
    columns: Vec<Wanted>,
    adaptation: ScanAdaptation,
    /// The first row that has been neither returned nor skipped.
    next_row: usize,
    kept: Vec<Kept>,
    /// Lazy columns of the last batch that were not loaded.
    late: Vec<VectorRef>,
}

impl Pass<'_> {
    fn run(&mut self, rows: &mut dyn RowReader, random: &mut Random) -> Result<(), String> {
        let most = one_of(random, &[1, 3, 10, 100, 1_000, 5_000, 100_000]);
        let max_rows = if self.table.num_rows() > 1_000 { most.max(100) } else { most };
        loop {
            if random.once_in(8) {
                self.narrow(random);
            }
            let payload = if random.once_in(2) { Payload::Lazy } else { Payload::Eager };
            let request = ReadRequest { max_rows, adaptation: &mut self.adaptation, payload };
            let outcome = rows.next(request).map_err(told)?;
            self.check_late()?;
            if random.once_in(4) {
                self.check_kept(MOST_RECENT)?;
            }
            match outcome {
                ReadOutcome::End => return Ok(()),
                ReadOutcome::Rows(read) => self.take(read, max_rows, random)?,
            }
        }
    }

    /// Adds a late filter to one of the returned columns.
    fn narrow(&mut self, random: &mut Random) {
        let at = random.below(self.columns.len() as u64) as usize;
        let column = &mut self.columns[at];
        if column.spec.channel.is_none() {
            return;
        }
        let samples = samples(self.table, &column.place, random);
        let (filter, model) = random_filter(&column.spec.ty, &samples, random);
        let earlier = self.adaptation.dynamic_filter(at).or(column.spec.filter.as_ref());
        let merged = match earlier {
            Some(earlier) => match earlier.merge(&filter) {
                Ok(merged) => merged,
                // Patterns cannot be merged with ranges; a scan continues without such a filter.
                Err(_) if earlier.to_string().contains("like") => return,
                Err(_) if filter.to_string().contains("like") => return,
                Err(error) => panic!("filters of one column merge: {error}"),
            },
            None => filter,
        };
        self.adaptation.set_dynamic_filter(at, Arc::new(merged));
        column.narrow(model);
    }

    fn passes(&self, row: usize) -> bool {
        self.columns.iter().all(|column| column.passes(self.table, row))
    }

    /// Checks that no row up to `row`, which the reader has skipped, passes the filters.
    fn skip_to(&mut self, row: usize) -> Result<(), String> {
        if let Some(lost) = (self.next_row..row).find(|row| self.passes(*row)) {
            return Err(format!("row {lost} passes and was passed over"));
        }
        self.next_row = row;
        Ok(())
    }

    fn take(&mut self, read: ReadRows, max_rows: usize, random: &mut Random) -> Result<(), String> {
        let first = read.first_row as usize;
        let window = first..first + read.scanned;
        if first < self.next_row || window.end > self.table.num_rows() {
            let next = self.next_row;
            return Err(format!("window {window:?} when rows from {next} on were awaited"));
        }
        if read.scanned == 0 || read.scanned > max_rows {
            return Err(format!("window {window:?} when {max_rows} rows at most were asked for"));
        }
        self.skip_to(first)?;
        self.next_row = window.end;
        let want: Vec<usize> = window.clone().filter(|row| self.passes(*row)).collect();
        let got: Vec<usize> = read.selected.iter().map(|row| first + row).collect();
        if want != got {
            let differs = |row: &usize| want.contains(row) != got.contains(row);
            let row = window.clone().find(differs);
            return Err(format!("of window {window:?}: row {row:?} is right in one only"));
        }
        vector::check_batch(&read.batch).map_err(told)?;
        self.take_columns(&read.batch, &want, random)
            .map_err(|wrong| format!("window {window:?}: {wrong}"))
    }

    /// Loads the columns of a batch in any order, each in a different way.
    fn take_columns(
        &mut self,
        batch: &RowVector,
        rows: &[usize],
        random: &mut Random,
    ) -> Result<(), String> {
        let given: Vec<usize> =
            (0..self.columns.len()).filter(|i| self.columns[*i].spec.channel.is_some()).collect();
        if batch.children().len() != given.len() || batch.len() != rows.len() {
            return Err(format!("{} columns, {} rows", batch.children().len(), batch.len()));
        }
        let mut order: Vec<usize> = (0..given.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u64 + 1) as usize);
        }
        for child in order {
            let (column, vector) = (given[child], &batch.children()[child]);
            if !vector.ty().is_equivalent(&self.columns[column].spec.ty) {
                return Err(format!("column {column} is of type {}", vector.ty()));
            }
            let looked_at = match random.below(6) {
                0 if !is_loaded(vector) => {
                    self.late.push(Arc::clone(vector));
                    continue;
                }
                0 | 1 => continue,
                2 => RowSet::from_positions(
                    (0..rows.len() as u32).filter(|_| random.once_in(3)).collect(),
                ),
                _ => RowSet::all(rows.len()),
            };
            self.look(column, vector, looked_at, rows)
                .map_err(|wrong| format!("column {column}: {wrong}"))?;
        }
        Ok(())
    }

    fn look(
        &mut self,
        column: usize,
        vector: &VectorRef,
        looked_at: RowSet,
        rows: &[usize],
    ) -> Result<(), String> {
        let lines = lines(vector, &looked_at).map_err(told)?;
        vector::check(vector).map_err(told)?;
        for (at, line) in looked_at.iter().zip(&lines) {
            let row = rows[at];
            let want = self.columns[column].text(self.table, row);
            if *line != want {
                return Err(format!("row {row}:\n got  {line}\n want {want}"));
            }
        }
        self.kept.push(Kept { vector: Arc::clone(vector), rows: looked_at, lines });
        Ok(())
    }

    /// Checks that lazy columns cannot be loaded after the reader has moved on.
    fn check_late(&mut self) -> Result<(), String> {
        for vector in self.late.drain(..) {
            if load_rows(&vector, &RowSet::all(vector.len())).is_ok() && !vector.is_empty() {
                return Err("a column was loaded after the reader had moved on".to_string());
            }
        }
        Ok(())
    }

    /// Checks that the last loaded columns are unchanged at the current position of the reader.
    fn check_kept(&self, most: usize) -> Result<(), String> {
        for kept in self.kept.iter().rev().take(most) {
            let now = lines(&kept.vector, &kept.rows).map_err(told)?;
            if now != kept.lines {
                return Err("a batch has changed after the reader had moved on".to_string());
            }
        }
        Ok(())
    }
}

/// Returns rows of a column as canonical text, after loading these rows.
fn lines(vector: &VectorRef, rows: &RowSet) -> Outcome<Vec<String>> {
    let decoded = DecodedVector::for_rows(vector, rows)?;
    let values = rows.iter().map(|row| decoded.value(row)).collect::<Outcome<Vec<_>>>()?;
    let column = vector::build::vector_of(vector.ty(), values.iter())?;
    let row_type = Arc::new(RowType::new([("c", vector.ty().clone())]));
    let batch = RowVector::batch(Arc::clone(&row_type), values.len(), vec![column])?;
    let mut bytes = Vec::new();
    let mut writer =
        batch_writer(OutputFormat::CanonicalJsonLines, &row_type, Box::new(&mut bytes))?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    let text = String::from_utf8(bytes).expect("JSON is text");
    let inner = |line: &str| line[r#"{"c":"#.len()..line.len() - 1].to_string();
    Ok(text.lines().map(inner).collect())
}
