//! What a run did, node by node: `explain --analyze`.
//!
//! ```text
//! TaskStats: an entry for each operator of each pipeline --by node--> notes of the plan's nodes
//! ```
//!
//! A node may have several operators: a join builds and probes, an aggregation is partial and final.
//! The last one gives the node's rows. A filter below a projection has none: both are one operator.

use std::time::Duration;

use exec::plan::PlanNode;
use exec::{OperatorStats, TaskStats};
use serde_json::{Map, Value as Json, json};
use vector::metrics::write_amount;
use vector::{MetricUnit, Result};

use super::tree;
use crate::QueryResult;
use crate::cli::scan_report::{metrics_json, num_drivers, scan_json, write_scan};
use crate::engine::ScanFiles;

/// What a run left.
pub(super) struct Run {
    wall: Duration,
    num_rows: u64,
    num_batches: u64,
    files: Vec<ScanFiles>,
    stats: TaskStats,
}

impl Run {
    /// Takes all rows of a running query.
    pub(super) fn drain(mut result: QueryResult, start: std::time::Instant) -> Result<Self> {
        let (mut num_rows, mut num_batches) = (0, 0);
        while let Some(batch) = result.next_batch()? {
            num_rows += batch.len() as u64;
            num_batches += 1;
        }
        let (files, stats) = (result.files().to_vec(), result.stats());
        Ok(Run { wall: start.elapsed(), num_rows, num_batches, files, stats })
    }

    /// The line about the whole.
    pub(super) fn summary(&self) -> String {
        let batches = plural(self.num_batches, "batch", "batches");
        let rows = plural(self.num_rows, "row", "rows");
        format!("{rows} in {batches}, {}", nanos(duration_nanos(self.wall)))
    }

    /// The notes of a node.
    pub(super) fn notes(&self, node: &PlanNode) -> Vec<String> {
        let operators: Vec<&OperatorStats> = self.of(node).collect();
        let is_one = operators.len() == 1;
        let mut notes = Vec::new();
        for operator in operators {
            if !is_one {
                notes.push(format!("{}:", operator.operator));
            }
            let indent = if is_one { "" } else { "  " };
            notes.extend(of_operator(operator).into_iter().map(|note| format!("{indent}{note}")));
            if let Some(scan) = &operator.scan {
                let files = self.files.iter().find(|f| Some(&f.scan) == operator.node.as_ref());
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = write_scan(&mut text, files, operator, scan, &is_timing);
                // Labels of both kinds of lines stand below each other.
                notes.extend(text.lines().map(|l| l.strip_prefix("  ").unwrap_or(l).to_string()));
            } else {
                let counters = operator.metrics.iter();
                let counters = counters.filter(|(name, m)| !is_timing(name) && m.sum != 0);
                notes.extend(counters.enumerate().map(|(at, (name, metric))| {
                    let label = if at == 0 { "counters" } else { "" };
                    format!("{indent}{}", tree::line(label, &format!("{name}: {metric}")))
                }));
            }
        }
        if notes.is_empty() {
            notes.push("done by the node above".to_string());
        }
        notes
    }

    /// Operators that work for no node: the ends of exchanges between pipelines.
    pub(super) fn between(&self) -> Vec<String> {
        let between = self.stats.operators.iter().filter(|o| o.node.is_none());
        between
            .flat_map(|operator| {
                let notes = of_operator(operator).into_iter().map(|note| format!("     {note}"));
                [format!("-- {}", operator.operator)].into_iter().chain(notes)
            })
            .collect()
    }

    /// Adds what a node's operators did to its members.
    pub(super) fn add_to(&self, node: &PlanNode, members: &mut Map<String, Json>) {
        let operators = self.of(node).map(|operator| self.operator_json(operator));
        members.insert("operators".into(), operators.collect());
    }

    /// The run as a whole, around a plan.
    pub(super) fn json(&self, plan: Json) -> Json {
        let between = self.stats.operators.iter().filter(|o| o.node.is_none());
        json!({
            "rows": self.num_rows,
            "batches": self.num_batches,
            "wall_nanos": duration_nanos(self.wall),
            "plan": plan,
            "between_pipelines": between.map(|o| self.operator_json(o)).collect::<Vec<_>>(),
        })
    }

    fn of(&self, node: &PlanNode) -> impl Iterator<Item = &OperatorStats> {
        self.stats.operators.iter().filter(|operator| operator.node.as_ref() == Some(node.id()))
    }

    fn operator_json(&self, operator: &OperatorStats) -> Json {
        let files = self.files.iter().find(|f| Some(&f.scan) == operator.node.as_ref());
        let blocked = blocked(operator).into_iter().map(|(reason, nanos, times)| {
            (reason.to_string(), json!({ "nanos": nanos, "times": times }))
        });
        json!({
            "operator": operator.operator,
            "drivers": operator.num_drivers,
            "splits": operator.num_splits,
            "input": { "rows": operator.input_rows, "batches": operator.input_batches },
            "output": { "rows": operator.output_rows, "batches": operator.output_batches },
            "raw_input": { "rows": operator.raw_rows, "bytes": operator.raw_bytes },
            "wall_nanos": operator.wall_nanos,
            "cpu_nanos": cpu_nanos(operator),
            "times_blocked": operator.num_blocked,
            "blocked": blocked.collect::<Map<String, Json>>(),
            "metrics": metrics_json(&operator.metrics),
            "scan": operator.scan.as_ref().map(|scan| scan_json(files, operator, scan)),
        })
    }
}

/// The lines about rows and times of one operator.
fn of_operator(operator: &OperatorStats) -> Vec<String> {
    let mut notes = Vec::new();
    let batches = |rows, batches| {
        format!("{} in {}", plural(rows, "row", "rows"), plural(batches, "batch", "batches"))
    };
    if operator.input_batches > 0 || operator.scan.is_none() && operator.num_splits == 0 {
        notes.push(tree::line("in", &batches(operator.input_rows, operator.input_batches)));
    }
    if operator.raw_rows > 0 || operator.raw_bytes > 0 {
        let mut text = format!("{}, ", plural(operator.raw_rows, "row", "rows"));
        // Writing to a string cannot fail.
        let _ = write_amount(&mut text, signed(operator.raw_bytes), MetricUnit::Bytes);
        notes.push(tree::line("raw in", &text));
    }
    notes.push(tree::line("out", &batches(operator.output_rows, operator.output_batches)));
    let cpu = cpu_nanos(operator).map(|cpu| format!(", cpu {}", nanos(cpu)));
    let wall = nanos(operator.wall_nanos);
    let drivers = num_drivers(operator.num_drivers);
    notes.push(tree::line("work", &format!("wall {wall}{}, {drivers}", cpu.unwrap_or_default())));
    let waits = blocked(operator).into_iter().map(|(reason, wall, times)| {
        format!("{reason} {} ({})", nanos(wall), plural(times, "time", "times"))
    });
    let waits: Vec<String> = waits.collect();
    if !waits.is_empty() {
        notes.push(tree::line("blocked", &waits.join(", ")));
    } else if operator.num_blocked > 0 {
        notes.push(tree::line("blocked", &plural(operator.num_blocked, "time", "times")));
    }
    notes
}

/// What an operator waited for, how long and how often (rule S15.57).
fn blocked(operator: &OperatorStats) -> Vec<(&'static str, u64, u64)> {
    let waits = operator.metrics.iter().filter_map(|(name, metric)| {
        let reason = name.strip_prefix("blocked")?.strip_suffix("WallNanos")?;
        let counted = operator.metrics.get(&format!("blocked{reason}Times"));
        let times = counted.map_or(metric.count, |times| times.sum.unsigned_abs());
        Some((reason, metric.sum.unsigned_abs(), times))
    });
    waits.collect()
}

/// The processor's time of an operator, if it was measured (rule S15.59).
fn cpu_nanos(operator: &OperatorStats) -> Option<u64> {
    operator.metrics.get("driverCpuTimeNanos").map(|metric| metric.sum.unsigned_abs())
}

/// True for counters that the lines of an operator tell.
fn is_timing(name: &str) -> bool {
    name.starts_with("blocked") || name == "driverCpuTimeNanos"
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn nanos(value: u64) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_amount(&mut text, signed(value), MetricUnit::Nanos);
    text
}

fn duration_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
