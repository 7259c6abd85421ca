//! Cursors: return the rows of a task, one batch per call.
//!
//! The drivers that the task did not place on workers run inside of [`Cursor::next`], on the
//! caller's thread, in turns. The last driver that is not blocked runs, so that a producer runs
//! only when its consumers cannot make progress. When all of them are blocked, the thread sleeps
//! until the first wait ends.
//!
//! | state of the cursor | `poll` returns | until |
//! |---|---|---|
//! | running | `Batch`, `Barrier`; `Wait` if all drivers are blocked | end of rows, error, cancel |
//! | draining | `Wait`: drivers and preparations are closing | the last one has closed |
//! | ended | `End`, or the error | |
//!
//! Neither `poll` nor dropping a cursor waits for another thread. After a drop, a worker closes the
//! drivers of the caller's thread, and the drivers on workers own everything that they need to end.
//! [`Cursor::close`] waits for all of them.

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Result, RowType, RowVector, ignore_panic};

use super::Shared;
use crate::blocking::Blocked;
use crate::driver::{Driver, Step, StopReason};
use crate::stats::TaskStats;
use crate::termination::Termination;

/// The rows of a running task. Dropping the cursor stops the task without waiting for its end.
pub struct Cursor {
    shared: Arc<Shared>,
    /// Drivers of the caller's thread, producers first; the last one produces the task's rows.
    drivers: Vec<Seat>,
    waits: Arc<Waits>,
    /// Number of a barrier before which all rows were returned; other drivers may not have passed
    /// it yet.
    barrier: Option<u64>,
}

/// A driver of the caller's thread.
struct Seat {
    /// Number of the driver, which does not change when other drivers end.
    number: usize,
    driver: Driver,
    waits: bool,
}

impl Cursor {
    pub(super) fn new(shared: Arc<Shared>, drivers: Vec<Driver>) -> Self {
        let waits = Arc::new(Waits::default());
        let wake = Arc::clone(&waits);
        shared.termination.on_stop(Box::new(move || wake.stop()));
        let drivers = drivers.into_iter().enumerate();
        let drivers = drivers.map(|(number, driver)| Seat { number, driver, waits: false });
        Cursor { shared, drivers: drivers.collect(), waits, barrier: None }
    }

    /// Returns the type of the batches.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.shared.output_type
    }

    /// Returns the next batch, which has at least one row and all columns loaded; `None` at the end
    /// of the rows. After an error, every further call returns the same error. At a barrier `None`
    /// is returned once, as at the end. Blocks the thread while the task is blocked or paused.
    // Not an `Iterator`: every call distinguishes the end of the rows from an error.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RowVector>> {
        loop {
            match self.poll()? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End | Poll::Barrier => return Ok(None),
                // The outcome is delivered to the driver; this continuation is only a wake-up.
                Poll::Wait(until) => drop(until.wait()),
            }
        }
    }

    /// Returns the next batch like [`Cursor::next`], but returns a continuation instead of blocking
    /// the thread, for callers that serve many tasks (rule S11.71). There may be no batch yet when
    /// the continuation is ready. The end of the rows and errors are returned when all drivers have
    /// closed; until then the cursor returns continuations for that.
    pub fn poll(&mut self) -> Result<Poll> {
        loop {
            self.resume_after_barrier();
            if self.drivers.is_empty() {
                return match self.shared.termination.until_all_out() {
                    Some(until) => Ok(Poll::Wait(until)),
                    None => self.shared.termination.outcome().map(|()| Poll::End),
                };
            }
            let last = self.drivers.len() - 1;
            let mut until_passed = None;
            if let Some(number) = self.barrier
                && !self.shared.termination.should_stop()
            {
                until_passed = self.shared.barriers.until_passed(number);
                if until_passed.is_none() {
                    self.barrier = None;
                    return Ok(Poll::Barrier);
                }
            }
            // After a barrier there are rows only when all drivers have passed it.
            let may_run = if until_passed.is_some() { last } else { last + 1 };
            let Some(at) = self.drivers.iter().take(may_run).rposition(|seat| !seat.waits) else {
                let Some(until) = self.waits.first() else { continue };
                if let Some(passed) = until_passed {
                    let waits = Arc::clone(&self.waits);
                    passed.on_ready(move |_| waits.change(|_| {}));
                }
                return Ok(Poll::Wait(until));
            };
            let Some(seat) = self.drivers.get_mut(at) else { continue };
            match seat.driver.run() {
                Ok(Step::Output(batch)) => return Ok(Poll::Batch(batch)),
                Ok(Step::Barrier(number)) => {
                    if at == last {
                        self.barrier = Some(number);
                    }
                    continue;
                }
                Ok(Step::Stop(StopReason::Block(Blocked { until, .. })))
                | Ok(Step::Stop(StopReason::Pause(until))) => {
                    seat.waits = true;
                    let (waits, number) = (Arc::clone(&self.waits), seat.number);
                    until.on_ready(move |outcome| waits.end(number, outcome));
                    continue;
                }
                Ok(Step::Stop(StopReason::Yield)) => continue,
                Ok(Step::Stop(StopReason::AtEnd)) if at < last => {
                    self.drivers.remove(at);
                    continue;
                }
                Ok(Step::Stop(StopReason::AtEnd)) => self.shared.termination.finish(),
                Ok(Step::Stop(StopReason::Terminate)) => {}
                Err(error) => seat.driver.fail(error),
            }
            self.drivers.clear();
        }
    }

    /// Resumes the drivers that no longer wait; all drivers when the task has ended.
    fn resume_after_barrier(&mut self) {
        let (ended, stopped) = self.waits.take_ended();
        for (number, outcome) in ended {
            let seat = self.drivers.iter_mut().find(|seat| seat.number == number);
            let Some(seat) = seat else { continue };
            seat.waits = false;
            if let Err(error) = outcome {
                let error = seat.driver.place_wait(error);
                seat.driver.fail(error);
            }
        }
        if stopped {
            self.drivers.iter_mut().for_each(|seat| seat.waits = false);
        }
    }

    /// Stops the task from the thread that owns the cursor; see [`Cursor::canceller`] for other
    /// threads.
    pub fn cancel(&self) {
        self.shared.termination.cancel();
    }

    /// Returns a handle that stops the task from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { termination: Arc::clone(&self.shared.termination) }
    }

    /// Returns the counters of the drivers that have closed, which are all of them once `next` has
    /// returned `None`.
    pub fn stats(&self) -> TaskStats {
        self.shared.stats.snapshot()
    }

    /// Returns a continuation that is ready when the last driver, on any thread, has closed.
    pub fn all_out(&self) -> Continuation {
        self.shared.termination.all_out()
    }

    /// Stops the task, and blocks the thread until the last driver has closed.
    pub fn close(mut self) {
        self.shared.termination.cancel();
        self.drivers.clear();
        // The wait fails only if the promise is dropped, which its owner never does.
        drop(self.all_out().wait());
    }
}

/// Result of one call of [`Cursor::poll`].
#[derive(Debug)]
pub enum Poll {
    /// The next batch, which has at least one row and all columns loaded.
    Batch(RowVector),
    /// No batch is available; poll again when the continuation is ready or the task has ended.
    Wait(Continuation),
    /// All rows of the splits before a barrier were returned.
    Barrier,
    /// There are no more rows, and all drivers have closed.
    End,
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.shared.termination.cancel();
        let drivers = std::mem::take(&mut self.drivers);
        if !drivers.is_empty() {
            // Closing a driver may take long: its memory is freed and its source is closed.
            let executor = &self.shared.query.executor;
            // `run` panics if the system cannot start any thread, and this drop may be part of an
            // unwinding.
            ignore_panic(|| executor.run(Box::new(move || drop(drivers))));
        }
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor({:?})", self.shared.termination)
    }
}

/// Stops a task from another thread; see [`Cursor::canceller`].
#[derive(Debug, Clone)]
pub struct Canceller {
    termination: Arc<Termination>,
}

impl Canceller {
    /// Stops the task; its cursor reports `Cancelled`.
    pub fn cancel(&self) {
        self.termination.cancel();
    }
}

/// Waits of the caller's drivers that are over.
#[derive(Debug, Default)]
struct Waits {
    state: Mutex<WaitsState>,
}

#[derive(Debug, Default)]
struct WaitsState {
    /// Outcomes of the waits that are over, by the number of the driver.
    ended: Vec<(usize, Result<()>)>,
    /// True when the task has ended.
    stopped: bool,
    /// Promise of the caller, fulfilled when a wait or the task ends.
    waiting: Option<Promise>,
}

impl Waits {
    /// Returns a continuation for the end of the first wait or of the task; `None` if one has ended
    /// already.
    fn first(&self) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.stopped || !state.ended.is_empty() {
            return None;
        }
        let (promise, until) = promise();
        // Wakes a previous waiter, which polls again.
        let before = state.waiting.replace(promise);
        drop(state);
        if let Some(before) = before {
            before.fulfil();
        }
        Some(until)
    }

    fn take_ended(&self) -> (Vec<(usize, Result<()>)>, bool) {
        let mut state = self.state.lock();
        (std::mem::take(&mut state.ended), state.stopped)
    }

    fn end(&self, number: usize, outcome: Result<()>) {
        self.change(|state| state.ended.push((number, outcome)));
    }

    fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    fn change(&self, change: impl FnOnce(&mut WaitsState)) {
        let waiting = {
            let mut state = self.state.lock();
            change(&mut state);
            state.waiting.take()
        };
        if let Some(promise) = waiting {
            promise.fulfil();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::thread;

    #[test]
    fn loom_the_caller_sees_every_wait_that_ends() {
        loom::model(|| {
            let waits = Arc::new(Waits::default());
            let enders = [0, 1].map(|number| {
                let waits = Arc::clone(&waits);
                thread::spawn(move || waits.end(number, Ok(())))
            });
            let mut seen = Vec::new();
            while seen.len() < 2 {
                let (ended, _) = waits.take_ended();
                seen.extend(ended.into_iter().map(|(number, _)| number));
                if seen.len() < 2
                    && let Some(until) = waits.first()
                {
                    until.wait().unwrap();
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, [0, 1]);
            for ender in enders {
                ender.join().unwrap();
            }
        });
    }

    #[test]
    fn loom_the_caller_learns_that_the_last_driver_has_passed_the_barrier() {
        use crate::control::barrier::Barriers;
        loom::model(|| {
            let (barriers, waits) = (Arc::new(Barriers::default()), Arc::new(Waits::default()));
            let mut ticket = barriers.enter();
            let (number, _passed) = barriers.request();
            let driver = thread::spawn(move || ticket.arrive(number));
            while let Some(passed) = barriers.until_passed(number) {
                let Some(until) = waits.first() else { continue };
                let wake = Arc::clone(&waits);
                passed.on_ready(move |_| wake.change(|_| {}));
                until.wait().unwrap();
            }
            driver.join().unwrap();
        });
    }

    #[test]
    fn loom_the_end_of_the_task_wakes_the_caller() {
        loom::model(|| {
            let waits = Arc::new(Waits::default());
            let stopper = {
                let waits = Arc::clone(&waits);
                thread::spawn(move || waits.stop())
            };
            while !waits.take_ended().1 {
                if let Some(until) = waits.first() {
                    until.wait().unwrap();
                }
            }
            stopper.join().unwrap();
        });
    }
}
