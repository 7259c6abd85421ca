//! Many concurrent queries on few threads, over files that are slow or fail, some of them
//! cancelled: each ends with its rows or with the injected error. Also many queries that share too
//! little memory: each ends with its rows or with an error of the memory limit.
//!
//! `OCIOR_STRESS_SECONDS` is the duration of the first test, a few seconds by default.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use dwio::fs::MemoryFiles;
use ocior::{Engine, QueryOptions};
use vector::{Error, ErrorKind};

use crate::support::faults::{FaultyFiles, FileOp, wait_until};
use crate::support::files::{Layout, engine_over, lines, parquet_file};
use crate::support::random::Random;

const QUERIES: usize = 200;
const WORKERS: usize = 2;
const IO_THREADS: usize = 8;

/// One file operation in this number fails.
const FAILS: u64 = 150;
/// One file operation in this number is delayed.
const DELAYED: u64 = 50;
/// One query in this number is cancelled.
const CANCELLED: u64 = 10;

const SQL: [&str; 9] = [
    "SELECT k, n, s FROM '/t' WHERE n < 900",
    "SELECT n + 1 AS m FROM '/t' WHERE k = 3 AND s LIKE '%7%'",
    "SELECT k, count(*) AS c, sum(n) AS t, max(s) AS x FROM '/t' GROUP BY k",
    "SELECT n, s FROM '/t' WHERE k > 5 ORDER BY s DESC, n LIMIT 50",
    "SELECT n, s FROM '/t' WHERE n % 3 = 1 ORDER BY n",
    "SELECT a.n, b.s FROM '/t' a JOIN '/u' b ON a.n = b.n WHERE b.k = 2",
    "SELECT b.k, count(*) AS c FROM '/t' a LEFT JOIN '/u' b ON a.n = b.n GROUP BY b.k",
    "SELECT count(*) AS c FROM '/t'",
    "SELECT s FROM '/t' WHERE n IN (5, 700, 1500, 99999)",
];

/// Returns rows from `start` on: `k` repeats, `n` counts, `s` is `n` as text, backwards.
fn rows(start: i64, end: i64) -> RecordBatch {
    let numbers =
        |f: fn(i64) -> i64| -> ArrayRef { Arc::new((start..end).map(f).collect::<Int64Array>()) };
    let text = |n: i64| n.to_string().chars().rev().collect::<String>();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((start..end).map(text)));
    let columns = [("k", numbers(|n| n % 10)), ("n", numbers(|n| n)), ("s", texts)];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn tables() -> MemoryFiles {
    let files = MemoryFiles::with_versions();
    let layout = Layout { rows_per_page: 100, rows_per_group: 400, ..Layout::default() };
    for part in 0..6 {
        let bytes = parquet_file(&rows(part * 500, part * 500 + 500), layout);
        files.put(format!("/t/part-{part}.parquet"), bytes);
    }
    files.put("/u/part-0.parquet", parquet_file(&rows(200, 1_400), layout));
    files
}

/// Returns rows as canonical lines, sorted unless the query has an order.
fn canonical(sql: &str, mut lines: Vec<String>) -> Vec<String> {
    if !sql.contains("ORDER BY") {
        lines.sort();
    }
    lines
}

/// Number of queries by outcome.
#[derive(Debug, Default)]
struct Outcomes {
    right: AtomicUsize,
    failed: AtomicUsize,
    cancelled: AtomicUsize,
    refused: AtomicUsize,
}

impl Outcomes {
    fn count(outcome: &AtomicUsize) -> usize {
        outcome.load(Ordering::Relaxed)
    }
}

/// Returns the rows of each query, computed by an engine without faults and delays.
fn wanted(calm: &Engine) -> Vec<Vec<String>> {
    let rows = |sql: &&str| canonical(sql, lines(calm.query(sql).unwrap()).unwrap());
    SQL.iter().map(rows).collect()
}

/// Checks that the queries have released all resources; blocks that they read may stay in the
/// cache.
fn check_is_idle(engine: &Engine) {
    let held = engine.memory_pool().tree();
    assert!(!held.contains("query") && !held.contains("schema"), "{held}");
    // Drivers and files that were opened ahead leave the query before their threads are idle.
    wait_until("no thread is busy", || {
        let (drivers, io) = engine.thread_usage();
        drivers.busy + io.busy == 0
    });
}

#[test]
fn many_queries_at_once_end_with_their_rows_or_the_error_that_was_injected() {
    let seconds = std::env::var("OCIOR_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(5));
    let files = tables();
    let wanted = wanted(&engine_over(&files));

    let number = AtomicU64::new(0);
    let faulty = FaultyFiles::new(Arc::new(files), move |op| {
        let mut random = Random::new(number.fetch_add(1, Ordering::Relaxed));
        if random.below(DELAYED) == 0 {
            thread::sleep(Duration::from_micros(random.below(3_000)));
        }
        match op {
            _ if random.below(FAILS) > 0 => Ok(()),
            FileOp::Open { path } => Err(Error::io("injected").with("open", path)),
            FileOp::Read { path } => Err(Error::io("injected").with("read", path)),
        }
    });
    let engine = Engine::builder()
        .file_system(Arc::new(faulty))
        .worker_threads(WORKERS)
        .io_threads(IO_THREADS)
        // The cache is too small for all files, so that blocks are evicted and loaded again.
        .cache_bytes(50_000)
        .build();
    let (engine, wanted, outcomes) = (Arc::new(engine), Arc::new(wanted), Outcomes::default());
    thread::scope(|scope| {
        for id in 0..QUERIES {
            let (engine, wanted, outcomes) = (&engine, &wanted, &outcomes);
            scope.spawn(move || {
                let mut random = Random::new(id as u64);
                loop {
                    run_one(engine, wanted, outcomes, &mut random);
                    if Instant::now() >= end {
                        break;
                    }
                }
            });
        }
    });
    let (right, failed) = (Outcomes::count(&outcomes.right), Outcomes::count(&outcomes.failed));
    let cancelled = Outcomes::count(&outcomes.cancelled);
    println!("{right} with the right rows, {failed} failed as told, {cancelled} cancelled");
    assert!(right > failed && Outcomes::count(&outcomes.refused) == 0, "{outcomes:?}");
    check_is_idle(&engine);
}

#[test]
fn many_queries_that_share_too_little_memory_end_with_their_rows_or_are_told_so() {
    for cache_bytes in [0, 100_000] {
        share_too_little_memory(cache_bytes);
    }
}

fn share_too_little_memory(cache_bytes: u64) {
    let files = tables();
    let calm = engine_over(&files);
    let wanted = wanted(&calm);
    let engine = Engine::builder()
        .file_system(Arc::new(files))
        .worker_threads(WORKERS)
        .memory_limit(8 * calm.memory_pool().peak())
        .cache_bytes(cache_bytes)
        .build();
    let outcomes = Outcomes::default();
    thread::scope(|scope| {
        for id in 0..QUERIES / 4 {
            let (engine, wanted, outcomes) = (&engine, &wanted, &outcomes);
            scope.spawn(move || {
                let mut random = Random::new(id as u64);
                (0..4).for_each(|_| run_one(engine, wanted, outcomes, &mut random));
            });
        }
    });
    println!("{outcomes:?}");
    assert!(Outcomes::count(&outcomes.right) > 0, "{outcomes:?}");
    check_is_idle(&engine);
}

/// Runs a query to its end, or to its cancellation.
fn run_one(engine: &Engine, wanted: &[Vec<String>], outcomes: &Outcomes, random: &mut Random) {
    let query = random.below(SQL.len() as u64) as usize;
    let mut options =
        QueryOptions { drivers: 1 + random.below(3) as usize, ..QueryOptions::default() };
    options.settings.set("driver_cpu_time_slice_limit_ms", "2");
    options.settings.set("validate_output_from_operators", "true");
    let cancel = random.below(CANCELLED) == 0;
    let ran = engine.query_with(SQL[query], &options).and_then(|result| {
        let canceller = result.canceller();
        let pause = Duration::from_micros(random.below(20_000));
        thread::scope(|scope| {
            if cancel {
                scope.spawn(move || {
                    thread::sleep(pause);
                    canceller.cancel();
                });
            }
            lines(result)
        })
    });
    match ran {
        Ok(lines) => {
            assert_eq!(canonical(SQL[query], lines), wanted[query], "{}", SQL[query]);
            outcomes.right.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) if error.message() == "injected" => {
            assert!(error.to_string().contains("part-"), "{error}");
            outcomes.failed.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) if error.kind() == ErrorKind::Limit => {
            assert!(error.to_string().contains("memory is held by"), "{error}");
            outcomes.refused.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => {
            assert!(cancel && error.kind() == ErrorKind::Cancelled, "{}: {error}", SQL[query]);
            outcomes.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}
