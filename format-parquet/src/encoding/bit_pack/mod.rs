//! Bit unpacking: values of a few bits each, stored without gaps, least significant bit first.
//!
//! ```text
//! width 3   byte 0    byte 1    byte 2
//!           22111000  54443332  77766655     digits: which value a bit belongs to
//! ```
//!
//! Any 32 values fill whole 32-bit words, so the portable kernel works on groups of 32: it reads
//! every value with one unaligned 8-byte load, a shift and a mask, all with constants that follow
//! from the width, which is a constant of the kernel. An incomplete group goes through a padded
//! copy.
//!
//! | file | contains |
//! |---|---|
//! | `avx2`, `avx512` | SIMD kernels: move bytes of several values to their lanes (rule P7.10) |
//! | `matching` | comparison of packed indices with a set, without unpacking them to memory |
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "kernels; the bytes of all values are checked first, and values are masked"
    )
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod matching;

use vector::cpu::{self, Level};
use vector::{BitmapMut, bits};

pub use matching::{PassTable, match_packed, match_packed_with};

/// Number of values in a group.
const GROUP: usize = 32;

/// Minimum number of values for which the preparation of a SIMD kernel pays off.
const FEW_VALUES: usize = 16;

/// Maximum number of bits of a value.
pub const MAX_WIDTH: u8 = 32;

/// Number of bytes behind its group that a load may touch.
const OVERREAD: usize = 8;

/// An integer type that values are unpacked to.
pub trait Unpacked: Copy + Default {
    /// Maximum number of bits of a value that fits this type.
    const MAX_WIDTH: u8;
    /// Truncates a loaded word to this type.
    fn from_word(word: u64) -> Self;
    /// Unpacks all of `out` with instructions of `level` and returns true, or does nothing and
    /// returns false.
    fn unpack_fast(level: Level, from: Packed<'_>, out: &mut [Self]) -> bool;
}

/// The position of packed values. The constructor's caller has checked that `bytes` hold all of
/// them.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a> {
    /// The bytes, starting with the one in which the first value starts.
    bytes: &'a [u8],
    /// Offset of the first value's lowest bit in the first byte.
    bit: usize,
    /// Number of bits of a value.
    width: usize,
}

impl<'a> Packed<'a> {
    fn new(bytes: &'a [u8], first: usize, width: u8) -> Self {
        let width = usize::from(width);
        let at = first * width;
        Packed { bytes: bytes.get(at / 8..).unwrap_or(&[]), bit: at % 8, width }
    }
}

impl Unpacked for u32 {
    const MAX_WIDTH: u8 = 32;
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as u32
    }
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    fn unpack_fast(level: Level, from: Packed<'_>, out: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        return avx512::unpack_u32(level, from, out) || avx2::unpack_u32(level, from, out);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
}

impl Unpacked for u8 {
    const MAX_WIDTH: u8 = 8;
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as u8
    }
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    fn unpack_fast(level: Level, from: Packed<'_>, out: &mut [Self]) -> bool {
        #[cfg(target_arch = "x86_64")]
        return avx512::unpack_u8(level, from, out) || avx2::unpack_u8(level, from, out);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
}

/// Returns the number of bytes that `num_values` values of `width` bits take; `None` on overflow.
pub fn packed_bytes(num_values: usize, width: u8) -> Option<usize> {
    num_values.checked_mul(usize::from(width)).map(|bits| bits.div_ceil(8))
}

/// Unpacks values `first..first + out.len()` of `bytes` into `out`.
///
/// # Panics
/// When `bytes` does not hold those values, or when `width` exceeds [`MAX_WIDTH`] or the maximum of
/// `T`.
pub fn unpack<T: Unpacked>(bytes: &[u8], first: usize, width: u8, out: &mut [T]) {
    unpack_with(cpu::level(), bytes, first, width, out);
}

/// Does the same as [`unpack`] with the instructions of `level` at most.
///
/// # Panics
/// Under the same conditions as [`unpack`].
pub fn unpack_with<T: Unpacked>(
    level: Level,
    bytes: &[u8],
    first: usize,
    width: u8,
    out: &mut [T],
) {
    assert!(width <= T::MAX_WIDTH && width <= MAX_WIDTH, "packed values are too wide");
    let end = first.checked_add(out.len()).and_then(|end| packed_bytes(end, width));
    assert!(end.is_some_and(|end| end <= bytes.len()), "packed values end too early");
    if width != 0
        && out.len() >= FEW_VALUES
        && T::unpack_fast(level, Packed::new(bytes, first, width), out)
    {
        return;
    }
    macro_rules! by_width {
        ($($w:literal)*) => {
            match width {
                0 => out.fill(T::default()),
                $($w => unpack_width::<$w, T>(bytes, first, out),)*
                _ => {}
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

fn unpack_width<const WIDTH: usize, T: Unpacked>(bytes: &[u8], first: usize, out: &mut [T]) {
    let mut group = first / GROUP;
    let mut out = out;
    let skipped = first % GROUP;
    if skipped != 0 {
        let values = one_group::<WIDTH, T>(bytes, group);
        let (head, rest) = out.split_at_mut((GROUP - skipped).min(out.len()));
        head.copy_from_slice(&values[skipped..skipped + head.len()]);
        out = rest;
        group += 1;
    }
    let (groups, tail) = out.as_chunks_mut::<GROUP>();
    for values in groups {
        let start = group * WIDTH * 4;
        match bytes.get(start..start + WIDTH * 4 + OVERREAD) {
            Some(input) => unpack_group::<WIDTH, T>(input, values),
            None => *values = one_group::<WIDTH, T>(bytes, group),
        }
        group += 1;
    }
    if !tail.is_empty() {
        let values = one_group::<WIDTH, T>(bytes, group);
        tail.copy_from_slice(&values[..tail.len()]);
    }
}

/// Unpacks a group from a padded copy, because the bytes end inside of it or right behind it.
fn one_group<const WIDTH: usize, T: Unpacked>(bytes: &[u8], group: usize) -> [T; GROUP] {
    let mut padded = [0u8; GROUP * 4 + OVERREAD];
    let rest = bytes.get(group * WIDTH * 4..).unwrap_or(&[]);
    let there = rest.len().min(WIDTH * 4);
    padded[..there].copy_from_slice(&rest[..there]);
    let mut values = [T::default(); GROUP];
    unpack_group::<WIDTH, T>(&padded, &mut values);
    values
}

#[inline(always)]
fn unpack_group<const WIDTH: usize, T: Unpacked>(input: &[u8], out: &mut [T; GROUP]) {
    let input = &input[..WIDTH * 4 + OVERREAD];
    let mask = (1u64 << WIDTH) - 1;
    for (i, value) in out.iter_mut().enumerate() {
        let bit = i * WIDTH;
        let mut word = [0u8; 8];
        word.copy_from_slice(&input[bit / 8..bit / 8 + 8]);
        *value = T::from_word((u64::from_le_bytes(word) >> (bit % 8)) & mask);
    }
}

/// Appends bits `first..first + num_bits` of `bytes` to `out`.
///
/// # Panics
/// When `bytes` does not hold those bits.
pub fn append_bits(bytes: &[u8], first: usize, num_bits: usize, out: &mut BitmapMut) {
    let end = first + num_bits;
    assert!(end.div_ceil(8) <= bytes.len(), "bits end too early");
    let mut left = num_bits;
    let mut writer = out.writer();
    let mut bytes = &bytes[first / 8..];
    if !first.is_multiple_of(8) && left > 0 {
        let n = left.min(8 - first % 8);
        writer.push(u64::from(bytes[0] >> (first % 8)) & bits::low_mask(n), n);
        left -= n;
        bytes = &bytes[1..];
    }
    let (words, rest) = bytes[..left.div_ceil(8)].as_chunks::<8>();
    for word in words {
        let n = left.min(64);
        writer.push(u64::from_le_bytes(*word) & bits::low_mask(n), n);
        left -= n;
    }
    for byte in rest {
        let n = left.min(8);
        writer.push(u64::from(*byte) & bits::low_mask(n), n);
        left -= n;
    }
}

/// Packs values: the inverse of unpacking, also used by the tests of other files.
#[cfg(test)]
pub(crate) fn pack(values: &[u32], width: u8) -> Vec<u8> {
    let mut bytes = vec![0u8; packed_bytes(values.len(), width).unwrap()];
    for (i, value) in values.iter().enumerate() {
        for bit in 0..usize::from(width) {
            if value >> bit & 1 != 0 {
                let at = i * usize::from(width) + bit;
                bytes[at / 8] |= 1 << (at % 8);
            }
        }
    }
    bytes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(super) fn naive(bytes: &[u8], first: usize, width: u8, n: usize) -> Vec<u32> {
        let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
        let width = usize::from(width);
        (first..first + n)
            .map(|i| (0..width).fold(0, |value, b| value | bit(i * width + b) << b))
            .collect()
    }

    pub(super) fn noise(n: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn unpacking_any_part_at_any_width_equals_the_naive_twin() {
        for width in 0..=MAX_WIDTH {
            let bytes = noise(packed_bytes(200, width).unwrap());
            for first in [0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 100, 199] {
                for n in [0, 1, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 150, 199] {
                    if first + n > 200 {
                        continue;
                    }
                    let expected = naive(&bytes, first, width, n);
                    for level in Level::available() {
                        let mut out = vec![0u32; n];
                        unpack_with(level, &bytes, first, width, &mut out);
                        assert_eq!(out, expected, "{level:?} {width} {first} {n}");
                        if width <= 8 {
                            let mut out = vec![0u8; n];
                            unpack_with(level, &bytes, first, width, &mut out);
                            assert!(out.iter().map(|v| u32::from(*v)).eq(expected.clone()));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn packed_values_come_back() {
        let values: Vec<u32> = (0..100).map(|i| i * 77 % 1000).collect();
        let mut out = vec![0; 100];
        unpack(&pack(&values, 10), 0, 10, &mut out);
        assert_eq!(out, values);
    }

    #[test]
    fn bits_are_appended_from_any_place_to_any_place() {
        let bytes = noise(700);
        for first in [0, 1, 7, 8, 65] {
            for n in [0, 1, 63, 64, 65, 2000, 5000] {
                let mut out = BitmapMut::new();
                out.push_n(true, 3);
                append_bits(&bytes, first, n, &mut out);
                let expected = naive(&bytes, first, 1, n);
                assert!(expected.iter().enumerate().all(|(i, b)| out.get(3 + i) == (*b == 1)));
                assert_eq!(out.len(), n + 3);
            }
        }
    }
}
