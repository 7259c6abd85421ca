//! Statistics of a run by plan node, for `explain --analyze`.
//!
//! ```text
//! TaskStats: an entry for each operator of each pipeline --by node--> notes of the plan's nodes
//! ```
//!
//! A node may have several operators: a join has build and probe, an aggregation a partial and a
//! final one. The output rows of the node are those of the last operator. A filter below a
//! projection has no operator of its own, since one operator evaluates both.

use std::time::Duration;

use exec::plan::PlanNode;
use exec::{OperatorStats, TaskStats};
use serde_json::{Map, Value as Json, json};
use vector::metrics::write_amount;
use vector::{MetricUnit, Result};

use super::tree;
use crate::QueryResult;
use crate::cli::interrupt::Watch;
use crate::cli::scan_report::{metrics_json, num_drivers, scan_json, write_scan};
use crate::engine::ScanFiles;

/// Results and statistics of a run.
pub(super) struct Run {
    wall: Duration,
    num_rows: u64,
    num_batches: u64,
    files: Vec<ScanFiles>,
    stats: TaskStats,
}

impl Run {
    /// Runs a query to its end and drops the rows.
    pub(super) fn drain(mut result: QueryResult, start: std::time::Instant) -> Result<Self> {
        let _watch = Watch::new(result.canceller());
        let (mut num_rows, mut num_batches) = (0, 0);
        while let Some(batch) = result.next_batch()? {
            num_rows += batch.len() as u64;
            num_batches += 1;
        }
        let (files, stats) = (result.files().to_vec(), result.stats());
        Ok(Run { wall: start.elapsed(), num_rows, num_batches, files, stats })
    }

    /// Returns the summary line of the run.
    pub(super) fn summary(&self) -> String {
        let batches = plural(self.num_batches, "batch", "batches");
        let rows = plural(self.num_rows, "row", "rows");
        format!("{rows} in {batches}, {}", amount(duration_nanos(self.wall), MetricUnit::Nanos))
    }

    /// Returns the notes of a node.
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
                let _ = write_scan(&mut text, files, operator, scan);
                // Aligns the labels of both kinds of lines.
                notes.extend(text.lines().map(|l| l.strip_prefix("  ").unwrap_or(l).to_string()));
            } else {
                let counters = operator.metrics.iter().filter(|(_, metric)| metric.sum != 0);
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

    /// Returns the notes of the writers of a COPY, whose node is not part of the plan.
    pub(super) fn writers(&self) -> Vec<String> {
        let all = self.stats.operators.iter().filter(|operator| operator.operator == "TableWrite");
        all.flat_map(of_operator).map(|note| format!("     {note}")).collect()
    }

    /// Returns the notes of the pipelines, including operators without a plan node: the exchange
    /// sinks and sources between pipelines.
    pub(super) fn pipelines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, operators) in self.stats.pipelines().enumerate() {
            let drivers = num_drivers(num_drivers_of(operators));
            lines.push(format!("-- pipeline {number}: {}", names(operators).join(", ")));
            let wall = sum(operators, |operator| operator.wall_nanos);
            let cpu = sum(operators, |operator| operator.cpu_nanos);
            let blocked = sum(operators, |operator| operator.blocked_nanos);
            let times = [("wall", wall), ("cpu", cpu), ("blocked", blocked)];
            let times = times.iter().filter(|(_, time)| *time > 0);
            let times = times.map(|(what, t)| format!("{what} {}", amount(*t, MetricUnit::Nanos)));
            let work: Vec<String> = times.chain([drivers]).collect();
            lines.push(format!("     {}", tree::line("work", &work.join(", "))));
            for operator in operators.iter().filter(|operator| operator.node.is_none()) {
                lines.push(format!("     {}:", operator.operator));
                lines.extend(of_operator(operator).iter().map(|note| format!("       {note}")));
            }
        }
        lines
    }

    /// Adds the statistics of a node's operators to its JSON members.
    pub(super) fn add_to(&self, node: &PlanNode, members: &mut Map<String, Json>) {
        let operators = self.of(node).map(|operator| self.operator_json(operator));
        members.insert("operators".into(), operators.collect());
    }

    /// Returns the whole run as JSON, with its plan.
    pub(super) fn json(&self, plan: Json) -> Json {
        let between = self.stats.operators.iter().filter(|o| o.node.is_none());
        json!({
            "rows": self.num_rows,
            "batches": self.num_batches,
            "wall_nanos": duration_nanos(self.wall),
            "plan": plan,
            "drivers": metrics_json(&self.stats.drivers),
            "pipelines": self.stats.pipelines().map(pipeline_json).collect::<Vec<_>>(),
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
            "pipeline": operator.pipeline,
            "drivers": operator.num_drivers,
            "splits": operator.num_splits,
            "input": {
                "rows": operator.input_rows,
                "batches": operator.input_batches,
                "bytes": operator.input_bytes,
            },
            "output": {
                "rows": operator.output_rows,
                "batches": operator.output_batches,
                "bytes": operator.output_bytes,
            },
            "raw_input": { "rows": operator.raw_rows, "bytes": operator.raw_bytes },
            "wall_nanos": operator.wall_nanos,
            "cpu_nanos": operator.cpu_nanos,
            "times_blocked": operator.num_blocked,
            "blocked_nanos": operator.blocked_nanos,
            "blocked": blocked.collect::<Map<String, Json>>(),
            "peak_bytes": operator.peak_bytes,
            "runtime": metrics_json(&operator.runtime),
            "metrics": metrics_json(&operator.metrics),
            "scan": operator.scan.as_ref().map(|scan| scan_json(files, operator, scan)),
        })
    }
}

/// Returns the statistics of a pipeline as JSON.
fn pipeline_json(operators: &[OperatorStats]) -> Json {
    json!({
        "operators": names(operators),
        "drivers": num_drivers_of(operators),
        "wall_nanos": sum(operators, |operator| operator.wall_nanos),
        "cpu_nanos": sum(operators, |operator| operator.cpu_nanos),
        "blocked_nanos": sum(operators, |operator| operator.blocked_nanos),
    })
}

fn names(operators: &[OperatorStats]) -> Vec<String> {
    let name = |operator: &OperatorStats| match &operator.node {
        Some(node) => format!("{}[{node}]", operator.operator),
        None => operator.operator.to_string(),
    };
    operators.iter().map(name).collect()
}

fn num_drivers_of(operators: &[OperatorStats]) -> u64 {
    operators.iter().map(|operator| operator.num_drivers).max().unwrap_or(0)
}

fn sum(operators: &[OperatorStats], of: impl Fn(&OperatorStats) -> u64) -> u64 {
    operators.iter().map(of).fold(0, u64::saturating_add)
}

/// Returns the lines about rows, times and memory of one operator.
fn of_operator(operator: &OperatorStats) -> Vec<String> {
    let mut notes = Vec::new();
    let moved = |rows, batches, bytes| {
        let (rows, batches) = (plural(rows, "row", "rows"), plural(batches, "batch", "batches"));
        match bytes {
            0 => format!("{rows} in {batches}"),
            bytes => format!("{rows} in {batches} of {}", amount(bytes, MetricUnit::Bytes)),
        }
    };
    if operator.scan.is_none() {
        let (rows, batches) = (operator.input_rows, operator.input_batches);
        notes.push(tree::line("in", &moved(rows, batches, operator.input_bytes)));
    }
    let (rows, batches) = (operator.output_rows, operator.output_batches);
    notes.push(tree::line("out", &moved(rows, batches, operator.output_bytes)));
    let mut work = vec![format!("wall {}", amount(operator.wall_nanos, MetricUnit::Nanos))];
    if operator.cpu_nanos > 0 {
        work.push(format!("cpu {}", amount(operator.cpu_nanos, MetricUnit::Nanos)));
    }
    if operator.peak_bytes > 0 {
        work.push(format!("{} at most", amount(operator.peak_bytes, MetricUnit::Bytes)));
    }
    work.push(num_drivers(operator.num_drivers));
    notes.push(tree::line("work", &work.join(", ")));
    let waits = blocked(operator).into_iter().map(|(reason, wall, times)| {
        let times = plural(times, "time", "times");
        format!("{reason} {} ({times})", amount(wall, MetricUnit::Nanos))
    });
    let waits: Vec<String> = waits.collect();
    if !waits.is_empty() {
        notes.push(tree::line("blocked", &waits.join(", ")));
    }
    notes
}

/// Returns the reasons for which an operator was blocked, with total time and count (rule S15.57).
fn blocked(operator: &OperatorStats) -> Vec<(&'static str, u64, u64)> {
    let waits = operator.runtime.iter().filter_map(|(name, metric)| {
        let reason = name.strip_prefix("blocked")?.strip_suffix("WallNanos")?;
        Some((reason, metric.sum.unsigned_abs(), metric.count))
    });
    waits.collect()
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn amount(value: u64, unit: MetricUnit) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_amount(&mut text, i64::try_from(value).unwrap_or(i64::MAX), unit);
    text
}

fn duration_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
