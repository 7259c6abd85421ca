//! Reclaimable memory: caches, and results of work done ahead, which a query releases on demand.
//!
//! ```text
//! reserve(bytes) --exceeds the limit of--> pool P: calls the reclaimers of P and of pools below
//!        ^                                 it, one after the other, until `bytes` fit
//!        +------------ retry --------------------------+
//! ```
//!
//! A holder of reclaimable memory registers a reclaimer with the pool that the memory is charged to
//! ([`MemoryPool::register_reclaimer`]). The pool keeps a weak pointer, so registration does not
//! extend the life of the holder. The reclaimers of a pool are called after those of the pools
//! below it, and sibling pools in the order of their creation.
//!
//! A reservation may be made under any lock, so a reclaimer must never wait for the thread that
//! makes one: it uses `try_lock`, or takes only locks under which no thread reserves memory
//! ([`Reclaim::reclaim`]).

use super::pool::{Counters, MemoryPool};
use crate::sync::{Arc, Weak};

/// Maximum number of times that a reservation calls the reclaimers. More than one round may be
/// needed, because other reservations may take the released memory first.
pub(super) const MAX_ROUNDS: usize = 4;

/// A holder of reclaimable memory.
pub trait Reclaim: Send + Sync {
    /// Releases about `bytes` bytes, or all reclaimable memory if it is less. It runs on the thread
    /// that reserves memory, which may hold any locks. An implementation must therefore only
    /// `try_lock`, or take locks under which no thread reserves or releases memory or takes another
    /// lock.
    fn reclaim(&self, bytes: u64);
}

impl MemoryPool {
    /// Registers `holder` as a reclaimer, which is called when memory is short in this pool or in a
    /// pool above it.
    pub fn register_reclaimer(&self, holder: Weak<dyn Reclaim>) {
        let mut holders = self.counters().holders.lock();
        // Entries of dropped holders are removed when the list would grow.
        if holders.len() == holders.capacity() {
            holders.retain(|holder| holder.strong_count() > 0);
        }
        holders.push(holder);
    }

    /// Calls the reclaimers of this pool and of those below it until `bytes` more fit into it.
    /// Returns false if no memory was released.
    pub(super) fn reclaim(&self, bytes: u64) -> bool {
        let before = self.used();
        let mut holders = Vec::new();
        self.counters().collect_holders(&mut holders);
        for holder in holders {
            let missing = self.used().saturating_add(bytes).saturating_sub(self.limit());
            if missing == 0 {
                break;
            }
            holder.reclaim(missing);
        }
        self.used() < before
    }
}

impl Counters {
    fn collect_holders(&self, found: &mut Vec<Arc<dyn Reclaim>>) {
        // No list is locked while a reclaimer runs, because released memory may drop pools.
        let below: Vec<Arc<Counters>> =
            self.below.lock().iter().filter_map(Weak::upgrade).collect();
        below.iter().for_each(|pool| pool.collect_holders(found));
        found.extend(self.holders.lock().iter().filter_map(Weak::upgrade));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::Mutex;

    /// Holds some bytes of a pool until it is asked to release them.
    struct Spare {
        pool: MemoryPool,
        held: Mutex<u64>,
    }

    impl Spare {
        fn of(pool: &MemoryPool, bytes: u64) -> Arc<Spare> {
            pool.reserve(bytes).unwrap();
            let spare = Arc::new(Spare { pool: pool.clone(), held: Mutex::new(bytes) });
            pool.register_reclaimer(Arc::downgrade(&spare) as Weak<dyn Reclaim>);
            spare
        }

        fn held(&self) -> u64 {
            *self.held.lock()
        }
    }

    impl Reclaim for Spare {
        fn reclaim(&self, bytes: u64) {
            let Some(mut held) = self.held.try_lock() else { return };
            let given = bytes.min(*held);
            *held -= given;
            self.pool.release(given);
        }
    }

    #[test]
    fn a_reservation_takes_what_others_can_do_without_and_no_more() {
        let root = MemoryPool::root("engine", 100);
        let (cache, query) = (root.leaf("cache"), root.aggregate("query", u64::MAX).leaf("scan"));
        let (first, second) = (Spare::of(&cache, 40), Spare::of(&query, 30));
        query.reserve(50).unwrap();
        assert_eq!((first.held(), second.held()), (20, 30));
        query.reserve(40).unwrap();
        assert_eq!((first.held(), second.held()), (0, 10));
        assert!(query.reserve(11).is_err());
        assert_eq!(second.held(), 0, "even all of it was not enough");
        assert_eq!(root.used(), 90);
    }

    #[test]
    fn only_those_below_the_limit_that_was_reached_are_asked() {
        let root = MemoryPool::root("engine", u64::MAX);
        let (a, b) = (root.aggregate("a", 50), root.aggregate("b", 50));
        let (of_a, of_b) = (Spare::of(&a.leaf("scan"), 20), Spare::of(&b.leaf("scan"), 20));
        a.leaf("sort").reserve(45).unwrap();
        assert_eq!((of_a.held(), of_b.held()), (5, 20));
    }

    #[test]
    fn a_holder_that_is_busy_or_gone_gives_nothing_and_nobody_waits_for_it() {
        let root = MemoryPool::root("engine", 50);
        let leaf = root.leaf("scan");
        let spare = Spare::of(&leaf, 50);
        let busy = spare.held.lock();
        assert!(leaf.reserve(10).is_err());
        drop(busy);
        let weak = Arc::downgrade(&spare);
        drop(spare);
        assert!(weak.upgrade().is_none(), "the pool does not hold it");
        assert!(leaf.reserve(10).is_err());
    }

    #[test]
    fn who_would_wait_gets_what_others_can_do_without() {
        let root = MemoryPool::root("engine", 100);
        let (a, b) = (root.aggregate("a", u64::MAX), root.aggregate("b", u64::MAX));
        let (a_leaf, b_leaf) = (a.leaf("sort"), b.leaf("scan"));
        let spare = Spare::of(&root.leaf("cache"), 30);
        b_leaf.reserve(60).unwrap();
        assert!(a_leaf.reserve_ahead(20));
        assert_eq!(spare.held(), 20);
        a_leaf.release_ahead();
        // Memory that becomes reclaimable during a wait is found when another pool releases memory.
        let later = Spare::of(&root.leaf("cache"), 20);
        let wait = a_leaf.wait_for_room(90, &a).unwrap();
        b_leaf.release(55);
        assert!(wait.is_ready());
        assert_eq!((spare.held(), later.held()), (0, 5));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::{Mutex, thread};

    struct Spare(MemoryPool, Mutex<u64>);

    impl Reclaim for Spare {
        fn reclaim(&self, _: u64) {
            let Some(mut held) = self.1.try_lock() else { return };
            self.0.release(std::mem::take(&mut *held));
        }
    }

    #[test]
    fn loom_what_is_given_back_is_given_back_once_and_granted_once() {
        loom::model(|| {
            let root = MemoryPool::root("root", 100);
            let (a, b, cache) = (root.leaf("a"), root.leaf("b"), root.leaf("cache"));
            cache.reserve(80).unwrap();
            let spare = Arc::new(Spare(cache.clone(), Mutex::new(80)));
            cache.register_reclaimer(Arc::downgrade(&spare) as Weak<dyn Reclaim>);
            let other = thread::spawn(move || b.reserve(60).is_ok());
            let here = a.reserve(60).is_ok();
            let there = other.join().unwrap();
            assert!(!(here && there), "both fit");
            assert_eq!(cache.used(), *spare.1.lock());
            assert_eq!(root.used(), cache.used() + 60 * (u64::from(here) + u64::from(there)));
        });
    }
}
