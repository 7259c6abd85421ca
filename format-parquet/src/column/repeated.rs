//! Lists and maps: offsets and lengths from levels, around the vectors of their entries.
//!
//! One leaf below the list is asked for its slots; the entries' own vectors have as many rows as
//! the slots have entries, or the leaves of the column contradict each other.

use vector::sync::Arc;
use vector::{ArrayVector, MapVector, Result, Vector, VectorRef};

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
    List { element: Box<Node> },
    Map { key: Box<Node>, value: Box<Node> },
}

impl RepeatedNode {
    /// The window's vector, which has `num_slots` rows.
    pub(super) fn vector(&self, leaves: &mut [LeafReader], num_slots: usize) -> Result<VectorRef> {
        let slots = leaf_at(leaves, self.leaf)?.list_slots(self.levels)?;
        check_slots(num_slots, slots.offsets.len())?;
        let ListSlots { offsets, lengths, validity, num_elements } = slots;
        let vector = match &self.entries {
            Entries::List { element } => {
                let elements = element.vector(leaves, num_elements)?;
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
