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
//! The last pipeline always runs on the thread that asks for rows. With one driver for each
//! pipeline no thread is started: those that fill the tables of joins run there before it, and
//! batches come in the order of the splits. With more, all other drivers run on the executor's
//! workers; they meet in local exchanges and in the tables of joins.
//!
//! Nothing runs before `start`. A cursor that is dropped or cancelled stops everything and waits
//! until the last driver is out; so does the end of the rows, wherever it comes from.

mod pipeline;
pub mod split_queue;

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Error, MemoryPool, Result, RowType, RowVector};

use dwio::connector::ConnectorSplit;

use self::pipeline::{Chain, ChainEnd};
use self::split_queue::{SplitCounts, SplitQueue};
use crate::driver::{Driver, DriverParams, Step, launch};
use crate::operator::aggregate::HashAggregation;
use crate::operator::filter_project::FilterProject;
use crate::operator::hash_join::{FilterTarget, HashBuild, HashJoin, HashProbe, filter_keys};
use crate::operator::limit::Limit;
use crate::operator::loading::load_batch;
use crate::operator::local_exchange::LocalExchange;
use crate::operator::order_by::OrderBy;
use crate::operator::scan_filters::ScanFilters;
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
    chains: Vec<Chain>,
    output_type: Arc<RowType>,
    num_drivers: usize,
    pool: MemoryPool,
    scans: Vec<ScanState>,
    termination: Arc<Termination>,
    stats: Arc<StatsCollector>,
    started: Mutex<bool>,
}

/// What the drivers of one scan share.
#[derive(Debug)]
struct ScanState {
    id: PlanNodeId,
    splits: Arc<SplitQueue>,
    filters: Arc<ScanFilters>,
}

impl Task {
    /// Prepares a plan for `drivers` drivers of its scan, at least one.
    pub fn new(plan: Arc<PlanNode>, query: Arc<QueryCtx>, drivers: usize) -> Result<Self> {
        let num_drivers = drivers.max(1);
        let chains = pipeline::cut(&plan, num_drivers > 1)?;
        let scans = plan.scans().into_iter().map(|scan| ScanState {
            id: Arc::clone(&scan.id),
            splits: Arc::new(SplitQueue::new()),
            filters: Arc::default(),
        });
        Ok(Task {
            shared: Arc::new(Shared {
                pool: query.pool.aggregate("task", u64::MAX),
                output_type: Arc::clone(plan.output_type()),
                scans: scans.collect(),
                query,
                chains,
                num_drivers,
                termination: Termination::new(),
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
        self.shared.scans.iter().map(|state| &state.id)
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
        for state in &self.shared.scans {
            state.splits.abandon();
        }
    }
}

type Operators = Vec<(Box<dyn Operator>, &'static str, Option<PlanNodeId>)>;

/// The joins of a task that starts, by node.
type Joins = Vec<(PlanNodeId, Arc<HashJoin>)>;

impl Shared {
    fn start(self: &Arc<Self>) -> Result<Cursor> {
        let joins = self.joins()?;
        // All drivers exist before one of them runs: what cannot be made fails the start.
        let mut on_workers = Vec::new();
        let mut on_caller = VecDeque::new();
        let mut pipeline = 0;
        for chain in &self.chains {
            let mut source = Vec::new();
            if let Some(nodes) = &chain.producers {
                let exchange = (!chain.fills_in_parallel()).then(|| {
                    let per_driver = self.query.config.local_exchange_batches_per_driver;
                    let capacity = per_driver.saturating_mul(self.num_drivers);
                    Arc::new(BatchQueue::new(capacity, self.num_drivers))
                });
                for _ in 0..self.num_drivers {
                    let mut operators = self.operators(nodes, &joins, Vec::new())?;
                    match &exchange {
                        Some(queue) => {
                            let sink = QueueSink::new(Arc::clone(queue));
                            operators.push((Box::new(sink), "LocalExchangeSink", None));
                        }
                        None => self.end(&chain.end, &joins, &mut operators)?,
                    }
                    on_workers.push(self.driver(pipeline, operators, true)?);
                }
                pipeline += 1;
                let Some(queue) = exchange else { continue };
                source.push((
                    Box::new(LocalExchange::new(queue)) as Box<dyn Operator>,
                    "LocalExchange",
                    None,
                ));
            }
            let mut operators = self.operators(&chain.consumer, &joins, source)?;
            self.end(&chain.end, &joins, &mut operators)?;
            let on_worker = self.num_drivers > 1 && chain.end != ChainEnd::Output;
            let driver = self.driver(pipeline, operators, on_worker)?;
            match on_worker {
                true => on_workers.push(driver),
                false => on_caller.push_back(driver),
            }
            pipeline += 1;
        }
        for driver in on_workers {
            launch(&self.query.executor, driver);
        }
        Ok(Cursor::new(Arc::clone(self), on_caller))
    }

    /// Makes the joins, each between the drivers that fill its table and those that use it.
    fn joins(&self) -> Result<Joins> {
        let drivers = |parallel: bool| if parallel { self.num_drivers } else { 1 };
        let mut joins = Vec::new();
        for node in self.chains.iter().flat_map(Chain::joins) {
            let fills = |c: &Chain| matches!(&c.end, ChainEnd::Table(id) if *id == node.id);
            let parallel_build = self.chains.iter().any(|c| fills(c) && c.fills_in_parallel());
            let parallel_probe = self.chains.iter().any(|c| c.produces(&node.id));
            let targets = filter_keys(node).into_iter().filter_map(|(key, scan, channel)| {
                let scan = self.scans.iter().find(|s| s.id == *scan)?;
                Some(FilterTarget { key, slot: Arc::clone(&scan.filters), channel })
            });
            let drivers = (drivers(parallel_build), drivers(parallel_probe));
            let config = &self.query.config;
            let join = HashJoin::new(node, drivers, targets.collect(), config)?;
            joins.push((Arc::clone(&node.id), Arc::new(join)));
        }
        Ok(joins)
    }

    /// Adds the operator that a chain ends in, unless the rows are the task's.
    fn end(&self, end: &ChainEnd, joins: &Joins, operators: &mut Operators) -> Result<()> {
        if let ChainEnd::Table(id) = end {
            let build = HashBuild::new(join_of(joins, id)?, self.operator_ctx(id));
            operators.push((Box::new(build), "HashBuild", Some(Arc::clone(id))));
        }
        Ok(())
    }

    fn driver(&self, pipeline: usize, operators: Operators, on_worker: bool) -> Result<Driver> {
        let config = &self.query.config;
        // Only a worker has somebody else to run.
        let slice = config.driver_cpu_time_slice_limit_ms;
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
    fn operators(
        &self,
        nodes: &[Arc<PlanNode>],
        joins: &Joins,
        mut made: Operators,
    ) -> Result<Operators> {
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
                    let state = self.scans.iter().find(|s| s.id == scan.id);
                    let Some(state) = state else {
                        return Err(Error::internal("a scan without splits"));
                    };
                    let splits = Arc::clone(&state.splits) as Arc<dyn SplitSource>;
                    let operator = TableScan::new(scan, splits, ctx);
                    (Box::new(operator.with_filters(Arc::clone(&state.filters))), "TableScan")
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
                PlanNode::HashJoin(join) => {
                    (Box::new(HashProbe::new(join_of(joins, &join.id)?, ctx)?), "HashProbe")
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

fn join_of(joins: &Joins, id: &PlanNodeId) -> Result<Arc<HashJoin>> {
    let found = joins.iter().find(|(join, _)| join == id);
    found
        .map(|(_, join)| Arc::clone(join))
        .ok_or_else(|| Error::internal("a join without its state").with("node", id))
}

/// The rows of a running task; dropping it stops the task.
pub struct Cursor {
    shared: Arc<Shared>,
    /// The first one runs; those that fill tables come before the one that gives rows.
    drivers: VecDeque<Driver>,
    waiter: Arc<Waiter>,
}

impl Cursor {
    fn new(shared: Arc<Shared>, drivers: VecDeque<Driver>) -> Self {
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
    /// every further call gives the same error.
    // Not an `Iterator`: the end of rows and the end by an error are told apart at every call.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RowVector>> {
        loop {
            let fills_a_table = self.drivers.len() > 1;
            let Some(driver) = self.drivers.front_mut() else {
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
                Ok(Step::Finished) if fills_a_table => {
                    self.drivers.pop_front();
                    continue;
                }
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
