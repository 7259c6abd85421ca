//! Compaction of columns: copies the few selected rows of a batch into dense vectors.
//!
//! ```text
//! flat         values are copied; of a string only its view, the string buffers are shared
//! dictionary   indices are copied, the base is shared: functions still run once for each entry
//! other        wrapped in a dictionary
//! ```
//!
//! Functions are evaluated for all rows of a batch, including rows that are not selected, because a
//! loop without branches is fastest. When a filter has left few rows, compaction is cheaper: the
//! copy is made once for each column, while each function over the column would otherwise process
//! the unselected rows again.

use vector::sync::Arc;
use vector::{
    Buffer, DictionaryVector, FlatValues, FlatVector, Result, StringValues, Vector, VectorRef,
    gather,
};

/// Columns are compacted when a batch has at least this number of rows for each selected row.
const MIN_ROWS_PER_ROW: usize = 2;

/// Returns true when columns should be compacted to `num_wanted` of `num_rows` rows.
pub(super) fn pays(num_wanted: usize, num_rows: usize) -> bool {
    num_wanted.saturating_mul(MIN_ROWS_PER_ROW) <= num_rows
}

/// Returns rows `rows` of a column that contains no lazy vector.
pub(super) fn compacted(column: &VectorRef, rows: &Buffer<u32>) -> Result<VectorRef> {
    match column.as_ref() {
        Vector::Flat(flat) => match flat.values() {
            FlatValues::String(strings) => compacted_strings(flat, strings, rows),
            _ => gather(column, rows),
        },
        // With more entries than selected rows the dictionary saves no evaluation, unless a
        // function caches its results for the entries across batches, which is worthwhile for
        // strings only.
        Vector::Dictionary(dictionary)
            if dictionary.base().len() > rows.len() && is_fixed_width(dictionary.base()) =>
        {
            gather(column, rows)
        }
        Vector::Dictionary(dictionary) => {
            let indices = dictionary.indices().as_slice();
            let picked = rows.iter().map(|row| indices[*row as usize]).collect();
            let validity = dictionary.validity().map(|validity| validity.gather(rows));
            Ok(Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
                Arc::clone(dictionary.base()),
                picked,
                validity,
            ))))
        }
        _ => Ok(Vector::wrap(column, rows)),
    }
}

fn is_fixed_width(vector: &Vector) -> bool {
    matches!(vector, Vector::Flat(flat) if !matches!(flat.values(), FlatValues::String(_)))
}

fn compacted_strings(
    flat: &FlatVector,
    strings: &StringValues,
    rows: &Buffer<u32>,
) -> Result<VectorRef> {
    let views = strings.views().as_slice();
    let views = rows.iter().map(|row| views[*row as usize]).collect();
    let values = FlatValues::String(StringValues::new(views, Arc::clone(strings.buffers())));
    let validity = flat.validity().map(|validity| validity.gather(rows));
    Ok(Arc::new(Vector::Flat(FlatVector::new(flat.ty().clone(), values, validity)?)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::testing::values_of;
    use vector::{Bitmap, Type, Value};

    #[test]
    fn rows_of_every_encoding_are_those_that_wrapping_gives() {
        let numbers = [Value::BigInt(4), Value::Null, Value::BigInt(6), Value::BigInt(7)];
        let words = ["a", "a string longer than a view", "", "another long string"];
        let mut words = words.map(Value::bytes);
        words[2] = Value::Null;
        let lists = [1, 2, 3, 4].map(|v| Value::Array([Value::Integer(v)].into()));
        let flat = [
            vector_of(&Type::BigInt, &numbers).unwrap(),
            vector_of(&Type::Varchar, &words).unwrap(),
            vector_of(&Type::array(Type::Integer), &lists).unwrap(),
        ];
        let rows = Buffer::from_slice(&[0, 2, 5]);
        for base in flat {
            let indices = Buffer::from_slice(&[3u32, 3, 0, 1, 1, 2]);
            let valid: Bitmap = [true, true, false, true, true, true].into_iter().collect();
            let over = DictionaryVector::over_with_validity(base, indices.clone(), Some(valid));
            let over: VectorRef = Arc::new(Vector::Dictionary(over));
            let twice = Vector::wrap(&over, &Buffer::from_slice(&[5, 4, 3, 2, 1, 0]));
            let plain = vector::flatten(&over).unwrap();
            for column in [over, twice, plain] {
                let compact = compacted(&column, &rows).unwrap();
                assert_eq!(values_of(&compact), values_of(&Vector::wrap(&column, &rows)));
            }
        }
    }

    #[test]
    fn entries_of_strings_stay_and_a_selection_of_numbers_is_copied() {
        let of = |ty: Type, value: Value| {
            let base = vector_of(&ty, &vec![value; 10]).unwrap();
            Vector::wrap(&base, &(0..10).collect())
        };
        let rows = Buffer::from_slice(&[1, 3]);
        let numbers = compacted(&of(Type::BigInt, Value::BigInt(1)), &rows).unwrap();
        assert!(matches!(numbers.as_ref(), Vector::Flat(_)));
        let words = compacted(&of(Type::Varchar, Value::bytes("a")), &rows).unwrap();
        assert!(matches!(words.as_ref(), Vector::Dictionary(d) if d.base().len() == 10));
        assert!(pays(5, 10) && !pays(6, 10));
    }
}
