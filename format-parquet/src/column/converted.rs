//! Values converted after they are read.
//!
//! | file | requested | conversion |
//! |---|---|---|
//! | decimal | decimal of a larger scale | multiplied by a power of ten (rules S7.51, S7.55) |
//! | integer | decimal | multiplied by a power of ten (rules S7.51, S7.55) |
//! | unsigned integer | signed integer of the same width | the bits are kept (rule S7.54) |
//!
//! The values are read as the type of the file, window by window, and each finished window is
//! converted. Conversions that can be done for each value while it is decoded are in `scalar`.

use vector::types::decimal::power_of_ten;
use vector::types::{MAX_SHORT_PRECISION, decimal};
use vector::{
    Bitmap, Buffer, Error, FlatType, FlatValues, FlatVector, Result, Type, Vector, VectorRef,
};

use super::current_page::PageEnd;
use super::leaf::ValueReader;
use crate::created_by::PageQuirks;
use crate::page::DictionaryPage;
use crate::schema::{Leaf, ValueConversion};
use crate::thrift::structs::{Encoding, PhysicalType};

/// The conversion of a value of the file into one of the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Multiplies by a power of ten, as a decimal.
    Scaled(i128),
    /// Keeps the low bits, which the requested type reinterprets.
    LowBits,
    /// Converts to a DOUBLE.
    Float,
}

impl Conversion {
    /// Returns the conversion from a leaf to `wanted`; `None` when there is none, or when the leaf
    /// can be read as that type without one.
    pub(super) fn of(leaf: &Leaf, wanted: &Type) -> Option<Self> {
        use ValueConversion as From;
        let scaled = |digits: u8| power_of_ten(digits).map(Conversion::Scaled);
        match (&leaf.ty, wanted) {
            (
                Type::Decimal { precision: from, scale: from_scale },
                Type::Decimal { precision, scale },
            ) if leaf.ty != *wanted => {
                // The requested type must have at least as many digits before the decimal point.
                let room = precision.checked_sub(*from)?;
                let shift = scale.checked_sub(*from_scale)?;
                if room >= shift { scaled(shift) } else { None }
            }
            (ty, Type::Decimal { precision, scale }) if ty.is_integer() => {
                let digits = if leaf.physical == PhysicalType::Int32 { 10 } else { 20 };
                if precision.checked_sub(*scale)? >= digits { scaled(*scale) } else { None }
            }
            (_, Type::TinyInt) if leaf.conversion == From::Unsigned8 => Some(Conversion::LowBits),
            (_, Type::SmallInt) if leaf.conversion == From::Unsigned16 => Some(Conversion::LowBits),
            (_, Type::Integer) if leaf.conversion == From::Unsigned32 => Some(Conversion::LowBits),
            (_, Type::BigInt) if leaf.conversion == From::Unsigned64 => Some(Conversion::LowBits),
            (_, Type::Double) if leaf.conversion == From::Unsigned32 => Some(Conversion::Float),
            _ => None,
        }
    }
}

/// Reads a leaf as its own type and converts the values.
pub(super) struct ConvertedValues {
    pub(super) inner: Box<dyn ValueReader>,
    pub(super) conversion: Conversion,
    pub(super) ty: Type,
}

impl ValueReader for ConvertedValues {
    fn start_chunk(&mut self, quirks: PageQuirks) {
        self.inner.start_chunk(quirks);
    }

    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()> {
        self.inner.set_dictionary(page)
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.inner.start_page(encoding, values);
    }

    fn check_end(&mut self, end: PageEnd) -> Result<()> {
        self.inner.check_end(end)
    }

    fn end_page(&mut self) {
        self.inner.end_page();
    }

    fn read(&mut self, n: usize) -> Result<()> {
        self.inner.read(n)
    }

    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize> {
        self.inner.read_selected(n, wanted)
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        self.inner.skip(n)
    }

    fn finish(&mut self, num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        let vector = self.inner.finish(num_slots, validity)?;
        let Vector::Flat(flat) = vector.as_ref() else {
            return Err(Error::internal("a window of numbers is not flat"));
        };
        let flat = match flat.values() {
            FlatValues::TinyInt(v) => self.converted(v, flat.validity()),
            FlatValues::SmallInt(v) => self.converted(v, flat.validity()),
            FlatValues::Integer(v) => self.converted(v, flat.validity()),
            FlatValues::BigInt(v) => self.converted(v, flat.validity()),
            FlatValues::HugeInt(v) => self.converted(v, flat.validity()),
            _ => Err(Error::internal("a window of numbers has other values")),
        };
        Ok(Vector::Flat(flat?).into())
    }
}

impl ConvertedValues {
    fn converted<T: Copy + Into<i128>>(
        &self,
        values: &[T],
        validity: Option<&Bitmap>,
    ) -> Result<FlatVector> {
        let values = values.iter().map(|v| (*v).into());
        match (self.conversion, &self.ty) {
            (Conversion::Scaled(factor), Type::Decimal { precision, .. }) => {
                let is_null = |i: usize| validity.is_some_and(|v| !v.get(i));
                let scaled = values.enumerate().map(|(i, value): (usize, i128)| {
                    match value.checked_mul(factor) {
                        // The slots of null rows have unspecified content.
                        _ if is_null(i) => Ok(0),
                        Some(scaled) if decimal::fits(scaled, *precision) => Ok(scaled),
                        _ => Err(Error::corrupt("a value has more digits than its column")
                            .with("value", value)
                            .with("type", &self.ty)),
                    }
                });
                let scaled = scaled.collect::<Result<Vec<i128>>>()?;
                if *precision > MAX_SHORT_PRECISION {
                    return self.vector(scaled.into_iter(), validity);
                }
                let short = scaled.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>();
                let short = short.map_err(|_| {
                    Error::internal("a short decimal of more than 64 bits").with("type", &self.ty)
                })?;
                self.vector(short.into_iter(), validity)
            }
            (Conversion::LowBits, _) => self.low_bits(values, validity),
            (Conversion::Float, Type::Double) => self.vector(values.map(|v| v as f64), validity),
            _ => Err(Error::internal("no such conversion").with("type", &self.ty)),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low bits are asked for")]
    fn low_bits(
        &self,
        values: impl Iterator<Item = i128>,
        validity: Option<&Bitmap>,
    ) -> Result<FlatVector> {
        match &self.ty {
            Type::TinyInt => self.vector(values.map(|v| v as i8), validity),
            Type::SmallInt => self.vector(values.map(|v| v as i16), validity),
            Type::Integer => self.vector(values.map(|v| v as i32), validity),
            Type::BigInt => self.vector(values.map(|v| v as i64), validity),
            _ => Err(Error::internal("no such conversion").with("type", &self.ty)),
        }
    }

    fn vector<T: FlatType>(
        &self,
        values: impl Iterator<Item = T>,
        validity: Option<&Bitmap>,
    ) -> Result<FlatVector> {
        let values: Buffer<T> = values.collect();
        FlatVector::from_buffer(self.ty.clone(), values, validity.cloned())
    }
}
