//! The rows of a running query.

use std::fmt;

use exec::{Canceller, Cursor, TaskStats};
use vector::sync::Arc;
use vector::{Result, RowType, RowVector};

use super::ScanFiles;
use crate::copy::CopyEnd;
use crate::sql::CatalogTable;

/// The batches of a running query, in the order in which they come; dropping it stops the query, without
/// waiting for its end, and [`QueryResult::close`] waits.
///
/// Iterating gives batches until the rows are finished or one error was given. Names of columns
/// may repeat, since they are those that the query wrote.
pub struct QueryResult {
    row_type: Arc<RowType>,
    cursor: Cursor,
    /// The files that the rows go to. They are removed when it is dropped; drivers that still write
    /// cannot begin new ones after that, and what they have open has no name any more.
    copy: Option<CopyEnd>,
    files: Vec<ScanFiles>,
    notes: Vec<String>,
    /// What planning knows of files serves the scans as long as it is held.
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

    /// The rows are what the writers of a COPY count.
    pub(super) fn of_copy(self, end: CopyEnd) -> Self {
        QueryResult { copy: Some(end), ..self }
    }

    /// The columns of every batch.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }

    /// The next batch, all columns loaded; `None` at the end of the rows. All of a COPY happens in
    /// the first call.
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
        // The plan's names are unique; the query's need not be.
        let (len, children) = (batch.len(), batch.children().to_vec());
        RowVector::batch(Arc::clone(&self.row_type), len, children).map(Some)
    }

    /// Something that stops the query from another thread; its next batch is then a `Cancelled`
    /// error.
    pub fn canceller(&self) -> Canceller {
        self.cursor.canceller()
    }

    /// Stops the query, and blocks the thread until all that it holds was given back.
    pub fn close(self) {
        self.cursor.close();
    }

    /// What the query's operators have counted; complete once all batches were taken.
    pub fn stats(&self) -> TaskStats {
        self.cursor.stats()
    }

    /// What planning left of the files of the query's scans; none for plans made elsewhere.
    pub fn files(&self) -> &[ScanFiles] {
        &self.files
    }

    /// What a person should know of the rows, such as that a table may have more columns.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// All batches that have rows, or the first error.
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
