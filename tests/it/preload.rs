//! Tables of many small files: opening files ahead changes the run time only, not the result.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dwio::connector::ScanBatchEvent;
use dwio::fs::{FileEntry, FileSystem, MemoryFiles, ReadFile};
use ocior::{Engine, QueryOptions, QueryResult};
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{ErrorKind, Result, Value, ValueReader};

use crate::support::faults::FOR_EVER;
use crate::support::files::{Layout, parquet_file, with_drivers};

/// Files in memory whose opening is delayed.
#[derive(Debug)]
struct SlowFiles {
    files: MemoryFiles,
    delay: Duration,
}

impl FileSystem for SlowFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        thread::sleep(self.delay);
        self.files.open(path)
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.files.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.files.list(path)
    }
}

/// Returns a table of `num_files` files with ten rows each: `id` counts through all of them.
fn small_files(num_files: i64) -> MemoryFiles {
    let files = MemoryFiles::new();
    for i in 0..num_files {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(i * 10..i * 10 + 10));
        let rows = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        files.put(format!("t/{i:05}.parquet"), parquet_file(&rows, Layout::default()));
    }
    files
}

fn options(drivers: usize, settings: &[(&str, &str)]) -> QueryOptions {
    let mut options = with_drivers(drivers);
    // Files in memory open too quickly to be opened ahead by default.
    options.settings.set("split_preload_min_open_micros", "0");
    settings.iter().for_each(|(name, value)| options.settings.set(*name, *value));
    options
}

fn preload(quota: &str) -> [(&'static str, &str); 1] {
    [("max_split_preload_per_driver", quota)]
}

fn ids(result: QueryResult) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for batch in result {
        let batch = batch?;
        let column = ValueReader::new(batch.child(0)?)?;
        ids.extend((0..batch.len()).filter_map(|row| match column.value(row) {
            Value::BigInt(id) => Some(id),
            _ => None,
        }));
    }
    Ok(ids)
}

#[test]
fn the_same_rows_come_with_and_without_opening_ahead() {
    let engine = Engine::builder().file_system(Arc::new(small_files(60))).build();
    let wanted: Vec<i64> = (0..600).filter(|id| (107..=455).contains(id)).collect();
    for drivers in [1, 2, 3] {
        for quota in ["0", "1", "2", "50"] {
            let query = "SELECT id FROM 't' WHERE id BETWEEN 107 AND 455";
            let mut read =
                ids(engine.query_with(query, &options(drivers, &preload(quota))).unwrap()).unwrap();
            if drivers > 1 {
                read.sort_unstable();
            }
            assert_eq!(read, wanted, "{drivers} drivers, quota {quota}");
        }
    }
}

#[test]
fn statistics_do_not_depend_on_who_opened_the_files() {
    let engine = Engine::builder().file_system(Arc::new(small_files(40))).build();
    let counted = |quota| {
        let query = "SELECT id FROM 't' WHERE id >= 200";
        let mut result = engine.query_with(query, &options(1, &preload(quota))).unwrap();
        while result.next_batch().unwrap().is_some() {}
        let stats = result.stats();
        let scan = stats.operators.iter().find(|o| o.operator == "TableScan").unwrap().clone();
        let own = |name: &str| scan.metrics.sum(name);
        let of_source = ["skippedSplits", "processedSplits", "skippedSplitBytes"].map(own);
        let preloaded = own("preloadedSplits");
        ((scan.num_splits, scan.raw_rows, scan.raw_bytes, of_source), preloaded)
    };
    let (alone, preloaded) = counted("0");
    assert_eq!(preloaded, 0);
    let (ahead, preloaded) = counted("2");
    assert_eq!(preloaded, 39);
    assert_eq!(ahead, alone);
}

#[test]
fn files_that_open_quickly_are_not_opened_ahead_but_for_the_first() {
    let preloaded = |files: Arc<dyn FileSystem>, min_open_micros: &str| {
        let engine = Engine::builder().file_system(files).build();
        let settings = [("split_preload_min_open_micros", min_open_micros)];
        let mut result = engine.query_with("SELECT id FROM 't'", &options(1, &settings)).unwrap();
        while result.next_batch().unwrap().is_some() {}
        let stats = result.stats();
        let scan = stats.operators.iter().find(|o| o.operator == "TableScan").unwrap().clone();
        scan.metrics.sum("preloadedSplits")
    };
    let quick = preloaded(Arc::new(small_files(40)), "60000000");
    assert!(quick <= 2, "{quick} of 39");
    let slow = SlowFiles { files: small_files(40), delay: Duration::from_millis(2) };
    assert_eq!(preloaded(Arc::new(slow), "100"), 39);
}

#[test]
fn a_listener_hears_of_the_bytes_of_files_that_were_opened_ahead_once() {
    let heard = Arc::new([const { AtomicU64::new(0) }; 2]);
    let sums = Arc::clone(&heard);
    let listener = move |event: &ScanBatchEvent<'_>| {
        sums[0].fetch_add(event.num_rows, Ordering::SeqCst);
        sums[1].fetch_add(event.storage_bytes, Ordering::SeqCst);
    };
    let files = Arc::new(small_files(30));
    let engine = Engine::builder().file_system(files).batch_listener(Arc::new(listener)).build();
    let mut result = engine.query_with("SELECT id FROM 't'", &options(1, &[])).unwrap();
    while result.next_batch().unwrap().is_some() {}
    let read: u64 = result.stats().operators.iter().map(|o| o.raw_bytes).sum();
    assert_eq!(heard[0].load(Ordering::SeqCst), 300);
    assert_eq!(heard[1].load(Ordering::SeqCst), read);
}

#[test]
fn a_broken_file_that_was_opened_ahead_is_the_querys_error_with_its_name() {
    let files = small_files(20);
    files.put("t/00013.parquet", b"this is no Parquet file, whatever its name says".to_vec());
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    for drivers in [1, 2] {
        let result = engine.query_with("SELECT id FROM 't'", &options(drivers, &[])).unwrap();
        let error = ids(result).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("t/00013.parquet"), "{error}");
        assert_eq!(engine.memory_pool().used(), 0);
    }
}

#[test]
fn a_limit_ends_the_query_and_what_was_opened_ahead_is_let_go() {
    let engine = Engine::builder().file_system(Arc::new(small_files(50))).build();
    for round in 0..20 {
        let result = engine.query_with("SELECT id FROM 't' LIMIT 15", &options(1, &[])).unwrap();
        assert_eq!(ids(result).unwrap(), (0..15).collect::<Vec<_>>());
        assert_eq!(engine.memory_pool().used(), 0, "round {round}");
    }
}

#[test]
fn scans_that_begin_one_by_one_give_all_rows() {
    let files = Arc::new(small_files(60));
    let engine = Engine::builder().file_system(files).memory_limit(64 << 20).build();
    for ratio in ["0", "0.7"] {
        let settings = [
            ("table_scan_scaled_processing_enabled", "true"),
            ("table_scan_scale_up_memory_usage_ratio", ratio),
        ];
        let result = engine.query_with("SELECT id FROM 't'", &options(3, &settings)).unwrap();
        let mut read = ids(result).unwrap();
        read.sort_unstable();
        assert_eq!(read, (0..600).collect::<Vec<_>>());
    }
}

/// Files in memory. Once armed, the opening of each file but the last completes only after the
/// opening of the next one has begun, so files that are opened one after another never complete.
#[derive(Debug)]
struct ChainedFiles {
    files: MemoryFiles,
    last: usize,
    opening: Mutex<Opening>,
    begun: Condvar,
}

#[derive(Debug, Default)]
struct Opening {
    is_armed: bool,
    /// The numbers of the files whose opening has begun.
    begun: BTreeSet<usize>,
    now: usize,
    most_at_once: usize,
    /// True after a timeout, when the opening of the next file is not expected any more.
    is_broken: bool,
}

impl ChainedFiles {
    fn new(num_files: usize) -> Arc<Self> {
        let files = small_files(num_files as i64);
        let (opening, begun) = (Mutex::default(), Condvar::new());
        Arc::new(ChainedFiles { files, last: num_files - 1, opening, begun })
    }
}

impl FileSystem for ChainedFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        let number = path.trim_start_matches("t/").trim_end_matches(".parquet").parse().unwrap();
        let start = Instant::now();
        let mut opening = self.opening.lock();
        opening.begun.insert(number);
        opening.now += 1;
        opening.most_at_once = opening.most_at_once.max(opening.now);
        self.begun.notify_all();
        while opening.is_armed
            && number < self.last
            && !opening.is_broken
            && !opening.begun.contains(&(number + 1))
        {
            opening = self.begun.wait_at_most(opening, Duration::from_secs(1));
            opening.is_broken |= start.elapsed() > FOR_EVER;
        }
        opening.now -= 1;
        drop(opening);
        self.files.open(path)
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.files.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.files.list(path)
    }
}

#[test]
fn each_file_is_opened_while_the_next_one_is_being_opened_too() {
    const NUM_FILES: usize = 60;
    for (quota, is_ahead) in [("2", true), ("0", false)] {
        let files = ChainedFiles::new(NUM_FILES);
        let engine = Engine::builder().file_system(Arc::clone(&files) as _).io_threads(2).build();
        let plan = engine.plan("SELECT id FROM 't'").unwrap();
        *files.opening.lock() = Opening { is_armed: is_ahead, ..Opening::default() };
        let result = engine.run(&plan, &options(1, &preload(quota))).unwrap();
        assert_eq!(ids(result).unwrap().len(), NUM_FILES * 10);
        let opening = files.opening.lock();
        assert_eq!(opening.begun.len(), NUM_FILES);
        assert!(!opening.is_broken, "{opening:?}");
        assert_eq!(opening.most_at_once > 1, is_ahead, "{opening:?}");
    }
}
