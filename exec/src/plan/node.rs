//! The interface of a plan node: what every reader of plans asks, whatever the kind of node.
//!
//! | question | asked by |
//! |---|---|
//! | id, name, output type, sources | everything that walks a plan |
//! | [`NodeInfo::parallelism`] | the division into pipelines (`exec/src/task/pipeline.rs`) |
//! | [`NodeInfo::filter_origin`] | joins and top-N that publish filters (`exec/src/operator/scan_targets.rs`) |
//! | [`NodeInfo::can_drain`] | barriers (`exec/src/task/drainable.rs`) |
//! | [`NodeInfo::write_details`] | printed plans |

use std::fmt;

use vector::RowType;
use vector::sync::Arc;

use super::{PlanNode, PlanNodeId};

/// The properties of a plan node.
pub trait NodeInfo: fmt::Debug + Send + Sync {
    /// The id, unique in the plan.
    fn id(&self) -> &PlanNodeId;

    /// The name in printed plans and in errors.
    fn name(&self) -> &'static str;

    /// The columns of the output.
    fn output_type(&self) -> &Arc<RowType>;

    /// The nodes whose rows the node reads, the probe side of a join first. Empty for a leaf.
    fn sources(&self) -> Vec<&Arc<PlanNode>>;

    /// How several drivers run the node.
    fn parallelism(&self) -> Parallelism;

    /// Where a filter on output column `channel` may be evaluated earlier, without changing any row
    /// that passes it. [`FilterOrigin::None`] is always right.
    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        let _ = channel;
        FilterOrigin::None
    }

    /// True if rows leave in the order in which they are read, and no other node can observe the
    /// order in which the scan below reads them.
    fn keeps_row_order(&self) -> bool {
        false
    }

    /// True if the node can return all rows before a barrier and begin anew after it.
    fn can_drain(&self) -> bool {
        false
    }

    /// Writes what the node does, in brackets, for printed plans.
    ///
    /// # Errors
    /// Those of `f`.
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[]")
    }
}

/// How several drivers run a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parallelism {
    /// A leaf with splits: as many drivers as the task has.
    Splits,
    /// A leaf that one driver runs.
    OneDriver,
    /// Looks at one batch at a time: runs in each driver of its first source.
    RowWise,
    /// Needs all rows in one driver.
    Gathered,
    /// The division into pipelines has a rule of its own for this kind of node.
    Special,
}

/// Where a filter on an output column of a node may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterOrigin<'a> {
    /// In the table scan itself.
    Scan,
    /// On this column of the first source.
    Source(&'a str),
    /// On the column of this name of every source.
    AllSources(&'a str),
    /// Nowhere else.
    None,
}

impl<'a> FilterOrigin<'a> {
    /// On column `name` of the first source.
    pub fn source(name: &'a (impl AsRef<str> + ?Sized)) -> Self {
        FilterOrigin::Source(name.as_ref())
    }
}
