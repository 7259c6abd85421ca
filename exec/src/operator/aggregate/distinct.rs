//! DISTINCT aggregates: wraps any accumulator and passes each combination of arguments to it once
//! per group.
//!
//! A group table over (group, arguments) numbers the combinations; the first row of each new
//! combination is passed to the inner accumulator.

use std::ops::Range;

use vector::sync::Arc;
use vector::{Buffer, Error, FlatVector, Result, Type, Value, Vector, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part};
use super::group_table::GroupTable;

/// Passes the first row of each combination of group and arguments to the inner accumulator.
pub(super) struct Distinct {
    inner: Box<dyn Accumulator>,
    seen: GroupTable,
    ids: Vec<u32>,
}

impl Distinct {
    /// Wraps `inner`, whose arguments have types `raw_types`.
    pub(super) fn new(inner: Box<dyn Accumulator>, raw_types: &[Type]) -> Self {
        let mut key_types = vec![Type::Integer];
        key_types.extend_from_slice(raw_types);
        Distinct { inner, seen: GroupTable::new(&key_types), ids: Vec::new() }
    }
}

impl Accumulator for Distinct {
    fn resize(&mut self, num_groups: usize) {
        self.inner.resize(num_groups);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let num_rows = groups.num_rows();
        let group_ids = match groups {
            Groups::One { .. } => Vector::constant(Type::Integer, Value::Integer(0), num_rows)?,
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                let ids: Buffer<i32> = ids.iter().map(|id| *id as i32).collect();
                Vector::Flat(FlatVector::from_buffer(Type::Integer, ids, None)?)
            }
        };
        let mut keys: Vec<VectorRef> = vec![Arc::new(group_ids)];
        keys.extend(args.iter().map(|arg| Arc::clone(&arg.vector)));
        let num_before = self.seen.len();
        self.seen.assign(&keys, num_rows, &mut self.ids)?;
        let mut is_given = vec![false; self.seen.len() - num_before];
        let mut first_rows = Vec::new();
        for (row, id) in self.ids.iter().enumerate() {
            let new = (*id as usize).checked_sub(num_before);
            if let Some(given) = new.and_then(|new| is_given.get_mut(new))
                && !std::mem::replace(given, true)
            {
                first_rows.push(row as u32);
            }
        }
        let rows = Buffer::from_slice(&first_rows);
        let args = args.iter().map(|arg| Column::new(Vector::wrap(&arg.vector, &rows)));
        let args: Vec<Column> = args.collect::<Result<_>>()?;
        match groups {
            Groups::One { .. } => {
                self.inner.update(Groups::One { num_rows: first_rows.len() }, &args)
            }
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                let ids: Vec<u32> = first_rows.iter().map(|row| ids[*row as usize]).collect();
                self.inner.update(Groups::Each { ids: &ids }, &args)
            }
        }
    }

    fn merge(&mut self, _: Groups<'_>, _: &Column) -> Result<()> {
        Err(Error::internal("a DISTINCT aggregate cannot be merged"))
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        self.inner.output(output, part, groups)
    }

    fn bytes(&self) -> usize {
        self.inner.bytes() + self.seen.bytes()
    }

    fn value_bytes(&self) -> usize {
        self.inner.value_bytes()
    }
}
