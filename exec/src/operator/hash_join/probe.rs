//! HashProbe: the operator that looks batches of the left source up in the table.
//!
//! ```text
//! Waiting --table--> Probing --input ended, not the last driver--> Finished
//!                       |                                             ^
//!                       +--input ended, the last driver--> AtEnd -----+
//!                                             returns build rows
//! ```
//!
//! A batch has two steps: its pairs are returned chunk by chunk, and then the rows that depend on
//! all pairs of a row (rows without a partner, semi and anti join results). When an exact filter of
//! a scan already does the join's work, batches pass through without look-ups (rule S12.15).

use vector::sync::Arc;
use vector::sync::atomic::Ordering;
use vector::{
    Bitmap, DecodedVector, Error, Result, RowSet, RowVector, SelectivityVector, Vector, VectorRef,
};

use super::HashJoin;
use super::bridge::Built;
use super::index::{NONE, Scratch};
use super::layout::Origin;
use super::pairs::{LeftRows, PairFilter, Pairs, Position, RightRows, pair_batch};
use super::semi_anti::boolean_column;
use super::table::JoinTable;
use crate::blocking::{Blocked, BlockingReason};
use crate::operator::loading::{column_of, load_column};
use crate::operator::{Operator, OperatorCtx};
use crate::plan::JoinType;
use crate::stats::OperatorStats;

/// Looks up the rows of one driver in the join's table.
pub struct HashProbe {
    join: Arc<HashJoin>,
    ctx: OperatorCtx,
    filter: Option<PairFilter>,
    left_used: Vec<usize>,
    table: Option<Arc<JoinTable>>,
    phase: Phase,
    input: Option<Probing>,
    /// The output batch of an elided probe: its rows are not looked up.
    replaced: Option<RowVector>,
    input_ended: bool,
    scratch: Scratch,
    pairs: Pairs,
    num_filters: usize,
    num_replaced_rows: usize,
}

#[derive(Debug)]
enum Phase {
    Probing,
    /// The build rows from `next` on are still to be examined for output.
    AtEnd {
        marked: Bitmap,
        next: usize,
    },
    Finished,
}

/// A probe batch in progress.
#[derive(Debug)]
pub(super) struct Probing {
    pub(super) batch: RowVector,
    /// The first build row with the key of each probe row, or [`NONE`].
    pub(super) heads: Vec<u32>,
    position: Position,
    /// One flag for each row: true when one of its pairs passes the filter. `None` without a
    /// filter, where the heads state which rows have a partner.
    pub(super) hits: Option<Vec<bool>>,
    /// The validity of the key of each row; `None` unless the join is null-aware.
    pub(super) key_validity: Option<Bitmap>,
}

impl HashProbe {
    /// Creates one of the probe operators of `join` and compiles the join's filter.
    ///
    /// # Errors
    ///
    /// Returns the error of the evaluator when the filter does not compile.
    pub fn new(join: Arc<HashJoin>, ctx: OperatorCtx) -> Result<Self> {
        let filter = join.layout.filter.as_ref().map(|layout| {
            let expr = ctx.query.evaluator.compile(&layout.predicate, &layout.input_type)?;
            Ok::<_, Error>(PairFilter { expr })
        });
        Ok(HashProbe {
            left_used: join.layout.left_used(),
            filter: filter.transpose()?,
            join,
            ctx,
            table: None,
            phase: Phase::Probing,
            input: None,
            replaced: None,
            input_ended: false,
            scratch: Scratch::default(),
            pairs: Pairs::default(),
            num_filters: 0,
            num_replaced_rows: 0,
        })
    }

    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    pub(super) fn max_rows(&self) -> usize {
        self.ctx.query.config.max_output_batch_rows
    }

    /// Retains the pairs that pass the join's filter; all pairs when there is none.
    pub(super) fn filter_pairs(
        &mut self,
        batch: &RowVector,
        table: &JoinTable,
        pairs: &mut Pairs,
    ) -> Result<()> {
        match (&mut self.filter, &self.join.layout.filter) {
            (Some(filter), Some(layout)) => filter.apply(layout, batch, table, pairs),
            _ => Ok(()),
        }
    }

    /// Stores the table if it has been published; otherwise returns the wait for it.
    fn poll_table(&mut self) -> Option<Blocked> {
        if self.table.is_some() {
            return None;
        }
        match self.join.bridge.table() {
            Built::Wait(until) => Some(Blocked::new(BlockingReason::WaitForJoinBuild, until)),
            Built::Ready(table) => {
                // The first driver to reach the table counts its filters in the statistics.
                self.num_filters = table.num_filters.swap(0, Ordering::Relaxed);
                if table.is_empty() && self.join.join_type.drops_unmatched_left() {
                    // The output is empty, so the probe side is not read.
                    self.phase = Phase::Finished;
                    self.join.bridge.probe_done();
                }
                self.table = Some(table);
                None
            }
        }
    }

    fn table(&self) -> Result<Arc<JoinTable>> {
        let table = self.table.as_ref().map(Arc::clone);
        table.ok_or_else(|| Error::internal("a join was probed before its table was there"))
    }

    /// Returns true when the probe can be elided: exact filters of the scans already drop the rows
    /// without a partner, each remaining row is returned once, and no build column is read.
    fn is_replaced(&self, table: &JoinTable) -> bool {
        let join = &*self.join;
        let once = match join.join_type {
            JoinType::Inner => table.index.is_unique(),
            JoinType::LeftSemiFilter => true,
            _ => false,
        };
        let [target] = join.targets.as_slice() else { return false };
        once && join.layout.left_keys.len() == 1
            && !join.layout.gives_right()
            && !self.has_filter()
            && table.exact_keys == [target.key]
            && target.covers_all
            && target.scans.iter().all(|s| s.slot.holds_for_all_rows(&join.id, s.channel))
    }

    fn gives_pairs(&self) -> bool {
        use JoinType::{Full, Inner, Left, Right};
        matches!(self.join.join_type, Inner | Left | Right | Full)
    }

    /// Returns true when the join returns probe rows without a partner.
    fn gives_misses(&self) -> bool {
        matches!(self.join.join_type, JoinType::Left | JoinType::Full)
    }

    fn start(&mut self, batch: RowVector, table: &JoinTable) -> Result<Probing> {
        let keys = self.join.layout.left_keys.iter().map(|channel| column_of(&batch, *channel));
        let keys: Vec<VectorRef> = keys.collect::<Result<_>>()?;
        let mut heads = Vec::new();
        table.index.find(&keys, batch.len(), &mut self.scratch, &mut heads)?;
        let mut key_validity = None;
        if self.join.null_aware
            && let [key] = keys.as_slice()
        {
            let validity = DecodedVector::new(key)?.validity().cloned();
            table.saw_probe(validity.is_some());
            key_validity = Some(validity.unwrap_or_else(|| Bitmap::filled(batch.len(), true)));
        }
        let hits = self.has_filter().then(|| vec![false; batch.len()]);
        let batch = self.load(batch, &heads, table)?;
        Ok(Probing { batch, heads, position: Position::start(), hits, key_validity })
    }

    /// Loads the columns that several chunks of pairs read, for the rows that may be in a pair.
    fn load(&self, batch: RowVector, heads: &[u32], table: &JoinTable) -> Result<RowVector> {
        if !self.gives_pairs() && !self.has_filter() {
            return Ok(batch);
        }
        let every = !matches!(
            self.join.join_type,
            JoinType::Inner | JoinType::Right | JoinType::LeftSemiFilter
        );
        let hits: Bitmap = heads.iter().map(|head| *head != NONE).collect();
        let rows = if every {
            RowSet::all(batch.len())
        } else {
            RowSet::from_bits(hits.words(), hits.len())
        };
        if rows.is_all(batch.len()) && table.index.is_unique() && !self.has_filter() {
            // There is one chunk, and it contains each row once: columns may stay lazy.
            return Ok(batch);
        }
        let mut columns = batch.children().to_vec();
        for channel in &self.left_used {
            columns[*channel] = load_column(&columns[*channel], &rows)?;
        }
        RowVector::batch(Arc::clone(batch.row_type()), batch.len(), columns)
    }

    /// Returns the next output of the current batch, or `None` when the batch is finished.
    fn probe(&mut self) -> Result<Option<RowVector>> {
        let Some(mut probing) = self.input.take() else { return Ok(None) };
        let table = self.table()?;
        let marks = self.join.join_type.gives_right_at_end();
        if self.gives_pairs() || self.has_filter() || marks {
            let misses = self.gives_misses() && !self.has_filter();
            let max = self.max_rows().max(probing.batch.len());
            let mut pairs = std::mem::take(&mut self.pairs);
            while !probing.position.is_end(&probing.heads) {
                if self.ctx.stop.is_cancelled() {
                    return Ok(None);
                }
                probing.position.fill(&probing.heads, &table.index, misses, max, &mut pairs);
                self.filter_pairs(&probing.batch, &table, &mut pairs)?;
                if let Some(hits) = &mut probing.hits {
                    pairs.left.iter().for_each(|row| hits[*row as usize] = true);
                }
                if marks {
                    let partners = pairs.right.iter().filter(|row| **row != NONE);
                    partners.for_each(|row| table.mark(*row));
                }
                if self.gives_pairs() && !pairs.is_empty() {
                    let output = self.pair_output(&probing.batch, &table, &pairs)?;
                    self.pairs = pairs;
                    self.input = Some(probing);
                    return Ok(Some(output));
                }
            }
            self.pairs = pairs;
        }
        self.row_output(&probing, &table)
    }

    fn pair_output(
        &self,
        batch: &RowVector,
        table: &JoinTable,
        pairs: &Pairs,
    ) -> Result<RowVector> {
        let left = LeftRows::of_pairs(pairs, batch.len());
        let right = RightRows::new(&pairs.right);
        self.output(pairs.len(), |origin| match origin {
            Origin::Left(channel) => left.column(batch, channel).map(Some),
            Origin::Right(position) => right.column(table, position).map(Some),
            Origin::Match => Ok(None),
        })
    }

    /// Returns the output that depends on all pairs of a row, after all pairs have been enumerated:
    /// probe rows without a partner, or the result of a left semi or anti join.
    fn row_output(&mut self, probing: &Probing, table: &JoinTable) -> Result<Option<RowVector>> {
        let join_type = self.join.join_type;
        let misses = self.gives_misses() && self.has_filter();
        let answers = match join_type {
            JoinType::LeftSemiFilter | JoinType::LeftSemiProject | JoinType::Anti => {
                self.answers(probing, table)?
            }
            _ if misses => self.answers(probing, table)?,
            _ => return Ok(None),
        };
        let rows = match join_type {
            JoinType::LeftSemiFilter => answers.with_partner(),
            JoinType::LeftSemiProject => SelectivityVector::all(probing.batch.len()),
            _ => answers.without_partner(),
        };
        if rows.is_none() {
            return Ok(None);
        }
        let left = LeftRows::selected(&rows);
        let right = RightRows::Nulls(rows.count());
        self.output(rows.count(), |origin| match origin {
            Origin::Left(channel) => left.column(&probing.batch, channel).map(Some),
            Origin::Right(position) => right.column(table, position).map(Some),
            Origin::Match => answers.column().map(Some),
        })
        .map(Some)
    }

    /// Returns the next batch of build rows: those without a partner, or the result of a right semi
    /// join.
    fn end_output(&mut self) -> Result<Option<RowVector>> {
        let table = self.table()?;
        let max_rows = self.max_rows();
        let Phase::AtEnd { marked, next } = &mut self.phase else { return Ok(None) };
        let join_type = self.join.join_type;
        let mut rows = Vec::new();
        while *next < table.len() && rows.len() < max_rows {
            let wanted = match join_type {
                JoinType::RightSemiProject => true,
                JoinType::RightSemiFilter => marked.get(*next),
                _ => !marked.get(*next),
            };
            if wanted {
                rows.push(*next as u32);
            }
            *next += 1;
        }
        let answers = match join_type {
            JoinType::RightSemiProject => Some(right_answers(&self.join, &table, marked, &rows)?),
            _ => None,
        };
        if *next == table.len() {
            self.phase = Phase::Finished;
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let right = RightRows::new(&rows);
        self.output(rows.len(), |origin| match origin {
            Origin::Left(channel) => {
                let ty = self.join.left_type.types().get(channel).cloned();
                let ty = ty.ok_or_else(|| Error::internal("a join without its column"))?;
                Ok(Some(Arc::new(Vector::nulls(ty, rows.len()))))
            }
            Origin::Right(position) => right.column(&table, position).map(Some),
            Origin::Match => Ok(answers.clone()),
        })
        .map(Some)
    }

    fn output(
        &self,
        num_rows: usize,
        column: impl Fn(Origin) -> Result<Option<VectorRef>>,
    ) -> Result<RowVector> {
        pair_batch(&self.join.output_type, &self.join.layout.output, num_rows, column)
    }

    /// Ends the probe of this driver. The last driver returns the remaining rows of the build side.
    fn end(&mut self) -> Result<()> {
        let is_last = self.join.bridge.probe_done();
        self.phase = Phase::Finished;
        if is_last && self.join.join_type.gives_right_at_end() {
            let marked = self.table()?.marked();
            self.phase = Phase::AtEnd { marked, next: 0 };
        }
        Ok(())
    }
}

/// Returns a BOOLEAN column that states whether build rows have a partner. In a null-aware join the
/// value is null when a row without a partner could match a null key of either side.
fn right_answers(
    join: &HashJoin,
    table: &JoinTable,
    marked: &Bitmap,
    rows: &[u32],
) -> Result<VectorRef> {
    boolean_column(rows.len(), |i| {
        let row = rows[i];
        let null_key = || table.null_rows.binary_search(&row).is_ok();
        let unknown =
            join.null_aware && (table.has_probe_nulls() || (table.has_probe_rows() && null_key()));
        (marked.get(row as usize), unknown)
    })
}

impl Operator for HashProbe {
    fn needs_input(&self) -> bool {
        self.table.is_some()
            && self.input.is_none()
            && self.replaced.is_none()
            && matches!(self.phase, Phase::Probing)
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let table = self.table()?;
        if self.is_replaced(&table) {
            self.num_replaced_rows += batch.len();
            let left = LeftRows::All;
            self.replaced = Some(self.output(batch.len(), |origin| match origin {
                Origin::Left(channel) => left.column(&batch, channel).map(Some),
                Origin::Right(_) | Origin::Match => Ok(None),
            })?);
            return Ok(());
        }
        self.input = Some(self.start(batch, &table)?);
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if let Some(batch) = self.replaced.take() {
            return Ok(Some(batch));
        }
        if self.input.is_some() {
            return self.probe();
        }
        if self.input_ended && matches!(self.phase, Phase::Probing) {
            self.end()?;
        }
        self.end_output()
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        self.poll_table()
    }

    fn no_more_input(&mut self) {
        self.input_ended = true;
    }

    fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished) && self.input.is_none() && self.replaced.is_none()
    }

    fn add_stats(&self, stats: &mut OperatorStats) {
        if self.num_filters > 0 {
            stats.metrics.add_count("dynamicFiltersProduced", self.num_filters);
        }
        if self.num_replaced_rows > 0 {
            stats.metrics.add_count("replacedWithDynamicFilterRows", self.num_replaced_rows);
        }
    }

    fn close(&mut self) {
        self.phase = Phase::Finished;
        self.input = None;
        self.replaced = None;
        self.table = None;
    }
}
