//! Structs: a vector for each field, and the validity of the struct itself.
//!
//! The levels of every leaf below a struct state where the struct is null; one of these leaves is
//! used. Fields are found by name. A field that the file does not have, or that is not requested,
//! is null in every row and costs nothing; when no field is left, only the levels of one leaf are
//! read.

use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Vector, VectorRef};

use super::leaf::LeafReader;
use super::{Node, check_slots, leaf_at};

/// A struct column.
pub(crate) struct StructNode {
    pub(super) row_type: Arc<RowType>,
    pub(super) fields: Vec<Node>,
    /// The levels from which the validity of the struct is derived; `None` when it cannot be null.
    pub(super) validity: Option<StructLevels>,
}

/// The levels of a struct that may be null.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructLevels {
    /// Index of the leaf that supplies the levels, among the column's readers.
    pub(super) leaf: usize,
    /// Maximum repetition level at which a slot starts.
    pub(super) slot_rep: u8,
    /// Minimum definition level at which a slot starts.
    pub(super) slot_def: u8,
    /// Minimum definition level at which the struct is not null.
    pub(super) valid_def: u8,
}

impl StructNode {
    /// Returns the window's vector, which has `num_slots` rows.
    pub(super) fn vector(&self, leaves: &mut [LeafReader], num_slots: usize) -> Result<VectorRef> {
        let validity = match self.validity {
            Some(StructLevels { leaf, slot_rep, slot_def, valid_def }) => {
                let slots = leaf_at(leaves, leaf)?.slots(slot_rep, slot_def, valid_def);
                check_slots(num_slots, slots.num)?;
                slots.validity
            }
            None => None,
        };
        let children: Result<Vec<VectorRef>> =
            self.fields.iter().map(|field| field.vector(leaves, num_slots)).collect();
        let row = RowVector::new(Arc::clone(&self.row_type), num_slots, validity, children?)?;
        Ok(Arc::new(Vector::Row(row)))
    }
}

/// Returns, for each field of a requested struct, the number of the field in the file's struct that
/// it is read from; `None` when there is none.
///
/// Fields match by position when all names agree (so that repeated names keep their meaning),
/// otherwise by name: exactly, or ignoring case if only one field has such a name.
pub(super) fn match_fields(file: &[&str], wanted: &RowType) -> Result<Vec<Option<usize>>> {
    if file.iter().copied().eq(wanted.names().iter().map(String::as_str)) {
        return Ok((0..file.len()).map(Some).collect());
    }
    let find = |name: &String| {
        if let Some(at) = file.iter().position(|n| n == name) {
            return Ok(Some(at));
        }
        let lower = name.to_lowercase();
        let mut alike =
            (0..file.len()).filter(|i| file.get(*i).is_some_and(|n| n.to_lowercase() == lower));
        match (alike.next(), alike.next()) {
            (Some(_), Some(_)) => {
                Err(Error::invalid_input("two fields of the file differ only in case")
                    .with("field", name))
            }
            (found, _) => Ok(found),
        }
    };
    wanted.names().iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::Type;

    fn found(file: &[&str], wanted: &[&str]) -> Result<Vec<Option<usize>>> {
        let wanted = RowType::new(wanted.iter().map(|n| (*n, Type::BigInt)));
        match_fields(file, &wanted)
    }

    #[test]
    fn fields_are_found_by_name_in_any_order_and_case() {
        let names = found(&["a", "B", "c"], &["c", "b", "x"]).unwrap();
        assert_eq!(names, [Some(2), Some(1), None]);
        assert_eq!(found(&["a", "a"], &["a", "a"]).unwrap(), [Some(0), Some(1)]);
        assert_eq!(found(&["a", "A"], &["A"]).unwrap(), [Some(1)]);
        assert!(found(&["ab", "AB"], &["Ab"]).is_err());
    }
}
