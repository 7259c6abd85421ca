//! Finds the scans that produce a column, so that an operator can push filters down to them.
//!
//! ```text
//! HashProbe, TopN   column "k"
//!    |  Project: k := a            the column is traced while nodes forward it unchanged
//!    |  Filter, groups by "a", ..  (rule S12.6)
//!  UNION ALL                       to every source of an exchange
//!    |    \
//! TableScan  TableScan             output column "a"
//! ```
//!
//! A scan may skip a row that no consumer needs, as long as that changes no other row: a group
//! disappears as a whole when the column is one of its keys, but a row that is skipped below a limit
//! admits another one.

use vector::sync::Arc;

use super::scan_filters::ScanFilters;
use crate::plan::{FilterOrigin, PlanNode, PlanNodeId};

/// A scan that accepts dynamic filters on a column.
#[derive(Debug, Clone)]
pub struct ScanTarget {
    /// Filters that all drivers of the scan share.
    pub slot: Arc<ScanFilters>,
    /// Index of the scan's output column.
    pub channel: usize,
}

/// The scans below a node that produce one of its columns, each with its output column.
#[derive(Debug, Default)]
pub struct ColumnSources<'a> {
    /// Plan node and output column index of each scan.
    pub scans: Vec<(&'a PlanNodeId, usize)>,
    /// True when every row of the node comes from one of them.
    pub covers_all: bool,
    /// True when only nodes that keep the row order, such as filters and projections, are between
    /// the node and its one scan: no other operator observes the order of the rows.
    pub is_direct: bool,
}

impl<'a> ColumnSources<'a> {
    /// Returns the scans that produce column `name` of a node unchanged.
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
