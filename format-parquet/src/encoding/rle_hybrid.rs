//! The RLE/bit-packed hybrid encoding of levels, dictionary indices and booleans.
//!
//! ```text
//! header = count << 1       value in ceil(width / 8) bytes        count copies of the value
//! header = groups << 1 | 1  groups * width bytes                  8 values a group, bit-packed
//! ```
//!
//! [`RleHybrid::next_run`] returns runs, or parts of them, and the caller decides how to process
//! each: a repeat run can be a fill, a skip or a single test for all its rows. `bits` and `bytes`
//! contain faster paths for short runs of one-bit values and of values that are stored in a byte
//! each.

mod bits;
mod bytes;

use dwio::input::cursor::Cursor;
use vector::{Buffer, Error, Result};

use super::bit_pack::{self, MAX_WIDTH, Unpacked};

/// Data that may follow the last value that is read from a section of runs. A bit-packed run may
/// always hold more values: writers fill it up to a group of 8, and some to a block of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterLastValue {
    /// Nothing.
    #[default]
    Nothing,
    /// More values of a repeat run: Impala counts one level too many.
    RestOfRun,
    /// Any bytes: DuckDB writes whole blocks of indices.
    Anything,
}

/// A decoder of one section of a page.
#[derive(Debug, Clone)]
pub struct RleHybrid {
    bytes: Buffer<u8>,
    /// Offset of the next header.
    at: usize,
    width: u8,
    run: Current,
}

#[derive(Debug, Clone, Copy)]
enum Current {
    Repeat { value: u32, left: usize },
    Packed { start: usize, end: usize, taken: usize, left: usize },
}

impl Current {
    #[inline]
    fn is_over(&self) -> bool {
        match self {
            Current::Repeat { left, .. } | Current::Packed { left, .. } => *left == 0,
        }
    }
}

/// A run or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run<'a> {
    /// The same value `n` times.
    Repeat {
        /// The repeated value.
        value: u32,
        /// Number of repetitions.
        n: usize,
    },
    /// Values `first..first + n` of `bytes`, bit-packed.
    Packed {
        /// All bytes of the run, checked to hold the values.
        bytes: &'a [u8],
        /// Index of the first value of this part.
        first: usize,
        /// Number of values of this part.
        n: usize,
    },
}

impl RleHybrid {
    /// Creates a decoder of values of `width` bits.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `width` is more than [`MAX_WIDTH`].
    pub fn new(bytes: Buffer<u8>, width: u8) -> Result<Self> {
        if width > MAX_WIDTH {
            return Err(Error::corrupt("packed values are wider than 32 bits").with("width", width));
        }
        Ok(RleHybrid { bytes, at: 0, width, run: Current::Repeat { value: 0, left: 0 } })
    }

    /// Returns the number of bits of each value.
    pub fn width(&self) -> u8 {
        self.width
    }

    /// Returns true when the section has no bytes, and so no run.
    pub fn is_without_bytes(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the next values of one run: at least one and at most `max`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has ended or a run is invalid.
    #[inline]
    pub fn next_run(&mut self, max: usize) -> Result<Run<'_>> {
        loop {
            match &mut self.run {
                Current::Repeat { value, left } if *left > 0 => {
                    let n = max.min(*left);
                    *left -= n;
                    return Ok(Run::Repeat { value: *value, n });
                }
                Current::Packed { start, end, taken, left } if *left > 0 => {
                    let n = max.min(*left);
                    let first = *taken;
                    *taken += n;
                    *left -= n;
                    let bytes = self.bytes.as_slice().get(*start..*end).unwrap_or(&[]);
                    return Ok(Run::Packed { bytes, first, n });
                }
                _ => self.run = self.read_header()?,
            }
        }
    }

    /// Reads the header of the next run. Each header takes at least one byte, so runs without
    /// values cannot keep a caller in an endless loop.
    fn read_header(&mut self) -> Result<Current> {
        let mut cursor = Cursor::new(self.bytes.as_slice().get(self.at..).unwrap_or(&[]));
        let header = cursor.uleb128()?;
        let count = u32::try_from(header >> 1).ok().and_then(|c| usize::try_from(c).ok());
        let Some(count) = count.filter(|_| cursor.position() <= 5) else {
            return Err(Error::corrupt("a run is longer than 32 bits count").with("at", self.at));
        };
        let run = if header & 1 == 0 {
            let mut raw = [0; 4];
            let value_bytes = usize::from(self.width.div_ceil(8));
            for (to, from) in raw.iter_mut().zip(cursor.take(value_bytes)?) {
                *to = *from;
            }
            let value = u32::from_le_bytes(raw);
            if u64::from(value) >> self.width != 0 {
                return Err(Error::corrupt("a repeated value has more bits than its width")
                    .with("value", value)
                    .with("width", self.width));
            }
            self.at += cursor.position();
            Current::Repeat { value, left: count }
        } else {
            let start = self.at + cursor.position();
            let declared = count.saturating_mul(usize::from(self.width));
            // Some writers truncate the last group: the values that are present count.
            let there = declared.min(cursor.remaining());
            let left = match usize::from(self.width) {
                0 => count.saturating_mul(8),
                width => (there * 8 / width).min(count.saturating_mul(8)),
            };
            self.at = start + there;
            Current::Packed { start, end: start + there, taken: 0, left }
        };
        Ok(run)
    }

    /// Decodes values until `out` is full.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has fewer values or a value does not fit `T`.
    pub fn read<T: Unpacked + TryFrom<u32>>(&mut self, out: &mut [T]) -> Result<()> {
        let mut out = out;
        while !out.is_empty() {
            let n = self.read_run(out)?;
            out = out.split_at_mut(n).1;
        }
        Ok(())
    }

    /// Decodes values of one run into the front of `out` and returns their number, which is at
    /// least one unless `out` is empty.
    fn read_run<T: Unpacked + TryFrom<u32>>(&mut self, out: &mut [T]) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let width = self.width;
        match self.next_run(out.len())? {
            Run::Repeat { value, n } => {
                let value = T::try_from(value)
                    .map_err(|_| Error::corrupt("a repeated value is too large"))?;
                out.split_at_mut(n).0.fill(value);
                Ok(n)
            }
            Run::Packed { bytes, first, n } => {
                bit_pack::unpack(bytes, first, width, out.split_at_mut(n).0);
                Ok(n)
            }
        }
    }

    /// Skips `n` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has fewer values.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        let mut left = n;
        while left > 0 {
            left -= match self.next_run(left)? {
                Run::Repeat { n, .. } | Run::Packed { n, .. } => n,
            };
        }
        Ok(())
    }
}

impl RleHybrid {
    /// Checks the data behind the last value that was read or skipped.
    ///
    /// # Errors
    ///
    /// `Corrupt` when there is more data than `allowed`. Zero bytes are runs without values, and
    /// always allowed.
    pub fn check_end(&self, allowed: AfterLastValue) -> Result<()> {
        let values = match self.run {
            Current::Repeat { left, .. } if allowed == AfterLastValue::Nothing => left,
            Current::Repeat { .. } | Current::Packed { .. } => 0,
        };
        let rest = self.bytes.as_slice().get(self.at..).unwrap_or(&[]);
        let is_over = allowed == AfterLastValue::Anything || rest.iter().all(|byte| *byte == 0);
        if values == 0 && is_over {
            return Ok(());
        }
        Err(Error::corrupt("a section of runs has more values than its page")
            .with("values_left", values)
            .with("bytes_left", rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(bytes: &[u8], width: u8) -> RleHybrid {
        RleHybrid::new(Buffer::from_slice(bytes), width).unwrap()
    }

    /// Returns runs of all kinds and the values they represent.
    fn mixed(width: u8) -> (Vec<u8>, Vec<u32>) {
        let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for (i, len) in [3u32, 16, 1, 200, 8, 64, 5].into_iter().enumerate() {
            if i % 2 == 0 {
                let value = 0x9e37_79b9u32.rotate_left(i as u32) & mask;
                let header = len << 1;
                bytes.extend(uleb(header));
                bytes.extend(&value.to_le_bytes()[..usize::from(width.div_ceil(8))]);
                values.extend(vec![value; len as usize]);
            } else {
                let groups = len.div_ceil(8);
                bytes.extend(uleb(groups << 1 | 1));
                let run: Vec<u32> =
                    (0..groups * 8).map(|v| v.wrapping_mul(2_654_435_761) & mask).collect();
                bytes.extend(bit_pack::pack(&run, width));
                values.extend(run);
            }
        }
        (bytes, values)
    }

    pub(super) fn uleb(mut value: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    fn read_all(bytes: &[u8], width: u8, n: usize) -> Result<Vec<u32>> {
        let mut out = vec![0; n];
        decoder(bytes, width).read(&mut out)?;
        Ok(out)
    }

    #[test]
    fn worked_examples_decode() {
        let packed = [0x03, 0x88, 0xc6, 0xfa];
        assert_eq!(read_all(&packed, 3, 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(read_all(&[0x14, 0x05], 3, 10).unwrap(), [5; 10]);
        assert_eq!(read_all(&[0x14, 0x01], 1, 10).unwrap(), [1; 10]);
        assert_eq!(read_all(&[0x14], 0, 10).unwrap(), [0; 10]);
    }

    #[test]
    fn reading_in_any_cuts_and_skipping_equal_reading_at_once() {
        for width in [0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 32] {
            let (bytes, values) = mixed(width);
            assert_eq!(read_all(&bytes, width, values.len()).unwrap(), values, "{width}");
            for cut in [1, 2, 7, 8, 31, 33, 150, values.len()] {
                let mut pieces = decoder(&bytes, width);
                let mut out = vec![0; values.len()];
                for piece in out.chunks_mut(cut) {
                    pieces.read(piece).unwrap();
                }
                assert_eq!(out, values, "{width} {cut}");
                let mut rest = decoder(&bytes, width);
                rest.skip(cut).unwrap();
                let mut out = vec![0; values.len() - cut];
                rest.read(&mut out).unwrap();
                assert_eq!(out, &values[cut..], "{width} {cut}");
            }
        }
    }

    #[test]
    fn a_section_cut_anywhere_gives_the_values_or_an_error() {
        for width in [0, 1, 5, 12, 32] {
            let (bytes, values) = mixed(width);
            for len in 0..bytes.len() {
                if let Ok(found) = read_all(&bytes[..len], width, values.len()) {
                    assert_eq!(found, values);
                }
                let some = read_all(&bytes[..len], width, 3);
                assert!(some.is_err() || some.unwrap() == values[..3]);
            }
        }
    }

    #[test]
    fn every_changed_byte_gives_values_or_an_error() {
        let (bytes, values) = mixed(5);
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                let _ = read_all(&bytes, 5, values.len());
            }
        }
    }

    #[test]
    fn overlong_runs_and_wide_values_are_corrupt() {
        assert!(RleHybrid::new(Buffer::empty(), 33).is_err());
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert!(read_all(&huge, 1, 1).is_err());
        let text = read_all(&[0x14, 0x09], 3, 1).unwrap_err().to_string();
        assert_eq!(
            text,
            "corrupt: a repeated value has more bits than its width (value=9 width=3)"
        );
        assert!(read_all(&[0, 0, 0, 0], 3, 1).is_err());
    }
}
