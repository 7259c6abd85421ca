//! The interface of an operator, which drivers call. Its contract is described in [`crate::operator`].

use vector::{Result, RowVector};

use crate::blocking::Blocked;
use crate::stats::OperatorStats;

/// One step of a pipeline, in one driver.
pub trait Operator: Send {
    /// True when `add_input` may be called, once the operator is not blocked. The answer is the
    /// operator's own: what other threads change is a matter of [`Operator::is_blocked`].
    fn needs_input(&self) -> bool;

    /// Takes a batch.
    fn add_input(&mut self, batch: RowVector) -> Result<()>;

    /// How many bytes the operator will reserve for `batch` until the end of its input, about, as
    /// far as the batch is loaded; more than 0 says that a batch is taken wholly or, with a `Limit`
    /// error, not at all. The driver gives it the batch when there is room, or when waiting for
    /// room does not help.
    fn bytes_to_keep(&self, batch: &RowVector) -> u64 {
        let _ = batch;
        0
    }

    /// How many bytes the next call of `get_output` will reserve, about: what is owed for what was
    /// taken, or what the next batch of a source takes. The call is made when there is room, or when
    /// waiting for room does not help.
    fn bytes_wanted(&self) -> u64 {
        0
    }

    /// Gives a batch of at least one row, or nothing now.
    fn get_output(&mut self) -> Result<Option<RowVector>>;

    /// Why the operator cannot go on, and what ends the wait; asked before and after output.
    fn is_blocked(&mut self) -> Option<Blocked> {
        None
    }

    /// The source has finished.
    fn no_more_input(&mut self);

    /// True when no output will come any more, whatever input does. An operator that has enough
    /// until a barrier is not finished by that: who asks for both would take the one for the other
    /// when a second thread comes between.
    fn is_finished(&self) -> bool;

    /// The number of the barrier that a source has come to: it has given all rows before it, and
    /// gives none until [`Operator::go_on`].
    fn at_barrier(&self) -> Option<u64> {
        None
    }

    /// All input before barrier `number` has come (rule S11.31): what was kept of it is given as at
    /// the end of input, and then the operator begins anew. True when there may be something to
    /// give; then `get_output` gives it, and nothing once it is drained.
    fn start_drain(&mut self, number: u64) -> bool {
        let _ = number;
        false
    }

    /// The rows before the barrier have left the driver: a source goes on with those behind it.
    fn go_on(&mut self) {}

    /// True when no input before the next barrier can change what the operator gives; behind it the
    /// operator begins anew (rule S11.32).
    fn has_enough(&self) -> bool {
        false
    }

    /// Nobody wants what a source gives until the next barrier.
    fn drop_output(&mut self) {}

    /// What a source reads now, for the errors of whoever uses its rows.
    fn reading(&self) -> Option<String> {
        None
    }

    /// Adds what only this operator counts.
    fn add_stats(&self, stats: &mut OperatorStats) {
        let _ = stats;
    }

    /// Lets go of everything; called once, also when the task failed.
    fn close(&mut self) {}
}
