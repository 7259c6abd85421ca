//! Pages, dictionaries, bloom filters, statistics and notes of sound files.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use super::json;
use crate::support::command::{Scratch, ocior};
use crate::support::pages::file_with_checksums;

/// Returns two columns, 300 rows in pages of 100: `n` counts up, `s` has three values and a null.
fn written(properties: WriterProperties) -> Vec<u8> {
    let numbers = Int64Array::from_iter_values(0..300);
    let words = ["a", "bb", "ccc"];
    let strings =
        StringArray::from_iter((0..300).map(|i| (i != 7).then_some(words[i % words.len()])));
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(numbers) as ArrayRef, false),
        ("s", Arc::new(strings) as ArrayRef, true),
    ]);
    let rows = rows.unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    bytes
}

fn file(scratch: &Scratch) -> String {
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_column_dictionary_enabled("n".into(), false)
        .set_bloom_filter_enabled(true)
        .set_key_value_metadata(Some(vec![KeyValue::new("who".to_string(), "me".to_string())]))
        .build();
    scratch.write("f.parquet", &written(properties))
}

fn column(rows: &Value, name: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn pages_are_listed_with_their_rows_and_bounds() {
    let scratch = Scratch::new("pages");
    let path = file(&scratch);
    let pages = json(&["inspect", "pages", &path, "--column", "n", "-f", "json"]);
    assert_eq!(column(&pages, "page"), [0, 1, 2]);
    assert_eq!(column(&pages, "first_row"), [0, 100, 200]);
    assert_eq!(column(&pages, "rows"), [100, 100, 100]);
    assert_eq!(column(&pages, "min"), ["0", "100", "200"]);
    assert_eq!(column(&pages, "max"), ["99", "199", "299"]);
    assert_eq!(pages[0]["offset"], 4);
    assert_eq!(pages[0]["crc"], Value::Null);
    let pages = json(&["inspect", "pages", &path, "--column", "s", "-f", "json"]);
    let kinds = ["DICTIONARY_PAGE", "DATA_PAGE", "DATA_PAGE", "DATA_PAGE"];
    assert_eq!(column(&pages, "type"), kinds);
    assert_eq!(column(&pages, "nulls"), [Value::Null, 1.into(), 0.into(), 0.into()]);
}

#[test]
fn dictionaries_are_listed_up_to_a_limit() {
    let scratch = Scratch::new("dict");
    let path = file(&scratch);
    let entries = json(&["inspect", "dict", &path, "--limit", "2", "-f", "json"]);
    let entry = |number: u64, value: &str, raw: &str| {
        json!({"row_group": 0, "column": "s", "entries": 3, "entry": number,
               "value": value, "raw": raw})
    };
    assert_eq!(entries, json!([entry(0, "a", "61"), entry(1, "bb", "6262")]));
}

#[test]
fn bloom_filters_are_asked_for_values() {
    let scratch = Scratch::new("bloom");
    let path = file(&scratch);
    let ask = |column: &str, value: &str| {
        let args = ["inspect", "bloom", &path, "--column", column, "--probe", value, "-f", "json"];
        json(&args)[0]["may_contain"].clone()
    };
    assert_eq!((ask("s", "bb"), ask("s", "no such")), (true.into(), false.into()));
    assert_eq!((ask("n", "299"), ask("n", "-5")), (true.into(), false.into()));
    let filters = json(&["inspect", "bloom", &path, "-f", "json"]);
    assert_eq!(column(&filters, "column"), ["n", "s"]);
    assert!(filters[0]["fill"].as_f64().unwrap() > 0.0);
    let wrong = ocior(&["inspect", "bloom", &path, "--column", "n", "--probe", "x"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("the probe is not a value of the column's type"), "{}", wrong.err);
}

#[test]
fn statistics_come_as_stored_and_as_values_and_notes_in_full() {
    let scratch = Scratch::new("stats");
    let path = file(&scratch);
    let stats = json(&["inspect", "stats", &path, "-f", "json"]);
    assert_eq!((&stats[0]["min"], &stats[0]["max"]), (&json!("0"), &json!("299")));
    assert_eq!(stats[0]["max_raw"], "2b01000000000000");
    assert_eq!((&stats[1]["nulls"], &stats[1]["max"]), (&json!(1), &json!("ccc")));
    assert_eq!(column(&stats, "min_trusted"), ["yes", "yes"]);
    let notes = json(&["inspect", "kv", &path, "-f", "json"]);
    let who = notes.as_array().unwrap().iter().find(|note| note["key"] == "who").unwrap();
    assert_eq!((&who["value"], &who["column"]), (&json!("me"), &Value::Null));
}

#[test]
fn statistics_of_a_known_writer_of_wrong_ones_are_not_trusted() {
    let properties =
        WriterProperties::builder().set_created_by("parquet-mr version 1.6.0".to_string()).build();
    let scratch = Scratch::new("untrusted");
    let path = scratch.write("f.parquet", &written(properties));
    let stats = json(&["inspect", "stats", &path, "--column", "s", "-f", "json"]);
    assert_eq!(stats[0]["min_trusted"], "the writer is known for wrong bounds of such columns");
}

#[test]
fn checksums_are_compared_only_when_asked() {
    let scratch = Scratch::new("checksums");
    // The first checksum is right; one bit of the second is wrong.
    let pages: [(&[i64], u32); 2] = [(&[1, 2, 3], FIRST), (&[4, 5], SECOND ^ 1)];
    let path = scratch.write("f.parquet", &file_with_checksums(&pages));
    let shown = json(&["inspect", "pages", &path, "-f", "json"]);
    let checksums = [FIRST, SECOND ^ 1].map(|checksum| format!("{checksum:08x}"));
    assert_eq!(column(&shown, "crc"), checksums);
    assert_eq!(ocior(&["scan", &path, "-f", "csv"]).out, "n\n1\n2\n3\n4\n5\n");
    let refused = ocior(&["scan", &path, "-f", "csv", "--verify-checksums"]);
    let found = format!("(stored={:08x} computed={SECOND:08x})", SECOND ^ 1);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("do not match its checksum"), "{}", refused.err);
    assert!(refused.err.contains(&found), "{}", refused.err);
    assert!(refused.err.contains("page 1") && refused.err.contains("column \"n\""));
    let right = file_with_checksums(&[(&[1, 2, 3], FIRST), (&[4, 5], SECOND)]);
    let path = scratch.write("right.parquet", &right);
    assert_eq!(ocior(&["scan", &path, "-f", "csv", "--verify-checksums"]).code, 0);
}

/// CRC-32 of 1, 2, 3 as little-endian 64-bit numbers, computed by another program.
const FIRST: u32 = 0x2bcb_8d87;
/// CRC-32 of 4, 5, computed as [`FIRST`].
const SECOND: u32 = 0x706a_09b6;
