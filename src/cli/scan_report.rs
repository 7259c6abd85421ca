//! Report of the work of scans, for `query --stats`.
//!
//! ```text
//! ScanFiles (planning) + OperatorStats (drivers) --> ScanReport --> lines for people, or JSON
//! ```
//!
//! Each line for people is about one unit: files, splits, row groups, pages, bytes, rows. After
//! them come the filters, in the order of their application, and the columns. Metrics without a
//! phrase in these lines are listed below them by name, so that no metric is omitted.

use std::fmt::Write;

use exec::{OperatorStats, ScanStats, TaskStats};
use serde_json::{Value as Json, json};
use vector::metrics::write_amount;
use vector::{MetricUnit, Metrics};

use crate::engine::ScanFiles;
use crate::output::OutputFormat;

/// Metrics with a phrase, grouped by the line in which they are printed.
const LINES: [(&str, &[(&str, &str)]); 5] = [
    (
        "row groups",
        &[
            ("processedStrides", "read"),
            ("skippedStrides", "left out"),
            ("parquet.rowGroupsSkippedByNullCount", "by null counts"),
            ("parquet.rowGroupsSkippedByMinMax", "by min/max"),
            ("parquet.rowGroupsSkippedByBloomFilter", "by bloom filters"),
            ("parquet.rowGroupsSkippedByDictionary", "by dictionaries"),
            ("parquet.rowGroupsSkippedByPageIndex", "by page indexes"),
            ("parquet.rowGroupsSkippedByCondition", "by statistics of several columns"),
        ],
    ),
    (
        "pages",
        &[
            ("parquet.pagesRead", "read"),
            ("parquet.pagesSkipped", "passed over"),
            ("parquet.dictionariesRead", "dictionaries read"),
        ],
    ),
    (
        "bytes",
        &[
            ("storageReadBytes", "read"),
            ("metadata.storageReadBytes", "of metadata"),
            ("prefetchBytes", "begun ahead"),
            ("parquet.pageBytes", "of pages"),
            ("parquet.decompressedBytes", "decompressed"),
            ("readGapBytes", "of it between what was wanted"),
            ("skippedSplitBytes", "in skipped splits"),
        ],
    ),
    (
        "rows",
        &[
            ("parquet.rowsSkippedByPageIndex", "left out by page indexes"),
            (ROWS_SCANNED, "scanned"),
            ("parquet.rowsPassed", "passed pushed filters"),
            (ROWS_GIVEN, "given"),
        ],
    ),
    (
        "time",
        &[
            ("dataSourceAddSplitWallNanos", "opening"),
            ("dataSourceReadWallNanos", "reading"),
            ("storageReadWallNanos", "of it in storage"),
            ("metadata.storageReadWallNanos", "of it for metadata"),
            ("cacheWaitWallNanos", "waiting for the cache"),
        ],
    ),
];

/// Number of rows scanned. It is taken from the data source, not from the metrics of the format.
const ROWS_SCANNED: &str = "rowsScanned";
/// Number of rows that the scan returned.
const ROWS_GIVEN: &str = "rowsGiven";

/// Metrics whose value is printed in other lines.
const TOLD_ELSEWHERE: [&str; 10] = [
    "numStripes",
    "processedUnits",
    "overreadBytes",
    "ioWaitWallNanos",
    "metadata.ioWaitWallNanos",
    "processedSplits",
    "skippedSplits",
    "totalRemainingFilterWallNanos",
    "connectorSplitSize",
    "parquet.rowsScanned",
];

/// Width of the first column of the lines for people.
const LABEL_WIDTH: usize = 12;

/// Statistics of the scans of one query.
#[derive(Debug)]
pub(super) struct ScanReport {
    scans: Vec<(Option<ScanFiles>, OperatorStats, ScanStats)>,
}

impl ScanReport {
    /// Collects the scans among the operators of a finished query.
    pub(super) fn new(files: &[ScanFiles], stats: &TaskStats) -> Self {
        let scans = stats.operators.iter().filter_map(|operator| {
            let scan = operator.scan.clone()?;
            let files = files.iter().find(|files| Some(&files.scan) == operator.node.as_ref());
            Some((files.cloned(), operator.clone(), scan))
        });
        ScanReport { scans: scans.collect() }
    }

    /// Formats the report like the results: JSON for the JSON formats, else lines for people.
    pub(super) fn to_string(&self, format: OutputFormat) -> String {
        match format {
            OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::CanonicalJsonLines => {
                self.json().to_string()
            }
            _ => self.lines(),
        }
    }

    fn json(&self) -> Json {
        let scans = self
            .scans
            .iter()
            .map(|(files, operator, scan)| scan_json(files.as_ref(), operator, scan));
        json!({ "scans": scans.collect::<Vec<_>>() })
    }

    fn lines(&self) -> String {
        let mut out = String::new();
        for (files, operator, scan) in &self.scans {
            let node = operator.node.as_deref().unwrap_or_default();
            let drivers = num_drivers(operator.num_drivers);
            // Writing to a string cannot fail.
            let _ = writeln!(out, "scan of {} (node {node}, {drivers})", scan.table);
            let _ = write_scan(&mut out, files.as_ref(), operator, scan);
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// Returns the statistics of one scan as JSON.
pub(super) fn scan_json(
    files: Option<&ScanFiles>,
    operator: &OperatorStats,
    scan: &ScanStats,
) -> Json {
    let details = &scan.details;
    let skipped = details.skipped.iter().map(|(why, count)| (why.to_string(), *count));
    let filters = details.filters.iter().map(|filter| {
        json!({ "filter": filter.filter, "rows_in": filter.rows_in,
                    "rows_out": filter.rows_out, "nanos": filter.nanos })
    });
    let columns = details.columns.iter().map(|column| {
        json!({ "column": column.name, "values_decoded": column.values_decoded,
                    "pages_read": column.pages_read, "pages_skipped": column.pages_skipped })
    });
    json!({
        "node": operator.node.as_deref(),
        "table": scan.table,
        "drivers": operator.num_drivers,
        "files": files.map(|files| {
            json!({ "found": files.num_files, "left_out": files.num_left_out })
        }),
        "splits": {
            "taken": operator.num_splits,
            "skipped": skipped.collect::<std::collections::BTreeMap<_, _>>(),
        },
        "rows": { "scanned": operator.raw_rows, "given": operator.output_rows },
        "filters": filters.collect::<Vec<_>>(),
        "filter_producers": scan.filter_producers.iter().map(|n| &**n).collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "metrics": metrics_json(&operator.metrics),
    })
}

pub(super) fn metrics_json(metrics: &Metrics) -> Json {
    let told = metrics.iter().map(|(name, metric)| {
        let unit = match metric.unit {
            MetricUnit::Count => "count",
            MetricUnit::Bytes => "bytes",
            MetricUnit::Nanos => "nanos",
        };
        let numbers = json!({ "sum": metric.sum, "count": metric.count, "min": metric.min,
            "max": metric.max, "unit": unit });
        (name.to_string(), numbers)
    });
    Json::Object(told.collect())
}

/// Formats a number of drivers.
pub(super) fn num_drivers(count: u64) -> String {
    match count {
        1 => "1 driver".to_string(),
        many => format!("{many} drivers"),
    }
}

/// Writes the lines of one scan.
pub(super) fn write_scan(
    out: &mut String,
    files: Option<&ScanFiles>,
    operator: &OperatorStats,
    scan: &ScanStats,
) -> std::fmt::Result {
    let details = &scan.details;
    if let Some(ScanFiles { num_files, num_left_out, .. }) = files {
        let left_out = format!("{num_left_out} left out by conditions on partitions and paths");
        write_line(out, "files", &[format!("{num_files} found"), left_out])?;
    }
    let mut splits = vec![format!("{} taken", operator.num_splits)];
    splits.extend(details.skipped.iter().map(|(why, count)| format!("{count} skipped: {why}")));
    write_line(out, "splits", &splits)?;
    for (label, phrases) in LINES {
        let told = phrases.iter().filter_map(|(name, phrase)| {
            let metric = operator.metrics.get(name).filter(|metric| metric.sum != 0);
            let (amount, unit) = match *name {
                ROWS_SCANNED => (signed(operator.raw_rows), MetricUnit::Count),
                ROWS_GIVEN => (signed(operator.output_rows), MetricUnit::Count),
                _ => metric.map(|metric| (metric.sum, metric.unit))?,
            };
            let mut text = String::new();
            write_amount(&mut text, amount, unit).ok()?;
            Some(format!("{text} {phrase}"))
        });
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            write_line(out, label, &told)?;
        }
    }
    if !scan.filter_producers.is_empty() {
        let nodes: Vec<String> = scan.filter_producers.iter().map(|n| n.to_string()).collect();
        write_line(out, "dynamic", &[format!("filters from node {}", nodes.join(", "))])?;
    }
    write_filters(out, scan)?;
    write_columns(out, scan)?;
    write_rest(out, &operator.metrics)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn write_line(out: &mut String, label: &str, told: &[String]) -> std::fmt::Result {
    writeln!(out, "  {label:<LABEL_WIDTH$}{}", told.join(", "))
}

fn write_filters(out: &mut String, scan: &ScanStats) -> std::fmt::Result {
    let filters = &scan.details.filters;
    if filters.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {:<LABEL_WIDTH$}{:>12}{:>12}{:>12}  filter",
        "filters", "rows in", "rows out", "time"
    )?;
    for filter in filters {
        let mut time = String::new();
        write_amount(&mut time, signed(filter.nanos), MetricUnit::Nanos)?;
        let (rows_in, rows_out) = (filter.rows_in, filter.rows_out);
        writeln!(
            out,
            "  {:<LABEL_WIDTH$}{rows_in:>12}{rows_out:>12}{time:>12}  {}",
            "", filter.filter
        )?;
    }
    Ok(())
}

fn write_columns(out: &mut String, scan: &ScanStats) -> std::fmt::Result {
    let columns = &scan.details.columns;
    if columns.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {:<LABEL_WIDTH$}{:>12}{:>12}{:>12}  column",
        "columns", "values", "pages read", "skipped"
    )?;
    for column in columns {
        let (values, read) = (column.values_decoded, column.pages_read);
        writeln!(
            out,
            "  {:<LABEL_WIDTH$}{values:>12}{read:>12}{:>12}  {}",
            "", column.pages_skipped, column.name
        )?;
    }
    Ok(())
}

/// Writes the metrics that are in no other line.
fn write_rest(out: &mut String, metrics: &Metrics) -> std::fmt::Result {
    let is_told = |name: &str| {
        let mut phrases = LINES.iter().flat_map(|(_, phrases)| phrases.iter());
        TOLD_ELSEWHERE.contains(&name) || phrases.any(|(told, _)| *told == name)
    };
    let rest = metrics.iter().filter(|(name, metric)| !is_told(name) && metric.sum != 0);
    for (at, (name, metric)) in rest.enumerate() {
        let label = if at == 0 { "counters" } else { "" };
        writeln!(out, "  {label:<LABEL_WIDTH$}{name}: {metric}")?;
    }
    Ok(())
}
