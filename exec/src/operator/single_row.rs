//! EnforceSingleRow: returns the one row of a source, nulls when it has none, an error when it has
//! more.

use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Vector};

use super::loading::load_batch;
use super::{Operator, Phase};

/// Forwards a single row.
#[derive(Debug)]
pub struct EnforceSingleRow {
    row_type: Arc<RowType>,
    row: Option<RowVector>,
    phase: Phase,
}

impl EnforceSingleRow {
    /// Creates an operator for a source with these columns.
    pub fn new(row_type: &Arc<RowType>) -> Self {
        let row_type = Arc::clone(row_type);
        EnforceSingleRow { row_type, row: None, phase: Phase::default() }
    }
}

impl Operator for EnforceSingleRow {
    fn needs_input(&self) -> bool {
        self.phase.takes()
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
        self.phase = match self.phase {
            Phase::Draining => Phase::Taking,
            Phase::Ending => Phase::Done,
            Phase::Taking | Phase::Done => return Ok(None),
        };
        if let Some(row) = self.row.take() {
            return Ok(Some(row));
        }
        let types = self.row_type.types().iter();
        let nulls = types.map(|ty| Arc::new(Vector::nulls(ty.clone(), 1))).collect();
        RowVector::batch(Arc::clone(&self.row_type), 1, nulls).map(Some)
    }

    fn no_more_input(&mut self) {
        self.phase.end_input();
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Done
    }

    fn start_drain(&mut self, _: u64) -> bool {
        self.phase = Phase::Draining;
        true
    }

    fn close(&mut self) {
        self.row = None;
        self.phase = Phase::Done;
    }
}
