//! BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes, and so on.
//!
//! ```text
//! values   AA BB CC DD   00 11 22 33   A3 B4 C5 D6
//! page     AA 00 A3   BB 11 B4   CC 22 C5   DD 33 D6
//!          stream 0   stream 1   stream 2   stream 3
//! ```
//!
//! Reading joins the bytes of each value again, in the layout of PLAIN. The position of a value
//! follows from its number, so skipping values costs nothing.

use vector::{Buffer, Error, Result};

/// Number of values that the word kernel joins at once.
const GROUP: usize = 8;

/// A decoder of the value bytes of a page.
#[derive(Debug, Clone)]
pub struct ByteStreamSplit {
    bytes: Buffer<u8>,
    /// Number of bytes of a value, which is also the number of streams.
    width: usize,
    /// Number of bytes of a stream.
    stride: usize,
    /// Number of the next value.
    at: usize,
}

impl ByteStreamSplit {
    /// Creates a decoder of values of `width` bytes.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `bytes` cannot be divided into `width` streams of the same length.
    pub fn new(bytes: Buffer<u8>, width: usize) -> Result<Self> {
        let stride = bytes.len().checked_div(width).unwrap_or(usize::MAX);
        if width != 0 && stride * width != bytes.len() {
            return Err(Error::corrupt("byte streams of a page differ in length")
                .with("bytes", bytes.len())
                .with("width", width));
        }
        Ok(ByteStreamSplit { bytes, width, stride, at: 0 })
    }

    /// Returns the number of values that are not yet read or skipped.
    pub fn remaining(&self) -> usize {
        self.stride.saturating_sub(self.at)
    }

    /// Reads as many whole values as fit into `out`, in the layout of PLAIN.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values left.
    pub fn read(&mut self, out: &mut [u8]) -> Result<()> {
        let Some(num_values) = out.len().checked_div(self.width) else { return Ok(()) };
        let start = self.at;
        self.skip(num_values)?;
        let bytes = self.bytes.as_slice();
        let streams = Streams { bytes, stride: self.stride, start, num_values };
        match self.width {
            1 => out.copy_from_slice(streams.stream(0)),
            2 => streams.join::<2>(out),
            4 => streams.join::<4>(out),
            8 => streams.join_squares::<8>(8, out),
            12 => streams.join_squares::<12>(12, out),
            16 => streams.join_squares::<16>(16, out),
            width @ ..8 => streams.join_from(0, width, out),
            width => streams.join_squares::<0>(width, out),
        }
        Ok(())
    }

    /// Skips `num_values` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values left.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        self.check_left(num_values)?;
        self.at += num_values;
        Ok(())
    }

    /// Checks that at least `wanted` values are left.
    ///
    /// # Errors
    ///
    /// `Corrupt` when fewer values are left.
    pub fn check_left(&self, wanted: usize) -> Result<()> {
        if wanted <= self.remaining() {
            return Ok(());
        }
        Err(Error::corrupt("the page is too short for its values")
            .with("wanted", wanted)
            .with("left", self.remaining()))
    }
}

/// The same range of values in all streams of a page.
struct Streams<'a> {
    bytes: &'a [u8],
    stride: usize,
    start: usize,
    num_values: usize,
}

impl<'a> Streams<'a> {
    fn stream(&self, k: usize) -> &'a [u8] {
        let start = k * self.stride + self.start;
        self.bytes.get(start..start + self.num_values).unwrap_or(&[])
    }

    fn join<const W: usize>(&self, out: &mut [u8]) {
        let streams: [&[u8]; W] = std::array::from_fn(|k| self.stream(k));
        let (values, _) = out.as_chunks_mut::<W>();
        let mut groups: [_; W] = streams.map(|s| s.as_chunks::<GROUP>().0.iter());
        let (full, _) = values.as_chunks_mut::<GROUP>();
        let done = full.len() * GROUP;
        for values in full {
            let columns: [[u8; GROUP]; W] = std::array::from_fn(|k| {
                groups.get_mut(k).and_then(Iterator::next).map_or([0; GROUP], |g| *g)
            });
            for (i, value) in values.iter_mut().enumerate() {
                for (byte, column) in value.iter_mut().zip(&columns) {
                    *byte = column.get(i).copied().unwrap_or(0);
                }
            }
        }
        self.join_from(done, W, out);
    }

    /// Joins values with a square kernel: eight streams of eight values are a square of bytes that
    /// is transposed. Wider values consist of several squares, which may overlap so that all are
    /// complete. `W` is the width where it is known at compile time, otherwise 0.
    fn join_squares<const W: usize>(&self, width: usize, out: &mut [u8]) {
        let width = if W == 0 { width } else { W };
        let done = self.num_values / GROUP * GROUP;
        for k in (0..width).step_by(8) {
            let k = k.min(width.saturating_sub(8));
            let mut groups: [_; 8] =
                std::array::from_fn(|i| self.stream(k + i).as_chunks::<GROUP>().0.iter());
            for values in out.chunks_exact_mut(GROUP * width) {
                let mut rows: [u64; 8] = std::array::from_fn(|i| {
                    let group = groups.get_mut(i).and_then(Iterator::next);
                    group.map_or(0, |group| u64::from_le_bytes(*group))
                });
                flip(&mut rows);
                for (value, row) in values.chunks_exact_mut(width).zip(rows) {
                    if let Some(slots) = value.get_mut(k..).and_then(<[u8]>::first_chunk_mut) {
                        *slots = row.to_le_bytes();
                    }
                }
            }
        }
        self.join_from(done, width, out);
    }

    /// Joins the values from `first` on, byte by byte.
    fn join_from(&self, first: usize, width: usize, out: &mut [u8]) {
        for k in 0..width {
            let from = self.stream(k).iter().skip(first);
            let slots = out.iter_mut().skip(first * width + k).step_by(width);
            for (slot, byte) in slots.zip(from) {
                *slot = *byte;
            }
        }
    }
}

/// Transposes a square of eight by eight bytes, by halves, quarters and eighths.
#[inline(always)]
fn flip(rows: &mut [u64; 8]) {
    const STEPS: [(usize, u32, u64); 3] = [
        (4, 32, 0x0000_0000_ffff_ffff),
        (2, 16, 0x0000_ffff_0000_ffff),
        (1, 8, 0x00ff_00ff_00ff_00ff),
    ];
    for (distance, shift, mask) in STEPS {
        for pair in rows.chunks_exact_mut(2 * distance) {
            let (upper, lower) = pair.split_at_mut(distance);
            for (a, b) in upper.iter_mut().zip(lower) {
                let swapped = (*a >> shift ^ *b) & mask;
                *b ^= swapped;
                *a ^= swapped << shift;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(plain: &[u8], width: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for k in 0..width {
            out.extend(plain.iter().skip(k).step_by(width));
        }
        out
    }

    #[test]
    fn the_worked_example_of_the_format_decodes() {
        let bytes = [0xaa, 0, 0xa3, 0xbb, 0x11, 0xb4, 0xcc, 0x22, 0xc5, 0xdd, 0x33, 0xd6];
        let mut decoder = ByteStreamSplit::new(Buffer::from_slice(&bytes), 4).unwrap();
        let mut out = [0; 12];
        decoder.read(&mut out).unwrap();
        assert_eq!(out, [0xaa, 0xbb, 0xcc, 0xdd, 0, 0x11, 0x22, 0x33, 0xa3, 0xb4, 0xc5, 0xd6]);
        assert_eq!(decoder.remaining(), 0);
    }

    #[test]
    fn every_width_reads_in_any_cuts_and_after_skips() {
        for width in (1..=17).chain([33]) {
            let plain: Vec<u8> = (0..100 * width).map(|i| (i * 7 + i / 251) as u8).collect();
            let bytes = Buffer::from_slice(&split(&plain, width));
            for skipped in [0, 1, 8, 13, 64, 99, 100] {
                for part in [1, 3, 8, 24, 100] {
                    let mut decoder = ByteStreamSplit::new(bytes.clone(), width).unwrap();
                    decoder.skip(skipped).unwrap();
                    let mut out = vec![0; (100 - skipped) * width];
                    for piece in out.chunks_mut(part * width) {
                        decoder.read(piece).unwrap();
                    }
                    assert_eq!(out, plain[skipped * width..], "{width} {skipped} {part}");
                    assert!(decoder.skip(1).is_err());
                }
            }
        }
    }

    #[test]
    fn streams_of_different_length_are_refused_and_no_width_means_no_bytes() {
        assert_eq!(
            ByteStreamSplit::new(Buffer::from_slice(&[0; 7]), 4).unwrap_err().to_string(),
            "corrupt: byte streams of a page differ in length (bytes=7 width=4)"
        );
        let mut decoder = ByteStreamSplit::new(Buffer::empty(), 0).unwrap();
        decoder.skip(1000).unwrap();
        decoder.read(&mut []).unwrap();
        assert!(ByteStreamSplit::new(Buffer::empty(), 4).unwrap().read(&mut [0; 4]).is_err());
    }
}
