//! Derives the Ocior type of a leaf and the conversion of its values from its physical type and
//! annotation.
//!
//! | stored as | annotation | type | conversion |
//! |---|---|---|---|
//! | BOOLEAN, INT32, INT64, FLOAT, DOUBLE | none | the same | plain |
//! | INT32 | INT_8, INT_16 | TINYINT, SMALLINT | low bits |
//! | INT32 | UINT_8, UINT_16, UINT_32 | SMALLINT, INTEGER, BIGINT | unsigned |
//! | INT64 | UINT_64 | HUGEINT | unsigned |
//! | INT32 | DATE | DATE | plain |
//! | INT32; INT64 | TIME | TIME(unit) | sign-extended; plain |
//! | INT64 | TIMESTAMP | TIMESTAMP | units since 1970 |
//! | INT96 | none | TIMESTAMP | day and nanoseconds |
//! | INT32, INT64 | DECIMAL | DECIMAL | plain or sign-extended |
//! | bytes | DECIMAL | DECIMAL; VARCHAR beyond 38 digits | big-endian number |
//! | bytes | STRING, ENUM, JSON | VARCHAR | plain |
//! | bytes | none, BSON, GEOMETRY, GEOGRAPHY | VARBINARY | plain |
//! | 2, 12, 16 bytes | FLOAT16, INTERVAL, UUID | the same | by type |
//! | any | UNKNOWN | UNKNOWN | none |
//!
//! An annotation on a physical type for which the format forbids it is `Corrupt`. An annotation
//! that is unknown, or that belongs on groups, is ignored.

use vector::types::{MAX_PRECISION, MAX_SHORT_PRECISION};
use vector::{Error, Result, TimeUnit, Type};

use crate::thrift::structs::{ConvertedType, LogicalType, PhysicalType, SchemaElement};

/// Maximum supported width of a FIXED_LEN_BYTE_ARRAY in bytes.
const MAX_TYPE_LENGTH: usize = 1 << 30;
/// Maximum precision of a decimal that is read as text: each value prints all digits of its scale.
const MAX_TEXT_PRECISION: i32 = 1000;

/// The conversion of a stored value into a value of the leaf's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueConversion {
    /// The stored value is unchanged.
    Plain,
    /// The low 8 bits of an INT32, signed.
    Int8,
    /// The low 16 bits of an INT32, signed.
    Int16,
    /// The low 8 bits of an INT32, unsigned, as an `i16`.
    Unsigned8,
    /// The low 16 bits of an INT32, unsigned, as an `i32`.
    Unsigned16,
    /// An INT32, unsigned, as an `i64`.
    Unsigned32,
    /// An INT64, unsigned, as an `i128`.
    Unsigned64,
    /// An INT32 or INT64 as the wider `i64` or `i128` in which the type is stored.
    SignExtend,
    /// Big-endian two's complement bytes as the `i64` or `i128` in which the type is stored.
    DecimalBytes,
    /// Big-endian two's complement bytes of any length as decimal text with all digits of the
    /// scale.
    WideDecimalText {
        /// Number of digits after the decimal point.
        scale: u32,
    },
    /// An INT64 in units since 1970-01-01T00:00:00.
    TimestampUnits(TimeUnit),
    /// Nanoseconds of the day (8 bytes), then the Julian day (4 bytes), both little-endian.
    Int96,
    /// A half-precision float in 2 little-endian bytes.
    Float16,
    /// 16 big-endian bytes as an `i128`.
    Uuid,
    /// Months, days and milliseconds, 4 little-endian bytes each.
    Interval,
    /// There are no values: the column is null in every row.
    Null,
}

/// A leaf's type; if `refusal` states why the leaf cannot be read, the other fields are
/// placeholders.
pub(super) struct LeafType {
    pub(super) ty: Type,
    pub(super) conversion: ValueConversion,
    pub(super) type_length: usize,
    pub(super) refusal: Option<Error>,
}

/// Derives the type of a leaf.
pub(super) fn of(element: &SchemaElement, physical: PhysicalType) -> LeafType {
    let length = match physical {
        PhysicalType::FixedLenByteArray => fixed_length(element),
        _ => Ok(0),
    };
    let (type_length, typed) = match length {
        Ok(length) => (length, annotated(element, physical, length)),
        Err(error) => (0, Err(error)),
    };
    let ((ty, conversion), refusal) = match typed {
        Ok(typed) => (typed, None),
        Err(error) => (unannotated(physical), Some(error)),
    };
    LeafType { ty, conversion, type_length, refusal }
}

fn fixed_length(element: &SchemaElement) -> Result<usize> {
    // A width of zero is useless, but files have it and it does no harm.
    match element.type_length.map(usize::try_from) {
        Some(Ok(length)) if length <= MAX_TYPE_LENGTH => Ok(length),
        Some(Ok(length)) => Err(Error::limit("fixed length byte array is too wide")
            .with("type_length", length)
            .with("max", MAX_TYPE_LENGTH)),
        Some(Err(_)) => Err(Error::corrupt("fixed length byte array with a negative width")
            .with("type_length", element.type_length.unwrap_or(0))),
        None => Err(Error::corrupt("fixed length byte array without its width")),
    }
}

fn unannotated(physical: PhysicalType) -> (Type, ValueConversion) {
    let ty = match physical {
        PhysicalType::Boolean => Type::Boolean,
        PhysicalType::Int32 => Type::Integer,
        PhysicalType::Int64 => Type::BigInt,
        PhysicalType::Int96 => return (Type::Timestamp, ValueConversion::Int96),
        PhysicalType::Float => Type::Real,
        PhysicalType::Double => Type::Double,
        PhysicalType::ByteArray | PhysicalType::FixedLenByteArray => Type::Varbinary,
    };
    (ty, ValueConversion::Plain)
}

fn annotated(
    element: &SchemaElement,
    physical: PhysicalType,
    length: usize,
) -> Result<(Type, ValueConversion)> {
    use PhysicalType::{ByteArray, FixedLenByteArray, Int32, Int64};
    use ValueConversion as To;

    let Some(annotation) = annotation(element)? else { return Ok(unannotated(physical)) };
    Ok(match (&annotation, physical) {
        (LogicalType::Null, _) => (Type::Unknown, To::Null),
        (
            LogicalType::String | LogicalType::Enum | LogicalType::Json,
            ByteArray | FixedLenByteArray,
        ) => (Type::Varchar, To::Plain),
        (
            LogicalType::Bson | LogicalType::Geometry { .. } | LogicalType::Geography { .. },
            ByteArray | FixedLenByteArray,
        ) => (Type::Varbinary, To::Plain),
        (
            LogicalType::Decimal { scale, precision },
            Int32 | Int64 | ByteArray | FixedLenByteArray,
        ) => decimal(*precision, *scale, physical)?,
        (LogicalType::Date, Int32) => (Type::Date, To::Plain),
        (LogicalType::Time { unit: None, .. } | LogicalType::Timestamp { unit: None, .. }, _) => {
            return Err(Error::unsupported("the column's unit of time is not known"));
        }
        (LogicalType::Time { unit: Some(TimeUnit::Millis), .. }, Int32) => {
            (Type::Time(TimeUnit::Millis), To::SignExtend)
        }
        (LogicalType::Time { unit: Some(unit), .. }, Int64) if *unit != TimeUnit::Millis => {
            (Type::Time(*unit), To::Plain)
        }
        (LogicalType::Timestamp { unit: Some(unit), .. }, Int64) => {
            (Type::Timestamp, To::TimestampUnits(*unit))
        }
        (LogicalType::Integer { bit_width, is_signed }, Int32 | Int64) => {
            match integer(*bit_width, *is_signed, physical) {
                Some(typed) => typed,
                None => return Err(misplaced(&annotation, physical, length)),
            }
        }
        (LogicalType::Uuid, FixedLenByteArray) if length == 16 => (Type::Uuid, To::Uuid),
        (LogicalType::Float16, FixedLenByteArray) if length == 2 => (Type::Float16, To::Float16),
        (LogicalType::Interval, FixedLenByteArray) if length == 12 => {
            (Type::Interval, To::Interval)
        }
        (
            LogicalType::Map
            | LogicalType::List
            | LogicalType::Variant { .. }
            | LogicalType::File
            | LogicalType::Unrecognized(_),
            _,
        ) => unannotated(physical),
        _ => return Err(misplaced(&annotation, physical, length)),
    })
}

fn integer(
    bit_width: i8,
    is_signed: bool,
    physical: PhysicalType,
) -> Option<(Type, ValueConversion)> {
    use ValueConversion as To;
    Some(match (bit_width, is_signed, physical) {
        (8, true, PhysicalType::Int32) => (Type::TinyInt, To::Int8),
        (16, true, PhysicalType::Int32) => (Type::SmallInt, To::Int16),
        (32, true, PhysicalType::Int32) => (Type::Integer, To::Plain),
        (64, true, PhysicalType::Int64) => (Type::BigInt, To::Plain),
        (8, false, PhysicalType::Int32) => (Type::SmallInt, To::Unsigned8),
        (16, false, PhysicalType::Int32) => (Type::Integer, To::Unsigned16),
        (32, false, PhysicalType::Int32) => (Type::BigInt, To::Unsigned32),
        (64, false, PhysicalType::Int64) => (Type::HugeInt, To::Unsigned64),
        _ => return None,
    })
}

fn decimal(precision: i32, scale: i32, physical: PhysicalType) -> Result<(Type, ValueConversion)> {
    let is_bytes = matches!(physical, PhysicalType::ByteArray | PhysicalType::FixedLenByteArray);
    if precision < 1 || scale < 0 || scale > precision {
        return Err(Error::corrupt("a decimal needs at least one digit and a scale within")
            .with("precision", precision)
            .with("scale", scale));
    }
    if precision > i32::from(MAX_PRECISION) && is_bytes && precision <= MAX_TEXT_PRECISION {
        let scale = scale.unsigned_abs();
        return Ok((Type::Varchar, ValueConversion::WideDecimalText { scale }));
    }
    // Integers have fewer digits than the largest decimal type, whatever precision the file
    // declares.
    let precision = if is_bytes { precision } else { precision.min(i32::from(MAX_PRECISION)) };
    let (Ok(precision), Ok(scale)) = (u8::try_from(precision), u8::try_from(scale)) else {
        return Err(too_many_digits(precision, scale));
    };
    let ty = Type::decimal(precision, scale)
        .map_err(|_| too_many_digits(precision.into(), scale.into()))?;
    let conversion = match physical {
        _ if is_bytes => ValueConversion::DecimalBytes,
        PhysicalType::Int64 if precision <= MAX_SHORT_PRECISION => ValueConversion::Plain,
        _ => ValueConversion::SignExtend,
    };
    Ok((ty, conversion))
}

fn too_many_digits(precision: i32, scale: i32) -> Error {
    Error::unsupported("a decimal with too many digits")
        .with("precision", precision)
        .with("scale", scale)
}

/// Returns the annotation of a leaf: the newer one takes precedence where it is known, otherwise
/// the older one is translated.
fn annotation(element: &SchemaElement) -> Result<Option<LogicalType>> {
    match &element.logical {
        None | Some(LogicalType::Unrecognized(_)) => {}
        known => return Ok(known.clone()),
    }
    let Some(converted) = element.converted else { return Ok(None) };
    let time = |unit| LogicalType::Time { is_adjusted_to_utc: true, unit: Some(unit) };
    let timestamp = |unit| LogicalType::Timestamp { is_adjusted_to_utc: true, unit: Some(unit) };
    let integer = |bit_width, is_signed| LogicalType::Integer { bit_width, is_signed };
    Ok(Some(match converted {
        ConvertedType::Utf8 => LogicalType::String,
        ConvertedType::Map | ConvertedType::MapKeyValue => LogicalType::Map,
        ConvertedType::List => LogicalType::List,
        ConvertedType::Enum => LogicalType::Enum,
        ConvertedType::Decimal => LogicalType::Decimal {
            scale: element.scale.unwrap_or(0),
            precision: element
                .precision
                .ok_or_else(|| Error::corrupt("a decimal without its precision"))?,
        },
        ConvertedType::Date => LogicalType::Date,
        ConvertedType::TimeMillis => time(TimeUnit::Millis),
        ConvertedType::TimeMicros => time(TimeUnit::Micros),
        ConvertedType::TimestampMillis => timestamp(TimeUnit::Millis),
        ConvertedType::TimestampMicros => timestamp(TimeUnit::Micros),
        ConvertedType::Uint8 => integer(8, false),
        ConvertedType::Uint16 => integer(16, false),
        ConvertedType::Uint32 => integer(32, false),
        ConvertedType::Uint64 => integer(64, false),
        ConvertedType::Int8 => integer(8, true),
        ConvertedType::Int16 => integer(16, true),
        ConvertedType::Int32 => integer(32, true),
        ConvertedType::Int64 => integer(64, true),
        ConvertedType::Json => LogicalType::Json,
        ConvertedType::Bson => LogicalType::Bson,
        ConvertedType::Interval => LogicalType::Interval,
        ConvertedType::Unknown(_) => return Ok(None),
    }))
}

fn misplaced(annotation: &LogicalType, physical: PhysicalType, length: usize) -> Error {
    let error = Error::corrupt("the annotation is not allowed on this storage")
        .with("annotation", annotation)
        .with("storage", physical);
    match physical {
        PhysicalType::FixedLenByteArray => error.with("type_length", length),
        _ => error,
    }
}
