//! TableScan: splits in, batches out.
//!
//! ```text
//! SplitSource --split--> DataSource --next(rows)--> batch
//!      ^                                |
//!      +------- split_done <---- SplitDone
//! ```
//!
//! How many rows are asked for (rules S11.21 to S11.25): as many as fill a batch by the source's
//! estimate of a row, more when filters drop most of what is read:
//!
//! | known | rows |
//! |---|---|
//! | override set | the override, as it is |
//! | row size, of this source or an earlier file | preferred bytes / row size, up to the maximum |
//! | nothing | what was asked last, at first the preferred rows |
//!
//! divided by the greatest share of asked rows that ever came back, at least a quarter.
//!
//! A read that gives no rows is repeated inside of `get_output`; between reads the scan looks
//! whether the task has stopped and whether others should run.

use std::time::{Duration, Instant};

use vector::sync::{Arc, Continuation};
use vector::{Error, Metrics, Result, ResultExt, RowType, RowVector};

use dwio::connector::{
    ConnectorQueryCtx, ConnectorSplit, DataSource, DataSourceRequest, SourcePoll,
};

use super::scan_filters::{ScanFilters, SeenFilters};
use super::{Blocked, BlockingReason, Operator, OperatorCtx, SplitPoll, SplitSource, refuse_input};
use crate::plan::TableScanNode;
use crate::query_ctx::QueryConfig;
use crate::stats::{OperatorStats, ScanStats};

/// The greatest factor by which filters enlarge a read, as a share of rows (rule S11.22).
const MIN_FILTERING_RATIO: f64 = 0.25;

/// Reads the rows of a table, split by split.
pub struct TableScan {
    ctx: OperatorCtx,
    request: DataSourceRequest,
    splits: Arc<dyn SplitSource>,
    /// Filters that others learn while the scan runs.
    filters: Arc<ScanFilters>,
    seen_filters: SeenFilters,
    source: Option<Box<dyn DataSource>>,
    split: Option<Arc<dyn ConnectorSplit>>,
    blocked: Option<Blocked>,
    no_more_splits: bool,
    batch_size: BatchSize,
    time_limit: Option<Duration>,
    num_splits: u64,
    /// What this operator counts beside its source (rules S15.46 to S15.48).
    metrics: Metrics,
}

impl TableScan {
    /// A scan of `node` that takes its splits from `splits`.
    pub fn new(node: &TableScanNode, splits: Arc<dyn SplitSource>, ctx: OperatorCtx) -> Self {
        let config = &ctx.query.config;
        let limit = config.table_scan_getoutput_time_limit_ms;
        TableScan {
            batch_size: BatchSize::new(config),
            time_limit: (limit > 0).then(|| Duration::from_millis(limit)),
            request: DataSourceRequest {
                output_type: Arc::clone(&node.output_type),
                table: Arc::clone(&node.table),
                assignments: node.assignments.clone(),
            },
            splits,
            filters: Arc::default(),
            seen_filters: SeenFilters::default(),
            source: None,
            split: None,
            blocked: None,
            no_more_splits: false,
            num_splits: 0,
            metrics: Metrics::new(),
            ctx,
        }
    }

    /// Takes filters from `filters` while running.
    pub fn with_filters(mut self, filters: Arc<ScanFilters>) -> Self {
        self.filters = filters;
        self
    }

    /// The columns that the scan gives.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.request.output_type
    }

    fn block(&mut self, reason: BlockingReason, until: Continuation) {
        self.blocked = Some(Blocked::new(reason, until));
    }

    /// Takes the next split and starts it; false when there is none now.
    fn take_split(&mut self) -> Result<bool> {
        let split = match self.splits.next_split()? {
            SplitPoll::Split(split) => split,
            SplitPoll::Wait(until) => {
                self.block(BlockingReason::WaitForSplit, until);
                return Ok(false);
            }
            SplitPoll::NoMore => {
                self.no_more_splits = true;
                return Ok(false);
            }
        };
        self.split = Some(Arc::clone(&split));
        self.num_splits += 1;
        let table = self.request.table.connector_id();
        if split.connector_id() != table {
            return Err(Error::internal("a split of another connector than its table")
                .with("split", split.connector_id())
                .with("table", table));
        }
        self.metrics.add_bytes("connectorSplitSize", split.size_bytes());
        let start = Instant::now();
        let added = self.source()?.add_split(split);
        self.metrics.add_time("dataSourceAddSplitWallNanos", start.elapsed());
        added.map(|()| true)
    }

    fn source(&mut self) -> Result<&mut Box<dyn DataSource>> {
        if self.source.is_none() {
            let query = &self.ctx.query;
            let connector = query.connectors.get(self.request.table.connector_id())?;
            let connector_ctx = Arc::new(ConnectorQueryCtx {
                pool: self.ctx.pool.clone(),
                evaluator: Arc::clone(&query.evaluator),
                session: query.session.clone(),
                cancel: self.ctx.stop.clone(),
            });
            self.source = Some(connector.data_source(self.request.clone(), &connector_ctx)?);
        }
        self.source.as_mut().ok_or_else(|| Error::internal("a scan without its data source"))
    }

    /// Hands filters that are new to the source, together with those that the plan has put on the
    /// same columns, which they replace (rules S12.9, S12.10).
    fn install_filters(&mut self) -> Result<()> {
        let Some(filters) = self.filters.next_change(&mut self.seen_filters) else {
            return Ok(());
        };
        let slot = Arc::clone(&self.filters);
        let mut num_filters = 0;
        if let Some(target) = self.source()?.dynamic_filters() {
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
                slot.accepted(channel);
                num_filters += 1;
            }
        }
        if num_filters > 0 {
            self.metrics.add_count("dynamicFiltersAccepted", num_filters);
        }
        Ok(())
    }

    /// Asks the source for rows of which `rows_before` were scanned already, and tells it of the
    /// batch (rule S11.24).
    fn read_batch(&mut self, num_rows: usize, rows_before: u64) -> Result<SourcePoll> {
        let start = Instant::now();
        let poll = self.source()?.next(num_rows);
        let wall = start.elapsed();
        self.metrics.add_time("dataSourceReadWallNanos", wall);
        let source = self.source()?;
        let scanned = source.progress().raw_rows.saturating_sub(rows_before);
        if let (Ok(SourcePoll::Batch(batch)), true) = (&poll, scanned > 0)
            && !batch.is_empty()
        {
            source.batch_done(scanned, wall);
        }
        poll
    }

    fn end_split(&mut self) {
        self.split = None;
        self.splits.split_done();
    }

    fn read(&mut self) -> Result<Option<RowVector>> {
        let start = self.time_limit.map(|_| Instant::now());
        loop {
            if self.no_more_splits || self.ctx.stop.is_cancelled() {
                return Ok(None);
            }
            if let (Some(limit), Some(start)) = (self.time_limit, start)
                && start.elapsed() >= limit
            {
                self.block(BlockingReason::Yield, Continuation::ready());
                return Ok(None);
            }
            self.install_filters()?;
            if self.split.is_none() && !self.take_split()? {
                return Ok(None);
            }
            let before = self.source()?.progress();
            let num_rows = self.batch_size.rows(before.row_size);
            match self.read_batch(num_rows, before.raw_rows)? {
                SourcePoll::Batch(batch) => {
                    self.batch_size.record(num_rows, batch.len());
                    if !batch.is_empty() {
                        return Ok(Some(batch));
                    }
                }
                SourcePoll::Blocked(until) => {
                    self.block(BlockingReason::WaitForConnector, until);
                    return Ok(None);
                }
                SourcePoll::SplitDone => self.end_split(),
            }
        }
    }
}

impl Operator for TableScan {
    fn needs_input(&self) -> bool {
        false
    }

    fn add_input(&mut self, _: RowVector) -> Result<()> {
        Err(refuse_input())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if self.blocked.is_some() {
            return Err(Error::internal("a scan was run before its wait was taken"));
        }
        match self.read() {
            Err(error) if self.split.is_some() => {
                let split = self.split.as_ref().map(|s| s.describe()).unwrap_or_default();
                Err(error).in_named("split", split)
            }
            other => other,
        }
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        self.blocked.take()
    }

    fn no_more_input(&mut self) {}

    fn is_finished(&self) -> bool {
        self.no_more_splits
    }

    fn reading(&self) -> Option<String> {
        self.split.as_ref().map(|split| split.describe())
    }

    fn add_stats(&self, stats: &mut OperatorStats) {
        stats.num_splits += self.num_splits;
        if let Some(source) = &self.source {
            let progress = source.progress();
            stats.raw_rows += progress.raw_rows;
            stats.raw_bytes += progress.raw_bytes;
            stats.metrics.merge(&self.metrics);
            stats.metrics.merge(&source.metrics());
            let table = self.request.table.table_name().to_string();
            let filter_producers = self.filters.producers();
            stats.scan = Some(ScanStats { table, details: source.details(), filter_producers });
        }
    }

    fn close(&mut self) {
        if let Some(source) = &mut self.source
            && self.split.take().is_some()
        {
            source.abandon_split();
        }
        self.source = None;
        self.no_more_splits = true;
    }
}

/// How many rows the next read asks for.
#[derive(Debug)]
struct BatchSize {
    max_rows: usize,
    preferred_bytes: u64,
    override_rows: usize,
    /// The size without regard to filters; lasts across splits (rule S11.23).
    rows: usize,
    row_size: Option<u64>,
    /// The greatest share of asked rows that came back; 0 before the first read.
    ratio: f64,
}

impl BatchSize {
    fn new(config: &QueryConfig) -> Self {
        BatchSize {
            max_rows: config.max_output_batch_rows,
            preferred_bytes: config.preferred_output_batch_bytes,
            override_rows: config.table_scan_output_batch_rows_override,
            rows: config.preferred_output_batch_rows,
            row_size: None,
            ratio: 0.0,
        }
    }

    fn rows(&mut self, estimate: Option<u64>) -> usize {
        if self.override_rows > 0 {
            return self.override_rows;
        }
        self.row_size = estimate.or(self.row_size);
        if let Some(row_size) = self.row_size {
            self.rows = match self.preferred_bytes.checked_div(row_size) {
                Some(rows) => usize::try_from(rows).unwrap_or(usize::MAX).clamp(1, self.max_rows),
                None => self.max_rows,
            };
        }
        if self.ratio > 0.0 {
            self.max_rows.min((self.rows as f64 / self.ratio) as usize)
        } else {
            self.rows
        }
    }

    fn record(&mut self, asked: usize, given: usize) {
        let share = given as f64 / asked.max(1) as f64;
        self.ratio = self.ratio.max(share).max(MIN_FILTERING_RATIO);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn reads_grow_fourfold_while_filters_drop_rows_and_shrink_when_they_do_not() {
        let mut size = BatchSize::new(&QueryConfig::default());
        assert_eq!(size.rows(None), 1_024);
        size.record(1_024, 0);
        assert_eq!(size.rows(None), 4_096);
        size.record(4_096, 2_048);
        assert_eq!(size.rows(None), 2_048);
        size.record(2_048, 2_048);
        assert_eq!(size.rows(None), 1_024);
    }

    #[test]
    fn a_row_size_fills_the_preferred_bytes_within_the_maximum_and_is_remembered() {
        let mut size = BatchSize::new(&QueryConfig::default());
        assert_eq!(size.rows(Some(10 << 10)), 1_024);
        assert_eq!(size.rows(None), 1_024);
        assert_eq!(size.rows(Some(1)), 10_000);
        assert_eq!(size.rows(Some(0)), 10_000);
        assert_eq!(size.rows(Some(u64::MAX)), 1);
    }

    #[test]
    fn an_override_is_taken_as_it_is() {
        let config =
            QueryConfig { table_scan_output_batch_rows_override: 50_000, ..Default::default() };
        let mut size = BatchSize::new(&config);
        size.record(100, 1);
        assert_eq!(size.rows(Some(8)), 50_000);
    }
}
