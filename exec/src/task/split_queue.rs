//! The split queue of one scan: the owner of the task adds splits, and the drivers take them.
//!
//! | state | `add` | `next_split` | `no_more` | `abandon` |
//! |---|---|---|---|---|
//! | Open, with splits | added, wakes one | split, prepares next ones | NoMore | Abandoned |
//! | Open, empty | added, wakes one | Wait | NoMore, wakes all | Abandoned, wakes all |
//! | NoMore | refused | split, then NoMore | - | - |
//! | Abandoned | dropped | `Cancelled` error | Abandoned | - |
//!
//! A barrier comes after all splits and before NoMore: a driver that has not passed it receives it
//! once, when no split is left (rules S11.30, S11.56).
//!
//! Of the waiting drivers the one that blocked last is woken first (rule S11.55). When a driver
//! takes a split, the next splits are prepared, up to the quota of the driver. Several drivers take
//! prepared splits before others, within the quota (rule S11.57); a single driver takes the splits
//! in the order in which they were added, so that its rows are in that order. When memory is short,
//! prepared splits that were not taken are released.

use std::collections::VecDeque;

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Error, Reclaim, Result};

use dwio::connector::ConnectorSplit;

use crate::preload::async_source::Phase as Made;
use crate::preload::{SplitPreloader, SplitPreparation};
use crate::split_source::{SplitPoll, SplitSource, TakenSplit};

/// Order in which splits are taken.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum SplitOrder {
    /// In the order in which they were added.
    #[default]
    Added,
    /// Prepared splits first.
    ReadyFirst,
}

/// Splits of one scan node.
#[derive(Debug, Default)]
pub struct SplitQueue {
    order: SplitOrder,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    splits: VecDeque<TakenSplit>,
    phase: Phase,
    waiting: Vec<Promise>,
    counts: SplitCounts,
    /// Highest sequence number of splits that are duplicates and are not added again (rule S11.54).
    max_sequence: Option<u64>,
    /// Promises for the time at which no split is queued.
    wanting: Vec<Promise>,
    /// Number of the last barrier.
    barrier: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    NoMore,
    Abandoned,
}

/// Number of the splits of a scan in each state.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct SplitCounts {
    /// Splits that were added and not yet taken.
    pub queued: usize,
    /// Splits that were taken and not yet read to the end.
    pub running: usize,
    /// Splits that were read to the end.
    pub finished: usize,
}

impl SplitQueue {
    /// Creates an open queue without splits.
    pub fn new(order: SplitOrder) -> Self {
        SplitQueue { order, ..Self::default() }
    }

    /// Adds a split and wakes one driver.
    ///
    /// # Errors
    /// `Internal` after `no_more`.
    pub fn add(&self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        self.add_if(split, |_| true).map(drop)
    }

    fn add_if(
        &self,
        split: Arc<dyn ConnectorSplit>,
        is_wanted: impl FnOnce(&State) -> bool,
    ) -> Result<bool> {
        let waiting = {
            let mut state = self.state.lock();
            if !is_wanted(&state) {
                return Ok(false);
            }
            match state.phase {
                Phase::NoMore => {
                    return Err(Error::internal("a split was added after the last one")
                        .with("split", split.describe()));
                }
                Phase::Abandoned => return Ok(true),
                Phase::Open => {}
            }
            state.splits.push_back(TakenSplit { split, preparation: None });
            state.counts.queued += 1;
            state.waiting.pop()
        };
        if let Some(promise) = waiting {
            promise.fulfil();
        }
        Ok(true)
    }

    /// Adds a split with a sequence number, unless the number is at most the maximum that was set.
    /// Returns whether the split was added.
    ///
    /// # Errors
    /// `Internal` after `no_more`.
    pub fn add_numbered(&self, number: u64, split: Arc<dyn ConnectorSplit>) -> Result<bool> {
        self.add_if(split, |state| state.max_sequence.is_none_or(|max| number > max))
    }

    /// Declares that splits with numbers up to `number` are not to be added again.
    pub fn set_max_sequence(&self, number: u64) {
        let mut state = self.state.lock();
        state.max_sequence = state.max_sequence.max(Some(number));
    }

    /// Adds barrier `number` after the splits, and wakes all drivers, as each must pass it.
    pub fn add_barrier(&self, number: u64) {
        let waiting = {
            let mut state = self.state.lock();
            state.barrier = state.barrier.max(number);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }

    /// Returns true after `no_more`.
    pub fn has_all(&self) -> bool {
        self.state.lock().phase == Phase::NoMore
    }

    /// Returns a continuation that is ready when no split is queued (rule S11.59); it fails when no
    /// more splits can be added.
    pub fn drained(&self) -> Continuation {
        let mut state = self.state.lock();
        let (promise, drained) = promise();
        if state.phase == Phase::Open {
            if state.splits.is_empty() {
                return Continuation::ready();
            }
            state.wanting.push(promise);
        }
        drained
    }

    /// Declares that all splits were added.
    pub fn no_more(&self) {
        self.leave_open(Phase::NoMore);
    }

    /// Declares that the missing splits will never be added; has no effect after `no_more`.
    pub fn abandon(&self) {
        self.leave_open(Phase::Abandoned);
    }

    fn leave_open(&self, phase: Phase) {
        let (waiting, _nobody_wants_more) = {
            let mut state = self.state.lock();
            if state.phase != Phase::Open {
                return;
            }
            state.phase = phase;
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.wanting))
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }

    /// Drops the preparations of splits that were not taken, at the end of the task.
    pub fn drop_preparations(&self) {
        let preparations: Vec<_> = {
            let mut state = self.state.lock();
            state.splits.iter_mut().filter_map(|waiting| waiting.preparation.take()).collect()
        };
        preparations.iter().for_each(|preparation| preparation.cancel());
    }

    /// Returns the number of splits in each state.
    pub fn counts(&self) -> SplitCounts {
        self.state.lock().counts
    }
}

impl State {
    fn is_at_barrier(&self, passed: u64) -> bool {
        self.splits.is_empty() && self.barrier > passed
    }

    /// Takes a split and prepares the next ones. Returns the preparations that are to be started.
    fn take(
        &mut self,
        order: SplitOrder,
        preloader: Option<&dyn SplitPreloader>,
    ) -> Option<(TakenSplit, Vec<Arc<SplitPreparation>>)> {
        let quota = preloader.map_or(0, |preloader| preloader.quota());
        let is_ready = |waiting: &TakenSplit| {
            waiting.preparation.as_ref().is_some_and(|preparation| preparation.has_value())
        };
        let at = match order {
            SplitOrder::Added => 0,
            SplitOrder::ReadyFirst => {
                self.splits.iter().take(quota).position(is_ready).unwrap_or(0)
            }
        };
        let taken = self.splits.remove(at)?;
        self.counts.queued -= 1;
        self.counts.running += 1;
        let mut begun = Vec::new();
        if let Some(preloader) = preloader {
            let next = self.splits.iter_mut().take(quota);
            for waiting in next.filter(|waiting| waiting.preparation.is_none()) {
                let preparation = preloader.preparation(&waiting.split);
                waiting.preparation = Some(Arc::clone(&preparation));
                begun.push(preparation);
            }
        }
        Some((taken, begun))
    }
}

impl Reclaim for SplitQueue {
    /// Releases prepared splits; the driver that takes such a split prepares it again.
    fn reclaim(&self, _: u64) {
        // Waiting for this lock is safe: no thread allocates or releases memory while it holds the
        // lock.
        let mut state = self.state.lock();
        let is_prepared = |waiting: &&mut TakenSplit| {
            let preparation = waiting.preparation.as_ref();
            preparation.is_some_and(|preparation| preparation.phase() == Made::Prepared)
        };
        let prepared = state.splits.iter_mut().filter(is_prepared);
        let prepared: Vec<_> = prepared.filter_map(|split| split.preparation.take()).collect();
        drop(state);
        prepared.iter().for_each(|preparation| preparation.cancel());
    }
}

impl SplitSource for SplitQueue {
    fn next_split(&self, passed: u64, preloader: Option<&dyn SplitPreloader>) -> Result<SplitPoll> {
        let mut state = self.state.lock();
        if state.phase == Phase::Abandoned {
            return Err(Error::cancelled("the task was dropped before all splits were added"));
        }
        if let Some((taken, begun)) = state.take(self.order, preloader) {
            let wanting = match state.splits.is_empty() {
                true => std::mem::take(&mut state.wanting),
                false => Vec::new(),
            };
            drop(state);
            wanting.into_iter().for_each(Promise::fulfil);
            if let Some(preloader) = preloader {
                begun.into_iter().for_each(|preparation| preloader.start(preparation));
            }
            return Ok(SplitPoll::Split(taken));
        }
        if state.is_at_barrier(passed) {
            return Ok(SplitPoll::Barrier(state.barrier));
        }
        if state.phase == Phase::NoMore {
            return Ok(SplitPoll::NoMore);
        }
        let (promise, continuation) = promise();
        state.waiting.push(promise);
        Ok(SplitPoll::Wait(continuation))
    }

    fn is_at_barrier(&self, passed: u64) -> bool {
        self.state.lock().is_at_barrier(passed)
    }

    fn split_done(&self) {
        let counts = &mut self.state.lock().counts;
        counts.running = counts.running.saturating_sub(1);
        counts.finished += 1;
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use std::any::Any;
    use vector::sync::thread;

    #[derive(Debug)]
    struct Numbered;

    impl ConnectorSplit for Numbered {
        fn connector_id(&self) -> &str {
            "test"
        }
        fn describe(&self) -> String {
            "split".into()
        }
        fn size_bytes(&self) -> u64 {
            0
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    fn take_all(queue: &SplitQueue) -> usize {
        let mut taken = 0;
        loop {
            match queue.next_split(0, None).unwrap() {
                SplitPoll::Split(_) => {
                    taken += 1;
                    queue.split_done();
                }
                SplitPoll::Wait(until) => until.wait().unwrap(),
                SplitPoll::NoMore | SplitPoll::Barrier(_) => return taken,
            }
        }
    }

    #[test]
    fn loom_every_split_is_taken_once_by_two_drivers() {
        loom::model(|| {
            let queue = Arc::new(SplitQueue::new(SplitOrder::ReadyFirst));
            let other = Arc::clone(&queue);
            let driver = thread::spawn(move || take_all(&other));
            queue.add(Arc::new(Numbered)).unwrap();
            queue.no_more();
            let here = take_all(&queue);
            assert_eq!(here + driver.join().unwrap(), 1);
            assert_eq!(queue.counts(), SplitCounts { queued: 0, running: 0, finished: 1 });
        });
    }

    #[test]
    fn loom_a_driver_that_waits_for_abandoned_splits_gets_an_error() {
        loom::model(|| {
            let queue = Arc::new(SplitQueue::new(SplitOrder::ReadyFirst));
            let other = Arc::clone(&queue);
            let driver = thread::spawn(move || {
                loop {
                    match other.next_split(0, None) {
                        Ok(SplitPoll::Wait(until)) => until.wait().unwrap(),
                        other => return other.is_err(),
                    }
                }
            });
            queue.abandon();
            assert!(driver.join().unwrap());
        });
    }
}
