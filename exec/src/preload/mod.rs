//! Split preloading: prepares the data sources of the next splits while the current one is read.
//!
//! ```text
//! TableScan --next_split(preloader)--> SplitQueue: one split is taken,
//!     ^                                 the next ones get an AsyncSource each
//!     |                                        |
//!     |                                  I/O pool: prepare (open the file, read its footer)
//!     +---- take, DataSource::take_over -------+
//! ```
//!
//! Preloading follows Velox (rules S13.1 to S13.14) with these differences:
//!
//! | Velox | here |
//! |---|---|
//! | the split that is taken at once is also prepared on the I/O pool | its driver prepares it: a scan of one split starts no thread |
//! | a driver that takes a split in preparation blocks its thread | the driver leaves its thread, with reason `WaitForConnector` |
//! | every split is prepared ahead | none is while opening is very fast, as on a warm local disk, where a second thread costs more |
//! | the end of a task waits for running preparations | they are counted like drivers, and waiting for the drivers includes them |
//!
//! A data source that has handed over its split is reused to prepare another split. The parts of a
//! data source are therefore compiled once per concurrent preparation, not once per split.
//!
//! A preparation owns everything that it needs, including its registration with the task. When the
//! task ends, preparations that have not begun and those that are complete are dropped at once; a
//! running one is dropped by the thread that runs it.

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

/// A data source with its split. It counts as a driver of its task while it exists.
pub struct PreparedSource {
    source: Box<dyn DataSource>,
    origin: Arc<dyn SpareSources>,
    /// Declared after the source, so that the source is dropped before its registration.
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

    /// Hands the split over to the data source of a driver, and keeps this source for another
    /// preparation.
    pub fn hand_over(mut self, to: &mut dyn DataSource) -> Result<()> {
        to.take_over(self.source.as_mut())?;
        self.origin.put_spare(self.source);
        Ok(())
    }
}

/// A data source of a split that is prepared ahead.
pub type SplitPreparation = AsyncSource<PreparedSource>;

/// Prepares splits when a driver takes the next split of a queue.
pub trait SplitPreloader {
    /// Returns the maximum number of splits that are prepared at the same time; 0 while none is to
    /// be prepared.
    fn quota(&self) -> usize;

    /// Returns the preparation of a split, not begun. Called under the lock of the queue.
    fn preparation(&self, split: &Arc<dyn ConnectorSplit>) -> Arc<SplitPreparation>;

    /// Schedules a preparation on another thread.
    fn start(&self, preparation: Arc<SplitPreparation>);
}
