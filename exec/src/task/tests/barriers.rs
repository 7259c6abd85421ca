//! Barriers, numbered splits, and who is told that splits are wanted.

use super::*;

/// The rows up to a barrier or the end.
fn rows_to_barrier(cursor: &mut Cursor) -> usize {
    let mut rows = 0;
    while let Some(batch) = cursor.next().unwrap() {
        rows += batch.len();
    }
    rows
}

#[test]
fn all_rows_of_the_splits_so_far_come_before_the_barrier_and_others_after_it() {
    let plans: [fn() -> PlanBuilder; 2] =
        [scan, || scan().filter(call("gt", "k", -1, Type::Boolean)).limit(0, 1_000_000)];
    for (plan, drivers, on_workers) in
        plans.into_iter().flat_map(|p| [(p, 1, false), (p, 3, false), (p, 1, true), (p, 3, true)])
    {
        let connector = ScriptConnector::default();
        let task = Task::new(plan().build(), query(&connector), drivers).unwrap();
        let mut cursor = match on_workers {
            true => task.start_on_workers(2).unwrap(),
            false => task.start().unwrap(),
        };
        for round in 0..20 {
            for split in 0..round {
                let script = Script(vec![read_rows(split, split + 10), read_nothing()]);
                task.add_split("0", Arc::new(script)).unwrap();
            }
            let (first, second) =
                (task.request_barrier().unwrap(), task.request_barrier().unwrap());
            assert!(task.add_split("0", Arc::new(Script(vec![]))).is_err(), "before the barrier");
            assert_eq!(rows_to_barrier(&mut cursor), round as usize * 10);
            first.wait().unwrap();
            second.wait().unwrap();
        }
        task.no_more_splits("0").unwrap();
        assert!(task.request_barrier().is_err(), "there are no splits after it");
        assert_eq!(rows_to_barrier(&mut cursor), 0);
        assert_eq!(task.state(), TaskState::Finished);
    }
}

#[test]
fn a_barrier_ends_with_its_task_and_needs_a_plan_that_keeps_no_rows() {
    let run = Run::new(counts_and_sums(), 1, vec![]);
    let error = run.task.request_barrier().unwrap_err();
    assert_eq!(error.field("node"), Some("Aggregation[1]"));
    let connector = ScriptConnector::default();
    let task = Task::new(scan().build(), query(&connector), 2).unwrap();
    task.add_split("0", Arc::new(Script(vec![Act::Block]))).unwrap();
    let mut cursor = task.start().unwrap();
    let passed = task.request_barrier().unwrap();
    task.cancel();
    passed.wait().unwrap();
    assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(task.request_barrier().unwrap().is_ready());
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
