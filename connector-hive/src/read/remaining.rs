//! The remaining filter: the condition that is evaluated on decoded batches (rules S6.33, S6.38).
//!
//! It is divided into stages, so that a lazy column is read only for the rows that the earlier
//! stages have passed:
//!
//! ```text
//! ship < commit AND commit < '1995-01-01' AND commit < receipt
//! ------------- stage 0 -----------------     --- stage 1 ----
//! reads ship, commit                          reads receipt where stage 0 is true
//! ```
//!
//! Terms keep their order, except that a term that needs no additional column moves to the earliest
//! stage that has its columns.

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    Bitmap, DecodedVector, Error, ErrorKind, FlatValues, Mapping, Result, RowSet, RowType,
    RowVector, SelectivityVector, Type, Vector, VectorRef,
};

use crate::clock::{Started, Times};
use crate::plan::prune::fields_of;

/// A compiled condition over the reader's columns.
pub(crate) struct RemainingFilter {
    stages: Vec<Stage>,
    /// All terms as one expression; only present if there are several stages.
    whole: Option<Box<dyn CompiledExpr>>,
    time: Times,
    rows_in: u64,
    rows_out: u64,
}

/// Terms that are evaluated together.
struct Stage {
    compiled: Box<dyn CompiledExpr>,
    /// Channels of the columns that this stage uses and no earlier stage does.
    channels: Vec<usize>,
}

/// If more than this fraction of rows passes, reading other columns for the passing rows only does
/// not pay.
const MANY_PASS: f64 = 0.8;

/// Up to this fraction of passing rows, the columns of later terms are read only for them. The
/// result is a dictionary, which costs more per row.
const FEW_PASS: f64 = 0.4;

impl RemainingFilter {
    /// Compiles the condition.
    ///
    /// # Errors
    /// Errors of compiling a term.
    pub(crate) fn new(
        evaluator: &dyn ExpressionEvaluator,
        filter: &TypedExpr,
        reader_type: &Arc<RowType>,
    ) -> Result<Self> {
        let channels_of = |term: &TypedExpr| -> Vec<usize> {
            fields_of(term).names().iter().filter_map(|name| reader_type.index_of(name)).collect()
        };
        let mut parts: Vec<(Vec<usize>, Vec<TypedExpr>)> = Vec::new();
        for term in filter.conjuncts() {
            let needed = channels_of(term);
            let known = |upto: usize, channel: &usize| {
                parts.iter().take(upto + 1).any(|(channels, _)| channels.contains(channel))
            };
            let has_all = |upto: &usize| needed.iter().all(|channel| known(*upto, channel));
            match (0..parts.len()).find(has_all).and_then(|at| parts.get_mut(at)) {
                Some((_, terms)) => terms.push(term.clone()),
                None => {
                    let is_new = |c: &usize| !parts.iter().any(|(known, _)| known.contains(c));
                    let channels = needed.into_iter().filter(is_new).collect();
                    parts.push((channels, vec![term.clone()]));
                }
            }
        }
        let stages = parts.into_iter().filter_map(|(channels, terms)| {
            let compiled = evaluator.compile(&TypedExpr::and(terms)?, reader_type);
            Some(compiled.map(|compiled| Stage { compiled, channels }))
        });
        let stages: Vec<Stage> = stages.collect::<Result<_>>()?;
        let whole = match stages.len() {
            0 | 1 => None,
            _ => Some(evaluator.compile(filter, reader_type)?),
        };
        Ok(RemainingFilter { stages, whole, time: Times::default(), rows_in: 0, rows_out: 0 })
    }

    /// Returns true if the filter has dropped enough rows to defer reading other columns; also true
    /// before the first batch.
    pub(crate) fn drops_rows(&self) -> bool {
        self.rows_out as f64 <= self.rows_in as f64 * MANY_PASS
    }

    /// Time of the evaluations, excluding the loads before them (rule S6.39).
    pub(crate) fn time(&self) -> Times {
        self.time
    }

    /// Number of rows tested and number of rows passed.
    pub(crate) fn rows(&self) -> (u64, u64) {
        (self.rows_in, self.rows_out)
    }

    /// Evaluates the condition on a batch. Returns the batch, in which the columns used by the
    /// filter are loaded at least for the passing rows, and the passing rows; `None` if all rows
    /// pass.
    ///
    /// # Errors
    /// Errors of loading a column and of evaluating the condition. An error on a row that another
    /// term rejects is ignored.
    pub(crate) fn apply(&mut self, mut batch: RowVector) -> Result<(RowVector, Option<RowSet>)> {
        let mut passed = SelectivityVector::all(batch.len());
        let mut failed = Vec::new();
        for (at, stage) in self.stages.iter_mut().enumerate() {
            if passed.is_none() {
                break;
            }
            batch = stage.load(batch, &passed)?;
            let start = Started::now();
            match evaluate(stage.compiled.as_mut(), &batch, &passed) {
                Ok(held) => passed = held,
                // An error of one term does not count for rows that another term rejects, as in any
                // AND.
                Err(error) if error.kind() == ErrorKind::InvalidInput => failed.push(at),
                Err(error) => return Err(error),
            }
            self.time.add_since(start);
        }
        passed = match (failed.as_slice(), &mut self.whole) {
            _ if passed.is_none() => passed,
            ([], _) => passed,
            // If several stages fail, each may fail on rows that another one rejects, so the whole
            // AND is evaluated.
            ([_, _, ..], Some(whole)) => evaluate(whole.as_mut(), &batch, &passed)?,
            (failed, _) => {
                for at in failed {
                    let Some(stage) = self.stages.get_mut(*at) else { continue };
                    passed = evaluate(stage.compiled.as_mut(), &batch, &passed)?;
                }
                passed
            }
        };
        self.rows_in += batch.len() as u64;
        self.rows_out += passed.count() as u64;
        let rows = (!passed.is_all()).then(|| passed.to_rows());
        Ok((batch, rows))
    }
}

impl Stage {
    /// Loads the columns of the stage, at least for all rows that can still pass. A lazy column can
    /// be loaded only once, and the expression may use fewer of its rows than the output needs
    /// (rule S6.12).
    fn load(&self, batch: RowVector, passed: &SelectivityVector) -> Result<RowVector> {
        let mut children = batch.children().to_vec();
        let is_whole = passed.count() as f64 > passed.len() as f64 * FEW_PASS;
        for channel in &self.channels {
            let Some(child) = children.get_mut(*channel) else { continue };
            *child = match child.as_ref() {
                Vector::Lazy(lazy) if !is_whole => lazy.load(&passed.to_rows())?,
                _ => Vector::loaded(child)?,
            };
        }
        RowVector::batch(Arc::clone(batch.row_type()), batch.len(), children)
    }
}

/// Returns those of `rows` for which a condition is true.
fn evaluate(
    condition: &mut dyn CompiledExpr,
    batch: &RowVector,
    rows: &SelectivityVector,
) -> Result<SelectivityVector> {
    let outcome = condition.evaluate(batch, rows)?;
    let mut held = rows_that_hold(&outcome, batch.len())?;
    if !rows.is_all() {
        held.intersect_words(rows.words());
    }
    Ok(held)
}

/// Returns the rows for which a condition is true, neither false nor null (rule S6.38).
fn rows_that_hold(outcome: &VectorRef, num_rows: usize) -> Result<SelectivityVector> {
    if *outcome.ty() != Type::Boolean || outcome.len() < num_rows {
        return Err(Error::internal("a filter did not return a truth value for each row")
            .with("type", outcome.ty())
            .with("values", outcome.len())
            .with("rows", num_rows));
    }
    if let (Vector::Flat(flat), true) = (outcome.as_ref(), outcome.len() == num_rows)
        && let FlatValues::Boolean(bits) = flat.values()
    {
        let mut selection = SelectivityVector::from_bitmap(bits);
        selection.deselect_nulls(flat.validity());
        return Ok(selection);
    }
    let decoded = DecodedVector::new(outcome)?;
    let (Some(FlatValues::Boolean(values)), false) = (decoded.flat_values(), decoded.all_null())
    else {
        return Ok(SelectivityVector::none(num_rows));
    };
    let held = match decoded.mapping() {
        Mapping::Identity => values.slice(0, num_rows),
        Mapping::Constant => Bitmap::filled(num_rows, values.get(0)),
        // The base of a dictionary usually has few values.
        Mapping::Indices(indices) => values.gather(indices.get(..num_rows).unwrap_or(&[])),
    };
    let mut selection = SelectivityVector::from_bitmap(&held);
    selection.deselect_nulls(decoded.validity());
    Ok(selection)
}
