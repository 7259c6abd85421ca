//! Selection of values: bit `i` of an array of 64-bit words stands for value `i` of a part of a
//! page.
//!
//! ```text
//! stored   v0 v1 v2 v3 v4 ...
//! words     1  0  0  1  1       append_selected ->  v0 v3 v4
//! ```
#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "kernels; places follow from counted bits")
)]

use vector::{BufferMut, Native, Result, bits, select};

use super::plain::appended;

/// Number of values that are processed together when they do not start at a word boundary.
pub(super) const BLOCK: usize = 256;

/// Minimum number of selected values among 64 for which all 64 are converted.
const MIN_DENSE: usize = 10;

/// The selection bits of a block.
pub(super) type BlockWords = [u64; BLOCK / 64];

/// Returns bits `from..from + n` of `words`, at most a block; the other bits are zero.
#[inline]
pub(super) fn block_at(words: &[u64], from: usize, n: usize) -> BlockWords {
    let mut block = BlockWords::default();
    for (i, word) in block.iter_mut().enumerate().take(bits::words_for(n)) {
        *word = bits::word_at(words, from + i * 64) & bits::low_mask(n - i * 64);
    }
    block
}

/// Clears the bits of `words` that are set in `failed`; bit 0 of `failed` corresponds to bit
/// `from`.
#[inline]
pub(super) fn clear_at(words: &mut [u64], from: usize, failed: &[u64]) {
    let (index, shift) = (from / 64, from % 64);
    for (i, failed) in failed.iter().enumerate().filter(|(_, failed)| **failed != 0) {
        words[index + i] &= !(failed << shift);
        if shift != 0 && failed >> (64 - shift) != 0 {
            words[index + i + 1] &= !(failed >> (64 - shift));
        }
    }
}

/// Converts the selected values of `stored` and appends them to `out`.
#[inline]
pub(crate) fn append_selected<S: Copy, T: Native>(
    stored: &[S],
    words: &[u64],
    out: &mut BufferMut<T>,
    convert: impl Fn(S) -> T,
) -> Result<()> {
    let slots = appended(out, bits::count_ones(words, stored.len()))?;
    if !select::compresses_fast::<T>() {
        fill_selected(stored, words, slots, convert);
        return Ok(());
    }
    let mut filled = 0;
    for (stored, word) in stored.chunks(64).zip(words) {
        let selected = (word & bits::low_mask(stored.len())).count_ones() as usize;
        let slots = &mut slots[filled..filled + selected];
        if selected < MIN_DENSE || selected == stored.len() {
            fill_selected(stored, &[*word], slots, &convert);
        } else {
            // Converting all values vectorizes; the selected ones are compressed afterwards.
            let mut converted = [T::default(); 64];
            for (to, stored) in converted.iter_mut().zip(stored) {
                *to = convert(*stored);
            }
            select::compress(&converted[..stored.len()], &[*word], slots);
        }
        filled += selected;
    }
    Ok(())
}

/// Converts the selected values of `stored` into the first slots and returns their number.
///
/// # Panics
/// When there are fewer slots than selected values.
#[inline]
pub(super) fn fill_selected<S: Copy, T>(
    stored: &[S],
    words: &[u64],
    slots: &mut [T],
    convert: impl Fn(S) -> T,
) -> usize {
    let mut filled = 0;
    for (stored, word) in stored.chunks(64).zip(words) {
        let all = bits::low_mask(stored.len());
        let mut rest = word & all;
        if rest == all {
            let slots = &mut slots[filled..filled + stored.len()];
            for (slot, value) in slots.iter_mut().zip(stored) {
                *slot = convert(*value);
            }
            filled += stored.len();
            continue;
        }
        while rest != 0 {
            slots[filled] = convert(stored[rest.trailing_zeros() as usize]);
            filled += 1;
            rest &= rest - 1;
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_values_are_appended_in_order() {
        let stored: Vec<u32> = (0..300).collect();
        let every_third = [0x9249_2492_4924_9249; 5];
        for words in [[0; 5], [u64::MAX; 5], every_third, [1, 0, u64::MAX, 0xf0f0, 1 << 43]] {
            let mut out = BufferMut::new();
            out.push(7u64);
            append_selected(&stored, &words, &mut out, u64::from).unwrap();
            let expected: Vec<u64> = bits::ones(&words, 300).map(|i| i as u64).collect();
            assert_eq!(out.as_slice()[1..], expected);
        }
    }

    #[test]
    fn a_block_is_cut_out_and_cleared_at_any_bit() {
        let words = [0xdead_beef_0bad_cafe_u64, 0x0123_4567_89ab_cdef, u64::MAX, 5, 9, 0];
        for from in [0, 1, 63, 64, 100] {
            for n in [0, 1, 64, 65, 200, 256] {
                let block = block_at(&words, from, n);
                assert!((0..n).all(|i| bits::get(&block, i) == bits::get(&words, from + i)));
                assert_eq!(bits::count_ones(&block, 256), bits::count_ones(&block, n));
                let mut cleared = words;
                clear_at(&mut cleared, from, &block);
                for i in 0..words.len() * 64 {
                    let kept = bits::get(&words, i) && !(from..from + n).contains(&i);
                    assert_eq!(bits::get(&cleared, i), kept, "{from} {n} {i}");
                }
            }
        }
    }
}
