//! Kernels over bitmaps: `u64` words, least significant bit first.
//!
//! Bit `i` is bit `i % 64` of word `i / 64`, as in Arrow and Velox. A bitmap of `len` bits has
//! [`words_for`] words. Bits beyond `len` are unspecified unless a function states otherwise, so
//! counting masks the last word (rule S1.3). All kernels process whole words; `bitvec` slices are
//! used in public interfaces and as the reference in tests. Selection of bits by a mask is in
//! `packing`.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod bmi2;
mod packing;

use std::ops::Range;

use crate::cpu::{self, Level};
use crate::memory::buffer::BufferMut;

pub use packing::{
    compress, compress_with, compress_word, compress_word_with, expand, expand_with, expand_word,
    expand_word_with,
};

/// Returns the number of words that hold `len` bits.
#[inline]
pub fn words_for(len: usize) -> usize {
    len.div_ceil(64)
}

/// Returns a word whose lowest `n` bits are set; all bits are set from 64 on.
#[inline]
pub fn low_mask(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// Returns bit `i`.
///
/// # Panics
/// If the bit is outside of the words.
#[inline]
pub fn get(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 != 0
}

/// Sets bit `i` to one.
#[inline]
pub fn set(words: &mut [u64], i: usize) {
    words[i / 64] |= 1 << (i % 64);
}

/// Sets bit `i` to zero.
#[inline]
pub fn clear(words: &mut [u64], i: usize) {
    words[i / 64] &= !(1 << (i % 64));
}

/// Sets bit `i` to `value`.
#[inline]
pub fn assign(words: &mut [u64], i: usize, value: bool) {
    let (word, bit) = (&mut words[i / 64], i % 64);
    *word = *word & !(1 << bit) | u64::from(value) << bit;
}

/// Returns the number of ones among the first `len` bits.
pub fn count_ones(words: &[u64], len: usize) -> usize {
    count_ones_with(cpu::level(), words, len)
}

/// Implements [`count_ones`] with at most the instructions of `level`.
pub fn count_ones_with(level: Level, words: &[u64], len: usize) -> usize {
    let full = len / 64;
    let mut count = count_words(level, &words[..full]);
    if !len.is_multiple_of(64) {
        count += (words[full] & low_mask(len % 64)).count_ones() as usize;
    }
    count
}

/// Returns the number of ones in all words.
#[inline]
fn count_words(level: Level, words: &[u64]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(count) = bmi2::count_ones(level, words) {
        return count;
    }
    let _ = level;
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// Returns the number of ones in a range of bits.
pub fn count_ones_in(words: &[u64], range: Range<usize>) -> usize {
    if range.is_empty() {
        return 0;
    }
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let head = u64::MAX << (range.start % 64);
    let tail = low_mask((range.end - 1) % 64 + 1);
    if first == last {
        return (words[first] & head & tail).count_ones() as usize;
    }
    let ends = (words[first] & head).count_ones() + (words[last] & tail).count_ones();
    ends as usize + count_words(cpu::level(), &words[first + 1..last])
}

/// Returns true if the first `len` bits are all one.
pub fn all_ones(words: &[u64], len: usize) -> bool {
    let full = len / 64;
    let tail = low_mask(len % 64);
    words[..full].iter().all(|w| *w == u64::MAX)
        && (len.is_multiple_of(64) || words[full] & tail == tail)
}

/// Sets a range of bits to `value`.
pub fn fill(words: &mut [u64], range: Range<usize>, value: bool) {
    for_each_word(range, |index, mask| {
        if value {
            words[index] |= mask;
        } else {
            words[index] &= !mask;
        }
    });
}

/// Calls `f(word index, mask)` for every word that a range of bits overlaps.
#[inline]
fn for_each_word(range: Range<usize>, mut f: impl FnMut(usize, u64)) {
    if range.is_empty() {
        return;
    }
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let head = u64::MAX << (range.start % 64);
    let tail = low_mask((range.end - 1) % 64 + 1);
    if first == last {
        return f(first, head & tail);
    }
    f(first, head);
    for index in first + 1..last {
        f(index, u64::MAX);
    }
    f(last, tail);
}

/// Computes `a &= b` for the words that both have.
pub fn and_assign(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x &= y);
}

/// Computes `a |= b` for the words that both have.
pub fn or_assign(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x |= y);
}

/// Computes `a &= !b` for the words that both have.
pub fn and_not_assign(a: &mut [u64], b: &[u64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x &= !y);
}

/// Inverts every bit of every word.
pub fn not_assign(words: &mut [u64]) {
    words.iter_mut().for_each(|w| *w = !*w);
}

/// Returns 64 bits from bit `offset` on; bits beyond the last word read as zero.
#[inline]
pub fn word_at(words: &[u64], offset: usize) -> u64 {
    let (index, shift) = (offset / 64, offset % 64);
    let low = words.get(index).copied().unwrap_or(0) >> shift;
    if shift == 0 {
        return low;
    }
    low | words.get(index + 1).copied().unwrap_or(0) << (64 - shift)
}

/// Copies `len` bits from bit `from` of `source` to bit `to` of `target`; all other bits are
/// unchanged.
pub fn copy(source: &[u64], from: usize, target: &mut [u64], to: usize, len: usize) {
    let mut done = 0;
    while done < len {
        let at = to + done;
        let n = (64 - at % 64).min(len - done);
        let mask = low_mask(n) << (at % 64);
        let bits = word_at(source, from + done) << (at % 64);
        let word = &mut target[at / 64];
        *word = *word & !mask | bits & mask;
        done += n;
    }
}

/// Iterates over the positions of the ones among the first `len` bits, in ascending order.
pub fn ones(words: &[u64], len: usize) -> Ones<'_> {
    let first = words.first().copied().unwrap_or(0) & low_mask(len);
    Ones { words, len, index: 0, word: first }
}

/// Iterator returned by [`ones`].
#[derive(Debug, Clone)]
pub struct Ones<'a> {
    words: &'a [u64],
    len: usize,
    index: usize,
    word: u64,
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.index += 1;
            if self.index >= words_for(self.len) {
                return None;
            }
            self.word = self.words[self.index] & low_mask(self.len - self.index * 64);
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.index * 64 + bit)
    }
}

/// Appends the positions of the ones among the first `len` bits to `out`.
pub fn ones_into(words: &[u64], len: usize, out: &mut BufferMut<u32>) {
    ones_into_with(cpu::level(), words, len, out);
}

/// Implements [`ones_into`] with at most the instructions of `level`.
pub fn ones_into_with(level: Level, words: &[u64], len: usize, out: &mut BufferMut<u32>) {
    let start = out.len();
    out.resize_unspecified(start + count_ones(words, len));
    let slots = &mut out.as_mut_slice()[start..];
    #[cfg(target_arch = "x86_64")]
    if avx512::ones_into(level, words, len, slots) {
        return;
    }
    let _ = level;
    for (slot, position) in slots.iter_mut().zip(ones(words, len)) {
        *slot = position as u32;
    }
}

/// Appends, for each one of `ones`, the number of ones of `within` at lower positions.
pub fn ranks_into(ones: &[u64], within: &[u64], out: &mut BufferMut<u32>) {
    ranks_into_with(cpu::level(), ones, within, out);
}

/// Implements [`ranks_into`] with at most the instructions of `level`.
pub fn ranks_into_with(level: Level, ones: &[u64], within: &[u64], out: &mut BufferMut<u32>) {
    let start = out.len();
    out.resize_unspecified(start + count_ones_with(level, ones, ones.len() * 64));
    let slots = &mut out.as_mut_slice()[start..];
    #[cfg(target_arch = "x86_64")]
    if bmi2::ranks(level, ones, within, slots) {
        return;
    }
    let _ = level;
    ranks_each(ones, within, slots);
}

/// Implements [`ranks_into`] with the instructions of the function it is inlined into.
#[inline(always)]
fn ranks_each(ones: &[u64], within: &[u64], slots: &mut [u32]) {
    let mut slots = slots.iter_mut();
    let mut before = 0u32;
    for (ones, within) in ones.iter().zip(within) {
        let mut left = *ones;
        while left != 0
            && let Some(slot) = slots.next()
        {
            let below = (left & left.wrapping_neg()).wrapping_sub(1);
            *slot = before + (within & below).count_ones();
            left &= left - 1;
        }
        before += within.count_ones();
    }
}

/// Returns a word with one bit per byte, at most 64: the result of `test` for that byte. Bits
/// beyond the bytes are zero.
#[inline(always)]
pub fn word_where(bytes: &[u8], test: impl Fn(u8) -> bool) -> u64 {
    let mut answers = [0u8; 64];
    // The results are first stored as bytes, so that the compiler can vectorise the loop.
    match bytes.first_chunk::<64>() {
        Some(all) => {
            for (answer, byte) in answers.iter_mut().zip(all) {
                *answer = test(*byte).into();
            }
        }
        None => {
            for (answer, byte) in answers.iter_mut().zip(bytes) {
                *answer = test(*byte).into();
            }
        }
    }
    word_of_bytes(&answers)
}

/// Packs 64 bytes, each 0 or 1, into a word with one bit per byte.
#[inline]
pub fn word_of_bytes(bytes: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // The product moves bit 8j of the bytes to bit 56 + j.
        let packed = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= packed << (8 * i);
    }
    word
}

/// Returns the first `len` bits as a `bitvec` slice, for public interfaces and as the reference in
/// tests.
pub fn as_bitslice(
    words: &[u64],
    len: usize,
) -> &bitvec::slice::BitSlice<u64, bitvec::order::Lsb0> {
    &bitvec::slice::BitSlice::from_slice(words)[..len]
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::*;
    use bitvec::prelude::*;

    /// Returns pseudo-random words; the simple generator avoids a dependency of the lowest crate.
    pub(super) fn words(n: usize, seed: u64) -> Vec<u64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn counting_filling_and_iterating_equal_bitvec() {
        let data = words(5, 3);
        for start in [0, 1, 63, 64, 65, 130] {
            for end in [start, start + 1, start + 64, 200, 256, 319, 320] {
                if end < start {
                    continue;
                }
                let naive = as_bitslice(&data, 320);
                assert_eq!(count_ones_in(&data, start..end), naive[start..end].count_ones());
                let mut filled = data.clone();
                let mut oracle = BitVec::<u64, Lsb0>::from_slice(&data);
                for value in [true, false] {
                    fill(&mut filled, start..end, value);
                    oracle[start..end].fill(value);
                    assert_eq!(filled, oracle.as_raw_slice());
                }
            }
        }
        for len in [0, 1, 63, 64, 65, 320] {
            let naive = as_bitslice(&data, len);
            for level in Level::available() {
                assert_eq!(count_ones_with(level, &data, len), naive.count_ones());
            }
            assert!(ones(&data, len).eq(naive.iter_ones()));
            for level in Level::available() {
                let mut positions = BufferMut::new();
                positions.push(7);
                ones_into_with(level, &data, len, &mut positions);
                let positions = positions[1..].iter().map(|i| *i as usize);
                assert!(positions.eq(naive.iter_ones()));
            }
            assert_eq!(all_ones(&data, len), naive.all());
        }
    }

    #[test]
    fn ranks_are_the_ones_in_front() {
        let (ones_of, within) = (words(5, 9), words(5, 21));
        let naive = as_bitslice(&within, 320);
        for level in Level::available() {
            let mut ranks = BufferMut::new();
            ranks.push(7);
            ranks_into_with(level, &ones_of, &within, &mut ranks);
            let expected = ones(&ones_of, 320).map(|i| naive[..i].count_ones() as u32);
            assert!(ranks[1..].iter().copied().eq(expected));
        }
    }

    #[test]
    fn copying_at_any_offsets_equals_bitvec() {
        let source = words(4, 5);
        for from in [0, 1, 17, 63, 64, 100] {
            for to in [0, 1, 5, 63, 64, 127] {
                for len in [0, 1, 63, 64, 65, 128] {
                    let mut target = words(4, 7);
                    let mut oracle = BitVec::<u64, Lsb0>::from_slice(&target);
                    oracle[to..to + len]
                        .copy_from_bitslice(&as_bitslice(&source, 256)[from..from + len]);
                    copy(&source, from, &mut target, to, len);
                    assert_eq!(target, oracle.as_raw_slice(), "{from} {to} {len}");
                }
            }
        }
    }

    #[test]
    fn bytes_become_bits() {
        for word in words(20, 13) {
            let bytes: [u8; 64] = std::array::from_fn(|i| (word >> i & 1) as u8);
            assert_eq!(word_of_bytes(&bytes), word);
            for n in [0, 1, 17, 63, 64] {
                let zeros = word_where(&bytes[..n], |byte| byte == 0);
                assert_eq!(zeros, !word & low_mask(n));
            }
        }
    }
}
