//! Order of maps: that of their entries, sorted by key and then by value.
//!
//! As in Presto and Velox, a map is a set of entries: two maps are equal if they have the same
//! entries, regardless of the order in which a file or a function stores them.
//!
//! ```text
//! left   {b: 2, a: 1}   sorted   (a, 1) (b, 2)
//! right  {a: 1, b: 3}   sorted   (a, 1) (b, 3)     -> less, at the second entry
//! ```
//!
//! Equal maps usually store their entries in the same order, so the entries are first compared as
//! stored and are sorted only if a difference is found.

use std::cmp::Ordering;
use std::ops::Range;

use super::{RowComparator, child_compare};
use crate::encoding::MapVector;
use crate::error::Result;
use crate::sync::Arc;

/// Maximum number of entries of a map that are sorted without an allocation.
const MAX_ON_STACK: usize = 64;

/// Compares maps of two vectors.
pub(super) struct EntryOrder {
    /// Compares entries of the left vector with entries of the right vector, by key and then by
    /// value.
    both: Arc<RowComparator>,
    left: Arc<RowComparator>,
    right: Arc<RowComparator>,
}

impl EntryOrder {
    /// Decodes keys and values of both vectors.
    ///
    /// # Errors
    /// `Internal` if their types differ; the errors of decoding.
    pub(super) fn new(left: &MapVector, right: &MapVector) -> Result<Self> {
        let both = Arc::new(entries(left, right)?);
        let is_same =
            Arc::ptr_eq(left.keys(), right.keys()) && Arc::ptr_eq(left.values(), right.values());
        if is_same {
            return Ok(EntryOrder { left: Arc::clone(&both), right: Arc::clone(&both), both });
        }
        let (left, right) = (Arc::new(entries(left, left)?), Arc::new(entries(right, right)?));
        Ok(EntryOrder { both, left, right })
    }

    /// Compares the map with the entries `left` of the left vector to the map with the entries
    /// `right` of the right vector.
    pub(super) fn compare(&self, left: Range<usize>, right: Range<usize>) -> Ordering {
        let mut pairs = left.clone().zip(right.clone());
        if left.len() == right.len() && pairs.all(|(i, j)| self.both.compare_all(i, j).is_eq()) {
            return Ordering::Equal;
        }
        let lengths = left.len().cmp(&right.len());
        with_sorted(left, &self.left, |left| {
            with_sorted(right, &self.right, |right| {
                left.iter()
                    .zip(right.iter())
                    .map(|(i, j)| self.both.compare_all(*i as usize, *j as usize))
                    .find(|order| order.is_ne())
                    .unwrap_or(lengths)
            })
        })
    }
}

/// Returns the comparison of entries by key and then by value.
fn entries(left: &MapVector, right: &MapVector) -> Result<RowComparator> {
    let keys = child_compare(left.keys(), right.keys())?;
    let values = child_compare(left.values(), right.values())?;
    Ok(RowComparator { columns: vec![keys, values] })
}

/// Calls `f` with the entries of `span`, sorted by `order`.
fn with_sorted<R>(span: Range<usize>, order: &RowComparator, f: impl FnOnce(&mut [u32]) -> R) -> R {
    let mut on_stack = [0; MAX_ON_STACK];
    let mut on_heap = Vec::new();
    let sorted = match on_stack.get_mut(..span.len()) {
        Some(sorted) => sorted,
        None => {
            on_heap.resize(span.len(), 0);
            on_heap.as_mut_slice()
        }
    };
    sorted.iter_mut().zip(span).for_each(|(slot, entry)| *slot = entry as u32);
    sorted.sort_unstable_by(|a, b| order.compare_all(*a as usize, *b as usize));
    f(sorted)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::build::vector_of;
    use crate::testing::Random;
    use crate::types::{Type, Value};
    use crate::{DecodedVector, RowComparator, Vector, compare_rows, equal_rows, hash_into};

    fn shuffled(random: &mut Random, value: &Value) -> Value {
        let each = |random: &mut Random, values: &[Value]| {
            values.iter().map(|value| shuffled(random, value)).collect()
        };
        match value {
            Value::Array(values) => Value::Array(each(random, values)),
            Value::Row(values) => Value::Row(each(random, values)),
            Value::Map(entries) => {
                let mut entries: Vec<(Value, Value)> = entries
                    .iter()
                    .map(|(key, value)| (shuffled(random, key), shuffled(random, value)))
                    .collect();
                for i in (1..entries.len()).rev() {
                    entries.swap(i, random.below(i + 1));
                }
                Value::Map(entries.into())
            }
            scalar => scalar.clone(),
        }
    }

    /// Returns maps of a few keys, so that many are equal; `depth` is the number of nested levels.
    fn value(random: &mut Random, depth: usize, longest: usize) -> Value {
        if random.chance(0.1) {
            return Value::Null;
        }
        if depth == 0 {
            return Value::BigInt(random.below(2) as i64);
        }
        let mut keys: Vec<i64> = (0..random.below(longest)).map(|key| key as i64).collect();
        keys.retain(|_| random.chance(0.8));
        let entries = keys.into_iter().map(|key| {
            let inner = Value::Array([value(random, depth - 1, 3)].into());
            (Value::BigInt(key), inner)
        });
        Value::Map(entries.collect())
    }

    #[test]
    fn the_order_in_which_entries_are_stored_makes_no_difference() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let depth = 1 + random.below(2);
            let longest = *random.pick(&[2, 4, 100]);
            let ty =
                (0..depth).fold(Type::BigInt, |ty, _| Type::map(Type::BigInt, Type::array(ty)));
            let values: Vec<Value> = (0..30).map(|_| value(&mut random, depth, longest)).collect();
            let others: Vec<Value> = values.iter().map(|v| shuffled(&mut random, v)).collect();
            let plain = vector_of(&ty, &values).unwrap();
            let stored_otherwise = vector_of(&ty, &others).unwrap();
            let stored_otherwise = if random.chance(0.5) {
                Vector::slice(&stored_otherwise, 0, 30).unwrap()
            } else {
                stored_otherwise
            };
            let (a, b) = (
                DecodedVector::new(&plain).unwrap(),
                DecodedVector::new(&stored_otherwise).unwrap(),
            );
            let hashes = |column: &DecodedVector| {
                let mut hashes = vec![0; column.len()];
                hash_into(column, &mut hashes).unwrap();
                hashes
            };
            assert_eq!(hashes(&a), hashes(&b), "seed {seed}");
            let across = RowComparator::new(
                std::slice::from_ref(&plain),
                std::slice::from_ref(&stored_otherwise),
            );
            let within =
                RowComparator::new(std::slice::from_ref(&plain), std::slice::from_ref(&plain));
            let (across, within) = (across.unwrap(), within.unwrap());
            for i in 0..30 {
                for j in 0..30 {
                    let expected = values[i].compare(&values[j]);
                    assert_eq!(values[i].compare(&others[j]), expected, "seed {seed} {i} {j}");
                    assert_eq!(across.compare(0, i, j), expected, "seed {seed} {i} {j}");
                    assert_eq!(within.compare(0, i, j), expected, "seed {seed} {i} {j}");
                    assert_eq!(compare_rows(&a, i, &b, j).unwrap(), expected);
                    assert_eq!(equal_rows(&a, i, &b, j).unwrap(), expected.is_eq());
                }
                assert_eq!(values[i], others[i]);
            }
        }
    }

    #[test]
    fn keys_that_come_twice_are_compared_with_their_values() {
        let map = |entries: &[(i64, i64)]| {
            Value::Map(
                entries.iter().map(|(k, v)| (Value::BigInt(*k), Value::BigInt(*v))).collect(),
            )
        };
        let values = [map(&[(1, 2), (1, 3)]), map(&[(1, 3), (1, 2)]), map(&[(1, 2), (1, 2)])];
        assert_eq!(values[0], values[1]);
        assert_ne!(values[0], values[2]);
        let column = vector_of(&Type::map(Type::BigInt, Type::BigInt), &values).unwrap();
        let column = DecodedVector::new(&column).unwrap();
        assert!(equal_rows(&column, 0, &column, 1).unwrap());
        assert!(!equal_rows(&column, 0, &column, 2).unwrap());
    }
}
