//! Plans and runs as printed by `explain`: where conditions are pushed to, and the work of each
//! node.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int64Array, RecordBatch, StructArray};
use arrow_array::{StringArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field};
use serde_json::{Value as Json, json};

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::files::{Layout, parquet_file};

/// Writes a thousand rows in ten row groups: `k`, `s` with the fields `a` and `b`, and a date, a
/// decimal and a timestamp, which are stored as integers.
fn table(scratch: &Scratch, name: &str) -> String {
    let numbers = || 0..1000i64;
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers()));
    let texts = numbers().map(|n| format!("text {n}"));
    let field = |name: &str, ty| Arc::new(Field::new(name, ty, true));
    let s = StructArray::from(vec![
        (field("a", DataType::Int64), Arc::clone(&k)),
        (field("b", DataType::Utf8), Arc::new(StringArray::from_iter_values(texts)) as ArrayRef),
    ]);
    let day = Date32Array::from_iter_values((0..1000).map(|n| 20_000 + n / 100));
    let price = Decimal128Array::from_iter_values(numbers().map(i128::from));
    let price = price.with_precision_and_scale(9, 2).unwrap();
    let at = TimestampMicrosecondArray::from_iter_values(numbers().map(|n| n * 1_000_000));
    let rows = RecordBatch::try_from_iter([
        ("k", k),
        ("s", Arc::new(s) as ArrayRef),
        ("day", Arc::new(day) as ArrayRef),
        ("price", Arc::new(price) as ArrayRef),
        ("at", Arc::new(at) as ArrayRef),
    ]);
    let layout = Layout { rows_per_group: 100, ..Layout::default() };
    scratch.write(name, &parquet_file(&rows.unwrap(), layout))
}

#[test]
fn a_plan_tells_what_is_pushed_where_with_values_as_people_write_them() {
    let scratch = Scratch::new("explain-pushed");
    let path = table(&scratch, "t.parquet");
    let sql = format!(
        "SELECT s.a FROM '{path}' WHERE day >= DATE '2024-10-05' AND price < 7.25 AND \
         at <> TIMESTAMP '1970-01-01 00:00:07' AND k + s.a > 3"
    );
    let text = output_of(&["explain", &sql]);
    for line in [
        "     files       1 of 1 are read, about 1000 rows\n",
        "     columns     s (only s.a)\n",
        "day >= 2024-10-05",
        "price <= 7.24",
        "1970-01-01 00:00:07",
        "     remaining   gt(plus(k, s.a), 3)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let plan = output_of(&["explain", "--json", &sql]);
    let mut plan: &Json = &serde_json::from_str(&plan).unwrap();
    while plan["node"] != "TableScan" {
        plan = &plan["source"];
    }
    let pushed = &plan["pushed"];
    assert_eq!(pushed["table"], "t");
    assert_eq!(pushed["files"], json!({ "found": 1, "left_out": 0 }));
    let column = json!([{ "name": "s", "source": "file", "subfields": ["s.a"] }]);
    assert_eq!(pushed["columns"], column);
    assert_eq!(pushed["remaining"], json!(["gt(plus(k, s.a), 3)"]));
}

#[test]
fn a_join_tells_its_sides_and_the_scan_that_it_will_filter() {
    let scratch = Scratch::new("explain-join");
    let (t, u) = (table(&scratch, "t.parquet"), table(&scratch, "u.parquet"));
    let join = |kind: &str| {
        let sql =
            format!("SELECT t.k FROM '{t}' t {kind} JOIN '{u}' u ON t.k = u.k AND u.price < 1.00");
        (output_of(&["explain", &sql]), output_of(&["explain", "--json", &sql]))
    };
    let (text, plan) = join("");
    assert!(text.contains("[INNER, k"), "{text}");
    assert!(text.contains("probe       TableScan["), "{text}");
    assert!(text.contains("build       "), "{text}");
    assert!(text.contains("     dynamic     k from "), "{text}");
    assert!(plan.contains(r#""dynamic_filters":[{"column":"k""#), "{plan}");
    assert!(plan.contains(r#""kind":"INNER""#), "{plan}");
    // Rows without a match are kept, so the join publishes no filter.
    let (text, plan) = join("LEFT");
    assert!(text.contains("[LEFT, k") && !text.contains("dynamic"), "{text}");
    assert!(!plan.contains(r#""dynamic_filters":[{"#), "{plan}");
}

#[test]
fn a_run_tells_of_each_node_what_it_did() {
    let scratch = Scratch::new("explain-analyze");
    let path = table(&scratch, "t.parquet");
    let sql = format!("SELECT day, sum(k) AS total FROM '{path}' WHERE k >= 450 GROUP BY day");
    let args = ["explain", "--analyze", "--drivers", "1", &sql];
    let text = output_of(&args);
    let (summary, plan) = text.split_once('\n').unwrap();
    assert!(summary.starts_with("6 rows in 1 batch, "), "{text}");
    for line in [
        "in          550 rows in ",
        "out         6 rows in 1 batch of ",
        "work        wall ",
        ", 1 driver\n",
        "splits      1 taken",
        "row groups  6 read, 4 left out, 4 by min/max",
        "rows        600 scanned, 550 passed pushed filters, 550 given",
        "k >= 450",
    ] {
        assert!(plan.contains(line), "{line}\n{text}");
    }
    let run = output_of(&[&args[..], &["--json"]].concat());
    let run: Json = serde_json::from_str(&run).unwrap();
    assert_eq!((&run["rows"], &run["batches"]), (&json!(6), &json!(1)));
    assert!(run["wall_nanos"].as_u64().unwrap() > 0);
    let mut node = &run["plan"];
    while node["node"] != "TableScan" {
        node = &node["source"];
    }
    let scan = &node["operators"][0];
    assert_eq!(scan["operator"], "TableScan");
    assert_eq!((&scan["drivers"], &scan["splits"]), (&json!(1), &json!(1)));
    assert_eq!(scan["output"]["rows"], 550);
    assert!(scan["output"]["bytes"].as_u64().unwrap() >= 550 * 8);
    assert!(scan["cpu_nanos"].as_u64().unwrap() > 0);
    assert_eq!(scan["scan"]["metrics"]["skippedStrides"]["sum"], 4);
    assert!(scan["runtime"]["runningGetOutputWallNanos"]["sum"].as_i64().unwrap() > 0);
}

#[test]
fn a_run_with_several_drivers_tells_waits_and_what_stands_between() {
    let scratch = Scratch::new("explain-drivers");
    let path = table(&scratch, "d/a.parquet");
    table(&scratch, "d/b.parquet");
    let folder = path.rsplit_once('/').unwrap().0;
    let sql = format!("SELECT count(*) AS c, sum(k) AS s FROM '{folder}'");
    let text = output_of(&["explain", "--analyze", "--drivers", "2", &sql]);
    assert!(text.contains("\n-- pipeline 0: TableScan["), "{text}");
    assert!(text.contains("\n     LocalExchange:\n"), "{text}");
    assert!(text.contains(", 2 drivers"), "{text}");
    let run = output_of(&["explain", "--analyze", "--json", "--drivers", "2", &sql]);
    let run: Json = serde_json::from_str(&run).unwrap();
    let operators = run["between_pipelines"].as_array().unwrap();
    assert_eq!(operators.len(), 2, "{operators:?}");
    let pipelines = run["pipelines"].as_array().unwrap();
    assert_eq!((&pipelines[0]["drivers"], &pipelines[1]["drivers"]), (&json!(2), &json!(1)));
}

#[test]
fn what_fails_in_a_run_is_said_as_by_a_query() {
    let ran = ocior(&["explain", "--analyze", "SELECT 1 / (SELECT 0)"]);
    assert_eq!(ran.code, 1);
    let both = ocior(&["explain", "--analyze", "--why", "SELECT 1"]);
    assert_eq!(both.code, 2);
}
