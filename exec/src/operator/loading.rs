//! Functions that load the lazy columns of batches.
//!
//! A lazy column can be loaded only until its scan produces the next batch (S1.37). Within a
//! pipeline the driver ensures this; before a batch leaves the pipeline (to another thread, to the
//! caller, or into memory until the end of input) these functions load its columns. They read only
//! the rows that the batch still has, and the result contains no lazy vector.

use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, DictionaryVector, Held, Result, RowSet, RowVector, Vector, VectorRef,
    load_rows,
};

/// Returns the approximate number of bytes that a batch retains once it is loaded.
pub fn bytes_when_loaded(batch: &RowVector) -> u64 {
    let columns = batch.children().iter();
    // Only the number of rows is known of a column that is not loaded yet.
    let bytes = columns.map(|column| column.retained_bytes().max(batch.len() * size_of::<u64>()));
    bytes.fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// Returns the number of bytes that a batch retains and that no memory pool has reserved, as far as
/// the batch is loaded.
pub fn unpaid_bytes(batch: &RowVector) -> u64 {
    let columns = batch.children().iter().map(|column| column.held_bytes(Held::Unpaid) as u64);
    columns.fold(0, u64::saturating_add)
}

/// Returns the batch with all of its columns loaded.
///
/// # Errors
///
/// Returns the errors of [`load_column`].
pub fn load_batch(batch: RowVector) -> Result<RowVector> {
    if !batch.children().iter().any(has_lazy) {
        return Ok(batch);
    }
    load_batch_rows(&batch, &RowSet::all(batch.len()))
}

/// Returns the batch with all of its columns loaded for `rows`; other rows are unspecified.
///
/// # Errors
///
/// Returns the errors of [`load_column`].
pub fn load_batch_rows(batch: &RowVector, rows: &RowSet) -> Result<RowVector> {
    let columns = batch.children().iter().map(|column| load_column(column, rows));
    let columns = columns.collect::<Result<_>>()?;
    let validity = batch.validity().cloned();
    RowVector::new(Arc::clone(batch.row_type()), batch.len(), validity, columns)
}

/// Returns rows `offset..offset + len` of a batch; lazy columns are loaded for these rows only.
///
/// # Errors
///
/// Returns the errors of [`load_column`] and of [`Vector::slice`].
pub fn slice_batch(batch: &RowVector, offset: usize, len: usize) -> Result<RowVector> {
    if offset == 0 && len == batch.len() {
        return Ok(batch.clone());
    }
    let rows = RowSet::range(offset, offset + len);
    let columns = batch.children().iter().map(|column| {
        let loaded = load_column(column, &rows)?;
        Vector::slice(&loaded, offset, len)
    });
    let columns = columns.collect::<Result<_>>()?;
    let validity = batch.validity().map(|v| v.slice(offset, len));
    RowVector::new(Arc::clone(batch.row_type()), len, validity, columns)
}

/// Returns rows `indices` of a column, wrapped in a dictionary. A lazy column is loaded for these
/// rows.
///
/// `rows` contains the same rows in ascending order; `indices` may repeat rows and may be in any
/// order.
///
/// # Errors
///
/// Returns the errors of [`load_column`].
pub fn wrap_column(column: &VectorRef, indices: &Buffer<u32>, rows: &RowSet) -> Result<VectorRef> {
    Ok(Vector::wrap(&load_column(column, rows)?, indices))
}

/// Returns the column with `rows` loaded and without any lazy vector; other rows are unspecified.
///
/// # Errors
///
/// Returns an error of kind `Internal` when an earlier load was for other rows only, and any error
/// of reading the column.
pub fn load_column(column: &VectorRef, rows: &RowSet) -> Result<VectorRef> {
    if !has_lazy(column) {
        return Ok(Arc::clone(column));
    }
    load_rows(column, rows)?;
    without_lazy(column)
}

/// Returns column `channel` of a batch, exactly as long as the batch.
///
/// # Errors
///
/// Returns an error when the batch has no such column, and the errors of [`Vector::slice`].
pub fn column_of(batch: &RowVector, channel: usize) -> Result<VectorRef> {
    let column = batch.child(channel)?;
    Vector::slice(column, 0, batch.len())
}

/// Returns column `channel` of a batch, decoded, exactly as long as the batch.
///
/// # Errors
///
/// Returns the errors of [`column_of`] and of decoding the column.
pub fn decoded_column(batch: &RowVector, channel: usize) -> Result<DecodedVector> {
    DecodedVector::new(&column_of(batch, channel)?)
}

fn has_lazy(column: &VectorRef) -> bool {
    match column.as_ref() {
        Vector::Lazy(_) => true,
        Vector::Dictionary(dictionary) => has_lazy(dictionary.base()),
        Vector::Row(row) => row.children().iter().any(has_lazy),
        _ => false,
    }
}

/// Returns the same column with each lazy vector replaced by its loaded one.
fn without_lazy(column: &VectorRef) -> Result<VectorRef> {
    if !has_lazy(column) {
        return Ok(Arc::clone(column));
    }
    Ok(Arc::new(match column.as_ref() {
        Vector::Lazy(lazy) => match lazy.loaded_if_ready() {
            Some(loaded) => {
                let loaded = without_lazy(&loaded)?;
                return Vector::slice(&loaded, 0, lazy.len());
            }
            // No row was loaded: each row that is read is null in an enclosing vector.
            None => Vector::nulls(lazy.ty().clone(), lazy.len()),
        },
        Vector::Dictionary(dictionary) => Vector::Dictionary(DictionaryVector::over_with_validity(
            without_lazy(dictionary.base())?,
            dictionary.indices().clone(),
            dictionary.validity().cloned(),
        )),
        Vector::Row(row) => {
            let children = row.children().iter().map(without_lazy).collect::<Result<_>>()?;
            let row_type = Arc::clone(row.row_type());
            Vector::Row(RowVector::new(row_type, row.len(), row.validity().cloned(), children)?)
        }
        other => other.clone(),
    }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::sync::Mutex;
    use vector::{LazyVector, RowType, Type, Value, VectorLoader};

    struct Recorder(Arc<Mutex<Vec<usize>>>);

    impl VectorLoader for Recorder {
        fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
            self.0.lock().extend(rows.iter());
            let values: Vec<Value> = (0..10).map(Value::BigInt).collect();
            vector_of(&Type::BigInt, &values)
        }
    }

    fn lazy_batch() -> (RowVector, Arc<Mutex<Vec<usize>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let lazy = LazyVector::new(Type::BigInt, 10, Recorder(Arc::clone(&seen)));
        let row_type = Arc::new(RowType::new([("a", Type::BigInt)]));
        let column = Arc::new(Vector::Lazy(lazy));
        (RowVector::batch(row_type, 10, vec![column]).unwrap(), seen)
    }

    #[test]
    fn only_the_rows_that_a_batch_still_has_are_read() {
        let (batch, seen) = lazy_batch();
        let wrapped = batch.wrap(&Buffer::from_slice(&[7, 2, 7]));
        let loaded = load_batch(wrapped).unwrap();
        assert_eq!(*seen.lock(), [2, 7]);
        let column = decoded_column(&loaded, 0).unwrap();
        assert_eq!(column.value(0).unwrap(), Value::BigInt(7));

        let (batch, seen) = lazy_batch();
        let slice = slice_batch(&batch, 3, 2).unwrap();
        assert_eq!(*seen.lock(), [3, 4]);
        let column = decoded_column(&slice, 0).unwrap();
        assert_eq!(column.value(1).unwrap(), Value::BigInt(4));
    }
}
