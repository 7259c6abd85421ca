//! An error in any stage of a query reaches the caller once, with its file, split and operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use dwio::fs::MemoryFiles;
use ocior::Engine;
use parquet::file::metadata::ParquetMetaDataReader;
use vector::{Error, ErrorKind};

use crate::support::faults::{FaultyFiles, FileOp};
use crate::support::files::{Layout, parquet_file, with_drivers};

const ROWS: i64 = 2_000;

/// Returns columns `k` and `n`, which are the row number, and `m`, a large number; one page each.
fn table() -> RecordBatch {
    let column = |f: fn(i64) -> i64| Arc::new((0..ROWS).map(f).collect::<Int64Array>()) as ArrayRef;
    let columns =
        [("k", column(|i| i)), ("n", column(|i| i)), ("m", column(|i| i64::MAX / 1_500 + i))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn file() -> Vec<u8> {
    let layout = Layout { has_dictionary: false, ..Layout::default() };
    parquet_file(&table(), layout)
}

/// Returns the file with the page of its last column overwritten.
fn with_broken_last_column() -> Vec<u8> {
    let mut bytes = file();
    let footer = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone()));
    let (start, len) = footer.unwrap().row_group(0).column(2).byte_range();
    let start = usize::try_from(start).unwrap();
    bytes[start..start + usize::try_from(len).unwrap()].fill(0xff);
    bytes
}

/// Fault of the second file of the table.
enum Wrong {
    Nothing,
    Bytes(Vec<u8>),
    Open,
    Read,
}

/// Returns the only error of a query over a table of two files, the second of which has a fault.
fn error_of(sql: &str, drivers: usize, wrong: &Wrong) -> Error {
    let files = MemoryFiles::new();
    files.put("/t/a.parquet", file());
    files.put(
        "/t/b.parquet",
        match wrong {
            Wrong::Bytes(bytes) => bytes.clone(),
            _ => file(),
        },
    );
    let (fails_open, fails_read) = (matches!(wrong, Wrong::Open), matches!(wrong, Wrong::Read));
    // Files are opened and inspected while a query is planned, before the fault is armed.
    let runs = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&runs);
    let faulty = FaultyFiles::new(Arc::new(files), move |op| {
        let hit = armed.load(Ordering::SeqCst)
            && match op {
                FileOp::Open { path } => fails_open && path.ends_with("b.parquet"),
                FileOp::Read { path } => fails_read && path.ends_with("b.parquet"),
            };
        if hit { Err(Error::io("the disk is on fire")) } else { Ok(()) }
    });
    let engine = Engine::builder().file_system(Arc::new(faulty)).build();
    let options = with_drivers(drivers);
    let plan = engine.plan_with(sql, &options).unwrap();
    runs.store(true, Ordering::SeqCst);
    let mut errors: Vec<Error> =
        engine.run(&plan, &options).unwrap().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1, "{sql} with {drivers} drivers");
    assert_eq!(engine.memory_pool().used(), 0);
    errors.remove(0)
}

#[test]
fn an_error_in_any_stage_reaches_the_caller_once_with_its_split_and_operator() {
    let mut footer = file();
    let end = footer.len();
    footer[end - 60..end - 8].fill(0xff);
    let broken = with_broken_last_column();
    use ErrorKind::{Corrupt, InvalidInput, Io};
    // After a filter that is not pushed down, columns are loaded when they are first used.
    let late = "FROM '/t' WHERE k % 7 = 3";
    let stages = [
        ("open", "SELECT n FROM '/t'", Wrong::Open, Io, ["TableScan"; 2]),
        ("read", "SELECT n FROM '/t'", Wrong::Read, Io, ["TableScan"; 2]),
        ("footer", "SELECT n FROM '/t'", Wrong::Bytes(footer), Corrupt, ["TableScan"; 2]),
        (
            "page",
            "SELECT n FROM '/t' WHERE m > 6148914691236600",
            Wrong::Bytes(broken.clone()),
            Corrupt,
            ["TableScan"; 2],
        ),
        (
            "remaining filter",
            "SELECT n FROM '/t' WHERE 10 / (n - 1000) + k > 1",
            Wrong::Nothing,
            InvalidInput,
            ["TableScan"; 2],
        ),
        (
            "expression",
            "SELECT 10 / (n - 1000) FROM '/t'",
            Wrong::Nothing,
            InvalidInput,
            ["FilterProject"; 2],
        ),
        (
            "lazy load in an expression",
            &format!("SELECT m + 1 {late}"),
            Wrong::Bytes(broken.clone()),
            Corrupt,
            ["FilterProject"; 2],
        ),
        (
            "lazy load in an aggregate",
            &format!("SELECT max(m) {late}"),
            Wrong::Bytes(broken.clone()),
            Corrupt,
            ["Aggregation"; 2],
        ),
        (
            "lazy load before sorting",
            &format!("SELECT m, k {late} ORDER BY m"),
            Wrong::Bytes(broken.clone()),
            Corrupt,
            ["OrderBy"; 2],
        ),
        (
            "lazy load at the end",
            &format!("SELECT m {late}"),
            Wrong::Bytes(broken),
            Corrupt,
            ["TableScan", "LocalExchangeSink"],
        ),
    ];
    for (stage, sql, wrong, kind, operators) in &stages {
        for (drivers, operator) in [1, 2].into_iter().zip(operators) {
            let error = error_of(sql, drivers, wrong);
            let text = format!("{stage}, {drivers} drivers: {error}");
            assert_eq!(error.kind(), *kind, "{text}");
            assert!(text.contains("split \"/t/"), "{text}");
            assert!(text.contains(&format!("operator \"{operator}")), "{text}");
            assert_eq!(text.matches("operator \"").count(), 1, "{text}");
            if stage.starts_with("lazy") || *stage == "page" {
                let place = "column \"m\", row group 0, file \"/t/b.parquet\"";
                assert!(text.contains(place) && text.contains("split \"/t/b.parquet"), "{text}");
            }
        }
    }
}

#[test]
fn an_error_after_the_last_split_names_its_operator_alone() {
    for drivers in [1, 2] {
        let error = error_of("SELECT sum(m) FROM '/t'", drivers, &Wrong::Nothing);
        let text = "invalid input: a sum does not fit its type (type=BIGINT)\n  in operator \
                    \"Aggregation[1]\"";
        assert_eq!(error.to_string(), text);
    }
}
