//! Sets of accepted values: integers in a bit mask or a hash table, strings in a hash table.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use vector::sync::Arc;
use vector::{StringView, bits};

/// A set of integers with a fast membership test: sorted values for statistics, and a bit mask or
/// hash table for tests of values.
#[derive(Debug, Clone)]
pub struct IntegerSet {
    /// Ascending, distinct values; at least one.
    values: Box<[i64]>,
    lookup: Lookup,
}

#[derive(Debug, Clone)]
enum Lookup {
    /// One bit for each value, at position `v - min`.
    Bitmask(Box<[u64]>),
    /// Hash table, for values that are far apart.
    Hash(HashedSet),
}

/// A hash table with linear probing; the number of slots is a power of two, and at most half of
/// them are used. Most tested numbers do not reach the table, because they lie in an interval
/// (stretch) that contains no value.
#[derive(Debug, Clone)]
struct HashedSet {
    slots: Box<[i64]>,
    shift: u32,
    has_vacant: bool,
    /// One bit for each interval of numbers, set if it contains a value: bit `(v - min) >>
    /// stretch_shift`.
    stretches: Box<[u64]>,
    stretch_shift: u32,
}

/// Marks a free slot; whether the number itself is in the set is stored beside the table.
const VACANT: i64 = i64::MIN + 0x5eed;
/// 2^64 divided by the golden ratio: the high bits of the product depend on all bits of the key.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number of bits up to which a bit mask is always used.
const SMALL_MASK_BITS: u64 = 32 * 64;
/// Maximum number of bits per value of a larger bit mask.
const MASK_BITS_PER_VALUE: u64 = 4 * 64;
/// Approximate number of intervals per value of a hash table; more intervals would not fit the L1
/// cache.
const STRETCHES_PER_VALUE: usize = 16;
/// Maximum number of intervals.
const MAX_STRETCHES: usize = 1 << 20;
/// Maximum number of words of interval bits that are checked for a range; a wider range is assumed
/// to contain a value.
const MAX_RANGE_WORDS: usize = 4;

impl IntegerSet {
    /// Returns the set of ascending, distinct values.
    pub(super) fn new(sorted: Vec<i64>) -> Self {
        let (min, max) = match (sorted.first(), sorted.last()) {
            (Some(min), Some(max)) => (*min, *max),
            _ => (0, 0),
        };
        let span = max.abs_diff(min);
        let count = sorted.len() as u64;
        let lookup = if span < SMALL_MASK_BITS || span < count.saturating_mul(MASK_BITS_PER_VALUE) {
            let mut words = vec![0u64; bits::words_for(span as usize + 1)];
            for value in &sorted {
                bits::set(&mut words, value.abs_diff(min) as usize);
            }
            Lookup::Bitmask(words.into())
        } else {
            Lookup::Hash(HashedSet::new(&sorted, min, span))
        };
        IntegerSet { values: sorted.into(), lookup }
    }

    /// Returns the values, ascending.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Returns true if the set is stored as a bit mask.
    pub fn is_bitmask(&self) -> bool {
        matches!(self.lookup, Lookup::Bitmask(_))
    }

    /// Returns true if the value is in the set.
    #[inline]
    pub fn contains(&self, value: i64) -> bool {
        let min = self.values.first().copied().unwrap_or(0);
        match &self.lookup {
            Lookup::Bitmask(words) => {
                // For a value below the minimum, the difference wraps around to a bit above that of
                // any value of the set, which is clear or outside of the mask.
                let bit = value.wrapping_sub(min) as u64;
                let word = words.get((bit / 64) as usize).copied().unwrap_or(0);
                word >> (bit % 64) & 1 != 0
            }
            Lookup::Hash(table) => table.contains(min, value),
        }
    }

    /// Returns false if it is cheap to determine that no value of the set is in `lower..=upper`.
    #[inline]
    pub fn may_have_between(&self, lower: i64, upper: i64) -> bool {
        let (Some(min), Some(max)) = (self.values.first(), self.values.last()) else {
            return false;
        };
        let (lower, upper) = (lower.max(*min), upper.min(*max));
        lower <= upper
            && match &self.lookup {
                Lookup::Bitmask(_) => true,
                Lookup::Hash(table) => table.may_have_between(*min, lower, upper),
            }
    }

    /// Returns the number of values in `min..=max`.
    pub fn count_in(&self, min: i64, max: i64) -> usize {
        let below = self.values.partition_point(|v| *v < min);
        let up_to = self.values.partition_point(|v| *v <= max);
        up_to.saturating_sub(below)
    }
}

#[inline]
fn slot_of(value: i64, shift: u32) -> usize {
    ((value as u64).wrapping_mul(SPREAD) >> shift) as usize
}

impl HashedSet {
    /// Returns the table of ascending values, of which the first is `min` and the last is `min +
    /// span`.
    fn new(values: &[i64], min: i64, span: u64) -> Self {
        let num_slots = (values.len() * 2).next_power_of_two().max(2);
        let shift = 64 - num_slots.trailing_zeros();
        let mut slots = vec![VACANT; num_slots];
        let mut has_vacant = false;
        let num_stretches = (values.len() * STRETCHES_PER_VALUE).next_power_of_two();
        let num_stretches = num_stretches.min(MAX_STRETCHES);
        let span_bits = u64::BITS - span.leading_zeros();
        let stretch_shift = span_bits.saturating_sub(num_stretches.trailing_zeros());
        let mut stretches = vec![0; bits::words_for(num_stretches)];
        for &value in values {
            bits::set(&mut stretches, (value.abs_diff(min) >> stretch_shift) as usize);
            if value == VACANT {
                has_vacant = true;
                continue;
            }
            let mut slot = slot_of(value, shift) & (num_slots - 1);
            while slots[slot] != VACANT {
                slot = (slot + 1) & (num_slots - 1);
            }
            slots[slot] = value;
        }
        let (slots, stretches) = (slots.into(), stretches.into());
        HashedSet { slots, shift, has_vacant, stretches, stretch_shift }
    }

    #[inline]
    fn contains(&self, min: i64, value: i64) -> bool {
        // For a value below the minimum, the difference wraps around: its interval is outside of
        // the bits, or it is that of other values, and the lookup in the slots decides.
        let stretch = value.wrapping_sub(min) as u64 >> self.stretch_shift;
        let word = self.stretches.get((stretch / 64) as usize).copied().unwrap_or(0);
        word >> (stretch % 64) & 1 != 0 && self.is_in_slots(value)
    }

    fn is_in_slots(&self, value: i64) -> bool {
        if value == VACANT {
            return self.has_vacant;
        }
        let mut slot = slot_of(value, self.shift);
        loop {
            match self.slots.get(slot & (self.slots.len() - 1)) {
                Some(found) if *found == value => return true,
                Some(&VACANT) | None => return false,
                Some(_) => slot += 1,
            }
        }
    }

    /// Returns false if no interval from that of `lower` to that of `upper` contains a value. Both
    /// are between the smallest value, `min`, and the largest.
    #[inline]
    fn may_have_between(&self, min: i64, lower: i64, upper: i64) -> bool {
        let stretch_of = |value: i64| (value.abs_diff(min) >> self.stretch_shift) as usize;
        let (first, last) = (stretch_of(lower), stretch_of(upper));
        if last / 64 - first / 64 >= MAX_RANGE_WORDS {
            return true;
        }
        let words = self.stretches.get(first / 64..=last / 64).unwrap_or(&[]);
        let mut seen = words.iter().enumerate().map(|(i, word)| {
            let from = if i == 0 { u64::MAX << (first % 64) } else { u64::MAX };
            let to = if i + 1 == words.len() { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            word & from & to
        });
        seen.any(|bits| bits != 0)
    }
}

impl PartialEq for IntegerSet {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// A set of strings with a fast membership test.
#[derive(Debug, Clone)]
pub struct BytesSet {
    /// Ascending, distinct values; at least one.
    values: Box<[Arc<[u8]>]>,
    /// One bit for the length of each value, at position `min(len, 63)`.
    lengths: u64,
    /// Hash table; present only for more than [`FEW_STRINGS`] values.
    hashed: Option<HashSet<Arc<[u8]>, RandomState>>,
}

/// Maximum number of strings that are compared one by one.
const FEW_STRINGS: usize = 6;

impl BytesSet {
    /// Returns the set of ascending, distinct values.
    pub(super) fn new(sorted: Vec<Arc<[u8]>>) -> Self {
        BytesSet {
            lengths: sorted.iter().fold(0, |mask, v| mask | length_bit(v.len())),
            hashed: (sorted.len() > FEW_STRINGS).then(|| sorted.iter().cloned().collect()),
            values: sorted.into(),
        }
    }

    /// Returns the values, ascending.
    pub fn values(&self) -> &[Arc<[u8]>] {
        &self.values
    }

    /// Returns true if the string is in the set.
    #[inline]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        if self.lengths & length_bit(bytes.len()) == 0 {
            return false;
        }
        match &self.hashed {
            Some(hashed) => hashed.contains(bytes),
            None => self.values.iter().any(|v| **v == *bytes),
        }
    }

    /// Returns the values as views if they are few and each fits inline in its view. Two such
    /// strings are equal exactly if their views are equal.
    pub(super) fn inline_views(&self) -> Option<Vec<StringView>> {
        let is_inline = |v: &Arc<[u8]>| v.len() <= vector::types::string_view::INLINE_LIMIT;
        (self.hashed.is_none() && self.values.iter().all(is_inline))
            .then(|| self.values.iter().map(|v| StringView::inline(v)).collect())
    }

    /// Returns the number of values in `min..=max`; an absent bound is infinite.
    pub fn count_in(&self, min: Option<&[u8]>, max: Option<&[u8]>) -> usize {
        let below = min.map_or(0, |min| self.values.partition_point(|v| **v < *min));
        let up_to =
            max.map_or(self.values.len(), |max| self.values.partition_point(|v| **v <= *max));
        up_to.saturating_sub(below)
    }
}

impl PartialEq for BytesSet {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

fn length_bit(len: usize) -> u64 {
    1 << len.min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_values_and_no_others() {
        let close: Vec<i64> = vec![-7, 0, 1, 900];
        let far: Vec<i64> = vec![i64::MIN, VACANT, -1, 0, 1 << 40, i64::MAX];
        for (values, is_bitmask) in [(close, true), (far, false)] {
            let set = IntegerSet::new(values.clone());
            assert_eq!(set.is_bitmask(), is_bitmask);
            for value in values.iter().flat_map(|v| [v.wrapping_sub(1), *v, v.wrapping_add(1)]) {
                assert_eq!(set.contains(value), values.contains(&value), "{value}");
            }
        }
        assert!(!IntegerSet::new(vec![0, 1 << 40]).contains(VACANT));
    }

    #[test]
    fn a_range_is_left_out_only_without_values() {
        let far: Vec<i64> = (0..500).map(|i| i * i * 1_000_003 - 77).collect();
        let ends: Vec<i64> = vec![i64::MIN, -3, 1 << 50, i64::MAX];
        for values in [far, ends] {
            let set = IntegerSet::new(values.clone());
            assert!(!set.is_bitmask());
            for pair in values.windows(2) {
                assert!(set.may_have_between(pair[0], pair[0]));
                assert!(set.may_have_between(pair[0] + 1, pair[1]));
                assert!(set.may_have_between(i64::MIN, pair[0]));
            }
        }
        let set = IntegerSet::new(vec![0, 1 << 40]);
        assert!(!set.may_have_between(1 << 36, 1 << 39));
        assert!(!set.may_have_between(-9, -1) && !set.may_have_between(i64::MAX - 1, i64::MAX));
    }

    #[test]
    fn a_bit_mask_is_not_fooled_by_numbers_far_away() {
        let set = IntegerSet::new(vec![i64::MAX - 3, i64::MAX]);
        assert!(set.is_bitmask());
        assert!(!set.contains(i64::MIN) && !set.contains(i64::MIN + 60) && !set.contains(0));
    }

    #[test]
    fn strings_of_all_lengths_are_found() {
        let mut values: Vec<Arc<[u8]>> = (0..100).map(|n| Arc::from(vec![b'x'; n])).collect();
        values.sort();
        let set = BytesSet::new(values);
        assert!(set.contains(b"") && set.contains(&[b'x'; 70]));
        assert!(!set.contains(b"y") && !set.contains(&[b'x'; 100]));
        assert_eq!(set.count_in(Some(b"xx"), Some(b"xxxx")), 3);
        assert_eq!(set.count_in(None, Some(b"a")), 1);
    }
}
