//! Filters on a leaf without repetition: rows are deselected without building a vector.

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{Result, SelectivityVector};

use super::{LeafReader, Task, no_chunk};

impl LeafReader {
    /// Returns true when `filter` and `filter_and_read` are supported.
    pub(crate) fn filters(&self) -> bool {
        self.max_rep == 0 && self.values.filters()
    }

    /// Deselects those of the next `num_rows` rows that do not pass; no later row is selected.
    pub(crate) fn filter(
        &mut self,
        filter: &Arc<Filter>,
        rows: &mut SelectivityVector,
        num_rows: usize,
    ) -> Result<()> {
        self.narrow(rows, num_rows, Task::Filter(filter))
    }

    /// Filters as `filter` does, and reads the rows that pass into the window.
    pub(crate) fn filter_and_read(
        &mut self,
        filter: &Arc<Filter>,
        rows: &mut SelectivityVector,
        num_rows: usize,
    ) -> Result<()> {
        self.narrow(rows, num_rows, Task::FilterAndRead(filter))
    }

    fn narrow(
        &mut self,
        rows: &mut SelectivityVector,
        num_rows: usize,
        task: Task<'_>,
    ) -> Result<()> {
        let mut words = rows.words().to_vec();
        self.walk_selected(&mut words, num_rows, task).map_err(|e| self.in_column(e))?;
        rows.intersect_words(&words);
        Ok(())
    }

    /// Returns false when the chunk's dictionary contains all its values and no entry passes. It
    /// must be called at the start of a chunk in which all pages are dictionary-encoded.
    pub(crate) fn dictionary_may_match(&mut self, filter: &Arc<Filter>) -> Result<bool> {
        if !self.filters() || (self.max_def > 0 && filter.test_null()) || self.page.is_some() {
            return Ok(true);
        }
        if let Some(answer) = filter.test_any_value() {
            return Ok(answer);
        }
        let pages = self.pages.as_mut().ok_or_else(no_chunk)?;
        let found = pages.peek().and_then(|_| pages.take_dictionary());
        let found = found.map_err(|e| e.in_named("column", &self.name))?;
        // The footer states that all pages are dictionary-encoded; the page headers have to agree.
        let has_only_indices = pages.has_only_indices() != Some(false);
        if let Some(dictionary) = found {
            self.set_dictionary(dictionary).map_err(|e| self.in_column(e))?;
        }
        if !has_only_indices {
            return Ok(true);
        }
        self.values.dictionary_may_match(filter).map_err(|e| self.in_column(e))
    }
}
