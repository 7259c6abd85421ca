//! The aggregation: groups of rows, and aggregates over each.

use std::fmt;

use vector::sync::Arc;
use vector::{RowType, Type};

use dwio::expr::TypedExpr;

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

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
    /// The function, by its name in [`aggregate_names`](crate::operator::aggregate::aggregate_names).
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
