//! Workers: a bounded set of threads that run whatever is handed to them, first come first served.
//!
//! The executor knows nothing of drivers. A job runs until it returns; what is blocked or has used
//! up its time hands itself in again. Threads start when there is work and no idle thread, up to
//! the bound, so that an executor nobody uses costs nothing.
//!
//! | worker  | queue not empty     | queue empty | closed and queue empty |
//! |---------|---------------------|-------------|------------------------|
//! | looking | take a job, run it  | idle        | ends                   |
//! | idle    | notified by `run`   |             | notified by the drop   |

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use vector::sync::{Arc, Condvar, Mutex, thread};

/// Something to run once.
pub type Job = Box<dyn FnOnce() + Send>;

/// A bounded set of worker threads.
pub struct Executor {
    shared: Arc<Shared>,
}

struct Shared {
    max_threads: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Executor {
    /// At most `max_threads` workers, at least one.
    pub fn new(max_threads: usize) -> Self {
        Executor {
            shared: Arc::new(Shared {
                max_threads: max_threads.max(1),
                state: Mutex::default(),
                work: Condvar::new(),
            }),
        }
    }

    /// As many workers as the machine runs threads at once.
    pub fn for_this_machine() -> Self {
        #[cfg(not(loom))]
        let parallelism = thread::available_parallelism().map_or(1, usize::from);
        #[cfg(loom)]
        let parallelism = 1;
        Self::new(parallelism)
    }

    /// Hands a job in; it runs on some worker after those handed in before. A job that panics
    /// ends alone.
    pub fn run(&self, job: Job) {
        let mut state = self.shared.state.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            drop(state);
            self.shared.work.notify_one();
            return;
        }
        if state.threads.len() < self.shared.max_threads {
            let shared = Arc::clone(&self.shared);
            state.threads.push(thread::spawn(move || shared.work()));
        }
        // A busy worker takes the job when it comes back; an idle one may be waking for another.
        drop(state);
        self.shared.work.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // A job reports its own failure when it is dropped; the worker must live on.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state);
                state.idle -= 1;
            }
        }
    }
}

impl Drop for Executor {
    /// Runs what was handed in to its end and stops the workers.
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.state.lock();
            state.closed = true;
            std::mem::take(&mut state.threads)
        };
        self.shared.work.notify_all();
        let here = thread::current().id();
        for worker in threads {
            // The last owner may be a job: a worker cannot wait for itself.
            if worker.thread().id() != here {
                let _ = worker.join();
            }
        }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Executor({} threads at most)", self.shared.max_threads)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_job_runs_once_also_behind_one_that_panics() {
        let runs = Arc::new(AtomicUsize::new(0));
        let executor = Executor::new(2);
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for i in 0..100 {
            let runs = Arc::clone(&runs);
            executor.run(Box::new(move || {
                runs.fetch_add(1, Ordering::SeqCst);
                assert!(i != 3, "this job fails");
            }));
        }
        drop(executor);
        std::panic::set_hook(previous);
        assert_eq!(runs.load(Ordering::SeqCst), 100);
    }

    #[test]
    fn a_job_may_hand_in_another_and_hold_the_last_executor() {
        let (promise, done) = vector::sync::promise();
        let executor = Arc::new(Executor::new(1));
        let inner = Arc::clone(&executor);
        executor.run(Box::new(move || {
            let last = Arc::clone(&inner);
            inner.run(Box::new(move || {
                drop(last);
                promise.fulfil();
            }));
        }));
        drop(executor);
        done.wait().unwrap();
    }
}
