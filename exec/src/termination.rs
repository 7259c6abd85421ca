//! How a task ends: once, for one reason, with everybody told.
//!
//! | state     | `finish`  | `cancel`  | `abort`   | `fail(e)` | outcome   |
//! |-----------|-----------|-----------|-----------|-----------|-----------|
//! | Running   | Finished  | Cancelled | Aborted   | Failed(e) |           |
//! | Finished  | -         | -         | -         | -         | Ok        |
//! | Cancelled | -         | -         | -         | -         | Cancelled |
//! | Aborted   | -         | -         | -         | -         | Cancelled |
//! | Failed(e) | -         | -         | -         | -         | e         |
//!
//! Leaving Running raises the stop flag and then runs the hooks, each once: they wake whoever is
//! blocked. A hook that comes too late runs at once. Drivers hold a [`DriverTicket`]; the last one
//! that goes ends the waits of [`Termination::all_out`]. Nothing here holds a driver. A hook that panics
//! keeps no other from running.

use vector::sync::{Arc, CancelFlag, Continuation, Mutex, Promise, Weak, promise};
use vector::{Error, Result, ignore_panic};

/// Wakes somebody when the task stops.
pub type StopHook = Box<dyn FnOnce() + Send>;

/// Where a task is in its life (rule S11.62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Its drivers run, or will when it is started.
    Running,
    /// All rows were given.
    Finished,
    /// Its user wanted it to stop.
    Cancelled,
    /// Something outside of it wanted it to stop.
    Aborted,
    /// One of its drivers met an error.
    Failed,
}

/// The end of one task, shared by all its drivers and its cursor.
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
    /// A running task without drivers.
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

    /// The flag that goes up when the task leaves the running state.
    pub fn stop_flag(&self) -> &CancelFlag {
        &self.stop
    }

    /// True once the task has ended, for whatever reason.
    pub fn should_stop(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Where the task is in its life.
    pub fn state(&self) -> TaskState {
        self.state.lock().phase.state()
    }

    /// The work is done; drivers that still run are not needed.
    pub fn finish(&self) {
        self.end(Phase::Finished);
    }

    /// Its user wants the task to stop.
    pub fn cancel(&self) {
        self.end(Phase::Cancelled);
    }

    /// Somebody else wants the task to stop.
    pub fn abort(&self) {
        self.end(Phase::Aborted);
    }

    /// Something went wrong. Only the first error counts, and only while the task runs.
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

    /// Runs `hook` when the task stops; at once if it has.
    pub fn on_stop(&self, hook: StopHook) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Running) {
            state.hooks.push(hook);
        } else {
            drop(state);
            ignore_panic(hook);
        }
    }

    /// How the task ended: `Ok` when finished or still running, else the first error.
    pub fn outcome(&self) -> Result<()> {
        self.state.lock().phase.outcome()
    }

    /// A wait for the end of the task, with its outcome. Drivers may still be on their way out;
    /// see [`Termination::all_out`].
    pub fn completed(self: &Arc<Self>) -> Continuation {
        let (promise, completed) = promise();
        let task = Arc::downgrade(self);
        self.on_stop(Box::new(move || match task.upgrade().map(|task| task.outcome()) {
            Some(Ok(())) => promise.fulfil(),
            Some(Err(error)) => promise.fail(error),
            // Hooks run inside of `end`, so somebody holds the task.
            None => drop(promise),
        }));
        completed
    }

    /// Counts a driver in until its ticket is dropped.
    pub fn enter(self: &Arc<Self>) -> DriverTicket {
        self.state.lock().num_drivers += 1;
        DriverTicket { termination: Arc::clone(self) }
    }

    /// A wait until no driver is counted in.
    pub fn all_out(&self) -> Continuation {
        self.until_all_out().unwrap_or_else(Continuation::ready)
    }

    /// As [`Termination::all_out`]; `None` when no driver is counted in.
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

/// Cancels all tasks of a query: those that there are, whatever their drivers wait for, and those that
/// are made afterwards.
#[derive(Debug, Clone, Default)]
pub struct QueryCancel(Arc<Mutex<CancelState>>);

#[derive(Debug, Default)]
struct CancelState {
    cancelled: bool,
    tasks: Vec<Weak<Termination>>,
}

impl QueryCancel {
    /// Cancels the query's tasks; later calls do nothing.
    pub fn cancel(&self) {
        let tasks = {
            let mut state = self.0.lock();
            state.cancelled = true;
            std::mem::take(&mut state.tasks)
        };
        tasks.iter().filter_map(Weak::upgrade).for_each(|task| task.cancel());
    }

    /// True once the query was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    /// Cancels `task` with the query: now, if that is cancelled.
    pub(crate) fn add(&self, task: &Arc<Termination>) {
        let mut state = self.0.lock();
        if state.cancelled {
            drop(state);
            return task.cancel();
        }
        // Tasks that have gone are forgotten when the list would grow.
        if state.tasks.len() == state.tasks.capacity() {
            state.tasks.retain(|task| task.strong_count() > 0);
        }
        state.tasks.push(Arc::downgrade(task));
    }
}

/// One driver's presence in its task.
#[derive(Debug)]
pub struct DriverTicket {
    termination: Arc<Termination>,
}

impl DriverTicket {
    /// The task that the driver is in.
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
        // As a panic, but that nothing is written.
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
