//! Selection of bits by a mask, 64 bits at a time.
//!
//! ```text
//! rows      a b c d e f        compress(rows, mask):    a c d f
//! mask      1 0 1 1 0 1        expand(packed, mask):    a 0 c d 0 f
//! ```
//!
//! It converts bits of rows to bits of non-null values and back. A whole bitmap is processed by one
//! call of a kernel; the functions for single words are for callers that have only one word.

#[cfg(target_arch = "x86_64")]
use super::bmi2;
use super::{low_mask, word_at};
use crate::cpu::{self, Level};

/// Appends the bits of `words` at the ones of `mask` without gaps; bits after them in the last word
/// are zero.
pub fn compress(words: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    compress_with(cpu::level(), words, mask, out);
}

/// Implements [`compress`] with at most the instructions of `level`.
pub fn compress_with(level: Level, words: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if bmi2::compress(level, words, mask, out) {
        return;
    }
    let _ = level;
    compress_each(words, mask, out, compress_bits);
}

/// Appends one word per word of `mask`: the bits of `packed`, moved to the ones of `mask`.
pub fn expand(packed: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    expand_with(cpu::level(), packed, mask, out);
}

/// Implements [`expand`] with at most the instructions of `level`.
pub fn expand_with(level: Level, packed: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    #[cfg(target_arch = "x86_64")]
    if bmi2::expand(level, packed, mask, out) {
        return;
    }
    let _ = level;
    expand_each(packed, mask, out, expand_bits);
}

/// Returns the bits of `word` at the ones of `mask`, moved together to the low end (x86's PEXT).
#[inline]
pub fn compress_word(word: u64, mask: u64) -> u64 {
    compress_word_with(cpu::level(), word, mask)
}

/// Implements [`compress_word`] with at most the instructions of `level`.
#[inline]
pub fn compress_word_with(level: Level, word: u64, mask: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = bmi2::compress_word(level, word, mask) {
        return found;
    }
    let _ = level;
    compress_bits(word, mask)
}

/// Returns the low bits of `word` moved to the ones of `mask` (x86's PDEP).
#[inline]
pub fn expand_word(word: u64, mask: u64) -> u64 {
    expand_word_with(cpu::level(), word, mask)
}

/// Implements [`expand_word`] with at most the instructions of `level`.
#[inline]
pub fn expand_word_with(level: Level, word: u64, mask: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = bmi2::expand_word(level, word, mask) {
        return found;
    }
    let _ = level;
    expand_bits(word, mask)
}

/// Implements [`compress`] on top of a function for one word.
#[inline(always)]
pub(super) fn compress_each(
    words: &[u64],
    mask: &[u64],
    out: &mut Vec<u64>,
    compress: impl Fn(u64, u64) -> u64,
) {
    let (mut word, mut filled) = (0, 0);
    let mut at = out.len();
    out.resize(at + mask.len() + 1, 0);
    for (bits, mask) in words.iter().zip(mask) {
        // The word is stored whether it is full or not, because a branch on that would be
        // unpredictable.
        let packed = compress(*bits, *mask);
        let gathered = word | packed << filled;
        out[at] = gathered;
        let end = filled + mask.count_ones();
        word = if end >= 64 { packed >> 1 >> (63 - filled) } else { gathered };
        at += end as usize / 64;
        filled = end % 64;
    }
    out[at] = word;
    out.truncate(at + usize::from(filled > 0));
}

/// Implements [`expand`] on top of a function for one word.
#[inline(always)]
pub(super) fn expand_each(
    packed: &[u64],
    mask: &[u64],
    out: &mut Vec<u64>,
    expand: impl Fn(u64, u64) -> u64,
) {
    let mut at = 0;
    out.reserve(mask.len());
    for mask in mask {
        let word = word_at(packed, at);
        out.push(expand(word, *mask));
        at += mask.count_ones() as usize;
    }
}

fn compress_bits(word: u64, mask: u64) -> u64 {
    let mut out = 0;
    each_run(mask, |spread, packed, run| out |= (word >> spread & run) << packed);
    out
}

fn expand_bits(word: u64, mask: u64) -> u64 {
    let mut out = 0;
    each_run(mask, |spread, packed, run| out |= (word >> packed & run) << spread);
    out
}

/// Calls `f` for each run of contiguous ones, which move together. The arguments are the start of
/// the run in the mask, its start among the ones of the mask, and a word with as many low ones as
/// the run has.
fn each_run(mask: u64, mut f: impl FnMut(u32, u32, u64)) {
    let (mut rest, mut packed) = (mask, 0);
    while rest != 0 {
        let spread = rest.trailing_zeros();
        let len = (rest >> spread).trailing_ones();
        let run = low_mask(len as usize);
        f(spread, packed, run);
        packed += len;
        rest &= !(run << spread);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::tests::words;
    use super::super::{get, ones, words_for};
    use super::*;

    #[test]
    fn words_are_compressed_and_expanded_bit_by_bit_at_every_level() {
        let naive = |word: u64, mask: u64| {
            let bits = (0..64).filter(|i| mask >> i & 1 != 0).map(|i| word >> i & 1);
            bits.enumerate().fold(0, |out, (at, bit)| out | bit << at)
        };
        let ends = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 0xffff_0000_ffff_0000];
        let random = words(60, 11);
        let masks: Vec<u64> = ends.into_iter().chain(random.iter().copied()).collect();
        for (word, mask) in random.iter().flat_map(|word| masks.iter().map(move |m| (*word, *m))) {
            let packed = naive(word, mask);
            for level in Level::available() {
                assert_eq!(compress_word_with(level, word, mask), packed);
                assert_eq!(expand_word_with(level, packed, mask), word & mask);
                // Bits without a corresponding one in the mask are dropped.
                let all = expand_word_with(level, word, mask);
                assert_eq!(
                    compress_word_with(level, all, mask),
                    word & low_mask(mask.count_ones() as usize)
                );
            }
        }
    }

    #[test]
    fn rows_become_values_and_values_rows_at_every_level() {
        let rows = [0x0123_4567_89ab_cdef, u64::MAX, 0, 0xf0f0_f0f0_f0f0_f0f0, 0x1f];
        let masks = [
            [u64::MAX; 5],
            [0; 5],
            [0xaaaa_aaaa_aaaa_aaaa, 1, 0, u64::MAX, 0x15],
            [1 << 63, u64::MAX, 0xffff, 1, 0x1f],
        ];
        for (mask, level) in masks.iter().flat_map(|m| Level::available().map(move |l| (m, l))) {
            let (mut packed, mut back) = (Vec::new(), Vec::new());
            compress_with(level, &rows, mask, &mut packed);
            let ones: Vec<usize> = ones(mask, 320).collect();
            assert_eq!(packed.len(), words_for(ones.len()));
            let expected = ones.iter().map(|i| get(&rows, *i));
            assert!(expected.eq((0..ones.len()).map(|i| get(&packed, i))));
            expand_with(level, &packed, mask, &mut back);
            assert!(rows.iter().zip(mask).map(|(row, mask)| row & mask).eq(back));
        }
    }
}
