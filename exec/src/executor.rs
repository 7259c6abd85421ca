//! The executor: a bounded set of worker threads that run jobs.
//!
//! ```text
//! run(job) --> jobs in their order --some at once--> worker's own queue --> runs it
//!                                                          \--stolen--> another worker
//! ```
//!
//! The executor is independent of drivers and files. A job runs until it returns. A driver that is
//! blocked or has used its time slice submits itself again, behind all waiting jobs, so that
//! yielding lets all other jobs run first. A worker takes jobs in batches, and a worker without
//! jobs steals from the others, so that a long job does not delay the short jobs behind it.
//!
//! A thread starts when there is a job and no idle thread, up to the bound; an unused executor has
//! no threads.
//!
//! | worker | finds a job | finds none | woken | closed, all idle |
//! |---|---|---|---|---|
//! | looking | runs it, looks again | becomes idle | | |
//! | idle | | | looks again | ends |
//!
//! No wake-up is lost: submitting a job publishes the job and then reads the number of spare
//! workers; a worker publishes itself as idle and then checks the queues again. The SeqCst fences
//! guarantee that one of the two sees the other (Dekker's algorithm). Waking removes the worker
//! from the idle ones at once, so that the next job wakes another worker.

pub mod timer;

use std::time::Instant;

use vector::sync::atomic::{AtomicUsize, Ordering, fence};
use vector::sync::deque::{Injector, Steal, Stealer, Worker};
use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{Result, ignore_panic};

use self::timer::{Timer, TimerEntry};

/// A function that runs once on a worker.
pub type Job = Box<dyn FnOnce() + Send>;

/// Number of threads for storage, which block most of the time.
const NUM_IO_THREADS: usize = 8;

/// A bounded set of worker threads.
pub struct Executor {
    shared: Arc<Shared>,
    timer: Timer,
}

/// Number of threads of an executor by activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutorUsage {
    /// Number of threads that were started.
    pub threads: usize,
    /// Number of threads that run a job or look for one.
    pub busy: usize,
}

struct Shared {
    name: &'static str,
    max_threads: usize,
    /// Submitted jobs that no worker has taken.
    jobs: Injector<Job>,
    /// Queues of the individual workers.
    stealers: Mutex<Vec<Stealer<Job>>>,
    state: Mutex<State>,
    wake: Condvar,
    /// Number of threads that could be woken or started for a job. When it is 0, submitting a job
    /// takes no lock. Changes only under the lock.
    spare: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Number of sleeping workers that were not woken.
    idle: usize,
    /// Number of workers that were woken and still sleep.
    woken: usize,
    /// Set when no further jobs can be submitted: the workers end when this number of them is idle.
    /// A worker that is not idle may find jobs that only another worker can run.
    closing: Option<usize>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Executor {
    /// Creates an executor with at most `max_threads` workers, at least one.
    pub fn new(max_threads: usize) -> Self {
        Self::named("ocior-worker", max_threads)
    }

    /// Creates an executor with one worker per hardware thread of the machine.
    pub fn for_this_machine() -> Self {
        #[cfg(not(loom))]
        let parallelism = thread::available_parallelism().map_or(1, usize::from);
        #[cfg(loom)]
        let parallelism = 1;
        Self::new(parallelism)
    }

    /// Creates an executor for I/O, with workers that block most of the time.
    pub fn for_io() -> Self {
        Self::new_io(NUM_IO_THREADS)
    }

    /// Creates an executor for I/O with at most `max_threads` workers, at least one.
    pub fn new_io(max_threads: usize) -> Self {
        Self::named("ocior-io", max_threads)
    }

    fn named(name: &'static str, max_threads: usize) -> Self {
        let max_threads = max_threads.max(1);
        Executor {
            shared: Arc::new(Shared {
                name,
                max_threads,
                jobs: Injector::new(),
                stealers: Mutex::default(),
                state: Mutex::default(),
                wake: Condvar::new(),
                spare: AtomicUsize::new(max_threads),
            }),
            timer: Timer::default(),
        }
    }

    /// Runs `job` on a worker, after the jobs submitted before it. A job that panics does not
    /// affect others.
    pub fn run(&self, job: Job) {
        self.shared.run(job);
    }

    /// Runs `job` on a worker at time `when`, unless the entry is dropped before. Entries that
    /// remain when the executor is dropped do not run.
    ///
    /// # Errors
    /// `Limit` when the system cannot start a thread for the timer.
    pub fn run_at(&self, when: Instant, job: Job) -> Result<TimerEntry> {
        let shared = Arc::clone(&self.shared);
        self.timer.add(when, Box::new(move || shared.run(job)))
    }

    /// Returns the current number of threads by activity.
    pub fn usage(&self) -> ExecutorUsage {
        let state = self.shared.state.lock();
        let threads = state.threads.len();
        ExecutorUsage { threads, busy: threads.saturating_sub(state.idle) }
    }
}

impl Shared {
    fn run(self: &Arc<Self>, job: Job) {
        self.jobs.push(job);
        self.wake_one();
    }

    /// Wakes or starts one worker, if one is spare.
    fn wake_one(self: &Arc<Self>) {
        // Pairs with the fence in `sleep`: the job is published before this reads the spare
        // workers.
        fence(Ordering::SeqCst);
        if self.spare.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut state = self.state.lock();
        if state.idle > 0 {
            state.idle -= 1;
            state.woken += 1;
            self.spare.fetch_sub(1, Ordering::Relaxed);
            drop(state);
            self.wake.notify_one();
        } else if state.threads.len() < self.max_threads && state.closing.is_none() {
            self.start_thread(&mut state);
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut State) {
        let own = Worker::new_fifo();
        let stealer = own.stealer();
        let shared = Arc::clone(self);
        let started = thread::Builder::new().name(self.name.into()).spawn(move || shared.work(own));
        match started {
            Ok(thread) => {
                state.threads.push(thread);
                self.stealers.lock().push(stealer);
                self.spare.fetch_sub(1, Ordering::Relaxed);
            }
            // The system cannot start a thread: the existing workers run all jobs.
            Err(_) if !state.threads.is_empty() => {}
            Err(error) => panic!("not one thread can be started: {error}"),
        }
    }

    fn work(self: &Arc<Self>, own: Worker<Job>) {
        loop {
            while let Some(job) = self.find(&own) {
                // The owner of a job detects its failure when the job is dropped; the worker must
                // continue.
                ignore_panic(job);
            }
            if !self.sleep() {
                return;
            }
        }
    }

    fn find(self: &Arc<Self>, own: &Worker<Job>) -> Option<Job> {
        if let Some(job) = own.pop() {
            return Some(job);
        }
        let taken = until_certain(|| self.jobs.steal_batch_and_pop(own));
        if taken.is_some() {
            if !own.is_empty() {
                // A worker that became idle just now may have seen these jobs in neither queue.
                self.wake_one();
            }
            return taken;
        }
        self.stealers.lock().iter().find_map(|other| until_certain(|| other.steal()))
    }

    /// Sleeps until woken. Returns false when the worker is to end.
    fn sleep(&self) -> bool {
        let mut state = self.state.lock();
        state.idle += 1;
        self.spare.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `wake_one`: the worker is published as idle before this checks
        // the queues.
        fence(Ordering::SeqCst);
        let has_jobs =
            !self.jobs.is_empty() || self.stealers.lock().iter().any(|other| !other.is_empty());
        if has_jobs {
            state.idle -= 1;
            self.spare.fetch_sub(1, Ordering::Relaxed);
            return true;
        }
        loop {
            if state.woken > 0 {
                state.woken -= 1;
                return true;
            }
            if state.closing.is_some_and(|all| state.idle >= all) {
                drop(state);
                self.wake.notify_all();
                return false;
            }
            state = self.wake.wait(state);
        }
    }
}

fn until_certain(mut look: impl FnMut() -> Steal<Job>) -> Option<Job> {
    loop {
        match look() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

impl Drop for Executor {
    /// Runs all submitted jobs to their end and joins the workers.
    fn drop(&mut self) {
        // The timer stops first, because an entry that is due submits a job.
        self.timer.stop();
        let here = thread::current().id();
        let others: Vec<_> = {
            let mut state = self.shared.state.lock();
            let threads = std::mem::take(&mut state.threads).into_iter();
            // The last owner may be a job of this executor: a worker cannot join itself.
            let others: Vec<_> = threads.filter(|t| t.thread().id() != here).collect();
            state.closing = Some(others.len());
            others
        };
        self.shared.wake.notify_all();
        for worker in others {
            // Jobs cannot make a worker panic.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Executor({}, {} threads at most)", self.shared.name, self.shared.max_threads)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::{eventually, until_idle};
    use std::time::Duration;

    fn counted(runs: &Arc<AtomicUsize>) -> Job {
        let runs = Arc::clone(runs);
        Box::new(move || {
            runs.fetch_add(1, Ordering::SeqCst);
        })
    }

    /// A job that occupies its worker until the promise is fulfilled.
    fn holding() -> (vector::sync::Promise, Job) {
        let (promise, until) = vector::sync::promise();
        (promise, Box::new(move || drop(until.wait())))
    }

    #[test]
    fn every_job_runs_once_also_behind_one_that_panics() {
        let runs = Arc::new(AtomicUsize::new(0));
        let executor = Executor::new(2);
        for i in 0..100 {
            let runs = Arc::clone(&runs);
            executor.run(Box::new(move || {
                runs.fetch_add(1, Ordering::SeqCst);
                if i == 3 {
                    // Unwinds like a panic, but prints no message.
                    std::panic::resume_unwind(Box::new("this job fails"));
                }
            }));
        }
        drop(executor);
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

    #[test]
    fn a_job_that_takes_long_holds_up_none_behind_it() {
        let executor = Executor::new(2);
        let runs = Arc::new(AtomicUsize::new(0));
        let (gate, holds) = holding();
        let (gate_behind, holds_behind) = holding();
        executor.run(holds);
        // The first free worker takes these jobs in one batch, and the first of them blocks it.
        let (other_gate, holds_other) = holding();
        executor.run(holds_other);
        executor.run(holds_behind);
        for _ in 0..20 {
            executor.run(counted(&runs));
        }
        other_gate.fulfil();
        gate.fulfil();
        while runs.load(Ordering::SeqCst) < 20 {
            thread::yield_now();
        }
        gate_behind.fulfil();
    }

    #[test]
    fn who_hands_itself_in_again_goes_behind_the_others() {
        let executor = Arc::new(Executor::new(1));
        let (gate, holds) = holding();
        executor.run(holds);
        let order = Arc::new(Mutex::new(Vec::new()));
        let (promise, done) = vector::sync::promise();
        let (again, log) = (Arc::downgrade(&executor), Arc::clone(&order));
        executor.run(Box::new(move || {
            log.lock().push("yields");
            if let Some(executor) = again.upgrade() {
                executor.run(Box::new(move || {
                    log.lock().push("yielded");
                    promise.fulfil();
                }));
            }
        }));
        for _ in 0..2 {
            let log = Arc::clone(&order);
            executor.run(Box::new(move || log.lock().push("other")));
        }
        gate.fulfil();
        done.wait().unwrap();
        assert_eq!(*order.lock(), ["yields", "other", "other", "yielded"]);
    }

    #[test]
    fn threads_start_when_needed_and_idle_when_not() {
        let executor = Executor::new(3);
        assert_eq!(executor.usage(), ExecutorUsage { threads: 0, busy: 0 });
        let gates: Vec<_> = (0..5)
            .map(|_| {
                let (gate, holds) = holding();
                executor.run(holds);
                gate
            })
            .collect();
        assert_eq!(executor.usage(), ExecutorUsage { threads: 3, busy: 3 });
        drop(gates);
        until_idle(&executor);
    }

    #[test]
    fn many_hands_and_many_workers_lose_no_job() {
        let executor = Arc::new(Executor::new(4));
        let runs = Arc::new(AtomicUsize::new(0));
        let hands: Vec<_> = (0..4)
            .map(|_| {
                let (executor, runs) = (Arc::clone(&executor), Arc::clone(&runs));
                thread::spawn(move || {
                    for i in 0..2_000 {
                        executor.run(counted(&runs));
                        if i % 50 == 0 {
                            // Lets the workers run out of jobs from time to time.
                            thread::sleep(Duration::from_micros(200));
                        }
                    }
                })
            })
            .collect();
        hands.into_iter().for_each(|hand| hand.join().unwrap());
        eventually("every job has run", || runs.load(Ordering::SeqCst) == 8_000);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::promise;

    #[test]
    fn loom_a_job_handed_in_while_the_worker_goes_to_sleep_is_run() {
        loom::model(|| {
            let executor = Executor::new(1);
            for _ in 0..2 {
                let (ran, until) = promise();
                executor.run(Box::new(move || ran.fulfil()));
                until.wait().unwrap();
            }
        });
    }

    #[test]
    fn loom_a_job_behind_one_that_waits_for_it_is_taken_by_the_other_worker() {
        loom::model(|| {
            let executor = Executor::new(2);
            let (ran, until) = promise();
            executor.run(Box::new(move || until.wait().unwrap()));
            executor.run(Box::new(move || ran.fulfil()));
        });
    }
}
