//! Bounds of what an evaluation takes: conditions over large intermediate results, folded constants.
//!
//! ```text
//! length(lpad(x, 100000)) > y     over 10,000 rows  1 GB of texts
//!                                 over 100 rows     10 MB, a hundred times; the answers side by side
//! ```
//!
//! A condition is one small value for a row, whatever was made on the way. Where that passes the
//! budget, each half of the rows is evaluated on its own. Results of projections are large themselves:
//! there the operator makes smaller batches (`operator/filter_project.rs`).

use vector::sync::Arc;
use vector::{
    Error, ErrorKind, MemoryPool, PoolScope, Result, RowVector, SelectivityVector, TypeKind,
    Vector, VectorRef, concat,
};

use super::ExprSet;

/// Bytes that one evaluation of a condition may take.
const BUDGET: u64 = 20 << 20;

/// Bytes that folding one constant may take: what is larger is made when the query runs, and is paid
/// for there.
const FOLDING_LIMIT: u64 = 4 << 20;

/// A scope for folding constants: buffers beyond its limit are refused.
pub(super) fn folding_scope() -> PoolScope {
    PoolScope::enter(&MemoryPool::root("constants", FOLDING_LIMIT).leaf("folding"))
}

/// The only expression of `set` for `rows` of a batch.
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

/// The batch with the columns that the expressions use loaded for `rows`, and nulls for the others.
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
