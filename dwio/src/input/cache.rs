//! The region cache: bytes of files that all queries of an engine share, up to a bound.
//!
//! A file is cut into blocks of one size; a block is known by the file it is of, that file's length
//! and version, and its number. A file that has changed is another file, so that nothing stale is ever
//! given.
//!
//! ```text
//! file     |  block 0  |  block 1  |  block 2  |  block 3  |
//! wanted           |------------------------|
//! cache      ready       absent      loading by another
//!            pinned      loaded here, then kept        waited for
//! ```
//!
//! | block | a reader wants it | its load ends | its load fails | memory is wanted |
//! |---|---|---|---|---|
//! | absent | loading, by this reader | | | |
//! | loading | waits | ready, and all who wait have it | absent; all who wait read for themselves | stays |
//! | ready | pinned | | | evicted, so absent: the least recently used first |
//! | pinned: somebody holds its bytes | pinned | | | stays |
//!
//! A reader first claims all blocks that are absent, loads those, and only then waits for others, so
//! that nobody waits for somebody who waits. A load never fails a query (rule S14.17): whoever finds
//! that it has failed reads just what is wanted, and meets the error or not. The lock is never held
//! while bytes are read or memory is asked for.
//!
//! Memory comes from a pool of the cache's own, whose limit is the bound. Whenever a pool above it is
//! short of memory the cache gives back what nobody holds (`Reclaim`).

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

/// Bytes of a block, if nobody says otherwise: some of the shortest reads that cost little more than
/// a read of one byte where files are far.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// How often who waits for a load of others looks whether its query still wants it.
const LOOK_AROUND: Duration = Duration::from_millis(10);

/// Bytes of files, for all who read them.
#[derive(Debug, Clone)]
pub struct RegionCache(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pool: MemoryPool,
    block_bytes: u64,
    blocks: Mutex<Blocks>,
    /// Some loads have ended.
    loaded: Condvar,
}

/// Which file, in which state of its life.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    path: String,
    len: u64,
    version: FileVersion,
}

/// How a reader uses a cache.
#[derive(Debug, Clone)]
pub struct CacheAccess {
    /// The cache.
    pub cache: RegionCache,
    /// What is read is kept for others; else only what is there is used.
    pub keeps: bool,
    /// Counts what was there.
    pub counter: CacheCounter,
}

/// What readers found in a cache.
#[derive(Debug, Clone, Default)]
pub struct CacheCounter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    bytes: AtomicU64,
    wait_nanos: AtomicU64,
}

impl CacheCounter {
    /// Wanted bytes that were in memory, and by how many blocks.
    pub fn hits(&self) -> (u64, u64) {
        (self.0.bytes.load(Ordering::Relaxed), self.0.reads.load(Ordering::Relaxed))
    }

    /// The time that readers waited for blocks that others loaded.
    pub fn wait_time(&self) -> Duration {
        Duration::from_nanos(self.0.wait_nanos.load(Ordering::Relaxed))
    }

    /// Adds what another counter has counted.
    pub fn absorb(&self, other: &CacheCounter) {
        self.waited(other.wait_time());
        let (bytes, reads) = other.hits();
        // Only sums are kept, nothing is ordered by them.
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
    /// A cache of at most `max_bytes` below `root`, in blocks of [`BLOCK_BYTES`].
    pub fn new(root: &MemoryPool, max_bytes: u64) -> Self {
        Self::with_blocks(root, max_bytes, BLOCK_BYTES)
    }

    /// As [`RegionCache::new`], in blocks of `block_bytes`, at least one byte.
    pub fn with_blocks(root: &MemoryPool, max_bytes: u64, block_bytes: u64) -> Self {
        let pool = root.cache_leaf("cache", max_bytes);
        let shared = Arc::new(Shared {
            pool: pool.clone(),
            block_bytes: block_bytes.max(1),
            blocks: Mutex::default(),
            loaded: Condvar::new(),
        });
        pool.give_back_through(Arc::downgrade(&shared) as Weak<dyn Reclaim>);
        RegionCache(shared)
    }

    /// The pool that pays for what is kept.
    pub fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }

    /// Drops all that nobody holds.
    pub fn clear(&self) {
        let dropped = self.0.blocks.lock().evict(u64::MAX);
        drop(dropped);
    }
}

impl Reclaim for Shared {
    fn reclaim(&self, bytes: u64) {
        // Waited for, so that no query fails because somebody looked at the blocks just then; under
        // this lock nobody asks for memory or waits. Dropped behind it: giving memory back may wake
        // others.
        let dropped = self.blocks.lock().evict(bytes);
        drop(dropped);
    }
}

impl Shared {
    /// Memory of the cache for `len` bytes; none when all that it has is in use.
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

/// The blocks that a read wants, by their numbers.
type Found = BTreeMap<u64, Block>;

/// A block that a reader holds.
struct Block {
    bytes: Buffer<u8>,
    /// It was in memory before.
    was_there: bool,
}

/// A file as it is seen through a cache.
#[derive(Debug, Clone)]
pub(crate) struct CachedFile {
    access: CacheAccess,
    file: Arc<FileIdentity>,
    cancel: Option<CancelFlag>,
}

impl CachedFile {
    /// `None` for a file whose state cannot be told from others.
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

    /// Where a block is in the file; the last one is short.
    fn region(&self, block: u64) -> Range<u64> {
        let size = self.shared().block_bytes;
        let start = block.saturating_mul(size);
        start..start.saturating_add(size).min(self.file.len)
    }

    /// The blocks that `wanted` touches.
    fn blocks(&self, wanted: &Range<u64>) -> Range<u64> {
        let size = self.shared().block_bytes;
        wanted.start / size..wanted.end.div_ceil(size)
    }

    /// What of the file has to be read when `wanted` will be; `None` when all is there or on its way.
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

    /// The bytes of `wanted`, in parts that follow each other, out of blocks that are there or are
    /// loaded from `file` now, at most `max_bytes` at once if these are several; memory to sort them
    /// out comes from `pool`. `None` when the caller has to read them itself; `Cancelled` when nobody
    /// wants them any more.
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

    /// Looks at all wanted blocks: those that are there, and claims of those that nobody has; the
    /// others are being loaded. `None` when one is absent and nothing is to be kept.
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
                // Nothing was claimed: nothing is kept.
                Turn::Absent => return None,
            }
        }
        Some((found, claims))
    }

    /// The bytes of a block that another reader loads; `None` when it has failed or the block has
    /// gone again.
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
        Ok(loaded.wait_at_most(state, LOOK_AROUND))
    }

    /// What is wanted of a block, which is counted if it was in memory.
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

/// Blocks that follow each other and are this reader's to load; those that were not are absent again
/// when it is dropped.
struct Claim<'a> {
    of: &'a CachedFile,
    blocks: Range<u64>,
}

impl Claim<'_> {
    /// Reads the blocks and has them known; `None` when that fails, or there is no memory for them.
    fn load(self, file: &dyn ReadFile, pool: &MemoryPool) -> Option<Vec<(u64, Buffer<u8>)>> {
        // Held until the claim is dropped, so that none of the blocks can go and come back before.
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
            // One read is worth a copy; each block has memory of its own, to go by itself.
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
