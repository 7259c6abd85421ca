//! Memory that queries share: cached file contents serve later queries and are evicted when memory
//! is needed; also the sizes of reads.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dwio::fs::{MemoryFiles, ObservedFiles};
use exec::stats::OperatorStats;
use ocior::{Engine, EngineBuilder, QueryOptions};

use crate::support::files::{Layout, in_order, lines, parquet_file};

const NUM_ROWS: i64 = 200_000;

/// Returns columns `a`, `b` and `c`, each of more than a megabyte.
fn rows() -> RecordBatch {
    let column = |factor: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..NUM_ROWS).map(|n| n * factor)))
    };
    RecordBatch::try_from_iter([("a", column(1)), ("b", column(3)), ("c", column(5))]).unwrap()
}

/// Returns the file `/t`, whose reads are observed.
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

/// Returns the rows of a query, and the counters of its scan.
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
    // Another file is stored at the same path.
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
    // The limit has space for the query and for a part of the cache that it would fill.
    let limit = calm.memory_pool().peak() + (2 << 20);
    let tight = engine(&files, |builder| builder.memory_limit(limit).cache_bytes(limit));
    run(&tight, "SELECT sum(a) AS a, sum(b) AS b, sum(c) AS c FROM '/t'", &in_order());
    let cached = tight.memory_pool().used();
    assert!(cached > 3 << 20, "{cached} bytes");
    assert_eq!(run(&tight, sort, &in_order()).0, wanted);
    assert!(tight.memory_pool().peak() <= limit);
}

/// Footers are held by the queries that plan or run with them and cannot be reclaimed.
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
    // The units of reading are then whole chunks, which are coalesced up to the limit.
    let (large, _) = reads(&[("load_quantum", "8388608")]);
    assert!(large < usual / 2, "{large} reads in place of {usual}");
    let (apart, _) = reads(&[("load_quantum", "8388608"), ("max-coalesced-bytes", "0")]);
    assert!(apart > large, "{apart} reads in place of {large}");
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
