//! Queries against their floor: reading and decompressing the pages that they must touch.
//!
//! `cargo bench --bench floor [-- DIR]` prints for each query Ocior's best time, the floor's and how
//! many times the floor that is. `DIR` has `lineitem.parquet` and `orders.parquet` of TPC-H with
//! money as DOUBLE; without it smaller files of that shape are made.
//!
//! A page must be touched when metadata does not rule out its rows and, unless a condition tests the
//! column, one of its rows fulfils the conditions. Nothing is decoded for the floor, and pages are
//! decompressed as Ocior does it; both run in turn and only minima count.
//!
//! | file | has |
//! |---|---|
//! | `queries` | the queries, with the columns and conditions of each table |
//! | `touched` | the pages that a query must touch, read and decompressed |
//! | `data` | files like those of the benchmark, made from a seed |

mod data;
mod queries;
mod touched;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ocior::{Engine, QueryOptions};

use queries::Query;
use touched::Touched;

/// Timed runs of each side.
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
