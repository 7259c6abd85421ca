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
//! The last pipeline always runs on the thread that asks for rows. With one driver for each scan no
//! thread is started: all pipelines run there in turns, and batches come in the order of the
//! splits. With more, all other drivers run on the executor's workers; they meet in local exchanges
//! and in the tables of joins.
//!
//! Nothing runs before `start`. A cursor that is dropped or cancelled stops everything and waits
//! until the last driver is out; so does the end of the rows, wherever it comes from.

mod cursor;
mod operators;
mod pipeline;
pub mod split_queue;

#[cfg(all(test, not(loom)))]
mod tests;

use std::time::Duration;

use vector::sync::{Arc, Mutex};
use vector::{Error, MemoryPool, Result, RowType};

use dwio::connector::ConnectorSplit;

pub use self::cursor::{Canceller, Cursor};
use self::operators::{Meetings, Operators};
use self::pipeline::{PipelineEnd, Pipelines};
use self::split_queue::{SplitCounts, SplitQueue};
use crate::driver::{Driver, DriverParams, launch};
use crate::operator::scan_filters::ScanFilters;
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
    plan: Pipelines,
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
        let pipelines = pipeline::cut(&plan, num_drivers)?;
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
                plan: pipelines,
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

impl Shared {
    fn start(self: &Arc<Self>) -> Result<Cursor> {
        let mut meetings = Meetings { joins: self.joins()?, exchanges: self.exchanges() };
        // All drivers exist before one of them runs: what cannot be made fails the start.
        let mut on_workers = Vec::new();
        let mut on_caller = Vec::new();
        for (number, pipeline) in self.plan.pipelines.iter().enumerate() {
            let on_worker = self.num_drivers > 1 && pipeline.end != PipelineEnd::Output;
            for driver in 0..pipeline.num_drivers {
                let operators = self.operators(pipeline, driver, &mut meetings)?;
                let driver = self.driver(number, operators, on_worker)?;
                match on_worker {
                    true => on_workers.push(driver),
                    false => on_caller.push(driver),
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
}
