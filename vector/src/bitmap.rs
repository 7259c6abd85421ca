//! A shared bitmap with a length, and its builder; they store validity and boolean values.
//! Appending many short pieces is in `writer`.

mod writer;

use crate::bits;
use crate::memory::buffer::{Buffer, BufferMut};

pub use writer::BitWriter;

/// An immutable bitmap; bits beyond the length are unspecified.
#[derive(Debug, Clone)]
pub struct Bitmap {
    words: Buffer<u64>,
    len: usize,
}

impl Bitmap {
    /// Creates a bitmap of the first `len` bits of `words`.
    ///
    /// # Panics
    /// If there are fewer words than `len` bits need.
    pub fn new(words: Buffer<u64>, len: usize) -> Self {
        assert!(words.len() >= bits::words_for(len), "too few words for the bitmap");
        Bitmap { words, len }
    }

    /// Creates a bitmap of `len` equal bits.
    pub fn filled(len: usize, value: bool) -> Self {
        let mut bitmap = BitmapMut::new();
        bitmap.push_n(value, len);
        bitmap.freeze()
    }

    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the words, of which there are at least as many as the length needs.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns bit `i`.
    ///
    /// # Panics
    /// If the bit is outside of the bitmap's words.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        bits::get(&self.words, i)
    }

    /// Returns the number of ones.
    pub fn count_ones(&self) -> usize {
        bits::count_ones(&self.words, self.len)
    }

    /// Returns true if every bit is one.
    pub fn all_ones(&self) -> bool {
        bits::all_ones(&self.words, self.len)
    }

    /// Converts this bitmap to the validity of a vector: `None` if every bit is one, because then
    /// no row is null. Every vector stores its validity in this form, so that
    /// `validity().is_some()` means that at least one row is null. The words are read up to the
    /// first zero bit.
    pub fn into_validity(self) -> Option<Bitmap> {
        (!self.all_ones()).then_some(self)
    }

    /// Iterates over the positions of the ones in ascending order.
    pub fn ones(&self) -> bits::Ones<'_> {
        bits::ones(&self.words, self.len)
    }

    /// Returns a copy of `len` bits from `offset` on.
    pub fn slice(&self, offset: usize, len: usize) -> Bitmap {
        let mut bitmap = BitmapMut::new();
        bitmap.extend_from_words(&self.words, offset, len);
        bitmap.freeze()
    }

    /// Returns one bit per index: `self[indices[i]]`.
    ///
    /// # Panics
    /// If an index is outside of the bitmap's words, regardless of their number.
    pub fn gather(&self, indices: &[u32]) -> Bitmap {
        let mut bitmap = BitmapMut::new();
        let mut writer = bitmap.writer();
        // A short bitmap is a single word, which stays in a register.
        let only = (self.words.len() == 1).then(|| self.words[0]);
        for indices in indices.chunks(64) {
            let mut picked = 0;
            match only {
                Some(word) => {
                    let mut all_indices = 0;
                    for (i, index) in indices.iter().enumerate() {
                        all_indices |= index;
                        picked |= (word >> (index % 64) & 1) << i;
                    }
                    assert!(all_indices < 64, "an index is outside of the bitmap's words");
                }
                None => {
                    for (i, index) in indices.iter().enumerate() {
                        picked |= u64::from(self.get(*index as usize)) << i;
                    }
                }
            }
            writer.push(picked, indices.len());
        }
        drop(writer);
        bitmap.freeze()
    }

    /// Returns the bits that are one in both; `None` stands for a bitmap of ones.
    pub fn and(a: Option<&Bitmap>, b: Option<&Bitmap>) -> Option<Bitmap> {
        match (a, b) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (Some(a), Some(b)) => {
                let len = a.len.min(b.len);
                let n = bits::words_for(len);
                let words = a.words[..n].iter().zip(&b.words[..n]).map(|(x, y)| x & y).collect();
                Some(Bitmap { words, len })
            }
        }
    }

    /// Returns the inverted bits.
    pub fn not(&self) -> Bitmap {
        Bitmap { words: self.words.iter().map(|w| !w).collect(), len: self.len }
    }

    /// Returns the bits for writing, without a copy if no other bitmap shares them.
    pub fn into_mut(self) -> BitmapMut {
        let len = self.len;
        let mut words = self.words.into_mut().unwrap_or_else(|shared| {
            let mut copy = BufferMut::new();
            copy.extend_from_slice(&shared);
            copy
        });
        words.truncate(bits::words_for(len));
        let mut bitmap = BitmapMut { words, len };
        bitmap.mask_tail();
        bitmap
    }
}

/// A bitmap under construction; bits beyond the length are zero.
#[derive(Debug, Default)]
pub struct BitmapMut {
    words: BufferMut<u64>,
    len: usize,
}

impl BitmapMut {
    /// Creates an empty bitmap.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns bit `i`.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        bits::get(&self.words, i)
    }

    /// Sets bit `i`, which must exist.
    #[inline]
    pub fn set(&mut self, i: usize, value: bool) {
        debug_assert!(i < self.len);
        bits::assign(&mut self.words, i, value);
    }

    /// Appends one bit.
    #[inline]
    pub fn push(&mut self, value: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if value {
            bits::set(&mut self.words, self.len);
        }
        self.len += 1;
    }

    /// Appends `n` equal bits.
    pub fn push_n(&mut self, value: bool, n: usize) {
        let end = self.len + n;
        self.words.resize(bits::words_for(end), 0);
        if value {
            bits::fill(&mut self.words, self.len..end, true);
        }
        self.len = end;
    }

    /// Appends `len` bits of `words` from bit `offset` on.
    pub fn extend_from_words(&mut self, words: &[u64], offset: usize, len: usize) {
        let end = self.len + len;
        self.words.resize(bits::words_for(end), 0);
        bits::copy(words, offset, &mut self.words, self.len, len);
        self.len = end;
    }

    /// Appends the bits of another bitmap.
    pub fn extend(&mut self, other: &Bitmap) {
        self.extend_from_words(&other.words, 0, other.len);
    }

    /// Appends the `n` bits `f(0)` to `f(n - 1)`, one word at a time.
    #[inline]
    pub fn extend_from_fn(&mut self, n: usize, mut f: impl FnMut(usize) -> bool) {
        if !self.len.is_multiple_of(64) {
            (0..n).for_each(|i| self.push(f(i)));
            return;
        }
        self.words.reserve(bits::words_for(n));
        let mut i = 0;
        while i < n {
            let take = (n - i).min(64);
            let mut word = 0;
            for bit in 0..take {
                word |= u64::from(f(i + bit)) << bit;
            }
            self.words.push(word);
            i += take;
        }
        self.len += n;
    }

    /// Removes the bits from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.words.truncate(bits::words_for(len));
            self.mask_tail();
        }
    }

    /// Removes all bits and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    /// Returns the number of ones.
    pub fn count_ones(&self) -> usize {
        bits::count_ones(&self.words, self.len)
    }

    /// Ends writing and returns the shareable bitmap.
    pub fn freeze(self) -> Bitmap {
        Bitmap { len: self.len, words: self.words.freeze() }
    }

    /// Ends writing a validity and returns it, or `None` if no bit is zero.
    pub fn freeze_validity(self) -> Option<Bitmap> {
        if bits::all_ones(&self.words, self.len) { None } else { Some(self.freeze()) }
    }

    fn mask_tail(&mut self) {
        let tail = self.len % 64;
        if tail != 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= bits::low_mask(tail);
        }
    }
}

impl FromIterator<bool> for Bitmap {
    fn from_iter<I: IntoIterator<Item = bool>>(iter: I) -> Self {
        let mut bitmap = BitmapMut::new();
        iter.into_iter().for_each(|b| bitmap.push(b));
        bitmap.freeze()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn appending_in_any_pieces_gives_the_same_bits() {
        let bits: Vec<bool> = (0..300).map(|i| i % 3 == 0 || i % 7 == 1).collect();
        let whole: Bitmap = bits.iter().copied().collect();
        for cut in [0, 1, 63, 64, 65, 128, 299] {
            let mut pieces = BitmapMut::new();
            pieces.extend(&whole.slice(0, cut));
            pieces.extend_from_fn(bits.len() - cut, |i| bits[cut + i]);
            let pieces = pieces.freeze();
            assert!(bits.iter().enumerate().all(|(i, b)| pieces.get(i) == *b), "{cut}");
            assert_eq!(pieces.count_ones(), whole.count_ones());
        }
    }

    #[test]
    fn and_treats_an_absent_bitmap_as_all_ones() {
        let a: Bitmap = [true, false, true].into_iter().collect();
        let b: Bitmap = [true, true, false].into_iter().collect();
        assert!(Bitmap::and(None, None).is_none());
        assert_eq!(Bitmap::and(Some(&a), None).unwrap().count_ones(), 2);
        assert_eq!(Bitmap::and(Some(&a), Some(&b)).unwrap().ones().collect::<Vec<_>>(), [0]);
        assert_eq!(a.not().ones().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_validity_is_none_exactly_when_no_bit_within_the_length_is_zero() {
        for len in [0, 1, 63, 64, 65, 200] {
            assert!(Bitmap::filled(len, true).into_validity().is_none(), "{len}");
            for zero in 0..len {
                let bits: Bitmap = (0..len).map(|i| i != zero).collect();
                assert!(bits.into_validity().is_some(), "{len} {zero}");
            }
            // Bits beyond the length do not count.
            let words = Buffer::from_slice(&[u64::MAX, u64::MAX, u64::MAX, u64::MAX, 0]);
            assert!(Bitmap::new(words, len).into_validity().is_none(), "{len}");
        }
    }

    #[test]
    fn an_index_outside_of_the_words_panics_in_bitmaps_of_one_word_and_of_several() {
        for num_words in 1..4u32 {
            let bits = Bitmap::filled(64 * num_words as usize, true);
            assert!(bits.gather(&[0, 64 * num_words - 1]).all_ones());
            for index in [64 * num_words, 64 * num_words + 7, 1 << 20, u32::MAX] {
                let gather = std::panic::AssertUnwindSafe(|| bits.gather(&[0, index, 3]));
                assert!(std::panic::catch_unwind(gather).is_err(), "{num_words} words, {index}");
            }
        }
    }

    #[test]
    fn truncated_bits_do_not_come_back() {
        let mut bitmap = BitmapMut::new();
        bitmap.push_n(true, 100);
        bitmap.truncate(10);
        bitmap.push_n(false, 90);
        assert_eq!(bitmap.count_ones(), 10);
        assert!(bitmap.freeze_validity().is_some());
    }
}
