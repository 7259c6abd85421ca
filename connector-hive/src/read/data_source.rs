//! The data source of one driver: takes splits and returns batches of the scan's output type.
//!
//! ```text
//! Idle --add_split--> Active --next() = SplitDone--> Idle
//!   any --abandon_split--> Idle        an error --> Failed, until abandoned
//! Idle --take_over(prepared)--> Active
//!
//! split reader -> batch of the reader's type -> remaining filter -> output columns, wrapped
//! ```
//!
//! A split that cannot have rows becomes Active without a reader; the next call ends it. Observed
//! costs of filters carry over from split to split.

use std::any::Any;
use std::time::Duration;

use dwio::adaptation::{FilterCost, ScanAdaptation};
use dwio::connector::{
    BatchListener, ConnectorQueryCtx, ConnectorSplit, DataSource, DataSourceRequest,
    DynamicFilters, EventSplit, FilterProgress, ScanBatchEvent, ScanDetails, SourcePoll,
    SourceProgress, TableHandle,
};
use dwio::filter::Filter;
use dwio::reader::{Payload, ReadRequest};
use dwio::scan_spec::{ColumnSource, ColumnSpec};
use vector::sync::Arc;
use vector::{Error, Metrics, Result, RowVector, SortOrder};

use crate::plan::columns::ScanColumns;
use crate::plan::prune::PartitionPredicate;
use crate::plan::pushdown::Pushdown;
use crate::plan::scan_spec::ReadColumns;
use crate::read::binding::ScanPlan;
use crate::read::file_handle::{FileAccess, Opener, ReadCounter, in_file};
use crate::read::outputs::Outputs;
use crate::read::remaining::RemainingFilter;
use crate::read::source_stats::SourceStats;
use crate::read::split_reader::{OpenedSplit, ScannedBatch, SplitOpener, SplitReader};
use crate::settings::ScanSettings;
use crate::split::hive_split::HiveSplit;
use crate::split::sample::RandomSkip;
use crate::split::synthesized_filters::check_synthesized_filters;
use crate::table::table_handle::HiveTableHandle;

/// Reads the splits of one scan for one driver.
pub(crate) struct HiveDataSource {
    access: Arc<FileAccess>,
    ctx: Arc<ConnectorQueryCtx>,
    plan: ScanPlan,
    pushdown: Pushdown,
    columns: ReadColumns,
    split_terms: Option<PartitionPredicate>,
    remaining: Option<RemainingFilter>,
    outputs: Outputs,
    sample: Option<RandomSkip>,
    adaptation: ScanAdaptation,
    state: State,
    counter: ReadCounter,
    stats: SourceStats,
    raw_rows: u64,
    row_size: Option<u64>,
    listener: Option<BatchListener>,
    /// Number of bytes read up to the last event.
    reported_bytes: u64,
}

enum State {
    Idle,
    Active { split: Box<HiveSplit>, reader: Option<Box<SplitReader>> },
    Failed,
}

impl HiveDataSource {
    /// Returns the data source of a request.
    pub(crate) fn new(
        request: DataSourceRequest,
        access: Arc<FileAccess>,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Self> {
        let table = HiveTableHandle::of(request.table.as_ref())?;
        let settings = ScanSettings::new(&access.connector_id, &access.config, &ctx.session)?;
        let columns = ScanColumns::new(&request, table)?;
        let evaluator = ctx.evaluator.as_ref();
        let pushdown = Pushdown::new(table, &columns, evaluator)?;
        let outputs = Outputs::new(Arc::clone(&request.output_type), &columns);
        let plan = ScanPlan { columns, table: table.clone(), settings };
        let data_columns = table.data_columns().map(|d| d.as_ref());
        let columns = ReadColumns::new(&plan.columns, &pushdown, data_columns)?;
        if plan.settings.lower_case_names {
            plan.check_lower_case(&columns, &pushdown)?;
        }
        let split_terms = PartitionPredicate::from_terms(evaluator, &pushdown.split_terms)?;
        let remaining = match &pushdown.remaining {
            Some(filter) => Some(RemainingFilter::new(evaluator, filter, &columns.reader_type)?),
            None => None,
        };
        let sample = match pushdown.sample_rate {
            rate if rate < 1.0 => Some(RandomSkip::new(rate, plan.settings.sample_seed)?),
            _ => None,
        };
        let adaptation = ScanAdaptation::new(columns.spec.columns().len())
            .keeping_order(plan.settings.keeps_filter_order);
        Ok(HiveDataSource {
            access,
            ctx: Arc::clone(ctx),
            plan,
            pushdown,
            outputs,
            sample,
            adaptation,
            columns,
            split_terms,
            remaining,
            state: State::Idle,
            counter: ReadCounter::default(),
            stats: SourceStats::default(),
            raw_rows: 0,
            row_size: None,
            listener: None,
            reported_bytes: 0,
        })
    }

    fn open(&mut self, split: &HiveSplit) -> Result<Option<Box<SplitReader>>> {
        // The assertions on synthesized columns are checked before anything else (rule S7.1).
        check_synthesized_filters(&self.pushdown.synthesized_filters, &self.plan.columns, split)?;
        self.stats.count_format(&split.format);
        self.stats.bucket_conversions += usize::from(split.bucket_conversion.is_some());
        let ctx = &self.ctx;
        let mut opener = SplitOpener {
            plan: &self.plan,
            columns: &self.columns,
            terms: self.split_terms.as_mut(),
            metadata_filter: self.pushdown.metadata_filter.as_ref(),
            adaptation: &self.adaptation,
            access: &self.access,
            opener: Opener {
                session: &ctx.session,
                pool: &ctx.pool,
                counter: &self.counter,
                coalescing: self.plan.settings.coalescing,
                cancel: Some(&ctx.cancel),
            },
        };
        match opener.open(split)? {
            OpenedSplit::Ready(reader) => {
                self.stats.processed_splits += 1;
                Ok(Some(reader))
            }
            OpenedSplit::Skipped(reason) => {
                self.stats.count_skipped(reason, self.access.split_bytes(split));
                Ok(None)
            }
            OpenedSplit::Empty => Ok(None),
        }
    }

    fn read(&mut self, max_rows: usize) -> Result<Option<RowVector>> {
        self.ctx.cancel.check()?;
        let reader = match &mut self.state {
            State::Active { reader: Some(reader), .. } => reader,
            State::Active { reader: None, .. } => return Ok(None),
            State::Idle => return Err(Error::internal("no split to read")),
            State::Failed => return Err(Error::internal("the split to read has failed before")),
        };
        // If the remaining filter passes most rows, reading all columns at once costs less.
        let payload = match &self.remaining {
            Some(remaining) if remaining.drops_rows() => Payload::Lazy,
            _ => Payload::Eager,
        };
        let (max_rows, adaptation) = (max_rows.max(1), &mut self.adaptation);
        let request = ReadRequest { max_rows, adaptation, payload };
        let read = reader.next(request, self.sample.as_mut())?;
        let Some(ScannedBatch { scanned, batch }) = read else { return Ok(None) };
        self.raw_rows += scanned as u64;
        self.row_size = reader.estimated_row_size().or(self.row_size);
        if batch.is_empty() {
            return Ok(Some(self.outputs.empty()));
        }
        let (batch, passed) = match &mut self.remaining {
            None => (batch, None),
            Some(filter) => filter.apply(batch)?,
        };
        if passed.as_ref().is_none_or(|rows| !rows.is_empty())
            && let Some(error) = reader.take_failure()
        {
            return Err(error);
        }
        self.outputs.of(&batch, passed).map(Some)
    }

    /// Releases the split and keeps the metrics of its reader.
    fn end_split(&mut self, next: State) -> State {
        let state = std::mem::replace(&mut self.state, next);
        if let State::Active { reader: Some(reader), .. } = &state {
            self.stats.add_reader(reader);
        }
        state
    }

    /// Drops the reader of a split if a dynamic filter rejects one of its constants: none of its
    /// remaining rows can pass.
    fn drop_rejected(&mut self) -> Result<()> {
        if let State::Active { reader, .. } = &mut self.state
            && let Some(open) = reader
            && open.is_rejected(&self.adaptation)?
        {
            self.stats.add_reader(open);
            *reader = None;
        }
        Ok(())
    }

    /// Enters the failed state and adds the file's name to the error if it does not have it.
    fn failed(&mut self, error: Error) -> Error {
        match self.end_split(State::Failed) {
            State::Active { split, .. } => in_file(error, &split.path),
            _ => error,
        }
    }

    /// Returns the index and the spec of an output column.
    fn output_column(&self, channel: usize) -> Option<(usize, &ColumnSpec)> {
        if channel >= self.columns.num_outputs {
            return None;
        }
        let mut columns = self.columns.spec.columns().iter().enumerate();
        columns.find(|(_, c)| c.channel == Some(channel))
    }
}

impl DataSource for HiveDataSource {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        if !matches!(self.state, State::Idle) {
            return Err(Error::internal("the previous split is not finished"));
        }
        let split = HiveSplit::of(split.as_ref())?;
        self.state = State::Active { split: Box::new(split.clone()), reader: None };
        let opened = self.open(split).map_err(|e| self.failed(e))?;
        if let State::Active { reader, .. } = &mut self.state {
            *reader = opened;
        }
        Ok(())
    }

    fn next(&mut self, max_rows: usize) -> Result<SourcePoll> {
        match self.read(max_rows) {
            Ok(Some(batch)) => Ok(SourcePoll::Batch(batch)),
            Ok(None) => {
                self.end_split(State::Idle);
                Ok(SourcePoll::SplitDone)
            }
            // A call without a split is a mistake of the caller and does not change the state.
            Err(error) if matches!(self.state, State::Idle) => Err(error),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn abandon_split(&mut self) {
        self.end_split(State::Idle);
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress {
            raw_rows: self.raw_rows,
            raw_bytes: self.counter.requested_bytes(),
            row_size: self.row_size,
        }
    }

    fn metrics(&self) -> Metrics {
        let time = self.remaining.as_ref().map(RemainingFilter::time).unwrap_or_default();
        let mut metrics = self.stats.metrics(time, &self.counter);
        if let State::Active { reader: Some(reader), .. } = &self.state {
            metrics.merge(&reader.metrics());
        }
        metrics
    }

    fn details(&self) -> ScanDetails {
        let columns = self.columns.spec.columns().iter().enumerate();
        let with_filter = columns.filter_map(|(i, column)| {
            let own = self.adaptation.dynamic_filter(i).or(column.filter.as_ref());
            let filter = match own {
                Some(filter) => format!("{} {}", column.name, filter.describe(&column.ty)),
                None if column.has_filter() => format!("{} by its members", column.name),
                None => return None,
            };
            let cost = self.adaptation.cost(i);
            let FilterCost { rows_in, rows_out, nanos } = cost;
            Some(FilterProgress { filter, rows_in, rows_out, nanos })
        });
        let mut filters: Vec<FilterProgress> = with_filter.collect();
        // A filter that has seen fewer rows was applied later.
        filters.sort_by_key(|filter| std::cmp::Reverse(filter.rows_in));
        if let (Some(remaining), Some(filter)) = (&self.remaining, &self.pushdown.remaining) {
            let (rows_in, rows_out) = remaining.rows();
            let nanos = u64::try_from(remaining.time().wall.as_nanos()).unwrap_or(u64::MAX);
            filters.push(FilterProgress { filter: filter.to_string(), rows_in, rows_out, nanos });
        }
        let mut details = ScanDetails { filters, ..self.stats.details().clone() };
        if let State::Active { reader: Some(reader), .. } = &self.state {
            details.merge(&reader.details());
        }
        details
    }

    /// Takes over the split of another data source of the same scan together with its metrics
    /// (rules S6.45, S6.46). Dynamic filters of this source are kept; those of the other one are
    /// added for columns that have none here. Each source has its own sampler, which does not
    /// change the rate.
    fn take_over(&mut self, prepared: &mut dyn DataSource) -> Result<()> {
        if !matches!(self.state, State::Idle) {
            return Err(Error::internal("the previous split is not finished"));
        }
        let prepared: &mut dyn Any = prepared;
        let Some(prepared) = prepared.downcast_mut::<HiveDataSource>() else {
            return Err(Error::internal("the prepared data source is of another kind"));
        };
        if prepared.columns.reader_type != self.columns.reader_type {
            return Err(Error::internal("the prepared data source is of another scan")
                .with("prepared", &prepared.columns.reader_type)
                .with("expected", &self.columns.reader_type));
        }
        // The open split keeps counting its reads in the counter with which it was opened.
        prepared.counter.absorb(&self.counter);
        self.counter = std::mem::take(&mut prepared.counter);
        self.stats.merge(&std::mem::take(&mut prepared.stats));
        self.state = std::mem::replace(&mut prepared.state, State::Idle);
        for i in 0..self.columns.spec.columns().len() {
            if let (None, Some(filter)) =
                (self.adaptation.dynamic_filter(i), prepared.adaptation.dynamic_filter(i))
            {
                self.adaptation.set_dynamic_filter(i, Arc::clone(filter));
            }
        }
        self.drop_rejected().map_err(|e| self.failed(e))
    }

    fn set_batch_listener(&mut self, listener: BatchListener) {
        self.listener = Some(listener);
    }

    fn batch_done(&mut self, num_rows: u64, wall: Duration) {
        let bytes = self.counter.bytes();
        let storage_bytes = bytes.saturating_sub(self.reported_bytes);
        self.reported_bytes = bytes;
        let Some(listener) = &self.listener else { return };
        let split = match &self.state {
            State::Active { split, .. } => Some(EventSplit {
                path: &split.path,
                format: split.format.name(),
                partition_keys: Some(&*split.partition_keys).filter(|keys| !keys.is_empty()),
            }),
            _ => None,
        };
        let table = &self.plan.table;
        listener(&ScanBatchEvent {
            num_rows,
            wall,
            storage_bytes,
            database: table.database(),
            table: table.table_name(),
            split,
        });
    }

    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        Some(self)
    }
}

impl DynamicFilters for HiveDataSource {
    fn accepts(&self, channel: usize) -> bool {
        let is_as_read =
            self.plan.columns.outputs().get(channel).is_some_and(|h| h.extractions().is_empty());
        let source = self.output_column(channel).map(|(_, column)| column.source);
        is_as_read && matches!(source, Some(ColumnSource::Regular | ColumnSource::Synthesized))
    }

    fn static_filter(&self, channel: usize) -> Option<Arc<Filter>> {
        self.output_column(channel).and_then(|(_, column)| column.filter.clone())
    }

    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()> {
        let Some((at, column)) = self.output_column(channel) else {
            return Err(Error::internal("a dynamic filter for a column that the scan has not")
                .with("channel", channel));
        };
        if !self.accepts(channel) {
            return Err(Error::internal("a dynamic filter for a column that is not of the files")
                .in_named("column", &column.name));
        }
        self.adaptation.set_dynamic_filter(at, filter);
        // Columns of the file are tested during reading. A constant of the current split is tested
        // here, since it decides for all remaining rows.
        self.drop_rejected()
    }

    fn read_first(&mut self, channel: usize, order: SortOrder) {
        let at = self.output_column(channel).map(|(at, _)| at);
        if let Some(at) = at {
            self.adaptation.read_first(at, order);
        }
    }
}
