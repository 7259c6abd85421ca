//! Tests the ends of tasks with splits that are prepared ahead: errors, limits, cancellation at any
//! point.

use std::time::Duration;

use vector::sync::{Arc, thread};
use vector::{Error, ErrorKind};

use super::scans::{collect, query, rows, scan_node, task, tens};
use crate::plan::{LimitNode, PlanNode};
use crate::query_ctx::QueryCtx;
use crate::task::Task;
use crate::testing::{Act, Ahead, Script, until_idle};

/// Fails for splits of more than one read.
fn refuses_long() -> Ahead {
    Ahead::new(|script| match script.0.len() {
        1 => Ok(()),
        _ => Err(Error::io("the disk is gone")),
    })
}

fn long() -> Vec<Act> {
    vec![rows(0, 1), rows(1, 2)]
}

/// Checks that a task that has ended leaves nothing behind, and that no thread stays busy.
fn check_nothing_left(query: &QueryCtx, ahead: &Ahead) {
    assert_eq!(ahead.num_sources(), 0, "sources");
    assert_eq!(query.pool.used(), 0, "bytes");
    until_idle(&query.io);
    until_idle(&query.executor);
}

#[test]
fn an_error_in_a_preparation_comes_once_and_names_its_split() {
    for drivers in [1, 3] {
        let ahead = refuses_long();
        let query = Arc::new(query(&ahead));
        let mut splits = tens(6);
        splits.insert(4, long());
        let task = task(&query, drivers, splits);
        let mut cursor = task.start().unwrap();
        let error = collect(&mut cursor).unwrap_err();
        assert_eq!(
            error.to_string(),
            "i/o: the disk is gone\n  in split \"script of 2\", operator \"TableScan[0]\""
        );
        drop(cursor);
        check_nothing_left(&query, &ahead);
    }
}

#[test]
fn an_error_of_a_split_that_nobody_needs_is_nobodys() {
    let ahead = refuses_long();
    let query = Arc::new(query(&ahead));
    let scan = Arc::new(PlanNode::TableScan(scan_node()));
    let plan = PlanNode::Limit(LimitNode { id: "1".into(), source: scan, offset: 0, count: 10 });
    let task = Task::new(Arc::new(plan), Arc::clone(&query), 1).unwrap();
    for split in [vec![rows(0, 10)], long(), long()] {
        task.add_split("0", Arc::new(Script(split))).unwrap();
    }
    task.no_more_splits("0").unwrap();
    let mut cursor = task.start().unwrap();
    assert_eq!(collect(&mut cursor).unwrap().len(), 10);
    drop(cursor);
    check_nothing_left(&query, &ahead);
}

#[test]
fn a_preparation_that_panics_is_an_error_of_its_query() {
    let ahead = Ahead::new(|script| match script.0.len() {
        1 => Ok(()),
        // Unwinds like a panic, but prints no message.
        _ => std::panic::resume_unwind(Box::new("quiet")),
    });
    let query = Arc::new(query(&ahead));
    let task = task(&query, 1, vec![vec![rows(0, 10)], vec![rows(10, 20)], long()]);
    let outcome = collect(&mut task.start().unwrap());
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(error.field("panic"), Some("quiet"));
    assert!(error.is_in("split") && error.is_in("operator"), "{error}");
    check_nothing_left(&query, &ahead);
}

#[test]
fn a_cancel_at_any_point_leaves_no_preparation_no_bytes_and_no_busy_thread() {
    let ahead = Ahead::new(|script| {
        // Some preparations take long enough to be running at the end of the task.
        if script.0.len() == 1 {
            thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    });
    let query = Arc::new(query(&ahead));
    for round in 0..300_u64 {
        let drivers = 1 + (round % 3) as usize;
        let task = task(&query, drivers, tens(40));
        let mut cursor = task.start().unwrap();
        let canceller = cursor.canceller();
        let delay = Duration::from_micros(round * 7919 % 3_000);
        let stopping = thread::spawn(move || {
            thread::sleep(delay);
            canceller.cancel();
        });
        match collect(&mut cursor) {
            Ok(all) => assert_eq!(all.len(), 400),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        }
        // After the end of the rows everything is released, even before the task is dropped.
        assert_eq!(ahead.num_sources(), 0, "round {round}");
        stopping.join().unwrap();
    }
    check_nothing_left(&query, &ahead);
}

#[test]
fn a_cursor_dropped_at_any_point_leaves_nothing_either() {
    let ahead = Ahead::new(|_| Ok(()));
    let query = Arc::new(query(&ahead));
    for round in 0..120 {
        let task = task(&query, 1 + round % 3, tens(40));
        let mut cursor = task.start().unwrap();
        for _ in 0..round % 11 {
            cursor.next().unwrap();
        }
        match round % 2 {
            0 => cursor.close(),
            _ => {
                drop(cursor);
                task.all_out().wait().unwrap();
            }
        }
        assert_eq!((ahead.num_sources(), query.pool.used()), (0, 0), "round {round}");
    }
    check_nothing_left(&query, &ahead);
}
