//! Loading of lazy columns for the rows that a consumer needs, through all encodings that wrap the
//! columns (rule S1.31).
//!
//! ```text
//! rows {1, 9, 55} --> Dictionary(index = row / 10) --> base rows {0, 5} --> loader
//!                     rows with own nulls are removed   ascending, without duplicates
//! ```
//!
//! A lazy column is loaded only once, so the first load must request all rows that any consumer
//! will need. Only structs contain lazy columns; the children of arrays and maps are never lazy
//! (rule S1.33).

use crate::bitmap::Bitmap;
use crate::encoding::{Vector, VectorRef};
use crate::error::Result;
use crate::memory::buffer::BufferMut;
use crate::rows::RowSet;

/// Returns true if all lazy vectors in `vector` have been loaded, for at least some of their rows.
pub fn is_loaded(vector: &VectorRef) -> bool {
    match vector.as_ref() {
        Vector::Flat(_) | Vector::Constant(_) | Vector::Array(_) | Vector::Map(_) => true,
        Vector::Dictionary(dictionary) => is_loaded(dictionary.base()),
        Vector::Lazy(lazy) => lazy.loaded_if_ready().is_some_and(|loaded| is_loaded(&loaded)),
        Vector::Row(row) => row.children().iter().all(is_loaded),
    }
}

/// Loads the lazy columns in `vector` for exactly the base rows that `rows` map to. Rows that are
/// null in a vector above a column are not requested from the column; if no rows remain, the column
/// is not read.
///
/// # Errors
/// The error of the loader; `Internal` if a column was loaded before without all of the requested
/// rows.
pub fn load_rows(vector: &VectorRef, rows: &RowSet) -> Result<()> {
    if is_complete(vector) {
        return Ok(());
    }
    match vector.as_ref() {
        Vector::Flat(_) | Vector::Constant(_) | Vector::Array(_) | Vector::Map(_) => Ok(()),
        Vector::Lazy(lazy) => load_rows(&lazy.load(rows)?, rows),
        Vector::Dictionary(dictionary) => {
            let valid = without_nulls(rows, dictionary.validity());
            let mut picked: Vec<u32> = valid.iter().map(|i| dictionary.indices()[i]).collect();
            picked.sort_unstable();
            picked.dedup();
            let mut positions = BufferMut::with_capacity(picked.len());
            positions.extend_from_slice(&picked);
            load_rows(dictionary.base(), &RowSet::from_positions(positions.freeze()))
        }
        Vector::Row(row) => {
            let valid = without_nulls(rows, row.validity());
            row.children().iter().try_for_each(|child| load_rows(child, &valid))
        }
    }
}

/// Returns true if all rows of `vector` can be read without a load.
fn is_complete(vector: &VectorRef) -> bool {
    match vector.as_ref() {
        Vector::Flat(_) | Vector::Constant(_) | Vector::Array(_) | Vector::Map(_) => true,
        Vector::Dictionary(dictionary) => is_complete(dictionary.base()),
        Vector::Lazy(lazy) => lazy.complete_if_ready().is_some_and(|loaded| is_complete(&loaded)),
        Vector::Row(row) => row.children().iter().all(is_complete),
    }
}

fn without_nulls(rows: &RowSet, validity: Option<&Bitmap>) -> RowSet {
    match validity {
        None => rows.clone(),
        Some(validity) => RowSet::from_positions(
            rows.iter().filter(|i| validity.get(*i)).map(|i| i as u32).collect(),
        ),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::decoded::DecodedVector;
    use crate::encoding::RowVector;
    use crate::encoding::{DictionaryVector, LazyVector, VectorLoader};
    use crate::memory::buffer::Buffer;
    use crate::sync::{Arc, Mutex};
    use crate::testing::bigints;
    use crate::types::{Type, Value};

    type Asked = Arc<Mutex<Vec<Vec<usize>>>>;

    /// Records the rows that are requested; its values are their positions.
    struct Recording(Asked);

    impl VectorLoader for Recording {
        fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
            self.0.lock().push(rows.iter().collect());
            let values: Vec<Option<i64>> = (0..rows.end() as i64).map(Some).collect();
            Ok(bigints(&[values, vec![None; 1000]].concat()))
        }
    }

    fn lazy(num_rows: usize) -> (VectorRef, Asked) {
        let asked = Asked::default();
        let lazy = LazyVector::new(Type::BigInt, num_rows, Recording(Arc::clone(&asked)));
        (Arc::new(Vector::Lazy(lazy)), asked)
    }

    fn rows(positions: &[u32]) -> RowSet {
        RowSet::from_positions(Buffer::from_slice(positions))
    }

    #[test]
    fn a_loader_sees_the_base_rows_that_are_needed_once_and_ascending() {
        let (base, asked) = lazy(10);
        let tens: Buffer<u32> = (0..100).map(|row| 9 - row / 10).collect();
        let wrapped = Vector::wrap(&base, &tens);
        assert!(!is_loaded(&wrapped));
        let decoded = DecodedVector::for_rows(&wrapped, &rows(&[1, 9, 55])).unwrap();
        assert_eq!(*asked.lock(), [vec![4, 9]]);
        assert_eq!(decoded.value(55).unwrap(), Value::BigInt(4));
        assert!(is_loaded(&wrapped));
        // Rows that were not requested are an error instead of unspecified values.
        assert!(DecodedVector::for_rows(&wrapped, &rows(&[20])).is_err());
        assert!(DecodedVector::new(&wrapped).is_err());
    }

    #[test]
    fn rows_that_are_null_above_are_not_asked_for() {
        let (base, asked) = lazy(3);
        let validity: Bitmap = [false, true, false].into_iter().collect();
        let indices = Buffer::from_slice(&[u32::MAX, 1, 0]);
        let dictionary = DictionaryVector::new(Arc::clone(&base), indices, Some(validity)).unwrap();
        let dictionary: VectorRef = Arc::new(Vector::Dictionary(dictionary));
        let row_type = Type::row([("a", Type::BigInt)]);
        let validity: Bitmap = [true, true, false].into_iter().collect();
        let row =
            RowVector::new(row_type.as_row().unwrap().clone(), 3, Some(validity), vec![dictionary]);
        let row: VectorRef = Arc::new(Vector::Row(row.unwrap()));
        load_rows(&row, &RowSet::all(3)).unwrap();
        assert_eq!(*asked.lock(), [vec![1]]);
    }

    #[test]
    fn nothing_needed_means_nothing_read() {
        let (base, asked) = lazy(3);
        load_rows(&base, &RowSet::all(0)).unwrap();
        assert!(asked.lock().is_empty());
        assert!(is_loaded(&base));
    }
}
