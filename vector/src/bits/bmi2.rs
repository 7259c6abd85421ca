//! PEXT, PDEP and POPCNT.
#![allow(unsafe_code)]

use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::packing::{compress_each, expand_each};
use super::ranks_each;
use crate::cpu::Level;

/// The bits of `word` at the ones of `mask`, together at the low end.
#[inline]
pub(super) fn compress_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PEXT means that BMI2 is there.
    level.has_fast_pext().then(|| unsafe { pext(word, mask) })
}

/// The low bits of `word` at the ones of `mask`.
#[inline]
pub(super) fn expand_word(level: Level, word: u64, mask: u64) -> Option<u64> {
    // SAFETY: fast PDEP means that BMI2 is there.
    level.has_fast_pext().then(|| unsafe { pdep(word, mask) })
}

/// Does what [`super::compress`] does; `false` when the level does not suit.
pub(super) fn compress(level: Level, words: &[u64], mask: &[u64], out: &mut Vec<u64>) -> bool {
    if level.has_fast_pext() {
        // SAFETY: fast PEXT is only there with AVX2's level, which has POPCNT too.
        unsafe { compress_all(words, mask, out) };
    }
    level.has_fast_pext()
}

/// Does what [`super::expand`] does; `false` when the level does not suit.
pub(super) fn expand(level: Level, packed: &[u64], mask: &[u64], out: &mut Vec<u64>) -> bool {
    if level.has_fast_pext() {
        // SAFETY: as in `compress`.
        unsafe { expand_all(packed, mask, out) };
    }
    level.has_fast_pext()
}

/// Ones of all words.
#[inline]
pub(super) fn count_ones(level: Level, words: &[u64]) -> Option<usize> {
    // SAFETY: the level of AVX2 has POPCNT too.
    level.has_avx2().then(|| unsafe { count(words) })
}

/// Does what [`super::ranks_into`] does; `false` when the level does not suit.
pub(super) fn ranks(level: Level, ones: &[u64], within: &[u64], slots: &mut [u32]) -> bool {
    if level.has_avx2() {
        // SAFETY: the level of AVX2 has BMI1 and POPCNT too.
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
