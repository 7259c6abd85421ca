//! Reader of one split. The format's reader decodes the columns of the file; this module opens the
//! split and adds all other columns.
//!
//! ```text
//! split -> constants -> excluded by them? -> open, footer -> bind -> excluded by values or
//!                              |                             missing columns of the file?
//!                              +------- no rows, no reader ---------------+
//!
//! row reader -> batch -> + constants, row numbers -> - pruned entries -> sampled
//!            -> rows of the bucket
//! ```
//!
//! Velox opens the file before it tests the partition (rule S7.2). The order is reversed here, so
//! that a query on one of thousands of partitions opens only the files of that partition. As a
//! consequence, a broken file in an excluded partition is not reported.

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

use crate::plan::prune::{PartitionPredicate, Verdict};
use crate::plan::scan_spec::{ReadColumns, without_key_filters};
use crate::read::binding::{ScanPlan, column_without_match, rejected_column};
use crate::read::deferred::{DeferredTransform, apply_transform, take_batch_rows};
use crate::read::entries::{has_entries, without_pruned_entries};
use crate::read::file_handle::{FileAccess, FileToOpen, Opener, in_file};
use crate::read::timestamps::{cut, has_timestamps};
use crate::split::bucket::BucketFilter;
use crate::split::hive_split::HiveSplit;
use crate::split::row_id::{row_id_constants, row_ids};
use crate::split::sample::RandomSkip;

/// Minimum number of rows per window if no column of the file is read. Such a batch consists of a
/// number of rows and constants.
const COUNTED_ROWS: usize = 1 << 16;

/// Result of opening a split.
pub(crate) enum OpenedSplit {
    /// The split may have rows to read.
    Ready(Box<SplitReader>),
    /// No row of the split can pass the filters; the text is the reason for display.
    Skipped(&'static str),
    /// The split has no rows: its file does not exist, is empty, or has no rows.
    Empty,
}

/// Parameters for opening the splits of one scan.
pub(crate) struct SplitOpener<'a> {
    /// Plan of the scan.
    pub plan: &'a ScanPlan,
    /// Columns to read.
    pub columns: &'a ReadColumns,
    /// Conditions that have one result for all rows of a split.
    pub terms: Option<&'a mut PartitionPredicate>,
    /// The remaining filter as a test of row-range statistics.
    pub metadata_filter: Option<&'a Arc<MetadataFilter>>,
    /// Dynamic filters and filter costs of the driver.
    pub adaptation: &'a ScanAdaptation,
    /// File system, formats and cache.
    pub access: &'a FileAccess,
    /// The caller's parameters for opening files.
    pub opener: Opener<'a>,
}

/// Inputs of a split reader other than the split and the reader of its file.
struct SplitInputs {
    /// Columns to read, including bucket columns that the scan does not use.
    columns: ReadColumns,
    /// Source of each column in this split.
    binding: Arc<SplitBinding>,
    /// Type of the output batches.
    output_type: Arc<RowType>,
    /// Unit to which timestamps are truncated.
    timestamp_unit: TimeUnit,
    /// The remaining filter as a test of row-range statistics.
    metadata_filter: Option<Arc<MetadataFilter>>,
    /// Constants of row ids, if a column has row ids.
    row_id: Option<Vec<Value>>,
    /// Bucket conversion of the split.
    bucket: Option<BucketFilter>,
    /// Error of a condition on the split's constants.
    failure: Option<Error>,
}

/// Reads the rows of one split.
pub(crate) struct SplitReader {
    rows: Box<dyn RowReader>,
    columns: ReadColumns,
    binding: Arc<SplitBinding>,
    /// Number of children that a batch of the row reader must have.
    num_file_columns: usize,
    /// Type of the output batches: the reader's type without hidden bucket columns.
    output_type: Arc<RowType>,
    /// True if no column is read per row and all rows pass.
    is_counted: bool,
    /// Transforms of columns after reading, in the order of the spec; `None` for a column that is
    /// returned as read.
    transforms: Vec<Option<DeferredTransform>>,
    row_id: Option<Vec<Value>>,
    bucket: Option<BucketFilter>,
    /// Error of a condition on the split's constants. It is reported for the first row that passes
    /// all other conditions.
    failure: Option<Error>,
}

/// A batch of the reader's type, with the number of rows that were scanned for it.
#[derive(Debug)]
pub(crate) struct ScannedBatch {
    /// Number of rows scanned, including rejected ones.
    pub scanned: usize,
    /// Rows that passed the pushed-down filters.
    pub batch: RowVector,
}

impl SplitOpener<'_> {
    /// Opens a split. Opens its file only if the constants of the split do not exclude all rows.
    ///
    /// # Errors
    /// `Internal` for a split that contradicts its table, `NotFound` for a missing file unless the
    /// settings ignore it, and the errors of binding, of conditions and of the format.
    pub(crate) fn open(&mut self, split: &HiveSplit) -> Result<OpenedSplit> {
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
            // A missing file is an empty split if the settings ignore missing files (rule S7.13).
            Err(e) if e.kind() == ErrorKind::NotFound && plan.settings.ignore_missing_files => {
                return Ok(OpenedSplit::Empty);
            }
            opened => opened?,
        };
        let Some(reader) = reader else { return Ok(OpenedSplit::Empty) };
        let binding = plan.bind(split, &columns, &constants, reader.as_ref())?;
        if reader.num_rows() == Some(0) {
            return Ok(OpenedSplit::Empty);
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
        let inputs = SplitInputs {
            columns,
            binding: Arc::new(binding),
            output_type: Arc::clone(&self.columns.reader_type),
            timestamp_unit: plan.settings.timestamp_unit.unwrap_or(plan.table.timestamp_unit()),
            metadata_filter: self.metadata_filter.cloned(),
            row_id: row_id.map(Vec::from),
            bucket,
            failure,
        };
        let opened = SplitReader::new(split, reader.as_ref(), inputs)?;
        Ok(OpenedSplit::Ready(Box::new(opened)))
    }

    /// Tests the conditions again if the split has no value for some of their columns. Such a
    /// column is null if the file does not have it either. A column that the file has is an error,
    /// `Unsupported`.
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
    fn new(split: &HiveSplit, reader: &dyn Reader, inputs: SplitInputs) -> Result<Self> {
        let SplitInputs {
            columns,
            binding,
            output_type,
            timestamp_unit: unit,
            metadata_filter,
            row_id,
            bucket,
            failure,
        } = inputs;
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
        let transforms = specs().map(|(i, column)| {
            let nested = drops_entries.then_some(&column.nested);
            let transform = is_read(i, column).then(|| transform_of(column, nested, unit, &path));
            transform.flatten()
        });
        let transforms = transforms.collect();
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
            transforms,
            row_id,
            bucket,
            failure,
        })
    }

    /// Returns the error of the conditions on the split's constants. It applies to each row that
    /// passes all other conditions. Only the first call returns it.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Scans the next rows and keeps those that `sample` selects. Returns `None` at the end of the
    /// split. The batch may have more rows than requested if no column of the file is read.
    ///
    /// # Errors
    /// Errors of the format's reader; `Internal` for an invalid batch of the reader or a row in a
    /// file of another bucket.
    pub(crate) fn next(
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
        // Filters do not depend on the sample, so sampling after them has the same result.
        if let Some(sample) = sample
            && let Some(rows) = sampled(&read, &sample.accept(scanned))
        {
            batch = take_batch_rows(&batch, &rows)?;
        }
        if let (Some(bucket), false) = (&self.bucket, batch.is_empty())
            && let Some(rows) = bucket.rows(&batch)?
        {
            batch = take_batch_rows(&batch, &rows)?;
        }
        if batch.children().len() > self.output_type.len() {
            let children = batch.children().iter().take(self.output_type.len()).cloned();
            let output_type = Arc::clone(&self.output_type);
            batch = RowVector::batch(output_type, batch.len(), children.collect())?;
        }
        Ok(Some(ScannedBatch { scanned, batch }))
    }

    /// Returns true if a dynamic filter rejects a constant of this split (rule S12.24).
    ///
    /// # Errors
    /// Errors of applying a filter to a value.
    pub(crate) fn is_rejected(&self, adaptation: &ScanAdaptation) -> Result<bool> {
        let constant = |i| constant_of(&self.binding, i);
        Ok(rejected_column(&self.columns.spec, adaptation, constant)?.is_some())
    }

    /// Estimated size of a row in bytes, if known.
    pub(crate) fn estimated_row_size(&self) -> Option<u64> {
        self.rows.estimated_row_size()
    }

    /// Metrics of the format's reader.
    pub(crate) fn metrics(&self) -> Metrics {
        self.rows.metrics()
    }

    /// Cost of reading the columns of the file.
    pub(crate) fn details(&self) -> ScanDetails {
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

    /// Combines the columns of the file with constants and row numbers, each at its channel.
    fn assemble(&self, read: &ReadRows) -> Result<RowVector> {
        let num_rows = read.batch.len();
        if num_rows != read.selected.len()
            || read.batch.children().len() != self.num_file_columns
            || read.batch.validity().is_some()
        {
            return Err(Error::internal("a row reader returned another batch than requested")
                .with("rows", num_rows)
                .with("selected", read.selected.len())
                .with("columns", read.batch.children().len())
                .with("expected_columns", self.num_file_columns));
        }
        let reader_type = &self.columns.reader_type;
        let mut children: Vec<Option<VectorRef>> = vec![None; reader_type.len()];
        let mut from_file = read.batch.children().iter();
        let columns = self.columns.spec.columns().iter().zip(&self.transforms).enumerate();
        for (i, (column, transform)) in columns {
            let Some(slot) = column.channel.and_then(|c| children.get_mut(c)) else { continue };
            *slot = match (self.binding.column(i), transform) {
                (Some(BoundColumn::File { .. }), None) => from_file.next().cloned(),
                (Some(BoundColumn::File { .. }), Some(transform)) => {
                    let vector = from_file.next();
                    vector
                        .map(|vector| apply_transform(vector, &column.ty, transform))
                        .transpose()?
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

/// Returns the transform of a column after reading: drops entries that `nested` does not include
/// and truncates timestamps. Returns `None` if there is nothing to do.
fn transform_of(
    column: &ColumnSpec,
    nested: Option<&NestedSpec>,
    unit: TimeUnit,
    path: &Arc<str>,
) -> Option<DeferredTransform> {
    let nested = nested.filter(|nested| has_entries(&column.ty, nested)).cloned();
    let is_cut = unit != TimeUnit::Nanos && has_timestamps(&column.ty);
    if nested.is_none() && !is_cut {
        return None;
    }
    let (name, path) = (column.name.clone(), Arc::clone(path));
    let transform = move |vector: VectorRef| {
        let vector = match &nested {
            Some(nested) => without_pruned_entries(&vector, nested)?,
            None => vector,
        };
        if is_cut { cut(&vector, unit) } else { Ok(vector) }
    };
    // A lazy column is transformed after this reader is done, so the error must carry its file.
    Some(Arc::new(move |vector| {
        transform(vector).map_err(|e| in_file(e.in_named("column", &name), &path))
    }))
}

fn constant_of(binding: &SplitBinding, i: usize) -> Option<&Value> {
    match binding.column(i) {
        Some(BoundColumn::Constant(value)) => Some(value),
        _ => None,
    }
}

/// Returns the numbers of the selected rows, counted from the start of the file (rule S7.85).
fn row_numbers(read: &ReadRows) -> Result<VectorRef> {
    let first = read.first_row;
    let numbers: Buffer<i64> =
        read.selected.iter().map(|row| first.saturating_add(row as u64) as i64).collect();
    Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(Type::BigInt, numbers, None)?)))
}

/// Returns which rows of a read batch are among the accepted rows of the window; `None` for all.
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
