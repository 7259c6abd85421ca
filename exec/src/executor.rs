//! Workers: a bounded set of threads that run whatever is handed to them.
//!
//! ```text
//! run(job) --> jobs in their order --some at once--> worker's own queue --> runs it
//!                                                          \--stolen--> another worker
//! ```
//!
//! The executor knows nothing of drivers or of files. A job runs until it returns; what is blocked
//! or has used up its time hands itself in again, behind everything that waits: so whoever yields
//! lets all the others go first. A worker takes jobs in batches, and one that finds none takes from
//! the others, so a long job holds up no short one behind it.
//!
//! Threads start when there is work and no idle thread, up to the bound: an executor nobody uses
//! costs nothing.
//!
//! | worker | finds a job | finds none | woken | closed, all idle |
//! |---|---|---|---|---|
//! | looking | runs it, looks again | idle | | |
//! | idle | | | looking | ends |
//!
//! Nobody is forgotten: who hands in a job puts it down first and then looks for idle workers, who
//! goes idle says so first and then looks for jobs. One of both sees the other. Waking takes the
//! worker off the idle ones at once, so that the next job wakes another.

pub mod timer;

use std::time::Instant;

use vector::sync::atomic::{AtomicUsize, Ordering, fence};
use vector::sync::deque::{Injector, Steal, Stealer, Worker};
use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{Result, ignore_panic};

use self::timer::{Timer, TimerEntry};

/// Something to run once.
pub type Job = Box<dyn FnOnce() + Send>;

/// Threads for storage: they wait most of the time.
const NUM_IO_THREADS: usize = 8;

/// A bounded set of worker threads.
pub struct Executor {
    shared: Arc<Shared>,
    timer: Timer,
}

/// What the threads of an executor are doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutorUsage {
    /// Threads that were started.
    pub threads: usize,
    /// Those of them that run a job or look for one.
    pub busy: usize,
}

struct Shared {
    name: &'static str,
    max_threads: usize,
    /// What was handed in and not yet taken by a worker.
    jobs: Injector<Job>,
    /// The workers' own queues.
    stealers: Mutex<Vec<Stealer<Job>>>,
    state: Mutex<State>,
    wake: Condvar,
    /// Threads that could be woken or started for a job: when there are none, handing in a job
    /// takes no lock. Changes under the lock.
    spare: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Sleeping workers that nobody has woken.
    idle: usize,
    /// Workers that were woken and still sleep.
    woken: usize,
    /// Set when nobody can hand in jobs any more: the workers end when so many of them are idle.
    /// While one looks, it may find jobs that only another one can run.
    closing: Option<usize>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Executor {
    /// At most `max_threads` workers, at least one.
    pub fn new(max_threads: usize) -> Self {
        Self::named("ocior-worker", max_threads)
    }

    /// As many workers as the machine runs threads at once.
    pub fn for_this_machine() -> Self {
        #[cfg(not(loom))]
        let parallelism = thread::available_parallelism().map_or(1, usize::from);
        #[cfg(loom)]
        let parallelism = 1;
        Self::new(parallelism)
    }

    /// Workers that wait for storage most of the time.
    pub fn for_io() -> Self {
        Self::new_io(NUM_IO_THREADS)
    }

    /// At most `max_threads` workers that wait for storage, at least one.
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

    /// Runs `job` on a worker, behind what was handed in before it. A job that panics ends alone.
    pub fn run(&self, job: Job) {
        self.shared.run(job);
    }

    /// Runs `job` on a worker at time `when`, unless the entry is dropped before. Entries that are left
    /// when the executor is dropped do not run.
    ///
    /// # Errors
    /// `Limit` when the system has no thread for the timer.
    pub fn run_at(&self, when: Instant, job: Job) -> Result<TimerEntry> {
        let shared = Arc::clone(&self.shared);
        self.timer.add(when, Box::new(move || shared.run(job)))
    }

    /// What the threads are doing at this moment.
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

    /// Sees to it that somebody looks at the jobs, if anybody is free.
    fn wake_one(self: &Arc<Self>) {
        // Pairs with the fence in `sleep`: the job is put down before this looks for the idle.
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
            // The system has no thread to give: those that there are take longer.
            Err(_) if !state.threads.is_empty() => {}
            Err(error) => panic!("not one thread can be started: {error}"),
        }
    }

    fn work(self: &Arc<Self>, own: Worker<Job>) {
        loop {
            while let Some(job) = self.find(&own) {
                // A job reports its own failure when it is dropped; the worker must live on.
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
                // Who went idle just now may have seen these jobs in neither queue.
                self.wake_one();
            }
            return taken;
        }
        self.stealers.lock().iter().find_map(|other| until_certain(|| other.steal()))
    }

    /// Sleeps until woken; false when the worker is to end.
    fn sleep(&self) -> bool {
        let mut state = self.state.lock();
        state.idle += 1;
        self.spare.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `wake_one`: the worker is idle before this looks for jobs.
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
    /// Runs what was handed in to its end and joins the workers.
    fn drop(&mut self) {
        // First, because an entry that is due hands in a job.
        self.timer.stop();
        let here = thread::current().id();
        let others: Vec<_> = {
            let mut state = self.shared.state.lock();
            let threads = std::mem::take(&mut state.threads).into_iter();
            // The last owner may be a job: a worker cannot wait for itself.
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

    /// A job that holds its worker until the promise ends.
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
                    // As a panic, but that nothing is written.
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
        // The first free worker takes these in one batch and is held by the first of them.
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
                            // Lets the workers run dry now and then.
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
