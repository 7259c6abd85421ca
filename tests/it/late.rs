//! Late materialization of the benchmark's query `late`, checked by counters: a date is decoded
//! only where the ship mode has passed, and the third date only where the first two have.

use arrow_array::{ArrayRef, Date32Array, RecordBatch, StringArray};
use dwio::connector::{ColumnProgress, ScanDetails};
use dwio::fs::MemoryFiles;
use vector::DecodedVector;
use vector::sync::Arc;

use crate::support::files::{Layout, engine_over, in_order, parquet_file};

const ROWS: usize = 60_000;
const MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
const WHERE: &str = "shipmode IN ('AIR', 'MAIL') AND commitdate < receiptdate AND shipdate < \
                     commitdate";

/// Row `n` has a mode and three dates that are computed from `n` and are not ordered.
struct Row {
    mode: &'static str,
    ship: i32,
    commit: i32,
    receipt: i32,
}

impl Row {
    fn at(n: usize) -> Row {
        let noise = |salt: usize| (n + salt).wrapping_mul(2_654_435_761) >> 7;
        let date = |salt, days| 9_000 + i32::try_from(noise(salt) % days).unwrap();
        Row {
            mode: MODES[noise(1) % MODES.len()],
            ship: date(2, 120),
            commit: date(3, 90),
            receipt: date(4, 60),
        }
    }

    fn has_mode(&self) -> bool {
        ["AIR", "MAIL"].contains(&self.mode)
    }

    fn is_late(&self) -> bool {
        self.has_mode() && self.commit < self.receipt
    }
}

fn file(has_dictionary: bool) -> Vec<u8> {
    let rows: Vec<Row> = (0..ROWS).map(Row::at).collect();
    let dates = |of: fn(&Row) -> i32| -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(rows.iter().map(of)))
    };
    let modes: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.mode)));
    let batch = RecordBatch::try_from_iter([
        ("shipmode", modes),
        ("shipdate", dates(|row| row.ship)),
        ("commitdate", dates(|row| row.commit)),
        ("receiptdate", dates(|row| row.receipt)),
    ]);
    let layout = Layout { rows_per_group: ROWS / 3, has_dictionary, ..Layout::default() };
    parquet_file(&batch.unwrap(), layout)
}

/// Returns the count that the query computes, and the details of its scan.
fn run(file: Vec<u8>, condition: &str) -> (usize, ScanDetails) {
    let files = MemoryFiles::new();
    files.put("t.parquet", file);
    let engine = engine_over(&files);
    let sql = format!("SELECT count(*) FROM 't.parquet' WHERE {condition}");
    let mut result = engine.query_with(&sql, &in_order()).unwrap();
    let mut found = 0;
    for batch in &mut result {
        let count = DecodedVector::new(batch.unwrap().child(0).unwrap()).unwrap().value(0);
        found = usize::try_from(count.unwrap().as_i64().unwrap()).unwrap();
    }
    let scan = result.stats().operators.into_iter().find_map(|operator| operator.scan);
    (found, scan.unwrap().details)
}

fn column<'a>(details: &'a ScanDetails, name: &str) -> &'a ColumnProgress {
    details.columns.iter().find(|column| column.name == name).unwrap()
}

#[test]
fn late_never_decodes_a_date_of_a_row_whose_ship_mode_failed() {
    let rows = || (0..ROWS).map(Row::at);
    let with_mode = rows().filter(Row::has_mode).count();
    let late = rows().filter(Row::is_late).count();
    let wanted = rows().filter(|row| row.is_late() && row.ship < row.commit).count();
    assert!(wanted < late && late < with_mode && with_mode < ROWS);
    for has_dictionary in [true, false] {
        let (found, details) = run(file(has_dictionary), WHERE);
        assert_eq!(found, wanted);
        let decoded = |name: &str| column(&details, name).values_decoded as usize;
        let dates = ["commitdate", "receiptdate", "shipdate"].map(decoded);
        assert_eq!(dates, [with_mode, with_mode, late], "dictionary: {has_dictionary}");
    }
}

#[test]
fn late_reads_no_date_where_no_ship_mode_passes() {
    for has_dictionary in [true, false] {
        let condition = WHERE.replace("'AIR', 'MAIL'", "'REG'");
        let (found, details) = run(file(has_dictionary), &condition);
        assert_eq!(found, 0);
        for name in ["commitdate", "receiptdate", "shipdate"] {
            let dates = details.columns.iter().find(|column| column.name == name);
            let (decoded, read) = dates.map_or((0, 0), |c| (c.values_decoded, c.pages_read));
            assert_eq!((decoded, read), (0, 0), "{name}, dictionary: {has_dictionary}");
        }
    }
}
