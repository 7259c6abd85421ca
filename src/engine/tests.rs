//! Tests of the engine with the example warehouse and with files in memory.

use dwio::fs::{FileSystem, LocalFiles, MemoryFiles, ObservedFiles};
use vector::sync::Arc;
use vector::{DecodedVector, ErrorKind, Result, Value};

use super::{Engine, QueryOptions, QueryResult, ScanRequest};

const NATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/warehouse/nation");

/// Returns an engine with the example files under short names, and the counters of its file
/// accesses.
fn warehouse() -> (Engine, ObservedFiles) {
    let files = MemoryFiles::new();
    for ds in ["ds=2026-09-01", "ds=2026-09-02"] {
        let file = LocalFiles::default().open(&format!("{NATION}/{ds}/part-0.parquet")).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        files.put(format!("/w/nation/{ds}/part-0.parquet"), bytes.clone());
        files.put(format!("/w/nation/{ds}/part-1.parquet"), bytes);
    }
    files.put("/w/text.parquet", b"this is no Parquet file, but long enough to be one".to_vec());
    files.put("/w/empty/_SUCCESS", Vec::new());
    let observed = ObservedFiles::new(Arc::new(files));
    (Engine::builder().file_system(Arc::new(observed.clone())).build(), observed)
}

fn options(drivers: usize) -> QueryOptions {
    QueryOptions { drivers, ..QueryOptions::default() }
}

/// Returns rows as text with columns separated by `|`.
fn rows(result: QueryResult) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for batch in result.collect_batches()? {
        let columns: Vec<DecodedVector> =
            batch.children().iter().map(DecodedVector::new).collect::<Result<_>>()?;
        for row in 0..batch.len() {
            let cells: Vec<String> = columns
                .iter()
                .map(|c| {
                    Ok(match c.value(row)? {
                        Value::Null => "null".to_string(),
                        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                        Value::Double(v) => v.to_string(),
                        value => value.as_i128().map_or(format!("{value:?}"), |v| v.to_string()),
                    })
                })
                .collect::<Result<_>>()?;
            rows.push(cells.join("|"));
        }
    }
    Ok(rows)
}

fn query(sql: &str) -> Vec<String> {
    let (engine, _) = warehouse();
    rows(engine.query_with(sql, &options(1)).unwrap()).unwrap()
}

fn error(sql: &str) -> vector::Error {
    let (engine, _) = warehouse();
    let failed = engine.query(sql).and_then(rows);
    failed.expect_err(sql)
}

#[test]
fn a_query_over_a_partitioned_directory_gives_its_rows() {
    assert_eq!(
        query(
            "SELECT name AS country, ds FROM '/w/nation' WHERE ds = '2026-09-01' \
             AND nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4 \
             AND \"$path\" LIKE '%part-0%'"
        ),
        ["CANADA|20697"]
    );
}

#[test]
fn only_files_of_the_partitions_asked_for_are_opened() {
    let (engine, files) = warehouse();
    let sql = "SELECT count(*) FROM '/w/nation' WHERE ds = '2026-09-02' AND nationkey < 5";
    assert_eq!(rows(engine.query_with(sql, &options(1)).unwrap()).unwrap(), ["10"]);
    let opened = files.opened();
    assert!(opened.iter().all(|path| path.contains("ds=2026-09-02")), "{opened:?}");
    // Each file is opened once for its columns and once for its rows.
    assert_eq!(opened.len(), 4);

    let (engine, files) = warehouse();
    let sql = "SELECT count(*) FROM '/w/nation' WHERE ds = '2030-01-01'";
    assert_eq!(rows(engine.query_with(sql, &options(1)).unwrap()).unwrap(), ["0"]);
    assert_eq!(files.opens(), 1);
}

#[test]
fn one_driver_keeps_the_order_and_several_give_the_same_rows() {
    let sql = "SELECT nationkey, name, ds, \"$path\" FROM '/w/nation'";
    let (engine, _) = warehouse();
    let ordered = rows(engine.query_with(sql, &options(1)).unwrap()).unwrap();
    assert_eq!(ordered.len(), 100);
    assert!(ordered[0].starts_with("0|ALGERIA|20697|/w/nation/ds=2026-09-01/part-0.parquet"));
    assert!(ordered.is_sorted_by_key(|row| row.rsplit('|').next().map(str::to_string)));
    for drivers in [2, 4, 7] {
        let mut mixed = rows(engine.query_with(sql, &options(drivers)).unwrap()).unwrap();
        let mut sorted = ordered.clone();
        mixed.sort();
        sorted.sort();
        assert_eq!(mixed, sorted);
    }
}

#[test]
fn groups_sort_and_limit_agree_with_each_other() {
    for drivers in [1, 3] {
        let (mut engine, _) = warehouse();
        engine.register_table("Nation", "/w/nation").unwrap();
        let sql = "SELECT regionkey AS r, count(*) AS n, count(DISTINCT name), min(name), \
                   avg(nationkey) FROM nation GROUP BY r HAVING count(*) > 1 \
                   ORDER BY max(name) DESC, r LIMIT 2 OFFSET 1";
        let result = engine.query_with(sql, &options(drivers)).unwrap();
        assert_eq!(result.row_type().names()[..2], ["r", "n"]);
        let found = rows(result).unwrap();
        assert_eq!(found, ["1|20|5|ARGENTINA|9.4", "3|20|5|FRANCE|15.4"], "{drivers}");
    }
}

#[test]
fn unions_and_subqueries_have_the_same_rows_with_any_number_of_drivers() {
    for (sql, expected) in [
        (
            "SELECT DISTINCT regionkey FROM nation WHERE nationkey < 6 ORDER BY 1",
            vec!["0", "1", "4"],
        ),
        (
            "SELECT count(*), sum(k) FROM (SELECT nationkey AS k FROM nation WHERE ds = \
             '2026-09-01' UNION ALL SELECT regionkey FROM nation) WHERE k > 2",
            vec!["84|734"],
        ),
        (
            "SELECT nationkey FROM nation UNION SELECT regionkey + 24 FROM nation \
             ORDER BY nationkey DESC LIMIT 3",
            vec!["28", "27", "26"],
        ),
        (
            "WITH r AS (SELECT regionkey AS k, min(name) AS first FROM nation GROUP BY regionkey) \
             SELECT DISTINCT name FROM nation WHERE name IN (SELECT first FROM r WHERE k < 2) \
             ORDER BY 1",
            vec!["ALGERIA", "ARGENTINA"],
        ),
        (
            "SELECT count(*) FROM nation n WHERE NOT EXISTS (SELECT 1 FROM nation m WHERE \
             m.regionkey = n.nationkey) AND nationkey NOT IN (SELECT regionkey + 5 FROM nation)",
            vec!["60"],
        ),
        (
            "SELECT count(*) FROM nation WHERE nationkey = (SELECT max(nationkey) FROM nation)",
            vec!["4"],
        ),
        (
            "SELECT regionkey, count(*) > (SELECT 19 AS few) FROM nation GROUP BY regionkey \
             ORDER BY 1 LIMIT 1",
            vec!["0|Boolean(true)"],
        ),
    ] {
        for drivers in [1, 2, 4] {
            let (mut engine, _) = warehouse();
            engine.register_table("nation", "/w/nation").unwrap();
            let found = rows(engine.query_with(sql, &options(drivers)).unwrap()).unwrap();
            assert_eq!(found, expected, "{drivers}: {sql}");
            assert_eq!(engine.memory_pool().used(), 0);
        }
    }
    let (mut engine, _) = warehouse();
    engine.register_table("nation", "/w/nation").unwrap();
    let several = engine.query("SELECT (SELECT name FROM nation)").and_then(rows).unwrap_err();
    assert!(several.to_string().contains("several rows"), "{several}");
}

#[test]
fn names_of_results_may_repeat() {
    let (engine, _) = warehouse();
    let result = engine
        .query_with("SELECT ds, ds, nationkey AS ds FROM '/w/nation' LIMIT 1", &options(1))
        .unwrap();
    assert_eq!(result.row_type().names(), ["ds", "ds", "ds"]);
    assert_eq!(rows(result).unwrap(), ["20697|20697|0"]);
}

#[test]
fn a_scan_needs_no_sql() {
    let (engine, _) = warehouse();
    let request = ScanRequest {
        paths: vec!["/w/nation/ds=*/part-1.parquet".to_string()],
        columns: Some(vec!["NAME".to_string(), "ds".to_string()]),
        filter: Some("nationkey IN (3, 5) AND ds > '2026-09-01'".to_string()),
        limit: Some(5),
    };
    let found = rows(engine.scan(&request, &options(1)).unwrap()).unwrap();
    assert_eq!(found, ["CANADA|20698", "ETHIOPIA|20698"]);

    let all = ScanRequest { paths: vec!["/w/nation".to_string()], ..ScanRequest::default() };
    let result = engine.scan(&all, &options(1)).unwrap();
    assert_eq!(result.row_type().names(), ["nationkey", "name", "regionkey", "comment", "ds"]);
    assert_eq!(rows(result).unwrap().len(), 100);

    let none = engine.scan(&ScanRequest::default(), &options(1)).unwrap_err();
    assert_eq!(none.to_string(), "invalid input: a scan needs at least one path");
    let wrong = ScanRequest { filter: Some("nmae = 'x'".to_string()), ..all };
    assert_eq!(
        engine.scan(&wrong, &options(1)).unwrap_err().to_string(),
        "not found: no such column (name=nmae at=1:1)\n  \
         hint: did you mean \"name\"?\n        nmae = 'x'\n        ^"
    );
}

#[test]
fn types_of_partition_keys_can_be_given() {
    let (engine, _) = warehouse();
    let mut options = options(1);
    options.settings.set("partition_types", "ds=VARCHAR");
    let result = engine.query_with("SELECT ds FROM '/w/nation' LIMIT 1", &options).unwrap();
    assert_eq!(rows(result).unwrap(), ["2026-09-01"]);
}

#[test]
fn bad_requests_give_one_clear_error() {
    let missing = error("SELECT * FROM '/w/nothing.parquet'");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().contains("/w/nothing.parquet"), "{missing}");
    let empty = error("SELECT * FROM '/w/empty'");
    assert_eq!(empty.to_string(), "not found: no data files (at=1:15)\n  in path \"/w/empty\"");
    assert_eq!(error("SELECT * FROM '/w/text.parquet'").kind(), ErrorKind::Corrupt);
    let unknown = error("SELECT * FROM nation");
    assert_eq!(
        unknown.to_string(),
        "not found: no such table (name=nation at=1:15)\n  \
         hint: a path needs quotes: FROM 'dir/file.parquet'"
    );
    let mismatch = error("SELECT * FROM '/w/nation' WHERE name > 5");
    assert!(mismatch.to_string().contains("(left=name VARCHAR right=5 INTEGER"), "{mismatch}");
    let divided = error("SELECT 1 / (nationkey - nationkey) FROM '/w/nation'");
    assert!(divided.is_user(), "{divided}");
    let cast = error("SELECT CAST(name AS INTEGER) FROM '/w/nation'");
    assert!(cast.is_user(), "{cast}");
    assert!(error("SELECT * FROM '/w/*.csv'").to_string().contains("no file matches"));
}

#[test]
fn a_plan_runs_more_than_once_and_a_result_can_be_dropped() {
    let (engine, _) = warehouse();
    let plan = engine.plan("SELECT name FROM '/w/nation' WHERE nationkey = 3").unwrap();
    for drivers in [1, 2] {
        let found = rows(engine.run(&plan, &options(drivers)).unwrap()).unwrap();
        assert_eq!(found, vec!["CANADA"; 4]);
    }
    let mut result = engine.query_with("SELECT * FROM '/w/nation'", &options(2)).unwrap();
    assert!(result.next_batch().unwrap().is_some());
    result.close();
    let mut cancelled = engine.query_with("SELECT * FROM '/w/nation'", &options(1)).unwrap();
    cancelled.canceller().cancel();
    assert_eq!(cancelled.next_batch().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(engine.memory_pool().used(), 0);
}

/// Returns the number of drivers of each pipeline.
fn drivers_of(sql: &str, drivers: usize) -> Vec<u64> {
    let (engine, _) = warehouse();
    let mut result = engine.query_with(sql, &options(drivers)).unwrap();
    while result.next_batch().unwrap().is_some() {}
    let mut found: Vec<(usize, u64)> =
        result.stats().operators.iter().map(|o| (o.pipeline, o.num_drivers)).collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, drivers)| drivers).collect()
}

#[test]
fn a_scan_has_as_many_drivers_as_splits_and_what_is_above_an_exchange_has_all() {
    let half = "(SELECT * FROM '/w/nation' WHERE ds = '2026-09-01')";
    let groups = "SELECT regionkey, count(*) FROM";
    let cases = [
        (format!("{groups} '/w/nation' GROUP BY 1"), 6, vec![4, 6, 1]),
        (format!("{groups} {half} GROUP BY 1"), 6, vec![2, 6, 1]),
        (format!("{groups} {half} GROUP BY 1"), 2, vec![2, 2, 1]),
        // The pipeline of the table, that of the other side, and the one that combines the rows.
        (
            format!("SELECT a.name FROM '/w/nation' a JOIN {half} b ON a.name = b.name"),
            3,
            vec![2, 3, 1],
        ),
        // A single split cannot be divided among drivers.
        (format!("{groups} '/w/nation/ds=2026-09-01/part-0.parquet' GROUP BY 1"), 6, vec![1]),
    ];
    for (sql, drivers, expected) in cases {
        assert_eq!(drivers_of(&sql, drivers), expected, "{drivers}: {sql}");
    }
}

#[test]
fn functions_with_state_are_called_in_queries_and_in_built_plans() {
    use dwio::expr::TypedExpr;
    use exec::expr::{Function, FunctionRegistry, Kernel};
    use exec::plan::builder::PlanBuilder;
    use vector::build::vector_of;
    use vector::sync::atomic::{AtomicI64, Ordering};
    use vector::{Buffer, RowType, RowVector, Type};

    let mut functions = FunctionRegistry::builtin();
    let distance = 100;
    functions.register(Function::closure("step", &["(BIGINT) -> BIGINT"], move |_, _| {
        Ok(Kernel::new(move |call| {
            let value = |row| match call.args[0].value(row) {
                Ok(Value::BigInt(value)) => value + distance,
                _ => 0,
            };
            call.fixed((0..call.num_rows()).map(value).collect::<Buffer<i64>>())
        }))
    }));
    let ticket = Arc::new(AtomicI64::new(0));
    let tickets = Arc::clone(&ticket);
    let tickets = Function::closure("ticket", &["(BIGINT) -> BIGINT"], move |_, _| {
        let next = Arc::clone(&tickets);
        Ok(Kernel::new(move |call| {
            let next = |_| next.fetch_add(1, Ordering::Relaxed);
            call.fixed((0..call.num_rows()).map(next).collect::<Buffer<i64>>())
        }))
    });
    functions.register(tickets.non_deterministic());
    let engine = Engine::builder().functions(functions).build();
    assert!(engine.functions().contains("step"));
    for drivers in [1, 3] {
        let query = |sql: &str| rows(engine.query_with(sql, &options(drivers)).unwrap()).unwrap();
        // In the filter of the scan, in a projection, and folded.
        let sql = format!(
            "SELECT DISTINCT step(nationkey), step(1) FROM '{NATION}' \
             WHERE step(nationkey) < 103 ORDER BY 1"
        );
        assert_eq!(query(&sql), ["100|101", "101|101", "102|101"]);
        // A condition on the result of a non-deterministic function tests the value of the row, and
        // does not compute another.
        ticket.store(0, Ordering::Relaxed);
        let sql = format!(
            "SELECT t FROM (SELECT ticket(nationkey) AS t FROM '{NATION}' WHERE true) \
             WHERE t < 20 ORDER BY 1"
        );
        let expected: Vec<String> = (0..20).map(|ticket| ticket.to_string()).collect();
        assert_eq!(query(&sql), expected);
        assert_eq!(ticket.load(Ordering::Relaxed), 50);
    }
    // In a plan that the caller builds.
    let field = TypedExpr::field("x", Type::BigInt);
    let step = TypedExpr::call("step", vec![field], Type::BigInt);
    let bound = TypedExpr::constant(Value::BigInt(102), Type::BigInt);
    let below = TypedExpr::call("lt", vec![step.clone(), bound], Type::Boolean);
    let values = [Value::BigInt(1), Value::Null, Value::BigInt(2)];
    let column = vector_of(&Type::BigInt, &values).unwrap();
    let row_type = Arc::new(RowType::new([("x", Type::BigInt)]));
    let batch = RowVector::batch(row_type, values.len(), vec![column]).unwrap();
    let plan = PlanBuilder::values(Arc::clone(batch.row_type()), vec![batch]);
    let plan = plan.filter(below).project([("y", step)]).build();
    let result = engine.run_nodes(&plan, Vec::new(), &options(1)).unwrap();
    assert_eq!(rows(result).unwrap(), ["101"]);
}

#[test]
fn a_function_that_panics_ends_its_query_alone() {
    use exec::expr::{Call, Function, FunctionRegistry};
    fn explode(_: &Call<'_>) -> Result<vector::Vector> {
        // Simulates a panic without printing its message.
        std::panic::resume_unwind(Box::new("boom"))
    }
    let mut functions = FunctionRegistry::builtin();
    functions.register(Function::rows("explode", &["(BIGINT) -> BIGINT"], explode));
    let engine = Engine::builder().functions(functions).build();
    let from = format!("FROM '{NATION}' WHERE");
    // During planning, in a filter pushed into the scan, and in operators after it.
    for sql in [
        format!("SELECT name {from} nationkey = explode(1)"),
        format!("SELECT name {from} explode(nationkey) = 1"),
        format!("SELECT name FROM (SELECT explode(nationkey) AS x, name {from} true) WHERE x > 1"),
        format!("SELECT sum(explode(nationkey)) {from} true GROUP BY regionkey"),
        format!("SELECT explode(nationkey) AS x {from} true ORDER BY x LIMIT 3"),
    ] {
        for drivers in [1, 3] {
            let failed = engine.query_with(&sql, &options(drivers)).and_then(rows).expect_err(&sql);
            assert_eq!(failed.kind(), ErrorKind::Internal, "{sql}: {failed}");
            assert_eq!(failed.field("panic"), Some("boom"), "{sql}: {failed}");
            let next = format!("SELECT count(*) {from} true");
            let next = rows(engine.query_with(&next, &options(drivers)).unwrap()).unwrap();
            assert_eq!(next, ["50"], "after {sql}");
        }
    }
    assert_eq!(engine.memory_pool().used(), 0);
}
