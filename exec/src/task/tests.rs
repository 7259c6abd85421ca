//! Behaviour of tasks, over a connector whose splits are scripts.

use std::any::Any;

use vector::build::vector_of;
use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, Mutex, Promise, promise, thread};
use vector::{
    DecodedVector, Error, ErrorKind, Result, RowSet, RowType, RowVector, SelectivityVector,
    SortOrder, Type, Value, Vector, VectorRef,
};

use dwio::connector::{
    ColumnHandle, CompiledExpr, Connector, ConnectorQueryCtx, ConnectorRegistry, ConnectorSplit,
    DataSource, DataSourceRequest, ExpressionEvaluator, SourcePoll, SourceProgress, TableHandle,
};
use dwio::expr::TypedExpr;

use super::*;
use crate::operator::aggregate::aggregate_call;
use crate::plan::builder::PlanBuilder;

/// What a split does at each read, in order.
#[derive(Debug, Clone)]
enum Act {
    /// Rows `start..end` of the table (k, v): k = row % 5, v = row.
    Rows(i64, i64),
    /// A read that finds nothing.
    NoRows,
    /// Blocked until the test fulfils the connector's next promise.
    Block,
    Fail(&'static str),
}

#[derive(Debug)]
struct Script(Vec<Act>);

impl ConnectorSplit for Script {
    fn connector_id(&self) -> &str {
        "script"
    }
    fn describe(&self) -> String {
        format!("script of {}", self.0.len())
    }
    fn size_bytes(&self) -> u64 {
        0
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct Table;

impl TableHandle for Table {
    fn connector_id(&self) -> &str {
        "script"
    }
    fn table_name(&self) -> &str {
        "t"
    }
    fn describe(&self) -> String {
        "t".into()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ColumnHandle for Table {
    fn column_name(&self) -> &str {
        "any"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug, Default, Clone)]
struct ScriptConnector {
    promises: Arc<Mutex<Vec<Promise>>>,
    reads: Arc<AtomicUsize>,
}

impl Connector for ScriptConnector {
    fn id(&self) -> &str {
        "script"
    }
    fn data_source(
        &self,
        _: DataSourceRequest,
        _: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>> {
        Ok(Box::new(ScriptSource { connector: self.clone(), acts: Vec::new(), raw_rows: 0 }))
    }
}

struct ScriptSource {
    connector: ScriptConnector,
    acts: Vec<Act>,
    raw_rows: u64,
}

impl DataSource for ScriptSource {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let script = split.as_any().downcast_ref::<Script>();
        let script = script.ok_or_else(|| Error::internal("another split"))?;
        self.acts = script.0.iter().rev().cloned().collect();
        Ok(())
    }

    fn next(&mut self, _: usize) -> Result<SourcePoll> {
        self.connector.reads.fetch_add(1, Ordering::SeqCst);
        match self.acts.pop() {
            Some(Act::Rows(start, end)) => {
                self.raw_rows += (end - start) as u64;
                Ok(SourcePoll::Batch(table_rows(start, end)))
            }
            Some(Act::NoRows) => Ok(SourcePoll::Batch(RowVector::empty(table_type()))),
            Some(Act::Block) => {
                let (promise, continuation) = promise();
                self.connector.promises.lock().push(promise);
                Ok(SourcePoll::Blocked(continuation))
            }
            Some(Act::Fail(message)) => Err(Error::corrupt(message)),
            None => Ok(SourcePoll::SplitDone),
        }
    }

    fn abandon_split(&mut self) {
        self.acts.clear();
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress { raw_rows: self.raw_rows, ..Default::default() }
    }
}

fn table_type() -> Arc<RowType> {
    Arc::new(RowType::new([("k", Type::BigInt), ("v", Type::BigInt)]))
}

fn table_rows(start: i64, end: i64) -> RowVector {
    let column = |f: fn(i64) -> i64| {
        let values: Vec<Value> = (start..end).map(|row| Value::BigInt(f(row))).collect();
        vector_of(&Type::BigInt, &values).unwrap()
    };
    let columns = vec![column(|row| row % 5), column(|row| row)];
    RowVector::batch(table_type(), (end - start) as usize, columns).unwrap()
}

/// Compiles `gt(column, constant)`, `plus(column, constant)` and columns, all BIGINT.
#[derive(Debug)]
struct TinyEvaluator;

struct TinyExpr(TypedExpr, Arc<RowType>);

impl ExpressionEvaluator for TinyEvaluator {
    fn compile(&self, expr: &TypedExpr, input: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>> {
        Ok(Box::new(TinyExpr(expr.clone(), Arc::clone(input))))
    }
}

impl CompiledExpr for TinyExpr {
    fn evaluate(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef> {
        let TypedExpr::Call { name, args, ty } = &self.0 else {
            return Err(Error::unsupported("only calls"));
        };
        let [TypedExpr::Field { name: column, .. }, TypedExpr::Constant { value, .. }] =
            args.as_slice()
        else {
            return Err(Error::unsupported("only calls of a column and a constant"));
        };
        let channel = self.1.index_of(column).unwrap();
        let input = DecodedVector::for_rows(batch.child(channel)?, &rows.to_rows())?;
        let constant = value.as_i64().unwrap();
        let mut results = vec![Value::Null; batch.len()];
        for row in rows.iter() {
            let value = input.value(row)?.as_i64().unwrap();
            results[row] = match &**name {
                "gt" => Value::Boolean(value > constant),
                _ => Value::BigInt(value + constant),
            };
        }
        vector_of(ty, &results)
    }
}

fn call(name: &str, column: &str, constant: i64, ty: Type) -> TypedExpr {
    let constant = TypedExpr::constant(Value::BigInt(constant), Type::BigInt);
    TypedExpr::call(name, vec![column_of(column), constant], ty)
}

fn column_of(name: &str) -> TypedExpr {
    TypedExpr::field(name, Type::BigInt)
}

fn scan() -> PlanBuilder {
    let handle = Arc::new(Table) as Arc<dyn ColumnHandle>;
    let assignments = vec![("k".into(), Arc::clone(&handle)), ("v".into(), handle)];
    PlanBuilder::table_scan(table_type(), Arc::new(Table), assignments)
}

fn query(connector: &ScriptConnector) -> Arc<QueryCtx> {
    let mut connectors = ConnectorRegistry::new();
    connectors.register(Arc::new(connector.clone()));
    let mut query = QueryCtx::new(Arc::new(TinyEvaluator), connectors);
    query.executor = Arc::new(crate::Executor::new(3));
    Arc::new(query)
}

struct Run {
    task: Task,
    connector: ScriptConnector,
}

impl Run {
    fn new(plan: PlanBuilder, drivers: usize, splits: Vec<Vec<Act>>) -> Self {
        let connector = ScriptConnector::default();
        let task = Task::new(plan.build(), query(&connector), drivers).unwrap();
        for split in splits {
            task.add_split("0", Arc::new(Script(split))).unwrap();
        }
        task.no_more_splits("0").unwrap();
        Run { task, connector }
    }

    fn rows(&self) -> Result<Vec<Vec<Option<i64>>>> {
        collect(&mut self.task.start()?)
    }
}

fn collect(cursor: &mut Cursor) -> Result<Vec<Vec<Option<i64>>>> {
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next()? {
        assert!(batch.children().iter().all(vector::is_loaded));
        let columns: Vec<DecodedVector> =
            batch.children().iter().map(|c| DecodedVector::new(c).unwrap()).collect();
        for row in 0..batch.len() {
            rows.push(columns.iter().map(|c| c.value(row).unwrap().as_i64()).collect());
        }
    }
    assert!(cursor.next()?.is_none(), "the end stays the end");
    Ok(rows)
}

fn sorted(mut rows: Vec<Vec<Option<i64>>>) -> Vec<Vec<Option<i64>>> {
    rows.sort();
    rows
}

/// 1,000 rows in 10 splits of some reads each.
fn thousand_rows() -> Vec<Vec<Act>> {
    (0..10)
        .map(|s| {
            let start = s * 100;
            vec![Act::Rows(start, start + 30), Act::NoRows, Act::Rows(start + 30, start + 100)]
        })
        .collect()
}

fn counts_and_sums() -> PlanBuilder {
    scan().aggregate(
        &["k"],
        vec![
            aggregate_call("n", "count", vec![], false).unwrap(),
            aggregate_call("s", "sum", vec![column_of("v")], false).unwrap(),
            aggregate_call("lo", "min", vec![column_of("v")], false).unwrap(),
        ],
    )
}

#[test]
fn one_driver_gives_batches_in_the_order_of_the_splits() {
    let run = Run::new(scan(), 1, thousand_rows());
    let rows = run.rows().unwrap();
    assert_eq!(rows.len(), 1_000);
    assert!(rows.iter().enumerate().all(|(i, row)| row[1] == Some(i as i64)));
    assert_eq!(run.task.split_counts("0").unwrap().finished, 10);
    let stats = run.task.stats();
    assert_eq!((stats.operators[0].raw_rows, stats.operators[0].num_splits), (1_000, 10));
}

#[test]
fn many_drivers_give_the_rows_of_one() {
    let first = |n| scan().top_n(&[("v", SortOrder { descending: true, nulls_first: false })], n);
    let plans: Vec<fn() -> PlanBuilder> = vec![
        scan,
        || scan().filter(call("gt", "v", 700, Type::Boolean)),
        || {
            scan()
                .filter(call("gt", "k", 2, Type::Boolean))
                .project([("a", call("plus", "v", 1, Type::BigInt)), ("b", column_of("k"))])
        },
        counts_and_sums,
        || counts_and_sums().order_by(&[("s", SortOrder::default())]).limit(1, 3),
        || scan().order_by(&[("v", SortOrder::default())]),
    ];
    for plan in plans {
        let one = Run::new(plan(), 1, thousand_rows()).rows().unwrap();
        let many = Run::new(plan(), 4, thousand_rows()).rows().unwrap();
        assert!(!one.is_empty());
        assert_eq!(sorted(one), sorted(many));
    }
    for drivers in [1, 4] {
        let rows = Run::new(first(7), drivers, thousand_rows()).rows().unwrap();
        let values: Vec<_> = rows.iter().map(|row| row[1].unwrap()).collect();
        assert_eq!(values, [999, 998, 997, 996, 995, 994, 993]);
    }
}

#[test]
fn a_filter_and_a_projection_see_only_passing_rows() {
    let plan = scan()
        .filter(call("gt", "v", 997, Type::Boolean))
        .project([("w", call("plus", "v", 10, Type::BigInt)), ("k", column_of("k"))]);
    let rows = Run::new(plan, 1, thousand_rows()).rows().unwrap();
    assert_eq!(rows, [vec![Some(1_008), Some(3)], vec![Some(1_009), Some(4)]]);
}

#[test]
fn distinct_values_are_counted_once_with_any_number_of_drivers() {
    let plan = || {
        scan().aggregate(
            &[],
            vec![
                aggregate_call("kinds", "count", vec![column_of("k")], true).unwrap(),
                aggregate_call("n", "count", vec![column_of("k")], false).unwrap(),
            ],
        )
    };
    for drivers in [1, 3] {
        let rows = Run::new(plan(), drivers, thousand_rows()).rows().unwrap();
        assert_eq!(rows, [[Some(5), Some(1_000)]]);
    }
}

#[test]
fn without_rows_there_is_one_global_group_and_no_other() {
    for drivers in [1, 2] {
        for splits in [vec![], vec![vec![Act::NoRows], vec![]]] {
            let global = scan().aggregate(
                &[],
                vec![
                    aggregate_call("n", "count", vec![], false).unwrap(),
                    aggregate_call("s", "sum", vec![column_of("v")], false).unwrap(),
                ],
            );
            let rows = Run::new(global, drivers, splits.clone()).rows().unwrap();
            assert_eq!(rows, [[Some(0), None]]);
            assert!(Run::new(counts_and_sums(), drivers, splits).rows().unwrap().is_empty());
        }
    }
}

#[test]
fn a_limit_ends_the_scan_early() {
    let endless: Vec<Vec<Act>> = (0..1_000).map(|i| vec![Act::Rows(i * 10, i * 10 + 10)]).collect();
    for drivers in [1, 2] {
        let run = Run::new(scan().limit(5, 20), drivers, endless.clone());
        assert_eq!(run.rows().unwrap().len(), 20);
        let reads = run.connector.reads.load(Ordering::SeqCst);
        assert!(reads < 200, "{reads} reads");
    }
}

#[test]
fn a_blocked_source_goes_on_when_its_wait_ends() {
    for drivers in [1, 2] {
        let splits = vec![
            vec![Act::Rows(0, 10), Act::Block, Act::Rows(10, 20)],
            vec![Act::Block, Act::Rows(20, 30)],
        ];
        let run = Run::new(scan(), drivers, splits);
        let promises = Arc::clone(&run.connector.promises);
        let helper = thread::spawn(move || {
            let mut fulfilled = 0;
            while fulfilled < 2 {
                let promise = promises.lock().pop();
                match promise {
                    Some(promise) => {
                        promise.fulfil();
                        fulfilled += 1;
                    }
                    None => thread::yield_now(),
                }
            }
        });
        let rows = sorted(run.rows().unwrap());
        assert_eq!(rows.len(), 30);
        helper.join().unwrap();
    }
}

#[test]
fn a_source_that_never_unblocks_does_not_hold_back_a_cancel() {
    for drivers in [1, 2] {
        let run = Run::new(counts_and_sums(), drivers, vec![vec![Act::Block]]);
        let mut cursor = run.task.start().unwrap();
        let canceller = cursor.canceller();
        let promises = Arc::clone(&run.connector.promises);
        let helper = thread::spawn(move || {
            while promises.lock().is_empty() {
                thread::yield_now();
            }
            canceller.cancel();
        });
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
        helper.join().unwrap();
    }
}

#[test]
fn splits_may_come_while_the_rows_are_read() {
    for drivers in [1, 2] {
        let connector = ScriptConnector::default();
        let task = Task::new(scan().build(), query(&connector), drivers).unwrap();
        let mut cursor = task.start().unwrap();
        let adder = thread::spawn(move || {
            for i in 0..20 {
                let split = Script(vec![Act::Rows(i * 10, i * 10 + 10)]);
                task.add_split("0", Arc::new(split)).unwrap();
                thread::yield_now();
            }
            task.no_more_splits("0").unwrap();
        });
        assert_eq!(collect(&mut cursor).unwrap().len(), 200);
        adder.join().unwrap();
    }
}

#[test]
fn a_split_after_the_last_one_is_refused_and_one_after_the_end_is_ignored() {
    let run = Run::new(scan(), 1, vec![]);
    let late = || run.task.add_split("0", Arc::new(Script(vec![])));
    assert_eq!(late().unwrap_err().kind(), ErrorKind::Internal);
    assert!(run.rows().unwrap().is_empty());
    late().unwrap();
    assert!(run.task.add_split("7", Arc::new(Script(vec![]))).is_err(), "no such scan");
}

#[test]
fn a_task_dropped_before_its_last_split_was_announced_is_an_error_not_an_end() {
    for drivers in [1, 2] {
        let connector = ScriptConnector::default();
        let task = Task::new(scan().build(), query(&connector), drivers).unwrap();
        task.add_split("0", Arc::new(Script(vec![Act::Rows(0, 10)]))).unwrap();
        let mut cursor = task.start().unwrap();
        drop(task);
        assert_eq!(collect(&mut cursor).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn an_error_in_one_driver_ends_all_and_names_its_place() {
    let mut splits = thousand_rows();
    splits[3] = vec![Act::Rows(0, 1), Act::Fail("bad page")];
    for (plan, drivers) in
        [(scan(), 1), (scan(), 3), (counts_and_sums(), 3), (scan().limit(0, 100_000), 2)]
    {
        let run = Run::new(plan, drivers, splits.clone());
        let mut cursor = run.task.start().unwrap();
        let error = collect(&mut cursor).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corrupt: bad page\n  in split \"script of 2\", operator \"TableScan[0]\""
        );
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Corrupt, "the error stays");
    }
}

#[test]
fn a_cursor_that_is_dropped_stops_its_producers() {
    let many: Vec<Vec<Act>> = (0..2_000).map(|i| vec![Act::Rows(i * 10, i * 10 + 10)]).collect();
    for (drivers, batches) in [(1, 1), (3, 0), (3, 2)] {
        let run = Run::new(scan(), drivers, many.clone());
        let mut cursor = run.task.start().unwrap();
        for _ in 0..batches {
            assert!(cursor.next().unwrap().is_some());
        }
        drop(cursor);
        let reads = run.connector.reads.load(Ordering::SeqCst);
        assert!(reads < 1_000, "{reads} reads");
    }
}

#[test]
fn a_raised_query_flag_cancels_the_task() {
    let connector = ScriptConnector::default();
    let ctx = query(&connector);
    let task = Task::new(scan().build(), Arc::clone(&ctx), 2).unwrap();
    for split in thousand_rows() {
        task.add_split("0", Arc::new(Script(split))).unwrap();
    }
    ctx.cancel.cancel();
    let mut cursor = task.start().unwrap();
    assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn columns_of_the_plan_that_do_not_exist_are_found_before_anything_runs() {
    let plan = scan().order_by(&[("zz", SortOrder::default())]);
    let run = Run::new(plan, 3, thousand_rows());
    assert_eq!(run.task.start().unwrap_err().field("column"), Some("zz"));
    assert!(run.task.start().is_err(), "a task starts once");
}

#[test]
fn values_exist_once_whatever_the_number_of_drivers() {
    let batches = vec![table_rows(0, 10), table_rows(10, 12)];
    let plan = PlanBuilder::values(table_type(), batches).filter(call("gt", "v", 8, Type::Boolean));
    let task = Task::new(plan.build(), query(&ScriptConnector::default()), 4).unwrap();
    assert_eq!(collect(&mut task.start().unwrap()).unwrap().len(), 3);
}

#[test]
fn a_batch_without_columns_keeps_its_rows() {
    let none: [(String, TypedExpr); 0] = [];
    let plan = scan().filter(call("gt", "v", 989, Type::Boolean)).project(none);
    let run = Run::new(plan, 1, thousand_rows());
    let mut cursor = run.task.start().unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().len(), 10);
}

#[test]
fn sorted_output_is_cut_into_batches_of_the_maximum() {
    let connector = ScriptConnector::default();
    let mut ctx = QueryCtx::clone(&query(&connector));
    ctx.config.max_output_batch_rows = 64;
    let plan = scan().order_by(&[("k", SortOrder::default()), ("v", SortOrder::default())]);
    let task = Task::new(plan.build(), Arc::new(ctx), 1).unwrap();
    for split in thousand_rows() {
        task.add_split("0", Arc::new(Script(split))).unwrap();
    }
    task.no_more_splits("0").unwrap();
    let mut cursor = task.start().unwrap();
    let mut last = (-1, -1);
    let mut num_rows = 0;
    while let Some(batch) = cursor.next().unwrap() {
        assert!(batch.len() <= 64);
        let columns = [0, 1].map(|c| DecodedVector::new(batch.child(c).unwrap()).unwrap());
        for row in 0..batch.len() {
            let [k, v] = [0, 1].map(|c| columns[c].value(row).unwrap().as_i64().unwrap());
            assert!(last < (k, v));
            last = (k, v);
        }
        num_rows += batch.len();
    }
    assert_eq!(num_rows, 1_000);
}

#[test]
fn memory_beyond_the_limit_of_the_query_is_an_error_and_all_of_it_is_given_back() {
    let connector = ScriptConnector::default();
    let mut ctx = QueryCtx::clone(&query(&connector));
    ctx.pool = vector::MemoryPool::root("query", 10_000);
    let pool = ctx.pool.clone();
    let plan = scan().order_by(&[("v", SortOrder::default())]);
    let task = Task::new(plan.build(), Arc::new(ctx), 1).unwrap();
    for split in thousand_rows() {
        task.add_split("0", Arc::new(Script(split))).unwrap();
    }
    task.no_more_splits("0").unwrap();
    let mut cursor = task.start().unwrap();
    assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(pool.used(), 0);
}

#[test]
fn rows_of_a_lazy_column_are_loaded_before_the_scan_moves_on() {
    use vector::{LazyVector, VectorLoader};

    struct Loader(Arc<AtomicUsize>, usize);
    impl VectorLoader for Loader {
        fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
            if self.0.load(Ordering::SeqCst) != self.1 {
                return Err(Error::internal("the scan has moved on"));
            }
            Ok(Arc::clone(table_rows(0, 100).child(1)?))
        }
    }
    /// Every batch is valid until the next one is made.
    #[derive(Debug, Default)]
    struct LazyConnector;
    impl Connector for LazyConnector {
        fn id(&self) -> &str {
            "script"
        }
        fn data_source(
            &self,
            _: DataSourceRequest,
            _: &Arc<ConnectorQueryCtx>,
        ) -> Result<Box<dyn DataSource>> {
            Ok(Box::new(LazySource(Arc::default(), 0)))
        }
    }
    struct LazySource(Arc<AtomicUsize>, usize);
    impl DataSource for LazySource {
        fn add_split(&mut self, _: Arc<dyn ConnectorSplit>) -> Result<()> {
            self.1 = 5;
            Ok(())
        }
        fn next(&mut self, _: usize) -> Result<SourcePoll> {
            let generation = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            if self.1 == 0 {
                return Ok(SourcePoll::SplitDone);
            }
            self.1 -= 1;
            let loader = Loader(Arc::clone(&self.0), generation);
            let lazy = LazyVector::new(Type::BigInt, 100, loader);
            let keys = Arc::clone(table_rows(0, 100).child(0)?);
            let columns = vec![keys, Arc::new(Vector::Lazy(lazy))];
            Ok(SourcePoll::Batch(RowVector::batch(table_type(), 100, columns)?))
        }
        fn abandon_split(&mut self) {}
        fn progress(&self) -> SourceProgress {
            SourceProgress::default()
        }
    }

    let filtered = || scan().filter(call("gt", "k", 3, Type::Boolean));
    let plans: Vec<(PlanBuilder, usize)> = vec![
        (scan(), 1_500),
        (filtered(), 300),
        (filtered().limit(0, 70), 70),
        (scan().order_by(&[("k", SortOrder::default())]), 1_500),
        (scan().top_n(&[("k", SortOrder::default())], 10), 10),
        (
            filtered().project([("a", call("plus", "v", 1, Type::BigInt)), ("b", column_of("v"))]),
            300,
        ),
    ];
    for (plan, num_rows) in plans {
        for drivers in [1, 2] {
            let mut ctx = QueryCtx::clone(&query(&ScriptConnector::default()));
            ctx.connectors.register(Arc::new(LazyConnector));
            let task = Task::new(plan.clone().build(), Arc::new(ctx), drivers).unwrap();
            for _ in 0..3 {
                task.add_split("0", Arc::new(Script(vec![]))).unwrap();
            }
            task.no_more_splits("0").unwrap();
            assert_eq!(collect(&mut task.start().unwrap()).unwrap().len(), num_rows);
        }
    }
}
