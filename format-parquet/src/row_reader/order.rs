//! The order in which row groups are read: that of the file, unless the query needs the first rows
//! in the order of a column (TopN).
//!
//! In that case the row group with the best bound is read first: once its rows are known, most of
//! the others are excluded by their statistics.

use std::cmp::Ordering;

use vector::{SortOrder, Value};

use super::ParquetRowReader;
use crate::schema::ColumnKind;
use crate::statistics::{TrustOptions, leaf_statistics};

impl ParquetRowReader {
    /// Sorts the row groups that are not started yet by the bounds of a column of the spec.
    pub(super) fn order_row_groups(&mut self, (index, order): (usize, SortOrder)) {
        let footer = &self.pass.footer;
        let bound = self.columns.iter().find(|column| column.index == index);
        let column = bound.and_then(|column| footer.schema.columns().get(column.ordinal));
        let Some(ColumnKind::Leaf(leaf)) = column.map(|column| &column.kind) else { return };
        let best = |number: usize| {
            let known = leaf_statistics(footer, number, *leaf, TrustOptions::default());
            if order.descending { known.max } else { known.min }
        };
        let row_groups = self.row_groups.by_ref();
        let mut ranked: Vec<_> = row_groups.map(|group| (best(group.0), group)).collect();
        ranked.sort_by(|(a, _), (b, _)| by_bound(a.as_ref(), b.as_ref(), order.descending));
        let row_groups: Vec<_> = ranked.into_iter().map(|(_, group)| group).collect();
        self.row_groups = row_groups.into_iter();
    }
}

/// Compares bounds; row groups without a bound come last.
fn by_bound(a: Option<&Value>, b: Option<&Value>, descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if descending => b.compare(a),
        (Some(a), Some(b)) => a.compare(b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}
