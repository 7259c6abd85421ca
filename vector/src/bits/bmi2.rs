//! PEXT, PDEP and POPCNT.
#![allow(unsafe_code)]

use std::arch::x86_64::{_pdep_u64, _pext_u64};

use crate::cpu::Level;

/// The bits of `word` at the ones of `mask`, together at the low end.
#[inline]
pub(super) fn compress_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PEXT means that BMI2 is there.
    level.has_fast_pext().then(|| unsafe { compress(word, mask) })
}

/// The low bits of `word` at the ones of `mask`.
#[inline]
pub(super) fn expand_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PDEP means that BMI2 is there.
    level.has_fast_pext().then(|| unsafe { expand(word, mask) })
}

/// Ones of all words.
#[inline]
pub(super) fn count_ones(level: Level, words: &[u64]) -> Option<usize> {
    // SAFETY: the level of AVX2 has POPCNT too.
    level.has_avx2().then(|| unsafe { count(words) })
}

#[target_feature(enable = "bmi2")]
fn compress(word: u64, mask: u64) -> u64 {
    _pext_u64(word, mask)
}

#[target_feature(enable = "bmi2")]
fn expand(word: u64, mask: u64) -> u64 {
    _pdep_u64(word, mask)
}

#[target_feature(enable = "popcnt")]
fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
