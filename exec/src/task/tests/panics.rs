//! Tests of panics inside of a task: each ends its task with the same error for any number of
//! drivers, and leaves threads, memory and other tasks intact.

use super::*;
use crate::operator::Operator;
use crate::termination::{TaskState, Termination};
use std::panic::resume_unwind;

/// Returns the error of a plan over splits of which one panics.
fn error_of(plan: impl Fn() -> PlanBuilder, act: &Act) -> String {
    let mut errors = errors_of(plan, act);
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors.swap_remove(0)
}

/// Returns the errors with 1 and 3 drivers, and with all drivers on workers.
fn errors_of(plan: impl Fn() -> PlanBuilder, act: &Act) -> Vec<String> {
    let mut errors = Vec::new();
    let executor = Arc::new(crate::Executor::new(3));
    for (drivers, on_workers) in [(1, false), (3, false), (1, true)] {
        let mut splits = thousand_rows();
        splits[5] = vec![read_rows(0, 1), act.clone()];
        let run = Run::with(plan(), drivers, splits, |query| {
            query.executor = Arc::clone(&executor);
        });
        let mut cursor = match on_workers {
            true => run.task.start_on_workers(1).unwrap(),
            false => run.task.start().unwrap(),
        };
        let error = collect(&mut cursor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(cursor.next().unwrap_err().to_string(), error.to_string());
        assert_eq!(run.task.state(), TaskState::Failed);
        assert!(run.task.all_out().is_ready());
        assert_eq!(run.pool.used(), 0, "{}", run.pool.tree());
        errors.push(error.to_string());
        // The threads and the engine are still usable.
        until_idle(&executor);
        let next = Run::with(counts_and_sums(), drivers, thousand_rows(), |query| {
            query.executor = Arc::clone(&executor);
        });
        assert_eq!(next.rows().unwrap().len(), 5);
    }
    errors
}

#[test]
fn a_connector_that_panics_is_an_error_that_names_its_split_and_operator() {
    for plan in [scan, counts_and_sums, || scan().limit(0, 100_000)] {
        assert_eq!(
            error_of(plan, &Act::Panic("index 7 of 5")),
            "internal: an operator panicked (panic=index 7 of 5)\n  \
             in split \"script of 2\", operator \"TableScan[0]\""
        );
    }
}

#[test]
fn a_function_that_panics_is_an_error_that_names_the_operator_that_called_it() {
    let panics = || call("panic", "v", 0, Type::BigInt);
    let plans: [&dyn Fn() -> PlanBuilder; 2] =
        [&|| scan().filter(TypedExpr::call("panic", vec![], Type::Boolean)), &|| {
            scan().project([("p", panics())])
        }];
    for plan in plans {
        let error = error_of(plan, &Act::Batch(table_rows(0, 1)));
        assert!(error.contains("(panic=a function fails)"), "{error}");
        assert!(error.contains("operator \"FilterProject[1]\""), "{error}");
    }
}

#[test]
fn a_column_whose_loader_panics_is_an_error_of_the_operator_that_touches_it() {
    let message = "internal: an operator panicked (panic=no such page)\n  \
                   in split \"script of 2\", operator \"";
    for plan in [scan, counts_and_sums] {
        let errors = errors_of(plan, &Act::PanicLate("no such page"));
        assert!(errors.iter().all(|error| error.starts_with(message)), "{errors:?}");
    }
}

#[test]
fn a_function_that_panics_when_it_is_compiled_is_an_error_of_the_task() {
    for drivers in [1, 3] {
        let plan = scan().project([("p", call("panic_early", "v", 0, Type::BigInt))]);
        let task = Task::new(plan.build(), query(&ScriptConnector::default()), drivers);
        assert_eq!(task.unwrap_err().field("panic"), Some("a function has no types"));
    }
}

/// An operator without rows that panics when it is closed, dropped, or both.
struct BadEnd {
    panics_at_close: bool,
    closes: Arc<AtomicUsize>,
}

impl Operator for BadEnd {
    fn needs_input(&self) -> bool {
        false
    }
    fn add_input(&mut self, _: RowVector) -> Result<()> {
        Ok(())
    }
    fn get_output(&mut self) -> Result<Option<RowVector>> {
        Ok(None)
    }
    fn no_more_input(&mut self) {}
    fn is_finished(&self) -> bool {
        true
    }
    fn close(&mut self) {
        self.closes.fetch_add(1, Ordering::SeqCst);
        if self.panics_at_close {
            resume_unwind(Box::new("quiet"));
        }
    }
}

impl Drop for BadEnd {
    fn drop(&mut self) {
        resume_unwind(Box::new("quiet"));
    }
}

#[test]
fn an_operator_that_panics_at_its_end_keeps_no_other_from_closing() {
    let closes = Arc::new(AtomicUsize::new(0));
    let bad = |panics_at_close| {
        let closes = Arc::clone(&closes);
        StageParams::of_task(BadEnd { panics_at_close, closes }, "BadEnd")
    };
    let termination = Termination::new();
    let params = states::params(&termination, &Arc::default(), &Arc::default());
    let driver = Driver::new(vec![bad(true), bad(false), bad(true)], params).unwrap();
    drop(driver);
    assert_eq!(closes.load(Ordering::SeqCst), 3);
    assert!(termination.all_out().is_ready());
}
