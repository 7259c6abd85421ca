//! Bit unpacking with AVX-512 VBMI: a byte permutation moves each value's bytes to its lane, then
//! each lane is shifted and masked.
//!
//! The control vectors are computed from the first value's bit offset and the width by a few
//! instructions, so there are no tables, and a kernel can start at any value: sixteen (or eight, or
//! 64) values take whole bytes, so the bit offset of the first value is the same in every step.
//! Loads and stores at the end are masked, so that nothing outside of the slices is read or
//! written.
#![cfg_attr(
    not(test),
    expect(clippy::cast_possible_wrap, reason = "kernel; lanes and their numbers are small")
)]
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use vector::cpu::Level;

use super::Packed;
use super::matching::Wanted;

/// Maximum width at which a value with an offset of up to seven bits fits into four bytes.
const MAX_NARROW: usize = 25;

/// Unpacks all of `out` and returns true, or returns false if the level lacks the instructions.
pub(super) fn unpack_u32(level: Level, from: Packed<'_>, out: &mut [u32]) -> bool {
    if level.has_avx512() {
        // SAFETY: the level proves the features.
        unsafe {
            if from.width <= MAX_NARROW { narrow_u32(from, out) } else { wide_u32(from, out) }
        }
    }
    level.has_avx512()
}

/// Unpacks all of `out` and returns true, or returns false if the level lacks the instructions.
pub(super) fn unpack_u8(level: Level, from: Packed<'_>, out: &mut [u8]) -> bool {
    if level.has_avx512() {
        // SAFETY: the level proves the features.
        unsafe { all_u8(from, out) }
    }
    level.has_avx512()
}

/// Returns a mask of the lowest `n` of 64 lanes.
#[inline(always)]
fn first_lanes(n: usize) -> u64 {
    vector::bits::low_mask(n)
}

/// Loads 64 bytes from `at` on; those behind the end of the slice are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(bytes: &[u8], at: usize) -> __m512i {
    let rest = bytes.get(at..).unwrap_or(&[]);
    let start = rest.as_ptr().cast::<i8>();
    if rest.len() >= 64 {
        // SAFETY: 64 bytes are there; the load needs no alignment.
        unsafe { _mm512_loadu_epi8(start) }
    } else {
        // SAFETY: lanes behind the slice's end are masked and not read.
        unsafe { _mm512_maskz_loadu_epi8(first_lanes(rest.len()), start) }
    }
}

/// Control vectors that take sixteen values of at most [`MAX_NARROW`] bits from the first bytes of
/// a vector.
#[derive(Clone, Copy)]
struct Narrow {
    places: __m512i,
    shifts: __m512i,
    mask: __m512i,
    /// Number of bytes that sixteen values take.
    step: usize,
}

impl Narrow {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(from: Packed<'_>) -> Self {
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let bits = _mm512_add_epi32(
            _mm512_mullo_epi32(lanes, _mm512_set1_epi32(from.width as i32)),
            _mm512_set1_epi32(from.bit as i32),
        );
        // The number of each lane's first byte, in all four bytes of the lane, plus 0 to 3.
        let first = _mm512_srli_epi32::<3>(bits);
        let places = _mm512_add_epi32(
            _mm512_mullo_epi32(first, _mm512_set1_epi32(0x0101_0101)),
            _mm512_set1_epi32(0x0302_0100),
        );
        Narrow {
            places,
            shifts: _mm512_and_si512(bits, _mm512_set1_epi32(7)),
            mask: _mm512_set1_epi32((1i32 << from.width) - 1),
            step: from.width * 2,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn values(&self, bytes: __m512i) -> __m512i {
        let lanes = _mm512_permutexvar_epi8(self.places, bytes);
        _mm512_and_si512(_mm512_srlv_epi32(lanes, self.shifts), self.mask)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn narrow_u32(from: Packed<'_>, out: &mut [u32]) {
    let narrow = Narrow::new(from);
    let (mut at, (groups, tail)) = (0, out.as_chunks_mut::<16>());
    for values in groups {
        let lanes = narrow.values(load(from.bytes, at));
        // SAFETY: sixteen values of four bytes are 64 bytes; the store needs no alignment.
        unsafe { _mm512_storeu_epi32(values.as_mut_ptr().cast(), lanes) };
        at += narrow.step;
    }
    if !tail.is_empty() {
        let lanes = narrow.values(load(from.bytes, at));
        let mask = first_lanes(tail.len()) as __mmask16;
        // SAFETY: lanes behind the tail's end are masked and not written.
        unsafe { _mm512_mask_storeu_epi32(tail.as_mut_ptr().cast(), mask, lanes) };
    }
}

/// Control vectors that take eight values of any width from the first bytes of a vector.
#[derive(Clone, Copy)]
struct Wide {
    places: __m512i,
    shifts: __m512i,
    mask: __m512i,
    /// Number of bytes that eight values take.
    step: usize,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn new(from: Packed<'_>) -> Self {
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let bits = _mm512_add_epi64(
            _mm512_mullo_epi64(lanes, _mm512_set1_epi64(from.width as i64)),
            _mm512_set1_epi64(from.bit as i64),
        );
        let first = _mm512_srli_epi64::<3>(bits);
        let places = _mm512_add_epi64(
            _mm512_mullo_epi64(first, _mm512_set1_epi64(0x0101_0101_0101_0101)),
            _mm512_set1_epi64(0x0706_0504_0302_0100),
        );
        Wide {
            places,
            shifts: _mm512_and_si512(bits, _mm512_set1_epi64(7)),
            mask: _mm512_set1_epi64((1i64 << from.width) - 1),
            step: from.width,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn values(&self, bytes: __m512i) -> __m256i {
        let lanes = _mm512_permutexvar_epi8(self.places, bytes);
        _mm512_cvtepi64_epi32(_mm512_and_si512(_mm512_srlv_epi64(lanes, self.shifts), self.mask))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn wide_u32(from: Packed<'_>, out: &mut [u32]) {
    let wide = Wide::new(from);
    let (mut at, (groups, tail)) = (0, out.as_chunks_mut::<8>());
    for values in groups {
        let lanes = wide.values(load(from.bytes, at));
        // SAFETY: eight values of four bytes are 32 bytes; the store needs no alignment.
        unsafe { _mm256_storeu_epi32(values.as_mut_ptr().cast(), lanes) };
        at += wide.step;
    }
    if !tail.is_empty() {
        let lanes = wide.values(load(from.bytes, at));
        let mask = first_lanes(tail.len()) as __mmask8;
        // SAFETY: lanes behind the tail's end are masked and not written.
        unsafe { _mm256_mask_storeu_epi32(tail.as_mut_ptr().cast(), mask, lanes) };
    }
}

/// Control vectors that take 64 values of at most eight bits from the first bytes of a vector:
/// eight in each 64-bit lane.
#[derive(Clone, Copy)]
struct Bytes {
    places: __m512i,
    shifts: __m512i,
    mask: __m512i,
    /// Number of bytes that 64 values take.
    step: usize,
}

impl Bytes {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn new(from: Packed<'_>) -> Self {
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let first = _mm512_mullo_epi64(lanes, _mm512_set1_epi64(from.width as i64));
        let places = _mm512_add_epi64(
            _mm512_mullo_epi64(first, _mm512_set1_epi64(0x0101_0101_0101_0101)),
            _mm512_set1_epi64(0x0706_0504_0302_0100),
        );
        // Value j of a lane starts at bit j times the width; an offset of up to seven bits fits at
        // width 7, and values of width 8 start at bit 0.
        let shifts =
            0x0706_0504_0302_0100 * from.width as i64 + 0x0101_0101_0101_0101 * from.bit as i64;
        Bytes {
            places,
            shifts: _mm512_set1_epi64(shifts),
            mask: _mm512_set1_epi8(((1u32 << from.width) - 1) as i8),
            step: from.width * 8,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn values(&self, bytes: __m512i) -> __m512i {
        let lanes = _mm512_permutexvar_epi8(self.places, bytes);
        _mm512_and_si512(_mm512_multishift_epi64_epi8(self.shifts, lanes), self.mask)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn all_u8(from: Packed<'_>, out: &mut [u8]) {
    let bytes = Bytes::new(from);
    let (mut at, (groups, tail)) = (0, out.as_chunks_mut::<64>());
    for values in groups {
        let lanes = bytes.values(load(from.bytes, at));
        // SAFETY: 64 bytes; the store needs no alignment.
        unsafe { _mm512_storeu_epi8(values.as_mut_ptr().cast(), lanes) };
        at += bytes.step;
    }
    if !tail.is_empty() {
        let lanes = bytes.values(load(from.bytes, at));
        // SAFETY: lanes behind the tail's end are masked and not written.
        unsafe {
            _mm512_mask_storeu_epi8(tail.as_mut_ptr().cast(), first_lanes(tail.len()), lanes);
        }
    }
}

/// Writes to `words` whether each of `num_values` values is wanted and returns the largest value.
/// Returns `None` when the level lacks the instructions or there is no kernel for the width and
/// form.
pub(super) fn matches(
    level: Level,
    from: Packed<'_>,
    num_values: usize,
    wanted: &Wanted,
    words: &mut [u64],
) -> Option<u32> {
    if !level.has_avx512() {
        return None;
    }
    // SAFETY: the level proves the features.
    unsafe {
        match wanted {
            wanted if from.width <= 8 => Some(match_bytes(from, num_values, wanted, words)),
            _ if from.width > MAX_NARROW => None,
            Wanted::Interval { low, last } => {
                Some(match_interval(from, num_values, (*low, *last), words))
            }
            Wanted::Bits(bits) => Some(match_bits(from, num_values, bits, words)),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn match_bytes(from: Packed<'_>, num_values: usize, wanted: &Wanted, words: &mut [u64]) -> u32 {
    let bytes = Bytes::new(from);
    // The upper five bits of an eight-bit index select a byte of the bitmap, and its lower three
    // the bit in that byte.
    let (low, last, table) = match wanted {
        // No index of eight bits is wanted.
        Wanted::Interval { low, .. } if *low > 255 => (1, 0, None),
        Wanted::Interval { low, last } => (*low, (*last).min(255), None),
        Wanted::Bits(bits) => {
            let mut table = [0u8; 64];
            for (to, word) in table.as_chunks_mut::<8>().0.iter_mut().zip(bits.iter().take(4)) {
                *to = word.to_le_bytes();
            }
            (0, 0, Some(load(&table, 0)))
        }
    };
    let (low, last) = (_mm512_set1_epi8(low as i8), _mm512_set1_epi8(last as i8));
    let one_of_eight = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let mut max = _mm512_setzero_si512();
    let (mut at, mut left) = (0, num_values);
    for word in words {
        let there = first_lanes(left);
        let values = _mm512_maskz_mov_epi8(there, bytes.values(load(from.bytes, at)));
        max = _mm512_max_epu8(max, values);
        let found = match table {
            None => _mm512_cmpge_epu8_mask(values, low) & _mm512_cmple_epu8_mask(values, last),
            Some(table) => {
                let places = _mm512_and_si512(_mm512_srli_epi16::<3>(values), _mm512_set1_epi8(31));
                let eights = _mm512_permutexvar_epi8(places, table);
                let bits = _mm512_and_si512(values, _mm512_set1_epi8(7));
                _mm512_test_epi8_mask(eights, _mm512_shuffle_epi8(one_of_eight, bits))
            }
        };
        *word = found & there;
        at += bytes.step;
        left = left.saturating_sub(64);
    }
    let mut largest = [0u8; 64];
    // SAFETY: 64 bytes; the store needs no alignment.
    unsafe { _mm512_storeu_epi8(largest.as_mut_ptr().cast(), max) };
    largest.into_iter().max().unwrap_or(0).into()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn match_interval(
    from: Packed<'_>,
    num_values: usize,
    (low, last): (u32, u32),
    words: &mut [u64],
) -> u32 {
    let (low, last) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32(last as i32));
    match_narrow(from, num_values, words, |values| {
        _mm512_cmpge_epu32_mask(values, low) & _mm512_cmple_epu32_mask(values, last)
    })
}

/// Looks up the bit of each value in a bitmap. A bitmap of up to 2048 bits is held in registers and
/// its 32-bit words are permuted; a larger one is gathered from memory.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn match_bits(from: Packed<'_>, num_values: usize, bits: &[u64], words: &mut [u64]) -> u32 {
    let [a, b, c, d] = [0, 8, 16, 24].map(|at| load_words(bits, at));
    let halves = _mm512_set1_epi32(32);
    match bits.len() {
        ..=16 => match_narrow(from, num_values, words, |values| {
            let places = _mm512_srli_epi32::<5>(values);
            let found = _mm512_permutex2var_epi32(a, places, b);
            bit_is_one(found, values) & _mm512_cmplt_epu32_mask(places, halves)
        }),
        17..=32 => match_narrow(from, num_values, words, |values| {
            let places = _mm512_srli_epi32::<5>(values);
            let lower = _mm512_permutex2var_epi32(a, places, b);
            let upper = _mm512_permutex2var_epi32(c, places, d);
            let is_upper = _mm512_test_epi32_mask(places, halves);
            let found = _mm512_mask_blend_epi32(is_upper, lower, upper);
            let inside = _mm512_cmplt_epu32_mask(places, _mm512_add_epi32(halves, halves));
            bit_is_one(found, values) & inside
        }),
        num_words => {
            // Values have at most `MAX_NARROW` bits, so that their word numbers fit.
            let end = _mm512_set1_epi32(num_words.saturating_mul(2).min(1 << 30) as i32);
            match_narrow(from, num_values, words, |values| {
                let places = _mm512_srli_epi32::<5>(values);
                let inside = _mm512_cmplt_epu32_mask(places, end);
                let nothing = _mm512_setzero_si512();
                let start = bits.as_ptr().cast::<i32>();
                // SAFETY: lanes outside of the table are masked and not read.
                let found =
                    unsafe { _mm512_mask_i32gather_epi32::<4>(nothing, inside, places, start) };
                bit_is_one(found, values)
            })
        }
    }
}

/// Loads eight words from word number `at` on; those behind the end of the slice are zero.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(words: &[u64], at: usize) -> __m512i {
    let rest = words.get(at..).unwrap_or(&[]);
    let there = first_lanes(rest.len().min(8)) as __mmask8;
    // SAFETY: lanes behind the slice's end are masked and not read.
    unsafe { _mm512_maskz_loadu_epi64(there, rest.as_ptr().cast()) }
}

/// Tests the bit of each word that the five lowest bits of the value select.
#[inline]
#[target_feature(enable = "avx512f")]
fn bit_is_one(words: __m512i, values: __m512i) -> __mmask16 {
    let bit = _mm512_and_si512(values, _mm512_set1_epi32(31));
    _mm512_test_epi32_mask(words, _mm512_sllv_epi32(_mm512_set1_epi32(1), bit))
}

/// Processes sixteen values at a time; `test` returns a mask of the wanted ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn match_narrow(
    from: Packed<'_>,
    num_values: usize,
    words: &mut [u64],
    test: impl Fn(__m512i) -> __mmask16,
) -> u32 {
    let narrow = Narrow::new(from);
    let mut max = _mm512_setzero_si512();
    let (mut at, mut left) = (0, num_values);
    for word in words {
        *word = 0;
        for quarter in 0..4 {
            let there = first_lanes(left) as __mmask16;
            let values = _mm512_maskz_mov_epi32(there, narrow.values(load(from.bytes, at)));
            max = _mm512_max_epu32(max, values);
            *word |= u64::from(test(values) & there) << (16 * quarter);
            at += narrow.step;
            left = left.saturating_sub(16);
        }
    }
    _mm512_reduce_max_epu32(max)
}
