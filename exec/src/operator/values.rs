//! Values: returns the batches that the plan itself contains.

use vector::{Result, RowVector};

use super::{Operator, refuse_input};
use crate::plan::ValuesNode;

/// Returns the batches of a [`ValuesNode`] in their order.
#[derive(Debug)]
pub struct Values {
    batches: std::vec::IntoIter<RowVector>,
}

impl Values {
    /// Creates an operator for the non-empty batches of `node`.
    pub fn new(node: &ValuesNode) -> Self {
        let with_rows: Vec<_> = node.batches.iter().filter(|b| !b.is_empty()).cloned().collect();
        Values { batches: with_rows.into_iter() }
    }
}

impl Operator for Values {
    fn needs_input(&self) -> bool {
        false
    }

    fn add_input(&mut self, _: RowVector) -> Result<()> {
        Err(refuse_input())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        Ok(self.batches.next())
    }

    fn no_more_input(&mut self) {}

    fn is_finished(&self) -> bool {
        self.batches.len() == 0
    }

    fn close(&mut self) {
        self.batches = Vec::new().into_iter();
    }
}
