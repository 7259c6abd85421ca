//! `inspect verify`: sound files pass, and each kind of wrong metadata is found.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterVersion};
use serde_json::Value;

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::pages::file_with_checksums;

const NUM_ROWS: i64 = 500;

fn written(rows: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes
}

/// Returns flat and nested columns in two row groups, with all metadata that the writer supports.
fn sound_file(version: WriterVersion) -> Vec<u8> {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..NUM_ROWS {
        match row % 5 {
            0 => lists.append_null(),
            n => lists.append_value((0..n).map(|i| (i != 2).then_some(row + i))),
        }
    }
    let text = (0..NUM_ROWS).map(|i| (i % 7 != 0).then(|| format!("text {}", i % 50)));
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from_iter_values(0..NUM_ROWS)) as ArrayRef, false),
        ("s", Arc::new(StringArray::from_iter(text)) as ArrayRef, true),
        ("d", Arc::new(Float64Array::from_iter((0..NUM_ROWS).map(|i| i as f64))) as ArrayRef, true),
        ("l", Arc::new(lists.finish()) as ArrayRef, true),
    ]);
    let rows = rows.unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(Compression::UNCOMPRESSED)
        .set_column_dictionary_enabled("n".into(), false)
        .set_column_encoding("n".into(), parquet::basic::Encoding::PLAIN)
        .set_bloom_filter_enabled(true)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_max_row_group_row_count(Some(300))
        .build();
    written(&rows, properties)
}

/// Returns the number of checked items and the problems of each kind of check.
fn verified(bytes: &[u8]) -> (i32, Vec<(String, u64, Vec<String>)>) {
    let scratch = Scratch::new(&format!("verify-{:p}", bytes.as_ptr()));
    let path = scratch.write("f.parquet", bytes);
    let ran = ocior(&["inspect", "verify", &path, "-f", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let check = |row: &Value| {
        let problems = row["problems"].as_array().unwrap().iter().map(text).collect();
        (text(&row["check"]), row["checked"].as_u64().unwrap(), problems)
    };
    (ran.code, rows.iter().map(check).collect())
}

/// Returns the first problem of a kind of check.
fn problem(bytes: &[u8], check: &str) -> String {
    let (code, checks) = verified(bytes);
    assert_eq!(code, 1, "{checks:?}");
    let of_kind = checks.iter().find(|(name, _, _)| name == check).unwrap();
    of_kind.2.first().unwrap_or_else(|| panic!("no problem of {check}: {checks:?}")).clone()
}

/// Replaces bytes that occur `times` times.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8], times: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let found: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert_eq!(found.len(), times);
    for at in found {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_sound_file_holds_in_every_way() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let (code, checks) = verified(&sound_file(version));
        assert_eq!(code, 0, "{checks:?}");
        for (check, checked, problems) in checks {
            assert!(problems.is_empty());
            // The writer does not write checksums.
            assert_eq!(checked == 0, check == "checksums", "{check}");
            if check == "values" {
                assert_eq!(checked, 4 * NUM_ROWS as u64);
            }
        }
    }
}

#[test]
fn people_get_a_line_for_each_check() {
    let path = "examples/warehouse/nation/ds=2026-09-01/part-0.parquet";
    let text = output_of(&["inspect", "verify", path, "-f", "markdown"]);
    assert_eq!(text.lines().count(), 2 + 8);
    assert!(text.contains("| values        |     100 |        0 | NULL    |"), "{text}");
}

#[test]
fn a_changed_value_belies_bounds_indexes_and_bloom_filters() {
    let bytes = sound_file(WriterVersion::PARQUET_1_0);
    // The number 150 in the middle of its page and of its row group, next to its neighbours.
    let numbers = |numbers: [i64; 3]| numbers.map(i64::to_le_bytes).concat();
    let lie = replaced(&bytes, &numbers([149, 150, 151]), &numbers([149, 90_000, 151]), 1);
    let bounds = problem(&lie, "statistics");
    assert!(bounds.contains("(value=90000 min=0 max=299)"), "{bounds}");
    assert!(bounds.ends_with("in column \"n\", row group 0"), "{bounds}");
    let page = problem(&lie, "column index");
    assert!(page.contains("(value=90000 min=100 max=199)"), "{page}");
    assert!(page.contains("page 1"), "{page}");
    let bloom = problem(&lie, "bloom filters");
    assert!(bloom.contains("does not know a value (value=90000)"), "{bloom}");
}

#[test]
fn a_wrong_checksum_is_told_with_its_page() {
    let (code, checks) = verified(&file_with_checksums(&[(&[1], 1), (&[2], 2)]));
    assert_eq!(code, 1);
    let (_, checked, problems) = &checks[2];
    assert_eq!((*checked, problems.len()), (2, 2));
    assert!(problems[1].contains("page 1") && problems[1].contains("row group 0"));
}

#[test]
fn a_page_that_cannot_be_decoded_is_a_problem_and_the_rest_is_read_on() {
    let bytes = sound_file(WriterVersion::PARQUET_1_0);
    // A value of the dictionary of `s` states a length beyond the page.
    let entry = |len: u32| [&len.to_le_bytes()[..], b"text 1"].concat();
    let broken = replaced(&bytes, &entry(6), &entry(u32::MAX), 2);
    let (code, checks) = verified(&broken);
    assert_eq!(code, 1);
    let values = checks.iter().find(|(check, _, _)| check == "values").unwrap();
    assert_eq!(values.2.len(), 2);
    assert!(values.2[1].contains("column \"s\"") && values.2[1].contains("row group 1"));
    assert_eq!(values.1, 3 * NUM_ROWS as u64);
}

#[test]
fn a_page_that_reaches_into_the_footer_is_told() {
    let bytes = sound_file(WriterVersion::PARQUET_1_0);
    let footer_bytes = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap());
    let footer_at = bytes.len() - 8 - footer_bytes as usize;
    // The bytes between the pages and the footer are removed, and the last byte of the last page.
    let end = pages_end(&bytes);
    let cut = [&bytes[..end - 1], &bytes[footer_at..]].concat();
    let told = problem(&cut, "pages");
    assert!(told.contains("a page reaches into the footer"), "{told}");
    assert!(told.contains("row group 1"), "{told}");
}

/// Returns the end of the last page of the file.
fn pages_end(bytes: &[u8]) -> usize {
    let scratch = Scratch::new("pages-end");
    let path = scratch.write("f.parquet", bytes);
    let ran = ocior(&["inspect", "pages", &path, "-f", "jsonl"]);
    let end = |line: &str| {
        let page: Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| page[key].as_u64().unwrap() as usize;
        number("offset") + number("header_bytes") + number("compressed_bytes")
    };
    ran.out.lines().map(end).max().unwrap()
}

/// Returns a column of numbers with four pages, whose first and last bounds differ from all others.
fn file_of_pages() -> Vec<u8> {
    let numbers: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..400).map(|n| n + 0x5a5a_0000)));
    let rows = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .build();
    written(&rows, properties)
}

#[test]
fn bounds_of_pages_that_contradict_each_other_are_found() {
    let bytes = file_of_pages();
    let (code, checks) = verified(&bytes);
    assert_eq!(code, 0, "{checks:?}");
    let bound = |n: i64| [&[8][..], &(n + 0x5a5a_0000i64).to_le_bytes()].concat();
    // The second page's minimum is above its maximum.
    let crossed = replaced(&bytes, &bound(100), &bound(1_000), 1);
    let found = problem(&crossed, "column index");
    assert!(found.contains("the minimum is above the maximum"), "{found}");
    // ASCENDING, an enum of value 1, is replaced by DESCENDING, and by an invalid value.
    let last = [&bound(399)[..], &[0x15, 2]].concat();
    for (changed, says) in [(4, "not in the order"), (6, "an order that does not exist")] {
        let other = [&bound(399)[..], &[0x15, changed]].concat();
        let found = problem(&replaced(&bytes, &last, &other, 1), "column index");
        assert!(found.contains(says), "{found}");
    }
}
