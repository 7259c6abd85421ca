//! Lists and maps: offsets and lengths computed from levels, around the vectors of the entries.
//!
//! One leaf below the list supplies the slots; the vectors of the entries must have as many rows as
//! the slots have entries, otherwise the leaves of the column contradict each other.

use vector::sync::Arc;
use vector::{ArrayVector, MapVector, Result, Vector, VectorRef};

use super::leaf::LeafReader;
use super::{Node, check_slots, leaf_at};
use crate::levels::nested::{ListLevels, ListSlots};

/// A list or map column.
pub(crate) struct RepeatedNode {
    /// Index of the leaf that supplies the levels, among the column's readers.
    pub(super) leaf: usize,
    pub(super) levels: ListLevels,
    pub(super) entries: Entries,
}

/// The children of a list or map.
pub(crate) enum Entries {
    List { element: Box<Node> },
    Map { key: Box<Node>, value: Box<Node> },
}

impl RepeatedNode {
    /// Returns the window's vector, which has `num_slots` rows.
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
