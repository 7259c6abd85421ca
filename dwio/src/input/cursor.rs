//! Bounds-checked reading over loaded bytes: what file bytes meet before any arithmetic.

use vector::{Error, Result};

/// A position in a slice of file bytes. Reading past the end is a `Corrupt` error that names the
/// offset, what was wanted and what was left.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Bytes consumed so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True when nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    /// The bytes left, without consuming them.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Consumes `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.rest().get(..len) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => Err(Error::corrupt("the data ends too early")
                .with("offset", self.at)
                .with("wanted", len)
                .with("left", self.remaining())),
        }
    }

    /// Consumes `N` bytes.
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Consumes one byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.take_array::<1>().map(|[b]| b)
    }

    /// Consumes a little-endian `u32`.
    pub fn u32_le(&mut self) -> Result<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// Consumes a little-endian `u64`.
    pub fn u64_le(&mut self) -> Result<u64> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// Consumes an unsigned LEB128 number of at most ten bytes.
    pub fn uleb128(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("a variable-length number is longer than 64 bits")
            .with("offset", self.at))
    }

    /// Consumes a zigzag LEB128 number.
    pub fn zigzag(&mut self) -> Result<i64> {
        let value = self.uleb128()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_says_where_and_how_much() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.u8().unwrap(), 1);
        let error = cursor.u32_le().unwrap_err();
        assert_eq!(error.field("offset"), Some("1"));
        assert_eq!(error.field("left"), Some("2"));
        assert_eq!(cursor.rest(), [2, 3]);
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused() {
        let max = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Cursor::new(&max).uleb128().unwrap(), u64::MAX);
        let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(Cursor::new(&over).uleb128().is_err());
        assert!(Cursor::new(&[0xff; 100]).uleb128().is_err());
        assert_eq!(Cursor::new(&[3]).zigzag().unwrap(), -2);
    }
}
