//! Encodings: the bytes of a page's values as numbers, bits, strings or dictionary indices.
//!
//! A decoder owns its position in one page, reads any number of values at a time and passes over
//! values it need not decode. [`value_encoding`] says which decoder a page needs.
//!
//! | file | decodes |
//! |---|---|
//! | `bit_pack` | values of a few bits each |
//! | `rle_hybrid` | repeat and bit-packed runs: levels, indices, booleans |
//! | `plain` | PLAIN of every storage, into what vectors store |
//! | `byte_arrays` | where PLAIN byte arrays stand, and views of them |
//! | `dictionary` | dictionaries and the indices into them |
//! | `filling` | what selected indices stand for |
//! | `answers` | which entries of a dictionary pass a filter |
//! | `selection` | values of a selection |
//! | `delta_binary_packed` | integers as differences (the kernels are in `delta_unpack`) |
//! | `delta_byte_array` | byte arrays whose lengths are such integers, and shared prefixes |
//! | `byte_stream_split` | values whose bytes stand apart |
//! | `alp` | floats as decimal integers |
//! | `recoded` | those last four, read as PLAIN |

pub mod alp;
pub mod answers;
pub mod bit_pack;
pub mod byte_arrays;
pub mod byte_stream_split;
pub mod delta_binary_packed;
pub mod delta_byte_array;
mod delta_unpack;
pub mod dictionary;
mod filling;
pub mod plain;
pub mod recoded;
pub mod rle_hybrid;
pub(crate) mod selection;

use vector::{Error, Result};

use crate::thrift::structs::{Encoding, PhysicalType};

/// The decoders that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueEncoding {
    /// Values as they are.
    Plain,
    /// Indices into the chunk's dictionary.
    Dictionary,
    /// Booleans as a hybrid with a length in front.
    BooleanRle,
    /// Integers as differences.
    DeltaBinaryPacked,
    /// Byte arrays, their lengths as differences.
    DeltaLengthByteArray,
    /// Byte arrays without the front that they share with the one before.
    DeltaByteArray,
    /// All first bytes, all second bytes, and so on.
    ByteStreamSplit,
    /// Floats as decimal integers.
    Alp,
}

/// How the values of a page of that encoding and storage are decoded.
///
/// `Corrupt` when the format does not allow the pair, `Unsupported` when it does and we cannot.
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
