//! Timestamps cut to the unit that a session works with (rule S7.57).
//!
//! Files may have microseconds or nanoseconds where the query sees milliseconds. Filters that are
//! pushed into reading see what the file has; everything behind them sees the cut value.

use vector::sync::Arc;
use vector::{
    ArrayVector, Buffer, FlatVector, MapVector, Result, RowVector, TimeUnit, Timestamp, Type,
    Vector, VectorRef,
};

use crate::entries::on_base;

/// True when a column of this type has timestamps.
pub fn has_timestamps(ty: &Type) -> bool {
    match ty {
        Type::Timestamp => true,
        Type::Array(element) => has_timestamps(element),
        Type::Map(key, value) => has_timestamps(key) || has_timestamps(value),
        Type::Row(row) => row.types().iter().any(has_timestamps),
        _ => false,
    }
}

/// The column with timestamps cut to `unit`, towards the past. Loads lazy columns.
pub fn cut(column: &VectorRef, unit: TimeUnit) -> Result<VectorRef> {
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

/// Values cut to so many nanoseconds, which the compiler knows: it then needs no division.
fn cut_to<const NANOS: u64>(values: &[Timestamp]) -> Buffer<Timestamp> {
    let cut = |t: &Timestamp| Timestamp::new(t.seconds(), t.nanos() / NANOS * NANOS);
    values.iter().map(cut).collect()
}
