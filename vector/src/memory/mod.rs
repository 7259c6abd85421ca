//! Memory pools: who may allocate, how much is used, and where it ends.
//!
//! ```text
//! root "query"           limit 4 GiB, sees every byte below it
//!   aggregate "task 0"
//!     leaf "scan 0"      only leaves allocate
//!     leaf "aggregation"
//! ```
//!
//! A reservation climbs from the leaf to the root; if any pool on the way would pass its limit,
//! what was added below is taken back and the caller gets a `Limit` error. Counters are plain
//! atomics: used and peak are exact for one pool, and a limit is never passed by what
//! [`MemoryPool::reserve`] granted.

pub mod buffer;

use crate::error::{Error, Result};
use crate::sync::ModelArc;
use crate::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolKind {
    Aggregate,
    Leaf,
}

#[derive(Debug)]
struct Node {
    name: String,
    kind: PoolKind,
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
    parent: Option<MemoryPool>,
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
        assert!(self.0.kind == PoolKind::Aggregate, "a leaf pool has no children");
        Self::make(name.into(), PoolKind::Leaf, u64::MAX, Some(self.clone()))
    }

    /// A leaf of a tree of its own without a limit, for tests and tools.
    pub fn unlimited() -> Self {
        Self::root("unlimited", u64::MAX).leaf("leaf")
    }

    fn make(name: String, kind: PoolKind, limit: u64, parent: Option<MemoryPool>) -> Self {
        MemoryPool(ModelArc::new(Node {
            name,
            kind,
            limit,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            parent,
        }))
    }

    /// Takes `bytes` from this leaf and everything above it, or nothing and a `Limit` error.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        debug_assert!(self.0.kind == PoolKind::Leaf, "only leaves allocate");
        let mut pool = Some(self);
        while let Some(current) = pool {
            if let Err(error) = current.add(bytes) {
                let mut undo = Some(self);
                while let Some(below) = undo {
                    if ModelArc::ptr_eq(&below.0, &current.0) {
                        break;
                    }
                    below.0.used.fetch_sub(bytes, Ordering::Relaxed);
                    undo = below.0.parent.as_ref();
                }
                return Err(error.in_named("memory pool", self.path()));
            }
            pool = current.0.parent.as_ref();
        }
        Ok(())
    }

    /// Takes `bytes` without asking the limits: for growth that cannot fail. The excess is seen
    /// by the next [`MemoryPool::reserve`].
    pub fn charge(&self, bytes: u64) {
        let mut pool = Some(self);
        while let Some(current) = pool {
            let used = current.0.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
            current.0.peak.fetch_max(used, Ordering::Relaxed);
            pool = current.0.parent.as_ref();
        }
    }

    /// Gives `bytes` back.
    pub fn release(&self, bytes: u64) {
        let mut pool = Some(self);
        while let Some(current) = pool {
            let before = current.0.used.fetch_sub(bytes, Ordering::Relaxed);
            debug_assert!(before >= bytes, "more released than reserved");
            pool = current.0.parent.as_ref();
        }
    }

    fn add(&self, bytes: u64) -> Result<()> {
        let mut used = self.0.used.load(Ordering::Relaxed);
        loop {
            let wanted = used.saturating_add(bytes);
            if wanted > self.0.limit {
                return Err(Error::limit("memory limit reached")
                    .with("pool", &self.0.name)
                    .with("used", used)
                    .with("wanted", bytes)
                    .with("limit", self.0.limit));
            }
            match self.0.used.compare_exchange_weak(
                used,
                wanted,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.0.peak.fetch_max(wanted, Ordering::Relaxed);
                    return Ok(());
                }
                Err(now) => used = now,
            }
        }
    }

    /// The pool's own name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The names from the root to this pool, joined by `/`.
    pub fn path(&self) -> String {
        match &self.0.parent {
            Some(parent) => format!("{}/{}", parent.path(), self.0.name),
            None => self.0.name.clone(),
        }
    }

    /// Bytes in use now, in this pool and below it.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were ever in use at once.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes, `u64::MAX` for none.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// The pool above, if this is not the root.
    pub fn parent(&self) -> Option<&MemoryPool> {
        self.0.parent.as_ref()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_pool_above_a_leaf_sees_its_bytes_and_keeps_the_peak() {
        let root = MemoryPool::root("query", 1000);
        let task = root.aggregate("task", u64::MAX);
        let (a, b) = (task.leaf("a"), task.leaf("b"));
        a.reserve(300).unwrap();
        b.reserve(500).unwrap();
        assert_eq!((a.used(), b.used(), task.used(), root.used()), (300, 500, 800, 800));
        a.release(300);
        assert_eq!((root.used(), root.peak(), a.peak()), (500, 800, 300));
        assert_eq!(b.path(), "query/task/b");
    }

    #[test]
    fn a_refused_reservation_leaves_no_trace() {
        let root = MemoryPool::root("query", 1000);
        let leaf = root.aggregate("task", u64::MAX).leaf("scan");
        leaf.reserve(900).unwrap();
        let error = leaf.reserve(200).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.field("limit"), Some("1000"));
        assert_eq!((leaf.used(), root.used()), (900, 900));
        leaf.reserve(100).unwrap();
    }

    #[test]
    fn a_charge_passes_the_limit_and_the_next_reservation_fails() {
        let root = MemoryPool::root("query", 100);
        let leaf = root.leaf("scan");
        leaf.charge(150);
        assert_eq!(leaf.reserve(1).unwrap_err().kind(), ErrorKind::Limit);
        leaf.release(150);
        leaf.reserve(1).unwrap();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::thread;

    #[test]
    fn loom_two_reservations_never_pass_the_limit_together() {
        loom::model(|| {
            let root = MemoryPool::root("root", 100);
            let (a, b) = (root.leaf("a"), root.leaf("b"));
            let other = thread::spawn(move || (b.reserve(60).is_ok(), b));
            let here = a.reserve(60).is_ok();
            let (there, b) = other.join().unwrap();
            assert!(!(here && there), "both fit");
            let granted = 60 * (u64::from(here) + u64::from(there));
            assert_eq!(root.used(), granted);
            assert_eq!(a.used() + b.used(), granted);
        });
    }
}
