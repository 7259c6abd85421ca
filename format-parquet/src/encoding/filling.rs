//! Dictionary gather: looks up the values of selected indices, with or without a filter.
//!
//! ```text
//! indices   4 0 2 2 1 3      selected  1 0 1 1 0 1      entries that pass  0 2 3
//! Fill                       4 2 2 3 looked up
//! FilteredGather              2 2 3 looked up, and selected  0 0 1 1 0 1
//! ```
//!
//! A block of packed indices is compared with the filter in packed form, and unpacked only when
//! some of its indices pass.
#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "kernels; places follow from counted bits")
)]

use std::ops::Range;

use vector::{bits, select};

use super::bit_pack;
use super::dictionary::{IndexVisitor, MIN_ROWS_TO_PICK, PackedIndices, pick};
use super::dictionary_filter::Retain;
use super::selection::{BLOCK, BlockWords, block_at, fill_selected};

/// Minimum number of selected indices of a block for which they are compressed before the look-up.
const MIN_DENSE: usize = 16;

/// Output slots, filled in order with the values of selected indices.
pub(super) struct Slots<'a, T, F> {
    slots: &'a mut [T],
    filled: usize,
    look_up: F,
}

impl<'a, T: Copy, F: Fn(u32) -> T> Slots<'a, T, F> {
    /// Creates a writer of which no slot is filled yet.
    pub(super) fn new(slots: &'a mut [T], look_up: F) -> Self {
        Slots { slots, filled: 0, look_up }
    }

    /// Returns the number of slots that are filled.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    #[inline]
    fn push(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(self.filled) {
            *slot = (self.look_up)(index);
        }
        self.filled += 1;
    }

    fn push_n(&mut self, index: u32, n: usize) {
        self.slots[self.filled..self.filled + n].fill((self.look_up)(index));
        self.filled += n;
    }

    fn push_selected(&mut self, indices: &[u32], selected: &BlockWords) {
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

/// Writes the values of the selected indices to slots.
pub(super) struct Fill<'a, T, F> {
    pub(super) words: &'a [u64],
    pub(super) slots: Slots<'a, T, F>,
}

impl<T: Copy, F: Fn(u32) -> T> IndexVisitor for Fill<'_, T, F> {
    fn words(&self) -> &[u64] {
        self.words
    }

    fn repeat(&mut self, _: Range<usize>, num_selected: usize, index: u32) {
        self.slots.push_n(index, num_selected);
    }

    fn one(&mut self, _: usize, index: u32) {
        self.slots.push(index);
    }

    fn block(&mut self, _: usize, indices: &[u32], selected: &BlockWords) {
        self.slots.push_selected(indices, selected);
    }
}

/// Clears the bits of indices of failing entries and writes the values of the others to slots.
pub(super) struct FilteredGather<'a, T, F> {
    pub(super) retain: Retain<'a>,
    pub(super) slots: Slots<'a, T, F>,
}

impl<T: Copy, F: Fn(u32) -> T> IndexVisitor for FilteredGather<'_, T, F> {
    fn words(&self) -> &[u64] {
        self.retain.words
    }

    fn repeat(&mut self, range: Range<usize>, num_selected: usize, index: u32) {
        match self.retain.answers.passes(index) {
            true => self.slots.push_n(index, num_selected),
            false => bits::fill(self.retain.words, range, false),
        }
    }

    fn one(&mut self, place: usize, index: u32) {
        match self.retain.answers.passes(index) {
            true => self.slots.push(index),
            false => bits::clear(self.retain.words, place),
        }
    }

    fn packed(&mut self, at: usize, indices: PackedIndices<'_>) -> Option<u32> {
        let max = self.retain.packed(at, indices)?;
        let PackedIndices { bytes, first, width, n } = indices;
        let passing = block_at(self.retain.words, at, n);
        match bits::count_ones(&passing, BLOCK) {
            0 => {}
            few if few * MIN_ROWS_TO_PICK <= n => {
                pick((bytes, width), first, &passing, |_, index| self.slots.push(index));
            }
            _ => {
                let mut unpacked = [0; BLOCK];
                let unpacked = &mut unpacked[..n];
                bit_pack::unpack(bytes, first, width, unpacked);
                self.slots.push_selected(unpacked, &passing);
            }
        }
        Some(max)
    }

    fn block(&mut self, at: usize, indices: &[u32], selected: &BlockWords) {
        bits::ones(selected, indices.len()).for_each(|i| self.one(at + i, indices[i]));
    }
}
