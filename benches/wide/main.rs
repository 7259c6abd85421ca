//! Benchmark of a wide file: many columns in many row groups, of which a query reads few.
//!
//! `cargo bench --bench wide` prints the best times in milliseconds to open the file and to read
//! some of its columns, for Ocior and for the `parquet` crate, which parses the whole footer. The
//! footer is most of such a file; the benchmark shows whether the cost of a query is proportional
//! to the columns that it reads. `OCIOR_BENCH_COLUMNS` and `OCIOR_BENCH_ROW_GROUPS` set the size.

use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use bytes::Bytes;
use dwio::config::Config;
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::ReaderParams;
use format_parquet::ParquetReader;
use ocior::{Engine, QueryOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use vector::MemoryPool;
use vector::sync::Arc;

const PATH: &str = "wide.parquet";
/// Number of rows per row group: few, so that the footer dominates.
const ROWS: usize = 100;
/// Numbers of columns that the queries read.
const WANTED: [usize; 4] = [0, 1, 10, 100];
/// Distance between the columns that are read.
const STEP: usize = 7;
/// Number of timed runs of each query.
const RUNS: usize = 9;

fn main() {
    let size =
        |name: &str, or: usize| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let num_columns = size("OCIOR_BENCH_COLUMNS", 1_000);
    let num_groups = size("OCIOR_BENCH_ROW_GROUPS", 100);
    let file = Bytes::from(write(num_columns, num_groups));
    let files = MemoryFiles::new();
    files.put(PATH, file.to_vec());
    let files: Arc<dyn FileSystem> = Arc::new(files);
    let engine = Engine::builder().file_system(Arc::clone(&files)).build();
    let footer_bytes = open(&files).footer().footer_bytes;
    println!(
        "{num_columns} columns, {num_groups} row groups, {} bytes, of which {footer_bytes} footer",
        file.len()
    );
    println!("{:<16}{:>12}{:>16}{:>8}", "", "ocior", "parquet crate", "ratio");
    duel("open", || drop(open(&files)), || drop(builder(&file)));
    for wanted in
        WANTED.into_iter().filter(|wanted| *wanted == 0 || (*wanted - 1) * STEP < num_columns)
    {
        let sums: Vec<String> =
            (0..wanted).map(|i| format!("sum({})", name_of(i * STEP))).collect();
        let what = if sums.is_empty() { "count(*)".to_string() } else { sums.join(", ") };
        let sql = format!("SELECT {what} FROM '{PATH}'");
        duel(&format!("{wanted} columns"), || query(&engine, &sql), || decode(&file, wanted));
    }
}

fn name_of(column: usize) -> String {
    format!("measurement_{column:04}")
}

fn write(num_columns: usize, num_groups: usize) -> Vec<u8> {
    let column = |i: usize, group: usize| -> ArrayRef {
        let numbers = (0..ROWS).map(|row| row * (i + 1) + group);
        match i % 2 {
            0 => Arc::new(Int64Array::from_iter_values(numbers.map(|n| n as i64))),
            _ => Arc::new(Float64Array::from_iter_values(numbers.map(|n| n as f64 / 8.0))),
        }
    };
    let batch = |group: usize| {
        let columns = (0..num_columns).map(|i| (name_of(i), column(i, group)));
        RecordBatch::try_from_iter(columns).expect("equal lengths")
    };
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let schema = batch(0).schema();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties)).expect("a writer");
    for group in 0..num_groups {
        writer.write(&batch(group)).expect("the batch is written");
        writer.flush().expect("the row group is finished");
    }
    writer.close().expect("the file is finished");
    bytes
}

fn open(files: &Arc<dyn FileSystem>) -> ParquetReader {
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(files.open(PATH).expect("the file is there"), pool.clone());
    let params = ReaderParams { options: Config::new(), pool, file_schema: None };
    ParquetReader::open(input, params, None).expect("the file is sound")
}

fn query(engine: &Engine, sql: &str) {
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let result = engine.query_with(sql, &options).expect("the query starts");
    black_box(result.collect_batches().expect("the file is sound"));
}

fn builder(file: &Bytes) -> ParquetRecordBatchReaderBuilder<Bytes> {
    ParquetRecordBatchReaderBuilder::try_new(file.clone()).expect("the file is sound")
}

fn decode(file: &Bytes, wanted: usize) {
    let builder = builder(file);
    let mask = ProjectionMask::leaves(builder.parquet_schema(), (0..wanted).map(|i| i * STEP));
    for batch in builder.with_projection(mask).with_batch_size(8192).build().expect("a reader") {
        black_box(batch.expect("the file is sound"));
    }
}

fn duel(name: &str, mut ocior: impl FnMut(), mut other: impl FnMut()) {
    let mut best = [Duration::MAX; 2];
    for _ in 0..RUNS {
        best[0] = best[0].min(time(&mut ocior));
        best[1] = best[1].min(time(&mut other));
    }
    let [ocior, other] = best.map(|d| d.as_secs_f64() * 1e3);
    println!("{name:<16}{ocior:>9.2} ms{other:>13.2} ms{:>8.2}", other / ocior);
}

fn time(run: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}
