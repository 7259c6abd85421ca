//! Aggregates in SQL over files: FILTER, DISTINCT, groups and none, with one driver and with three.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use dwio::fs::MemoryFiles;
use ocior::Engine;

use crate::support::files::{Layout, engine_over, lines, put_table, with_drivers};

/// A table of 1,200 rows: `k` a, b, c in turn; `n` counts from 0; `d` is n / 2; `b` is true for even
/// n, null for each ninth; `s` is a text for each fifth row; `price` has two digits.
fn engine() -> Engine {
    let rows = 0..1_200i64;
    let ks = StringArray::from_iter_values(rows.clone().map(|n| ["a", "b", "c"][n as usize % 3]));
    let bs = rows.clone().map(|n| (n % 9 != 0).then_some(n % 2 == 0));
    let ss = rows.clone().map(|n| (n % 5 == 0).then(|| format!("text {n:04}")));
    let prices = Decimal128Array::from_iter_values(rows.clone().map(|n| i128::from(n % 4) * 50));
    let prices = prices.with_precision_and_scale(10, 2).unwrap();
    let columns: [(&str, ArrayRef); 6] = [
        ("k", Arc::new(ks)),
        ("n", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("d", Arc::new(Float64Array::from_iter_values(rows.map(|n| n as f64 / 2.0)))),
        ("b", Arc::new(BooleanArray::from_iter(bs))),
        ("s", Arc::new(StringArray::from_iter(ss))),
        ("price", Arc::new(prices)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let files = MemoryFiles::new();
    let layout = Layout { rows_per_page: 20, rows_per_group: 90, ..Layout::default() };
    put_table(&files, "t", &batch, (200, layout));
    let mut engine = engine_over(&files);
    engine.register_table("t", "t").unwrap();
    engine
}

fn check(sql: &str, expected: &[&str]) {
    let engine = engine();
    for drivers in [1, 3] {
        let options = with_drivers(drivers);
        let found = lines(engine.query_with(sql, &options).unwrap()).unwrap();
        assert_eq!(found, expected, "{sql} with {drivers} drivers");
    }
}

#[test]
fn dispersions_are_of_a_sample_or_of_a_population() {
    let thousandths = |call: &str| format!("CAST(round({call} * 1000e0) AS BIGINT)");
    let [v, p, s, m] = ["variance(n)", "var_pop(n)", "stddev(d)", "stddev_pop(price)"];
    let [v, p, s, m] = [v, p, s, m].map(thousandths);
    check(
        &format!(
            "SELECT k, {v} AS v, {p} AS p, {s} AS s, {m} AS m FROM t WHERE n < 9
                GROUP BY k ORDER BY k"
        ),
        &[
            r#"{"k":"a","v":9000,"p":6000,"s":1500,"m":624}"#,
            r#"{"k":"b","v":9000,"p":6000,"s":1500,"m":624}"#,
            r#"{"k":"c","v":9000,"p":6000,"s":1500,"m":408}"#,
        ],
    );
    check(
        "SELECT stddev(n) AS a, stddev_pop(n) AS b, var_samp(DISTINCT price) AS c FROM t
            WHERE n = 7",
        &[r#"{"a":null,"b":0.0,"c":null}"#],
    );
}

#[test]
fn a_filter_leaves_rows_out_of_one_aggregate_only() {
    check(
        "SELECT count(*) AS n, count(*) FILTER (WHERE b) AS t, sum(n) FILTER (WHERE n < 4) AS s,
            count(DISTINCT k) FILTER (WHERE n > 1197) AS k, min(s) FILTER (WHERE n > 7) AS m,
            max(n) FILTER (WHERE n > 5000) AS none, count_if(b) AS c FROM t",
        &[r#"{"n":1200,"t":533,"s":6,"k":2,"m":"text 0010","none":null,"c":533}"#],
    );
    check(
        "SELECT k, count(*) FILTER (WHERE n < 4) AS n, array_agg(n) FILTER (WHERE n = 4) AS l FROM t
            GROUP BY k ORDER BY k",
        &[
            r#"{"k":"a","n":2,"l":null}"#,
            r#"{"k":"b","n":1,"l":[4]}"#,
            r#"{"k":"c","n":1,"l":null}"#,
        ],
    );
}

#[test]
fn truth_values_are_put_together_and_nulls_passed_over() {
    check(
        "SELECT bool_and(b) AS a, bool_or(b) AS o, every(b) FILTER (WHERE n % 2 = 0) AS e,
            bool_or(b) FILTER (WHERE n % 9 = 0) AS none FROM t",
        &[r#"{"a":false,"o":true,"e":true,"none":null}"#],
    );
}

#[test]
fn the_row_with_the_least_or_greatest_value_gives_another() {
    check(
        "SELECT k, min_by(s, n) AS first, max_by(n, s) AS last, max_by(k, d) FILTER (WHERE b) AS f
            FROM t GROUP BY k ORDER BY k",
        &[
            r#"{"k":"a","first":"text 0000","last":1185,"f":"a"}"#,
            r#"{"k":"b","first":null,"last":1195,"f":"b"}"#,
            r#"{"k":"c","first":null,"last":1190,"f":"c"}"#,
        ],
    );
}

#[test]
fn lists_have_all_values_nulls_too() {
    check(
        "SELECT cardinality(array_agg(s)) AS c, array_agg(n) FILTER (WHERE n = 3) AS l,
            cardinality(array_agg(DISTINCT k)) AS k FROM t",
        &[r#"{"c":1200,"l":[3],"k":3}"#],
    );
}

#[test]
fn rows_are_taken_in_the_order_that_a_call_asks_for() {
    // n is 0 and 3 for a, 1 and 4 for b, 2 and 5 for c; s is null but for 0 and 5.
    for (calls, expected) in [
        ("array_agg(n ORDER BY n)", ["[0,3]", "[1,4]", "[2,5]"]),
        ("array_agg(n ORDER BY n DESC)", ["[3,0]", "[4,1]", "[5,2]"]),
        ("array_agg(n ORDER BY -n)", ["[3,0]", "[4,1]", "[5,2]"]),
        ("array_agg(n ORDER BY s NULLS FIRST, n)", ["[3,0]", "[1,4]", "[2,5]"]),
        ("array_agg(n ORDER BY s DESC, n DESC)", ["[0,3]", "[4,1]", "[5,2]"]),
        ("array_agg(n ORDER BY n DESC) FILTER (WHERE n > 1)", ["[3]", "[4]", "[5,2]"]),
        ("array_agg(n ORDER BY 1, n DESC, n)", ["[3,0]", "[4,1]", "[5,2]"]),
        ("array_agg(DISTINCT n % 3 ORDER BY n % 3)", ["[0]", "[1]", "[2]"]),
        ("arbitrary(n ORDER BY n DESC)", ["3", "4", "5"]),
        ("sum(n ORDER BY s) + count(* ORDER BY n)", ["5", "7", "9"]),
        ("element_at(array_agg(n ORDER BY d DESC), 1) + min(n ORDER BY n)", ["3", "5", "7"]),
        (
            "concat(array_agg(n ORDER BY n % 2), array_agg(n ORDER BY n % 2, n DESC))",
            ["[0,3,0,3]", "[4,1,4,1]", "[2,5,2,5]"],
        ),
    ] {
        let lines: Vec<String> = ["a", "b", "c"]
            .iter()
            .zip(expected)
            .map(|(k, v)| format!(r#"{{"k":"{k}","v":{v}}}"#))
            .collect();
        let sql = format!("SELECT k, {calls} AS v FROM t WHERE n < 6 GROUP BY k ORDER BY k");
        check(&sql, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    }
    // Of many rows in several files, and without groups.
    check(
        "SELECT element_at(l, 1) AS a, element_at(l, 600) AS b, cardinality(l) AS c
            FROM (SELECT array_agg(n ORDER BY n DESC) AS l FROM t)",
        &[r#"{"a":1199,"b":600,"c":1200}"#],
    );
    check(
        "SELECT array_agg(DISTINCT k ORDER BY k DESC) AS k, array_agg(n ORDER BY k DESC, n) AS b
            FROM t WHERE n < 0",
        &[r#"{"k":null,"b":null}"#],
    );
    check("SELECT array_agg(DISTINCT k ORDER BY k DESC) AS k FROM t", &[r#"{"k":["c","b","a"]}"#]);
}

#[test]
fn a_chain_of_conditions_may_have_a_key_among_its_terms() {
    let key = "(n < 3 OR b)";
    for (item, expected) in [
        (format!("{key} OR FALSE"), [Some(false), Some(true), None]),
        (format!("{key} OR count(*) < 600"), [Some(true); 3]),
        (format!("count(*) < 600 OR {key} OR {key} IS NULL"), [Some(true); 3]),
        (format!("count(*) > 9000 OR n < 3 OR b OR {key}"), [Some(false), Some(true), None]),
        (format!("NOT ({key} OR count(*) > 9000)"), [Some(true), Some(false), None]),
    ] {
        let lines = expected.map(|v| match v {
            Some(v) => format!(r#"{{"v":{v}}}"#),
            None => r#"{"v":null}"#.to_string(),
        });
        let sql = format!("SELECT {item} AS v FROM t GROUP BY {key} ORDER BY {key}");
        check(&sql, &lines.each_ref().map(String::as_str));
    }
    check(
        "SELECT (n < 3 AND b) AND d < 1 AND count(*) > 0 AS v FROM t WHERE n IN (2, 5)
            GROUP BY n < 3 AND b, d < 1, n < 3 AND b AND d < 1 ORDER BY v",
        &[r#"{"v":false}"#, r#"{"v":false}"#],
    );
    let error = engine().query("SELECT n < 3 OR d < 1 FROM t GROUP BY n < 3 OR b");
    assert!(error.unwrap_err().to_string().contains("neither grouped by nor"));
}

#[test]
fn arguments_that_have_no_such_aggregate_are_refused() {
    let engine = engine();
    for (call, what) in [
        ("stddev(s)", "does not take arguments"),
        ("bool_and(n)", "does not take arguments"),
        ("min_by(s)", "does not take arguments"),
        ("count_if(*)", "only count takes *"),
        ("array_agg(DISTINCT n ORDER BY d)", "in the order of its arguments only"),
        ("array_agg(n ORDER BY array_agg(n))", "an aggregate is not allowed here"),
        ("array_agg(n ORDER BY sequence(1, n))", "cannot be sorted by"),
        ("abs(n ORDER BY n)", "only aggregates take"),
        ("array_agg(n LIMIT 1)", "clauses inside a call"),
        (
            "cardinality(array_agg(n ORDER BY n)) + cardinality(array_agg(n ORDER BY d))",
            "different ORDER BY",
        ),
        ("sum(n) FILTER (WHERE n)", "BOOLEAN"),
        ("sum(n) FILTER (WHERE sum(n) > 1)", "not allowed here"),
    ] {
        let refused = match engine.query(&format!("SELECT {call} FROM t")) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{call} was taken"),
        };
        assert!(refused.contains(what), "{call}: {refused}");
    }
}

#[test]
fn dice_are_thrown_for_each_row_whether_they_are_given_out_or_tested() {
    check(
        "SELECT count(DISTINCT r) > 1000 AS a, count(DISTINCT s) > 1000 AS b
            FROM (SELECT rand() AS r, n + rand() AS s FROM t) AS thrown",
        &[r#"{"a":true,"b":true}"#],
    );
    for test in ["rand() < 0.5e0", "rand() > 0.5e0", "NOT rand() < 0.5e0", "n < 1e9 * rand() - 5e8"]
    {
        let sql = format!("SELECT count(*) BETWEEN 300 AND 900 AS c FROM t WHERE {test}");
        check(&sql, &[r#"{"c":true}"#]);
    }
}

/// Each of several drivers ends some of the groups: partial results reach it picked from those of
/// all.
#[test]
fn every_aggregate_of_many_groups_is_the_same_with_any_number_of_drivers() {
    let engine = engine();
    let calls = [
        "count(*)",
        "count(s)",
        "sum(n)",
        "sum(d)",
        "sum(price)",
        "avg(n)",
        "avg(d)",
        "avg(price)",
        "min(s)",
        "max(n)",
        "min(b)",
        "max(price)",
        "bool_and(b)",
        "bool_or(b)",
        "count_if(b)",
        "min_by(s, n)",
        "max_by(n, d)",
        "count(DISTINCT k)",
        "avg(d) FILTER (WHERE b)",
        "round(stddev(n) * 1e3)",
        "round(var_pop(n))",
        "cardinality(array_agg(s))",
        "sum(n) + avg(n)",
    ];
    for call in calls {
        for key in ["n % 97", "k", "concat(k, CAST(n % 7 AS VARCHAR))"] {
            let sql = format!("SELECT {key} AS g, {call} AS v FROM t GROUP BY 1 ORDER BY 1");
            let found = [1, 2, 3, 7].map(|drivers| {
                let options = with_drivers(drivers);
                lines(engine.query_with(&sql, &options).unwrap()).unwrap()
            });
            assert!(found[0].len() >= 3, "{sql}");
            assert!(found.iter().all(|lines| *lines == found[0]), "{sql}: {found:?}");
        }
    }
}
