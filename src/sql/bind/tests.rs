//! Tests of bound conditions and values, over the table of `testing.rs`.

use crate::sql::testing::{error, plan};

/// Returns the filter of the scan that a condition becomes.
fn condition(text: &str) -> String {
    let plan = plan(&format!("SELECT id FROM t WHERE {text}")).map_err(|e| format!("{text}: {e}"));
    plan.unwrap().scans.remove(0).filter.unwrap().to_string()
}

/// Returns the bound expression of the SELECT list and its type.
fn value(text: &str) -> String {
    let plan = plan(&format!("SELECT {text} AS v FROM t")).map_err(|e| format!("{text}: {e}"));
    let plan = plan.unwrap().root.to_string();
    let line = plan.lines().next().unwrap();
    let line = line.split_once("[v := ").map_or(line, |(_, rest)| rest);
    line.replace("] -> v ", " ").replace(",]", "]")
}

#[test]
fn constants_take_the_columns_type_so_that_columns_stand_bare() {
    for (text, bound) in [
        ("x = 1", "eq(x, 1.0)"),
        ("x >= 0.05", "gte(x, 0.05)"),
        ("r = 0.5", "eq(r, 0.5)"),
        ("tiny = 1", "eq(tiny, 1)"),
        ("id = 1", "eq(id, 1)"),
        ("id = 5000000000", "eq(id, 5000000000)"),
        ("price = 24", "eq(price, 24.00)"),
        ("price BETWEEN 0.05 AND 7", "between(price, 0.05, 7.00)"),
        ("n IN (1, 2, 3)", "in(n, 1, 2, 3)"),
        ("1 < n", "gt(n, 1)"),
        ("0 >= n", "lte(n, 0)"),
        // A constant that does not fit is compared in the wider type.
        ("tiny = 1000", "eq(cast(tiny as INTEGER), 1000)"),
        ("n = 5000000000", "eq(cast(n as BIGINT), 5000000000)"),
        ("n = 1.5", "eq(cast(n as DECIMAL(11,1)), 1.5)"),
        ("n = NULL", "eq(n, null)"),
    ] {
        assert_eq!(condition(text), bound, "{text}");
    }
}

#[test]
fn text_literals_become_dates_and_times_beside_such_columns() {
    for (text, bound) in [
        ("ds > '2020-01-01'", "gt(ds, 2020-01-01)"),
        ("'2020-01-01' < ds", "gt(ds, 2020-01-01)"),
        ("ds = DATE '2020-01-01'", "eq(ds, 2020-01-01)"),
        ("ds IN ('2020-01-01', DATE '2020-01-02')", "in(ds, 2020-01-01, 2020-01-02)"),
        ("ds BETWEEN '2020-01-01' AND '2020-01-02'", "between(ds, 2020-01-01, 2020-01-02)"),
        ("at >= '2020-01-01 10:00'", "gte(at, 2020-01-01 10:00:00)"),
        ("at = TIMESTAMP '2020-01-01 00:00:00.5'", "eq(at, 2020-01-01 00:00:00.5)"),
        ("bin = 'ab'", "eq(bin, \"ab\")"),
        ("at > ds", "gt(at, cast(ds as TIMESTAMP))"),
        ("CASE ds WHEN '2020-01-01' THEN true END", "switch(eq(ds, 2020-01-01), true)"),
    ] {
        assert_eq!(condition(text), bound, "{text}");
    }
}

#[test]
fn logic_is_flat_and_has_its_special_forms() {
    for (text, bound) in [
        (
            "(n = 1 OR n = 2 OR n = 3) AND flag AND (flag AND NOT flag)",
            "and(or(eq(n, 1), eq(n, 2), eq(n, 3)), flag, flag, not(flag))",
        ),
        ("n IS NULL", "is_null(n)"),
        ("n IS NOT NULL", "not(is_null(n))"),
        ("flag IS TRUE", "coalesce(flag, false)"),
        ("flag IS NOT TRUE", "not(coalesce(flag, false))"),
        ("flag IS FALSE", "not(coalesce(flag, true))"),
        ("flag IS NOT FALSE", "coalesce(flag, true)"),
        ("n IS DISTINCT FROM id", "distinct_from(cast(n as BIGINT), id)"),
        ("n NOT IN (1)", "not(in(n, 1))"),
        ("n NOT BETWEEN 1 AND 2", "not(between(n, 1, 2))"),
        ("name LIKE 'a%'", "like(name, \"a%\")"),
        ("name NOT LIKE 'a!%' ESCAPE '!'", "not(like(name, \"a!%\", \"!\"))"),
        ("name ILIKE 'A%'", "like(lower(name), \"a%\")"),
        ("n <> 1", "neq(n, 1)"),
        ("n != 1", "neq(n, 1)"),
    ] {
        assert_eq!(condition(text), bound, "{text}");
    }
}

#[test]
fn values_are_typed() {
    for (text, bound) in [
        ("1 + 1", "2 INTEGER"),
        ("-n", "negate(n) INTEGER"),
        ("- 5", "-5 INTEGER"),
        ("n + 1", "plus(n, 1) INTEGER"),
        ("n % 2", "modulus(n, 2) INTEGER"),
        ("mod(n, 2)", "modulus(n, 2) INTEGER"),
        ("n * x", "multiply(cast(n as DOUBLE), x) DOUBLE"),
        ("name || '-' || name", "concat(concat(name, \"-\"), name) VARCHAR"),
        ("CASE WHEN n > 1 THEN 'a' ELSE NULL END", "switch(gt(n, 1), \"a\", null) VARCHAR"),
        (
            "CASE n WHEN 1 THEN 2 WHEN 3 THEN 4.5 END",
            "switch(eq(n, 1), 2.0, eq(n, 3), 4.5) DECIMAL(11,1)",
        ),
        ("CAST(n AS BIGINT)", "cast(n as BIGINT) BIGINT"),
        ("n::varchar", "cast(n as VARCHAR) VARCHAR"),
        ("TRY_CAST(name AS INTEGER)", "try_cast(name as INTEGER) INTEGER"),
        ("CAST(n AS INTEGER)", "n INTEGER"),
        ("CAST('12' AS INTEGER)", "12 INTEGER"),
        ("coalesce(n, id, 0)", "coalesce(cast(n as BIGINT), id, 0) BIGINT"),
        ("coalesce(tiny, 0)", "coalesce(tiny, 0) TINYINT"),
        ("nullif(n, 0)", "nullif(n, 0) INTEGER"),
        ("IF(flag, n, 0)", "if(flag, n, 0) INTEGER"),
        ("EXTRACT(DOW FROM ds)", "dow(ds) BIGINT"),
        ("EXTRACT(QUARTER FROM ds)", "quarter(ds) BIGINT"),
        ("POSITION('a' IN name)", "strpos(name, \"a\") BIGINT"),
        ("TRIM(BOTH 'x' FROM name)", "trim(name, \"x\") VARCHAR"),
        ("ds - INTERVAL '3' MONTH", "minus(ds, 3 months 0 days 0 ms) DATE"),
        ("ds + INTERVAL '2 weeks'", "plus(ds, 0 months 14 days 0 ms) DATE"),
        ("EXTRACT(YEAR FROM ds)", "year(ds) BIGINT"),
        ("substring(name, 1, 2)", "substr(name, 1, 2) VARCHAR"),
        ("substring(name FROM 2 FOR 3)", "substr(name, 2, 3) VARCHAR"),
        ("trim(name)", "trim(name) VARCHAR"),
        ("ltrim(name)", "ltrim(name) VARCHAR"),
        ("position('a' IN name)", "strpos(name, \"a\") BIGINT"),
        ("s.b.c", "s.b.C VARCHAR"),
        ("s['a']", "s.a INTEGER"),
        ("t.s.a", "s.a INTEGER"),
        ("1 / 0", "divide(1, 0) INTEGER"),
    ] {
        assert_eq!(value(text), bound, "{text}");
    }
}

#[test]
fn types_that_do_not_meet_are_named_with_the_column() {
    assert_eq!(
        error("SELECT id FROM t WHERE name = 1"),
        "invalid input: values of these types cannot be compared \
         (left=name VARCHAR right=1 INTEGER at=1:24)\n  \
         hint: write numbers without quotes, or convert one side with CAST\n        \
         SELECT id FROM t WHERE name = 1\n        \
         \x20                      ^"
    );
    assert!(
        error("SELECT id FROM t WHERE n = 'x'").contains("(left=n INTEGER right=\"x\" VARCHAR")
    );
    assert!(error("SELECT id FROM t WHERE ds = 1").contains("(left=ds DATE right=1 INTEGER"));
    assert!(error("SELECT id FROM t WHERE ds IN ('2020-01-01', 'x')").starts_with(
        "invalid input: a text is not of the type that is expected here \
             (text=x type=DATE at=1:24 compared_with=ds)"
    ));
    assert!(
        error("SELECT id FROM t WHERE n AND flag")
            .starts_with("invalid input: a condition must be BOOLEAN (clause=WHERE expression=n")
    );
    assert!(error("SELECT lower(n) FROM t").contains("(name=lower arguments=(INTEGER) at=1:8)"));
    assert!(error("SELECT lenght(name) FROM t").contains("did you mean length?"));
}

#[test]
fn unknown_names_suggest_the_nearest() {
    assert_eq!(
        error("SELECT nmae FROM t"),
        "not found: no such column (name=nmae at=1:8)\n  \
         hint: did you mean \"name\"?\n        \
         SELECT nmae FROM t\n        \
         \x20      ^"
    );
    assert!(error("SELECT u.id FROM t").contains("no such column (name=u at=1:8)"));
    assert!(error("SELECT s.c FROM t").contains("no such field (name=c at=1:10)"));
    assert!(error("SELECT t.nmae FROM t").contains("(name=nmae at=1:10)"));
}
