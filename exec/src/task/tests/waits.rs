//! Tests of blocking: each reason is provoked and found in the counters.

use super::*;
use crate::blocking::BlockingReason;
use crate::plan::{LocalPartitionNode, Partitioning};
use crate::stats::TaskStats;

/// Returns how often the operators called `name` blocked for `reason`; a wait has a duration.
pub(super) fn waits(stats: &TaskStats, name: &str, reason: BlockingReason) -> u64 {
    let operators = stats.operators.iter().filter(|stats| stats.operator == name);
    let mut times = 0;
    for stats in operators {
        let (count, time) = stats.blocked(reason);
        assert_eq!(stats.runtime.sum(reason.times_metric()), count as i64);
        assert!(count == 0 || !time.is_zero());
        times += count;
    }
    times
}

/// Fulfils the promises of blocked reads as they appear, until the task ends.
fn unblock(run: &Run) -> thread::JoinHandle<()> {
    let (promises, ended) = (Arc::clone(&run.connector.promises), run.task.completed());
    thread::spawn(move || {
        while !ended.is_ready() {
            let promise = promises.lock().pop();
            match promise {
                Some(promise) => promise.fulfil(),
                None => thread::yield_now(),
            }
        }
    })
}

#[test]
fn a_scan_waits_for_its_connector() {
    for drivers in [1, 2] {
        let run = Run::new(scan(), drivers, vec![vec![read_rows(0, 10), Act::Block]; 3]);
        let helper = unblock(&run);
        assert_eq!(run.rows().unwrap().len(), 30);
        helper.join().unwrap();
        let stats = run.task.stats();
        assert_eq!(waits(&stats, "TableScan", BlockingReason::WaitForConnector), 3);
        assert!(stats.drivers.sum("totalDriverOffThreadWallNanos") > 0);
    }
}

#[test]
fn a_scan_waits_for_splits() {
    for drivers in [1, 2] {
        let connector = ScriptConnector::default();
        let ctx = query(&connector);
        let task = Task::new(scan().build(), Arc::clone(&ctx), drivers).unwrap();
        let mut cursor = task.start().unwrap();
        assert_eq!(run_until_all_wait(&ctx.executor, &mut cursor), 0);
        task.add_split("0", Arc::new(Script(vec![read_rows(0, 10)]))).unwrap();
        task.no_more_splits("0").unwrap();
        assert_eq!(collect(&mut cursor).unwrap().len(), 10);
        assert!(waits(&cursor.stats(), "TableScan", BlockingReason::WaitForSplit) > 0);
    }
}

#[test]
fn an_exchange_waits_for_producers_and_they_for_their_consumer() {
    let mut splits = thousand_rows();
    splits.push(vec![Act::Block]);
    let run = Run::with(scan(), 2, splits, |query| {
        query.config.local_exchange_batches_per_driver = 1;
    });
    let mut cursor = run.task.start().unwrap();
    // The consumer takes nothing until the producers have filled the exchange, and the last read
    // blocks until all queued batches were taken.
    until_idle(&run.executor);
    assert_eq!(run.num_rows_with_waits(&mut cursor), 1_000);
    let stats = cursor.stats();
    assert!(waits(&stats, "LocalExchangeSink", BlockingReason::WaitForConsumer) > 0);
    assert!(waits(&stats, "LocalExchange", BlockingReason::WaitForProducer) > 0);
}

#[test]
fn on_workers_a_task_waits_for_who_takes_its_rows() {
    for drivers in [1, 3] {
        let run = Run::new(scan(), drivers, thousand_rows());
        let mut cursor = run.task.start_on_workers(2).unwrap();
        until_idle(&run.executor);
        let reads = run.connector.reads.load(Ordering::SeqCst);
        assert!(reads < 30, "{reads} reads before the first batch was taken");
        assert_eq!(collect(&mut cursor).unwrap().len(), 1_000);
        let stats = cursor.stats();
        assert!(waits(&stats, "CursorSink", BlockingReason::WaitForConsumer) > 0);
    }
}

#[test]
fn a_probe_waits_for_the_table_of_its_join() {
    let run = Run::new(joined(), 2, vec![vec![read_rows(0, 100)]]);
    run.task.add_split("r", Arc::new(Script(vec![Act::Block, read_rows(0, 10)]))).unwrap();
    run.task.no_more_splits("r").unwrap();
    let mut cursor = run.task.start().unwrap();
    assert_eq!(run.num_rows_with_waits(&mut cursor), 10);
    assert!(waits(&run.task.stats(), "HashProbe", BlockingReason::WaitForJoinBuild) > 0);
}

#[test]
fn a_scan_that_finds_nothing_for_long_lets_others_run() {
    let run =
        Run::with(scan(), 2, vec![vec![read_nothing(), Act::Sleep(5), read_nothing()]; 4], |q| {
            q.config.table_scan_getoutput_time_limit_ms = 1;
        });
    assert!(run.rows().unwrap().is_empty());
    let stats = run.task.stats();
    assert!(waits(&stats, "TableScan", BlockingReason::Yield) > 0);
    assert_eq!(stats.operators[0].num_blocked, 0, "who yields is not waited for");
}

#[test]
fn a_scan_waits_until_memory_has_room_for_one_more_driver() {
    let mut splits = vec![vec![read_rows(0, 10)]; 6];
    splits[0].insert(0, Act::Block);
    let run = Run::with(scan(), 3, splits, |query| {
        query.config.table_scan_scaled_processing_enabled = true;
        query.config.table_scan_scale_up_memory_usage_ratio = 0.0;
        query.pool = vector::MemoryPool::root("query", 1 << 30);
    });
    let mut cursor = run.task.start().unwrap();
    assert_eq!(run.num_rows_with_waits(&mut cursor), 60);
    let stats = run.task.stats();
    assert!(waits(&stats, "TableScan", BlockingReason::WaitForScanScaleUp) > 0);
    assert_eq!(stats.operators[0].metrics.sum("numRunningScaleThreads"), 1);
}

#[test]
fn a_scan_behind_an_exchange_waits_for_the_table_that_has_a_filter_for_it() {
    let joined = joined().build();
    let PlanNode::HashJoin(join) = &*joined else { panic!("a join") };
    let spread =
        LocalPartitionNode::new("x".into(), vec![Arc::clone(&join.left)], Partitioning::RoundRobin);
    let left = Arc::new(PlanNode::LocalPartition(spread.unwrap()));
    let plan = PlanNode::HashJoin(HashJoinNode { left, ..join.clone() });
    let run = Run::new(PlanBuilder::above(plan, 9), 2, vec![vec![read_rows(0, 100)]]);
    run.task.add_split("r", Arc::new(Script(vec![Act::Block, read_rows(0, 10)]))).unwrap();
    run.task.no_more_splits("r").unwrap();
    let mut cursor = run.task.start().unwrap();
    assert_eq!(run.num_rows_with_waits(&mut cursor), 10);
    assert!(waits(&run.task.stats(), "TableScan", BlockingReason::WaitForJoinBuild) > 0);
}

#[test]
fn an_operator_waits_for_memory_of_another_query() {
    for drivers in [1, 2] {
        let engine = vector::MemoryPool::root("engine", 100_000);
        let other = engine.leaf("another query");
        // Memory suffices for the sources, but not for the first batch that any driver sorts.
        other.reserve(99_600).unwrap();
        let run = Run::with(by_value(), drivers, thousand_rows(), |query| {
            query.pool = engine.aggregate("query", u64::MAX);
        });
        let mut cursor = run.task.start().unwrap();
        assert_eq!(run_until_all_wait(&run.executor, &mut cursor), 0);
        other.release(99_600);
        let rows = collect(&mut cursor).unwrap();
        assert!(rows.iter().enumerate().all(|(i, row)| row[1] == Some(i as i64)));
        assert_eq!(rows.len(), 1_000);
        let stats = run.task.stats();
        assert!(waits(&stats, "OrderBy", BlockingReason::WaitForMemory) > 0);
        let sort = stats.operators.iter().find(|stats| stats.operator == "OrderBy").unwrap();
        assert!(sort.peak_bytes >= 16_000, "{} bytes", sort.peak_bytes);
        assert_eq!(engine.used(), 0);
    }
}

#[test]
fn memory_is_not_waited_for_without_end() {
    for drivers in [1, 2] {
        let engine = vector::MemoryPool::root("engine", 100_000);
        let other = engine.leaf("another query");
        other.reserve(95_000).unwrap();
        let run = Run::with(by_value(), drivers, thousand_rows(), |query| {
            query.pool = engine.aggregate("query", u64::MAX);
            query.config.memory_wait_limit_ms = 10;
        });
        let error = run.rows().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let text = error.to_string();
        assert!(text.contains("others gave nothing back in time"), "{text}");
        assert!(text.contains("another query: 92.77 KiB"), "{text}");
        assert!(text.contains("operator \"OrderBy[1]\""), "{text}");
        assert_eq!(engine.used(), 95_000);
    }
}

#[test]
fn of_queries_that_wait_for_each_other_one_fails_and_the_others_end_well() {
    // A query sorts 1,000 rows of 16 bytes, which it copies, and needs 28 more bytes for each.
    let engine = vector::MemoryPool::root("engine", 80_000);
    let start = Arc::new(AtomicUsize::new(0));
    let queries = [1, 2, 3].map(|id| {
        let run = Run::with(by_value(), 1, thousand_rows(), |query| {
            query.pool = engine.aggregate(format!("query {id}"), u64::MAX);
            query.config.memory_wait_limit_ms = 60_000;
        });
        let start = Arc::clone(&start);
        thread::spawn(move || {
            start.fetch_add(1, Ordering::SeqCst);
            while start.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
            run.rows().map(|rows| rows.len())
        })
    });
    let outcomes = queries.map(|query| query.join().unwrap());
    let well = outcomes.iter().filter(|outcome| outcome.as_ref().is_ok_and(|n| *n == 1_000));
    assert!(well.count() >= 1, "{outcomes:?}");
    let failed = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    assert!(failed.clone().all(|error| error.kind() == ErrorKind::Limit), "{outcomes:?}");
    assert_eq!(engine.used(), 0);
}
