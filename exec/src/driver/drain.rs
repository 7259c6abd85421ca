//! Barriers in a driver: a drain wave passes through the operators from the source to the sink
//! (rules S11.31, S11.32).
//!
//! ```text
//! [scan]   ->  [filter]  ->  [aggregation]  ->  [limit]  ->  [sink]
//! at barrier   keeps none    emits its groups   starts over    passes the barrier on
//!    (1)          (2)              (3)               (4)            (5)
//! ```
//!
//! The source reports that it has returned all rows before the barrier. Each operator in turn is
//! then requested to drain. An operator that still has output becomes the first operator of the
//! driver until its output is exhausted: the operators before it are drained and are not called.
//! When the wave has reached the end of the pipeline, the driver has passed the barrier and the
//! source resumes.
//!
//! An operator that is satisfied (a limit that was reached) needs no input until the barrier, and
//! starts over after it. The source is instructed to produce no rows until then, and the output of
//! the operators in between is discarded.

use super::Driver;
use super::stage::Call;

/// Progress of a barrier through a driver.
#[derive(Debug, Default)]
pub(super) struct Drain {
    /// Index of the operator that drains, and the number of the barrier.
    at: Option<(usize, u64)>,
    /// Index of the last operator that needs no input until the barrier.
    enough: Option<usize>,
}

impl Driver {
    /// Returns the operator at which a pass ends: the source, or the operator that drains.
    pub(super) fn first(&self) -> usize {
        self.drain.at.map_or(0, |(at, _)| at)
    }

    /// Returns true when operator `i` needs no input until the next barrier, and needs input again
    /// after it.
    pub(super) fn is_satisfied(&mut self, i: usize) -> bool {
        if i == 0 || !self.stages[i].operator.is_satisfied() || !self.params.barriers.are_used() {
            return false;
        }
        if self.drain.enough.is_none_or(|known| known < i) {
            self.drain.enough = Some(i);
            self.idle_passes = 0;
            // At the barrier the source has no output to discard, and the rows after it are needed.
            if self.drain.at.is_none() {
                self.stages[0].operator.discard_until_barrier();
            }
        }
        true
    }

    /// Returns true when the output of operator `i` is discarded, because a later operator is
    /// satisfied.
    pub(super) fn is_dropped(&self, i: usize) -> bool {
        self.drain.enough.is_some_and(|enough| i < enough)
    }

    /// Advances the barrier, if the first operator has no output because of it. Returns the number
    /// of the barrier when the barrier has passed all operators.
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
        self.stages[0].operator.resume_after_barrier();
        self.params.barriers.arrive(number);
        Some(number)
    }
}
