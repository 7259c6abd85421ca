//! EnforceSingleRow: the one row of a source; nulls when there is none, an error when there are
//! more.

use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Vector};

use super::Operator;
use super::loading::load_batch;

/// Passes one row on.
#[derive(Debug)]
pub struct EnforceSingleRow {
    row_type: Arc<RowType>,
    row: Option<RowVector>,
    no_more_input: bool,
    given: bool,
}

impl EnforceSingleRow {
    /// The one row of a source with these columns.
    pub fn new(row_type: &Arc<RowType>) -> Self {
        let row_type = Arc::clone(row_type);
        EnforceSingleRow { row_type, row: None, no_more_input: false, given: false }
    }
}

impl Operator for EnforceSingleRow {
    fn needs_input(&self) -> bool {
        !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        if self.row.is_some() || batch.len() > 1 {
            return Err(Error::invalid_input(
                "a subquery that stands for a value gave several rows",
            )
            .hint("LIMIT 1 or an aggregate makes it one row"));
        }
        self.row = Some(load_batch(batch)?);
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if !self.no_more_input || self.given {
            return Ok(None);
        }
        self.given = true;
        if let Some(row) = self.row.take() {
            return Ok(Some(row));
        }
        let types = self.row_type.types().iter();
        let nulls = types.map(|ty| Arc::new(Vector::nulls(ty.clone(), 1))).collect();
        RowVector::batch(Arc::clone(&self.row_type), 1, nulls).map(Some)
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.given
    }

    fn close(&mut self) {
        self.row = None;
        self.given = true;
    }
}
