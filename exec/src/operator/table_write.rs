//! TableWrite: passes rows to a writer, and returns its counts at the end of the input.

use vector::{Result, RowVector};

use super::Operator;
use super::loading::load_batch;
use crate::plan::RowWriter;

/// Writes the rows of one driver.
pub struct TableWrite {
    /// The writer; `None` when it has finished or was closed.
    writer: Option<Box<dyn RowWriter>>,
    no_more_input: bool,
}

impl TableWrite {
    /// Creates an operator that writes with `writer`.
    pub fn new(writer: Box<dyn RowWriter>) -> Self {
        TableWrite { writer: Some(writer), no_more_input: false }
    }
}

impl Operator for TableWrite {
    fn needs_input(&self) -> bool {
        !self.no_more_input && self.writer.is_some()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write(&load_batch(batch)?),
            None => Ok(()),
        }
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        match self.writer.take_if(|_| self.no_more_input) {
            Some(writer) => writer.finish().map(Some),
            None => Ok(None),
        }
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.writer.is_none()
    }

    fn close(&mut self) {
        self.writer = None;
    }
}
