//! Positions of ones, found with VPCOMPRESS.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::low_mask;
use crate::cpu::Level;

/// Implements [`super::ones_into`]; returns `false` if the level does not support it. `out` must
/// have one slot per one of the bitmap.
pub(super) fn ones_into(level: Level, words: &[u64], len: usize, out: &mut [u32]) -> bool {
    assert!(len.div_ceil(64) <= words.len(), "too few words for the bits");
    if level.has_avx512() {
        // SAFETY: the level proves the features.
        unsafe { positions(words, len, out) };
    }
    level.has_avx512()
}

#[target_feature(enable = "avx512f,popcnt")]
fn positions(words: &[u64], len: usize, out: &mut [u32]) {
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut filled = 0;
    for (index, word) in words[..len.div_ceil(64)].iter().enumerate() {
        let base = index * 64;
        let word = word & low_mask(len - base);
        if word == 0 {
            continue;
        }
        for at in (0..64).step_by(16) {
            let mask = (word >> at) as u16;
            let count = mask.count_ones() as usize;
            let here = _mm512_add_epi32(lanes, _mm512_set1_epi32((base + at) as i32));
            let found = _mm512_maskz_compress_epi32(mask, here);
            let slots = &mut out[filled..];
            if let Some(whole) = slots.first_chunk_mut::<16>() {
                // SAFETY: there are sixteen slots; those after the ones are overwritten by the next
                // iteration.
                unsafe { _mm512_storeu_si512(whole.as_mut_ptr().cast(), found) };
            } else {
                let slots = &mut slots[..count];
                // SAFETY: there are as many slots as the mask has ones.
                unsafe {
                    let there = low_mask(count) as u16;
                    _mm512_mask_storeu_epi32(slots.as_mut_ptr().cast(), there, found);
                }
            }
            filled += count;
        }
    }
}
