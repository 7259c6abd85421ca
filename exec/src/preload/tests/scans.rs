//! Tests of scans with splits that are prepared ahead: where each split is prepared, the order of
//! the rows, the counters, and which filters apply.

use std::time::Duration;

use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{DecodedVector, Result, RowType, RowVector, Type, Value};

use dwio::connector::{ColumnHandle, ConnectorRegistry};
use dwio::filter::Filter;

use crate::blocking::BlockingReason;
use crate::control::threads::TaskThreads;
use crate::executor::Executor;
use crate::expr::{ExecEvaluator, FunctionRegistry};
use crate::operator::scan_filters::ScanFilters;
use crate::operator::scan_scale::ScanScaleUp;
use crate::operator::table_scan::TableScan;
use crate::operator::{Operator, OperatorCtx};
use crate::plan::{PlanNode, TableScanNode};
use crate::query_ctx::QueryCtx;
use crate::split_source::SplitSource;
use crate::stats::OperatorStats;
use crate::task::split_queue::{SplitOrder, SplitQueue};
use crate::task::{Cursor, Task};
use crate::termination::Termination;
use crate::testing::{Act, Ahead, Script, ScriptConnector, Table, eventually};

fn row_type() -> Arc<RowType> {
    Arc::new(RowType::new([("v", Type::BigInt)]))
}

/// A read of the rows `start..end`.
pub(super) fn rows(start: i64, end: i64) -> Act {
    let values: Vec<Value> = (start..end).map(Value::BigInt).collect();
    let column = vector::build::vector_of(&Type::BigInt, &values).unwrap();
    Act::Batch(RowVector::batch(row_type(), values.len(), vec![column]).unwrap())
}

pub(super) fn scan_node() -> TableScanNode {
    let handle = Arc::new(Table { takes_filters: true }) as Arc<dyn ColumnHandle>;
    TableScanNode {
        id: "0".into(),
        output_type: row_type(),
        table: Arc::new(Table { takes_filters: true }),
        assignments: vec![("v".into(), handle)],
    }
}

/// A query with 3 workers and 4 I/O threads.
pub(super) fn query(ahead: &Ahead) -> QueryCtx {
    let mut connectors = ConnectorRegistry::new();
    let connector = ScriptConnector { ahead: Some(ahead.clone()), ..Default::default() };
    connectors.register(Arc::new(connector));
    let functions = Arc::new(FunctionRegistry::builtin());
    let mut query = QueryCtx::new(Arc::new(ExecEvaluator::new(functions)), connectors);
    query.executor = Arc::new(Executor::new(3));
    query.io = Arc::new(Executor::new_io(4));
    // Scripted splits open immediately.
    query.config.split_preload_min_open_micros = 0;
    query
}

pub(super) fn task(query: &Arc<QueryCtx>, drivers: usize, splits: Vec<Vec<Act>>) -> Task {
    let plan = Arc::new(PlanNode::TableScan(scan_node()));
    let task = Task::new(plan, Arc::clone(query), drivers).unwrap();
    for split in splits {
        task.add_split("0", Arc::new(Script(split))).unwrap();
    }
    task.no_more_splits("0").unwrap();
    task
}

pub(super) fn values(batch: &RowVector) -> Vec<i64> {
    let column = DecodedVector::new(batch.child(0).unwrap()).unwrap();
    (0..batch.len()).map(|row| column.value(row).unwrap().as_i64().unwrap()).collect()
}

pub(super) fn collect(cursor: &mut Cursor) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    while let Some(batch) = cursor.next()? {
        all.extend(values(&batch));
    }
    Ok(all)
}

/// Splits of ten rows each.
pub(super) fn tens(num_splits: i64) -> Vec<Vec<Act>> {
    (0..num_splits).map(|i| vec![rows(i * 10, i * 10 + 10)]).collect()
}

fn on_io_thread() -> bool {
    thread::current().name() == Some("ocior-io")
}

/// Returns the first row of a split.
fn first_row(script: &Script) -> i64 {
    match &script.0[..] {
        [Act::Batch(batch), ..] => values(batch)[0],
        _ => -1,
    }
}

#[test]
fn a_scan_of_one_split_starts_no_thread() {
    let query = Arc::new(query(&Ahead::new(|_| Ok(()))));
    let task = task(&query, 1, tens(1));
    assert_eq!(collect(&mut task.start().unwrap()).unwrap().len(), 10);
    assert_eq!((query.io.usage().threads, query.executor.usage().threads), (0, 0));
}

#[test]
fn without_preload_no_thread_is_started_for_many_splits_either() {
    let mut query = query(&Ahead::new(|_| Ok(())));
    query.config.max_split_preload_per_driver = 0;
    let query = Arc::new(query);
    let task = task(&query, 1, tens(20));
    assert_eq!(collect(&mut task.start().unwrap()).unwrap().len(), 200);
    assert_eq!((query.io.usage().threads, query.executor.usage().threads), (0, 0));
}

#[test]
fn the_next_splits_are_prepared_on_io_threads_while_one_is_read_and_no_more_than_the_quota() {
    let (here, ahead_opens) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (on_driver, on_io) = (Arc::clone(&here), Arc::clone(&ahead_opens));
    let ahead = Ahead::new(move |_| {
        let counter = if on_io_thread() { &on_io } else { &on_driver };
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let query = Arc::new(query(&ahead));
    let task = task(&query, 1, tens(10));
    let mut cursor = task.start().unwrap();
    assert_eq!(values(&cursor.next().unwrap().unwrap())[0], 0);
    eventually("two are prepared", || ahead_opens.load(Ordering::SeqCst) == 2);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(here.load(Ordering::SeqCst) + ahead_opens.load(Ordering::SeqCst), 3);
    assert_eq!(collect(&mut cursor).unwrap(), (10..100).collect::<Vec<_>>());
    assert_eq!(here.load(Ordering::SeqCst) + ahead_opens.load(Ordering::SeqCst), 10);
}

#[test]
fn one_driver_gives_rows_in_the_order_of_the_splits_whichever_is_ready_first() {
    let ahead = Ahead::new(|script| {
        let uneven = if (first_row(script) / 10) % 3 == 1 { 8 } else { 0 };
        thread::sleep(Duration::from_millis(uneven));
        Ok(())
    });
    let query = Arc::new(query(&ahead));
    let task = task(&query, 1, tens(12));
    let read = collect(&mut task.start().unwrap()).unwrap();
    assert_eq!(read, (0..120).collect::<Vec<_>>());
}

#[test]
fn several_drivers_read_every_split_once() {
    for quota in [1, 2, 7] {
        let mut query = query(&Ahead::new(|_| Ok(())));
        query.config.max_split_preload_per_driver = quota;
        let query = Arc::new(query);
        let task = task(&query, 3, tens(100));
        let mut read = collect(&mut task.start().unwrap()).unwrap();
        read.sort_unstable();
        assert_eq!(read, (0..1_000).collect::<Vec<_>>());
    }
}

#[test]
fn what_was_prepared_is_counted_and_no_row_is_lost_from_the_statistics() {
    let query = Arc::new(query(&Ahead::new(|_| {
        thread::sleep(Duration::from_millis(1));
        Ok(())
    })));
    let task = task(&query, 1, tens(8));
    let mut cursor = task.start().unwrap();
    collect(&mut cursor).unwrap();
    let stats = cursor.stats();
    let scan = &stats.operators[0];
    assert_eq!((scan.num_splits, scan.raw_rows, scan.output_rows), (8, 80, 80));
    assert_eq!(scan.metrics.sum("preloadedSplits"), 7);
    assert!(scan.metrics.sum("readyPreloadedSplits") <= 7);
    let count = |name| scan.metrics.get(name).map_or(0, |metric| metric.count);
    assert_eq!(count("waitForPreloadSplitNanos"), 7);
    assert_eq!(count("preloadSplitPrepareTimeNanos"), 7);
    assert!(scan.metrics.sum("preloadSplitPrepareTimeNanos") >= 7_000_000);
    assert_eq!(count("dataSourceAddSplitWallNanos"), 1, "the first one was opened here");
    assert_eq!(count("connectorSplitSize"), 8);
}

#[test]
fn a_source_whose_split_was_taken_over_prepares_another_one() {
    let ahead = Ahead::new(|_| Ok(()));
    let query = Arc::new(query(&ahead));
    let task = task(&query, 1, tens(50));
    let mut cursor = task.start().unwrap();
    while cursor.next().unwrap().is_some() {
        // The driver's own source, two prepared ones, and a spare one.
        assert!(ahead.num_sources() <= 4, "{}", ahead.num_sources());
    }
    assert_eq!(ahead.num_sources(), 0);
}

/// A scan operator without a driver, with its queue.
struct Alone {
    scan: TableScan,
    filters: Arc<ScanFilters>,
    termination: Arc<Termination>,
}

impl Alone {
    fn new(query: &Arc<QueryCtx>, splits: Vec<Vec<Act>>) -> Self {
        let queue = SplitQueue::new(SplitOrder::Added);
        for split in splits {
            queue.add(Arc::new(Script(split))).unwrap();
        }
        queue.no_more();
        let (filters, termination) = (Arc::new(ScanFilters::default()), Termination::new());
        let ctx = OperatorCtx {
            node: None,
            query: Arc::clone(query),
            pool: query.pool.leaf("scan"),
            stop: termination.stop_flag().clone(),
        };
        let queue = Arc::new(queue) as Arc<dyn SplitSource>;
        let scan = TableScan::new(&scan_node(), queue, Arc::clone(&filters), ctx);
        Alone { scan: scan.with_preload(2, &termination), filters, termination }
    }

    fn read(&mut self) -> Option<Vec<i64>> {
        loop {
            if let Some(batch) = self.scan.get_output().unwrap() {
                return Some(values(&batch));
            }
            match self.scan.is_blocked() {
                Some(blocked) => blocked.until.wait().unwrap(),
                None if self.scan.is_finished() => return None,
                None => {}
            }
        }
    }
}

/// Blocks the I/O threads that open a split.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Option<Arc<Condvar>>,
    waiting: AtomicUsize,
}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Gate { changed: Some(Arc::new(Condvar::new())), ..Gate::default() })
    }

    fn pass(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut open = self.open.lock();
        while !*open {
            open = self.changed.as_ref().unwrap().wait(open);
        }
    }

    fn open(&self) {
        *self.open.lock() = true;
        self.changed.as_ref().unwrap().notify_all();
    }
}

#[test]
fn while_its_split_is_prepared_a_driver_leaves_its_thread_and_waits_for_the_connector() {
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    let query = Arc::new(query(&Ahead::new(move |_| {
        if on_io_thread() {
            held.pass();
        }
        Ok(())
    })));
    let mut alone = Alone::new(&query, tens(3));
    assert_eq!(alone.read().unwrap()[0], 0);
    eventually("both are being prepared", || gate.waiting.load(Ordering::SeqCst) == 2);
    for _ in 0..2 {
        assert!(alone.scan.get_output().unwrap().is_none());
        let blocked = alone.scan.is_blocked().unwrap();
        assert_eq!(blocked.reason, BlockingReason::WaitForConnector);
        assert!(!blocked.until.is_ready());
        // A call before the end of the wait returns another wait.
    }
    gate.open();
    assert_eq!(alone.read().unwrap()[0], 10);
    assert_eq!(alone.read().unwrap()[0], 20);
    assert_eq!(alone.read(), None);
    let mut stats = OperatorStats::default();
    alone.scan.add_stats(&mut stats);
    assert_eq!(stats.num_splits, 3);
}

#[test]
fn a_scan_that_finds_no_rows_lets_a_pause_in() {
    let nothing: Vec<Act> =
        (0..1_000_000).map(|_| Act::Batch(RowVector::empty(row_type()))).collect();
    let query = Arc::new(query(&Ahead::new(|_| Ok(()))));
    let mut alone = Alone::new(&query, vec![nothing]);
    let threads = Arc::new(TaskThreads::default());
    alone.scan = alone.scan.with_threads(&threads);
    drop(threads.pause());
    assert!(alone.scan.get_output().unwrap().is_none());
    let blocked = alone.scan.is_blocked().unwrap();
    assert_eq!(blocked.reason, BlockingReason::Yield);
    assert!(blocked.until.is_ready());
}

/// A filter that arrives during or after the preparation of a split applies to it (rules S12.21 to
/// S12.23).
#[test]
fn a_filter_that_comes_after_the_preparation_counts_for_the_prepared_split() {
    let opened = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&opened);
    let query = Arc::new(query(&Ahead::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })));
    let mut alone = Alone::new(&query, tens(3));
    assert_eq!(alone.read().unwrap().len(), 10);
    eventually("all are open", || opened.load(Ordering::SeqCst) == 3);
    assert!(alone.filters.publish(&"j".into(), 0, Filter::bigint_range(15, 22, false)));
    assert_eq!(alone.read().unwrap(), [15, 16, 17, 18, 19]);
    assert!(alone.filters.publish(&"j".into(), 0, Filter::bigint_range(21, 99, false)));
    assert_eq!(alone.read().unwrap(), [21, 22]);
    assert_eq!(alone.read(), None);
}

#[test]
fn a_filter_that_is_known_before_is_in_what_is_prepared() {
    let query = Arc::new(query(&Ahead::new(|_| Ok(()))));
    let mut alone = Alone::new(&query, tens(3));
    assert!(alone.filters.publish(&"j".into(), 0, Filter::bigint_range(8, 11, false)));
    assert_eq!(alone.read().unwrap(), [8, 9]);
    assert_eq!(alone.read().unwrap(), [10, 11]);
    assert_eq!(alone.read(), None);
    assert!(alone.filters.holds_for_all_rows(&"j".into(), 0));
}

#[test]
fn a_scan_that_is_closed_while_its_split_is_prepared_leaves_nothing_behind() {
    let gate = Gate::new();
    let held = Arc::clone(&gate);
    let ahead = Ahead::new(move |_| {
        if on_io_thread() {
            held.pass();
        }
        Ok(())
    });
    let query = Arc::new(query(&ahead));
    let mut alone = Alone::new(&query, tens(3));
    assert_eq!(alone.read().unwrap().len(), 10);
    eventually("both are being prepared", || gate.waiting.load(Ordering::SeqCst) == 2);
    assert!(alone.scan.get_output().unwrap().is_none());
    drop(alone.scan.is_blocked());
    alone.termination.cancel();
    alone.scan.close();
    gate.open();
    alone.termination.all_out().wait().unwrap();
    assert_eq!(ahead.num_sources(), 0);
    assert_eq!(query.pool.used(), 0);
}

#[test]
fn a_driver_waits_until_a_driver_before_it_has_shown_that_there_is_room() {
    let query = Arc::new(query(&Ahead::new(|_| Ok(()))));
    let scale_up = Arc::new(ScanScaleUp::new(query.pool.clone(), 2, 0.7));
    let mut first = Alone::new(&query, tens(2));
    first.scan = first.scan.with_scale_up(0, Arc::clone(&scale_up));
    let mut second = Alone::new(&query, tens(1));
    second.scan = second.scan.with_scale_up(1, scale_up);
    assert!(second.scan.get_output().unwrap().is_none());
    let blocked = second.scan.is_blocked().unwrap();
    assert_eq!(blocked.reason, BlockingReason::WaitForScanScaleUp);
    assert_eq!(first.read().unwrap()[0], 0);
    assert!(!blocked.until.is_ready(), "the split is not at its end");
    assert_eq!(first.read().unwrap()[0], 10);
    blocked.until.wait().unwrap();
    assert_eq!(second.read().unwrap()[0], 0);
}

#[test]
fn drivers_that_begin_one_by_one_read_everything() {
    let mut query = query(&Ahead::new(|_| Ok(())));
    query.config.table_scan_scaled_processing_enabled = true;
    // Each source takes 100 bytes; two of them and the prepared splits approach the limit.
    query.pool = vector::MemoryPool::root("query", 1 << 20);
    let query = Arc::new(query);
    let task = task(&query, 3, tens(60));
    let mut cursor = task.start().unwrap();
    let mut read = collect(&mut cursor).unwrap();
    read.sort_unstable();
    assert_eq!(read, (0..600).collect::<Vec<_>>());
    let stats = cursor.stats();
    let scan = &stats.operators[0];
    assert!((1..=3).contains(&scan.metrics.sum("numRunningScaleThreads")));
}

#[test]
fn with_no_room_at_all_one_driver_reads_everything() {
    let mut query = query(&Ahead::new(|_| Ok(())));
    query.config.table_scan_scaled_processing_enabled = true;
    query.config.table_scan_scale_up_memory_usage_ratio = 0.0;
    query.pool = vector::MemoryPool::root("query", 1 << 20);
    let query = Arc::new(query);
    let task = task(&query, 3, tens(30));
    let mut cursor = task.start().unwrap();
    assert_eq!(collect(&mut cursor).unwrap().len(), 300);
    assert_eq!(cursor.stats().operators[0].metrics.sum("numRunningScaleThreads"), 1);
}
