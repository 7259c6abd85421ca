//! Cursors: the rows of a task, one batch for each call.
//!
//! The drivers that the task did not give to workers run inside of [`Cursor::next`], on the
//! caller's thread, in turns: always the last one that is not waiting, so that rows are only made
//! when somebody downstream has nothing else to do. When all of them wait the thread sleeps until
//! the first wait ends.
//!
//! | the cursor | `poll` returns | until |
//! |---|---|---|
//! | runs | `Batch`, `Barrier`, or `Wait` when all drivers wait | the rows end, an error, a cancel |
//! | drains | `Wait`: drivers and preparations on other threads are on their way out | the last one is out |
//! | has ended | `End`, or the error | |
//!
//! `poll` never waits for another thread, and neither does dropping a cursor: the drivers of the
//! caller's thread are then closed by a worker, and those on workers own all that they need, so that
//! they need no cursor to end. [`Cursor::close`] waits for all of them.

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Result, RowType, RowVector, ignore_panic};

use super::Shared;
use crate::blocking::Blocked;
use crate::driver::{Driver, Step, StopReason};
use crate::stats::TaskStats;
use crate::termination::Termination;

/// The rows of a running task; dropping it stops the task, without waiting for its end.
pub struct Cursor {
    shared: Arc<Shared>,
    /// Those that feed others stand before them; the last one gives the task's rows.
    drivers: Vec<Seat>,
    waits: Arc<Waits>,
    /// The barrier whose rows were all given; others may still be before it.
    barrier: Option<u64>,
}

/// A driver of the caller's thread.
struct Seat {
    /// Its number, which stays when others end.
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

    /// The columns of the batches.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.shared.output_type
    }

    /// The next batch, at least one row, all columns loaded; `None` at the end. After an error
    /// every further call gives the same error. At a barrier `None` comes once, as at the end. Waits
    /// while the task is blocked or paused.
    // Not an `Iterator`: the end of rows and the end by an error are told apart at every call.
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

    /// As [`Cursor::next`], but returns a wait instead of blocking the thread: for callers that
    /// serve many tasks (rule S11.71). The wait may be over without there being a batch. The end of the
    /// rows and errors are returned when all drivers are out, and until then a wait for that.
    pub fn poll(&mut self) -> Result<Poll> {
        loop {
            self.go_on();
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
            // Behind a barrier there are rows only when all drivers have passed it.
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

    /// Lets the drivers go on whose waits are over: all of them when the task ends.
    fn go_on(&mut self) {
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

    /// Stops the task from wherever the cursor is; see [`Cursor::canceller`] for other threads.
    pub fn cancel(&self) {
        self.shared.termination.cancel();
    }

    /// Something that stops the task from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { termination: Arc::clone(&self.shared.termination) }
    }

    /// Counters of the drivers that have ended: of all once `next` gave `None`.
    pub fn stats(&self) -> TaskStats {
        self.shared.stats.snapshot()
    }

    /// A wait until the last driver has closed, wherever it is.
    pub fn all_out(&self) -> Continuation {
        self.shared.termination.all_out()
    }

    /// Stops the task, and blocks the thread until the last driver has closed.
    pub fn close(mut self) {
        self.shared.termination.cancel();
        self.drivers.clear();
        // Fails only when the promise is dropped, which its owner never does.
        drop(self.all_out().wait());
    }
}

/// What one call of [`Cursor::poll`] gives.
#[derive(Debug)]
pub enum Poll {
    /// The next batch, at least one row, all columns loaded.
    Batch(RowVector),
    /// Nothing now; ask again when the wait is over, or when the task has ended.
    Wait(Continuation),
    /// All rows of the splits before a barrier were given.
    Barrier,
    /// There are no more rows, and all drivers are out.
    End,
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.shared.termination.cancel();
        let drivers = std::mem::take(&mut self.drivers);
        if !drivers.is_empty() {
            // Closing a driver may take a while: what it holds is freed, and its source is closed.
            let executor = &self.shared.query.executor;
            // It panics where the system has no thread at all, and this may be an unwinding already.
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

/// The waits of the caller's drivers, as far as they are over.
#[derive(Debug, Default)]
struct Waits {
    state: Mutex<WaitsState>,
}

#[derive(Debug, Default)]
struct WaitsState {
    /// Waits that are over, by the number of the driver.
    ended: Vec<(usize, Result<()>)>,
    /// The task is over.
    stopped: bool,
    /// Who wants to know when something of this happens.
    waiting: Option<Promise>,
}

impl Waits {
    /// A wait for the first wait to be over, or the task; none when that is so already.
    fn first(&self) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.stopped || !state.ended.is_empty() {
            return None;
        }
        let (promise, until) = promise();
        // Whoever asked before asks again now.
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
