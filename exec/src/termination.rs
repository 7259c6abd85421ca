//! The termination state of a task: a task ends once, for one reason, and all waiting parts are
//! notified.
//!
//! | state     | `finish`  | `cancel`  | `abort`   | `fail(e)` | outcome   |
//! |-----------|-----------|-----------|-----------|-----------|-----------|
//! | Running   | Finished  | Cancelled | Aborted   | Failed(e) |           |
//! | Finished  | -         | -         | -         | -         | Ok        |
//! | Cancelled | -         | -         | -         | -         | Cancelled |
//! | Aborted   | -         | -         | -         | -         | Cancelled |
//! | Failed(e) | -         | -         | -         | -         | e         |
//!
//! Leaving Running sets the stop flag and then runs the stop hooks, each once; the hooks wake
//! blocked drivers and callers. A hook that is added later runs at once. A panic in a hook does not
//! prevent the other hooks from running. Each driver holds a [`DriverTicket`]; the release of the
//! last ticket ends the waits of [`Termination::all_out`]. This module holds no drivers.

use vector::sync::{Arc, CancelFlag, Continuation, Mutex, Promise, Weak, promise};
use vector::{Error, Result, ignore_panic};

/// Callback that runs when the task stops.
pub type StopHook = Box<dyn FnOnce() + Send>;

/// State of a task, which leaves `Running` at most once (rule S11.62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// The drivers run, or will run after the start.
    Running,
    /// All rows were returned.
    Finished,
    /// The user stopped the task.
    Cancelled,
    /// An external cause stopped the task.
    Aborted,
    /// A driver failed.
    Failed,
}

/// Termination state of one task, shared by its drivers and its cursor.
pub struct Termination {
    stop: CancelFlag,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    num_drivers: usize,
    hooks: Vec<StopHook>,
    all_out: Vec<Promise>,
}

enum Phase {
    Running,
    Finished,
    Cancelled,
    Aborted,
    Failed(Error),
}

impl Phase {
    fn outcome(&self) -> Result<()> {
        match self {
            Phase::Running | Phase::Finished => Ok(()),
            Phase::Cancelled => Err(Error::cancelled("the query was cancelled")),
            Phase::Aborted => Err(Error::cancelled("the query was aborted from outside")),
            Phase::Failed(error) => Err(error.duplicate()),
        }
    }

    fn state(&self) -> TaskState {
        match self {
            Phase::Running => TaskState::Running,
            Phase::Finished => TaskState::Finished,
            Phase::Cancelled => TaskState::Cancelled,
            Phase::Aborted => TaskState::Aborted,
            Phase::Failed(_) => TaskState::Failed,
        }
    }
}

impl Termination {
    /// Creates the state of a running task without drivers.
    pub fn new() -> Arc<Self> {
        Arc::new(Termination {
            stop: CancelFlag::new(),
            state: Mutex::new(State {
                phase: Phase::Running,
                num_drivers: 0,
                hooks: Vec::new(),
                all_out: Vec::new(),
            }),
        })
    }

    /// Returns the flag that is set when the task leaves the running state.
    pub fn stop_flag(&self) -> &CancelFlag {
        &self.stop
    }

    /// Returns true once the task has ended for any reason.
    pub fn should_stop(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns the state of the task.
    pub fn state(&self) -> TaskState {
        self.state.lock().phase.state()
    }

    /// Ends the task successfully; drivers that still run are no longer needed.
    pub fn finish(&self) {
        self.end(Phase::Finished);
    }

    /// Ends the task at the request of its user.
    pub fn cancel(&self) {
        self.end(Phase::Cancelled);
    }

    /// Ends the task for an external cause.
    pub fn abort(&self) {
        self.end(Phase::Aborted);
    }

    /// Ends the task with an error. Only the first error counts, and only while the task runs.
    pub fn fail(&self, error: Error) {
        self.end(Phase::Failed(error));
    }

    fn end(&self, phase: Phase) {
        let hooks = {
            let mut state = self.state.lock();
            if !matches!(state.phase, Phase::Running) {
                return;
            }
            state.phase = phase;
            self.stop.cancel();
            std::mem::take(&mut state.hooks)
        };
        for hook in hooks {
            ignore_panic(hook);
        }
    }

    /// Runs `hook` when the task stops; at once if it has stopped already.
    pub fn on_stop(&self, hook: StopHook) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Running) {
            state.hooks.push(hook);
        } else {
            drop(state);
            ignore_panic(hook);
        }
    }

    /// Returns the outcome of the task: `Ok` when it is finished or still running, otherwise the
    /// error that ended it.
    pub fn outcome(&self) -> Result<()> {
        self.state.lock().phase.outcome()
    }

    /// Returns a continuation for the end of the task, with its outcome. Drivers may still be
    /// closing at that time; see [`Termination::all_out`].
    pub fn completed(self: &Arc<Self>) -> Continuation {
        let (promise, completed) = promise();
        let task = Arc::downgrade(self);
        self.on_stop(Box::new(move || match task.upgrade().map(|task| task.outcome()) {
            Some(Ok(())) => promise.fulfil(),
            Some(Err(error)) => promise.fail(error),
            // Hooks run inside of `end`, and its caller holds the task.
            None => drop(promise),
        }));
        completed
    }

    /// Counts a driver until its ticket is dropped.
    pub fn enter(self: &Arc<Self>) -> DriverTicket {
        self.state.lock().num_drivers += 1;
        DriverTicket { termination: Arc::clone(self) }
    }

    /// Returns a continuation that is ready when no driver is counted.
    pub fn all_out(&self) -> Continuation {
        self.until_all_out().unwrap_or_else(Continuation::ready)
    }

    /// Returns the continuation of [`Termination::all_out`]; `None` when no driver is counted.
    pub fn until_all_out(&self) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.num_drivers == 0 {
            return None;
        }
        let (promise, all_out) = promise();
        state.all_out.push(promise);
        Some(all_out)
    }
}

impl std::fmt::Debug for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.lock();
        write!(f, "Termination({:?}, {} drivers)", state.phase.state(), state.num_drivers)
    }
}

/// Cancels all tasks of a query: the existing ones, whatever their drivers wait for, and those that
/// are created later.
#[derive(Debug, Clone, Default)]
pub struct QueryCancel(Arc<Mutex<CancelState>>);

#[derive(Debug, Default)]
struct CancelState {
    cancelled: bool,
    tasks: Vec<Weak<Termination>>,
}

impl QueryCancel {
    /// Cancels the tasks of the query. Further calls have no effect.
    pub fn cancel(&self) {
        let tasks = {
            let mut state = self.0.lock();
            state.cancelled = true;
            std::mem::take(&mut state.tasks)
        };
        tasks.iter().filter_map(Weak::upgrade).for_each(|task| task.cancel());
    }

    /// Returns true once the query was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    /// Cancels `task` together with the query; at once if the query is cancelled already.
    pub(crate) fn add(&self, task: &Arc<Termination>) {
        let mut state = self.0.lock();
        if state.cancelled {
            drop(state);
            return task.cancel();
        }
        // Tasks that no longer exist are removed before the list would grow.
        if state.tasks.len() == state.tasks.capacity() {
            state.tasks.retain(|task| task.strong_count() > 0);
        }
        state.tasks.push(Arc::downgrade(task));
    }
}

/// Registration of one driver with its task.
#[derive(Debug)]
pub struct DriverTicket {
    termination: Arc<Termination>,
}

impl DriverTicket {
    /// Returns the termination state of the driver's task.
    pub fn termination(&self) -> &Arc<Termination> {
        &self.termination
    }
}

impl Drop for DriverTicket {
    fn drop(&mut self) {
        let all_out = {
            let mut state = self.termination.state.lock();
            state.num_drivers -= 1;
            if state.num_drivers > 0 {
                return;
            }
            std::mem::take(&mut state.all_out)
        };
        all_out.into_iter().for_each(Promise::fulfil);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn the_first_reason_to_end_is_the_outcome() {
        let termination = Termination::new();
        termination.fail(Error::corrupt("first"));
        termination.fail(Error::io("second"));
        termination.cancel();
        termination.finish();
        assert_eq!(termination.outcome().unwrap_err().message(), "first");

        let termination = Termination::new();
        termination.finish();
        termination.fail(Error::io("too late"));
        assert!(termination.outcome().is_ok() && termination.should_stop());

        let termination = Termination::new();
        termination.cancel();
        assert_eq!(termination.outcome().unwrap_err().kind(), ErrorKind::Cancelled);
        termination.abort();
        assert_eq!(termination.state(), TaskState::Cancelled);
    }

    #[test]
    fn a_hook_or_a_callback_that_panics_keeps_no_other_from_running() {
        // Unwinds like a panic, but prints no message.
        fn panic() {
            std::panic::resume_unwind(Box::new("quiet"))
        }
        let termination = Termination::new();
        termination.on_stop(Box::new(panic));
        termination.completed().on_ready(|_| panic());
        let behind = termination.completed();
        let ticket = termination.enter();
        termination.all_out().on_ready(|_| panic());
        let all_out = termination.all_out();
        termination.finish();
        assert!(behind.is_ready());
        drop(ticket);
        assert!(all_out.is_ready());
        termination.on_stop(Box::new(panic));
    }

    #[test]
    fn whoever_waits_for_the_end_gets_the_outcome_before_and_after() {
        let ends = [
            (TaskState::Finished, ""),
            (TaskState::Cancelled, "the query was cancelled"),
            (TaskState::Aborted, "the query was aborted from outside"),
            (TaskState::Failed, "broken"),
        ];
        for (state, message) in ends {
            let termination = Termination::new();
            assert_eq!(termination.state(), TaskState::Running);
            let before = termination.completed();
            assert!(!before.is_ready());
            match state {
                TaskState::Cancelled => termination.cancel(),
                TaskState::Aborted => termination.abort(),
                TaskState::Failed => termination.fail(Error::io("broken")),
                _ => termination.finish(),
            }
            assert_eq!(termination.state(), state);
            for outcome in [before.wait(), termination.completed().wait()] {
                assert_eq!(outcome.err().map_or("".into(), |e| e.message().to_string()), message);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::atomic::{AtomicUsize, Ordering};
    use vector::sync::{ModelArc, thread};

    #[test]
    fn loom_a_hook_runs_exactly_once_whenever_it_comes() {
        loom::model(|| {
            let termination = Termination::new();
            let runs = ModelArc::new(AtomicUsize::new(0));
            let other = Arc::clone(&termination);
            let failing = thread::spawn(move || other.fail(Error::io("broken")));
            let counter = ModelArc::clone(&runs);
            termination.on_stop(Box::new(move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }));
            failing.join().unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn loom_a_task_that_is_made_while_its_query_is_cancelled_ends() {
        loom::model(|| {
            let query = QueryCancel::default();
            let other = query.clone();
            let canceller = thread::spawn(move || other.cancel());
            let task = Termination::new();
            query.add(&task);
            task.completed().wait().unwrap_err();
            canceller.join().unwrap();
        });
    }

    #[test]
    fn loom_one_of_two_errors_wins_and_the_last_driver_wakes_the_waiter() {
        loom::model(|| {
            let termination = Termination::new();
            let drivers = [1, 2].map(|id| {
                let ticket = termination.enter();
                thread::spawn(move || {
                    ticket.termination().fail(Error::io("broken").with("driver", id));
                    drop(ticket);
                })
            });
            termination.all_out().wait().unwrap();
            let winner = termination.outcome().unwrap_err();
            assert!(matches!(winner.field("driver"), Some("1" | "2")));
            for driver in drivers {
                driver.join().unwrap();
            }
        });
    }
}
