//! COPY: writes the rows of a query into files.
//!
//! ```text
//! CopyRequest (src/sql) --options.rs--> CopyTarget --CopyJob--> TableWrite on top of the plan
//!
//! batches of a driver --partitions.rs--> rows of a directory --sink.rs--> file being written
//!    (writer.rs)                                                             | all written
//!                                            one row: rows, files, bytes <-- files.rs renames
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `options.rs` | options of the statement |
//! | `writer.rs` | writer of the rows of one driver |
//! | `partitions.rs` | assignment of rows to directories by their keys |
//! | `sink.rs` | writers of single files |
//! | `lineage.rs` | metadata that the source files have for the copied columns |
//! | `files.rs` | files that appear when all are written |
//! | `parquet/` | Parquet files; with the feature `copy-parquet` |
//!
//! Files are written to the local file system; an engine that reads from another one rejects COPY.
//! Into a folder each driver writes its own files; a single file has one writer, which keeps the
//! order of the rows.

mod files;
mod lineage;
mod options;
#[cfg(feature = "copy-parquet")]
mod parquet;
mod partitions;
mod sink;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;

use connector_hive::ProcessZone;
use dwio::stored::StoredColumn;
use exec::plan::{PlanNode, RowWriter, TableWriteNode, WriteTarget, WriterPlace};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::sync::atomic::AtomicUsize;
use vector::{DecodedVector, Error, Result, RowType, RowVector, Type, Value};

use self::files::{Shape, Staging};
use self::partitions::Partitioner;
use self::writer::CopyWriter;

pub(crate) use self::lineage::stored_columns;
pub(crate) use self::options::CopyTarget;

/// Columns of the counts of writers and of the result.
const COUNTS: [&str; 3] = ["rows", "files", "bytes"];
/// Id of the node that writes; the ids of other nodes are numbers.
const NODE: &str = "copy";

/// Returns the type of the result of COPY: one row that counts what was written.
pub(crate) fn result_type() -> RowType {
    RowType::new(COUNTS.map(|name| (name, Type::BigInt)))
}

/// Returns counts as a row.
fn counts_row(counts: [u64; 3]) -> Result<RowVector> {
    let column = |count| {
        let count = Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX));
        vector_of(&Type::BigInt, [&count])
    };
    let columns = counts.map(column).into_iter().collect::<Result<_>>()?;
    RowVector::batch(Arc::new(result_type()), 1, columns)
}

/// A running COPY, shared by its writers. Its files are removed if it is abandoned.
#[derive(Clone)]
pub(crate) struct CopyJob(Arc<Work>);

/// State that the writers share.
struct Work {
    target: CopyTarget,
    description: String,
    partitioner: Partitioner,
    /// Positions of the columns that are written into files.
    kept: Vec<usize>,
    file_type: Arc<RowType>,
    /// Metadata that the source files have for these columns.
    stored: Vec<StoredColumn>,
    /// Number of files of all writers.
    num_files: AtomicUsize,
    staging: Staging,
}

impl CopyJob {
    /// Checks whether `target` may be written, and starts the COPY.
    pub(crate) fn start(
        target: CopyTarget,
        row_type: &RowType,
        zone: Option<ProcessZone>,
    ) -> Result<Self> {
        let partitioner = Partitioner::new(row_type, &target.partition_by, zone);
        let is_kept = |i: &usize| !target.partition_by.contains(i);
        let kept: Vec<usize> = (0..row_type.len()).filter(is_kept).collect();
        let fields = row_type.fields().enumerate().filter(|(i, _)| is_kept(i));
        let file_type: Vec<_> =
            fields.map(|(_, (name, ty))| (name.to_string(), ty.clone())).collect();
        let stored = kept.iter().map(|i| target.stored.get(*i).cloned().unwrap_or_default());
        let stored = stored.collect();
        let shape = match partitioner.first_key() {
            Some(_) => Shape::Folder,
            None if target.per_driver => Shape::Folder,
            None => Shape::File,
        };
        let staging = Staging::new(&target.path, shape, target.overwrite)?;
        Ok(CopyJob(Arc::new(Work {
            description: target.describe(row_type),
            target,
            partitioner,
            kept,
            stored,
            file_type: Arc::new(RowType::new(file_type)),
            num_files: AtomicUsize::new(0),
            staging,
        })))
    }

    /// Returns the node that writes the rows of `source`.
    pub(crate) fn node(&self, source: &Arc<PlanNode>) -> Arc<PlanNode> {
        Arc::new(PlanNode::TableWrite(TableWriteNode {
            id: NODE.into(),
            source: Arc::clone(source),
            target: Arc::new(self.clone()),
            output_type: Arc::new(result_type()),
        }))
    }
}

impl WriteTarget for CopyJob {
    fn is_single(&self) -> bool {
        self.0.staging.is_file()
    }

    fn writer(&self, place: WriterPlace) -> Result<Box<dyn RowWriter>> {
        Ok(Box::new(CopyWriter::new(Arc::clone(&self.0), place)?))
    }
}

impl fmt::Debug for CopyJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.description)
    }
}

/// The end of a COPY, which collects the counts of its writers. If it is dropped before it is
/// published, all written files are removed.
pub(crate) struct CopyEnd {
    job: CopyJob,
    counts: [u64; 3],
}

impl CopyEnd {
    /// Returns the end of `job`.
    pub(crate) fn new(job: CopyJob) -> Self {
        CopyEnd { job, counts: [0; 3] }
    }

    /// Adds the counts of writers.
    pub(crate) fn add(&mut self, rows: &RowVector) -> Result<()> {
        for (sum, column) in self.counts.iter_mut().zip(rows.children()) {
            let column = DecodedVector::new(column)?;
            for row in 0..rows.len() {
                let Value::BigInt(count) = column.value(row)? else {
                    return Err(Error::internal("a writer that does not count"));
                };
                *sum = sum.saturating_add_signed(count);
            }
        }
        Ok(())
    }

    /// Moves all files to their places and returns the row of counts.
    pub(crate) fn publish(mut self) -> Result<RowVector> {
        if self.counts == [0; 3] {
            // A folder without files would not be a table.
            self.counts = writer::write_no_rows(&self.job.0)?;
        }
        self.job.0.staging.publish()?;
        counts_row(self.counts)
    }
}

impl Drop for CopyEnd {
    fn drop(&mut self) {
        self.job.0.staging.abandon();
    }
}
