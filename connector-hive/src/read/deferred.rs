//! Deferred selection and transformation of columns.
//!
//! A lazy column stays lazy: the selection or transformation is stored and applied when the column
//! is loaded, and only the rows that are requested then are read.

use vector::sync::Arc;
use vector::{
    Buffer, LazyVector, Result, RowSet, RowVector, Type, Vector, VectorLoader, VectorRef,
};

/// Returns rows `indices` of a column without copying values. The indices must ascend.
pub(crate) fn take_rows(column: &VectorRef, indices: &Buffer<u32>) -> VectorRef {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = TakeLoader { column: lazy.clone(), indices: indices.clone() };
            Arc::new(Vector::Lazy(LazyVector::new(lazy.ty().clone(), indices.len(), loader)))
        }
        _ => Vector::wrap(column, indices),
    }
}

/// Returns rows `indices` of a batch without copying values. The indices must ascend.
///
/// # Errors
/// Errors of building the batch.
pub(crate) fn take_batch_rows(batch: &RowVector, indices: &Buffer<u32>) -> Result<RowVector> {
    let children = batch.children().iter().map(|child| take_rows(child, indices)).collect();
    RowVector::batch(Arc::clone(batch.row_type()), indices.len(), children)
}

/// A transform of a column that keeps the number of rows.
pub(crate) type DeferredTransform = Arc<dyn Fn(VectorRef) -> Result<VectorRef> + Send + Sync>;

/// Applies a transform whose result has type `ty`. The transform of a lazy column is deferred until
/// the column is loaded.
///
/// # Errors
/// Errors of the transform, unless it is deferred.
pub(crate) fn apply_transform(
    column: &VectorRef,
    ty: &Type,
    transform: &DeferredTransform,
) -> Result<VectorRef> {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = TransformLoader { column: lazy.clone(), transform: Arc::clone(transform) };
            Ok(Arc::new(Vector::Lazy(LazyVector::new(ty.clone(), lazy.len(), loader))))
        }
        _ => transform(Arc::clone(column)),
    }
}

struct TakeLoader {
    column: LazyVector,
    indices: Buffer<u32>,
}

impl VectorLoader for TakeLoader {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let base_rows = rows.iter().filter_map(|row| self.indices.get(row).copied()).collect();
        let column = self.column.load(&RowSet::from_positions(base_rows))?;
        Ok(Vector::wrap(&column, &self.indices))
    }
}

struct TransformLoader {
    column: LazyVector,
    transform: DeferredTransform,
}

impl VectorLoader for TransformLoader {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        (self.transform)(self.column.load(rows)?)
    }
}
