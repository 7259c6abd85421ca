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

use std::time::Instant;

use vector::Result;
use vector::stop::stop_scope;
use vector::sync::Arc;

use dwio::connector::{ConnectorSplit, DataSource};

use self::async_source::AsyncSource;
use crate::operator::scan_source::ScanSources;
use crate::termination::{DriverTicket, Termination};

/// A data source that has its split, and is present in its task as long as it is here.
pub struct PreparedSource {
    source: Box<dyn DataSource>,
    origin: Arc<ScanSources>,
    /// Behind the source, so that the task is left when the source is gone.
    _presence: DriverTicket,
}

impl PreparedSource {
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

/// Prepares splits for one scan operator on the query's I/O pool.
pub struct Preloader {
    sources: Arc<ScanSources>,
    termination: Arc<Termination>,
    quota: usize,
}

impl Preloader {
    /// Prepares `quota` splits at once, at most, with data sources of `sources`.
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
            // The task's end dropped what it saw, which was not this.
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
