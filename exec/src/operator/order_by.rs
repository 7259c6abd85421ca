//! OrderBy: all rows in order.
//!
//! Input is kept until its end, joined into one batch and sorted by row number; the output is
//! that batch seen through the sorted row numbers, piece by piece.

use vector::sync::Arc;
use vector::{Buffer, Result, RowType, RowVector, SortOrder, VectorRef, concat_batches};

use super::loading::{bytes_when_loaded, load_batch};
use super::sort_prefix::sorted;
use super::{Operator, OperatorCtx, channel_of};
use crate::plan::SortKey;

/// The sort columns of an input, by channel.
#[derive(Debug, Clone)]
pub(crate) struct SortChannels {
    pub(crate) channels: Vec<usize>,
    pub(crate) orders: Vec<SortOrder>,
}

impl SortChannels {
    pub(crate) fn new(keys: &[SortKey], input: &RowType) -> Result<Self> {
        let channels = keys.iter().map(|key| channel_of(input, &key.column));
        Ok(SortChannels {
            channels: channels.collect::<Result<_>>()?,
            orders: keys.iter().map(|key| key.order).collect(),
        })
    }

    pub(crate) fn columns(&self, batch: &RowVector) -> Result<Vec<VectorRef>> {
        self.channels.iter().map(|channel| batch.child(*channel).cloned()).collect()
    }

    /// The rows of a batch in order; its sort columns may be longer than it.
    pub(crate) fn sorted(&self, batch: &RowVector) -> Result<Buffer<u32>> {
        let columns = self.columns(batch)?;
        sorted(&columns, &self.orders, batch.len())
    }
}

/// Sorts all of its input.
pub struct OrderBy {
    ctx: OperatorCtx,
    keys: SortChannels,
    input_type: Arc<RowType>,
    input: Vec<RowVector>,
    reserved: u64,
    no_more_input: bool,
    sorted: Option<(RowVector, Buffer<u32>)>,
    given: usize,
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
            given: 0,
            finished: false,
        })
    }

    fn sort(&mut self) -> Result<()> {
        let input = std::mem::take(&mut self.input);
        let all = match <[RowVector; 1]>::try_from(input) {
            Ok([only]) => only,
            Err(many) => concat_batches(&self.input_type, &many)?,
        };
        let order = self.keys.sorted(&all)?;
        self.sorted = Some((all, order));
        Ok(())
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
        if self.sorted.is_none() {
            self.sort()?;
        }
        let Some((all, order)) = &self.sorted else { return Ok(None) };
        let end = order.len().min(self.given + self.ctx.query.config.max_output_batch_rows);
        if end == self.given {
            self.finished = true;
            return Ok(None);
        }
        let batch = all.wrap(&order.slice(self.given..end));
        self.given = end;
        self.finished = end == order.len();
        Ok(Some(batch))
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
