//! Drivers: they move batches through the operators of one pipeline.
//!
//! A driver is pulled from its end (rule S11.39): it looks for output of the last operator, then
//! of the one before, and so on to the source; what it finds it hands to the next operator and
//! looks there again.
//!
//! ```text
//! [scan] -> [filter] -> [aggregation]        look: aggregation, filter, scan
//!    3         2            1                give: scan -> filter, look at filter again, ...
//! ```
//!
//! Nothing upstream moves while an operator does not want input (S11.41), so no operator holds a
//! lazy batch while the scan goes on. Waits are looked for before and after output (S11.42).
//!
//! A driver has no thread of its own. The cursor calls [`Driver::advance`] on the caller's thread;
//! [`launch`] puts a driver on the executor's workers, where it leaves its worker when blocked:
//!
//! | on worker ends with | then |
//! |---|---|
//! | Blocked | parked in its seat; the wait's end or the task's stop takes it out, once, and enqueues it |
//! | Yield | enqueued behind the others |
//! | Finished, Stopped, error | closed, its ticket given back |

use std::time::{Duration, Instant};

use vector::sync::{Arc, CancelFlag, Continuation, Mutex};
use vector::{Error, Result, RowVector};

use crate::executor::Executor;
use crate::operator::{Blocked, BlockingReason, Operator};
use crate::plan::PlanNodeId;
use crate::stats::{OperatorStats, StatsCollector};
use crate::termination::{DriverTicket, Termination};

/// One operator in its driver.
struct Stage {
    operator: Box<dyn Operator>,
    stats: OperatorStats,
    /// The operator before has finished and this one knows.
    input_ended: bool,
}

/// What a driver is made of.
pub struct DriverParams {
    /// Which pipeline of its task, for the statistics.
    pub pipeline: usize,
    /// The driver's presence in its task.
    pub ticket: DriverTicket,
    /// Stops the whole query when raised.
    pub query_cancel: CancelFlag,
    /// Leave the worker after this long.
    pub time_slice: Option<Duration>,
    /// Measure the time inside of operators.
    pub track_time: bool,
    /// Where counters go in the end.
    pub stats: Arc<StatsCollector>,
}

/// Moves batches through a chain of operators.
pub struct Driver {
    stages: Vec<Stage>,
    params: DriverParams,
    slice_start: Instant,
    /// Passes over the operators in which nothing moved and nobody waited.
    idle_passes: u32,
    ended: bool,
    closed: bool,
}

/// Why [`Driver::advance`] came back.
#[derive(Debug)]
pub enum Step {
    /// The last operator gave a batch.
    Output(RowVector),
    /// Somebody waits.
    Blocked(Blocked),
    /// The time slice is used up.
    Yield,
    /// There will be no more output.
    Finished,
    /// The task has ended.
    Stopped,
}

impl Driver {
    /// A driver of operators in the order of the rows' way; there is at least one.
    pub fn new(
        operators: Vec<(Box<dyn Operator>, &'static str, Option<PlanNodeId>)>,
        params: DriverParams,
    ) -> Result<Self> {
        if operators.is_empty() {
            return Err(Error::internal("a driver without operators"));
        }
        let stages = operators.into_iter().map(|(operator, name, node)| Stage {
            operator,
            stats: OperatorStats { operator: name, node, num_drivers: 1, ..Default::default() },
            input_ended: false,
        });
        Ok(Driver {
            stages: stages.collect(),
            params,
            slice_start: Instant::now(),
            idle_passes: 0,
            ended: false,
            closed: false,
        })
    }

    /// The task's end.
    pub fn termination(&self) -> &Arc<Termination> {
        self.params.ticket.termination()
    }

    /// Moves batches until there is output, a wait, or an end.
    pub fn advance(&mut self) -> Result<Step> {
        self.slice_start = Instant::now();
        loop {
            if let Some(step) = self.pass()? {
                self.idle_passes = 0;
                self.ended |= matches!(step, Step::Finished | Step::Stopped);
                return Ok(step);
            }
            // An operator that neither gives, wants, waits nor ends would keep us here forever.
            if self.idle_passes > 2 {
                return Err(Error::internal("no operator of a driver can go on")
                    .with("pipeline", self.params.pipeline));
            }
        }
    }

    /// Looks at the operators from the last to the first; `None` to begin again at the last.
    fn pass(&mut self) -> Result<Option<Step>> {
        self.idle_passes += 1;
        let last = self.stages.len() - 1;
        let mut i = last;
        loop {
            if let Some(step) = self.interruption() {
                return Ok(Some(step));
            }
            if let Some(blocked) = self.blocked(i) {
                return Ok(Some(Step::Blocked(blocked)));
            }
            if i < last {
                if let Some(blocked) = self.blocked(i + 1) {
                    return Ok(Some(Step::Blocked(blocked)));
                }
                if !self.stages[i + 1].operator.needs_input() {
                    return Ok(None);
                }
            }
            match self.output_of(i)? {
                Some(batch) => {
                    self.idle_passes = 0;
                    if i == last {
                        return Ok(Some(Step::Output(batch)));
                    }
                    self.give(i + 1, batch)?;
                    i += 1;
                    continue;
                }
                None => {
                    if let Some(step) = self.interruption() {
                        return Ok(Some(step));
                    }
                    if let Some(blocked) = self.blocked(i) {
                        return Ok(Some(Step::Blocked(blocked)));
                    }
                }
            }
            if self.stages[i].operator.is_finished() {
                if i == last {
                    return Ok(Some(Step::Finished));
                }
                self.end_input(i + 1);
                return Ok(None);
            }
            if i == 0 {
                return Ok(None);
            }
            i -= 1;
        }
    }

    fn interruption(&mut self) -> Option<Step> {
        if self.params.query_cancel.is_cancelled() {
            self.termination().cancel();
        }
        if self.termination().should_stop() {
            return Some(Step::Stopped);
        }
        match self.params.time_slice {
            Some(slice) if self.slice_start.elapsed() >= slice => Some(Step::Yield),
            _ => None,
        }
    }

    fn blocked(&mut self, i: usize) -> Option<Blocked> {
        let stage = &mut self.stages[i];
        let blocked = stage.operator.is_blocked()?;
        if blocked.reason != BlockingReason::Yield {
            stage.stats.num_blocked += 1;
        }
        Some(blocked)
    }

    fn output_of(&mut self, i: usize) -> Result<Option<RowVector>> {
        let stage = &mut self.stages[i];
        let start = self.params.track_time.then(Instant::now);
        let output = stage.operator.get_output();
        stage.add_time(start);
        let output = output.map_err(|error| stage.frame(error))?;
        if let Some(batch) = &output {
            if batch.is_empty() {
                return Err(stage.frame(Error::internal("an operator gave a batch without rows")));
            }
            stage.stats.output_rows += batch.len() as u64;
            stage.stats.output_batches += 1;
        }
        Ok(output)
    }

    fn give(&mut self, i: usize, batch: RowVector) -> Result<()> {
        let stage = &mut self.stages[i];
        stage.stats.input_rows += batch.len() as u64;
        stage.stats.input_batches += 1;
        let start = self.params.track_time.then(Instant::now);
        let outcome = stage.operator.add_input(batch);
        stage.add_time(start);
        outcome.map_err(|error| stage.frame(error))
    }

    fn end_input(&mut self, i: usize) {
        let stage = &mut self.stages[i];
        if !stage.input_ended {
            stage.input_ended = true;
            stage.operator.no_more_input();
            self.idle_passes = 0;
        }
    }

    /// Closes all operators and hands the counters in; later calls do nothing.
    pub fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        if !self.ended {
            // Before the operators close: whoever reads their end of a queue must see that this
            // was not the end of the rows.
            self.termination().fail(Error::internal("a driver was dropped before its end"));
        }
        for stage in &mut self.stages {
            stage.operator.add_stats(&mut stage.stats);
            stage.operator.close();
        }
        self.params.stats.add(self.params.pipeline, self.stages.iter().map(|s| &s.stats));
    }

    /// Ends the task with `error`, unless it has ended.
    pub fn fail(&mut self, error: Error) {
        self.ended = true;
        self.termination().fail(error);
    }
}

impl Stage {
    fn add_time(&mut self, start: Option<Instant>) {
        if let Some(start) = start {
            self.stats.wall_nanos += start.elapsed().as_nanos() as u64;
        }
    }

    fn frame(&self, error: Error) -> Error {
        match &self.stats.node {
            Some(node) => error.in_named("operator", format!("{}[{node}]", self.stats.operator)),
            None => error.in_named("operator", self.stats.operator),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}

/// Puts a driver, whose last operator is a sink, on the executor's workers.
pub fn launch(executor: &Arc<Executor>, driver: Driver) {
    let seat = Arc::new(Seat { executor: Arc::clone(executor), parked: Mutex::new(None) });
    // Weak, because the task's end must not hold drivers.
    let waker = Arc::downgrade(&seat);
    driver.termination().on_stop(Box::new(move || {
        if let Some(seat) = waker.upgrade() {
            seat.resume(Ok(()));
        }
    }));
    seat.enqueue(driver);
}

/// Where a driver on workers stands while it is blocked.
struct Seat {
    executor: Arc<Executor>,
    parked: Mutex<Option<Driver>>,
}

impl Seat {
    fn enqueue(self: &Arc<Self>, driver: Driver) {
        let seat = Arc::clone(self);
        self.executor.run(Box::new(move || seat.work(driver)));
    }

    fn work(self: Arc<Self>, mut driver: Driver) {
        match driver.advance() {
            Ok(Step::Yield) => self.enqueue(driver),
            Ok(Step::Blocked(blocked)) => self.park(driver, blocked.until),
            Ok(Step::Finished | Step::Stopped) => driver.close(),
            Ok(Step::Output(_)) => {
                driver.fail(Error::internal("a driver on a worker has no sink"));
            }
            Err(error) => driver.fail(error),
        }
    }

    fn park(self: &Arc<Self>, driver: Driver, until: Continuation) {
        let termination = Arc::clone(driver.termination());
        *self.parked.lock() = Some(driver);
        let seat = Arc::clone(self);
        until.on_ready(move |outcome| seat.resume(outcome));
        // The stop hook may have looked before the driver sat down.
        if termination.should_stop() {
            self.resume(Ok(()));
        }
    }

    fn resume(self: &Arc<Self>, outcome: Result<()>) {
        let parked = self.parked.lock().take();
        let Some(driver) = parked else { return };
        if let Err(error) = outcome {
            driver.termination().fail(error);
        }
        self.enqueue(driver);
    }
}
