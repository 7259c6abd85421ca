//! Reports of the command line about where conditions are tested and which data is not read because
//! of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::{Value as Json, json};

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::files::{Layout, parquet_file};

fn rows_of(args: &[&str]) -> Vec<Json> {
    output_of(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes three row groups of a thousand rows in pages of 128, the first multiple of the writer's
/// batch size beyond a hundred rows: `n` counts the rows, `s` is its text.
fn numbers_and_texts(scratch: &Scratch) -> String {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3_000));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..3_000).map(|n| n.to_string())));
    let rows = RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).unwrap();
    let layout = Layout {
        rows_per_page: 100,
        rows_per_group: 1_000,
        has_dictionary: false,
        ..Layout::default()
    };
    scratch.write("f.parquet", &parquet_file(&rows, layout))
}

#[test]
fn every_term_tells_where_it_is_tested_and_why_not_earlier() {
    let sql = "SELECT count(*) FROM 'examples/warehouse/nation'
        WHERE ds = '2026-09-01' AND nationkey IN (1, 5) AND nationkey + regionkey >= 4
        AND (nationkey = 1 OR regionkey = 1) AND lower(name) = 'x'
        GROUP BY ds HAVING count(*) > 3";
    let terms = rows_of(&["explain", "--why", "-f", "jsonl", sql]);
    let told: Vec<(&str, &str)> = terms
        .iter()
        .map(|t| (t["condition"].as_str().unwrap(), t["tested_by"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("eq(ds, 2026-09-01)", "partitions"),
            ("in(nationkey, 1, 5)", "pushed filter"),
            ("gte(plus(nationkey, cast(regionkey as BIGINT)), 4)", "remaining filter"),
            ("or(eq(nationkey, 1), eq(regionkey, 1))", "remaining filter"),
            ("eq(lower(name), \"x\")", "remaining filter"),
            ("gt(count, 3)", "filter operator"),
        ]
    );
    assert_eq!(terms[0]["why_not_earlier"], Json::Null);
    assert_eq!(terms[1]["tested_as"], "nationkey in (1, 5)");
    assert_eq!(terms[1]["pruned_by"], "statistics, page index, bloom filter, dictionary");
    assert_eq!(terms[2]["pruned_by"], Json::Null);
    let several = "it is about several columns: nationkey, regionkey";
    assert_eq!(terms[2]["why_not_earlier"], several);
    assert_eq!(terms[3]["pruned_by"], "statistics and page indexes of its columns");
    assert_eq!(terms[4]["why_not_earlier"], "lower has to be computed first");
}

#[test]
fn a_pattern_is_pushed_but_for_a_second_one_on_its_column() {
    let scratch = Scratch::new("patterns");
    let path = numbers_and_texts(&scratch);
    let sql = format!("SELECT n FROM '{path}' WHERE s LIKE '%9%8%' AND s NOT LIKE '1_9%'");
    let terms = rows_of(&["explain", "--why", "-f", "jsonl", &sql]);
    assert_eq!(terms[0]["tested_by"], "pushed filter");
    assert_eq!(terms[0]["tested_as"], "s like '%9%8%'");
    assert_eq!(terms[0]["pruned_by"], "statistics, page index, dictionary");
    assert_eq!(terms[1]["tested_by"], "remaining filter");
    assert_eq!(terms[1]["tested_as"], "not(like(s, \"1_9%\"))");
    let why = "it has no common form with another filter of s";
    assert_eq!(terms[1]["why_not_earlier"], why);
    let found = rows_of(&["query", "-f", "jsonl", &sql]);
    let has = |text: &str| text.find('9').is_some_and(|at| text[at..].contains('8'));
    let is_left_out = |text: &str| text.starts_with('1') && text.get(2..3) == Some("9");
    let wanted = (0..3_000i64).filter(|n| has(&n.to_string()) && !is_left_out(&n.to_string()));
    let wanted = wanted.collect::<Vec<_>>();
    assert_eq!(found.iter().map(|row| row["n"].as_i64().unwrap()).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_plan_is_json_when_asked_and_dates_in_it_are_dates() {
    let sql = "SELECT name FROM 'examples/warehouse/nation' WHERE ds = '2026-09-01' LIMIT 3";
    let text = output_of(&["explain", sql]);
    assert!(text.contains("eq(ds, 2026-09-01)"), "{text}");
    let plan: Json = serde_json::from_str(&output_of(&["explain", "-f", "json", sql])).unwrap();
    assert_eq!(plan["node"], "Limit");
    assert_eq!(plan["output"], json!([{ "name": "name", "type": "VARCHAR" }]));
    assert_eq!(plan["source"]["pushed"]["partitions"][0], "eq(ds, 2026-09-01)", "{plan}");
}

#[test]
fn statistics_tell_what_scans_read_and_left_out() {
    let sql = "SELECT count(*) FROM 'examples/warehouse/nation'
        WHERE ds = '2026-09-01' AND nationkey < 5 AND nationkey + regionkey >= 4";
    let ran = ocior(&["query", "--stats", "-f", "json", sql]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Json = serde_json::from_str(&ran.err).unwrap();
    let scan = &told["scans"][0];
    assert_eq!(scan["table"], "nation");
    assert_eq!(scan["files"], json!({ "found": 2, "left_out": 1 }));
    assert_eq!(scan["splits"]["taken"], 1);
    assert_eq!(scan["rows"]["scanned"], 25);
    let filters = scan["filters"].as_array().unwrap();
    assert_eq!(filters[0]["filter"], "nationkey <= 4");
    assert_eq!((&filters[0]["rows_in"], &filters[0]["rows_out"]), (&json!(25), &json!(5)));
    assert_eq!(filters[1]["rows_in"], 5);
    assert_eq!(filters[1]["rows_out"], scan["rows"]["given"]);
    assert!(scan["metrics"]["storageReadBytes"]["sum"].as_i64().unwrap() > 0);

    let ran = ocior(&["query", "--stats", "-f", "table", sql]);
    for line in ["scan of nation", "2 found, 1 left out", "25 scanned", "nationkey <= 4"] {
        assert!(ran.err.contains(line), "{}", ran.err);
    }
}

#[test]
fn statistics_tell_why_files_were_not_read() {
    let scratch = Scratch::new("stats-files");
    let path = numbers_and_texts(&scratch);
    let sql = format!("SELECT s FROM '{path}' WHERE n > 5000");
    let ran = ocior(&["query", "--stats", "-f", "json", &sql]);
    let told: Json = serde_json::from_str(&ran.err).unwrap();
    let scan = &told["scans"][0];
    let why = "a filter rejects all values that the file has";
    assert_eq!(scan["splits"]["skipped"], json!({ why: 1 }));
    assert_eq!(scan["rows"], json!({ "scanned": 0, "given": 0 }));
}

#[test]
fn statistics_tell_what_left_out_row_groups_pages_and_values() {
    let scratch = Scratch::new("stats-groups");
    let path = numbers_and_texts(&scratch);
    let sql = format!("SELECT s FROM '{path}' WHERE n BETWEEN 1234 AND 1240");
    let ran = ocior(&["query", "--stats", "-f", "json", &sql]);
    let told: Json = serde_json::from_str(&ran.err).unwrap();
    let (scan, metrics) = (&told["scans"][0], &told["scans"][0]["metrics"]);
    assert_eq!(metrics["processedStrides"]["sum"], 1);
    assert_eq!(metrics["parquet.rowGroupsSkippedByMinMax"]["sum"], 2);
    assert_eq!(metrics["parquet.rowsSkippedByPageIndex"]["sum"], 872);
    assert_eq!(scan["rows"], json!({ "scanned": 128, "given": 7 }));
    let columns = scan["columns"].as_array().unwrap();
    let of_s = columns.iter().find(|column| column["column"] == "s").unwrap();
    assert_eq!((&of_s["values_decoded"], &of_s["pages_read"]), (&json!(7), &json!(1)));
    // A filter that drops all rows: the other column is not read.
    let sql = format!("SELECT s FROM '{path}' WHERE n % 7 = 9");
    let ran = ocior(&["query", "--stats", "-f", "json", &sql]);
    let told: Json = serde_json::from_str(&ran.err).unwrap();
    let columns = told["scans"][0]["columns"].as_array().unwrap();
    let of_s = columns.iter().find(|column| column["column"] == "s").unwrap();
    assert_eq!((&of_s["values_decoded"], &of_s["pages_read"]), (&json!(0), &json!(0)));
}

#[test]
fn statistics_tell_which_filter_a_join_gave_the_scan() {
    let scratch = Scratch::new("stats-join");
    let path = numbers_and_texts(&scratch);
    let two: ArrayRef = Arc::new(Int64Array::from_iter_values([5, 1234]));
    let two = RecordBatch::try_from_iter([("n", two)]).unwrap();
    let keys = scratch.write("keys.parquet", &parquet_file(&two, Layout::default()));
    let sql = format!("SELECT a.s FROM '{path}' a JOIN '{keys}' b ON a.n = b.n");
    let ran = ocior(&["query", "--stats", "-f", "json", &sql]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Json = serde_json::from_str(&ran.err).unwrap();
    let scans = told["scans"].as_array().unwrap();
    let probe = scans.iter().find(|scan| scan["table"] == "f").unwrap();
    // The data source of each driver accepts it.
    assert!(probe["metrics"]["dynamicFiltersAccepted"]["sum"].as_i64() >= Some(1), "{probe}");
    assert_eq!(probe["filters"][0]["filter"], "n in (5, 1234)");
    assert_eq!(probe["rows"]["given"], 2);
    // Pages without either number are not even scanned.
    assert!(probe["rows"]["scanned"].as_i64().unwrap() < 1_000, "{probe}");
}

#[test]
fn pages_are_read_in_part_or_skipped_and_by_what_is_told() {
    let scratch = Scratch::new("fates");
    let path = numbers_and_texts(&scratch);
    let pages = rows_of(&["inspect", "pages", &path, "--where", "n = 1234", "-f", "jsonl"]);
    let fates = |group: i64, column: &str| -> Vec<(String, String)> {
        let chosen = pages.iter().filter(|p| p["row_group"] == group && p["column"] == column);
        let text = |value: &Json| value.as_str().unwrap_or_default().to_string();
        chosen.map(|p| (text(&p["fate"]), text(&p["by"]))).collect()
    };
    let skipped = |by: &str| ("skipped".to_string(), by.to_string());
    for (group, column) in [(0, "n"), (0, "s"), (2, "n"), (2, "s")] {
        assert!(!fates(group, column).is_empty());
        assert!(fates(group, column).iter().all(|fate| *fate == skipped("min/max")));
    }
    let of_n = fates(1, "n");
    assert_eq!(of_n.iter().filter(|fate| fate.0 == "read").count(), 1);
    assert!(of_n.iter().all(|fate| fate.0 == "read" || *fate == skipped("page index")));
    let of_s = fates(1, "s");
    let partly = ("partly".to_string(), "values".to_string());
    assert_eq!(of_s.iter().filter(|fate| **fate == partly).count(), 1);
    let wanted = pages.iter().find(|p| p["fate"] == "partly").unwrap();
    assert_eq!(wanted["wanted_rows"], 1);
    // No row meets this condition, which only the values can show.
    let pages = rows_of(&["inspect", "pages", &path, "--where", "n % 7 = 9", "-f", "jsonl"]);
    assert!(pages.iter().filter(|p| p["column"] == "n").all(|p| p["fate"] == "read"));
    assert!(pages.iter().filter(|p| p["column"] == "s").all(|p| p["fate"] == "skipped"));
}

#[test]
fn what_inspect_tells_goes_into_a_pipe_as_csv() {
    let file = "examples/warehouse/nation/ds=2026-09-01/part-0.parquet";
    let text = output_of(&["inspect", "row-groups", file]);
    assert_eq!(text.lines().next().unwrap().split(',').next(), Some("row_group"));
}
