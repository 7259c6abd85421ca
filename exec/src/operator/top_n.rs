//! The TopN operator, which keeps only the first N rows in sort order.
//!
//! ```text
//! batch -> rows before the bound -> the first N of them, copied -> candidates
//!                     ^                                               |
//!                     +-- the Nth row in order <-- cut to N when they are many
//! ```
//!
//! The last of any N rows is a bound: a later row that is not before it cannot be among the first
//! N. A batch that contributes N rows narrows the bound, and so does cutting the candidates. Of
//! equal rows those that came first are kept. The bound is pushed down to the scans
//! (`order_filter`), which skip rows behind it where they can.

use std::cmp::Ordering;

use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, Held, Result, RowComparator, RowSet, RowType, RowVector, VectorRef,
    concat_into, gather_batch,
};

use super::loading::{load_batch_rows, slice_batch};
use super::order_filter::OrderFilter;
use super::reservation::Reservation;
use super::sort_prefix::prefixes;
use super::sort_selection::first_rows;
use super::sorted_rows::{SortChannels, SortedRows};
use super::{Operator, OperatorCtx, Phase};
use crate::plan::SortKey;

/// Candidates are cut when there are this many more than wanted.
const MIN_SURPLUS: usize = 4_096;

/// Candidates are also cut when more than this many bytes were added.
const MIN_SURPLUS_BYTES: usize = 8 << 20;

/// Keeps the first rows in order.
pub struct TopN {
    ctx: OperatorCtx,
    keys: SortChannels,
    input_type: Arc<RowType>,
    count: usize,
    candidates: Vec<RowVector>,
    num_candidates: usize,
    /// Bytes of the candidates added since the last cut.
    surplus_bytes: usize,
    /// Limit of `surplus_bytes` above which candidates are cut.
    max_surplus_bytes: usize,
    bound: Option<Bound>,
    /// Pushes the bound down to the scans.
    filter: Option<OrderFilter>,
    memory: Reservation,
    phase: Phase,
    sorted: Option<SortedRows>,
}

/// The Nth row in order; a row that does not precede it is not among the first N.
struct Bound {
    /// Sort columns of the row, of one row each.
    keys: Vec<VectorRef>,
    /// Prefix of the first sort column, which decides most comparisons.
    prefix: u64,
}

impl TopN {
    /// Creates an operator that returns the first `count` rows of `input_type` by `keys`.
    pub fn new(
        keys: &[SortKey],
        count: u64,
        input_type: &Arc<RowType>,
        ctx: OperatorCtx,
    ) -> Result<Self> {
        Ok(TopN {
            memory: Reservation::new(&ctx.pool),
            ctx,
            keys: SortChannels::new(keys, input_type)?,
            input_type: Arc::clone(input_type),
            count: usize::try_from(count).unwrap_or(usize::MAX),
            candidates: Vec::new(),
            num_candidates: 0,
            surplus_bytes: 0,
            max_surplus_bytes: MIN_SURPLUS_BYTES,
            bound: None,
            filter: None,
            phase: if count == 0 { Phase::Done } else { Phase::Taking },
            sorted: None,
        })
    }

    /// Sets the filter that pushes the bound down to the scans.
    pub fn with_order_filter(self, filter: Option<OrderFilter>) -> Self {
        TopN { filter, ..self }
    }

    /// Returns the rows of a batch that may be among the first, ascending, at most `count`.
    fn promising(&self, batch: &RowVector) -> Result<Vec<u32>> {
        let keys = self.keys.columns(batch)?;
        let (Some(first), Some(order)) = (keys.first(), self.keys.orders.first()) else {
            // Without keys all rows are equal.
            let missing = self.count.saturating_sub(self.num_candidates);
            return Ok((0..missing.min(batch.len()) as u32).collect());
        };
        let first = prefixes(first, *order)?;
        let rows = match &self.bound {
            None => (0..batch.len() as u32).collect(),
            Some(bound) => {
                let mut rows = not_above(&first.values[..batch.len()], bound.prefix);
                if rows.iter().any(|row| first.values[*row as usize] == bound.prefix) {
                    let against =
                        RowComparator::with_orders(&keys, &bound.keys, &self.keys.orders)?;
                    rows.retain(|row| {
                        first.values[*row as usize] < bound.prefix
                            || against.compare_all(*row as usize, 0) == Ordering::Less
                    });
                }
                rows
            }
        };
        first_rows(&keys, &self.keys.orders, &first, rows, self.count)
    }

    /// Makes the last row in order of `batch`, which has `count` rows, the bound.
    fn bound_by(&mut self, batch: &RowVector) -> Result<()> {
        let keys = self.keys.columns(batch)?;
        let order = RowComparator::with_orders(&keys, &keys, &self.keys.orders)?;
        let last = (0..batch.len()).max_by(|a, b| order.compare_all(*a, *b)).unwrap_or(0);
        let last = slice_batch(batch, last, 1)?;
        let keys = self.keys.columns(&last)?;
        if let (Some(first), Some(order)) = (keys.first(), self.keys.orders.first()) {
            let prefix = prefixes(first, *order)?.values.first().copied().unwrap_or(u64::MAX);
            if let Some(filter) = &mut self.filter {
                filter.bound_is(DecodedVector::new(first)?.value(0)?);
            }
            self.bound = Some(Bound { keys, prefix });
        }
        Ok(())
    }

    /// Concatenates the candidates; returns them with the positions of the first `count` in order.
    fn first(&mut self) -> Result<(RowVector, Buffer<u32>)> {
        let all = concat_into(&self.input_type, std::mem::take(&mut self.candidates))?;
        let order = self.keys.sorted(&all)?;
        let kept = order.slice(0..order.len().min(self.count));
        Ok((all, kept))
    }

    /// Resizes the memory reservation to the bytes of the candidates.
    fn tell_memory(&mut self) {
        let columns = self.candidates.iter().flat_map(|batch| batch.children());
        self.memory.resize(columns.map(|column| column.held_bytes(Held::Unpaid) as u64).sum());
    }
}

/// Returns the rows with values up to `bound`, ascending; skips blocks of 64 rows without one.
fn not_above(values: &[u64], bound: u64) -> Vec<u32> {
    let mut rows = Vec::new();
    for (block, values) in values.chunks(64).enumerate() {
        if values.iter().fold(false, |any, value| any | (*value <= bound)) {
            let of_block = values.iter().zip(64 * block as u32..);
            rows.extend(of_block.filter(|(value, _)| **value <= bound).map(|(_, row)| row));
        }
    }
    rows
}

impl Operator for TopN {
    fn needs_input(&self) -> bool {
        self.phase.takes()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.memory.commit()?;
        let rows = self.promising(&batch)?;
        if let Some(filter) = &mut self.filter {
            filter.saw(batch.len());
        }
        if rows.is_empty() {
            return Ok(());
        }
        let wanted = RowSet::from_positions(Buffer::from_slice(&rows));
        let loaded = load_batch_rows(&batch, &wanted)?;
        let rows = gather_batch(&loaded, &rows)?;
        self.num_candidates += rows.len();
        let bytes = rows.children().iter().map(|column| column.retained_bytes()).sum::<usize>();
        self.surplus_bytes = self.surplus_bytes.saturating_add(bytes);
        if rows.len() == self.count {
            self.bound_by(&rows)?;
        }
        self.candidates.push(rows);
        let are_many =
            self.num_candidates >= self.count.saturating_add(self.count.max(MIN_SURPLUS));
        let are_large =
            self.surplus_bytes > self.max_surplus_bytes && self.num_candidates > self.count;
        if are_many || are_large {
            let (all, order) = self.first()?;
            let first = gather_batch(&all, &order)?;
            if first.len() == self.count {
                self.bound_by(&first)?;
            }
            self.num_candidates = first.len();
            // Cutting costs as much as the rows that stay: it is worth it when as much was added.
            let bytes =
                first.children().iter().map(|column| column.retained_bytes()).sum::<usize>();
            self.max_surplus_bytes = bytes.max(MIN_SURPLUS_BYTES);
            self.surplus_bytes = 0;
            self.candidates = vec![first];
        }
        self.tell_memory();
        Ok(())
    }

    fn output_reservation(&self) -> u64 {
        self.memory.deficit()
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        self.memory.commit()?;
        if !self.phase.gives() {
            return Ok(None);
        }
        let mut sorted = match self.sorted.take() {
            Some(sorted) => sorted,
            None => {
                let (all, order) = self.first()?;
                SortedRows::new(all, order)
            }
        };
        let batch = sorted.next(self.ctx.query.config.max_output_batch_rows);
        match (sorted.is_done(), self.phase) {
            (false, _) => self.sorted = Some(sorted),
            (true, Phase::Draining) => {
                self.phase = Phase::Taking;
                (self.num_candidates, self.surplus_bytes) = (0, 0);
                self.bound = None;
                if let Some(filter) = &mut self.filter {
                    filter.withdraw();
                }
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
        if self.phase.takes() {
            self.phase = Phase::Draining;
        }
        self.phase.gives()
    }

    fn close(&mut self) {
        self.candidates.clear();
        self.sorted = None;
        self.phase = Phase::Done;
        self.memory.resize(0);
    }
}
