//! Joins of two scans whose splits hold batches, next to a model that compares all pairs.
//!
//! `model.rs` is the model and the random runs, `filters.rs` tests what scans are told, `ends.rs`
//! how joins wait, fail and stop.

mod ends;
mod filters;
mod model;

use std::any::Any;

use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, Mutex, Promise, promise};
use vector::{
    Buffer, DecodedVector, Error, LazyVector, Result, RowSet, RowType, RowVector,
    SelectivityVector, Type, Value, ValueReader, Vector, VectorLoader, VectorRef,
};

use dwio::connector::{
    ColumnHandle, Connector, ConnectorQueryCtx, ConnectorRegistry, ConnectorSplit, DataSource,
    DataSourceRequest, DynamicFilters, SourcePoll, SourceProgress, TableHandle,
};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;

use crate::Task;
use crate::expr::{ExecEvaluator, FunctionRegistry};
use crate::plan::{HashJoinNode, JoinType, PlanNode, TableScanNode};
use crate::query_ctx::QueryCtx;
use crate::stats::TaskStats;

/// What a split does at each read.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Batch(RowVector),
    /// Blocked until the test fulfils the connector's promise.
    Block,
    Fail(&'static str),
}

#[derive(Debug)]
struct Script(Vec<Act>);

impl ConnectorSplit for Script {
    fn connector_id(&self) -> &str {
        "batches"
    }
    fn describe(&self) -> String {
        format!("split of {}", self.0.len())
    }
    fn size_bytes(&self) -> u64 {
        0
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A table that takes dynamic filters or not.
#[derive(Debug)]
struct Table {
    takes_filters: bool,
}

impl TableHandle for Table {
    fn connector_id(&self) -> &str {
        "batches"
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

#[derive(Debug, Default, Clone)]
struct Batches {
    promises: Arc<Mutex<Vec<Promise>>>,
    reads: Arc<AtomicUsize>,
}

impl Connector for Batches {
    fn id(&self) -> &str {
        "batches"
    }
    fn data_source(
        &self,
        request: DataSourceRequest,
        _: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>> {
        let table = request.table.as_any().downcast_ref::<Table>();
        Ok(Box::new(Source {
            connector: self.clone(),
            takes_filters: table.is_some_and(|t| t.takes_filters),
            acts: Vec::new(),
            filters: Vec::new(),
        }))
    }
}

struct Source {
    connector: Batches,
    takes_filters: bool,
    acts: Vec<Act>,
    filters: Vec<(usize, Arc<Filter>)>,
}

/// Gives a column when it is first touched, for the rows that were asked for and no others.
struct Late(Type, VectorRef);

impl VectorLoader for Late {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let values = ValueReader::new(&self.1)?;
        let mut shown = vec![Value::Null; values.len()];
        rows.iter().for_each(|row| shown[row] = values.value(row));
        vector::build::vector_of(&self.0, &shown)
    }
}

impl Source {
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

impl DataSource for Source {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let script = split.as_any().downcast_ref::<Script>();
        let script = script.ok_or_else(|| Error::internal("another split"))?;
        self.acts = script.0.iter().rev().cloned().collect();
        Ok(())
    }

    fn next(&mut self, _: usize) -> Result<SourcePoll> {
        self.connector.reads.fetch_add(1, Ordering::SeqCst);
        match self.acts.pop() {
            Some(Act::Batch(batch)) => Ok(SourcePoll::Batch(self.filtered(&batch)?)),
            Some(Act::Block) => {
                let (promise, continuation) = promise();
                self.connector.promises.lock().push(promise);
                Ok(SourcePoll::Blocked(continuation))
            }
            Some(Act::Fail(message)) => Err(Error::corrupt(message)),
            None => Ok(SourcePoll::SplitDone),
        }
    }

    fn abandon_split(&mut self) {
        self.acts.clear();
    }

    fn progress(&self) -> SourceProgress {
        SourceProgress::default()
    }

    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        if self.takes_filters { Some(self) } else { None }
    }
}

impl DynamicFilters for Source {
    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()> {
        self.filters.retain(|(known, _)| *known != channel);
        self.filters.push((channel, filter));
        Ok(())
    }
}

/// A scan of columns `output_type`.
pub(super) fn scan(id: &str, output_type: &Arc<RowType>, takes_filters: bool) -> Arc<PlanNode> {
    let handle = Arc::new(Table { takes_filters }) as Arc<dyn ColumnHandle>;
    let assignments = output_type.names().iter().map(|n| (n.clone(), Arc::clone(&handle)));
    Arc::new(PlanNode::TableScan(TableScanNode {
        id: id.into(),
        output_type: Arc::clone(output_type),
        table: Arc::new(Table { takes_filters }),
        assignments: assignments.collect(),
    }))
}

/// A join of two sources by the keys `left_keys` and `right_keys` that gives `output`.
pub(super) fn join(
    join_type: JoinType,
    (left, right): (&Arc<PlanNode>, &Arc<PlanNode>),
    (left_keys, right_keys): (&[&str], &[&str]),
    output: &[&str],
) -> HashJoinNode {
    let names = |keys: &[&str]| keys.iter().map(ToString::to_string).collect();
    let fields = output.iter().map(|name| {
        let ty = left.output_type().type_of(name).or(right.output_type().type_of(name));
        (name.to_string(), ty.cloned().unwrap_or(Type::Boolean))
    });
    HashJoinNode {
        id: "j".into(),
        join_type,
        null_aware: false,
        left: Arc::clone(left),
        right: Arc::clone(right),
        left_keys: names(left_keys),
        right_keys: names(right_keys),
        filter: None,
        output_type: Arc::new(RowType::new(fields.collect::<Vec<_>>())),
    }
}

/// A running plan over scans "l" and "r".
pub(super) struct Run {
    task: Task,
    connector: Batches,
}

impl Run {
    fn new(plan: PlanNode, drivers: usize, left: Vec<Vec<Act>>, right: Vec<Vec<Act>>) -> Self {
        Self::with(plan, drivers, left, right, |_| {})
    }

    fn with(
        plan: PlanNode,
        drivers: usize,
        left: Vec<Vec<Act>>,
        right: Vec<Vec<Act>>,
        change: impl FnOnce(&mut QueryCtx),
    ) -> Self {
        let connector = Batches::default();
        let mut connectors = ConnectorRegistry::new();
        connectors.register(Arc::new(connector.clone()));
        let functions = Arc::new(FunctionRegistry::builtin());
        let mut query = QueryCtx::new(Arc::new(ExecEvaluator::new(functions)), connectors);
        query.executor = Arc::new(crate::Executor::new(3));
        change(&mut query);
        let task = Task::new(Arc::new(plan), Arc::new(query), drivers).unwrap();
        for (id, splits) in [("l", left), ("r", right)] {
            for split in splits {
                task.add_split(id, Arc::new(Script(split))).unwrap();
            }
            task.no_more_splits(id).unwrap();
        }
        Run { task, connector }
    }

    /// All rows, and what was counted.
    fn rows(&self) -> Result<(Vec<Vec<Value>>, TaskStats)> {
        let mut cursor = self.task.start()?;
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next()? {
            vector::check_batch(&batch)?;
            let columns: Vec<ValueReader> =
                batch.children().iter().map(ValueReader::new).collect::<Result<_>>()?;
            for row in 0..batch.len() {
                rows.push(columns.iter().map(|c| c.value(row)).collect());
            }
        }
        Ok((rows, cursor.stats()))
    }
}

/// Columns of BIGINTs as a batch.
pub(super) fn numbers(row_type: &Arc<RowType>, columns: &[&[i64]]) -> RowVector {
    let column = |values: &&[i64]| {
        let values: Vec<Value> = values.iter().map(|v| Value::BigInt(*v)).collect();
        vector::build::vector_of(&Type::BigInt, &values).unwrap()
    };
    let len = columns.first().map_or(0, |c| c.len());
    RowVector::batch(Arc::clone(row_type), len, columns.iter().map(column).collect()).unwrap()
}

pub(super) fn bigints(names: &[&str]) -> Arc<RowType> {
    Arc::new(RowType::new(names.iter().map(|n| (n.to_string(), Type::BigInt)).collect::<Vec<_>>()))
}

pub(super) fn less_than(a: &str, b: &str) -> TypedExpr {
    let args = [a, b].map(|name| TypedExpr::field(name, Type::BigInt)).into();
    TypedExpr::call("lt", args, Type::Boolean)
}
