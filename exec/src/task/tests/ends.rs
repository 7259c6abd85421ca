//! Tests of how tasks wait, stop and fail.

use super::*;

#[test]
fn a_limit_ends_the_scan_early() {
    let endless: Vec<Vec<Act>> = (0..1_000).map(|i| vec![read_rows(i * 10, i * 10 + 10)]).collect();
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
            vec![read_rows(0, 10), Act::Block, read_rows(10, 20)],
            vec![Act::Block, read_rows(20, 30)],
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
                let split = Script(vec![read_rows(i * 10, i * 10 + 10)]);
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
        task.add_split("0", Arc::new(Script(vec![read_rows(0, 10)]))).unwrap();
        let mut cursor = task.start().unwrap();
        drop(task);
        assert_eq!(collect(&mut cursor).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn an_error_in_one_driver_ends_all_and_names_its_place() {
    let mut splits = thousand_rows();
    splits[3] = vec![read_rows(0, 1), Act::Fail("bad page")];
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
    let many: Vec<Vec<Act>> = (0..2_000).map(|i| vec![read_rows(i * 10, i * 10 + 10)]).collect();
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
    let task = Task::new(plan.build(), query(&ScriptConnector::default()), 3);
    assert_eq!(task.unwrap_err().field("column"), Some("zz"));
    let run = Run::new(scan(), 3, thousand_rows());
    run.task.start().unwrap();
    assert!(run.task.start().is_err(), "a task starts once");
}

#[test]
fn a_limit_of_a_node_or_of_an_operator_is_an_error_of_its_query_alone() {
    for at in ["node.1", "op.1.0.0.OrderBy"] {
        let sorted = || scan().order_by(&[("v", SortOrder::default())]);
        let limited = Run::with(sorted(), 1, thousand_rows(), |query| {
            let config = &mut query.config;
            let limit = match at.starts_with("node") {
                true => &mut config.node_memory_limit_bytes,
                false => &mut config.operator_memory_limit_bytes,
            };
            *limit = 9_000;
        });
        let other = Run::with(sorted(), 1, thousand_rows(), |query| {
            query.pool = limited.pool.clone();
        });
        let error = limited.rows().unwrap_err();
        assert_eq!((error.kind(), error.field("pool")), (ErrorKind::Limit, Some(at)));
        assert_eq!(other.rows().unwrap().len(), 1_000);
        assert_eq!(limited.pool.used(), 0);
    }
}

#[test]
fn batches_of_operators_are_checked_when_asked_for() {
    for drivers in [1, 3] {
        let run = Run::with(counts_and_sums(), drivers, thousand_rows(), |query| {
            query.config.validate_output_from_operators = true;
        });
        assert_eq!(run.rows().unwrap().len(), 5);
    }
    let columns = table_rows(0, 10).children().to_vec();
    let wrong_type = Arc::new(RowType::new([("k", Type::Boolean), ("v", Type::BigInt)]));
    let Ok(broken) = RowVector::batch(wrong_type, 10, columns) else { return };
    let run = Run::with(scan(), 1, vec![vec![Act::Batch(broken)]], |query| {
        query.config.validate_output_from_operators = true;
    });
    assert_eq!(run.rows().unwrap_err().kind(), ErrorKind::Internal);
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
