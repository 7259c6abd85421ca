//! Loops over all rows of an operator check the stop flag: the checks are counted, and a task that
//! would run for minutes ends soon after its cancellation.

use std::time::{Duration, Instant};

use super::*;
use crate::expr::{ExecEvaluator, FunctionRegistry};
use crate::plan::builder::{JoinSpec, PlanIds};
use vector::stop::{ROWS_PER_LOOK, num_stop_looks};

const BATCH: usize = 10_000;

/// Returns unsorted columns `n` BIGINT, `s` VARCHAR with a common prefix, and `z` BIGINT, all null.
/// `suffix` is appended to their names.
fn rows(ids: &PlanIds, num_rows: usize, suffix: &str) -> PlanBuilder {
    let row_type = Arc::new(RowType::new([
        (format!("n{suffix}"), Type::BigInt),
        (format!("s{suffix}"), Type::Varchar),
        (format!("z{suffix}"), Type::BigInt),
    ]));
    let batches = (0..num_rows).step_by(BATCH).map(|start| {
        let mixed = (start..num_rows.min(start + BATCH)).map(|row| (row * 7_919) % 1_000_003);
        let numbers: Vec<Value> = mixed.clone().map(|n| Value::BigInt(n as i64)).collect();
        let words: Vec<Value> =
            mixed.map(|n| Value::bytes(format!("a long beginning {n}").as_bytes())).collect();
        let len = numbers.len();
        let columns = vec![
            vector_of(&Type::BigInt, &numbers).unwrap(),
            vector_of(&Type::Varchar, &words).unwrap(),
            Arc::new(Vector::nulls(Type::BigInt, len)),
        ];
        RowVector::batch(Arc::clone(&row_type), len, columns).unwrap()
    });
    ids.values(Arc::clone(&row_type), batches.collect())
}

/// A join filter that no pair of rows passes.
fn filter() -> TypedExpr {
    let sum =
        |a: &str, b: &str| TypedExpr::call("plus", vec![column_of(a), column_of(b)], Type::BigInt);
    let no = TypedExpr::constant(Value::BigInt(-1), Type::BigInt);
    TypedExpr::call("eq", vec![sum("nl", "nr"), no], Type::Boolean)
}

fn join(join_type: JoinType, keys: &[(&str, &str)], left: usize, right: usize) -> PlanBuilder {
    let ids = PlanIds::default();
    let spec = JoinSpec::new(join_type, keys, &["nl"]);
    rows(&ids, left, "l").hash_join(rows(&ids, right, "r"), spec)
}

/// NOT IN with a filter and null keys, which compares all rows of the right side with each row of
/// the left.
fn not_in(left: usize, right: usize) -> PlanBuilder {
    let ids = PlanIds::default();
    let spec = JoinSpec::new(JoinType::Anti, &[("zl", "zr")], &["nl"]).with_filter(filter());
    rows(&ids, left, "l").hash_join(rows(&ids, right, "r"), spec.null_aware())
}

/// All pairs of rows.
fn all_pairs(left: usize, right: usize) -> PlanBuilder {
    let ids = PlanIds::default();
    let spec = JoinSpec::new(JoinType::Inner, &[], &["nl"]).with_filter(filter());
    rows(&ids, left, "l").hash_join(rows(&ids, right, "r"), spec)
}

fn sequences(num_rows: usize, len: i64) -> PlanBuilder {
    let bound = |bound| TypedExpr::constant(Value::BigInt(bound), Type::BigInt);
    let list = Type::array(Type::BigInt);
    // Not a constant, so that it is evaluated for each row.
    let zero = TypedExpr::call("minus", vec![column_of("n"), column_of("n")], Type::BigInt);
    let sequence = TypedExpr::call("sequence", vec![zero, bound(len)], list);
    rows(&PlanIds::default(), num_rows, "").project([("list", sequence)])
}

fn task(plan: PlanBuilder) -> Task {
    let evaluator = Arc::new(ExecEvaluator::new(Arc::new(FunctionRegistry::builtin())));
    let query = QueryCtx::new(evaluator, ConnectorRegistry::new());
    Task::new(plan.build(), Arc::new(query), 1).unwrap()
}

#[test]
fn loops_over_all_rows_look_as_often_as_their_rows_ask_for() {
    const ROWS: usize = 100_000;
    const CHUNKS: u64 = (ROWS / ROWS_PER_LOOK) as u64;
    let source = || rows(&PlanIds::default(), ROWS, "");
    let order = SortOrder::default();
    let list = |name: &str| {
        source()
            .aggregate(&[], vec![aggregate_call("x", name, vec![column_of("n")], false).unwrap()])
    };
    let cases: Vec<(&str, PlanBuilder, u64)> = vec![
        ("sort of numbers", source().order_by(&[("n", order)]), 2 * CHUNKS),
        // Partitions all rows repeatedly, down to the smallest size of a part.
        ("sort of strings", source().order_by(&[("s", order)]), 5 * CHUNKS),
        ("top-N of many rows", source().top_n(&[("s", order)], 90_000), 5 * CHUNKS),
        ("array_agg", list("array_agg"), CHUNKS),
        ("set_agg", list("set_agg"), CHUNKS),
        ("index of numbers", join(JoinType::Inner, &[("nl", "nr")], 10, ROWS), CHUNKS),
        ("index of strings", join(JoinType::Inner, &[("sl", "sr")], 10, ROWS), CHUNKS),
        ("NOT IN with a filter", not_in(100, 20_000), 100 * 2),
        ("join of all pairs", all_pairs(100, 20_000), 100 * 2),
        ("sequence", sequences(5_000, 100), 5_000 / 64),
    ];
    for (what, plan, expected) in cases {
        let task = task(plan);
        let mut cursor = task.start().unwrap();
        let before = num_stop_looks();
        while cursor.next().unwrap().is_some() {}
        let looks = num_stop_looks() - before;
        assert!(looks >= expected, "{what}: {looks} looks, and not {expected}");
    }
}

#[test]
fn a_task_that_would_run_for_minutes_ends_soon_after_it_was_cancelled() {
    let order = SortOrder::default();
    let groups = |plan: PlanBuilder| {
        let sum = aggregate_call("x", "sum", vec![column_of("nl")], false).unwrap();
        plan.aggregate(&["nl"], vec![sum])
    };
    type MakePlan = fn() -> PlanBuilder;
    let plans: [(&str, MakePlan); 5] = [
        ("NOT IN with a filter", || not_in(20_000, 20_000)),
        ("join of all pairs", || all_pairs(20_000, 20_000)),
        ("sequence", || sequences(20_000, 9_999)),
        ("unnest", || sequences(10_000, 9_999).unnest(&[], &["list"], &["x"]).unwrap()),
        ("sort", || {
            rows(&PlanIds::default(), 300_000, "").order_by(&[("s", SortOrder::default())])
        }),
    ];
    let more = [
        ("groups of a join", groups(all_pairs(20_000, 20_000))),
        ("sort of a join", all_pairs(20_000, 20_000).order_by(&[("nl", order)])),
    ];
    let plans = plans.map(|(what, plan)| (what, plan()));
    for (what, plan) in plans.into_iter().chain(more) {
        for on_workers in [false, true] {
            let task = task(plan.clone());
            let mut cursor = match on_workers {
                true => task.start_on_workers(1).unwrap(),
                false => task.start().unwrap(),
            };
            let canceller = cursor.canceller();
            let helper = thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                canceller.cancel();
                Instant::now()
            });
            let outcome = loop {
                match cursor.next() {
                    Ok(Some(_)) => {}
                    other => break other.map(drop),
                }
            };
            let since = helper.join().unwrap().elapsed();
            if let Err(error) = outcome {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error}");
            }
            assert!(since < Duration::from_secs(5), "{what}: ended after {since:?}");
            assert!(task.all_out().is_ready());
        }
    }
}
