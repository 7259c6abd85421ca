//! Memory that queries share: what one has read is there for others, and goes when it is needed
//! otherwise; and how much of a file is read at once.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dwio::fs::{MemoryFiles, ObservedFiles};
use exec::stats::OperatorStats;
use ocior::{Engine, EngineBuilder, QueryOptions};

#[cfg(target_os = "linux")]
use crate::support::command::{Ran, Scratch, command, finished};
use crate::support::files::{Layout, in_order, lines, parquet_file};

const NUM_ROWS: i64 = 200_000;

/// Columns `a`, `b` and `c`, each of more than a megabyte.
fn rows() -> RecordBatch {
    let column = |factor: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..NUM_ROWS).map(|n| n * factor)))
    };
    RecordBatch::try_from_iter([("a", column(1)), ("b", column(3)), ("c", column(5))]).unwrap()
}

/// The file `/t`, seen.
fn files() -> (MemoryFiles, ObservedFiles) {
    let layout = Layout { has_dictionary: false, ..Layout::default() };
    let layout = Layout { codec: parquet::basic::Compression::UNCOMPRESSED, ..layout };
    let files = MemoryFiles::with_versions();
    files.put("/t", parquet_file(&rows(), layout));
    (files.clone(), ObservedFiles::new(Arc::new(files)))
}

fn engine(files: &ObservedFiles, change: impl Fn(EngineBuilder) -> EngineBuilder) -> Engine {
    change(Engine::builder().file_system(Arc::new(files.clone()))).build()
}

/// The rows of a query, and what its scan counted.
fn run(engine: &Engine, sql: &str, options: &QueryOptions) -> (Vec<String>, OperatorStats) {
    let mut result = engine.query_with(sql, options).unwrap();
    while result.next_batch().unwrap().is_some() {}
    let stats = result.stats();
    let scan = stats.operators.iter().find(|stats| stats.operator == "TableScan").unwrap();
    (lines(engine.query_with(sql, options).unwrap()).unwrap(), scan.clone())
}

#[test]
fn what_a_query_has_read_the_next_one_finds_in_memory() {
    let (memory, files) = files();
    let engine = engine(&files, |builder| builder.cache_bytes(64 << 20));
    let sql = "SELECT sum(a) AS a, sum(b) AS b FROM '/t' WHERE c >= 0";
    let (_, first) = run(&engine, sql, &in_order());
    let read = first.metrics.sum("storageReadBytes");
    assert!(read >= 3 << 20, "{read} bytes");
    let reads = files.reads();
    let (wanted, again) = run(&engine, sql, &in_order());
    assert_eq!(files.reads(), reads, "nothing is read again, not even the footer");
    assert_eq!(again.metrics.sum("storageReadBytes"), 0);
    assert!(again.metrics.sum("ramReadBytes") > 3 << 20 && again.metrics.sum("numRamRead") > 3);
    assert_eq!(again.raw_bytes, again.metrics.sum("ramReadBytes") as u64);
    let many = QueryOptions { drivers: 3, ..in_order() };
    assert_eq!(run(&engine, sql, &many).0, wanted);
    assert_eq!((files.reads(), engine.memory_pool().tree().contains("query")), (reads, false));
    // Another file at the same place.
    memory.put("/t", parquet_file(&rows().slice(0, 1), Layout::default()));
    assert_eq!(run(&engine, sql, &in_order()).0, [r#"{"a":0,"b":0}"#]);
}

#[test]
fn nothing_is_kept_unless_asked_for() {
    let (_, files) = files();
    let engine = engine(&files, |builder| builder.cache_bytes(0));
    let (_, scan) = run(&engine, "SELECT sum(a) AS a FROM '/t'", &in_order());
    let reads = files.reads();
    run(&engine, "SELECT sum(a) AS a FROM '/t'", &in_order());
    assert!(files.reads() > reads && scan.metrics.get("numRamRead").is_none());
    assert_eq!(engine.memory_pool().used(), 0);
}

#[test]
fn a_query_that_needs_memory_gets_that_of_the_cache() {
    let (_, files) = files();
    let sort = "SELECT a FROM '/t' ORDER BY b DESC LIMIT 100000 OFFSET 99990";
    let calm = engine(&files, |builder| builder);
    let wanted = run(&calm, sort, &in_order()).0;
    // Room for the query, and for a part of what it would leave in a cache.
    let limit = calm.memory_pool().peak() + (2 << 20);
    let tight = engine(&files, |builder| builder.memory_limit(limit).cache_bytes(limit));
    run(&tight, "SELECT sum(a) AS a, sum(b) AS b, sum(c) AS c FROM '/t'", &in_order());
    let cached = tight.memory_pool().used();
    assert!(cached > 3 << 20, "{cached} bytes");
    assert_eq!(run(&tight, sort, &in_order()).0, wanted);
    assert!(tight.memory_pool().peak() <= limit);
}

/// Footers, which whoever plans or runs a query holds, are nobody's to give back.
#[test]
fn a_query_that_is_alone_waits_for_nobody() {
    let (_, files) = files();
    let tight = engine(&files, |builder| builder.memory_limit(6 << 20));
    for drivers in [1, 3] {
        let mut options = QueryOptions { drivers, ..in_order() };
        options.settings.set("memory_wait_limit_ms", "600000");
        let start = std::time::Instant::now();
        let distinct = "SELECT count(*) AS n FROM (SELECT DISTINCT a, b FROM '/t')";
        let failed = tight.query_with(distinct, &options).and_then(lines).unwrap_err();
        assert_eq!(failed.kind(), vector::ErrorKind::Limit, "{failed}");
        assert!(start.elapsed().as_secs() < 300, "it has waited");
    }
}

#[test]
fn what_is_read_at_once_is_a_setting() {
    let reads = |settings: &[(&str, &str)]| {
        let (_, files) = files();
        let engine = engine(&files, |builder| builder);
        let mut options = in_order();
        settings.iter().for_each(|(name, value)| options.settings.set(*name, *value));
        let sql = "SELECT sum(a) AS a, sum(b) AS b FROM '/t'";
        let (rows, scan) = run(&engine, sql, &options);
        assert_eq!(rows.len(), 1);
        let read = scan.metrics.get("storageReadBytes").unwrap();
        (read.count, read.max)
    };
    let (usual, _) = reads(&[]);
    let (small, _) = reads(&[("load-quantum", "65536")]);
    assert!(small > 3 * usual, "{small} reads in place of {usual}");
    // Whole chunks are pieces then, which are read together, up to the limit.
    let (large, _) = reads(&[("load_quantum", "8388608")]);
    assert!(large < usual / 2, "{large} reads in place of {usual}");
    let (apart, _) = reads(&[("load_quantum", "8388608"), ("max-coalesced-bytes", "0")]);
    assert!(apart > large, "{apart} reads in place of {large}");
}

/// Every operator that holds rows, over columns that are computed and wide.
const WIDE_QUERIES: [&str; 18] = [
    "SELECT max(length(lpad(s, 40000, 'x'))) AS n FROM (SELECT CAST(a AS VARCHAR) AS s FROM '/few' WHERE a < 1000)",
    "SELECT count(*) AS n FROM '/few' WHERE a < 1000 AND length(rpad(CAST(b AS VARCHAR), 40000, 'x')) > 7",
    "SELECT sum(cardinality(sequence(1, 2000 + a % 7))) AS n FROM '/few' WHERE a < 1000",
    "SELECT sum(cardinality(repeat(CAST(a AS VARCHAR), 1000))) AS n FROM '/few' WHERE a < 1000",
    "SELECT max(length(concat(w, w, w, w))) AS n FROM (SELECT lpad(CAST(a AS VARCHAR), 3000, 'x') AS w FROM '/few' WHERE a < 1000)",
    "SELECT max(length(replace(CAST(b AS VARCHAR), '1', lpad('', 20000, 'y')))) AS n FROM '/few' WHERE a < 1000",
    "SELECT count(e) AS n FROM (SELECT sequence(1, 1000) AS l FROM '/few' WHERE a < 1000) CROSS JOIN UNNEST(l) AS u(e)",
    "SELECT count(*) AS n FROM (SELECT lpad(CAST(a AS VARCHAR), 1000, 'x') AS w, count(*) FROM '/few' GROUP BY 1)",
    "SELECT count(*) AS n FROM (SELECT DISTINCT lpad(CAST(a AS VARCHAR), 1000, 'x') AS w FROM '/few')",
    "SELECT count(DISTINCT lpad(CAST(a AS VARCHAR), 1000, 'x')) AS n FROM '/few'",
    "SELECT cardinality(array_agg(lpad(CAST(a AS VARCHAR), 1000, 'x'))) AS n FROM '/few'",
    "SELECT cardinality(map_agg(a, lpad(CAST(b AS VARCHAR), 1000, 'x'))) AS n FROM '/few'",
    "SELECT count(w) AS n FROM (SELECT a % 7000 AS k, min_by(lpad(CAST(b AS VARCHAR), 1000, 'x'), c) AS w FROM '/few' GROUP BY 1)",
    "SELECT count(*) AS n FROM '/few' t JOIN (SELECT a AS k, lpad(CAST(b AS VARCHAR), 1000, 'x') AS w FROM '/few') u ON t.a = u.k WHERE length(u.w) > t.a % 7",
    "SELECT count(*) AS n FROM '/few' t JOIN (SELECT a AS k, sequence(1, 100) AS w FROM '/few') u ON t.a = u.k WHERE cardinality(u.w) > t.a % 7",
    "SELECT count(*) AS n FROM '/few' WHERE CAST(a AS VARCHAR) NOT IN (SELECT lpad(CAST(b AS VARCHAR), 1000, 'x') FROM '/few')",
    "SELECT length(w) AS n FROM (SELECT lpad(CAST(a AS VARCHAR), 1000, 'x') AS w FROM '/few' ORDER BY 1) LIMIT 1 OFFSET 6000",
    "SELECT max(length(w)) AS n FROM (SELECT a, lpad(CAST(b AS VARCHAR), 5000, 'x') AS w FROM '/few' ORDER BY a DESC LIMIT 300)",
];

#[test]
fn wide_results_stay_below_the_limit_or_end_the_query_with_it() {
    let (memory, files) = files();
    memory.put("/few", parquet_file(&rows().slice(0, 8_000), Layout::default()));
    let calm = engine(&files, |builder| builder);
    let mut refused = 0;
    for sql in WIDE_QUERIES {
        let wanted = run_once(&calm, sql, &in_order()).unwrap();
        for (limit, drivers) in [(6 << 20, 1), (32 << 20, 3)] {
            let tight = engine(&files, |builder| builder.memory_limit(limit));
            let options = QueryOptions { drivers, ..in_order() };
            match run_once(&tight, sql, &options) {
                Ok(found) => assert_eq!(found, wanted, "{sql}"),
                Err(error) => {
                    assert_eq!(error.kind(), vector::ErrorKind::Limit, "{sql}: {error}");
                    refused += 1;
                }
            }
            // What is charged and not asked for is small.
            let peak = tight.memory_pool().peak();
            assert!(peak <= limit + (1 << 20), "{sql}: {peak} bytes of {limit}");
            assert_eq!(tight.memory_pool().used(), 0, "{sql}");
        }
    }
    assert!((1..2 * WIDE_QUERIES.len()).contains(&refused), "{refused} are refused");
}

/// Queries that fill their limit with texts, whose memory moves as it grows: groups, the build side of a
/// join, collected values, and rows to be sorted.
#[cfg(target_os = "linux")]
const FILLING_QUERIES: [&str; 4] = [
    "SELECT count(*) FROM (SELECT lpad(CAST(a AS VARCHAR), 500, 'x'), count(*) FROM t GROUP BY 1)",
    "SELECT count(*) FROM t JOIN (SELECT a AS k, lpad(CAST(b AS VARCHAR), 500, 'x') AS s FROM t) u \
     ON t.a = u.k WHERE length(u.s) > t.a % 7",
    "SELECT cardinality(array_agg(lpad(CAST(a AS VARCHAR), 500, 'x'))) FROM t",
    "SELECT * FROM (SELECT lpad(CAST(a AS VARCHAR), 500, 'x') AS s FROM t ORDER BY 1) \
     LIMIT 1 OFFSET 150000",
];

/// The peak of the program's resident memory is what was reserved, the program itself, its threads, and
/// what the allocator has at hand.
#[cfg(target_os = "linux")]
#[test]
fn the_program_takes_no_more_than_its_limit_and_a_margin() {
    const MARGIN_MIB: u64 = 64;
    let scratch = Scratch::new("memory-peaks");
    let table = scratch.write("t.parquet", &parquet_file(&rows(), Layout::default()));
    let table = format!("t={table}");
    for sql in FILLING_QUERIES {
        for (limit, drivers) in [(64, "2")] {
            let memory = format!("{limit}MiB");
            let options = ["--memory", &memory, "--drivers", drivers, "--table", &table];
            let (peak, ran) = peak_mib(&[&["query"], &options[..], &[sql]].concat());
            let is_limit = ran.code == 1 && ran.err.starts_with("error: limit: memory limit");
            assert!(ran.code == 0 || is_limit, "{sql}: {}", ran.err);
            assert!(peak <= limit + MARGIN_MIB, "{sql}: {peak} MiB of {limit} MiB");
            assert!(peak > limit / 3, "{sql}: {peak} MiB do not fill {limit} MiB");
        }
    }
}

/// Runs the program to its end, with the peak of its resident memory in MiB.
#[cfg(target_os = "linux")]
fn peak_mib(args: &[&str]) -> (u64, Ran) {
    use std::process::Stdio;
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().unwrap().is_none() {
        // One that has just ended has no such line.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next());
        peak_kib = kib.map_or(peak_kib, |kib| kib.parse().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (peak_kib >> 10, finished(child.wait_with_output().unwrap()))
}

#[test]
fn what_a_constant_would_take_is_bounded_while_a_query_is_planned() {
    let (_, files) = files();
    let tight = engine(&files, |builder| builder.memory_limit(64 << 20));
    let bomb = "SELECT length(replace(lpad('', 100000, 'a'), 'a', lpad('', 100000, 'b'))) AS n";
    let error = run_once(&tight, bomb, &in_order()).unwrap_err();
    assert_eq!(error.kind(), vector::ErrorKind::Limit, "{error}");
    let small = "SELECT length(replace(lpad('', 1000, 'a'), 'a', lpad('', 1000, 'b'))) AS n";
    assert_eq!(run_once(&tight, small, &in_order()).unwrap(), [r#"{"n":1000000}"#]);
}

fn run_once(engine: &Engine, sql: &str, options: &QueryOptions) -> vector::Result<Vec<String>> {
    engine.query_with(sql, options).and_then(lines)
}
