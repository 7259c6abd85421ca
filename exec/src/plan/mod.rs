//! Plan nodes: describe a query as a tree.
//!
//! [`PlanNode`] is a closed enum, so that the compiler finds every place that must handle a new
//! node. Each node has an id that is unique in its plan, and an output type. Expressions refer to
//! columns by name, so column names are unique within one output type. All of this is checked when
//! a task is created from a plan (`validate.rs`).

pub mod builder;
mod join;
mod local;
mod print;
pub mod validate;
mod write;

use vector::compare::SortOrder;
use vector::sync::Arc;
use vector::{RowType, RowVector, Type};

use dwio::connector::{ColumnHandle, TableHandle};
use dwio::expr::TypedExpr;

pub use join::{HashJoinNode, JoinType};
pub use local::{
    EnforceSingleRowNode, LocalMergeNode, LocalPartitionNode, Partitioning, UnnestNode,
};

pub use write::{RowWriter, TableWriteNode, WriteTarget, WriterPlace};

/// Id of a node, unique in its plan.
pub type PlanNodeId = Arc<str>;

/// A plan node with all nodes below it.
#[derive(Debug, Clone)]
pub enum PlanNode {
    /// Returns the rows of a table; a leaf that receives splits.
    TableScan(TableScanNode),
    /// Returns constant rows of the plan; a leaf.
    Values(ValuesNode),
    /// Returns the rows for which a predicate is true.
    Filter(FilterNode),
    /// Evaluates expressions for each row.
    Project(ProjectNode),
    /// Groups rows and computes aggregates.
    Aggregation(AggregationNode),
    /// Sorts all rows.
    OrderBy(OrderByNode),
    /// Returns the first rows of the sort order.
    TopN(TopNNode),
    /// Returns a range of rows, in the order of the input.
    Limit(LimitNode),
    /// Joins the rows of two sources.
    HashJoin(HashJoinNode),
    /// Returns a row for each element of arrays and maps.
    Unnest(UnnestNode),
    /// Returns all rows of several sources, partitioned over drivers.
    LocalPartition(LocalPartitionNode),
    /// Merges the rows of several sorted sources.
    LocalMerge(LocalMergeNode),
    /// Returns the only row of a source, or a row of nulls when it has none.
    EnforceSingleRow(EnforceSingleRowNode),
    /// Writes all rows, and returns the counters of the writers.
    TableWrite(TableWriteNode),
}

/// See [`PlanNode::TableScan`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct TableScanNode {
    pub id: PlanNodeId,
    pub output_type: Arc<RowType>,
    pub table: Arc<dyn TableHandle>,
    /// Column handle of each output column, by output name.
    pub assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
}

/// See [`PlanNode::Values`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ValuesNode {
    pub id: PlanNodeId,
    pub output_type: Arc<RowType>,
    pub batches: Vec<RowVector>,
}

/// See [`PlanNode::Filter`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct FilterNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    /// BOOLEAN expression over the source's output; a row is dropped when it is false or null.
    pub predicate: TypedExpr,
}

/// See [`PlanNode::Project`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ProjectNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub output_type: Arc<RowType>,
    /// One expression for each output column, over the source's output.
    pub expressions: Vec<TypedExpr>,
}

/// Step of an aggregation that a node performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregationStep {
    /// From input rows to results.
    Single,
    /// From input rows to intermediate results.
    Partial,
    /// From intermediate results to fewer intermediate results.
    Intermediate,
    /// From intermediate results to results.
    Final,
}

/// One aggregate of an [`AggregationNode`].
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Name of the output column.
    pub name: String,
    /// Name of the function, one of
    /// [`aggregate_names`](crate::operator::aggregate::aggregate_names).
    pub function: Arc<str>,
    /// Arguments, which are columns of the source or constants; empty for `count(*)`. In an
    /// intermediate or final step the only argument is the intermediate column.
    pub args: Vec<TypedExpr>,
    /// Types of the arguments of the single or partial step.
    pub raw_types: Vec<Type>,
    /// Type of the result of this step.
    pub ty: Type,
    /// Whether equal argument values of a group are aggregated once.
    pub distinct: bool,
    /// BOOLEAN column of the source that selects the aggregated rows (FILTER). `None` in an
    /// intermediate or final step, because the step before has applied it.
    pub mask: Option<TypedExpr>,
}

/// See [`PlanNode::Aggregation`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct AggregationNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub step: AggregationStep,
    /// Names of the grouping columns of the source. Empty for one global group, which exists even
    /// without input rows.
    pub keys: Vec<String>,
    pub aggregates: Vec<Aggregate>,
    /// The keys, followed by the aggregates.
    pub output_type: Arc<RowType>,
}

/// A column to sort by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SortKey {
    pub column: String,
    pub order: SortOrder,
}

/// See [`PlanNode::OrderBy`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct OrderByNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub keys: Vec<SortKey>,
}

/// See [`PlanNode::TopN`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct TopNNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub keys: Vec<SortKey>,
    pub count: u64,
}

/// See [`PlanNode::Limit`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LimitNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub offset: u64,
    pub count: u64,
}

impl PlanNode {
    /// Returns the id of the node.
    pub fn id(&self) -> &PlanNodeId {
        match self {
            PlanNode::TableScan(n) => &n.id,
            PlanNode::Values(n) => &n.id,
            PlanNode::Filter(n) => &n.id,
            PlanNode::Project(n) => &n.id,
            PlanNode::Aggregation(n) => &n.id,
            PlanNode::OrderBy(n) => &n.id,
            PlanNode::TopN(n) => &n.id,
            PlanNode::Limit(n) => &n.id,
            PlanNode::HashJoin(n) => &n.id,
            PlanNode::Unnest(n) => &n.id,
            PlanNode::LocalPartition(n) => &n.id,
            PlanNode::LocalMerge(n) => &n.id,
            PlanNode::EnforceSingleRow(n) => &n.id,
            PlanNode::TableWrite(n) => &n.id,
        }
    }

    /// Returns the output columns of the node.
    pub fn output_type(&self) -> &Arc<RowType> {
        match self {
            PlanNode::TableScan(n) => &n.output_type,
            PlanNode::Values(n) => &n.output_type,
            PlanNode::Project(n) => &n.output_type,
            PlanNode::Aggregation(n) => &n.output_type,
            PlanNode::HashJoin(n) => &n.output_type,
            PlanNode::Unnest(n) => &n.output_type,
            PlanNode::LocalPartition(n) => &n.output_type,
            PlanNode::LocalMerge(n) => &n.output_type,
            PlanNode::TableWrite(n) => &n.output_type,
            PlanNode::EnforceSingleRow(n) => n.source.output_type(),
            PlanNode::Filter(n) => n.source.output_type(),
            PlanNode::OrderBy(n) => n.source.output_type(),
            PlanNode::TopN(n) => n.source.output_type(),
            PlanNode::Limit(n) => n.source.output_type(),
        }
    }

    /// Returns the main source of the node: the left source of a join, and the first one of several
    /// sources; `None` for leaves.
    pub fn source(&self) -> Option<&Arc<PlanNode>> {
        match self {
            PlanNode::TableScan(_) | PlanNode::Values(_) => None,
            PlanNode::Unnest(n) => Some(&n.source),
            PlanNode::LocalPartition(n) => n.sources.first(),
            PlanNode::LocalMerge(n) => n.sources.first(),
            PlanNode::EnforceSingleRow(n) => Some(&n.source),
            PlanNode::TableWrite(n) => Some(&n.source),
            PlanNode::Filter(n) => Some(&n.source),
            PlanNode::Project(n) => Some(&n.source),
            PlanNode::Aggregation(n) => Some(&n.source),
            PlanNode::OrderBy(n) => Some(&n.source),
            PlanNode::TopN(n) => Some(&n.source),
            PlanNode::Limit(n) => Some(&n.source),
            PlanNode::HashJoin(n) => Some(&n.left),
        }
    }

    /// Returns all sources of the node, beginning with that of [`PlanNode::source`].
    pub fn sources(&self) -> impl Iterator<Item = &Arc<PlanNode>> {
        let others = match self {
            PlanNode::HashJoin(n) => std::slice::from_ref(&n.right),
            PlanNode::LocalPartition(n) => n.sources.get(1..).unwrap_or_default(),
            PlanNode::LocalMerge(n) => n.sources.get(1..).unwrap_or_default(),
            _ => &[],
        };
        self.source().into_iter().chain(others)
    }

    /// Returns all scans of the plan, those of left sources first.
    pub fn scans(&self) -> Vec<&TableScanNode> {
        let mut scans = Vec::new();
        let mut rest = vec![self];
        while let Some(node) = rest.pop() {
            if let PlanNode::TableScan(scan) = node {
                scans.push(scan);
            }
            let at = rest.len();
            rest.extend(node.sources().map(AsRef::as_ref));
            rest[at..].reverse();
        }
        scans
    }

    /// Returns the name of the node's kind, as in printed plans.
    pub fn name(&self) -> &'static str {
        match self {
            PlanNode::TableScan(_) => "TableScan",
            PlanNode::Values(_) => "Values",
            PlanNode::Filter(_) => "Filter",
            PlanNode::Project(_) => "Project",
            PlanNode::Aggregation(_) => "Aggregation",
            PlanNode::OrderBy(_) => "OrderBy",
            PlanNode::TopN(_) => "TopN",
            PlanNode::Limit(_) => "Limit",
            PlanNode::HashJoin(_) => "HashJoin",
            PlanNode::Unnest(_) => "Unnest",
            PlanNode::LocalPartition(_) => "LocalPartition",
            PlanNode::LocalMerge(_) => "LocalMerge",
            PlanNode::EnforceSingleRow(_) => "EnforceSingleRow",
            PlanNode::TableWrite(_) => "TableWrite",
        }
    }
}
