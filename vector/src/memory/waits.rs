//! Waiting for memory that others hold.
//!
//! Whoever could do without a reservation for a while waits here instead of failing. A *party* is a
//! pool whose memory comes back as a whole when its work ends: a task.
//!
//! ```text
//! root "engine" 100 of 100      party A holds 60, wants 20: B runs, so A waits
//!   party A  60                 party B wants 10 too: nobody is left who runs, so B is refused,
//!   party B  40                 fails, and gives 40 back; A goes on
//! ```
//!
//! | when | then |
//! |---|---|
//! | memory is given back | whoever fits goes on, the longest waiting first |
//! | nobody fits | holders of memory that they can do without are asked for it (`reclaim`) |
//! | nobody fits then, and all memory below the limit is held by parties that wait | the last to come fails |
//! | a wait has lasted too long, see [`MemoryPool::expire_waits`] | it fails |
//! | a party ends, see [`MemoryPool::forget_waits`] | its waits end |
//!
//! A wait grants nothing: who goes on asks again, and may have to wait again. So nobody can hang:
//! of parties that wait for each other one fails, and a wait for a party that never ends has a
//! limit in time. What a cache still holds when it has been asked is in use by somebody who has other
//! memory too, or waits: it is nobody's own ([`MemoryPool::cache_leaf`]).
//!
//! While one of a party waits its sources should make no more ([`MemoryPool::arbitration`]): that
//! would only make it want more. Those who hold something go on, and may give it back.
//!
//! Who gives memory back looks at one flag in the root's counter; it is up while somebody waits.

use std::time::{Duration, Instant};

use super::pool::MemoryPool;
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Continuation, Mutex, Promise, promise};

/// The flag in the counter of a root below which somebody waits.
pub(super) const WAITING: u64 = 1 << 63;

/// Those who wait below one root, in the order of their coming.
#[derive(Debug, Default)]
pub(super) struct Waits {
    list: Mutex<Vec<Wait>>,
    /// Somebody asks holders for memory: what these give back comes here, on the same thread.
    reclaiming: AtomicBool,
}

#[derive(Debug)]
struct Wait {
    leaf: MemoryPool,
    party: MemoryPool,
    bytes: u64,
    since: Instant,
    promise: Promise,
    /// Those of the party who begin nothing new as long as this.
    followers: Vec<Promise>,
}

impl Wait {
    /// The lowest pool that has no room.
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

/// True when parties that do not wait hold memory below `limit`, `own` being one that does.
fn others_hold_some(waits: &[Wait], limit: &MemoryPool, own: Option<&MemoryPool>) -> bool {
    let mut parties: Vec<&MemoryPool> = Vec::new();
    for party in waits.iter().map(|wait| &wait.party).chain(own) {
        let counts = party.upwards().any(|pool| pool.is(limit));
        if counts && !parties.iter().any(|known| known.is(party)) {
            parties.push(party);
        }
    }
    let used = limit.used();
    // What is on its way is counted above its party longer than in it: never as nobody's.
    let held = used.saturating_sub(limit.cached_bytes());
    let left = parties.iter().fold(held, |left, party| left.saturating_sub(party.used()));
    // These numbers are of several moments. Who changes them just now runs on, and whatever it gives
    // back brings it here.
    left > 0 || limit.used() != used
}

impl Waits {
    /// Lets go on whoever has room now; fails the last one where nobody would ever have.
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

    /// Lets go on whoever has room now; true when there is somebody, or nobody waits.
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

    /// Asks for memory that others can do without, for whoever has waited longest; false when
    /// somebody is at it already, who sees to those who wait when all have been asked. What is given
    /// back bit by bit comes here at every bit, and not before the last one can anybody be refused.
    fn reclaim_for_longest(&self) -> bool {
        // Not under the lock: what is given back comes here again.
        let longest = self.list.lock().first().map(|wait| (wait.leaf.clone(), wait.bytes));
        let Some((leaf, bytes)) = longest else { return false };
        if self.reclaiming.swap(true, Ordering::AcqRel) {
            return false;
        }
        if let Some(limit) = leaf.obstacle(bytes) {
            limit.reclaim(bytes);
        }
        // Pairs with the one above: what others gave back before they left it to this one is seen
        // by this one afterwards.
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

/// The last wait below a limit whose memory is all held by those who wait.
fn stuck(waits: &[Wait]) -> Option<usize> {
    waits.iter().rposition(|wait| {
        let is_stuck = |limit| !others_hold_some(waits, limit, None);
        // Others hold nothing also when they have just given it back: they come here after that.
        wait.obstacle().is_some_and(is_stuck) && wait.obstacle().is_some()
    })
}

/// Lowers the flag of the root below which `any` waited, once nobody does.
fn lower_flag(waits: &[Wait], any: Option<&Wait>) {
    if let (true, Some(wait)) = (waits.is_empty(), any) {
        let root = wait.leaf.root_pool().counters();
        root.used.fetch_and(!WAITING, Ordering::Relaxed);
    }
}

impl MemoryPool {
    /// A wait until it is worth asking this leaf for `bytes` again; none when waiting would not
    /// help: the memory is held by `party` itself, a pool above this leaf, or by parties that wait.
    pub fn wait_for_room(&self, bytes: u64, party: &MemoryPool) -> Option<Continuation> {
        let root = self.root_pool();
        let mut waits = root.waits().list.lock();
        // From here on whoever gives memory back comes to see who waits; what was given back
        // before is seen below.
        root.counters().used.fetch_or(WAITING, Ordering::AcqRel);
        let wait = match self.obstacle(bytes) {
            None => Some(Continuation::ready()),
            Some(limit) => {
                let is_own = party.upwards().skip(1).all(|above| !above.is(limit));
                // Nor is it hopeless while a holder gives back what another thread has asked for: that
                // one looks at all waits afterwards.
                let hopeless = is_own
                    || bytes > limit.limit()
                    || (!others_hold_some(&waits, limit, Some(party))
                        && !root.waits().reclaiming.load(Ordering::Acquire));
                // Others hold nothing also when they have just given it back.
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

    /// True when somebody, of whatever party, waits below the root that this pool is in.
    pub fn has_waits(&self) -> bool {
        self.root_pool().counters().used.load(Ordering::Relaxed) & WAITING != 0
    }

    /// While somebody of party `self` waits for memory, a wait for the end of that: for those of it
    /// who would begin something new.
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

    /// Fails the waits of party `self` that have lasted for `time`.
    pub fn expire_waits(&self, time: Duration) {
        let waits = self.root_pool().waits();
        for wait in waits.end(|wait| wait.party.is(self) && wait.since.elapsed() >= time) {
            wait.refuse("memory limit reached, and others gave nothing back in time");
        }
    }

    /// Ends the waits of party `self`, with `Cancelled`: its work has ended.
    pub fn forget_waits(&self) {
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
        // However the wait ends.
        b_leaf.reserve(100).unwrap();
        for end in
            [MemoryPool::forget_waits, |party: &MemoryPool| party.expire_waits(Duration::ZERO)]
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
        cache.give_back_through(holder as Weak<dyn Reclaim>);
        a_leaf.reserve(30).unwrap();
        b_leaf.reserve(20).unwrap();
        let waiting = a_leaf.wait_for_room(60, &a).unwrap();
        // Nobody else is left but the cache.
        b_leaf.release(20);
        waiting.wait().unwrap();
        assert_eq!(cache.used(), 10);
        a_leaf.release(30);
    }

    #[test]
    fn who_comes_while_a_cache_gives_back_waits_for_what_is_on_its_way() {
        /// Gives all back, and somebody comes before.
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
        cache.give_back_through(holder as Weak<dyn Reclaim>);
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
        b.forget_waits();
        assert_eq!(other.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        c_leaf.release(100);
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
