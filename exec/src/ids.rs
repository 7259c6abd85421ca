//! Names of plan nodes, which plans, statistics and traces share.

use vector::sync::Arc;

/// The id of a plan node, unique in its plan.
pub type PlanNodeId = Arc<str>;
