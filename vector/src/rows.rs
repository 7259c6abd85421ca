//! Row sets, which are the rows to read, and selections, which are the rows to evaluate.
//!
//! A [`RowSet`] is ascending and has the representation that suits the kernel. A
//! [`SelectivityVector`] is always a bitmap over the rows of one batch, without bits beyond its
//! length (rule S1.44).

use std::ops::Range;

use crate::bitmap::{Bitmap, BitmapMut};
use crate::bits;
use crate::memory::buffer::{Buffer, BufferMut};

/// A set of rows in ascending order.
#[derive(Debug, Clone)]
pub enum RowSet {
    /// The rows `start..end`.
    Range(Range<usize>),
    /// Strictly ascending row positions.
    Positions(Buffer<u32>),
}

impl RowSet {
    /// Returns the set of the rows `0..len`.
    pub fn all(len: usize) -> Self {
        RowSet::Range(0..len)
    }

    /// Returns the set of the rows `start..end`, which is empty if `end` is less than `start`.
    pub fn range(start: usize, end: usize) -> Self {
        RowSet::Range(start..end.max(start))
    }

    /// Returns the set of the ones among the first `len` bits of `words`, as a range if the ones
    /// are contiguous.
    pub fn from_bits(words: &[u64], len: usize) -> Self {
        let count = bits::count_ones(words, len);
        if count == len {
            return RowSet::all(len);
        }
        let mut positions = BufferMut::with_capacity(count);
        bits::ones_into(words, len, &mut positions);
        Self::from_positions(positions.freeze())
    }

    /// Returns the set of strictly ascending positions, as a range if they are contiguous.
    pub fn from_positions(positions: Buffer<u32>) -> Self {
        debug_assert!(positions.windows(2).all(|w| w[0] < w[1]));
        match (positions.first(), positions.last()) {
            (Some(first), Some(last)) if (last - first) as usize + 1 == positions.len() => {
                RowSet::Range(*first as usize..*last as usize + 1)
            }
            (None, _) | (_, None) => RowSet::Range(0..0),
            _ => RowSet::Positions(positions),
        }
    }

    /// Returns the number of rows in the set.
    pub fn len(&self) -> usize {
        match self {
            RowSet::Range(range) => range.len(),
            RowSet::Positions(positions) => positions.len(),
        }
    }

    /// Returns true if the set has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the set is exactly `0..len`.
    pub fn is_all(&self, len: usize) -> bool {
        matches!(self, RowSet::Range(range) if (range.start == 0 && range.end == len)
            || (range.is_empty() && len == 0))
    }

    /// Returns the last row plus one, or 0 for the empty set.
    pub fn end(&self) -> usize {
        match self {
            RowSet::Range(range) if range.is_empty() => 0,
            RowSet::Range(range) => range.end,
            RowSet::Positions(positions) => positions.last().map_or(0, |p| *p as usize + 1),
        }
    }

    /// Iterates over the rows in ascending order.
    pub fn iter(&self) -> RowIter<'_> {
        match self {
            RowSet::Range(range) => RowIter::Range(range.clone()),
            RowSet::Positions(positions) => RowIter::Positions(positions.iter()),
        }
    }

    /// Returns true if every row of `other` is in this set.
    pub fn covers(&self, other: &RowSet) -> bool {
        match (self, other) {
            (_, other) if other.is_empty() => true,
            (RowSet::Range(range), other) => {
                other.iter().next().is_some_and(|first| first >= range.start)
                    && other.end() <= range.end
            }
            (RowSet::Positions(_), other) => {
                let mut rows = self.iter();
                // Both sets ascend, so the search for each row continues where the previous one
                // ended.
                other.iter().all(|row| rows.find(|r| *r >= row) == Some(row))
            }
        }
    }

    /// Returns the rows below `len` as the bitmap of a batch of `len` rows.
    pub fn to_words(&self, len: usize) -> Vec<u64> {
        let mut words = vec![0; bits::words_for(len)];
        match self {
            RowSet::Range(range) => {
                bits::fill(&mut words, range.start.min(len)..range.end.min(len), true);
            }
            RowSet::Positions(positions) => {
                // The positions ascend, so a word is complete before the next one starts.
                let (mut at, mut word) = (0, 0);
                for row in positions.iter().map(|row| *row as usize).take_while(|row| *row < len) {
                    if row / 64 != at {
                        words[at] = word;
                        (at, word) = (row / 64, 0);
                    }
                    word |= 1 << (row % 64);
                }
                if let Some(last) = words.get_mut(at) {
                    *last = word;
                }
            }
        }
        words
    }

    /// Returns the row positions as a buffer, for gathering and wrapping.
    pub fn to_positions(&self) -> Buffer<u32> {
        match self {
            RowSet::Range(range) => range.clone().map(|i| i as u32).collect(),
            RowSet::Positions(positions) => positions.clone(),
        }
    }
}

/// Iterator returned by [`RowSet::iter`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum RowIter<'a> {
    Range(Range<usize>),
    Positions(std::slice::Iter<'a, u32>),
}

impl Iterator for RowIter<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        match self {
            RowIter::Range(range) => range.next(),
            RowIter::Positions(positions) => positions.next().map(|p| *p as usize),
        }
    }
}

/// Selected rows of one batch as a bitmap; bits beyond the length are zero.
#[derive(Debug, Clone)]
pub struct SelectivityVector {
    words: Vec<u64>,
    len: usize,
}

impl SelectivityVector {
    /// Selects all rows of a batch of `len` rows.
    pub fn all(len: usize) -> Self {
        let mut words = vec![u64::MAX; bits::words_for(len)];
        if !len.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = bits::low_mask(len % 64);
        }
        SelectivityVector { words, len }
    }

    /// Selects no row of a batch of `len` rows.
    pub fn none(len: usize) -> Self {
        SelectivityVector { words: vec![0; bits::words_for(len)], len }
    }

    /// Selects the ones of a bitmap.
    pub fn from_bitmap(bitmap: &Bitmap) -> Self {
        let mut selection = SelectivityVector {
            words: bitmap.words()[..bits::words_for(bitmap.len())].to_vec(),
            len: bitmap.len(),
        };
        selection.mask_tail();
        selection
    }

    fn mask_tail(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= bits::low_mask(self.len % 64);
        }
    }

    /// Returns the number of rows of the batch, selected or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the words of the bitmap; bits beyond the length are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the number of selected rows.
    pub fn count(&self) -> usize {
        bits::count_ones(&self.words, self.len)
    }

    /// Returns true if every row is selected.
    pub fn is_all(&self) -> bool {
        bits::all_ones(&self.words, self.len)
    }

    /// Returns true if no row is selected.
    pub fn is_none(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// Returns true if row `i` is selected.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        bits::get(&self.words, i)
    }

    /// Selects or deselects row `i`.
    #[inline]
    pub fn set(&mut self, i: usize, selected: bool) {
        assert!(i < self.len, "row outside of the selection");
        bits::assign(&mut self.words, i, selected);
    }

    /// Deselects the rows whose bit in `bitmap` is zero.
    pub fn intersect(&mut self, bitmap: &Bitmap) {
        bits::and_assign(&mut self.words, bitmap.words());
    }

    /// Deselects the rows whose bit in `words` is zero.
    pub fn intersect_words(&mut self, words: &[u64]) {
        bits::and_assign(&mut self.words, words);
    }

    /// Deselects the rows whose bit in `bitmap` is one.
    pub fn subtract(&mut self, bitmap: &Bitmap) {
        bits::and_not_assign(&mut self.words, bitmap.words());
        self.mask_tail();
    }

    /// Additionally selects the rows of `other`, a selection of the same batch.
    pub fn unite(&mut self, other: &SelectivityVector) {
        bits::or_assign(&mut self.words, &other.words);
    }

    /// Deselects the rows of `other`, a selection of the same batch.
    pub fn remove(&mut self, other: &SelectivityVector) {
        bits::and_not_assign(&mut self.words, &other.words);
    }

    /// Deselects the rows that are null according to `validity` (rule S1.45). `None` means that no
    /// row is null.
    pub fn deselect_nulls(&mut self, validity: Option<&Bitmap>) {
        if let Some(validity) = validity {
            self.intersect(validity);
        }
    }

    /// Iterates over the selected rows in ascending order.
    pub fn iter(&self) -> bits::Ones<'_> {
        bits::ones(&self.words, self.len)
    }

    /// Returns the selected rows as a row set.
    pub fn to_rows(&self) -> RowSet {
        RowSet::from_bits(&self.words, self.len)
    }

    /// Returns the selection as a bitmap.
    pub fn to_bitmap(&self) -> Bitmap {
        let mut bitmap = BitmapMut::new();
        bitmap.extend_from_words(&self.words, 0, self.len);
        bitmap.freeze()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_set_takes_the_simplest_form() {
        let bits: Bitmap = (0..100).map(|i| (10..20).contains(&i)).collect();
        assert!(matches!(RowSet::from_bits(bits.words(), 100), RowSet::Range(r) if r == (10..20)));
        let bits: Bitmap = (0..100).map(|i| i % 2 == 0).collect();
        let rows = RowSet::from_bits(bits.words(), 100);
        assert_eq!((rows.len(), rows.end()), (50, 99));
        assert!(rows.iter().eq((0..100).step_by(2)));
        assert_eq!(rows.to_words(100), bits.words());
        assert_eq!(rows.to_words(65), [bits.words()[0], 1]);
        assert_eq!(RowSet::range(10, 90).to_words(70), [u64::MAX << 10, 0x3f]);
        assert_eq!(RowSet::from_bits(&[0; 2], 100).to_words(100), [0, 0]);
        assert!(RowSet::from_bits(&[u64::MAX; 2], 100).is_all(100));
        assert!(RowSet::from_bits(&[0; 2], 100).is_empty());
    }

    #[test]
    fn a_row_set_covers_exactly_its_subsets() {
        let set = |positions: &[u32]| RowSet::from_positions(Buffer::from_slice(positions));
        let rows = set(&[1, 4, 5, 9]);
        for inside in [set(&[]), set(&[4]), set(&[1, 9]), set(&[4, 5]), rows.clone()] {
            assert!(rows.covers(&inside) && RowSet::range(1, 10).covers(&inside));
        }
        for outside in [set(&[0]), set(&[1, 2]), set(&[9, 10]), RowSet::range(4, 7)] {
            assert!(!rows.covers(&outside));
        }
        assert!(!RowSet::range(1, 9).covers(&rows) && !RowSet::range(2, 10).covers(&rows));
        assert!(!RowSet::all(0).covers(&set(&[0])));
    }

    #[test]
    fn a_selection_never_has_bits_behind_its_end() {
        let mut selection = SelectivityVector::all(70);
        assert!(selection.is_all());
        selection.subtract(&Bitmap::filled(70, false));
        assert_eq!((selection.count(), selection.words()[1]), (70, 0x3f));
        selection.intersect(&Bitmap::filled(70, false));
        assert!(selection.is_none());
    }
}
