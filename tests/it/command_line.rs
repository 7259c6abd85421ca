//! Messages of the command line and destinations of results: formats, file name extensions, paths
//! and hints.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::command::{Scratch, ocior, output_of};

#[test]
fn keys_of_json_differ_and_intervals_are_text() {
    let sql = "SELECT 1 AS a, 2 AS a, 3 AS a_1, INTERVAL '2' DAY AS i";
    let row = r#"{"a":1,"a_2":2,"a_1":3,"i":"0 months 2 days 0 ms"}"#;
    assert_eq!(output_of(&["query", "-f", "json", sql]), format!("[\n{row}\n]\n"));
    assert_eq!(output_of(&["query", "-f", "jsonl", sql]), format!("{row}\n"));
}

#[test]
fn the_ending_of_the_output_file_is_its_format_or_is_refused() {
    let scratch = Scratch::new("command-line-output");
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_string();
    let to = |name: &str, more: &[&str]| {
        ocior(&[&["query", "SELECT 1 AS a", "-o", &path(name)][..], more].concat())
    };
    for (name, text) in [
        ("a.csv", "a\n1\n"),
        ("a.JSON", "[\n{\"a\":1}\n]\n"),
        ("a.ndjson", "{\"a\":1}\n"),
        ("a.txt", "a\n1\n"),
        ("a", "a\n1\n"),
    ] {
        assert_eq!(to(name, &[]).code, 0, "{name}");
        assert_eq!(fs::read_to_string(path(name)).unwrap(), text, "{name}");
    }
    for name in ["a.parquet", "a.PARQUET", "a.xlsx", "a.csv.gz", "a.orc"] {
        let ran = to(name, &[]);
        assert_eq!(ran.code, 2, "{name}");
        assert!(ran.err.contains("hint: "), "{}", ran.err);
        assert!(fs::metadata(path(name)).is_err(), "{name}");
    }
    assert_eq!(to("a.dat", &["-f", "csv"]).code, 0);
    assert_eq!(output_of(&["query", "SELECT 1 AS a", "-o", "-"]), "a\n1\n");
    assert!(fs::metadata("-").is_err());
}

#[test]
fn parquet_files_are_not_read_as_text() {
    let file = "examples/warehouse/nation";
    let args = ["query", "--input-format", "text", "--schema", "a=BIGINT"];
    let ran = ocior(&[&args[..], &[&format!("SELECT count(a) FROM '{file}'")]].concat());
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("a Parquet file is not read as text"), "{}", ran.err);
}

#[test]
fn links_to_nothing_and_empty_files_beside_partitions_leave_a_table_readable() {
    let scratch = Scratch::new("command-line-links");
    let part = scratch.path().join("t/k=1");
    fs::create_dir_all(&part).unwrap();
    let file = part.join("a.parquet").to_str().unwrap().to_string();
    output_of(&["query", &format!("COPY (SELECT 5 AS x) TO '{file}'")]);
    symlink("/no/such/file", part.join("b.parquet")).unwrap();
    symlink("loop", part.join("loop")).unwrap();
    symlink("/no/such/folder", scratch.path().join("t/k=2")).unwrap();
    for name in ["t/a-marker", "t/z-marker", "t/k=1/marker"] {
        scratch.write(name, b"");
    }
    let table = scratch.path().join("t");
    let sql = format!("SELECT x, k FROM '{}'", table.display());
    assert_eq!(output_of(&["query", &sql]), "x,k\n5,1\n");
    let ran = ocior(&["scan", part.join("b.parquet").to_str().unwrap()]);
    assert!(ran.code == 1 && ran.err.starts_with("error: not found"), "{}", ran.err);
}

#[test]
fn hints_never_name_what_was_written() {
    let tables = "FROM (SELECT 1 AS id) AS first JOIN (SELECT 1 AS id, 2 AS price) AS other \
                  ON first.id = other.id";
    let hint = |expr: &str| {
        let ran = ocior(&["query", &format!("SELECT {expr} {tables}")]);
        assert_eq!(ran.code, 1, "{expr}");
        let at = ran.err.find("hint: ").unwrap_or_else(|| panic!("{}", ran.err));
        ran.err[at + 6..].lines().next().unwrap().to_string()
    };
    assert_eq!(hint("first.price"), "other has such a column");
    assert_eq!(hint("other.prise"), "did you mean \"price\"?");
    assert_eq!(hint("othr.price"), "did you mean \"other\"?");
}

/// A condition is listed by its terms, and not once more as a whole.
#[test]
fn a_plan_in_json_says_of_a_condition_once_where_it_is_tested() {
    let sql = "SELECT name FROM 'examples/warehouse/nation' WHERE nationkey > 3";
    let plan: serde_json::Value =
        serde_json::from_str(&output_of(&["explain", "--json", sql])).unwrap();
    assert_eq!(plan["details"], "nation");
    assert_eq!(plan["pushed"]["filters"][0], "nationkey >= 4");
    assert_eq!(plan["pushed"]["remaining"], serde_json::json!([]));
}
