//! Tests of plans as text, for statements over the table of `testing.rs`.

use crate::sql::testing::{error, plan, shown};

#[track_caller]
fn check(sql: &str, lines: &[&str]) {
    assert_eq!(shown(sql), lines.join("\n"), "{sql}");
}

fn names(sql: &str) -> Vec<String> {
    plan(sql).unwrap().row_type.names().to_vec()
}

#[test]
fn a_condition_is_pushed_into_the_scan_and_only_used_columns_are_scanned() {
    check(
        "SELECT name AS country, ds FROM t \
         WHERE ds = '2026-09-01' AND n BETWEEN 0 AND 3 AND n + id >= 4",
        &[
            "-- Project[1][country := name, ds := ds]",
            "  -- TableScan[0][t where and(eq(ds, 2026-09-01), between(n, 0, 3), \
             gte(plus(cast(n as BIGINT), id), 4))]",
        ],
    );
    let plan = plan("SELECT name FROM t WHERE n = 1 ORDER BY x").unwrap();
    assert!(plan.root.to_string().ends_with("[t where eq(n, 1)] -> x DOUBLE,name VARCHAR\n"));
    assert_eq!(plan.scans[0].filter.as_ref().unwrap().to_string(), "eq(n, 1)");
}

#[test]
fn all_columns_need_no_projection_and_hidden_ones_are_named_only() {
    check("SELECT * FROM 'a/b.parquet'", &["-- TableScan[0][t]"]);
    check("FROM t SELECT *", &["-- TableScan[0][t]"]);
    check("FROM t", &["-- TableScan[0][t]"]);
    assert!(!names("SELECT * FROM t").contains(&"$path".to_string()));
    check(
        "SELECT \"$path\", s.b.c FROM t u WHERE u.s.a = 1",
        &[
            "-- Project[1][$path := $path, C := s.b.C]",
            "  -- TableScan[0][t s[[1, 0]] where eq(s.a, 1)]",
        ],
    );
}

#[test]
fn only_the_used_fields_of_structs_are_scanned() {
    let scan = |sql: &str| shown(sql).lines().last().unwrap().trim().to_string();
    assert_eq!(scan("SELECT s.a + n, s.b.c FROM t"), "-- TableScan[0][t s[[0], [1, 0]]]");
    assert_eq!(
        scan("SELECT s.b, s.b.c FROM t ORDER BY s.a"),
        "-- TableScan[0][t s[[0], [1], [1, 0]]]"
    );
    assert_eq!(scan("SELECT sum(s.a) FROM t GROUP BY s.b.c"), "-- TableScan[0][t s[[0], [1, 0]]]");
    assert_eq!(scan("SELECT s, s.a FROM t"), "-- TableScan[0][t]");
}

#[test]
fn a_column_that_is_called_otherwise_in_plans_is_filtered_above_the_scan() {
    check(
        "SELECT id FROM t WHERE \"\u{1}0\" = 1",
        &["-- Project[2][id := id]", "  -- Filter[1][eq(#\u{1}0, 1)]", "    -- TableScan[0][t]"],
    );
}

#[test]
fn names_of_a_result_may_repeat_and_those_of_a_plan_do_not() {
    let sql = "SELECT id, id, n AS id, t.* FROM t";
    assert_eq!(names(sql)[..4], ["id", "id", "id", "id"]);
    assert!(shown(sql).contains("[id := id, id_1 := id, id_2 := n, id_3 := id, n := n,"));
    assert_eq!(names("SELECT N, n + 1, count(*) FROM t GROUP BY 1"), ["n", "n + 1", "count(*)"]);
}

#[test]
fn aggregates_without_groups_make_one_row() {
    check(
        "SELECT count(*) FROM t WHERE x >= 0.05 AND price < 24",
        &[
            "-- Project[2][count(*) := count]",
            "  -- Aggregation[1][Single by (), count := count()]",
            "    -- TableScan[0][t where and(gte(x, 0.05), lt(price, 24.00))]",
        ],
    );
    check(
        "SELECT sum(x * 2) / count(1), count(*) FROM t HAVING max(n) > 1",
        &[
            "-- Project[4][sum(x * 2) / count(1) := divide(sum, cast(count as DOUBLE)), \
             count(*) := count]",
            "  -- Filter[3][gt(max, 1)]",
            "    -- Aggregation[2][Single by (), sum := sum(arg), count := count(), max := max(n)]",
            "      -- Project[1][arg := multiply(x, 2.0), n := n]",
            "        -- TableScan[0][t]",
        ],
    );
}

#[test]
fn keys_may_be_columns_expressions_positions_and_aliases() {
    check(
        "SELECT name, sum(n) FROM t GROUP BY name",
        &[
            "-- Project[2][name := name, sum(n) := sum]",
            "  -- Aggregation[1][Single by (name), sum := sum(n)]",
            "    -- TableScan[0][t]",
        ],
    );
    let computed = [
        "-- Project[3][m := plus(key, 1), count(DISTINCT id) := count]",
        "  -- Aggregation[2][Single by (key), count := count(distinct id)]",
        "    -- Project[1][key := plus(n, 1), id := id]",
        "      -- TableScan[0][t]",
    ];
    check("SELECT n + 1 + 1 AS m, count(DISTINCT id) FROM t GROUP BY n + 1", &computed);
    let by_item = |sql: &str| {
        let text = shown(sql);
        assert!(text.contains("Single by (key)"), "{text}");
        assert!(text.contains("key := plus(n, 1)"), "{text}");
    };
    by_item("SELECT n + 1, count(*) FROM t GROUP BY 1");
    by_item("SELECT n + 1 AS m, count(*) FROM t GROUP BY m");
    by_item("SELECT n + 1, count(*) FROM t GROUP BY ALL");
    // In GROUP BY a column takes precedence over an alias.
    assert!(shown("SELECT n AS id FROM t GROUP BY id, n").contains("Single by (id, n)"));
}

#[test]
fn aggregates_and_keys_may_be_sorted_by_without_being_selected() {
    check(
        "SELECT name FROM t GROUP BY name HAVING count(*) > 1 AND min(x) < 2 \
         ORDER BY sum(x) DESC, 1 LIMIT 3 OFFSET 2",
        &[
            "-- Project[6][name := name]",
            "  -- Limit[5][3 from 2]",
            "    -- TopN[4][5][sort DESC NULLS LAST, name ASC NULLS LAST]",
            "      -- Project[3][name := name, sort := sum]",
            "        -- Filter[2][and(gt(count, 1), lt(min, 2.0))]",
            "          -- Aggregation[1][Single by (name), count := count(), min := min(x), \
             sum := sum(x)]",
            "            -- TableScan[0][t]",
        ],
    );
}

#[test]
fn a_filter_of_an_aggregate_is_its_mask() {
    check(
        "SELECT sum(x) FILTER (WHERE flag), count(*) FILTER (WHERE n > 1) FROM t",
        &[
            "-- Project[3][sum(x) FILTER (WHERE flag) := sum, \
             count(*) FILTER (WHERE n > 1) := count]",
            "  -- Aggregation[2][Single by (), sum := sum(x) filter flag, \
             count := count() filter filter]",
            "    -- Project[1][x := x, flag := flag, filter := gt(n, 1)]",
            "      -- TableScan[0][t]",
        ],
    );
    check(
        "SELECT bool_or(DISTINCT flag), stddev(DISTINCT x) FILTER (WHERE flag) AS s FROM t",
        &[
            "-- Project[2][bool_or(DISTINCT flag) := bool_or, s := stddev]",
            "  -- Aggregation[1][Single by (), bool_or := bool_or(flag), \
             stddev := stddev(distinct x) filter flag]",
            "    -- TableScan[0][t]",
        ],
    );
}

#[test]
fn sorting_takes_columns_aliases_positions_and_expressions() {
    check(
        "SELECT id FROM t ORDER BY name DESC NULLS FIRST, x + 1, id",
        &[
            "-- Project[3][id := id]",
            "  -- OrderBy[2][sort DESC NULLS FIRST, sort_1 ASC NULLS LAST, id ASC NULLS LAST]",
            "    -- Project[1][id := id, sort := name, sort_1 := plus(x, 1.0)]",
            "      -- TableScan[0][t]",
        ],
    );
    // In ORDER BY an alias takes precedence over a column.
    check(
        "SELECT n AS id FROM t ORDER BY id LIMIT 1",
        &["-- TopN[2][1][id ASC NULLS LAST]", "  -- Project[1][id := n]", "    -- TableScan[0][t]"],
    );
    assert!(shown("SELECT id FROM t ORDER BY 1 LIMIT 1000000").contains("-- OrderBy["));
}

#[test]
fn distinct_groups_by_what_is_selected() {
    check(
        "SELECT DISTINCT name, n FROM t ORDER BY n LIMIT 5",
        &[
            "-- TopN[3][5][n ASC NULLS LAST]",
            "  -- Aggregation[2][Single by (name, n)]",
            "    -- Project[1][name := name, n := n]",
            "      -- TableScan[0][t]",
        ],
    );
    assert_eq!(
        error("SELECT DISTINCT name FROM t ORDER BY n"),
        "invalid input: with DISTINCT only selected columns can be sorted by (expression=n)"
    );
}

#[test]
fn limits_are_counts() {
    check("SELECT * FROM t LIMIT 3 OFFSET 1", &["-- Limit[1][3 from 1]", "  -- TableScan[0][t]"]);
    check(
        "SELECT * FROM t OFFSET 1",
        &["-- Limit[1][18446744073709551615 from 1]", "  -- TableScan[0][t]"],
    );
    check("SELECT * FROM t LIMIT NULL", &["-- TableScan[0][t]"]);
    check(
        "SELECT * FROM t FETCH FIRST 2 ROWS ONLY",
        &["-- Limit[1][2 from 0]", "  -- TableScan[0][t]"],
    );
    let text = error("SELECT * FROM t LIMIT -1");
    assert!(text.starts_with("invalid input: a number of rows must be a whole number"), "{text}");
}

#[test]
fn a_query_without_a_table_has_one_row() {
    check(
        "SELECT 1 + n AS m FROM (SELECT 1 AS n)",
        &["-- Project[2][m := plus(1, n)]", "  -- Project[1][n := 1]", "    -- Values[0][1 rows]"],
    );
    check(
        "SELECT 'a' AS x, NULL AS y WHERE true",
        &[
            "-- Project[2][x := \"a\", y := null]",
            "  -- Filter[1][true]",
            "    -- Values[0][1 rows]",
        ],
    );
    assert!(error("SELECT *").starts_with("invalid input: SELECT * needs a table (at=1:8)"));
}

#[test]
fn a_column_beside_groups_must_be_a_key_or_inside_an_aggregate() {
    assert_eq!(
        error("SELECT n, count(*) FROM t GROUP BY name"),
        "invalid input: a column is neither grouped by nor inside an aggregate (column=n)\n  \
         hint: add n to GROUP BY, or write min(n)"
    );
    assert!(error("SELECT * FROM t HAVING n > 1").contains("column=id"));
    assert!(error("SELECT sum(count(*)) FROM t").contains("an aggregate is not allowed here"));
    assert!(error("SELECT 1 FROM t GROUP BY count(*)").contains("clause=GROUP BY"));
    assert!(error("SELECT count(*) AS c FROM t GROUP BY c").contains("clause=GROUP BY"));
    assert_eq!(
        error("SELECT n FROM t WHERE count(*) > 1"),
        "invalid input: an aggregate is not allowed here (name=count clause=WHERE at=1:23)\n  \
         hint: conditions on groups belong in HAVING\n        \
         SELECT n FROM t WHERE count(*) > 1\n        \
         \x20                     ^"
    );
}

#[test]
fn what_is_not_built_yet_is_said_by_name() {
    for (sql, what) in [
        ("SELECT 1 FROM (t JOIN t ON true)", "joins in parentheses are not supported yet"),
        ("SELECT 1 INTERSECT BY NAME SELECT 2", "set operations BY NAME are not supported"),
        ("WITH RECURSIVE a AS (SELECT 1) SELECT 1", "WITH RECURSIVE is not supported"),
        ("SELECT rank() OVER () FROM t", "window functions are not supported yet"),
        ("SELECT n FROM t GROUP BY n IN (SELECT 1)", "a subquery is not supported here"),
        ("SELECT 1 FROM t, LATERAL (SELECT 1)", "LATERAL is supported with UNNEST only"),
        ("SELECT 1 UNION BY NAME SELECT 1", "set operations BY NAME are not supported"),
        ("SELECT n FROM t GROUP BY ROLLUP (n)", "grouping sets are not supported yet"),
        ("SELECT DISTINCT ON (n) n FROM t", "DISTINCT ON is not supported yet"),
        ("SELECT * EXCLUDE (n) FROM t", ""),
        ("VALUES (1, rand())", "VALUES takes constants only"),
        ("SELECT ds + INTERVAL '-1' DAY FROM t", "this form of interval is not supported"),
        ("SELECT list[1] FROM t", "subscripts are supported for fields of structs only"),
        ("SELECT range FROM range(10)", "table functions are not supported yet"),
        ("SELECT ? FROM t", "query parameters are not supported yet"),
        ("DELETE FROM t", "only SELECT and COPY statements are supported"),
    ] {
        let text = error(sql);
        assert!(text.contains(what), "{sql}: {text}");
    }
    assert!(error("SELECT rank() OVER () FROM t").contains("DuckDB"));
    assert!(error("SELECT 1 FROM x").starts_with("not found: no such table (name=x at=1:15)"));
}

#[test]
fn positions_must_exist() {
    assert!(error("SELECT n FROM t ORDER BY 2").contains("no such position"));
    assert!(error("SELECT n FROM t GROUP BY 0").contains("no such position"));
    assert!(error("SELECT list FROM t ORDER BY list").contains("nested values cannot be sorted"));
}

#[test]
fn deep_expressions_end_in_an_error_and_long_conditions_do_not() {
    let chain = |op: &str, n: usize| vec!["n = 1"; n].join(op);
    let text = shown(&format!("SELECT id FROM t WHERE {}", chain(" OR ", 900)));
    assert!(text.contains("where or(eq(n, 1), "), "{text:.100}");
    let sum = |n: usize| format!("SELECT n{} FROM t", " + 1".repeat(n));
    plan(&sum(90)).unwrap();
    let parens = format!("SELECT {}n{} FROM t", "(".repeat(48), ")".repeat(48));
    plan(&parens).unwrap();
    let calls = format!("SELECT {}n{} FROM t", "abs(".repeat(48), ")".repeat(48));
    plan(&calls).unwrap();
    assert!(error(&sum(1900)).starts_with("limit: an expression is nested too deep"));
}
