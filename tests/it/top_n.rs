//! ORDER BY with LIMIT: the bound of TopN is pushed into the scan, and the result stays the same.

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int64Array, RecordBatch};
use dwio::fs::MemoryFiles;
use ocior::Engine;
use vector::sync::Arc;

use crate::support::files::{
    Layout, engine_over, in_order, lines, lines_of, put_table, with_drivers,
};
use crate::support::random::Random;

const ROWS: usize = 12_000;

/// Order of the values of a file.
#[derive(Debug, Clone, Copy)]
enum Run {
    Up,
    Down,
    Anyhow,
}

/// Returns rows in which `id` counts; all other columns have nulls and repeated values.
fn rows(run: Run) -> RecordBatch {
    let mut random = Random::new(7);
    let (mut n, mut f, mut s) = (Int64Builder::new(), Float64Builder::new(), StringBuilder::new());
    let (mut days, mut amounts) = (Vec::new(), Vec::new());
    for id in 0..ROWS {
        let value = match run {
            Run::Up => id / 3,
            Run::Down => (ROWS - id) / 3,
            Run::Anyhow => random.below(ROWS as u64 / 3) as usize,
        } as i64;
        let mut some = || !random.once_in(20);
        n.append_option(some().then_some(value));
        let float = if value % 997 == 5 { f64::NAN } else { value as f64 / 8.0 - 100.0 };
        f.append_option(some().then_some(float));
        s.append_option(some().then(|| format!("{value:07}")));
        days.push(some().then_some(i32::try_from(value).unwrap() - 500));
        amounts.push(some().then_some(i128::from(value) * 1_000_000_007 - 9));
    }
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let amounts = Decimal128Array::from(amounts).with_precision_and_scale(38, 4).unwrap();
    RecordBatch::try_from_iter([
        ("id", ids),
        ("n", Arc::new(n.finish()) as ArrayRef),
        ("f", Arc::new(f.finish()) as ArrayRef),
        ("s", Arc::new(s.finish()) as ArrayRef),
        ("d", Arc::new(Date32Array::from(days)) as ArrayRef),
        ("m", Arc::new(amounts) as ArrayRef),
    ])
    .unwrap()
}

/// Returns an engine over the rows as the table `t`, in files of `rows_per_file` rows.
fn engine(run: Run, rows_per_file: usize) -> Engine {
    let files = MemoryFiles::new();
    let layout = Layout { rows_per_group: 1_000, ..Layout::default() };
    put_table(&files, "t", &rows(run), (rows_per_file, layout));
    engine_over(&files)
}

#[test]
fn the_first_rows_in_order_are_those_of_the_whole_order() {
    for run in [Run::Up, Run::Down, Run::Anyhow] {
        let engine = engine(run, 4_000);
        for column in ["n", "f", "s", "d", "m"] {
            for order in ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"] {
                let from = format!("SELECT id, {column} FROM 't' ORDER BY {column}{order}, id");
                let whole = lines_of(&engine, &from).unwrap();
                for (count, offset) in [(1, 0), (7, 3), (500, 0), (3_000, 20)] {
                    let sql = format!("{from} LIMIT {count} OFFSET {offset}");
                    for drivers in [1, 3] {
                        let found = engine.query_with(&sql, &with_drivers(drivers)).unwrap();
                        let found = lines(found).unwrap();
                        assert_eq!(found, whole[offset..offset + count], "{run:?} {drivers} {sql}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_stands_below_changes_no_row() {
    let engine = engine(Run::Anyhow, 4_000);
    let tables = [
        "(SELECT id, n AS k FROM 't' WHERE f > 100.5)",
        "(SELECT max(id) AS id, n AS k FROM 't' GROUP BY n)",
        "(SELECT id, n AS k FROM 't' UNION ALL SELECT id + 100000, n + 1 FROM 't')",
        "(SELECT id, n AS k FROM 't' UNION ALL SELECT id + 100000, n FROM 't')",
        "(SELECT a.id AS id, a.n AS k FROM 't' a LEFT JOIN 't' b ON a.id = b.n)",
        "(SELECT b.id AS id, b.n AS k FROM 't' a RIGHT JOIN 't' b ON a.n = b.id)",
        "(SELECT id, n AS k FROM 't' ORDER BY f, id LIMIT 4000)",
        "(SELECT id, -n AS k FROM 't')",
        "(SELECT DISTINCT id / 7 AS id, n AS k FROM 't')",
    ];
    for table in tables {
        for order in ["k DESC NULLS LAST, id", "k NULLS LAST, id", "k NULLS FIRST, id DESC"] {
            let from = format!("SELECT id, k FROM {table} t ORDER BY {order}");
            let whole = lines_of(&engine, &from).unwrap();
            for drivers in [1, 3] {
                let sql = format!("{from} LIMIT 40");
                let found = engine.query_with(&sql, &with_drivers(drivers)).unwrap();
                assert_eq!(lines(found).unwrap(), whole[..40], "{drivers} {sql}");
            }
        }
    }
}

/// Returns the number of rows of `t` that the scan of a statement read.
fn rows_scanned(engine: &Engine, sql: &str) -> u64 {
    let mut result = engine.query_with(sql, &in_order()).unwrap();
    result.by_ref().for_each(|batch| drop(batch.unwrap()));
    result.stats().operators.iter().map(|operator| operator.raw_rows).sum()
}

#[test]
fn of_sorted_row_groups_those_that_have_the_first_rows_are_read() {
    for run in [Run::Up, Run::Down] {
        let engine = engine(run, ROWS);
        for column in ["n", "s", "d", "m"] {
            for order in ["ASC", "DESC"] {
                let sql = format!(
                    "SELECT id, {column} FROM 't' WHERE {column} IS NOT NULL \
                     ORDER BY {column} {order} LIMIT 10"
                );
                let scanned = rows_scanned(&engine, &sql);
                assert!(scanned <= 2_000, "{run:?} {sql}: {scanned}");
            }
        }
    }
}
