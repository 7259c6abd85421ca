//! Counters of operators, summed over the drivers of a task.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::time::Duration;

use dwio::connector::ScanDetails;
use vector::Metrics;
use vector::sync::Mutex;

use crate::blocking::BlockingReason;
use crate::ids::PlanNodeId;

/// Counters of one operator, in one driver or summed over all drivers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorStats {
    /// Name of the operator.
    pub operator: &'static str,
    /// Plan node of the operator.
    pub node: Option<PlanNodeId>,
    /// Index of its pipeline within the task.
    pub pipeline: usize,
    /// Number of drivers included in the counters.
    pub num_drivers: u64,
    /// Number of input rows.
    pub input_rows: u64,
    /// Number of input batches.
    pub input_batches: u64,
    /// Approximate size of the input rows in bytes; 0 unless the query measures its operators.
    pub input_bytes: u64,
    /// Number of output rows.
    pub output_rows: u64,
    /// Number of output batches.
    pub output_batches: u64,
    /// Approximate size of the output rows in bytes; 0 unless the query measures its operators.
    pub output_bytes: u64,
    /// Wall time inside of the operator in nanoseconds, without that of other operators. The time
    /// of loading lazy columns is attributed to their scan.
    pub wall_nanos: u64,
    /// CPU time inside of the operator in nanoseconds; 0 unless the query measures it.
    pub cpu_nanos: u64,
    /// Number of times that the operator was blocked.
    pub num_blocked: u64,
    /// Blocked time in nanoseconds; [`OperatorStats::blocked`] returns it by reason.
    pub blocked_nanos: u64,
    /// Peak memory in bytes of all operators of the node together.
    pub peak_bytes: u64,
    /// Number of rows scanned before filters; for scans only.
    pub raw_rows: u64,
    /// Number of bytes read; for scans only.
    pub raw_bytes: u64,
    /// Number of splits taken; for scans only.
    pub num_splits: u64,
    /// Further counters of the operator, with the names of rules S15.7 to S15.56 (such as
    /// `skippedSplits`).
    pub metrics: Metrics,
    /// Counters that the drivers keep about the operator: the times of its calls and of its
    /// blocking, with the names of rules S15.20 and S15.57 to S15.60.
    pub runtime: Metrics,
    /// Details of the scan; for scans only.
    pub scan: Option<ScanStats>,
}

/// Details of a scan: what it read and which filters it applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Description of the table.
    pub table: String,
    /// Splits, filters and columns of the scan.
    pub details: ScanDetails,
    /// Nodes that pushed dynamic filters into the scan (rule S15.53).
    pub filter_producers: Vec<PlanNodeId>,
}

impl OperatorStats {
    /// Returns how often the operator was blocked for `reason`, and the total time.
    pub fn blocked(&self, reason: BlockingReason) -> (u64, Duration) {
        let waits = self.runtime.get(reason.wall_metric());
        let (times, nanos) = waits.map_or((0, 0), |waits| (waits.count, waits.sum));
        (times, Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
    }

    fn add(&mut self, other: &OperatorStats) {
        self.num_drivers += other.num_drivers;
        self.input_rows += other.input_rows;
        self.input_batches += other.input_batches;
        self.input_bytes = self.input_bytes.saturating_add(other.input_bytes);
        self.output_rows += other.output_rows;
        self.output_batches += other.output_batches;
        self.output_bytes = self.output_bytes.saturating_add(other.output_bytes);
        self.wall_nanos += other.wall_nanos;
        self.cpu_nanos += other.cpu_nanos;
        self.num_blocked += other.num_blocked;
        self.blocked_nanos += other.blocked_nanos;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.raw_rows += other.raw_rows;
        self.raw_bytes += other.raw_bytes;
        self.num_splits += other.num_splits;
        self.metrics.merge(&other.metrics);
        self.runtime.merge(&other.runtime);
        match (&mut self.scan, &other.scan) {
            (Some(scan), Some(other)) => {
                scan.details.merge(&other.details);
                scan.filter_producers.extend(other.filter_producers.iter().cloned());
                scan.filter_producers.sort();
                scan.filter_producers.dedup();
            }
            (scan @ None, Some(other)) => *scan = Some(other.clone()),
            (_, None) => {}
        }
    }
}

/// Counters of a task: one entry for each operator of each pipeline, producers first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// Operators in the order of the data flow.
    pub operators: Vec<OperatorStats>,
    /// Counters of the drivers as a whole, with the names of rule S15.61.
    pub drivers: Metrics,
}

impl TaskStats {
    /// Returns the operators of each pipeline, producers first.
    pub fn pipelines(&self) -> impl Iterator<Item = &[OperatorStats]> {
        self.operators.chunk_by(|a, b| a.pipeline == b.pipeline)
    }
}

impl fmt::Display for TaskStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stats in &self.operators {
            write!(f, "{}", stats.operator)?;
            if let Some(node) = &stats.node {
                write!(f, "[{node}]")?;
            }
            write!(f, " x{}: ", stats.num_drivers)?;
            if stats.raw_rows > 0 || stats.num_splits > 0 {
                write!(
                    f,
                    "{} splits, {} rows and {} bytes scanned, ",
                    stats.num_splits, stats.raw_rows, stats.raw_bytes
                )?;
            }
            writeln!(
                f,
                "{} rows in, {} rows out in {} batches, {:.3} ms",
                stats.input_rows,
                stats.output_rows,
                stats.output_batches,
                stats.wall_nanos as f64 / 1e6
            )?;
        }
        Ok(())
    }
}

/// Collects the counters of drivers when they close.
#[derive(Debug, Default)]
pub struct StatsCollector {
    state: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    /// Sums by pipeline and index of the operator in it.
    operators: BTreeMap<(usize, usize), OperatorStats>,
    drivers: Metrics,
}

impl StatsCollector {
    /// Adds the counters of a driver of pipeline `pipeline`: those of each of its operators, and
    /// those of the driver as a whole.
    pub fn add<'a>(
        &self,
        pipeline: usize,
        stats: impl Iterator<Item = &'a OperatorStats>,
        driver: &Metrics,
    ) {
        let mut state = self.state.lock();
        for (index, stats) in stats.enumerate() {
            match state.operators.entry((pipeline, index)) {
                Entry::Occupied(mut sum) => sum.get_mut().add(stats),
                Entry::Vacant(place) => {
                    place.insert(OperatorStats { pipeline, ..stats.clone() });
                }
            }
        }
        state.drivers.merge(driver);
    }

    /// Returns the current sums, without the drivers that still run.
    pub fn snapshot(&self) -> TaskStats {
        let state = self.state.lock();
        TaskStats {
            operators: state.operators.values().cloned().collect(),
            drivers: state.drivers.clone(),
        }
    }
}
