//! Comparison of packed values with a set of wanted values: the result is a bitmap, not values.
//!
//! Filters on dictionary columns become sets of indices once for a column chunk. Most sets are an
//! interval, because the dictionary is sorted or the filter selects one value; the sets of small
//! dictionaries fit a register. A predicate on bit-packed values is evaluated in the packed domain,
//! so that failing values are never materialized (rules P6.10, P7.20).

use vector::bits;
use vector::cpu::{self, Level};

#[cfg(target_arch = "x86_64")]
use super::{Packed, avx512};
use super::{packed_bytes, unpack_with};

/// A set of indices, in the form that the kernels compare with packed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassTable {
    wanted: Wanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The interval `low..=last`; empty when `low` is greater than `last`.
    Interval { low: u32, last: u32 },
    /// A bitmap in which bit `i` stands for index `i`; it has at least 256 bits.
    Bits(Vec<u64>),
}

impl PassTable {
    /// Creates the set of the indices that have a set bit among the first `len` bits of `passing`.
    pub fn new(passing: &[u64], len: usize) -> Self {
        let count = bits::count_ones(passing, len);
        let low = bits::ones(passing, len).next().unwrap_or(1);
        let last = (low + count).saturating_sub(1);
        let interval = u32::try_from(low).ok().zip(u32::try_from(last).ok());
        let wanted = match interval {
            _ if count == 0 => Wanted::Interval { low: 1, last: 0 },
            Some((low, last))
                if bits::count_ones_in(passing, low as usize..last as usize + 1) == count =>
            {
                Wanted::Interval { low, last }
            }
            _ => {
                let mut words = passing[..bits::words_for(len)].to_vec();
                if !len.is_multiple_of(64)
                    && let Some(tail) = words.last_mut()
                {
                    *tail &= bits::low_mask(len % 64);
                }
                words.resize(words.len().max(4), 0);
                Wanted::Bits(words)
            }
        };
        PassTable { wanted }
    }

    /// Returns true when the index is in the set.
    #[inline]
    pub fn passes(&self, index: u32) -> bool {
        self.wanted.has(index)
    }
}

impl Wanted {
    #[inline(always)]
    fn has(&self, index: u32) -> bool {
        match self {
            Wanted::Interval { low, last } => (*low..=*last).contains(&index),
            Wanted::Bits(words) => {
                let word = words.get(index as usize / 64).copied().unwrap_or(0);
                word >> (index % 64) & 1 != 0
            }
        }
    }
}

/// Sets bit `i` of `words` to whether value `first + i` of `bytes` is in the set, for all `n`
/// values; the bits behind them become zero. Returns the largest value, or 0 when `n` is 0.
///
/// # Panics
/// When `bytes` does not hold those values, when `words` does not have exactly the number of words
/// that `n` bits take, or when `width` is more than [`MAX_WIDTH`](super::MAX_WIDTH).
pub fn match_packed(
    bytes: &[u8],
    first: usize,
    width: u8,
    n: usize,
    table: &PassTable,
    words: &mut [u64],
) -> u32 {
    match_packed_with(cpu::level(), (bytes, first, width), n, table, words)
}

/// Does the same as [`match_packed`] with the instructions of `level` at most.
///
/// # Panics
/// Under the same conditions as [`match_packed`].
pub fn match_packed_with(
    level: Level,
    (bytes, first, width): (&[u8], usize, u8),
    n: usize,
    table: &PassTable,
    words: &mut [u64],
) -> u32 {
    assert_eq!(words.len(), bits::words_for(n), "a word for every 64 values");
    assert!(width <= super::MAX_WIDTH, "packed values are too wide");
    let end = first.checked_add(n).and_then(|end| packed_bytes(end, width));
    assert!(end.is_some_and(|end| end <= bytes.len()), "packed values end too early");
    #[cfg(target_arch = "x86_64")]
    if width != 0 {
        let from = Packed::new(bytes, first, width);
        if let Some(max) = avx512::matches(level, from, n, &table.wanted, words) {
            return max;
        }
    }
    let mut max = 0;
    let mut block = [0u32; 64];
    for (i, word) in words.iter_mut().enumerate() {
        let values = &mut block[..(n - i * 64).min(64)];
        unpack_with(level, bytes, first + i * 64, width, values);
        max = values.iter().fold(max, |max, value| max.max(*value));
        *word = match &table.wanted {
            wanted @ Wanted::Interval { .. } => answers(values, |value| wanted.has(value)),
            wanted @ Wanted::Bits(_) => answers(values, |value| wanted.has(value)),
        };
    }
    max
}

/// Returns the results of up to 64 tests as bits. Each caller passes the test of one form of the
/// set, so that the form is not examined for every value. The results are first written as bytes,
/// which vectorizes.
#[inline(always)]
fn answers(values: &[u32], test: impl Fn(u32) -> bool) -> u64 {
    let mut answers = [0u8; 64];
    for (answer, value) in answers.iter_mut().zip(values) {
        *answer = test(*value).into();
    }
    bits::word_of_bytes(&answers)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{naive, noise};
    use super::*;

    /// Returns sets over `len` indices: none, all, one, intervals, and a random one.
    fn tables(len: usize) -> Vec<Vec<u64>> {
        let bits_of = |wanted: &dyn Fn(usize) -> bool| {
            let mut words = vec![0u64; bits::words_for(len)];
            (0..len).filter(|i| wanted(*i)).for_each(|i| bits::set(&mut words, i));
            words
        };
        let random = noise(len);
        vec![
            bits_of(&|_| false),
            bits_of(&|_| true),
            bits_of(&|i| i == len / 2),
            bits_of(&|i| i == 0),
            bits_of(&|i| i + 1 == len),
            bits_of(&|i| (len / 3..len / 2).contains(&i)),
            bits_of(&|i| i == 0 || i + 1 == len),
            bits_of(&|i| random[i] < 100),
        ]
    }

    #[test]
    fn matching_equals_unpacking_and_looking_up_at_every_width_and_level() {
        for width in 0..=super::super::MAX_WIDTH {
            let bytes = noise(packed_bytes(400, width).unwrap());
            for len in [1, 5, 256, 900, 2000, 5000] {
                for passing in tables(len) {
                    let table = PassTable::new(&passing, len);
                    for (first, n) in
                        [(0, 0), (0, 64), (3, 1), (8, 63), (13, 65), (0, 400), (77, 323)]
                    {
                        let values = naive(&bytes, first, width, n);
                        let passes = |v: u32| (v as usize) < len && bits::get(&passing, v as usize);
                        for level in Level::available() {
                            let mut words = vec![u64::MAX; bits::words_for(n)];
                            let at = (&bytes[..], first, width);
                            let max = match_packed_with(level, at, n, &table, &mut words);
                            assert_eq!(max, values.iter().copied().max().unwrap_or(0));
                            for (i, value) in values.iter().enumerate() {
                                assert_eq!(
                                    bits::get(&words, i),
                                    passes(*value),
                                    "{level:?} {width}"
                                );
                            }
                            assert_eq!(
                                bits::count_ones(&words, words.len() * 64),
                                bits::count_ones(&words, n)
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_table_answers_for_single_indices_and_knows_its_form() {
        let table = PassTable::new(&[0b0111_0000], 8);
        assert_eq!(table.wanted, Wanted::Interval { low: 4, last: 6 });
        assert!(table.passes(4) && table.passes(6) && !table.passes(3) && !table.passes(7));
        let table = PassTable::new(&[0b0101_0000], 8);
        assert!(matches!(table.wanted, Wanted::Bits(_)));
        assert!(table.passes(4) && !table.passes(5) && !table.passes(1000));
        // Bits behind the length are not part of the set.
        assert!(!PassTable::new(&[u64::MAX], 3).passes(3));
        assert!(!PassTable::new(&[], 0).passes(0));
    }
}
