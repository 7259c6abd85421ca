//! Values that were once wrong: each test is about a kind of them, over files that are made here.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch};
use dwio::fs::MemoryFiles;
use ocior::Engine;
use vector::Result;

use crate::support::files::{
    Layout, engine_over, lines, lines_of, numbers_file, parquet_file, put_table, with_drivers,
};
use crate::support::random::Random;

/// The rows of a query by several drivers, sorted.
fn sorted(engine: &Engine, sql: &str, drivers: usize) -> Result<Vec<String>> {
    let mut rows = lines(engine.query_with(sql, &with_drivers(drivers))?)?;
    rows.sort();
    Ok(rows)
}

/// Maps of the entries that a bit each of `sets` stands for, stored in a random order, and null for
/// a negative set.
fn maps(random: &mut Random, sets: &[i64]) -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for set in sets {
        let mut entries: Vec<i64> = (0..4).filter(|bit| *set >= 0 && set >> bit & 1 == 1).collect();
        for i in (1..entries.len()).rev() {
            entries.swap(i, random.below(i as u64 + 1) as usize);
        }
        for entry in entries {
            maps.keys().append_value(format!("key {entry}"));
            maps.values().append_value(10 * entry);
        }
        maps.append(*set >= 0).unwrap();
    }
    Arc::new(maps.finish())
}

/// Tables `t` and `u` with columns `m`, a map, and `s`, the number that represents it.
fn tables_of_maps(random: &mut Random) -> Engine {
    let files = MemoryFiles::new();
    for (folder, num_rows) in [("t", 60), ("u", 40)] {
        let sets: Vec<i64> = (0..num_rows).map(|_| random.below(9) as i64 - 1).collect();
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter(sets.iter().map(|set| (*set >= 0).then_some(*set))));
        let columns = [("m", maps(random, &sets), true), ("s", numbers, true)];
        let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        put_table(&files, folder, &rows, (17, Layout { rows_per_group: 5, ..Layout::default() }));
    }
    engine_over(&files)
}

/// Queries over maps return the same as queries over the numbers that represent the maps.
#[test]
fn maps_with_the_same_entries_are_the_same_key_everywhere() {
    let queries = [
        "SELECT count(*) AS n FROM 't' GROUP BY K",
        "SELECT count(DISTINCT K) AS n FROM 't'",
        "SELECT count(*) AS n FROM (SELECT DISTINCT K FROM 't')",
        "SELECT count(*) AS n FROM 't' JOIN 'u' ON t.K = u.K",
        "SELECT count(*) AS n FROM 't' LEFT JOIN 'u' ON t.K = u.K",
        "SELECT count(*) AS n FROM 't' FULL JOIN 'u' ON t.K = u.K",
        "SELECT count(*) AS n FROM 't' WHERE K IN (SELECT K FROM 'u' WHERE s < 5)",
        "SELECT count(*) AS n FROM 't' WHERE K NOT IN (SELECT K FROM 'u' WHERE s < 5)",
        "SELECT count(*) AS n FROM 't' WHERE EXISTS (SELECT 1 FROM 'u' WHERE u.K = t.K AND u.s < 4)",
        "SELECT count(*) AS n FROM (SELECT K FROM 't' UNION SELECT K FROM 'u')",
        "SELECT count(*) AS n FROM (SELECT K FROM 't' INTERSECT SELECT K FROM 'u')",
        "SELECT count(*) AS n FROM (SELECT K FROM 't' EXCEPT SELECT K FROM 'u')",
        "SELECT count(*) AS n FROM 't', 'u' WHERE t.K = u.K AND t.s < 3",
        "SELECT count(*) AS n FROM 't', 'u' WHERE t.K <> u.K",
        "SELECT count(*) AS n FROM 't', 'u' WHERE t.K IS DISTINCT FROM u.K",
        "SELECT count(*) AS n FROM 't' GROUP BY repeat(K, 2)",
        "SELECT count(*) AS n FROM 't' JOIN 'u' ON repeat(t.K, 1) = repeat(u.K, 1)",
        "SELECT cardinality(array_distinct(array_agg(K))) AS n FROM 't'",
        "SELECT cardinality(set_agg(K)) AS n FROM 't'",
        "SELECT sum(CASE WHEN contains(repeat(t.K, 1), u.K) THEN 1 ELSE 0 END) AS n FROM 't', 'u'",
        "SELECT sum(cardinality(array_intersect(repeat(t.K, 1), repeat(u.K, 1)))) AS n FROM 't', 'u'",
        "SELECT sum(cardinality(array_except(repeat(t.K, 1), repeat(u.K, 1)))) AS n FROM 't', 'u'",
        "SELECT sum(array_position(repeat(t.K, 1), u.K)) AS n FROM 't', 'u'",
    ];
    let mut random = Random::new(12);
    for round in 0..3 {
        let engine = tables_of_maps(&mut random);
        for query in queries {
            let of_numbers = sorted(&engine, &query.replace('K', "s"), 1);
            let of_maps = query.replace('K', "m");
            for drivers in [1, 3] {
                match (&of_numbers, sorted(&engine, &of_maps, drivers)) {
                    (Ok(expected), Ok(found)) => assert_eq!(found, *expected, "{round}: {of_maps}"),
                    (expected, found) => panic!("{of_maps}: {expected:?}, {found:?}"),
                }
            }
        }
    }
}

/// A table `t` of decimals of 38 digits, `scale` of them behind the point, in groups `g`.
fn decimals(rows: &[(i64, i128)], scale: i8) -> Engine {
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values = Decimal128Array::from_iter_values(rows.iter().map(|row| row.1));
    let values: ArrayRef = Arc::new(values.with_precision_and_scale(38, scale).unwrap());
    let rows = RecordBatch::try_from_iter([("g", groups), ("d", values)]).unwrap();
    let files = MemoryFiles::new();
    put_table(&files, "t", &rows, (29, Layout { rows_per_group: 10, ..Layout::default() }));
    engine_over(&files)
}

#[test]
fn sums_and_averages_of_decimals_fail_only_when_they_do_not_fit() {
    const MAX: i128 = 10i128.pow(38) - 1;
    let mut random = Random::new(5);
    for round in 0..12 {
        let num_groups = 1 + random.below(4) as i64;
        // Groups whose values cancel each other, and groups of equal values.
        let mut rows = Vec::new();
        for group in 0..num_groups {
            let value = MAX - random.below(1000) as i128;
            let count = 1 + random.below(60) as usize;
            let is_cancelled = group % 2 == 1;
            for i in 0..2 * count {
                let sign = if is_cancelled && i >= count { -1 } else { 1 };
                rows.push((group, sign * value));
            }
        }
        if round % 2 == 1 {
            for i in (1..rows.len()).rev() {
                rows.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        let engine = decimals(&rows, 0);
        let mut expected: Vec<String> = (0..num_groups)
            .map(|group| {
                let value = rows.iter().find(|row| row.0 == group).unwrap().1;
                let average = if group % 2 == 1 { 0 } else { value };
                format!(r#"{{"g":{group},"a":{average}}}"#)
            })
            .collect();
        expected.sort();
        for drivers in [1, 3] {
            let found = sorted(&engine, "SELECT g, avg(d) AS a FROM 't' GROUP BY g", drivers);
            let found: Vec<String> = found
                .unwrap()
                .into_iter()
                .map(|line| line.replace("\":\"", "\":").replace("\"}", "}"))
                .collect();
            assert_eq!(found, expected);
            let sums = sorted(
                &engine,
                "SELECT g, sum(d) AS s FROM 't' WHERE g % 2 = 1 GROUP BY g",
                drivers,
            );
            assert!(
                sums.unwrap().iter().all(|line| line.ends_with(":\"0\"}") || line.ends_with(":0}"))
            );
            let error =
                sorted(&engine, "SELECT sum(d) AS s FROM 't' WHERE g = 0", drivers).unwrap_err();
            assert!(error.to_string().contains("a sum does not fit its type"), "{error}");
            let both = "SELECT count(*) AS n FROM (SELECT g, sum(d / 100) AS s, avg(d) AS a FROM 't' \
                WHERE g % 2 = 1 GROUP BY g)";
            assert!(sorted(&engine, both, drivers).is_ok());
        }
    }
}

#[test]
fn a_condition_on_partitions_fails_only_for_rows_that_all_others_let_through() {
    let files = MemoryFiles::new();
    for k in ["0", "2", "5"] {
        for h in ["1", "x"] {
            files.put(format!("t/k={k}/h={h}/a.parquet"), numbers_file(4));
        }
    }
    let engine = engine_over(&files);
    let count = |condition: &str| {
        let sql = format!("SELECT count(*) AS c FROM 't' WHERE {condition}");
        let found: Vec<_> = [1, 3].map(|drivers| sorted(&engine, &sql, drivers)).into();
        assert_eq!(found[0].as_ref().ok(), found[1].as_ref().ok(), "{condition}");
        found.into_iter().next().unwrap().map(|lines| lines[0].clone())
    };
    for (terms, rows) in [
        (vec!["10 / k > 4", "k <> 0"], 8),
        (vec!["CAST(h AS INTEGER) = 1", "h <> 'x'"], 12),
        (vec!["10 / k > 4", "CAST(h AS INTEGER) = 1", "k > 0", "h = '1'"], 4),
        // Columns of the file decide too.
        (vec!["10 / k > 1", "n + k > 3"], 12),
        (vec!["10 / k > 1", "n < 0"], 0),
        (vec!["10 / k > 1", "n + 0 < 0"], 0),
        (vec!["\"$path\" <> ''", "10 / k > 4", "k <> 0"], 8),
    ] {
        let forwards = terms.join(" AND ");
        let backwards: Vec<&str> = terms.iter().rev().copied().collect();
        for condition in [forwards, backwards.join(" AND ")] {
            let expected = format!(r#"{{"c":{rows}}}"#);
            assert_eq!(count(&condition).unwrap(), expected, "{condition}");
        }
    }
    for condition in ["10 / k > 1", "10 / k > 1 AND n >= 0", "n > 2 AND 10 / k > 1 AND h = 'x'"] {
        assert!(count(condition).unwrap_err().to_string().contains("zero"), "{condition}");
    }
}

#[test]
fn partition_texts_keep_what_they_say() {
    let files = MemoryFiles::new();
    for k in ["+49301", "1", "007", "-0", "5%", "%", "100%_x", "a%20b"] {
        files.put(format!("t/k={k}/a.parquet"), numbers_file(1));
    }
    let rows = lines_of(&engine_over(&files), "SELECT k FROM 't' ORDER BY k").unwrap();
    let texts = ["%", "+49301", "-0", "007", "1", "100%_x", "5%", "a b"];
    assert_eq!(rows, texts.map(|text| format!(r#"{{"k":"{text}"}}"#)));
}

#[test]
fn between_with_a_null_bound_may_be_false_and_is_never_true() {
    let files = MemoryFiles::new();
    let cell = |values: [Option<i64>; 5]| -> ArrayRef { Arc::new(Int64Array::from_iter(values)) };
    let columns = [("a", cell([Some(1), Some(5), Some(6), Some(9), None])), ("x", cell([None; 5]))];
    let rows = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    files.put("t", parquet_file(&rows.unwrap(), Layout::default()));
    let engine = engine_over(&files);
    for (condition, expected) in [
        ("a BETWEEN NULL AND 5", vec![]),
        ("NOT (a BETWEEN NULL AND 5)", vec![6, 9]),
        ("a NOT BETWEEN x AND 5", vec![6, 9]),
        ("a NOT BETWEEN 5 AND NULL", vec![1]),
        ("NOT (a BETWEEN x AND x)", vec![]),
        ("(a BETWEEN NULL AND 5) IS NULL", vec![1, 5]),
        ("NOT (NOT (a BETWEEN NULL AND 5))", vec![]),
        ("NOT (a BETWEEN 6 AND 5)", vec![1, 5, 6, 9]),
    ] {
        let sql = format!("SELECT a FROM 't' WHERE {condition} AND a IS NOT NULL ORDER BY a");
        let expected: Vec<String> = expected.iter().map(|a| format!(r#"{{"a":{a}}}"#)).collect();
        assert_eq!(lines_of(&engine, &sql).unwrap(), expected, "{condition}");
    }
}

/// Each term fails for different rows of one batch.
#[test]
fn a_row_that_one_term_decides_does_not_fail_by_another() {
    let files = MemoryFiles::new();
    let cell = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let columns =
        [("id", cell(&[0, 1, 2, 3])), ("a", cell(&[0, 1, 5, 1])), ("b", cell(&[1, 0, 5, 1]))];
    files.put("t", parquet_file(&RecordBatch::try_from_iter(columns).unwrap(), Layout::default()));
    let engine = engine_over(&files);
    for (condition, expected) in [
        // The first fails for row 0 and the second for row 1, and the other one is false there.
        ("10 / a > 50 AND 10 / b > 50", Some(vec![])),
        ("10 / a < 5 AND 10 / b < 5", Some(vec![2])),
        ("10 / a > 5 OR 10 / b > 5", Some(vec![0, 1, 3])),
        ("NOT (10 / a > 5 OR 10 / b > 5)", Some(vec![2])),
        ("(10 / a > 5 OR 10 / b > 5) AND id < 3", Some(vec![0, 1])),
        ("10 / a > 5 AND 10 / b > 5", None),
        ("10 / a > 50 OR 10 / b > 50", None),
        ("CASE WHEN a = 0 THEN true WHEN 10 / a > 5 THEN b = 0 ELSE false END", Some(vec![0, 1])),
        ("coalesce(TRY(10 / a), 7) > 6", Some(vec![0, 1, 3])),
        ("TRY(10 / a > 5 AND 10 / b > 5) IS NULL", Some(vec![0, 1])),
        ("IF(a = 0, 1, 10 / a) IN (1, 2)", Some(vec![0, 2])),
    ] {
        let sql = format!("SELECT id FROM 't' WHERE {condition} ORDER BY id");
        match (lines_of(&engine, &sql), expected) {
            (Ok(found), Some(expected)) => {
                let expected: Vec<String> =
                    expected.iter().map(|id| format!(r#"{{"id":{id}}}"#)).collect();
                assert_eq!(found, expected, "{condition}");
            }
            (Err(error), None) => assert!(error.is_user(), "{condition}: {error}"),
            (found, expected) => panic!("{condition}: {found:?}, expected {expected:?}"),
        }
    }
}
