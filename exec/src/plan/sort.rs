//! Nodes that return rows in order, or a number of rows: ORDER BY, top-N and LIMIT.

use std::fmt;

use vector::sync::Arc;
use vector::{RowType, SortOrder};

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

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

/// Writes sort keys as plans print them.
pub(super) fn write_keys(f: &mut fmt::Formatter<'_>, keys: &[SortKey]) -> fmt::Result {
    f.write_str("[")?;
    for (i, key) in keys.iter().enumerate() {
        let separator = if i > 0 { ", " } else { "" };
        let direction = if key.order.descending { "DESC" } else { "ASC" };
        let nulls = if key.order.nulls_first { "FIRST" } else { "LAST" };
        write!(f, "{separator}{} {direction} NULLS {nulls}", key.column)?;
    }
    f.write_str("]")
}

impl NodeInfo for OrderByNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "OrderBy"
    }

    fn output_type(&self) -> &Arc<RowType> {
        self.source.output_type()
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        self.output_type().names().get(channel).map_or(FilterOrigin::None, FilterOrigin::source)
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_keys(f, &self.keys)
    }
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

impl NodeInfo for TopNNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "TopN"
    }

    fn output_type(&self) -> &Arc<RowType> {
        self.source.output_type()
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.count)?;
        write_keys(f, &self.keys)
    }
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

impl NodeInfo for LimitNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Limit"
    }

    fn output_type(&self) -> &Arc<RowType> {
        self.source.output_type()
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} from {}]", self.count, self.offset)
    }
}
