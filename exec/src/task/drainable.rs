//! Which plans can be drained at a barrier.
//!
//! Not those with rows that the plan holds, which are read once; not joins, because filters that scans
//! have taken could not be retracted; not writes, because files end once.

use vector::sync::Arc;
use vector::{Error, Result};

use crate::plan::PlanNode;

/// `Unsupported` when a node of the plan cannot be drained, with its name.
pub(super) fn check_plan(plan: &Arc<PlanNode>) -> Result<()> {
    let mut rest = vec![plan];
    while let Some(node) = rest.pop() {
        if !node.info().can_drain() {
            return Err(Error::unsupported("a barrier in a plan with a node that cannot drain")
                .with("node", format!("{}[{}]", node.name(), node.id())));
        }
        rest.extend(node.sources());
    }
    Ok(())
}
