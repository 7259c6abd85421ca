//! One pool of the tree: its counters, and how a reservation is added to the pools above it.

use super::reclaim::{MAX_ROUNDS, Reclaim};
use super::waits::{WAITING, Waits};
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, ModelArc, Mutex, Weak};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolKind {
    Aggregate,
    Leaf,
    /// A leaf whose memory is not attributed to a query.
    Cache,
}

/// The part of a pool that the pools above it can access.
pub(super) struct Counters {
    pub(super) name: String,
    pub(super) limit: u64,
    is_cache: bool,
    /// Bytes in use; in a root also the flag [`WAITING`].
    pub(super) used: AtomicU64,
    pub(super) peak: AtomicU64,
    pub(super) below: Mutex<Vec<Weak<Counters>>>,
    /// Registered reclaimers of this pool.
    pub(super) holders: Mutex<Vec<Weak<dyn Reclaim>>>,
}

impl std::fmt::Debug for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counters({}: {} of {})", self.name, self.used(), self.limit)
    }
}

impl Counters {
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire) & !WAITING
    }
}

#[derive(Debug)]
struct Node {
    counters: Arc<Counters>,
    kind: PoolKind,
    /// Bytes of a leaf that were reserved ahead and are not yet used by a reservation.
    ahead: AtomicU64,
    parent: Option<MemoryPool>,
    /// Waits for memory below this pool, if it is a root.
    waits: Waits,
}

impl Drop for Node {
    /// Releases the unused part of what was reserved ahead.
    fn drop(&mut self) {
        let left = self.ahead.load(Ordering::Relaxed);
        if let (true, Some(parent)) = (left > 0, &self.parent) {
            parent.release(left);
        }
    }
}

/// A handle to one pool of the tree; clones share the pool.
#[derive(Debug, Clone)]
pub struct MemoryPool(ModelArc<Node>);

impl MemoryPool {
    /// Creates the root of a tree with a limit in bytes, `u64::MAX` for no limit.
    pub fn root(name: impl Into<String>, limit: u64) -> Self {
        Self::make(name.into(), PoolKind::Aggregate, limit, None)
    }

    /// Creates an aggregate pool below this one, with a limit in bytes.
    ///
    /// # Panics
    /// If this pool is a leaf, because leaves have no children.
    pub fn aggregate(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.0.kind == PoolKind::Aggregate, "a leaf pool has no children");
        Self::make(name.into(), PoolKind::Aggregate, limit, Some(self.clone()))
    }

    /// Creates a leaf below this pool, without a limit of its own.
    ///
    /// # Panics
    /// If this pool is a leaf.
    pub fn leaf(&self, name: impl Into<String>) -> Self {
        self.limited_leaf(name, u64::MAX)
    }

    /// Creates a leaf below this pool, with a limit of its own in bytes.
    ///
    /// # Panics
    /// If this pool is a leaf.
    pub fn limited_leaf(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.0.kind == PoolKind::Aggregate, "a leaf pool has no children");
        Self::make(name.into(), PoolKind::Leaf, limit, Some(self.clone()))
    }

    /// Creates a leaf with a limit in bytes for a cache, whose memory is not attributed to a query.
    ///
    /// # Panics
    /// If this pool is not the root.
    pub fn cache_leaf(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.parent().is_none(), "a cache is shared by all queries");
        Self::make(name.into(), PoolKind::Cache, limit, Some(self.clone()))
    }

    /// Creates a leaf in a new tree without limits, for tests and tools.
    pub fn unlimited() -> Self {
        Self::root("unlimited", u64::MAX).leaf("leaf")
    }

    fn make(name: String, kind: PoolKind, limit: u64, parent: Option<MemoryPool>) -> Self {
        let counters = Arc::new(Counters {
            name,
            limit,
            is_cache: kind == PoolKind::Cache,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            below: Mutex::default(),
            holders: Mutex::default(),
        });
        if let Some(parent) = &parent {
            let mut below = parent.0.counters.below.lock();
            // Entries of dropped pools are removed when the list would grow.
            if below.len() == below.capacity() {
                below.retain(|pool| pool.strong_count() > 0);
            }
            below.push(Arc::downgrade(&counters));
        }
        let (ahead, waits) = (AtomicU64::new(0), Waits::default());
        MemoryPool(ModelArc::new(Node { counters, kind, ahead, parent, waits }))
    }

    /// Reserves `bytes` in this leaf and in all pools above it. If a limit is in the way, the
    /// reclaimers below the pool with that limit are called first.
    ///
    /// # Errors
    /// `Limit` if a limit would still be exceeded; then nothing is reserved.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        debug_assert!(self.0.kind != PoolKind::Aggregate, "only leaves allocate");
        let paid = self.take_ahead(bytes);
        self.climb_or_reclaim(bytes - paid).map_err(|refusal| {
            self.0.ahead.fetch_add(paid, Ordering::Relaxed);
            let at = &refusal.pool.0.counters;
            Error::limit("memory limit reached")
                .with("pool", &at.name)
                .with("used", refusal.used)
                .with("wanted", bytes)
                .with("limit", at.limit)
                .in_named("memory pool", self.path())
                .hint(format!("memory is held by\n  {}", self.tree()))
        })
    }

    /// Reserves `bytes` for later reservations of this leaf, as [`MemoryPool::reserve`] does.
    /// Returns false if a limit would be exceeded.
    pub fn reserve_ahead(&self, bytes: u64) -> bool {
        let granted = self.climb_or_reclaim(bytes).is_ok();
        if granted {
            self.0.ahead.fetch_add(bytes, Ordering::Relaxed);
        }
        granted
    }

    /// Reserves `bytes` if all limits allow it, without calling reclaimers. Returns true on
    /// success.
    pub(super) fn try_reserve(&self, bytes: u64) -> bool {
        self.climb(bytes).is_ok()
    }

    /// Releases the unused part of what [`MemoryPool::reserve_ahead`] reserved.
    pub fn release_ahead(&self) {
        let left = self.0.ahead.swap(0, Ordering::Relaxed);
        if left > 0 {
            self.release(left);
        }
    }

    /// Uses memory that was reserved ahead for up to `bytes`, and returns how much of it was used.
    fn take_ahead(&self, bytes: u64) -> u64 {
        let mut ahead = self.0.ahead.load(Ordering::Relaxed);
        while ahead > 0 {
            let part = ahead.min(bytes);
            match self.0.ahead.compare_exchange_weak(
                ahead,
                ahead - part,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return part,
                Err(now) => ahead = now,
            }
        }
        0
    }

    /// Adds `bytes` as [`MemoryPool::climb`] does, and retries after reclaimers have released
    /// memory.
    fn climb_or_reclaim(&self, bytes: u64) -> std::result::Result<(), Refusal> {
        let mut outcome = self.climb(bytes);
        for _ in 0..MAX_ROUNDS {
            match &outcome {
                Err(refusal) if refusal.pool.reclaim(bytes) => outcome = self.climb(bytes),
                _ => break,
            }
        }
        outcome
    }

    /// Returns true if a reservation of `bytes` would be granted now without calling reclaimers.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.obstacle(bytes).is_none()
    }

    /// Returns the lowest pool whose limit `bytes` more would exceed.
    pub(super) fn obstacle(&self, bytes: u64) -> Option<&MemoryPool> {
        self.upwards().find(|pool| pool.used().saturating_add(bytes) > pool.limit())
    }

    /// Returns the bytes held by caches directly below this pool.
    pub(super) fn cached_bytes(&self) -> u64 {
        let below = self.0.counters.below.lock();
        let caches = below.iter().filter_map(Weak::upgrade).filter(|pool| pool.is_cache);
        caches.fold(0, |sum: u64, pool| sum.saturating_add(pool.used()))
    }

    /// Adds `bytes` to this pool and all pools above it, or to none of them.
    fn climb(&self, bytes: u64) -> std::result::Result<(), Refusal> {
        match self.obstacle(bytes) {
            Some(pool) => Err(Refusal { pool: pool.clone(), used: pool.used() }),
            None => self.add_from_above(bytes),
        }
    }

    /// Adds `bytes` first to the pools above this one and then to this pool, so that a pool never
    /// shows more bytes than the pool above it. If a concurrent reservation has used up a limit
    /// meanwhile, nothing is added.
    fn add_from_above(&self, bytes: u64) -> std::result::Result<(), Refusal> {
        if let Some(above) = self.parent() {
            above.add_from_above(bytes)?;
        }
        let used = self.add(bytes).map_err(|used| {
            if let Some(above) = self.parent() {
                above.release(bytes);
            }
            Refusal { pool: self.clone(), used }
        })?;
        self.0.counters.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    /// Adds `bytes` regardless of limits, for growth that cannot fail. The next
    /// [`MemoryPool::reserve`] takes the excess into account.
    pub fn charge(&self, bytes: u64) {
        if let Some(above) = self.parent() {
            above.charge(bytes);
        }
        let counters = &self.0.counters;
        let used = counters.used.fetch_add(bytes, Ordering::Release) + bytes;
        counters.peak.fetch_max(used & !WAITING, Ordering::Relaxed);
    }

    /// Releases `bytes` from this pool and all pools above it.
    pub fn release(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        for pool in self.upwards() {
            // Release pairs with the Acquire of a thread that begins to wait: either that thread
            // sees the memory released below the root, or this thread sees the flag.
            let before = pool.0.counters.used.fetch_sub(bytes, Ordering::AcqRel);
            debug_assert!(before & !WAITING >= bytes, "more released than reserved");
            if before & WAITING != 0 {
                pool.0.waits.settle();
            }
        }
    }

    /// Adds `bytes` to this pool alone. Returns the bytes in use including them, or, if the limit
    /// would be exceeded, the bytes in use without them as the error.
    fn add(&self, bytes: u64) -> std::result::Result<u64, u64> {
        let counters = &self.0.counters;
        let mut used = counters.used.load(Ordering::Relaxed);
        loop {
            let wanted = (used & !WAITING).saturating_add(bytes);
            if wanted > counters.limit || wanted & WAITING != 0 {
                return Err(used & !WAITING);
            }
            match counters.used.compare_exchange_weak(
                used,
                wanted | (used & WAITING),
                // Release pairs with the Acquire of `used`: a thread that sees these bytes in this
                // pool also sees them in the pools above.
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(wanted),
                Err(now) => used = now,
            }
        }
    }

    /// Returns the pool's own name.
    pub fn name(&self) -> &str {
        &self.0.counters.name
    }

    /// Returns the names from the root to this pool, joined by `/`.
    pub fn path(&self) -> String {
        match &self.0.parent {
            Some(parent) => format!("{}/{}", parent.path(), self.name()),
            None => self.name().to_string(),
        }
    }

    /// Returns the bytes in use now, in this pool and below it.
    pub fn used(&self) -> u64 {
        self.0.counters.used()
    }

    /// Returns the maximum of the bytes in use so far.
    pub fn peak(&self) -> u64 {
        self.0.counters.peak.load(Ordering::Relaxed)
    }

    /// Returns the limit in bytes, `u64::MAX` for no limit.
    pub fn limit(&self) -> u64 {
        self.0.counters.limit
    }

    /// Returns the lowest limit of this pool and the pools above it in bytes, `u64::MAX` for no
    /// limit.
    pub fn lowest_limit(&self) -> u64 {
        self.upwards().map(MemoryPool::limit).min().unwrap_or(u64::MAX)
    }

    /// Returns true if this pool or one above it has a limit.
    pub fn is_limited(&self) -> bool {
        self.upwards().any(|pool| pool.limit() != u64::MAX)
    }

    /// Returns the pool above, or `None` if this is the root.
    pub fn parent(&self) -> Option<&MemoryPool> {
        self.0.parent.as_ref()
    }

    /// Returns the whole tree of this pool as text, with a line for each pool that holds memory.
    pub fn tree(&self) -> String {
        self.root_pool().0.counters.tree()
    }

    /// Iterates over this pool and the pools above it, ending with the root.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &MemoryPool> {
        std::iter::successors(Some(self), |pool| pool.parent())
    }

    pub(super) fn root_pool(&self) -> &MemoryPool {
        self.upwards().last().unwrap_or(self)
    }

    pub(super) fn is(&self, other: &MemoryPool) -> bool {
        ModelArc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(super) fn waits(&self) -> &Waits {
        &self.0.waits
    }
}

/// The pool whose limit refused a reservation, and its bytes in use.
struct Refusal {
    pool: MemoryPool,
    used: u64,
}
