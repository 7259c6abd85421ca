//! The scans that give a column, for whoever learns something about its values while they run.
//!
//! ```text
//! HashProbe, TopN   column "k"
//!    |  Project: k := a            the column is followed down while it is passed on unchanged
//!    |  Filter, groups by "a", ..  (rule S12.6)
//!  UNION ALL                       to every source of an exchange
//!    |    \
//! TableScan  TableScan             output column "a"
//! ```
//!
//! A row that nobody wants may be left out by the scan, as long as that changes no other row: groups
//! go as a whole when the column is one of their keys, but a row that does not count for a limit
//! lets another one in.

use vector::sync::Arc;

use dwio::expr::TypedExpr;

use super::scan_filters::ScanFilters;
use crate::plan::{PlanNode, PlanNodeId};

/// A scan that takes filters of a column.
#[derive(Debug, Clone)]
pub struct ScanTarget {
    /// The scan's slot.
    pub slot: Arc<ScanFilters>,
    /// The scan's output column.
    pub channel: usize,
}

/// The scans below a node that give one of its columns, each with its output column.
#[derive(Debug, Default)]
pub struct ColumnSources<'a> {
    /// The scans by their nodes.
    pub scans: Vec<(&'a PlanNodeId, usize)>,
    /// True when every row of the node comes from one of them.
    pub covers_all: bool,
    /// True when only filters and projections stand between the node and its one scan: nobody sees
    /// in which order rows come.
    pub is_direct: bool,
}

impl<'a> ColumnSources<'a> {
    /// The scans that give column `name` of a node unchanged.
    pub fn of(node: &'a PlanNode, name: &'a str) -> Self {
        let mut found = ColumnSources { is_direct: true, ..ColumnSources::default() };
        found.covers_all = found.follow(node, name);
        found
    }

    fn follow(&mut self, node: &'a PlanNode, name: &'a str) -> bool {
        let (mut node, mut name) = (node, name);
        loop {
            let channel = node.output_type().index_of(name);
            let Some(channel) = channel else { return false };
            self.is_direct &=
                matches!(node, PlanNode::TableScan(_) | PlanNode::Filter(_) | PlanNode::Project(_));
            match node {
                PlanNode::TableScan(scan) => {
                    self.scans.push((&scan.id, channel));
                    return true;
                }
                PlanNode::Filter(filter) => node = &filter.source,
                PlanNode::OrderBy(order_by) => node = &order_by.source,
                PlanNode::Project(project) => {
                    match project.expressions.get(channel) {
                        Some(TypedExpr::Field { name: inner, .. }) => name = inner,
                        _ => return false,
                    }
                    node = &project.source;
                }
                PlanNode::Aggregation(aggregation) => {
                    let Some(key) = aggregation.keys.get(channel) else { return false };
                    (node, name) = (&aggregation.source, key);
                }
                PlanNode::Unnest(unnest) => {
                    let Some(replicated) = unnest.replicated.get(channel) else { return false };
                    (node, name) = (&unnest.source, replicated);
                }
                // Not through joins that add rows whose key is null: those pass no scan.
                PlanNode::HashJoin(join)
                    if join.join_type.gives_left() && !join.join_type.gives_right_at_end() =>
                {
                    node = &join.left;
                }
                PlanNode::LocalPartition(_) | PlanNode::LocalMerge(_) => {
                    let mut covers_all = true;
                    for source in node.sources() {
                        covers_all &= self.follow(source, name);
                    }
                    return covers_all;
                }
                PlanNode::Values(_)
                | PlanNode::TopN(_)
                | PlanNode::Limit(_)
                | PlanNode::EnforceSingleRow(_)
                | PlanNode::TableWrite(_)
                | PlanNode::HashJoin(_) => return false,
            }
        }
    }
}
