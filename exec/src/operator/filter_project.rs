//! Filter and projections in one step.
//!
//! ```text
//! batch --predicate--> passing rows --expressions on these rows--> results, wrapped
//! ```
//!
//! Expressions are evaluated over the input batch for the passing rows only, and the results are
//! wrapped in one dictionary (rule S1.53), so that no value is copied. When every row passes
//! nothing is wrapped, and columns that are only passed on may stay lazy.

use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, FlatValues, Result, RowSet, RowType, RowVector, SelectivityVector,
    Vector, VectorRef,
};

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;

use super::loading::{load_column, wrap_column};
use super::{Operator, channel_of};

enum Projection {
    /// A column of the input.
    Channel(usize),
    Computed(Box<dyn CompiledExpr>),
}

/// Gives the rows that pass a predicate, and expressions over them.
pub struct FilterProject {
    predicate: Option<Box<dyn CompiledExpr>>,
    projections: Vec<Projection>,
    /// The input columns that computed projections use.
    computed_from: Vec<usize>,
    output_type: Arc<RowType>,
    input: Option<RowVector>,
    no_more_input: bool,
}

impl FilterProject {
    /// Compiles a predicate and, for each output column, an expression over `input`. Without
    /// expressions the input's columns are given as they are.
    pub fn new(
        evaluator: &dyn ExpressionEvaluator,
        input: &Arc<RowType>,
        predicate: Option<&TypedExpr>,
        projections: Option<(&[TypedExpr], &Arc<RowType>)>,
    ) -> Result<Self> {
        let predicate = predicate.map(|p| evaluator.compile(p, input)).transpose()?;
        let mut computed_from: Vec<usize> = Vec::new();
        let (projections, output_type) = match projections {
            None => ((0..input.len()).map(Projection::Channel).collect(), Arc::clone(input)),
            Some((expressions, output_type)) => {
                let compiled = expressions.iter().map(|expr| match expr {
                    TypedExpr::Field { name, .. } => {
                        channel_of(input, name).map(Projection::Channel)
                    }
                    computed => {
                        for name in computed.field_names() {
                            computed_from.push(channel_of(input, name)?);
                        }
                        evaluator.compile(computed, input).map(Projection::Computed)
                    }
                });
                (compiled.collect::<Result<_>>()?, Arc::clone(output_type))
            }
        };
        Ok(FilterProject {
            predicate,
            projections,
            computed_from,
            output_type,
            input: None,
            no_more_input: false,
        })
    }

    fn process(&mut self, batch: &RowVector) -> Result<Option<RowVector>> {
        let all = SelectivityVector::all(batch.len());
        let passing = match &mut self.predicate {
            Some(predicate) => true_rows(&predicate.evaluate(batch, &all)?, batch.len())?,
            None => all,
        };
        if passing.is_none() {
            return Ok(None);
        }
        if passing.is_all() {
            let columns = self.project(batch, &passing)?;
            return RowVector::batch(Arc::clone(&self.output_type), batch.len(), columns).map(Some);
        }
        let rows = passing.to_rows();
        let indices = rows.to_positions();
        let columns = self.project_some(batch, &passing, &rows, &indices)?;
        RowVector::batch(Arc::clone(&self.output_type), indices.len(), columns).map(Some)
    }

    fn project(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<Vec<VectorRef>> {
        let columns = self.projections.iter_mut().map(|projection| match projection {
            Projection::Channel(channel) => batch.child(*channel).cloned(),
            Projection::Computed(expr) => expr.evaluate(batch, rows),
        });
        columns.collect()
    }

    fn project_some(
        &mut self,
        batch: &RowVector,
        passing: &SelectivityVector,
        rows: &RowSet,
        indices: &Buffer<u32>,
    ) -> Result<Vec<VectorRef>> {
        // What expressions use is loaded for the passing rows before they ask for all.
        let mut columns = batch.children().to_vec();
        for channel in &self.computed_from {
            columns[*channel] = load_column(&columns[*channel], rows)?;
        }
        let row_type = Arc::clone(batch.row_type());
        let batch = &RowVector::batch(row_type, batch.len(), columns)?;
        let columns = self.projections.iter_mut().map(|projection| match projection {
            Projection::Channel(channel) => wrap_column(batch.child(*channel)?, indices, rows),
            Projection::Computed(expr) => {
                let result = expr.evaluate(batch, passing)?;
                Ok(Vector::wrap(&result, indices))
            }
        });
        columns.collect()
    }
}

/// The rows where a BOOLEAN vector is true.
fn true_rows(result: &VectorRef, num_rows: usize) -> Result<SelectivityVector> {
    let decoded = DecodedVector::new(result)?;
    let mut rows = SelectivityVector::none(num_rows);
    match (decoded.flat_values(), decoded.mapping()) {
        (Some(FlatValues::Boolean(bits)), vector::Mapping::Identity) if bits.len() == num_rows => {
            rows = SelectivityVector::from_bitmap(bits);
            rows.deselect_nulls(decoded.validity());
        }
        _ => {
            for row in 0..num_rows {
                if !decoded.is_null(row) && decoded.boolean(row) {
                    rows.set(row, true);
                }
            }
        }
    }
    Ok(rows)
}

impl Operator for FilterProject {
    fn needs_input(&self) -> bool {
        self.input.is_none() && !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.input = Some(batch);
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        match self.input.take() {
            Some(batch) => self.process(&batch),
            None => Ok(None),
        }
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input && self.input.is_none()
    }

    fn close(&mut self) {
        self.input = None;
    }
}
