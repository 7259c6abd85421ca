//! A thing made once, by whoever comes first, and handed over once.
//!
//! ```text
//! Init --prepare, take--> Making --> Prepared --take--> Finished
//!   |                       |          |
//!   +--cancel--> Cancelled  +-> Failed +--cancel--> Cancelled
//! ```
//!
//! The maker may run ahead of time on another thread ([`AsyncSource::prepare`]) or by whoever wants
//! the item and finds that nobody has begun ([`AsyncSource::take`]). What each call does in each
//! state (rule S13.21):
//!
//! | state | `prepare` | `take` | `cancel` | `close` | `has_value` |
//! |---|---|---|---|---|---|
//! | Init | makes | makes, then gives | drops the maker: Cancelled | drops it: Finished | false |
//! | Making | - | waits, then looks again; nothing if another one waits | - | waits, then looks again | false |
//! | Prepared, an item | - | the item: Finished | drops it: Cancelled | drops it: Finished | true |
//! | Prepared, nothing | - | nothing: Finished | Cancelled | Finished | false |
//! | Failed | - | the error, every time | - | - | true |
//! | Finished | - | nothing | - | - | false |
//! | Cancelled | - | nothing | - | - | false |
//!
//! The maker runs outside of the lock, and what is dropped is dropped outside of it too. The state
//! is published before those who wait are woken (rule S13.30). A maker that panics has failed.

use std::time::{Duration, Instant};

use vector::sync::{Continuation, Mutex, Promise, promise, thread_cpu_time};
use vector::{Error, Result, catch_panic};

/// Makes the item; nothing when it is not wanted any more.
pub type Maker<T> = Box<dyn FnOnce() -> Result<Option<T>> + Send>;

/// One item, made once and given to one taker at most.
pub struct AsyncSource<T> {
    cell: Mutex<Cell<T>>,
}

struct Cell<T> {
    state: State<T>,
    prepare_time: PrepareTime,
}

/// How long a maker ran, wherever it did; zero when it has not run to its end (rule S13.25).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrepareTime {
    /// Of the clock.
    pub wall: Duration,
    /// Of the CPU.
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

/// Who waits until the item is made.
#[derive(Default)]
struct Waiting {
    promises: Vec<Promise>,
    /// One of them will take it: there is no second one (rule S13.23).
    has_taker: bool,
}

/// Where a source stands.
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

/// What a look at the state found to do.
enum Turn<T> {
    Make(Maker<T>),
    Wait(Continuation),
    Done(Result<Option<T>>),
}

impl<T: Send> AsyncSource<T> {
    /// A source of what `maker` makes.
    pub fn new(maker: Maker<T>) -> Self {
        let cell = Cell { state: State::Init(maker), prepare_time: PrepareTime::default() };
        AsyncSource { cell: Mutex::new(cell) }
    }

    /// Makes the item here, if nobody has begun. Errors are kept for whoever takes it.
    pub fn prepare(&self) {
        let maker = self.cell.lock().begin();
        if let Some(maker) = maker {
            self.make(maker);
        }
    }

    /// The item, made here if nobody has begun; waits for whoever is making it. Nothing when the
    /// maker had nothing, when it was given, closed or cancelled before, and when another taker
    /// waits. The maker's error comes at every call.
    pub fn take(&self) -> Result<Option<T>> {
        loop {
            let turn = self.cell.lock().take_turn();
            match turn {
                Turn::Make(maker) => self.make(maker),
                // The promise is never dropped: its end says only that it is time to look.
                Turn::Wait(until) => drop(until.wait()),
                Turn::Done(outcome) => return outcome,
            }
        }
    }

    /// Drops the maker or the item. What is being made just now is made to its end and kept: it
    /// has to be taken, closed or cancelled then.
    pub fn cancel(&self) {
        let dropped = self.cell.lock().drop_for(State::Cancelled);
        drop(dropped);
    }

    /// Drops the maker or the item, after waiting for whoever is making it.
    pub fn close(&self) {
        while let Some(until) = self.until_made() {
            drop(until.wait());
        }
        let dropped = self.cell.lock().drop_for(State::Finished);
        drop(dropped);
    }

    /// True when `take` gives an item or an error at once.
    pub fn has_value(&self) -> bool {
        matches!(self.cell.lock().state, State::Prepared(Some(_)) | State::Failed(_))
    }

    /// Ready when somebody who is making the item now has made it; `None` when nobody is. For
    /// those who leave their thread instead of waiting in `take`.
    pub fn until_made(&self) -> Option<Continuation> {
        match &mut self.cell.lock().state {
            State::Making(waiting) => Some(waiting.add()),
            _ => None,
        }
    }

    /// How long the maker ran.
    pub fn prepare_time(&self) -> PrepareTime {
        self.cell.lock().prepare_time
    }

    /// Where it stands.
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
    /// The maker, for whoever runs it now.
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

    /// Goes over to `end` where there is something to let go of, and gives that.
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
