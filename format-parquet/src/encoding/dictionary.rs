//! Dictionaries: the distinct values of a chunk, and pages of indices into them.
//!
//! ```text
//! dictionary page   PLAIN values, converted once into what vectors store
//! data page         width (1 byte) | hybrid of indices
//! ```
//!
//! A dictionary of fixed-width values is padded to a power of two, so that a masked index is
//! inside of it without a test; whether indices are really below the number of values is asked
//! once for a block, of their maximum.
//!
//! With a selection, indices are unpacked where a selected one is: a block of them, or one by one
//! when few of the block are wanted. What then happens to them is up to an `IndexVisitor`: they
//! are looked up, collected, or tested against a filter's [`Answers`].
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
use vector::{Bitmap, Buffer, BufferMut, Error, Result, bits, select};

use super::answers::{Answers, Retain};
use super::bit_pack;
use super::plain::{PlainValues, appended};
use super::rle_hybrid::{RleHybrid, Run};
use super::selection::{BLOCK, BlockWords, block_at, fill_selected};

/// Indices are unpacked one by one when at most one in so many is wanted (rule P7.50).
const MIN_ROWS_TO_PICK: usize = 12;

/// From so many selected ones of a block on, they are moved together before they are looked up.
const MIN_DENSE: usize = 16;

/// The values of a dictionary page, as vectors store them.
#[derive(Debug)]
pub struct Dictionary<T: FilterValue> {
    /// Padded with anything to a power of two, at least one value.
    values: Buffer<T>,
    len: usize,
}

impl<T: FilterValue> Dictionary<T> {
    /// Decodes the `len` values of a dictionary page into memory that is empty.
    pub fn decode<P: PlainValues<Out = T>>(
        plain: &P,
        bytes: &[u8],
        len: usize,
        mut memory: BufferMut<T>,
    ) -> Result<Self> {
        // Refuses a number of values that the bytes do not have, before memory is taken for them.
        plain.skip(bytes, len)?;
        let padded = len.next_power_of_two();
        memory.try_reserve(padded)?;
        plain.read(bytes, len, &mut memory)?;
        // What is behind them is never a result, and not worth being written.
        memory.resize_unspecified(padded);
        Ok(Dictionary { values: memory.freeze(), len })
    }

    /// The memory of the values.
    pub fn memory(&self) -> &Buffer<T> {
        &self.values
    }

    /// Which values pass a filter.
    pub fn passing(&self, filter: &Filter) -> Result<Bitmap> {
        filter.passing(&T::wrap(self.values.slice(0..self.len)), None)
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Indices of a bit-packed run, not unpacked.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedIndices<'a> {
    /// The run.
    pub(super) bytes: &'a [u8],
    /// Where in the run they start.
    pub(super) first: usize,
    /// The bits of each.
    pub(super) width: u8,
    /// How many there are, at most a block.
    pub(super) n: usize,
}

/// What is done with selected indices, which are inside of the dictionary.
pub(super) trait IndexVisitor {
    /// Which indices are selected.
    fn words(&self) -> &[u64];
    /// The same index at every place of a range, of which `num_selected` are selected.
    fn repeat(&mut self, range: Range<usize>, num_selected: usize, index: u32);
    /// Packed indices from place `at` on, many of them selected; gives the largest one that is
    /// there. `None` when they have to be unpacked.
    fn packed(&mut self, at: usize, indices: PackedIndices<'_>) -> Option<u32> {
        let _ = (at, indices);
        None
    }
    /// Indices from place `at` on. Those that are not selected may be any of the dictionary's.
    fn block(&mut self, at: usize, indices: &[u32], selected: &BlockWords);
    /// The selected index at one place; it may be outside of the dictionary, and then all fails.
    fn one(&mut self, place: usize, index: u32);
}

/// Puts what selected indices stand for into slots, one after the other.
struct Fill<'a, T, F> {
    words: &'a [u64],
    slots: &'a mut [T],
    filled: usize,
    look_up: F,
}

impl<T: Copy, F: Fn(u32) -> T> IndexVisitor for Fill<'_, T, F> {
    fn words(&self) -> &[u64] {
        self.words
    }

    fn repeat(&mut self, _: Range<usize>, num_selected: usize, index: u32) {
        self.slots[self.filled..self.filled + num_selected].fill((self.look_up)(index));
        self.filled += num_selected;
    }

    fn one(&mut self, _: usize, index: u32) {
        if let Some(slot) = self.slots.get_mut(self.filled) {
            *slot = (self.look_up)(index);
        }
        self.filled += 1;
    }

    fn block(&mut self, _: usize, indices: &[u32], selected: &BlockWords) {
        let slots = &mut self.slots[self.filled..];
        let num_selected = bits::count_ones(selected, indices.len());
        if num_selected < MIN_DENSE || !select::compresses_fast::<u32>() {
            self.filled += fill_selected(indices, selected, slots, &self.look_up);
            return;
        }
        let mut picked = [0; BLOCK];
        select::compress(indices, selected, &mut picked);
        for (slot, index) in slots.iter_mut().zip(&picked[..num_selected]) {
            *slot = (self.look_up)(*index);
        }
        self.filled += num_selected;
    }
}

/// The indices of one data page.
#[derive(Debug, Clone)]
pub struct DictionaryIndices {
    runs: RleHybrid,
    /// The page holds a width and nothing else.
    is_bare: bool,
}

impl DictionaryIndices {
    /// Indices from a data page's value bytes. No bytes at all are an empty page.
    pub fn new(bytes: &Buffer<u8>) -> Result<Self> {
        let Some(width) = bytes.first() else {
            return Ok(DictionaryIndices {
                runs: RleHybrid::new(Buffer::empty(), 1)?,
                is_bare: false,
            });
        };
        let runs = RleHybrid::new(bytes.slice(1..bytes.len()), *width)?;
        // Some writers leave out the runs when there is only one value to point to.
        let is_bare = *width == 0 && runs.is_without_bytes();
        Ok(DictionaryIndices { runs, is_bare })
    }

    /// Decodes as many indices as `out` takes; each is below `dictionary_len`.
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

    /// Decodes as many values as `out` takes.
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

    /// Of the next `n` indices appends the selected ones; each is below `dictionary_len`.
    pub fn read_selected(
        &mut self,
        dictionary_len: usize,
        n: usize,
        words: &[u64],
        out: &mut BufferMut<u32>,
    ) -> Result<()> {
        let slots = appended(out, bits::count_ones(words, n))?;
        let look_up = |index| index;
        self.walk(dictionary_len, n, &mut Fill { words, slots, filled: 0, look_up })
    }

    /// Of the next `n` values appends the selected ones.
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
        self.walk(dictionary.len, n, &mut Fill { words, slots, filled: 0, look_up })
    }

    /// Of the next `n` indices clears the bits of those whose entry does not pass.
    pub fn filter(&mut self, answers: &Answers, n: usize, words: &mut [u64]) -> Result<()> {
        if answers.is_none() {
            words.fill(0);
        }
        if answers.is_none() || answers.is_all() {
            return self.skip(n);
        }
        self.walk(answers.num_entries(), n, &mut Retain { answers, words })
    }

    /// Shows the selected ones of the next `n` indices to a visitor.
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

    /// Passes over `n` indices.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        if self.is_bare { Ok(()) } else { self.runs.skip(n) }
    }
}

/// Unpacks the selected ones of the indices from number `first` on, calls `f(place, index)` for each
/// and gives the largest.
#[inline]
fn pick(
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
            // At most 32 bits are left of 64, of which at most 7 are shifted out.
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
mod tests {
    use super::*;
    use crate::encoding::plain::{Fixed, Int32};

    fn dictionary(values: &[i32]) -> Dictionary<i32> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let memory = BufferMut::new();
        Dictionary::decode(&Fixed::<4, Int32>::new(), &bytes, values.len(), memory).unwrap()
    }

    fn indices(width: u8, values: &[u32]) -> Buffer<u8> {
        let groups = values.len().div_ceil(8);
        let mut padded = values.to_vec();
        padded.resize(groups * 8, 0);
        let mut bytes = vec![width];
        assert!(groups < 64);
        bytes.push((groups << 1 | 1) as u8);
        bytes.extend(bit_pack::pack(&padded, width));
        Buffer::from_slice(&bytes)
    }

    #[test]
    fn values_are_looked_up_in_packed_and_repeat_runs() {
        let dictionary = dictionary(&[10, 20, 30, 40, 50]);
        let picked: Vec<u32> = (0..300).map(|i| i % 5).collect();
        let mut page = DictionaryIndices::new(&indices(3, &picked)).unwrap();
        let mut out = vec![0; 300];
        page.gather(&dictionary, &mut out[..77]).unwrap();
        page.skip(100).unwrap();
        page.gather(&dictionary, &mut out[177..]).unwrap();
        for i in (0..77).chain(177..300) {
            assert_eq!(out[i], (i as i32 % 5 + 1) * 10);
        }
        let mut repeat = DictionaryIndices::new(&Buffer::from_slice(&[3, 0x14, 4])).unwrap();
        let mut out = [0; 10];
        repeat.gather(&dictionary, &mut out).unwrap();
        assert_eq!(out, [50; 10]);
    }

    #[test]
    fn an_index_outside_of_the_dictionary_is_corrupt_in_every_kind_of_run() {
        let dictionary = dictionary(&[1, 2, 3, 4, 5]);
        for bytes in [indices(3, &[0, 1, 5]), Buffer::from_slice(&[3, 0x14, 5])] {
            let error = DictionaryIndices::new(&bytes)
                .unwrap()
                .gather(&dictionary, &mut [0; 3])
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                "corrupt: a dictionary index is outside of the dictionary \
                 (index=5 dictionary_values=5)"
            );
            let mut page = DictionaryIndices::new(&bytes).unwrap();
            assert!(page.read(5, &mut [0; 3]).is_err());
        }
        let mut empty = DictionaryIndices::new(&Buffer::from_slice(&[0, 0x14])).unwrap();
        assert!(empty.gather(&self::dictionary(&[]), &mut [0; 3]).is_err());
    }

    #[test]
    fn a_selection_reads_tests_and_looks_up_as_reading_all_does() {
        let dictionary = dictionary(&[10, 20, 30, 40, 50]);
        let picked: Vec<u32> = (0..300).map(|i| i * i % 5).collect();
        let mut mixed = indices(3, &picked).to_vec();
        mixed.extend([0x90, 0x01, 3, 0xc8, 0x01, 1]);
        let all: Vec<u32> =
            picked.iter().copied().chain([0; 4]).chain([3; 72]).chain([1; 100]).collect();
        let n = all.len();
        let page = DictionaryIndices::new(&Buffer::from_slice(&mixed)).unwrap();
        for step in [1, 2, 7, 30, 100] {
            for skipped in [0, 1, 65, 304] {
                let wanted = |i: usize| i.is_multiple_of(step) || (310..320).contains(&i);
                let words: Bitmap = (skipped..n).map(wanted).collect();
                let words = words.words();
                let n = n - skipped;
                let mut page = page.clone();
                page.skip(skipped).unwrap();
                let expected: Vec<u32> = bits::ones(words, n).map(|i| all[skipped + i]).collect();
                let mut found = BufferMut::new();
                page.clone().read_selected(5, n, words, &mut found).unwrap();
                assert_eq!(found.as_slice(), expected, "{step} {skipped}");
                let mut values = BufferMut::new();
                page.clone().gather_selected(&dictionary, n, words, &mut values).unwrap();
                assert!(values.iter().zip(&expected).all(|(v, i)| *v == (*i as i32 + 1) * 10));
                assert_eq!(values.len(), expected.len());
                for passing in [vec![], vec![0, 1, 2, 3, 4], vec![3], vec![1, 2], vec![0, 3]] {
                    let bitmap: Bitmap = (0..5).map(|i| passing.contains(&i)).collect();
                    let mut left = words.to_vec();
                    page.clone().filter(&Answers::new(&bitmap), n, &mut left).unwrap();
                    let stays =
                        |i: usize| bits::get(words, i) && passing.contains(&all[skipped + i]);
                    assert!((0..n).all(|i| bits::get(&left, i) == stays(i)), "{passing:?}");
                }
            }
        }
    }

    #[test]
    fn an_index_that_is_not_wanted_may_be_anything() {
        let dictionary = dictionary(&[1, 2, 3, 4, 5]);
        let mut broken = vec![0; 256];
        broken[100] = 7;
        let page = DictionaryIndices::new(&indices(3, &broken)).unwrap();
        let gather = |words: &[u64]| {
            page.clone().gather_selected(&dictionary, 256, words, &mut BufferMut::new())
        };
        assert!(gather(&[1, 1, 0, 0]).is_ok());
        assert!(gather(&[1, 1 << 36, 0, 0]).is_err());
        assert!(gather(&[u64::MAX; 4]).is_err());
    }

    #[test]
    fn width_zero_means_the_first_value_with_or_without_runs() {
        let dictionary = dictionary(&[7]);
        for bytes in [&[0u8, 0x14][..], &[0]] {
            let mut page = DictionaryIndices::new(&Buffer::from_slice(bytes)).unwrap();
            let mut out = [0; 10];
            page.gather(&dictionary, &mut out).unwrap();
            assert_eq!(out, [7; 10]);
        }
        let mut none = DictionaryIndices::new(&Buffer::empty()).unwrap();
        none.gather(&dictionary, &mut []).unwrap();
        assert!(none.gather(&dictionary, &mut [0]).is_err());
    }
}
