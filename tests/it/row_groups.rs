//! Row groups of Parquet files below a Hive scan: which are read, their statistics, and filters
//! that arrive between two batches of a row group (rules S7.70 and following, S12.13, S12.20).

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use connector_hive::{ColumnMapping, HiveTableHandle};
use dwio::connector::{DataSource, SourcePoll};
use dwio::filter::Filter;
use dwio::fs::{MemoryFiles, ObservedFiles};
use dwio::subfield::Subfield;
use vector::{RowType, Type, Value};

use crate::support::files::{Layout, parquet_file};
use crate::support::source::{drained, parquet_split, rows_of, source_of};

const GROUP_ROWS: usize = 100;
const GROUPS: usize = 4;
const ROWS: i64 = (GROUP_ROWS * GROUPS) as i64;

fn columns() -> Vec<(&'static str, Type)> {
    vec![
        ("n", Type::BigInt),
        ("word", Type::Varchar),
        ("s", Type::row([("x", Type::BigInt)])),
        ("l", Type::array(Type::BigInt)),
        ("added", Type::BigInt),
    ]
}

/// Returns a file in which `n` counts rows, `s.x` and the only element of `l` are `n` too, and
/// `word` is one of ten; the file has no column `added`.
fn file() -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let words = (0..ROWS).map(|n| format!("word {}", n % 10));
    let x = Arc::new(Field::new("x", DataType::Int64, true));
    let structs = StructArray::from(vec![(x, Arc::clone(&numbers))]);
    let mut lists = ListBuilder::new(Int64Builder::new());
    for n in 0..ROWS {
        lists.values().append_value(n);
        lists.append(true);
    }
    let rows = RecordBatch::try_from_iter([
        ("n", numbers),
        ("word", Arc::new(StringArray::from_iter_values(words)) as ArrayRef),
        ("s", Arc::new(structs) as ArrayRef),
        ("l", Arc::new(lists.finish()) as ArrayRef),
    ]);
    parquet_file(&rows.unwrap(), Layout { rows_per_group: GROUP_ROWS, ..Layout::default() })
}

fn table() -> HiveTableHandle {
    HiveTableHandle::new("hive", "t")
        .with_data_columns(Arc::new(RowType::new(columns())))
        .with_column_mapping(ColumnMapping::Name)
}

/// Returns a data source with the file as its split.
fn source(table: HiveTableHandle, start: u64, length: u64) -> (Box<dyn DataSource>, ObservedFiles) {
    let files = MemoryFiles::new();
    files.put("f", file());
    let observed = ObservedFiles::new(Arc::new(files));
    let mut source = source_of(Arc::new(observed.clone()), table, &columns());
    source.add_split(Arc::new(parquet_split("f").with_range(start, length))).unwrap();
    (source, observed)
}

fn filtered(path: &str, filter: Filter) -> HiveTableHandle {
    table().with_filter(Subfield::parse(path).unwrap(), Arc::new(filter))
}

/// Returns the numbers of the rows, and how many rows were scanned.
fn read(table: HiveTableHandle) -> (Vec<i64>, u64) {
    let (mut source, _) = source(table, 0, u64::MAX);
    let rows = drained(source.as_mut(), 1000);
    (rows.iter().map(|row| row[0].as_i64().unwrap()).collect(), source.progress().raw_rows)
}

fn range(lower: i64, upper: i64) -> Filter {
    Filter::bigint_range(lower, upper, false)
}

/// A row group belongs to the split that contains its start, a batch never has rows of two row
/// groups, and row numbers count all earlier row groups (rules S7.70, S7.75, S7.76).
#[test]
fn s7_71_row_groups_in_range_are_counted_as_read_or_left_out() {
    let len = file().len() as u64;
    let mut found = Vec::new();
    let mut strides = (0, 0);
    for (start, length) in [(0, len / 3), (len / 3, len / 3), (len / 3 * 2, len)] {
        let (mut source, _) = source(filtered("n", range(150, 250)), start, length);
        found.extend(drained(source.as_mut(), 1000).iter().map(|row| row[0].as_i64().unwrap()));
        let metrics = source.metrics();
        strides.0 += metrics.sum("processedStrides");
        strides.1 += metrics.sum("skippedStrides");
    }
    assert_eq!(found, (150..=250).collect::<Vec<_>>());
    assert_eq!(strides, (2, 2), "each group is of one split and counted there");
    let (mut source, _) = source(table(), 0, u64::MAX);
    let SourcePoll::Batch(first) = source.next(1000).unwrap() else { panic!("no rows") };
    assert_eq!(first.len(), GROUP_ROWS, "a batch is of one row group");
}

/// The bounds of statistics exclude row groups, and row groups without statistics are kept (rules
/// S7.73, S7.74).
#[test]
fn s7_72_a_column_and_the_fields_of_a_struct_leave_groups_out_but_lists_and_missing_columns_not() {
    let all = ROWS as u64;
    let one_group = GROUP_ROWS as u64;
    assert_eq!(read(filtered("n", range(210, 211))), (vec![210, 211], one_group));
    assert_eq!(read(filtered("s.x", range(210, 211))), (vec![210, 211], one_group));
    assert_eq!(read(filtered("l", Filter::IsNotNull)).1, all);
    // A row group without statistics of the column is kept.
    assert_eq!(read(filtered("added", Filter::IsNull)).1, all);
    let words = Filter::bytes_values(vec![Arc::from(*b"word 3")], false);
    let (found, looked_at) = read(filtered("word", words));
    assert_eq!((found.len(), looked_at), (ROWS as usize / 10, all));
    let none = Filter::bytes_values(vec![Arc::from(*b"zebra")], false);
    assert_eq!(read(filtered("word", none)), (vec![], 0));
}

#[test]
fn s7_78_the_size_of_a_row_is_known_before_all_rows_are_read() {
    let (mut source, _) = source(table(), 0, u64::MAX);
    assert!(matches!(source.next(10).unwrap(), SourcePoll::Batch(_)));
    // Two numbers and a list of one, a word, and levels.
    let size = source.progress().row_size.unwrap();
    assert!((8..200).contains(&size), "{size}");
}

#[test]
fn s7_79_a_small_footer_is_read_at_once_and_a_reader_serves_more_than_one_pass() {
    let (mut source, observed) = source(filtered("n", range(-2, -1)), 0, u64::MAX);
    assert_eq!(drained(source.as_mut(), 1000).len(), 0);
    assert_eq!((observed.opens(), observed.reads()), (1, 1));
    // Another range of the same file reads the footer once more and nothing else.
    source.add_split(Arc::new(parquet_split("f").with_range(1_000_000, 10))).unwrap();
    assert_eq!(drained(source.as_mut(), 1000).len(), 0);
    assert_eq!((observed.opens(), observed.reads()), (2, 2));
}

/// A late filter takes effect from the next batch on, also for values of a dictionary that passed
/// the filter before it, and for any column whose cost was measured.
#[test]
fn s12_26_a_filter_that_arrives_between_two_batches_replaces_what_is_known_of_the_first() {
    let words = |words: &[&str]| {
        Filter::bytes_values(words.iter().map(|word| Arc::from(word.as_bytes())).collect(), false)
    };
    let static_filter = words(&["word 1", "word 2", "word 3"]);
    let (mut source, _) = source(filtered("word", static_filter), 0, u64::MAX);
    let first = match source.next(20).unwrap() {
        SourcePoll::Batch(batch) => rows_of(&batch),
        _ => panic!("no rows"),
    };
    let numbers = |rows: &[Vec<Value>]| -> Vec<i64> {
        rows.iter().map(|row| row[0].as_i64().unwrap()).collect()
    };
    // A filter takes effect between two reads, and returned batches stay as they are (rules S12.13,
    // S12.20).
    assert_eq!(numbers(&first), [1, 2, 3, 11, 12, 13]);
    let filters = source.dynamic_filters().unwrap();
    filters.add_dynamic_filter(1, Arc::new(words(&["word 2"]))).unwrap();
    let second = match source.next(20).unwrap() {
        SourcePoll::Batch(batch) => rows_of(&batch),
        _ => panic!("no rows"),
    };
    assert_eq!(numbers(&second), [22, 32]);
    // The filters are ordered anew after a new filter: `word` has a measured cost, `n` has none yet
    // (rule S12.27).
    let filters = source.dynamic_filters().unwrap();
    filters.add_dynamic_filter(0, Arc::new(range(95, 112))).unwrap();
    assert_eq!(numbers(&drained(source.as_mut(), 20)), [102, 112]);
}
