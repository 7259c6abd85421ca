//! Differential test: files of all supported kinds, compared with the Arrow reader.
//!
//! One batch of seeded random rows has a column for each type, once without and once with nulls,
//! and nested columns. It is written in every layout (dictionary or not, page version, codec) with
//! small pages and several row groups; the engine and the oracle must print the same lines.

pub(crate) mod rows;

use std::sync::OnceLock;

use arrow_array::RecordBatch;
use dwio::fs::MemoryFiles;
use ocior::Engine;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterVersion;

use crate::support::files::{Layout, engine_over, lines_of, parquet_file};
use crate::support::oracle;

const NUM_ROWS: usize = 1_000;

fn rows() -> &'static RecordBatch {
    static ROWS: OnceLock<RecordBatch> = OnceLock::new();
    ROWS.get_or_init(|| rows::random_rows(20260901, NUM_ROWS))
}

fn layouts() -> Vec<Layout> {
    let mut layouts = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for has_dictionary in [true, false] {
            for codec in [
                Compression::UNCOMPRESSED,
                Compression::SNAPPY,
                Compression::GZIP(GzipLevel::default()),
                Compression::ZSTD(ZstdLevel::default()),
            ] {
                layouts.push(Layout {
                    codec,
                    has_dictionary,
                    version,
                    rows_per_page: 70,
                    rows_per_group: 400,
                    ..Layout::default()
                });
            }
        }
    }
    // The delta encodings of integers and bytes, and floats as BYTE_STREAM_SPLIT.
    layouts.push(Layout {
        version: WriterVersion::PARQUET_2_0,
        has_dictionary: false,
        encoding: None,
        splits_floats: true,
        rows_per_page: 70,
        rows_per_group: 400,
        ..Layout::default()
    });
    // Chunks that begin with dictionary pages and fall back to plain pages.
    layouts.push(Layout {
        rows_per_page: 50,
        rows_per_group: 500,
        dictionary_bytes: 256,
        ..Layout::default()
    });
    layouts
}

fn engine(file: &[u8]) -> Engine {
    let files = MemoryFiles::new();
    files.put("t.parquet", file.to_vec());
    engine_over(&files)
}

#[track_caller]
fn assert_same(got: &[String], want: &[String], context: &dyn std::fmt::Debug) {
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        if got == want {
            continue;
        }
        let at = got.bytes().zip(want.bytes()).take_while(|(a, b)| a == b).count();
        let around = |text: &str| {
            let from = text[..at].rfind(",\"").unwrap_or(0);
            text[from..].chars().take(200).collect::<String>()
        };
        panic!("{context:?}, row {row}:\n  got  {}\n  want {}", around(got), around(want));
    }
    assert_eq!(got.len(), want.len(), "number of rows of {context:?}");
}

#[test]
fn every_layout_reads_like_the_oracle() {
    for layout in layouts() {
        let file = parquet_file(rows(), layout);
        let want = oracle::lines(file.clone());
        assert_eq!(want.len(), NUM_ROWS);
        let got = lines_of(&engine(&file), "SELECT * FROM 't.parquet'")
            .unwrap_or_else(|error| panic!("{layout:?}: {error}"));
        assert_same(&got, &want, &layout);
    }
}

/// A condition over the row number, and a function that selects its rows.
type Chosen = (&'static str, fn(usize) -> bool);

#[test]
fn chosen_rows_are_those_of_the_oracle() {
    let chosen: [Chosen; 5] = [
        ("id = 399", |row| row == 399),
        ("id BETWEEN 395 AND 405", |row| (395..=405).contains(&row)),
        ("id IN (0, 69, 70, 71, 500, 999)", |row| [0, 69, 70, 71, 500, 999].contains(&row)),
        ("id % 37 = 0", |row| row % 37 == 0),
        ("id < 10 OR id >= 990", |row| !(10..990).contains(&row)),
    ];
    for layout in layouts() {
        let file = parquet_file(rows(), layout);
        let all = oracle::lines(file.clone());
        let engine = engine(&file);
        for (condition, is_chosen) in chosen {
            let want: Vec<String> = all
                .iter()
                .enumerate()
                .filter(|(row, _)| is_chosen(*row))
                .map(|(_, line)| line.clone())
                .collect();
            let got = lines_of(&engine, &format!("SELECT * FROM 't.parquet' WHERE {condition}"))
                .unwrap_or_else(|error| panic!("{layout:?} {condition}: {error}"));
            assert_same(&got, &want, &(layout, condition));
        }
    }
}

#[test]
fn conditions_on_values_leave_the_rows_that_they_are_true_for() {
    let layout = Layout { rows_per_page: 70, rows_per_group: 400, ..Layout::default() };
    for has_dictionary in [true, false] {
        let file = parquet_file(rows(), Layout { has_dictionary, ..layout });
        let all = oracle::lines(file.clone());
        let engine = engine(&file);
        for (column, condition, is_true) in conditions() {
            let want: Vec<String> =
                all.iter().filter(|line| is_true(&field(line, column))).cloned().collect();
            assert!(!want.is_empty() && want.len() < NUM_ROWS, "{condition} chooses nothing");
            let got = lines_of(&engine, &format!("SELECT * FROM 't.parquet' WHERE {condition}"))
                .unwrap_or_else(|error| panic!("{condition}: {error}"));
            assert_same(&got, &want, &(has_dictionary, condition));
        }
    }
}

fn field(line: &str, column: &str) -> serde_json::Value {
    serde_json::from_str::<serde_json::Value>(line).unwrap()[column].clone()
}

/// A column, a condition over it, and the result of the condition for a value in JSON.
type OnValue = (&'static str, &'static str, fn(&serde_json::Value) -> bool);

fn conditions() -> Vec<OnValue> {
    vec![
        ("int32_null", "int32_null > 0", |v| v.as_i64().is_some_and(|v| v > 0)),
        ("int64", "int64 BETWEEN -50 AND 50", |v| {
            v.as_i64().is_some_and(|v| (-50..=50).contains(&v))
        }),
        ("int16_null", "int16_null IS NULL", |v| v.is_null()),
        ("text_null", "text_null IS NOT NULL", |v| !v.is_null()),
        ("text_null", "text_null >= 'm'", |v| v.as_str().is_some_and(|v| v >= "m")),
        ("text", "text LIKE 'a%'", |v| v.as_str().is_some_and(|v| v.starts_with('a'))),
        ("bool_null", "bool_null", |v| v.as_bool() == Some(true)),
        ("bool", "NOT bool", |v| v.as_bool() == Some(false)),
        ("date", "date < '1970-01-01'", |v| v.as_str().is_some_and(|v| v < "1970-01-01")),
        ("double_null", "double_null <= 0.5", |v| {
            v.as_f64().is_some_and(|v| v <= 0.5) || v == "-Infinity"
        }),
    ]
}
