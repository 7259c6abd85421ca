//! Benchmark of many small files, with and without preloading of the next splits.
//!
//! `cargo bench --bench small_files` prints, for one and for two drivers, and for storage without
//! latency and with 2 ms to open a file, the best times in seconds of a scan with
//! `max_split_preload_per_driver` 0 and 2, and their ratio: above 1, preloading is faster. Both run
//! in alternation. `OCIOR_BENCH_FILES` is the number of files, 2,000 by default; each has 1,000
//! rows.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use dwio::fs::{FileEntry, FileSystem, LocalAccess, LocalFiles, ReadFile};
use ocior::{Engine, Plan, QueryOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use vector::Result;
use vector::sync::Arc;

const ROWS_PER_FILE: i64 = 1_000;
/// Number of timed runs of each configuration.
const RUNS: usize = 3;

/// Local files with a delay on opening.
#[derive(Debug)]
struct SlowFiles {
    files: LocalFiles,
    delay: Duration,
}

impl FileSystem for SlowFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        self.files.open(path)
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.files.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.files.list(path)
    }
}

fn main() {
    let num_files = std::env::var("OCIOR_BENCH_FILES").ok().and_then(|n| n.parse().ok());
    let num_files: i64 = num_files.unwrap_or(2_000);
    let dir = std::env::temp_dir().join(format!("ocior-small-files-{}", std::process::id()));
    write(&dir, num_files);
    println!("{num_files} files of {ROWS_PER_FILE} rows");
    println!("{:<10}{:>8}{:>10}{:>10}{:>8}", "delay", "drivers", "off", "on", "times");
    for delay in [Duration::ZERO, Duration::from_millis(2)] {
        let files = SlowFiles { files: LocalFiles::new(LocalAccess::default()), delay };
        let engine = Engine::builder().file_system(Arc::new(files)).build();
        let statement = format!("SELECT sum(amount), max(name), count(*) FROM '{}'", dir.display());
        let plan = engine.plan(&statement).expect("the files can be scanned");
        for drivers in [1, 2] {
            compare(&engine, &plan, delay, drivers);
        }
    }
    std::fs::remove_dir_all(&dir).expect("the files can be removed");
}

fn compare(engine: &Engine, plan: &Plan, delay: Duration, drivers: usize) {
    let mut best = [Duration::MAX; 2];
    for _ in 0..RUNS {
        for (quota, best) in ["0", "2"].into_iter().zip(&mut best) {
            let mut options = QueryOptions { drivers, ..QueryOptions::default() };
            options.settings.set("max_split_preload_per_driver", quota);
            let start = Instant::now();
            let rows = engine.run(plan, &options).and_then(|result| result.collect_batches());
            black_box(rows.expect("the files can be scanned"));
            *best = (*best).min(start.elapsed());
        }
    }
    let [off, on] = best.map(|time| time.as_secs_f64());
    println!("{:<10}{drivers:>8}{off:>10.3}{on:>10.3}{:>8.2}", format!("{delay:?}"), off / on);
}

fn write(dir: &Path, num_files: i64) {
    std::fs::create_dir_all(dir).expect("a directory for the files");
    for i in 0..num_files {
        write_file(dir.join(format!("{i:06}.parquet")), i * ROWS_PER_FILE);
    }
}

fn write_file(path: PathBuf, first: i64) {
    let ids = first..first + ROWS_PER_FILE;
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("amount", Arc::new(Float64Array::from_iter_values(ids.clone().map(|i| i as f64 / 4.0)))),
        ("name", Arc::new(StringArray::from_iter_values(ids.map(|i| format!("name {}", i % 97))))),
    ];
    let rows = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).expect("a schema");
    writer.write(&rows).expect("rows are written");
    writer.close().expect("a footer is written");
}
