//! A bounds-checked cursor over loaded bytes. Parsers read file bytes through it before any
//! arithmetic on them.

use vector::{Error, Result};

/// A position in a slice of file bytes. Reading past the end is a `Corrupt` error with the offset,
/// the number of bytes requested and the number left.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Returns the number of bytes consumed so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns true if no bytes are left.
    pub fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    /// Returns the bytes left, without consuming them.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Consumes `len` bytes.
    ///
    /// # Errors
    /// `Corrupt` if fewer bytes are left.
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
    ///
    /// # Errors
    /// `Corrupt` if fewer bytes are left.
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Consumes one byte.
    ///
    /// # Errors
    /// `Corrupt` if no byte is left.
    pub fn u8(&mut self) -> Result<u8> {
        self.take_array::<1>().map(|[b]| b)
    }

    /// Consumes a little-endian `u32`.
    ///
    /// # Errors
    /// `Corrupt` if fewer than 4 bytes are left.
    pub fn u32_le(&mut self) -> Result<u32> {
        self.take_array().map(u32::from_le_bytes)
    }

    /// Consumes a little-endian `u64`.
    ///
    /// # Errors
    /// `Corrupt` if fewer than 8 bytes are left.
    pub fn u64_le(&mut self) -> Result<u64> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// Consumes an unsigned LEB128 number of at most ten bytes.
    ///
    /// # Errors
    /// `Corrupt` if the bytes end within the number or the number does not fit 64 bits.
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
    ///
    /// # Errors
    /// Those of [`Cursor::uleb128`].
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
