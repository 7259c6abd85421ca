//! HashBuild: the last operator of a build pipeline.
//!
//! Each driver collects the columns that the join reads. The last driver to finish builds the
//! table, publishes dynamic filters of its keys, and then publishes the table.

use vector::sync::Arc;
use vector::{Result, RowVector};

use super::HashJoin;
use super::filters;
use super::table::{BuildPart, JoinTable};
use crate::operator::loading::{bytes_when_loaded, column_of, load_batch, unpaid_bytes};
use crate::operator::reservation::Reservation;
use crate::operator::{Operator, OperatorCtx};
use crate::stats::OperatorStats;

/// Collects the build rows of one driver.
#[derive(Debug)]
pub struct HashBuild {
    join: Arc<HashJoin>,
    ctx: OperatorCtx,
    /// The rows collected so far; `None` once they have been passed to the bridge.
    part: Option<BuildPart>,
    /// The rows of all builders and the approximate number of bytes that their table takes, if this
    /// is the last builder.
    all: Option<(Vec<BuildPart>, u64)>,
    table_bytes: u64,
    num_keys: usize,
}

impl HashBuild {
    /// Creates one of the build operators of `join`.
    pub fn new(join: Arc<HashJoin>, ctx: OperatorCtx) -> Self {
        let part = Some(BuildPart { batches: Vec::new(), memory: Reservation::new(&ctx.pool) });
        HashBuild { join, ctx, part, all: None, table_bytes: 0, num_keys: 0 }
    }

    fn finish(&mut self) -> Result<()> {
        let Some((parts, _)) = self.all.take() else { return Ok(()) };
        let join = &*self.join;
        let layout = &join.layout;
        let mut table = JoinTable::build(layout, join.join_type, parts, &self.ctx.pool)?;
        self.table_bytes = table.bytes();
        self.num_keys = table.index.num_keys();
        let (keys, strings) = (&layout.right_keys, join.string_filters);
        filters::publish(&join.id, &mut table, keys, &join.targets, strings)?;
        join.bridge.publish(Arc::new(table));
        Ok(())
    }
}

impl Operator for HashBuild {
    fn needs_input(&self) -> bool {
        self.part.is_some()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let Some(part) = &mut self.part else { return Ok(()) };
        let layout = &self.join.layout;
        let columns = layout.kept.iter().map(|channel| column_of(&batch, *channel));
        let columns = columns.collect::<Result<_>>()?;
        let kept = RowVector::batch(Arc::clone(&layout.kept_type), batch.len(), columns)?;
        let kept = load_batch(kept)?;
        part.memory.grow(unpaid_bytes(&kept))?;
        part.batches.push(kept);
        Ok(())
    }

    fn input_reservation(&self, batch: &RowVector) -> u64 {
        bytes_when_loaded(batch)
    }

    fn output_reservation(&self) -> u64 {
        self.all.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        self.finish().map(|()| None)
    }

    fn no_more_input(&mut self) {
        let parts = self.part.take().and_then(|part| self.join.bridge.add_part(part));
        self.all = parts.map(|parts| {
            let bytes = JoinTable::bytes_to_build(&parts);
            (parts, bytes)
        });
    }

    fn is_finished(&self) -> bool {
        self.part.is_none() && self.all.is_none()
    }

    fn add_stats(&self, stats: &mut OperatorStats) {
        if self.table_bytes > 0 {
            stats.metrics.add_bytes("hashtable.bytes", self.table_bytes);
            stats.metrics.add_count("hashtable.numDistinct", self.num_keys);
        }
    }

    fn close(&mut self) {
        (self.part, self.all) = (None, None);
    }
}
