//! Types shared by the sorting operators: their keys, and rows that are returned in order.

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

    /// Returns the rows of a batch in order; its sort columns may be longer than the batch.
    pub(crate) fn sorted(&self, batch: &RowVector) -> Result<Buffer<u32>> {
        let columns = self.columns(batch)?;
        sorted(&columns, &self.orders, batch.len())
    }
}

/// Rows of a batch in a given order, returned in pieces without a copy.
#[derive(Debug)]
pub(crate) struct SortedRows {
    rows: RowVector,
    order: Buffer<u32>,
    given: usize,
}

impl SortedRows {
    /// Creates the rows of `order`, which need not contain all rows.
    pub(crate) fn new(rows: RowVector, order: Buffer<u32>) -> Self {
        SortedRows { rows, order, given: 0 }
    }

    /// Returns the next rows, `max_rows` at most; `None` when all were returned.
    pub(crate) fn next(&mut self, max_rows: usize) -> Option<RowVector> {
        let end = self.order.len().min(self.given + max_rows);
        let piece = self.order.slice(self.given..end);
        self.given = end;
        (!piece.is_empty()).then(|| self.rows.wrap(&piece))
    }

    /// Returns true when all rows were returned.
    pub(crate) fn is_done(&self) -> bool {
        self.given == self.order.len()
    }
}
