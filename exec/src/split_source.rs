//! Where a scan takes its splits from: the interface between a scan operator and its task.

use vector::Result;
use vector::sync::{Arc, Continuation};

use dwio::connector::ConnectorSplit;

use crate::preload::{SplitPreloader, SplitPreparation};

/// Where a scan gets its splits: its view of the task.
pub trait SplitSource: Send + Sync {
    /// The next split, the end of splits, or a wait for one of both, for a driver that has passed
    /// the barriers up to number `passed`: it comes to a later one when no split is left. With a
    /// preloader, splits that come next are prepared, and the one given may be.
    fn next_split(&self, passed: u64, preloader: Option<&dyn SplitPreloader>) -> Result<SplitPoll>;

    /// True when the next thing for this driver is a barrier.
    fn is_at_barrier(&self, passed: u64) -> bool;

    /// A split that was handed out has been read to its end.
    fn split_done(&self);
}

/// What one call of [`SplitSource::next_split`] gives.
#[derive(Debug)]
pub enum SplitPoll {
    /// Read this.
    Split(TakenSplit),
    /// Nothing now; ask again when the continuation is ready.
    Wait(Continuation),
    /// All splits before the barrier of this number were handed out.
    Barrier(u64),
    /// There will be no more.
    NoMore,
}

/// A split that was handed out.
#[derive(Debug)]
pub struct TakenSplit {
    /// The split.
    pub split: Arc<dyn ConnectorSplit>,
    /// Its data source, if somebody was asked to make it ahead.
    pub preparation: Option<Arc<SplitPreparation>>,
}
