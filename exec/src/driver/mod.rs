//! Drivers: move batches through the operators of one pipeline.
//!
//! A driver pulls from its sink (rule S11.39): it requests output from the last operator, then from
//! the one before, and so on to the source. A batch that an operator returns is added to the next
//! operator, which is then requested for output.
//!
//! ```text
//! [scan] -> [filter] -> [aggregation]        get output: aggregation, filter, scan
//!    3         2            1                add input: scan -> filter, get output of filter, ...
//! ```
//!
//! No operator before an operator that needs no input is advanced (rule S11.41), so that no
//! operator holds a batch with lazy columns while the scan moves on. Blocking is checked before and
//! after each call of `get_output` (rule S11.42).
//!
//! A driver has no thread of its own: [`Driver::run`] moves batches on the calling thread until
//! there is a [`StopReason`] to leave it. The cursor calls it on the caller's thread, a driver slot
//! calls it on the executor's workers (see `seat`). Exclusive ownership ensures that a driver is on
//! at most one thread at a time and is enqueued at most once (rule S11.49).
//!
//! | state | `run` returns |
//! |---|---|
//! | its task has ended | Terminate |
//! | its task is paused | Pause, at once or at the next check |
//! | an operator is blocked | Block |
//! | its time slice is over, or the task requests its drivers to yield | Yield |
//! | the last operator has finished | AtEnd |
//! | all rows before a barrier have left the driver | Barrier; see `drain` |
//! | an operator panics | an `Internal` error that names it; no operator is called again |
//!
//! Velox has two more stop reasons: AlreadyTerminated for a driver that runs after the end of its
//! task, and AlreadyOnThread for a driver that another thread runs. Here the former is Terminate as
//! well, and the latter cannot occur, because the thread that runs a driver owns it.

mod drain;
mod memory;
mod seat;
mod stage;

use std::time::{Duration, Instant};

use vector::stop::stop_scope;
use vector::sync::{Arc, Continuation};
use vector::{
    Error, ErrorKind, Metrics, Result, RowVector, catch_panic, check_batch, ignore_panic,
};

use self::drain::Drain;
use self::memory::DriverMemory;
pub use self::memory::MemoryWaits;
pub use self::seat::launch;
pub use self::stage::StageParams;
use self::stage::{Call, Meter, Spent, Stage};
use crate::blocking::{Blocked, BlockingReason};
use crate::control::barrier::BarrierTicket;
use crate::control::threads::{Interruption, OnThread, TaskThreads};
use crate::operator::loading::load_batch;
use crate::stats::StatsCollector;
use crate::termination::{DriverTicket, Termination};

/// Parameters of a driver.
pub struct DriverParams {
    /// Pipeline of the driver within its task, for the statistics.
    pub pipeline: usize,
    /// Registers the driver with its task.
    pub ticket: DriverTicket,
    /// Registers the driver with the barriers of its task.
    pub barriers: BarrierTicket,
    /// Threads that currently run drivers of the task.
    pub threads: Arc<TaskThreads>,
    /// Time after which the driver yields its worker thread; `None` means that it does not.
    pub time_slice: Option<Duration>,
    /// How the driver waits for memory of other queries; `None` means that it does not wait.
    pub memory: Option<MemoryWaits>,
    /// Whether every batch of every operator is validated.
    pub validate: bool,
    /// Whether the CPU time of each call of an operator is measured.
    pub track_cpu: bool,
    /// Receives the counters when the driver closes.
    pub stats: Arc<StatsCollector>,
}

/// Moves batches through a chain of operators.
pub struct Driver {
    stages: Vec<Stage>,
    params: DriverParams,
    meter: Meter,
    /// Counters of the driver as a whole (rule S15.61).
    metrics: Metrics,
    slice_start: Instant,
    /// Index of the operator that was checked last, which is approximately the one that runs next.
    current: usize,
    /// Index of the operator that was called last.
    called: usize,
    /// Index of the operator that panicked; after a panic no operator is called.
    panicked: Option<usize>,
    /// A batch that was not yet added to the operator at this index, because it waits for memory.
    waiting_input: Option<(usize, RowVector)>,
    drain: Drain,
    memory: DriverMemory,
    /// Time and reason of leaving the thread.
    off_thread: Option<OffThread>,
    /// Number of consecutive rounds over the operators without progress or blocking.
    idle_passes: u32,
    ended: bool,
    closed: bool,
}

/// Reason for which a driver leaves its thread (rule S11.45).
#[derive(Debug)]
pub enum StopReason {
    /// An operator is blocked.
    Block(Blocked),
    /// Other drivers are to run.
    Yield,
    /// The task is paused; the continuation is ready when it is resumed.
    Pause(Continuation),
    /// The last operator has finished.
    AtEnd,
    /// The task has ended.
    Terminate,
}

/// Result of one call of [`Driver::run`].
#[derive(Debug)]
pub enum Step {
    /// A batch of the last operator with all columns loaded.
    Output(RowVector),
    /// All rows before the barrier with this number have left the driver, which can be run again.
    Barrier(u64),
    /// The driver leaves its thread.
    Stop(StopReason),
}

/// Start and reason of an interval off thread, for the counters.
#[derive(Debug, Clone, Copy)]
struct OffThread {
    since: Instant,
    why: OffThreadReason,
}

#[derive(Debug, Clone, Copy)]
enum OffThreadReason {
    Blocked { stage: usize, reason: BlockingReason },
    Paused,
    Queued,
}

impl Driver {
    /// Creates a driver of operators in the order of the data flow.
    ///
    /// # Errors
    /// `Internal` when there is no operator.
    pub fn new(operators: Vec<StageParams>, mut params: DriverParams) -> Result<Self> {
        if operators.is_empty() {
            return Err(Error::internal("a driver without operators"));
        }
        Ok(Driver {
            stages: operators.into_iter().map(Stage::new).collect(),
            meter: Meter::new(params.track_cpu),
            metrics: Metrics::new(),
            memory: DriverMemory::new(params.memory.take()),
            params,
            slice_start: Instant::now(),
            current: 0,
            called: 0,
            panicked: None,
            waiting_input: None,
            drain: Drain::default(),
            off_thread: None,
            idle_passes: 0,
            ended: false,
            closed: false,
        })
    }

    /// Returns the termination state of the task.
    pub fn termination(&self) -> &Arc<Termination> {
        self.params.ticket.termination()
    }

    /// Moves batches on this thread until there is output or a reason to leave the thread.
    ///
    /// # Errors
    /// The error of an operator, with its context; `Internal` when an operator panics.
    pub fn run(&mut self) -> Result<Step> {
        let mut returned = false;
        let outcome = catch_panic("an operator panicked", || {
            let outcome = self.advance();
            returned = true;
            outcome
        });
        if returned {
            return outcome;
        }
        self.panicked = Some(self.called);
        outcome.map_err(|error| self.place_panic(error))
    }

    fn advance(&mut self) -> Result<Step> {
        if self.panicked.is_some() {
            return Err(Error::internal("a driver was run after a panic"));
        }
        self.memory.end_wait();
        self.count_off_thread();
        if self.termination().should_stop() {
            self.ended = true;
            return Ok(Step::Stop(StopReason::Terminate));
        }
        let threads = Arc::clone(&self.params.threads);
        let _on_thread = match OnThread::enter(&threads) {
            Ok(on_thread) => on_thread,
            Err(resumed) => return Ok(Step::Stop(self.leave(StopReason::Pause(resumed)))),
        };
        // Lets loops inside of operators check whether they are to stop.
        let _stop = stop_scope(self.termination().stop_flag());
        self.meter.begin();
        self.slice_start = self.meter.last();
        loop {
            if let Some(step) = self.pass()? {
                self.idle_passes = 0;
                return Ok(match step {
                    Step::Stop(reason) => {
                        self.memory.begin_wait(&reason)?;
                        Step::Stop(self.leave(reason))
                    }
                    output => output,
                });
            }
            // If no operator returns output, takes input, blocks or finishes, the driver would loop
            // forever.
            if self.idle_passes > 2 {
                return Err(Error::internal("no operator of a driver can go on")
                    .with("pipeline", self.params.pipeline));
            }
        }
    }

    /// Visits the operators from the last to the first. Returns `None` to restart at the last.
    fn pass(&mut self) -> Result<Option<Step>> {
        self.idle_passes += 1;
        let last = self.stages.len() - 1;
        let mut i = last;
        if let Some((waiting, batch)) = self.waiting_input.take() {
            if let Some(reason) = self.give(waiting, batch)? {
                return Ok(Some(Step::Stop(reason)));
            }
            i = waiting;
        }
        loop {
            (self.current, self.called) = (i, i);
            if let Some(reason) = self.interruption().or_else(|| self.blocked(i)) {
                return Ok(Some(Step::Stop(reason)));
            }
            if i < last {
                if let Some(reason) = self.blocked(i + 1) {
                    return Ok(Some(Step::Stop(reason)));
                }
                if !self.is_dropped(i) && !self.stages[i + 1].operator.needs_input() {
                    return Ok(None);
                }
            }
            self.called = i;
            if let Some(reason) = self.room_for_output(i) {
                return Ok(Some(Step::Stop(reason)));
            }
            match self.output_of(i)? {
                Some(batch) => {
                    self.idle_passes = 0;
                    if self.is_dropped(i) {
                        continue;
                    }
                    if i == last {
                        return Ok(Some(Step::Output(batch)));
                    }
                    if let Some(reason) = self.give(i + 1, batch)? {
                        return Ok(Some(Step::Stop(reason)));
                    }
                    i += 1;
                    continue;
                }
                None => {
                    if let Some(reason) = self.interruption().or_else(|| self.blocked(i)) {
                        return Ok(Some(Step::Stop(reason)));
                    }
                }
            }
            if !self.is_satisfied(i) && self.stages[i].operator.is_finished() {
                if i == last {
                    return Ok(Some(Step::Stop(StopReason::AtEnd)));
                }
                self.end_input(i + 1);
                return Ok(None);
            }
            if i == self.first() {
                return Ok(self.move_barrier().map(Step::Barrier));
            }
            i -= 1;
        }
    }

    fn interruption(&mut self) -> Option<StopReason> {
        if self.termination().should_stop() {
            return Some(StopReason::Terminate);
        }
        match self.params.threads.interruption() {
            Some(Interruption::Pause(resumed)) => return Some(StopReason::Pause(resumed)),
            Some(Interruption::Yield) => return Some(StopReason::Yield),
            None => {}
        }
        let on_thread = self.meter.last().saturating_duration_since(self.slice_start);
        match self.params.time_slice {
            Some(slice) if on_thread >= slice => Some(StopReason::Yield),
            _ => None,
        }
    }

    fn blocked(&mut self, i: usize) -> Option<StopReason> {
        self.called = i;
        let blocked = self.stages[i].operator.is_blocked();
        if self.params.track_cpu {
            let spent = self.meter.read_wall();
            self.stages[i].add_time(Call::IsBlocked, spent);
        }
        let blocked = blocked?;
        self.current = i;
        Some(StopReason::Block(blocked))
    }

    fn output_of(&mut self, i: usize) -> Result<Option<RowVector>> {
        let is_last = i + 1 == self.stages.len();
        let scope = self.stages[i].pool_scope();
        self.called = i;
        let operator = &mut self.stages[i].operator;
        let mut output = operator.get_output();
        if is_last {
            // The caller may keep the batch while the scan moves on, so no column may stay lazy.
            output = output.and_then(|batch| batch.map(load_batch).transpose());
        }
        drop(scope);
        self.release_ahead(i);
        self.count_call(i, Call::GetOutput);
        let output = output.map_err(|error| self.place(i, error))?;
        if let Some(batch) = &output {
            if self.params.validate {
                check_batch(batch).map_err(|error| self.place(i, error))?;
            }
            let stage = &mut self.stages[i];
            if batch.is_empty() {
                return Err(stage.frame(Error::internal("an operator gave a batch without rows")));
            }
            stage.stats.output_rows += batch.len() as u64;
            stage.stats.output_batches += 1;
            if self.params.track_cpu {
                stage.stats.output_bytes += batch.flat_bytes();
            }
        }
        Ok(output)
    }

    /// Adds a batch to operator `i`, or holds it back while memory is short.
    fn give(&mut self, i: usize, mut batch: RowVector) -> Result<Option<StopReason>> {
        let num_rows = batch.len() as u64;
        let num_bytes = if self.params.track_cpu { batch.flat_bytes() } else { 0 };
        self.called = i;
        loop {
            let wanted = self.stages[i].operator.input_reservation(&batch);
            if let Some(wait) = self.room_for_input(i, wanted) {
                self.waiting_input = Some((i, batch));
                return Ok(Some(wait));
            }
            let again = (wanted > 0).then(|| batch.clone());
            let scope = self.stages[i].pool_scope();
            let outcome = self.stages[i].operator.add_input(batch);
            drop(scope);
            self.release_ahead(i);
            self.count_call(i, Call::AddInput);
            match (outcome, again) {
                (Ok(()), _) => break,
                // The batch was not taken, and turned out to need more memory once its columns were
                // loaded.
                (Err(error), Some(again))
                    if error.kind() == ErrorKind::Limit
                        && self.stages[i].operator.input_reservation(&again) > wanted =>
                {
                    batch = again;
                }
                (Err(error), _) => return Err(self.place(i, error)),
            }
        }
        let stats = &mut self.stages[i].stats;
        stats.input_rows += num_rows;
        stats.input_batches += 1;
        stats.input_bytes += num_bytes;
        Ok(None)
    }

    fn end_input(&mut self, i: usize) {
        self.called = i;
        let stage = &mut self.stages[i];
        if !stage.input_ended {
            stage.input_ended = true;
            let scope = stage.pool_scope();
            stage.operator.no_more_input();
            drop(scope);
            self.idle_passes = 0;
            self.count_call(i, Call::Finish);
        }
    }

    /// Attributes the time since the last call to operator `i`. The time and bytes of loading lazy
    /// columns are attributed to the first operator (rule S15.20).
    fn count_call(&mut self, i: usize, call: Call) {
        let mut spent = self.meter.read();
        let lazy = spent.lazy;
        if i > 0 && !lazy.wall.is_zero() {
            spent.wall = spent.wall.saturating_sub(lazy.wall);
            spent.cpu = spent.cpu.map(|cpu| cpu.saturating_sub(lazy.cpu));
            self.stages[i].add_lazy_loads(lazy);
            let cpu = spent.cpu.map(|_| lazy.cpu);
            let source = &mut self.stages[0];
            source.add_time(Call::GetOutput, Spent { wall: lazy.wall, cpu, lazy });
            source.stats.output_bytes = source.stats.output_bytes.saturating_add(lazy.bytes);
        }
        self.stages[i].add_time(call, spent);
    }

    /// Adds the operator and the split of the source to the error: a lazy column may fail far away
    /// from its scan.
    fn place(&self, i: usize, error: Error) -> Error {
        let error = match self.stages[0].operator.reading() {
            Some(split) if !error.is_in("split") => error.in_named("split", split),
            _ => error,
        };
        self.stages[i].frame(self.memory.explain(i, error))
    }

    /// Like [`Driver::place`], for the panic of the operator that was called last.
    fn place_panic(&self, error: Error) -> Error {
        let reading = || Ok(self.stages.first().and_then(|source| source.operator.reading()));
        let error = match catch_panic("a split has no description", reading) {
            Ok(Some(split)) => error.in_named("split", split),
            _ => error,
        };
        match self.stages.get(self.called) {
            Some(stage) => stage.frame(error),
            None => error,
        }
    }

    /// Adds the blocked operator to the error that ended its wait.
    pub(crate) fn place_wait(&self, error: Error) -> Error {
        match self.off_thread {
            Some(OffThread { why: OffThreadReason::Blocked { stage, .. }, .. }) => {
                self.place(stage, error)
            }
            _ => error,
        }
    }

    fn leave(&mut self, reason: StopReason) -> StopReason {
        let why = match &reason {
            StopReason::AtEnd | StopReason::Terminate => {
                self.ended = true;
                return reason;
            }
            StopReason::Block(blocked) => {
                OffThreadReason::Blocked { stage: self.current, reason: blocked.reason }
            }
            StopReason::Pause(_) => OffThreadReason::Paused,
            StopReason::Yield => {
                self.metrics.add_count("numYields", 1);
                OffThreadReason::Queued
            }
        };
        self.off_thread = Some(OffThread { since: Instant::now(), why });
        reason
    }

    /// Ends the wait; from now on the driver waits in the queue of the executor.
    pub(crate) fn queued(&mut self) {
        self.count_off_thread();
        self.off_thread = Some(OffThread { since: Instant::now(), why: OffThreadReason::Queued });
    }

    /// Counts the time since the driver left its thread (rules S15.57, S15.58, S15.61).
    fn count_off_thread(&mut self) {
        let Some(OffThread { since, why }) = self.off_thread.take() else { return };
        let time = since.elapsed();
        self.metrics.add_time("totalDriverOffThreadWallNanos", time);
        match why {
            OffThreadReason::Blocked { stage, reason } => {
                self.stages[stage].add_blocked_time(reason, time)
            }
            OffThreadReason::Paused => self.metrics.add_time("totalDriverPauseWallNanos", time),
            OffThreadReason::Queued => {
                self.stages[self.current].stats.runtime.add_time("queuedWallNanos", time);
            }
        }
    }

    /// Closes all operators and adds the counters to the statistics. Further calls have no effect.
    pub fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        if !self.ended {
            // Fails before the operators close: a consumer of their queues must see that the end of
            // the queue is not the end of the rows.
            self.termination().fail(Error::internal("a driver was dropped before its end"));
        }
        self.memory.end_wait();
        self.count_off_thread();
        self.waiting_input = None;
        for (i, stage) in self.stages.iter_mut().enumerate() {
            // An operator that panicked is only dropped.
            if self.panicked != Some(i) {
                ignore_panic(|| stage.close());
            }
        }
        let stages = self.stages.iter().map(|stage| &stage.stats);
        self.params.stats.add(self.params.pipeline, stages, &self.metrics);
        for stage in self.stages.drain(..) {
            ignore_panic(|| drop(stage));
        }
    }

    /// Ends the task with `error`, unless it has ended already.
    pub fn fail(&mut self, error: Error) {
        self.ended = true;
        self.termination().fail(error);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}
