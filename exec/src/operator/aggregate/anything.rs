//! ARBITRARY and ANY_VALUE: the first value of a group that is not null.

use std::ops::Range;

use vector::{Error, Result, Type, Value, ValueReader, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part, column_of_values, fold_rows};
use super::extreme_by::value_bytes;

/// Keeps one value.
pub(super) struct Anything {
    ty: Type,
    states: Vec<Option<Value>>,
    /// Bytes that values take beside the states.
    value_bytes: usize,
}

impl Anything {
    /// One value of type `ty`.
    pub(super) fn new(ty: Type) -> Self {
        Anything { ty, states: Vec::new(), value_bytes: 0 }
    }
}

impl Accumulator for Anything {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize_with(num_groups, || None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = args.first().ok_or_else(|| Error::internal("a value without its argument"))?;
        let (reader, mut bytes) = (ValueReader::new(&arg.vector)?, 0);
        fold_rows(groups, &arg.decoded, &mut self.states, |state, row| {
            if state.is_none() {
                let value = reader.value(row);
                bytes += value_bytes(&value);
                *state = Some(value);
            }
        });
        self.value_bytes += bytes;
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        column_of_values(&self.ty, &self.states[groups])
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Value>>() + self.value_bytes
    }
}
