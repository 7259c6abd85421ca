//! Columns whose rows are picked, or whose values are changed, before they are read.
//!
//! A lazy column stays lazy: what is to be done is kept and done when somebody loads it, and only
//! the rows that are still wanted then are read.

use vector::sync::Arc;
use vector::{
    Buffer, LazyVector, Result, RowSet, RowVector, Type, Vector, VectorLoader, VectorRef,
};

/// Rows `indices` of a column, without copying; they ascend.
pub fn picked(column: &VectorRef, indices: &Buffer<u32>) -> VectorRef {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            let loader = PickedRows { column: lazy.clone(), indices: indices.clone() };
            Arc::new(Vector::Lazy(LazyVector::new(lazy.ty().clone(), indices.len(), loader)))
        }
        _ => Vector::wrap(column, indices),
    }
}

/// Rows `indices` of a batch, without copying; they ascend.
pub fn picked_batch(batch: &RowVector, indices: &Buffer<u32>) -> Result<RowVector> {
    let children = batch.children().iter().map(|child| picked(child, indices)).collect();
    RowVector::batch(Arc::clone(batch.row_type()), indices.len(), children)
}

/// A change of a column's values that keeps the number of rows.
pub type Change = Arc<dyn Fn(VectorRef) -> Result<VectorRef> + Send + Sync>;

/// The column after a change that makes it of type `ty`; done at once, or when a lazy column is
/// loaded.
pub fn changed(column: &VectorRef, ty: &Type, change: &Change) -> Result<VectorRef> {
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
