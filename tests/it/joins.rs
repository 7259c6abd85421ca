//! Joins in SQL: random joins compared with loops over all pairs of rows, the columns that are
//! read, and dynamic filters.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use dwio::fs::{MemoryFiles, ObservedFiles};
use ocior::Engine;
use parquet::basic::Compression;

use crate::support::files::{
    Layout, engine_over, lines, lines_of, numbers, parquet_file, put_table, with_drivers,
};
use crate::support::random::Random;

/// A row of a test table: `k`, `s`, `x`.
type Row = (Option<i64>, Option<String>, Option<i64>);

fn random_rows(random: &mut Random, num_rows: usize) -> Vec<Row> {
    let maybe = |random: &mut Random, n: u64| {
        let value = random.below(n) as i64;
        (random.below(8) > 0).then_some(value)
    };
    (0..num_rows)
        .map(|_| {
            let s = maybe(random, 3).map(|n| "s".repeat(n as usize * 7));
            (maybe(random, 9), s, maybe(random, 20))
        })
        .collect()
}

fn put(files: &MemoryFiles, folder: &str, rows: &[Row]) {
    let k: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|r| r.0)));
    let s: ArrayRef = Arc::new(StringArray::from_iter(rows.iter().map(|r| r.1.as_deref())));
    let x: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|r| r.2)));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("k", k, true), ("s", s, true), ("x", x, true)]);
    let layout = Layout { rows_per_page: 16, rows_per_group: 40, ..Layout::default() };
    put_table(files, folder, &batch.unwrap(), (rows.len() / 3 + 1, layout));
}

/// Returns the rows of `a JOIN b` of some kind, with the `x` of each side, where `meets` is the
/// condition.
fn paired(kind: &str, a: &[Row], b: &[Row], meets: impl Fn(&Row, &Row) -> bool) -> Vec<String> {
    let text = |x: Option<i64>| x.map_or("null".to_string(), |x| x.to_string());
    let line = |l: Option<&Row>, r: Option<&Row>| {
        let side = |row: Option<&Row>| text(row.and_then(|row| row.2));
        format!(r#"{{"ax":{},"bx":{}}}"#, side(l), side(r))
    };
    let left_alone = |l: &&Row| !b.iter().any(|r| meets(l, r));
    let right_alone = |r: &&Row| !a.iter().any(|l| meets(l, r));
    let mut rows = Vec::new();
    if matches!(kind, "JOIN" | "LEFT JOIN" | "RIGHT JOIN" | "FULL JOIN") {
        for l in a {
            rows.extend(b.iter().filter(|r| meets(l, r)).map(|r| line(Some(l), Some(r))));
        }
    }
    match kind {
        "SEMI JOIN" => {
            rows.extend(a.iter().filter(|l| !left_alone(l)).map(|l| line(Some(l), None)))
        }
        "ANTI JOIN" => rows.extend(a.iter().filter(left_alone).map(|l| line(Some(l), None))),
        _ => {}
    }
    if matches!(kind, "LEFT JOIN" | "FULL JOIN") {
        rows.extend(a.iter().filter(left_alone).map(|l| line(Some(l), None)));
    }
    if matches!(kind, "RIGHT JOIN" | "FULL JOIN") {
        rows.extend(b.iter().filter(right_alone).map(|r| line(None, Some(r))));
    }
    rows.sort();
    rows
}

#[test]
fn joins_of_all_kinds_give_what_loops_over_all_pairs_give() {
    let equal = |a: &Option<i64>, b: &Option<i64>| a.is_some() && a == b;
    let same_text = |a: &Row, b: &Row| a.1.is_some() && a.1 == b.1;
    let less = |a: &Row, b: &Row| matches!((a.2, b.2), (Some(x), Some(y)) if x < y);
    type Meets<'a> = &'a dyn Fn(&Row, &Row) -> bool;
    let conditions: [(&str, Meets<'_>); 5] = [
        ("a.k = b.k", &|a, b| equal(&a.0, &b.0)),
        ("a.k = b.k AND a.s = b.s", &|a, b| equal(&a.0, &b.0) && same_text(a, b)),
        ("b.s = a.s AND a.x < b.x", &|a, b| same_text(a, b) && less(a, b)),
        ("a.k + 1 = b.k AND a.x > 4 AND b.x > 6", &|a, b| {
            equal(&a.0.map(|k| k + 1), &b.0)
                && a.2.is_some_and(|x| x > 4)
                && b.2.is_some_and(|x| x > 6)
        }),
        ("a.x < b.x", &less),
    ];
    let mut random = Random::new(5);
    for (num_left, num_right) in [(70, 20), (15, 90), (1, 0), (0, 5)] {
        let (a, b) = (random_rows(&mut random, num_left), random_rows(&mut random, num_right));
        let files = MemoryFiles::new();
        put(&files, "a", &a);
        put(&files, "b", &b);
        let engine = engine_over(&files);
        for kind in ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"] {
            let gives_right = !kind.starts_with("SEMI") && !kind.starts_with("ANTI");
            let of_right = if gives_right { "b.x" } else { "CAST(NULL AS BIGINT)" };
            for (condition, meets) in conditions {
                let sql = format!(
                    "SELECT a.x AS ax, {of_right} AS bx FROM 'a' a {kind} 'b' b \
                     ON {condition}"
                );
                let want = paired(kind, &a, &b, meets);
                for drivers in [1, 3] {
                    let options = with_drivers(drivers);
                    let mut found = lines(engine.query_with(&sql, &options).unwrap()).unwrap();
                    found.sort();
                    assert_eq!(found, want, "{sql} of {num_left} and {num_right} rows");
                }
            }
        }
    }
}

/// Returns an engine over tables of a narrow column `x` and a wide one, whose file reads are
/// counted.
fn wide_tables() -> (Engine, ObservedFiles, u64) {
    let files = MemoryFiles::new();
    let mut bytes = 0;
    for (name, num_rows) in [("parquet", 20_000), ("parquet2", 5_000)] {
        let x = numbers(num_rows).column(0).clone();
        let text = |column: &str| -> ArrayRef {
            let value = |i| format!("{column} {:0>150}", i * 7_919 % 20_011);
            Arc::new(StringArray::from_iter_values((0..num_rows).map(value)))
        };
        let columns = [("x", x), ("y", text("y")), ("z", text("z")), ("w", text("w"))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let codec = Compression::UNCOMPRESSED;
        let layout = Layout { has_dictionary: false, codec, ..Layout::default() };
        let file = parquet_file(&batch, layout);
        bytes += file.len() as u64;
        files.put(format!("{name}.parquet"), file);
    }
    let observed = ObservedFiles::new(Arc::new(files));
    let mut engine = Engine::builder().file_system(Arc::new(observed.clone())).build();
    for name in ["parquet", "parquet2"] {
        engine.register_table(name, &format!("{name}.parquet")).unwrap();
    }
    (engine, observed, bytes)
}

#[test]
fn a_left_join_reads_only_the_columns_it_needs_of_each_table() {
    let sql = "select a.x, b.y from parquet a left join parquet2 b on (a.x = b.x)";
    let (engine, observed, all) = wide_tables();
    let rows = lines_of(&engine, sql).unwrap();
    assert_eq!(rows.len(), 20_000);
    let last = format!(r#"{{"x":4999,"y":"y {:0>150}"}}"#, 5_323);
    assert!(rows.contains(&last), "{}", rows[4_999]);
    assert!(rows.contains(&r#"{"x":5000,"y":null}"#.to_string()));
    // Of eight columns three are read: both x and one of the six wide ones.
    let read = observed.read_bytes();
    assert!(read * 2 < all, "{read} of {all} bytes");
}

#[test]
fn an_inner_join_tells_the_larger_side_which_keys_have_partners() {
    let (engine, _, _) = wide_tables();
    let sql = "SELECT count(*) AS c, min(a.y) AS lo FROM parquet a JOIN parquet2 b ON a.x = b.x \
        WHERE b.x BETWEEN 100 AND 129 OR b.x = 4000";
    for drivers in [1, 3] {
        let options = with_drivers(drivers);
        let mut result = engine.query_with(sql, &options).unwrap();
        let batch = result.next_batch().unwrap().unwrap();
        assert_eq!(batch.len(), 1);
        assert!(result.next_batch().unwrap().is_none());
        let stats = result.stats();
        let metric = |operator: &str, name: &str| -> i64 {
            let of_name = stats.operators.iter().filter(|o| o.operator == operator);
            of_name.map(|o| o.metrics.sum(name)).sum()
        };
        assert_eq!(metric("HashProbe", "dynamicFiltersProduced"), 1);
        assert!(metric("TableScan", "dynamicFiltersAccepted") >= 1);
        assert_eq!(metric("HashProbe", "replacedWithDynamicFilterRows"), 31);
        let scanned = stats.operators.iter().filter(|o| o.operator == "TableScan");
        assert_eq!(scanned.map(|o| o.output_rows).sum::<u64>(), 2 * 31);
    }
}

#[test]
fn columns_of_using_are_given_once_and_stars_give_both_sides() {
    let files = MemoryFiles::new();
    let row = |k: i64, s: &str, x: i64| (Some(k), Some(s.to_string()), Some(x));
    put(&files, "a", &[row(1, "a", 10), row(2, "b", 20)]);
    put(&files, "b", &[row(2, "b", 200), row(3, "c", 300)]);
    let engine = engine_over(&files);
    let query = |sql: &str| {
        let mut rows = lines_of(&engine, sql).unwrap();
        rows.sort();
        rows
    };
    assert_eq!(
        query("SELECT * FROM 'a' FULL JOIN 'b' USING (k, s)"),
        [
            r#"{"k":1,"s":"a","x":10,"x":null}"#,
            r#"{"k":2,"s":"b","x":20,"x":200}"#,
            r#"{"k":3,"s":"c","x":null,"x":300}"#
        ]
    );
    assert_eq!(
        query("SELECT k, b.*, a.k AS ak FROM 'a' a RIGHT JOIN 'b' b USING (k)"),
        [r#"{"k":2,"k":2,"s":"b","x":200,"ak":2}"#, r#"{"k":3,"k":3,"s":"c","x":300,"ak":null}"#]
    );
    assert_eq!(
        query("SELECT a.x + b.x AS x FROM 'a' a, 'b' b WHERE a.k = b.k - 1"),
        [r#"{"x":210}"#, r#"{"x":320}"#]
    );
    let natural = "SELECT count(*) AS c FROM 'a' NATURAL JOIN 'b'";
    assert_eq!(query(natural), [r#"{"c":0}"#]);
}
