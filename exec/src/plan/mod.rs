//! Plan nodes: what a query does, as a tree of descriptions.
//!
//! A closed sum, so that a new node is found by the compiler wherever plans are read. Every node
//! has an id that is unique in its plan and an output type; columns are named, and names are
//! unique within one output type, because expressions refer to columns by name. All of this is checked
//! when a task is made of a plan (`exec/src/validate.rs`).

pub mod builder;
mod join;
mod local;
mod print;

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

/// The name of a node, unique in its plan.
pub type PlanNodeId = Arc<str>;

/// A node and everything below it.
#[derive(Debug, Clone)]
pub enum PlanNode {
    /// Rows of a table; a leaf that receives splits.
    TableScan(TableScanNode),
    /// Rows that the plan itself holds; a leaf.
    Values(ValuesNode),
    /// The rows for which a predicate is true.
    Filter(FilterNode),
    /// Expressions over each row.
    Project(ProjectNode),
    /// Groups and aggregates.
    Aggregation(AggregationNode),
    /// All rows in order.
    OrderBy(OrderByNode),
    /// The first rows in order.
    TopN(TopNNode),
    /// A run of rows, in whatever order they come.
    Limit(LimitNode),
    /// Rows of two sources that belong together.
    HashJoin(HashJoinNode),
    /// A row for each element of arrays and maps.
    Unnest(UnnestNode),
    /// All rows of several sources, spread over drivers.
    LocalPartition(LocalPartitionNode),
    /// All rows of several sorted sources, in order.
    LocalMerge(LocalMergeNode),
    /// The one row of a source; nulls when there is none.
    EnforceSingleRow(EnforceSingleRowNode),
    /// What was counted while all rows were written.
    TableWrite(TableWriteNode),
}

/// See [`PlanNode::TableScan`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct TableScanNode {
    pub id: PlanNodeId,
    pub output_type: Arc<RowType>,
    pub table: Arc<dyn TableHandle>,
    /// The column handle of each output column, by output name.
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
    /// BOOLEAN over the source's output; null drops the row like false.
    pub predicate: TypedExpr,
}

/// See [`PlanNode::Project`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ProjectNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub output_type: Arc<RowType>,
    /// One for each output column, over the source's output.
    pub expressions: Vec<TypedExpr>,
}

/// Which part of an aggregation a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregationStep {
    /// Input rows to results.
    Single,
    /// Input rows to intermediate results.
    Partial,
    /// Intermediate results to fewer intermediate results.
    Intermediate,
    /// Intermediate results to results.
    Final,
}

/// One aggregate of an [`AggregationNode`].
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The output column's name.
    pub name: String,
    /// The function, as [`aggregate_names`](crate::operator::aggregate::aggregate_names) has it.
    pub function: Arc<str>,
    /// The arguments, columns of the source; none for `count(*)`. In an intermediate or final step
    /// the one argument is the intermediate column.
    pub args: Vec<TypedExpr>,
    /// The types of the arguments of the single or partial step.
    pub raw_types: Vec<Type>,
    /// The type of the result of this step.
    pub ty: Type,
    /// True when equal argument values of a group count once.
    pub distinct: bool,
    /// A BOOLEAN column of the source: only rows for which it is true count (FILTER). None in an
    /// intermediate or final step, whose input has it applied.
    pub mask: Option<TypedExpr>,
}

/// See [`PlanNode::Aggregation`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct AggregationNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    pub step: AggregationStep,
    /// Names of the source's columns to group by; empty for one global group, which exists also
    /// when there are no rows.
    pub keys: Vec<String>,
    pub aggregates: Vec<Aggregate>,
    /// The keys, then the aggregates.
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
    /// The node's id.
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

    /// The columns that the node gives.
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

    /// The node whose rows pass through this one, which is the left source of a join and the first
    /// one where there are any number; `None` for leaves.
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

    /// All nodes that feed this one, that of [`PlanNode::source`] first.
    pub fn sources(&self) -> impl Iterator<Item = &Arc<PlanNode>> {
        let others = match self {
            PlanNode::HashJoin(n) => std::slice::from_ref(&n.right),
            PlanNode::LocalPartition(n) => n.sources.get(1..).unwrap_or_default(),
            PlanNode::LocalMerge(n) => n.sources.get(1..).unwrap_or_default(),
            _ => &[],
        };
        self.source().into_iter().chain(others)
    }

    /// All scans of the plan, those of left sources first.
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

    /// The word that stands for the node in printed plans.
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
