//! The TableScan operator, which reads splits and produces batches.
//!
//! ```text
//! SplitSource --split--> DataSource --next(rows)--> batch
//!      ^  \--split and its preparation--^  |
//!      +--------- split_done <----- SplitDone
//! ```
//!
//! A split comes alone and is opened here, or it comes with a data source that was prepared ahead on
//! the I/O pool, whose split the scan's own data source takes over. The scan's data source keeps
//! its adaptive state from split to split. During the preparation the scan waits for its connector.
//!
//! | waits for | when |
//! |---|---|
//! | `WaitForScanScaleUp` | the memory limit does not admit this driver yet |
//! | `WaitForJoinBuild` | a join table that may publish a filter for the scan is not built yet |
//! | `WaitForSplit` | no split is available at present |
//! | `WaitForConnector` | the split is being prepared, or the data source reports a wait |
//! | `Yield` | no rows came for the time limit or a time slice, or the task requests its threads |
//!
//! At a barrier the scan returns nothing until its driver has passed it. When no consumer needs the
//! rows before a barrier, it reads one batch of each split and drops it (rules S11.32, S11.33).
//!
//! The number of rows to request is computed in `batch_size.rs`. A read that returns no rows is
//! repeated inside `get_output`; between reads the scan checks whether the task has stopped and
//! whether other drivers should run.

use std::time::{Duration, Instant};

use vector::sync::{Arc, Continuation};
use vector::{Error, Metrics, Result, ResultExt, RowType, RowVector};

use dwio::connector::{ConnectorSplit, DataSource, DataSourceRequest, SourcePoll};

use super::batch_size::BatchSize;
use super::loading::bytes_when_loaded;
use super::scan_filters::{ScanFilters, SeenFilters};
use super::scan_scale::ScanScaleUp;
use super::scan_source::ScanSources;
use super::{Operator, OperatorCtx, refuse_input};
use crate::blocking::{Blocked, BlockingReason};
use crate::control::threads::TaskThreads;
use crate::operator::scan_preloader::Preloader;
use crate::plan::TableScanNode;
use crate::preload::{SplitPreloader, SplitPreparation};
use crate::split_source::{SplitPoll, SplitSource, TakenSplit};
use crate::stats::{OperatorStats, ScanStats};
use crate::termination::Termination;

/// Reads the rows of a table, split by split.
pub struct TableScan {
    ctx: OperatorCtx,
    sources: Arc<ScanSources>,
    splits: Arc<dyn SplitSource>,
    preloader: Option<Preloader>,
    /// Index of this driver among those of the scan, and the object that admits it.
    scale_up: Option<(usize, Arc<ScanScaleUp>)>,
    seen_filters: SeenFilters,
    source: Option<Box<dyn DataSource>>,
    split: Option<Arc<dyn ConnectorSplit>>,
    /// Prepared data source of the current split until it is taken over.
    preparing: Option<Preparing>,
    blocked: Option<Blocked>,
    no_more_splits: bool,
    /// Number of the barrier at which the scan waits.
    barrier: Option<u64>,
    /// Number of the last barrier that the scan has passed.
    passed: u64,
    /// True when the consumer needs no rows from before the next barrier.
    dropping: bool,
    batch_size: BatchSize,
    /// Approximate size in bytes of the last non-empty batch once loaded; estimate for the next.
    batch_bytes: u64,
    time_limit: Option<Duration>,
    /// Requests that the driver leave its thread.
    threads: Option<Arc<TaskThreads>>,
    num_splits: u64,
    /// Number of rows that the data source had scanned when the split began.
    rows_before_split: u64,
    /// Metrics of this operator, besides those of its data source (rules S15.46 to S15.52).
    metrics: Metrics,
}

/// A data source whose preparation is complete or in progress.
struct Preparing {
    preparation: Arc<SplitPreparation>,
    since: Instant,
}

impl TableScan {
    /// A scan of `node` that takes its splits from `splits`, and filters from `filters` while it
    /// runs.
    pub fn new(
        node: &TableScanNode,
        splits: Arc<dyn SplitSource>,
        filters: Arc<ScanFilters>,
        ctx: OperatorCtx,
    ) -> Self {
        let config = &ctx.query.config;
        let limits =
            [config.table_scan_getoutput_time_limit_ms, config.driver_cpu_time_slice_limit_ms];
        let time_limit = limits.into_iter().filter(|limit| *limit > 0).min();
        let request = DataSourceRequest {
            output_type: Arc::clone(&node.output_type),
            table: Arc::clone(&node.table),
            assignments: node.assignments.clone(),
        };
        TableScan {
            batch_size: BatchSize::new(config),
            batch_bytes: 0,
            time_limit: time_limit.map(Duration::from_millis),
            threads: None,
            sources: Arc::new(ScanSources::new(request, ctx.clone(), filters)),
            splits,
            preloader: None,
            scale_up: None,
            seen_filters: SeenFilters::default(),
            source: None,
            split: None,
            preparing: None,
            blocked: None,
            no_more_splits: false,
            barrier: None,
            passed: 0,
            dropping: false,
            num_splits: 0,
            rows_before_split: 0,
            metrics: Metrics::new(),
            ctx,
        }
    }

    /// Has up to `quota` splits prepared ahead on the query's I/O pool, if the connector can do
    /// that (rule S13.1).
    pub fn with_preload(mut self, quota: usize, task: &Arc<Termination>) -> Self {
        if quota > 0 && self.sources.can_prepare_ahead() {
            let sources = Arc::clone(&self.sources);
            self.preloader = Some(Preloader::new(sources, Arc::clone(task), quota));
        }
        self
    }

    /// Makes the scan yield when `threads` requests it, also while no rows come.
    pub fn with_threads(mut self, threads: &Arc<TaskThreads>) -> Self {
        self.threads = Some(Arc::clone(threads));
        self
    }

    /// Delays the scan until `scale_up` admits driver number `driver`.
    pub fn with_scale_up(mut self, driver: usize, scale_up: Arc<ScanScaleUp>) -> Self {
        self.scale_up = Some((driver, scale_up));
        self
    }

    /// Returns the type of the columns that the scan produces.
    pub fn output_type(&self) -> &Arc<RowType> {
        &self.sources.request().output_type
    }

    fn block(&mut self, reason: BlockingReason, until: Continuation) {
        self.blocked = Some(Blocked::new(reason, until));
    }

    /// Takes the next split and opens it, or its prepared data source; returns false when none is
    /// available now.
    fn take_split(&mut self) -> Result<bool> {
        let preloader = self.preloader.as_ref().map(|p| p as &dyn SplitPreloader);
        let TakenSplit { split, preparation } =
            match self.splits.next_split(self.passed, preloader)? {
                SplitPoll::Split(taken) => taken,
                SplitPoll::Wait(until) => {
                    self.block(BlockingReason::WaitForSplit, until);
                    return Ok(false);
                }
                SplitPoll::Barrier(number) => {
                    self.barrier = Some(number);
                    if let Some((_, scale_up)) = &self.scale_up {
                        scale_up.wake();
                    }
                    return Ok(false);
                }
                SplitPoll::NoMore => {
                    self.end_splits();
                    return Ok(false);
                }
            };
        self.split = Some(Arc::clone(&split));
        self.num_splits += 1;
        let table = self.sources.request().table.connector_id();
        if split.connector_id() != table {
            return Err(Error::internal("a split of another connector than its table")
                .with("split", split.connector_id())
                .with("table", table));
        }
        let size = usize::try_from(split.size_bytes()).unwrap_or(usize::MAX);
        self.metrics.add_count("connectorSplitSize", size);
        self.rows_before_split = self.source()?.progress().raw_rows;
        if let Some(preparation) = preparation {
            self.metrics.add_count("preloadedSplits", 1);
            if preparation.has_value() {
                self.metrics.add_count("readyPreloadedSplits", 1);
            }
            self.preparing = Some(Preparing { preparation, since: Instant::now() });
            return Ok(true);
        }
        let start = Instant::now();
        let added = self.source()?.add_split(split);
        let time = start.elapsed();
        self.sources.opened_in(time);
        self.metrics.add_time("dataSourceAddSplitWallNanos", time);
        added.map(|()| true)
    }

    /// Takes over the data source prepared for the split, or prepares it here if no thread has
    /// begun; returns false when another thread is preparing it, and when the task has ended.
    fn take_over(&mut self) -> Result<bool> {
        let Some(Preparing { preparation, since }) = &self.preparing else { return Ok(true) };
        if let Some(until) = preparation.until_made() {
            self.block(BlockingReason::WaitForConnector, until);
            return Ok(false);
        }
        let prepared = preparation.take();
        let (waited, prepare_time) = (since.elapsed(), preparation.prepare_time());
        self.preparing = None;
        self.metrics.add_time("waitForPreloadSplitNanos", waited);
        let Some(prepared) = prepared? else {
            // No data source is created for a task that has ended.
            self.ctx.stop.check()?;
            return Err(Error::internal("the prepared data source is gone"));
        };
        self.metrics.add_time("preloadSplitPrepareTimeNanos", prepare_time.wall);
        prepared.hand_over(self.source()?.as_mut()).map(|()| true)
    }

    fn source(&mut self) -> Result<&mut Box<dyn DataSource>> {
        if self.source.is_none() {
            self.source = Some(self.sources.make()?);
        }
        self.source.as_mut().ok_or_else(|| Error::internal("a scan without its data source"))
    }

    /// Installs new filters in the data source.
    fn install_filters(&mut self) -> Result<()> {
        let Some(filters) = self.sources.new_filters(&mut self.seen_filters) else {
            return Ok(());
        };
        let sources = Arc::clone(&self.sources);
        let num_filters = sources.install(filters, self.source()?.as_mut())?;
        if num_filters > 0 {
            self.metrics.add_count("dynamicFiltersAccepted", num_filters);
        }
        Ok(())
    }

    /// Requests rows from the source, which has scanned `rows_before`, and reports the batch to it
    /// (rule S11.24).
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

    fn end_split(&mut self) -> Result<()> {
        self.split = None;
        self.splits.split_done();
        let had_rows = self.source()?.progress().raw_rows > self.rows_before_split;
        if let (Some((driver, scale_up)), true) = (&self.scale_up, had_rows) {
            scale_up.split_done(*driver, self.ctx.pool.peak());
        }
        Ok(())
    }

    /// Ends the split early, because no consumer needs the rest of it.
    fn abandon_split(&mut self) -> Result<()> {
        self.source()?.abandon_split();
        self.end_split()
    }

    /// Returns the wait for filters before the first read.
    fn until_filters(&self) -> Option<Continuation> {
        if self.num_splits > 0 { None } else { self.sources.until_filters() }
    }

    /// Returns the wait for this driver's turn to read. A barrier has to be passed in any case.
    fn turn(&self) -> Option<Continuation> {
        let (driver, scale_up) = self.scale_up.as_ref()?;
        let turn = scale_up.turn(*driver)?;
        (!self.splits.is_at_barrier(self.passed)).then_some(turn)
    }

    /// Wakes the drivers that were not started yet, because all splits are handed out.
    fn end_splits(&mut self) {
        self.no_more_splits = true;
        if let Some(running) = self.scale_up.as_ref().and_then(|(_, scale_up)| scale_up.close()) {
            self.metrics.add_count("numRunningScaleThreads", running);
        }
    }

    /// Returns true when other drivers should run, after reading without rows since `start`.
    fn should_yield(&self, start: Option<Instant>) -> bool {
        let is_asked = self.threads.as_ref().is_some_and(|threads| threads.is_asked());
        let is_over = |limit: Duration| start.is_some_and(|start| start.elapsed() >= limit);
        is_asked || self.time_limit.is_some_and(is_over)
    }

    fn read(&mut self) -> Result<Option<RowVector>> {
        let start = self.time_limit.map(|_| Instant::now());
        if let Some(until) = self.until_filters() {
            self.block(BlockingReason::WaitForJoinBuild, until);
            return Ok(None);
        }
        if let Some(turn) = self.turn() {
            self.block(BlockingReason::WaitForScanScaleUp, turn);
            return Ok(None);
        }
        loop {
            if self.no_more_splits || self.barrier.is_some() || self.ctx.stop.is_cancelled() {
                return Ok(None);
            }
            if self.should_yield(start) {
                self.block(BlockingReason::Yield, Continuation::ready());
                return Ok(None);
            }
            self.install_filters()?;
            if (self.split.is_none() && !self.take_split()?) || !self.take_over()? {
                return Ok(None);
            }
            let before = self.source()?.progress();
            let hint = self.split.as_ref().and_then(|split| split.batch_rows_hint());
            let num_rows = self.batch_size.rows(hint, before.row_size);
            match self.read_batch(num_rows, before.raw_rows)? {
                SourcePoll::Batch(batch) => {
                    self.batch_size.record(num_rows, batch.len());
                    if self.dropping {
                        self.abandon_split()?;
                        continue;
                    }
                    if !batch.is_empty() {
                        self.batch_bytes = bytes_when_loaded(&batch);
                        return Ok(Some(batch));
                    }
                }
                SourcePoll::Blocked(until) => {
                    self.block(BlockingReason::WaitForConnector, until);
                    return Ok(None);
                }
                SourcePoll::SplitDone => self.end_split()?,
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

    fn output_reservation(&self) -> u64 {
        if self.split.is_some() { self.batch_bytes } else { 0 }
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

    fn at_barrier(&self) -> Option<u64> {
        self.barrier
    }

    fn resume_after_barrier(&mut self) {
        self.passed = self.barrier.take().unwrap_or(self.passed);
        self.dropping = false;
    }

    fn discard_until_barrier(&mut self) {
        self.dropping = true;
    }

    fn reading(&self) -> Option<String> {
        self.split.as_ref().map(|split| split.describe())
    }

    fn add_stats(&self, stats: &mut OperatorStats) {
        stats.num_splits += self.num_splits;
        stats.metrics.merge(&self.metrics);
        if let Some(source) = &self.source {
            let progress = source.progress();
            stats.raw_rows += progress.raw_rows;
            stats.raw_bytes += progress.raw_bytes;
            stats.metrics.merge(&source.metrics());
            let table = self.sources.request().table.table_name().to_string();
            let filter_producers = self.sources.filter_producers();
            stats.scan = Some(ScanStats { table, details: source.details(), filter_producers });
        }
    }

    fn close(&mut self) {
        if let Some(Preparing { preparation, .. }) = self.preparing.take() {
            // A source that another thread is preparing is dropped when that thread releases it.
            preparation.cancel();
        }
        if let Some(source) = &mut self.source
            && self.split.take().is_some()
        {
            source.abandon_split();
        }
        self.source = None;
        self.sources.close();
        self.end_splits();
    }
}
