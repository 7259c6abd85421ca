//! Scales up the drivers of a scan: one more runs whenever memory suffices for it (rules S11.34 to
//! S11.38).
//!
//! At first only driver 0 runs. A driver that ends a split reports its peak memory; once the
//! newest one has done so and the estimate for one more fits, the next driver starts.
//!
//! | driver | `turn` | `split_done` of others | `close` |
//! |---|---|---|---|
//! | below the running ones | goes on | | |
//! | not yet | waits | goes on, if it is the next and memory has room | goes on |
//!
//! ```text
//! scan after   = max(estimate * (running + 1), peak of the scan + estimate)
//! query after  = max(used by the query + estimate, used by others than the scan + scan after)
//! room         = query after <= limit of the query * ratio
//! ```

use vector::MemoryPool;
use vector::sync::{Continuation, Mutex, Promise, promise};

/// Starts the drivers of one scan one by one.
#[derive(Debug)]
pub struct ScanScaleUp {
    /// Parent memory pool of the scan's operators.
    scan: MemoryPool,
    num_drivers: usize,
    /// Fraction of the memory limit that the query may use.
    ratio: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    running: usize,
    /// Number of drivers that have reported their memory, in their order.
    reported: usize,
    /// Estimated bytes of memory of one driver.
    estimate: u64,
    closed: bool,
    waiting: Vec<(usize, Promise)>,
}

impl ScanScaleUp {
    /// Creates the state for `num_drivers` drivers, which reserve from `scan`; `ratio` is between
    /// 0 and 1.
    pub fn new(scan: MemoryPool, num_drivers: usize, ratio: f64) -> Self {
        let waiting = Vec::new();
        let state = State { running: 1, reported: 0, estimate: 0, closed: false, waiting };
        ScanScaleUp { scan, num_drivers, ratio, state: Mutex::new(state) }
    }

    /// Returns the wait until a driver may run; `None` when it may run now.
    pub fn turn(&self, driver: usize) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.closed || driver < state.running {
            return None;
        }
        let (promise, continuation) = promise();
        state.waiting.push((driver, promise));
        Some(continuation)
    }

    /// Records that a running driver has read a non-empty split with a peak of `peak_bytes` so far,
    /// and starts the next driver if memory suffices.
    pub fn split_done(&self, driver: usize, peak_bytes: u64) {
        let next: Vec<Promise> = {
            let mut state = self.state.lock();
            if state.closed || !state.report(driver, peak_bytes, self.num_drivers) {
                return;
            }
            if !self.has_room(&state) {
                return;
            }
            let next = state.running;
            state.running += 1;
            let (woken, waiting) =
                std::mem::take(&mut state.waiting).into_iter().partition(|(i, _)| *i == next);
            state.waiting = waiting;
            let woken: Vec<(usize, Promise)> = woken;
            woken.into_iter().map(|(_, promise)| promise).collect()
        };
        next.into_iter().for_each(Promise::fulfil);
    }

    /// Wakes the waiting drivers for a barrier, which they must pass as well.
    pub fn wake(&self) {
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        waiting.into_iter().for_each(|(_, promise)| promise.fulfil());
    }

    /// Wakes all drivers because all splits are handed out; returns the number of drivers that were
    /// started on the first call, `None` later.
    pub fn close(&self) -> Option<usize> {
        let (running, waiting) = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.closed, true) {
                return None;
            }
            (state.running, std::mem::take(&mut state.waiting))
        };
        waiting.into_iter().for_each(|(_, promise)| promise.fulfil());
        Some(running)
    }

    fn has_room(&self, state: &State) -> bool {
        let (query, limit) = self.limited_pool();
        let scan_after = (state.estimate.saturating_mul(state.running as u64 + 1))
            .max(self.scan.peak().saturating_add(state.estimate));
        let used = query.used();
        let others = used.saturating_sub(self.scan.used());
        let query_after =
            used.saturating_add(state.estimate).max(others.saturating_add(scan_after));
        query_after as f64 <= limit as f64 * self.ratio
    }

    /// Returns the nearest pool with a limit, and that limit.
    fn limited_pool(&self) -> (&MemoryPool, u64) {
        let mut pool = &self.scan;
        while pool.limit() == u64::MAX
            && let Some(parent) = pool.parent()
        {
            pool = parent;
        }
        (pool, pool.limit())
    }
}

impl State {
    /// Notes what a driver took; true when the newest driver has told and others are left.
    fn report(&mut self, driver: usize, peak_bytes: u64, num_drivers: usize) -> bool {
        self.estimate = match self.estimate {
            0 => peak_bytes,
            known => known.saturating_mul(3).saturating_add(peak_bytes) / 4,
        };
        if self.reported + 1 == self.running && driver + 1 == self.running {
            self.reported += 1;
        }
        self.running < num_drivers && self.reported == self.running
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn scale(limit: u64, drivers: usize) -> (ScanScaleUp, MemoryPool) {
        let scan = MemoryPool::root("query", limit).aggregate("scan", u64::MAX);
        let leaf = scan.leaf("driver");
        (ScanScaleUp::new(scan, drivers, 0.7), leaf)
    }

    fn waits(scale: &ScanScaleUp, drivers: usize) -> Vec<bool> {
        (0..drivers).map(|i| scale.turn(i).is_some()).collect()
    }

    #[test]
    fn drivers_begin_one_by_one_while_memory_has_room() {
        let (scale, _leaf) = scale(1_000, 4);
        assert_eq!(waits(&scale, 4), [false, true, true, true]);
        let turn = scale.turn(1).unwrap();
        scale.split_done(0, 200);
        turn.wait().unwrap();
        // The newest one has to tell first.
        scale.split_done(0, 200);
        assert_eq!(waits(&scale, 4), [false, false, true, true]);
        scale.split_done(1, 200);
        assert_eq!(waits(&scale, 4), [false, false, false, true]);
        // Four of them would take 800 of 1,000.
        scale.split_done(2, 200);
        assert_eq!(waits(&scale, 4), [false, false, false, true]);
        assert_eq!(scale.close(), Some(3));
        assert_eq!(scale.close(), None);
        assert_eq!(waits(&scale, 4), [false; 4]);
    }

    #[test]
    fn what_others_of_the_query_use_counts_too() {
        let (scale, leaf) = scale(1_000, 2);
        let query = scale.scan.parent().unwrap().leaf("join");
        query.reserve(500).unwrap();
        scale.split_done(0, 150);
        assert!(scale.turn(1).is_some(), "500 and twice 150 are too many");
        query.release(500);
        leaf.reserve(10).unwrap();
        scale.split_done(0, 150);
        assert!(scale.turn(1).is_none(), "there is room at the end of a later split");
        leaf.release(10);
    }

    #[test]
    fn who_waits_goes_on_when_the_splits_are_handed_out() {
        let (scale, _leaf) = scale(100, 3);
        let turns = [scale.turn(1).unwrap(), scale.turn(2).unwrap()];
        scale.split_done(0, 90);
        assert!(turns.iter().all(|turn| !turn.is_ready()));
        assert_eq!(scale.close(), Some(1));
        turns.into_iter().for_each(|turn| turn.wait().unwrap());
    }

    #[test]
    fn without_a_limit_every_driver_gets_its_turn() {
        let (scale, _leaf) = scale(u64::MAX, 3);
        scale.split_done(0, 1 << 40);
        scale.split_done(1, 1 << 40);
        assert_eq!(waits(&scale, 3), [false; 3]);
    }
}
