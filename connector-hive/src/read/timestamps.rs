//! Truncation of timestamps to the unit of the session (rule S7.57).
//!
//! Files may have microseconds or nanoseconds where the query uses milliseconds. Pushed-down
//! filters see the values of the file; all later stages see the truncated values.

use vector::sync::Arc;
use vector::{
    ArrayVector, Buffer, FlatVector, MapVector, Result, RowVector, TimeUnit, Timestamp, Type,
    Vector, VectorRef,
};

use crate::read::entries::on_base;

/// Returns true if the type contains timestamps.
pub(crate) fn has_timestamps(ty: &Type) -> bool {
    match ty {
        Type::Timestamp => true,
        Type::Array(element) => has_timestamps(element),
        Type::Map(key, value) => has_timestamps(key) || has_timestamps(value),
        Type::Row(row) => row.types().iter().any(has_timestamps),
        _ => false,
    }
}

/// Returns the column with timestamps truncated to `unit`, towards the past. Loads lazy columns.
///
/// # Errors
/// Errors of loading a lazy column.
pub(crate) fn cut(column: &VectorRef, unit: TimeUnit) -> Result<VectorRef> {
    if unit == TimeUnit::Nanos || !has_timestamps(column.ty()) {
        return Ok(Arc::clone(column));
    }
    let ty = column.ty().clone();
    on_base(column, &ty, &mut |base| {
        Ok(Arc::new(match base {
            Vector::Flat(flat) => {
                let values = flat.slice_of::<Timestamp>().unwrap_or_default();
                let values = match unit {
                    TimeUnit::Millis => cut_to::<1_000_000>(values),
                    TimeUnit::Micros => cut_to::<1_000>(values),
                    TimeUnit::Nanos => Buffer::from_slice(values),
                };
                let validity = flat.validity().cloned();
                Vector::Flat(FlatVector::from_buffer(Type::Timestamp, values, validity)?)
            }
            Vector::Row(row) => {
                let children = row.children().iter().map(|child| cut(child, unit));
                let children = children.collect::<Result<Vec<_>>>()?;
                let validity = row.validity().cloned();
                let row_type = Arc::clone(row.row_type());
                Vector::Row(RowVector::new(row_type, row.len(), validity, children)?)
            }
            Vector::Array(v) => {
                let (offsets, lengths) = (v.offsets().clone(), v.lengths().clone());
                let elements = cut(v.elements(), unit)?;
                Vector::Array(ArrayVector::new(offsets, lengths, v.validity().cloned(), elements)?)
            }
            Vector::Map(v) => {
                let (offsets, lengths) = (v.offsets().clone(), v.lengths().clone());
                let (keys, values) = (cut(v.keys(), unit)?, cut(v.values(), unit)?);
                let validity = v.validity().cloned();
                Vector::Map(MapVector::new(offsets, lengths, validity, keys, values)?)
            }
            other => other.clone(),
        }))
    })
}

/// Truncates values to multiples of `NANOS` nanoseconds. A constant divisor compiles to a
/// multiplication.
fn cut_to<const NANOS: u64>(values: &[Timestamp]) -> Buffer<Timestamp> {
    let cut = |t: &Timestamp| Timestamp::new(t.seconds(), t.nanos() / NANOS * NANOS);
    values.iter().map(cut).collect()
}
