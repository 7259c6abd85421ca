//! Tests of the rows of a task, with one driver and with several.

use super::*;

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
        for splits in [vec![], vec![vec![read_nothing()], vec![]]] {
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
    /// Every batch is valid until the next one is produced.
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
