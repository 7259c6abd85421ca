//! Loading lazy columns: which rows, and when at the latest.
//!
//! A lazy column may be read only while its scan has not moved on (rule S1.37). Within a pipeline
//! the driver takes care of that; before a batch leaves the pipeline (to another thread, to the
//! caller, or into memory until the end of input) its columns are loaded here. Only the rows that
//! the batch still has are read.

use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, DictionaryVector, Result, RowSet, RowVector, Vector, VectorRef,
};

/// The batch with all of its columns loaded.
pub fn load_batch(batch: RowVector) -> Result<RowVector> {
    if !batch.children().iter().any(has_unloaded) {
        return Ok(batch);
    }
    let rows = RowSet::all(batch.len());
    let columns = batch.children().iter().map(|column| load_column(column, &rows));
    let columns = columns.collect::<Result<_>>()?;
    RowVector::new(
        Arc::clone(batch.row_type()),
        batch.len(),
        batch.validity().cloned(),
        columns,
    )
}

/// Rows `offset..offset + len` of a batch; lazy columns are loaded for these rows only.
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

/// Rows `indices` of a column, wrapped in a dictionary. A lazy column is loaded for these rows.
///
/// `rows` are the same rows, ascending; the wrapped ones may repeat or be in another order.
pub fn wrap_column(column: &VectorRef, indices: &Buffer<u32>, rows: &RowSet) -> Result<VectorRef> {
    Ok(Vector::wrap(&load_column(column, rows)?, indices))
}

/// The column with `rows` loaded; other rows are unspecified unless all were loaded before.
///
/// `Internal` when an earlier load was for other rows only.
pub fn load_column(column: &VectorRef, rows: &RowSet) -> Result<VectorRef> {
    match column.as_ref() {
        Vector::Lazy(lazy) => {
            // Asked for all rows the lazy vector remembers that it is complete.
            if rows.is_all(lazy.len()) { lazy.loaded() } else { lazy.load(rows) }
        }
        Vector::Dictionary(dictionary) if has_unloaded(dictionary.base()) => {
            let mut wanted: Vec<u32> = match dictionary.validity() {
                None => rows.iter().map(|row| dictionary.indices()[row]).collect(),
                Some(validity) => rows
                    .iter()
                    .filter(|row| validity.get(*row))
                    .map(|row| dictionary.indices()[row])
                    .collect(),
            };
            if !wanted.is_sorted_by(|a, b| a < b) {
                wanted.sort_unstable();
                wanted.dedup();
            }
            let wanted = RowSet::from_positions(Buffer::from_slice(&wanted));
            let base = load_column(dictionary.base(), &wanted)?;
            Ok(Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
                base,
                dictionary.indices().clone(),
                dictionary.validity().cloned(),
            ))))
        }
        _ => Ok(Arc::clone(column)),
    }
}

/// Column `channel` of a batch, decoded, exactly as long as the batch.
pub fn decoded_column(batch: &RowVector, channel: usize) -> Result<DecodedVector> {
    let column = batch.child(channel)?;
    if column.len() == batch.len() {
        return DecodedVector::new(column);
    }
    DecodedVector::new(&Vector::slice(column, 0, batch.len())?)
}

fn has_unloaded(column: &VectorRef) -> bool {
    match column.as_ref() {
        Vector::Lazy(_) => true,
        Vector::Dictionary(dictionary) => has_unloaded(dictionary.base()),
        _ => false,
    }
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
