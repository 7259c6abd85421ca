//! A timer: runs jobs at given times, on one thread that starts with the first entry.
//!
//! ```text
//! add(when, job) --> entries, earliest first --when it is due--> job, on the timer's thread
//!       |                     ^
//!   TimerEntry ----drop-------+ removed
//! ```
//!
//! | entry | is due | is dropped | `stop` |
//! |---|---|---|---|
//! | waiting | runs | removed | removed |
//! | running or done | | - | - |
//!
//! Jobs are short: they submit the actual work to an executor. Adding an entry that is the earliest
//! one wakes the thread, so that the thread never sleeps past an entry.

use std::collections::BTreeMap;
use std::time::Instant;

use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{Error, Result, ignore_panic};

use super::Job;

/// Runs jobs at given times.
#[derive(Default)]
pub struct Timer {
    shared: Arc<Shared>,
}

/// Removes an entry from its timer when dropped.
pub struct TimerEntry {
    shared: Arc<Shared>,
    key: Key,
}

/// The time of an entry, and a number that distinguishes entries with the same time.
type Key = (Instant, u64);

struct Shared {
    state: Mutex<State>,
    /// Signals that the earliest entry has changed or the timer was stopped.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<Key, Job>,
    num_added: u64,
    thread: Option<thread::JoinHandle<()>>,
    stopped: bool,
}

impl Default for Shared {
    fn default() -> Self {
        Shared { state: Mutex::default(), changed: Condvar::new() }
    }
}

impl Timer {
    /// Runs `job` on the timer's thread at time `when`, unless the entry is dropped before.
    ///
    /// # Errors
    /// `Limit` when the system cannot start a thread for the timer.
    pub fn add(&self, when: Instant, job: Job) -> Result<TimerEntry> {
        let mut state = self.shared.state.lock();
        if state.thread.is_none() && !state.stopped {
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new()
                .name("ocior-timer".into())
                .spawn(move || shared.work())
                .map_err(|error| {
                    Error::limit("no thread can be started for a timer").caused_by(error)
                })?;
            state.thread = Some(started);
        }
        let key = (when, state.num_added);
        state.num_added += 1;
        let is_first = state.entries.first_key_value().is_none_or(|(first, _)| key < *first);
        if !state.stopped {
            state.entries.insert(key, job);
        }
        drop(state);
        if is_first {
            self.shared.changed.notify_one();
        }
        Ok(TimerEntry { shared: Arc::clone(&self.shared), key })
    }

    /// Drops all entries and ends the thread permanently.
    pub(super) fn stop(&self) {
        let (thread, _entries) = {
            let mut state = self.shared.state.lock();
            state.stopped = true;
            (state.thread.take(), std::mem::take(&mut state.entries))
        };
        self.shared.changed.notify_one();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // Jobs cannot make the thread panic.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            let Some((&(when, _), _)) = state.entries.first_key_value() else {
                state = self.changed.wait(state);
                continue;
            };
            let left = when.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.changed.wait_at_most(state, left);
                continue;
            }
            let due = state.entries.pop_first();
            drop(state);
            if let Some((_, job)) = due {
                ignore_panic(job);
            }
            state = self.state.lock();
        }
    }
}

impl Drop for TimerEntry {
    fn drop(&mut self) {
        // The values that a job owns are dropped outside of the lock.
        let job = self.shared.state.lock().entries.remove(&self.key);
        drop(job);
    }
}

impl std::fmt::Debug for TimerEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TimerEntry({:?})", self.key.0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Executor;
    use crate::testing::LONG;
    use std::time::Duration;
    use vector::sync::promise;

    #[test]
    fn entries_run_in_the_order_of_their_times_and_dropped_ones_do_not() {
        let timer = Timer::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let log = |number: u64| -> Job {
            let order = Arc::clone(&order);
            Box::new(move || order.lock().push(number))
        };
        let (promise, last) = promise();
        let at = |millis| start + Duration::from_millis(millis);
        let far = timer.add(at(1_000_000), log(9)).unwrap();
        let _end = timer.add(at(30), Box::new(move || promise.fulfil())).unwrap();
        let _second = timer.add(at(20), log(2)).unwrap();
        let dropped = timer.add(at(15), log(7)).unwrap();
        let _first = timer.add(at(10), log(1)).unwrap();
        let _panics =
            timer.add(at(12), Box::new(|| std::panic::resume_unwind(Box::new("quiet")))).unwrap();
        drop(dropped);
        assert!(last.wait_at_most(LONG));
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(*order.lock(), [1, 2]);
        drop(far);
        assert!(timer.shared.state.lock().entries.is_empty());
        timer.stop();
    }

    #[test]
    fn an_executor_runs_what_is_due_on_a_worker_and_drops_the_rest_with_itself() {
        let executor = Executor::new(1);
        let (ran, until) = promise();
        let (never, dropped) = promise();
        let _due = executor.run_at(
            Instant::now(),
            Box::new(move || {
                assert_eq!(thread::current().name(), Some("ocior-worker"));
                ran.fulfil();
            }),
        );
        let later = Instant::now() + Duration::from_secs(10_000);
        let entry = executor.run_at(later, Box::new(move || never.fulfil())).unwrap();
        assert!(until.wait_at_most(LONG));
        drop(executor);
        assert!(dropped.wait().is_err());
        drop(entry);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::promise;

    #[test]
    fn loom_an_entry_that_is_added_while_the_thread_goes_to_sleep_runs() {
        loom::model(|| {
            let timer = Timer::default();
            let now = Instant::now();
            for _ in 0..2 {
                let (ran, until) = promise();
                let _entry = timer.add(now, Box::new(move || ran.fulfil())).unwrap();
                until.wait().unwrap();
            }
            timer.stop();
        });
    }

    #[test]
    fn loom_an_entry_runs_or_is_removed() {
        loom::model(|| {
            let timer = Timer::default();
            let (ran, until) = promise();
            let entry = timer.add(Instant::now(), Box::new(move || ran.fulfil())).unwrap();
            drop(entry);
            // The job runs, or is dropped with its promise: the wait ends in both cases.
            drop(until.wait());
            timer.stop();
        });
    }
}
