//! Tests of tasks: an evaluator of two functions and some that panic, and plans over scans with
//! scripted splits.
//!
//! `rows.rs` tests which rows are returned, `spread.rs` that the number of drivers does not change
//! them, `ends.rs` how tasks stop and fail, `waits.rs` what they wait for, `memory.rs` their
//! behaviour when memory is short, `states.rs` how drivers leave their threads, `cancels.rs`
//! cancellation at any point, `groups.rs` grouped execution, `barriers.rs` barriers between splits,
//! `custom.rs` plan nodes of an embedder,
//! `polls.rs` callers that poll, `panics.rs` panics, `stops.rs` loops that check the stop flag.

mod barriers;
mod cancels;
mod custom;
mod ends;
mod groups;
mod memory;
mod panics;
mod polls;
mod rows;
mod spread;
mod states;
mod stops;
mod waits;

use vector::build::vector_of;
use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, thread};
use vector::{
    DecodedVector, Error, ErrorKind, Result, RowSet, RowType, RowVector, SelectivityVector,
    SortOrder, Type, Value, Vector, VectorRef,
};

use dwio::connector::{
    ColumnHandle, CompiledExpr, Connector, ConnectorQueryCtx, ConnectorRegistry, ConnectorSplit,
    DataSource, DataSourceRequest, ExpressionEvaluator, SourcePoll, SourceProgress,
};
use dwio::expr::TypedExpr;

use super::*;
use crate::operator::aggregate::aggregate_call;
use crate::plan::builder::PlanBuilder;
use crate::plan::{HashJoinNode, JoinType, TableScanNode};
use crate::testing::{Act, LONG, Script, ScriptConnector, Table, run_until_all_wait, until_idle};

fn table_type() -> Arc<RowType> {
    Arc::new(RowType::new([("k", Type::BigInt), ("v", Type::BigInt)]))
}

fn table_rows(start: i64, end: i64) -> RowVector {
    let column = |f: fn(i64) -> i64| {
        let values: Vec<Value> = (start..end).map(|row| Value::BigInt(f(row))).collect();
        vector_of(&Type::BigInt, &values).unwrap()
    };
    let columns = vec![column(|row| row % 5), column(|row| row)];
    RowVector::batch(table_type(), (end - start) as usize, columns).unwrap()
}

/// A read of rows `start..end` of the table (k, v): k = row % 5, v = row.
fn read_rows(start: i64, end: i64) -> Act {
    Act::Batch(table_rows(start, end))
}

/// A read that returns no rows.
fn read_nothing() -> Act {
    Act::Batch(RowVector::empty(table_type()))
}

/// Compiles `gt(column, constant)`, `plus(column, constant)` and columns, all BIGINT.
#[derive(Debug)]
struct TinyEvaluator;

struct TinyExpr(TypedExpr, Arc<RowType>);

impl ExpressionEvaluator for TinyEvaluator {
    fn compile(&self, expr: &TypedExpr, input: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>> {
        if matches!(expr, TypedExpr::Call { name, .. } if &**name == "panic_early") {
            std::panic::resume_unwind(Box::new("a function has no types"));
        }
        Ok(Box::new(TinyExpr(expr.clone(), Arc::clone(input))))
    }

    fn is_deterministic(&self, _: &TypedExpr) -> bool {
        true
    }
}

impl CompiledExpr for TinyExpr {
    fn evaluate(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef> {
        let TypedExpr::Call { name, args, ty } = &self.0 else {
            return Err(Error::unsupported("only calls"));
        };
        if &**name == "panic" {
            std::panic::resume_unwind(Box::new("a function fails".to_string()));
        }
        let [TypedExpr::Field { name: column, .. }, TypedExpr::Constant { value, .. }] =
            args.as_slice()
        else {
            return Err(Error::unsupported("only calls of a column and a constant"));
        };
        let channel = self.1.index_of(column).unwrap();
        let input = DecodedVector::for_rows(batch.child(channel)?, &rows.to_rows())?;
        let constant = value.as_i64().unwrap();
        let mut results = vec![Value::Null; batch.len()];
        for row in rows.iter() {
            let value = input.value(row)?.as_i64().unwrap();
            results[row] = match &**name {
                "gt" => Value::Boolean(value > constant),
                _ => Value::BigInt(value + constant),
            };
        }
        vector_of(ty, &results)
    }
}

fn call(name: &str, column: &str, constant: i64, ty: Type) -> TypedExpr {
    let constant = TypedExpr::constant(Value::BigInt(constant), Type::BigInt);
    TypedExpr::call(name, vec![column_of(column), constant], ty)
}

fn column_of(name: &str) -> TypedExpr {
    TypedExpr::field(name, Type::BigInt)
}

fn scan() -> PlanBuilder {
    scan_of(false)
}

fn scan_of(takes_filters: bool) -> PlanBuilder {
    let handle = Arc::new(Table { takes_filters }) as Arc<dyn ColumnHandle>;
    let assignments = vec![("k".into(), Arc::clone(&handle)), ("v".into(), handle)];
    PlanBuilder::table_scan(table_type(), Arc::new(Table { takes_filters }), assignments)
}

/// Sorts the rows by `v`; the sort waits for memory.
fn by_value() -> PlanBuilder {
    scan().order_by(&[("v", SortOrder::default())])
}

/// Joins the scan "0" with the rows of a scan "r" that have the same `v`.
fn joined() -> PlanBuilder {
    let handle = Arc::new(Table { takes_filters: true }) as Arc<dyn ColumnHandle>;
    let right_type = Arc::new(RowType::new([("rk", Type::BigInt), ("rv", Type::BigInt)]));
    let names = right_type.names().iter();
    let right = PlanNode::TableScan(TableScanNode {
        id: "r".into(),
        table: Arc::new(Table { takes_filters: true }),
        assignments: names.map(|name| (name.clone(), Arc::clone(&handle))).collect(),
        output_type: right_type,
    });
    let join = PlanNode::HashJoin(HashJoinNode {
        id: "j".into(),
        join_type: JoinType::Inner,
        null_aware: false,
        left: scan().build(),
        right: Arc::new(right),
        left_keys: vec!["v".into()],
        right_keys: vec!["rv".into()],
        filter: None,
        output_type: table_type(),
    });
    PlanBuilder::from_node(Arc::new(join), 1)
}

fn query(connector: &ScriptConnector) -> Arc<QueryCtx> {
    let mut connectors = ConnectorRegistry::new();
    connectors.register(Arc::new(connector.clone()));
    let mut query = QueryCtx::new(Arc::new(TinyEvaluator), connectors);
    query.executor = Arc::new(crate::Executor::new(3));
    Arc::new(query)
}

struct Run {
    task: Task,
    connector: ScriptConnector,
    pool: vector::MemoryPool,
    executor: Arc<crate::Executor>,
}

impl Run {
    fn new(plan: PlanBuilder, drivers: usize, splits: Vec<Vec<Act>>) -> Self {
        Self::with(plan, drivers, splits, |_| {})
    }

    fn with(
        plan: PlanBuilder,
        drivers: usize,
        splits: Vec<Vec<Act>>,
        change: impl FnOnce(&mut QueryCtx),
    ) -> Self {
        Self::over(ScriptConnector::default(), plan, drivers, splits, change)
    }

    fn over(
        connector: ScriptConnector,
        plan: PlanBuilder,
        drivers: usize,
        splits: Vec<Vec<Act>>,
        change: impl FnOnce(&mut QueryCtx),
    ) -> Self {
        let mut query = QueryCtx::clone(&query(&connector));
        change(&mut query);
        let (pool, executor) = (query.pool.clone(), Arc::clone(&query.executor));
        let task = Task::new(plan.build(), Arc::new(query), drivers).unwrap();
        for split in splits {
            task.add_split("0", Arc::new(Script(split))).unwrap();
        }
        task.no_more_splits("0").unwrap();
        Run { task, connector, pool, executor }
    }

    fn rows(&self) -> Result<Vec<Vec<Option<i64>>>> {
        collect(&mut self.task.start()?)
    }

    /// Returns the number of rows when blocked reads resume only after all drivers are blocked.
    fn num_rows_with_waits(&self, cursor: &mut Cursor) -> usize {
        let rows = run_until_all_wait(&self.executor, cursor);
        assert!(self.connector.unblock() > 0, "no read has blocked");
        rows + collect(cursor).unwrap().len()
    }
}

fn collect(cursor: &mut Cursor) -> Result<Vec<Vec<Option<i64>>>> {
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next()? {
        assert!(batch.children().iter().all(vector::is_loaded));
        let columns: Vec<DecodedVector> =
            batch.children().iter().map(|c| DecodedVector::new(c).unwrap()).collect();
        for row in 0..batch.len() {
            rows.push(columns.iter().map(|c| c.value(row).unwrap().as_i64()).collect());
        }
    }
    assert!(cursor.next()?.is_none(), "the end stays the end");
    Ok(rows)
}

fn sorted(mut rows: Vec<Vec<Option<i64>>>) -> Vec<Vec<Option<i64>>> {
    rows.sort();
    rows
}

/// 1,000 rows in 10 splits of several reads each.
fn thousand_rows() -> Vec<Vec<Act>> {
    (0..10)
        .map(|s| {
            let start = s * 100;
            vec![read_rows(start, start + 30), read_nothing(), read_rows(start + 30, start + 100)]
        })
        .collect()
}

fn counts_and_sums() -> PlanBuilder {
    scan().aggregate(
        &["k"],
        vec![
            aggregate_call("n", "count", vec![], false).unwrap(),
            aggregate_call("s", "sum", vec![column_of("v")], false).unwrap(),
            aggregate_call("lo", "min", vec![column_of("v")], false).unwrap(),
        ],
    )
}
