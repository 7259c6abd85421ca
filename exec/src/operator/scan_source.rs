//! What it takes to make a data source for a scan, and to tell it of late filters.
//!
//! Shared by the scan operator and by whatever is prepared ahead for it, which may outlive the
//! operator.

use std::fmt;
use std::time::Duration;

use vector::Result;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Continuation, Mutex};

use dwio::connector::{Connector, ConnectorQueryCtx, DataSource, DataSourceRequest};
use dwio::filter::Filter;

use super::OperatorCtx;
use super::scan_filters::{ScanFilters, SeenFilters};
use crate::plan::PlanNodeId;
use crate::preload::SpareSources;

/// Makes the data sources of one scan operator.
#[derive(Debug)]
pub struct ScanSources {
    request: DataSourceRequest,
    ctx: OperatorCtx,
    /// Filters that others learn while the scan runs.
    filters: Arc<ScanFilters>,
    spares: Mutex<Spares>,
    /// Nanoseconds that opening a split takes lately; 0 before the first one.
    opening: AtomicU64,
}

/// Sources whose split another one has taken over.
#[derive(Default)]
struct Spares {
    sources: Vec<Box<dyn DataSource>>,
    /// The operator has ended, so they are no longer needed.
    closed: bool,
}

impl fmt::Debug for Spares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spares", self.sources.len())
    }
}

impl SpareSources for ScanSources {
    fn put_spare(&self, source: Box<dyn DataSource>) {
        let mut spares = self.spares.lock();
        if !spares.closed {
            spares.sources.push(source);
        }
    }
}

impl ScanSources {
    /// Data sources for `request`, which take filters from `filters`.
    pub fn new(request: DataSourceRequest, ctx: OperatorCtx, filters: Arc<ScanFilters>) -> Self {
        ScanSources { request, ctx, filters, spares: Mutex::default(), opening: AtomicU64::new(0) }
    }

    /// What is asked of the sources.
    pub fn request(&self) -> &DataSourceRequest {
        &self.request
    }

    /// The surroundings of the operator.
    pub fn ctx(&self) -> &OperatorCtx {
        &self.ctx
    }

    fn connector(&self) -> Result<&Arc<dyn Connector>> {
        self.ctx.query.connectors.get(self.request.table.connector_id())
    }

    /// True when sources can be made on another thread than the one that reads them.
    pub fn can_prepare_ahead(&self) -> bool {
        self.connector().is_ok_and(|connector| connector.supports_preload())
    }

    /// A data source without a split.
    pub fn make(&self) -> Result<Box<dyn DataSource>> {
        let query = &self.ctx.query;
        let connector_ctx = Arc::new(ConnectorQueryCtx {
            pool: self.ctx.pool.clone(),
            evaluator: Arc::clone(&query.evaluator),
            session: query.session.clone(),
            cancel: self.ctx.stop.clone(),
        });
        let mut source = self.connector()?.data_source(self.request.clone(), &connector_ctx)?;
        if let (Some((channel, order)), Some(target)) =
            (self.filters.first(), source.dynamic_filters())
            && target.accepts(channel)
        {
            target.read_first(channel, order);
        }
        if let Some(listener) = &query.batch_listener {
            source.set_batch_listener(listener.0.clone());
        }
        Ok(source)
    }

    /// A split was opened, in this time.
    pub fn opened_in(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 8).clamp(1, u64::MAX / 8);
        // Two at once may forget one of both: this is a hint.
        let before = self.opening.load(Ordering::Relaxed);
        let mean = if before == 0 { nanos } else { (before - before / 8) + nanos / 8 };
        self.opening.store(mean, Ordering::Relaxed);
    }

    /// True when opening splits takes so little time that it is not worth another thread's.
    pub fn opens_quickly(&self) -> bool {
        let worth = self.ctx.query.config.split_preload_min_open_micros.saturating_mul(1_000);
        let lately = self.opening.load(Ordering::Relaxed);
        lately > 0 && lately < worth
    }

    /// A source that was put aside.
    pub fn take_spare(&self) -> Option<Box<dyn DataSource>> {
        self.spares.lock().sources.pop()
    }

    /// Drops what was put aside, and what will be.
    pub fn close(&self) {
        let dropped = {
            let mut spares = self.spares.lock();
            spares.closed = true;
            std::mem::take(&mut spares.sources)
        };
        drop(dropped);
    }

    /// The filters that are new since `seen`.
    pub fn new_filters(&self, seen: &mut SeenFilters) -> Option<Vec<(usize, Arc<Filter>)>> {
        self.filters.next_change(seen)
    }

    /// The wait for filters that joins will have before the scan begins (rule S12.14).
    pub fn until_filters(&self) -> Option<Continuation> {
        self.filters.wait_for_filters()
    }

    /// The nodes whose filters are tested here (rule S15.53).
    pub fn filter_producers(&self) -> Vec<PlanNodeId> {
        self.filters.producers()
    }

    /// Hands filters to the source of the operator; gives how many it accepted.
    pub fn install(
        &self,
        filters: Vec<(usize, Arc<Filter>)>,
        source: &mut dyn DataSource,
    ) -> Result<usize> {
        let accepted = install(filters, source)?;
        self.filters.installed(&accepted);
        Ok(accepted.len())
    }

    /// Hands the filters that are known by now to a source that is prepared ahead: its split may
    /// be left out by them. The operator's source hears of them itself.
    pub fn install_known_filters(&self, source: &mut dyn DataSource) -> Result<()> {
        install(self.filters.known(), source).map(drop)
    }
}

/// Hands filters to a source, together with those that the plan has put on the same columns, which
/// they replace (rules S12.9, S12.10); gives the channels that have one now.
fn install(filters: Vec<(usize, Arc<Filter>)>, source: &mut dyn DataSource) -> Result<Vec<usize>> {
    let mut accepted = Vec::new();
    let Some(target) = source.dynamic_filters() else { return Ok(accepted) };
    for (channel, filter) in filters {
        if !target.accepts(channel) {
            continue;
        }
        let merged = match target.static_filter(channel) {
            Some(own) => own.merge(&filter).map(Arc::new),
            None => Ok(filter),
        };
        // Filters of different kinds have no common form: the join tests again anyway.
        let Ok(merged) = merged else { continue };
        target.add_dynamic_filter(channel, merged)?;
        accepted.push(channel);
    }
    Ok(accepted)
}
