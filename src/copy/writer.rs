//! Writer of the rows of one driver, with one file for each directory.

use std::collections::BTreeMap;

use exec::operator::reservation::Reservation;
use exec::plan::{RowWriter, WriterPlace};
use vector::gather::gather_batch;
use vector::stop::check_stop;
use vector::sync::Arc;
use vector::sync::atomic::Ordering;
use vector::{Error, MemoryPool, Result, RowVector, VectorRef};

use super::files::sync_file;
use super::sink::OpenFile;
use super::{Work, counts_row};

/// Prefix of file names. The number of the driver and the extension follow.
pub(super) const FILE_NAME: &str = "data_";
/// Maximum number of files that are written at the same time; each has its own buffers.
const MAX_OPEN_FILES: usize = 10_000;
/// Maximum number of bytes that all files together buffer in memory.
const MAX_BYTES: usize = 256 << 20;
/// Divisor of the memory limit that bounds the buffered bytes. It leaves memory for encoding and
/// compressing them.
const MAX_SHARE: u64 = 8;

/// Writes the rows of one driver.
pub(super) struct CopyWriter {
    work: Arc<Work>,
    driver: usize,
    /// Open files by directory; the directory is empty if the output is not partitioned.
    files: BTreeMap<String, OpenFile>,
    num_rows: u64,
    /// Number of bytes buffered in all files.
    num_bytes: usize,
    max_bytes: usize,
    memory: Reservation,
}

impl CopyWriter {
    /// Returns a writer that has not written any rows.
    pub(super) fn new(work: Arc<Work>, place: WriterPlace) -> Result<Self> {
        let WriterPlace { driver, num_drivers, pool } = place;
        let mut writer = CopyWriter {
            work,
            driver,
            files: BTreeMap::new(),
            num_rows: 0,
            num_bytes: 0,
            max_bytes: max_bytes(&pool) / num_drivers.max(1),
            memory: Reservation::new(&pool),
        };
        if driver == 0 && !writer.is_partitioned() {
            // A query without rows produces a file too.
            writer.file("")?;
        }
        Ok(writer)
    }

    fn is_partitioned(&self) -> bool {
        self.work.partitioner.first_key().is_some()
    }

    fn append(&mut self, directory: &str, rows: &RowVector) -> Result<()> {
        // The rows are copied: their size is reserved before the copy, and adjusted to the buffered
        // size after it.
        self.memory.grow(rows.flat_bytes())?;
        let file = self.file(directory)?;
        let before = file.sink.num_bytes();
        file.sink.write(rows)?;
        let added = file.sink.num_bytes().saturating_sub(before);
        self.num_bytes = self.num_bytes.saturating_add(added);
        while self.num_bytes > self.max_bytes {
            let largest = self.files.values_mut().max_by_key(|file| file.sink.num_bytes());
            let Some(file) = largest else { break };
            let before = file.sink.num_bytes();
            file.sink.flush()?;
            let gone = before.saturating_sub(file.sink.num_bytes());
            self.num_bytes = self.num_bytes.saturating_sub(gone);
            if gone == 0 {
                break;
            }
        }
        self.memory.resize(self.num_bytes as u64);
        self.memory.commit()
    }

    /// Returns the file of a directory, and creates it if it is new.
    fn file(&mut self, directory: &str) -> Result<&mut OpenFile> {
        if !self.files.contains_key(directory) {
            let Work { target, file_type, stored, staging, num_files, .. } = &*self.work;
            if num_files.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN_FILES {
                return Err(
                    Error::limit("COPY would write too many files").with("max", MAX_OPEN_FILES)
                );
            }
            let name = format!("{FILE_NAME}{}.{}", self.driver, target.ending());
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            let file = staging.file(&path)?;
            let file = OpenFile::new(&target.format, (file_type, stored), file)?;
            self.files.insert(directory.to_string(), file);
        }
        let found = self.files.get_mut(directory);
        found.ok_or_else(|| Error::internal("a file of COPY was lost"))
    }
}

/// Writes a file without rows into the partition of nulls, so that the columns and keys of a table
/// without rows can be read back.
pub(super) fn write_no_rows(work: &Work) -> Result<[u64; 3]> {
    let directory = work.partitioner.null_directory();
    let path = format!("{directory}/{FILE_NAME}0.{}", work.target.ending());
    let file = work.staging.file(&path)?;
    let columns = (&work.file_type, work.stored.as_slice());
    let OpenFile { sink, path } = OpenFile::new(&work.target.format, columns, file)?;
    sink.finish()?;
    Ok([0, 1, sync_file(&path)?])
}

impl RowWriter for CopyWriter {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        self.num_rows += batch.len() as u64;
        let children = self.work.kept.iter().map(|i| batch.child(*i).cloned());
        let children: Vec<VectorRef> = children.collect::<Result<_>>()?;
        let file_type = Arc::clone(&self.work.file_type);
        let rows = RowVector::batch(file_type, batch.len(), children)?;
        if !self.is_partitioned() {
            return self.append("", &rows);
        }
        for (directory, picked) in self.work.partitioner.split(batch)? {
            check_stop()?;
            if picked.len() == rows.len() {
                self.append(&directory, &rows)?;
            } else {
                self.append(&directory, &gather_batch(&rows, &picked)?)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<RowVector> {
        let (num_files, mut num_bytes) = (self.files.len() as u64, 0);
        for OpenFile { sink, path } in self.files.into_values() {
            check_stop()?;
            sink.finish()?;
            num_bytes += sync_file(&path)?;
        }
        counts_row([self.num_rows, num_files, num_bytes])
    }
}

/// Returns the number of bytes that all drivers together may buffer in memory.
fn max_bytes(pool: &MemoryPool) -> usize {
    let share = usize::try_from(pool.lowest_limit() / MAX_SHARE).unwrap_or(usize::MAX);
    share.min(MAX_BYTES)
}
