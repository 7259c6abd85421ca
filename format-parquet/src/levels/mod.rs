//! Definition and repetition levels of one page.
//!
//! ```text
//! RLE section     v1: length (4 bytes) + hybrid; v2: hybrid      width = bits of the maximum
//! BIT_PACKED      v1 only, deprecated: most significant bit first, no header
//! ```
//!
//! Where the maximum is 1, levels are bits already and go into a validity bitmap without ever
//! being numbers: a repeat run fills bits, a packed run copies them. Else a level is a byte.
//! A level above the maximum is `Corrupt` wherever it appears. What levels mean in nested columns
//! is in [`nested`].

pub mod nested;

use vector::{BitmapMut, Buffer, Error, Result, bits};

use crate::encoding::bit_pack;
use crate::encoding::rle_hybrid::{AfterLastValue, RleHybrid};

/// Levels of one kind in one page.
#[derive(Debug)]
pub struct LevelDecoder {
    max: u8,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The maximum is 0: nothing is stored.
    Zero,
    Hybrid(RleHybrid),
    MsbFirst {
        bytes: Buffer<u8>,
        at_bit: usize,
    },
}

/// Bits that levels up to `max` take.
pub fn level_width(max: u8) -> u8 {
    8 - u8::try_from(max.leading_zeros()).unwrap_or(8)
}

/// Bytes of a BIT_PACKED section of `num_values` levels.
pub fn bit_packed_bytes(num_values: usize, max: u8) -> Option<usize> {
    bit_pack::packed_bytes(num_values, level_width(max))
}

/// How many of the levels are `level`.
pub fn count_of(levels: &[u8], level: u8) -> usize {
    let words = levels.chunks(64).map(|levels| bits::word_where(levels, |l| l == level));
    words.map(|word| word.count_ones() as usize).sum()
}

impl LevelDecoder {
    /// Levels that are all 0 because they can be nothing else.
    pub fn zero() -> Self {
        LevelDecoder { max: 0, source: Source::Zero }
    }

    /// Levels up to `max` from an RLE section without its length.
    pub fn rle(bytes: Buffer<u8>, max: u8) -> Result<Self> {
        if max == 0 {
            return Ok(Self::zero());
        }
        Ok(LevelDecoder { max, source: Source::Hybrid(RleHybrid::new(bytes, level_width(max))?) })
    }

    /// Levels up to `max` from a section in the deprecated encoding.
    pub fn bit_packed(bytes: Buffer<u8>, max: u8) -> Self {
        if max == 0 {
            return Self::zero();
        }
        LevelDecoder { max, source: Source::MsbFirst { bytes, at_bit: 0 } }
    }

    /// True for levels in the deprecated encoding.
    pub fn is_bit_packed(&self) -> bool {
        matches!(self.source, Source::MsbFirst { .. })
    }

    /// Checks that no level is left.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has more levels than were asked for.
    pub fn check_end(&self) -> Result<()> {
        match &self.source {
            Source::Zero => Ok(()),
            Source::Hybrid(runs) => runs.check_end(AfterLastValue::RestOfRun),
            // Its length follows from the number of levels.
            Source::MsbFirst { .. } => Ok(()),
        }
    }

    /// Decodes as many levels as `out` takes.
    pub fn read(&mut self, out: &mut [u8]) -> Result<()> {
        match &mut self.source {
            Source::Zero => out.fill(0),
            Source::Hybrid(runs) => {
                runs.read_bytes(out)?;
                let largest = out.iter().fold(0, |max, level| max.max(*level));
                if largest > self.max {
                    return Err(above_maximum(largest, self.max));
                }
            }
            Source::MsbFirst { bytes, at_bit } => {
                let width = level_width(self.max);
                for level in out {
                    *level = msb_first(bytes, at_bit, width)?;
                    if *level > self.max {
                        return Err(above_maximum(*level, self.max));
                    }
                }
            }
        }
        Ok(())
    }

    /// Skips `n` levels, which are not compared with the maximum.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        match &mut self.source {
            Source::Zero => Ok(()),
            Source::Hybrid(runs) => runs.skip(n),
            Source::MsbFirst { at_bit, .. } => {
                let bits = n.saturating_mul(usize::from(level_width(self.max)));
                *at_bit = at_bit.saturating_add(bits);
                Ok(())
            }
        }
    }

    /// Appends `n` levels as bits, for a maximum of 1; gives how many are one.
    pub fn read_bits(&mut self, n: usize, out: &mut BitmapMut) -> Result<usize> {
        match &mut self.source {
            Source::Zero => {
                out.push_n(false, n);
                Ok(0)
            }
            Source::Hybrid(runs) => runs.read_bits(n, out),
            Source::MsbFirst { bytes, at_bit } => {
                let mut ones = 0;
                for _ in 0..n {
                    let bit = msb_first(bytes, at_bit, 1)? == 1;
                    out.push(bit);
                    ones += usize::from(bit);
                }
                Ok(ones)
            }
        }
    }
}

/// SPEC (BIT_PACKED): values back to back, each from its most significant bit on.
fn msb_first(bytes: &Buffer<u8>, at_bit: &mut usize, width: u8) -> Result<u8> {
    let mut level = 0;
    for _ in 0..width {
        let Some(byte) = bytes.as_slice().get(*at_bit / 8) else {
            return Err(Error::corrupt("levels end too early").with("bytes", bytes.len()));
        };
        level = level << 1 | (byte >> (7 - *at_bit % 8) & 1);
        *at_bit += 1;
    }
    Ok(level)
}

#[cold]
fn above_maximum(level: u8, max: u8) -> Error {
    Error::corrupt("level above the column's maximum").with("level", level).with("max", max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_the_bits_of_the_maximum() {
        let widths: Vec<u8> = [0, 1, 2, 3, 4, 7, 8, 255].map(level_width).into();
        assert_eq!(widths, [0, 1, 2, 2, 3, 3, 4, 8]);
    }

    #[test]
    fn levels_in_the_old_bit_order_are_read() {
        let mut levels = LevelDecoder::bit_packed(Buffer::from_slice(&[0x05, 0x39, 0x77]), 7);
        let mut out = [0; 8];
        levels.read(&mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(levels.read(&mut out[..1]).is_err());
    }

    #[test]
    fn bits_and_bytes_of_the_same_section_agree() {
        // 5 ones, then 16 packed, then 3 zeros.
        let bytes = [0x0a, 0x01, 0x05, 0b1010_0110, 0b0001_1101, 0x06, 0x00];
        let mut as_bytes = LevelDecoder::rle(Buffer::from_slice(&bytes), 1).unwrap();
        let mut levels = [0; 24];
        as_bytes.read(&mut levels).unwrap();
        for cut in [0, 1, 5, 6, 13, 21, 24] {
            let mut as_bits = LevelDecoder::rle(Buffer::from_slice(&bytes), 1).unwrap();
            let mut out = BitmapMut::new();
            let ones = as_bits.read_bits(cut, &mut out).unwrap()
                + as_bits.read_bits(24 - cut, &mut out).unwrap();
            assert!(levels.iter().enumerate().all(|(i, l)| out.get(i) == (*l == 1)));
            assert_eq!(ones, 13);
        }
    }

    #[test]
    fn a_level_above_the_maximum_is_corrupt() {
        let text = |bytes: &[u8], max| {
            let mut levels = LevelDecoder::rle(Buffer::from_slice(bytes), max).unwrap();
            levels.read(&mut [0; 8]).unwrap_err().to_string()
        };
        let expected = "corrupt: level above the column's maximum (level=3 max=2)";
        assert_eq!(text(&[0x10, 0x03], 2), expected);
        assert_eq!(text(&[0x03, 0b1110_0100, 0], 2), expected);
    }

    #[test]
    fn a_maximum_of_zero_needs_no_bytes() {
        let mut out = [9; 4];
        LevelDecoder::rle(Buffer::empty(), 0).unwrap().read(&mut out).unwrap();
        assert_eq!(out, [0; 4]);
    }
}
