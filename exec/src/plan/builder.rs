//! Building plans by hand: one call a node, ids counted up from the leaf.
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
use vector::{Result, RowType, RowVector, SortOrder};

use dwio::connector::{ColumnHandle, TableHandle};
use dwio::expr::TypedExpr;

use super::{
    Aggregate, AggregationNode, AggregationStep, EnforceSingleRowNode, FilterNode, LimitNode,
    OrderByNode, PlanNode, PlanNodeId, ProjectNode, SortKey, TableScanNode, TopNNode, UnnestNode,
    ValuesNode,
};

/// A plan under construction, from the leaf to the root.
#[derive(Debug, Clone)]
pub struct PlanBuilder {
    node: Arc<PlanNode>,
    next_id: u32,
}

impl PlanBuilder {
    fn leaf(make: impl FnOnce(PlanNodeId) -> PlanNode) -> Self {
        PlanBuilder { node: Arc::new(make("0".into())), next_id: 1 }
    }

    fn over(self, make: impl FnOnce(PlanNodeId, Arc<PlanNode>) -> PlanNode) -> Self {
        let id = self.next_id.to_string().into();
        PlanBuilder { node: Arc::new(make(id, self.node)), next_id: self.next_id + 1 }
    }

    /// A scan of the columns `output_type` of a table; its id is `0`.
    pub fn table_scan(
        output_type: Arc<RowType>,
        table: Arc<dyn TableHandle>,
        assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
    ) -> Self {
        Self::leaf(|id| PlanNode::TableScan(TableScanNode { id, output_type, table, assignments }))
    }

    /// Goes on from nodes that were made elsewhere; ids count up from `next_id`.
    pub fn from_node(node: Arc<PlanNode>, next_id: u32) -> Self {
        PlanBuilder { node, next_id }
    }

    /// Rows that the plan holds.
    pub fn values(output_type: Arc<RowType>, batches: Vec<RowVector>) -> Self {
        Self::leaf(|id| PlanNode::Values(ValuesNode { id, output_type, batches }))
    }

    /// Goes on above `node`; ids are counted up from `next_id`.
    pub fn above(node: PlanNode, next_id: u32) -> Self {
        PlanBuilder { node: Arc::new(node), next_id }
    }

    /// The rows for which `predicate` is true.
    pub fn filter(self, predicate: TypedExpr) -> Self {
        self.over(|id, source| PlanNode::Filter(FilterNode { id, source, predicate }))
    }

    /// Named expressions.
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

    /// Groups by columns; a key that the source has not keeps its place with type UNKNOWN and is
    /// refused when the plan is run.
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

    /// All rows in order.
    pub fn order_by(self, keys: &[(&str, SortOrder)]) -> Self {
        let keys = sort_keys(keys);
        self.over(|id, source| PlanNode::OrderBy(OrderByNode { id, source, keys }))
    }

    /// The first `count` rows in order.
    pub fn top_n(self, keys: &[(&str, SortOrder)], count: u64) -> Self {
        let keys = sort_keys(keys);
        self.over(|id, source| PlanNode::TopN(TopNNode { id, source, keys, count }))
    }

    /// The rows `offset..offset + count`.
    pub fn limit(self, offset: u64, count: u64) -> Self {
        self.over(|id, source| PlanNode::Limit(LimitNode { id, source, offset, count }))
    }

    /// Takes the arrays and maps `unnested` apart into columns `names`, beside `replicated` ones.
    pub fn unnest(self, replicated: &[&str], unnested: &[&str], names: &[&str]) -> Result<Self> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let PlanBuilder { node, next_id } = self;
        let id = next_id.to_string().into();
        let node = UnnestNode::new(id, node, owned(replicated), owned(unnested), owned(names))?;
        Ok(PlanBuilder { node: Arc::new(PlanNode::Unnest(node)), next_id: next_id + 1 })
    }

    /// The one row of the plan so far.
    pub fn single_row(self) -> Self {
        self.over(|id, source| PlanNode::EnforceSingleRow(EnforceSingleRowNode { id, source }))
    }

    /// The plan.
    pub fn build(self) -> Arc<PlanNode> {
        self.node
    }
}

fn sort_keys(keys: &[(&str, SortOrder)]) -> Vec<SortKey> {
    keys.iter()
        .map(|(column, order)| SortKey { column: column.to_string(), order: *order })
        .collect()
}
