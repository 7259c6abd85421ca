//! The Distinct operator, which returns the first row of each combination of keys as soon as it
//! arrives.
//!
//! It executes an aggregation without aggregate functions. It returns output before the end of
//! input, so that a limit above it ends the scan early, and it returns rows without copying them.
//! The rows are distinct within one driver; the same operator behind an exchange makes them
//! distinct over all drivers.

use vector::sync::Arc;
use vector::{BufferMut, PoolScope, Result, RowSet, RowType, RowVector, VectorRef};

use super::aggregate::GroupTable;
use super::loading::{column_of, wrap_column};
use super::reservation::Reservation;
use super::{Operator, OperatorCtx, channel_of};
use crate::plan::AggregationNode;

/// Returns each combination of key values once.
pub struct Distinct {
    channels: Vec<usize>,
    output_type: Arc<RowType>,
    table: GroupTable,
    /// Group id of each row of the current batch.
    ids: Vec<u32>,
    output: Option<RowVector>,
    memory: Reservation,
    no_more_input: bool,
}

impl Distinct {
    /// Creates the operator for the keys of `node`, which has at least one key and no aggregates.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Internal` when the input has no column of a key's name.
    pub fn new(node: &AggregationNode, ctx: OperatorCtx) -> Result<Self> {
        let input = node.source.output_type();
        let channels: Vec<usize> =
            node.keys.iter().map(|key| channel_of(input, key)).collect::<Result<_>>()?;
        let types: Vec<_> = node.output_type.types().to_vec();
        Ok(Distinct {
            channels,
            output_type: Arc::clone(&node.output_type),
            table: {
                let _scope = PoolScope::enter(&ctx.pool);
                GroupTable::new(&types)
            },
            ids: Vec::new(),
            output: None,
            memory: Reservation::new(&ctx.pool),
            no_more_input: false,
        })
    }
}

impl Operator for Distinct {
    fn needs_input(&self) -> bool {
        !self.no_more_input && self.output.is_none()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.memory.commit()?;
        let keys = self.channels.iter().map(|channel| column_of(&batch, *channel));
        let keys: Vec<VectorRef> = keys.collect::<Result<_>>()?;
        let mut seen = self.table.len();
        self.table.assign(&keys, batch.len(), &mut self.ids)?;
        self.memory.resize_in_steps(self.table.bytes() as u64);
        if self.table.len() == seen {
            return Ok(());
        }
        // New groups have the next ids, which are not always in the order of their rows.
        let known = seen;
        let mut is_new = vec![true; self.table.len() - known];
        let mut rows = BufferMut::new();
        for (row, group) in self.ids.iter().enumerate() {
            let Some(place) = (*group as usize).checked_sub(known) else { continue };
            if let Some(first) = is_new.get_mut(place).filter(|first| **first) {
                *first = false;
                rows.push(row as u32);
                seen += 1;
            }
        }
        let rows = rows.freeze();
        let set = RowSet::from_positions(rows.clone());
        let columns = keys.iter().map(|key| wrap_column(key, &rows, &set));
        let columns = columns.collect::<Result<_>>()?;
        debug_assert_eq!(seen, self.table.len());
        self.output = Some(RowVector::batch(Arc::clone(&self.output_type), rows.len(), columns)?);
        Ok(())
    }

    fn output_reservation(&self) -> u64 {
        // The next batch is expected to have as many rows as the last one.
        let growth = if self.no_more_input { 0 } else { self.table.bytes_to_grow(self.ids.len()) };
        self.memory.deficit().saturating_add(growth)
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        self.memory.commit()?;
        Ok(self.output.take())
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input && self.output.is_none()
    }

    fn start_drain(&mut self, _: u64) -> bool {
        self.table = GroupTable::new(self.output_type.types());
        self.memory.resize(0);
        false
    }

    fn close(&mut self) {
        self.table = GroupTable::new(&[]);
        self.output = None;
        self.memory.resize(0);
    }
}
