//! Models of waits for memory: concurrent release, begin of a wait and reservation.

use super::*;
use crate::memory::Reclaim;
use crate::sync::{Arc, Weak, thread};

#[test]
fn loom_memory_given_back_while_somebody_begins_to_wait_is_not_missed() {
    loom::model(|| {
        let root = MemoryPool::root("root", 100);
        let (a, b) = (root.aggregate("a", u64::MAX), root.aggregate("b", u64::MAX));
        let (a_leaf, b_leaf) = (a.leaf("leaf"), b.leaf("leaf"));
        b_leaf.reserve(100).unwrap();
        let other = thread::spawn(move || b_leaf.release(100));
        if let Some(wait) = a_leaf.wait_for_room(10, &a) {
            wait.wait().unwrap();
        }
        a_leaf.reserve(10).unwrap();
        other.join().unwrap();
        assert_eq!(root.used(), 10);
    });
}

#[test]
fn loom_of_two_that_would_wait_for_each_other_one_is_told() {
    loom::model(|| {
        let root = MemoryPool::root("root", 100);
        let ask = |party: MemoryPool, leaf: MemoryPool| {
            let granted = match leaf.wait_for_room(20, &party) {
                Some(wait) => wait.wait().is_ok(),
                None => false,
            };
            leaf.release(50);
            granted
        };
        let [a, b] = ["a", "b"].map(|name| {
            let party = root.aggregate(name, u64::MAX);
            let leaf = party.leaf("leaf");
            leaf.reserve(50).unwrap();
            (party, leaf)
        });
        let other = thread::spawn(move || ask(b.0, b.1));
        let here = ask(a.0, a.1);
        let there = other.join().unwrap();
        assert!(here || there, "the memory of the one that failed is for the other");
        assert_eq!(root.used(), 0);
    });
}

/// Two threads reserve memory that suffices for only one of them: the bytes that the refused one
/// adds temporarily are not attributed to its member.
#[test]
fn loom_a_reservation_in_vain_does_not_make_it_look_as_if_nobody_else_held_memory() {
    // The model has three threads and would take minutes with more preemptions.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let root = MemoryPool::root("root", 100);
        let (a, b) = (root.aggregate("a", u64::MAX), root.aggregate("b", u64::MAX));
        let (a_leaf, b_leaf) = (a.leaf("waits"), b.leaf("runs"));
        a_leaf.reserve(50).unwrap();
        b_leaf.reserve(10).unwrap();
        let others = [&a, &b].map(|party| {
            let leaf = party.leaf("reserves");
            thread::spawn(move || {
                leaf.reserve_ahead(30);
                leaf
            })
        });
        let wait = a_leaf.wait_for_room(45, &a).expect("others hold memory");
        others.into_iter().for_each(|other| other.join().unwrap().release_ahead());
        b_leaf.release(10);
        wait.wait().unwrap();
        assert_eq!(root.used(), 50);
    });
}

#[test]
fn loom_whoever_stands_still_goes_on_when_the_wait_of_its_party_is_over() {
    loom::model(|| {
        let root = MemoryPool::root("root", 100);
        let (a, b) = (root.aggregate("a", u64::MAX), root.aggregate("b", u64::MAX));
        let (a_leaf, b_leaf) = (a.leaf("leaf"), b.leaf("leaf"));
        b_leaf.reserve(100).unwrap();
        let wait = a_leaf.wait_for_room(10, &a).unwrap();
        let other = thread::spawn(move || a.arbitration().is_none_or(|over| over.wait().is_ok()));
        b_leaf.release(100);
        wait.wait().unwrap();
        assert!(other.join().unwrap());
    });
}

/// Releases all its memory when asked.
struct Spare(MemoryPool, Mutex<u64>);

impl Spare {
    fn of(root: &MemoryPool, bytes: u64) -> Arc<Spare> {
        let cache = root.cache_leaf("cache", bytes);
        cache.reserve(bytes).unwrap();
        let spare = Arc::new(Spare(cache.clone(), Mutex::new(bytes)));
        let holder = Arc::downgrade(&spare);
        cache.register_reclaimer(holder as Weak<dyn Reclaim>);
        spare
    }
}

impl Reclaim for Spare {
    fn reclaim(&self, _: u64) {
        let Some(mut held) = self.1.try_lock() else { return };
        let given = std::mem::take(&mut *held);
        drop(held);
        self.0.release(given);
    }
}

#[test]
fn loom_what_others_can_do_without_is_asked_for_while_somebody_waits() {
    loom::model(|| {
        let root = MemoryPool::root("root", 100);
        let (a, b) = (root.aggregate("a", u64::MAX), root.aggregate("b", u64::MAX));
        let (a_leaf, b_leaf) = (a.leaf("leaf"), b.leaf("leaf"));
        b_leaf.reserve(50).unwrap();
        let _spare = Spare::of(&root, 50);
        let other = thread::spawn(move || b_leaf.release(50));
        if let Some(wait) = a_leaf.wait_for_room(80, &a) {
            wait.wait().unwrap();
        }
        a_leaf.reserve(80).unwrap();
        other.join().unwrap();
        assert_eq!(root.used(), 80);
    });
}

#[test]
fn loom_of_two_that_give_memory_back_one_asks_for_more_and_sees_what_the_other_gave() {
    loom::model(|| {
        let root = MemoryPool::root("root", 100);
        let a = root.aggregate("a", u64::MAX);
        let a_leaf = a.leaf("leaf");
        let others = ["b", "c"].map(|name| {
            let leaf = root.aggregate(name, u64::MAX).leaf("leaf");
            leaf.reserve(30).unwrap();
            leaf
        });
        let _spare = Spare::of(&root, 40);
        let wait = a_leaf.wait_for_room(90, &a).unwrap();
        let others = others.map(|leaf| thread::spawn(move || leaf.release(30)));
        wait.wait().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(root.used(), 0);
    });
}
