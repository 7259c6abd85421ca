//! Compression of values by a bitmap, and expansion of values to the slots of its ones.
//!
//! ```text
//! bits                    1 0 0 1 1
//! compress  v0 v1 v2 v3 v4  ->  v0 v3 v4
//! expand    v0 v1 v2        ->  v0  .  . v1 v2
//! ```
//!
//! If the CPU has suitable instructions, values of one, four and eight bytes are compressed and
//! expanded by whole registers (rules P7.21, P7.22). Values of other sizes, and all values on other
//! CPUs, are copied one run of ones at a time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::bits;
use crate::cpu::{self, Level};
use crate::memory::buffer::Native;

/// Returns true if [`compress`] processes several values of this type at once. It then pays off to
/// compute values that are not selected along with those that are.
pub fn compresses_fast<T: Native>() -> bool {
    let level = cpu::level();
    match size_of::<T>() {
        1 => level.has_avx512(),
        4 | 8 => level.has_avx512() || level.has_fast_pext(),
        _ => false,
    }
}

/// Copies the values at the ones of `words` to the front of `out`, in order, and returns their
/// number. Bit `i` belongs to `values[i]`; bits beyond the values are ignored.
///
/// # Panics
/// If `words` has too few words for the values, or `out` is too short for the ones.
pub fn compress<T: Native>(values: &[T], words: &[u64], out: &mut [T]) -> usize {
    compress_with(cpu::level(), values, words, out)
}

/// Implements [`compress`] with at most the instructions of `level`.
///
/// # Panics
/// As [`compress`].
pub fn compress_with<T: Native>(level: Level, values: &[T], words: &[u64], out: &mut [T]) -> usize {
    let count = bits::count_ones(words, values.len());
    let out = &mut out[..count];
    #[cfg(target_arch = "x86_64")]
    if avx512::compress(level, values, words, out) || avx2::compress(level, values, words, out) {
        return count;
    }
    let _ = level;
    let mut at = 0;
    for (values, word) in values.chunks(64).zip(words) {
        for_each_run(word & bits::low_mask(values.len()), |start, n| {
            out[at..at + n].copy_from_slice(&values[start..start + n]);
            at += n;
        });
    }
    count
}

/// Moves the first values of `slots`, as many as there are ones, to the slots of the ones. The
/// contents of all other slots are unspecified afterwards.
///
/// # Panics
/// If `words` has too few words for the slots.
pub fn expand<T: Native>(slots: &mut [T], words: &[u64]) {
    expand_with(cpu::level(), slots, words);
}

/// Implements [`expand`] with at most the instructions of `level`.
///
/// # Panics
/// As [`expand`].
pub fn expand_with<T: Native>(level: Level, slots: &mut [T], words: &[u64]) {
    let mut from = bits::count_ones(words, slots.len());
    #[cfg(target_arch = "x86_64")]
    if avx512::expand(level, slots, words, from) {
        return;
    }
    let _ = level;
    // The values are moved from the last to the first, because no value moves to a lower slot.
    for index in (0..bits::words_for(slots.len())).rev() {
        let base = index * 64;
        // There are as many values left as slots, so all of them are already in their slots.
        if from == slots.len().min(base + 64) {
            return;
        }
        let mut rest = words[index] & bits::low_mask(slots.len() - base);
        while rest != 0 {
            let end = 64 - rest.leading_zeros() as usize;
            let n = (rest << (64 - end)).leading_ones() as usize;
            from -= n;
            slots.copy_within(from..from + n, base + end - n);
            rest &= bits::low_mask(end - n);
        }
    }
}

/// Calls `f(first, length)` for every run of ones, in ascending order.
#[inline(always)]
fn for_each_run(word: u64, mut f: impl FnMut(usize, usize)) {
    let mut rest = word;
    while rest != 0 {
        let start = rest.trailing_zeros() as usize;
        let n = (rest >> start).trailing_ones() as usize;
        f(start, n);
        rest &= !(bits::low_mask(n) << start);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// Returns words with few, many, all, no and clustered ones.
    fn selections(len: usize) -> Vec<Vec<u64>> {
        let mut random = Random::new(len as u64);
        let mut of = |probability: f64| -> Vec<u64> {
            let mut words = vec![0; bits::words_for(len)];
            (0..words.len() * 64).filter(|_| random.chance(probability)).for_each(|i| {
                bits::set(&mut words, i);
            });
            words
        };
        let mut all: Vec<Vec<u64>> = [0.0, 0.02, 0.5, 0.97, 1.0].into_iter().map(&mut of).collect();
        all.push((0..bits::words_for(len)).map(|i| 0xffff_0ff0_0000_00ff << (i % 9)).collect());
        all
    }

    fn check<T: Native + PartialEq>(of: impl Fn(usize) -> T) {
        for len in [0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 200, 1000] {
            let values: Vec<T> = (0..len).map(&of).collect();
            for words in selections(len) {
                let ones: Vec<usize> = bits::ones(&words, len).collect();
                let expected: Vec<T> = ones.iter().map(|i| values[*i]).collect();
                for level in Level::available() {
                    // Slots after the values must not be written.
                    let mut out = vec![T::default(); ones.len() + 20];
                    assert_eq!(compress_with(level, &values, &words, &mut out), ones.len());
                    assert!(out[..ones.len()] == expected, "{level:?} {len}");
                    assert!(out[ones.len()..].iter().all(|v| *v == T::default()));
                    let mut slots = vec![T::default(); len];
                    slots[..ones.len()].copy_from_slice(&expected);
                    expand_with(level, &mut slots, &words);
                    assert!(ones.iter().all(|i| slots[*i] == values[*i]), "{level:?} {len}");
                }
            }
        }
    }

    #[test]
    fn values_of_every_size_are_picked_and_spread_at_every_level() {
        check(|i| i as u8 | 1);
        check(|i| i as i16 + 1);
        check(|i| i as u32 + 1);
        check(|i| i as f32 + 1.0);
        check(|i| i as i64 + 1);
        check(|i| i as f64 + 1.0);
        check(|i| i as i128 + 1);
    }
}
