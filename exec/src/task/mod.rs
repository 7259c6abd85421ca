//! Tasks: the execution of one plan.
//!
//! ```text
//! Task::new(plan) -- add_split, no_more_splits -->  SplitQueue of each scan
//!       |                                              |
//!     start -> Cursor::next --advance--> [driver of the caller's thread]
//!                                              ^ exchange
//!                       executor's workers: [producing driver] x N
//! ```
//!
//! The last pipeline always runs on the thread that reads the cursor. With one driver per scan no
//! thread is started: all pipelines run there in turns, and batches are returned in the order of
//! the splits. With more drivers, all other pipelines run on the executor's workers and are
//! connected by local exchanges and by the hash tables of joins.
//!
//! With `start_on_workers` the last pipeline runs on the workers as well, and ends in a queue from
//! which the cursor takes batches. All drivers check whether the task is paused or has ended; see
//! `threads` and `termination`.
//!
//! No driver runs before `start`. A cursor returns the end of the rows, or an error, after the last
//! driver has closed. Dropping a cursor stops all drivers without waiting for them.

mod cursor;
mod drainable;
pub mod groups;
mod operators;
mod pipeline;
mod scan;
pub mod split_queue;

#[cfg(all(test, not(loom)))]
mod tests;

use std::time::{Duration, Instant};

use vector::sync::{Arc, Continuation, Mutex};
use vector::{Error, MemoryPool, Result, RowType, catch_panic};

use dwio::connector::ConnectorSplit;

pub use self::cursor::{Canceller, Cursor, Poll};
use self::operators::{Operators, Place, TaskLinks};
pub use self::pipeline::Drivers;
use self::pipeline::{PipelineEnd, Pipelines};
use self::scan::ScanState;
use self::split_queue::{SplitCounts, SplitQueue};
use crate::control::barrier::Barriers;
use crate::control::threads::TaskThreads;
use crate::driver::{Driver, DriverParams, MemoryWaits, StageParams, launch};
use crate::operator::local_exchange::LocalExchange;
use crate::operator::sink::{BatchQueue, QueueSink};
use crate::plan::{PlanNode, PlanNodeId};
use crate::query_ctx::QueryCtx;
use crate::stats::{StatsCollector, TaskStats};
use crate::termination::{TaskState, Termination};
use crate::validate::{PlanContext, validate};

/// A plan with its splits and its drivers.
#[derive(Debug)]
pub struct Task {
    shared: Arc<Shared>,
}

/// State shared by a task and its cursor.
#[derive(Debug)]
struct Shared {
    query: Arc<QueryCtx>,
    root: Arc<PlanNode>,
    plan: Pipelines,
    output_type: Arc<RowType>,
    num_drivers: usize,
    pool: MemoryPool,
    /// Pool above the operators of each node; pools form the hierarchy query, task, node, operator
    /// (rule S14.1).
    node_pools: Vec<(PlanNodeId, MemoryPool)>,
    scans: Vec<ScanState>,
    termination: Arc<Termination>,
    threads: Arc<TaskThreads>,
    barriers: Arc<Barriers>,
    stats: Arc<StatsCollector>,
    started: Mutex<bool>,
}

impl Task {
    /// Prepares a plan for the given number of drivers, at least one.
    ///
    /// # Errors
    /// The errors of [`validate`]; `Unsupported` and `InvalidInput` for plans that cannot be cut
    /// into pipelines.
    pub fn new(
        plan: Arc<PlanNode>,
        query: Arc<QueryCtx>,
        drivers: impl Into<Drivers>,
    ) -> Result<Self> {
        let drivers = drivers.into();
        catch_panic("the preparation of a task panicked", || Self::prepare(plan, query, drivers))
    }

    fn prepare(plan: Arc<PlanNode>, query: Arc<QueryCtx>, drivers: Drivers) -> Result<Self> {
        let context = PlanContext { evaluator: &*query.evaluator, connectors: &query.connectors };
        validate(&plan, context)?;
        let num_drivers = drivers.most;
        let pipelines = pipeline::cut(&plan, &drivers)?;
        let pool = query.pool.aggregate("task", u64::MAX);
        let node_pools = node_pools(&plan, &pool, query.config.node_memory_limit_bytes);
        let scans = plan.scans().into_iter().map(|scan| {
            let of_scan = node_pools.iter().find(|(id, _)| *id == scan.id);
            let pool = of_scan.map_or(&pool, |(_, pool)| pool).clone();
            ScanState::new(scan, pipelines.num_drivers_of(&scan.id), pool, &query.config)
        });
        let termination = Termination::new();
        let waiting = pool.clone();
        termination.on_stop(Box::new(move || waiting.cancel_waits()));
        query.cancel.add(&termination);
        let barriers = Arc::new(Barriers::default());
        let ended = Arc::clone(&barriers);
        termination.on_stop(Box::new(move || ended.end()));
        Ok(Task {
            shared: Arc::new(Shared {
                output_type: Arc::clone(plan.output_type()),
                root: Arc::clone(&plan),
                scans: scans.collect(),
                node_pools,
                pool,
                query,
                plan: pipelines,
                num_drivers,
                termination,
                threads: Arc::default(),
                barriers,
                stats: Arc::default(),
                started: Mutex::new(false),
            }),
        })
    }

    fn queue(&self, scan: &str) -> Result<&Arc<SplitQueue>> {
        let found = self.shared.scans.iter().find(|state| &*state.id == scan);
        found
            .map(|state| &state.splits)
            .ok_or_else(|| Error::internal("the plan has no scan with this id").with("node", scan))
    }

    /// Adds a split to the scan with this node id. The split is dropped when the task has ended.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan, after `no_more_splits`, and while a barrier is in
    /// progress.
    pub fn add_split(&self, scan: &str, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        match self.open_queue(scan)? {
            Some(queue) => queue.add(split),
            None => Ok(()),
        }
    }

    /// Adds a split that may be sent twice, like [`Task::add_split`]. Returns false, without adding
    /// the split, unless `number` is above the maximum that was set (rule S11.54).
    ///
    /// # Errors
    /// As for [`Task::add_split`].
    pub fn add_split_with_sequence(
        &self,
        scan: &str,
        number: u64,
        split: Arc<dyn ConnectorSplit>,
    ) -> Result<bool> {
        match self.open_queue(scan)? {
            Some(queue) => queue.add_numbered(number, split),
            None => Ok(false),
        }
    }

    /// Declares that the splits of this scan with numbers up to `number` have arrived. The maximum
    /// never decreases.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn set_max_split_sequence_id(&self, scan: &str, number: u64) -> Result<()> {
        self.queue(scan)?.set_max_sequence(number);
        Ok(())
    }

    /// Returns a continuation that is ready when the last queued split of this scan was taken while
    /// more splits may be added (rule S11.59).
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn splits_wanted(&self, scan: &str) -> Result<Continuation> {
        Ok(self.queue(scan)?.drained())
    }

    /// Returns the queue of a scan to add splits to; `None` when the task has ended.
    fn open_queue(&self, scan: &str) -> Result<Option<&Arc<SplitQueue>>> {
        let queue = self.queue(scan)?;
        if self.shared.termination.should_stop() {
            return Ok(None);
        }
        if self.shared.barriers.is_requested() {
            return Err(
                Error::internal("a split was added before a barrier was passed").with("node", scan)
            );
        }
        Ok(Some(queue))
    }

    /// Requests a barrier. The cursor returns all rows of the splits added so far, then `None`
    /// once, and the continuation is ready; after that further splits may be added. It is also
    /// ready when the task ends. The splits between two barriers are processed like a separate run:
    /// groups, sorts and limits start over. A limit that is reached before the first request of a
    /// barrier ends the task, as usual.
    ///
    /// # Errors
    /// `Unsupported`, with the name of the node, for a plan with a node that cannot drain (joins,
    /// constant rows and table writes); `Internal` when a scan has all of its splits.
    pub fn request_barrier(&self) -> Result<Continuation> {
        drainable::check_plan(&self.shared.root)?;
        if self.shared.termination.should_stop() {
            return Ok(Continuation::ready());
        }
        if let Some(scan) = self.shared.scans.iter().find(|scan| scan.splits.has_all()) {
            return Err(
                Error::internal("a barrier behind the last split of a scan").with("node", &scan.id)
            );
        }
        let (number, passed) = self.shared.barriers.request();
        for scan in &self.shared.scans {
            scan.splits.add_barrier(number);
        }
        if self.shared.termination.should_stop() {
            self.shared.barriers.end();
        }
        Ok(passed)
    }

    /// Declares that the scan with this node id has all of its splits.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn no_more_splits(&self, scan: &str) -> Result<()> {
        self.queue(scan)?.no_more();
        Ok(())
    }

    /// Returns the number of splits of a scan in each state.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn split_counts(&self, scan: &str) -> Result<SplitCounts> {
        Ok(self.queue(scan)?.counts())
    }

    /// Returns the ids of the plan's scans.
    pub fn scan_ids(&self) -> impl Iterator<Item = &PlanNodeId> {
        self.shared.scans.iter().map(|state| &state.id)
    }

    /// Starts the drivers; possible once. Splits may be added before and after the start, in the
    /// latter case from another thread than the one that reads the cursor.
    ///
    /// # Errors
    /// `Internal` on a second start; the errors of creating the operators.
    pub fn start(&self) -> Result<Cursor> {
        self.begin(None)
    }

    /// Starts the task like [`Task::start`], but with all drivers on workers: the cursor only takes
    /// batches from a queue of `max_batches`, and the drivers block while the queue is full.
    ///
    /// # Errors
    /// As for [`Task::start`].
    pub fn start_on_workers(&self, max_batches: usize) -> Result<Cursor> {
        self.begin(Some(max_batches))
    }

    fn begin(&self, output_queue: Option<usize>) -> Result<Cursor> {
        if std::mem::replace(&mut *self.shared.started.lock(), true) {
            return Err(Error::internal("a task was started twice"));
        }
        catch_panic("the start of a task panicked", || self.shared.start(output_queue))
    }

    /// Returns the state of the task.
    pub fn state(&self) -> TaskState {
        self.shared.termination.state()
    }

    /// Stops the task at the request of its user; its cursor reports `Cancelled`.
    pub fn cancel(&self) {
        self.shared.termination.cancel();
    }

    /// Stops the task for an external reason; its cursor reports `Cancelled`.
    pub fn abort(&self) {
        self.shared.termination.abort();
    }

    /// Ends the task with an external error, unless it has ended; only the first error counts (rule
    /// S11.64).
    pub fn fail(&self, error: Error) {
        self.shared.termination.fail(error);
    }

    /// Returns a continuation that is ready at the end of the task, with its outcome.
    pub fn completed(&self) -> Continuation {
        self.shared.termination.completed()
    }

    /// Returns a continuation that is ready when the last driver has closed; it is ready
    /// immediately before the start.
    pub fn all_out(&self) -> Continuation {
        self.shared.termination.all_out()
    }

    /// Takes all drivers off their threads until [`Task::resume`]. The continuation is ready when
    /// the last driver has left its thread (rule S11.69).
    pub fn pause(&self) -> Continuation {
        self.shared.threads.pause()
    }

    /// Lets drivers continue after [`Task::pause`].
    pub fn resume(&self) {
        self.shared.threads.resume();
    }

    /// Requests all running drivers to yield, if some driver has been on a thread at all times
    /// since `since` (rule S11.68). Returns the number of drivers that were requested to yield.
    pub fn yield_if_due(&self, since: Instant) -> usize {
        self.shared.threads.yield_if_due(since)
    }

    /// Returns the counters of the drivers that have closed.
    pub fn stats(&self) -> TaskStats {
        self.shared.stats.snapshot()
    }
}

impl Drop for Task {
    /// Marks the missing splits as never to arrive: drivers that wait for them fail.
    fn drop(&mut self) {
        for state in &self.shared.scans {
            state.splits.abandon();
        }
    }
}

/// Creates a pool for each node of the plan, as a child of the task's pool.
fn node_pools(
    plan: &Arc<PlanNode>,
    task: &MemoryPool,
    limit: u64,
) -> Vec<(PlanNodeId, MemoryPool)> {
    let mut pools = Vec::new();
    let mut rest = vec![plan];
    while let Some(node) = rest.pop() {
        let pool = task.aggregate(format!("node.{}", node.id()), limit);
        pools.push((Arc::clone(node.id()), pool));
        rest.extend(node.sources());
    }
    pools
}

impl Shared {
    fn start(self: &Arc<Self>, output_queue: Option<usize>) -> Result<Cursor> {
        let mut meetings = TaskLinks { joins: self.joins()?, exchanges: self.exchanges() };
        // All drivers are created before the first one runs, so that a failure to create one fails
        // the start.
        let mut on_workers = Vec::new();
        let mut on_caller = Vec::new();
        let all_on_workers = self.num_drivers > 1 || output_queue.is_some();
        let pipelines = &self.plan.pipelines;
        for (number, pipeline) in pipelines.iter().enumerate() {
            let is_output = pipeline.end == PipelineEnd::Output;
            for driver in 0..pipeline.num_drivers {
                let place = Place { pipeline: number, driver };
                let mut operators = self.operators(pipeline, place, &mut meetings)?;
                let mut output = None;
                if let (Some(capacity), true) = (output_queue, is_output) {
                    let queue = Arc::new(BatchQueue::new(capacity, 1));
                    let pool = self.pool.aggregate("cursor", u64::MAX).leaf("producer");
                    let sink = QueueSink::new(Arc::clone(&queue)).with_pool(&pool);
                    let sink = StageParams::of_task(sink, "CursorSink");
                    operators.push(StageParams { pool: Some(pool), ..sink });
                    output = Some(StageParams::of_task(LocalExchange::new(queue), "Cursor"));
                }
                let on_worker = all_on_workers && (!is_output || output.is_some());
                let driver = self.driver(number, operators, on_worker)?;
                match on_worker {
                    true => on_workers.push(driver),
                    false => on_caller.push(driver),
                }
                if let Some(output) = output {
                    on_caller.push(self.driver(pipelines.len(), vec![output], false)?);
                }
            }
        }
        for driver in on_workers {
            launch(&self.query.executor, driver);
        }
        Ok(Cursor::new(Arc::clone(self), on_caller))
    }

    fn driver(&self, pipeline: usize, operators: Operators, on_worker: bool) -> Result<Driver> {
        let config = &self.query.config;
        // Only a worker has other drivers to run.
        let slice = config.driver_cpu_time_slice_limit_ms;
        let time_slice = (slice > 0 && on_worker).then(|| Duration::from_millis(slice));
        Driver::new(
            operators,
            DriverParams {
                pipeline,
                ticket: self.termination.enter(),
                barriers: self.barriers.enter(),
                threads: Arc::clone(&self.threads),
                time_slice,
                memory: (config.memory_wait_limit_ms > 0).then(|| MemoryWaits {
                    party: self.pool.clone(),
                    limit: Duration::from_millis(config.memory_wait_limit_ms),
                    executor: Arc::clone(&self.query.executor),
                }),
                validate: config.validate_output_from_operators,
                track_cpu: config.track_operator_cpu_usage,
                stats: Arc::clone(&self.stats),
            },
        )
    }
}
