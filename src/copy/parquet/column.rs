//! Buffered values of one column of a row group, in the form in which the file stores them.

use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::file::writer::SerializedColumnWriter;
use vector::encoding::FlatValues;
use vector::types::decimal;
use vector::{Error, Interval, Result, TimeUnit, Timestamp, Type, Value, value_text};

use super::schema::Storage;
use super::wrong;

/// Values and levels of a column in the current row group.
#[derive(Debug)]
pub(super) struct Column {
    ty: Type,
    /// Unit of stored timestamps.
    timestamps: TimeUnit,
    definition: Vec<i16>,
    /// Repetition levels; `None` for a column that is not repeated.
    repetition: Option<Vec<i16>>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Concatenated bytes, and the end of each value.
    Bytes(Vec<u8>, Vec<usize>),
    /// Concatenated values of the same length, and that length.
    Fixed(Vec<u8>, usize),
}

impl Column {
    /// Returns an empty column of values of type `ty`.
    pub(super) fn new(stored: &Storage, ty: Type, is_repeated: bool) -> Self {
        let values = match stored.physical {
            Physical::BOOLEAN => Values::Boolean(Vec::new()),
            Physical::INT32 => Values::Int32(Vec::new()),
            Physical::INT64 | Physical::INT96 => Values::Int64(Vec::new()),
            Physical::FLOAT => Values::Float(Vec::new()),
            Physical::DOUBLE => Values::Double(Vec::new()),
            Physical::BYTE_ARRAY => Values::Bytes(Vec::new(), Vec::new()),
            Physical::FIXED_LEN_BYTE_ARRAY => Values::Fixed(Vec::new(), stored.width),
        };
        let repetition = is_repeated.then(Vec::new);
        let timestamps = stored.timestamps;
        Column { ty, timestamps, definition: Vec::new(), repetition, values }
    }

    /// Number of bytes buffered.
    pub(super) fn num_bytes(&self) -> usize {
        let repetition = self.repetition.as_ref().map_or(0, Vec::len);
        let levels = (self.definition.len() + repetition) * size_of::<i16>();
        levels
            + match &self.values {
                Values::Boolean(values) => values.len(),
                Values::Int32(values) => values.len() * size_of::<i32>(),
                Values::Int64(values) => values.len() * size_of::<i64>(),
                Values::Float(values) => values.len() * size_of::<f32>(),
                Values::Double(values) => values.len() * size_of::<f64>(),
                // Writing needs a handle for each value in addition to the bytes.
                Values::Bytes(bytes, ends) => {
                    bytes.len() + ends.len() * (size_of::<usize>() + size_of::<ByteArray>())
                }
                Values::Fixed(bytes, width) => {
                    bytes.len() + bytes.len() / (*width).max(1) * size_of::<ByteArray>()
                }
            }
    }

    /// Adds the levels of one value, or of a missing value.
    pub(super) fn push_levels(&mut self, definition: i16, repetition: i16) {
        self.definition.push(definition);
        if let Some(levels) = &mut self.repetition {
            levels.push(repetition);
        }
    }

    /// Adds the values at `rows`; `InvalidInput` for a value that does not fit the type of the
    /// file.
    pub(super) fn push_values(&mut self, flat: &FlatValues, rows: &[usize]) -> Result<()> {
        let (ty, unit) = (&self.ty, self.timestamps);
        let rows = rows.iter().copied();
        match (&mut self.values, flat) {
            (Values::Boolean(out), FlatValues::Boolean(v)) => out.extend(rows.map(|i| v.get(i))),
            (Values::Int32(out), FlatValues::TinyInt(v)) => {
                out.extend(rows.map(|i| i32::from(v[i])));
            }
            (Values::Int32(out), FlatValues::SmallInt(v)) => {
                out.extend(rows.map(|i| i32::from(v[i])));
            }
            (Values::Int32(out), FlatValues::Integer(v)) => out.extend(rows.map(|i| v[i])),
            (Values::Int32(out), FlatValues::BigInt(v)) => {
                for i in rows {
                    let narrow = i32::try_from(v[i]);
                    out.push(narrow.map_err(|_| too_large(ty, &Value::BigInt(v[i])))?);
                }
            }
            (Values::Int64(out), FlatValues::BigInt(v)) => out.extend(rows.map(|i| v[i])),
            // An unsigned number is stored with the same bits.
            (Values::Int64(out), FlatValues::HugeInt(v)) => {
                for i in rows {
                    let unsigned = u64::try_from(v[i]);
                    let unsigned = unsigned.map_err(|_| too_large(ty, &Value::HugeInt(v[i])))?;
                    out.push(unsigned.cast_signed());
                }
            }
            (Values::Int64(out), FlatValues::Timestamp(v)) => {
                for i in rows {
                    out.push(in_units(v[i], unit)?);
                }
            }
            (Values::Float(out), FlatValues::Real(v)) => out.extend(rows.map(|i| v[i])),
            (Values::Double(out), FlatValues::Double(v)) => out.extend(rows.map(|i| v[i])),
            (Values::Bytes(out, ends), FlatValues::String(v)) => {
                for i in rows {
                    out.extend_from_slice(v.get(i));
                    ends.push(out.len());
                }
            }
            (Values::Fixed(out, _), FlatValues::Real(v)) => {
                rows.for_each(|i| out.extend(half_bits(v[i]).to_le_bytes()));
            }
            (Values::Fixed(out, width), FlatValues::HugeInt(v)) => {
                for i in rows {
                    push_huge(out, *width, ty, v[i])?;
                }
            }
            _ => {
                return Err(
                    Error::internal("values of a type that the column has not").with("type", ty)
                );
            }
        }
        Ok(())
    }

    /// Writes all values as one column chunk and clears the column.
    pub(super) fn write(&mut self, chunk: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let definition = std::mem::take(&mut self.definition);
        let repetition = self.repetition.as_mut().map(std::mem::take);
        let levels = (definition.as_slice(), repetition.as_deref());
        match &mut self.values {
            Values::Boolean(v) => write::<BoolType>(chunk, &std::mem::take(v), levels),
            Values::Int32(v) => write::<Int32Type>(chunk, &std::mem::take(v), levels),
            Values::Int64(v) => write::<Int64Type>(chunk, &std::mem::take(v), levels),
            Values::Float(v) => write::<FloatType>(chunk, &std::mem::take(v), levels),
            Values::Double(v) => write::<DoubleType>(chunk, &std::mem::take(v), levels),
            Values::Bytes(bytes, ends) => {
                let bytes = Bytes::from(std::mem::take(bytes));
                let mut start = 0;
                let values = std::mem::take(ends).into_iter().map(|end| {
                    let value = ByteArray::from(bytes.slice(start..end));
                    start = end;
                    value
                });
                write::<ByteArrayType>(chunk, &values.collect::<Vec<_>>(), levels)
            }
            Values::Fixed(bytes, width) => {
                let bytes = Bytes::from(std::mem::take(bytes));
                let starts = (0..bytes.len()).step_by((*width).max(1));
                let values = starts.map(|start| {
                    let value = bytes.slice(start..start + *width);
                    FixedLenByteArray::from(ByteArray::from(value))
                });
                write::<FixedLenByteArrayType>(chunk, &values.collect::<Vec<_>>(), levels)
            }
        }
    }
}

fn write<T: DataType>(
    chunk: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    (definition, repetition): (&[i16], Option<&[i16]>),
) -> Result<()> {
    chunk.typed::<T>().write_batch(values, Some(definition), repetition).map_err(wrong)?;
    Ok(())
}

fn too_large(ty: &Type, value: &Value) -> Error {
    Error::invalid_input("a value does not fit the type that Parquet stores it as")
        .with("value", value_text(ty, value))
        .with("type", ty)
}

/// Converts a timestamp to units since 1970; an error if there is a remainder.
fn in_units(value: Timestamp, unit: TimeUnit) -> Result<i64> {
    let nanos_per_unit = 1_000_000_000 / unit.per_second().unsigned_abs();
    let fraction = i64::try_from(value.nanos() / nanos_per_unit).ok();
    let whole = value.seconds().checked_mul(unit.per_second());
    let units = whole.zip(fraction).and_then(|(whole, fraction)| whole.checked_add(fraction));
    match units.filter(|_| value.nanos().is_multiple_of(nanos_per_unit)) {
        Some(units) => Ok(units),
        None => Err(too_large(&Type::Timestamp, &Value::Timestamp(value))
            .hint("TIMESTAMP_UNIT millis, micros or nanos says what timestamps are stored in")),
    }
}

/// Appends a number that is stored as bytes.
fn push_huge(out: &mut Vec<u8>, width: usize, ty: &Type, value: i128) -> Result<()> {
    match ty {
        Type::Interval => out.extend(Interval::from_stored(value).to_bytes()),
        Type::Uuid => out.extend(value.to_be_bytes()),
        _ => {
            // A decimal may have more digits than its type declares if a file has stored it so; it
            // is kept.
            let spare = i128::BITS - 8 * u32::try_from(width).unwrap_or(16).clamp(1, 16);
            let fits = match ty {
                Type::Decimal { .. } => value << spare >> spare == value,
                _ => decimal::fits(value, vector::types::MAX_PRECISION),
            };
            if !fits {
                return Err(too_large(ty, &Value::HugeInt(value)));
            }
            let bytes = value.to_be_bytes();
            out.extend_from_slice(bytes.get(bytes.len() - width..).unwrap_or(&bytes));
        }
    }
    Ok(())
}

/// Returns the half-precision float whose exact widening is `value`.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let exponent = (bits >> 23 & 0xff) as i32 - 127;
    let fraction = bits & 0x7f_ffff;
    sign | match exponent {
        128 if fraction == 0 => 0x7c00,
        // NaN remains NaN, whatever bits are truncated.
        128 => 0x7e00 | (fraction >> 13) as u16,
        -14..=15 => ((exponent + 15) as u16) << 10 | (fraction >> 13) as u16,
        // In a subnormal number the implicit leading bit becomes explicit.
        -24..=-15 => ((fraction | 0x80_0000) >> (-exponent - 1)) as u16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_keeps_its_bits() {
        for bits in (0u16..0x7c01).chain(0x8000..0xfc01) {
            let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
            let size = match exponent {
                0 => fraction * 2f32.powi(-24),
                31 => f32::INFINITY,
                e => (1.0 + fraction / 1024.0) * 2f32.powi(e - 15),
            };
            let value = if bits & 0x8000 == 0 { size } else { -size };
            let same = if exponent == 31 { bits & 0xfc00 } else { bits };
            assert_eq!(half_bits(value), same, "{bits:#x}");
        }
        assert_eq!(half_bits(f32::NAN) & 0x7c00, 0x7c00);
        assert_ne!(half_bits(f32::NAN) & 0x3ff, 0);
    }

    #[test]
    fn timestamps_are_stored_whole_or_refused() {
        let at = Timestamp::new(-1, 999_999_000);
        assert_eq!(in_units(at, TimeUnit::Micros).unwrap(), -1);
        assert_eq!(in_units(at, TimeUnit::Nanos).unwrap(), -1_000);
        assert!(in_units(at, TimeUnit::Millis).unwrap_err().is_user());
        let far = Timestamp::new(i64::MAX / 1_000, 0);
        assert!(in_units(far, TimeUnit::Millis).is_ok());
        assert!(in_units(far, TimeUnit::Micros).unwrap_err().is_user());
    }
}
