//! A value that is made once, by the first thread that needs it, and is taken once.
//!
//! ```text
//! Init --prepare, take--> Making --> Prepared --take--> Finished
//!   |                       |          |
//!   +--cancel--> Cancelled  +-> Failed +--cancel--> Cancelled
//! ```
//!
//! The maker runs ahead of time on another thread ([`AsyncSource::prepare`]), or on the thread that
//! takes the item if it has not begun ([`AsyncSource::take`]). Effect of each call in each state
//! (rule S13.21):
//!
//! | state | `prepare` | `take` | `cancel` | `close` | `has_value` |
//! |---|---|---|---|---|---|
//! | Init | makes | makes and returns it | drops maker: Cancelled | drops it: Finished | false |
//! | Making | - | waits, retries; `None` if another taker waits | - | waits, then retries | false |
//! | Prepared, an item | - | the item: Finished | drops it: Cancelled | drops it: Finished | true |
//! | Prepared, `None` | - | `None`: Finished | Cancelled | Finished | false |
//! | Failed | - | the error, every time | - | - | true |
//! | Finished | - | `None` | - | - | false |
//! | Cancelled | - | `None` | - | - | false |
//!
//! The maker runs outside of the lock, and items are dropped outside of it. The new state is
//! published before waiting threads are woken (rule S13.30). A maker that panics has failed.

use std::time::{Duration, Instant};

use vector::sync::{Continuation, Mutex, Promise, promise, thread_cpu_time};
use vector::{Error, Result, catch_panic};

/// Makes the item; returns `None` when it is no longer needed.
pub type Maker<T> = Box<dyn FnOnce() -> Result<Option<T>> + Send>;

/// One item, made once and taken at most once.
pub struct AsyncSource<T> {
    cell: Mutex<Cell<T>>,
}

struct Cell<T> {
    state: State<T>,
    prepare_time: PrepareTime,
}

/// Run time of the maker on any thread; zero until it has ended (rule S13.25).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrepareTime {
    /// Wall time.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
}

enum State<T> {
    Init(Maker<T>),
    Making(Waiting),
    Prepared(Option<T>),
    Failed(Error),
    Finished,
    Cancelled,
}

/// Threads that wait for the end of the maker.
#[derive(Default)]
struct Waiting {
    promises: Vec<Promise>,
    /// True when one of them will take the item; there is at most one taker (rule S13.23).
    has_taker: bool,
}

/// State of an [`AsyncSource`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Phase {
    Init,
    Making,
    Prepared,
    Failed,
    Finished,
    Cancelled,
}

/// What a call of `take` does next.
enum Turn<T> {
    Make(Maker<T>),
    Wait(Continuation),
    Done(Result<Option<T>>),
}

impl<T: Send> AsyncSource<T> {
    /// Creates a source for the result of `maker`.
    pub fn new(maker: Maker<T>) -> Self {
        let cell = Cell { state: State::Init(maker), prepare_time: PrepareTime::default() };
        AsyncSource { cell: Mutex::new(cell) }
    }

    /// Makes the item on this thread, if no thread has begun. An error is kept for the taker.
    pub fn prepare(&self) {
        let maker = self.cell.lock().begin();
        if let Some(maker) = maker {
            self.make(maker);
        }
    }

    /// Returns the item, and makes it on this thread if no thread has begun. Waits for a running
    /// maker. Returns `None` when the maker returned `None`, when the item was taken, closed or
    /// cancelled before, and when another taker waits.
    ///
    /// # Errors
    /// The error of the maker, at every call.
    pub fn take(&self) -> Result<Option<T>> {
        loop {
            let turn = self.cell.lock().take_turn();
            match turn {
                Turn::Make(maker) => self.make(maker),
                // The promise is never dropped; its end is only a wake-up.
                Turn::Wait(until) => drop(until.wait()),
                Turn::Done(outcome) => return outcome,
            }
        }
    }

    /// Drops the maker or the item. A running maker continues, and its item is kept: it must be
    /// taken, closed or cancelled afterwards.
    pub fn cancel(&self) {
        let dropped = self.cell.lock().drop_for(State::Cancelled);
        drop(dropped);
    }

    /// Drops the maker or the item, after waiting for a running maker.
    pub fn close(&self) {
        while let Some(until) = self.until_made() {
            drop(until.wait());
        }
        let dropped = self.cell.lock().drop_for(State::Finished);
        drop(dropped);
    }

    /// Returns true when `take` returns an item or an error without waiting.
    pub fn has_value(&self) -> bool {
        matches!(self.cell.lock().state, State::Prepared(Some(_)) | State::Failed(_))
    }

    /// Returns a continuation for the end of a running maker; `None` if it does not run. For
    /// callers that leave their thread instead of waiting in `take`.
    pub fn until_made(&self) -> Option<Continuation> {
        match &mut self.cell.lock().state {
            State::Making(waiting) => Some(waiting.add()),
            _ => None,
        }
    }

    /// Returns the run time of the maker.
    pub fn prepare_time(&self) -> PrepareTime {
        self.cell.lock().prepare_time
    }

    /// Returns the state.
    pub fn phase(&self) -> Phase {
        match &self.cell.lock().state {
            State::Init(_) => Phase::Init,
            State::Making(_) => Phase::Making,
            State::Prepared(_) => Phase::Prepared,
            State::Failed(_) => Phase::Failed,
            State::Finished => Phase::Finished,
            State::Cancelled => Phase::Cancelled,
        }
    }

    fn make(&self, maker: Maker<T>) {
        let (start, cpu_start) = (Instant::now(), thread_cpu_time().unwrap_or_default());
        let made = catch_panic("the preparation of a split panicked", maker);
        let cpu_end = thread_cpu_time().unwrap_or_default();
        let prepare_time =
            PrepareTime { wall: start.elapsed(), cpu: cpu_end.saturating_sub(cpu_start) };
        let before = {
            let mut cell = self.cell.lock();
            cell.prepare_time = prepare_time;
            let made = made.map_or_else(State::Failed, State::Prepared);
            std::mem::replace(&mut cell.state, made)
        };
        if let State::Making(waiting) = before {
            waiting.promises.into_iter().for_each(Promise::fulfil);
        }
    }
}

impl<T> Cell<T> {
    /// Returns the maker for the calling thread to run, if it has not begun.
    fn begin(&mut self) -> Option<Maker<T>> {
        if !matches!(self.state, State::Init(_)) {
            return None;
        }
        match std::mem::replace(&mut self.state, State::Making(Waiting::default())) {
            State::Init(maker) => Some(maker),
            _ => None,
        }
    }

    fn take_turn(&mut self) -> Turn<T> {
        if let Some(maker) = self.begin() {
            return Turn::Make(maker);
        }
        match &mut self.state {
            State::Making(waiting) if waiting.has_taker => Turn::Done(Ok(None)),
            State::Making(waiting) => {
                waiting.has_taker = true;
                Turn::Wait(waiting.add())
            }
            State::Prepared(item) => {
                let item = item.take();
                self.state = State::Finished;
                Turn::Done(Ok(item))
            }
            State::Failed(error) => Turn::Done(Err(error.duplicate())),
            State::Init(_) | State::Finished | State::Cancelled => Turn::Done(Ok(None)),
        }
    }

    /// Changes to the state `end` if there is a maker or an item, and returns the previous state
    /// for dropping.
    fn drop_for(&mut self, end: State<T>) -> Option<State<T>> {
        matches!(self.state, State::Init(_) | State::Prepared(_))
            .then(|| std::mem::replace(&mut self.state, end))
    }
}

impl Waiting {
    fn add(&mut self) -> Continuation {
        let (promise, continuation) = promise();
        self.promises.push(promise);
        continuation
    }
}

impl<T: Send> std::fmt::Debug for AsyncSource<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AsyncSource({:?})", self.phase())
    }
}
