//! Deferred selection and transformation of columns.
//!
//! A lazy column stays lazy: the selection or transformation is stored and applied when the column
//! is loaded, and only the rows that are requested then are read.

use vector::sync::Arc;
use vector::{
    Buffer, LazyVector, Result, RowSet, RowVector, Type, Vector, VectorLoader, VectorRef,
};

/// Returns rows `indices` of a column without copying values. The indices must ascend.
pub(crate) fn picked(column: &VectorRef, indices: &Buffer<u32>) -> VectorRef {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = PickedRows { column: lazy.clone(), indices: indices.clone() };
            Arc::new(Vector::Lazy(LazyVector::new(lazy.ty().clone(), indices.len(), loader)))
        }
        _ => Vector::wrap(column, indices),
    }
}

/// Returns rows `indices` of a batch without copying values. The indices must ascend.
///
/// # Errors
/// Errors of building the batch.
pub(crate) fn picked_batch(batch: &RowVector, indices: &Buffer<u32>) -> Result<RowVector> {
    let children = batch.children().iter().map(|child| picked(child, indices)).collect();
    RowVector::batch(Arc::clone(batch.row_type()), indices.len(), children)
}

/// A transform of a column that keeps the number of rows.
pub(crate) type Change = Arc<dyn Fn(VectorRef) -> Result<VectorRef> + Send + Sync>;

/// Applies a transform whose result has type `ty`. The transform of a lazy column is deferred until
/// the column is loaded.
///
/// # Errors
/// Errors of the transform, unless it is deferred.
pub(crate) fn changed(column: &VectorRef, ty: &Type, change: &Change) -> Result<VectorRef> {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = ChangedRows { column: lazy.clone(), change: Arc::clone(change) };
            Ok(Arc::new(Vector::Lazy(LazyVector::new(ty.clone(), lazy.len(), loader))))
        }
        _ => change(Arc::clone(column)),
    }
}

struct PickedRows {
    column: LazyVector,
    indices: Buffer<u32>,
}

impl VectorLoader for PickedRows {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        let wanted = rows.iter().filter_map(|row| self.indices.get(row).copied()).collect();
        let column = self.column.load(&RowSet::from_positions(wanted))?;
        Ok(Vector::wrap(&column, &self.indices))
    }
}

struct ChangedRows {
    column: LazyVector,
    change: Change,
}

impl VectorLoader for ChangedRows {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        (self.change)(self.column.load(rows)?)
    }
}
