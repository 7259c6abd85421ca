//! Tests of the dynamic filters that joins publish to scans, by statistics and by the rows that the
//! scans return.

use super::*;
use crate::plan::{FilterNode, PlanNodeId, ProjectNode};

pub(super) fn metric(stats: &TaskStats, operator: &str, name: &str) -> i64 {
    let found = stats.operators.iter().filter(|o| o.operator == operator);
    found.map(|o| o.metrics.sum(name)).sum()
}

pub(super) fn scanned(stats: &TaskStats) -> u64 {
    let of_left = |o: &&crate::stats::OperatorStats| o.node.as_deref() == Some("l");
    stats.operators.iter().filter(of_left).map(|o| o.output_rows).sum()
}

pub(super) fn left_batches() -> Vec<Vec<Act>> {
    let row_type = bigints(&["k", "v"]);
    let batch = |start: i64| {
        let (keys, values): (Vec<i64>, Vec<i64>) = (start..start + 50).map(|i| (i % 20, i)).unzip();
        Act::Batch(numbers(&row_type, &[&keys, &values]))
    };
    (0..4).map(|split| vec![batch(split * 100), batch(split * 100 + 50)]).collect()
}

pub(super) fn sides() -> (Arc<PlanNode>, Arc<PlanNode>) {
    (scan("l", &bigints(&["k", "v"]), true), scan("r", &bigints(&["j", "w"]), true))
}

pub(super) fn right(keys: &[i64]) -> Vec<Vec<Act>> {
    vec![vec![Act::Batch(numbers(&bigints(&["j", "w"]), &[keys, keys]))]]
}

/// Drivers of a scan share its filters (rule S12.1). Each key makes one filter (S12.5), which is
/// mapped through filters and renaming projections to the scan (S12.6), is counted by the producer
/// and the scan (S12.7), and is recorded with the id of the producing node (S12.12).
#[test]
fn a_scan_gives_only_rows_with_partners_through_filters_and_renames() {
    let (l, r) = sides();
    let filter =
        PlanNode::Filter(FilterNode { id: "f".into(), source: l, predicate: less_than("k", "v") });
    let project = Arc::new(PlanNode::Project(ProjectNode {
        id: "p".into(),
        source: Arc::new(filter),
        output_type: bigints(&["a", "b"]),
        expressions: ["k", "v"].map(|name| TypedExpr::field(name, Type::BigInt)).into(),
    }));
    for drivers in [1, 3] {
        let node = join(JoinType::Inner, (&project, &r), (&["a"], &["j"]), &["b", "w"]);
        let plan = PlanNode::HashJoin(node);
        let run = Run::new(plan, drivers, left_batches(), right(&[3, 7, 90, 3]));
        let (rows, stats) = run.rows().unwrap();
        assert_eq!(rows.len(), 3 * 20 - 3, "of key 3, value 3 is not greater; nor is 7 of 7");
        assert_eq!(scanned(&stats), 2 * 20);
        assert_eq!(metric(&stats, "HashProbe", "dynamicFiltersProduced"), 1);
        assert_eq!(metric(&stats, "TableScan", "dynamicFiltersAccepted"), drivers as i64);
        let scans = stats.operators.iter().filter_map(|o| o.scan.as_ref());
        let producers: Vec<_> = scans.flat_map(|scan| &scan.filter_producers).collect();
        assert_eq!(producers, [&PlanNodeId::from("j")]);
        assert_eq!(metric(&stats, "HashProbe", "replacedWithDynamicFilterRows"), 0);
    }
}

/// Joins that return probe rows without a partner publish no filters (rule S12.3).
#[test]
fn joins_that_give_rows_without_partners_tell_nothing() {
    let (l, r) = sides();
    for kind in [JoinType::Left, JoinType::Full, JoinType::Anti, JoinType::LeftSemiProject] {
        let output: &[&str] = if kind.gives_match() { &["v", "match"] } else { &["v"] };
        let node = join(kind, (&l, &r), (&["k"], &["j"]), output);
        let run = Run::new(PlanNode::HashJoin(node), 1, left_batches(), right(&[3, 7]));
        let (_, stats) = run.rows().unwrap();
        assert_eq!(scanned(&stats), 400, "{kind}");
        assert_eq!(metric(&stats, "HashProbe", "dynamicFiltersProduced"), 0);
    }
}

#[test]
fn the_setting_and_the_source_can_say_no() {
    let (l, r) = sides();
    let deaf = scan("l", &bigints(&["k", "v"]), false);
    for (left, allowed) in [(&l, false), (&deaf, true)] {
        let node = join(JoinType::Inner, (left, &r), (&["k"], &["j"]), &["v"]);
        let plan = PlanNode::HashJoin(node);
        let run = Run::with(plan, 1, left_batches(), right(&[3]), |query| {
            query.config.hash_probe_dynamic_filter_pushdown_enabled = allowed;
        });
        let (rows, stats) = run.rows().unwrap();
        assert_eq!((rows.len(), scanned(&stats)), (20, 400));
        assert_eq!(metric(&stats, "TableScan", "dynamicFiltersAccepted"), 0);
        assert_eq!(metric(&stats, "HashProbe", "replacedWithDynamicFilterRows"), 0);
    }
}

/// A key with more values than an exact filter holds makes a range filter, where Velox makes a
/// Bloom filter (rule S12.4).
#[test]
fn more_keys_than_a_filter_holds_become_their_range() {
    let (l, r) = sides();
    let many: Vec<i64> = (5..5 + 150_000).map(|i| i * 2).collect();
    let node = join(JoinType::Inner, (&l, &r), (&["k"], &["j"]), &["v"]);
    let run = Run::new(PlanNode::HashJoin(node), 1, left_batches(), right(&many));
    let (rows, stats) = run.rows().unwrap();
    // The range starts at 10, and only even keys have partners.
    assert_eq!((rows.len(), scanned(&stats)), (100, 200));
    assert_eq!(metric(&stats, "HashProbe", "replacedWithDynamicFilterRows"), 0);
}

#[test]
fn an_empty_build_side_spares_the_probe_side() {
    let (l, r) = sides();
    for kind in [JoinType::Inner, JoinType::Right, JoinType::LeftSemiFilter] {
        let node = join(kind, (&l, &r), (&["k"], &["j"]), &["v"]);
        let run = Run::new(PlanNode::HashJoin(node), 1, left_batches(), vec![]);
        let (rows, stats) = run.rows().unwrap();
        assert_eq!((rows.len(), scanned(&stats)), (0, 0), "{kind}");
    }
}
