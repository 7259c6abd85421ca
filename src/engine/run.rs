//! Execution of a plan: its task, its splits, its rows.

use dwio::connector::{ConnectorRegistry, ConnectorSplit, ExpressionEvaluator};
use exec::plan::{PlanNode, PlanNodeId};
use exec::trace::Tracer;
use exec::{Drivers, Executor, QueryCancel, QueryConfig, QueryCtx, ScanListener, Task};
use vector::sync::Arc;
use vector::{MemoryPool, Result, RowType};

use super::{Plan, QueryOptions, QueryResult};

/// Minimum and maximum length of a split with several drivers. Each split costs reading the footer,
/// and the last splits of a scan leave drivers idle.
const SPLIT_BYTES: std::ops::RangeInclusive<u64> = (4 << 20)..=(64 << 20);
/// Approximate number of splits per driver, if they are long enough.
const SPLITS_PER_DRIVER: u64 = 4;

/// The splits of one scan of a plan.
pub type ScanSplits = (PlanNodeId, Vec<Arc<dyn ConnectorSplit>>);

/// Numbers of files of a scan's table, as planning determined them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanFiles {
    /// Id of the scan.
    pub scan: PlanNodeId,
    /// Number of non-empty files of the table.
    pub num_files: usize,
    /// Number of files that conditions on partitions and paths exclude; they are not opened.
    pub num_left_out: usize,
}

/// Context that the queries of one engine share.
#[derive(Debug, Clone)]
pub(super) struct QueryContext {
    pub(super) connectors: ConnectorRegistry,
    pub(super) evaluator: Arc<dyn ExpressionEvaluator>,
    pub(super) pool: MemoryPool,
    pub(super) executor: Arc<Executor>,
    pub(super) io: Arc<Executor>,
    pub(super) batch_listener: Option<ScanListener>,
}

impl QueryContext {
    /// Starts a plan on the files that planning found. `root` is its topmost node or a node above
    /// it.
    pub(super) fn run(
        &self,
        plan: &Plan,
        root: &Arc<PlanNode>,
        options: &QueryOptions,
    ) -> Result<QueryResult> {
        let (mut splits, mut files) = (Vec::new(), Vec::new());
        for scan in &plan.planned.scans {
            let target = split_bytes(scan.table.total_bytes(), options.drivers.max(1));
            let found = scan.table.splits(scan.filter.as_ref(), target)?;
            files.push(ScanFiles {
                scan: scan.id.clone(),
                num_files: found.num_files,
                num_left_out: found.num_files_left_out,
            });
            splits.push((scan.id.clone(), found.splits));
        }
        let planned = &plan.planned;
        let result = self.start(root, &plan.row_type, splits, options)?;
        let tables = planned.scans.iter().map(|scan| Arc::clone(&scan.table));
        Ok(result.with_files(files, tables.collect()))
    }

    /// Starts plan nodes on the splits of their scans. `row_type` has the column names of the
    /// result.
    pub(super) fn start(
        &self,
        root: &Arc<PlanNode>,
        row_type: &Arc<RowType>,
        splits: Vec<ScanSplits>,
        options: &QueryOptions,
    ) -> Result<QueryResult> {
        let config = QueryConfig::from_config(&options.settings)?;
        let query = QueryCtx {
            session: options.settings.clone(),
            connectors: self.connectors.clone(),
            evaluator: Arc::clone(&self.evaluator),
            pool: self.pool.aggregate("query", config.query_memory_limit_bytes),
            config,
            executor: Arc::clone(&self.executor),
            io: Arc::clone(&self.io),
            batch_listener: self.batch_listener.clone(),
            cancel: QueryCancel::default(),
            tracer: options.recording.clone().map(|recording| recording as Arc<dyn Tracer>),
        };
        let drivers = num_drivers(options.drivers, &splits);
        if let Some(recording) = &options.recording {
            recording.begin(root, &splits, drivers, &options.settings)?;
        }
        let drivers = splits.iter().fold(Drivers::from(drivers), |drivers, (scan, splits)| {
            drivers.with_scan(scan.clone(), splits.len())
        });
        let task = Task::new(Arc::clone(root), Arc::new(query), drivers)?;
        for (scan, splits) in splits {
            for split in splits {
                task.add_split(&scan, split)?;
            }
        }
        for scan in root.scans() {
            task.no_more_splits(&scan.id)?;
        }
        Ok(QueryResult::new(Arc::clone(row_type), task.start()?))
    }
}

/// Returns the number of drivers of a query: one if there is at most one split, since further
/// drivers would have no work; else the requested number, which stages above an exchange can use
/// even if there are fewer splits.
fn num_drivers(wanted: usize, splits: &[ScanSplits]) -> usize {
    match splits.iter().map(|(_, of_scan)| of_scan.len()).sum() {
        0 | 1 => 1,
        _ => wanted.max(1),
    }
}

/// Returns the length of a split in bytes: whole files for one driver, so that rows keep their
/// order.
fn split_bytes(total_bytes: u64, drivers: usize) -> u64 {
    if drivers == 1 {
        return u64::MAX;
    }
    let wanted = (drivers as u64).saturating_mul(SPLITS_PER_DRIVER);
    (total_bytes / wanted).clamp(*SPLIT_BYTES.start(), *SPLIT_BYTES.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_driver_reads_whole_files_and_several_share_them() {
        assert_eq!(split_bytes(1 << 40, 1), u64::MAX);
        assert_eq!(split_bytes(1 << 40, 2), 64 << 20);
        assert_eq!(split_bytes(1 << 20, 2), 4 << 20);
        assert_eq!(split_bytes(80 << 20, 2), 10 << 20);
    }
}
