//! Row-group read-ahead: prefetches the next row group while the current one is decoded (rule
//! P6.44).
//!
//! Local files ignore the request. Remote files start to fetch the bytes, so that they have arrived
//! by the time the scan starts the row group. The prefetch is speculative: metadata may still prune
//! the row group, and columns without filters are only read for rows that pass.

use vector::sync::Arc;

use super::group::GroupScan;
use super::{CurrentGroup, ParquetRowReader};
use crate::page_index::RowRanges;
use crate::read_plan::ColumnFilter;

impl ParquetRowReader {
    /// Announces what is read first of the next row group: the columns with filters, or all columns
    /// when there are no filters. Errors are ignored here and occur again when the row group is
    /// read.
    pub(super) fn announce_next_row_group(&self, current: &CurrentGroup, filters: &[ColumnFilter]) {
        let Some(&(number, first_row)) = self.row_groups.as_slice().first() else { return };
        let Some(group) = self.pass.footer.row_groups().get(number) else { return };
        if !self.planner.may_be_read(&self.pass.footer, number, filters) {
            return;
        }
        let next = GroupScan {
            pass: Arc::clone(&self.pass),
            number,
            first_row,
            num_rows: group.num_rows,
            wanted: RowRanges::all(group.num_rows),
            offsets: Vec::new(),
        };
        let mut input = self.pass.file.reopened();
        let of_filters = current.filters.iter().map(|step| &step.column);
        let of_output = self.columns.iter().filter_map(|bound| bound.column.as_ref());
        let has_filters = !current.filters.is_empty();
        let columns = of_filters.chain(of_output.filter(|_| !has_filters));
        for column in columns {
            if column.lock().announce_later(&next, &mut input).is_err() {
                return;
            }
        }
        input.load_later();
    }
}
