//! Tests of barriers: the splits between two barriers are processed like a separate run (rules
//! S11.30 to S11.33, S11.72).

use super::*;
use crate::plan::{LocalMergeNode, LocalPartitionNode, OrderByNode, Partitioning, SortKey};
use vector::testing::Random;

/// Returns the rows up to a barrier or the end.
fn rows_to_barrier(cursor: &mut Cursor) -> Vec<Vec<Option<i64>>> {
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next().unwrap() {
        let columns = batch.children().iter().map(|c| DecodedVector::new(c).unwrap());
        let columns: Vec<DecodedVector> = columns.collect();
        let row = |row: usize| columns.iter().map(|c| c.value(row).unwrap().as_i64()).collect();
        rows.extend((0..batch.len()).map(row));
    }
    rows
}

fn split(acts: Vec<Act>) -> Arc<Script> {
    Arc::new(Script(acts))
}

/// Returns a started task, its cursor, and its connector with the promises and read counters.
fn started(plan: PlanBuilder, drivers: usize, on_workers: bool) -> (Task, Cursor, ScriptConnector) {
    let connector = ScriptConnector::default();
    let task = Task::new(plan.build(), query(&connector), drivers).unwrap();
    let cursor = match on_workers {
        true => task.start_on_workers(2).unwrap(),
        false => task.start().unwrap(),
    };
    (task, cursor, connector)
}

const WAYS: [(usize, bool); 4] = [(1, false), (3, false), (1, true), (3, true)];

/// A scan that takes filters while it runs.
fn told() -> PlanBuilder {
    let PlanNode::TableScan(node) = &*scan().build() else { panic!("a scan") };
    let table = Arc::new(Table { takes_filters: true });
    PlanBuilder::above(PlanNode::TableScan(TableScanNode { table, ..node.clone() }), 1)
}

/// A node over the scans "0" and "1", which combines their rows.
fn two_scans(make: impl FnOnce(Vec<Arc<PlanNode>>) -> PlanNode) -> PlanBuilder {
    let first = scan().build();
    let PlanNode::TableScan(node) = &*first else { panic!("a scan") };
    let second = PlanNode::TableScan(TableScanNode { id: "1".into(), ..node.clone() });
    PlanBuilder::above(make(vec![first, Arc::new(second)]), 3)
}

fn union(partitioning: Partitioning) -> PlanBuilder {
    two_scans(|sources| {
        let node = LocalPartitionNode::new("2".into(), sources, partitioning).unwrap();
        PlanNode::LocalPartition(node)
    })
}

fn merged() -> PlanBuilder {
    two_scans(|sources| {
        let keys = vec![SortKey { column: "v".into(), order: SortOrder::default() }];
        let sorted = sources.into_iter().zip(["a", "b"]).map(|(source, id)| {
            let (id, keys) = (id.into(), keys.clone());
            Arc::new(PlanNode::OrderBy(OrderByNode { id, source, keys }))
        });
        let node = LocalMergeNode::new("2".into(), sorted.collect(), keys.clone()).unwrap();
        PlanNode::LocalMerge(node)
    })
}

fn totals(plan: PlanBuilder) -> PlanBuilder {
    let count = aggregate_call("n", "count", vec![], false).unwrap();
    let sum = aggregate_call("s", "sum", vec![column_of("v")], false).unwrap();
    plan.aggregate(&[], vec![count, sum])
}

/// Description of a plan, its constructor, and whether its rows are ordered.
type Named = (&'static str, fn() -> PlanBuilder, bool);

/// Plans with nodes that keep rows, groups or counts.
fn plans() -> Vec<Named> {
    vec![
        ("scan", scan, false),
        ("filter", || scan().filter(call("gt", "k", 1, Type::Boolean)), false),
        ("groups", counts_and_sums, false),
        ("totals", || totals(scan()), false),
        ("distinct", || scan().aggregate(&["k"], vec![]), false),
        ("distinct of groups", || counts_and_sums().aggregate(&["n"], vec![]), false),
        ("order by", by_value, true),
        ("top n", || scan().top_n(&[("v", SortOrder::default())], 3), true),
        ("top n that its scan hears of", || told().top_n(&[("v", SortOrder::default())], 3), true),
        // Rows that a bound excludes before a barrier are needed after it.
        ("top n with its filter", || scan_of(true).top_n(&[("v", SortOrder::default())], 3), true),
        ("order of groups", || counts_and_sums().order_by(&[("s", SortOrder::default())]), true),
        ("limit of sorted rows", || by_value().limit(2, 5), true),
        ("large limit", || scan().limit(0, 1_000_000), false),
        ("single row", || totals(scan()).single_row(), false),
        ("union", || union(Partitioning::RoundRobin), false),
        ("groups of a union", || totals(union(Partitioning::Hash(vec!["v".into()]))), false),
        ("merge", merged, true),
        ("totals of merge", || totals(merged()), false),
    ]
}

/// Returns the splits of a scan in one round. Some splits have no rows, and some rounds have no
/// splits.
fn splits_of(round: i64, scan: &str) -> Vec<Vec<Act>> {
    let start = if scan == "0" { round * 1_000 } else { round * 1_000 + 500 };
    let splits = (0..round % 4).map(|split| {
        let start = start + split * 30;
        vec![read_rows(start, start + 10), read_nothing(), read_rows(start + 10, start + 30)]
    });
    splits.chain((round % 3 == 2).then(|| vec![read_nothing()])).collect()
}

/// Between two barriers, the task produces the same rows as a task that has only the splits of that
/// round (rules S11.30, S11.31).
#[test]
fn what_comes_between_two_barriers_is_as_a_run_of_its_own() {
    for (name, plan, in_order) in plans() {
        for (drivers, on_workers) in WAYS {
            let (task, mut cursor, _) = started(plan(), drivers, on_workers);
            let scans: Vec<PlanNodeId> = task.scan_ids().cloned().collect();
            for round in 0..8 {
                let connector = ScriptConnector::default();
                let alone = Task::new(plan().build(), query(&connector), 1).unwrap();
                for scan in &scans {
                    for acts in splits_of(round, scan) {
                        task.add_split(scan, split(acts.clone())).unwrap();
                        alone.add_split(scan, split(acts)).unwrap();
                    }
                    alone.no_more_splits(scan).unwrap();
                }
                let passed = task.request_barrier().unwrap();
                let mut rows = rows_to_barrier(&mut cursor);
                let mut expected = collect(&mut alone.start().unwrap()).unwrap();
                passed.wait().unwrap();
                if !in_order {
                    rows.sort();
                    expected.sort();
                }
                assert_eq!(rows, expected, "{name}, round {round}, {drivers} drivers");
            }
            scans.iter().for_each(|scan| task.no_more_splits(scan).unwrap());
            let at_end = rows_to_barrier(&mut cursor);
            assert!(at_end.len() <= 1, "{name}: the totals of no rows at most");
            assert_eq!(task.state(), TaskState::Finished);
        }
    }
}

/// A split cannot be added while a barrier is in progress (rules S11.30, S11.72); Velox:
/// `addSplitAfterBarrier`.
#[test]
fn a_split_waits_until_the_barrier_that_was_asked_for_is_passed() {
    for (drivers, on_workers) in WAYS {
        let (task, mut cursor, _) = started(scan(), drivers, on_workers);
        task.add_split("0", split(vec![read_rows(0, 10)])).unwrap();
        let (first, second) = (task.request_barrier().unwrap(), task.request_barrier().unwrap());
        let early = task.add_split("0", split(vec![])).unwrap_err();
        assert_eq!(early.message(), "a split was added before a barrier was passed");
        assert_eq!(rows_to_barrier(&mut cursor).len(), 10);
        first.wait().unwrap();
        second.wait().unwrap();
        task.add_split("0", split(vec![read_rows(0, 20)])).unwrap();
        task.request_barrier().unwrap();
        assert_eq!(rows_to_barrier(&mut cursor).len(), 20);
    }
}

/// A barrier cannot be requested after the last split (rule S11.30); Velox:
/// `barrierAfterNoMoreSplits`.
#[test]
fn there_is_no_barrier_behind_the_last_split_but_the_last_splits_may_end_at_one() {
    for (drivers, on_workers) in WAYS {
        let (task, mut cursor, _) = started(counts_and_sums(), drivers, on_workers);
        task.add_split("0", split(vec![read_rows(0, 10)])).unwrap();
        let passed = task.request_barrier().unwrap();
        task.no_more_splits("0").unwrap();
        assert_eq!(rows_to_barrier(&mut cursor).len(), 5);
        passed.wait().unwrap();
        if task.state() == TaskState::Running {
            let late = task.request_barrier().unwrap_err();
            assert_eq!(late.message(), "a barrier behind the last split of a scan");
        }
        assert_eq!(rows_to_barrier(&mut cursor).len(), 0);
        assert_eq!(task.state(), TaskState::Finished);
    }
}

/// A barrier is refused for a plan with a node that cannot drain (rule S11.30); Velox:
/// `invalidPlanNodeForBarrier`.
#[test]
fn a_plan_with_a_node_that_cannot_drain_is_refused_by_its_name() {
    let values = PlanBuilder::values(table_type(), vec![table_rows(0, 10)]);
    for (plan, node) in [(totals(joined()), "HashJoin[j]"), (totals(values), "Values[0]")] {
        let connector = ScriptConnector::default();
        let task = Task::new(plan.build(), query(&connector), 2).unwrap();
        let error = task.request_barrier().unwrap_err();
        assert_eq!((error.kind(), error.field("node")), (ErrorKind::Unsupported, Some(node)));
        task.add_split("r", split(vec![])).ok();
    }
}

/// A satisfied operator causes its input to be discarded until the barrier (rules S11.32, S11.33);
/// Velox: `dropOutputDuringBarrier`.
#[test]
fn once_a_limit_is_reached_one_batch_of_each_split_is_read_until_the_barrier() {
    let plans: [(fn() -> PlanBuilder, usize); 3] = [
        (|| scan().limit(0, 15), 15),
        (|| scan().filter(call("gt", "v", -1, Type::Boolean)).limit(5, 10), 10),
        (|| union(Partitioning::RoundRobin).limit(0, 15), 15),
    ];
    for ((plan, limit), (drivers, on_workers)) in
        plans.into_iter().flat_map(|plan| WAYS.map(|way| (plan, way)))
    {
        let connector = ScriptConnector::default();
        let task = Task::new(plan().build(), query(&connector), drivers).unwrap();
        let scans: Vec<PlanNodeId> = task.scan_ids().cloned().collect();
        let mut cursor = None;
        for round in 0..3 {
            for scan in &scans {
                for start in 0..40 {
                    let reads = (0..10).map(|read| read_rows(start, start + 10 + read % 2));
                    task.add_split(scan, split(reads.collect())).unwrap();
                }
            }
            task.request_barrier().unwrap();
            // The cursor starts after the first request of a barrier: a limit that is reached
            // before it ends the task.
            let cursor = cursor.get_or_insert_with(|| match on_workers {
                true => task.start_on_workers(2).unwrap(),
                false => task.start().unwrap(),
            });
            assert_eq!(rows_to_barrier(cursor).len(), limit, "round {round}");
            for scan in &scans {
                let counts = task.split_counts(scan).unwrap();
                assert_eq!((counts.queued, counts.running), (0, 0));
                assert_eq!(counts.finished, 40 * (round + 1));
            }
            let reads = connector.reads.swap(0, Ordering::SeqCst);
            let num_splits = 40 * scans.len();
            assert!(reads >= num_splits, "{reads} reads: each split is read");
            // The splits that were being read when the limit was reached were read further, and
            // batches were queued.
            assert!(reads < num_splits * 4, "{reads} reads of {num_splits} splits of 10 batches");
        }
        scans.iter().for_each(|scan| task.no_more_splits(scan).unwrap());
        assert_eq!(rows_to_barrier(&mut cursor.unwrap()).len(), 0);
    }
}

#[test]
fn a_limit_that_is_reached_before_anybody_asks_for_a_barrier_ends_the_task() {
    for (drivers, on_workers) in WAYS {
        let (task, mut cursor, _) = started(scan().limit(0, 5), drivers, on_workers);
        task.add_split("0", split(vec![read_rows(0, 10)])).unwrap();
        assert_eq!(rows_to_barrier(&mut cursor).len(), 5);
        assert_eq!(task.state(), TaskState::Finished);
        assert!(task.request_barrier().unwrap().is_ready());
    }
}

/// Velox: `operatorErrorDuringBarrier`.
#[test]
fn an_error_in_front_of_a_barrier_ends_the_task_and_the_wait_for_it() {
    for (plan, (drivers, on_workers)) in
        [scan, counts_and_sums, by_value].into_iter().flat_map(|p| WAYS.map(|way| (p, way)))
    {
        let (task, mut cursor, _) = started(plan(), drivers, on_workers);
        for _ in 0..4 {
            task.add_split("0", split(vec![read_rows(0, 10)])).unwrap();
        }
        task.add_split("0", split(vec![read_rows(0, 10), Act::Fail("bad page")])).unwrap();
        let passed = task.request_barrier().unwrap();
        let error = loop {
            match cursor.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("no error"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.message(), "bad page");
        passed.wait().unwrap();
        assert_eq!(task.state(), TaskState::Failed);
        assert!(task.request_barrier().unwrap().is_ready());
    }
}

/// Velox: `testTerminateDuringBarrier`.
#[test]
fn a_barrier_ends_with_its_task() {
    for (plan, (drivers, on_workers)) in
        [scan, counts_and_sums].into_iter().flat_map(|p| WAYS.map(|way| (p, way)))
    {
        let (task, mut cursor, _) = started(plan(), drivers, on_workers);
        task.add_split("0", split(vec![Act::Block])).unwrap();
        let passed = task.request_barrier().unwrap();
        assert!(!passed.is_ready());
        task.cancel();
        passed.wait().unwrap();
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(task.request_barrier().unwrap().is_ready());
    }
}

#[test]
fn a_cancel_at_any_point_in_front_of_barriers_leaves_nothing_behind() {
    let (mut random, plans) = (Random::new(5), plans());
    for round in 0..300 {
        let (_, plan, _) = plans[random.below(plans.len())];
        let (drivers, on_workers) = WAYS[random.below(WAYS.len())];
        let connector = ScriptConnector::default();
        let ctx = query(&connector);
        let pool = ctx.pool.clone();
        let task = Task::new(plan().build(), ctx, drivers).unwrap();
        let scans: Vec<PlanNodeId> = task.scan_ids().cloned().collect();
        let mut cursor = match on_workers {
            true => task.start_on_workers(1).unwrap(),
            false => task.start().unwrap(),
        };
        let (at_read, reads) = (random.below(40), Arc::clone(&connector.reads));
        let (canceller, ended) = (cursor.canceller(), task.completed());
        let other = thread::spawn(move || {
            while reads.load(Ordering::SeqCst) < at_read && !ended.is_ready() {
                thread::yield_now();
            }
            canceller.cancel();
        });
        for number in 1..5 {
            for scan in &scans {
                for acts in splits_of(number, scan) {
                    task.add_split(scan, split(acts)).unwrap();
                }
            }
            let passed = task.request_barrier().unwrap();
            let outcome = loop {
                match cursor.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            passed.wait().unwrap();
            if let Err(error) = outcome {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "round {round}: {error}");
            }
        }
        task.cancel();
        other.join().unwrap();
        cursor.close();
        assert!(task.all_out().is_ready() && pool.used() == 0, "round {round}: {}", pool.tree());
    }
}

/// Drivers that may not run yet pass the barrier like the others.
#[test]
fn a_barrier_passes_drivers_that_memory_holds_back() {
    let connector = ScriptConnector::default();
    let mut ctx = QueryCtx::clone(&query(&connector));
    ctx.config.table_scan_scaled_processing_enabled = true;
    ctx.config.table_scan_scale_up_memory_usage_ratio = 0.0;
    ctx.pool = vector::MemoryPool::root("query", 1 << 30);
    let task = Task::new(counts_and_sums().build(), Arc::new(ctx), 3).unwrap();
    let mut cursor = task.start().unwrap();
    for _ in 0..5 {
        for _ in 0..4 {
            task.add_split("0", split(vec![read_rows(0, 10), read_rows(10, 20)])).unwrap();
        }
        task.request_barrier().unwrap();
        assert_eq!(rows_to_barrier(&mut cursor).len(), 5);
    }
    task.no_more_splits("0").unwrap();
    assert_eq!(rows_to_barrier(&mut cursor).len(), 0);
}

#[test]
fn a_split_that_is_sent_twice_is_taken_once() {
    let connector = ScriptConnector::default();
    let task = Task::new(scan().build(), query(&connector), 1).unwrap();
    let add = |id: u64, row: i64| {
        let split = Arc::new(Script(vec![read_rows(row, row + 1)]));
        task.add_split_with_sequence("0", id, split).unwrap()
    };
    assert!(add(1, 10) && add(2, 20));
    assert!(add(1, 30), "the maximum was not set yet");
    task.set_max_split_sequence_id("0", 2).unwrap();
    assert!(!add(1, 40) && !add(2, 50));
    task.set_max_split_sequence_id("0", 1).unwrap();
    assert!(!add(2, 60) && add(3, 70), "the maximum only grows");
    task.no_more_splits("0").unwrap();
    let rows = collect(&mut task.start().unwrap()).unwrap();
    let values: Vec<_> = rows.iter().map(|row| row[1].unwrap()).collect();
    assert_eq!(values, [10, 20, 30, 70]);
}

#[test]
fn who_sends_splits_is_told_when_the_last_one_was_taken() {
    let connector = ScriptConnector::default();
    let task = Task::new(scan().build(), query(&connector), 1).unwrap();
    assert!(task.splits_wanted("0").unwrap().is_ready(), "there is none");
    for row in 0..2 {
        let split = Arc::new(Script(vec![read_rows(row, row + 1)]));
        task.add_split("0", split).unwrap();
    }
    let wanted = task.splits_wanted("0").unwrap();
    let mut cursor = task.start().unwrap();
    assert!(cursor.next().unwrap().is_some() && !wanted.is_ready());
    assert!(cursor.next().unwrap().is_some());
    wanted.wait().unwrap();
    task.add_split("0", Arc::new(Script(vec![]))).unwrap();
    let wanted = task.splits_wanted("0").unwrap();
    task.no_more_splits("0").unwrap();
    assert_eq!(wanted.wait().unwrap_err().kind(), ErrorKind::Cancelled, "nobody wants more");
    assert!(cursor.next().unwrap().is_none());
}
