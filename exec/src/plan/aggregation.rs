//! The aggregation: groups of rows, and aggregates over each.

use std::fmt;

use vector::sync::Arc;
use vector::{RowType, Type};

use dwio::expr::TypedExpr;

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

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

impl NodeInfo for AggregationNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Aggregation"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
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

    /// A group is left out as a whole when the column is one of its keys.
    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        self.keys.get(channel).map_or(FilterOrigin::None, FilterOrigin::source)
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?} by ({})", self.step, self.keys.join(", "))?;
        for a in &self.aggregates {
            let args: Vec<String> = a.args.iter().map(ToString::to_string).collect();
            let distinct = if a.distinct { "distinct " } else { "" };
            write!(f, ", {} := {}({distinct}{})", a.name, a.function, args.join(", "))?;
            if let Some(mask) = &a.mask {
                write!(f, " filter {mask}")?;
            }
        }
        f.write_str("]")
    }
}
