//! Results of a running query.

use std::fmt;

use exec::{Canceller, Cursor, TaskStats};
use vector::sync::Arc;
use vector::{Result, RowType, RowVector};

use super::ScanFiles;
use crate::copy::CopyEnd;
use crate::sql::CatalogTable;

/// The batches of a running query, in the order in which they are produced. Dropping the result
/// cancels the query without waiting for its end; [`QueryResult::close`] waits.
///
/// Iteration returns batches until the end of the rows or the first error. Names of columns may
/// repeat, since they are those of the query.
pub struct QueryResult {
    row_type: Arc<RowType>,
    cursor: Cursor,
    /// Output files of a COPY, removed when this is dropped. Drivers that are still writing cannot
    /// create files after that, and the files that they have open are already unlinked.
    copy: Option<CopyEnd>,
    files: Vec<ScanFiles>,
    notes: Vec<String>,
    /// Tables of the query. They are held because they keep file metadata from planning available
    /// to the scans.
    tables: Vec<Arc<dyn CatalogTable>>,
    ended: bool,
}

impl QueryResult {
    pub(super) fn new(row_type: Arc<RowType>, cursor: Cursor) -> Self {
        let (files, tables) = (Vec::new(), Vec::new());
        let notes = Vec::new();
        QueryResult { row_type, copy: None, cursor, files, notes, tables, ended: false }
    }

    pub(super) fn with_files(
        self,
        files: Vec<ScanFiles>,
        tables: Vec<Arc<dyn CatalogTable>>,
    ) -> Self {
        let gaps = tables.iter().filter_map(|table| table.schema_gap());
        let notes = gaps.map(|gap| {
            format!(
                "the columns of {} are those of {}; others may have more \
                 (--set max_schema_files=N asks more of them)",
                gap.table, gap.files
            )
        });
        QueryResult { notes: notes.collect(), files, tables, ..self }
    }

    /// Returns the result of a COPY, whose rows are the counts of its writers.
    pub(super) fn of_copy(self, end: CopyEnd) -> Self {
        QueryResult { copy: Some(end), ..self }
    }

    /// Type of each batch.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }

    /// Returns the next batch with all columns loaded; `None` at the end of the rows. The first
    /// call runs a whole COPY.
    ///
    /// # Errors
    /// The error of the query; `Cancelled` after it was cancelled.
    pub fn next_batch(&mut self) -> Result<Option<RowVector>> {
        let Some(mut end) = self.copy.take() else { return self.next_rows() };
        while let Some(counts) = self.next_rows()? {
            end.add(&counts)?;
        }
        end.publish().map(Some)
    }

    fn next_rows(&mut self) -> Result<Option<RowVector>> {
        let Some(batch) = self.cursor.next()? else {
            self.tables.clear();
            return Ok(None);
        };
        // The plan's names are unique; those of the query may repeat.
        let (len, children) = (batch.len(), batch.children().to_vec());
        RowVector::batch(Arc::clone(&self.row_type), len, children).map(Some)
    }

    /// Returns a handle that cancels the query from another thread. The next batch is then a
    /// `Cancelled` error.
    pub fn canceller(&self) -> Canceller {
        self.cursor.canceller()
    }

    /// Cancels the query and blocks the thread until all of its resources are released.
    pub fn close(self) {
        self.cursor.close();
    }

    /// Statistics of the query's operators; complete after the last batch.
    pub fn stats(&self) -> TaskStats {
        self.cursor.stats()
    }

    /// Numbers of files of the query's scans, as planning determined them; empty for plans that the
    /// engine has not planned.
    pub fn files(&self) -> &[ScanFiles] {
        &self.files
    }

    /// Notes about the result for the user, such as that a table may have more columns.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns all batches that have rows.
    ///
    /// # Errors
    /// The first error of the query.
    pub fn collect_batches(self) -> Result<Vec<RowVector>> {
        self.filter(|batch| batch.as_ref().map_or(true, |b| !b.is_empty())).collect()
    }
}

impl Iterator for QueryResult {
    type Item = Result<RowVector>;

    fn next(&mut self) -> Option<Result<RowVector>> {
        if self.ended {
            return None;
        }
        let next = self.next_batch().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryResult").field("row_type", &self.row_type).finish_non_exhaustive()
    }
}
