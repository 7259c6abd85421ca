//! Bits appended in pieces that are shorter than a word.
//!
//! ```text
//! push(0b101, 3)  push(0b01, 2)      word  ...01101     a full word goes into the bitmap
//! ```
//!
//! Pieces gather in a register: the bitmap is touched once for 64 bits, not once for each piece.

use super::BitmapMut;
use crate::bits;

/// Appends to a [`BitmapMut`], which has all bits when the writer is dropped.
#[derive(Debug)]
pub struct BitWriter<'a> {
    bitmap: &'a mut BitmapMut,
    /// Bits that do not fill a word yet; those behind them are zero.
    word: u64,
    filled: usize,
}

impl BitmapMut {
    /// A writer that goes on behind the last bit.
    pub fn writer(&mut self) -> BitWriter<'_> {
        let filled = self.len % 64;
        let word = if filled == 0 { 0 } else { self.words.last().copied().unwrap_or(0) };
        self.len -= filled;
        self.words.truncate(self.len / 64);
        BitWriter { bitmap: self, word, filled }
    }
}

impl BitWriter<'_> {
    /// Appends the lowest `n` bits, at most 64; those above them are zero.
    #[inline]
    pub fn push(&mut self, bits: u64, n: usize) {
        debug_assert!(n <= 64 && bits & !bits::low_mask(n) == 0, "bits behind the piece");
        self.word |= bits << self.filled;
        let end = self.filled + n;
        if end < 64 {
            self.filled = end;
            return;
        }
        self.bitmap.words.push(self.word);
        self.bitmap.len += 64;
        // What the full word had no room for; nothing when the piece filled it alone.
        self.word = bits >> 1 >> (63 - self.filled);
        self.filled = end - 64;
    }
}

impl Drop for BitWriter<'_> {
    fn drop(&mut self) {
        if self.filled > 0 {
            self.bitmap.words.push(self.word);
            self.bitmap.len += self.filled;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn pieces_of_any_length_behind_any_bits_are_appended() {
        let mut random = Random::new(7);
        for _ in 0..200 {
            let (mut bitmap, mut expected) = (BitmapMut::new(), Vec::new());
            for _ in 0..random.below(5) {
                let mut writer = bitmap.writer();
                for _ in 0..random.below(12) {
                    let n = [0, 1, 7, 8, 63, 64, random.below(65)][random.below(7)];
                    let piece = random.bits() & bits::low_mask(n);
                    writer.push(piece, n);
                    expected.extend((0..n).map(|i| piece >> i & 1 != 0));
                }
                drop(writer);
                let equal = random.below(70);
                bitmap.push_n(true, equal);
                expected.extend(vec![true; equal]);
            }
            assert_eq!(bitmap.len(), expected.len());
            assert_eq!(bitmap.words().len(), bits::words_for(expected.len()));
            assert!(expected.iter().enumerate().all(|(i, bit)| bitmap.get(i) == *bit));
            let behind = bitmap.words().last().map_or(0, |word| match expected.len() % 64 {
                0 => 0,
                filled => word & !bits::low_mask(filled),
            });
            assert_eq!(behind, 0);
        }
    }
}
