//! Stopping long loops: a thread that works for a query knows the query's stop flag.
//!
//! ```text
//! driver: stop_scope(flag) .. operators .. kernels: check_stop() every few thousand rows
//! ```
//!
//! A loop over the rows of a batch need not look: the driver looks between batches. A loop over all rows
//! of an operator, or one that does much for each row, goes through its rows in
//! [`stoppable_chunks`], counts them with a [`StopTick`], or calls [`check_stop`] itself, so that it
//! looks at least every 10 milliseconds. The flag belongs to the thread and not to the arguments because
//! such loops are far below whatever knows the query. Without a scope nothing is ever stopped.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use crate::error::Result;
use crate::sync::CancelFlag;

/// Rows of a chunk: one takes far less than a millisecond where a row takes some nanoseconds.
pub const ROWS_PER_LOOK: usize = 8_192;

struct Current {
    flag: RefCell<Option<CancelFlag>>,
    looks: Cell<u64>,
}

thread_local! {
    static CURRENT: Current =
        const { Current { flag: RefCell::new(None), looks: Cell::new(0) } };
}

/// The time in which a thread works for a query; nested ones end in the reverse order.
#[must_use = "the flag is looked at as long as the scope lives"]
pub struct StopScope {
    before: Option<CancelFlag>,
}

/// Makes `flag` that of the calling thread until the scope is dropped.
pub fn stop_scope(flag: &CancelFlag) -> StopScope {
    // Threads of a model are one thread of the system, and would see each other's flags.
    let flag = (!cfg!(loom)).then(|| flag.clone());
    StopScope { before: CURRENT.with(|current| current.flag.replace(flag)) }
}

impl Drop for StopScope {
    fn drop(&mut self) {
        let before = self.before.take();
        // A thread that ends has no flag any more.
        let _ = CURRENT.try_with(|current| current.flag.replace(before));
    }
}

/// An error of kind `Cancelled` when the thread's query is to stop.
pub fn check_stop() -> Result<()> {
    CURRENT.with(|current| {
        current.looks.set(current.looks.get() + 1);
        match &*current.flag.borrow() {
            Some(flag) => flag.check(),
            None => Ok(()),
        }
    })
}

/// How often the calling thread has looked until now: tests tell by it that a loop looks.
pub fn num_stop_looks() -> u64 {
    CURRENT.with(|current| current.looks.get())
}

/// The rows `0..num_rows` in chunks, with a look before each.
pub fn stoppable_chunks(num_rows: usize) -> impl Iterator<Item = Result<Range<usize>>> {
    (0..num_rows).step_by(ROWS_PER_LOOK).map(move |start| {
        check_stop()?;
        Ok(start..num_rows.min(start + ROWS_PER_LOOK))
    })
}

/// Looks once in a number of rows.
#[derive(Debug)]
pub struct StopTick {
    every: u32,
    left: u32,
}

impl StopTick {
    /// Looks at every row number that `every`, at least 1, divides.
    pub fn every(every: u32) -> Self {
        StopTick { every, left: every }
    }

    /// One more row: `Cancelled` when the query is to stop.
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
