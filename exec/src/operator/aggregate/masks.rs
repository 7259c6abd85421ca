//! FILTER: the rows of a batch that an aggregate counts.
//!
//! ```text
//! mask     1 0 null 1        rows 0 3      groups of these rows
//! ```
//!
//! Aggregates with the same mask share what is made of it.

use vector::{Buffer, DecodedVector, Error, FlatValues, Result, Vector, VectorRef};

use super::accumulator::{Column, Groups};

/// The rows for which a mask is true.
pub(super) struct Masked {
    rows: Buffer<u32>,
    /// The groups of these rows; none when all rows are of one.
    ids: Vec<u32>,
    /// All rows of the batch are there.
    is_all: bool,
}

impl Masked {
    /// The rows for which `mask`, a column of truth values, is true.
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

    /// The groups of the rows that count.
    pub(super) fn groups<'a>(&'a self, all: Groups<'a>) -> Groups<'a> {
        match all {
            all if self.is_all => all,
            Groups::One { .. } => Groups::One { num_rows: self.rows.len() },
            Groups::Each { .. } | Groups::Listed { .. } => Groups::Each { ids: &self.ids },
        }
    }

    /// The rows that count of an argument.
    pub(super) fn of(&self, argument: Column) -> Result<Column> {
        if self.is_all {
            return Ok(argument);
        }
        let vector: VectorRef = Vector::wrap(&argument.vector, &self.rows);
        Column::new(vector)
    }
}
