//! Benchmark of one condition at increasing selectivities, from one row in ten thousand to all
//! rows.
//!
//! `cargo bench --bench selectivity` prints for each kind of column the best time in milliseconds
//! of `SELECT sum(payload), max(text), count(*) WHERE column < bound`, where `bound` is the share
//! of rows in the table's header (half of them in a nullable column). With scattered values no page
//! can be skipped; with clustered values pages are skipped. The last two numbers are the times of
//! the same query without a condition, and of the `parquet` crate decoding the three columns.
//!
//! | file | content |
//! |---|---|
//! | `data` | the kinds of columns, generated from a seed and written to memory |

mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dwio::fs::MemoryFiles;
use ocior::{Engine, QueryOptions};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use vector::sync::Arc;

use data::Kind;

const PATH: &str = "bench.parquet";
/// Shares of rows that pass, in hundredths of a percent.
const SHARES: [u64; 6] = [1, 10, 100, 1_000, 5_000, 10_000];
/// Number of timed runs of each query.
const RUNS: usize = 7;
/// Number of rows per batch of the `parquet` crate, similar to Ocior's default.
const BATCH_ROWS: usize = 8192;

fn main() {
    let rows = std::env::var("OCIOR_BENCH_ROWS").ok().and_then(|n| n.parse().ok());
    let rows: u64 = rows.unwrap_or(1 << 20);
    let file = Bytes::from(data::write(rows, 320));
    let files = MemoryFiles::new();
    files.put(PATH, file.to_vec());
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    print!("{:<20}", "column");
    for share in SHARES {
        print!("{:>9}", format!("{} %", share as f64 / 100.0));
    }
    println!("{:>9}{:>9}", "no cond.", "crate");
    for kind in Kind::ALL {
        for order in ["clustered", "scattered"] {
            sweep(&engine, &file, kind, order, rows);
        }
    }
}

fn sweep(engine: &Engine, file: &Bytes, kind: Kind, order: &str, rows: u64) {
    let name = format!("{}_{order}", kind.name());
    let bounds = SHARES.map(|share| rows * share / 10_000);
    let select = "SELECT sum(payload), max(text), count(*)";
    let statements: Vec<String> = bounds
        .iter()
        .map(|bound| {
            let (column, bound) = (kind.column(order), kind.literal(*bound));
            format!("{select} FROM '{PATH}' WHERE {column} < {bound}")
        })
        .chain([format!("{select} FROM '{PATH}'")])
        .collect();
    let mut best = vec![Duration::MAX; statements.len() + 1];
    for _ in 0..RUNS {
        for (statement, best) in statements.iter().zip(&mut best) {
            *best = (*best).min(time(|| query(engine, statement)));
        }
        let other = time(|| decode(file, &name));
        if let Some(best) = best.last_mut() {
            *best = (*best).min(other);
        }
    }
    print!("{name:<20}");
    best.iter().for_each(|best| print!("{:>9.2}", best.as_secs_f64() * 1e3));
    println!();
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn query(engine: &Engine, sql: &str) {
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let result = engine.query_with(sql, &options).expect("the query starts");
    black_box(result.collect_batches().expect("the file is sound"));
}

fn decode(file: &Bytes, column: &str) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).expect("a footer");
    let mask = ProjectionMask::columns(builder.parquet_schema(), [column, "payload", "text"]);
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    for batch in reader.expect("a reader") {
        black_box(batch.expect("the file is sound"));
    }
}
