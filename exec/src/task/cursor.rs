//! Cursors: the rows of a task, one batch for each call.
//!
//! The drivers that the task did not give to workers run inside of [`Cursor::next`], on the
//! caller's thread, which sleeps while the first of them is blocked.

use std::collections::VecDeque;

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Error, Result, RowType, RowVector};

use super::Shared;
use crate::driver::{Driver, Step, StopReason};
use crate::operator::Blocked;
use crate::stats::TaskStats;
use crate::termination::Termination;

/// The rows of a running task; dropping it stops the task.
pub struct Cursor {
    shared: Arc<Shared>,
    /// The first one runs; those that fill tables come before the one that gives rows.
    drivers: VecDeque<Driver>,
    waiter: Arc<Waiter>,
}

impl Cursor {
    pub(super) fn new(shared: Arc<Shared>, drivers: VecDeque<Driver>) -> Self {
        let waiter = Arc::new(Waiter::default());
        let wake = Arc::clone(&waiter);
        shared.termination.on_stop(Box::new(move || wake.end(Ok(()))));
        Cursor { shared, drivers, waiter }
    }

    /// The columns of the batches.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.shared.output_type
    }

    /// The next batch, at least one row, all columns loaded; `None` at the end. After an error
    /// every further call gives the same error. Waits while the task is blocked or paused.
    // Not an `Iterator`: the end of rows and the end by an error are told apart at every call.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RowVector>> {
        loop {
            match self.poll()? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End => return Ok(None),
                Poll::Wait(until) => {
                    if let Err(error) = self.waiter.wait(until, &self.shared.termination) {
                        self.fail(error);
                    }
                }
            }
        }
    }

    /// As [`Cursor::next`], but gives a wait instead of blocking the thread: for callers that
    /// serve many tasks (rule S11.71). The wait may be over without there being a batch.
    pub fn poll(&mut self) -> Result<Poll> {
        loop {
            let fills_a_table = self.drivers.len() > 1;
            let Some(driver) = self.drivers.front_mut() else {
                return self.shared.termination.outcome().map(|()| Poll::End);
            };
            match driver.run() {
                Ok(Step::Output(batch)) => return Ok(Poll::Batch(batch)),
                Ok(Step::Stop(StopReason::Block(Blocked { until, .. })))
                | Ok(Step::Stop(StopReason::Pause(until))) => return Ok(Poll::Wait(until)),
                Ok(Step::Stop(StopReason::Yield)) => continue,
                Ok(Step::Stop(StopReason::AtEnd)) if fills_a_table => {
                    self.drivers.pop_front();
                    continue;
                }
                Ok(Step::Stop(StopReason::AtEnd)) => self.shared.termination.finish(),
                Ok(Step::Stop(StopReason::Terminate)) => {}
                Err(error) => driver.fail(error),
            }
            self.end();
        }
    }

    fn fail(&mut self, error: Error) {
        if let Some(driver) = self.drivers.front_mut() {
            let error = driver.place_wait(error);
            driver.fail(error);
        }
        self.end();
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
        // Fails only when the promise is dropped, which its owner never does.
        let _ = self.shared.termination.all_out().wait();
    }
}

/// What one call of [`Cursor::poll`] gives.
#[derive(Debug)]
pub enum Poll {
    /// The next batch, at least one row, all columns loaded.
    Batch(RowVector),
    /// Nothing now; ask again when the wait is over, or when the task has ended.
    Wait(Continuation),
    /// There are no more rows.
    End,
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

/// The caller's thread while its driver is blocked: woken by the end of the wait or of the task.
#[derive(Debug, Default)]
struct Waiter {
    waiting: Mutex<Option<Promise>>,
}

impl Waiter {
    fn wait(self: &Arc<Self>, until: Continuation, termination: &Termination) -> Result<()> {
        if until.is_ready() {
            return until.wait();
        }
        let (promise, woken) = promise();
        *self.waiting.lock() = Some(promise);
        let waiter = Arc::clone(self);
        until.on_ready(move |outcome| waiter.end(outcome));
        // The stop hook may have looked before the promise was there.
        if termination.should_stop() {
            self.end(Ok(()));
        }
        woken.wait()
    }

    fn end(&self, outcome: Result<()>) {
        let waiting = self.waiting.lock().take();
        match (waiting, outcome) {
            (Some(promise), Ok(())) => promise.fulfil(),
            (Some(promise), Err(error)) => promise.fail(error),
            (None, _) => {}
        }
    }
}
