//! Tests of tasks when memory is short: which drivers wait for it, which ones pause meanwhile, and
//! what is reclaimed.

use super::waits::waits;
use super::*;
use crate::blocking::BlockingReason;
use crate::plan::builder::PlanBuilder;
use crate::testing::Ahead;
use vector::MemoryPool;

/// The memory of an engine, of which another query leaves `free` bytes.
struct Short {
    engine: MemoryPool,
    other: MemoryPool,
    held: u64,
}

const LIMIT: u64 = 1_000_000;

impl Short {
    fn of(free: u64) -> Self {
        let engine = MemoryPool::root("engine", LIMIT);
        let other = engine.leaf("another query");
        let held = LIMIT - free;
        other.reserve(held).unwrap();
        Short { engine, other, held }
    }

    /// Releases the other query's memory once a driver waits for it.
    fn release_when_wanted(self) -> thread::JoinHandle<MemoryPool> {
        thread::spawn(move || {
            while !self.engine.has_waits() {
                thread::yield_now();
            }
            self.other.release(self.held);
            self.engine
        })
    }

    fn run(&self, plan: PlanBuilder, drivers: usize, splits: Vec<Vec<Act>>) -> Run {
        Run::with(plan, drivers, splits, |query| {
            query.pool = self.engine.aggregate("query", u64::MAX);
        })
    }
}

fn groups_of_values() -> PlanBuilder {
    let count = aggregate_call("n", "count", vec![], false).unwrap();
    scan().aggregate(&["v"], vec![count])
}

#[test]
fn a_scan_waits_for_memory_for_its_next_batch() {
    // Less than the 70 rows of 16 bytes that most batches have.
    let short = Short::of(700);
    let run = short.run(scan(), 1, thousand_rows());
    let releaser = short.release_when_wanted();
    assert_eq!(run.rows().unwrap().len(), 1_000);
    assert_eq!(releaser.join().unwrap().used(), 0);
    assert!(waits(&run.task.stats(), "TableScan", BlockingReason::WaitForMemory) > 0);
}

#[test]
fn a_scan_that_waited_in_vain_reads_on_with_what_there_is() {
    let short = Short::of(700);
    let splits = (0..10).map(|s| vec![read_rows(s * 100, s * 100 + 100)]).collect();
    let run = Run::with(scan(), 1, splits, |query| {
        query.pool = short.engine.aggregate("query", u64::MAX);
        query.config.memory_wait_limit_ms = 10;
    });
    assert_eq!(run.rows().unwrap().len(), 1_000);
    let waits = waits(&run.task.stats(), "TableScan", BlockingReason::WaitForMemory);
    assert_eq!(waits, 1, "once is enough while there is no room");
}

#[test]
fn groups_wait_for_memory_or_end_with_the_error_of_their_query() {
    for drivers in [1, 2] {
        let short = Short::of(30_000);
        let run = short.run(groups_of_values(), drivers, thousand_rows());
        let releaser = short.release_when_wanted();
        assert_eq!(run.rows().unwrap().len(), 1_000);
        assert_eq!(releaser.join().unwrap().used(), 0);
        assert!(waits(&run.task.stats(), "Aggregation", BlockingReason::WaitForMemory) > 0);

        let short = Short::of(30_000);
        let run = Run::with(groups_of_values(), drivers, thousand_rows(), |query| {
            query.pool = short.engine.aggregate("query", u64::MAX);
            query.config.memory_wait_limit_ms = 10;
        });
        let error = run.rows().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let text = error.to_string();
        assert!(text.contains("another query: 947.27 KiB"), "{text}");
        assert!(text.contains("operator \"Aggregation[1]\""), "{text}");
        assert_eq!(short.engine.used(), short.held);
    }
}

#[test]
fn the_table_of_a_join_waits_for_memory() {
    for drivers in [1, 2] {
        let short = Short::of(3_000);
        let splits = vec![vec![read_rows(0, 100)]];
        let run = short.run(joined(), drivers, splits);
        run.task.add_split("r", Arc::new(Script(vec![read_rows(0, 100)]))).unwrap();
        run.task.no_more_splits("r").unwrap();
        let releaser = short.release_when_wanted();
        assert_eq!(run.rows().unwrap().len(), 100);
        assert_eq!(releaser.join().unwrap().used(), 0);
        assert!(waits(&run.task.stats(), "HashBuild", BlockingReason::WaitForMemory) > 0);
    }
}

#[test]
fn scans_stand_still_while_another_driver_of_their_query_waits_for_memory() {
    let short = Short::of(1_100);
    // One driver sorts its rows without having memory for them, while the other one requests more.
    let splits = vec![vec![read_rows(0, 1), Act::Block, read_rows(1, 2)], vec![read_rows(2, 100)]];
    let run = short.run(by_value(), 2, splits);
    let (promises, ended) = (Arc::clone(&run.connector.promises), run.task.completed());
    let Short { engine, other, held } = short;
    let helper = thread::spawn(move || {
        let fulfil = || promises.lock().pop().into_iter().for_each(|promise| promise.fulfil());
        while !format!("{engine:?}").contains("followers: [Promise") {
            if engine.has_waits() {
                fulfil();
            }
            thread::yield_now();
        }
        other.release(held);
        while !ended.is_ready() {
            fulfil();
            thread::yield_now();
        }
    });
    assert_eq!(run.rows().unwrap().len(), 100);
    helper.join().unwrap();
    let stats = run.task.stats();
    assert!(waits(&stats, "OrderBy", BlockingReason::WaitForMemory) > 0);
    assert!(waits(&stats, "TableScan", BlockingReason::WaitForArbitration) > 0);
}

#[test]
fn batches_that_wait_in_an_exchange_are_paid_for_and_taken_ones_are_not() {
    let mut splits = thousand_rows();
    splits.push(vec![Act::Block]);
    let run = Run::with(scan(), 2, splits, |query| {
        query.config.local_exchange_batches_per_driver = 2;
    });
    let mut cursor = run.task.start().unwrap();
    // Two batches from each of two producers, with at least 30 rows of 16 bytes each.
    while run.pool.used() < 4 * 30 * 16 {
        thread::yield_now();
    }
    assert!(run.pool.tree().contains("exchange.0"), "{}", run.pool.tree());
    let promises = Arc::clone(&run.connector.promises);
    let helper = thread::spawn(move || {
        loop {
            match promises.lock().pop() {
                Some(promise) => return promise.fulfil(),
                None => thread::yield_now(),
            }
        }
    });
    assert_eq!(collect(&mut cursor).unwrap().len(), 1_000);
    helper.join().unwrap();
    let sink = cursor.stats();
    let sink = sink.operators.iter().find(|s| s.operator == "LocalExchangeSink").unwrap();
    assert!(sink.peak_bytes >= 4 * 30 * 16, "{} bytes", sink.peak_bytes);
    assert_eq!(run.pool.used(), 0);
}

#[test]
fn what_was_opened_ahead_is_let_go_when_another_query_needs_the_memory() {
    let (engine, ahead) = (MemoryPool::root("engine", LIMIT), Ahead::new(|_| Ok(())));
    let connector = ScriptConnector { ahead: Some(ahead), ..ScriptConnector::default() };
    let splits = vec![
        vec![Act::Block, read_rows(0, 10)],
        vec![read_rows(10, 20)],
        vec![read_rows(20, 30)],
        vec![read_rows(30, 40)],
    ];
    let run = Run::over(connector, scan(), 1, splits, |query| {
        query.pool = engine.aggregate("query", u64::MAX);
        query.config.split_preload_min_open_micros = 0;
    });
    let promises = Arc::clone(&run.connector.promises);
    let helper = thread::spawn(move || {
        // The source of the driver, and one for each of the next two splits.
        while engine.used() < 300 {
            thread::yield_now();
        }
        let other = engine.leaf("another query");
        // A thread that has just created a source may not have stored it yet.
        while other.reserve(LIMIT - 100).is_err() {
            thread::yield_now();
        }
        other.release(LIMIT - 100);
        let promise = loop {
            match promises.lock().pop() {
                Some(promise) => break promise,
                None => thread::yield_now(),
            }
        };
        promise.fulfil();
        engine
    });
    let rows = run.rows().unwrap();
    assert!(rows.iter().enumerate().all(|(i, row)| row[1] == Some(i as i64)));
    assert_eq!(rows.len(), 40);
    assert_eq!(helper.join().unwrap().used(), 0);
    let stats = run.task.stats();
    assert!(stats.operators[0].metrics.sum("preloadedSplits") < 3, "two were let go");
}
