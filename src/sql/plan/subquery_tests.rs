//! Tests of the plans of unions, subqueries and UNNEST.

use crate::sql::testing::{error, plan, shown};

#[test]
fn conditions_go_into_subqueries_and_columns_that_nobody_wants_are_not_read() {
    let scan = "-- TableScan[0][t where and(gt(x, 1.0), gt(plus(n, 1), 3))] -> n INTEGER";
    for sql in [
        "SELECT m FROM (SELECT n + 1 AS m, name, s FROM t WHERE x > 1) WHERE m > 3",
        "WITH q(m, other) AS (SELECT n + 1, name FROM t WHERE x > 1) SELECT m FROM q WHERE m > 3",
    ] {
        let plan = plan(sql).unwrap().root.to_string();
        assert!(plan.trim_end().ends_with(scan), "{plan}");
    }
    assert_eq!(
        shown(
            "SELECT k FROM (SELECT n AS k, count(*) AS c FROM t GROUP BY n) WHERE k > 1 AND c > 2"
        ),
        "\
-- Project[3][k := n]
  -- Filter[2][gt(count, 2)]
    -- Aggregation[1][Single by (n), count := count()]
      -- TableScan[0][t where gt(n, 1)]"
    );
    // Aggregates without keys return a row even if WHERE removes all rows.
    let global = shown("SELECT 1 FROM (SELECT 1 AS k, count(*) AS c FROM t) WHERE k > n1");
    assert!(global.contains("no such column"), "{global}");
    let global = shown("SELECT c FROM (SELECT 'a' AS k, count(*) AS c FROM t) WHERE k = 'b'");
    assert!(global.contains("-- TableScan[0][t]") && global.contains("Filter"), "{global}");
    let limited = shown("SELECT n FROM (SELECT n FROM t LIMIT 3) WHERE n > 1");
    assert!(limited.contains("Filter") && limited.ends_with("[t]"), "{limited}");
}

#[test]
fn a_union_has_its_sources_side_by_side() {
    assert_eq!(
        shown("SELECT n FROM t UNION ALL SELECT id FROM t WHERE flag ORDER BY 1 LIMIT 2"),
        "\
-- TopN[6][2][n ASC NULLS LAST]
  -- LocalPartition[5][round robin]
    -- Project[2][n := cast(union.n#2 as BIGINT)]
      -- Project[1][union.n#2 := n]
        -- TableScan[0][t]
    -- Project[4][n := t.id]
      -- TableScan[3][t where flag]"
    );
    let distinct = shown("SELECT n FROM t UNION SELECT tiny FROM t UNION ALL SELECT n FROM t");
    assert!(distinct.starts_with("-- LocalPartition["), "{distinct}");
    assert_eq!(distinct.matches("Aggregation").count(), 1);
    let one = shown("SELECT n FROM t UNION ALL SELECT tiny FROM t UNION SELECT n FROM t");
    assert!(one.starts_with("-- Aggregation["), "{one}");
    assert_eq!(one.matches("LocalPartition").count(), 1);
    // Conditions are pushed into each source, and all sources drop the columns that are not used.
    let plan = shown(
        "SELECT sum(k) FROM (SELECT n AS k, name FROM t UNION ALL SELECT n + 1, name FROM t) \
         WHERE k > 5",
    );
    assert!(plan.contains("[t where gt(n, 5)]"), "{plan}");
    assert!(plan.contains("[t where gt(plus(n, 1), 5)]"), "{plan}");
    assert!(!plan.contains("name :="), "{plan}");
    assert!(error("SELECT 1 UNION ALL SELECT 1, 2").contains("differ in columns"));
    assert!(error("SELECT ds FROM t UNION ALL SELECT flag FROM t").contains("no common type"));
}

#[test]
fn subqueries_of_where_are_semi_and_anti_joins() {
    assert_eq!(
        shown("SELECT id FROM t WHERE n IN (SELECT n FROM t WHERE flag) AND x > 2"),
        "\
-- HashJoin[0][LEFT SEMI (FILTER), n = subquery.n]
  -- TableScan[1][t where gt(x, 2.0)]
  -- Project[3][subquery.n := t.n]
    -- TableScan[2][t where flag]"
    );
    let anti = shown("SELECT id FROM t WHERE n NOT IN (SELECT n FROM t)");
    assert!(anti.starts_with("-- HashJoin[0][ANTI null aware, n = subquery.n]"), "{anti}");
    let exists = shown(
        "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.id = t.id AND b.n < t.n \
         AND b.flag)",
    );
    assert!(exists.starts_with("-- HashJoin[0][ANTI, id = b.id, lt(b.n, n)]"), "{exists}");
    assert!(exists.ends_with("[t where flag]"), "{exists}");
    let mark = shown("SELECT id FROM t WHERE flag OR n IN (SELECT n FROM t)");
    assert!(mark.contains("LEFT SEMI (PROJECT) null aware"), "{mark}");
    assert!(mark.contains("Filter[4][or(flag, in)]"), "{mark}");
    let value = shown("SELECT id FROM t WHERE n > (SELECT max(n) FROM t)");
    assert!(value.contains("[INNER, gt(n, "), "{value}");
    assert!(!value.contains("EnforceSingleRow"), "{value}");
    assert!(shown("SELECT (SELECT n FROM t)").contains("EnforceSingleRow"));
}

#[test]
fn aggregates_that_use_the_query_around_are_looked_up_by_key() {
    assert_eq!(
        shown("SELECT id FROM t WHERE n < (SELECT max(n) FROM t b WHERE b.id = t.id AND b.flag)"),
        "\
-- Project[6][id := id]
  -- Filter[5][lt(n, max(n))]
    -- HashJoin[0][LEFT, id = key]
      -- TableScan[1][t]
      -- Project[4][max(n) := max, key := b.id]
        -- Aggregation[3][Single by (b.id), max := max(b.n)]
          -- TableScan[2][t where flag]"
    );
    let count = shown("SELECT (SELECT count(*) + 1 FROM t b WHERE b.id = t.id) FROM t");
    assert!(count.contains("if(is_null(found), 1, count(*) + 1)"), "{count}");
    // EXISTS of a subquery that always returns a row is true also where no group is found.
    let always =
        shown("SELECT id FROM t WHERE EXISTS (SELECT count(*) FROM t b WHERE b.id = t.id)");
    assert!(always.contains("if(is_null(found), true"), "{always}");
}

#[test]
fn set_operations_are_groups_of_both_sides() {
    assert_eq!(
        shown("SELECT id FROM t EXCEPT SELECT id FROM t WHERE flag"),
        "\
-- Project[10][id := union.id#4]
  -- Filter[9][and(gt(count, 0), eq(count_1, 0))]
    -- Aggregation[8][Single by (union.id#4), count := count() filter union.side, count_1 := count() filter filter]
      -- Project[7][union.id#4 := union.id#4, union.side := union.side, filter := not(union.side)]
        -- LocalPartition[6][round robin]
          -- Project[2][union.id#4 := union.id, union.side := true]
            -- Project[1][union.id := id]
              -- TableScan[0][t]
          -- Project[5][union.id#4 := union.id#2, union.side := false]
            -- Project[4][union.id#2 := t.id]
              -- TableScan[3][t where flag]",
    );
}

#[test]
fn what_subqueries_cannot_do_yet_is_said() {
    for (sql, what) in [
        ("SELECT 1 FROM t WHERE n IN (SELECT n, id FROM t)", "must have one column"),
        ("SELECT 1 FROM t WHERE n = (SELECT n FROM t b WHERE b.id = t.id)", "must be an aggregate"),
        (
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE EXISTS \
             (SELECT 1 FROM t c WHERE c.id = t.id))",
            "right around it only",
        ),
        ("SELECT count(*) FROM t HAVING count(*) IN (SELECT n FROM t)", "what aggregates give"),
        ("SELECT 1 FROM t a JOIN t b ON a.n IN (SELECT 1)", "a subquery is not supported here"),
    ] {
        let text = error(sql);
        assert!(text.contains(what), "{sql}: {text}");
    }
    let deep = format!("{}SELECT 1 AS a{}", "SELECT * FROM (".repeat(30), ")".repeat(30));
    assert!(error(&deep).starts_with("limit: subqueries are nested too deep"));
    let names = (1..40)
        .map(|i| format!(", q{i} AS (SELECT a FROM q{j} UNION SELECT a FROM q{j})", j = i - 1));
    let doubling =
        format!("WITH q0 AS (SELECT 1 AS a){} SELECT * FROM q10", names.collect::<String>());
    assert!(error(&doubling).starts_with("limit: "), "{}", error(&doubling));
}

#[test]
fn lists_are_taken_apart_beside_their_rows() {
    assert_eq!(
        shown(
            "SELECT id, e, o FROM t CROSS JOIN UNNEST(list) WITH ORDINALITY AS u(e, o) WHERE n = 1 AND e > 2"
        ),
        "\
-- Filter[2][gt(e, 2)]
  -- Unnest[0][list with ordinality]
    -- TableScan[1][t where eq(n, 1)]"
    );
    assert_eq!(
        shown("SELECT u FROM t, UNNEST(list) AS u"),
        "-- Unnest[0][list]\n  -- TableScan[1][t]"
    );
    let joined = shown("SELECT b.id FROM t a CROSS JOIN UNNEST(a.list) u(e) JOIN t b ON b.id = e");
    assert!(joined.contains("e = b.id") || joined.contains("b.id = e"), "{joined}");
    assert!(error("SELECT 1 FROM t, UNNEST(n) u").contains("UNNEST takes arrays and maps"));
    let outer = shown("SELECT u FROM t LEFT JOIN LATERAL UNNEST(list) AS u ON true WHERE n = 1");
    assert_eq!(
        outer,
        "-- Unnest[0][list, keeping rows without elements]\n  -- TableScan[1][t where eq(n, 1)]"
    );
    assert!(error("SELECT 1 FROM t LEFT JOIN UNNEST(list) u ON n = 1").contains("ON TRUE only"));
    assert!(error("SELECT 1 FROM t FULL JOIN UNNEST(list) u ON true").contains("inner and left"));
    assert!(error("SELECT 1 FROM t, UNNEST(list) u(a, b)").contains("more names than columns"));
}
