//! Barriers in a driver: a wave that goes from its source to its end (rules S11.31, S11.32).
//!
//! ```text
//! [scan]   ->  [filter]  ->  [aggregation]  ->  [limit]  ->  [sink]
//! at barrier   nothing kept   gives its groups    begins anew   passes the barrier on
//!    (1)          (2)              (3)               (4)            (5)
//! ```
//!
//! The source says that it has given all rows before the barrier. Then each operator in turn is asked
//! to drain. One that has something to give becomes the first of the driver until it gives nothing
//! more: those before it are drained and not asked. When the wave has gone through all of them the
//! driver has passed the barrier, and the source goes on.
//!
//! An operator that has enough needs no input until the barrier, behind which it begins anew. The
//! source is told to make none, and what the operators between still give is dropped.

use super::Driver;
use super::stage::Call;

/// How far a barrier has come in a driver.
#[derive(Debug, Default)]
pub(super) struct Drain {
    /// The operator that drains, and the barrier.
    at: Option<(usize, u64)>,
    /// The last operator that has enough until the barrier.
    enough: Option<usize>,
}

impl Driver {
    /// The operator at which a pass ends: the source, or the one that drains.
    pub(super) fn first(&self) -> usize {
        self.drain.at.map_or(0, |(at, _)| at)
    }

    /// True when operator `i` needs no input until the next barrier, and will be needed again behind
    /// it.
    pub(super) fn has_enough(&mut self, i: usize) -> bool {
        if i == 0 || !self.stages[i].operator.has_enough() || !self.params.barriers.are_used() {
            return false;
        }
        if self.drain.enough.is_none_or(|known| known < i) {
            self.drain.enough = Some(i);
            self.idle_passes = 0;
            // At the barrier the source has nothing to drop, and what is behind it is wanted.
            if self.drain.at.is_none() {
                self.stages[0].operator.drop_output();
            }
        }
        true
    }

    /// True when nobody wants what operator `i` gives.
    pub(super) fn is_dropped(&self, i: usize) -> bool {
        self.drain.enough.is_some_and(|enough| i < enough)
    }

    /// The first operator has nothing to give now: moves the barrier on, if that is why. The
    /// barrier's number, when it has gone through all operators.
    pub(super) fn move_barrier(&mut self) -> Option<u64> {
        let (at, number) = match self.drain.at {
            Some(drained) => drained,
            None => (0, self.stages[0].operator.at_barrier()?),
        };
        self.idle_passes = 0;
        for next in at + 1..self.stages.len() {
            let scope = self.stages[next].pool_scope();
            self.called = next;
            let has_rows = self.stages[next].operator.start_drain(number);
            drop(scope);
            self.count_call(next, Call::Finish);
            if has_rows {
                self.drain.at = Some((next, number));
                return None;
            }
        }
        self.drain = Drain::default();
        self.stages[0].operator.go_on();
        self.params.barriers.arrive(number);
        Some(number)
    }
}
