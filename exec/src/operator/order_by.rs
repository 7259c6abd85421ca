//! OrderBy: all rows in order.
//!
//! Input is kept until its end, joined into one batch and sorted by row number; the output is
//! that batch seen through the sorted row numbers, piece by piece.

use vector::sync::Arc;
use vector::{Result, RowType, RowVector, concat_batches};

use super::loading::{bytes_when_loaded, load_batch};
use super::sorted_rows::{SortChannels, SortedRows};
use super::{Operator, OperatorCtx};
use crate::plan::SortKey;

/// Sorts all of its input.
pub struct OrderBy {
    ctx: OperatorCtx,
    keys: SortChannels,
    input_type: Arc<RowType>,
    input: Vec<RowVector>,
    reserved: u64,
    no_more_input: bool,
    sorted: Option<SortedRows>,
    finished: bool,
}

impl OrderBy {
    /// Sorts rows of `input_type` by `keys`, the first being the most significant.
    pub fn new(keys: &[SortKey], input_type: &Arc<RowType>, ctx: OperatorCtx) -> Result<Self> {
        Ok(OrderBy {
            ctx,
            keys: SortChannels::new(keys, input_type)?,
            input_type: Arc::clone(input_type),
            input: Vec::new(),
            reserved: 0,
            no_more_input: false,
            sorted: None,
            finished: false,
        })
    }

    fn sort(&mut self) -> Result<SortedRows> {
        let input = std::mem::take(&mut self.input);
        let all = match <[RowVector; 1]>::try_from(input) {
            Ok([only]) => only,
            Err(many) => concat_batches(&self.input_type, &many)?,
        };
        let order = self.keys.sorted(&all)?;
        Ok(SortedRows::new(all, order))
    }
}

/// The joined copy and the row numbers, which are paid for in advance.
fn held_bytes(batch: &RowVector) -> u64 {
    bytes_when_loaded(batch) + (batch.len() * size_of::<u32>()) as u64
}

impl Operator for OrderBy {
    fn needs_input(&self) -> bool {
        !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let batch = load_batch(batch)?;
        let bytes = held_bytes(&batch);
        self.ctx.pool.reserve(bytes)?;
        self.reserved += bytes;
        self.input.push(batch);
        Ok(())
    }

    fn bytes_to_keep(&self, batch: &RowVector) -> u64 {
        held_bytes(batch)
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if !self.no_more_input || self.finished {
            return Ok(None);
        }
        let mut sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => self.sort()?,
        };
        let batch = sorted.next(self.ctx.query.config.max_output_batch_rows);
        self.finished = sorted.is_done();
        self.sorted = Some(sorted);
        Ok(batch)
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn close(&mut self) {
        self.input.clear();
        self.sorted = None;
        self.finished = true;
        self.ctx.pool.release(std::mem::take(&mut self.reserved));
    }
}
