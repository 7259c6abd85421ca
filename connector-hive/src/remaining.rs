//! The condition that is evaluated on finished batches (rules S6.33, S6.38).

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, FlatValues, Result, RowSet, RowType, RowVector, SelectivityVector, Type,
    Vector, VectorRef,
};

use crate::clock::{Started, Times};
use crate::prune::fields_of;

/// A compiled condition over the reader's columns.
pub struct RemainingFilter {
    compiled: Box<dyn CompiledExpr>,
    /// The reader's columns that it uses.
    channels: Vec<usize>,
    time: Times,
    rows_in: u64,
    rows_out: u64,
}

/// From this share of passing rows on, reading the other columns for them only is not worth it.
const MANY_PASS: f64 = 0.8;

impl RemainingFilter {
    /// Compiles the condition.
    pub fn new(
        evaluator: &dyn ExpressionEvaluator,
        filter: &TypedExpr,
        reader_type: &Arc<RowType>,
    ) -> Result<Self> {
        let fields = fields_of(filter);
        let channels = fields.names().iter().filter_map(|name| reader_type.index_of(name));
        let channels = channels.collect();
        let compiled = evaluator.compile(filter, reader_type)?;
        Ok(RemainingFilter { compiled, channels, time: Times::default(), rows_in: 0, rows_out: 0 })
    }

    /// True when the filter drops enough rows for other columns to be read after it; also before
    /// anything is known.
    pub fn drops_rows(&self) -> bool {
        self.rows_out as f64 <= self.rows_in as f64 * MANY_PASS
    }

    /// The time that evaluations took, without the loads before them (rule S6.39).
    pub fn time(&self) -> Times {
        self.time
    }

    /// Rows that were tested, and those that passed.
    pub fn rows(&self) -> (u64, u64) {
        (self.rows_in, self.rows_out)
    }

    /// The batch with the columns that the filter used loaded, and the rows that passed; `None`
    /// when all did.
    pub fn apply(&mut self, batch: RowVector) -> Result<(RowVector, Option<RowSet>)> {
        // A lazy column can be loaded once only, and the expression may look at fewer rows of it
        // than will be given out (rule S6.12); so the filter's columns are loaded whole.
        let mut children = batch.children().to_vec();
        for channel in &self.channels {
            if let Some(child) = children.get_mut(*channel) {
                *child = Vector::loaded(child)?;
            }
        }
        let batch = RowVector::batch(Arc::clone(batch.row_type()), batch.len(), children)?;
        let start = Started::now();
        let outcome = self.compiled.evaluate(&batch, &SelectivityVector::all(batch.len()))?;
        let passed = rows_that_hold(&outcome, batch.len())?;
        let rows = (!passed.is_all()).then(|| passed.to_rows());
        self.time.add_since(start);
        self.rows_in += batch.len() as u64;
        self.rows_out += passed.count() as u64;
        Ok((batch, rows))
    }
}

/// The rows where a condition is true: neither false nor null (rule S6.38).
fn rows_that_hold(outcome: &VectorRef, num_rows: usize) -> Result<SelectivityVector> {
    if *outcome.ty() != Type::Boolean || outcome.len() < num_rows {
        return Err(Error::internal("a filter gave no truth value for each row")
            .with("type", outcome.ty())
            .with("values", outcome.len())
            .with("rows", num_rows));
    }
    let decoded = DecodedVector::new(outcome)?;
    if let (Vector::Flat(flat), true) = (outcome.as_ref(), outcome.len() == num_rows)
        && let FlatValues::Boolean(bits) = flat.values()
    {
        let mut selection = SelectivityVector::from_bitmap(bits);
        selection.deselect_nulls(flat.validity());
        return Ok(selection);
    }
    let mut selection = SelectivityVector::none(num_rows);
    for row in 0..num_rows {
        selection.set(row, !decoded.is_null(row) && decoded.boolean(row));
    }
    Ok(selection)
}
