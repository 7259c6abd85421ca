//! What operators counted, summed over the drivers of a task.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::time::Duration;

use dwio::connector::ScanDetails;
use vector::Metrics;
use vector::sync::Mutex;

use crate::blocking::BlockingReason;
use crate::ids::PlanNodeId;

/// Counters of one operator, in one driver or summed over all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorStats {
    /// The operator's name.
    pub operator: &'static str,
    /// The plan node it works for.
    pub node: Option<PlanNodeId>,
    /// The pipeline of its task that it is in.
    pub pipeline: usize,
    /// Instances that were summed.
    pub num_drivers: u64,
    /// Rows given to it.
    pub input_rows: u64,
    /// Batches given to it.
    pub input_batches: u64,
    /// Bytes of these rows, about; 0 unless the query measures its operators.
    pub input_bytes: u64,
    /// Rows it gave.
    pub output_rows: u64,
    /// Batches it gave.
    pub output_batches: u64,
    /// Bytes of these rows, about; 0 unless the query measures its operators.
    pub output_bytes: u64,
    /// Time inside of it, without that of other operators. Reading columns that a scan has left to
    /// others is time of the scan.
    pub wall_nanos: u64,
    /// Time of the CPU inside of it; 0 unless the query measures it.
    pub cpu_nanos: u64,
    /// Times it was waited for.
    pub num_blocked: u64,
    /// How long it was waited for; [`OperatorStats::blocked`] tells it by reasons.
    pub blocked_nanos: u64,
    /// The most memory that the operators of its node ever held at once.
    pub peak_bytes: u64,
    /// Rows it scanned, before filters; scans only.
    pub raw_rows: u64,
    /// Bytes it read; scans only.
    pub raw_bytes: u64,
    /// Splits it took; scans only.
    pub num_splits: u64,
    /// What else it counted, by the names of rules S15.7 to S15.56.
    pub metrics: Metrics,
    /// What its drivers counted about it: the time of its calls and of waits for it, by the names
    /// of rules S15.20 and S15.57 to S15.60.
    pub runtime: Metrics,
    /// What it scanned; scans only.
    pub scan: Option<ScanStats>,
}

/// What a scan read, and what its filters left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// The table.
    pub table: String,
    /// Its splits, filters and columns.
    pub details: ScanDetails,
    /// The nodes whose dynamic filters it tested (rule S15.53).
    pub filter_producers: Vec<PlanNodeId>,
}

impl OperatorStats {
    /// How often the operator was waited for because of `reason`, and how long in all.
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

/// Counters of a task: one entry for each place in each pipeline, producers first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// The operators in the order of the rows' way.
    pub operators: Vec<OperatorStats>,
    /// What drivers count as a whole, by the names of rule S15.61.
    pub drivers: Metrics,
}

impl TaskStats {
    /// The operators of each pipeline, producers first.
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

/// Collects the counters of drivers as they close.
#[derive(Debug, Default)]
pub struct StatsCollector {
    state: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    /// By pipeline and place in it.
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

    /// The sums so far; drivers that still run are not in them.
    pub fn snapshot(&self) -> TaskStats {
        let state = self.state.lock();
        TaskStats {
            operators: state.operators.values().cloned().collect(),
            drivers: state.drivers.clone(),
        }
    }
}
