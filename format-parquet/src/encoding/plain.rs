//! PLAIN: values stored without gaps, converted into the representation of vectors.
//!
//! ```text
//! fixed width   | v0 | v1 | v2 |        [`Fixed`], one copy loop for each conversion
//! byte arrays   | len | bytes | len | bytes |
//!                 numbers: [`BigEndianVariable`]; strings: `byte_arrays`
//! ```
//!
//! Decoders are generic over the conversion, so a loop has no branch on types. They check the
//! number of bytes once for a batch: a count of values that the bytes cannot hold is rejected
//! before anything is allocated.

use std::marker::PhantomData;

use dwio::filter::FilterValue;
use vector::types::Interval;
use vector::{BufferMut, Error, Native, Result, TimeUnit, Timestamp, bits};

use super::byte_arrays::{LENGTH_BYTES, check_count, each_selected};
pub use super::byte_arrays::{each_byte_array, fixed_bytes, skip_byte_arrays};
use super::selection::append_selected;

/// The Julian day of 1970-01-01.
const JULIAN_EPOCH: i64 = 2_440_588;
const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// PLAIN values of one physical type and conversion.
pub trait PlainValues: Send {
    /// True when the converted values are the stored integers.
    const ARE_STORED_INTEGERS: bool = false;

    /// The type of the values in the vector.
    type Out: FilterValue;

    /// Appends the first `num_values` values of `bytes` and returns the number of bytes they take.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `bytes` is too short for them, `Unsupported` when a value does not fit the
    /// type of the vector, `Limit` when memory is not granted.
    fn read(
        &self,
        bytes: &[u8],
        num_values: usize,
        out: &mut BufferMut<Self::Out>,
    ) -> Result<usize>;

    /// Appends those of the first `num_values` values of `bytes` that have a set bit in `wanted`
    /// and returns the number of bytes that all of them take. The other values are not converted.
    ///
    /// # Errors
    ///
    /// The same as [`PlainValues::read`], where only appended values have to fit.
    fn read_selected(
        &self,
        bytes: &[u8],
        num_values: usize,
        wanted: &[u64],
        out: &mut BufferMut<Self::Out>,
    ) -> Result<usize>;

    /// Returns the number of bytes that the first `num_values` values take.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `bytes` is too short for them.
    fn skip(&self, bytes: &[u8], num_values: usize) -> Result<usize>;
}

/// Conversion of one stored value of `N` bytes into the type of the vector.
pub trait Convert<const N: usize>: Send {
    /// True when the converted values are the stored integers.
    const ARE_STORED_INTEGERS: bool = false;

    /// The type of the values in the vector.
    type Out: FilterValue;
    /// Converts one value.
    fn convert(stored: [u8; N]) -> Self::Out;
}

macro_rules! conversions {
    (
        are_stored_integers: $are_stored:literal;
        $($(#[$doc:meta])* $name:ident: $width:literal => $out:ty, $stored:ident => $value:expr;)*
    ) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $name;
            impl Convert<$width> for $name {
                const ARE_STORED_INTEGERS: bool = $are_stored;
                type Out = $out;
                #[inline(always)]
                fn convert($stored: [u8; $width]) -> $out {
                    $value
                }
            }
        )*
    };
}

conversions! {
    are_stored_integers: true;
    /// INT32, unchanged.
    Int32: 4 => i32, b => i32::from_le_bytes(b);
    /// INT64, unchanged.
    Int64: 8 => i64, b => i64::from_le_bytes(b);
}

conversions! {
    are_stored_integers: false;
    /// FLOAT, unchanged.
    Float: 4 => f32, b => f32::from_le_bytes(b);
    /// DOUBLE, unchanged.
    Double: 8 => f64, b => f64::from_le_bytes(b);
    /// The low 8 bits of an INT32, signed.
    LowInt8: 4 => i8, b => i8::from_le_bytes([b[0]]);
    /// The low 16 bits of an INT32, signed.
    LowInt16: 4 => i16, b => i16::from_le_bytes([b[0], b[1]]);
    /// The low 8 bits of an INT32, unsigned.
    LowUint8: 4 => i16, b => i16::from(b[0]);
    /// The low 16 bits of an INT32, unsigned.
    LowUint16: 4 => i32, b => i32::from(u16::from_le_bytes([b[0], b[1]]));
    /// An INT32, unsigned.
    Uint32: 4 => i64, b => i64::from(u32::from_le_bytes(b));
    /// An INT64, unsigned.
    Uint64: 8 => i128, b => i128::from(u64::from_le_bytes(b));
    /// An INT64 of milliseconds since the epoch.
    TimestampMillis: 8 => Timestamp, b => {
        Timestamp::from_units(i64::from_le_bytes(b), TimeUnit::Millis)
    };
    /// An INT64 of microseconds since the epoch.
    TimestampMicros: 8 => Timestamp, b => {
        Timestamp::from_units(i64::from_le_bytes(b), TimeUnit::Micros)
    };
    /// An INT64 of nanoseconds since the epoch.
    TimestampNanos: 8 => Timestamp, b => {
        Timestamp::from_units(i64::from_le_bytes(b), TimeUnit::Nanos)
    };
    /// An INT96: nanoseconds of the day and a Julian day. The nanoseconds may lie outside of the
    /// day.
    Int96: 12 => Timestamp, b => {
        let [n0, n1, n2, n3, n4, n5, n6, n7, d0, d1, d2, d3] = b;
        let nanos = i64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let day = i64::from(i32::from_le_bytes([d0, d1, d2, d3])) - JULIAN_EPOCH;
        let day = day + nanos.div_euclid(NANOS_PER_DAY);
        let of_day = nanos.rem_euclid(NANOS_PER_DAY);
        Timestamp::new(day * 86_400, of_day.cast_unsigned())
    };
    /// A half-precision float as the equal `f32`.
    Float16: 2 => f32, b => half_to_f32(u16::from_le_bytes(b));
    /// 16 big-endian bytes.
    Uuid: 16 => i128, b => i128::from_be_bytes(b);
    /// Months, days and milliseconds.
    IntervalBytes: 12 => i128, b => Interval::from_bytes(b).to_stored();
}

/// A conversion followed by a lossless widening of its result.
#[derive(Debug, Clone, Copy)]
pub struct Widened<C, To>(PhantomData<(C, To)>);

impl<const N: usize, C, To> Convert<N> for Widened<C, To>
where
    C: Convert<N>,
    To: FilterValue + From<C::Out>,
{
    const ARE_STORED_INTEGERS: bool = C::ARE_STORED_INTEGERS;
    type Out = To;
    #[inline(always)]
    fn convert(stored: [u8; N]) -> To {
        To::from(C::convert(stored))
    }
}

/// A decoder of values of `N` bytes each.
#[derive(Debug, Clone, Copy)]
pub struct Fixed<const N: usize, C>(PhantomData<C>);

impl<const N: usize, C> Fixed<N, C> {
    /// Creates the decoder.
    pub fn new() -> Self {
        Fixed(PhantomData)
    }
}

impl<const N: usize, C> Default for Fixed<N, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, C: Convert<N>> PlainValues for Fixed<N, C> {
    const ARE_STORED_INTEGERS: bool = C::ARE_STORED_INTEGERS;
    type Out = C::Out;

    fn read(&self, bytes: &[u8], num_values: usize, out: &mut BufferMut<C::Out>) -> Result<usize> {
        let taken = self.skip(bytes, num_values)?;
        let (values, _) = bytes.as_chunks::<N>();
        for (slot, stored) in appended(out, num_values)?.iter_mut().zip(values) {
            *slot = C::convert(*stored);
        }
        Ok(taken)
    }

    fn read_selected(
        &self,
        bytes: &[u8],
        num_values: usize,
        wanted: &[u64],
        out: &mut BufferMut<C::Out>,
    ) -> Result<usize> {
        let taken = self.skip(bytes, num_values)?;
        let (values, _) = bytes.get(..taken).unwrap_or(&[]).as_chunks::<N>();
        append_selected(values, wanted, out, C::convert)?;
        Ok(taken)
    }

    fn skip(&self, bytes: &[u8], num_values: usize) -> Result<usize> {
        fixed_bytes(bytes, num_values, N)
    }
}

/// An integer type that big-endian two's complement bytes are read into.
pub trait BigEndian: FilterValue {
    /// Number of bytes of this type.
    const BYTES: usize;
    /// Returns the number that `bytes` hold (one value of any width), and false when it does not
    /// fit.
    fn from_bytes(bytes: &[u8]) -> (Self, bool);
    /// Returns the number that ends `block`, a window of `BYTES` bytes of which the first
    /// `unused_bits` bits belong to the preceding values.
    fn from_block(block: &[u8], unused_bits: u32) -> Self;
}

macro_rules! big_endian {
    ($($t:ty),*) => { $(
        impl BigEndian for $t {
            const BYTES: usize = size_of::<$t>();

            fn from_bytes(bytes: &[u8]) -> (Self, bool) {
                let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
                let (extension, sign) = if negative { (-1, 0xff) } else { (0, 0) };
                let (high, low) = bytes.split_at(bytes.len().saturating_sub(Self::BYTES));
                let value = low.iter().fold(extension, |value, b| value << 8 | <$t>::from(*b));
                let fits = high.iter().all(|b| *b == sign) && (value < 0) == negative;
                (value, fits)
            }

            #[inline(always)]
            fn from_block(block: &[u8], unused_bits: u32) -> Self {
                let mut raw = [0; size_of::<$t>()];
                raw.copy_from_slice(block);
                // The bits of preceding values are shifted out at the top; shifting back extends
                // the sign.
                (<$t>::from_be_bytes(raw) << unused_bits) >> unused_bits
            }
        }
    )* };
}
big_endian!(i64, i128);

/// A decoder of big-endian numbers of `width` bytes each.
#[derive(Debug, Clone, Copy)]
pub struct BigEndianFixed<T> {
    width: usize,
    out: PhantomData<T>,
}

impl<T> BigEndianFixed<T> {
    /// Creates a decoder of numbers of `width` bytes; a width of 0 stands for the number 0.
    pub fn new(width: usize) -> Self {
        BigEndianFixed { width, out: PhantomData }
    }
}

impl<T: BigEndian> PlainValues for BigEndianFixed<T> {
    type Out = T;

    fn read(&self, bytes: &[u8], num_values: usize, out: &mut BufferMut<T>) -> Result<usize> {
        let width = self.width;
        let taken = fixed_bytes(bytes, num_values, width)?;
        let slots = appended(out, num_values)?;
        if width == 0 {
            slots.fill(T::default());
            return Ok(taken);
        }
        let mut all_fit = true;
        let values = bytes.chunks_exact(width);
        if width > T::BYTES {
            for (slot, stored) in slots.iter_mut().zip(values) {
                let (value, fits) = T::from_bytes(stored);
                *slot = value;
                all_fit &= fits;
            }
            return if all_fit { Ok(taken) } else { Err(does_not_fit(T::BYTES)) };
        }
        // The first values have no window of full width before their end.
        let short = (T::BYTES - width).div_ceil(width).min(num_values);
        for (slot, stored) in slots.iter_mut().zip(values).take(short) {
            *slot = T::from_bytes(stored).0;
        }
        let unused_bits = (width..T::BYTES).map(|_| u8::BITS).sum();
        // There is no window when there are fewer values.
        let first = ((short + 1) * width).checked_sub(T::BYTES);
        let blocks = first.and_then(|first| bytes.get(first..)).unwrap_or(&[]);
        let blocks = blocks.windows(T::BYTES).step_by(width);
        for (slot, block) in slots.iter_mut().skip(short).zip(blocks) {
            *slot = T::from_block(block, unused_bits);
        }
        Ok(taken)
    }

    fn read_selected(
        &self,
        bytes: &[u8],
        num_values: usize,
        wanted: &[u64],
        out: &mut BufferMut<T>,
    ) -> Result<usize> {
        let width = self.width;
        let taken = fixed_bytes(bytes, num_values, width)?;
        let slots = appended(out, bits::count_ones(wanted, num_values))?;
        let mut all_fit = true;
        for (slot, i) in slots.iter_mut().zip(bits::ones(wanted, num_values)) {
            let (value, fits) = T::from_bytes(bytes.get(i * width..(i + 1) * width).unwrap_or(&[]));
            *slot = value;
            all_fit &= fits;
        }
        if all_fit { Ok(taken) } else { Err(does_not_fit(T::BYTES)) }
    }

    fn skip(&self, bytes: &[u8], num_values: usize) -> Result<usize> {
        fixed_bytes(bytes, num_values, self.width)
    }
}

/// A decoder of big-endian numbers in byte arrays of any length.
#[derive(Debug, Clone, Copy, Default)]
pub struct BigEndianVariable<T>(PhantomData<T>);

impl<T> BigEndianVariable<T> {
    /// Creates the decoder.
    pub fn new() -> Self {
        BigEndianVariable(PhantomData)
    }
}

impl<T: BigEndian> PlainValues for BigEndianVariable<T> {
    type Out = T;

    fn read(&self, bytes: &[u8], num_values: usize, out: &mut BufferMut<T>) -> Result<usize> {
        check_count(bytes, num_values, LENGTH_BYTES)?;
        let mut slots = appended(out, num_values)?.iter_mut();
        let mut all_fit = true;
        let taken = each_byte_array(bytes, num_values, |stored| {
            let (value, fits) = T::from_bytes(stored);
            if let Some(slot) = slots.next() {
                *slot = value;
            }
            all_fit &= fits;
        })?;
        if all_fit { Ok(taken) } else { Err(does_not_fit(T::BYTES)) }
    }

    fn read_selected(
        &self,
        bytes: &[u8],
        num_values: usize,
        wanted: &[u64],
        out: &mut BufferMut<T>,
    ) -> Result<usize> {
        let mut slots = appended(out, bits::count_ones(wanted, num_values))?.iter_mut();
        let mut all_fit = true;
        let taken = each_selected(bytes, num_values, wanted, |_, start, end| {
            let (value, fits) = T::from_bytes(bytes.get(start..end).unwrap_or(&[]));
            if let Some(slot) = slots.next() {
                *slot = value;
            }
            all_fit &= fits;
        })?;
        if all_fit { Ok(taken) } else { Err(does_not_fit(T::BYTES)) }
    }

    fn skip(&self, bytes: &[u8], num_values: usize) -> Result<usize> {
        skip_byte_arrays(bytes, num_values)
    }
}

/// Appends `n` slots with unspecified content to `out` and returns them for the caller to fill.
///
/// # Errors
///
/// `Limit` when memory is not granted.
pub fn appended<T: Native>(out: &mut BufferMut<T>, n: usize) -> Result<&mut [T]> {
    let len = out.len();
    if out.capacity() - len < n {
        // Windows over many small pages are filled in small steps, so the capacity grows
        // geometrically.
        out.try_grow(n)?;
    }
    out.resize_unspecified(len + n);
    out.as_mut_slice()
        .get_mut(len..)
        .ok_or_else(|| Error::internal("a buffer that grew is shorter than before"))
}

#[cold]
fn does_not_fit(bytes: usize) -> Error {
    Error::unsupported("a decimal has more digits than its type takes").with("max_bytes", bytes)
}

fn half_to_f32(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let exponent = u32::from(half >> 10 & 0x1f);
    let fraction = u32::from(half & 0x3ff);
    match (exponent, fraction) {
        (0, _) => {
            // Zero and subnormal: the fraction counts units of 2^-24, which an `f32` represents
            // exactly.
            let magnitude = fraction as f32 / 16_777_216.0;
            f32::from_bits(magnitude.to_bits() | sign)
        }
        (0x1f, _) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<P: PlainValues>(plain: P, bytes: &[u8], n: usize) -> Result<Vec<P::Out>> {
        let mut out = BufferMut::new();
        plain.read(bytes, n, &mut out).map(|_| out.as_slice().to_vec())
    }

    #[test]
    fn fixed_values_are_converted_and_short_pages_refused() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x01, 0x02, 0x00, 0x00, 0x09];
        assert_eq!(read(Fixed::<4, Int32>::new(), &bytes, 2).unwrap(), [-1, 0x201]);
        assert_eq!(read(Fixed::<4, LowInt8>::new(), &bytes, 2).unwrap(), [-1, 1]);
        assert_eq!(read(Fixed::<4, LowUint8>::new(), &bytes, 2).unwrap(), [255, 1]);
        assert_eq!(read(Fixed::<4, LowUint16>::new(), &bytes, 2).unwrap(), [0xffff, 0x201]);
        assert_eq!(read(Fixed::<4, Uint32>::new(), &bytes, 1).unwrap(), [0xffff_ffff]);
        let wide = Fixed::<4, Widened<Int32, f64>>::new();
        assert_eq!(read(wide, &bytes, 2).unwrap(), [-1.0, 513.0]);
        let error = read(Fixed::<4, Int32>::new(), &bytes, 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corrupt: the page is too short for its values (values=3 bytes_of_a_value=4 bytes=9)"
        );
        assert!(read(Fixed::<8, Int64>::new(), &bytes, usize::MAX).is_err());
    }

    #[test]
    fn int96_is_a_day_and_nanoseconds_that_may_leave_it() {
        let mut bytes = [0; 12];
        bytes[8..].copy_from_slice(&[0x8c, 0x3d, 0x25, 0]);
        assert_eq!(read(Fixed::<12, Int96>::new(), &bytes, 1).unwrap(), [Timestamp::new(0, 0)]);
        bytes[..8].copy_from_slice(&(-1i64).to_le_bytes());
        let before = Timestamp::new(-1, 999_999_999);
        assert_eq!(read(Fixed::<12, Int96>::new(), &bytes, 1).unwrap(), [before]);
    }

    #[test]
    fn halves_become_the_equal_floats() {
        for (half, value) in [
            (0x0000, 0.0f32),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(half_to_f32(half), value, "{half:x}");
        }
        assert!(half_to_f32(0x8000).is_sign_negative());
        assert!(half_to_f32(0x7e01).is_nan());
    }

    #[test]
    fn big_endian_numbers_of_every_width_keep_their_sign() {
        for width in 1..=20usize {
            for value in [0i64, 1, -1, 127, -128, 100, -100] {
                let sign = if value < 0 { 0xff } else { 0 };
                let mut stored = vec![sign; width];
                stored[width - 1] = value as u8;
                let many = stored.repeat(20);
                assert_eq!(
                    read(BigEndianFixed::<i64>::new(width), &many, 20).unwrap(),
                    [value; 20]
                );
                for n in 0..=20 {
                    let wide = read(BigEndianFixed::<i128>::new(width), &many, n).unwrap();
                    assert_eq!(wide, vec![i128::from(value); n]);
                }
                let mut variable = (width as u32).to_le_bytes().to_vec();
                variable.extend(&stored);
                let found = read(BigEndianVariable::<i64>::new(), &variable, 1).unwrap();
                assert_eq!(found, [value]);
            }
        }
        assert_eq!(read(BigEndianFixed::<i64>::new(0), &[], 3).unwrap(), [0; 3]);
        assert_eq!(read(BigEndianVariable::<i128>::new(), &[0; 4], 1).unwrap(), [0]);
        let too_wide = [[1u8; 9], [0; 9]].concat();
        assert!(read(BigEndianFixed::<i64>::new(9), &too_wide, 2).is_err());
        assert!(read(BigEndianFixed::<i64>::new(9), &[0, 0x80, 0, 0, 0, 0, 0, 0, 0], 1).is_err());
    }
}
