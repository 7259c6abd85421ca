//! Tests of hash joins of two scans whose splits contain batches.
//!
//! `model.rs` compares random joins with a model that compares all pairs, `filters.rs` tests
//! dynamic filters of scans, `replaced.rs` tests joins that exact filters make redundant and the
//! plans through which filters reach scans, `ends.rs` tests how joins wait, fail and stop.

mod ends;
mod filters;
mod model;
mod replaced;

use vector::sync::Arc;
use vector::{Result, RowType, RowVector, Type, Value, ValueReader};

use dwio::connector::{ColumnHandle, ConnectorRegistry};
use dwio::expr::TypedExpr;

use crate::Task;
use crate::expr::{ExecEvaluator, FunctionRegistry};
use crate::plan::{HashJoinNode, JoinType, PlanNode, TableScanNode};
use crate::query_ctx::QueryCtx;
use crate::stats::TaskStats;
use crate::testing::{Act, Script, ScriptConnector, Table, run_until_all_wait};

/// Returns a scan with columns `output_type` that accepts dynamic filters if `takes_filters`.
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

/// Returns a join of two sources on `left_keys` and `right_keys` with output columns `output`.
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

/// A running plan over the scans "l" and "r".
pub(super) struct Run {
    task: Task,
    connector: ScriptConnector,
    executor: Arc<crate::Executor>,
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
        Self::make(plan, drivers, left, right, change).unwrap()
    }

    fn make(
        plan: PlanNode,
        drivers: usize,
        left: Vec<Vec<Act>>,
        right: Vec<Vec<Act>>,
        change: impl FnOnce(&mut QueryCtx),
    ) -> Result<Self> {
        let connector = ScriptConnector::default();
        let mut connectors = ConnectorRegistry::new();
        connectors.register(Arc::new(connector.clone()));
        let functions = Arc::new(FunctionRegistry::builtin());
        let mut query = QueryCtx::new(Arc::new(ExecEvaluator::new(functions)), connectors);
        query.executor = Arc::new(crate::Executor::new(3));
        change(&mut query);
        let executor = Arc::clone(&query.executor);
        let task = Task::new(Arc::new(plan), Arc::new(query), drivers)?;
        for (id, splits) in [("l", left), ("r", right)] {
            for split in splits {
                task.add_split(id, Arc::new(Script(split))).unwrap();
            }
            task.no_more_splits(id).unwrap();
        }
        Ok(Run { task, connector, executor })
    }

    /// Returns all rows and the statistics of the task.
    fn rows(&self) -> Result<(Vec<Vec<Value>>, TaskStats)> {
        Self::rest(&mut self.task.start()?)
    }

    /// Like `rows`, but blocked reads continue only after all drivers wait, before any row is
    /// returned.
    fn rows_with_waits(&self) -> Result<(Vec<Vec<Value>>, TaskStats)> {
        let mut cursor = self.task.start()?;
        assert_eq!(run_until_all_wait(&self.executor, &mut cursor), 0);
        assert!(self.connector.unblock() > 0, "no read has blocked");
        Self::rest(&mut cursor)
    }

    fn rest(cursor: &mut crate::task::Cursor) -> Result<(Vec<Vec<Value>>, TaskStats)> {
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

/// Returns a batch of BIGINT columns.
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
