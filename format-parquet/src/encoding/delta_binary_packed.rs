//! DELTA_BINARY_PACKED: integers as differences, bit-packed in blocks of miniblocks.
//!
//! ```text
//! header   block size | miniblocks of a block | number of values | first value
//! block    min_delta | width of each miniblock | miniblock | miniblock | ...
//!
//! value[i] = value[i - 1] + min_delta + packed delta
//! ```
//!
//! [`DeltaBinaryPacked`] decodes from the packed bits directly into the caller's memory, from any
//! position, and skips values by summing their deltas. The headers of miniblocks are enough for
//! bounds of their values, without decoding any. The decoder holds only positions: no declared size
//! causes an allocation.
//!
//! Decoded values are the little-endian bytes that PLAIN would have, so that every conversion of
//! PLAIN values also applies to them.

use dwio::input::cursor::Cursor;
use vector::{Buffer, Error, Result};

use super::delta_unpack::{self, GROUP, Packed};

/// Maximum number of values of one block.
const MAX_BLOCK_VALUES: u64 = 1 << 20;

/// A decoder of one stream, which may be followed by other bytes.
#[derive(Debug, Clone)]
pub struct DeltaBinaryPacked {
    bytes: Buffer<u8>,
    /// Offset behind the last miniblock that was begun: of the next miniblock, of the next block,
    /// or of the bytes behind the stream.
    at: usize,
    max_width: u8,
    miniblocks_per_block: usize,
    values_per_miniblock: usize,
    num_values: usize,
    /// Number of values that are not yet read or skipped.
    remaining: usize,
    /// The value that was read last; at the start, the first value of the stream.
    last: u64,
    min_delta: u64,
    /// Offset of the miniblock widths of the current block.
    widths_at: usize,
    /// Number of the next miniblock; at the end of a block, the number of miniblocks.
    next_miniblock: usize,
    miniblock: Miniblock,
}

#[derive(Debug, Clone, Copy, Default)]
struct Miniblock {
    start: usize,
    width: u8,
    /// Number of values that belong to the stream; its last miniblock may hold more.
    num_values: usize,
    /// Number of values that were read or skipped.
    taken: usize,
}

impl Miniblock {
    fn left(&self) -> usize {
        self.num_values.saturating_sub(self.taken)
    }
}

impl DeltaBinaryPacked {
    /// Creates a decoder of the stream at the start of `bytes`, of numbers of `num_bits` (32 or
    /// 64).
    ///
    /// # Errors
    ///
    /// `Corrupt` when the header is invalid or declares more than `max_values` values.
    pub fn new(bytes: Buffer<u8>, num_bits: u8, max_values: usize) -> Result<Self> {
        let mut cursor = Cursor::new(bytes.as_slice());
        let block_values = cursor.uleb128()?;
        let miniblocks = cursor.uleb128()?;
        let declared = cursor.uleb128()?;
        let first = cursor.zigzag()?;
        let at = cursor.position();
        let num_values =
            usize::try_from(declared).ok().filter(|n| *n <= max_values).ok_or_else(|| {
                Error::corrupt("a delta stream declares more values than its page has")
                    .with("declared", declared)
                    .with("max", max_values)
            })?;
        let (miniblocks_per_block, values_per_miniblock) = block_shape(block_values, miniblocks)?;
        Ok(DeltaBinaryPacked {
            bytes,
            at,
            max_width: num_bits.min(delta_unpack::MAX_WIDTH),
            miniblocks_per_block,
            values_per_miniblock,
            num_values,
            remaining: num_values,
            last: first.cast_unsigned(),
            min_delta: 0,
            widths_at: at,
            next_miniblock: miniblocks_per_block,
            miniblock: Miniblock::default(),
        })
    }

    /// Returns the number of values of the whole stream.
    pub fn num_values(&self) -> usize {
        self.num_values
    }

    /// Returns the number of values that are not yet read or skipped.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Reads values until `out` is full, each as its `N` little-endian bytes: 4 or 8.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the stream has fewer values; the content of `out` is then unspecified.
    pub fn read<const N: usize>(&mut self, out: &mut [[u8; N]]) -> Result<()> {
        self.check_left(out.len())?;
        let mut out = out;
        if self.is_before_first() {
            let (first, rest) = out.split_at_mut(out.len().min(1));
            for (to, from) in first.as_flattened_mut().iter_mut().zip(self.last.to_le_bytes()) {
                *to = from;
            }
            self.remaining -= first.len();
            out = rest;
        }
        while !out.is_empty() {
            self.begin_miniblock_if_needed()?;
            let (now, rest) = out.split_at_mut(out.len().min(self.miniblock.left()));
            self.last = delta_unpack::read(self.packed(), self.min_delta, self.last, now);
            self.advance(now.len());
            out = rest;
        }
        Ok(())
    }

    /// Skips `num_values` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the stream has fewer values or a block is invalid.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        self.check_left(num_values)?;
        if num_values == self.remaining {
            // Nothing more will be read, so the values are not needed.
            self.at = self.end_position()?;
            self.remaining = 0;
            self.miniblock = Miniblock::default();
            return Ok(());
        }
        let mut left = num_values;
        if self.is_before_first() && left > 0 {
            left -= 1;
            self.remaining -= 1;
        }
        while left > 0 {
            self.begin_miniblock_if_needed()?;
            let now = left.min(self.miniblock.left());
            let least = self.min_delta.wrapping_mul(now as u64);
            let sum = delta_unpack::sum(self.packed(), now);
            self.last = self.last.wrapping_add(least).wrapping_add(sum);
            self.advance(now);
            left -= now;
        }
        Ok(())
    }

    /// Returns lower and upper bounds of the next `num_values` values, one or more, computed from
    /// the headers of their miniblocks (rule P4.26). Returns `None` when the values may leave the
    /// range of their type, where they would wrap.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the stream has fewer values or a block is invalid.
    pub fn bounds(&self, num_values: usize) -> Result<Option<(i64, i64)>> {
        self.check_left(num_values)?;
        let mut walk = self.clone();
        // `least` and `most` bound the preceding value, `lower` and `upper` all values from there
        // on.
        let (mut least, mut most) = (self.signed(self.last), self.signed(self.last));
        let (mut lower, mut upper) = (i128::MAX, i128::MIN);
        let mut left = num_values;
        if walk.is_before_first() && left > 0 {
            (lower, upper) = (least, most);
            left -= 1;
            walk.remaining -= 1;
        }
        while left > 0 {
            walk.begin_miniblock_if_needed()?;
            let now = left.min(walk.miniblock.left());
            let steps = now as i128;
            let least_delta = self.signed(walk.min_delta);
            let most_delta = least_delta + (1i128 << walk.miniblock.width) - 1;
            lower = lower.min(least + least_delta.min(least_delta * steps));
            upper = upper.max(most + most_delta.max(most_delta * steps));
            least += least_delta * steps;
            most += most_delta * steps;
            walk.advance(now);
            left -= now;
        }
        let range = match self.max_width {
            0..=32 => i128::from(i32::MIN)..=i128::from(i32::MAX),
            _ => i128::from(i64::MIN)..=i128::from(i64::MAX),
        };
        let is_inside = range.contains(&lower) && range.contains(&upper);
        let bounds = i64::try_from(lower).ok().zip(i64::try_from(upper).ok());
        Ok(bounds.filter(|_| is_inside))
    }

    /// Returns a number of the stream's width, sign-extended.
    fn signed(&self, raw: u64) -> i128 {
        match self.max_width {
            0..=32 => {
                let [a, b, c, d, ..] = raw.to_le_bytes();
                i32::from_le_bytes([a, b, c, d]).into()
            }
            _ => raw.cast_signed().into(),
        }
    }

    /// Returns the offset behind the stream in its bytes, at which the following data starts.
    ///
    /// Reads the headers of all remaining blocks, and so checks their sizes.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a block or miniblock is invalid or truncated.
    pub fn end_position(&self) -> Result<usize> {
        let mut walk = self.clone();
        if walk.is_before_first() {
            walk.remaining = walk.remaining.saturating_sub(1);
        }
        loop {
            walk.remaining = walk.remaining.saturating_sub(walk.miniblock.left());
            if walk.remaining == 0 {
                return Ok(walk.at);
            }
            walk.begin_miniblock()?;
        }
    }

    fn is_before_first(&self) -> bool {
        self.remaining == self.num_values
    }

    /// Checks that at least `wanted` values are left.
    ///
    /// # Errors
    ///
    /// `Corrupt` when fewer values are left.
    pub fn check_left(&self, wanted: usize) -> Result<()> {
        if wanted <= self.remaining {
            return Ok(());
        }
        Err(Error::corrupt("a delta stream has too few values")
            .with("wanted", wanted)
            .with("left", self.remaining)
            .with("declared", self.num_values))
    }

    fn packed(&self) -> Packed<'_> {
        let bytes = self.bytes.as_slice().get(self.miniblock.start..).unwrap_or(&[]);
        Packed { bytes, width: self.miniblock.width, first: self.miniblock.taken }
    }

    fn advance(&mut self, num_values: usize) {
        self.miniblock.taken += num_values;
        self.remaining = self.remaining.saturating_sub(num_values);
    }

    #[inline]
    fn begin_miniblock_if_needed(&mut self) -> Result<()> {
        if self.miniblock.left() == 0 { self.begin_miniblock() } else { Ok(()) }
    }

    fn begin_miniblock(&mut self) -> Result<()> {
        if self.next_miniblock == self.miniblocks_per_block {
            self.begin_block()?;
        }
        let bytes = self.bytes.as_slice();
        let left = bytes.len().saturating_sub(self.at);
        let width = bytes.get(self.widths_at + self.next_miniblock).copied().unwrap_or(0);
        if width > self.max_width {
            return Err(Error::corrupt("deltas are wider than their column")
                .with("offset", self.at)
                .with("width", width)
                .with("max", self.max_width));
        }
        let num_values = self.remaining.min(self.values_per_miniblock);
        // SPEC (DELTA_BINARY_PACKED): the last miniblock is stored whole, however few of its values
        // belong to the stream. Some writers truncate it: only the bytes that are needed must be
        // present.
        let whole = self.values_per_miniblock / GROUP * usize::from(width);
        if (num_values * usize::from(width)).div_ceil(8) > left {
            return Err(Error::corrupt("a delta stream ends inside a miniblock")
                .with("offset", self.at)
                .with("values", num_values)
                .with("width", width)
                .with("left", left));
        }
        self.miniblock = Miniblock { start: self.at, width, num_values, taken: 0 };
        self.at += whole.min(left);
        self.next_miniblock += 1;
        Ok(())
    }

    fn begin_block(&mut self) -> Result<()> {
        let mut cursor = Cursor::new(self.bytes.as_slice().get(self.at..).unwrap_or(&[]));
        // A 32-bit column may have its smallest delta stored with more bits; only the low ones are
        // used.
        self.min_delta = cursor.zigzag()?.cast_unsigned();
        self.widths_at = self.at + cursor.position();
        cursor.take(self.miniblocks_per_block)?;
        self.at += cursor.position();
        self.next_miniblock = 0;
        Ok(())
    }
}

/// Returns the number of miniblocks of a block and the number of values of a miniblock.
fn block_shape(block_values: u64, miniblocks: u64) -> Result<(usize, usize)> {
    // SPEC: block sizes are multiples of 128 and miniblock sizes of 32 values. Smaller multiples
    // can be decoded in the same way, as long as a miniblock fills whole bytes.
    let is_sound = (1..=MAX_BLOCK_VALUES).contains(&block_values)
        && miniblocks > 0
        && block_values.is_multiple_of(miniblocks)
        && (block_values / miniblocks).is_multiple_of(GROUP as u64);
    let shape = usize::try_from(miniblocks).ok().zip(usize::try_from(block_values).ok());
    match shape {
        Some((miniblocks, values)) if is_sound => Ok((miniblocks, values / miniblocks)),
        _ => Err(Error::corrupt("a delta stream has an impossible block shape")
            .with("values", block_values)
            .with("miniblocks", miniblocks)
            .with("max_values", MAX_BLOCK_VALUES)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::delta_unpack::tests::pack;
    use super::*;

    pub(in crate::encoding) fn uleb(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn zigzag(value: i64, out: &mut Vec<u8>) {
        uleb((value << 1 ^ value >> 63) as u64, out);
    }

    /// Encodes values in the simplest way; `shape` is the values of a block and its miniblocks.
    pub(crate) fn encode(values: &[i64], bits: u32, shape: (usize, usize)) -> Vec<u8> {
        let (block, miniblocks) = shape;
        let mut out = Vec::new();
        uleb(block as u64, &mut out);
        uleb(miniblocks as u64, &mut out);
        uleb(values.len() as u64, &mut out);
        zigzag(values.first().copied().unwrap_or(0), &mut out);
        let narrow = |v: i64| if bits == 32 { i64::from(v as i32) } else { v };
        let mask = if bits == 32 { u64::from(u32::MAX) } else { u64::MAX };
        let deltas: Vec<i64> = values.windows(2).map(|w| narrow(w[1].wrapping_sub(w[0]))).collect();
        for deltas in deltas.chunks(block) {
            let min = deltas.iter().copied().min().unwrap();
            zigzag(min, &mut out);
            let packed: Vec<u64> =
                deltas.iter().map(|d| d.wrapping_sub(min) as u64 & mask).collect();
            let per = block / miniblocks;
            let width = |m: &[u64]| 64 - m.iter().copied().max().unwrap_or(0).leading_zeros() as u8;
            let mut widths: Vec<u8> = packed.chunks(per).map(width).collect();
            let used = widths.len();
            widths.resize(miniblocks, 0xaa); // arbitrary where there are no values
            out.extend(&widths);
            for (m, width) in packed.chunks(per).zip(&widths[..used]) {
                let mut m = m.to_vec();
                m.resize(per, 0);
                out.extend(pack(&m, *width));
            }
        }
        out
    }

    fn samples() -> Vec<Vec<i64>> {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (state ^ state >> 31) as i64
        };
        vec![
            vec![],
            vec![-7],
            (1..=5).collect(),
            vec![7, 5, 3, 1, 2, 3, 4, 5],
            vec![42; 300],
            (0..1000).map(|i| i * i).collect(),
            (0..333).map(|i| -i * 1_000_003).collect(),
            (0..700).map(|i| random() >> (i % 60)).collect(),
            vec![i64::MIN, i64::MAX, 0, i64::MIN, -1, i64::MAX],
        ]
    }

    fn decoder(bytes: &[u8], bits: u8) -> Result<DeltaBinaryPacked> {
        DeltaBinaryPacked::new(Buffer::from_slice(bytes), bits, 1 << 20)
    }

    fn read_all(bytes: &[u8]) -> Result<Vec<i64>> {
        let mut decoder = decoder(bytes, 64)?;
        let mut out = vec![[0; 8]; decoder.remaining()];
        decoder.read(&mut out)?;
        Ok(out.into_iter().map(i64::from_le_bytes).collect())
    }

    #[test]
    fn the_worked_examples_of_the_format_decode() {
        let bytes = [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0];
        assert_eq!(read_all(&bytes).unwrap(), [1, 2, 3, 4, 5]);
        assert_eq!(decoder(&bytes, 32).unwrap().end_position().unwrap(), bytes.len());
        let bytes = [0x80, 1, 4, 8, 0x0e, 3, 2, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0];
        assert_eq!(read_all(&bytes).unwrap(), [7, 5, 3, 1, 2, 3, 4, 5]);
        assert_eq!(decoder(&bytes, 32).unwrap().end_position().unwrap(), bytes.len());
    }

    #[test]
    fn every_shape_reads_in_any_cuts_and_skipping_equals_dropping() {
        for values in samples() {
            for shape in [(128, 4), (128, 1), (2048, 8), (256, 4), (8, 1), (24, 3)] {
                let bytes = encode(&values, 64, shape);
                assert_eq!(read_all(&bytes).unwrap(), values);
                let end = decoder(&bytes, 64).unwrap().end_position().unwrap();
                assert_eq!(end, bytes.len(), "{shape:?}");
                for cut in [0, 1, 2, 7, 31, 33, 129, 300] {
                    let Some(rest) = values.get(cut..) else { continue };
                    let mut decoder = decoder(&bytes, 64).unwrap();
                    decoder.skip(cut).unwrap();
                    assert_eq!(decoder.remaining(), rest.len());
                    assert_eq!(decoder.end_position().unwrap(), bytes.len());
                    let mut out = vec![[0; 8]; rest.len()];
                    for part in out.chunks_mut(cut.max(1)) {
                        decoder.read(part).unwrap();
                    }
                    let found: Vec<i64> = out.into_iter().map(i64::from_le_bytes).collect();
                    assert_eq!(found, rest, "{shape:?} {cut}");
                    assert!(decoder.read(&mut [[0; 8]]).is_err());
                    assert!(decoder.skip(1).is_err());
                }
            }
        }
    }

    #[test]
    fn bounds_hold_all_values_to_come_and_are_tight_where_values_ascend() {
        for values in samples() {
            for shape in [(128, 4), (2048, 8), (8, 1)] {
                let bytes = encode(&values, 64, shape);
                for (at, n) in [(0, 1), (0, 5), (1, 7), (3, 200), (40, 33), (128, 128)] {
                    let Some(next) = values.get(at..at + n) else { continue };
                    let mut decoder = decoder(&bytes, 64).unwrap();
                    decoder.skip(at).unwrap();
                    let Some((lower, upper)) = decoder.bounds(n).unwrap() else { continue };
                    let (least, most) = (next.iter().min().unwrap(), next.iter().max().unwrap());
                    assert!(lower <= *least && *most <= upper, "{next:?} {lower} {upper}");
                    assert_eq!(decoder.remaining(), values.len() - at);
                }
            }
        }
        let steps: Vec<i64> = (0..1000).map(|i| 50_000 + i * 10 + i % 3).collect();
        let bytes = encode(&steps, 64, (128, 4));
        let mut decoder = decoder(&bytes, 64).unwrap();
        decoder.skip(500).unwrap();
        let (lower, upper) = decoder.bounds(100).unwrap().unwrap();
        assert!((54_900..=55_000).contains(&lower) && (55_990..57_000).contains(&upper));
        assert!(decoder.bounds(501).is_err());
        // The values wrap, so there are no bounds.
        let ends = encode(&[0, i64::MAX, i64::MIN], 64, (128, 4));
        assert_eq!(self::decoder(&ends, 64).unwrap().bounds(3).unwrap(), None);
        let ends = encode(&[i64::from(i32::MAX), i64::from(i32::MIN)], 32, (128, 4));
        assert_eq!(self::decoder(&ends, 32).unwrap().bounds(2).unwrap(), None);
        let few = encode(&[-5, -6, 7], 32, (128, 4));
        assert_eq!(self::decoder(&few, 32).unwrap().bounds(1).unwrap(), Some((-5, -5)));
        assert!(self::decoder(&few, 32).unwrap().bounds(3).unwrap().is_some());
    }

    #[test]
    fn numbers_of_32_bits_wrap_at_32_bits() {
        let values: Vec<i64> = (0..400i32)
            .map(|i| i64::from(if i % 2 == 0 { i32::MAX - i } else { i32::MIN + 7 * i }))
            .collect();
        let bytes = encode(&values, 32, (128, 4));
        let mut decoder = decoder(&bytes, 32).unwrap();
        let mut out = vec![[0; 4]; values.len()];
        decoder.read(&mut out).unwrap();
        assert!(out.iter().map(|b| i64::from(i32::from_le_bytes(*b))).eq(values));
    }

    #[test]
    fn bytes_behind_the_stream_are_not_touched_and_an_incomplete_end_may_do() {
        let values: Vec<i64> = (0..40).map(|i| i * 3 % 17).collect();
        let mut bytes = encode(&values, 64, (128, 4));
        let end = bytes.len();
        bytes.extend([1, 2, 3]);
        assert_eq!(decoder(&bytes, 64).unwrap().end_position().unwrap(), end);
        // The last miniblock has seven deltas: the bits of the other 25 may be absent.
        let width = usize::from(bytes[5 + 1..][1]);
        let short = end - 4 * width + (7 * width).div_ceil(8);
        assert_eq!(read_all(&bytes[..short]).unwrap(), values);
        assert!(read_all(&bytes[..short - 1]).is_err());
    }

    #[test]
    fn impossible_headers_are_refused() {
        for (block, miniblocks) in [(0, 1), (128, 0), (128, 3), (128, 32), (1 << 21, 8), (100, 1)] {
            let mut bytes = Vec::new();
            uleb(block, &mut bytes);
            uleb(miniblocks, &mut bytes);
            bytes.extend([1, 0]);
            let error = decoder(&bytes, 64).unwrap_err();
            assert_eq!(error.message(), "a delta stream has an impossible block shape");
        }
        let bytes = encode(&[1; 9], 64, (128, 4));
        let error = DeltaBinaryPacked::new(Buffer::from_slice(&bytes), 64, 8).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corrupt: a delta stream declares more values than its page has (declared=9 max=8)"
        );
        let mut wide = encode(&[1, 1 << 40, 5], 64, (128, 4));
        assert!(decoder(&wide, 32).unwrap().skip(2).is_err());
        let widths = wide.len() - 4 - 42 * 4;
        wide[widths] = 65;
        assert!(read_all(&wide).is_err());
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        for values in samples() {
            let bytes = encode(&values, 64, (128, 4));
            for len in 0..bytes.len() {
                if let Ok(found) = read_all(&bytes[..len]) {
                    assert_eq!(found, values);
                }
            }
            for at in 0..bytes.len().min(200) {
                for flip in [1, 0x80, 0xff] {
                    let mut bytes = bytes.clone();
                    bytes[at] ^= flip;
                    let _ = read_all(&bytes);
                    let _ = decoder(&bytes, 64).and_then(|d| d.end_position());
                }
            }
        }
    }
}
