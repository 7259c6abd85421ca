//! Lists and maps: offsets and lengths from levels, around the vectors of their entries.
//!
//! One leaf below the list is asked for its slots; the entries' own vectors have as many rows as
//! the slots have entries, or the leaves of the column contradict each other.

use vector::sync::Arc;
use vector::{ArrayVector, Buffer, MapVector, Result, Vector, VectorRef};

use super::leaf::LeafReader;
use super::{Node, check_slots, leaf_at};
use crate::levels::nested::{ListLevels, ListSlots};

/// A list or map column.
pub(crate) struct RepeatedNode {
    /// The leaf that is asked, by its place among the column's readers.
    pub(super) leaf: usize,
    pub(super) levels: ListLevels,
    pub(super) entries: Entries,
}

/// What a list or map consists of.
pub(crate) enum Entries {
    List {
        element: Box<Node>,
        /// Elements of each row that are kept.
        max_elements: usize,
    },
    Map {
        key: Box<Node>,
        value: Box<Node>,
    },
}

impl RepeatedNode {
    /// The window's vector, which has `num_slots` rows.
    pub(super) fn vector(&self, leaves: &mut [LeafReader], num_slots: usize) -> Result<VectorRef> {
        let slots = leaf_at(leaves, self.leaf)?.list_slots(self.levels)?;
        check_slots(num_slots, slots.offsets.len())?;
        let ListSlots { offsets, lengths, validity, num_elements } = slots;
        let vector = match &self.entries {
            Entries::List { element, max_elements } => {
                let elements = element.vector(leaves, num_elements)?;
                let lengths = prefix(lengths, *max_elements);
                Vector::Array(ArrayVector::new(offsets, lengths, validity, elements)?)
            }
            Entries::Map { key, value } => {
                let keys = key.vector(leaves, num_elements)?;
                let values = value.vector(leaves, num_elements)?;
                Vector::Map(MapVector::new(offsets, lengths, validity, keys, values)?)
            }
        };
        Ok(Arc::new(vector))
    }
}

fn prefix(lengths: Buffer<u32>, max: usize) -> Buffer<u32> {
    match u32::try_from(max) {
        Ok(max) if lengths.iter().any(|length| *length > max) => {
            lengths.iter().map(|length| (*length).min(max)).collect()
        }
        _ => lengths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_cuts_long_lists_only() {
        let lengths = Buffer::from_slice(&[3, 0, 5]);
        assert_eq!(prefix(lengths.clone(), 4).as_slice(), [3, 0, 4]);
        assert_eq!(prefix(lengths, usize::MAX).as_slice(), [3, 0, 5]);
    }
}
