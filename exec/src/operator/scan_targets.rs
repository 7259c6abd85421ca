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

use super::scan_filters::ScanFilters;
use crate::plan::{FilterOrigin, PlanNode, PlanNodeId};

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
            self.is_direct &= node.info().keeps_row_order();
            match node.info().filter_origin(channel) {
                FilterOrigin::Scan => {
                    self.scans.push((node.id(), channel));
                    return true;
                }
                FilterOrigin::Source(column) => {
                    let Some(source) = node.source() else { return false };
                    (node, name) = (source, column);
                }
                FilterOrigin::AllSources(column) => {
                    let mut covers_all = true;
                    for source in node.sources() {
                        covers_all &= self.follow(source, column);
                    }
                    return covers_all;
                }
                FilterOrigin::None => return false,
            }
        }
    }
}
