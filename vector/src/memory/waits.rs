//! Waits for memory that other queries hold.
//!
//! A reservation that can be delayed waits here instead of failing. A *member* of the arbitration
//! (the argument `party`) is a pool whose memory is released as a whole when its work ends: that of
//! a task.
//!
//! ```text
//! root "engine" 100 of 100      member A holds 60, wants 20: B runs, so A waits
//!   member A  60                member B wants 10 as well: no member is left that runs, so B is
//!   member B  40                refused, fails and releases its 40; A continues
//! ```
//!
//! | event | effect |
//! |---|---|
//! | memory is released | the waits that now fit end, the oldest first |
//! | no wait fits | reclaimers are called to release memory (`reclaim`) |
//! | still no wait fits, and waiting members hold all memory | the latest wait fails |
//! | a wait has lasted too long, see [`MemoryPool::expire_waits`] | it fails |
//! | a member ends, see [`MemoryPool::cancel_waits`] | its waits end |
//!
//! The end of a wait grants nothing: the caller retries its reservation and may have to wait again.
//! No wait lasts forever: of members that wait for each other one fails, and a wait for a member
//! that never ends has a time limit. What a cache still holds after its reclaimer ran is in use by
//! a query that has other memory too, or that waits, so it is attributed to no member
//! ([`MemoryPool::cache_leaf`]).
//!
//! While one thread of a member waits, the sources of that member should produce no further batches
//! ([`MemoryPool::arbitration`]), because these would only increase the demand for memory.
//! Operators that hold memory continue, since they may release it.
//!
//! A thread that releases memory checks a single flag in the root's counter, which is set while
//! there are waits.

use std::time::{Duration, Instant};

use super::pool::MemoryPool;
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Continuation, Mutex, Promise, promise};

/// Flag in the counter of a root, set while there are waits below it.
pub(super) const WAITING: u64 = 1 << 63;

/// The waits below one root, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Waits {
    list: Mutex<Vec<Wait>>,
    /// True while a thread calls reclaimers: memory that these release is handled here, on the same
    /// thread.
    reclaiming: AtomicBool,
}

#[derive(Debug)]
struct Wait {
    leaf: MemoryPool,
    party: MemoryPool,
    bytes: u64,
    since: Instant,
    promise: Promise,
    /// Promises of threads of the same member that start no new work until this wait ends.
    followers: Vec<Promise>,
}

impl Wait {
    /// Returns the lowest pool whose limit the reservation would still exceed.
    fn obstacle(&self) -> Option<&MemoryPool> {
        self.leaf.obstacle(self.bytes)
    }

    fn end(self, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.promise.fulfil(),
            Err(error) => self.promise.fail(error),
        }
        self.followers.into_iter().for_each(Promise::fulfil);
    }

    fn refuse(self, message: &'static str) {
        let error = Error::limit(message)
            .with("wanted", self.bytes)
            .in_named("memory pool", self.leaf.path())
            .hint(format!("memory is held by\n  {}", self.leaf.tree()));
        self.end(Err(error));
    }
}

/// Returns true if members that do not wait hold memory below `limit`; `own` counts as a waiting
/// member.
fn others_hold_some(waits: &[Wait], limit: &MemoryPool, own: Option<&MemoryPool>) -> bool {
    let mut parties: Vec<&MemoryPool> = Vec::new();
    for party in waits.iter().map(|wait| &wait.party).chain(own) {
        let counts = party.upwards().any(|pool| pool.is(limit));
        if counts && !parties.iter().any(|known| known.is(party)) {
            parties.push(party);
        }
    }
    let used = limit.used();
    // A reservation in progress is added to the pools above its member before it is added to the
    // member, and removed from them after it: it may look like memory of another member, but never
    // like free memory.
    let held = used.saturating_sub(limit.cached_bytes());
    let left = parties.iter().fold(held, |left, party| left.saturating_sub(party.used()));
    // The numbers were read at different times. A thread that changes them concurrently is running,
    // and memory that it releases later leads to another check.
    left > 0 || limit.used() != used
}

impl Waits {
    /// Ends the waits whose reservation fits now; fails the latest wait if it could never be
    /// satisfied.
    pub(super) fn settle(&self) {
        if self.wake_ready() || !self.reclaim_for_longest() || self.wake_ready() {
            return;
        }
        let refused = {
            let mut waits = self.list.lock();
            let refused = stuck(&waits).map(|at| waits.remove(at));
            lower_flag(&waits, refused.as_ref());
            refused
        };
        if let Some(wait) = refused {
            wait.refuse("memory limit reached, and all others wait for memory too");
        }
    }

    /// Ends the waits whose reservation fits now; returns true if there was one or if there are no
    /// waits.
    fn wake_ready(&self) -> bool {
        let (ready, nobody) = {
            let mut waits = self.list.lock();
            let nobody = waits.is_empty();
            let ready: Vec<Wait> = waits.extract_if(.., |wait| wait.obstacle().is_none()).collect();
            lower_flag(&waits, ready.first());
            (ready, nobody)
        };
        let any = nobody || !ready.is_empty();
        ready.into_iter().for_each(|wait| wait.end(Ok(())));
        any
    }

    /// Calls reclaimers on behalf of the oldest wait. Returns false if there is no wait, or if
    /// another thread is already calling reclaimers; that thread checks the waits again when all
    /// reclaimers have run. Memory that is released in small pieces leads here with every piece,
    /// and no wait may be refused before the last one.
    fn reclaim_for_longest(&self) -> bool {
        // The reclaimers run without the lock, because memory that they release leads here again.
        let longest = self.list.lock().first().map(|wait| (wait.leaf.clone(), wait.bytes));
        let Some((leaf, bytes)) = longest else { return false };
        if self.reclaiming.swap(true, Ordering::AcqRel) {
            return false;
        }
        if let Some(limit) = leaf.obstacle(bytes) {
            limit.reclaim(bytes);
        }
        // Pairs with the swap above: memory that other threads released before they left the check
        // to this thread is visible to it afterwards.
        self.reclaiming.swap(false, Ordering::AcqRel);
        true
    }

    fn end(&self, mut which: impl FnMut(&Wait) -> bool) -> Vec<Wait> {
        let mut waits = self.list.lock();
        let ended: Vec<Wait> = waits.extract_if(.., |wait| which(wait)).collect();
        lower_flag(&waits, ended.first());
        ended
    }
}

/// Returns the latest wait below a limit for which waiting members hold all memory.
fn stuck(waits: &[Wait]) -> Option<usize> {
    waits.iter().rposition(|wait| {
        let is_stuck = |limit| !others_hold_some(waits, limit, None);
        // Other members also hold nothing right after they have released their memory, in which
        // case the reservation fits now. The limit is therefore checked a second time; the
        // releasing thread checks the waits afterwards.
        wait.obstacle().is_some_and(is_stuck) && wait.obstacle().is_some()
    })
}

/// Clears the flag of the root below which `any` waited, if no wait is left.
fn lower_flag(waits: &[Wait], any: Option<&Wait>) {
    if let (true, Some(wait)) = (waits.is_empty(), any) {
        let root = wait.leaf.root_pool().counters();
        root.used.fetch_and(!WAITING, Ordering::Relaxed);
    }
}

impl MemoryPool {
    /// Returns a wait until it is worthwhile to retry a reservation of `bytes` in this leaf.
    /// Returns `None` if waiting would not help, because the memory is held by `party` itself,
    /// which is a pool above this leaf, or by members that wait as well.
    pub fn wait_for_room(&self, bytes: u64, party: &MemoryPool) -> Option<Continuation> {
        let root = self.root_pool();
        let mut waits = root.waits().list.lock();
        // From here on every thread that releases memory checks the waits; memory released before
        // is visible below.
        root.counters().used.fetch_or(WAITING, Ordering::AcqRel);
        let wait = match self.obstacle(bytes) {
            None => Some(Continuation::ready()),
            Some(limit) => {
                let is_own = party.upwards().skip(1).all(|above| !above.is(limit));
                // Waiting is also not hopeless while a reclaimer that another thread called
                // releases memory: that thread checks all waits afterwards.
                let hopeless = is_own
                    || bytes > limit.limit()
                    || (!others_hold_some(&waits, limit, Some(party))
                        && !root.waits().reclaiming.load(Ordering::Acquire));
                // Other members also hold nothing right after they have released their memory.
                let over = hopeless.then(|| self.has_room(bytes).then(Continuation::ready));
                over.unwrap_or_else(|| {
                    let (promise, continuation) = promise();
                    waits.push(Wait {
                        leaf: self.clone(),
                        party: party.clone(),
                        bytes,
                        since: Instant::now(),
                        promise,
                        followers: Vec::new(),
                    });
                    Some(continuation)
                })
            }
        };
        if waits.is_empty() {
            root.counters().used.fetch_and(!WAITING, Ordering::Relaxed);
        }
        wait
    }

    /// Returns true if any member waits for memory below the root of this pool.
    pub fn has_waits(&self) -> bool {
        self.root_pool().counters().used.load(Ordering::Relaxed) & WAITING != 0
    }

    /// Returns a wait for the end of the oldest wait of member `self`, or `None` if the member does
    /// not wait. It is meant for threads of the member that would start new work.
    pub fn arbitration(&self) -> Option<Continuation> {
        if !self.has_waits() {
            return None;
        }
        let mut waits = self.root_pool().waits().list.lock();
        let wait = waits.iter_mut().find(|wait| wait.party.is(self))?;
        let (promise, over) = promise();
        wait.followers.push(promise);
        Some(over)
    }

    /// Fails the waits of member `self` that have lasted at least `time`, with `Limit`.
    pub fn expire_waits(&self, time: Duration) {
        let waits = self.root_pool().waits();
        for wait in waits.end(|wait| wait.party.is(self) && wait.since.elapsed() >= time) {
            wait.refuse("memory limit reached, and others gave nothing back in time");
        }
    }

    /// Ends the waits of member `self` with `Cancelled`, because its work has ended.
    pub fn cancel_waits(&self) {
        for wait in self.root_pool().waits().end(|wait| wait.party.is(self)) {
            wait.end(Err(Error::cancelled("the work that waited for memory has ended")));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::memory::Reclaim;
    use crate::sync::{Arc, Weak};

    fn parties(limit: u64) -> (MemoryPool, [(MemoryPool, MemoryPool); 3]) {
        let root = MemoryPool::root("engine", limit);
        let parties = [1, 2, 3].map(|id| {
            let party = root.aggregate(format!("task {id}"), u64::MAX);
            let leaf = party.leaf("sort");
            (party, leaf)
        });
        (root, parties)
    }

    #[test]
    fn whoever_waits_goes_on_when_there_is_room_for_it() {
        let (root, [(a, a_leaf), (_, b_leaf), (c, c_leaf)]) = parties(100);
        a_leaf.reserve(10).unwrap();
        b_leaf.reserve(80).unwrap();
        let large = a_leaf.wait_for_room(50, &a).unwrap();
        let small = c_leaf.wait_for_room(20, &c).unwrap();
        b_leaf.release(15);
        assert!(small.is_ready() && !large.is_ready());
        b_leaf.release(25);
        assert!(large.is_ready());
        large.wait().unwrap();
        assert_eq!(root.used(), 50, "a wait takes nothing");
        assert!(a_leaf.wait_for_room(50, &a).unwrap().is_ready(), "there is room now");
        a_leaf.release(10);
        b_leaf.release(40);
        assert_eq!(root.used(), 0);
    }

    #[test]
    fn who_would_wait_for_itself_or_for_more_than_there_is_does_not_wait() {
        let (_root, [(a, a_leaf), (b, b_leaf), _]) = parties(100);
        a_leaf.reserve(90).unwrap();
        assert!(a_leaf.wait_for_room(20, &a).is_none(), "all is its own");
        b_leaf.reserve(10).unwrap();
        assert!(a_leaf.wait_for_room(101, &a).is_none(), "never fits");
        let own_limit = b.aggregate("node", 20).leaf("sort");
        assert!(own_limit.wait_for_room(30, &b).is_none(), "its own limit");
    }

    #[test]
    fn the_last_of_all_to_wait_is_refused() {
        let (_root, [(a, a_leaf), (b, b_leaf), _]) = parties(100);
        a_leaf.reserve(50).unwrap();
        b_leaf.reserve(50).unwrap();
        let waiting = a_leaf.wait_for_room(10, &a).unwrap();
        assert!(b_leaf.wait_for_room(10, &b).is_none());
        b_leaf.release(50);
        waiting.wait().unwrap();
    }

    #[test]
    fn when_the_last_that_runs_ends_one_of_those_who_still_do_not_fit_fails() {
        let (_root, [(a, a_leaf), (b, b_leaf), (_, c_leaf)]) = parties(100);
        a_leaf.reserve(50).unwrap();
        b_leaf.reserve(40).unwrap();
        c_leaf.reserve(10).unwrap();
        let first = a_leaf.wait_for_room(30, &a).unwrap();
        let last = b_leaf.wait_for_room(30, &b).unwrap();
        c_leaf.release(10);
        assert!(!first.is_ready() && last.is_ready());
        let error = last.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("task 1: 50 B, at most 50 B"), "{error}");
        b_leaf.release(40);
        first.wait().unwrap();
    }

    #[test]
    fn those_of_a_party_that_begin_nothing_new_go_on_however_its_wait_ends() {
        let (_root, [(a, a_leaf), (b, b_leaf), _]) = parties(100);
        b_leaf.reserve(100).unwrap();
        assert!(a.arbitration().is_none(), "nobody waits");
        let waiting = a_leaf.wait_for_room(10, &a).unwrap();
        assert!(b.arbitration().is_none(), "another party waits");
        let (first, second) = (a.arbitration().unwrap(), a.arbitration().unwrap());
        assert!(!first.is_ready());
        b_leaf.release(100);
        waiting.wait().unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        assert!(a.arbitration().is_none());
        // The followers continue for each way in which the wait can end.
        b_leaf.reserve(100).unwrap();
        for end in
            [MemoryPool::cancel_waits, |party: &MemoryPool| party.expire_waits(Duration::ZERO)]
        {
            let waiting = a_leaf.wait_for_room(10, &a).unwrap();
            let follower = a.arbitration().unwrap();
            end(&a);
            assert!(waiting.wait().is_err());
            follower.wait().unwrap();
        }
        b_leaf.release(100);
    }

    #[test]
    fn nobody_waits_for_what_only_a_cache_holds() {
        let (root, [(a, a_leaf), (b, b_leaf), _]) = parties(100);
        let cache = root.cache_leaf("cache", 50);
        cache.reserve(50).unwrap();
        a_leaf.reserve(30).unwrap();
        assert!(a_leaf.wait_for_room(30, &a).is_none(), "nobody could give it");
        b_leaf.reserve(20).unwrap();
        let waiting = a_leaf.wait_for_room(30, &a).unwrap();
        assert!(b_leaf.wait_for_room(30, &b).is_none(), "the other one waits");
        b_leaf.release(20);
        assert_eq!(waiting.wait().unwrap_err().kind(), ErrorKind::Limit);
        a_leaf.release(30);
        cache.release(50);
    }

    #[test]
    fn who_gives_back_bit_by_bit_is_heard_out() {
        struct Bits(MemoryPool, Mutex<u64>);
        impl Reclaim for Bits {
            fn reclaim(&self, bytes: u64) {
                let Some(mut held) = self.1.try_lock() else { return };
                for _ in 0..bytes.min(*held) {
                    *held -= 1;
                    self.0.release(1);
                }
            }
        }
        let (root, [(a, a_leaf), (_, b_leaf), _]) = parties(100);
        let cache = root.cache_leaf("cache", 50);
        cache.reserve(50).unwrap();
        let bits = Arc::new(Bits(cache.clone(), Mutex::new(50)));
        let holder = Arc::downgrade(&bits);
        cache.register_reclaimer(holder as Weak<dyn Reclaim>);
        a_leaf.reserve(30).unwrap();
        b_leaf.reserve(20).unwrap();
        let waiting = a_leaf.wait_for_room(60, &a).unwrap();
        // Only the cache is left to release memory.
        b_leaf.release(20);
        waiting.wait().unwrap();
        assert_eq!(cache.used(), 10);
        a_leaf.release(30);
    }

    #[test]
    fn who_comes_while_a_cache_gives_back_waits_for_what_is_on_its_way() {
        /// Releases all its memory, after another thread has begun to wait.
        struct Slow(MemoryPool, Box<dyn Fn() + Send + Sync>);
        impl Reclaim for Slow {
            fn reclaim(&self, _: u64) {
                (self.1)();
                self.0.release(self.0.used());
            }
        }
        let (root, [(a, a_leaf), (_, b_leaf), (c, c_leaf)]) = parties(100);
        let cache = root.cache_leaf("cache", 50);
        cache.reserve(50).unwrap();
        let second = Arc::new(Mutex::new(None));
        let comes = Arc::clone(&second);
        let come = move || *comes.lock() = Some(c_leaf.wait_for_room(60, &c));
        let slow = Arc::new(Slow(cache.clone(), Box::new(come)));
        let holder = Arc::downgrade(&slow);
        cache.register_reclaimer(holder as Weak<dyn Reclaim>);
        b_leaf.reserve(50).unwrap();
        let first = a_leaf.wait_for_room(80, &a).unwrap();
        b_leaf.release(50);
        first.wait().unwrap();
        let second = second.lock().take().unwrap().expect("it may wait");
        second.wait().unwrap();
    }

    #[test]
    fn waits_end_in_time_and_with_their_party() {
        let (_root, [(a, a_leaf), (b, b_leaf), (_, c_leaf)]) = parties(100);
        c_leaf.reserve(100).unwrap();
        let late = a_leaf.wait_for_room(10, &a).unwrap();
        let other = b_leaf.wait_for_room(10, &b).unwrap();
        a.expire_waits(Duration::from_secs(3_600));
        assert!(!late.is_ready());
        a.expire_waits(Duration::ZERO);
        assert_eq!(late.wait().unwrap_err().kind(), ErrorKind::Limit);
        assert!(!other.is_ready());
        b.cancel_waits();
        assert_eq!(other.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        c_leaf.release(100);
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
