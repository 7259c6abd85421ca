//! Compression with VPCOMPRESS and expansion with VPEXPAND of values of one, four and eight bytes.
//!
//! The instructions operate on registers, followed by masked stores, because their forms that store
//! to memory are slow on some CPUs.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::bits::low_mask;
use crate::cpu::Level;
use crate::memory::buffer::Native;

/// Implements [`super::compress`]; returns `false` if the level or the size of the values does not
/// support it. `out` must have one slot per one of the bitmap.
pub(super) fn compress<T: Native>(
    level: Level,
    values: &[T],
    words: &[u64],
    out: &mut [T],
) -> bool {
    let (from, n, to, room) = (values.as_ptr(), values.len(), out.as_mut_ptr(), out.len());
    // SAFETY: the level proves the features; a `Native` value of a given size is that number of
    // plain bytes, and pointers and lengths are those of the slices.
    unsafe {
        match size_of::<T>() {
            1 if level.has_avx512() => compress_1(from.cast(), n, words, to.cast(), room),
            4 if level.has_avx512() => compress_4(from.cast(), n, words, to.cast(), room),
            8 if level.has_avx512() => compress_8(from.cast(), n, words, to.cast(), room),
            _ => return false,
        }
    }
    true
}

/// Implements [`super::expand`] for `num_values` values; returns `false` if the level or the size
/// of the values does not support it.
pub(super) fn expand<T: Native>(
    level: Level,
    slots: &mut [T],
    words: &[u64],
    num_values: usize,
) -> bool {
    let (start, n) = (slots.as_mut_ptr(), slots.len());
    // SAFETY: as in `compress`.
    unsafe {
        match size_of::<T>() {
            1 if level.has_avx512() => expand_1(start.cast(), n, words, num_values),
            4 if level.has_avx512() => expand_4(start.cast(), n, words, num_values),
            8 if level.has_avx512() => expand_8(start.cast(), n, words, num_values),
            _ => return false,
        }
    }
    true
}

macro_rules! kernels {
    (
        $features:literal, $compress:ident, $expand:ident, $t:ty, $mask:ty, $lanes:literal,
        $load_masked:ident, $store:ident, $store_masked:ident,
        $pick:ident, $spread:ident
    ) => {
        /// Moves the values at the ones of `words` to the front of `to`.
        ///
        /// # Safety
        /// `from` has `n` values, `to` has `room` slots, and `words` have `room` ones among the
        /// first `n` bits.
        #[target_feature(enable = $features)]
        unsafe fn $compress(from: *const $t, n: usize, words: &[u64], to: *mut $t, room: usize) {
            let mut filled = 0;
            for (index, word) in words[..n.div_ceil(64)].iter().enumerate() {
                let base = index * 64;
                let word = word & low_mask(n - base);
                if word == 0 {
                    continue;
                }
                for at in (0..64).step_by($lanes) {
                    let mask = (word >> at) as $mask;
                    let count = mask.count_ones() as usize;
                    // SAFETY: lanes at the ones of `mask` are below `n`, and other lanes are not
                    // read; the full store is within `room`, and the masked store writes `count`
                    // values, which are within the ones of `words`.
                    unsafe {
                        let start = from.wrapping_add(base + at);
                        let lanes = $pick(mask, $load_masked(mask, start.cast()));
                        if filled + $lanes <= room {
                            $store(to.add(filled).cast(), lanes);
                        } else {
                            let there = low_mask(count) as $mask;
                            $store_masked(to.wrapping_add(filled).cast(), there, lanes);
                        }
                    }
                    filled += count;
                }
            }
        }

        /// Moves the first `num_values` values to the slots at the ones of `words`, from the last
        /// to the first.
        ///
        /// # Safety
        /// `start` has `n` values, and `words` have `num_values` ones among the first `n` bits.
        #[target_feature(enable = $features)]
        unsafe fn $expand(start: *mut $t, n: usize, words: &[u64], num_values: usize) {
            let mut from = num_values;
            for (index, word) in words[..n.div_ceil(64)].iter().enumerate().rev() {
                let base = index * 64;
                if from == n.min(base + 64) {
                    return;
                }
                let word = word & low_mask(n - base);
                for at in (0..64).step_by($lanes).rev() {
                    let mask = (word >> at) as $mask;
                    if mask == 0 {
                        continue;
                    }
                    let count = mask.count_ones() as usize;
                    // There are `from` ones before slot `base + at` and in the lanes processed here
                    // together, so a store never overwrites a value that is still to be moved.
                    from -= count;
                    // SAFETY: the load reads `count` values from `from` on, which are below
                    // `num_values`; the store writes slots at ones, which are below `n`.
                    unsafe {
                        let there = low_mask(count) as $mask;
                        let packed = $load_masked(there, start.add(from).cast());
                        let to = start.wrapping_add(base + at);
                        $store_masked(to.cast(), mask, $spread(mask, packed));
                    }
                }
            }
        }
    };
}

kernels!(
    "avx512bw,avx512vbmi2,popcnt",
    compress_1,
    expand_1,
    u8,
    __mmask64,
    64,
    _mm512_maskz_loadu_epi8,
    _mm512_storeu_epi8,
    _mm512_mask_storeu_epi8,
    _mm512_maskz_compress_epi8,
    _mm512_maskz_expand_epi8
);
kernels!(
    "avx512f,popcnt",
    compress_4,
    expand_4,
    u32,
    __mmask16,
    16,
    _mm512_maskz_loadu_epi32,
    _mm512_storeu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_maskz_compress_epi32,
    _mm512_maskz_expand_epi32
);
kernels!(
    "avx512f,popcnt",
    compress_8,
    expand_8,
    u64,
    __mmask8,
    8,
    _mm512_maskz_loadu_epi64,
    _mm512_storeu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_maskz_compress_epi64,
    _mm512_maskz_expand_epi64
);
