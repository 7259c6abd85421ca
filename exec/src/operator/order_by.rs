//! OrderBy: all rows in order.
//!
//! Input is kept until its end or a barrier, joined into one batch and sorted by row number; the output is
//! that batch seen through the sorted row numbers, piece by piece.

use vector::sync::Arc;
use vector::{Result, RowType, RowVector, concat_batches};

use super::loading::{bytes_when_loaded, load_batch};
use super::sorted_rows::{SortChannels, SortedRows};
use super::{Operator, OperatorCtx, Phase};
use crate::plan::SortKey;

/// Sorts all of its input.
pub struct OrderBy {
    ctx: OperatorCtx,
    keys: SortChannels,
    input_type: Arc<RowType>,
    input: Vec<RowVector>,
    reserved: u64,
    phase: Phase,
    sorted: Option<SortedRows>,
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
            phase: Phase::default(),
            sorted: None,
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
        self.phase.takes()
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
        if !self.phase.gives() {
            return Ok(None);
        }
        let mut sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => self.sort()?,
        };
        let batch = sorted.next(self.ctx.query.config.max_output_batch_rows);
        match (sorted.is_done(), self.phase) {
            (false, _) => self.sorted = Some(sorted),
            (true, Phase::Draining) => {
                self.phase = Phase::Taking;
                self.ctx.pool.release(std::mem::take(&mut self.reserved));
            }
            (true, _) => self.phase = Phase::Done,
        }
        Ok(batch)
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
        self.input.clear();
        self.sorted = None;
        self.phase = Phase::Done;
        self.ctx.pool.release(std::mem::take(&mut self.reserved));
    }
}
