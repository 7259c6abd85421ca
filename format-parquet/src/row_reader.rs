//! One pass over a file: row groups, windows, filters.
//!
//! ```text
//! row groups of the range -> rows that metadata leaves (read_plan) -> chunks of the wanted leaves
//! loaded -> windows of at most max_rows:
//!
//!   filter columns   read the window, drop rows           nothing left: the rest is skipped
//!   other columns    read from the first row that passed to the last, then pick
//! ```
//!
//! A row group belongs to the pass whose byte range its first page lies in. Without any column to
//! read, windows follow from the footer alone.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

use dwio::adaptation::{FilterCost, ScanAdaptation};
use dwio::filter::Filter;
use dwio::input::BufferedInput;
use dwio::reader::{ReadOutcome, ReadRequest, ReadRows, RowReader, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ColumnSpec, FieldSpec, NestedSpec};
use vector::sync::Arc;
use vector::{
    DecodedVector, DictionaryVector, Error, MemoryPool, Result, ResultExt, RowSet, RowType,
    RowVector, SelectivityVector, Vector, VectorRef,
};

use crate::chunk_pages::{chunk_params, chunk_region};
use crate::column::ColumnReader;
use crate::footer::Footer;
use crate::read_plan::{ColumnFilter, wanted_rows};
use crate::thrift::structs::{ColumnMetaData, RowGroup};

/// Rows are picked by copying when fewer than one in so many passed, else by wrapping.
const MIN_ROWS_TO_WRAP: usize = 4;

/// One pass over a Parquet file.
pub(crate) struct ParquetRowReader {
    footer: Arc<Footer>,
    input: BufferedInput,
    params: RowReaderParams,
    verifies_checksums: bool,
    /// One entry for each column of the spec that the file has.
    columns: Vec<BoundReader>,
    output_type: Arc<RowType>,
    /// Row groups of the range that are not started yet, with the file row they start at.
    row_groups: std::vec::IntoIter<(usize, u64)>,
    current: Option<CurrentGroup>,
}

struct BoundReader {
    /// Position in the spec.
    index: usize,
    /// Position in the file, for columns that are not read before somebody filters by them.
    ordinal: usize,
    reader: Option<ColumnReader>,
}

/// The row group that is being read.
struct CurrentGroup {
    number: usize,
    /// The file row of its first row.
    first_row: u64,
    /// The row that the column readers stand at, counted from the first one.
    next_row: u64,
    /// The rows that are still to be scanned; the first range may be begun.
    ranges: VecDeque<Range<u64>>,
}

impl ParquetRowReader {
    pub(crate) fn new(
        footer: Arc<Footer>,
        input: BufferedInput,
        params: RowReaderParams,
        pool: &MemoryPool,
    ) -> Result<Self> {
        let mut columns = Vec::new();
        let mut output = Vec::new();
        for (index, spec) in params.spec.columns().iter().enumerate() {
            let bound = params.binding.column(index).ok_or_else(|| {
                Error::internal("the split binds fewer columns than the scan has")
                    .with("column", &spec.name)
            })?;
            let BoundColumn::File { ordinal } = *bound else { continue };
            let is_read = spec.channel.is_some() || spec.has_filter();
            let reader = match is_read {
                true => {
                    let wanted = (spec, params.binding.nested(index));
                    Some(ColumnReader::new(&footer.schema, ordinal, wanted, pool)?)
                }
                false => None,
            };
            columns.push(BoundReader { index, ordinal, reader });
            if spec.channel.is_some() {
                output.push((spec.name.clone(), spec.ty.clone()));
            }
        }
        let row_groups = row_groups_of(&footer, &params.range)?.into_iter();
        Ok(ParquetRowReader {
            footer,
            input,
            params,
            verifies_checksums: false,
            columns,
            output_type: Arc::new(RowType::new(output)),
            row_groups,
            current: None,
        })
    }

    /// Compares pages with their checksums, if `yes`.
    pub(crate) fn verifying_checksums(mut self, yes: bool) -> Self {
        self.verifies_checksums = yes;
        self
    }

    /// The filters that metadata can be asked about.
    fn column_filters(&self, adaptation: &ScanAdaptation) -> Vec<ColumnFilter> {
        let filters = self.columns.iter().filter_map(|column| {
            let spec = self.params.spec.columns().get(column.index)?;
            // The dynamic filter has the static one merged into it.
            let filter = adaptation.dynamic_filter(column.index).or(spec.filter.as_ref())?;
            ColumnFilter::new(self.footer.schema.columns().get(column.ordinal)?, filter, &spec.ty)
        });
        filters.collect()
    }

    /// Moves on to the next row group with rows that may pass; false when there is none.
    fn start_row_group(&mut self, adaptation: &ScanAdaptation) -> Result<bool> {
        let readers = self.columns.iter_mut().filter_map(|column| column.reader.as_mut());
        readers.for_each(ColumnReader::end_row_group);
        self.input.release();
        let filters = self.column_filters(adaptation);
        loop {
            let Some((number, first_row)) = self.row_groups.next() else { return Ok(false) };
            let Some(group) = self.footer.row_groups().get(number) else {
                return Err(Error::internal("no such row group"));
            };
            if group.num_rows == 0 {
                continue;
            }
            let wanted = wanted_rows(&self.footer, &self.input, number, &filters)
                .in_place("row group", number)?;
            if wanted.is_empty() {
                continue;
            }
            self.load(number)?;
            let ranges = wanted.ranges().iter().cloned().collect();
            self.current = Some(CurrentGroup { number, first_row, next_row: 0, ranges });
            return Ok(true);
        }
    }

    /// Loads the chunks of all columns and hands them to their readers.
    fn load(&mut self, number: usize) -> Result<()> {
        let ParquetRowReader { footer, input, columns, verifies_checksums, .. } = self;
        let readers = || columns.iter().filter_map(|column| column.reader.as_ref());
        for leaf in readers().flat_map(ColumnReader::leaf_numbers) {
            let (_, range) = chunk_region(footer, number, *leaf)?;
            input.enqueue(range).in_place("row group", number)?;
        }
        input.load().in_place("row group", number)?;
        for column in columns {
            if let Some(reader) = &mut column.reader {
                reader.start_row_group(|leaf| {
                    let (meta, region) = chunk_region(footer, number, leaf)?;
                    let mut params = chunk_params(footer, number, leaf, (meta, &region))?;
                    params.verifies_checksums = *verifies_checksums;
                    let len = region.end - region.start;
                    let bytes = input
                        .read(region.start, len)
                        .in_named("column", footer.schema.leaf_name(leaf))?;
                    Ok((params, bytes))
                })?;
            }
        }
        Ok(())
    }

    fn window(&mut self, max_rows: usize, adaptation: &mut ScanAdaptation) -> Result<ReadRows> {
        let Some(group) = &mut self.current else {
            return Err(Error::internal("no row group to read from"));
        };
        let Some(range) = group.ranges.front_mut() else {
            return Err(Error::internal("no rows of the row group are left"));
        };
        let number = group.number;
        let passed_over = usize::try_from(range.start - group.next_row)
            .map_err(|_| Error::limit("a row group has more rows than can be counted"))?;
        if passed_over > 0 {
            let readers = self.columns.iter_mut().filter_map(|column| column.reader.as_mut());
            readers.for_each(|reader| reader.skip(passed_over));
        }
        let left = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let num_rows = max_rows.clamp(1, left.max(1));
        let first_row = group.first_row + range.start;
        range.start += num_rows as u64;
        group.next_row = range.start;
        if range.is_empty() {
            group.ranges.pop_front();
        }
        let mut vectors: Vec<Option<VectorRef>> = vec![None; self.columns.len()];
        let mut selection = None;
        for position in 0..self.columns.len() {
            self.filter_column(position, num_rows, &mut vectors, &mut selection, adaptation)
                .in_place("row group", number)?;
        }
        let selected = match &selection {
            None => RowSet::all(num_rows),
            Some(rows) => SelectivityVector::to_rows(rows),
        };
        let batch = self.output(num_rows, vectors, &selected).in_place("row group", number)?;
        Ok(ReadRows { first_row, scanned: num_rows, selected, batch })
    }

    /// Reads the column at `position` if it filters, and drops the rows that do not pass.
    fn filter_column(
        &mut self,
        position: usize,
        num_rows: usize,
        vectors: &mut [Option<VectorRef>],
        selection: &mut Option<SelectivityVector>,
        adaptation: &mut ScanAdaptation,
    ) -> Result<()> {
        let (Some(column), Some(slot)) =
            (self.columns.get_mut(position), vectors.get_mut(position))
        else {
            return Ok(());
        };
        let Some(spec) = self.params.spec.columns().get(column.index) else { return Ok(()) };
        let dynamic = adaptation.dynamic_filter(column.index).cloned();
        if dynamic.is_none() && !spec.has_filter() {
            return Ok(());
        }
        let selection = selection.get_or_insert_with(|| SelectivityVector::all(num_rows));
        if selection.is_none() {
            return Ok(());
        }
        let Some(reader) = &mut column.reader else {
            return Err(Error::internal("a filter arrived for a column that is not read")
                .with("column", &spec.name)
                .with("ordinal", column.ordinal));
        };
        let started = Instant::now();
        let rows_in = selection.count() as u64;
        let vector = reader.read(num_rows)?;
        // The dynamic filter has the static one merged into it.
        let own = dynamic.as_ref().or(spec.filter.as_ref());
        apply_filters(own.map(Arc::as_ref), spec, &vector, selection)
            .in_named("column", &spec.name)?;
        *slot = Some(vector);
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let rows_out = selection.count() as u64;
        adaptation.record(column.index, FilterCost { rows_in, rows_out, nanos });
        Ok(())
    }

    /// The batch of the selected rows: what is read already is picked, the rest is read.
    fn output(
        &mut self,
        num_rows: usize,
        vectors: Vec<Option<VectorRef>>,
        selected: &RowSet,
    ) -> Result<RowVector> {
        let span = match (selected.iter().next(), selected.end()) {
            (Some(first), end) => first..end,
            (None, _) => 0..0,
        };
        // The same rows, counted from the first one that is read.
        let within = match selected {
            RowSet::Range(range) => RowSet::all(range.len()),
            RowSet::Positions(positions) => {
                let first = positions.first().copied().unwrap_or(0);
                RowSet::Positions(positions.iter().map(|row| row - first).collect())
            }
        };
        let mut children = Vec::with_capacity(self.output_type.len());
        for (column, vector) in self.columns.iter_mut().zip(vectors) {
            let Some(spec) = self.params.spec.columns().get(column.index) else { continue };
            let Some(reader) = &mut column.reader else { continue };
            let child = match vector {
                Some(vector) if spec.channel.is_some() => pick(&vector, selected)?,
                Some(_) => continue,
                None if span.is_empty() => {
                    reader.skip(num_rows);
                    Arc::new(Vector::nulls(spec.ty.clone(), 0))
                }
                None => {
                    reader.skip(span.start);
                    let vector = reader.read(span.len())?;
                    reader.skip(num_rows - span.end);
                    pick(&vector, &within)?
                }
            };
            if spec.channel.is_some() {
                children.push(child);
            }
        }
        RowVector::batch(Arc::clone(&self.output_type), selected.len(), children)
    }

    fn next_window(
        &mut self,
        max_rows: usize,
        adaptation: &mut ScanAdaptation,
    ) -> Result<ReadOutcome> {
        if self.current.as_ref().is_none_or(|group| group.ranges.is_empty())
            && !self.start_row_group(adaptation)?
        {
            self.current = None;
            return Ok(ReadOutcome::End);
        }
        self.window(max_rows, adaptation).map(ReadOutcome::Rows)
    }
}

impl RowReader for ParquetRowReader {
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome> {
        self.next_window(request.max_rows, request.adaptation)
            .map_err(|e| e.in_named("file", self.input.path()))
    }

    fn estimated_row_size(&self) -> Option<u64> {
        let group = self.footer.row_groups().first()?;
        let readers = self.columns.iter().filter_map(|column| column.reader.as_ref());
        let bytes: u64 = readers
            .flat_map(ColumnReader::leaf_numbers)
            .filter_map(|leaf| group.columns.get(*leaf)?.meta_data.as_ref())
            .map(|meta| meta.total_uncompressed_bytes)
            .fold(0, u64::saturating_add);
        bytes.checked_div(group.num_rows)
    }
}

/// The row groups that start in `range`, each with the file row it starts at.
fn row_groups_of(footer: &Footer, range: &Range<u64>) -> Result<Vec<(usize, u64)>> {
    let mut found = Vec::new();
    let mut first_row = 0u64;
    for (number, group) in footer.row_groups().iter().enumerate() {
        if range.contains(&start_of(group)) {
            found.push((number, first_row));
        }
        first_row = first_row
            .checked_add(group.num_rows)
            .ok_or_else(|| Error::corrupt("the file has too many rows"))?;
    }
    Ok(found)
}

/// Where a row group's first page is: the offsets that the row group states itself are often wrong.
/// A row group without any chunk belongs to whoever owns the start of the file.
fn start_of(group: &RowGroup) -> u64 {
    let chunks = group.columns.iter().filter_map(|chunk| chunk.meta_data.as_ref());
    chunks.map(ColumnMetaData::start_offset).min().unwrap_or(0)
}

/// Applies the filter of a column and those of the fields below it.
fn apply_filters(
    own: Option<&Filter>,
    spec: &ColumnSpec,
    vector: &VectorRef,
    selection: &mut SelectivityVector,
) -> Result<()> {
    if let Some(filter) = own {
        filter.apply(&DecodedVector::new(vector)?, selection)?;
    }
    let NestedSpec::Row(fields) = &spec.nested else { return Ok(()) };
    let Vector::Row(row) = vector.as_ref() else { return Ok(()) };
    // A field is null wherever its struct is, so its filter sees what it should.
    for (field, child) in fields.iter().zip(row.children()) {
        if let FieldSpec::Wanted(field) = field
            && field.has_filter()
        {
            apply_filters(field.filter.as_deref(), field, child, selection)
                .in_named("field", &field.name)?;
        }
    }
    Ok(())
}

/// The rows of `vector` that passed: copied when they are few, else wrapped.
fn pick(vector: &VectorRef, rows: &RowSet) -> Result<VectorRef> {
    let positions = match rows {
        RowSet::Range(range) => return Vector::slice(vector, range.start, range.len()),
        RowSet::Positions(positions) => positions,
    };
    match vector.as_ref() {
        // Over the same base, so that whoever works on distinct values still can.
        Vector::Dictionary(dictionary) => {
            let indices = dictionary.indices();
            let picked =
                positions.iter().map(|row| indices.get(*row as usize).copied().unwrap_or(0));
            let validity = dictionary.validity().map(|validity| validity.gather(positions));
            let base = Arc::clone(dictionary.base());
            let picked = DictionaryVector::over_with_validity(base, picked.collect(), validity);
            Ok(Arc::new(Vector::Dictionary(picked)))
        }
        Vector::Flat(_) if positions.len() < vector.len() / MIN_ROWS_TO_WRAP => {
            vector::gather(vector, positions)
        }
        _ => Ok(Vector::wrap(vector, positions)),
    }
}

#[cfg(test)]
mod tests;
