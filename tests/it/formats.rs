//! Output of the binary in each format, and its exit when the output pipe is closed.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::support::command::{Scratch, command, ocior, output_of};
use crate::support::files::numbers_file;

/// A query of two rows with a number, a text with a comma, a null and a date.
const SQL: &str = "SELECT nationkey AS k, concat(name, ', ', name) AS \"n,n\", \
    CASE WHEN nationkey = 3 THEN comment END AS c, ds \
    FROM 'examples/warehouse/nation' WHERE ds = '2026-09-01' AND nationkey IN (3, 4) \
    ORDER BY nationkey";

fn printed_as(format: &str) -> String {
    output_of(&["query", "--format", format, SQL])
}

#[test]
fn csv_quotes_fields_and_leaves_nulls_empty() {
    let want = "\
k,\"n,n\",c,ds
3,\"CANADA, CANADA\",CANADA lies in AMERICA,2026-09-01
4,\"EGYPT, EGYPT\",,2026-09-01
";
    assert_eq!(printed_as("csv"), want);
    assert_eq!(printed_as("auto"), want, "standard output is no terminal here");
}

#[test]
fn tsv_separates_by_tabs() {
    let want = "\
k\tn,n\tc\tds
3\tCANADA, CANADA\tCANADA lies in AMERICA\t2026-09-01
4\tEGYPT, EGYPT\t\t2026-09-01
";
    assert_eq!(printed_as("tsv"), want);
}

#[test]
fn jsonl_is_one_canonical_object_a_line() {
    let want = r#"{"k":3,"n,n":"CANADA, CANADA","c":"CANADA lies in AMERICA","ds":"2026-09-01"}
{"k":4,"n,n":"EGYPT, EGYPT","c":null,"ds":"2026-09-01"}
"#;
    assert_eq!(printed_as("jsonl"), want);
}

#[test]
fn json_is_one_array() {
    let text = printed_as("json");
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(rows[0]["k"], 3);
    assert_eq!(rows[1]["c"], serde_json::Value::Null);
    let none = output_of(&["query", "-f", "json", &SQL.replace("(3, 4)", "(99)")]);
    assert_eq!(none, "[]\n");
}

#[test]
fn tables_align_columns_and_count_rows() {
    let want = "\
┌───┬────────────────┬────────────────────────┬────────────┐
│ k ┆ n,n            ┆ c                      ┆ ds         │
╞═══╪════════════════╪════════════════════════╪════════════╡
│ 3 ┆ CANADA, CANADA ┆ CANADA lies in AMERICA ┆ 2026-09-01 │
│ 4 ┆ EGYPT, EGYPT   ┆ NULL                   ┆ 2026-09-01 │
└───┴────────────────┴────────────────────────┴────────────┘
2 rows
";
    assert_eq!(printed_as("table"), want);
}

#[test]
fn markdown_is_a_table_of_bars() {
    let want = "\
| k | n,n            | c                      | ds         |
|---|----------------|------------------------|------------|
| 3 | CANADA, CANADA | CANADA lies in AMERICA | 2026-09-01 |
| 4 | EGYPT, EGYPT   | NULL                   | 2026-09-01 |
";
    assert_eq!(printed_as("markdown"), want);
}

#[test]
fn options_stand_before_or_behind_the_command() {
    let want = printed_as("jsonl");
    assert_eq!(output_of(&["-f", "jsonl", "query", SQL]), want);
    assert_eq!(output_of(&["query", SQL, "--format=jsonl", "--memory", "1GiB"]), want);
}

#[test]
fn output_goes_to_a_file_whose_ending_names_the_format() {
    let scratch = Scratch::new("output");
    let path = scratch.write("rows.jsonl", b"older text that is longer than the result by far");
    assert_eq!(
        output_of(&["query", "-o", &path, "-F", &scratch.write("q.sql", SQL.as_bytes())]),
        ""
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed_as("jsonl"));
}

#[test]
fn output_may_take_the_place_of_what_is_read_and_a_failure_keeps_what_was_there() {
    let scratch = Scratch::new("output-over-input");
    let path = scratch.write("t.parquet", &numbers_file(3));
    let sql = format!("SELECT n FROM '{path}'");
    assert_eq!(output_of(&["-f", "csv", "-o", &path, "query", &sql]), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "n\n0\n1\n2\n");
    // A result that fails after its first batches does not replace the file.
    let numbers = scratch.write("u.parquet", &numbers_file(100_000));
    let old = scratch.write("old.csv", b"old");
    let sql = format!("SELECT 1 / (n - 99999) FROM '{numbers}'");
    assert_eq!(ocior(&["-o", &old, "query", "--drivers", "1", &sql]).code, 1);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    let mut left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().flatten().collect();
    left.retain(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn no_escape_codes_reach_a_pipe() {
    let mut all = printed_as("table");
    let ran = ocior(&["query", "--no-such-option"]);
    all += &(ran.out + &ran.err + &output_of(&["--help"]));
    assert!(!all.contains('\u{1b}'), "{all}");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let scratch = Scratch::new("pipe");
    let path = scratch.write("numbers.parquet", &numbers_file(300_000));
    for format in ["jsonl", "csv", "tsv", "json"] {
        let mut child = command(&["scan", &path, "-f", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        assert_eq!(child.wait().unwrap().code(), Some(141), "{format} after {line}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "{format}");
    }
}

#[test]
fn the_version_and_the_help_are_printed() {
    assert_eq!(output_of(&["--version"]), concat!("ocior ", env!("CARGO_PKG_VERSION"), "\n"));
    for command in ["query", "scan", "inspect"] {
        assert!(output_of(&[command, "--help"]).contains("Examples:"), "{command}");
    }
}
