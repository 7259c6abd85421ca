//! Pairs of a probe row and a build row: enumerated chunk by chunk, filtered, and made into
//! columns.
//!
//! ```text
//! heads    probe row 0 -> build row 4 -> 9     pairs   (0, 4) (0, 9)
//!          probe row 1 -> none                         (1, none) in left and full joins
//!          probe row 2 -> build row 4                  (2, 4)
//! ```

use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, DictionaryVector, Result, RowSet, RowType, RowVector, SelectivityVector,
    Vector, VectorRef,
};

use dwio::connector::CompiledExpr;

use super::index::{Index, NONE};
use super::layout::{FilterLayout, Origin};
use super::table::JoinTable;
use crate::expr::select_true;
use crate::operator::loading::wrap_column;

/// Pairs of a row of the probe batch and a row of the table. The build row is [`NONE`] for a probe
/// row without a partner.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
}

impl Pairs {
    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn push(&mut self, left: u32, right: u32) {
        self.left.push(left);
        self.right.push(right);
    }

    /// Retains the selected pairs only.
    fn keep(&mut self, selected: &SelectivityVector) {
        if selected.is_all() {
            return;
        }
        let mut kept = 0;
        for i in selected.iter() {
            self.left[kept] = self.left[i];
            self.right[kept] = self.right[i];
            kept += 1;
        }
        self.left.truncate(kept);
        self.right.truncate(kept);
    }

    /// Returns true when the probe rows of the pairs are `0..num_rows`, each once and in order.
    fn is_every_row_once(&self, num_rows: usize) -> bool {
        self.len() == num_rows && self.left.iter().enumerate().all(|(i, row)| i == *row as usize)
    }
}

/// The position of the enumeration of one probe batch's pairs.
#[derive(Debug)]
pub(super) struct Position {
    row: usize,
    /// The next build row to pair with `row`; [`NONE`] to start at the head of its chain.
    chain: u32,
}

impl Position {
    /// Returns the position before the first row.
    pub(super) fn start() -> Self {
        Position { row: 0, chain: NONE }
    }

    /// Returns true when the pairs of all rows have been enumerated.
    pub(super) fn is_end(&self, heads: &[u32]) -> bool {
        self.row >= heads.len()
    }

    /// Replaces `pairs` with the next pairs, at most `max`. With `misses`, each row without a
    /// partner is paired with [`NONE`].
    pub(super) fn fill(
        &mut self,
        heads: &[u32],
        index: &Index,
        misses: bool,
        max: usize,
        pairs: &mut Pairs,
    ) {
        pairs.clear();
        while let Some(head) = heads.get(self.row) {
            if pairs.len() >= max {
                return;
            }
            let row = self.row as u32;
            let mut at = if self.chain == NONE { *head } else { self.chain };
            if at == NONE && misses {
                pairs.push(row, NONE);
            }
            while at != NONE && pairs.len() < max {
                pairs.push(row, at);
                at = index.next(at);
            }
            self.chain = at;
            if at == NONE {
                self.row += 1;
            }
        }
    }
}

/// The build side's rows of an output batch.
pub(super) enum RightRows {
    /// This number of rows, all without a partner: their columns are null.
    Nulls(usize),
    /// Rows of the table; a row that is not valid is null.
    Rows(Buffer<u32>, Option<Bitmap>),
}

impl RightRows {
    pub(super) fn new(rows: &[u32]) -> Self {
        if rows.iter().all(|row| *row == NONE) {
            return RightRows::Nulls(rows.len());
        }
        if !rows.contains(&NONE) {
            return RightRows::Rows(Buffer::from_slice(rows), None);
        }
        let validity = rows.iter().map(|row| *row != NONE).collect();
        let rows = rows.iter().map(|row| if *row == NONE { 0 } else { *row }).collect();
        RightRows::Rows(rows, Some(validity))
    }

    pub(super) fn column(&self, table: &JoinTable, position: usize) -> Result<VectorRef> {
        let column = table.rows.child(position)?;
        Ok(match self {
            RightRows::Nulls(len) => Arc::new(Vector::nulls(column.ty().clone(), *len)),
            RightRows::Rows(rows, None) => Vector::wrap(column, rows),
            RightRows::Rows(rows, validity) => {
                Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
                    Arc::clone(column),
                    rows.clone(),
                    validity.clone(),
                )))
            }
        })
    }
}

/// The probe side's rows of an output batch.
pub(super) enum LeftRows {
    /// All rows of the batch, each once.
    All,
    /// Row numbers of the batch, possibly repeated, and the set of rows to load of a lazy column.
    Some(Buffer<u32>, RowSet),
}

impl LeftRows {
    /// Returns the probe rows of pairs over a batch whose columns are loaded, unless each row
    /// occurs exactly once.
    pub(super) fn of_pairs(pairs: &Pairs, num_rows: usize) -> Self {
        match pairs.is_every_row_once(num_rows) {
            true => LeftRows::All,
            false => LeftRows::Some(Buffer::from_slice(&pairs.left), RowSet::all(num_rows)),
        }
    }

    /// Returns the selected rows of a batch.
    pub(super) fn selected(rows: &SelectivityVector) -> Self {
        if rows.is_all() {
            return LeftRows::All;
        }
        let rows = rows.to_rows();
        LeftRows::Some(rows.to_positions(), rows)
    }

    pub(super) fn column(&self, batch: &RowVector, channel: usize) -> Result<VectorRef> {
        let column = batch.child(channel)?;
        match self {
            LeftRows::All => Vector::slice(column, 0, batch.len()),
            LeftRows::Some(indices, rows) => wrap_column(column, indices, rows),
        }
    }
}

/// The compiled filter of a join.
pub(super) struct PairFilter {
    pub(super) expr: Box<dyn CompiledExpr>,
}

impl PairFilter {
    /// Retains the pairs for which the filter is true; false and null drop the pair.
    pub(super) fn apply(
        &mut self,
        layout: &FilterLayout,
        batch: &RowVector,
        table: &JoinTable,
        pairs: &mut Pairs,
    ) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let left = LeftRows::of_pairs(pairs, batch.len());
        let right = RightRows::new(&pairs.right);
        let input =
            pair_batch(&layout.input_type, &layout.columns, pairs.len(), |origin| match origin {
                Origin::Left(channel) => left.column(batch, channel).map(Some),
                Origin::Right(position) => right.column(table, position).map(Some),
                Origin::Match => Ok(None),
            })?;
        let all = SelectivityVector::all(pairs.len());
        let passing = select_true(&self.expr.evaluate(&input, &all)?, &all)?;
        pairs.keep(&passing);
        Ok(())
    }
}

/// Makes a batch of `num_rows` rows from the columns that `column` returns for `origins`; an origin
/// for which it returns `None` is omitted.
pub(super) fn pair_batch(
    row_type: &Arc<RowType>,
    origins: &[Origin],
    num_rows: usize,
    column: impl Fn(Origin) -> Result<Option<VectorRef>>,
) -> Result<RowVector> {
    let columns = origins.iter().filter_map(|origin| column(*origin).transpose());
    let columns = columns.collect::<Result<_>>()?;
    RowVector::batch(Arc::clone(row_type), num_rows, columns)
}
