//! Values of one fixed width, booleans and nulls: from pages into flat vectors.
//!
//! [`FixedValues`] is generic over how PLAIN values are read and converted (`encoding::plain`); a
//! dictionary holds converted values, so a page of indices is a gather of what the vector stores.
//! [`value_reader`] chooses by the leaf's storage and conversion and by the type that is asked for:
//! integers and floats widen while they are read, decimals behind that (`converted`), all else must
//! have the type that it has.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, Error, FlatValues, FlatVector, MemoryPool, Result,
    TimeUnit, Type, Vector, VectorRef,
};

use super::converted::{Conversion, ConvertedValues};
use super::current_page::{CurrentPage, PageValues, no_dictionary, no_page};
use super::leaf::ValueReader;
use super::spread::{LastWindow, spread, spread_bits};
use super::string::BytesValues;
use crate::encoding::bit_pack::append_bits;
use crate::encoding::dictionary::Dictionary;
use crate::encoding::plain::{
    self, BigEndianFixed, BigEndianVariable, Convert, Fixed, PlainValues, Widened, appended,
};
use crate::encoding::recoded::{STEP, Storage};
use crate::page::DictionaryPage;
use crate::schema::{Leaf, ValueConversion};
use crate::thrift::structs::{Encoding, PhysicalType};

/// Values that flat vectors store side by side.
struct FixedValues<P: PlainValues> {
    ty: Type,
    plain: P,
    dictionary: Option<Dictionary<P::Out>>,
    page: CurrentPage,
    /// Absent until the first value of a window is read.
    window: Option<BufferMut<P::Out>>,
    last: LastWindow<P::Out>,
    /// A few values of a recoded page.
    scratch: BufferMut<u8>,
    pool: MemoryPool,
}

impl<P: PlainValues> ValueReader for FixedValues<P> {
    fn start_chunk(&mut self, carries_prefixes: bool) {
        self.dictionary = None;
        self.page.start_chunk(carries_prefixes);
        self.window = None;
    }

    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()> {
        let DictionaryPage { num_values, values, .. } = page;
        self.dictionary = Some(Dictionary::decode(&self.plain, &values, num_values, &self.pool)?);
        Ok(())
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
    }

    fn end_page(&mut self) {
        self.page.end();
    }

    fn read(&mut self, n: usize) -> Result<()> {
        let window = self.window.get_or_insert_with(|| self.last.take(&self.pool));
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                let rest = bytes.get(*at..).unwrap_or(&[]);
                *at += self.plain.read(rest, n, window)?;
                Ok(())
            }
            PageValues::Indices(indices) => {
                let dictionary = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
                indices.gather(dictionary, appended(window, n)?)
            }
            PageValues::Recoded(recoded) => {
                let mut left = n;
                while left > 0 {
                    let now = left.min(STEP);
                    self.scratch.clear();
                    recoded.read(now, &mut self.scratch)?;
                    self.plain.read(&self.scratch, now, window)?;
                    left -= now;
                }
                Ok(())
            }
            _ => Err(no_page()),
        }
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                *at += self.plain.skip(bytes.get(*at..).unwrap_or(&[]), n)?;
                Ok(())
            }
            PageValues::Indices(indices) => indices.skip(n),
            PageValues::Recoded(recoded) => recoded.skip(n),
            _ => Err(no_page()),
        }
    }

    fn finish(&mut self, _num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        let mut values = self.window.take().unwrap_or_else(|| self.last.take(&self.pool));
        if let Some(validity) = &validity {
            spread(&mut values, validity)?;
        }
        let values = self.last.hand_out(values);
        let vector = FlatVector::from_buffer(self.ty.clone(), values, validity)?;
        Ok(Vector::Flat(vector).into())
    }
}

/// Booleans: bits in pages and in vectors.
struct BooleanValues {
    page: CurrentPage,
    window: BitmapMut,
}

impl ValueReader for BooleanValues {
    fn start_chunk(&mut self, carries_prefixes: bool) {
        self.page.start_chunk(carries_prefixes);
        self.window = BitmapMut::new();
    }

    fn set_dictionary(&mut self, _: DictionaryPage) -> Result<()> {
        Err(Error::corrupt("a dictionary of booleans"))
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
    }

    fn end_page(&mut self) {
        self.page.end();
    }

    fn read(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                if bytes.len().saturating_mul(8).saturating_sub(*at) < n {
                    return Err(Error::corrupt("the page is too short for its values")
                        .with("values", n)
                        .with("bytes", bytes.len()));
                }
                append_bits(bytes, *at, n, &mut self.window);
                *at += n;
                Ok(())
            }
            PageValues::BooleanRuns(runs) => runs.read_bits(n, &mut self.window).map(drop),
            _ => Err(no_page()),
        }
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { at, .. } => {
                *at += n;
                Ok(())
            }
            PageValues::BooleanRuns(runs) => runs.read_bits(n, &mut BitmapMut::new()).map(drop),
            _ => Err(no_page()),
        }
    }

    fn finish(&mut self, _num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        let mut values = std::mem::take(&mut self.window).freeze();
        if let Some(validity) = &validity {
            values = spread_bits(&values, validity)?;
        }
        let values = FlatValues::Boolean(values);
        Ok(Vector::Flat(FlatVector::new(Type::Boolean, values, validity)?).into())
    }
}

/// Nothing: for columns that are null everywhere, and where only levels are wanted.
struct NoValues {
    ty: Type,
}

impl ValueReader for NoValues {
    fn start_chunk(&mut self, _: bool) {}
    fn set_dictionary(&mut self, _: DictionaryPage) -> Result<()> {
        Ok(())
    }
    fn start_page(&mut self, _: Encoding, _: Buffer<u8>) {}
    fn end_page(&mut self) {}
    fn read(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
    fn skip(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
    fn finish(&mut self, num_slots: usize, _: Option<Bitmap>) -> Result<VectorRef> {
        Ok(Vector::nulls(self.ty.clone(), num_slots).into())
    }
}

/// A reader that decodes no values and gives nulls.
pub(crate) fn no_values(ty: Type) -> Box<dyn ValueReader> {
    Box::new(NoValues { ty })
}

/// What is needed to choose and make a reader.
struct Choice<'a> {
    leaf: &'a Leaf,
    ty: &'a Type,
    pool: &'a MemoryPool,
}

impl Choice<'_> {
    fn make<P: PlainValues + 'static>(&self, plain: P) -> Box<dyn ValueReader> {
        Box::new(FixedValues {
            ty: self.ty.clone(),
            plain,
            dictionary: None,
            page: CurrentPage::new(storage_of(self.leaf)),
            window: None,
            last: LastWindow::new(),
            scratch: BufferMut::new_in(self.pool),
            pool: self.pool.clone(),
        })
    }

    /// Values of the leaf's own type.
    fn own<const N: usize, C: Convert<N> + 'static>(&self) -> Result<Box<dyn ValueReader>> {
        if *self.ty == self.leaf.ty { Ok(self.make(Fixed::<N, C>::new())) } else { self.refuse() }
    }

    fn refuse<T>(&self) -> Result<T> {
        Err(Error::unsupported("the column cannot be read as the type that is asked for")
            .with("file_type", &self.leaf.ty)
            .with("wanted_type", self.ty))
    }
}

/// How a leaf's values are stored.
pub(crate) fn storage_of(leaf: &Leaf) -> Storage {
    Storage { physical: leaf.physical, type_length: leaf.type_length }
}

/// The reader of a leaf's values as values of type `ty`, which is the leaf's or a wider one.
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
    // Types that a value may widen to besides its own, with what they store.
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
            let page = CurrentPage::new(storage_of(leaf));
            Ok(Box::new(BooleanValues { page, window: BitmapMut::new() }))
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
