//! How a task ends: once, for one reason, with everybody told.
//!
//! | state     | `finish`  | `cancel`  | `fail(e)` | outcome   |
//! |-----------|-----------|-----------|-----------|-----------|
//! | Running   | Finished  | Cancelled | Failed(e) |           |
//! | Finished  | -         | -         | -         | Ok        |
//! | Cancelled | -         | -         | -         | Cancelled |
//! | Failed(e) | -         | -         | -         | e         |
//!
//! Leaving Running raises the stop flag and then runs the hooks, each once: they wake whoever is
//! blocked. A hook that comes too late runs at once. Drivers hold a [`DriverTicket`]; the last one
//! that goes wakes [`Termination::wait_all_out`]. Nothing here holds a driver.

use vector::sync::{Arc, CancelFlag, Condvar, Mutex};
use vector::{Error, Result};

/// Wakes somebody when the task stops.
pub type StopHook = Box<dyn FnOnce() + Send>;

/// The end of one task, shared by all its drivers and its cursor.
pub struct Termination {
    stop: CancelFlag,
    state: Mutex<State>,
    all_out: Condvar,
}

struct State {
    phase: Phase,
    num_drivers: usize,
    hooks: Vec<StopHook>,
}

enum Phase {
    Running,
    Finished,
    Cancelled,
    Failed(Error),
}

impl Termination {
    /// A running task without drivers.
    pub fn new() -> Arc<Self> {
        Arc::new(Termination {
            stop: CancelFlag::new(),
            state: Mutex::new(State { phase: Phase::Running, num_drivers: 0, hooks: Vec::new() }),
            all_out: Condvar::new(),
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

    /// The work is done; drivers that still run are not needed.
    pub fn finish(&self) {
        self.end(Phase::Finished);
    }

    /// Somebody wants the task to stop.
    pub fn cancel(&self) {
        self.end(Phase::Cancelled);
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
            hook();
        }
    }

    /// Runs `hook` when the task stops; at once if it has.
    pub fn on_stop(&self, hook: StopHook) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Running) {
            state.hooks.push(hook);
        } else {
            drop(state);
            hook();
        }
    }

    /// How the task ended: `Ok` when finished or still running, else the first error.
    pub fn outcome(&self) -> Result<()> {
        match &self.state.lock().phase {
            Phase::Running | Phase::Finished => Ok(()),
            Phase::Cancelled => Err(Error::cancelled("the query was cancelled")),
            Phase::Failed(error) => Err(error.duplicate()),
        }
    }

    /// Counts a driver in until its ticket is dropped.
    pub fn enter(self: &Arc<Self>) -> DriverTicket {
        self.state.lock().num_drivers += 1;
        DriverTicket { termination: Arc::clone(self) }
    }

    /// Blocks until no driver is counted in.
    pub fn wait_all_out(&self) {
        let mut state = self.state.lock();
        while state.num_drivers > 0 {
            state = self.all_out.wait(state);
        }
    }
}

impl std::fmt::Debug for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.lock();
        let phase = match &state.phase {
            Phase::Running => "running",
            Phase::Finished => "finished",
            Phase::Cancelled => "cancelled",
            Phase::Failed(_) => "failed",
        };
        write!(f, "Termination({phase}, {} drivers)", state.num_drivers)
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
        let last = {
            let mut state = self.termination.state.lock();
            state.num_drivers -= 1;
            state.num_drivers == 0
        };
        if last {
            self.termination.all_out.notify_all();
        }
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
            termination.wait_all_out();
            let winner = termination.outcome().unwrap_err();
            assert!(matches!(winner.field("driver"), Some("1" | "2")));
            for driver in drivers {
                driver.join().unwrap();
            }
        });
    }
}
