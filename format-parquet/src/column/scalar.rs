//! Selection of the reader of a leaf's values, by its physical type and conversion and by the
//! requested type: integers and floats are widened while they are read, decimals afterwards
//! (`converted`), and any other leaf must be requested as its own type.

use vector::{Error, MemoryPool, Result, TimeUnit, Type};

use super::boolean::{BooleanValues, no_values};
use super::converted::{Conversion, ConvertedValues};
use super::fixed::FixedValues;
use super::leaf::ValueReader;
use super::string::BytesValues;
use crate::encoding::plain::{
    self, BigEndianFixed, BigEndianVariable, Convert, Fixed, PlainValues, Widened,
};
use crate::encoding::recoded::Storage;
use crate::schema::{Leaf, ValueConversion};
use crate::thrift::structs::PhysicalType;

/// The parameters from which a reader is selected and created.
struct Choice<'a> {
    leaf: &'a Leaf,
    ty: &'a Type,
    pool: &'a MemoryPool,
}

impl Choice<'_> {
    fn make<P: PlainValues + 'static>(&self, plain: P) -> Box<dyn ValueReader> {
        let storage = storage_of(self.leaf);
        Box::new(FixedValues::new(self.ty.clone(), plain, storage, self.pool))
    }

    /// Returns a reader of values of the leaf's own type; refuses any other type.
    fn own<const N: usize, C: Convert<N> + 'static>(&self) -> Result<Box<dyn ValueReader>> {
        if *self.ty == self.leaf.ty { Ok(self.make(Fixed::<N, C>::new())) } else { self.refuse() }
    }

    fn refuse<T>(&self) -> Result<T> {
        Err(Error::unsupported("the column cannot be read as the type that is asked for")
            .with("file_type", &self.leaf.ty)
            .with("wanted_type", self.ty))
    }
}

/// Returns how a leaf's values are stored.
pub(crate) fn storage_of(leaf: &Leaf) -> Storage {
    Storage { physical: leaf.physical, type_length: leaf.type_length }
}

/// Returns the reader of a leaf's values as type `ty`, which is the leaf's type or a wider one.
pub(crate) fn value_reader(
    leaf: &Leaf,
    ty: &Type,
    pool: &MemoryPool,
) -> Result<Box<dyn ValueReader>> {
    use ValueConversion as From;
    if let Some(conversion) = Conversion::of(leaf, ty) {
        let inner = value_reader(leaf, &leaf.ty, pool)?;
        return Ok(Box::new(ConvertedValues { inner, conversion, ty: ty.clone() }));
    }
    let choice = Choice { leaf, ty, pool };
    // The types other than its own that a value may be widened to, with their vector values.
    macro_rules! integer {
        ($width:literal, $convert:ident, $($wider:ident: $stored:ty),*) => {
            match ty {
                $(Type::$wider if leaf.ty.is_integer() && leaf.ty != Type::$wider => {
                    Ok(choice.make(Fixed::<$width, Widened<plain::$convert, $stored>>::new()))
                })*
                _ => choice.own::<$width, plain::$convert>(),
            }
        };
    }
    match (leaf.physical, leaf.conversion) {
        (_, From::Null) => Ok(no_values(ty.clone())),
        (PhysicalType::Boolean, From::Plain) if *ty == Type::Boolean => {
            Ok(Box::new(BooleanValues::new(storage_of(leaf))))
        }
        (PhysicalType::Int32, From::Plain) => {
            integer!(4, Int32, BigInt: i64, HugeInt: i128, Double: f64)
        }
        (PhysicalType::Int32, From::Int8) => {
            integer!(4, LowInt8, SmallInt: i16, Integer: i32, BigInt: i64, HugeInt: i128, Double: f64)
        }
        (PhysicalType::Int32, From::Int16) => {
            integer!(4, LowInt16, Integer: i32, BigInt: i64, HugeInt: i128, Double: f64)
        }
        (PhysicalType::Int32, From::Unsigned8) => {
            integer!(4, LowUint8, Integer: i32, BigInt: i64, HugeInt: i128, Double: f64)
        }
        (PhysicalType::Int32, From::Unsigned16) => {
            integer!(4, LowUint16, BigInt: i64, HugeInt: i128, Double: f64)
        }
        (PhysicalType::Int32, From::Unsigned32) => integer!(4, Uint32, HugeInt: i128),
        (PhysicalType::Int64, From::Unsigned64) => choice.own::<8, plain::Uint64>(),
        (PhysicalType::Int64, From::Plain) => integer!(8, Int64, HugeInt: i128),
        (PhysicalType::Int32, From::SignExtend) => match leaf.ty.kind() {
            vector::TypeKind::HugeInt => choice.own::<4, Widened<plain::Int32, i128>>(),
            _ => choice.own::<4, Widened<plain::Int32, i64>>(),
        },
        (PhysicalType::Int64, From::SignExtend) => choice.own::<8, Widened<plain::Int64, i128>>(),
        (PhysicalType::Float, From::Plain) if *ty == Type::Double => {
            Ok(choice.make(Fixed::<4, Widened<plain::Float, f64>>::new()))
        }
        (PhysicalType::Float, From::Plain) => choice.own::<4, plain::Float>(),
        (PhysicalType::Double, From::Plain) => choice.own::<8, plain::Double>(),
        (PhysicalType::Int96, From::Int96) => choice.own::<12, plain::Int96>(),
        (PhysicalType::Int64, From::TimestampUnits(unit)) => match unit {
            TimeUnit::Millis => choice.own::<8, plain::TimestampMillis>(),
            TimeUnit::Micros => choice.own::<8, plain::TimestampMicros>(),
            TimeUnit::Nanos => choice.own::<8, plain::TimestampNanos>(),
        },
        (PhysicalType::FixedLenByteArray, From::Float16) => match ty {
            Type::Real => Ok(choice.make(Fixed::<2, plain::Float16>::new())),
            Type::Double => Ok(choice.make(Fixed::<2, Widened<plain::Float16, f64>>::new())),
            _ => choice.own::<2, plain::Float16>(),
        },
        (PhysicalType::FixedLenByteArray, From::Uuid) => choice.own::<16, plain::Uuid>(),
        (PhysicalType::FixedLenByteArray, From::Interval) => {
            choice.own::<12, plain::IntervalBytes>()
        }
        (_, From::DecimalBytes) if *ty == leaf.ty => {
            let is_long = ty.kind() == vector::TypeKind::HugeInt;
            Ok(match (leaf.physical, is_long) {
                (PhysicalType::FixedLenByteArray, false) => {
                    choice.make(BigEndianFixed::<i64>::new(leaf.type_length))
                }
                (PhysicalType::FixedLenByteArray, true) => {
                    choice.make(BigEndianFixed::<i128>::new(leaf.type_length))
                }
                (_, false) => choice.make(BigEndianVariable::<i64>::new()),
                (_, true) => choice.make(BigEndianVariable::<i128>::new()),
            })
        }
        (PhysicalType::ByteArray | PhysicalType::FixedLenByteArray, From::Plain)
            if matches!(ty, Type::Varchar | Type::Varbinary) =>
        {
            Ok(Box::new(BytesValues::new(leaf, ty.clone(), None, pool)))
        }
        (
            PhysicalType::ByteArray | PhysicalType::FixedLenByteArray,
            From::WideDecimalText { scale },
        ) if *ty == Type::Varchar => {
            Ok(Box::new(BytesValues::new(leaf, ty.clone(), Some(scale), pool)))
        }
        _ => choice.refuse(),
    }
}
