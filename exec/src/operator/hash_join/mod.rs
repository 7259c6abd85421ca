//! Hash joins: one side in a table, the other looked up in it.
//!
//! ```text
//! right source --> HashBuild x n --parts--> [JoinTable] --filters of its keys--> scan of the left
//!                                               |
//! left source  --> HashProbe x m  <--table------+      waits for the table, then batch by batch:
//!                    keys --index--> first row each --chain--> pairs --filter--> output
//! ```
//!
//! | file | what |
//! |---|---|
//! | `layout.rs` | where columns come from |
//! | `bridge.rs` | the hand-over between the drivers of both sides |
//! | `build.rs` | the operator that collects rows; the last driver builds the table |
//! | `table.rs`, `index.rs`, `packing.rs` | the table: rows, from keys to rows, keys as numbers |
//! | `filters.rs` | filters that the table's keys make for the scan of the other side |
//! | `probe.rs`, `pairs.rs`, `answers.rs` | the operator that gives rows: pairs, and what a kind of join makes of rows with and without partner |
//!
//! No row is copied on the way out: columns of both sides are wrapped in dictionaries.

mod answers;
mod bridge;
mod build;
mod filters;
mod index;
mod layout;
mod packing;
mod pairs;
mod probe;
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

/// A join being run: what all of its operators share.
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
    /// A join of so many building and probing drivers, whose keys are told to `targets`.
    /// `Internal` when the plan makes no sense.
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
