//! One split, opened and read: file columns from the format's reader, everything else put in here.
//!
//! ```text
//! split -> promises -> constants -> excluded by them? -> open, footer -> bind -> excluded by what
//!                                        |                               the file has or lacks?
//!                                        +------------- no rows, no reader -----------+
//!
//! row reader -> batch -> + constants, row numbers -> - unwanted entries -> sampled -> bucket's rows
//! ```
//!
//! Velox opens the file before it looks at the partition (rule S7.2); here the order is turned
//! round, so that a query for one partition of thousands opens the files of that one only. The
//! price is that a broken file of an excluded partition goes unnoticed.

use dwio::adaptation::ScanAdaptation;
use dwio::connector::{ColumnProgress, ScanDetails};
use dwio::metadata_filter::MetadataFilter;
use dwio::reader::{ReadOutcome, ReadRequest, ReadRows, Reader, RowReader, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ColumnSource, ColumnSpec, NestedSpec, SplitBinding};
use vector::sync::Arc;
use vector::{
    Buffer, Error, ErrorKind, FlatVector, Metrics, Result, RowType, RowVector, TimeUnit, Type,
    Value, Vector, VectorRef,
};

use crate::binding::{ScanPlan, column_without_match, rejected_column};
use crate::bucket::BucketFilter;
use crate::entries::{has_entries, without_unwanted};
use crate::file_handle::{FileAccess, FileToOpen, Opener, in_file};
use crate::late::{Change, changed, picked_batch};
use crate::prune::{PartitionPredicate, Verdict};
use crate::row_id::{row_id_constants, row_ids};
use crate::sample::RandomSkip;
use crate::scan_spec::{ReadColumns, without_key_filters};
use crate::split::HiveSplit;
use crate::timestamps::{cut, has_timestamps};

/// Rows that are scanned at once where nothing is read of them, not even to count them: a window is
/// a number then, and constants.
const COUNTED_ROWS: usize = 1 << 16;

/// A split as far as it had to be opened.
pub enum OpenedSplit {
    /// Its rows can be read.
    Ready(Box<SplitReader>),
    /// None of its rows can pass the filters; the reason, for people.
    Skipped(&'static str),
    /// It has no rows; the reason, for people.
    Empty(&'static str),
}

/// What splits of one scan are opened with.
pub struct SplitOpener<'a> {
    /// The scan.
    pub plan: &'a ScanPlan,
    /// What it reads.
    pub columns: &'a ReadColumns,
    /// Conditions with one answer for a split.
    pub terms: Option<&'a mut PartitionPredicate>,
    /// What the remaining filter says of stretches of rows.
    pub metadata_filter: Option<&'a Arc<MetadataFilter>>,
    /// Late filters.
    pub adaptation: &'a ScanAdaptation,
    /// Where files are.
    pub access: &'a FileAccess,
    /// Who opens them.
    pub opener: Opener<'a>,
}

/// What a split is read with beside the columns of its file.
struct Given {
    row_id: Option<Vec<Value>>,
    bucket: Option<BucketFilter>,
    metadata_filter: Option<Arc<MetadataFilter>>,
    failure: Option<Error>,
}

/// Reads the rows of one split.
pub struct SplitReader {
    rows: Box<dyn RowReader>,
    columns: ReadColumns,
    binding: Arc<SplitBinding>,
    /// Children that a batch of the row reader must have.
    num_file_columns: usize,
    /// The type of the batches given out: the reader's without hidden bucket columns.
    output_type: Arc<RowType>,
    /// No column has a value for each row, and all rows pass.
    is_counted: bool,
    /// By the spec's order, for columns of the file that are not given out as they are read.
    changes: Vec<Option<Change>>,
    row_id: Option<Vec<Value>>,
    bucket: Option<BucketFilter>,
    /// The error of a condition on the split's constants, for the first row that passes all else.
    failure: Option<Error>,
}

/// Rows of the reader's type, with the number of rows that were scanned for them.
#[derive(Debug)]
pub struct ScannedBatch {
    /// Rows scanned, whether they passed or not.
    pub scanned: usize,
    /// The rows that passed the pushed filters.
    pub batch: RowVector,
}

impl SplitOpener<'_> {
    /// Opens a split as far as needed.
    pub fn open(&mut self, split: &HiveSplit) -> Result<OpenedSplit> {
        let (plan, adaptation) = (self.plan, self.adaptation);
        let bucket = BucketFilter::new(split, &plan.table, self.columns)?;
        let (bucket, columns) = match bucket {
            Some((bucket, columns)) => (Some(bucket), columns),
            None => (None, self.columns.clone()),
        };
        let spec = &columns.spec;
        let has_row_id = spec.columns().iter().any(|c| c.source == ColumnSource::RowId);
        let row_id = has_row_id.then(|| row_id_constants(split)).transpose()?;
        let constants = plan.split_constants(split, spec)?;
        if rejected_column(spec, adaptation, |i| constants.get(i)?.as_ref())?.is_some() {
            return Ok(OpenedSplit::Skipped("a filter rejects the partition"));
        }
        let (mut is_decided, mut failure) = (true, None);
        if let Some(terms) = &mut self.terms {
            let value = |name: &str, ty: &Type| {
                let value = plan.split_value(split, name, ty)?;
                is_decided &= value.is_some();
                Ok(value)
            };
            match terms.test(value)? {
                Verdict::Drops => {
                    return Ok(OpenedSplit::Skipped("a condition on partitions is not true"));
                }
                Verdict::Fails(error) => failure = Some(error),
                Verdict::Passes => {}
            }
        }
        let reader = match self.access.open(FileToOpen::of(split, &plan.table), self.opener) {
            // Rule S7.13.
            Err(e) if e.kind() == ErrorKind::NotFound && plan.settings.ignore_missing_files => {
                return Ok(OpenedSplit::Empty("the file does not exist"));
            }
            opened => opened?,
        };
        let Some(reader) = reader else { return Ok(OpenedSplit::Empty("the file is empty")) };
        let binding = plan.bind(split, &columns, &constants, reader.as_ref())?;
        if reader.num_rows() == Some(0) {
            return Ok(OpenedSplit::Empty("the file has no rows"));
        }
        if rejected_column(spec, adaptation, |i| constant_of(&binding, i))?.is_some() {
            return Ok(OpenedSplit::Skipped("a filter rejects a column that the file has not"));
        }
        if !is_decided {
            match self.test_undecided(split, reader.as_ref())? {
                Verdict::Drops => {
                    return Ok(OpenedSplit::Skipped("a condition on partitions is not true"));
                }
                Verdict::Fails(error) => failure = Some(error),
                Verdict::Passes => {}
            }
        }
        if column_without_match(spec, adaptation, &binding, reader.as_ref()).is_some() {
            return Ok(OpenedSplit::Skipped("a filter rejects all values that the file has"));
        }
        let (output_type, row_id) = (&self.columns.reader_type, row_id.map(Vec::from));
        let parts = (columns, Arc::new(binding), Arc::clone(output_type));
        let unit = plan.settings.timestamp_unit.unwrap_or(plan.table.timestamp_unit());
        let given =
            Given { row_id, bucket, metadata_filter: self.metadata_filter.cloned(), failure };
        let opened = SplitReader::new(split, reader.as_ref(), parts, given, unit)?;
        Ok(OpenedSplit::Ready(Box::new(opened)))
    }

    /// Tests the conditions once more when the split has no value for some of their columns: such
    /// a column is one of the file like any other, and null when the file has not got it.
    fn test_undecided(&mut self, split: &HiveSplit, reader: &dyn Reader) -> Result<Verdict> {
        let plan = self.plan;
        let Some(terms) = &mut self.terms else { return Ok(Verdict::Passes) };
        terms.test(|name, ty| {
            if let Some(value) = plan.split_value(split, name, ty)? {
                return Ok(Some(value));
            }
            let names = reader.row_type().names();
            if names.iter().any(|n| n.to_lowercase() == name.to_lowercase()) {
                return Err(Error::unsupported(
                    "a condition on a partition key that is a column of the file",
                )
                .in_named("column", name));
            }
            Ok(Some(Value::Null))
        })
    }
}

impl SplitReader {
    fn new(
        split: &HiveSplit,
        reader: &dyn Reader,
        (columns, binding, output_type): (ReadColumns, Arc<SplitBinding>, Arc<RowType>),
        Given { row_id, bucket, metadata_filter, failure }: Given,
        unit: TimeUnit,
    ) -> Result<Self> {
        let is_read = |i: usize, column: &ColumnSpec| {
            let bound = binding.column(i);
            column.channel.is_some() && matches!(bound, Some(BoundColumn::File { .. }))
        };
        let specs = || columns.spec.columns().iter().enumerate();
        let is_counted = bucket.is_none()
            && reader.num_rows().is_some()
            && specs().all(|(i, _)| matches!(binding.column(i), Some(BoundColumn::Constant(_))));
        let num_file_columns = specs().filter(|(i, column)| is_read(*i, column)).count();
        let drops_entries = !reader.filters_map_keys();
        let path: Arc<str> = Arc::from(split.path.as_str());
        let changes = specs().map(|(i, column)| {
            let nested = drops_entries.then_some(&column.nested);
            let change = is_read(i, column).then(|| change_of(column, nested, unit, &path));
            change.flatten()
        });
        let changes = changes.collect();
        let spec = match drops_entries {
            true => Arc::new(without_key_filters(&columns.spec)),
            false => Arc::clone(&columns.spec),
        };
        let rows = reader.row_reader(RowReaderParams {
            spec,
            binding: Arc::clone(&binding),
            range: split.range(),
            metadata_filter,
        })?;
        Ok(SplitReader {
            rows,
            columns,
            binding,
            num_file_columns,
            output_type,
            is_counted,
            changes,
            row_id,
            bucket,
            failure,
        })
    }

    /// The error of the conditions on the split's constants, which rows that pass everything else
    /// have; only the first call returns it.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Scans the next rows, of which `sample` picks some; `None` at the end of the split. They may be
    /// more than were asked for where they take no memory.
    pub fn next(
        &mut self,
        mut request: ReadRequest<'_>,
        sample: Option<&mut RandomSkip>,
    ) -> Result<Option<ScannedBatch>> {
        if self.is_counted {
            request.max_rows = request.max_rows.max(COUNTED_ROWS);
        }
        let read = match self.rows.next(request)? {
            ReadOutcome::End => return Ok(None),
            ReadOutcome::Rows(read) => read,
        };
        if read.scanned == 0 {
            return Err(Error::internal("a row reader scanned no rows"));
        }
        let scanned = read.scanned;
        let mut batch = self.assemble(&read)?;
        // Filters do not see which rows are in the sample, so it may as well be taken after them.
        if let Some(sample) = sample
            && let Some(rows) = sampled(&read, &sample.accept(scanned))
        {
            batch = picked_batch(&batch, &rows)?;
        }
        if let (Some(bucket), false) = (&self.bucket, batch.is_empty())
            && let Some(rows) = bucket.rows(&batch)?
        {
            batch = picked_batch(&batch, &rows)?;
        }
        if batch.children().len() > self.output_type.len() {
            let children = batch.children().iter().take(self.output_type.len()).cloned();
            let output_type = Arc::clone(&self.output_type);
            batch = RowVector::batch(output_type, batch.len(), children.collect())?;
        }
        Ok(Some(ScannedBatch { scanned, batch }))
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

    /// What the format's reader counted.
    pub fn metrics(&self) -> Metrics {
        self.rows.metrics()
    }

    /// What reading the columns of the file took.
    pub fn details(&self) -> ScanDetails {
        let specs = self.columns.spec.columns();
        let columns = self.rows.column_counts().into_iter().filter_map(|counts| {
            Some(ColumnProgress {
                name: specs.get(counts.column)?.name.clone(),
                values_decoded: counts.values_decoded,
                pages_read: counts.pages_read,
                pages_skipped: counts.pages_skipped,
            })
        });
        ScanDetails { columns: columns.collect(), ..ScanDetails::default() }
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
        let columns = self.columns.spec.columns().iter().zip(&self.changes).enumerate();
        for (i, (column, change)) in columns {
            let Some(slot) = column.channel.and_then(|c| children.get_mut(c)) else { continue };
            *slot = match (self.binding.column(i), change) {
                (Some(BoundColumn::File { .. }), None) => from_file.next().cloned(),
                (Some(BoundColumn::File { .. }), Some(change)) => {
                    let vector = from_file.next();
                    vector.map(|vector| changed(vector, &column.ty, change)).transpose()?
                }
                (Some(BoundColumn::Constant(value)), _) => {
                    Some(Arc::new(Vector::constant(column.ty.clone(), value.clone(), num_rows)?))
                }
                (Some(BoundColumn::RowIndex), _) => {
                    let numbers = row_numbers(read)?;
                    Some(match (column.source, &self.row_id) {
                        (ColumnSource::RowId, Some(constants)) => {
                            row_ids(&column.ty, numbers, constants)?
                        }
                        _ => numbers,
                    })
                }
                (None, _) => None,
            };
        }
        let children: Option<Vec<VectorRef>> = children.into_iter().collect();
        let children = children.ok_or_else(|| Error::internal("a channel has no column"))?;
        RowVector::batch(Arc::clone(reader_type), num_rows, children)
    }
}

/// What is done with a column of the file after it is read: entries that `nested` does not want
/// are dropped, timestamps are cut.
fn change_of(
    column: &ColumnSpec,
    nested: Option<&NestedSpec>,
    unit: TimeUnit,
    path: &Arc<str>,
) -> Option<Change> {
    let nested = nested.filter(|nested| has_entries(&column.ty, nested)).cloned();
    let is_cut = unit != TimeUnit::Nanos && has_timestamps(&column.ty);
    if nested.is_none() && !is_cut {
        return None;
    }
    let (name, path) = (column.name.clone(), Arc::clone(path));
    let change = move |vector: VectorRef| {
        let vector = match &nested {
            Some(nested) => without_unwanted(&vector, nested)?,
            None => vector,
        };
        if is_cut { cut(&vector, unit) } else { Ok(vector) }
    };
    // A lazy column is changed far from here, where nobody knows its file.
    Some(Arc::new(move |vector| {
        change(vector).map_err(|e| in_file(e.in_named("column", &name), &path))
    }))
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

/// Which rows of a read batch are among the accepted ones of the window; `None` for all.
fn sampled(read: &ReadRows, accepted: &[u32]) -> Option<Buffer<u32>> {
    if accepted.len() == read.scanned {
        return None;
    }
    let mut accepted = accepted.iter().copied().peekable();
    let rows = read.selected.iter().enumerate().filter(|(_, row)| {
        let row = *row as u32;
        while accepted.next_if(|a| *a < row).is_some() {}
        accepted.next_if_eq(&row).is_some()
    });
    Some(rows.map(|(at, _)| at as u32).collect())
}
