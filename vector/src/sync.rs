//! The only door to threads, locks and atomics, and the way to wait.
//!
//! Everything above names these types; in normal builds they are `parking_lot` and `std`, under
//! `cfg(loom)` they are loom's, so that every hand-off can be model-checked.
//!
//! Waiting is a pair made by [`promise`]: whoever does the awaited work holds the [`Promise`],
//! whoever waits holds the [`Continuation`].
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
//! | Resumer | Done, then `f` runs                 | cannot happen: it consumes itself |
//! | Done    | cannot happen: it consumes itself   | `f` runs at once                  |
//!
//! A promise dropped unfulfilled ends the wait with `Cancelled`, so a waiter cannot be lost. A resumer
//! that panics ends by itself: the thread that has ended the wait goes on.

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
        // `wait_for` waits without an end when the time leaves the range of the clock.
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

    /// Models have no clock: the time never passes.
    pub(super) fn wait_at_most<'a, T>(
        c: &CondvarImpl,
        guard: MutexGuard<'a, T>,
        _: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        wait(c, guard)
    }
}

pub use imp::{MutexGuard, atomic, thread};

/// Shared ownership. Loom's own `Arc` is used only where a model needs it; data that no model
/// shares (types, buffers, vectors) stays with `std`'s in every build.
pub use std::sync::{Arc, LazyLock, OnceLock, Weak};

/// The reference-counted pointer of modelled state: loom's under `cfg(loom)`.
pub type ModelArc<T> = imp::ModelArc<T>;

/// A lock without poisoning.
#[derive(Debug)]
pub struct Mutex<T>(imp::MutexImpl<T>);

impl<T> Mutex<T> {
    /// Makes an unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(imp::MutexImpl::new(value))
    }

    /// Waits for the lock and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        imp::lock(&self.0)
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        imp::try_lock(&self.0)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

/// A condition to wait for under a [`Mutex`].
#[derive(Debug)]
pub struct Condvar(imp::CondvarImpl);

impl Condvar {
    /// Makes a condition nobody waits for.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Condvar(imp::CondvarImpl::new())
    }

    /// Gives the lock away until notified; may wake without reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        imp::wait(&self.0, guard)
    }

    /// As [`Condvar::wait`], but wakes at the latest after `time`.
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

/// Lets the calling thread do nothing for a while; models have no clock, and let others go first.
pub fn sleep(time: std::time::Duration) {
    #[cfg(not(loom))]
    thread::sleep(time);
    #[cfg(loom)]
    {
        let _ = time;
        thread::yield_now();
    }
}

/// The time of the CPU that the calling thread has used; none where that is not known.
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

/// Makes the two ends of one wait.
pub fn promise() -> (Promise, Continuation) {
    let shared = ModelArc::new(Shared { cell: Mutex::new(Cell::Pending), done: Condvar::new() });
    (Promise { shared: Some(ModelArc::clone(&shared)) }, Continuation { shared })
}

/// The end that ends the wait; dropping it unfulfilled ends the wait with `Cancelled`.
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

/// The end that waits.
pub struct Continuation {
    shared: ModelArc<Shared>,
}

impl Continuation {
    /// A wait that is over before it began.
    pub fn ready() -> Self {
        let (promise, continuation) = promise();
        promise.fulfil();
        continuation
    }

    /// True once the promise was fulfilled, failed or dropped.
    pub fn is_ready(&self) -> bool {
        matches!(*self.shared.cell.lock(), Cell::Done(_))
    }

    /// Runs `resume` with the outcome: now if the wait is over, else on the thread that ends it.
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

    /// Blocks the calling thread until the wait is over or `time` has passed; true when it is over.
    pub fn wait_at_most(&self, time: std::time::Duration) -> bool {
        let mut cell = self.shared.cell.lock();
        // A time that leaves the range of the clock never passes.
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

/// A flag that many hold and one raises: stop soon.
#[derive(Debug, Clone)]
pub struct CancelFlag(ModelArc<atomic::AtomicBool>);

impl CancelFlag {
    /// Makes a lowered flag.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        CancelFlag(ModelArc::new(atomic::AtomicBool::new(false)))
    }

    /// Raises the flag; it stays up.
    pub fn cancel(&self) {
        // Release pairs with the Acquire in `is_cancelled`: what was written before the flag was
        // raised (the first error) is visible to whoever sees it raised.
        self.0.store(true, atomic::Ordering::Release);
    }

    /// True once raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(atomic::Ordering::Acquire)
    }

    /// An error of kind `Cancelled` once raised.
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
        // As a panic, but that nothing is written.
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
