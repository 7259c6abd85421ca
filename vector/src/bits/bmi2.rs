//! Bitmap kernels with PEXT, PDEP and POPCNT.
#![allow(unsafe_code)]

use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::packing::{compress_each, expand_each};
use super::ranks_each;
use crate::cpu::Level;

/// Returns the bits of `word` at the ones of `mask`, moved together to the low end, or `None` if
/// the level does not support it.
#[inline]
pub(super) fn compress_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PEXT implies that BMI2 is available.
    level.has_fast_pext().then(|| unsafe { pext(word, mask) })
}

/// Returns the low bits of `word` moved to the ones of `mask`, or `None` if the level does not
/// support it.
#[inline]
pub(super) fn expand_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PDEP implies that BMI2 is available.
    level.has_fast_pext().then(|| unsafe { pdep(word, mask) })
}

/// Implements [`super::compress`]; returns `false` if the level does not support it.
pub(super) fn compress(level: Level, words: &[u64], mask: &[u64], out: &mut Vec<u64>) -> bool {
    if level.has_fast_pext() {
        // SAFETY: fast PEXT implies the AVX2 level, which includes BMI2 and POPCNT.
        unsafe { compress_all(words, mask, out) };
    }
    level.has_fast_pext()
}

/// Implements [`super::expand`]; returns `false` if the level does not support it.
pub(super) fn expand(level: Level, packed: &[u64], mask: &[u64], out: &mut Vec<u64>) -> bool {
    if level.has_fast_pext() {
        // SAFETY: as in `compress`.
        unsafe { expand_all(packed, mask, out) };
    }
    level.has_fast_pext()
}

/// Returns the number of ones in all words, or `None` if the level does not support it.
#[inline]
pub(super) fn count_ones(level: Level, words: &[u64]) -> Option<usize> {
    // SAFETY: the AVX2 level includes POPCNT.
    level.has_avx2().then(|| unsafe { count(words) })
}

/// Implements [`super::ranks_into`]; returns `false` if the level does not support it.
pub(super) fn ranks(level: Level, ones: &[u64], within: &[u64], slots: &mut [u32]) -> bool {
    if level.has_avx2() {
        // SAFETY: the AVX2 level includes BMI1 and POPCNT.
        unsafe { ranks_of(ones, within, slots) };
    }
    level.has_avx2()
}

#[target_feature(enable = "bmi2")]
fn pext(word: u64, mask: u64) -> u64 {
    _pext_u64(word, mask)
}

#[target_feature(enable = "bmi2")]
fn pdep(word: u64, mask: u64) -> u64 {
    _pdep_u64(word, mask)
}

#[target_feature(enable = "bmi2,popcnt")]
fn compress_all(words: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    compress_each(words, mask, out, |word, mask| _pext_u64(word, mask));
}

#[target_feature(enable = "bmi2,popcnt")]
fn expand_all(packed: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    expand_each(packed, mask, out, |word, mask| _pdep_u64(word, mask));
}

#[target_feature(enable = "bmi1,popcnt")]
fn ranks_of(ones: &[u64], within: &[u64], slots: &mut [u32]) {
    ranks_each(ones, within, slots);
}

#[target_feature(enable = "popcnt")]
fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
