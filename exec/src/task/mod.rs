//! Tasks: a plan being run.
//!
//! ```text
//! Task::new(plan) -- add_split, no_more_splits -->  SplitQueue of each scan
//!       |                                              |
//!     start -> Cursor::next --advance--> [driver of the caller's thread]
//!                                              ^ exchange
//!                       executor's workers: [producing driver] x N
//! ```
//!
//! The last pipeline always runs on the thread that asks for rows: with one driver there is no
//! other, no thread is started and batches come in the order of the splits. With more, producing
//! drivers run on the executor's workers and meet in a local exchange.
//!
//! Nothing runs before `start`. A cursor that is dropped or cancelled stops everything and waits
//! until the last driver is out; so does the end of the rows, wherever it comes from.

mod pipeline;
pub mod split_queue;

#[cfg(all(test, not(loom)))]
mod tests;

use std::time::Duration;

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Error, MemoryPool, Result, RowType, RowVector};

use dwio::connector::ConnectorSplit;

use self::pipeline::Pipelines;
use self::split_queue::{SplitCounts, SplitQueue};
use crate::driver::{Driver, DriverParams, Step, launch};
use crate::operator::aggregate::HashAggregation;
use crate::operator::filter_project::FilterProject;
use crate::operator::limit::Limit;
use crate::operator::loading::load_batch;
use crate::operator::local_exchange::LocalExchange;
use crate::operator::order_by::OrderBy;
use crate::operator::sink::{BatchQueue, QueueSink};
use crate::operator::table_scan::TableScan;
use crate::operator::top_n::TopN;
use crate::operator::values::Values;
use crate::operator::{Operator, OperatorCtx, SplitSource};
use crate::plan::{PlanNode, PlanNodeId};
use crate::query_ctx::QueryCtx;
use crate::stats::{StatsCollector, TaskStats};
use crate::termination::Termination;

/// A plan, its splits and its drivers.
#[derive(Debug)]
pub struct Task {
    shared: Arc<Shared>,
}

/// What task, cursor and drivers' makers have in common.
#[derive(Debug)]
struct Shared {
    query: Arc<QueryCtx>,
    pipelines: Pipelines,
    output_type: Arc<RowType>,
    num_drivers: usize,
    pool: MemoryPool,
    scans: Vec<(PlanNodeId, Arc<SplitQueue>)>,
    termination: Arc<Termination>,
    stats: Arc<StatsCollector>,
    started: Mutex<bool>,
}

impl Task {
    /// Prepares a plan for `drivers` drivers of its scan, at least one.
    pub fn new(plan: Arc<PlanNode>, query: Arc<QueryCtx>, drivers: usize) -> Result<Self> {
        let num_drivers = drivers.max(1);
        let pipelines = pipeline::cut(&plan, num_drivers > 1)?;
        let mut scans = Vec::new();
        let mut node = Some(&plan);
        while let Some(current) = node {
            if let PlanNode::TableScan(scan) = &**current {
                scans.push((Arc::clone(&scan.id), Arc::new(SplitQueue::new())));
            }
            node = current.source();
        }
        Ok(Task {
            shared: Arc::new(Shared {
                pool: query.pool.aggregate("task", u64::MAX),
                output_type: Arc::clone(plan.output_type()),
                query,
                pipelines,
                num_drivers,
                scans,
                termination: Termination::new(),
                stats: Arc::default(),
                started: Mutex::new(false),
            }),
        })
    }

    fn queue(&self, scan: &str) -> Result<&Arc<SplitQueue>> {
        let found = self.shared.scans.iter().find(|(id, _)| &**id == scan);
        found
            .map(|(_, queue)| queue)
            .ok_or_else(|| Error::internal("the plan has no scan with this id").with("node", scan))
    }

    /// Adds a split to the scan with this node id. Dropped when the task has ended; `Internal`
    /// for a node that is no scan and after `no_more_splits`.
    pub fn add_split(&self, scan: &str, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let queue = self.queue(scan)?;
        if self.shared.termination.should_stop() {
            return Ok(());
        }
        queue.add(split)
    }

    /// Says that the scan with this node id has all of its splits.
    pub fn no_more_splits(&self, scan: &str) -> Result<()> {
        self.queue(scan)?.no_more();
        Ok(())
    }

    /// How far the splits of a scan are.
    pub fn split_counts(&self, scan: &str) -> Result<SplitCounts> {
        Ok(self.queue(scan)?.counts())
    }

    /// The ids of the plan's scans.
    pub fn scan_ids(&self) -> impl Iterator<Item = &PlanNodeId> {
        self.shared.scans.iter().map(|(id, _)| id)
    }

    /// Starts the drivers; once. Splits may be added before and after, the latter from another
    /// thread than the one that reads the cursor.
    pub fn start(&self) -> Result<Cursor> {
        if std::mem::replace(&mut *self.shared.started.lock(), true) {
            return Err(Error::internal("a task was started twice"));
        }
        self.shared.start()
    }

    /// Stops the task; its cursor reports `Cancelled`.
    pub fn cancel(&self) {
        self.shared.termination.cancel();
    }

    /// Counters of the drivers that have ended.
    pub fn stats(&self) -> TaskStats {
        self.shared.stats.snapshot()
    }
}

impl Drop for Task {
    /// Splits that were not announced by now will never come: drivers that wait for them fail.
    fn drop(&mut self) {
        for (_, queue) in &self.shared.scans {
            queue.abandon();
        }
    }
}

type Operators = Vec<(Box<dyn Operator>, &'static str, Option<PlanNodeId>)>;

impl Shared {
    fn start(self: &Arc<Self>) -> Result<Cursor> {
        let consumer = match &self.pipelines.producers {
            None => self.driver(0, self.operators(&self.pipelines.consumer, Vec::new())?)?,
            Some(nodes) => {
                let per_driver = self.query.config.local_exchange_batches_per_driver;
                let capacity = per_driver.saturating_mul(self.num_drivers);
                let queue = Arc::new(BatchQueue::new(capacity, self.num_drivers));
                // All drivers exist before one of them runs: what cannot be made fails the start.
                let mut producers = Vec::with_capacity(self.num_drivers);
                for _ in 0..self.num_drivers {
                    let mut operators = self.operators(nodes, Vec::new())?;
                    let sink = QueueSink::new(Arc::clone(&queue));
                    operators.push((Box::new(sink), "LocalExchangeSink", None));
                    producers.push(self.driver(0, operators)?);
                }
                let source: Box<dyn Operator> = Box::new(LocalExchange::new(queue));
                let operators = vec![(source, "LocalExchange", None)];
                let operators = self.operators(&self.pipelines.consumer, operators)?;
                let consumer = self.driver(1, operators)?;
                for producer in producers {
                    launch(&self.query.executor, producer);
                }
                consumer
            }
        };
        Ok(Cursor::new(Arc::clone(self), consumer))
    }

    fn driver(&self, pipeline: usize, operators: Operators) -> Result<Driver> {
        let config = &self.query.config;
        // Only a worker has somebody else to run.
        let slice = config.driver_cpu_time_slice_limit_ms;
        let on_worker = self.pipelines.producers.is_some() && pipeline == 0;
        let time_slice = (slice > 0 && on_worker).then(|| Duration::from_millis(slice));
        Driver::new(
            operators,
            DriverParams {
                pipeline,
                ticket: self.termination.enter(),
                query_cancel: self.query.cancel.clone(),
                time_slice,
                track_time: config.track_operator_cpu_usage,
                stats: Arc::clone(&self.stats),
            },
        )
    }

    /// Makes the operators of one driver behind those that there are; a projection over a filter
    /// becomes one operator with it.
    fn operators(&self, nodes: &[Arc<PlanNode>], mut made: Operators) -> Result<Operators> {
        let mut i = 0;
        while let Some(node) = nodes.get(i) {
            let behind = nodes.get(i + 1).map(AsRef::as_ref);
            let fused = match (&**node, behind) {
                (PlanNode::Filter(_), Some(PlanNode::Project(project))) => Some(project),
                _ => None,
            };
            i += if fused.is_some() { 2 } else { 1 };
            let owner = fused.map_or(node.id(), |project| &project.id);
            let ctx = self.operator_ctx(owner);
            let evaluator = &*self.query.evaluator;
            let (operator, name): (Box<dyn Operator>, _) = match &**node {
                PlanNode::TableScan(scan) => {
                    let splits = self.scans.iter().find(|(id, _)| *id == scan.id);
                    let Some((_, splits)) = splits else {
                        return Err(Error::internal("a scan without splits"));
                    };
                    let splits = Arc::clone(splits) as Arc<dyn SplitSource>;
                    (Box::new(TableScan::new(scan, splits, ctx)), "TableScan")
                }
                PlanNode::Values(values) => (Box::new(Values::new(values)), "Values"),
                PlanNode::Filter(filter) => {
                    let input = filter.source.output_type();
                    let projections =
                        fused.map(|project| (project.expressions.as_slice(), &project.output_type));
                    let predicate = Some(&filter.predicate);
                    let step = FilterProject::new(evaluator, input, predicate, projections)?;
                    (Box::new(step), "FilterProject")
                }
                PlanNode::Project(project) => {
                    let input = project.source.output_type();
                    let projections = Some((project.expressions.as_slice(), &project.output_type));
                    let step = FilterProject::new(evaluator, input, None, projections)?;
                    (Box::new(step), "FilterProject")
                }
                PlanNode::Aggregation(aggregation) => {
                    (Box::new(HashAggregation::new(aggregation, ctx)?), "Aggregation")
                }
                PlanNode::OrderBy(order_by) => {
                    let input = order_by.source.output_type();
                    (Box::new(OrderBy::new(&order_by.keys, input, ctx)?), "OrderBy")
                }
                PlanNode::TopN(top_n) => {
                    let input = top_n.source.output_type();
                    (Box::new(TopN::new(&top_n.keys, top_n.count, input, ctx)?), "TopN")
                }
                PlanNode::Limit(limit) => {
                    (Box::new(Limit::new(limit.offset, limit.count)), "Limit")
                }
            };
            made.push((operator, name, Some(Arc::clone(owner))));
        }
        Ok(made)
    }

    fn operator_ctx(&self, node: &PlanNodeId) -> OperatorCtx {
        OperatorCtx {
            node: Some(Arc::clone(node)),
            query: Arc::clone(&self.query),
            pool: self.pool.leaf(&**node),
            stop: self.termination.stop_flag().clone(),
        }
    }
}

/// The rows of a running task; dropping it stops the task.
pub struct Cursor {
    shared: Arc<Shared>,
    driver: Option<Driver>,
    waiter: Arc<Waiter>,
}

impl Cursor {
    fn new(shared: Arc<Shared>, driver: Driver) -> Self {
        let waiter = Arc::new(Waiter::default());
        let wake = Arc::clone(&waiter);
        shared.termination.on_stop(Box::new(move || wake.end(Ok(()))));
        Cursor { shared, driver: Some(driver), waiter }
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
            let Some(driver) = &mut self.driver else {
                return self.shared.termination.outcome().map(|()| None);
            };
            let step = driver.advance().and_then(|step| match step {
                Step::Output(batch) => load_batch(batch).map(Step::Output),
                Step::Blocked(blocked) => {
                    self.waiter.wait(blocked.until, &self.shared.termination)?;
                    Ok(Step::Yield)
                }
                other => Ok(other),
            });
            match step {
                Ok(Step::Output(batch)) => return Ok(Some(batch)),
                Ok(Step::Yield | Step::Blocked(_)) => continue,
                Ok(Step::Finished) => self.shared.termination.finish(),
                Ok(Step::Stopped) => {}
                Err(error) => driver.fail(error),
            }
            self.end();
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
        self.driver = None;
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
