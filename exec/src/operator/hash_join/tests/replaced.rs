//! Tests of joins that pass rows through because exact filters of the scans do all of their work
//! (rule S12.15). Each condition is violated alone, and the rows are the same in all cases.

use super::filters::{left_batches, metric, right, scanned, sides};
use super::*;
use crate::blocking::BlockingReason;
use crate::plan::{
    LimitNode, LocalMergeNode, LocalPartitionNode, OrderByNode, Partitioning, ProjectNode, SortKey,
    TopNNode, UnnestNode, ValuesNode,
};

const REPLACED: &str = "replacedWithDynamicFilterRows";

/// Returns the number of output rows, and how many of them passed through without look-ups.
fn outcome(plan: &HashJoinNode, drivers: usize, build: Vec<Vec<Act>>) -> (usize, i64) {
    let run = Run::new(PlanNode::HashJoin(plan.clone()), drivers, left_batches(), build);
    let (rows, stats) = run.rows().unwrap();
    (rows.len(), metric(&stats, "HashProbe", REPLACED))
}

#[test]
fn a_join_is_replaced_by_its_filter_when_all_conditions_hold() {
    let (l, r) = sides();
    for drivers in [1, 3] {
        for kind in [JoinType::Inner, JoinType::LeftSemiFilter] {
            let node = join(kind, (&l, &r), (&["k"], &["j"]), &["v", "k"]);
            assert_eq!(outcome(&node, drivers, right(&[3, 7])), (40, 40), "{kind}");
        }
    }
}

#[test]
fn a_join_of_two_keys_is_not_replaced() {
    let (l, r) = sides();
    for drivers in [1, 3] {
        let node = join(JoinType::Inner, (&l, &r), (&["k", "v"], &["j", "w"]), &["v"]);
        // Keys (3, 3) and (7, 7) have one partner each; their single-column filters also pass other
        // rows.
        assert_eq!(outcome(&node, drivers, right(&[3, 7])), (2, 0));
    }
}

#[test]
fn a_join_whose_build_keys_repeat_is_not_replaced_but_a_semi_join_is() {
    let (l, r) = sides();
    for drivers in [1, 3] {
        for (kind, expected) in [(JoinType::Inner, (60, 0)), (JoinType::LeftSemiFilter, (40, 40))] {
            let node = join(kind, (&l, &r), (&["k"], &["j"]), &["v"]);
            assert_eq!(outcome(&node, drivers, right(&[3, 7, 7])), expected, "{kind}");
        }
    }
}

#[test]
fn a_join_that_gives_a_column_of_the_build_side_is_not_replaced() {
    let (l, r) = sides();
    for (drivers, column) in [(1, "w"), (3, "w"), (1, "j"), (3, "j")] {
        let node = join(JoinType::Inner, (&l, &r), (&["k"], &["j"]), &["v", column]);
        assert_eq!(outcome(&node, drivers, right(&[3, 7])), (40, 0), "{column}");
    }
}

#[test]
fn a_join_with_a_filter_is_not_replaced() {
    let (l, r) = sides();
    for drivers in [1, 3] {
        for kind in [JoinType::Inner, JoinType::LeftSemiFilter] {
            let mut node = join(kind, (&l, &r), (&["k"], &["j"]), &["v"]);
            node.filter = Some(less_than("w", "v"));
            assert_eq!(outcome(&node, drivers, right(&[3, 7])), (38, 0), "{kind}");
        }
    }
}

#[test]
fn a_join_whose_filter_is_not_exact_is_not_replaced() {
    let (l, r) = sides();
    let many: Vec<i64> = (5..5 + 150_000).map(|i| i * 2).collect();
    for kind in [JoinType::Inner, JoinType::LeftSemiFilter] {
        let node = join(kind, (&l, &r), (&["k"], &["j"]), &["v"]);
        assert_eq!(outcome(&node, 2, right(&many)), (100, 0), "{kind}");
    }
}

#[test]
fn a_join_whose_filter_the_scan_does_not_accept_is_not_replaced() {
    let (_, r) = sides();
    let deaf = scan("l", &bigints(&["k", "v"]), false);
    for drivers in [1, 3] {
        let node = join(JoinType::Inner, (&deaf, &r), (&["k"], &["j"]), &["v"]);
        assert_eq!(outcome(&node, drivers, right(&[3, 7])), (40, 0));
    }
}

#[test]
fn a_join_whose_key_is_computed_is_not_replaced() {
    let (l, r) = sides();
    let sum = ["k", "k"].map(|name| TypedExpr::field(name, Type::BigInt)).into();
    let project = Arc::new(PlanNode::Project(ProjectNode {
        id: "p".into(),
        source: l,
        output_type: bigints(&["a", "v"]),
        expressions: vec![
            TypedExpr::call("plus", sum, Type::BigInt),
            TypedExpr::field("v", Type::BigInt),
        ],
    }));
    let node = join(JoinType::Inner, (&project, &r), (&["a"], &["j"]), &["v"]);
    assert_eq!(outcome(&node, 1, right(&[6, 14])), (40, 0));
}

#[test]
fn joins_that_look_at_the_table_at_their_end_are_not_replaced() {
    let (l, r) = sides();
    let cases: [(JoinType, &[&str], usize); 7] = [
        (JoinType::Right, &["v"], 41),
        (JoinType::Full, &["v"], 401),
        (JoinType::RightSemiFilter, &["w"], 2),
        (JoinType::RightSemiProject, &["w", "match"], 3),
        (JoinType::Left, &["v"], 400),
        (JoinType::Anti, &["v"], 360),
        (JoinType::LeftSemiProject, &["v", "match"], 400),
    ];
    for (kind, output, num_rows) in cases {
        for drivers in [1, 3] {
            let node = join(kind, (&l, &r), (&["k"], &["j"]), output);
            // Key 90 has no partner.
            assert_eq!(outcome(&node, drivers, right(&[3, 7, 90])), (num_rows, 0), "{kind}");
        }
    }
}

/// Joins the rows of "l" and "m" under `left` with the keys 3 and 7. Returns the number of output
/// rows, of rows that passed through without look-ups, and of rows that the scans returned.
fn with_two_scans(left: PlanNode, drivers: usize) -> (usize, i64, u64) {
    let (_, r) = sides();
    let node = join(JoinType::LeftSemiFilter, (&Arc::new(left), &r), (&["k"], &["j"]), &["k"]);
    let run = Run::new(PlanNode::HashJoin(node), drivers, left_batches(), right(&[3, 7]));
    for split in left_batches() {
        // Plans without "m" reject its splits.
        let _ = run.task.add_split("m", Arc::new(Script(split)));
    }
    let _ = run.task.no_more_splits("m");
    let (rows, stats) = run.rows().unwrap();
    let of_second = stats.operators.iter().filter(|o| o.node.as_deref() == Some("m"));
    let given = scanned(&stats) + of_second.map(|o| o.output_rows).sum::<u64>();
    (rows.len(), metric(&stats, "HashProbe", REPLACED), given)
}

fn union(sources: Vec<Arc<PlanNode>>) -> PlanNode {
    let id = format!("union of {}", sources.len()).into();
    let node = LocalPartitionNode::new(id, sources, Partitioning::RoundRobin).unwrap();
    PlanNode::LocalPartition(node)
}

fn keys() -> Vec<SortKey> {
    vec![SortKey { column: "k".into(), order: Default::default() }]
}

/// The filter's key is mapped through the operators below the join to the scans (rule S12.6), here
/// through exchanges too, where Velox stops.
#[test]
fn every_branch_of_a_union_is_told_which_keys_have_partners() {
    let (l, _) = sides();
    let m = scan("m", &bigints(&["k", "v"]), true);
    let sorted = |id: &str, source: &Arc<PlanNode>| {
        let (id, source, keys) = (id.into(), Arc::clone(source), keys());
        Arc::new(PlanNode::OrderBy(OrderByNode { id, source, keys }))
    };
    let merge = LocalMergeNode::new("u".into(), vec![sorted("a", &l), sorted("b", &m)], keys());
    for plan in [
        union(vec![Arc::clone(&l), Arc::clone(&m)]),
        union(vec![Arc::new(union(vec![Arc::clone(&l)])), Arc::clone(&m)]),
        PlanNode::LocalMerge(merge.unwrap()),
    ] {
        for drivers in [1, 3] {
            assert_eq!(with_two_scans(plan.clone(), drivers), (80, 80, 80));
        }
    }
}

#[test]
fn a_branch_that_is_not_told_keeps_the_join_but_the_others_are_told() {
    let (l, _) = sides();
    let deaf = scan("m", &bigints(&["k", "v"]), false);
    let values = PlanNode::Values(ValuesNode {
        id: "x".into(),
        output_type: bigints(&["k", "v"]),
        batches: vec![numbers(&bigints(&["k", "v"]), &[&[3, 4, 7], &[0, 0, 0]])],
    });
    for drivers in [1, 3] {
        let plan = union(vec![Arc::clone(&l), deaf.clone()]);
        let (rows, replaced, given) = with_two_scans(plan, drivers);
        assert_eq!((rows, given), (80, 40 + 400));
        assert!(replaced <= 40, "no row of the other branch is passed through");
        let plan = union(vec![Arc::clone(&l), Arc::new(values.clone())]);
        assert_eq!(with_two_scans(plan, drivers), (42, 0, 40));
    }
}

#[test]
fn whole_groups_are_left_out_but_rows_of_limits_are_not() {
    let (l, _) = sides();
    let grouped = crate::plan::builder::PlanBuilder::from_node(Arc::clone(&l), 50)
        .aggregate(&["k"], vec![])
        .build();
    let limit = |count| LimitNode { id: "n".into(), source: Arc::clone(&l), offset: 0, count };
    let top = TopNNode { id: "n".into(), source: Arc::clone(&l), keys: keys(), count: 30 };
    for drivers in [1, 3] {
        let plan = PlanNode::clone(&grouped);
        assert_eq!(with_two_scans(plan, drivers), (2, 2, 40));
        let (rows, replaced, given) = with_two_scans(PlanNode::Limit(limit(400)), drivers);
        assert_eq!((rows, replaced, given), (40, 0, 400));
        // The first 30 rows have the keys 0 and 1.
        let (rows, replaced, given) = with_two_scans(PlanNode::TopN(top.clone()), drivers);
        assert_eq!((rows, replaced), (0, 0));
        assert!(given > 100, "{given} rows: keys without partners are given too");
    }
}

#[test]
fn a_key_beside_a_list_that_is_taken_apart_is_told() {
    let (_, r) = sides();
    let list = Type::Array(Arc::new(Type::BigInt));
    let row_type = Arc::new(RowType::new([("k", Type::BigInt), ("list", list.clone())]));
    let l = scan("l", &row_type, true);
    let node =
        UnnestNode::new("u".into(), l, vec!["k".into()], vec!["list".into()], vec!["e".into()]);
    let list_of = |n: i64| Value::Array((0..n).map(Value::BigInt).collect());
    let column = |ty: &Type, values: &[Value]| vector::build::vector_of(ty, values).unwrap();
    let columns = vec![
        column(&Type::BigInt, &[3, 4, 7].map(Value::BigInt)),
        column(&list, &[2, 5, 1].map(list_of)),
    ];
    let batch = RowVector::batch(row_type, 3, columns).unwrap();
    let left = Arc::new(PlanNode::Unnest(node.unwrap()));
    for (key, expected) in [("k", (3, 3, 2)), ("e", (3, 0, 3))] {
        let node = join(JoinType::LeftSemiFilter, (&left, &r), (&[key], &["j"]), &["k", "e"]);
        let build = if key == "k" { right(&[3, 7]) } else { right(&[0]) };
        let run =
            Run::new(PlanNode::HashJoin(node), 1, vec![vec![Act::Batch(batch.clone())]], build);
        let (rows, stats) = run.rows().unwrap();
        let replaced = metric(&stats, "HashProbe", REPLACED);
        assert_eq!((rows.len(), replaced, scanned(&stats)), expected, "{key}");
    }
}

/// Scans wait for the table before they read, also below an exchange (rule S12.14).
#[test]
fn scans_of_a_union_wait_for_the_table() {
    let (l, r) = sides();
    let m = scan("m", &bigints(&["k", "v"]), true);
    let left = Arc::new(union(vec![l, m]));
    for drivers in [1, 3] {
        let node = join(JoinType::Inner, (&left, &r), (&["k"], &["j"]), &["v"]);
        let mut build = right(&[3]);
        build[0].insert(0, Act::Block);
        let run = Run::new(PlanNode::HashJoin(node), drivers, left_batches(), build);
        run.task.no_more_splits("m").unwrap();
        let (rows, stats) = run.rows_with_waits().unwrap();
        assert_eq!((rows.len(), scanned(&stats)), (20, 20));
        let scans = stats.operators.iter().filter(|o| o.operator == "TableScan");
        let waits: u64 = scans.map(|o| o.blocked(BlockingReason::WaitForJoinBuild).0).sum();
        assert!(waits > 0);
    }
}
