//! Row reader of text files: windows of lines, filters, and vectors of the rows that pass.
//!
//! ```text
//! lines -> texts of the columns that are read -> first filter column -> passing rows
//!                                                next filter column  -> passing rows
//!                                                other columns, for the passing rows only
//! ```
//!
//! A text cannot be tested before it is parsed, so a filter column is decoded into a vector and the
//! filter is applied to it (rule S5.42). Each later column is decoded only for the rows that are
//! left.

use std::ops::Range;

use dwio::adaptation::ScanAdaptation;
use dwio::filter::Filter;
use dwio::reader::{ReadOutcome, ReadRequest, ReadRows, RowReader, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ColumnSpec, FieldSpec, NestedSpec, ScanSpec};
use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, Error, Result, ResultExt, RowSet, RowType, RowVector, SelectivityVector,
    Vector, VectorRef,
};

use crate::cells::Shape;
use crate::dialect::Dialect;
use crate::fields::Pieces;
use crate::lines::{LineReader, TextFile};

/// Reads the rows of one split of a text file.
pub(crate) struct TextRows {
    spec: Arc<ScanSpec>,
    dialect: Dialect,
    /// Columns of the file that are read, in the order of the spec.
    columns: Vec<ReadColumn>,
    output_type: Arc<RowType>,
    /// Number of leading columns into which a line is divided; later columns are not examined.
    num_pieces: usize,
    /// Number of columns of the file.
    num_file_columns: usize,
    lines: LineReader,
    /// Byte ranges of the lines of the current window.
    window: Vec<Range<usize>>,
    next_row: u64,
    rows_read: u64,
    bytes_read: u64,
}

/// A column of the spec that the file has.
#[derive(Debug)]
struct ReadColumn {
    /// Index of the column in the spec.
    index: usize,
    /// Position of the column in a line.
    ordinal: usize,
    shape: Shape,
}

/// Texts of a window: for each line, start and end of each column in the buffer; `None` for a
/// column that the line lacks.
type Texts = Vec<Option<(u32, u32)>>;

impl TextRows {
    /// Starts a pass through the lines that start in the range of `params`.
    ///
    /// # Errors
    /// `Unsupported` for a column that cannot be read as its type, `Internal` if the binding does
    /// not fit the file, and the errors of [`LineReader::new`].
    pub(crate) fn new(
        file: TextFile<'_>,
        row_type: &Arc<RowType>,
        params: RowReaderParams,
    ) -> Result<Self> {
        let mut columns = Vec::new();
        let mut output = Vec::new();
        let mut counts_rows = false;
        for (index, column) in params.spec.columns().iter().enumerate() {
            counts_rows |= matches!(params.binding.column(index), Some(BoundColumn::RowIndex));
            let Some(BoundColumn::File { ordinal }) = params.binding.column(index) else {
                continue;
            };
            let file_type = row_type.types().get(*ordinal).ok_or_else(|| {
                Error::internal("a column is bound to none of the file").with("ordinal", ordinal)
            })?;
            let shape = Shape::new(column, params.binding.nested(index), file_type)
                .in_named("column", &column.name)?;
            columns.push(ReadColumn { index, ordinal: *ordinal, shape });
            if column.channel.is_some() {
                output.push((column.name.clone(), column.ty.clone()));
            }
        }
        // The number of the first row is known only after reading all lines before the split.
        let next_row =
            if counts_rows { LineReader::rows_before(file, params.range.start)? } else { 0 };
        Ok(TextRows {
            num_pieces: columns.iter().map(|c| c.ordinal + 1).max().unwrap_or(0),
            columns,
            output_type: Arc::new(RowType::new(output)),
            num_file_columns: row_type.len(),
            lines: LineReader::new(file, params.range)?,
            dialect: file.dialect.clone(),
            spec: params.spec,
            window: Vec::new(),
            next_row,
            rows_read: 0,
            bytes_read: 0,
        })
    }

    /// Divides the lines of the window into the texts of their columns, line by line.
    fn texts(&self) -> Result<Texts> {
        let mut texts = Texts::with_capacity(self.window.len() * self.num_pieces);
        let separator = self.dialect.separator(0).unwrap_or_default();
        let takes_rest = self.dialect.last_column_takes_rest;
        for line in &self.window {
            let text = self.lines.bytes().get(line.clone()).unwrap_or_default();
            let mut pieces = Pieces::new(text, separator, &self.dialect);
            let mut start = line.start;
            for ordinal in 0..self.num_pieces {
                let is_last = takes_rest && ordinal + 1 == self.num_file_columns;
                let piece = if is_last { pieces.rest() } else { pieces.next() };
                texts.push(match piece {
                    Some(piece) => {
                        let end = start + piece.len();
                        let span = (narrow(start)?, narrow(end)?);
                        start = end + 1;
                        Some(span)
                    }
                    None => None,
                });
            }
        }
        Ok(texts)
    }

    /// Decodes a column for the rows `rows` of the window.
    fn column(&self, column: &ReadColumn, rows: &[u32], texts: &Texts) -> Result<VectorRef> {
        let mut cells = column.shape.cells();
        for row in rows {
            let row = *row as usize;
            let span = texts.get(row * self.num_pieces + column.ordinal).copied().flatten();
            let text =
                span.and_then(|(start, end)| self.lines.bytes().get(start as usize..end as usize));
            cells.push(text, 1, &self.dialect).map_err(|error| {
                let error = match self.name(column) {
                    Some(name) => error.in_named("column", name),
                    None => error,
                };
                match self.window.get(row) {
                    Some(line) => self.lines.in_line(error, line, self.window.len() - 1 - row),
                    None => error,
                }
            })?;
        }
        cells.finish()
    }

    fn name(&self, column: &ReadColumn) -> Option<&str> {
        self.spec.columns().get(column.index).map(|c| c.name.as_str())
    }

    /// Returns the rows of the window that pass all filters, and the output columns.
    fn read(
        &self,
        adaptation: &ScanAdaptation,
        texts: &Texts,
    ) -> Result<(Vec<u32>, Vec<VectorRef>)> {
        let mut rows: Vec<u32> = (0..narrow(self.window.len())?).collect();
        let mut made: Vec<Option<VectorRef>> = vec![None; self.columns.len()];
        let filtered = self.columns.iter().enumerate().filter_map(|(i, column)| {
            let spec = self.spec.columns().get(column.index)?;
            let own = adaptation.dynamic_filter(column.index).or(spec.filter.as_ref());
            (own.is_some() || spec.has_filter()).then_some((i, column, spec, own))
        });
        for (i, column, spec, own) in filtered {
            if rows.is_empty() {
                break;
            }
            let vector = self.column(column, &rows, texts)?;
            let mut passing = SelectivityVector::all(rows.len());
            retain(&vector, spec, own, &mut passing).in_named("column", &spec.name)?;
            if let Some(slot) = made.get_mut(i) {
                *slot = Some(vector);
            }
            if passing.is_all() {
                continue;
            }
            let kept: Buffer<u32> = passing.to_rows().to_positions();
            rows = kept.iter().filter_map(|at| rows.get(*at as usize).copied()).collect();
            for vector in made.iter_mut().flatten() {
                *vector = Vector::wrap(vector, &kept);
            }
        }
        let mut children = Vec::with_capacity(self.output_type.len());
        for (column, made) in self.columns.iter().zip(made) {
            let spec = self.spec.columns().get(column.index);
            if spec.is_some_and(|spec| spec.channel.is_some()) {
                children.push(match made {
                    Some(vector) if vector.len() == rows.len() => vector,
                    _ => self.column(column, &rows, texts)?,
                });
            }
        }
        Ok((rows, children))
    }
}

impl RowReader for TextRows {
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome> {
        let mut window = std::mem::take(&mut self.window);
        self.lines.window(request.max_rows.max(1), &mut window)?;
        self.window = window;
        let scanned = self.window.len();
        if scanned == 0 {
            return Ok(ReadOutcome::End);
        }
        let texts = self.texts()?;
        let (rows, children) = self.read(request.adaptation, &texts)?;
        let batch = RowVector::batch(Arc::clone(&self.output_type), rows.len(), children)?;
        let selected = match rows.len() == scanned {
            true => RowSet::all(scanned),
            false => RowSet::from_positions(rows.into_iter().collect()),
        };
        let first_row = self.next_row;
        self.next_row = self.next_row.saturating_add(scanned as u64);
        self.rows_read += scanned as u64;
        self.bytes_read += self.window.iter().map(|line| line.len() as u64).sum::<u64>();
        Ok(ReadOutcome::Rows(ReadRows { first_row, scanned, selected, batch }))
    }

    fn estimated_row_size(&self) -> Option<u64> {
        self.bytes_read.checked_div(self.rows_read)
    }
}

/// Deselects the rows that a column's filters reject. Filters on fields see null where the struct
/// is null; filters below lists and maps reject no rows (rule S5.42).
fn retain(
    vector: &VectorRef,
    spec: &ColumnSpec,
    own: Option<&Arc<Filter>>,
    rows: &mut SelectivityVector,
) -> Result<()> {
    if let Some(filter) = own {
        filter.apply(&DecodedVector::new(vector)?, rows)?;
    }
    let NestedSpec::Row(fields) = &spec.nested else { return Ok(()) };
    for (i, field) in fields.iter().enumerate() {
        let FieldSpec::Wanted(field) = field else { continue };
        if !field.has_filter() {
            continue;
        }
        let child = match vector.as_ref() {
            Vector::Row(row) => Arc::clone(row.child(i)?),
            // A struct that the file does not have is a constant null.
            _ => Arc::new(Vector::nulls(field.ty.clone(), vector.len())),
        };
        retain(&child, field, field.filter.as_ref(), rows)?;
    }
    Ok(())
}

fn narrow(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::limit("a window of lines is too long"))
}
