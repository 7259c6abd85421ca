//! Region cache: bytes of files shared by all queries of an engine, up to a size limit.
//!
//! A file is divided into blocks of equal size. A block is identified by the path, length and
//! version of its file and by its number. A changed file has another version, so stale bytes are
//! never returned.
//!
//! ```text
//! file     |  block 0  |  block 1  |  block 2  |  block 3  |
//! request          |------------------------|
//! cache      ready       absent      being loaded
//! action     pin         load, keep  wait
//! ```
//!
//! | block | requested | load ends | load fails | memory is reclaimed |
//! |---|---|---|---|---|
//! | absent | loading, by this reader | | | |
//! | loading | waits | ready, for all waiting readers | absent; they read themselves | stays |
//! | ready | pinned | | | evicted, so absent: the least recently used first |
//! | pinned: a reader holds its bytes | pinned | | | stays |
//!
//! A reader first claims all absent blocks, loads them, and only then waits for other readers.
//! Waits are therefore never chained and cannot deadlock. A failed load does not by itself fail a
//! query (rule S14.17): a reader that finds a failed load reads exactly the requested bytes and
//! returns the error of that read, if any. The lock is never held while bytes are read or memory is
//! reserved.
//!
//! Memory is reserved from the cache's own pool, whose limit is the size limit of the cache. When a
//! pool above it is short of memory, the cache releases unpinned blocks (`Reclaim`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, CancelFlag, Condvar, Mutex, MutexGuard, Weak};
use vector::{Buffer, BufferMut, MemoryPool, Reclaim, Result};

use self::blocks::{Blocks, Key, Turn};
use crate::fs::{FileVersion, ReadFile};

mod blocks;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

/// Default size of a block in bytes. With remote files, a read of this size costs little more than
/// a read of one byte.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// Interval at which a reader that waits for another reader's load checks whether its query is
/// cancelled.
const RECHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A cache of file bytes, shared by all readers that hold a clone.
#[derive(Debug, Clone)]
pub struct RegionCache(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pool: MemoryPool,
    block_bytes: u64,
    blocks: Mutex<Blocks>,
    /// Signals that loads have ended.
    loaded: Condvar,
}

/// Identity of a file in one of its states.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    path: String,
    len: u64,
    version: FileVersion,
}

/// How a reader uses a cache.
#[derive(Debug, Clone)]
pub struct CacheAccess {
    /// Cache to use.
    pub cache: RegionCache,
    /// True if bytes that are read are kept in the cache; false if only bytes already in the cache
    /// are used.
    pub keeps: bool,
    /// Counts the cache hits.
    pub counter: CacheCounter,
}

/// Counters of cache hits and waits, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct CacheCounter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    bytes: AtomicU64,
    wait_nanos: AtomicU64,
}

impl CacheCounter {
    /// Returns the number of requested bytes found in memory and the number of blocks that
    /// contained them.
    pub fn hits(&self) -> (u64, u64) {
        (self.0.bytes.load(Ordering::Relaxed), self.0.reads.load(Ordering::Relaxed))
    }

    /// Returns the time that readers spent waiting for blocks loaded by other readers.
    pub fn wait_time(&self) -> Duration {
        Duration::from_nanos(self.0.wait_nanos.load(Ordering::Relaxed))
    }

    /// Adds the counts of another counter.
    pub fn absorb(&self, other: &CacheCounter) {
        self.waited(other.wait_time());
        let (bytes, reads) = other.hits();
        // Relaxed: only the sums matter, and no other memory access is ordered by them.
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.reads.fetch_add(reads, Ordering::Relaxed);
    }

    fn waited(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.wait_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    fn add(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.reads.fetch_add(1, Ordering::Relaxed);
    }
}

impl RegionCache {
    /// Returns a cache of at most `max_bytes` below `root`, with blocks of [`BLOCK_BYTES`].
    ///
    /// # Panics
    /// If `root` is not the root of its pool tree.
    pub fn new(root: &MemoryPool, max_bytes: u64) -> Self {
        Self::with_blocks(root, max_bytes, BLOCK_BYTES)
    }

    /// Returns a cache as [`RegionCache::new`] does, with blocks of `block_bytes`, at least one
    /// byte.
    ///
    /// # Panics
    /// If `root` is not the root of its pool tree.
    pub fn with_blocks(root: &MemoryPool, max_bytes: u64, block_bytes: u64) -> Self {
        let pool = root.cache_leaf("cache", max_bytes);
        let shared = Arc::new(Shared {
            pool: pool.clone(),
            block_bytes: block_bytes.max(1),
            blocks: Mutex::default(),
            loaded: Condvar::new(),
        });
        pool.register_reclaimer(Arc::downgrade(&shared) as Weak<dyn Reclaim>);
        RegionCache(shared)
    }

    /// Returns the pool that accounts for the blocks.
    pub fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }

    /// Drops all unpinned blocks.
    pub fn clear(&self) {
        let dropped = self.0.blocks.lock().evict(u64::MAX);
        drop(dropped);
    }
}

impl Reclaim for Shared {
    fn reclaim(&self, bytes: u64) {
        // Blocks on the lock instead of skipping the cache, so that no query fails because another
        // thread was accessing the blocks. This is safe, because no thread reserves memory or waits
        // while it holds the lock. The evicted blocks are dropped after the lock is released,
        // because returning memory to the pool may wake waiting threads.
        let dropped = self.blocks.lock().evict(bytes);
        drop(dropped);
    }
}

impl Shared {
    /// Returns memory of the cache for `len` bytes; `None` if all of its memory is in use.
    fn memory(&self, len: usize) -> Option<BufferMut<u8>> {
        while !self.pool.has_room(len as u64) {
            let dropped = self.blocks.lock().evict(len as u64);
            if dropped.is_empty() {
                return None;
            }
        }
        BufferMut::with_capacity_in(len, &self.pool).ok()
    }
}

/// The blocks of a read, by block number.
type Found = BTreeMap<u64, Block>;

/// A block pinned by a reader.
struct Block {
    bytes: Buffer<u8>,
    /// True if the block was in memory before the read.
    was_there: bool,
}

/// A file accessed through a cache.
#[derive(Debug, Clone)]
pub(crate) struct CachedFile {
    access: CacheAccess,
    file: Arc<FileIdentity>,
    cancel: Option<CancelFlag>,
}

impl CachedFile {
    /// Returns `None` for a file without a version, whose states cannot be distinguished.
    pub(crate) fn new(
        file: &Arc<dyn ReadFile>,
        access: CacheAccess,
        cancel: Option<CancelFlag>,
    ) -> Option<Self> {
        let (path, len, version) = (file.path().to_string(), file.len(), file.version()?);
        Some(CachedFile { access, file: Arc::new(FileIdentity { path, len, version }), cancel })
    }

    fn shared(&self) -> &Shared {
        &self.access.cache.0
    }

    fn key(&self, block: u64) -> Key {
        (Arc::clone(&self.file), block)
    }

    /// Returns the byte range of a block in the file; the last block is shorter.
    fn region(&self, block: u64) -> Range<u64> {
        let size = self.shared().block_bytes;
        let start = block.saturating_mul(size);
        start..start.saturating_add(size).min(self.file.len)
    }

    /// Returns the numbers of the blocks that `wanted` overlaps.
    fn blocks(&self, wanted: &Range<u64>) -> Range<u64> {
        let size = self.shared().block_bytes;
        wanted.start / size..wanted.end.div_ceil(size)
    }

    /// Returns the range of the file to read before `wanted` can be served; `None` if all of its
    /// blocks are in memory or being loaded.
    pub(crate) fn missing(&self, wanted: Range<u64>) -> Option<Range<u64>> {
        if !self.access.keeps {
            return Some(wanted);
        }
        let state = self.shared().blocks.lock();
        let mut absent = self.blocks(&wanted).filter(|block| !state.has(&self.key(*block)));
        let first = absent.next()?;
        let last = absent.next_back().unwrap_or(first);
        Some(self.region(first).start..self.region(last).end)
    }

    /// Returns the bytes of `wanted`, as consecutive parts, from blocks that are in memory or are
    /// loaded from `file` now. A read of several blocks has at most `max_bytes`, and its temporary
    /// buffer is allocated from `pool`. Returns `None` if the caller has to read the bytes itself.
    ///
    /// # Errors
    /// `Cancelled` if the query is cancelled while it waits for another reader.
    pub(crate) fn read(
        &self,
        file: &dyn ReadFile,
        wanted: Range<u64>,
        max_bytes: u64,
        pool: &MemoryPool,
    ) -> Result<Option<Vec<Buffer<u8>>>> {
        if wanted.is_empty() || wanted.end > self.file.len {
            return Ok(None);
        }
        let Some((mut found, claims)) = self.begin(&wanted, max_bytes) else { return Ok(None) };
        for claim in claims {
            let Some(loaded) = claim.load(file, pool) else { return Ok(None) };
            for (block, bytes) in loaded {
                found.insert(block, Block { bytes, was_there: false });
            }
        }
        for block in self.blocks(&wanted) {
            if let std::collections::btree_map::Entry::Vacant(place) = found.entry(block) {
                let start = Instant::now();
                let bytes = self.wait(block)?;
                self.access.counter.waited(start.elapsed());
                let Some(bytes) = bytes else { return Ok(None) };
                place.insert(Block { bytes, was_there: true });
            }
        }
        Ok(found.into_iter().map(|(block, found)| self.part(block, found, &wanted)).collect())
    }

    /// Looks up all blocks of `wanted`. Returns those in memory and claims on those that are
    /// absent; the remaining ones are being loaded by other readers. Returns `None` if a block is
    /// absent and the reader does not keep blocks.
    fn begin(&self, wanted: &Range<u64>, max_bytes: u64) -> Option<(Found, Vec<Claim<'_>>)> {
        let (mut found, mut claims) = (Found::new(), Vec::<Claim<'_>>::new());
        let mut state = self.shared().blocks.lock();
        for block in self.blocks(wanted) {
            match state.turn(&self.key(block), self.access.keeps) {
                Turn::Ready(bytes) => {
                    found.insert(block, Block { bytes, was_there: true });
                }
                Turn::Wait => {}
                Turn::Load => {
                    let run = claims.last_mut().filter(|claim| {
                        let bytes = self.region(block).end - self.region(claim.blocks.start).start;
                        claim.blocks.end == block && bytes <= max_bytes
                    });
                    match run {
                        Some(claim) => claim.blocks.end = block.saturating_add(1),
                        None => {
                            let blocks = block..block.saturating_add(1);
                            claims.push(Claim { of: self, blocks });
                        }
                    }
                }
                // A reader that does not keep blocks has claimed none, so there is no claim to
                // release.
                Turn::Absent => return None,
            }
        }
        Some((found, claims))
    }

    /// Returns the bytes of a block that another reader loads; `None` if the load failed or the
    /// block has been evicted again.
    fn wait(&self, block: u64) -> Result<Option<Buffer<u8>>> {
        let (shared, key) = (self.shared(), self.key(block));
        let mut state = shared.blocks.lock();
        loop {
            match state.turn(&key, false) {
                Turn::Ready(bytes) => return Ok(Some(bytes)),
                Turn::Wait => state = self.wait_for_loads(state)?,
                Turn::Load | Turn::Absent => return Ok(None),
            }
        }
    }

    fn wait_for_loads<'a>(
        &'a self,
        state: MutexGuard<'a, Blocks>,
    ) -> Result<MutexGuard<'a, Blocks>> {
        let loaded = &self.shared().loaded;
        let Some(cancel) = &self.cancel else { return Ok(loaded.wait(state)) };
        cancel.check()?;
        Ok(loaded.wait_at_most(state, RECHECK_INTERVAL))
    }

    /// Returns the requested part of a block, and counts it if the block was in memory.
    fn part(
        &self,
        block: u64,
        Block { bytes, was_there }: Block,
        wanted: &Range<u64>,
    ) -> Option<Buffer<u8>> {
        let region = self.region(block);
        let within = |at: u64| usize::try_from(at.clamp(region.start, region.end) - region.start);
        let range = within(wanted.start).ok()?..within(wanted.end).ok()?;
        if was_there {
            self.access.counter.add(range.len() as u64);
        }
        (range.end <= bytes.len()).then(|| bytes.slice(range))
    }
}

/// Consecutive blocks claimed for loading by this reader. When the claim is dropped, the blocks
/// that were not published become absent again.
struct Claim<'a> {
    of: &'a CachedFile,
    blocks: Range<u64>,
}

impl Claim<'_> {
    /// Reads the blocks and publishes them; returns `None` if the read fails or no memory is
    /// available for them.
    fn load(self, file: &dyn ReadFile, pool: &MemoryPool) -> Option<Vec<(u64, Buffer<u8>)>> {
        // The bytes are held until the claim is dropped, so that no block can be evicted and
        // claimed again before that.
        let loaded = self.read(file, pool)?;
        let mut state = self.of.shared().blocks.lock();
        for (block, bytes) in &loaded {
            state.publish(&self.of.key(*block), bytes.clone());
        }
        Some(loaded)
    }

    fn read(&self, file: &dyn ReadFile, pool: &MemoryPool) -> Option<Vec<(u64, Buffer<u8>)>> {
        let mut blocks = Vec::new();
        for block in self.blocks.clone() {
            let region = self.of.region(block);
            let len = usize::try_from(region.end.checked_sub(region.start)?).ok()?;
            let mut memory = self.of.shared().memory(len)?;
            memory.resize_unspecified(len);
            blocks.push((block, memory));
        }
        let start = self.of.region(self.blocks.start).start;
        if let [(_, only)] = blocks.as_mut_slice() {
            file.read_exact_at(start, only).ok()?;
        } else {
            // A copy is cheaper than several reads. Each block has its own memory, so that it can
            // be evicted on its own.
            let end = self.of.region(self.blocks.end.checked_sub(1)?).end;
            let len = usize::try_from(end.checked_sub(start)?).ok()?;
            let mut all = BufferMut::with_capacity_in(len, pool).ok()?;
            all.resize_unspecified(len);
            file.read_exact_at(start, &mut all).ok()?;
            let mut rest = all.as_slice();
            for (_, memory) in &mut blocks {
                let (bytes, behind) = rest.split_at_checked(memory.len())?;
                memory.copy_from_slice(bytes);
                rest = behind;
            }
        }
        Some(blocks.into_iter().map(|(block, memory)| (block, memory.freeze())).collect())
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let shared = self.of.shared();
        let mut state = shared.blocks.lock();
        self.blocks.clone().for_each(|block| state.give_up(&self.of.key(block)));
        drop(state);
        shared.loaded.notify_all();
    }
}
