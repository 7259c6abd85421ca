//! Filter results per dictionary entry: a filter is evaluated once for each entry of a dictionary.
//!
//! ```text
//! entries that pass      cost of a row
//!   none, all            nothing: the indices are skipped
//!   some                 packed indices are compared with a set (`bit_pack::match_packed`)
//! ```
//!
//! Any filter is reduced to one of these classes, and a repeat run is decided as a whole: the
//! filter is evaluated on the entries of the dictionary and not on rows (rules P6.10, P6.11).

use std::ops::Range;

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{Bitmap, Result, bits};

use super::bit_pack::{PassTable, match_packed};
use super::dictionary::{DictionaryIndices, IndexVisitor, PackedIndices};
use super::selection::{BlockWords, clear_at};

/// The entries of a dictionary that pass a filter.
#[derive(Debug)]
pub struct DictionaryFilterCache {
    num_entries: usize,
    passing: Passing,
}

#[derive(Debug)]
enum Passing {
    None,
    All,
    Some(PassTable),
}

impl DictionaryFilterCache {
    /// Creates the results from a bitmap with one bit for each entry, which is set when the entry
    /// passes.
    pub fn new(bitmap: &Bitmap) -> Self {
        let passing = match bitmap.count_ones() {
            0 => Passing::None,
            count if count == bitmap.len() => Passing::All,
            _ => Passing::Some(PassTable::new(bitmap.words(), bitmap.len())),
        };
        DictionaryFilterCache { num_entries: bitmap.len(), passing }
    }

    /// Returns the number of entries.
    pub fn num_entries(&self) -> usize {
        self.num_entries
    }

    /// Returns true when no entry passes.
    pub fn is_none(&self) -> bool {
        matches!(self.passing, Passing::None)
    }

    /// Returns true when every entry passes.
    pub fn is_all(&self) -> bool {
        matches!(self.passing, Passing::All)
    }

    /// Returns true when the entry with this index passes.
    #[inline]
    pub(super) fn passes(&self, index: u32) -> bool {
        match &self.passing {
            Passing::None => false,
            Passing::All => true,
            Passing::Some(table) => table.passes(index),
        }
    }
}

/// Clears the bits of indices of failing entries.
pub(super) struct Retain<'a> {
    pub(super) answers: &'a DictionaryFilterCache,
    pub(super) words: &'a mut [u64],
}

impl IndexVisitor for Retain<'_> {
    fn words(&self) -> &[u64] {
        self.words
    }

    fn repeat(&mut self, range: Range<usize>, _: usize, index: u32) {
        if !self.answers.passes(index) {
            bits::fill(self.words, range, false);
        }
    }

    fn packed(&mut self, at: usize, indices: PackedIndices<'_>) -> Option<u32> {
        let Passing::Some(table) = &self.answers.passing else { return None };
        let mut failed = BlockWords::default();
        let PackedIndices { bytes, first, width, n } = indices;
        let passing = failed.get_mut(..bits::words_for(n))?;
        let largest = match_packed(bytes, first, width, n, table, passing);
        passing.iter_mut().for_each(|word| *word = !*word);
        if let (Some(last), tail @ 1..) = (passing.last_mut(), n % 64) {
            *last &= bits::low_mask(tail);
        }
        clear_at(self.words, at, &failed);
        Some(largest)
    }

    fn one(&mut self, place: usize, index: u32) {
        if !self.answers.passes(index) {
            bits::clear(self.words, place);
        }
    }

    fn block(&mut self, at: usize, indices: &[u32], selected: &BlockWords) {
        for i in bits::ones(selected, indices.len()) {
            if let Some(index) = indices.get(i) {
                self.one(at + i, *index);
            }
        }
    }
}

/// The results for the current dictionary, kept as long as the same filter is applied.
#[derive(Debug, Default)]
pub(crate) struct CachedFilter(Option<(Arc<Filter>, DictionaryFilterCache)>);

impl CachedFilter {
    /// Drops the results, because the dictionary changes.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// Returns the results of `filter`; calls `ask` to compute them if they are not cached.
    pub(crate) fn of(
        &mut self,
        filter: &Arc<Filter>,
        ask: impl FnOnce() -> Result<Bitmap>,
    ) -> Result<&DictionaryFilterCache> {
        let cached = match self.0.take() {
            Some((asked, answers)) if Arc::ptr_eq(&asked, filter) => (asked, answers),
            _ => (Arc::clone(filter), DictionaryFilterCache::new(&ask()?)),
        };
        Ok(&self.0.insert(cached).1)
    }

    /// Clears those of the next `n` bits that belong to indices of failing entries. `ask` computes
    /// the results if they are not cached.
    pub(crate) fn filter(
        &mut self,
        indices: &mut DictionaryIndices,
        (filter, ask): (&Arc<Filter>, impl FnOnce() -> Result<Bitmap>),
        n: usize,
        wanted: &mut [u64],
    ) -> Result<()> {
        indices.filter(self.of(filter, ask)?, n, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::bit_pack;
    use vector::Buffer;

    #[test]
    fn every_class_of_answers_keeps_the_indices_that_pass() {
        let sets: [&[u32]; 6] =
            [&[], &[0, 1, 2, 3, 4, 5, 6], &[3], &[2, 3, 4], &[0, 2, 6], &[5, 6]];
        let indices: Vec<u32> = (0..200).map(|i| i * 5 % 7).collect();
        let mut page = vec![3, (25 << 1 | 1) as u8];
        page.extend(bit_pack::pack(&indices, 3));
        let page = Buffer::from_slice(&page);
        for set in sets {
            let bitmap: Bitmap = (0..7).map(|i| set.contains(&i)).collect();
            let answers = DictionaryFilterCache::new(&bitmap);
            assert_eq!((answers.is_none(), answers.is_all()), (set.is_empty(), set.len() == 7));
            // One selection is dense and the other sparse.
            for before in [[u64::MAX, 0x1111, 0xff00, 0x3f], [1 << 40, 0, 0, 0x20]] {
                let mut words = before;
                DictionaryIndices::new(&page).unwrap().filter(&answers, 200, &mut words).unwrap();
                for (i, index) in indices.iter().enumerate() {
                    assert_eq!(answers.passes(*index), set.contains(index));
                    let kept = bits::get(&before, i) && set.contains(index);
                    assert_eq!(bits::get(&words, i), kept, "{set:?} {i}");
                }
            }
        }
    }

    #[test]
    fn an_index_outside_of_the_dictionary_is_corrupt_to_filters_too() {
        let mut page = vec![3, (25 << 1 | 1) as u8];
        page.extend(bit_pack::pack(&[7; 200], 3));
        let answers = DictionaryFilterCache::new(&(0..7).map(|i| i % 2 == 0).collect());
        for selected in [u64::MAX, 1] {
            let mut page = DictionaryIndices::new(&Buffer::from_slice(&page)).unwrap();
            assert!(page.filter(&answers, 200, &mut [selected; 4]).is_err());
        }
    }

    #[test]
    fn a_filter_is_asked_once_for_a_dictionary() {
        let mut cached = CachedFilter::default();
        let filters = [Filter::IsNull, Filter::IsNotNull].map(Arc::new);
        let mut asked = 0;
        for filter in [&filters[0], &filters[0], &filters[1], &filters[1]] {
            let ask = || {
                asked += 1;
                Ok(Bitmap::filled(3, true))
            };
            assert!(cached.of(filter, ask).unwrap().is_all());
        }
        assert_eq!(asked, 2);
    }
}
