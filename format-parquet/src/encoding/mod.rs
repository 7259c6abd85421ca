//! Encodings: decoders of the value bytes of a page into numbers, bits, strings or dictionary
//! indices.
//!
//! A decoder owns its position in one page, reads any number of values at a time and skips values
//! that are not requested without decoding them. [`value_encoding`] selects the decoder of a page.
//!
//! | file | contains |
//! |---|---|
//! | `bit_pack` | unpacking of bit-packed values |
//! | `rle_hybrid` | repeat runs and bit-packed runs: levels, indices, booleans |
//! | `plain` | PLAIN of every physical type, converted into the type of the vector |
//! | `byte_arrays` | positions of PLAIN byte arrays, and views of them |
//! | `dictionary` | dictionaries and the indices into them |
//! | `filling` | gathering of dictionary values for selected indices |
//! | `dictionary_filter` | filter results per dictionary entry |
//! | `selection` | copying of the selected values |
//! | `delta_binary_packed` | integers as differences (the kernels are in `delta_unpack`) |
//! | `delta_byte_array` | byte arrays with delta-encoded lengths and shared prefixes |
//! | `byte_stream_split` | values with their bytes split into streams |
//! | `alp` | floats as decimal integers |
//! | `recoded` | a common interface of the last four, which yields PLAIN bytes |

pub mod alp;
pub mod bit_pack;
pub mod byte_arrays;
pub mod byte_stream_split;
pub mod delta_binary_packed;
pub mod delta_byte_array;
mod delta_unpack;
pub mod dictionary;
pub mod dictionary_filter;
mod filling;
pub mod plain;
pub mod recoded;
pub mod rle_hybrid;
pub(crate) mod selection;

use vector::{Error, Result};

use crate::thrift::structs::{Encoding, PhysicalType};

/// The decoder that reads the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueEncoding {
    /// PLAIN values.
    Plain,
    /// Indices into the dictionary of the column chunk.
    Dictionary,
    /// Booleans as an RLE/bit-packed hybrid with a length prefix.
    BooleanRle,
    /// Integers as differences (DELTA_BINARY_PACKED).
    DeltaBinaryPacked,
    /// Byte arrays with lengths that are stored as differences (DELTA_LENGTH_BYTE_ARRAY).
    DeltaLengthByteArray,
    /// Byte arrays without the prefix that each shares with its predecessor (DELTA_BYTE_ARRAY).
    DeltaByteArray,
    /// All first bytes, then all second bytes, and so on (BYTE_STREAM_SPLIT).
    ByteStreamSplit,
    /// Floats as decimal integers (ALP).
    Alp,
}

/// Returns the decoder for values of an encoding and a physical type.
///
/// # Errors
///
/// `Corrupt` when the format does not allow this combination; `Unsupported` when the encoding is
/// unknown.
pub fn value_encoding(encoding: Encoding, physical: PhysicalType) -> Result<ValueEncoding> {
    use PhysicalType::{Boolean, ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};
    let found = match encoding {
        Encoding::Plain => Some(ValueEncoding::Plain),
        Encoding::PlainDictionary | Encoding::RleDictionary if physical != Boolean => {
            Some(ValueEncoding::Dictionary)
        }
        Encoding::Rle if physical == Boolean => Some(ValueEncoding::BooleanRle),
        Encoding::DeltaBinaryPacked if matches!(physical, Int32 | Int64) => {
            Some(ValueEncoding::DeltaBinaryPacked)
        }
        Encoding::DeltaLengthByteArray if physical == ByteArray => {
            Some(ValueEncoding::DeltaLengthByteArray)
        }
        Encoding::DeltaByteArray if matches!(physical, ByteArray | FixedLenByteArray) => {
            Some(ValueEncoding::DeltaByteArray)
        }
        Encoding::ByteStreamSplit if !matches!(physical, Boolean | Int96 | ByteArray) => {
            Some(ValueEncoding::ByteStreamSplit)
        }
        Encoding::Alp if matches!(physical, Float | Double) => Some(ValueEncoding::Alp),
        _ => None,
    };
    found.ok_or_else(|| {
        let error = if matches!(encoding, Encoding::Unknown(_)) {
            Error::unsupported("this encoding cannot be read yet")
        } else {
            Error::corrupt("the encoding is not allowed for this storage")
        };
        error.with("encoding", encoding).with("storage", physical)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn pairs_that_the_format_forbids_are_corrupt_and_others_unsupported() {
        let of = value_encoding;
        assert_eq!(of(Encoding::Plain, PhysicalType::Boolean).unwrap(), ValueEncoding::Plain);
        assert_eq!(of(Encoding::Rle, PhysicalType::Boolean).unwrap(), ValueEncoding::BooleanRle);
        let kind = |encoding, physical| of(encoding, physical).unwrap_err().kind();
        assert_eq!(kind(Encoding::Rle, PhysicalType::Int32), ErrorKind::Corrupt);
        assert_eq!(kind(Encoding::DeltaBinaryPacked, PhysicalType::Double), ErrorKind::Corrupt);
        assert_eq!(kind(Encoding::Unknown(77), PhysicalType::Double), ErrorKind::Unsupported);
        assert_eq!(
            of(Encoding::Unknown(77), PhysicalType::Double).unwrap_err().to_string(),
            "unsupported: this encoding cannot be read yet \
             (encoding=?77 storage=DOUBLE)"
        );
    }
}
