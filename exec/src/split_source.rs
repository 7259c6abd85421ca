//! The [`SplitSource`] trait, through which a scan operator obtains its splits from its task.

use vector::Result;
use vector::sync::{Arc, Continuation};

use dwio::connector::ConnectorSplit;

use crate::preload::{SplitPreloader, SplitPreparation};

/// A source of splits for a scan operator; the scan's view of its task.
pub trait SplitSource: Send + Sync {
    /// Returns the next split, the end of splits, or a continuation to wait on for either, for a
    /// driver that has passed the barriers up to number `passed`. Returns the next later barrier
    /// when no split before it is left. With a preloader, the task requests the preparation of the
    /// following splits, and the returned split may have been prepared already.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Cancelled` when the task was dropped before all of its splits were
    /// added.
    fn next_split(&self, passed: u64, preloader: Option<&dyn SplitPreloader>) -> Result<SplitPoll>;

    /// Returns true when [`SplitSource::next_split`] would return a barrier to a driver that has
    /// passed the barriers up to number `passed`.
    fn is_at_barrier(&self, passed: u64) -> bool;

    /// Reports that a split returned by [`SplitSource::next_split`] has been read to its end.
    fn split_done(&self);
}

/// The result of [`SplitSource::next_split`].
#[derive(Debug)]
pub enum SplitPoll {
    /// The next split to read.
    Split(TakenSplit),
    /// No split is available at the moment; the call is repeated when the continuation is ready.
    Wait(Continuation),
    /// All splits before the barrier of this number have been returned.
    Barrier(u64),
    /// No further splits follow.
    NoMore,
}

/// A split that was returned to a driver.
#[derive(Debug)]
pub struct TakenSplit {
    /// The split.
    pub split: Arc<dyn ConnectorSplit>,
    /// The preparation of the split's data source; `None` when the split was not preloaded.
    pub preparation: Option<Arc<SplitPreparation>>,
}
