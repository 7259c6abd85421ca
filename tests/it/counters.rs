//! Metrics that a run publishes, under the names and units of Velox.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dwio::fs::{AheadFiles, FileSystem, MemoryFiles};
use exec::stats::{OperatorStats, TaskStats};
use ocior::Engine;
use vector::{MetricUnit, Metrics};

use crate::support::faults::{FaultyFiles, FileOp, Gate, wait_until};
use crate::support::files::{Layout, parquet_file, with_drivers};

const ROWS: i64 = 60_000;

fn table(rows: i64, keys: i64) -> Vec<u8> {
    let column =
        |f: &dyn Fn(i64) -> i64| -> ArrayRef { Arc::new((0..rows).map(f).collect::<Int64Array>()) };
    let columns = [
        ("k", column(&|row| row % keys)),
        ("v", column(&|row| row * 7 % 1_000)),
        ("w", column(&|row| row)),
    ];
    let layout = Layout { has_dictionary: false, rows_per_group: 20_000, ..Layout::default() };
    parquet_file(&RecordBatch::try_from_iter(columns).unwrap(), layout)
}

/// Runs a join whose probe side has a remaining filter and loads a lazy column, from files with a
/// high latency. The build side is read while the probe side waits for it.
fn run(drivers: usize) -> TaskStats {
    let files = MemoryFiles::new();
    // There are two files, so that two drivers have something to read.
    files.put("/fact/f", table(ROWS / 2, 500));
    files.put("/fact/g", table(ROWS / 2, 500));
    files.put("/dim/f", table(100, 100));
    let gate = Arc::new(Gate::default());
    let passes = Arc::clone(&gate);
    let gated = FaultyFiles::new(Arc::new(files), move |op| {
        if matches!(op, FileOp::Read { path: "/dim/f" }) {
            passes.pass();
        }
        Ok(())
    });
    let far = AheadFiles::new(Arc::new(gated) as Arc<dyn FileSystem>, 2, 16 << 20);
    let engine = Engine::builder().file_system(Arc::new(far)).worker_threads(2).build();
    let mut options = with_drivers(drivers);
    options.settings.set("track_operator_cpu_usage", "true");
    let sql = "SELECT sum(f.w + d.v) AS s FROM '/fact' f JOIN '/dim' d ON f.k = d.k \
               WHERE f.v % 3 = 1";
    let plan = engine.plan_with(sql, &options).unwrap();
    // A single driver starts with the probe side; several drivers run on threads of their own, and
    // the caller's thread collects their results.
    if drivers > 1 {
        gate.shut();
    }
    let mut result = engine.run(&plan, &options).unwrap();
    if drivers > 1 {
        let is_waited_for = || gate.is_waited_at() && engine.thread_usage().0.busy == 1;
        wait_until("the probe side waits for the other one, which is being read", is_waited_for);
        gate.open();
    }
    while result.next_batch().unwrap().is_some() {}
    result.stats()
}

/// Checks that all of `names` were published with this unit and are not zero.
fn published(metrics: &Metrics, unit: MetricUnit, names: &[&str]) {
    for name in names {
        let metric = metrics.get(name).unwrap_or_else(|| panic!("{name} of {metrics}"));
        assert_eq!((metric.unit, metric.sum > 0), (unit, true), "{name}: {metric}");
        assert!(metric.count > 0 && metric.min <= metric.max, "{name}: {metric}");
    }
}

fn operators<'a>(stats: &'a TaskStats, name: &str) -> Vec<&'a OperatorStats> {
    stats.operators.iter().filter(|stats| stats.operator == name).collect()
}

/// Metrics that apply to a run are published with their sum, count, extremes and unit (rules S15.1,
/// S15.7 to S15.17, S15.31 to S15.48, S15.54 to S15.61, S15.20).
#[test]
fn what_can_be_measured_is_published_by_its_name() {
    use MetricUnit::{Bytes, Count, Nanos};
    for drivers in [1, 2] {
        let stats = run(drivers);
        let scans = operators(&stats, "TableScan");
        let fact = scans.iter().max_by_key(|scan| scan.raw_rows).unwrap();
        assert_eq!(fact.raw_rows, ROWS as u64);
        let counts = [
            "processedSplits",
            "processedStrides",
            "numStripes",
            "processedUnits",
            "fileFormat.parquet",
            "numPrefetch",
            "connectorSplitSize",
            "dynamicFiltersAccepted",
        ];
        published(&fact.metrics, Count, &counts);
        let bytes = ["storageReadBytes", "metadata.storageReadBytes", "prefetchBytes"];
        published(&fact.metrics, Bytes, &bytes);
        let times = [
            "storageReadWallNanos",
            "ioWaitWallNanos",
            "metadata.storageReadWallNanos",
            "metadata.ioWaitWallNanos",
            "totalRemainingFilterWallNanos",
            "totalRemainingFilterCpuNanos",
            "dataSourceAddSplitWallNanos",
            "dataSourceReadWallNanos",
        ];
        published(&fact.metrics, Nanos, &times);
        let sum = |name| fact.metrics.sum(name);
        let read = sum("storageReadBytes") + sum("metadata.storageReadBytes");
        assert_eq!(read as u64, fact.raw_bytes, "the footer and the values");
        assert!(sum("metadata.storageReadBytes") < sum("storageReadBytes"));
        assert_eq!(sum("overreadBytes"), sum("readGapBytes"));
        let running =
            ["runningGetOutputWallNanos", "runningIsBlockedWallNanos", "driverCpuTimeNanos"];
        published(&fact.runtime, Nanos, &running);

        let probe = operators(&stats, "HashProbe")[0];
        published(&probe.metrics, Count, &["dynamicFiltersProduced"]);
        published(&probe.runtime, Count, &["blockedWaitForJoinBuildTimes"]);
        let waits = ["blockedWaitForJoinBuildWallNanos", "runningAddInputWallNanos"];
        published(&probe.runtime, Nanos, &waits);
        let late: Vec<_> =
            stats.operators.iter().filter(|o| o.runtime.get(LAZY[0]).is_some()).collect();
        assert!(!late.is_empty() && late.iter().all(|o| o.operator != "TableScan"));
        published(&late[0].runtime, Nanos, &LAZY);
        published(&late[0].runtime, Bytes, &["dataSourceLazyInputBytes"]);
        published(&stats.drivers, Nanos, &["totalDriverOffThreadWallNanos"]);
    }
}

const LAZY: [&str; 2] = ["dataSourceLazyWallNanos", "dataSourceLazyCpuNanos"];

/// A metric that is zero is not published, except the two times of the remaining filter (rule
/// S15.3).
#[test]
fn what_is_zero_is_not_published_but_for_the_times_of_remaining_filters() {
    for stats in run(2).operators {
        for (name, metric) in stats.metrics.iter().chain(stats.runtime.iter()) {
            let may_be_zero = name.starts_with("totalRemainingFilter");
            assert!(metric.sum != 0 || may_be_zero, "{name} of {}", stats.operator);
        }
    }
}
