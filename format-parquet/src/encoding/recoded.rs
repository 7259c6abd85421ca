//! Pages in encodings other than PLAIN and dictionary, read as PLAIN.
//!
//! The conversion of PLAIN values into the values of vectors does not depend on how they were
//! encoded: a [`Recoded`] page decodes a few values at a time into the bytes that PLAIN would have,
//! in memory that stays in the cache.

use vector::{Buffer, BufferMut, Error, Result};

use super::alp::Alp;
use super::byte_stream_split::ByteStreamSplit;
use super::delta_binary_packed::DeltaBinaryPacked;
use super::delta_byte_array::{DeltaByteArray, DeltaByteArrayParams, DeltaLengthByteArray};
use super::{ValueEncoding, plain};
use crate::thrift::structs::PhysicalType;

/// Number of values that are decoded at once: few enough to stay in the L1 cache.
pub const STEP: usize = 1024;

/// Physical type and width of the stored values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Physical type of the values.
    pub physical: PhysicalType,
    /// Number of bytes of a fixed-length value.
    pub type_length: usize,
}

impl Storage {
    /// Returns the number of bytes of a value, or `None` where values differ in length or are bits.
    pub fn width(self) -> Option<usize> {
        match self.physical {
            PhysicalType::Int32 | PhysicalType::Float => Some(4),
            PhysicalType::Int64 | PhysicalType::Double => Some(8),
            PhysicalType::Int96 => Some(12),
            PhysicalType::FixedLenByteArray => Some(self.type_length),
            PhysicalType::Boolean | PhysicalType::ByteArray => None,
        }
    }
}

/// The values of a page, decoded into PLAIN.
#[derive(Debug)]
pub enum Recoded {
    /// Integers of 32 bits.
    Delta32(DeltaBinaryPacked),
    /// Integers of 64 bits.
    Delta64(DeltaBinaryPacked),
    /// Values of any fixed width, with the width in bytes.
    Split(ByteStreamSplit, usize),
    /// Floats as decimal integers.
    Alp(Alp),
    /// Byte arrays that the page stores as they are.
    Lengths(DeltaLengthByteArray),
    /// Byte arrays that are each built from their predecessor.
    Prefixes(DeltaByteArray),
}

impl Recoded {
    /// Opens a page. `carried` is the last value of the previous page, if the first value may share
    /// a prefix with it.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the headers of the page are invalid, `Unsupported` for an unknown variant of
    /// ALP, and `Internal` for an encoding that is not decoded through PLAIN.
    pub fn open(
        encoding: ValueEncoding,
        storage: Storage,
        bytes: Buffer<u8>,
        carried: Option<Vec<u8>>,
    ) -> Result<Self> {
        // Nothing is allocated for the number of values that a stream declares, so it needs no
        // bound.
        let max_values = usize::MAX;
        let width = storage.width();
        Ok(match encoding {
            ValueEncoding::DeltaBinaryPacked if width == Some(4) => {
                Recoded::Delta32(DeltaBinaryPacked::new(bytes, 32, max_values)?)
            }
            ValueEncoding::DeltaBinaryPacked => {
                Recoded::Delta64(DeltaBinaryPacked::new(bytes, 64, max_values)?)
            }
            ValueEncoding::DeltaLengthByteArray => {
                Recoded::Lengths(DeltaLengthByteArray::new(bytes, max_values)?)
            }
            ValueEncoding::DeltaByteArray => {
                let params = DeltaByteArrayParams { max_values, width, carried };
                Recoded::Prefixes(DeltaByteArray::new(bytes, params)?)
            }
            ValueEncoding::ByteStreamSplit => {
                let width = width.ok_or_else(|| Error::internal("streams of bytes of no width"))?;
                Recoded::Split(ByteStreamSplit::new(bytes, width)?, width)
            }
            ValueEncoding::Alp => Recoded::Alp(Alp::new(bytes, width == Some(8))?),
            ValueEncoding::Plain | ValueEncoding::Dictionary | ValueEncoding::BooleanRle => {
                return Err(Error::internal("a page that needs no recoding"));
            }
        })
    }

    /// Appends the next `num_values` values to `out`, in the layout of PLAIN.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values or they are invalid; `Limit` when the memory or the
    /// total size of the values exceeds its bound.
    pub fn read(&mut self, num_values: usize, out: &mut BufferMut<u8>) -> Result<()> {
        match self {
            Recoded::Delta32(delta) => read_delta::<4>(delta, num_values, out),
            Recoded::Delta64(delta) => read_delta::<8>(delta, num_values, out),
            Recoded::Split(split, width) => {
                split.check_left(num_values)?;
                split.read(plain::appended(out, num_values.saturating_mul(*width))?)
            }
            Recoded::Alp(alp) => alp.read(num_values, out),
            Recoded::Lengths(lengths) => lengths.read(num_values, out),
            Recoded::Prefixes(prefixes) => prefixes.read(num_values, out),
        }
    }

    /// Returns the minimum and maximum possible value of the next `num_values` values, where they
    /// are integers with bounds that follow from headers without decoding; otherwise `None`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values.
    pub fn integer_bounds(&self, num_values: usize) -> Result<Option<(i64, i64)>> {
        match self {
            Recoded::Delta32(delta) | Recoded::Delta64(delta) => delta.bounds(num_values),
            _ => Ok(None),
        }
    }

    /// Skips the next `num_values` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values or they are invalid.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        match self {
            Recoded::Delta32(delta) | Recoded::Delta64(delta) => delta.skip(num_values),
            Recoded::Split(split, _) => split.skip(num_values),
            Recoded::Alp(alp) => alp.skip(num_values),
            Recoded::Lengths(lengths) => lengths.skip(num_values),
            Recoded::Prefixes(prefixes) => prefixes.skip(num_values),
        }
    }

    /// Returns the number of values that are not yet read or skipped, as the page declares.
    pub fn remaining(&self) -> usize {
        match self {
            Recoded::Delta32(delta) | Recoded::Delta64(delta) => delta.remaining(),
            Recoded::Split(split, _) => split.remaining(),
            Recoded::Alp(alp) => alp.remaining(),
            Recoded::Lengths(lengths) => lengths.remaining(),
            Recoded::Prefixes(prefixes) => prefixes.remaining(),
        }
    }

    /// Returns the last value of the page, if it was reached and the next page may share a prefix
    /// with it.
    pub fn into_carried(self) -> Option<Vec<u8>> {
        match self {
            Recoded::Prefixes(prefixes) => prefixes.into_last(),
            _ => None,
        }
    }
}

fn read_delta<const N: usize>(
    delta: &mut DeltaBinaryPacked,
    num_values: usize,
    out: &mut BufferMut<u8>,
) -> Result<()> {
    delta.check_left(num_values)?;
    let (values, _) = plain::appended(out, num_values.saturating_mul(N))?.as_chunks_mut::<N>();
    delta.read(values)
}

#[cfg(test)]
mod tests {
    use super::super::delta_binary_packed::tests::encode;
    use super::*;

    #[test]
    fn every_encoding_reads_as_the_bytes_of_plain() {
        let of = |physical, type_length| Storage { physical, type_length };
        let read = |encoding, storage, bytes: &[u8], skipped, n| -> Result<Vec<u8>> {
            let mut page = Recoded::open(encoding, storage, Buffer::from_slice(bytes), None)?;
            let mut out = BufferMut::new();
            page.skip(skipped)?;
            page.read(n, &mut out)?;
            Ok(out.as_slice().to_vec())
        };
        let delta = encode(&[1, -2, 3], 32, (128, 4));
        let int32 = of(PhysicalType::Int32, 0);
        let found = read(ValueEncoding::DeltaBinaryPacked, int32, &delta, 1, 2).unwrap();
        assert_eq!(found, [0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0]);
        let int64 = of(PhysicalType::Int64, 0);
        let found = read(ValueEncoding::DeltaBinaryPacked, int64, &delta, 2, 1).unwrap();
        assert_eq!(found, 3i64.to_le_bytes());
        let fixed = of(PhysicalType::FixedLenByteArray, 3);
        let found = read(ValueEncoding::ByteStreamSplit, fixed, b"adbecf", 0, 2).unwrap();
        assert_eq!(found, b"abcdef");
        let mut lengths = encode(&[1, 2], 32, (128, 4));
        lengths.extend(b"xyz");
        let bytes = of(PhysicalType::ByteArray, 0);
        let found = read(ValueEncoding::DeltaLengthByteArray, bytes, &lengths, 0, 2).unwrap();
        assert_eq!(found, b"\x01\0\0\0x\x02\0\0\0yz");
        let mut prefixes = encode(&[0, 1], 32, (128, 4));
        prefixes.extend(encode(&[2, 1], 32, (128, 4)));
        prefixes.extend(b"abc");
        let found = read(ValueEncoding::DeltaByteArray, bytes, &prefixes, 1, 1).unwrap();
        assert_eq!(found, b"\x02\0\0\0ac");
        let two = of(PhysicalType::FixedLenByteArray, 2);
        assert_eq!(read(ValueEncoding::DeltaByteArray, two, &prefixes, 0, 2).unwrap(), b"abac");
        // A declared number of values that no page has does not allocate.
        for (encoding, storage) in
            [(ValueEncoding::ByteStreamSplit, fixed), (ValueEncoding::DeltaBinaryPacked, int32)]
        {
            assert!(read(encoding, storage, &delta[..6], 0, usize::MAX / 16).is_err());
        }
    }
}
