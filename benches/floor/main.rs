//! Benchmark of queries against a lower bound (floor): the time to read and decompress the pages
//! that they must touch.
//!
//! `cargo bench --bench floor [-- DIR]` prints for each query Ocior's best time, that of the floor
//! and their ratio. `DIR` contains `lineitem.parquet` and `orders.parquet` of TPC-H with money as
//! DOUBLE; without it, smaller files of the same schema are generated.
//!
//! A page must be touched unless metadata excludes its rows, or its column is tested by no
//! condition and none of its rows satisfies the conditions. The floor decodes nothing, and it
//! decompresses pages as Ocior does. Both run in alternation, and only the minima are compared.
//!
//! | file | content |
//! |---|---|
//! | `queries` | the queries, with the columns and conditions of each table |
//! | `touched` | the pages that a query must touch, read and decompressed |
//! | `data` | files like those of the benchmark, generated from a seed |

mod data;
mod queries;
mod touched;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ocior::{Engine, QueryOptions};

use queries::Query;
use touched::Touched;

/// Number of timed runs of each side.
const RUNS: usize = 7;

fn main() {
    let given = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let made = std::env::temp_dir().join(format!("ocior-floor-{}", std::process::id()));
    let dir = match &given {
        Some(dir) => PathBuf::from(dir),
        None => {
            data::write(&made);
            made.clone()
        }
    };
    let engine = engine_over(&dir);
    println!("{:<12}{:>11}{:>11}{:>9}{:>13}", "query", "ocior", "floor", "times", "pages");
    for query in queries::all() {
        run(&engine, &dir, &query);
    }
    if given.is_none() {
        std::fs::remove_dir_all(&made).expect("the files can be removed");
    }
}

fn engine_over(dir: &Path) -> Engine {
    let mut engine = Engine::new();
    for table in ["lineitem", "orders"] {
        let path = dir.join(format!("{table}.parquet"));
        engine.register_table(table, &path.to_string_lossy()).expect("a table has a path");
    }
    engine
}

fn run(engine: &Engine, dir: &Path, query: &Query) {
    let mut touched: Vec<Touched> =
        query.tables.iter().map(|table| Touched::find(engine, dir, table)).collect();
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let ocior = || {
        let result = engine.query_with(&query.sql, &options)?;
        result.collect_batches().map(|batches| drop(black_box(batches)))
    };
    if let Err(error) = ocior() {
        println!("{:<12}{error}", query.name);
        return;
    }
    let mut best = [Duration::MAX; 2];
    for _ in 0..RUNS {
        let start = Instant::now();
        ocior().expect("it ran before");
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        touched.iter_mut().for_each(Touched::read);
        best[1] = best[1].min(start.elapsed());
    }
    let [ocior, floor] = best.map(|time| time.as_secs_f64() * 1e3);
    let pages: usize = touched.iter().map(Touched::num_pages).sum();
    let times = match pages {
        0 => "-".to_string(),
        _ => format!("{:.2}", ocior / floor),
    };
    println!("{:<12}{ocior:>8.2} ms{floor:>8.2} ms{times:>9}{pages:>13}", query.name);
}
