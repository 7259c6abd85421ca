//! Prepares the next splits of one scan operator on the I/O pool of its query.

use std::time::Instant;

use vector::Result;
use vector::stop::stop_scope;
use vector::sync::Arc;

use dwio::connector::ConnectorSplit;

use super::scan_source::ScanSources;
use crate::preload::async_source::AsyncSource;
use crate::preload::{PreparedSource, SplitPreloader, SplitPreparation};
use crate::termination::{DriverTicket, Termination};

/// Prepares splits for one scan operator on the query's I/O pool.
pub(super) struct Preloader {
    sources: Arc<ScanSources>,
    termination: Arc<Termination>,
    quota: usize,
}

impl Preloader {
    /// Creates a preloader of at most `quota` concurrent splits, with data sources of `sources`.
    pub(super) fn new(
        sources: Arc<ScanSources>,
        termination: Arc<Termination>,
        quota: usize,
    ) -> Self {
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
    Ok(Some(PreparedSource::new(source, Arc::clone(sources) as _, presence)))
}
