//! A table of 2,000 files: partitions that a query does not ask for are not opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int16Array, Int32Array, Int64Array, RecordBatch};
use dwio::fs::{MemoryFiles, ObservedFiles};
use ocior::{Engine, ScanRequest};

use crate::support::files::{Layout, in_order, lines, lines_of, numbers_file, parquet_file};

const NUM_DAYS: usize = 25;
const NUM_SHOPS: usize = 20;
const FILES_PER_PARTITION: usize = 4;
const ROWS_PER_FILE: usize = 3;

/// `sales/day=2026-01-DD/shop=N/part-N.parquet`, a marker of success, and a hidden file.
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

/// Runs the query and gives its lines and the distinct files that were opened.
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
    // The columns of the table come from its first file.
    assert!(opened.len() <= 1, "{opened:?}");
}

/// Later files have wider types and more columns, and one has a column called like a made one.
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

/// Rows of two columns, the second of which may be missing.
fn rows_with(numbers: &[i64], more: Option<&[i64]>) -> Vec<u8> {
    let column = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let columns = [("n", Some(column(numbers))), ("more", more.map(column))];
    let columns = columns.into_iter().filter_map(|(name, column)| Some((name, column?)));
    parquet_file(&RecordBatch::try_from_iter(columns).unwrap(), Layout::default())
}

/// Files of one partition have a column that those of the others have not.
#[test]
fn a_column_of_any_file_is_known_whatever_a_condition_leaves() {
    let files = MemoryFiles::new();
    files.put("t/k=1/a.parquet", rows_with(&[1, 2], None));
    files.put("t/k=2/a.parquet", rows_with(&[3], Some(&[30])));
    files.put("u", rows_with(&[1, 3], Some(&[30, 31])));
    let narrow = Arc::new(Int16Array::from(vec![1])) as ArrayRef;
    let narrow = RecordBatch::try_from_iter([("x", narrow)]).unwrap();
    let wide = Arc::new(Int32Array::from(vec![70_000])) as ArrayRef;
    let wide = RecordBatch::try_from_iter([("x", wide)]).unwrap();
    for table in ["v", "w"] {
        files.put(format!("{table}/k=1/a.parquet"), parquet_file(&narrow, Layout::default()));
        files.put(format!("{table}/k=2/a.parquet"), parquet_file(&wide, Layout::default()));
    }
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    let null = [r#"{"n":1,"more":null}"#, r#"{"n":2,"more":null}"#];
    for (sql, expected) in [
        ("SELECT n, more FROM 't' WHERE k = 1 ORDER BY n", &null[..]),
        ("SELECT n, t.more FROM 't' WHERE k = 1 AND more IS NULL ORDER BY n", &null),
        ("SELECT n, more FROM 't' WHERE k = 1 AND more > 0", &[]),
        ("SELECT n, more FROM 't' WHERE k = 7", &[]),
        ("SELECT count(more) AS c FROM 't' WHERE k = 7", &[r#"{"c":0}"#]),
        ("SELECT count(more) AS c FROM 't' WHERE k = 2", &[r#"{"c":1}"#]),
        ("SELECT max(t.more) AS m FROM 't' JOIN 'u' ON t.n = u.n WHERE k = 1", &[r#"{"m":null}"#]),
        // The name is not that of the table around, nor is the column left out of a natural join.
        ("SELECT n FROM 'u' WHERE EXISTS (SELECT 1 FROM 't' WHERE k = 1 AND more = 30)", &[]),
        ("SELECT n FROM 'u' WHERE n IN (SELECT more - 29 FROM 't' WHERE k = 1)", &[]),
        ("SELECT n FROM 't' NATURAL JOIN 'u' WHERE k = 1", &[]),
        (
            "SELECT u.n FROM 'u' WHERE EXISTS (SELECT 1 FROM 't' WHERE k = 1 AND t.n = u.n)",
            &[r#"{"n":1}"#],
        ),
    ] {
        assert_eq!(lines_of(&engine, sql).unwrap(), expected, "{sql}");
    }
    // The condition does not come to the scan: all files are read, with the types of all.
    for (sql, expected) in [
        (
            "SELECT u.n, t.more FROM 'u' LEFT JOIN 't' ON t.n = u.n WHERE t.k = 2 OR t.k IS NULL",
            &[r#"{"n":3,"more":30}"#][..],
        ),
        (
            "SELECT u.n, w.x FROM 'u' LEFT JOIN 'w' ON w.x > u.n WHERE w.k = 2 AND u.n = 1",
            &[r#"{"n":1,"x":70000}"#],
        ),
        ("SELECT w.x FROM 'u' FULL JOIN 'w' ON w.x = u.n WHERE w.k = 1", &[r#"{"x":1}"#]),
        ("SELECT u.n, w.x FROM 'u' FULL JOIN 'w' ON w.x = u.n WHERE 1 > 2", &[]),
        ("SELECT w.x FROM 'u' LEFT JOIN 'w' ON w.x = u.n WHERE w.k = 1", &[r#"{"x":1}"#]),
        ("SELECT w.x FROM 'w' JOIN 'v' USING (k) WHERE k = 1", &[r#"{"x":1}"#]),
        ("SELECT u.n FROM 'u' SEMI JOIN 'w' ON w.x = u.n WHERE u.n = 1", &[r#"{"n":1}"#]),
    ] {
        assert_eq!(lines_of(&engine, sql).unwrap(), expected, "{sql}");
    }
    let error = lines_of(&engine, "SELECT mroe FROM 't' WHERE k = 1").unwrap_err().to_string();
    assert!(error.contains("mroe") && error.contains("did you mean \"more\"?"), "{error}");
    let request = ScanRequest {
        paths: vec!["t".into()],
        columns: Some(vec!["n".into(), "more".into()]),
        filter: Some("k = 1".into()),
        limit: None,
    };
    assert_eq!(lines(engine.scan(&request, &in_order()).unwrap()).unwrap(), null);
}
