//! Lazy columns: payload columns that are read when they are first accessed. A lazy vector can only
//! be loaded before its reader advances; a load of some rows reads only these and returns a vector
//! that has them at their positions (rules S10.41 to S10.45).
//!
//! ```text
//! window    0 1 2 3 4 5 6 7      rows of the row group from `row` on
//! passed    . x . x x . . x      the lazy vector's rows 0 1 2 3
//! wanted          1     3        requested from the lazy vector
//! read            3     7        decoded; the others are skipped
//! ```

use vector::sync::Arc;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{
    BufferMut, Error, Result, RowSet, SelectivityVector, Vector, VectorLoader, VectorRef, bits,
    select,
};

use super::column::SharedColumn;
use super::group::{Expected, GroupScan};

/// Reads a column of a window that has been scanned.
pub(super) struct ColumnLoader {
    pub(super) column: SharedColumn,
    pub(super) group: Arc<GroupScan>,
    /// The first row of the window, relative to the row group.
    pub(super) row: u64,
    /// The rows of the window that passed.
    pub(super) passed: Arc<SelectivityVector>,
    pub(super) expected: Expected,
    /// The reader's number of the window.
    pub(super) window: u64,
    /// The number of the reader's current window.
    pub(super) current_window: Arc<AtomicU64>,
}

impl VectorLoader for ColumnLoader {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let group = Arc::clone(&self.group);
        // The error may be reported far from the scan, so it states its own location.
        let here = |e: Error| {
            e.in_place("row group", group.number).in_named("file", group.pass.file.path())
        };
        let mut column = self.column.lock();
        // Checked under the lock: the reader counts its window before it advances a column.
        if self.current_window.load(Ordering::Acquire) != self.window {
            return Err(here(
                Error::internal("a lazy column was touched after its reader moved on")
                    .with("window", self.window),
            ));
        }
        let mut read = |selection: &SelectivityVector| {
            column.read_selected(&self.group, self.row, (selection, self.expected)).map_err(here)
        };
        let num_rows = self.passed.count();
        if rows.is_all(num_rows) {
            return read(&self.passed);
        }
        let asked = rows.to_words(num_rows);
        let mut words = Vec::new();
        bits::expand(&asked, self.passed.words(), &mut words);
        let mut wanted = SelectivityVector::all(self.passed.len());
        wanted.intersect_words(&words);
        let found = read(&wanted)?;
        // The requested rows get their rank as index; the others keep index 0, which is valid too.
        let mut indices = BufferMut::new();
        indices.extend((0..rows.len()).map_while(|rank| u32::try_from(rank).ok()));
        indices.resize(num_rows, 0u32);
        select::expand(indices.as_mut_slice(), &asked);
        Ok(Vector::wrap(&found, &indices.freeze()))
    }
}
