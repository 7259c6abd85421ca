//! Plan nodes: describe a query as a tree.
//!
//! [`PlanNode`] is a closed enum, so that the compiler finds every place that must handle a new
//! node. Each node has an id that is unique in its plan, and an output type. Expressions refer to
//! columns by name, so column names are unique within one output type. All of this is checked when
//! a task is created from a plan (`exec/src/validate.rs`).

mod aggregation;
pub mod builder;
mod custom;
mod join;
mod leaf;
mod local;
mod node;
mod print;
mod row_wise;
mod single_row;
mod sort;
mod unnest;
mod write;

use vector::RowType;
use vector::sync::Arc;

pub use crate::ids::PlanNodeId;
pub use aggregation::{Aggregate, AggregationNode, AggregationStep};
pub(crate) use custom::check_custom;
pub use custom::{CustomNode, CustomOperatorCtx};
pub use join::{HashJoinNode, JoinType};
pub use leaf::{TableScanNode, ValuesNode};
pub use local::{LocalMergeNode, LocalPartitionNode, Partitioning};
pub use node::{FilterOrigin, NodeInfo, Parallelism};
pub use row_wise::{FilterNode, ProjectNode};
pub use single_row::EnforceSingleRowNode;
pub use sort::{LimitNode, OrderByNode, SortKey, TopNNode};
pub use unnest::UnnestNode;
pub use write::{RowWriter, TableWriteNode, WriteTarget, WriterPlace};

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
    /// A node of an embedder.
    Custom(Arc<dyn CustomNode>),
}

impl PlanNode {
    /// The node's properties. A new kind of node is registered here and in the enum; the compiler
    /// then names the places that have a rule for each kind.
    pub fn info(&self) -> &dyn NodeInfo {
        match self {
            PlanNode::TableScan(node) => node,
            PlanNode::Values(node) => node,
            PlanNode::Filter(node) => node,
            PlanNode::Project(node) => node,
            PlanNode::Aggregation(node) => node,
            PlanNode::OrderBy(node) => node,
            PlanNode::TopN(node) => node,
            PlanNode::Limit(node) => node,
            PlanNode::HashJoin(node) => node,
            PlanNode::Unnest(node) => node,
            PlanNode::LocalPartition(node) => node,
            PlanNode::LocalMerge(node) => node,
            PlanNode::EnforceSingleRow(node) => node,
            PlanNode::TableWrite(node) => node,
            PlanNode::Custom(node) => &**node,
        }
    }

    /// The node's id.
    pub fn id(&self) -> &PlanNodeId {
        self.info().id()
    }

    /// Returns the output columns of the node.
    pub fn output_type(&self) -> &Arc<RowType> {
        self.info().output_type()
    }

    /// Returns the main source of the node: the left source of a join, and the first one of several
    /// sources; `None` for leaves.
    pub fn source(&self) -> Option<&Arc<PlanNode>> {
        self.sources().next()
    }

    /// Returns all sources of the node, beginning with that of [`PlanNode::source`].
    pub fn sources(&self) -> impl Iterator<Item = &Arc<PlanNode>> {
        self.info().sources().into_iter()
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
        self.info().name()
    }
}
