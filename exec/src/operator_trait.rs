//! The [`Operator`] trait, which drivers call. [`crate::operator`] describes its contract.

use vector::{Result, RowVector};

use crate::blocking::Blocked;
use crate::stats::OperatorStats;

/// An operator: one step of a pipeline, owned by one driver.
pub trait Operator: Send {
    /// Returns true when the operator accepts a batch: `add_input` may be called as soon as the
    /// operator is not blocked. The result depends only on the operator's own state; state that
    /// other threads change is reported by [`Operator::is_blocked`].
    fn needs_input(&self) -> bool;

    /// Adds a batch to the operator's input.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Limit` when the memory pool has too few bytes left for the batch,
    /// `Internal` when the operator is a source, and any error of loading the batch's lazy columns
    /// or of evaluating expressions over it.
    fn add_input(&mut self, batch: RowVector) -> Result<()>;

    /// Returns the approximate number of bytes that the operator reserves for `batch` until the end
    /// of its input, as far as the batch is loaded. A result above 0 also states that `add_input`
    /// is atomic: it accepts the whole batch or fails with a `Limit` error and accepts no part of
    /// it. The driver adds the batch when the memory pool has that many bytes left, or when waiting
    /// for memory does not help.
    fn input_reservation(&self, batch: &RowVector) -> u64 {
        let _ = batch;
        0
    }

    /// Returns the approximate number of bytes that the next call of `get_output` reserves: the
    /// part of the accepted input that is not reserved yet, or the size of a source's next batch.
    /// The driver makes that call when the memory pool has that many bytes left, or when waiting
    /// for memory does not help.
    fn output_reservation(&self) -> u64 {
        0
    }

    /// Returns a batch of at least one row, or `None` when no output is available at the moment.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Limit` when the memory pool has too few bytes left, and any error
    /// of reading, loading lazy columns or evaluating expressions.
    fn get_output(&mut self) -> Result<Option<RowVector>>;

    /// Returns the reason why the operator cannot proceed and the continuation that ends the wait,
    /// or `None` when it is not blocked. The driver calls this before and after `get_output`.
    fn is_blocked(&mut self) -> Option<Blocked> {
        None
    }

    /// Notifies the operator that its input has ended: no `add_input` follows.
    fn no_more_input(&mut self);

    /// Returns true when the operator produces no further output, independent of its input. An
    /// operator for which [`Operator::is_satisfied`] is true is not thereby finished: a driver that
    /// calls both methods would otherwise mistake a pause until the barrier for the end of the
    /// output when another thread changes the state between the two calls.
    fn is_finished(&self) -> bool;

    /// Returns the number of the barrier that a source has reached, or `None` between barriers. A
    /// source at a barrier has returned all rows before it and returns none until
    /// [`Operator::resume_after_barrier`].
    fn at_barrier(&self) -> Option<u64> {
        None
    }

    /// Starts draining: all input before barrier `number` has been added. The operator returns the
    /// rows it retains as at the end of input and then resets its state (S11.31). Returns true when
    /// there may be rows to return; `get_output` then returns them, and `None` once the operator is
    /// drained.
    fn start_drain(&mut self, number: u64) -> bool {
        let _ = number;
        false
    }

    /// Resumes a source after the barrier: the rows before it have left the driver, and the source
    /// continues with the rows behind it.
    fn resume_after_barrier(&mut self) {}

    /// Returns true when no further input before the next barrier changes the operator's output.
    /// Such an operator is not finished: it starts anew behind the barrier (S11.32).
    fn is_satisfied(&self) -> bool {
        false
    }

    /// Discards the output of a source up to the next barrier, because no operator above needs it.
    fn discard_until_barrier(&mut self) {}

    /// Returns a description of what a source reads at the moment, such as its split, or `None` for
    /// other operators. The driver adds it to the errors of the operators that process the source's
    /// rows.
    fn reading(&self) -> Option<String> {
        None
    }

    /// Adds the counters that are specific to this operator to `stats`.
    fn add_stats(&self, stats: &mut OperatorStats) {
        let _ = stats;
    }

    /// Releases all memory and other resources. The driver calls this exactly once, also when the
    /// task has failed.
    fn close(&mut self) {}
}
