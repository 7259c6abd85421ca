//! Cursors: the rows of a task, one batch for each call.
//!
//! The drivers that the task did not give to workers run inside of [`Cursor::next`], on the
//! caller's thread, in turns: always the last one that is not waiting, so that rows are only made
//! when somebody downstream has nothing else to do. When all of them wait the thread sleeps until
//! the first wait ends.

use vector::sync::{Arc, Mutex, Promise, promise};
use vector::{Result, RowType, RowVector};

use super::Shared;
use crate::driver::{Driver, Step};
use crate::operator::loading::load_batch;
use crate::stats::TaskStats;
use crate::termination::Termination;

/// The rows of a running task; dropping it stops the task.
pub struct Cursor {
    shared: Arc<Shared>,
    /// Those that feed others stand before them; the last one gives the task's rows.
    drivers: Vec<Seat>,
    waiter: Arc<Waiter>,
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
        let waiter = Arc::new(Waiter::default());
        let wake = Arc::clone(&waiter);
        shared.termination.on_stop(Box::new(move || wake.stop()));
        let drivers = drivers.into_iter().enumerate();
        let drivers = drivers.map(|(number, driver)| Seat { number, driver, waits: false });
        Cursor { shared, drivers: drivers.collect(), waiter }
    }

    /// The columns of the batches.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.shared.output_type
    }

    /// The next batch, at least one row, all columns loaded; `None` at the end. After an error
    /// every further call gives the same error.
    // Not an `Iterator`: the end of rows and the end by an error are told apart at every call.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RowVector>> {
        loop {
            if self.drivers.is_empty() {
                return self.shared.termination.outcome().map(|()| None);
            }
            let Some(at) = self.drivers.iter().rposition(|seat| !seat.waits) else {
                self.wait();
                continue;
            };
            let gives_rows = at + 1 == self.drivers.len();
            let Some(seat) = self.drivers.get_mut(at) else { continue };
            let step = seat.driver.advance().and_then(|step| match step {
                Step::Output(batch) => load_batch(batch).map(Step::Output),
                other => Ok(other),
            });
            match step {
                Ok(Step::Output(batch)) => return Ok(Some(batch)),
                Ok(Step::Yield) => continue,
                Ok(Step::Blocked(blocked)) => {
                    seat.waits = true;
                    let (waiter, number) = (Arc::clone(&self.waiter), seat.number);
                    blocked.until.on_ready(move |outcome| waiter.end(number, outcome));
                    self.go_on();
                    continue;
                }
                Ok(Step::Finished) if !gives_rows => {
                    self.drivers.remove(at);
                    self.go_on();
                    continue;
                }
                Ok(Step::Finished) => self.shared.termination.finish(),
                Ok(Step::Stopped) => {}
                Err(error) => seat.driver.fail(error),
            }
            self.end();
        }
    }

    /// Sleeps until a wait ends or the task does.
    fn wait(&mut self) {
        self.waiter.sleep();
        self.go_on();
    }

    /// Lets the drivers go on whose waits are over: all of them when the task ends.
    fn go_on(&mut self) {
        let (ended, stopped) = self.waiter.take_ended();
        for (number, outcome) in ended {
            let Some(seat) = self.drivers.iter_mut().find(|seat| seat.number == number) else {
                continue;
            };
            seat.waits = false;
            if let Err(error) = outcome {
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

    fn end(&mut self) {
        self.drivers.clear();
        self.shared.termination.wait_all_out();
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.shared.termination.cancel();
        self.end();
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

/// The caller's thread while all of its drivers are blocked, and the waits that have ended.
#[derive(Debug, Default)]
struct Waiter {
    state: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    ended: Vec<(usize, Result<()>)>,
    stopped: bool,
    sleeping: Option<Promise>,
}

impl Waiter {
    /// Sleeps until a wait ends or the task stops, if neither has happened yet.
    fn sleep(&self) {
        let woken = {
            let mut state = self.state.lock();
            if state.stopped || !state.ended.is_empty() {
                return;
            }
            let (promise, woken) = promise();
            state.sleeping = Some(promise);
            woken
        };
        // Only `wake` ends this wait, and never with an error.
        drop(woken.wait());
    }

    fn take_ended(&self) -> (Vec<(usize, Result<()>)>, bool) {
        let mut state = self.state.lock();
        (std::mem::take(&mut state.ended), state.stopped)
    }

    /// The wait of a driver is over.
    fn end(&self, number: usize, outcome: Result<()>) {
        self.wake(|state| state.ended.push((number, outcome)));
    }

    /// The task is over.
    fn stop(&self) {
        self.wake(|state| state.stopped = true);
    }

    fn wake(&self, change: impl FnOnce(&mut Waits)) {
        let sleeping = {
            let mut state = self.state.lock();
            change(&mut state);
            state.sleeping.take()
        };
        if let Some(promise) = sleeping {
            promise.fulfil();
        }
    }
}
