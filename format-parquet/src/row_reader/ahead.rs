//! What the next row group will be read for, said while this one is decoded (rule P6.44).
//!
//! Files near at hand do nothing with it. Those far away have the bytes under way by the time that
//! the scan comes to them. Nothing is read here for certain: metadata may still leave the row group
//! out, and columns that do not filter wait for a row that passes.

use vector::sync::Arc;

use super::group::GroupScan;
use super::{CurrentGroup, ParquetRowReader};
use crate::page_index::RowRanges;
use crate::read_plan::ColumnFilter;

impl ParquetRowReader {
    /// Says what the next row group will be read for first: the columns that filter, or all when
    /// none does. What is wrong with it shows when it is read.
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
