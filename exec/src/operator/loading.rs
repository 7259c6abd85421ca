//! Loading lazy columns: which rows, and when at the latest.
//!
//! A lazy column may be read only while its scan has not moved on (rule S1.37). Within a pipeline
//! the driver takes care of that; before a batch leaves the pipeline (to another thread, to the
//! caller, or into memory until the end of input) its columns are loaded here. Only the rows that
//! the batch still has are read, and nothing lazy remains in the result.

use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, DictionaryVector, Held, Result, RowSet, RowVector, Vector, VectorRef,
    load_rows,
};

/// About how many bytes a batch will hold once it is loaded.
pub fn bytes_when_loaded(batch: &RowVector) -> u64 {
    let columns = batch.children().iter();
    // Of a column that nobody has read yet only the number of rows is known.
    let bytes = columns.map(|column| column.retained_bytes().max(batch.len() * size_of::<u64>()));
    bytes.fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}

/// Bytes that a batch keeps alive and that nobody pays for, as far as it is loaded.
pub fn unpaid_bytes(batch: &RowVector) -> u64 {
    let columns = batch.children().iter().map(|column| column.held_bytes(Held::Unpaid) as u64);
    columns.fold(0, u64::saturating_add)
}

/// The batch with all of its columns loaded.
pub fn load_batch(batch: RowVector) -> Result<RowVector> {
    if !batch.children().iter().any(has_lazy) {
        return Ok(batch);
    }
    load_batch_rows(&batch, &RowSet::all(batch.len()))
}

/// The batch with all of its columns loaded for `rows`; other rows are unspecified.
pub fn load_batch_rows(batch: &RowVector, rows: &RowSet) -> Result<RowVector> {
    let columns = batch.children().iter().map(|column| load_column(column, rows));
    let columns = columns.collect::<Result<_>>()?;
    let validity = batch.validity().cloned();
    RowVector::new(Arc::clone(batch.row_type()), batch.len(), validity, columns)
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

/// The column with `rows` loaded and nothing lazy in it; other rows are unspecified.
///
/// `Internal` when an earlier load was for other rows only.
pub fn load_column(column: &VectorRef, rows: &RowSet) -> Result<VectorRef> {
    if !has_lazy(column) {
        return Ok(Arc::clone(column));
    }
    load_rows(column, rows)?;
    without_lazy(column)
}

/// Column `channel` of a batch, exactly as long as the batch.
pub fn column_of(batch: &RowVector, channel: usize) -> Result<VectorRef> {
    let column = batch.child(channel)?;
    Vector::slice(column, 0, batch.len())
}

/// Column `channel` of a batch, decoded, exactly as long as the batch.
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

/// The same column with what was loaded in the place of what was lazy.
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
            // No row was asked for: every row that anybody may look at is null further out.
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
