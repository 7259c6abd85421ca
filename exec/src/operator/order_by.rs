//! The OrderBy operator, which sorts all of its input.
//!
//! The input is retained until its end or a barrier and concatenated into one batch, whose row
//! numbers are sorted. The output batches are that batch wrapped in dictionaries of consecutive
//! ranges of the sorted row numbers.

use vector::sync::Arc;
use vector::{Result, RowType, RowVector, concat_into};

use super::loading::{bytes_when_loaded, load_batch, unpaid_bytes};
use super::reservation::Reservation;
use super::sorted_rows::{SortChannels, SortedRows};
use super::{Operator, OperatorCtx, Phase};
use crate::plan::SortKey;

/// Returns all of its input rows in sorted order.
pub struct OrderBy {
    ctx: OperatorCtx,
    keys: SortChannels,
    input_type: Arc<RowType>,
    input: Vec<RowVector>,
    /// Reservation for the concatenated copy (in advance), for the row numbers and prefixes that
    /// sorting needs, and for the bytes of the rows that no memory pool has reserved.
    memory: Reservation,
    phase: Phase,
    sorted: Option<SortedRows>,
}

impl OrderBy {
    /// Creates an operator that sorts rows of `input_type` by `keys`. The first key is the most
    /// significant.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Internal` when the input has no column of a key's name.
    pub fn new(keys: &[SortKey], input_type: &Arc<RowType>, ctx: OperatorCtx) -> Result<Self> {
        Ok(OrderBy {
            memory: Reservation::new(&ctx.pool),
            ctx,
            keys: SortChannels::new(keys, input_type)?,
            input_type: Arc::clone(input_type),
            input: Vec::new(),
            phase: Phase::default(),
            sorted: None,
        })
    }

    /// Returns the number of bytes that a batch takes: its concatenated copy and the memory for
    /// sorting, both reserved in advance, and the bytes that no memory pool has reserved.
    fn bytes_of(&self, batch: &RowVector) -> u64 {
        let sorting = batch.len() * sort_bytes_of_row(self.keys.channels.len());
        bytes_when_loaded(batch).saturating_add(sorting as u64).saturating_add(unpaid_bytes(batch))
    }

    fn sort(&mut self) -> Result<SortedRows> {
        let input = std::mem::take(&mut self.input);
        let num_rows: usize = input.iter().map(RowVector::len).sum();
        let sorting = (num_rows * sort_bytes_of_row(self.keys.channels.len())) as u64;
        // The bytes reserved for the copy are released, because its buffers reserve them now.
        self.memory.resize(sorting);
        let all = match <[RowVector; 1]>::try_from(input) {
            Ok([only]) => only,
            Err(many) => concat_into(&self.input_type, many)?,
        };
        self.memory.resize(sorting + unpaid_bytes(&all));
        self.memory.commit()?;
        let order = self.keys.sorted(&all)?;
        self.memory.resize(unpaid_bytes(&all) + (num_rows * size_of::<u32>()) as u64);
        Ok(SortedRows::new(all, order))
    }
}

/// Returns the number of bytes that sorting needs for a row: the prefixes of up to two keys, once
/// alone and once with the row number, and the row number itself.
fn sort_bytes_of_row(num_keys: usize) -> usize {
    let prefixes = match num_keys {
        0 => 0,
        1 => size_of::<u64>() + size_of::<(u64, u32)>(),
        _ => 2 * size_of::<u64>() + size_of::<(u128, u32)>(),
    };
    prefixes + size_of::<u32>()
}

impl Operator for OrderBy {
    fn needs_input(&self) -> bool {
        self.phase.takes()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let batch = load_batch(batch)?;
        self.memory.grow(self.bytes_of(&batch))?;
        self.input.push(batch);
        Ok(())
    }

    fn input_reservation(&self, batch: &RowVector) -> u64 {
        self.bytes_of(batch)
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
                self.memory.resize(0);
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
        self.memory.resize(0);
    }
}
