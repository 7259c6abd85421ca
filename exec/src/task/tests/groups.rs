//! Tests of grouped execution.

use super::*;
use crate::task::groups::{GroupCounts, GroupedCursor, GroupedTask};

fn grouped(
    plan: PlanBuilder,
    drivers: usize,
    max_running: usize,
) -> (GroupedTask, ScriptConnector) {
    let connector = ScriptConnector::default();
    (GroupedTask::new(plan.build(), query(&connector), drivers, max_running), connector)
}

fn add(task: &GroupedTask, scan: &str, group: u32, acts: Vec<Act>) {
    task.add_split(scan, group, Arc::new(Script(acts))).unwrap();
}

fn num_rows(cursor: &mut GroupedCursor) -> Result<usize> {
    let mut rows = 0;
    while let Some(batch) = cursor.next()? {
        rows += batch.len();
    }
    assert!(cursor.next()?.is_none(), "the end stays the end");
    Ok(rows)
}

#[test]
fn only_rows_of_one_group_meet() {
    for (drivers, max_running) in [(1, 1), (2, 1), (1, 3), (2, 3)] {
        let (task, _) = grouped(joined(), drivers, max_running);
        for group in 0..5 {
            // Half of the rows have their join partners in the next group.
            let start = i64::from(group) * 10;
            add(&task, "0", group, vec![read_rows(start, start + 10)]);
            add(&task, "r", group, vec![read_rows(start - 5, start + 5)]);
        }
        task.no_more_splits("0").unwrap();
        task.no_more_splits("r").unwrap();
        let mut cursor = task.start().unwrap();
        assert_eq!(num_rows(&mut cursor).unwrap(), 25);
        assert_eq!(task.counts(), GroupCounts { queued: 0, running: 0, completed: 5 });
    }
}

/// The scan that has splits may be added after the one that has none was closed.
#[test]
fn a_group_in_which_one_scan_has_no_split_takes_those_of_the_other() {
    let (task, _) = grouped(joined(), 1, 1);
    task.no_more_splits_of_group("r", 4).unwrap();
    assert_eq!(task.counts(), GroupCounts::default());
    add(&task, "0", 4, vec![read_rows(0, 10)]);
    assert_eq!(task.counts(), GroupCounts { queued: 1, running: 0, completed: 0 });
    assert!(task.add_split("r", 4, Arc::new(Script(vec![]))).is_err(), "it has all of its splits");
    assert!(task.no_more_splits_of_group("no scan", 5).is_err());
    for scan in ["0", "r"] {
        task.no_more_splits_of_group(scan, 5).unwrap();
        task.no_more_splits(scan).unwrap();
    }
    assert_eq!(task.counts(), GroupCounts { queued: 1, running: 0, completed: 1 });
    let mut cursor = task.start().unwrap();
    assert_eq!(num_rows(&mut cursor).unwrap(), 0, "no row has a partner");
    assert_eq!(task.counts(), GroupCounts { queued: 0, running: 0, completed: 2 });
}

#[test]
fn groups_run_when_there_is_room_and_end_when_they_have_all_of_their_splits() {
    let (task, connector) = grouped(scan(), 1, 1);
    add(&task, "0", 7, vec![read_rows(0, 10)]);
    add(&task, "0", 3, vec![read_rows(10, 30)]);
    task.no_more_splits_of_group("0", 3).unwrap();
    task.no_more_splits_of_group("0", 11).unwrap();
    assert_eq!(task.counts(), GroupCounts { queued: 2, running: 0, completed: 1 });
    let mut cursor = task.start().unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().len(), 10);
    assert!(matches!(cursor.poll().unwrap(), Poll::Wait(_)), "group 7 may get more");
    assert_eq!(task.counts(), GroupCounts { queued: 1, running: 1, completed: 1 });
    let reads = connector.reads.load(Ordering::SeqCst);
    add(&task, "0", 7, vec![read_rows(30, 35)]);
    assert_eq!(cursor.next().unwrap().unwrap().len(), 5);
    assert!(connector.reads.load(Ordering::SeqCst) > reads);
    task.no_more_splits_of_group("0", 7).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().len(), 20);
    assert!(matches!(cursor.poll().unwrap(), Poll::Wait(_)), "there may be more groups");
    assert!(task.add_split("0", 7, Arc::new(Script(vec![]))).is_err(), "it is complete");
    let other = task.clone();
    let adder = thread::spawn(move || {
        add(&other, "0", 8, vec![read_rows(0, 3)]);
        other.no_more_splits("0").unwrap();
    });
    assert_eq!(num_rows(&mut cursor).unwrap(), 3);
    adder.join().unwrap();
    assert!(task.add_split("0", 9, Arc::new(Script(vec![]))).is_err());
    assert!(task.start().is_err(), "a task starts once");
}

#[test]
fn a_group_does_not_wait_for_memory_without_end() {
    let engine = vector::MemoryPool::root("engine", 100_000);
    let other = engine.leaf("another query");
    other.reserve(95_000).unwrap();
    for drivers in [1, 2] {
        let connector = ScriptConnector::default();
        let mut ctx = QueryCtx::clone(&query(&connector));
        ctx.pool = engine.aggregate("query", u64::MAX);
        ctx.config.memory_wait_limit_ms = 10;
        let task = GroupedTask::new(by_value().build(), Arc::new(ctx), drivers, 1);
        add(&task, "0", 0, (0..100).map(|i| read_rows(i * 10, i * 10 + 10)).collect());
        task.no_more_splits("0").unwrap();
        let error = task.start().unwrap().next().unwrap_err().to_string();
        assert!(error.contains("others gave nothing back in time"), "{error}");
    }
}

#[test]
fn an_error_or_a_cancel_ends_all_groups() {
    for fails in [true, false] {
        let (task, connector) = grouped(scan(), 2, 2);
        add(&task, "0", 1, vec![Act::Block]);
        add(&task, "0", 2, if fails { vec![Act::Fail("bad page")] } else { vec![Act::Block] });
        add(&task, "0", 3, vec![read_rows(0, 10)]);
        assert!(task.add_split("nowhere", 4, Arc::new(Script(vec![]))).is_err());
        let mut cursor = task.start().unwrap();
        let other = task.clone();
        let canceller = thread::spawn(move || {
            if fails {
                return;
            }
            while connector.promises.lock().is_empty() {
                thread::yield_now();
            }
            other.cancel();
        });
        let error = cursor.next().unwrap_err();
        let kind = if fails { ErrorKind::Corrupt } else { ErrorKind::Cancelled };
        assert_eq!(error.kind(), kind);
        assert_eq!(cursor.next().unwrap_err().to_string(), error.to_string());
        canceller.join().unwrap();
    }
}
