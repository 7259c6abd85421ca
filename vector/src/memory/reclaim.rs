//! Memory that its holder can do without: caches, and work done ahead.
//!
//! ```text
//! reserve(bytes) --no room in--> pool P: whoever below P can do without some gives it back, one
//!        ^                               after the other, until there is room
//!        +------- tried again ----------+
//! ```
//!
//! A holder tells the pool that pays for it ([`MemoryPool::give_back_through`]); the pool keeps a
//! weak pointer, so that nothing is held by being reclaimable. Those of a pool are asked after those
//! of the pools below it, and pools in the order in which they were made.
//!
//! A reservation may be made anywhere, so a holder that is asked must never wait for whoever makes one:
//! what is locked just now gives nothing, unless it is locked by those only who ask for nothing under
//! that lock ([`Reclaim::reclaim`]).

use super::pool::{Counters, MemoryPool};
use crate::sync::{Arc, Weak};

/// A reservation asks so often at most: others may take at once what was given back.
pub(super) const MAX_ROUNDS: usize = 4;

/// A holder of memory that it can do without.
pub trait Reclaim: Send + Sync {
    /// Gives back about `bytes`, or what there is. Called on the thread of whoever needs the memory,
    /// with whatever locks that thread holds: an implementation only tries to lock, or takes a lock
    /// under which nobody reserves memory, gives it back, or takes another lock.
    fn reclaim(&self, bytes: u64);
}

impl MemoryPool {
    /// Has `holder` asked when memory is short in this pool or in one above it.
    pub fn give_back_through(&self, holder: Weak<dyn Reclaim>) {
        let mut holders = self.counters().holders.lock();
        // Those that have gone are forgotten when the list would grow.
        if holders.len() == holders.capacity() {
            holders.retain(|holder| holder.strong_count() > 0);
        }
        holders.push(holder);
    }

    /// Asks those below this pool until there is room for `bytes` in it; false when nothing was
    /// given back.
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
        // The lists are not held while anybody is asked: what is given back may end pools.
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

    /// Holds some bytes of a pool until it is asked for them.
    struct Spare {
        pool: MemoryPool,
        held: Mutex<u64>,
    }

    impl Spare {
        fn of(pool: &MemoryPool, bytes: u64) -> Arc<Spare> {
            pool.reserve(bytes).unwrap();
            let spare = Arc::new(Spare { pool: pool.clone(), held: Mutex::new(bytes) });
            pool.give_back_through(Arc::downgrade(&spare) as Weak<dyn Reclaim>);
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
        // What becomes reclaimable while somebody waits is found when others give memory back.
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
            cache.give_back_through(Arc::downgrade(&spare) as Weak<dyn Reclaim>);
            let other = thread::spawn(move || b.reserve(60).is_ok());
            let here = a.reserve(60).is_ok();
            let there = other.join().unwrap();
            assert!(!(here && there), "both fit");
            assert_eq!(cache.used(), *spare.1.lock());
            assert_eq!(root.used(), cache.used() + 60 * (u64::from(here) + u64::from(there)));
        });
    }
}
