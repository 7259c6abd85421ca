//! The rows of a running query.

use std::fmt;

use vector::sync::{Arc, CancelFlag};
use vector::{Result, RowType, RowVector};

/// The batches of a running query, in the order in which they come; dropping it stops the query.
///
/// Iterating gives batches until the rows are finished or one error was given. Names of columns
/// may repeat, since they are those that the query wrote.
pub struct QueryResult {
    row_type: Arc<RowType>,
    batches: Box<dyn Iterator<Item = Result<RowVector>> + Send>,
    cancel: CancelFlag,
}

impl QueryResult {
    /// The columns of every batch.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }

    /// Raised by the caller, it ends the query with a `Cancelled` error.
    pub fn cancel_flag(&self) -> CancelFlag {
        self.cancel.clone()
    }

    /// All batches that have rows, or the first error.
    pub fn collect_batches(self) -> Result<Vec<RowVector>> {
        self.filter(|batch| batch.as_ref().map_or(true, |b| !b.is_empty())).collect()
    }
}

impl Iterator for QueryResult {
    type Item = Result<RowVector>;

    fn next(&mut self) -> Option<Result<RowVector>> {
        self.batches.next()
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryResult").field("row_type", &self.row_type).finish_non_exhaustive()
    }
}
