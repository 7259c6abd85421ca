//! Threads inside of a task: counts the threads that run its drivers, and requests them to pause or
//! yield.
//!
//! | state | `enter` | `interruption` | last thread leaves |
//! |---|---|---|---|
//! | running | succeeds | none | |
//! | n yields requested | succeeds | Yield, n times in total | |
//! | paused | refused, with a continuation for `resume` | Pause, same continuation | ends `pause` |
//!
//! A thread is inside while it runs a driver; a driver that is blocked, queued or paused is on no
//! thread. A running driver checks one atomic flag, and takes the lock only when the flag is set.

use std::time::Instant;

use vector::Error;
use vector::sync::atomic::{AtomicBool, Ordering};
use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

/// Threads that run drivers of one task.
#[derive(Default)]
pub struct TaskThreads {
    /// Set when a running driver must check the state under the lock.
    asked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    inside: usize,
    /// Time since which at least one thread has been inside without a break.
    inside_since: Option<Instant>,
    paused: bool,
    to_yield: usize,
    pausing: Vec<Promise>,
    resuming: Vec<Promise>,
}

/// What a running driver is requested to do.
#[derive(Debug)]
pub enum Interruption {
    /// Leave the thread until the continuation is ready.
    Pause(Continuation),
    /// Leave the thread and enqueue at the tail.
    Yield,
}

impl TaskThreads {
    /// Returns true when a running driver is to check [`TaskThreads::interruption`] soon; for
    /// operators that run for a long time without output.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns what a running driver must do, if anything; a pause has priority over a yield (rule
    /// S11.67).
    pub fn interruption(&self) -> Option<Interruption> {
        // The state under the lock is decisive; a change of the flag may be seen late.
        if !self.asked.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock();
        if state.paused {
            return Some(Interruption::Pause(state.resumed()));
        }
        if state.to_yield == 0 {
            return None;
        }
        state.to_yield -= 1;
        self.asked.store(state.to_yield > 0, Ordering::Relaxed);
        Some(Interruption::Yield)
    }

    /// Requests all threads to leave and admits none. The continuation is ready when no thread is
    /// inside; it fails when the task is resumed before that.
    pub fn pause(&self) -> Continuation {
        let mut state = self.state.lock();
        state.paused = true;
        self.asked.store(true, Ordering::Relaxed);
        if state.inside == 0 {
            return Continuation::ready();
        }
        let (promise, paused) = promise();
        state.pausing.push(promise);
        paused
    }

    /// Admits threads again; has no effect when the task is not paused.
    pub fn resume(&self) {
        let (pausing, resuming) = {
            let mut state = self.state.lock();
            state.paused = false;
            self.asked.store(state.to_yield > 0, Ordering::Relaxed);
            (std::mem::take(&mut state.pausing), std::mem::take(&mut state.resuming))
        };
        for promise in pausing {
            promise.fail(Error::cancelled("the task was resumed before all threads had left it"));
        }
        resuming.into_iter().for_each(Promise::fulfil);
    }

    /// Requests every thread inside to yield once, if there was a thread inside at all times since
    /// `since` (rule S11.68). Returns the number of threads requested to yield.
    pub fn yield_if_due(&self, since: Instant) -> usize {
        let mut state = self.state.lock();
        if state.to_yield == 0 && state.inside_since.is_some_and(|inside| inside < since) {
            state.to_yield = state.inside;
            self.asked.store(state.paused || state.to_yield > 0, Ordering::Relaxed);
            return state.to_yield;
        }
        0
    }
}

impl std::fmt::Debug for TaskThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TaskThreads({} inside)", self.state.lock().inside)
    }
}

impl State {
    fn resumed(&mut self) -> Continuation {
        let (promise, resumed) = promise();
        self.resuming.push(promise);
        resumed
    }
}

/// Registration of a thread inside of a task, until it is dropped.
#[derive(Debug)]
pub struct OnThread<'a>(&'a TaskThreads);

impl<'a> OnThread<'a> {
    /// Registers the thread. While the task is paused, returns a continuation for its resumption
    /// instead.
    pub fn enter(threads: &'a Arc<TaskThreads>) -> Result<Self, Continuation> {
        let mut state = threads.state.lock();
        if state.paused {
            return Err(state.resumed());
        }
        state.inside += 1;
        if state.inside == 1 {
            state.inside_since = Some(Instant::now());
        }
        Ok(OnThread(threads))
    }
}

impl Drop for OnThread<'_> {
    fn drop(&mut self) {
        let pausing = {
            let mut state = self.0.state.lock();
            state.inside -= 1;
            if state.inside > 0 {
                return;
            }
            state.inside_since = None;
            std::mem::take(&mut state.pausing)
        };
        pausing.into_iter().for_each(Promise::fulfil);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn a_pause_is_complete_when_the_last_thread_has_left_and_lets_nobody_in() {
        let threads = Arc::new(TaskThreads::default());
        let (a, b) = (OnThread::enter(&threads).unwrap(), OnThread::enter(&threads).unwrap());
        assert!(threads.interruption().is_none());
        let paused = threads.pause();
        assert!(matches!(threads.interruption(), Some(Interruption::Pause(_))));
        drop(a);
        assert!(!paused.is_ready());
        drop(b);
        paused.wait().unwrap();
        let resumed = OnThread::enter(&threads).unwrap_err();
        assert!(threads.pause().is_ready(), "pausing twice is pausing once");
        assert!(threads.is_asked());
        threads.resume();
        assert!(!threads.is_asked());
        resumed.wait().unwrap();
        assert!(OnThread::enter(&threads).is_ok() && threads.interruption().is_none());
    }

    #[test]
    fn a_pause_that_is_taken_back_too_early_says_so() {
        let threads = Arc::new(TaskThreads::default());
        let inside = OnThread::enter(&threads).unwrap();
        let paused = threads.pause();
        threads.resume();
        assert_eq!(paused.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(threads.interruption().is_none());
        drop(inside);
    }

    #[test]
    fn each_thread_that_was_inside_too_long_yields_once() {
        let threads = Arc::new(TaskThreads::default());
        assert_eq!(threads.yield_if_due(Instant::now()), 0, "nobody is inside");
        let before = Instant::now();
        let _inside = [OnThread::enter(&threads).unwrap(), OnThread::enter(&threads).unwrap()];
        assert_eq!(threads.yield_if_due(before), 0, "they came later");
        assert_eq!(threads.yield_if_due(Instant::now()), 2);
        assert_eq!(threads.yield_if_due(Instant::now()), 0, "they were asked already");
        for _ in 0..2 {
            assert!(matches!(threads.interruption(), Some(Interruption::Yield)));
        }
        assert!(threads.interruption().is_none());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::ModelArc;
    use vector::sync::atomic::AtomicUsize;
    use vector::sync::thread;

    #[test]
    fn loom_nobody_is_inside_when_a_pause_is_complete_and_all_come_back() {
        loom::model(|| {
            let threads = Arc::new(TaskThreads::default());
            let inside = ModelArc::new(AtomicUsize::new(0));
            let (other, count) = (Arc::clone(&threads), ModelArc::clone(&inside));
            let driver = thread::spawn(move || {
                loop {
                    match OnThread::enter(&other) {
                        Ok(on_thread) => {
                            count.fetch_add(1, Ordering::SeqCst);
                            count.fetch_sub(1, Ordering::SeqCst);
                            return drop(on_thread);
                        }
                        Err(resumed) => resumed.wait().unwrap(),
                    }
                }
            });
            threads.pause().wait().unwrap();
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            threads.resume();
            driver.join().unwrap();
        });
    }
}
