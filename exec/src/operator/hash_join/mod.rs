//! Hash joins: the operators that build a hash table of the right source and probe it with the left
//! source.
//!
//! ```text
//! right source --> HashBuild x n --parts--> [JoinTable] --dynamic filters--> scan of the left
//!                                               |
//! left source  --> HashProbe x m  <--table------+      waits for the table, then for each batch:
//!                    keys --index--> head of each row --chain--> pairs --filter--> output
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `layout.rs` | the origin of each column |
//! | `bridge.rs` | the transfer of the table from the build drivers to the probe drivers |
//! | `build.rs` | the operator that collects build rows; the last build driver builds the table |
//! | `table.rs`, `index.rs`, `packing.rs` | the table, its index by key, normalized keys |
//! | `filters.rs` | the dynamic filters that the table's keys make for scans of the probe side |
//! | `probe.rs`, `pairs.rs` | the operator that returns output rows; pairs of rows, filtered |
//! | `semi_anti.rs` | the results of semi and anti joins |
//!
//! Output rows are not copied: columns of both sides are wrapped in dictionaries.

mod bridge;
mod build;
mod filters;
mod index;
mod layout;
mod packing;
mod pairs;
mod probe;
mod semi_anti;
mod table;

#[cfg(all(test, not(loom)))]
mod tests;

use vector::Result;
use vector::RowType;
use vector::sync::Arc;

use self::bridge::JoinBridge;
use self::layout::Layout;
use self::table::{BuildPart, JoinTable};
use crate::plan::{HashJoinNode, JoinType, PlanNodeId};
use crate::query_ctx::QueryConfig;

pub use self::build::HashBuild;
pub use self::filters::{KeyTargets, filter_keys};
pub use self::probe::HashProbe;

/// A running hash join: the state that all of its operators share.
#[derive(Debug)]
pub struct HashJoin {
    id: PlanNodeId,
    join_type: JoinType,
    null_aware: bool,
    layout: Layout,
    output_type: Arc<RowType>,
    left_type: Arc<RowType>,
    bridge: JoinBridge<BuildPart, JoinTable>,
    targets: Vec<KeyTargets>,
    string_filters: bool,
}

impl HashJoin {
    /// Creates a join of `builders` build drivers and `probers` probe drivers. The filters of its
    /// keys are published to `targets`, unless the configuration disables dynamic filters.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the plan node is inconsistent, `Unsupported` when no operator implements
    /// the join, and `Internal` when a column of the node does not exist in its sources.
    pub fn new(
        node: &HashJoinNode,
        (builders, probers): (usize, usize),
        targets: Vec<KeyTargets>,
        config: &QueryConfig,
    ) -> Result<Self> {
        let wanted = config.hash_probe_dynamic_filter_pushdown_enabled;
        let targets = if wanted { targets } else { Vec::new() };
        let layout = Layout::of(node)?;
        targets.iter().flat_map(|target| &target.scans).for_each(|scan| scan.slot.expect());
        Ok(HashJoin {
            id: Arc::clone(&node.id),
            join_type: node.join_type,
            null_aware: node.null_aware,
            layout,
            output_type: Arc::clone(&node.output_type),
            left_type: Arc::clone(node.left.output_type()),
            bridge: JoinBridge::new(builders, probers),
            targets,
            string_filters: config.hash_probe_string_dynamic_filter_pushdown_enabled,
        })
    }
}
