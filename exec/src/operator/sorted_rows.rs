//! What sorting operators have in common: their keys, and rows given out in order.

use vector::{Buffer, Result, RowType, RowVector, SortOrder, VectorRef};

use super::channel_of;
use super::sort_prefix::sorted;
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

/// The rows of a batch in an order of their own, given out piece by piece without a copy.
#[derive(Debug)]
pub(crate) struct SortedRows {
    rows: RowVector,
    order: Buffer<u32>,
    given: usize,
}

impl SortedRows {
    /// The rows of `order`, which need not be all.
    pub(crate) fn new(rows: RowVector, order: Buffer<u32>) -> Self {
        SortedRows { rows, order, given: 0 }
    }

    /// The next rows, `max_rows` at most; `None` when all were given.
    pub(crate) fn next(&mut self, max_rows: usize) -> Option<RowVector> {
        let end = self.order.len().min(self.given + max_rows);
        let piece = self.order.slice(self.given..end);
        self.given = end;
        (!piece.is_empty()).then(|| self.rows.wrap(&piece))
    }

    /// True when all rows were given.
    pub(crate) fn is_done(&self) -> bool {
        self.given == self.order.len()
    }
}
