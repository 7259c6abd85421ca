//! EnforceSingleRow: the one row of a source that must not have more (scalar subqueries).

use vector::RowType;
use vector::sync::Arc;

use super::{NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::EnforceSingleRow`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct EnforceSingleRowNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
}

impl NodeInfo for EnforceSingleRowNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "EnforceSingleRow"
    }

    fn output_type(&self) -> &Arc<RowType> {
        self.source.output_type()
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Gathered
    }

    fn can_drain(&self) -> bool {
        true
    }
}
