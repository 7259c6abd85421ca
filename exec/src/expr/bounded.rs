//! Memory bounds of evaluations: conditions with large intermediate results, and folded constants.
//!
//! ```text
//! length(lpad(x, 100000)) > y     over 10,000 rows  1 GB of strings
//!                                 over 100 rows     10 MB, a hundred times; results concatenated
//! ```
//!
//! The result of a condition is small for each row, whatever the size of its intermediate results.
//! If they exceed the budget, each half of the rows is evaluated by itself. Results of projections
//! are large themselves; there the operator produces smaller batches
//! (`operator/filter_project.rs`).

use vector::sync::Arc;
use vector::{
    Error, ErrorKind, MemoryPool, PoolScope, Result, RowVector, SelectivityVector, TypeKind,
    Vector, VectorRef, concat,
};

use super::ExprSet;

/// Maximum number of bytes of one evaluation of a condition.
const BUDGET: u64 = 20 << 20;

/// Maximum number of bytes for folding one constant. Larger values are computed during execution
/// and charged to the query.
const FOLDING_LIMIT: u64 = 4 << 20;

/// Returns a scope for folding constants, which refuses buffers beyond the limit.
pub(super) fn folding_scope() -> PoolScope {
    PoolScope::enter(&MemoryPool::root("constants", FOLDING_LIMIT).leaf("folding"))
}

/// Evaluates the only expression of `set` for `rows` of a batch.
pub(super) fn evaluate(
    set: &mut ExprSet,
    batch: &RowVector,
    rows: &SelectivityVector,
) -> Result<VectorRef> {
    let kind = set.program.roots.first().map(|root| set.program.nodes[*root].ty.kind());
    let halves = kind == Some(TypeKind::Boolean) && batch.len() > 1;
    let scope = if halves { PoolScope::with_budget(BUDGET) } else { None };
    let outcome = only(set, batch, rows);
    drop(scope);
    match outcome {
        Err(error) if error.kind() == ErrorKind::Limit && halves => {
            let batch = with_loaded_fields(set, batch, rows)?;
            let middle = batch.len() / 2;
            let mut parts = Vec::with_capacity(2);
            for (start, end) in [(0, middle), (middle, batch.len())] {
                let mut of_part = SelectivityVector::none(end - start);
                (start..end).for_each(|row| of_part.set(row - start, rows.contains(row)));
                parts.push(evaluate(set, &batch.slice(start, end - start)?, &of_part)?);
            }
            concat(&parts)
        }
        outcome => outcome,
    }
}

fn only(set: &mut ExprSet, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef> {
    let mut vectors = ExprSet::evaluate(set, batch, rows)?;
    vectors.pop().ok_or_else(|| Error::internal("an expression set without expressions"))
}

/// Returns the batch with the used columns loaded for `rows`, and nulls in place of the others.
fn with_loaded_fields(
    set: &ExprSet,
    batch: &RowVector,
    rows: &SelectivityVector,
) -> Result<RowVector> {
    let fields = set.program.fields();
    let columns = batch.children().iter().enumerate().map(|(channel, column)| {
        if fields.contains(&channel) {
            return super::loaded::loaded(column, rows);
        }
        Ok(Arc::new(Vector::nulls(column.ty().clone(), batch.len())))
    });
    let columns = columns.collect::<Result<_>>()?;
    RowVector::batch(Arc::clone(batch.row_type()), batch.len(), columns)
}
