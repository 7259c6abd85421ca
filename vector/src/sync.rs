//! Threads, locks, atomics and waiting; the only module of the workspace that names the libraries
//! behind them.
//!
//! In normal builds the types are those of `parking_lot` and `std`; under `cfg(loom)` they are
//! loom's, so that every hand-off between threads can be model-checked.
//!
//! A wait is a pair made by [`promise`]: the thread that does the awaited work holds the
//! [`Promise`], and the waiting side holds the [`Continuation`].
//!
//! ```text
//!             fulfil / fail / drop                     wait / on_ready
//! Promise  ------------------------->  shared cell  <------------------  Continuation
//!                                  Pending | Resumer | Done
//! ```
//!
//! | state   | fulfil, fail or drop of the promise | `on_ready(f)` of the continuation |
//! |---------|-------------------------------------|-----------------------------------|
//! | Pending | Done                                | Resumer(f)                        |
//! | Resumer | Done, then `f` runs                 | impossible: it consumes itself    |
//! | Done    | impossible: it consumes itself      | `f` runs at once                  |
//!
//! A promise that is dropped unfulfilled ends the wait with `Cancelled`, so no waiter is lost. If a
//! resumer panics, its panic is discarded and the thread that ended the wait continues.

pub mod deque;

use crate::error::{Error, Result};
use crate::panics::ignore_panic;

#[cfg(not(loom))]
mod imp {
    pub(super) use std::sync::Arc as ModelArc;
    pub use std::sync::atomic;
    pub use std::thread;

    pub(super) type MutexImpl<T> = parking_lot::Mutex<T>;
    pub(super) type CondvarImpl = parking_lot::Condvar;
    /// Holds the lock until dropped.
    pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

    pub(super) fn lock<T>(m: &MutexImpl<T>) -> MutexGuard<'_, T> {
        m.lock()
    }

    pub(super) fn try_lock<T>(m: &MutexImpl<T>) -> Option<MutexGuard<'_, T>> {
        m.try_lock()
    }

    pub(super) fn wait<'a, T>(c: &CondvarImpl, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        c.wait(&mut guard);
        guard
    }

    pub(super) fn wait_at_most<'a, T>(
        c: &CondvarImpl,
        mut guard: MutexGuard<'a, T>,
        time: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        // `wait_for` waits without a timeout if the end is out of the range of the clock.
        c.wait_for(&mut guard, time);
        guard
    }
}

#[cfg(loom)]
mod imp {
    pub(super) use loom::sync::Arc as ModelArc;
    pub use loom::sync::atomic;
    pub use loom::thread;

    pub(super) type MutexImpl<T> = loom::sync::Mutex<T>;
    pub(super) type CondvarImpl = loom::sync::Condvar;
    /// Holds the lock until dropped.
    pub type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

    pub(super) fn lock<T>(m: &MutexImpl<T>) -> MutexGuard<'_, T> {
        m.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn try_lock<T>(m: &MutexImpl<T>) -> Option<MutexGuard<'_, T>> {
        m.try_lock().ok()
    }

    pub(super) fn wait<'a, T>(c: &CondvarImpl, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        c.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits without a timeout, because models have no clock.
    pub(super) fn wait_at_most<'a, T>(
        c: &CondvarImpl,
        guard: MutexGuard<'a, T>,
        _: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        wait(c, guard)
    }
}

pub use imp::{MutexGuard, atomic, thread};

/// Shared ownership: `std`'s types in every build. Loom's `Arc` is needed only for state that a
/// model shares; types, buffers and vectors are not shared by models.
pub use std::sync::{Arc, LazyLock, OnceLock, Weak};

/// Reference-counted pointer of modelled state: `std`'s `Arc`, or loom's under `cfg(loom)`.
pub type ModelArc<T> = imp::ModelArc<T>;

/// A mutex without poisoning.
#[derive(Debug)]
pub struct Mutex<T>(imp::MutexImpl<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(imp::MutexImpl::new(value))
    }

    /// Blocks until the lock is acquired.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        imp::lock(&self.0)
    }

    /// Acquires the lock if it is free; returns `None` if it is held.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        imp::try_lock(&self.0)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

/// A condition variable for use with a [`Mutex`].
#[derive(Debug)]
pub struct Condvar(imp::CondvarImpl);

impl Condvar {
    /// Creates a condition variable without waiters.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Condvar(imp::CondvarImpl::new())
    }

    /// Releases the lock and blocks until notified, then acquires the lock again; spurious wake-ups
    /// are possible.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        imp::wait(&self.0, guard)
    }

    /// Waits as [`Condvar::wait`] does, but for at most `time`.
    pub fn wait_at_most<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        imp::wait_at_most(&self.0, guard, time)
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Blocks the calling thread for `time`. In models, which have no clock, it yields to other
/// threads.
pub fn sleep(time: std::time::Duration) {
    #[cfg(not(loom))]
    thread::sleep(time);
    #[cfg(loom)]
    {
        let _ = time;
        thread::yield_now();
    }
}

/// Returns the CPU time that the calling thread has used, or `None` if the platform does not report
/// it.
pub fn thread_cpu_time() -> Option<std::time::Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        std::time::Duration::try_from(time).ok()
    }
    #[cfg(not(unix))]
    None
}

type Resumer = Box<dyn FnOnce(Result<()>) + Send>;

enum Cell {
    Pending,
    Resumer(Resumer),
    Done(Result<()>),
}

struct Shared {
    cell: Mutex<Cell>,
    done: Condvar,
}

/// Creates the two ends of a wait.
pub fn promise() -> (Promise, Continuation) {
    let shared = ModelArc::new(Shared { cell: Mutex::new(Cell::Pending), done: Condvar::new() });
    (Promise { shared: Some(ModelArc::clone(&shared)) }, Continuation { shared })
}

/// The end of a wait that completes it; dropping it unfulfilled ends the wait with `Cancelled`.
#[must_use = "dropping a promise cancels whoever waits for it"]
pub struct Promise {
    shared: Option<ModelArc<Shared>>,
}

impl Promise {
    /// Ends the wait successfully.
    pub fn fulfil(mut self) {
        self.end(Ok(()));
    }

    /// Ends the wait with an error that the waiter receives.
    pub fn fail(mut self, error: Error) {
        self.end(Err(error));
    }

    fn end(&mut self, outcome: Result<()>) {
        let Some(shared) = self.shared.take() else { return };
        let mut cell = shared.cell.lock();
        match std::mem::replace(&mut *cell, Cell::Pending) {
            Cell::Resumer(resume) => {
                *cell = Cell::Done(Ok(()));
                drop(cell);
                ignore_panic(|| resume(outcome));
            }
            Cell::Pending | Cell::Done(_) => {
                *cell = Cell::Done(outcome);
                drop(cell);
                shared.done.notify_all();
            }
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if self.shared.is_some() {
            self.end(Err(Error::cancelled("the awaited work was dropped")));
        }
    }
}

impl std::fmt::Debug for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Promise")
    }
}

/// The waiting end of a wait.
pub struct Continuation {
    shared: ModelArc<Shared>,
}

impl Continuation {
    /// Creates a continuation whose wait is already over.
    pub fn ready() -> Self {
        let (promise, continuation) = promise();
        promise.fulfil();
        continuation
    }

    /// Returns true once the promise has been fulfilled, failed or dropped.
    pub fn is_ready(&self) -> bool {
        matches!(*self.shared.cell.lock(), Cell::Done(_))
    }

    /// Runs `resume` with the outcome: at once if the wait is over, otherwise on the thread that
    /// ends the wait.
    pub fn on_ready(self, resume: impl FnOnce(Result<()>) + Send + 'static) {
        let mut cell = self.shared.cell.lock();
        match std::mem::replace(&mut *cell, Cell::Done(Ok(()))) {
            Cell::Done(outcome) => {
                drop(cell);
                resume(outcome);
            }
            Cell::Pending | Cell::Resumer(_) => *cell = Cell::Resumer(Box::new(resume)),
        }
    }

    /// Blocks the calling thread until the wait is over or `time` has elapsed; returns true if the
    /// wait is over.
    pub fn wait_at_most(&self, time: std::time::Duration) -> bool {
        let mut cell = self.shared.cell.lock();
        // An end beyond the range of the clock means that there is no timeout.
        let end = std::time::Instant::now().checked_add(time);
        while !matches!(*cell, Cell::Done(_)) {
            let Some(end) = end else {
                cell = self.shared.done.wait(cell);
                continue;
            };
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return false;
            }
            cell = self.shared.done.wait_at_most(cell, left);
        }
        true
    }

    /// Blocks the calling thread until the wait is over.
    ///
    /// # Errors
    /// The error that the promise failed with; `Cancelled` if the promise was dropped.
    pub fn wait(self) -> Result<()> {
        let mut cell = self.shared.cell.lock();
        loop {
            match std::mem::replace(&mut *cell, Cell::Pending) {
                Cell::Done(outcome) => return outcome,
                other => *cell = other,
            }
            cell = self.shared.done.wait(cell);
        }
    }
}

impl std::fmt::Debug for Continuation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Continuation")
    }
}

/// A shared flag that requests cancellation.
#[derive(Debug, Clone)]
pub struct CancelFlag(ModelArc<atomic::AtomicBool>);

impl CancelFlag {
    /// Creates a lowered flag.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        CancelFlag(ModelArc::new(atomic::AtomicBool::new(false)))
    }

    /// Raises the flag, which stays raised.
    pub fn cancel(&self) {
        // Release pairs with the Acquire in `is_cancelled`: data written before the flag was raised
        // (the first error) is visible to every thread that sees the flag raised.
        self.0.store(true, atomic::Ordering::Release);
    }

    /// Returns true once the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(atomic::Ordering::Acquire)
    }

    /// Checks the flag.
    ///
    /// # Errors
    /// `Cancelled` if the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled("the query was cancelled")) } else { Ok(()) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_continuation_runs_its_resumer_on_fulfilment_or_at_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        for early in [true, false] {
            let (promise, continuation) = promise();
            let log = Arc::clone(&seen);
            let arm = move || continuation.on_ready(move |r| log.lock().push(r.is_ok()));
            if early {
                promise.fulfil();
                arm();
            } else {
                arm();
                promise.fulfil();
            }
        }
        assert_eq!(*seen.lock(), vec![true, true]);
    }

    #[test]
    fn a_dropped_promise_cancels_its_waiter() {
        let (promise, continuation) = promise();
        let waiter = thread::spawn(move || continuation.wait());
        drop(promise);
        let outcome = waiter.join().unwrap();
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_resumer_that_panics_does_not_reach_the_thread_that_ends_the_wait() {
        let (promise, continuation) = promise();
        // This acts like a panic, but does not call the panic hook.
        continuation.on_ready(|_| std::panic::resume_unwind(Box::new("quiet")));
        promise.fulfil();
    }

    #[test]
    fn waiting_for_any_duration_ends_when_the_promise_is_fulfilled() {
        use std::time::Duration;
        for time in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 62)] {
            let (promise, continuation) = promise();
            let fulfiller = thread::spawn(move || promise.fulfil());
            assert!(continuation.wait_at_most(time));
            fulfiller.join().unwrap();
            let lock = Mutex::new(false);
            let changed = Condvar::new();
            thread::scope(|scope| {
                let mut guard = lock.lock();
                scope.spawn(|| {
                    *lock.lock() = true;
                    changed.notify_all();
                });
                while !*guard {
                    guard = changed.wait_at_most(guard, time);
                }
            });
        }
    }

    #[test]
    fn a_failed_promise_hands_its_error_over() {
        let (promise, continuation) = promise();
        promise.fail(Error::limit("no memory"));
        assert!(continuation.is_ready());
        assert_eq!(continuation.wait().unwrap_err().kind(), ErrorKind::Limit);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn loom_a_resumer_runs_exactly_once_whoever_comes_first() {
        loom::model(|| {
            let runs = ModelArc::new(AtomicUsize::new(0));
            let (promise, continuation) = promise();
            let fulfiller = thread::spawn(move || promise.fulfil());
            let counter = ModelArc::clone(&runs);
            continuation.on_ready(move |_| {
                counter.fetch_add(1, Ordering::SeqCst);
            });
            fulfiller.join().unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn loom_a_waiting_thread_always_wakes() {
        loom::model(|| {
            let (promise, continuation) = promise();
            let waiter = thread::spawn(move || continuation.wait().is_err());
            drop(promise);
            assert!(waiter.join().unwrap());
        });
    }
}
