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

use std::time::Instant;

use vector::Result;
use vector::stop::stop_scope;
use vector::sync::Arc;

use dwio::connector::{ConnectorSplit, DataSource};

use self::async_source::AsyncSource;
use crate::operator::scan_source::ScanSources;
use crate::termination::{DriverTicket, Termination};

/// A data source with its split. It counts as a driver of its task while it exists.
pub struct PreparedSource {
    source: Box<dyn DataSource>,
    origin: Arc<ScanSources>,
    /// Declared after the source, so that the source is dropped before its registration.
    _presence: DriverTicket,
}

impl PreparedSource {
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

/// Prepares splits for one scan operator on the query's I/O pool.
pub struct Preloader {
    sources: Arc<ScanSources>,
    termination: Arc<Termination>,
    quota: usize,
}

impl Preloader {
    /// Creates a preloader for at most `quota` splits at the same time, with data sources of
    /// `sources`.
    pub fn new(sources: Arc<ScanSources>, termination: Arc<Termination>, quota: usize) -> Self {
        Preloader { sources, termination, quota }
    }
}

impl SplitPreloader for Preloader {
    fn quota(&self) -> usize {
        let idle = self.termination.should_stop() || self.sources.opens_quickly();
        if idle { 0 } else { self.quota }
    }

    fn preparation(&self, split: &Arc<dyn ConnectorSplit>) -> Arc<SplitPreparation> {
        let (sources, split) = (Arc::clone(&self.sources), Arc::clone(split));
        let presence = self.termination.enter();
        Arc::new(AsyncSource::new(Box::new(move || prepare(&sources, split, presence))))
    }

    fn start(&self, preparation: Arc<SplitPreparation>) {
        let termination = Arc::clone(&self.termination);
        self.sources.ctx().query.io.run(Box::new(move || {
            preparation.prepare();
            // The end of the task has dropped only the preparations that were complete by then.
            if termination.should_stop() {
                preparation.cancel();
            }
        }));
    }
}

fn prepare(
    sources: &Arc<ScanSources>,
    split: Arc<dyn ConnectorSplit>,
    presence: DriverTicket,
) -> Result<Option<PreparedSource>> {
    let stop = &sources.ctx().stop;
    let _stop = stop_scope(stop);
    if stop.is_cancelled() {
        return Ok(None);
    }
    let mut source = match sources.take_spare() {
        Some(spare) => spare,
        None => sources.make()?,
    };
    sources.install_known_filters(source.as_mut())?;
    if stop.is_cancelled() {
        return Ok(None);
    }
    let start = Instant::now();
    source.add_split(split)?;
    sources.opened_in(start.elapsed());
    let origin = Arc::clone(sources);
    Ok(Some(PreparedSource { source, origin, _presence: presence }))
}
