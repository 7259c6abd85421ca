//! What operators counted, summed over the drivers of a task.

use std::fmt;

use dwio::connector::ScanDetails;
use vector::Metrics;
use vector::sync::Mutex;

use crate::plan::PlanNodeId;

/// Counters of one operator, in one driver or summed over all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorStats {
    /// The operator's name.
    pub operator: &'static str,
    /// The plan node it works for.
    pub node: Option<PlanNodeId>,
    /// Instances that were summed.
    pub num_drivers: u64,
    /// Rows given to it.
    pub input_rows: u64,
    /// Batches given to it.
    pub input_batches: u64,
    /// Rows it gave.
    pub output_rows: u64,
    /// Batches it gave.
    pub output_batches: u64,
    /// Time inside of it, without that of other operators.
    pub wall_nanos: u64,
    /// Times it was waited for.
    pub num_blocked: u64,
    /// Rows it scanned, before filters; scans only.
    pub raw_rows: u64,
    /// Bytes it read; scans only.
    pub raw_bytes: u64,
    /// Splits it took; scans only.
    pub num_splits: u64,
    /// What else it counted, by the names of rules S15.7 to S15.60.
    pub metrics: Metrics,
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
}

impl OperatorStats {
    fn add(&mut self, other: &OperatorStats) {
        self.num_drivers += other.num_drivers;
        self.input_rows += other.input_rows;
        self.input_batches += other.input_batches;
        self.output_rows += other.output_rows;
        self.output_batches += other.output_batches;
        self.wall_nanos += other.wall_nanos;
        self.num_blocked += other.num_blocked;
        self.raw_rows += other.raw_rows;
        self.raw_bytes += other.raw_bytes;
        self.num_splits += other.num_splits;
        self.metrics.merge(&other.metrics);
        match (&mut self.scan, &other.scan) {
            (Some(scan), Some(other)) => scan.details.merge(&other.details),
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
    operators: Mutex<Vec<((usize, usize), OperatorStats)>>,
}

impl StatsCollector {
    /// Adds the counters of a driver of pipeline `pipeline`, one for each of its operators.
    pub fn add<'a>(&self, pipeline: usize, stats: impl Iterator<Item = &'a OperatorStats>) {
        let mut operators = self.operators.lock();
        for (index, stats) in stats.enumerate() {
            let place = (pipeline, index);
            match operators.binary_search_by_key(&place, |(p, _)| *p) {
                Ok(at) => operators[at].1.add(stats),
                Err(at) => operators.insert(at, (place, stats.clone())),
            }
        }
    }

    /// The sums so far; drivers that still run are not in them.
    pub fn snapshot(&self) -> TaskStats {
        let operators = self.operators.lock();
        TaskStats { operators: operators.iter().map(|(_, stats)| stats.clone()).collect() }
    }
}
