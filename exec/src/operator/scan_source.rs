//! Creates the data sources of a scan and installs late filters in them.
//!
//! Shared by the scan operator and the split preparations for it, which may outlive the
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

/// Creates the data sources of one scan operator.
#[derive(Debug)]
pub struct ScanSources {
    request: DataSourceRequest,
    ctx: OperatorCtx,
    /// Dynamic filters that other operators publish while the scan runs.
    filters: Arc<ScanFilters>,
    spares: Mutex<Spares>,
    /// Recent time in nanoseconds to open a split; 0 before the first one.
    opening: AtomicU64,
}

/// Data sources whose split another one has taken over.
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
    /// Creates data sources for `request`, which take filters from `filters`.
    pub fn new(request: DataSourceRequest, ctx: OperatorCtx, filters: Arc<ScanFilters>) -> Self {
        ScanSources { request, ctx, filters, spares: Mutex::default(), opening: AtomicU64::new(0) }
    }

    /// Returns the request for which data sources are created.
    pub fn request(&self) -> &DataSourceRequest {
        &self.request
    }

    /// Returns the context of the operator.
    pub fn ctx(&self) -> &OperatorCtx {
        &self.ctx
    }

    fn connector(&self) -> Result<&Arc<dyn Connector>> {
        self.ctx.query.connectors.get(self.request.table.connector_id())
    }

    /// Returns true when data sources can be created on a thread other than the one that reads them.
    pub fn can_prepare_ahead(&self) -> bool {
        self.connector().is_ok_and(|connector| connector.supports_preload())
    }

    /// Creates a data source without a split.
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

    /// Records the time that opening a split took.
    pub fn opened_in(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 8).clamp(1, u64::MAX / 8);
        // Of two concurrent updates one may be lost; the value is only a hint.
        let before = self.opening.load(Ordering::Relaxed);
        let mean = if before == 0 { nanos } else { (before - before / 8) + nanos / 8 };
        self.opening.store(mean, Ordering::Relaxed);
    }

    /// Returns true when opening a split is so fast that another thread does not pay off.
    pub fn opens_quickly(&self) -> bool {
        let worth = self.ctx.query.config.split_preload_min_open_micros.saturating_mul(1_000);
        let lately = self.opening.load(Ordering::Relaxed);
        lately > 0 && lately < worth
    }

    /// Returns a data source that was put aside.
    pub fn take_spare(&self) -> Option<Box<dyn DataSource>> {
        self.spares.lock().sources.pop()
    }

    /// Drops the data sources that were put aside, now and later.
    pub fn close(&self) {
        let dropped = {
            let mut spares = self.spares.lock();
            spares.closed = true;
            std::mem::take(&mut spares.sources)
        };
        drop(dropped);
    }

    /// Returns the filters that are new since `seen`.
    pub fn new_filters(&self, seen: &mut SeenFilters) -> Option<Vec<(usize, Arc<Filter>)>> {
        self.filters.next_change(seen)
    }

    /// Returns the wait for the joins whose filters the first read needs (rule S12.14).
    pub fn until_filters(&self) -> Option<Continuation> {
        self.filters.wait_for_filters()
    }

    /// Returns the nodes whose filters are tested here (rule S15.53).
    pub fn filter_producers(&self) -> Vec<PlanNodeId> {
        self.filters.producers()
    }

    /// Installs filters in the operator's data source; returns how many it accepted.
    pub fn install(
        &self,
        filters: Vec<(usize, Arc<Filter>)>,
        source: &mut dyn DataSource,
    ) -> Result<usize> {
        let accepted = install(filters, source)?;
        self.filters.installed(&accepted);
        Ok(accepted.len())
    }

    /// Installs the present filters in a data source that is prepared ahead: they may exclude its
    /// split. The operator's own data source receives them separately.
    pub fn install_known_filters(&self, source: &mut dyn DataSource) -> Result<()> {
        install(self.filters.known(), source).map(drop)
    }
}

/// Installs filters in a data source, merged with the plan's filters of the same columns, which
/// they replace (rules S12.9, S12.10); returns the channels that have one now.
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
        // Filters of different kinds cannot be merged; the join tests the rows again anyway.
        let Ok(merged) = merged else { continue };
        target.add_dynamic_filter(channel, merged)?;
        accepted.push(channel);
    }
    Ok(accepted)
}
