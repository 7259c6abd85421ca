//! Buffered input: access to the bytes of one file, region by region.
//!
//! A reader first announces the regions it will read ([`BufferedInput::enqueue`]), then loads them
//! with few large reads ([`BufferedInput::load`]): regions separated by a small gap are read
//! together, up to a size limit ([`Coalescing`]). A region that was not loaded is read on demand.
//! The end of a file, which contains the metadata of most formats, and small files as a whole are
//! read only once ([`BufferedInput::load_end`]).
//!
//! ```text
//! enqueued   |--a--| gap |---b---|            |--c--|
//! reads      [-- coalesced read -]            [-----]
//! ```
//!
//! Each read uses the cache shared by the queries of an engine, if there is one ([`cache`]). Mapped
//! files bypass it, since their pages are in memory already.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod cache;
pub mod cursor;
mod options;
mod spare;

use std::ops::Range;

use vector::sync::Arc;
use vector::{Buffer, Error, MemoryPool, Result, ResultExt};

use self::cache::CachedFile;
pub use self::options::{
    Coalescing, InputOptions, LOAD_QUANTUM, MAX_COALESCE_GAP, MAX_COALESCED_BYTES,
};
use self::spare::Spare;
use crate::fs::{FileVersion, ReadFile};

/// Maximum size of a file that is read as a whole when it is opened: one read instead of one for
/// the footer and more for the pages.
pub const SMALL_FILE_BYTES: u64 = 256 << 10;

/// The bytes of one open file, with the regions that are loaded.
#[derive(Debug)]
pub struct BufferedInput {
    /// Handle for metadata (footer, indexes), which is read on demand.
    file: Arc<dyn ReadFile>,
    /// Handle for column data, which is read through coalesced loads; the same file, distinguished
    /// for I/O accounting.
    values: Arc<dyn ReadFile>,
    coalescing: Coalescing,
    cached: Option<CachedFile>,
    /// The last bytes of the file, or all of them, and the offset at which they start.
    end: Option<(u64, Buffer<u8>)>,
    enqueued: Vec<Range<u64>>,
    loaded: Vec<(u64, Buffer<u8>)>,
    /// Memory of released regions without other references, reused for the next loads.
    spare: Spare,
    /// Number of bytes read because they lie in a gap between two regions read together.
    gap_bytes: u64,
}

impl BufferedInput {
    /// Returns an input over `file`. Memory is reserved from `pool`, which must be a leaf.
    pub fn new(file: Arc<dyn ReadFile>, pool: MemoryPool) -> Self {
        Self::with_options(file, pool, InputOptions::default())
    }

    /// Returns an input as [`BufferedInput::new`] does, with the given options.
    pub fn with_options(file: Arc<dyn ReadFile>, pool: MemoryPool, options: InputOptions) -> Self {
        let InputOptions { coalescing, cache, cancel } = options;
        let cached = cache.and_then(|cache| CachedFile::new(&file, cache, cancel));
        Self::made(file, Spare::new(pool), coalescing, cached)
    }

    fn made(
        file: Arc<dyn ReadFile>,
        spare: Spare,
        coalescing: Coalescing,
        cached: Option<CachedFile>,
    ) -> Self {
        let values = file.data_handle().unwrap_or_else(|| Arc::clone(&file));
        BufferedInput {
            file,
            values,
            coalescing,
            cached,
            end: None,
            enqueued: Vec::new(),
            loaded: Vec::new(),
            spare,
            gap_bytes: 0,
        }
    }

    /// Returns a second input over the same file. Nothing is loaded but the end of the file, if
    /// this input has loaded it.
    pub fn reopened(&self) -> Self {
        let (file, cached) = (Arc::clone(&self.file), self.cached.clone());
        let input = Self::made(file, Spare::new(self.pool().clone()), self.coalescing, cached);
        BufferedInput { end: self.end.clone(), ..input }
    }

    /// Returns an input as [`BufferedInput::reopened`] does, whose on-demand reads count as reads
    /// of data as well.
    pub fn reopened_for_values(&self) -> Self {
        let input = self.reopened();
        BufferedInput { file: Arc::clone(&input.values), ..input }
    }

    /// Returns the sizes of coalesced reads.
    pub fn coalescing(&self) -> Coalescing {
        self.coalescing
    }

    /// Reads and keeps the last `len` bytes of the file, or the whole file if it has at most
    /// [`SMALL_FILE_BYTES`].
    ///
    /// # Errors
    /// `Io` if the read fails, or an error of reserving memory.
    pub fn load_end(&mut self, len: u64) -> Result<()> {
        let file_len = self.file_len();
        if self.end.is_none() {
            let len = if file_len <= SMALL_FILE_BYTES { file_len } else { len.min(file_len) };
            let start = file_len.saturating_sub(len);
            // The whole file includes the column data.
            let file = if start == 0 { &self.values } else { &self.file };
            self.end = Some((start, self.bytes(file, start, len)?));
        }
        Ok(())
    }

    /// Releases everything that this input and `other` have loaded. Memory of both without other
    /// references is reused by the next load of this input.
    pub fn release_with(&mut self, mut other: BufferedInput) {
        self.release();
        other.release();
        self.spare.absorb(other.spare);
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &str {
        self.file.path()
    }

    /// Returns the length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// Returns the version of the file; `None` if the file system does not provide one.
    pub fn file_version(&self) -> Option<FileVersion> {
        self.file.version()
    }

    /// Returns true if each read of the file takes long ([`ReadFile::is_far`]).
    pub fn is_far(&self) -> bool {
        self.file.is_far()
    }

    /// Returns the pool that accounts for the bytes read.
    pub fn pool(&self) -> &MemoryPool {
        self.spare.pool()
    }

    /// Announces a region without reading it.
    ///
    /// # Errors
    /// `Corrupt` if the region is not inside the file.
    pub fn enqueue(&mut self, region: Range<u64>) -> Result<()> {
        self.check(region.start, region.end.saturating_sub(region.start))?;
        if !region.is_empty() {
            self.enqueued.push(region);
        }
        Ok(())
    }

    /// Reads all announced regions, joining those that are close to each other.
    ///
    /// # Errors
    /// `Io` if a read fails, `Cancelled` if the query is cancelled while it waits for another
    /// reader, or an error of reserving memory.
    pub fn load(&mut self) -> Result<()> {
        let (joined, gap_bytes) = self.joined();
        self.gap_bytes = self.gap_bytes.saturating_add(gap_bytes);
        // The other regions can be fetched in the background while one is read.
        joined.iter().skip(1).for_each(|region| self.prefetch(region.clone()));
        joined.into_iter().try_for_each(|region| self.load_region(region))
    }

    /// Announces to the file system that another input of the same file will load the announced
    /// regions.
    pub fn load_later(&mut self) {
        for region in self.joined().0 {
            self.prefetch(region);
        }
    }

    /// Announces to the file system that a region will be read.
    pub fn prefetch(&self, region: Range<u64>) {
        let missing = match &self.cached {
            Some(cached) => cached.missing(region),
            None => Some(region),
        };
        if let Some(region) = missing {
            self.values.prefetch(region.start, region.end.saturating_sub(region.start));
        }
    }

    /// Returns the number of bytes read because they lie in a gap between two regions read
    /// together.
    pub fn gap_bytes(&self) -> u64 {
        self.gap_bytes
    }

    /// Joins the announced regions into the reads to issue and clears the announcements. Also
    /// returns the number of bytes in gaps that are read with them.
    fn joined(&mut self) -> (Vec<Range<u64>>, u64) {
        let mut regions = std::mem::take(&mut self.enqueued);
        let kept = self.end.as_ref().map_or(u64::MAX, |(start, _)| *start);
        regions.retain(|region| region.start < kept);
        regions.sort_by_key(|r| r.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        let mut gap_bytes = 0u64;
        for region in regions {
            match joined.last_mut() {
                Some(last)
                    if region.start <= last.end.saturating_add(self.coalescing.max_distance)
                        && region.end.max(last.end) - last.start <= self.coalescing.max_bytes =>
                {
                    gap_bytes = gap_bytes.saturating_add(region.start.saturating_sub(last.end));
                    last.end = last.end.max(region.end);
                }
                _ => joined.push(region),
            }
        }
        (joined, gap_bytes)
    }

    fn load_region(&mut self, region: Range<u64>) -> Result<()> {
        let len = region.end.saturating_sub(region.start);
        let bytes = self.bytes(&self.values, region.start, len)?;
        self.loaded.push((region.start, bytes));
        Ok(())
    }

    /// Releases everything loaded; buffers that were returned stay valid. Memory without other
    /// references is kept for the next load, so that a scan does not allocate again for each load.
    pub fn release(&mut self) {
        self.enqueued.clear();
        for (_, bytes) in std::mem::take(&mut self.loaded) {
            self.spare.keep(bytes);
        }
    }

    /// Returns the bytes `offset..offset + len` from a loaded region, from the mapping, or by
    /// reading them now.
    ///
    /// # Errors
    /// `Corrupt` if the range is not inside the file, `Limit` if it is larger than the address
    /// space, `Io` if a read fails, `Cancelled` if the query is cancelled while it waits for
    /// another reader, or an error of reserving memory.
    pub fn read(&self, offset: u64, len: u64) -> Result<Buffer<u8>> {
        self.check(offset, len)?;
        match self.loaded(offset, len) {
            Some(bytes) => Ok(bytes),
            None => self.bytes(&self.file, offset, len),
        }
    }

    /// Returns the bytes `offset..offset + len` if they are loaded.
    pub fn loaded(&self, offset: u64, len: u64) -> Option<Buffer<u8>> {
        self.end.iter().chain(&self.loaded).find_map(|(start, bytes)| {
            let from = offset.checked_sub(*start)?;
            let end = from.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
            Some(bytes.slice(usize::try_from(from).ok()?..usize::try_from(end).ok()?))
        })
    }

    /// Returns bytes from the mapping, the cache or the file.
    fn bytes(&self, file: &Arc<dyn ReadFile>, offset: u64, len: u64) -> Result<Buffer<u8>> {
        let len = region_len(len)?;
        if let Some(bytes) = file.mapped(offset, len) {
            return Ok(bytes);
        }
        if let Some(cached) = &self.cached
            && let Some(bytes) = self.cached_bytes((cached, &**file), offset, len)?
        {
            return Ok(bytes);
        }
        let mut memory = self.spare.take(len)?;
        memory.resize_unspecified(len);
        file.read_exact_at(offset, &mut memory)?;
        Ok(memory.freeze())
    }

    /// Returns bytes from the cache: a slice of one block, or a copy from several blocks.
    fn cached_bytes(
        &self,
        (cached, file): (&CachedFile, &dyn ReadFile),
        offset: u64,
        len: usize,
    ) -> Result<Option<Buffer<u8>>> {
        let region = offset..offset.saturating_add(len as u64);
        let max_bytes = self.coalescing.max_bytes;
        let Some(parts) = cached.read(file, region, max_bytes, self.pool())? else {
            return Ok(None);
        };
        if let [only] = parts.as_slice() {
            return Ok(Some(only.clone()));
        }
        let mut memory = self.spare.take(len)?;
        parts.iter().for_each(|part| memory.extend_from_slice(part));
        Ok(Some(memory.freeze()))
    }

    fn check(&self, offset: u64, len: u64) -> Result<()> {
        let file_len = self.file.len();
        if offset.checked_add(len).is_some_and(|end| end <= file_len) {
            return Ok(());
        }
        Err(Error::corrupt("the file refers to bytes behind its end")
            .with("offset", offset)
            .with("bytes", len)
            .with("file_bytes", file_len))
        .in_named("file", self.path())
    }
}

fn region_len(len: u64) -> Result<usize> {
    usize::try_from(len)
        .map_err(|_| Error::limit("a region is larger than the address space").with("bytes", len))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::fs::{FileSystem, MemoryFiles, ObservedFiles};
    use vector::ErrorKind;

    fn input(len: usize) -> (BufferedInput, ObservedFiles) {
        let files = MemoryFiles::new();
        files.put("f", (0..len).map(|i| i as u8).collect());
        let observed = ObservedFiles::new(Arc::new(files));
        let file = observed.open("f").unwrap();
        (BufferedInput::new(file, MemoryPool::unlimited()), observed)
    }

    #[test]
    fn near_regions_are_read_together_and_far_ones_apart() {
        let (mut input, observed) = input(1 << 20);
        for start in [500_000, 0, 1000, 20_000] {
            input.enqueue(start..start + 100).unwrap();
        }
        input.load().unwrap();
        assert_eq!(observed.reads(), 3);
        assert_eq!(input.gap_bytes(), 900);
        assert_eq!(input.read(1050, 10).unwrap()[0], (1050 % 256) as u8);
        assert_eq!(observed.reads(), 3);
        input.read(900_000, 10).unwrap();
        assert_eq!(observed.reads(), 4);
    }

    #[test]
    fn what_is_joined_is_a_setting() {
        let reads = |max_distance, max_bytes| {
            let (plain, observed) = input(1 << 20);
            let coalescing = Coalescing { max_distance, max_bytes, ..Coalescing::default() };
            let options = InputOptions { coalescing, ..InputOptions::default() };
            let pool = plain.pool().clone();
            let mut input = BufferedInput::with_options(Arc::clone(&plain.file), pool, options);
            for start in [0, 1_000, 2_000, 100_000] {
                input.enqueue(start..start + 100).unwrap();
            }
            input.load().unwrap();
            assert_eq!(input.reopened().coalescing(), coalescing);
            (observed.reads(), observed.read_bytes())
        };
        assert_eq!(reads(900, 1 << 20), (2, 2_200));
        assert_eq!(reads(899, 1 << 20), (4, 400));
        assert_eq!(reads(1 << 20, 1 << 20), (1, 100_100));
        assert_eq!(reads(1 << 20, 1_100), (3, 1_300));
        assert_eq!(reads(1 << 20, 0), (4, 400), "a region is never cut");
    }

    #[test]
    fn a_small_file_and_the_end_of_a_large_one_are_read_once() {
        let (mut input, observed) = input(1000);
        input.load_end(10).unwrap();
        let mut second = input.reopened();
        second.enqueue(5..900).unwrap();
        second.load().unwrap();
        second.release();
        assert_eq!(second.read(999, 1).unwrap().as_slice(), [(999 % 256) as u8]);
        assert_eq!((observed.reads(), second.loaded(0, 1001).is_none()), (1, true));
        let (mut large, observed) = self::input(SMALL_FILE_BYTES as usize + 1);
        large.load_end(1000).unwrap();
        let len = SMALL_FILE_BYTES + 1;
        let mut second = large.reopened();
        second.enqueue(len - 900..len).unwrap();
        second.enqueue(len - 1100..len - 1000).unwrap();
        second.load().unwrap();
        assert_eq!(second.read(len - 1, 1).unwrap().as_slice(), [0]);
        assert_eq!((observed.reads(), observed.read_bytes()), (2, 1100));
        // A region that starts before the kept end is read as a whole.
        assert_eq!(second.read(len - 1050, 100).unwrap().len(), 100);
        assert_eq!(observed.reads(), 3);
    }

    #[test]
    fn regions_outside_of_the_file_are_corrupt_and_allocate_nothing() {
        let (mut input, _) = input(100);
        assert_eq!(input.read(50, 51).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(input.read(u64::MAX, 2).unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(input.enqueue(90..u64::MAX).is_err());
        assert_eq!(input.pool().peak(), 0);
    }

    #[test]
    fn released_memory_goes_back_to_the_pool() {
        let (mut input, _) = input(1000);
        input.enqueue(0..1000).unwrap();
        input.load().unwrap();
        let kept = input.read(0, 10).unwrap();
        input.release();
        assert!(input.pool().used() >= 1000);
        drop(kept);
        assert_eq!(input.pool().used(), 0);
    }

    #[test]
    fn memory_that_nobody_holds_serves_the_next_load() {
        let (mut input, _) = input(1 << 20);
        for start in (0..1 << 20).step_by(1 << 18) {
            input.release();
            input.enqueue(start..start + (1 << 18)).unwrap();
            input.load().unwrap();
            assert_eq!(input.read(start, 1).unwrap()[0], start as u8);
        }
        assert_eq!(input.pool().peak(), 1 << 18);
    }
}
