//! Dictionaries: the distinct values of a column chunk, and pages of indices into them.
//!
//! ```text
//! dictionary page   PLAIN values, converted once into what vectors store
//! data page         width (1 byte) | hybrid of indices
//! ```
//!
//! A dictionary of fixed-width values is padded to a power of two, so that a masked index is always
//! inside of it and needs no bounds check; whether indices are really below the number of values is
//! checked once for a block, with their maximum.
//!
//! With a selection, a block of indices is skipped when none of it is selected, unpacked as a whole
//! when many are, and read one by one when few are. An `IndexVisitor` processes the selected
//! indices: it looks up their values (`filling`), collects them, or tests them against a filter's
//! [`DictionaryFilterCache`].
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "kernels; indices are checked or masked by block"
    )
)]

use std::ops::Range;

use dwio::filter::{Filter, FilterValue};
use vector::{Bitmap, Buffer, BufferMut, Error, Native, Result, bits};

use super::bit_pack;
use super::dictionary_filter::{DictionaryFilterCache, Retain};
use super::filling::{Fill, FilteredGather, Slots};
use super::plain::{PlainValues, appended};
use super::rle_hybrid::{AfterLastValue, RleHybrid, Run};
use super::selection::{BLOCK, BlockWords, block_at};

/// Minimum number of indices for each selected one at which the selected ones are unpacked one by
/// one: below a certain selectivity, sparse decoding is faster than dense decoding (rule P7.50).
pub(super) const MIN_ROWS_TO_PICK: usize = 12;

/// The values of a dictionary page, in the representation of vectors.
#[derive(Debug)]
pub struct Dictionary<T: FilterValue> {
    /// The values, padded with unspecified ones to a power of two and at least one value.
    values: Buffer<T>,
    len: usize,
}

impl<T: FilterValue> Dictionary<T> {
    /// Decodes the `len` values of a dictionary page into `memory`, which must be empty.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page does not consist of exactly `len` values, `Limit` when memory is not
    /// granted; also the errors of the conversion.
    pub fn decode<P: PlainValues<Out = T>>(
        plain: &P,
        bytes: &[u8],
        len: usize,
        mut memory: BufferMut<T>,
    ) -> Result<Self> {
        // A number of values that the bytes do not have is rejected before memory is allocated for
        // them.
        check_used(plain.skip(bytes, len)?, len, bytes)?;
        let padded = len.next_power_of_two();
        memory.try_reserve(padded)?;
        plain.read(bytes, len, &mut memory)?;
        // The padding is never part of a result, so it need not be written.
        memory.resize_unspecified(padded);
        Ok(Dictionary { values: memory.freeze(), len })
    }

    /// Returns the buffer of the values, with the padding.
    pub fn memory(&self) -> &Buffer<T> {
        &self.values
    }

    /// Returns a bitmap of the entries that pass a filter.
    ///
    /// # Errors
    ///
    /// Returns the errors of the filter.
    pub fn passing(&self, filter: &Filter) -> Result<Bitmap> {
        filter.passing(&T::wrap(self.values.slice(0..self.len)), None)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true when the dictionary has no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Checks that the entries of a dictionary take all of its `bytes`.
///
/// # Errors
///
/// `Corrupt` when there are bytes behind the last entry, which may be another entry.
pub fn check_used(taken: usize, entries: usize, bytes: &[u8]) -> Result<()> {
    if taken == bytes.len() {
        return Ok(());
    }
    Err(Error::corrupt("a dictionary has bytes behind its last entry")
        .with("entries", entries)
        .with("bytes_of_entries", taken)
        .with("bytes", bytes.len()))
}

/// Indices of a bit-packed run, in packed form.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedIndices<'a> {
    /// The bytes of the run.
    pub(super) bytes: &'a [u8],
    /// Number of the first index in the run.
    pub(super) first: usize,
    /// Number of bits of each index.
    pub(super) width: u8,
    /// Number of indices, at most a block.
    pub(super) n: usize,
}

/// Processes selected indices that are checked to lie inside of the dictionary.
pub(super) trait IndexVisitor {
    /// Returns the selection, one bit for each index.
    fn words(&self) -> &[u64];
    /// Processes a range of positions that all have the same index, `num_selected` of them
    /// selected.
    fn repeat(&mut self, range: Range<usize>, num_selected: usize, index: u32);
    /// Processes packed indices from position `at` on, many of them selected, and returns the
    /// largest one of all; returns `None` when they have to be unpacked.
    fn packed(&mut self, at: usize, indices: PackedIndices<'_>) -> Option<u32> {
        let _ = (at, indices);
        None
    }
    /// Processes unpacked indices from position `at` on. Unselected ones may be any of the
    /// dictionary's.
    fn block(&mut self, at: usize, indices: &[u32], selected: &BlockWords);
    /// Processes the selected index at one position. It may lie outside of the dictionary, in which
    /// case the read fails afterwards.
    fn one(&mut self, place: usize, index: u32);
}

/// A decoder of the indices of one data page.
#[derive(Debug, Clone)]
pub struct DictionaryIndices {
    runs: RleHybrid,
    /// True when the page holds a width of 0 and nothing else.
    is_bare: bool,
}

impl DictionaryIndices {
    /// Creates a decoder from the value bytes of a data page. An empty slice is an empty page.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the width of the indices is invalid.
    pub fn new(bytes: &Buffer<u8>) -> Result<Self> {
        let Some(width) = bytes.first() else {
            return Ok(DictionaryIndices {
                runs: RleHybrid::new(Buffer::empty(), 1)?,
                is_bare: false,
            });
        };
        let runs = RleHybrid::new(bytes.slice(1..bytes.len()), *width)?;
        // Some writers omit the runs when the dictionary has only one value.
        let is_bare = *width == 0 && runs.is_without_bytes();
        Ok(DictionaryIndices { runs, is_bare })
    }

    /// Checks that the page has `left` more indices, followed by at most what is `allowed`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when there are fewer or more.
    pub fn check_end(&mut self, left: usize, allowed: AfterLastValue) -> Result<()> {
        self.skip(left)?;
        if self.is_bare { Ok(()) } else { self.runs.check_end(allowed) }
    }

    /// Decodes indices until `out` is full; each is below `dictionary_len`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices or one is too large.
    pub fn read(&mut self, dictionary_len: usize, out: &mut [u32]) -> Result<()> {
        if self.is_bare {
            check(0, dictionary_len, out.len())?;
            out.fill(0);
            return Ok(());
        }
        let width = self.runs.width();
        let mut out = out;
        while !out.is_empty() {
            let (n, max) = match self.runs.next_run(out.len())? {
                Run::Repeat { value, n } => {
                    out[..n].fill(value);
                    (n, value)
                }
                Run::Packed { bytes, first, n } => {
                    bit_pack::unpack(bytes, first, width, &mut out[..n]);
                    (n, largest(&out[..n]))
                }
            };
            check(max, dictionary_len, n)?;
            out = &mut out[n..];
        }
        Ok(())
    }

    /// Decodes values until `out` is full.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices or one is too large.
    pub fn gather<T: FilterValue>(
        &mut self,
        dictionary: &Dictionary<T>,
        out: &mut [T],
    ) -> Result<()> {
        let values = dictionary.values.as_slice();
        let mask = values.len() - 1;
        if self.is_bare {
            check(0, dictionary.len, out.len())?;
            out.fill(values[0]);
            return Ok(());
        }
        let width = self.runs.width();
        let mut out = out;
        let mut block = [0u32; BLOCK];
        while !out.is_empty() {
            let n = match self.runs.next_run(out.len())? {
                Run::Repeat { value, n } => {
                    check(value, dictionary.len, n)?;
                    out[..n].fill(values[value as usize & mask]);
                    n
                }
                Run::Packed { bytes, first, n } => {
                    for (i, out) in out[..n].chunks_mut(BLOCK).enumerate() {
                        let indices = &mut block[..out.len()];
                        bit_pack::unpack(bytes, first + i * BLOCK, width, indices);
                        check(largest(indices), dictionary.len, out.len())?;
                        for (slot, index) in out.iter_mut().zip(indices) {
                            *slot = values[*index as usize & mask];
                        }
                    }
                    n
                }
            };
            out = &mut out[n..];
        }
        Ok(())
    }

    /// Appends the selected ones of the next `n` indices; each is below `dictionary_len`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices or one is too large; `Limit` when memory is not
    /// granted.
    pub fn read_selected(
        &mut self,
        dictionary_len: usize,
        n: usize,
        words: &[u64],
        out: &mut BufferMut<u32>,
    ) -> Result<()> {
        let slots = appended(out, bits::count_ones(words, n))?;
        let look_up = |index| index;
        let slots = Slots::new(slots, look_up);
        self.walk(dictionary_len, n, &mut Fill { words, slots })
    }

    /// Appends the selected ones of the next `n` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices or one is too large; `Limit` when memory is not
    /// granted.
    pub fn gather_selected<T: FilterValue>(
        &mut self,
        dictionary: &Dictionary<T>,
        n: usize,
        words: &[u64],
        out: &mut BufferMut<T>,
    ) -> Result<()> {
        let slots = appended(out, bits::count_ones(words, n))?;
        let values = dictionary.values.as_slice();
        let mask = values.len() - 1;
        let look_up = |index: u32| values[index as usize & mask];
        let slots = Slots::new(slots, look_up);
        self.walk(dictionary.len, n, &mut Fill { words, slots })
    }

    /// Combines [`DictionaryIndices::filter`] and [`DictionaryIndices::read_selected`] in one pass.
    ///
    /// # Errors
    ///
    /// Returns the errors of both.
    pub fn filter_and_read(
        &mut self,
        answers: &DictionaryFilterCache,
        n: usize,
        words: &mut [u64],
        out: &mut BufferMut<u32>,
    ) -> Result<()> {
        if answers.is_all() {
            return self.read_selected(answers.num_entries(), n, words, out);
        }
        self.retain_and_fill(answers, n, (words, out), |index| index)
    }

    /// Combines [`DictionaryIndices::filter`] and [`DictionaryIndices::gather_selected`] in one
    /// pass.
    ///
    /// # Errors
    ///
    /// Returns the errors of both.
    pub fn filter_and_gather<T: FilterValue>(
        &mut self,
        (answers, dictionary): (&DictionaryFilterCache, &Dictionary<T>),
        n: usize,
        words: &mut [u64],
        out: &mut BufferMut<T>,
    ) -> Result<()> {
        if answers.is_all() {
            return self.gather_selected(dictionary, n, words, out);
        }
        let values = dictionary.values.as_slice();
        let mask = values.len() - 1;
        let look_up = |index: u32| values[index as usize & mask];
        self.retain_and_fill(answers, n, (words, out), look_up)
    }

    /// Clears the bits of indices of failing entries and appends the looked-up values of the
    /// others.
    fn retain_and_fill<T: Native>(
        &mut self,
        answers: &DictionaryFilterCache,
        n: usize,
        (words, out): (&mut [u64], &mut BufferMut<T>),
        look_up: impl Fn(u32) -> T,
    ) -> Result<()> {
        if answers.is_none() {
            words.fill(0);
            return self.skip(n);
        }
        let before = out.len();
        let slots = appended(out, bits::count_ones(words, n))?;
        let slots = Slots::new(slots, look_up);
        let mut visitor = FilteredGather { retain: Retain { answers, words }, slots };
        self.walk(answers.num_entries(), n, &mut visitor)?;
        let filled = visitor.slots.filled();
        out.truncate(before + filled);
        Ok(())
    }

    /// Clears those of the next `n` bits that belong to indices of failing entries.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices or one is too large.
    pub fn filter(
        &mut self,
        answers: &DictionaryFilterCache,
        n: usize,
        words: &mut [u64],
    ) -> Result<()> {
        if answers.is_none() {
            words.fill(0);
        }
        if answers.is_none() || answers.is_all() {
            return self.skip(n);
        }
        self.walk(answers.num_entries(), n, &mut Retain { answers, words })
    }

    /// Calls a visitor with the selected ones of the next `n` indices.
    fn walk(
        &mut self,
        dictionary_len: usize,
        n: usize,
        visitor: &mut impl IndexVisitor,
    ) -> Result<()> {
        let width = self.runs.width();
        let mut unpacked = [0; BLOCK];
        let mut at = 0;
        while at < n {
            let run = match self.is_bare {
                true => Run::Repeat { value: 0, n: n - at },
                false => self.runs.next_run(n - at)?,
            };
            match run {
                Run::Repeat { value, n } => {
                    let range = at..at + n;
                    let num_selected = bits::count_ones_in(visitor.words(), range.clone());
                    if num_selected > 0 {
                        check(value, dictionary_len, n)?;
                        visitor.repeat(range, num_selected, value);
                    }
                    at += n;
                }
                Run::Packed { bytes, first, n } => {
                    for done in (0..n).step_by(BLOCK) {
                        let indices = &mut unpacked[..BLOCK.min(n - done)];
                        let selected = block_at(visitor.words(), at + done, indices.len());
                        let (first, n) = (first + done, indices.len());
                        let num_selected = bits::count_ones(&selected, BLOCK);
                        let max = match num_selected {
                            0 => continue,
                            few if few * MIN_ROWS_TO_PICK <= n => {
                                let max = pick((bytes, width), first, &selected, |i, index| {
                                    visitor.one(at + done + i, index);
                                });
                                check(max, dictionary_len, num_selected)?;
                                continue;
                            }
                            _ => {
                                let packed = PackedIndices { bytes, first, width, n };
                                if let Some(max) = visitor.packed(at + done, packed) {
                                    check(max, dictionary_len, num_selected)?;
                                    continue;
                                }
                                bit_pack::unpack(bytes, first, width, indices);
                                largest(indices)
                            }
                        };
                        check(max, dictionary_len, num_selected)?;
                        visitor.block(at + done, indices, &selected);
                    }
                    at += n;
                }
            }
        }
        Ok(())
    }

    /// Skips `n` indices.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer indices.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        if self.is_bare { Ok(()) } else { self.runs.skip(n) }
    }
}

/// Unpacks the selected ones of the indices from number `first` on, calls `f(place, index)` for
/// each and returns the largest.
#[inline]
pub(super) fn pick(
    (bytes, width): (&[u8], u8),
    first: usize,
    selected: &BlockWords,
    mut f: impl FnMut(usize, u32),
) -> u32 {
    let mask = bits::low_mask(width.into()) as u32;
    let mut max = 0;
    for (base, word) in (0..).step_by(64).zip(selected) {
        let mut rest = *word;
        while rest != 0 {
            let place = base + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let bit = (first + place) * usize::from(width);
            let bytes = &bytes[bit / 8..];
            let word = match bytes.first_chunk::<8>() {
                Some(eight) => u64::from_le_bytes(*eight),
                None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
            // At most 32 bits are needed of 64, of which at most 7 are shifted out.
            let index = (word >> (bit % 8)) as u32 & mask;
            f(place, index);
            max = max.max(index);
        }
    }
    max
}

fn largest(indices: &[u32]) -> u32 {
    indices.iter().fold(0, |max, index| max.max(*index))
}

#[inline]
fn check(index: u32, len: usize, num_indices: usize) -> Result<()> {
    if (index as usize) < len || num_indices == 0 {
        return Ok(());
    }
    Err(Error::corrupt("a dictionary index is outside of the dictionary")
        .with("index", index)
        .with("dictionary_values", len))
}

#[cfg(test)]
mod tests;
