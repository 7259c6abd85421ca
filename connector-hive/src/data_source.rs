//! The data source of one driver: splits in, batches of the scan's output type out.
//!
//! ```text
//! Idle --add_split--> Active --next() = SplitDone--> Idle
//!   any --abandon_split--> Idle        a failure --> Failed, until abandoned
//!
//! split reader -> batch of the reader's type -> remaining filter -> output columns, wrapped
//! ```
//!
//! A split that cannot have rows becomes Active without a reader; the next call ends it. What the
//! driver learned about filters stays from split to split.

use dwio::adaptation::ScanAdaptation;
use dwio::connector::{
    CompiledExpr, ConnectorQueryCtx, ConnectorSplit, DataSource, DataSourceRequest, DynamicFilters,
    ExpressionEvaluator, SourcePoll, SourceProgress,
};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::scan_spec::ColumnSource;
use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, Error, FlatValues, LazyVector, Result, RowSet, RowType, RowVector,
    SelectivityVector, Type, Vector, VectorLoader, VectorRef,
};

use crate::columns::ScanColumns;
use crate::file_handle::{FileAccess, Opener, ReadCounter, in_file};
use crate::handles::HiveTableHandle;
use crate::prune::{PartitionPredicate, fields_of};
use crate::pushdown::Pushdown;
use crate::scan_spec::ReadColumns;
use crate::split::HiveSplit;
use crate::split_reader::{OpenedSplit, ScannedBatch, SplitReader};

/// Reads the splits of one scan for one driver.
pub struct HiveDataSource {
    access: Arc<FileAccess>,
    ctx: Arc<ConnectorQueryCtx>,
    output_type: Arc<RowType>,
    columns: ReadColumns,
    split_terms: Option<PartitionPredicate>,
    remaining: Option<RemainingFilter>,
    adaptation: ScanAdaptation,
    state: State,
    counter: ReadCounter,
    raw_rows: u64,
    row_size: Option<u64>,
}

enum State {
    Idle,
    Active { path: String, reader: Option<SplitReader> },
    Failed,
}

impl HiveDataSource {
    /// The data source of a request.
    pub(crate) fn new(
        request: DataSourceRequest,
        access: Arc<FileAccess>,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Self> {
        let table = HiveTableHandle::of(request.table.as_ref())?;
        let columns = ScanColumns::new(&request, table)?;
        let evaluator = ctx.evaluator.as_ref();
        let pushdown = Pushdown::new(table, &columns, evaluator)?;
        let data_columns = table.data_columns().map(|d| d.as_ref());
        let columns = ReadColumns::new(&columns, &pushdown, data_columns)?;
        let split_terms = PartitionPredicate::from_terms(evaluator, &pushdown.split_terms)?;
        let remaining = match &pushdown.remaining {
            Some(filter) => Some(RemainingFilter::new(evaluator, filter, &columns.reader_type)?),
            None => None,
        };
        Ok(HiveDataSource {
            access,
            ctx: Arc::clone(ctx),
            output_type: request.output_type,
            adaptation: ScanAdaptation::new(columns.spec.columns().len()),
            columns,
            split_terms,
            remaining,
            state: State::Idle,
            counter: ReadCounter::default(),
            raw_rows: 0,
            row_size: None,
        })
    }

    fn open(&mut self, split: &HiveSplit) -> Result<Option<SplitReader>> {
        let ctx = &self.ctx;
        let opener = Opener { session: &ctx.session, pool: &ctx.pool, counter: &self.counter };
        let terms = self.split_terms.as_mut();
        let from = (self.access.as_ref(), opener);
        Ok(match SplitReader::open(split, &self.columns, terms, &self.adaptation, from)? {
            OpenedSplit::Ready(reader) => Some(reader),
            OpenedSplit::Excluded(_) => None,
        })
    }

    fn read(&mut self, max_rows: usize) -> Result<Option<RowVector>> {
        self.ctx.cancel.check()?;
        let reader = match &mut self.state {
            State::Active { reader: Some(reader), .. } => reader,
            State::Active { reader: None, .. } => return Ok(None),
            State::Idle => return Err(Error::internal("no split to read")),
            State::Failed => return Err(Error::internal("the split to read has failed before")),
        };
        let read = reader.next(max_rows.max(1), &mut self.adaptation)?;
        let Some(ScannedBatch { scanned, batch }) = read else { return Ok(None) };
        self.raw_rows += scanned as u64;
        self.row_size = reader.estimated_row_size().or(self.row_size);
        if batch.is_empty() {
            return Ok(Some(RowVector::empty(Arc::clone(&self.output_type))));
        }
        match &mut self.remaining {
            None => self.output(&batch, None).map(Some),
            Some(filter) => {
                let (batch, passed) = filter.apply(batch)?;
                self.output(&batch, passed).map(Some)
            }
        }
    }

    /// The output columns of a batch of the reader's type; `rows` picks rows, `None` all.
    fn output(&self, batch: &RowVector, rows: Option<RowSet>) -> Result<RowVector> {
        let num_rows = rows.as_ref().map_or(batch.len(), RowSet::len);
        if num_rows == 0 {
            return Ok(RowVector::empty(Arc::clone(&self.output_type)));
        }
        let indices = rows.map(|rows| rows.to_positions());
        let children = batch.children().iter().take(self.columns.num_outputs);
        let children = match &indices {
            None => children.cloned().collect(),
            Some(indices) => children.map(|child| picked(child, indices)).collect(),
        };
        RowVector::batch(Arc::clone(&self.output_type), num_rows, children)
    }

    /// Keeps the failure in mind and says in which file it happened, unless that is said already.
    fn failed(&mut self, error: Error) -> Error {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Active { path, .. } => in_file(error, &path),
            _ => error,
        }
    }
}

impl DataSource for HiveDataSource {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        if !matches!(self.state, State::Idle) {
            return Err(Error::internal("the previous split is not finished"));
        }
        let split = HiveSplit::of(split.as_ref())?;
        self.state = State::Active { path: split.path.clone(), reader: None };
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
                self.state = State::Idle;
                Ok(SourcePoll::SplitDone)
            }
            // Asking without a split is the caller's mistake and changes nothing here.
            Err(error) if matches!(self.state, State::Idle) => Err(error),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn abandon_split(&mut self) {
        self.state = State::Idle;
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress {
            raw_rows: self.raw_rows,
            raw_bytes: self.counter.bytes(),
            row_size: self.row_size,
        }
    }

    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        Some(self)
    }
}

impl DynamicFilters for HiveDataSource {
    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()> {
        let columns = self.columns.spec.columns();
        let at = columns.iter().position(|c| c.channel == Some(channel));
        let Some(at) = at.filter(|_| channel < self.columns.num_outputs) else {
            return Err(Error::internal("a dynamic filter for a column that the scan has not")
                .with("channel", channel));
        };
        if columns[at].source == ColumnSource::RowIndex {
            return Err(Error::unsupported("dynamic filters on row numbers are not built yet")
                .in_named("column", &columns[at].name));
        }
        self.adaptation.set_dynamic_filter(at, filter);
        // The file's columns are tested while reading; a constant of the current split decides
        // about all the rows that are left of it.
        if let State::Active { reader, .. } = &mut self.state
            && let Some(open) = reader
            && open.is_rejected(&self.adaptation)?
        {
            *reader = None;
        }
        Ok(())
    }
}

/// The condition that is evaluated on finished batches.
struct RemainingFilter {
    compiled: Box<dyn CompiledExpr>,
    /// The reader's columns that it uses.
    channels: Vec<usize>,
}

impl RemainingFilter {
    fn new(
        evaluator: &dyn ExpressionEvaluator,
        filter: &TypedExpr,
        reader_type: &Arc<RowType>,
    ) -> Result<Self> {
        let fields = fields_of(filter);
        let channels = fields.names().iter().filter_map(|name| reader_type.index_of(name));
        let channels = channels.collect();
        Ok(RemainingFilter { compiled: evaluator.compile(filter, reader_type)?, channels })
    }

    /// The batch with the columns that the filter used loaded, and the rows that passed; `None`
    /// when all did.
    fn apply(&mut self, batch: RowVector) -> Result<(RowVector, Option<RowSet>)> {
        // A lazy column can be loaded once only, and the expression may look at fewer rows of it
        // than will be given out (rule S6.12); so the filter's columns are loaded whole.
        let mut children = batch.children().to_vec();
        for channel in &self.channels {
            if let Some(child) = children.get_mut(*channel) {
                *child = Vector::loaded(child)?;
            }
        }
        let batch = RowVector::batch(Arc::clone(batch.row_type()), batch.len(), children)?;
        let outcome = self.compiled.evaluate(&batch, &SelectivityVector::all(batch.len()))?;
        let passed = rows_that_hold(&outcome, batch.len())?;
        let rows = (!passed.is_all()).then(|| passed.to_rows());
        Ok((batch, rows))
    }
}

/// The rows where a condition is true: neither false nor null (rule S6.38).
fn rows_that_hold(outcome: &VectorRef, num_rows: usize) -> Result<SelectivityVector> {
    if *outcome.ty() != Type::Boolean || outcome.len() < num_rows {
        return Err(Error::internal("a filter gave no truth value for each row")
            .with("type", outcome.ty())
            .with("values", outcome.len())
            .with("rows", num_rows));
    }
    let decoded = DecodedVector::new(outcome)?;
    if let (Vector::Flat(flat), true) = (outcome.as_ref(), outcome.len() == num_rows)
        && let FlatValues::Boolean(bits) = flat.values()
    {
        let mut selection = SelectivityVector::from_bitmap(bits);
        selection.deselect_nulls(flat.validity());
        return Ok(selection);
    }
    let mut selection = SelectivityVector::none(num_rows);
    for row in 0..num_rows {
        selection.set(row, !decoded.is_null(row) && decoded.boolean(row));
    }
    Ok(selection)
}

/// Rows `indices` of a column, without copying. A lazy column stays lazy and will be read for
/// these rows only.
fn picked(child: &VectorRef, indices: &Buffer<u32>) -> VectorRef {
    match child.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = PickedRows { column: lazy.clone(), indices: indices.clone() };
            Arc::new(Vector::Lazy(LazyVector::new(lazy.ty().clone(), indices.len(), loader)))
        }
        _ => Vector::wrap(child, indices),
    }
}

struct PickedRows {
    column: LazyVector,
    indices: Buffer<u32>,
}

impl VectorLoader for PickedRows {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let wanted = rows.iter().filter_map(|row| self.indices.get(row).copied()).collect();
        let column = self.column.load(&RowSet::from_positions(wanted))?;
        Ok(Vector::wrap(&column, &self.indices))
    }
}
