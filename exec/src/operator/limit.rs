//! The Limit operator, which returns a range of its input rows in the order of their arrival. It
//! ends the pipeline early, or has the input up to the next barrier discarded.

use vector::{Result, RowVector};

use super::Operator;
use super::loading::slice_batch;

/// Skips a number of rows, returns a number of rows and is then finished.
#[derive(Debug)]
pub struct Limit {
    offset: u64,
    count: u64,
    to_skip: u64,
    to_give: u64,
    pending: Option<RowVector>,
    no_more_input: bool,
}

impl Limit {
    /// Creates an operator that returns the rows `offset..offset + count` of its input.
    pub fn new(offset: u64, count: u64) -> Self {
        Limit {
            offset,
            count,
            to_skip: offset,
            to_give: count,
            pending: None,
            no_more_input: false,
        }
    }
}

impl Operator for Limit {
    fn needs_input(&self) -> bool {
        self.pending.is_none() && !self.no_more_input && self.to_give > 0
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let num_rows = batch.len() as u64;
        let skipped = self.to_skip.min(num_rows);
        self.to_skip -= skipped;
        let given = self.to_give.min(num_rows - skipped);
        self.to_give -= given;
        if given > 0 {
            self.pending = Some(slice_batch(&batch, skipped as usize, given as usize)?);
        }
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        Ok(self.pending.take())
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.pending.is_none() && (self.no_more_input || self.to_give == 0)
    }

    fn is_satisfied(&self) -> bool {
        self.to_give == 0 && !self.no_more_input
    }

    fn start_drain(&mut self, _: u64) -> bool {
        (self.to_skip, self.to_give) = (self.offset, self.count);
        false
    }

    fn close(&mut self) {
        self.pending = None;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::RowType;
    use vector::sync::Arc;

    fn rows(limit: &mut Limit, sizes: &[usize]) -> Vec<usize> {
        let mut given = Vec::new();
        for size in sizes {
            if !limit.needs_input() {
                break;
            }
            let row_type = Arc::new(RowType::empty());
            limit.add_input(RowVector::batch(row_type, *size, Vec::new()).unwrap()).unwrap();
            given.extend(limit.get_output().unwrap().map(|b| b.len()));
        }
        given
    }

    #[test]
    fn a_limit_cuts_at_both_ends_and_then_needs_nothing() {
        let mut limit = Limit::new(5, 10);
        assert_eq!(rows(&mut limit, &[3, 4, 4, 4, 4, 4]), [2, 4, 4]);
        assert!(limit.is_finished());
    }

    #[test]
    fn a_limit_of_no_rows_is_finished_before_it_begins() {
        assert!(Limit::new(3, 0).is_finished());
    }
}
