//! One split, opened and read: file columns from the format's reader, everything else put in here.
//!
//! ```text
//! split -> constants -> excluded by them? -> open, footer -> bind -> excluded by a missing column?
//!                            |                                            |
//!                            +------------- no rows, no reader -----------+
//! ```
//!
//! Velox opens the file before it looks at the partition (rule S7.2); here the order is turned
//! round, so that a query for one partition of thousands opens the files of that one only. The
//! price is that a broken file of an excluded partition goes unnoticed.

use dwio::adaptation::ScanAdaptation;
use dwio::reader::{ReadOutcome, ReadRequest, ReadRows, RowReader, RowReaderParams};
use dwio::scan_spec::{BoundColumn, SplitBinding};
use vector::sync::Arc;
use vector::{
    Buffer, Error, ErrorKind, FlatVector, Result, RowVector, Type, Value, Vector, VectorRef,
};

use crate::file_handle::{FileAccess, Opener};
use crate::partition::DateText;
use crate::prune::PartitionPredicate;
use crate::scan_spec::{ReadColumns, bind, rejected_column, split_constants, split_value};
use crate::split::HiveSplit;

/// A split as far as it had to be opened.
pub enum OpenedSplit {
    /// Its rows can be read.
    Ready(SplitReader),
    /// It has no rows, or none that can pass; the reason, for people.
    Excluded(&'static str),
}

/// Reads the rows of one split.
pub struct SplitReader {
    rows: Box<dyn RowReader>,
    columns: ReadColumns,
    binding: Arc<SplitBinding>,
    /// Children that a batch of the row reader must have.
    num_file_columns: usize,
}

/// Rows of the reader's type, with the number of rows that were scanned for them.
#[derive(Debug)]
pub struct ScannedBatch {
    /// Rows scanned, whether they passed or not.
    pub scanned: usize,
    /// The rows that passed the pushed filters.
    pub batch: RowVector,
}

impl SplitReader {
    /// Opens a split as far as needed.
    pub fn open(
        split: &HiveSplit,
        columns: &ReadColumns,
        terms: Option<&mut PartitionPredicate>,
        adaptation: &ScanAdaptation,
        (access, opener): (&FileAccess, Opener<'_>),
    ) -> Result<OpenedSplit> {
        let spec = &columns.spec;
        let constants = split_constants(spec, split, DateText::Iso)?;
        if rejected_column(spec, adaptation, |i| constants.get(i)?.as_ref())?.is_some() {
            return Ok(OpenedSplit::Excluded("a filter rejects the partition"));
        }
        if let Some(terms) = terms
            && !terms.may_pass(|name, ty| split_value(split, name, ty, DateText::Iso).map(Some))?
        {
            return Ok(OpenedSplit::Excluded("a condition on partitions is not true"));
        }
        let ignore_missing_files = opener.session.get("ignore_missing_files", false)?;
        let reader = match access.open(&split.path, &split.format, opener) {
            // Rule S7.13.
            Err(e) if e.kind() == ErrorKind::NotFound && ignore_missing_files => {
                return Ok(OpenedSplit::Excluded("the file does not exist"));
            }
            opened => opened?,
        };
        let Some(reader) = reader else {
            return Ok(OpenedSplit::Excluded("the file is empty"));
        };
        if reader.num_rows() == Some(0) {
            return Ok(OpenedSplit::Excluded("the file has no rows"));
        }
        let binding = bind(columns, &constants, reader.row_type())?;
        if rejected_column(spec, adaptation, |i| constant_of(&binding, i))?.is_some() {
            return Ok(OpenedSplit::Excluded("a filter rejects a column that the file has not"));
        }
        let binding = Arc::new(binding);
        let rows = reader.row_reader(RowReaderParams {
            spec: Arc::clone(spec),
            binding: Arc::clone(&binding),
            range: split.range(),
        })?;
        let columns = columns.clone();
        let num_file_columns = (0..spec.columns().len())
            .filter(|i| spec.columns()[*i].channel.is_some())
            .filter(|i| matches!(binding.column(*i), Some(BoundColumn::File { .. })))
            .count();
        Ok(OpenedSplit::Ready(SplitReader { rows, columns, binding, num_file_columns }))
    }

    /// Scans at most `max_rows` rows; `None` at the end of the split.
    pub fn next(
        &mut self,
        max_rows: usize,
        adaptation: &mut ScanAdaptation,
    ) -> Result<Option<ScannedBatch>> {
        match self.rows.next(ReadRequest { max_rows, adaptation })? {
            ReadOutcome::End => Ok(None),
            ReadOutcome::Rows(read) if read.scanned == 0 => {
                Err(Error::internal("a row reader scanned no rows"))
            }
            ReadOutcome::Rows(read) => {
                let scanned = read.scanned;
                Ok(Some(ScannedBatch { scanned, batch: self.assemble(&read)? }))
            }
        }
    }

    /// True when a late filter rejects a constant of this split (rule S12.24).
    pub fn is_rejected(&self, adaptation: &ScanAdaptation) -> Result<bool> {
        let constant = |i| constant_of(&self.binding, i);
        Ok(rejected_column(&self.columns.spec, adaptation, constant)?.is_some())
    }

    /// Estimated bytes of a row, if known.
    pub fn estimated_row_size(&self) -> Option<u64> {
        self.rows.estimated_row_size()
    }

    /// Puts constants and row numbers beside the columns of the file, each at its channel.
    fn assemble(&self, read: &ReadRows) -> Result<RowVector> {
        let num_rows = read.batch.len();
        if num_rows != read.selected.len()
            || read.batch.children().len() != self.num_file_columns
            || read.batch.validity().is_some()
        {
            return Err(Error::internal("a row reader gave another batch than asked for")
                .with("rows", num_rows)
                .with("selected", read.selected.len())
                .with("columns", read.batch.children().len())
                .with("wanted_columns", self.num_file_columns));
        }
        let reader_type = &self.columns.reader_type;
        let mut children: Vec<Option<VectorRef>> = vec![None; reader_type.len()];
        let mut from_file = read.batch.children().iter();
        for (i, column) in self.columns.spec.columns().iter().enumerate() {
            let Some(slot) = column.channel.and_then(|c| children.get_mut(c)) else { continue };
            *slot = match self.binding.column(i) {
                Some(BoundColumn::File { .. }) => from_file.next().cloned(),
                Some(BoundColumn::Constant(value)) => {
                    Some(Arc::new(Vector::constant(column.ty.clone(), value.clone(), num_rows)?))
                }
                Some(BoundColumn::RowIndex) => Some(row_numbers(read)?),
                None => None,
            };
        }
        let children: Option<Vec<VectorRef>> = children.into_iter().collect();
        let children = children.ok_or_else(|| Error::internal("a channel has no column"))?;
        RowVector::batch(Arc::clone(reader_type), num_rows, children)
    }
}

fn constant_of(binding: &SplitBinding, i: usize) -> Option<&Value> {
    match binding.column(i) {
        Some(BoundColumn::Constant(value)) => Some(value),
        _ => None,
    }
}

/// The numbers of the selected rows, counted from the file's start (rule S7.85).
fn row_numbers(read: &ReadRows) -> Result<VectorRef> {
    let first = read.first_row;
    let numbers: Buffer<i64> =
        read.selected.iter().map(|row| first.saturating_add(row as u64) as i64).collect();
    Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(Type::BigInt, numbers, None)?)))
}
