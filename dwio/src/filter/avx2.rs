//! The batch test of 64 values compiled for AVX2: the loop of `batch.rs` with wider comparisons.
//!
//! The loop is compiled once for each form of test and each type. A variant for AVX-512 would be
//! faster only for values in the L1 cache, which does not justify its code size.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use vector::cpu::Level;

use super::batch;

/// Clears the bits of the values that fail the test. The test may also be evaluated on values that
/// are not selected.
///
/// # Panics
/// If the level does not include AVX2.
pub(super) fn retain<T: Copy>(
    level: Level,
    values: &[T],
    words: &mut [u64],
    tests: (impl Fn(T) -> bool, impl Fn(&[T; 64]) -> bool),
) {
    assert!(level.has_avx2(), "a level without AVX2");
    // SAFETY: `level` proves that the CPU has the required features.
    unsafe { retain_256(values, words, tests) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn retain_256<T: Copy>(
    values: &[T],
    words: &mut [u64],
    tests: (impl Fn(T) -> bool, impl Fn(&[T; 64]) -> bool),
) {
    batch::in_blocks(values, words, tests, |answers| {
        let half = |bytes: &[u8; 32]| {
            // SAFETY: reads 32 bytes; the load requires no alignment.
            let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            // Moves each result into the sign bit of its byte.
            u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32)
        };
        match answers.as_chunks::<32>().0 {
            [low, high] => half(low) | half(high) << 32,
            _ => 0,
        }
    });
}
