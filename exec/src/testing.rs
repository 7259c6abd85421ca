//! A connector for tests: its splits are scripts that define each read.
//!
//! Columns are lazy, like those of files. Reads are counted, and a read that blocks leaves its
//! promise for the test to fulfil.
//!
//! Tests that need an order between threads enforce it on machines of any speed: reads block until
//! the test resumes them, and the test runs all drivers until none can make progress
//! ([`run_until_all_wait`]).

use std::any::Any;
use std::time::{Duration, Instant};

use vector::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use vector::sync::{Arc, Mutex, Promise, promise};
use vector::{
    Buffer, DecodedVector, Error, LazyVector, MemoryPool, Result, RowSet, RowType, RowVector,
    SelectivityVector, Type, Value, ValueReader, Vector, VectorLoader, VectorRef,
};

use dwio::connector::{
    ColumnHandle, Connector, ConnectorQueryCtx, ConnectorSplit, DataSource, DataSourceRequest,
    DynamicFilters, SourcePoll, SourceProgress, TableHandle,
};
use dwio::filter::Filter;

use crate::Executor;
use crate::task::{Cursor, Poll};

/// Time limit for waits of tests; a wait that takes longer has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Waits until other threads have made the condition true.
pub(crate) fn eventually(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < LONG, "never: {what}");
        vector::sync::thread::yield_now();
    }
}

/// Waits until all threads of an executor are idle: all submitted jobs have ended or wait for an
/// external event.
pub(crate) fn until_idle(executor: &Executor) {
    eventually("the workers have nothing to do", || executor.usage().busy == 0);
}

/// Runs a task until each of its drivers waits for an external event. Returns the number of rows up
/// to then.
pub(crate) fn run_until_all_wait(executor: &Executor, cursor: &mut Cursor) -> usize {
    let mut rows = 0;
    loop {
        until_idle(executor);
        match cursor.poll().unwrap() {
            Poll::Batch(batch) => rows += batch.len(),
            Poll::Wait(until) if executor.usage().busy == 0 && !until.is_ready() => return rows,
            Poll::Wait(_) => {}
            Poll::Barrier | Poll::End => panic!("the rows have ended, and nobody waits"),
        }
    }
}

/// Effect of one read of a split.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Batch(RowVector),
    /// Blocks until the test fulfils the connector's next promise.
    Block,
    /// Returns no rows after this number of milliseconds.
    Sleep(u64),
    /// Returns no rows, repeatedly, until this is set.
    Until(Arc<AtomicBool>),
    Fail(&'static str),
    /// Panics without printing a message.
    Panic(&'static str),
    /// Returns one row of the table (k, v) with columns that panic when they are loaded.
    PanicLate(&'static str),
}

/// The reads of a split, in order.
#[derive(Debug)]
pub(crate) struct Script(pub(crate) Vec<Act>);

impl ConnectorSplit for Script {
    fn connector_id(&self) -> &str {
        "script"
    }
    fn describe(&self) -> String {
        format!("script of {}", self.0.len())
    }
    fn size_bytes(&self) -> u64 {
        0
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A table with or without support for dynamic filters.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) takes_filters: bool,
}

impl TableHandle for Table {
    fn connector_id(&self) -> &str {
        "script"
    }
    fn table_name(&self) -> &str {
        "t"
    }
    fn describe(&self) -> String {
        "t".into()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ColumnHandle for Table {
    fn column_name(&self) -> &str {
        "any"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A connector that creates a scripted data source for each scan.
#[derive(Debug, Default, Clone)]
pub(crate) struct ScriptConnector {
    pub(crate) promises: Arc<Mutex<Vec<Promise>>>,
    pub(crate) reads: Arc<AtomicUsize>,
    pub(crate) ahead: Option<Ahead>,
}

/// Callback that runs when a split is opened.
type Open = Arc<dyn Fn(&Script) -> Result<()> + Send + Sync>;

/// Behaviour of a connector with splits that can be prepared ahead.
#[derive(Clone)]
pub(crate) struct Ahead {
    /// Runs when a split is opened, on any thread.
    pub(crate) open: Open,
    /// Reference-counted witness; every data source holds one reference.
    pub(crate) sources: Arc<()>,
}

impl Ahead {
    pub(crate) fn new(open: impl Fn(&Script) -> Result<()> + Send + Sync + 'static) -> Self {
        Ahead { open: Arc::new(open), sources: Arc::new(()) }
    }

    /// Returns the number of data sources that are not dropped.
    pub(crate) fn num_sources(&self) -> usize {
        // One reference is here, and one in the connector of the query.
        Arc::strong_count(&self.sources) - 2
    }
}

impl std::fmt::Debug for Ahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ahead")
    }
}

impl ScriptConnector {
    /// Resumes all reads that are blocked now. Returns their number.
    pub(crate) fn unblock(&self) -> usize {
        let promises = std::mem::take(&mut *self.promises.lock());
        let num = promises.len();
        promises.into_iter().for_each(Promise::fulfil);
        num
    }
}

impl Connector for ScriptConnector {
    fn id(&self) -> &str {
        "script"
    }
    fn data_source(
        &self,
        request: DataSourceRequest,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>> {
        let table = request.table.as_any().downcast_ref::<Table>();
        Ok(Box::new(ScriptSource {
            output_type: request.output_type,
            raw_rows: 0,
            promises: Arc::clone(&self.promises),
            reads: Arc::clone(&self.reads),
            open: self.ahead.as_ref().map(|ahead| Arc::clone(&ahead.open)),
            _source: self.ahead.as_ref().map(|ahead| Arc::clone(&ahead.sources)),
            memory: Memory::of(&ctx.pool)?,
            takes_filters: table.is_some_and(|t| t.takes_filters),
            acts: Vec::new(),
            filters: Vec::new(),
        }))
    }

    fn supports_preload(&self) -> bool {
        self.ahead.is_some()
    }
}

/// A small allocation of a source, so that pools show which sources exist.
struct Memory(MemoryPool);

impl Memory {
    const BYTES: u64 = 100;

    fn of(pool: &MemoryPool) -> Result<Self> {
        pool.reserve(Self::BYTES)?;
        Ok(Memory(pool.clone()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.0.release(Self::BYTES);
    }
}

struct ScriptSource {
    output_type: Arc<RowType>,
    raw_rows: u64,
    promises: Arc<Mutex<Vec<Promise>>>,
    reads: Arc<AtomicUsize>,
    open: Option<Open>,
    _source: Option<Arc<()>>,
    memory: Memory,
    takes_filters: bool,
    acts: Vec<Act>,
    filters: Vec<(usize, Arc<Filter>)>,
}

/// Loads a column on first access, only for the requested rows.
struct Late(Type, VectorRef);

impl VectorLoader for Late {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let values = ValueReader::new(&self.1)?;
        let mut shown = vec![Value::Null; values.len()];
        rows.iter().for_each(|row| shown[row] = values.value(row));
        vector::build::vector_of(&self.0, &shown)
    }
}

/// Panics instead of loading a column.
struct PanicsLate(&'static str);

impl VectorLoader for PanicsLate {
    fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
        std::panic::resume_unwind(Box::new(self.0))
    }
}

impl ScriptSource {
    fn filtered(&self, batch: &RowVector) -> Result<RowVector> {
        let mut rows = SelectivityVector::all(batch.len());
        for (channel, filter) in &self.filters {
            filter.apply(&DecodedVector::new(batch.child(*channel)?)?, &mut rows)?;
        }
        let kept: Buffer<u32> = rows.iter().map(|row| row as u32).collect();
        let batch = batch.wrap(&kept);
        let late = batch.children().iter().map(|column| {
            let late = Late(column.ty().clone(), Arc::clone(column));
            Arc::new(Vector::Lazy(LazyVector::new(column.ty().clone(), batch.len(), late)))
        });
        RowVector::batch(Arc::clone(batch.row_type()), batch.len(), late.collect())
    }
}

impl DataSource for ScriptSource {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let script = split.as_any().downcast_ref::<Script>();
        let script = script.ok_or_else(|| Error::internal("another split"))?;
        if let Some(open) = &self.open {
            open(script)?;
        }
        self.acts = script.0.iter().rev().cloned().collect();
        Ok(())
    }

    fn take_over(&mut self, prepared: &mut dyn DataSource) -> Result<()> {
        let prepared: &mut dyn Any = prepared;
        let prepared = prepared.downcast_mut::<ScriptSource>();
        let prepared = prepared.ok_or_else(|| Error::internal("a source of another kind"))?;
        self.acts = std::mem::take(&mut prepared.acts);
        std::mem::swap(&mut self.memory, &mut prepared.memory);
        for (channel, filter) in std::mem::take(&mut prepared.filters) {
            if !self.filters.iter().any(|(known, _)| *known == channel) {
                self.filters.push((channel, filter));
            }
        }
        Ok(())
    }

    fn next(&mut self, _: usize) -> Result<SourcePoll> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        match self.acts.pop() {
            Some(Act::Batch(batch)) => {
                self.raw_rows += batch.len() as u64;
                Ok(SourcePoll::Batch(self.filtered(&batch)?))
            }
            Some(Act::Block) => {
                let (promise, continuation) = promise();
                self.promises.lock().push(promise);
                Ok(SourcePoll::Blocked(continuation))
            }
            Some(Act::Sleep(millis)) => {
                vector::sync::thread::sleep(std::time::Duration::from_millis(millis));
                Ok(SourcePoll::Batch(RowVector::empty(Arc::clone(&self.output_type))))
            }
            Some(Act::Until(set)) => {
                if !set.load(Ordering::SeqCst) {
                    self.acts.push(Act::Until(set));
                }
                Ok(SourcePoll::Batch(RowVector::empty(Arc::clone(&self.output_type))))
            }
            Some(Act::Fail(message)) => Err(Error::corrupt(message)),
            Some(Act::Panic(message)) => std::panic::resume_unwind(Box::new(message)),
            Some(Act::PanicLate(message)) => {
                self.raw_rows += 1;
                let column = |ty: &Type| {
                    let late = LazyVector::new(ty.clone(), 1, PanicsLate(message));
                    Arc::new(Vector::Lazy(late))
                };
                let columns = self.output_type.types().iter().map(column).collect();
                let output_type = Arc::clone(&self.output_type);
                Ok(SourcePoll::Batch(RowVector::batch(output_type, 1, columns)?))
            }
            None => Ok(SourcePoll::SplitDone),
        }
    }

    fn abandon_split(&mut self) {
        self.acts.clear();
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress { raw_rows: self.raw_rows, ..Default::default() }
    }

    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        if self.takes_filters { Some(self) } else { None }
    }
}

impl DynamicFilters for ScriptSource {
    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()> {
        self.filters.retain(|(known, _)| *known != channel);
        self.filters.push((channel, filter));
        Ok(())
    }
}
