//! Compression of values of four and eight bytes by a permutation that PEXT derives from the mask.
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
    let can = level.has_fast_pext() && matches!(size_of::<T>(), 4 | 8);
    if can {
        // SAFETY: the level proves the features.
        unsafe { picked(values, words, out) }
    }
    can
}

/// Processes 32 bytes at a time: eight values of four bytes, or four values of eight bytes that are
/// moved as two halves each.
#[target_feature(enable = "avx2,bmi2,popcnt")]
fn picked<T: Native>(values: &[T], words: &[u64], out: &mut [T]) {
    let lanes = 32 / size_of::<T>();
    let mut filled = 0;
    for (values, word) in values.chunks(64).zip(words) {
        let mut rest = word & low_mask(values.len());
        for values in values.chunks(lanes) {
            let bits = rest & low_mask(lanes);
            rest >>= lanes;
            let count = bits.count_ones() as usize;
            if bits == 0 {
                continue;
            }
            if values.len() == lanes && filled + lanes <= out.len() {
                // SAFETY: `lanes` values, which are 32 bytes together, exist on both sides; neither
                // the load nor the store needs alignment, and `Native` values are plain bytes.
                unsafe {
                    let loaded = _mm256_loadu_si256(values.as_ptr().cast());
                    let moved = _mm256_permutevar8x32_epi32(loaded, order::<T>(bits));
                    _mm256_storeu_si256(out.as_mut_ptr().add(filled).cast(), moved);
                }
            } else {
                let ones = (0..values.len()).filter(|i| bits >> i & 1 != 0);
                for (slot, i) in out[filled..].iter_mut().zip(ones) {
                    *slot = values[i];
                }
            }
            filled += count;
        }
    }
}

/// Returns the numbers of the 4-byte parts of the selected values, in the lowest lanes.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn order<T: Native>(bits: u64) -> __m256i {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let parts = if size_of::<T>() == 8 { _pdep_u64(bits, 0x55) * 3 } else { bits };
    let numbers = _pext_u64(0x0706_0504_0302_0100, _pdep_u64(parts, EACH) * 0xff);
    _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(numbers as i64))
}
