//! Which plans can be drained at a barrier.

use vector::sync::Arc;
use vector::{Error, Result};

use crate::plan::PlanNode;

/// `Unsupported` when a node of the plan cannot be drained, with its name.
pub(super) fn check_plan(plan: &Arc<PlanNode>) -> Result<()> {
    let mut rest = vec![plan];
    while let Some(node) = rest.pop() {
        match &**node {
            PlanNode::TableScan(_)
            | PlanNode::Filter(_)
            | PlanNode::Project(_)
            | PlanNode::Aggregation(_)
            | PlanNode::OrderBy(_)
            | PlanNode::TopN(_)
            | PlanNode::Limit(_)
            | PlanNode::Unnest(_)
            | PlanNode::LocalPartition(_)
            | PlanNode::LocalMerge(_)
            | PlanNode::EnforceSingleRow(_) => rest.extend(node.sources()),
            // Rows of the plan come once, and a table is made of all rows of a build side: filters
            // of its keys that scans were given could not be taken back. Files end once.
            PlanNode::Values(_) | PlanNode::HashJoin(_) | PlanNode::TableWrite(_) => {
                return Err(Error::unsupported(
                    "a barrier in a plan with a node that cannot drain",
                )
                .with("node", format!("{}[{}]", node.name(), node.id())));
            }
        }
    }
    Ok(())
}
