//! A table of 2,000 files: partitions that a query excludes are not opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use dwio::fs::{MemoryFiles, ObservedFiles};
use ocior::Engine;

use crate::support::files::{Layout, lines_of, numbers_file, parquet_file};

const NUM_DAYS: usize = 25;
const NUM_SHOPS: usize = 20;
const FILES_PER_PARTITION: usize = 4;
const ROWS_PER_FILE: usize = 3;

/// Creates `sales/day=2026-01-DD/shop=N/part-N.parquet`, a success marker, and a hidden file.
fn table() -> (Engine, ObservedFiles) {
    let files = MemoryFiles::new();
    let bytes = numbers_file(ROWS_PER_FILE);
    for day in 1..=NUM_DAYS {
        for shop in 0..NUM_SHOPS {
            for part in 0..FILES_PER_PARTITION {
                let path = format!("sales/day=2026-01-{day:02}/shop={shop}/part-{part}.parquet");
                files.put(path, bytes.clone());
            }
        }
    }
    files.put("sales/_SUCCESS", Vec::new());
    files.put("sales/day=2026-01-01/shop=0/.part-0.parquet.crc", vec![1, 2, 3]);
    let observed = ObservedFiles::new(Arc::new(files));
    (Engine::builder().file_system(Arc::new(observed.clone())).build(), observed)
}

/// Runs the query and returns its lines and the distinct files that were opened.
fn run(sql: &str) -> (Vec<String>, BTreeSet<String>) {
    let (engine, observed) = table();
    let lines = lines_of(&engine, sql).unwrap();
    (lines, observed.opened().into_iter().collect())
}

#[test]
fn only_files_of_the_asked_partitions_are_opened() {
    let (lines, opened) =
        run("SELECT count(*) AS c, sum(n) AS s FROM 'sales' WHERE day = '2026-01-07' AND shop = 3");
    assert_eq!(lines, [r#"{"c":12,"s":12}"#]);
    let want: BTreeSet<String> = (0..FILES_PER_PARTITION)
        .map(|part| format!("sales/day=2026-01-07/shop=3/part-{part}.parquet"))
        .collect();
    assert_eq!(opened, want);
}

#[test]
fn ranges_and_lists_of_partition_keys_choose_partitions_too() {
    let (lines, opened) = run("SELECT day, count(*) AS c, min(n) AS lo FROM 'sales' \
        WHERE day >= '2026-01-24' AND shop IN (1, 19) AND n < 2 GROUP BY day ORDER BY day");
    let want = [r#"{"day":"2026-01-24","c":16,"lo":0}"#, r#"{"day":"2026-01-25","c":16,"lo":0}"#];
    assert_eq!(lines, want);
    assert_eq!(opened.len(), 2 * 2 * FILES_PER_PARTITION);
}

#[test]
fn conditions_over_several_keys_choose_partitions() {
    let (lines, opened) = run("SELECT count(*) AS c, max(n) AS hi FROM 'sales' \
        WHERE (day = '2026-01-01' AND shop = 0) OR (day = '2026-01-02' AND shop = 1)");
    assert_eq!(lines, [r#"{"c":24,"hi":2}"#]);
    assert_eq!(opened.len(), 2 * FILES_PER_PARTITION);
}

#[test]
fn a_whole_table_is_read_file_by_file() {
    let (lines, opened) = run("SELECT count(*) AS c, sum(n) AS s FROM 'sales'");
    let num_files = NUM_DAYS * NUM_SHOPS * FILES_PER_PARTITION;
    assert_eq!(num_files, 2000);
    assert_eq!(lines, [format!(r#"{{"c":{},"s":{}}}"#, num_files * 3, num_files * 3)]);
    assert_eq!(opened.len(), num_files);
}

#[test]
fn a_partition_that_does_not_exist_has_no_rows() {
    let (lines, opened) = run("SELECT count(*) AS c FROM 'sales' WHERE day = '2027-01-01'");
    assert_eq!(lines, [r#"{"c":0}"#]);
    // The columns of the table are read from its first file.
    assert!(opened.len() <= 1, "{opened:?}");
}

/// Later files have wider types and more columns, and one has a column with the name of a
/// synthesized column.
#[test]
fn a_table_without_a_schema_is_as_wide_as_its_files() {
    let files = MemoryFiles::new();
    let old =
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)]);
    let wide = Arc::new(Int64Array::from(vec![i64::MAX])) as ArrayRef;
    let names = Arc::new(Int64Array::from(vec![7])) as ArrayRef;
    let new = RecordBatch::try_from_iter([("n", wide), ("$path", names)]);
    files.put("t/a.parquet", parquet_file(&old.unwrap(), Layout::default()));
    files.put("t/b.parquet", parquet_file(&new.unwrap(), Layout::default()));
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    let lines = |sql| lines_of(&engine, sql).unwrap();
    let all = [
        r#"{"n":1,"$path":null}"#,
        r#"{"n":2,"$path":null}"#,
        r#"{"n":9223372036854775807,"$path":7}"#,
    ];
    assert_eq!(lines("SELECT * FROM 't' ORDER BY n"), all);
    assert_eq!(lines("SELECT n FROM 't' WHERE \"$path\" = 7"), [r#"{"n":9223372036854775807}"#]);
    let of_old = "SELECT n, \"$path\" AS p FROM 't/a.parquet' WHERE n = 1";
    assert_eq!(lines(of_old), [r#"{"n":1,"p":"t/a.parquet"}"#]);
}
