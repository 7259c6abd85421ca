//! Nodes that look at one row at a time: filters and projections.

use std::fmt;

use vector::RowType;
use vector::sync::Arc;

use dwio::expr::TypedExpr;

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::Filter`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct FilterNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    /// BOOLEAN expression over the source's output; a row is dropped when it is false or null.
    pub predicate: TypedExpr,
}

impl NodeInfo for FilterNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Filter"
    }

    fn output_type(&self) -> &Arc<RowType> {
        self.source.output_type()
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::RowWise
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn keeps_row_order(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        self.output_type().names().get(channel).map_or(FilterOrigin::None, FilterOrigin::source)
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.predicate)
    }
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

impl NodeInfo for ProjectNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Project"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::RowWise
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn keeps_row_order(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        match self.expressions.get(channel) {
            Some(TypedExpr::Field { name, .. }) => FilterOrigin::source(name),
            _ => FilterOrigin::None,
        }
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "[";
        for (name, expr) in self.output_type.names().iter().zip(&self.expressions) {
            write!(f, "{separator}{name} := {expr}")?;
            separator = ", ";
        }
        f.write_str(if separator == "[" { "[]" } else { "]" })
    }
}
