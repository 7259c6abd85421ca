//! Memory pools: a tree of counters that limits memory and attributes it to queries and operators.
//!
//! ```text
//! root "engine"          limit 4 GiB, counts every byte below it
//!   aggregate "query"
//!     aggregate "task"
//!       leaf "scan 0"      only leaves allocate
//!       leaf "aggregation"
//! ```
//!
//! A reservation is added to the leaf and to all pools above it. If it would exceed the limit of
//! any of these pools, it is added to none of them. In that case the registered reclaimers below
//! that pool are called to release memory (`reclaim`); if that does not help, the caller gets a
//! `Limit` error that contains the tree of pools.
//!
//! The counters are plain atomics. Used and peak bytes are exact per pool, and the memory granted
//! by [`MemoryPool::reserve`] never exceeds a limit. Callers that can wait for memory of other
//! queries instead of failing use `waits`.

pub mod buffer;
mod pool;
mod reclaim;
pub mod scope;
mod tree;
mod waits;

pub use pool::MemoryPool;
pub use reclaim::Reclaim;
pub use scope::PoolScope;

/// Selects which memory is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// All memory that is kept alive.
    All,
    /// Memory that is not charged to any pool.
    Unpaid,
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
    fn a_refusal_shows_who_holds_the_memory() {
        let root = MemoryPool::root("engine", 1000);
        let (a, b) = (root.aggregate("query 1", u64::MAX), root.aggregate("query 2", u64::MAX));
        let (scan, sort, other) = (a.leaf("scan"), a.leaf("sort"), b.leaf("scan"));
        let _unused = b.leaf("unused");
        scan.reserve(300).unwrap();
        scan.release(200);
        sort.reserve(250).unwrap();
        other.reserve(600).unwrap();
        let text = sort.reserve(100).unwrap_err().to_string();
        let tree = "engine: 950 B of 1000 B, at most 950 B\n    query 2: 600 B, at most 600 B\n      \
                    scan: 600 B, at most 600 B\n    query 1: 350 B, at most 350 B\n      \
                    sort: 250 B, at most 250 B\n      scan: 100 B, at most 300 B";
        assert!(text.contains(tree), "{text}");
        drop((other, b, _unused));
        assert!(!root.tree().contains("query 2"), "pools go with their last user");
    }

    #[test]
    fn memory_that_was_reserved_ahead_is_used_before_more_is_asked_for() {
        let root = MemoryPool::root("query", 100);
        let (a, b) = (root.leaf("a"), root.leaf("b"));
        assert!(a.reserve_ahead(60));
        assert!(!a.reserve_ahead(60) && !b.reserve_ahead(60), "no room");
        assert_eq!((a.used(), root.used()), (60, 60));
        a.reserve(50).unwrap();
        assert_eq!(root.used(), 60, "paid already");
        a.reserve(30).unwrap();
        assert_eq!(root.used(), 80);
        assert!(a.reserve(30).is_err());
        a.release_ahead();
        assert!(a.reserve_ahead(20));
        a.release_ahead();
        assert_eq!(root.used(), 80);
        a.release(80);
        assert_eq!((root.used(), a.used()), (0, 0));
        assert!(a.reserve_ahead(20) && root.used() == 20);
        drop(a);
        assert_eq!(root.used(), 0, "it goes with its pool");
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
