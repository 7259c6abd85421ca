//! State that the drivers of one scan share: splits, dynamic filters, and the number of drivers
//! that may run.

use vector::MemoryPool;
use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, Weak};

use super::split_queue::{SplitOrder, SplitQueue};
use crate::control::threads::TaskThreads;
use crate::operator::OperatorCtx;
use crate::operator::scan_filters::ScanFilters;
use crate::operator::scan_scale::ScanScaleUp;
use crate::operator::table_scan::TableScan;
use crate::operator::traced::TracedSplits;
use crate::plan::{PlanNodeId, TableScanNode};
use crate::query_ctx::QueryConfig;
use crate::split_source::SplitSource;
use crate::termination::Termination;
use crate::trace::OperatorTrace;

/// State that the drivers of one scan share.
#[derive(Debug)]
pub(super) struct ScanState {
    pub(super) id: PlanNodeId,
    pub(super) splits: Arc<SplitQueue>,
    pub(super) filters: Arc<ScanFilters>,
    num_drivers: usize,
    /// Number of operators created, one per driver.
    num_made: AtomicUsize,
    scale_up: Option<Arc<ScanScaleUp>>,
}

/// Parts of the task that a scan operator uses.
#[derive(Clone, Copy)]
pub(super) struct ScanContext<'a> {
    pub(super) termination: &'a Arc<Termination>,
    pub(super) threads: &'a Arc<TaskThreads>,
    /// Receives the splits that are taken.
    pub(super) trace: Option<&'a Arc<dyn OperatorTrace>>,
}

impl ScanState {
    /// Creates the state of a scan that `num_drivers` drivers run, with memory from `pool`.
    pub(super) fn new(
        node: &TableScanNode,
        num_drivers: usize,
        pool: MemoryPool,
        config: &QueryConfig,
    ) -> Self {
        let order = if num_drivers > 1 { SplitOrder::ReadyFirst } else { SplitOrder::Added };
        let splits = Arc::new(SplitQueue::new(order));
        let prepared: Weak<SplitQueue> = Arc::downgrade(&splits);
        pool.register_reclaimer(prepared);
        let scale_up = config.table_scan_scaled_processing_enabled.then(|| {
            let ratio = config.table_scan_scale_up_memory_usage_ratio;
            Arc::new(ScanScaleUp::new(pool, num_drivers, ratio))
        });
        ScanState {
            id: Arc::clone(&node.id),
            splits,
            filters: Arc::default(),
            num_drivers,
            num_made: AtomicUsize::new(0),
            scale_up,
        }
    }

    /// Creates the scan operator of the next driver.
    pub(super) fn operator(
        &self,
        node: &TableScanNode,
        ctx: OperatorCtx,
        surroundings: ScanContext<'_>,
    ) -> TableScan {
        let ScanContext { termination, threads, trace } = surroundings;
        let driver = self.num_made.fetch_add(1, Ordering::Relaxed);
        let per_driver = ctx.query.config.max_split_preload_per_driver;
        let quota = per_driver.saturating_mul(self.num_drivers);
        if quota > 0 && driver == 0 {
            // A weak reference: the stop hook of the task must not keep the splits alive.
            let splits: Weak<SplitQueue> = Arc::downgrade(&self.splits);
            termination.on_stop(Box::new(move || {
                if let Some(splits) = splits.upgrade() {
                    splits.drop_preparations();
                }
            }));
        }
        let mut splits = Arc::clone(&self.splits) as Arc<dyn SplitSource>;
        if let Some(trace) = trace {
            splits = Arc::new(TracedSplits::new(splits, Arc::clone(trace)));
        }
        let scan = TableScan::new(node, splits, Arc::clone(&self.filters), ctx);
        let scan = scan.with_preload(quota, termination).with_threads(threads);
        match &self.scale_up {
            Some(scale_up) => scan.with_scale_up(driver, Arc::clone(scale_up)),
            None => scan,
        }
    }
}
