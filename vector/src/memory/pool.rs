//! One pool of the tree: its counters, and the climb of a reservation.

use super::reclaim::{MAX_ROUNDS, Reclaim};
use super::waits::{WAITING, Waits};
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, ModelArc, Mutex, Weak};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolKind {
    Aggregate,
    Leaf,
    /// A leaf whose memory is no query's own.
    Cache,
}

/// What is known of a pool: all that the pools above it see.
pub(super) struct Counters {
    pub(super) name: String,
    pub(super) limit: u64,
    is_cache: bool,
    /// With the flag [`WAITING`], at the root.
    pub(super) used: AtomicU64,
    pub(super) peak: AtomicU64,
    pub(super) below: Mutex<Vec<Weak<Counters>>>,
    /// Those who hold memory of this pool that they can do without.
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
    /// Bytes of a leaf that are reserved and not asked for yet.
    ahead: AtomicU64,
    parent: Option<MemoryPool>,
    /// Who waits for memory below this root.
    waits: Waits,
}

impl Drop for Node {
    /// Gives back what was reserved ahead and nobody has asked for.
    fn drop(&mut self) {
        let left = self.ahead.load(Ordering::Relaxed);
        if let (true, Some(parent)) = (left > 0, &self.parent) {
            parent.release(left);
        }
    }
}

/// A handle to one pool of the tree; cloning it shares the pool.
#[derive(Debug, Clone)]
pub struct MemoryPool(ModelArc<Node>);

impl MemoryPool {
    /// Makes the root of a tree; `limit` in bytes, `u64::MAX` for none.
    pub fn root(name: impl Into<String>, limit: u64) -> Self {
        Self::make(name.into(), PoolKind::Aggregate, limit, None)
    }

    /// Makes an aggregate pool below this one.
    ///
    /// # Panics
    /// When this is a leaf: leaves have no children.
    pub fn aggregate(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.0.kind == PoolKind::Aggregate, "a leaf pool has no children");
        Self::make(name.into(), PoolKind::Aggregate, limit, Some(self.clone()))
    }

    /// Makes a leaf below this pool.
    ///
    /// # Panics
    /// When this is a leaf.
    pub fn leaf(&self, name: impl Into<String>) -> Self {
        self.limited_leaf(name, u64::MAX)
    }

    /// As [`MemoryPool::leaf`], with a limit of its own in bytes.
    ///
    /// # Panics
    /// When this is a leaf.
    pub fn limited_leaf(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.0.kind == PoolKind::Aggregate, "a leaf pool has no children");
        Self::make(name.into(), PoolKind::Leaf, limit, Some(self.clone()))
    }

    /// As [`MemoryPool::limited_leaf`], for a cache, whose memory no query holds by itself.
    ///
    /// # Panics
    /// When this is not the root.
    pub fn cache_leaf(&self, name: impl Into<String>, limit: u64) -> Self {
        assert!(self.parent().is_none(), "a cache is shared by all queries");
        Self::make(name.into(), PoolKind::Cache, limit, Some(self.clone()))
    }

    /// A leaf of a tree of its own without a limit, for tests and tools.
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
            // Those that have gone are forgotten when the list would grow.
            if below.len() == below.capacity() {
                below.retain(|pool| pool.strong_count() > 0);
            }
            below.push(Arc::downgrade(&counters));
        }
        let (ahead, waits) = (AtomicU64::new(0), Waits::default());
        MemoryPool(ModelArc::new(Node { counters, kind, ahead, parent, waits }))
    }

    /// Takes `bytes` from this leaf and everything above it, or nothing and a `Limit` error. Where
    /// there is no room, those who can do without some of theirs are asked for it first.
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

    /// Takes `bytes` for reservations of this leaf that follow; false when a limit is in the way, as
    /// in [`MemoryPool::reserve`].
    pub fn reserve_ahead(&self, bytes: u64) -> bool {
        let granted = self.climb_or_reclaim(bytes).is_ok();
        if granted {
            self.0.ahead.fetch_add(bytes, Ordering::Relaxed);
        }
        granted
    }

    /// Takes `bytes` where there is room for them, nobody being asked for memory.
    pub(super) fn try_reserve(&self, bytes: u64) -> bool {
        self.climb(bytes).is_ok()
    }

    /// Gives back what is left of [`MemoryPool::reserve_ahead`].
    pub fn release_ahead(&self) {
        let left = self.0.ahead.swap(0, Ordering::Relaxed);
        if left > 0 {
            self.release(left);
        }
    }

    /// The part of `bytes` that was reserved ahead.
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

    /// As [`MemoryPool::climb`], again after others have given back what they can do without.
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

    /// True when a reservation of `bytes` would be granted now, nobody being asked for memory.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.obstacle(bytes).is_none()
    }

    /// The lowest pool that has no room for `bytes` more.
    pub(super) fn obstacle(&self, bytes: u64) -> Option<&MemoryPool> {
        self.upwards().find(|pool| pool.used().saturating_add(bytes) > pool.limit())
    }

    /// Bytes that caches directly below this pool hold.
    pub(super) fn cached_bytes(&self) -> u64 {
        let below = self.0.counters.below.lock();
        let caches = below.iter().filter_map(Weak::upgrade).filter(|pool| pool.is_cache);
        caches.fold(0, |sum: u64, pool| sum.saturating_add(pool.used()))
    }

    /// Adds `bytes` to this pool and all above it, or to none.
    fn climb(&self, bytes: u64) -> std::result::Result<(), Refusal> {
        match self.obstacle(bytes) {
            Some(pool) => Err(Refusal { pool: pool.clone(), used: pool.used() }),
            None => self.add_from_above(bytes),
        }
    }

    /// Adds `bytes` to all pools above this one, and then to it: at no time has a pool more than
    /// the one above it. Where somebody else has taken the room just now, nothing is added.
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

    /// Takes `bytes` without asking the limits: for growth that cannot fail. The excess is seen
    /// by the next [`MemoryPool::reserve`].
    pub fn charge(&self, bytes: u64) {
        if let Some(above) = self.parent() {
            above.charge(bytes);
        }
        let counters = &self.0.counters;
        let used = counters.used.fetch_add(bytes, Ordering::Release) + bytes;
        counters.peak.fetch_max(used & !WAITING, Ordering::Relaxed);
    }

    /// Gives `bytes` back.
    pub fn release(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        for pool in self.upwards() {
            // Release pairs with the Acquire of who begins to wait: what was given back below the
            // root is seen there, or the flag is seen here.
            let before = pool.0.counters.used.fetch_sub(bytes, Ordering::AcqRel);
            debug_assert!(before & !WAITING >= bytes, "more released than reserved");
            if before & WAITING != 0 {
                pool.0.waits.settle();
            }
        }
    }

    /// The bytes in use with `bytes`; those without them when together they pass the limit.
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
                // Pairs with the Acquire of `used`: whoever sees these bytes here sees them above.
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(wanted),
                Err(now) => used = now,
            }
        }
    }

    /// The pool's own name.
    pub fn name(&self) -> &str {
        &self.0.counters.name
    }

    /// The names from the root to this pool, joined by `/`.
    pub fn path(&self) -> String {
        match &self.0.parent {
            Some(parent) => format!("{}/{}", parent.path(), self.name()),
            None => self.name().to_string(),
        }
    }

    /// Bytes in use now, in this pool and below it.
    pub fn used(&self) -> u64 {
        self.0.counters.used()
    }

    /// The most bytes that were ever in use at once.
    pub fn peak(&self) -> u64 {
        self.0.counters.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes, `u64::MAX` for none.
    pub fn limit(&self) -> u64 {
        self.0.counters.limit
    }

    /// The lowest limit of this pool and those above it, in bytes; `u64::MAX` for none.
    pub fn lowest_limit(&self) -> u64 {
        self.upwards().map(MemoryPool::limit).min().unwrap_or(u64::MAX)
    }

    /// True when this pool, or one above it, has a limit.
    pub fn is_limited(&self) -> bool {
        self.upwards().any(|pool| pool.limit() != u64::MAX)
    }

    /// The pool above, if this is not the root.
    pub fn parent(&self) -> Option<&MemoryPool> {
        self.0.parent.as_ref()
    }

    /// The whole tree that this pool is in, as text: a line for each pool that holds something.
    pub fn tree(&self) -> String {
        self.root_pool().0.counters.tree()
    }

    /// This pool and those above it.
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

/// The pool that had no room, and what it held.
struct Refusal {
    pool: MemoryPool,
    used: u64,
}
