//! Filter and projections in one step.
//!
//! ```text
//! batch --predicate--> passing rows --expressions on these rows--> results, wrapped
//! ```
//!
//! Expressions are evaluated over the input batch for the passing rows only, and the results are
//! wrapped in one dictionary (rule S1.53), so that no value is copied. When every row passes
//! nothing is wrapped, and columns that are only passed on may stay lazy. When few rows pass, the
//! columns that expressions use are first copied down to them (`compaction.rs`).

use vector::sync::Arc;
use vector::{
    Buffer, Error, Result, RowSet, RowType, RowVector, SelectivityVector, Type, Vector, VectorRef,
};

use dwio::connector::{CompiledExpr, CompiledExprs, ExpressionEvaluator};
use dwio::expr::TypedExpr;

use super::compaction::{self, compacted};
use super::loading::{load_column, wrap_column};
use super::{Operator, channel_of};
use crate::expr::select_true;

/// Where an output column comes from.
#[derive(Debug, Clone, Copy)]
enum Projection {
    /// A column of the input.
    Channel(usize),
    /// A result of the computed expressions.
    Computed(usize),
}

/// Gives the rows that pass a predicate, and expressions over them.
pub struct FilterProject {
    predicate: Option<Box<dyn CompiledExpr>>,
    projections: Vec<Projection>,
    /// All expressions that are no columns; none when there is no such expression.
    computed: Option<Box<dyn CompiledExprs>>,
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
        let mut expressions: Vec<TypedExpr> = Vec::new();
        let (projections, output_type) = match projections {
            None => ((0..input.len()).map(Projection::Channel).collect(), Arc::clone(input)),
            Some((given, output_type)) => {
                let projections = given.iter().map(|expr| {
                    if let TypedExpr::Field { name, .. } = expr {
                        return channel_of(input, name).map(Projection::Channel);
                    }
                    for name in expr.field_names() {
                        let channel = channel_of(input, name)?;
                        if !computed_from.contains(&channel) {
                            computed_from.push(channel);
                        }
                    }
                    expressions.push(expr.clone());
                    Ok(Projection::Computed(expressions.len() - 1))
                });
                (projections.collect::<Result<_>>()?, Arc::clone(output_type))
            }
        };
        let computed = if expressions.is_empty() {
            None
        } else {
            Some(evaluator.compile_all(&expressions, input)?)
        };
        Ok(FilterProject {
            predicate,
            projections,
            computed,
            computed_from,
            output_type,
            input: None,
            no_more_input: false,
        })
    }

    fn process(&mut self, batch: &RowVector) -> Result<Option<RowVector>> {
        let all = SelectivityVector::all(batch.len());
        let passing = match &mut self.predicate {
            Some(predicate) => select_true(&predicate.evaluate(batch, &all)?, &all)?,
            None => all,
        };
        if passing.is_none() {
            return Ok(None);
        }
        let (num_rows, columns) = if passing.is_all() {
            (batch.len(), self.project(batch, &passing)?)
        } else {
            self.project_some(batch, &passing)?
        };
        RowVector::batch(Arc::clone(&self.output_type), num_rows, columns).map(Some)
    }

    /// The output columns for all rows of a batch.
    fn project(&mut self, batch: &RowVector, all: &SelectivityVector) -> Result<Vec<VectorRef>> {
        let computed = self.compute(batch, all)?;
        let columns = self.projections.iter().map(|projection| match projection {
            Projection::Channel(channel) => batch.child(*channel).cloned(),
            Projection::Computed(i) => result(&computed, *i).cloned(),
        });
        columns.collect()
    }

    /// The output columns for the passing rows, and their number.
    fn project_some(
        &mut self,
        batch: &RowVector,
        passing: &SelectivityVector,
    ) -> Result<(usize, Vec<VectorRef>)> {
        let rows = passing.to_rows();
        let indices = rows.to_positions();
        if self.computed.is_some() && compaction::pays(indices.len(), batch.len()) {
            let columns = self.project_compacted(batch, &rows, &indices)?;
            return Ok((indices.len(), columns));
        }
        // What expressions use is loaded for the passing rows before they ask for all.
        let mut columns = batch.children().to_vec();
        for channel in &self.computed_from {
            columns[*channel] = load_column(&columns[*channel], &rows)?;
        }
        let row_type = Arc::clone(batch.row_type());
        let batch = &RowVector::batch(row_type, batch.len(), columns)?;
        let computed = self.compute(batch, passing)?;
        let columns = self.projections.iter().map(|projection| match projection {
            Projection::Channel(channel) => wrap_column(batch.child(*channel)?, &indices, &rows),
            Projection::Computed(i) => Ok(Vector::wrap(result(&computed, *i)?, &indices)),
        });
        Ok((indices.len(), columns.collect::<Result<_>>()?))
    }

    /// The output columns for few passing rows: those that expressions use, and so the results,
    /// have no other rows.
    fn project_compacted(
        &mut self,
        batch: &RowVector,
        rows: &RowSet,
        indices: &Buffer<u32>,
    ) -> Result<Vec<VectorRef>> {
        // What no expression uses is not looked at: nulls stand in its place.
        let nulls = |ty: &Type| Arc::new(Vector::nulls(ty.clone(), indices.len()));
        let mut columns: Vec<VectorRef> = batch.row_type().types().iter().map(nulls).collect();
        for channel in &self.computed_from {
            columns[*channel] = compacted(&load_column(batch.child(*channel)?, rows)?, indices)?;
        }
        let row_type = Arc::clone(batch.row_type());
        let compact = RowVector::batch(row_type, indices.len(), columns)?;
        let computed = self.compute(&compact, &SelectivityVector::all(indices.len()))?;
        let columns = self.projections.iter().map(|projection| match projection {
            Projection::Channel(channel) if self.computed_from.contains(channel) => {
                compact.child(*channel).cloned()
            }
            Projection::Channel(channel) => wrap_column(batch.child(*channel)?, indices, rows),
            Projection::Computed(i) => result(&computed, *i).cloned(),
        });
        columns.collect()
    }

    fn compute(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<Vec<VectorRef>> {
        match &mut self.computed {
            Some(computed) => computed.evaluate_all(batch, rows),
            None => Ok(Vec::new()),
        }
    }
}

fn result(computed: &[VectorRef], i: usize) -> Result<&VectorRef> {
    computed.get(i).ok_or_else(|| Error::internal("an expression without a result"))
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
