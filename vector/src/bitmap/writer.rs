//! A writer that appends bits in pieces shorter than a word.
//!
//! ```text
//! push(0b101, 3)  push(0b01, 2)      word  ...01101     a full word is stored in the bitmap
//! ```
//!
//! The pieces are collected in a register, so the bitmap is accessed once per 64 bits instead of
//! once per piece.

use super::BitmapMut;
use crate::bits;

/// Appends bits to a [`BitmapMut`], which has all of them once the writer is dropped.
#[derive(Debug)]
pub struct BitWriter<'a> {
    bitmap: &'a mut BitmapMut,
    /// Bits of word number `at`; those from `filled` on are zero.
    word: u64,
    at: usize,
    filled: usize,
}

impl BitmapMut {
    /// Returns a writer that appends after the last bit.
    pub fn writer(&mut self) -> BitWriter<'_> {
        let (at, filled) = (self.len / 64, self.len % 64);
        let word = if filled == 0 { 0 } else { self.words.last().copied().unwrap_or(0) };
        BitWriter { bitmap: self, word, at, filled }
    }
}

impl BitWriter<'_> {
    /// Appends the lowest `n` bits of `bits`, at most 64; all higher bits must be zero.
    #[inline]
    pub fn push(&mut self, bits: u64, n: usize) {
        debug_assert!(n <= 64 && bits & !bits::low_mask(n) == 0, "bits behind the piece");
        if self.at >= self.bitmap.words.len() {
            self.grow();
        }
        // The word is stored whether it is full or not, because a branch on that would be
        // unpredictable.
        let word = self.word | bits << self.filled;
        self.bitmap.words.as_mut_slice()[self.at] = word;
        let end = self.filled + n;
        // The bits of the piece that did not fit into a full word; none if the piece filled an
        // empty word.
        let rest = bits >> 1 >> (63 - self.filled);
        self.word = if end >= 64 { rest } else { word };
        self.at += end / 64;
        self.filled = end % 64;
    }

    /// Makes all existing capacity usable, which is first doubled if it is exhausted.
    #[cold]
    fn grow(&mut self) {
        let words = &mut self.bitmap.words;
        words.reserve(self.at + 1 - words.len());
        words.resize_unspecified(words.capacity());
    }
}

impl Drop for BitWriter<'_> {
    fn drop(&mut self) {
        self.bitmap.len = self.at * 64 + self.filled;
        let words = &mut self.bitmap.words;
        words.resize_unspecified(bits::words_for(self.bitmap.len));
        if self.filled > 0 {
            words.as_mut_slice()[self.at] = self.word;
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
