//! Decoding of a bound into a value of the leaf's type.
//!
//! A bound is stored like the values of its column in PLAIN encoding, byte arrays without their
//! length prefix. Bytes of another length, and numbers that the leaf's type cannot represent, have
//! no value.

use vector::types::decimal;
use vector::{TimeUnit, TypeKind, Value};

use crate::encoding::plain::{self, Convert};
use crate::schema::{Leaf, ValueConversion};
use crate::thrift::structs::PhysicalType;

/// Number of nanoseconds of a day.
const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// Returns the value of stored bytes in the leaf's type: of a bound, or of an entry of a dictionary
/// without its length prefix. Returns `None` when the bytes have no value.
pub fn stored_value(leaf: &Leaf, bytes: &[u8]) -> Option<Value> {
    use PhysicalType::{Boolean, ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};
    use ValueConversion as To;

    let width_fits = leaf.physical == ByteArray || bytes.len() == leaf.type_length;
    Some(match (leaf.physical, leaf.conversion) {
        (Boolean, To::Plain) => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return None,
        },
        (Int32, To::Plain) => Value::Integer(fixed::<4, plain::Int32>(bytes)?),
        (Int64, To::Plain) => Value::BigInt(fixed::<8, plain::Int64>(bytes)?),
        (Float, To::Plain) => Value::Real(fixed::<4, plain::Float>(bytes)?),
        (Double, To::Plain) => Value::Double(fixed::<8, plain::Double>(bytes)?),
        (ByteArray | FixedLenByteArray, To::Plain) if width_fits => Value::bytes(bytes),
        // Readers keep the low bits; a bound with further bits is in another order than the values.
        (Int32, To::Int8) => Value::TinyInt(fixed::<4, plain::Int32>(bytes)?.try_into().ok()?),
        (Int32, To::Int16) => Value::SmallInt(fixed::<4, plain::Int32>(bytes)?.try_into().ok()?),
        (Int32, To::Unsigned8) => {
            let value = u8::try_from(fixed::<4, plain::Uint32>(bytes)?).ok()?;
            Value::SmallInt(value.into())
        }
        (Int32, To::Unsigned16) => {
            let value = u16::try_from(fixed::<4, plain::Uint32>(bytes)?).ok()?;
            Value::Integer(value.into())
        }
        (Int32, To::Unsigned32) => Value::BigInt(fixed::<4, plain::Uint32>(bytes)?),
        (Int64, To::Unsigned64) => Value::HugeInt(fixed::<8, plain::Uint64>(bytes)?),
        (Int32, To::SignExtend) => wide(leaf, fixed::<4, plain::Int32>(bytes)?.into())?,
        (Int64, To::SignExtend) => wide(leaf, fixed::<8, plain::Int64>(bytes)?.into())?,
        (ByteArray | FixedLenByteArray, To::DecimalBytes) if width_fits && !bytes.is_empty() => {
            wide(leaf, decimal::from_big_endian(bytes)?)?
        }
        (Int64, To::TimestampUnits(unit)) => Value::Timestamp(match unit {
            TimeUnit::Millis => fixed::<8, plain::TimestampMillis>(bytes)?,
            TimeUnit::Micros => fixed::<8, plain::TimestampMicros>(bytes)?,
            TimeUnit::Nanos => fixed::<8, plain::TimestampNanos>(bytes)?,
        }),
        (Int96, To::Int96) => {
            // The order by day and then by nanoseconds is that of time only if the nanoseconds are
            // within the day.
            let nanos = i64::from_le_bytes(*bytes.first_chunk()?);
            if !(0..NANOS_PER_DAY).contains(&nanos) {
                return None;
            }
            Value::Timestamp(fixed::<12, plain::Int96>(bytes)?)
        }
        (FixedLenByteArray, To::Float16) => Value::Real(fixed::<2, plain::Float16>(bytes)?),
        (FixedLenByteArray, To::Uuid) => Value::HugeInt(fixed::<16, plain::Uuid>(bytes)?),
        _ => return None,
    })
}

fn fixed<const N: usize, C: Convert<N>>(bytes: &[u8]) -> Option<C::Out> {
    Some(C::convert(<[u8; N]>::try_from(bytes).ok()?))
}

/// Returns a number in the representation of the leaf's type.
fn wide(leaf: &Leaf, value: i128) -> Option<Value> {
    match leaf.ty.kind() {
        TypeKind::BigInt => value.try_into().ok().map(Value::BigInt),
        TypeKind::HugeInt => Some(Value::HugeInt(value)),
        _ => None,
    }
}
