//! The FilterProject operator, which evaluates a filter and projections in one step.
//!
//! ```text
//! batch --predicate--> passing rows --expressions on these rows--> results, wrapped
//! ```
//!
//! Expressions are evaluated over the input batch for the passing rows only, and the result columns
//! are wrapped in a dictionary of the passing rows, so that no value is copied (S1.53). When all
//! rows pass, nothing is wrapped, and columns that are projected unchanged may remain lazy. When
//! few rows pass, the columns that expressions use are first compacted to these rows
//! (`compaction.rs`).
//!
//! Results may be much larger than the input. An evaluation has a budget of bytes. When it exceeds
//! the budget, or when the bytes of earlier rows predict that it would, the passing rows are
//! evaluated in pieces, each of which becomes an output batch.

use vector::sync::Arc;
use vector::{
    Buffer, Error, ErrorKind, PoolScope, Result, RowSet, RowType, RowVector, SelectivityVector,
    Type, Vector, VectorRef,
};

use dwio::connector::{CompiledExpr, CompiledExprs, ExpressionEvaluator};
use dwio::expr::TypedExpr;

use super::compaction::{self, compacted};
use super::loading::{load_batch_rows, load_column, wrap_column};
use super::{Operator, channel_of};
use crate::expr::select_true;

/// Default size of an output batch in bytes.
const DEFAULT_BATCH_BYTES: u64 = 10 << 20;

/// The origin of an output column.
#[derive(Debug, Clone, Copy)]
enum Projection {
    /// The input column of this channel.
    Channel(usize),
    /// The result of the computed expression of this index.
    Computed(usize),
}

/// Evaluates expressions for the input rows that pass a predicate.
pub struct FilterProject {
    predicate: Option<Box<dyn CompiledExpr>>,
    projections: Vec<Projection>,
    /// All expressions that are not plain columns; `None` when there is no such expression.
    computed: Option<Box<dyn CompiledExprs>>,
    /// Channels of the input columns that computed projections use.
    computed_from: Vec<usize>,
    output_type: Arc<RowType>,
    input: Option<RowVector>,
    /// The passing rows of a batch that is evaluated in pieces.
    pieces: Option<Pieces>,
    /// Target for the maximum size of an output batch in bytes.
    batch_bytes: u64,
    /// Maximum number of rows that are evaluated at once; the bytes of earlier rows determine it.
    rows_at_once: usize,
    no_more_input: bool,
}

/// The passing rows of a batch, and the number of them that are evaluated.
struct Pieces {
    /// The batch, with all columns loaded for the passing rows.
    batch: RowVector,
    indices: Buffer<u32>,
    done: usize,
}

impl FilterProject {
    /// Creates the operator: compiles a predicate and, for each output column, an expression over
    /// `input`. Without projections the output has the input's columns.
    ///
    /// # Errors
    ///
    /// Returns the errors of `evaluator` for an expression that does not compile, and an error of
    /// kind `Internal` when the input has no column of a name that a projection uses.
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
            pieces: None,
            batch_bytes: DEFAULT_BATCH_BYTES,
            rows_at_once: usize::MAX,
            no_more_input: false,
        })
    }

    /// Returns the operator with a target of `bytes` for the maximum size of an output batch.
    pub fn with_batch_bytes(self, bytes: u64) -> Self {
        FilterProject { batch_bytes: bytes.max(1), ..self }
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
        let num_passing = passing.count();
        if num_passing > self.rows_at_once {
            return self.begin_pieces(batch, &passing);
        }
        match self.bounded(num_passing, |this| this.process_passing(batch, &passing)) {
            Err(error) if error.kind() == ErrorKind::Limit && num_passing > 1 => {
                self.rows_at_once = num_passing / 2;
                self.begin_pieces(batch, &passing)
            }
            outcome => outcome.map(Some),
        }
    }

    /// Evaluates `num_rows` rows by `f` within a budget of twice the target size, and determines
    /// the number of rows that fill a batch from the bytes that it takes. A single row is limited
    /// only by the memory pool.
    fn bounded(
        &mut self,
        num_rows: usize,
        f: impl FnOnce(&mut Self) -> Result<RowVector>,
    ) -> Result<RowVector> {
        if self.computed.is_none() {
            return f(self);
        }
        let budget = if num_rows > 1 { self.batch_bytes.saturating_mul(2) } else { u64::MAX };
        let scope = PoolScope::with_budget(budget);
        let batch = f(self)?;
        if let Some(scope) = scope {
            let bytes_of_row = scope.taken().div_ceil(num_rows as u64).max(1);
            let fitting = (self.batch_bytes / bytes_of_row).max(1);
            self.rows_at_once = usize::try_from(fitting).unwrap_or(usize::MAX);
        }
        Ok(batch)
    }

    fn begin_pieces(
        &mut self,
        batch: &RowVector,
        passing: &SelectivityVector,
    ) -> Result<Option<RowVector>> {
        let rows = passing.to_rows();
        let batch = load_batch_rows(batch, &rows)?;
        self.pieces = Some(Pieces { batch, indices: rows.to_positions(), done: 0 });
        self.next_piece()
    }

    /// Returns the results of the next passing rows, as many as fit into a batch.
    fn next_piece(&mut self) -> Result<Option<RowVector>> {
        let Some(mut pieces) = self.pieces.take() else { return Ok(None) };
        loop {
            let left = pieces.indices.len() - pieces.done;
            let len = left.min(self.rows_at_once.max(1));
            let indices = pieces.indices.slice(pieces.done..pieces.done + len);
            let outcome = self.bounded(len, |this| {
                let rows = RowSet::from_positions(indices.clone());
                let columns = this.project_compacted(&pieces.batch, &rows, &indices)?;
                RowVector::batch(Arc::clone(&this.output_type), len, columns)
            });
            match outcome {
                Err(error) if error.kind() == ErrorKind::Limit && len > 1 => {
                    self.rows_at_once = len / 2;
                }
                outcome => {
                    pieces.done += len;
                    self.pieces = Some(pieces).filter(|pieces| pieces.done < pieces.indices.len());
                    return outcome.map(Some);
                }
            }
        }
    }

    /// Returns the output for all passing rows of a batch.
    fn process_passing(
        &mut self,
        batch: &RowVector,
        passing: &SelectivityVector,
    ) -> Result<RowVector> {
        let (num_rows, columns) = if passing.is_all() {
            (batch.len(), self.project(batch, passing)?)
        } else {
            self.project_some(batch, passing)?
        };
        RowVector::batch(Arc::clone(&self.output_type), num_rows, columns)
    }

    /// Returns the output columns for all rows of a batch.
    fn project(&mut self, batch: &RowVector, all: &SelectivityVector) -> Result<Vec<VectorRef>> {
        let computed = self.compute(batch, all)?;
        let columns = self.projections.iter().map(|projection| match projection {
            Projection::Channel(channel) => batch.child(*channel).cloned(),
            Projection::Computed(i) => result(&computed, *i).cloned(),
        });
        columns.collect()
    }

    /// Returns the number of passing rows and the output columns for them.
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
        // The columns that expressions use are loaded for the passing rows only, before the
        // evaluation could load all of their rows.
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

    /// Returns the output columns for few passing rows. The columns that expressions use are
    /// compacted first, so these columns and the results contain only the passing rows.
    fn project_compacted(
        &mut self,
        batch: &RowVector,
        rows: &RowSet,
        indices: &Buffer<u32>,
    ) -> Result<Vec<VectorRef>> {
        // Columns that no expression uses are not read; they are replaced by null columns.
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
        self.input.is_none() && self.pieces.is_none() && !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.input = Some(batch);
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        match self.input.take() {
            Some(batch) => self.process(&batch),
            None => self.next_piece(),
        }
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input && self.input.is_none() && self.pieces.is_none()
    }

    fn close(&mut self) {
        (self.input, self.pieces) = (None, None);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::expr::{ExecEvaluator, FunctionRegistry};
    use vector::testing::{bigints, values_of};
    use vector::{MemoryPool, Value};

    fn lpad(size: i64) -> TypedExpr {
        let text = TypedExpr::cast(TypedExpr::field("n", Type::BigInt), Type::Varchar);
        let size = TypedExpr::constant(Value::BigInt(size), Type::BigInt);
        let filling = TypedExpr::constant(Value::bytes("x"), Type::Varchar);
        TypedExpr::call("lpad", vec![text, size, filling], Type::Varchar)
    }

    /// Returns the output batches for 1,000 rows of `n` and a string of 1,000 bytes, and the peak
    /// memory use in bytes.
    fn batches(predicate: Option<&TypedExpr>, limit: u64) -> Result<(Vec<RowVector>, u64)> {
        let root = MemoryPool::root("query", limit);
        let leaf = root.leaf("project");
        let evaluator = ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()));
        let input = Arc::new(RowType::new([("n", Type::BigInt)]));
        let output = Arc::new(RowType::new([("n", Type::BigInt), ("s", Type::Varchar)]));
        let expressions = [TypedExpr::field("n", Type::BigInt), lpad(1_000)];
        let projections = Some((expressions.as_slice(), &output));
        let mut step = FilterProject::new(&evaluator, &input, predicate, projections)?
            .with_batch_bytes(50_000);
        let numbers: Vec<Option<i64>> = (0..1_000).map(Some).collect();
        step.add_input(RowVector::batch(input, 1_000, vec![bigints(&numbers)])?)?;
        let mut given = Vec::new();
        while !step.needs_input() {
            let _scope = PoolScope::enter(&leaf);
            given.extend(step.get_output()?);
        }
        Ok((given, root.peak()))
    }

    #[test]
    fn wide_results_come_in_several_batches_with_all_rows_in_their_order() {
        let even = TypedExpr::call(
            "eq",
            vec![
                TypedExpr::call(
                    "modulus",
                    vec![
                        TypedExpr::field("n", Type::BigInt),
                        TypedExpr::constant(Value::BigInt(2), Type::BigInt),
                    ],
                    Type::BigInt,
                ),
                TypedExpr::constant(Value::BigInt(0), Type::BigInt),
            ],
            Type::Boolean,
        );
        for (predicate, step) in [(None, 1), (Some(&even), 2)] {
            let (given, _) = batches(predicate, u64::MAX).unwrap();
            assert!(given.iter().all(|batch| batch.flat_bytes() < 120_000));
            let numbers = given.iter().flat_map(|batch| values_of(batch.child(0).unwrap()));
            let expected: Vec<i64> = (0..1_000).step_by(step).collect();
            let expected = expected.into_iter().map(Value::BigInt);
            assert!(numbers.eq(expected));
            let texts = given.iter().flat_map(|batch| values_of(batch.child(1).unwrap()));
            assert!(
                texts.eq((0..1_000).step_by(step).map(|n| Value::bytes(format!("{n:x>1000}"))))
            );
        }
    }

    #[test]
    fn results_that_fit_nowhere_end_with_the_limit() {
        let error = batches(None, 300_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        // The predicate takes more bytes than the pool has, so it is evaluated for a few rows at a
        // time.
        let long = TypedExpr::call("length", vec![lpad(100_000)], Type::BigInt);
        let none = TypedExpr::constant(Value::BigInt(7), Type::BigInt);
        let short = TypedExpr::call("lt", vec![long, none], Type::Boolean);
        let (given, peak) = batches(Some(&short), 3_000_000).unwrap();
        assert!(given.is_empty() && peak <= 3_200_000, "{peak} bytes");
    }
}
