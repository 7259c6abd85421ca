//! A builder for plans: one call per node, with ids that count up from the leaf.
//!
//! The builders of plans that are to be joined share a [`PlanIds`], so that all node ids differ:
//!
//! ```
//! use ocior_exec::plan::JoinType;
//! use ocior_exec::plan::builder::{JoinSpec, PlanIds};
//! use vector::sync::Arc;
//! use vector::{RowType, Type};
//!
//! let ids = PlanIds::default();
//! let rows = |column| ids.values(Arc::new(RowType::new([(column, Type::BigInt)])), vec![]);
//! let join = JoinSpec::new(JoinType::Inner, &[("a", "b")], &["a"]);
//! let plan = rows("a").hash_join(rows("b").limit(0, 5), join).build();
//! assert_eq!(&**plan.id(), "3");
//! ```
//!
//! A builder that is created without one has its own ids, from `0`.
//!
//! ```
//! use ocior_exec::plan::builder::PlanBuilder;
//! use vector::sync::Arc;
//! use vector::{RowType, RowVector};
//!
//! let rows = RowVector::batch(Arc::new(RowType::empty()), 3, Vec::new()).unwrap();
//! let plan = PlanBuilder::values(Arc::new(RowType::empty()), vec![rows]).limit(0, 2).build();
//! assert_eq!(plan.to_string().lines().next(), Some("-- Limit[1][2 from 0] -> "));
//! ```

use vector::sync::Arc;
use vector::sync::atomic::{AtomicU32, Ordering};
use vector::{Result, RowType, RowVector, SortOrder, Type};

use dwio::connector::{ColumnHandle, TableHandle};
use dwio::expr::TypedExpr;

use super::{
    Aggregate, AggregationNode, AggregationStep, EnforceSingleRowNode, FilterNode, HashJoinNode,
    JoinType, LimitNode, LocalPartitionNode, OrderByNode, Partitioning, PlanNode, PlanNodeId,
    ProjectNode, SortKey, TableScanNode, TopNNode, UnnestNode, ValuesNode,
};

/// Generator of plan node ids, shared by builders; each id is returned once.
#[derive(Debug, Clone, Default)]
pub struct PlanIds(Arc<AtomicU32>);

impl PlanIds {
    /// Creates a generator of ids from `first`.
    pub fn from(first: u32) -> Self {
        PlanIds(Arc::new(AtomicU32::new(first)))
    }

    /// Returns the next id.
    pub fn next(&self) -> PlanNodeId {
        self.0.fetch_add(1, Ordering::Relaxed).to_string().into()
    }

    /// Starts a plan like [`PlanBuilder::table_scan`], with the next id.
    pub fn table_scan(
        &self,
        output_type: Arc<RowType>,
        table: Arc<dyn TableHandle>,
        assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
    ) -> PlanBuilder {
        let id = self.next();
        self.above(PlanNode::TableScan(TableScanNode { id, output_type, table, assignments }))
    }

    /// Starts a plan like [`PlanBuilder::values`], with the next id.
    pub fn values(&self, output_type: Arc<RowType>, batches: Vec<RowVector>) -> PlanBuilder {
        let id = self.next();
        self.above(PlanNode::Values(ValuesNode { id, output_type, batches }))
    }

    /// Returns a builder for nodes above `node`.
    pub fn above(&self, node: PlanNode) -> PlanBuilder {
        PlanBuilder { node: Arc::new(node), ids: self.clone() }
    }
}

/// Parameters of a join of two builders; see [`HashJoinNode`].
#[derive(Debug, Clone)]
pub struct JoinSpec {
    join_type: JoinType,
    keys: Vec<(String, String)>,
    columns: Vec<String>,
    filter: Option<TypedExpr>,
    null_aware: bool,
}

impl JoinSpec {
    /// Creates the parameters of a join on pairs of a left and a right key, with the given output
    /// columns of either side; the last column of a semi project join is the match flag.
    pub fn new(join_type: JoinType, keys: &[(&str, &str)], columns: &[&str]) -> Self {
        JoinSpec {
            join_type,
            keys: keys.iter().map(|(left, right)| (left.to_string(), right.to_string())).collect(),
            columns: columns.iter().map(ToString::to_string).collect(),
            filter: None,
            null_aware: false,
        }
    }

    /// Returns the join with a filter, which must be true for a pair to match.
    pub fn with_filter(self, filter: TypedExpr) -> Self {
        JoinSpec { filter: Some(filter), ..self }
    }

    /// Returns the join with the null semantics of IN and NOT IN.
    pub fn null_aware(self) -> Self {
        JoinSpec { null_aware: true, ..self }
    }
}

/// A plan under construction, from the leaf to the root.
#[derive(Debug, Clone)]
pub struct PlanBuilder {
    node: Arc<PlanNode>,
    ids: PlanIds,
}

impl PlanBuilder {
    fn over(self, make: impl FnOnce(PlanNodeId, Arc<PlanNode>) -> PlanNode) -> Self {
        PlanBuilder { node: Arc::new(make(self.ids.next(), self.node)), ids: self.ids }
    }

    /// Starts a plan with a scan of the columns `output_type` of a table; its id is `0`.
    pub fn table_scan(
        output_type: Arc<RowType>,
        table: Arc<dyn TableHandle>,
        assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
    ) -> Self {
        PlanIds::default().table_scan(output_type, table, assignments)
    }

    /// Continues from an existing plan; the ids count up from `next_id`.
    pub fn from_node(node: Arc<PlanNode>, next_id: u32) -> Self {
        PlanBuilder { node, ids: PlanIds::from(next_id) }
    }

    /// Starts a plan with constant rows.
    pub fn values(output_type: Arc<RowType>, batches: Vec<RowVector>) -> Self {
        PlanIds::default().values(output_type, batches)
    }

    /// Returns a builder for nodes above `node`; the ids count up from `next_id`.
    pub fn above(node: PlanNode, next_id: u32) -> Self {
        PlanIds::from(next_id).above(node)
    }

    /// Keeps the rows for which `predicate` is true.
    pub fn filter(self, predicate: TypedExpr) -> Self {
        self.over(|id, source| PlanNode::Filter(FilterNode { id, source, predicate }))
    }

    /// Computes named expressions.
    pub fn project<N: Into<String>>(
        self,
        columns: impl IntoIterator<Item = (N, TypedExpr)>,
    ) -> Self {
        let (names, expressions): (Vec<String>, Vec<TypedExpr>) =
            columns.into_iter().map(|(name, expr)| (name.into(), expr)).unzip();
        let types = expressions.iter().map(|expr| expr.ty().clone());
        let output_type = Arc::new(RowType::new(names.into_iter().zip(types)));
        self.over(|id, source| {
            PlanNode::Project(ProjectNode { id, source, output_type, expressions })
        })
    }

    /// Groups by columns. A key that the source does not have gets type UNKNOWN and is rejected
    /// when the task is created.
    pub fn aggregate(self, keys: &[&str], aggregates: Vec<Aggregate>) -> Self {
        let input = Arc::clone(self.node.output_type());
        let type_of = |key: &str| input.type_of(key).cloned().unwrap_or(vector::Type::Unknown);
        let fields = keys.iter().map(|key| (key.to_string(), type_of(key)));
        let fields = fields.chain(aggregates.iter().map(|a| (a.name.clone(), a.ty.clone())));
        let output_type = Arc::new(RowType::new(fields));
        let keys = keys.iter().map(ToString::to_string).collect();
        self.over(|id, source| {
            let step = AggregationStep::Single;
            PlanNode::Aggregation(AggregationNode {
                id,
                source,
                step,
                keys,
                aggregates,
                output_type,
            })
        })
    }

    /// Sorts all rows.
    pub fn order_by(self, keys: &[(&str, SortOrder)]) -> Self {
        let keys = sort_keys(keys);
        self.over(|id, source| PlanNode::OrderBy(OrderByNode { id, source, keys }))
    }

    /// Keeps the first `count` rows of the sort order.
    pub fn top_n(self, keys: &[(&str, SortOrder)], count: u64) -> Self {
        let keys = sort_keys(keys);
        self.over(|id, source| PlanNode::TopN(TopNNode { id, source, keys, count }))
    }

    /// Keeps the rows `offset..offset + count`.
    pub fn limit(self, offset: u64, count: u64) -> Self {
        self.over(|id, source| PlanNode::Limit(LimitNode { id, source, offset, count }))
    }

    /// Expands the arrays and maps `unnested` into the columns `names`, and repeats the
    /// `replicated` columns.
    ///
    /// # Errors
    /// The errors of [`UnnestNode::new`].
    pub fn unnest(self, replicated: &[&str], unnested: &[&str], names: &[&str]) -> Result<Self> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let PlanBuilder { node, ids } = self;
        let (replicated, unnested, names) = (owned(replicated), owned(unnested), owned(names));
        let node = UnnestNode::new(ids.next(), node, replicated, unnested, names)?;
        Ok(ids.above(PlanNode::Unnest(node)))
    }

    /// Joins the rows of this builder, the probe side, with those of `right`. The ids of both must
    /// be from the same [`PlanIds`]. A column that neither side has gets type UNKNOWN and is
    /// rejected when the task is created.
    pub fn hash_join(self, right: PlanBuilder, join: JoinSpec) -> Self {
        let JoinSpec { join_type, keys, columns, filter, null_aware } = join;
        let right = right.node;
        let (of_left, of_right) = (self.node.output_type(), right.output_type());
        let has_match = join_type.gives_match();
        let last = columns.len().saturating_sub(1);
        let fields = columns.into_iter().enumerate().map(|(i, name)| {
            let ty = of_left.type_of(&name).or_else(|| of_right.type_of(&name));
            let ty = if has_match && i == last { Some(&Type::Boolean) } else { ty };
            let ty = ty.cloned().unwrap_or(Type::Unknown);
            (name, ty)
        });
        let output_type = Arc::new(RowType::new(fields));
        let (left_keys, right_keys) = keys.into_iter().unzip();
        self.over(|id, left| {
            PlanNode::HashJoin(HashJoinNode {
                id,
                join_type,
                null_aware,
                left,
                right,
                left_keys,
                right_keys,
                filter,
                output_type,
            })
        })
    }

    /// Returns all rows of this and the other plans. Their columns must be the same, and their ids
    /// must be from the same [`PlanIds`].
    ///
    /// # Errors
    /// `InvalidInput` when columns differ.
    pub fn union_all(self, others: Vec<PlanBuilder>) -> Result<Self> {
        let PlanBuilder { node, ids } = self;
        let others = others.into_iter().map(PlanBuilder::build);
        let sources = std::iter::once(node).chain(others).collect();
        let union = LocalPartitionNode::new(ids.next(), sources, Partitioning::RoundRobin)?;
        Ok(ids.above(PlanNode::LocalPartition(union)))
    }

    /// Requires the plan to return at most one row, and returns nulls for none.
    pub fn single_row(self) -> Self {
        self.over(|id, source| PlanNode::EnforceSingleRow(EnforceSingleRowNode { id, source }))
    }

    /// Returns the plan.
    pub fn build(self) -> Arc<PlanNode> {
        self.node
    }
}

fn sort_keys(keys: &[(&str, SortOrder)]) -> Vec<SortKey> {
    keys.iter()
        .map(|(column, order)| SortKey { column: column.to_string(), order: *order })
        .collect()
}
