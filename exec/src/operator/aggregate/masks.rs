//! FILTER clauses of aggregates: the rows of a batch for which a mask is true.
//!
//! ```text
//! mask     1 0 null 1        rows 0 3      the group ids of these rows
//! ```
//!
//! Aggregates with the same mask share its selected rows.

use vector::{Buffer, DecodedVector, Error, FlatValues, Result, Vector, VectorRef};

use super::accumulator::{Column, Groups};

/// The rows for which a mask is true.
pub(super) struct Masked {
    rows: Buffer<u32>,
    /// The group ids of these rows; empty when there is a single global group.
    ids: Vec<u32>,
    /// True when all rows of the batch are selected.
    is_all: bool,
}

impl Masked {
    /// Selects the rows for which `mask`, a BOOLEAN column, is true; a null is not.
    ///
    /// # Errors
    ///
    /// `Internal` when the mask is not BOOLEAN.
    pub(super) fn new(mask: &DecodedVector, groups: Groups<'_>) -> Result<Self> {
        let is_boolean = matches!(mask.flat_values(), Some(FlatValues::Boolean(_)));
        if !is_boolean && !mask.all_null() {
            return Err(
                Error::internal("the mask of an aggregate is not BOOLEAN").with("type", mask.ty())
            );
        }
        let passes = |row: &u32| {
            let row = *row as usize;
            !mask.is_null(row) && mask.boolean(row)
        };
        let num_rows = groups.num_rows();
        let rows: Vec<u32> = (0..num_rows as u32).filter(passes).collect();
        let ids = match groups {
            Groups::One { .. } => Vec::new(),
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                rows.iter().map(|row| ids[*row as usize]).collect()
            }
        };
        Ok(Masked { is_all: rows.len() == num_rows, rows: Buffer::from_slice(&rows), ids })
    }

    /// Returns the groups of the selected rows; `all` are the groups of all rows of the batch.
    pub(super) fn groups<'a>(&'a self, all: Groups<'a>) -> Groups<'a> {
        match all {
            all if self.is_all => all,
            Groups::One { .. } => Groups::One { num_rows: self.rows.len() },
            Groups::Each { .. } | Groups::Listed { .. } => Groups::Each { ids: &self.ids },
        }
    }

    /// Returns the selected rows of an argument.
    pub(super) fn of(&self, argument: Column) -> Result<Column> {
        if self.is_all {
            return Ok(argument);
        }
        let vector: VectorRef = Vector::wrap(&argument.vector, &self.rows);
        Column::new(vector)
    }
}
