//! Plan nodes: what a query does, as a tree of descriptions.
//!
//! A closed sum, so that a new node is found by the compiler wherever plans are read. Every node
//! has an id that is unique in its plan and an output type; columns are named, and names are
//! unique within one output type, because expressions refer to columns by name. All of this is checked
//! when a task is made of a plan (`exec/src/validate.rs`).

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

    /// The columns of the node's output.
    pub fn output_type(&self) -> &Arc<RowType> {
        self.info().output_type()
    }

    /// The first of [`PlanNode::sources`]: the probe side of a join; `None` for leaves.
    pub fn source(&self) -> Option<&Arc<PlanNode>> {
        self.sources().next()
    }

    /// All nodes whose rows this one reads, the probe side of a join first.
    pub fn sources(&self) -> impl Iterator<Item = &Arc<PlanNode>> {
        self.info().sources().into_iter()
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

    /// The name of the node in printed plans.
    pub fn name(&self) -> &'static str {
        self.info().name()
    }
}
