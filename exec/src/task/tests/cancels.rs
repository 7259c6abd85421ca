//! Tests of tasks that are cancelled at any point: nothing hangs and nothing leaks.

use super::*;
use std::time::Instant;
use vector::sync::promise;
use vector::testing::Random;

/// Starts joins, groups and sorts, with reads that return nothing, that block and that take some
/// time.
fn start(random: &mut Random, executor: &Arc<crate::Executor>) -> Run {
    let drivers = 1 + random.below(3);
    let plan = match random.below(4) {
        0 => joined(),
        1 => joined().order_by(&[("v", SortOrder::default())]),
        2 => counts_and_sums().order_by(&[("s", SortOrder::default())]),
        _ => scan().limit(3, 700),
    };
    let has_join = plan.clone().build().scans().len() > 1;
    let run = Run::with(plan, drivers, some_splits(random), |query| {
        query.executor = Arc::clone(executor);
        query.config.local_exchange_batches_per_driver = 1;
    });
    if has_join {
        for split in some_splits(random) {
            run.task.add_split("r", Arc::new(Script(split))).unwrap();
        }
        run.task.no_more_splits("r").unwrap();
    }
    run
}

fn some_splits(random: &mut Random) -> Vec<Vec<Act>> {
    (0..6)
        .map(|_| {
            let start = random.below(50) as i64;
            let mut acts = vec![read_rows(start, start + 50), read_nothing(), read_rows(0, 10)];
            if random.below(3) == 0 {
                acts.push(Act::Block);
            }
            acts
        })
        .collect()
}

#[test]
fn a_cancel_at_any_of_a_thousand_points_ends_everything_soon() {
    const THREADS: usize = 3;
    let executor = Arc::new(crate::Executor::new(THREADS));
    let mut random = Random::new(11);
    let mut cancelled = 0;
    for round in 0..1_000 {
        let run = start(&mut random, &executor);
        let pool = run.pool.clone();
        let mut cursor = match random.below(2) {
            0 => run.task.start().unwrap(),
            _ => run.task.start_on_workers(1).unwrap(),
        };
        // The point of cancellation: the number of reads and of fulfilled promises.
        let (at_read, kept) = (random.below(40), random.below(6));
        let (reads, promises) =
            (Arc::clone(&run.connector.reads), Arc::clone(&run.connector.promises));
        let (canceller, ended) = (cursor.canceller(), run.task.completed());
        let other = thread::spawn(move || {
            let mut left = kept;
            while reads.load(Ordering::SeqCst) < at_read && !ended.is_ready() {
                let promise = promises.lock().pop();
                match promise {
                    Some(promise) if left > 0 => {
                        left -= 1;
                        promise.fulfil();
                    }
                    Some(_) => break,
                    None => thread::yield_now(),
                }
            }
            let start = Instant::now();
            canceller.cancel();
            start
        });
        let outcome = collect(&mut cursor);
        let since = other.join().unwrap();
        match outcome {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "round {round}: {error}");
                assert!(since.elapsed() < LONG, "round {round} took {:?}", since.elapsed());
                cancelled += 1;
            }
        }
        assert!(run.task.all_out().is_ready(), "round {round}");
        cursor.close();
        assert_eq!(pool.used(), 0, "round {round}: {}", pool.tree());
    }
    assert!(cancelled > 300, "only {cancelled} were cancelled before their end");
    // All threads are idle: each takes one job while the other jobs run.
    let (all_here, wait) = promise();
    let (here, all_here) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Some(all_here))));
    for _ in 0..THREADS {
        let (here, all_here) = (Arc::clone(&here), Arc::clone(&all_here));
        executor.run(Box::new(move || {
            if here.fetch_add(1, Ordering::SeqCst) + 1 == THREADS {
                all_here.lock().take().unwrap().fulfil();
            }
            while here.load(Ordering::SeqCst) < THREADS {
                thread::yield_now();
            }
        }));
    }
    assert!(wait.wait_at_most(LONG), "a worker is stuck");
}
