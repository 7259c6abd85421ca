//! Structs: a vector for each field, and where the struct itself is null.
//!
//! Every leaf below a struct knows from its levels where the struct is null; one of them is asked.
//! Fields are found by name. A field that the file does not have, or that nobody wants, is null in
//! every row and costs nothing; when no field is left, the levels of one leaf are read alone.

use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Vector, VectorRef};

use super::leaf::LeafReader;
use super::{Node, check_slots, leaf_at};

/// A struct column.
pub(crate) struct StructNode {
    pub(super) row_type: Arc<RowType>,
    pub(super) fields: Vec<Node>,
    /// Where the struct's own nulls follow from; absent when it cannot be null.
    pub(super) validity: Option<StructLevels>,
}

/// The levels of a struct that may be null.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructLevels {
    /// The leaf that is asked, by its place among the column's readers.
    pub(super) leaf: usize,
    /// A slot starts where the repetition level is this or less,
    pub(super) slot_rep: u8,
    /// and the definition level this or more.
    pub(super) slot_def: u8,
    /// The struct is not null from this definition level on.
    pub(super) valid_def: u8,
}

impl StructNode {
    /// The window's vector, which has `num_slots` rows.
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

/// The fields of a file's struct that the fields of a wanted one are read from, by their number.
///
/// By position when all names agree (so that repeated names keep their meaning), else by name:
/// exactly, or in any case if only one field is called so.
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
