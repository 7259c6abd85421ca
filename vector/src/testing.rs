//! Construction and comparison of vectors in tests (feature `testing`).
//!
//! | purpose | function |
//! |---|---|
//! | a few given rows | [`bigints`], [`varchars`], ..., [`batch_of`] |
//! | random rows of a type | [`RandomVectors::values`] |
//! | given rows in any encoding | [`RandomVectors::encode`] |
//! | random rows in any encoding | [`RandomVectors::vector`], [`RandomVectors::batch`] |
//! | the rows of a vector | [`values_of`] |
//! | same rows, regardless of encoding | [`assert_vectors_equal`], [`assert_batches_equal`] |
//!
//! The model of every test is a plain `Vec<Value>`. The functions panic where other code would
//! return an error, because a broken fixture is a broken test.

mod encode;
mod random;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::build::vector_of;
use crate::decoded::ValueReader;
use crate::encoding::RowVector;
use crate::encoding::VectorRef;
use crate::print::value_text;
use crate::sync::Arc;
use crate::types::{RowType, Type, Value};

pub use random::{Random, RandomOptions, RandomVectors};

/// Creates a flat or nested vector of the values.
#[track_caller]
pub fn vector(ty: &Type, values: &[Value]) -> VectorRef {
    vector_of(ty, values).expect("values of the type")
}

/// Creates a vector of `ty` from values converted by `value`; `None` is null.
fn scalars<T: Copy>(ty: Type, values: &[Option<T>], value: impl Fn(T) -> Value) -> VectorRef {
    let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, &value)).collect();
    vector(&ty, &values)
}

/// Creates a flat BOOLEAN vector.
pub fn booleans(values: &[Option<bool>]) -> VectorRef {
    scalars(Type::Boolean, values, Value::Boolean)
}

/// Creates a flat INTEGER vector.
pub fn integers(values: &[Option<i32>]) -> VectorRef {
    scalars(Type::Integer, values, Value::Integer)
}

/// Creates a flat BIGINT vector.
pub fn bigints(values: &[Option<i64>]) -> VectorRef {
    scalars(Type::BigInt, values, Value::BigInt)
}

/// Creates a flat DOUBLE vector.
pub fn doubles(values: &[Option<f64>]) -> VectorRef {
    scalars(Type::Double, values, Value::Double)
}

/// Creates a flat VARCHAR vector.
pub fn varchars(values: &[Option<&str>]) -> VectorRef {
    scalars(Type::Varchar, values, Value::bytes)
}

/// Creates a flat DATE vector of days since 1970-01-01.
pub fn dates(values: &[Option<i32>]) -> VectorRef {
    scalars(Type::Date, values, Value::Integer)
}

/// Creates a flat DECIMAL vector of unscaled values, with a precision of at most 18 digits.
pub fn decimals(precision: u8, scale: u8, values: &[Option<i64>]) -> VectorRef {
    scalars(Type::decimal(precision, scale).expect("a decimal type"), values, Value::BigInt)
}

/// Creates a batch of named columns, which must have the same number of values.
#[track_caller]
pub fn batch_of(columns: &[(&str, Type, Vec<Value>)]) -> RowVector {
    let len = columns.first().map_or(0, |(_, _, values)| values.len());
    assert!(columns.iter().all(|(_, _, values)| values.len() == len), "columns of unequal length");
    let row_type = RowType::new(columns.iter().map(|(name, ty, _)| (*name, ty.clone())));
    let children = columns.iter().map(|(_, ty, values)| vector(ty, values)).collect();
    RowVector::batch(Arc::new(row_type), len, children).expect("columns of the row type")
}

/// Creates a batch of named vectors, which must have the same length.
#[track_caller]
pub fn batch_of_vectors(columns: &[(&str, VectorRef)]) -> RowVector {
    let len = columns.first().map_or(0, |(_, vector)| vector.len());
    let row_type = RowType::new(columns.iter().map(|(name, v)| (*name, v.ty().clone())));
    let children = columns.iter().map(|(_, vector)| Arc::clone(vector)).collect();
    RowVector::batch(Arc::new(row_type), len, children).expect("columns of equal length")
}

/// Returns all rows of a vector as values.
#[track_caller]
pub fn values_of(vector: &VectorRef) -> Vec<Value> {
    let reader = ValueReader::new(vector).expect("a vector that can be decoded");
    (0..vector.len()).map(|i| reader.value(i)).collect()
}

/// Returns all rows of a batch, each as the values of its columns.
#[track_caller]
pub fn rows_of(batch: &RowVector) -> Vec<Vec<Value>> {
    let columns: Vec<Vec<Value>> = batch.children().iter().map(values_of).collect();
    (0..batch.len()).map(|i| columns.iter().map(|column| column[i].clone()).collect()).collect()
}

/// Panics with the first difference unless both vectors have equivalent types and equal rows.
#[track_caller]
pub fn assert_vectors_equal(found: &VectorRef, expected: &VectorRef) {
    assert!(
        found.ty().is_equivalent(expected.ty()),
        "types differ: found {}, expected {}",
        found.ty(),
        expected.ty()
    );
    assert_rows(found.ty(), &values_of(found), &values_of(expected));
}

/// Panics with the first difference unless the vector has exactly these rows.
#[track_caller]
pub fn assert_vector_is(found: &VectorRef, expected: &[Value]) {
    assert_rows(found.ty(), &values_of(found), expected);
}

/// Panics with the first difference unless both batches have equivalent types and equal rows in the
/// same order.
#[track_caller]
pub fn assert_batches_equal(found: &RowVector, expected: &RowVector) {
    assert_eq!(found.len(), expected.len(), "numbers of rows differ");
    let found: VectorRef = Arc::new(found.clone().into());
    let expected: VectorRef = Arc::new(expected.clone().into());
    assert_vectors_equal(&found, &expected);
}

#[track_caller]
fn assert_rows(ty: &Type, found: &[Value], expected: &[Value]) {
    assert_eq!(found.len(), expected.len(), "numbers of rows differ, type {ty}");
    for (row, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(
            f == e,
            "row {row} of type {ty} differs: found {}, expected {}",
            value_text(ty, f),
            value_text(ty, e)
        );
    }
}
