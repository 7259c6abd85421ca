//! Bit unpacking with AVX2 and BMI2, for CPUs without byte permutations across a whole vector.
//!
//! Eight values of at most 25 bits come from two 16-byte loads, one for each half of the vector: a
//! shuffle moves each value's four bytes to its lane, then each lane is shifted and masked. Eight
//! values of at most eight bits are one PDEP. Wider values are left to the portable kernel.
#![cfg_attr(
    not(test),
    expect(clippy::cast_possible_wrap, reason = "kernel; lanes and their numbers are small")
)]
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use vector::cpu::Level;

use super::Packed;

/// Maximum width at which a value with an offset of up to seven bits fits into four bytes.
const MAX_NARROW: usize = 25;

/// Number of bytes from the start of a group that a step may load.
const LOADED: usize = 32;

/// Unpacks all of `out` and returns true, or returns false if the level lacks the instructions or
/// the width is too large.
pub(super) fn unpack_u32(level: Level, from: Packed<'_>, out: &mut [u32]) -> bool {
    let can = level.has_avx2() && from.width <= MAX_NARROW;
    if can {
        // SAFETY: the level proves the features.
        unsafe { narrow_u32(from, out) }
    }
    can
}

/// Unpacks all of `out` and returns true, or returns false if the level lacks the instructions.
pub(super) fn unpack_u8(level: Level, from: Packed<'_>, out: &mut [u8]) -> bool {
    let can = level.has_avx2() && level.has_fast_pext();
    if can {
        // SAFETY: the level proves the feature.
        unsafe { all_u8(from, out) }
    }
    can
}

/// Control vectors that move the bytes of eight values to eight lanes.
struct Narrow {
    places: __m256i,
    shifts: __m256i,
    mask: __m256i,
    /// Offset of the byte in which the fifth value starts.
    second: usize,
}

impl Narrow {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(from: Packed<'_>) -> Self {
        let second = (from.bit + 4 * from.width) / 8;
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        // The bytes of the upper half are loaded from the first byte of the fifth value on.
        let (low, high) = (from.bit as i32, from.bit as i32 - 8 * second as i32);
        let bits = _mm256_add_epi32(
            _mm256_mullo_epi32(lanes, _mm256_set1_epi32(from.width as i32)),
            _mm256_setr_epi32(low, low, low, low, high, high, high, high),
        );
        let first = _mm256_srli_epi32::<3>(bits);
        let places = _mm256_add_epi32(
            _mm256_mullo_epi32(first, _mm256_set1_epi32(0x0101_0101)),
            _mm256_set1_epi32(0x0302_0100),
        );
        Narrow {
            places,
            shifts: _mm256_and_si256(bits, _mm256_set1_epi32(7)),
            mask: _mm256_set1_epi32((1i32 << from.width) - 1),
            second,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn values(&self, bytes: &[u8; LOADED]) -> [u32; 8] {
        let mut values = [0; 8];
        let start = bytes.as_ptr();
        // SAFETY: the fifth value starts in byte 13 at most (7 bits and four times 25), so both
        // loads are within 32 bytes; the store is of 32 bytes. None needs alignment.
        unsafe {
            let low = _mm_loadu_si128(start.cast());
            let high = _mm_loadu_si128(start.add(self.second).cast());
            let lanes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), self.places);
            let lanes = _mm256_and_si256(_mm256_srlv_epi32(lanes, self.shifts), self.mask);
            _mm256_storeu_si256(values.as_mut_ptr().cast(), lanes);
        }
        values
    }
}

#[target_feature(enable = "avx2")]
fn narrow_u32(from: Packed<'_>, out: &mut [u32]) {
    let narrow = Narrow::new(from);
    let mut ends = Ends::new(from.bytes);
    let (groups, tail) = out.as_chunks_mut::<8>();
    for values in groups {
        *values = narrow.values(ends.next(from.width));
    }
    if !tail.is_empty() {
        let values = narrow.values(ends.next(from.width));
        tail.copy_from_slice(&values[..tail.len()]);
    }
}

/// The bytes of consecutive groups; near the end they come from a padded copy.
struct Ends<'a> {
    bytes: &'a [u8],
    at: usize,
    padded: [u8; 2 * LOADED],
    /// Offset in `bytes` at which the copy starts; `None` before there is a copy.
    copied: Option<usize>,
}

impl<'a> Ends<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8]) -> Self {
        Ends { bytes, at: 0, padded: [0; 2 * LOADED], copied: None }
    }

    /// Returns the bytes from the start of the current group, which takes `step` of them.
    #[inline(always)]
    fn next(&mut self, step: usize) -> &[u8; LOADED] {
        let at = self.at;
        self.at += step;
        if let Some(loaded) = self.bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            return loaded;
        }
        self.padded_at(at)
    }

    #[cold]
    fn padded_at(&mut self, at: usize) -> &[u8; LOADED] {
        const NOTHING: [u8; LOADED] = [0; LOADED];
        let start = *self.copied.get_or_insert_with(|| {
            for (to, from) in self.padded.iter_mut().zip(self.bytes.iter().skip(at)) {
                *to = *from;
            }
            at
        });
        self.padded.get(at - start..).and_then(|rest| rest.first_chunk()).unwrap_or(&NOTHING)
    }
}

#[target_feature(enable = "bmi2")]
fn all_u8(from: Packed<'_>, out: &mut [u8]) {
    let mask = 0x0101_0101_0101_0101 * ((1u64 << from.width) - 1);
    let mut at = 0;
    for values in out.chunks_mut(8) {
        let rest = from.bytes.get(at..).unwrap_or(&[]);
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        // An offset of up to seven bits fits at width 7, and values of width 8 start at bit 0.
        let spread = _pdep_u64(word >> from.bit, mask).to_le_bytes();
        match <&mut [u8; 8]>::try_from(&mut *values) {
            Ok(values) => *values = spread,
            Err(_) => values.copy_from_slice(&spread[..values.len()]),
        }
        at += from.width;
    }
}
