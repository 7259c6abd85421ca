//! Cancellation of long loops: each thread that works for a query has access to the query's stop
//! flag.
//!
//! ```text
//! driver: stop_scope(flag) .. operators .. kernels: check_stop() every few thousand rows
//! ```
//!
//! A loop over the rows of one batch need not check the flag, because the driver checks it between
//! batches. A loop over all rows of an operator, or one that does much work per row, iterates with
//! [`stoppable_chunks`], counts its rows with a [`StopTick`], or calls [`check_stop`] itself, so
//! that the flag is checked at least every 10 milliseconds. The flag is thread-local state and not
//! an argument, because such loops are far below the code that has access to the query. Outside of
//! a scope no loop is ever stopped.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use crate::error::Result;
use crate::sync::CancelFlag;

/// Number of rows in a chunk. At a few nanoseconds per row, a chunk takes far less than a
/// millisecond.
pub const ROWS_PER_LOOK: usize = 8_192;

struct Current {
    flag: RefCell<Option<CancelFlag>>,
    looks: Cell<u64>,
}

thread_local! {
    static CURRENT: Current =
        const { Current { flag: RefCell::new(None), looks: Cell::new(0) } };
}

/// Marks the time in which a thread works for a query. Nested scopes must end in reverse order.
#[must_use = "the flag is looked at as long as the scope lives"]
pub struct StopScope {
    before: Option<CancelFlag>,
}

/// Makes `flag` the stop flag of the calling thread until the returned scope is dropped.
pub fn stop_scope(flag: &CancelFlag) -> StopScope {
    // The threads of a loom model are one thread of the system and would share one flag.
    let flag = (!cfg!(loom)).then(|| flag.clone());
    StopScope { before: CURRENT.with(|current| current.flag.replace(flag)) }
}

impl Drop for StopScope {
    fn drop(&mut self) {
        let before = self.before.take();
        // The thread-local value of an exiting thread may already be destroyed.
        let _ = CURRENT.try_with(|current| current.flag.replace(before));
    }
}

/// Checks the stop flag of the calling thread.
///
/// # Errors
/// `Cancelled` if the thread's query is to stop.
pub fn check_stop() -> Result<()> {
    CURRENT.with(|current| {
        current.looks.set(current.looks.get() + 1);
        match &*current.flag.borrow() {
            Some(flag) => flag.check(),
            None => Ok(()),
        }
    })
}

/// Returns the number of checks that the calling thread has made so far, with which tests verify
/// that a loop checks the flag.
pub fn num_stop_looks() -> u64 {
    CURRENT.with(|current| current.looks.get())
}

/// Iterates over the rows `0..num_rows` in chunks of at most [`ROWS_PER_LOOK`] and checks the stop
/// flag before each chunk. An item is a `Cancelled` error if the query is to stop.
pub fn stoppable_chunks(num_rows: usize) -> impl Iterator<Item = Result<Range<usize>>> {
    (0..num_rows).step_by(ROWS_PER_LOOK).map(move |start| {
        check_stop()?;
        Ok(start..num_rows.min(start + ROWS_PER_LOOK))
    })
}

/// Checks the stop flag once every given number of rows.
#[derive(Debug)]
pub struct StopTick {
    every: u32,
    left: u32,
}

impl StopTick {
    /// Creates a counter that checks the flag at every `every`-th row; `every` must be at least 1.
    pub fn every(every: u32) -> Self {
        StopTick { every, left: every }
    }

    /// Counts one row.
    ///
    /// # Errors
    /// `Cancelled` if the flag was due for a check and the query is to stop.
    #[inline]
    pub fn row(&mut self) -> Result<()> {
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            self.left = self.every;
            check_stop()?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_thread_stops_inside_of_the_scope_of_a_raised_flag_alone() {
        let (flag, other) = (CancelFlag::new(), CancelFlag::new());
        flag.cancel();
        check_stop().unwrap();
        let scope = stop_scope(&flag);
        assert_eq!(check_stop().unwrap_err().kind(), ErrorKind::Cancelled);
        let inner = stop_scope(&other);
        check_stop().unwrap();
        drop(inner);
        assert!(check_stop().is_err());
        drop(scope);
        check_stop().unwrap();
    }

    #[test]
    fn chunks_and_ticks_look_as_often_as_they_say() {
        let before = num_stop_looks();
        let chunks: Vec<_> = stoppable_chunks(20_000).map(Result::unwrap).collect();
        assert_eq!(chunks, [0..8_192, 8_192..16_384, 16_384..20_000]);
        assert_eq!(num_stop_looks() - before, 3);
        let mut tick = StopTick::every(100);
        (0..1_050).for_each(|_| tick.row().unwrap());
        assert_eq!(num_stop_looks() - before, 13);
        let flag = CancelFlag::new();
        let _scope = stop_scope(&flag);
        let mut chunks = stoppable_chunks(20_000);
        assert!(chunks.next().unwrap().is_ok());
        flag.cancel();
        assert!(chunks.next().unwrap().is_err());
    }
}
