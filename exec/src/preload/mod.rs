//! Reading ahead: data sources for the next splits are made while the current one is read.
//!
//! ```text
//! TableScan --next_split(preloader)--> SplitQueue: one split is taken,
//!     ^                                 the next ones get an AsyncSource each
//!     |                                        |
//!     |                                  I/O pool: prepare (open the file, read its footer)
//!     +---- take, DataSource::take_over -------+
//! ```
//!
//! Rules S13.1 to S13.14, and what is different from them here:
//!
//! | Velox | here |
//! |---|---|
//! | the split that is taken at once is handed to the I/O pool, too | its taker prepares it: a scan of one split starts no thread |
//! | whoever takes a split that is being prepared holds its thread | the driver is blocked, on `WaitForConnector` |
//! | every split is prepared ahead | none is while opening takes next to no time, as from a warm local disk: another thread costs more |
//! | the end of a task waits for running preparations | they are counted in like drivers, and whoever waits for the drivers waits for them |
//!
//! A data source whose split was taken over prepares another one: what it takes to make one is
//! compiled once for each preparation that is under way at the same time, not for each split.
//!
//! What is prepared owns all it needs, its presence in the task included. When the task ends, what
//! has not begun and what is prepared is dropped at once; what is being prepared is dropped by
//! whoever prepares it.

pub mod async_source;

#[cfg(test)]
mod tests;

use vector::Result;
use vector::sync::Arc;

use dwio::connector::{ConnectorSplit, DataSource};

use self::async_source::AsyncSource;
use crate::termination::DriverTicket;

/// Takes back data sources whose split another source has taken over, for the next preparation.
pub trait SpareSources: Send + Sync {
    /// Keeps `source` for a later split.
    fn put_spare(&self, source: Box<dyn DataSource>);
}

/// A data source that has its split, and is present in its task as long as it is here.
pub struct PreparedSource {
    source: Box<dyn DataSource>,
    origin: Arc<dyn SpareSources>,
    /// Behind the source, so that the task is left when the source is gone.
    _presence: DriverTicket,
}

impl PreparedSource {
    /// `source`, which has its split; it returns to `origin` when the split was handed over.
    pub fn new(
        source: Box<dyn DataSource>,
        origin: Arc<dyn SpareSources>,
        presence: DriverTicket,
    ) -> Self {
        PreparedSource { source, origin, _presence: presence }
    }

    /// Hands the split over to the source of a driver, and keeps the rest for the next one.
    pub fn hand_over(mut self, to: &mut dyn DataSource) -> Result<()> {
        to.take_over(self.source.as_mut())?;
        self.origin.put_spare(self.source);
        Ok(())
    }
}

/// A split's data source that is made ahead.
pub type SplitPreparation = AsyncSource<PreparedSource>;

/// Prepares splits for whoever asks a queue for the next one.
pub trait SplitPreloader {
    /// Splits that are prepared at once, at most; 0 while none should be.
    fn quota(&self) -> usize;

    /// The preparation of a split, not begun. Called under the lock of the queue.
    fn preparation(&self, split: &Arc<dyn ConnectorSplit>) -> Arc<SplitPreparation>;

    /// Has a preparation begun soon, by somebody else.
    fn start(&self, preparation: Arc<SplitPreparation>);
}
