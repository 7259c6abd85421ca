//! Buffered input: the bytes of one file, region by region.
//!
//! A reader first announces the regions it will want ([`BufferedInput::enqueue`]), then loads them
//! in few large reads ([`BufferedInput::load`]): regions whose gap is small are read together, up to
//! a limit ([`Coalescing`]). Reading a region that was not loaded reads it on the spot. The end of a
//! file, where formats keep what they know of it, and small files whole are read once
//! ([`BufferedInput::load_end`]), and never again.
//!
//! ```text
//! enqueued   |--a--| gap |---b---|            |--c--|
//! reads      [-------- one --------]          [-two-]
//! ```
//!
//! Each read looks into the cache that the queries of an engine share, if there is one
//! ([`cache`]); mapped files and their pages are in memory anyway.
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

/// Files up to this size are read whole when they are opened: one read instead of one for the
/// footer and more for its pages.
pub const SMALL_FILE_BYTES: u64 = 256 << 10;

/// The bytes of one open file, with what is loaded of them.
#[derive(Debug)]
pub struct BufferedInput {
    /// For what the file says of itself, which is read piece by piece,
    file: Arc<dyn ReadFile>,
    /// and the same one for values, which are loaded.
    values: Arc<dyn ReadFile>,
    coalescing: Coalescing,
    cached: Option<CachedFile>,
    /// The last bytes of the file, or all, and where they start.
    end: Option<(u64, Buffer<u8>)>,
    enqueued: Vec<Range<u64>>,
    loaded: Vec<(u64, Buffer<u8>)>,
    /// Memory of released regions that nobody else holds, for the regions loaded next.
    spare: Spare,
    /// Bytes between regions that were read with them.
    gap_bytes: u64,
}

impl BufferedInput {
    /// Input from `file`; memory is taken from `pool`, which must be a leaf.
    pub fn new(file: Arc<dyn ReadFile>, pool: MemoryPool) -> Self {
        Self::with_options(file, pool, InputOptions::default())
    }

    /// As [`BufferedInput::new`], read as `options` say.
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
        let values = file.of_values().unwrap_or_else(|| Arc::clone(&file));
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

    /// A second input over the same file, with nothing loaded but the end that this one has.
    pub fn reopened(&self) -> Self {
        let (file, cached) = (Arc::clone(&self.file), self.cached.clone());
        let input = Self::made(file, Spare::new(self.pool().clone()), self.coalescing, cached);
        BufferedInput { end: self.end.clone(), ..input }
    }

    /// As [`BufferedInput::reopened`], for values only: also what is read without being loaded.
    pub fn reopened_for_values(&self) -> Self {
        let input = self.reopened();
        BufferedInput { file: Arc::clone(&input.values), ..input }
    }

    /// What is read at once.
    pub fn coalescing(&self) -> Coalescing {
        self.coalescing
    }

    /// Reads the last `len` bytes of the file, all of one of at most [`SMALL_FILE_BYTES`], and keeps
    /// them.
    pub fn load_end(&mut self, len: u64) -> Result<()> {
        let file_len = self.file_len();
        if self.end.is_none() {
            let len = if file_len <= SMALL_FILE_BYTES { file_len } else { len.min(file_len) };
            let start = file_len.saturating_sub(len);
            // Of a small file it is the values too.
            let file = if start == 0 { &self.values } else { &self.file };
            self.end = Some((start, self.bytes(file, start, len)?));
        }
        Ok(())
    }

    /// Lets go of everything loaded and of another input's; memory of either that nobody else holds
    /// serves the next load here.
    pub fn release_with(&mut self, mut other: BufferedInput) {
        self.release();
        other.release();
        self.spare.absorb(other.spare);
    }

    /// The file's path.
    pub fn path(&self) -> &str {
        self.file.path()
    }

    /// The file's length in bytes.
    pub fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// The file's state, where the file system can tell it from others.
    pub fn file_version(&self) -> Option<FileVersion> {
        self.file.version()
    }

    /// True when each read of the file takes long.
    pub fn is_far(&self) -> bool {
        self.file.is_far()
    }

    /// The pool that pays for what is read.
    pub fn pool(&self) -> &MemoryPool {
        self.spare.pool()
    }

    /// Announces a region; nothing is read yet. `Corrupt` when it is not inside the file.
    pub fn enqueue(&mut self, region: Range<u64>) -> Result<()> {
        self.check(region.start, region.end.saturating_sub(region.start))?;
        if !region.is_empty() {
            self.enqueued.push(region);
        }
        Ok(())
    }

    /// Reads all announced regions, joining near ones.
    pub fn load(&mut self) -> Result<()> {
        let (joined, gap_bytes) = self.joined();
        self.gap_bytes = self.gap_bytes.saturating_add(gap_bytes);
        // While one is read the others may be on their way.
        joined.iter().skip(1).for_each(|region| self.will_need(region.clone()));
        joined.into_iter().try_for_each(|region| self.load_region(region))
    }

    /// Says that the announced regions will be loaded by another input of the same file.
    pub fn load_later(&mut self) {
        for region in self.joined().0 {
            self.will_need(region);
        }
    }

    /// Says that a region will be read.
    pub fn will_need(&self, region: Range<u64>) {
        let missing = match &self.cached {
            Some(cached) => cached.missing(region),
            None => Some(region),
        };
        if let Some(region) = missing {
            self.values.will_need(region.start, region.end.saturating_sub(region.start));
        }
    }

    /// Bytes that were read because they stood between regions that were read together.
    pub fn gap_bytes(&self) -> u64 {
        self.gap_bytes
    }

    /// The announced regions as they are to be read, which ends their announcement, and the bytes
    /// between them that are read with them.
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

    /// Lets go of everything loaded; buffers handed out stay valid. Memory that nobody else holds
    /// is kept for the next load, so that a scan does not ask the system for it again and again.
    pub fn release(&mut self) {
        self.enqueued.clear();
        for (_, bytes) in std::mem::take(&mut self.loaded) {
            self.spare.keep(bytes);
        }
    }

    /// The bytes `offset..offset + len`: from a loaded region, the map, or read now. `Corrupt`
    /// when they are not inside the file.
    pub fn read(&self, offset: u64, len: u64) -> Result<Buffer<u8>> {
        self.check(offset, len)?;
        match self.loaded(offset, len) {
            Some(bytes) => Ok(bytes),
            None => self.bytes(&self.file, offset, len),
        }
    }

    /// The bytes `offset..offset + len` if they are loaded.
    pub fn loaded(&self, offset: u64, len: u64) -> Option<Buffer<u8>> {
        self.end.iter().chain(&self.loaded).find_map(|(start, bytes)| {
            let from = offset.checked_sub(*start)?;
            let end = from.checked_add(len).filter(|end| *end <= bytes.len() as u64)?;
            Some(bytes.slice(usize::try_from(from).ok()?..usize::try_from(end).ok()?))
        })
    }

    /// The bytes from the map, the cache or the file.
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

    /// The bytes out of the cache: a part of a block, or copied from several.
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
        // What only begins in front of the end is read as a whole.
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
