//! Tests of why drivers leave their threads, and of the states of tasks.

use super::*;
use crate::blocking::BlockingReason;
use crate::driver::{Driver, DriverParams, Step, StopReason};
use crate::operator::values::Values;
use crate::plan::ValuesNode;
use crate::termination::{TaskState, Termination};
use std::time::Instant;
use vector::sync::atomic::AtomicBool;

/// A driver of one operator that returns two batches.
fn driver(termination: &Arc<Termination>, threads: &Arc<TaskThreads>) -> Driver {
    let batches = vec![table_rows(0, 10), table_rows(10, 20)];
    let node = ValuesNode { id: "0".into(), output_type: table_type(), batches };
    let params = params(termination, threads, &Arc::default());
    Driver::new(vec![StageParams::of_task(Values::new(&node), "Values")], params).unwrap()
}

pub(super) fn params(
    termination: &Arc<Termination>,
    threads: &Arc<TaskThreads>,
    stats: &Arc<StatsCollector>,
) -> DriverParams {
    DriverParams {
        pipeline: 0,
        ticket: termination.enter(),
        barriers: Arc::<crate::control::barrier::Barriers>::default().enter(),
        threads: Arc::clone(threads),
        time_slice: None,
        memory: None,
        validate: true,
        track_cpu: true,
        stats: Arc::clone(stats),
    }
}

#[test]
fn a_driver_says_why_it_leaves_its_thread() {
    let (termination, threads) = (Termination::new(), Arc::new(TaskThreads::default()));
    let mut first = driver(&termination, &threads);
    assert!(matches!(first.run().unwrap(), Step::Output(_)));

    assert!(threads.pause().is_ready(), "nobody is on a thread between two runs");
    let Step::Stop(StopReason::Pause(resumed)) = first.run().unwrap() else { panic!("not paused") };
    assert!(!resumed.is_ready());
    threads.resume();
    resumed.wait().unwrap();

    assert!(matches!(first.run().unwrap(), Step::Output(_)));
    assert!(matches!(first.run().unwrap(), Step::Stop(StopReason::AtEnd)));

    let mut second = driver(&termination, &threads);
    assert!(matches!(second.run().unwrap(), Step::Output(_)));
    termination.cancel();
    threads.pause();
    // Termination has priority over a pause, because a resumption may never come.
    assert!(matches!(second.run().unwrap(), Step::Stop(StopReason::Terminate)));
    assert!(matches!(second.run().unwrap(), Step::Stop(StopReason::Terminate)), "also afterwards");
}

/// The driver blocks on an empty queue and again before its end; each wait is counted once.
#[test]
fn a_driver_leaves_its_thread_while_an_operator_waits() {
    let (termination, threads) = (Termination::new(), Arc::new(TaskThreads::default()));
    let queue = Arc::new(BatchQueue::new(1, 1));
    let exchange = StageParams::of_task(LocalExchange::new(Arc::clone(&queue)), "LocalExchange");
    let stats = Arc::<StatsCollector>::default();
    let params = params(&termination, &threads, &stats);
    let mut driver = Driver::new(vec![exchange], params).unwrap();
    let Step::Stop(StopReason::Block(blocked)) = driver.run().unwrap() else { panic!("no wait") };
    assert_eq!(blocked.reason, BlockingReason::WaitForProducer);
    assert!(!blocked.until.is_ready());
    queue.put(table_rows(0, 10));
    blocked.until.wait().unwrap();
    assert!(matches!(driver.run().unwrap(), Step::Output(_)));
    queue.arrive(1);
    assert!(matches!(driver.run().unwrap(), Step::Barrier(1)));
    queue.producer_done(1);
    assert!(matches!(driver.run().unwrap(), Step::Stop(StopReason::AtEnd)));
    drop(driver);
    let stats = stats.snapshot();
    assert_eq!(stats.operators[0].blocked(BlockingReason::WaitForProducer).0, 1);
}

#[test]
fn drivers_yield_when_their_slice_is_over_and_the_rows_stay_the_same() {
    let run = Run::with(
        scan(),
        3,
        vec![vec![read_rows(0, 10), Act::Sleep(3), read_rows(10, 20)]; 9],
        |q| {
            q.config.driver_cpu_time_slice_limit_ms = 1;
        },
    );
    assert_eq!(run.rows().unwrap().len(), 180);
    let stats = run.task.stats();
    assert!(stats.drivers.sum("numYields") > 0);
    assert!(stats.operators.iter().any(|stats| stats.runtime.sum("queuedWallNanos") > 0));
}

#[test]
fn drivers_yield_when_their_task_asks_them_to() {
    let enough = Arc::new(AtomicBool::new(false));
    let splits = vec![vec![Act::Until(Arc::clone(&enough))]; 2];
    let run = Run::with(scan(), 2, splits, |query| {
        query.config.driver_cpu_time_slice_limit_ms = 0;
    });
    let mut cursor = run.task.start().unwrap();
    let (mut asked, mut times) = (0, 0);
    // The drivers are requested a second time after they have yielded once.
    while times < 2 {
        let now = run.task.yield_if_due(Instant::now());
        (asked, times) = (asked + now, times + usize::from(now > 0));
        thread::yield_now();
    }
    enough.store(true, Ordering::SeqCst);
    assert!(collect(&mut cursor).unwrap().is_empty());
    let yields = cursor.stats().drivers.sum("numYields");
    assert!((1..=asked as i64).contains(&yields), "{yields} of {asked}");
}

#[test]
fn a_paused_task_reads_nothing_and_goes_on_where_it_was() {
    for drivers in [1, 3] {
        let splits: Vec<_> = (0..50).map(|i| vec![read_rows(i * 10, i * 10 + 10)]).collect();
        let run = Run::new(counts_and_sums(), drivers, splits);
        let mut cursor = run.task.start_on_workers(4).unwrap();
        for _ in 0..20 {
            run.task.pause().wait().unwrap();
            let reads = run.connector.reads.load(Ordering::SeqCst);
            thread::sleep(Duration::from_millis(1));
            assert_eq!(run.connector.reads.load(Ordering::SeqCst), reads);
            run.task.resume();
        }
        let task = &run.task;
        let counts: Vec<_> = collect(&mut cursor).unwrap().iter().map(|row| row[1]).collect();
        assert_eq!(counts, [Some(100); 5]);
        assert_eq!(task.state(), TaskState::Finished);
    }
}

#[test]
fn a_cursor_waits_while_its_task_is_paused_and_is_told_of_its_end() {
    for ends in [false, true] {
        let run = Run::new(scan(), 1, thousand_rows());
        let mut cursor = run.task.start().unwrap();
        run.task.pause().wait().unwrap();
        assert!(matches!(cursor.poll().unwrap(), Poll::Wait(_)));
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            match ends {
                true => run.task.abort(),
                false => run.task.resume(),
            }
            run
        });
        match ends {
            true => assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled),
            false => assert_eq!(collect(&mut cursor).unwrap().len(), 1_000),
        }
        let run = other.join().unwrap();
        let paused = run.task.stats().drivers.sum("totalDriverPauseWallNanos");
        assert!(paused >= 10_000_000, "{paused} ns");
    }
}

#[test]
fn a_task_ends_in_one_state_and_tells_who_waits() {
    for state in [TaskState::Cancelled, TaskState::Aborted, TaskState::Failed] {
        let run = Run::new(scan(), 2, vec![vec![Act::Block]; 2]);
        assert!(run.task.all_out().is_ready());
        let completed = run.task.completed();
        let mut cursor = run.task.start().unwrap();
        assert_eq!(run.task.state(), TaskState::Running);
        match state {
            TaskState::Cancelled => run.task.cancel(),
            TaskState::Aborted => run.task.abort(),
            _ => run.task.fail(Error::io("the coordinator is gone")),
        }
        assert_eq!(run.task.state(), state);
        let error = completed.wait().unwrap_err();
        run.task.cancel();
        assert_eq!(run.task.state(), state, "a task ends once");
        assert_eq!(cursor.next().unwrap_err().to_string(), error.to_string());
        assert!(run.task.all_out().is_ready());
    }
}

#[test]
fn one_thread_serves_many_tasks() {
    let splits = || vec![vec![read_rows(0, 10), Act::Block, read_rows(10, 20)]; 3];
    let runs: Vec<Run> = (0..10).map(|i| Run::new(scan(), 1 + i % 2, splits())).collect();
    let mut cursors: Vec<_> = runs.iter().map(|run| (run.task.start().unwrap(), 0)).collect();
    while !cursors.is_empty() {
        for run in &runs {
            let promise = run.connector.promises.lock().pop();
            promise.into_iter().for_each(|promise| promise.fulfil());
        }
        cursors.retain_mut(|(cursor, rows)| match cursor.poll().unwrap() {
            Poll::Batch(batch) => {
                *rows += batch.len();
                true
            }
            Poll::Wait(_) | Poll::Barrier => true,
            Poll::End => {
                assert_eq!(*rows, 60);
                false
            }
        });
    }
}

#[test]
fn calls_of_operators_are_timed_and_late_columns_are_time_of_the_scan() {
    let run = Run::with(scan().order_by(&[("v", SortOrder::default())]), 1, thousand_rows(), |q| {
        q.config.track_operator_cpu_usage = true;
    });
    run.rows().unwrap();
    let stats = run.task.stats();
    let [scan, sort] = stats.operators.as_slice() else { panic!("two operators") };
    assert_eq!(sort.runtime.get("runningAddInputWallNanos").unwrap().count, sort.input_batches);
    assert_eq!(sort.runtime.get("runningFinishWallNanos").unwrap().count, 1);
    assert!(sort.runtime.sum("runningGetOutputWallNanos") > 0);
    assert!(sort.runtime.sum("dataSourceLazyWallNanos") > 0, "{}", sort.runtime);
    assert!(sort.runtime.sum("dataSourceLazyCpuNanos") > 0, "{}", sort.runtime);
    // Two columns of numbers, neither of which was loaded by the scan itself.
    assert_eq!(sort.runtime.sum("dataSourceLazyInputBytes"), 1_000 * 16);
    assert_eq!(scan.output_bytes, 1_000 * 16);
    assert!(scan.runtime.get("runningAddInputWallNanos").is_none());
    assert!(scan.cpu_nanos > 0 && scan.runtime.sum("driverCpuTimeNanos") > 0);
    assert!(scan.runtime.sum("runningIsBlockedWallNanos") > 0);
    let sum: i64 = ["AddInput", "GetOutput", "Finish", "IsBlocked"]
        .iter()
        .map(|call| sort.runtime.sum(&format!("running{call}WallNanos")))
        .sum();
    assert_eq!(sum as u64, sort.wall_nanos);
}
