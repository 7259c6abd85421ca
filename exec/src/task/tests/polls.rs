//! Tests of callers that poll: no call, and no drop of a cursor, waits for another thread, whatever
//! ends the task.

use std::time::Duration;

use super::*;
use crate::blocking::BlockingReason;
use crate::driver::StopReason;
use crate::operator::Operator;
use crate::task::groups::GroupedTask;
use crate::termination::{TaskState, Termination};
use crate::testing::{Ahead, eventually};
use vector::sync::Condvar;

/// Blocks the threads that open a split of four reads until the gate is opened.
#[derive(Clone)]
struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    inside: usize,
    open: bool,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.0.0.lock();
        state.inside += 1;
        while !state.open {
            state = self.0.1.wait(state);
        }
    }

    fn open(&self) {
        self.0.0.lock().open = true;
        self.0.1.notify_all();
    }

    fn until_reached(&self) {
        eventually("a split is opened ahead", || self.0.0.lock().inside > 0);
    }
}

/// Returns a gate, a connector that opens splits of four reads at the gate, and the query of its
/// task.
fn gated() -> (Gate, ScriptConnector, Arc<QueryCtx>) {
    let gate = Gate(Arc::new((Mutex::default(), Condvar::new())));
    let at = gate.clone();
    let ahead = Ahead::new(move |script| {
        if script.0.len() == 4 {
            at.pass();
        }
        Ok(())
    });
    let connector = ScriptConnector { ahead: Some(ahead), ..ScriptConnector::default() };
    let mut ctx = QueryCtx::clone(&query(&connector));
    ctx.config.split_preload_min_open_micros = 0;
    (gate, connector, Arc::new(ctx))
}

/// How a task ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Limit,
    Error,
    Cancel,
}

fn held() -> Vec<Act> {
    vec![read_nothing(), read_nothing(), read_nothing(), read_rows(0, 1)]
}

/// Returns the plan and the splits of a task that ends in the given way when its read resumes,
/// followed by splits that are prepared ahead.
fn ending(end: End) -> (PlanBuilder, Vec<Vec<Act>>) {
    let last = match end {
        End::Error => Act::Fail("bad page"),
        End::Limit | End::Cancel => read_rows(5, 10),
    };
    let first = vec![read_rows(0, 5), Act::Block, last];
    (scan().limit(0, 10), vec![first, held(), held()])
}

/// Resumes blocked reads until a wait is over.
fn until_ready(until: &Continuation, connector: &ScriptConnector) {
    eventually("the wait is over", || {
        connector.unblock();
        until.is_ready()
    });
}

#[test]
fn a_poll_waits_for_no_split_that_is_being_opened() {
    for end in [End::Limit, End::Error, End::Cancel] {
        for on_workers in [false, true] {
            let (gate, connector, ctx) = gated();
            let (plan, splits) = ending(end);
            let task = Task::new(plan.build(), ctx, 1).unwrap();
            for split in splits {
                task.add_split("0", Arc::new(Script(split))).unwrap();
            }
            let mut cursor = match on_workers {
                true => task.start_on_workers(4).unwrap(),
                false => task.start().unwrap(),
            };
            let mut rows = 0;
            let draining = loop {
                match cursor.poll().unwrap() {
                    Poll::Batch(batch) => rows += batch.len(),
                    Poll::Wait(until) if task.state() != TaskState::Running => break until,
                    Poll::Wait(until) => {
                        gate.until_reached();
                        match end {
                            End::Cancel => cursor.cancel(),
                            _ => until_ready(&until, &connector),
                        }
                    }
                    Poll::Barrier | Poll::End => panic!("{end:?}: a split is still being opened"),
                }
            };
            // Rows that were queued for their caller are lost after an error.
            assert!(rows == 10 || end != End::Limit, "{rows} rows");
            // The caller receives a continuation at every poll.
            assert!(!task.all_out().is_ready());
            assert!(matches!(cursor.poll().unwrap(), Poll::Wait(_)));
            gate.open();
            assert!(draining.wait_at_most(LONG));
            let outcome = loop {
                match cursor.poll() {
                    Ok(Poll::Wait(until)) => assert!(until.wait_at_most(LONG)),
                    other => break other,
                }
            };
            match (end, outcome) {
                (End::Limit, Ok(Poll::End)) => {}
                (End::Error, Err(error)) => assert_eq!(error.message(), "bad page"),
                (End::Cancel, Err(error)) => assert_eq!(error.kind(), ErrorKind::Cancelled),
                (_, other) => panic!("{end:?}: {other:?}"),
            }
            assert!(task.all_out().is_ready());
        }
    }
}

#[test]
fn dropping_a_cursor_waits_for_no_split_that_is_being_opened() {
    for drivers in [1, 3] {
        let (gate, connector, ctx) = gated();
        let pool = ctx.pool.clone();
        let task = Task::new(scan().build(), Arc::clone(&ctx), drivers).unwrap();
        for split in [vec![read_rows(0, 10), Act::Block], held(), held()] {
            task.add_split("0", Arc::new(Script(split))).unwrap();
        }
        let mut cursor = task.start().unwrap();
        assert!(matches!(cursor.poll().unwrap(), Poll::Batch(_) | Poll::Wait(_)));
        gate.until_reached();
        drop(cursor);
        let all_out = task.all_out();
        assert!(!all_out.is_ready());
        drop(task);
        gate.open();
        assert!(all_out.wait_at_most(LONG));
        assert_eq!((pool.used(), connector.ahead.unwrap().num_sources()), (0, 0));
    }
}

#[test]
fn a_group_that_waits_for_its_end_holds_up_no_other_group() {
    for end in [End::Limit, End::Error] {
        let (gate, connector, ctx) = gated();
        let task = GroupedTask::new(ending(end).0.build(), ctx, 1, 2);
        for split in ending(end).1 {
            task.add_split("0", 1, Arc::new(Script(split))).unwrap();
        }
        task.add_split("0", 2, Arc::new(Script(vec![read_rows(0, 3)]))).unwrap();
        task.no_more_splits("0").unwrap();
        let mut cursor = task.start().unwrap();
        let mut rows = 0;
        let until = loop {
            match cursor.poll().unwrap() {
                Poll::Batch(batch) => rows += batch.len(),
                Poll::Wait(until) => {
                    gate.until_reached();
                    // The read resumes, and then nothing can make progress.
                    if connector.unblock() == 0 && rows >= 8 && !until.is_ready() {
                        break until;
                    }
                    vector::sync::thread::yield_now();
                }
                Poll::Barrier | Poll::End => panic!("a split is still being opened"),
            }
        };
        assert_eq!(rows, if end == End::Limit { 13 } else { 8 }, "the other group's too");
        gate.open();
        assert!(until.wait_at_most(LONG));
        match (end, cursor.next()) {
            (End::Error, Err(error)) => assert_eq!(error.message(), "bad page"),
            (_, next) => assert!(next.unwrap().is_none()),
        }
    }
}

#[test]
fn a_wait_for_memory_ends_in_time_also_for_callers_that_poll() {
    let count = || aggregate_call("n", "count", vec![], false).unwrap();
    for drivers in [1, 2] {
        for plan in [by_value(), scan().aggregate(&["v"], vec![count()])] {
            let engine = vector::MemoryPool::root("engine", 1_000_000);
            let other = engine.leaf("another query");
            other.reserve(995_000).unwrap();
            let run = Run::with(plan, drivers, thousand_rows(), |query| {
                query.pool = engine.aggregate("query", u64::MAX);
                query.config.memory_wait_limit_ms = 10;
            });
            let mut cursor = run.task.start().unwrap();
            let error = loop {
                match cursor.poll() {
                    // Only the timer can end the wait.
                    Ok(Poll::Wait(until)) => assert!(until.wait_at_most(LONG)),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::Limit);
            let wait = "memory limit reached, and others gave nothing back in time";
            assert_eq!(error.field("wait"), Some(wait), "{error}");
            assert_eq!(engine.used(), 995_000);
        }
    }
}

#[test]
fn a_cancelled_query_wakes_the_drivers_of_all_its_tasks() {
    for drivers in [1, 2] {
        let connector = ScriptConnector::default();
        let ctx = query(&connector);
        let tasks = [1, 2].map(|_| {
            let task = Task::new(counts_and_sums().build(), Arc::clone(&ctx), drivers).unwrap();
            task.add_split("0", Arc::new(Script(vec![Act::Block]))).unwrap();
            let cursor = task.start().unwrap();
            (task, cursor)
        });
        let cancel = ctx.cancel.clone();
        let helper = thread::spawn(move || {
            eventually("a driver is blocked", || !connector.promises.lock().is_empty());
            cancel.cancel();
        });
        for (_task, mut cursor) in tasks {
            assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
        }
        helper.join().unwrap();
        assert!(ctx.cancel.is_cancelled());
        let late = Task::new(scan().build(), ctx, drivers).unwrap();
        assert_eq!(late.start().unwrap().next().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

/// An operator that requests a large reservation for its input and allocates nothing.
struct Careful {
    rows: usize,
    ended: bool,
}

impl Operator for Careful {
    fn needs_input(&self) -> bool {
        true
    }
    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.rows += batch.len();
        Ok(())
    }
    fn input_reservation(&self, _: &RowVector) -> u64 {
        1_000
    }
    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if !self.ended || self.rows == 0 {
            return Ok(None);
        }
        let rows = std::mem::take(&mut self.rows);
        Ok(Some(table_rows(0, rows as i64)))
    }
    fn no_more_input(&mut self) {
        self.ended = true;
    }
    fn is_finished(&self) -> bool {
        self.ended && self.rows == 0
    }
}

#[test]
fn an_operator_whose_wait_for_input_was_refused_takes_it_with_the_memory_that_there_is() {
    use crate::driver::Step;
    let engine = vector::MemoryPool::root("engine", 10_000);
    let other = engine.leaf("another query");
    other.reserve(9_500).unwrap();
    let party = engine.aggregate("task", u64::MAX);
    let termination = Termination::new();
    let mut params = states::params(&termination, &Arc::default(), &Arc::default());
    params.memory = Some(MemoryWaits {
        party: party.clone(),
        limit: Duration::from_millis(5),
        executor: Arc::new(crate::Executor::new(1)),
    });
    let batches = vec![table_rows(0, 10), table_rows(10, 20)];
    let node = crate::plan::ValuesNode { id: "0".into(), output_type: table_type(), batches };
    let values = crate::operator::values::Values::new(&node);
    let careful = StageParams::of_task(Careful { rows: 0, ended: false }, "Careful");
    let careful = StageParams { pool: Some(party.leaf("op")), ..careful };
    let stages = vec![StageParams::of_task(values, "Values"), careful];
    let mut driver = Driver::new(stages, params).unwrap();
    let mut waits = 0;
    let rows = loop {
        match driver.run().unwrap() {
            Step::Output(batch) => break batch.len(),
            Step::Stop(StopReason::Block(blocked)) => {
                assert_eq!(blocked.reason, BlockingReason::WaitForMemory);
                assert!(blocked.until.wait_at_most(LONG));
                waits += 1;
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((rows, waits), (20, 1), "one wait is enough while there is no room");
}
