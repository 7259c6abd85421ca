//! Sets of accepted values: integers by bit mask or hash table, strings by hash.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use vector::sync::Arc;
use vector::{StringView, bits};

/// Integers that are tested often: sorted for statistics, and a mask or table for values.
#[derive(Debug, Clone)]
pub struct IntegerSet {
    /// Ascending and distinct; at least one.
    values: Box<[i64]>,
    lookup: Lookup,
}

#[derive(Debug, Clone)]
enum Lookup {
    /// Bit `v - min` for each value.
    Bitmask(Box<[u64]>),
    /// Linear probing in a power of two of slots, at most half of them taken.
    Hash { slots: Box<[i64]>, shift: u32, has_vacant: bool },
}

/// Marks a free slot; the number itself is remembered beside the table.
const VACANT: i64 = i64::MIN + 0x5eed;
/// 2^64 by the golden ratio: the high bits of the product depend on all bits of the key.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A mask may always have this many bits.
const SMALL_MASK_BITS: u64 = 32 * 64;
/// A larger mask may have this many bits for each value.
const MASK_BITS_PER_VALUE: u64 = 4 * 64;

impl IntegerSet {
    /// The set of values that ascend without repeats.
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
            hash_lookup(&sorted)
        };
        IntegerSet { values: sorted.into(), lookup }
    }

    /// The values, ascending.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// True when the values lie close enough for a bit mask.
    pub fn is_bitmask(&self) -> bool {
        matches!(self.lookup, Lookup::Bitmask(_))
    }

    /// True when the value is in the set.
    #[inline]
    pub fn contains(&self, value: i64) -> bool {
        let min = self.values.first().copied().unwrap_or(0);
        match &self.lookup {
            Lookup::Bitmask(words) => {
                // Below the minimum this wraps around to a bit far outside of the mask.
                let bit = value.wrapping_sub(min) as u64;
                let word = words.get((bit / 64) as usize).copied().unwrap_or(0);
                word >> (bit % 64) & 1 != 0
            }
            Lookup::Hash { slots, shift, has_vacant } => {
                if value == VACANT {
                    return *has_vacant;
                }
                let mut slot = slot_of(value, *shift);
                loop {
                    match slots.get(slot & (slots.len() - 1)) {
                        Some(found) if *found == value => return true,
                        Some(&VACANT) | None => return false,
                        Some(_) => slot += 1,
                    }
                }
            }
        }
    }

    /// How many values lie from `min` to `max`.
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

fn hash_lookup(values: &[i64]) -> Lookup {
    let num_slots = (values.len() * 2).next_power_of_two().max(2);
    let shift = 64 - num_slots.trailing_zeros();
    let mut slots = vec![VACANT; num_slots];
    let mut has_vacant = false;
    for &value in values {
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
    Lookup::Hash { slots: slots.into(), shift, has_vacant }
}

impl PartialEq for IntegerSet {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// Strings that are tested often.
#[derive(Debug, Clone)]
pub struct BytesSet {
    /// Ascending and distinct; at least one.
    values: Box<[Arc<[u8]>]>,
    /// Bit `min(len, 63)` for the length of each value.
    lengths: u64,
    /// Only for more than [`FEW_STRINGS`] values.
    hashed: Option<HashSet<Arc<[u8]>, RandomState>>,
}

/// Up to this many strings are compared one after the other.
const FEW_STRINGS: usize = 6;

impl BytesSet {
    /// The set of values that ascend without repeats.
    pub(super) fn new(sorted: Vec<Arc<[u8]>>) -> Self {
        BytesSet {
            lengths: sorted.iter().fold(0, |mask, v| mask | length_bit(v.len())),
            hashed: (sorted.len() > FEW_STRINGS).then(|| sorted.iter().cloned().collect()),
            values: sorted.into(),
        }
    }

    /// The values, ascending.
    pub fn values(&self) -> &[Arc<[u8]>] {
        &self.values
    }

    /// True when the string is in the set.
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

    /// The values as views, if they are few and each fits into its view: then two of them are
    /// equal exactly when their views are.
    pub(super) fn inline_views(&self) -> Option<Vec<StringView>> {
        let is_inline = |v: &Arc<[u8]>| v.len() <= vector::types::string_view::INLINE_LIMIT;
        (self.hashed.is_none() && self.values.iter().all(is_inline))
            .then(|| self.values.iter().map(|v| StringView::inline(v)).collect())
    }

    /// How many values lie from `min` to `max`; an absent end is open.
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
