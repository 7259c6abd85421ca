//! The rows of one driver into its files, one for each directory.

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

/// What names of files begin with; the number of the driver and the ending follow.
pub(super) const FILE_NAME: &str = "data_";
/// Files that are written at once, at most: each has buffers of its own.
const MAX_OPEN_FILES: usize = 10_000;
/// Bytes of all files together that wait in memory at most,
const MAX_BYTES: usize = 256 << 20;
/// and which part of the memory limit: when they are written they are also encoded and compressed.
const MAX_SHARE: u64 = 8;

/// Writes what one driver has.
pub(super) struct CopyWriter {
    work: Arc<Work>,
    driver: usize,
    /// By directory; one without a name when nothing is partitioned.
    files: BTreeMap<String, OpenFile>,
    num_rows: u64,
    /// Bytes that wait in all files.
    num_bytes: usize,
    max_bytes: usize,
    memory: Reservation,
}

impl CopyWriter {
    /// Has written nothing yet.
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
            // Also a query without rows leaves a file.
            writer.file("")?;
        }
        Ok(writer)
    }

    fn is_partitioned(&self) -> bool {
        self.work.partitioner.first_key().is_some()
    }

    fn append(&mut self, directory: &str, rows: &RowVector) -> Result<()> {
        // The rows are copied: their bytes are reserved before, and what they take after.
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

    /// The file of a directory, which is begun when it is new.
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

/// Writes a file without rows into the partition of nulls, so that a table without rows has its
/// columns and its keys.
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

/// Bytes that may wait in memory for all drivers.
fn max_bytes(pool: &MemoryPool) -> usize {
    let share = usize::try_from(pool.lowest_limit() / MAX_SHARE).unwrap_or(usize::MAX);
    share.min(MAX_BYTES)
}
