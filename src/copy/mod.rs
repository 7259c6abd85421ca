//! COPY: the rows of a query into files.
//!
//! ```text
//! CopyRequest (src/sql) --options.rs--> CopyTarget
//!                                          |
//! batches of the query --partitions.rs--> rows of a directory --sink.rs--> file being written
//!                                                                            | all written
//!                                            one row: rows, files, bytes <-- files.rs renames
//! ```
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | what stands in the parentheses |
//! | `partitions.rs` | rows to directories by their keys |
//! | `sink.rs` | where the rows of one file go |
//! | `files.rs` | files that appear when all is written |
//! | `parquet/` | Parquet files; with the feature `copy-parquet` |
//!
//! Files are written to the local file system, whatever the engine reads from.

mod files;
mod options;
#[cfg(feature = "copy-parquet")]
mod parquet;
mod partitions;
mod sink;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use connector_hive::zone::ProcessZone;
use vector::build::vector_of;
use vector::gather::gather_batch;
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, ResultExt, RowType, RowVector, Type, Value, VectorRef};

use self::files::{Shape, Staging};
use self::partitions::Partitioner;
use self::sink::OpenFile;

pub(crate) use self::options::CopyTarget;

/// Files that are written at once, at most: each has buffers of its own.
const MAX_OPEN_FILES: usize = 10_000;
/// Bytes of all files together that wait in memory at most.
const MAX_BYTES: usize = 256 << 20;

/// The columns of what COPY gives: one row that counts what was written.
pub(crate) fn result_type() -> RowType {
    RowType::new(["rows", "files", "bytes"].map(|name| (name, Type::BigInt)))
}

/// A COPY under way; what it has written vanishes when it is dropped unfinished.
pub(crate) struct CopyJob {
    target: CopyTarget,
    partitioner: Partitioner,
    /// Positions of the columns that are written into files, and their types.
    kept: Vec<usize>,
    file_type: Arc<RowType>,
    /// By directory; one without a name when nothing is partitioned.
    files: BTreeMap<String, OpenFile>,
    num_rows: u64,
    memory: Charge,
    // Last, so that files are closed before they are removed.
    staging: Staging,
}

impl CopyJob {
    /// Looks whether `target` may be written, and begins.
    pub(crate) fn start(
        target: CopyTarget,
        row_type: &Arc<RowType>,
        zone: Option<ProcessZone>,
        pool: &MemoryPool,
    ) -> Result<Self> {
        let partitioner = Partitioner::new(row_type, &target.partition_by, zone);
        let is_kept = |i: &usize| !target.partition_by.contains(i);
        let kept: Vec<usize> = (0..row_type.len()).filter(is_kept).collect();
        let fields = row_type.fields().enumerate().filter(|(i, _)| is_kept(i));
        let file_type: Vec<_> =
            fields.map(|(_, (name, ty))| (name.to_string(), ty.clone())).collect();
        let shape = match partitioner.first_key() {
            Some(key) => Shape::Partitions(connector_hive::partition::escape(key)),
            None => Shape::File,
        };
        let staging = Staging::new(&target.path, shape, target.overwrite)?;
        let mut job = CopyJob {
            target,
            partitioner,
            kept,
            file_type: Arc::new(RowType::new(file_type)),
            files: BTreeMap::new(),
            num_rows: 0,
            memory: Charge { pool: pool.leaf("copy"), bytes: 0 },
            staging,
        };
        if job.partitioner.first_key().is_none() {
            // Also a query without rows leaves a file.
            job.file("")?;
        }
        Ok(job)
    }

    /// Writes a batch.
    pub(crate) fn write(&mut self, batch: &RowVector) -> Result<()> {
        self.num_rows += batch.len() as u64;
        let children = self.kept.iter().map(|i| batch.child(*i).cloned());
        let children: Vec<VectorRef> = children.collect::<Result<_>>()?;
        let rows = RowVector::batch(Arc::clone(&self.file_type), batch.len(), children)?;
        if self.partitioner.first_key().is_none() {
            return self.append("", &rows);
        }
        for (directory, picked) in self.partitioner.split(batch)? {
            if picked.len() == rows.len() {
                self.append(&directory, &rows)?;
            } else {
                self.append(&directory, &gather_batch(&rows, &picked)?)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, directory: &str, rows: &RowVector) -> Result<()> {
        let file = self.file(directory)?;
        let before = file.sink.num_bytes();
        file.sink.write(rows)?;
        let after = file.sink.num_bytes();
        self.memory.change(before, after)?;
        while self.memory.bytes > MAX_BYTES {
            let largest = self.files.values_mut().max_by_key(|file| file.sink.num_bytes());
            let Some(file) = largest else { break };
            let before = file.sink.num_bytes();
            file.sink.flush()?;
            let after = file.sink.num_bytes();
            self.memory.change(before, after)?;
            if after >= before {
                break;
            }
        }
        Ok(())
    }

    /// The file of a directory, which is begun when it is new.
    fn file(&mut self, directory: &str) -> Result<&mut OpenFile> {
        if !self.files.contains_key(directory) {
            if self.files.len() >= MAX_OPEN_FILES {
                return Err(Error::limit("COPY would write too many partitions")
                    .with("max", MAX_OPEN_FILES));
            }
            let path = format!("{directory}/data_0.{}", self.target.ending());
            let staged = self.staging.file(&path)?;
            let file = OpenFile::new(&self.target.format, &self.file_type, staged)?;
            self.files.insert(directory.to_string(), file);
        }
        let found = self.files.get_mut(directory);
        found.ok_or_else(|| Error::internal("a file of COPY was lost"))
    }

    /// Ends all files, puts them in their places and counts them.
    pub(crate) fn finish(self) -> Result<RowVector> {
        let (num_files, mut num_bytes) = (self.files.len() as u64, 0);
        for OpenFile { sink, path } in self.files.into_values() {
            sink.finish()?;
            let written = std::fs::metadata(&path)
                .map_err(|e| Error::from_io(e, "cannot look at what was written"))
                .in_named("path", path.to_string_lossy())?;
            num_bytes += written.len();
        }
        self.staging.publish()?;
        let counts = [self.num_rows, num_files, num_bytes].map(|count| {
            let count = Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX));
            vector_of(&Type::BigInt, [&count])
        });
        let columns = counts.into_iter().collect::<Result<_>>()?;
        RowVector::batch(Arc::new(result_type()), 1, columns)
    }
}

/// Memory of a pool, given back when dropped.
struct Charge {
    pool: MemoryPool,
    bytes: usize,
}

impl Charge {
    /// A part of it was `before` and is `after` bytes.
    fn change(&mut self, before: usize, after: usize) -> Result<()> {
        if after > before {
            self.pool.reserve((after - before) as u64)?;
        } else {
            self.pool.release((before - after) as u64);
        }
        self.bytes = (self.bytes + after).saturating_sub(before);
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.pool.release(self.bytes as u64);
    }
}
