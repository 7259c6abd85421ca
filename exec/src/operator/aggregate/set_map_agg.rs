//! The aggregate functions SET_AGG and MAP_AGG, which collect lists as ARRAY_AGG does and convert
//! them to sets or maps when they are output.
//!
//! A set contains each value once, including null. Rows with a null key are not added to a map; a
//! key that occurs again keeps its first value.

use std::ops::Range;

use vector::sync::Arc;
use vector::{Buffer, Error, Result, RowVector, Type, Vector, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part};
use super::array_agg::ArrayAgg;
use super::function::{AggregateFunction, AggregateSignature, both, only};
use crate::expr::{distinct_elements, entries_of_maps, maps_of_entries};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[&SetAggFunction, &MapAggFunction];

struct SetAggFunction;

impl AggregateFunction for SetAggFunction {
    fn name(&self) -> &'static str {
        "set_agg"
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args)?;
        let list = Type::array(arg.clone());
        Some(AggregateSignature::unary(arg, list.clone(), list))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SetAgg::new(signature.arg(0))))
    }

    fn ignores_duplicates(&self) -> bool {
        true
    }

    fn depends_on_order(&self) -> bool {
        true
    }
}

struct MapAggFunction;

impl AggregateFunction for MapAggFunction {
    fn name(&self) -> &'static str {
        "map_agg"
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let [key, value] = both(args)?;
        let map = Type::map(key.clone(), value.clone());
        let (intermediate, result) = (map.clone(), map);
        Some(AggregateSignature { args: vec![key, value], intermediate, result })
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(MapAgg::new(signature.arg(0), signature.arg(1))))
    }

    fn depends_on_order(&self) -> bool {
        true
    }
}

/// The accumulator of SET_AGG: the distinct values of each group.
pub(super) struct SetAgg(ArrayAgg);

impl SetAgg {
    /// Creates an accumulator of sets of `element`.
    pub(super) fn new(element: Type) -> Self {
        SetAgg(ArrayAgg::new(element))
    }
}

impl Accumulator for SetAgg {
    fn resize(&mut self, num_groups: usize) {
        self.0.resize(num_groups);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        self.0.update(groups, args)
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.0.merge(groups, partial)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        distinct_elements(&self.0.output(output, part, groups)?)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn value_bytes(&self) -> usize {
        self.0.value_bytes()
    }
}

/// The accumulator of MAP_AGG: the distinct keys of each group, each with a value.
pub(super) struct MapAgg {
    entry: Type,
    ty: Type,
    entries: ArrayAgg,
}

impl MapAgg {
    /// Creates an accumulator of maps from `key` to `value`.
    pub(super) fn new(key: Type, value: Type) -> Self {
        let entry = Type::row([("", key.clone()), ("", value.clone())]);
        MapAgg { entries: ArrayAgg::new(entry.clone()), entry, ty: Type::map(key, value) }
    }
}

impl Accumulator for MapAgg {
    fn resize(&mut self, num_groups: usize) {
        self.entries.resize(num_groups);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let [keys, values] = args else {
            return Err(Error::internal("a map has keys and values").with("arguments", args.len()));
        };
        let rows: Buffer<u32> = (0..groups.num_rows() as u32)
            .filter(|row| !keys.decoded.is_null(*row as usize))
            .collect();
        let entry = self.entry.as_row().ok_or_else(|| Error::internal("entries are rows"))?;
        let sides = [keys, values].map(|side| Vector::wrap(&side.vector, &rows)).to_vec();
        let entries = RowVector::new(Arc::clone(entry), rows.len(), None, sides)?;
        let entries = [Column::new(Arc::new(Vector::Row(entries)))?];
        match groups {
            Groups::One { .. } => {
                self.entries.update(Groups::One { num_rows: rows.len() }, &entries)
            }
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                let ids: Vec<u32> = rows.iter().map(|row| ids[*row as usize]).collect();
                self.entries.update(Groups::Each { ids: &ids }, &entries)
            }
        }
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let lists = entries_of_maps(&partial.vector, &Type::array(self.entry.clone()))?;
        self.entries.merge(groups, &Column::new(lists)?)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        maps_of_entries(&self.entries.output(output, part, groups)?, &self.ty)
    }

    fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    fn value_bytes(&self) -> usize {
        self.entries.value_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::Value;
    use vector::testing::{bigints, values_of, varchars};

    #[test]
    fn a_map_keeps_the_first_value_of_a_key_in_one_step_and_in_parts() {
        let column = |vector: VectorRef| Column::new(vector).unwrap();
        let batches = [
            (
                vec![0, 0, 1],
                [
                    column(bigints(&[Some(5), None, None])),
                    column(varchars(&[None, Some("x"), Some("y")])),
                ],
            ),
            (
                vec![0, 0, 0],
                [
                    column(bigints(&[Some(5), Some(2), Some(9)])),
                    column(varchars(&[Some("b"), Some("c"), None])),
                ],
            ),
        ];
        let empty = || {
            let mut made = MapAgg::new(Type::BigInt, Type::Varchar);
            made.resize(3);
            made
        };
        let (mut single, mut last) = (empty(), empty());
        for (ids, args) in &batches {
            single.update(Groups::Each { ids }, args).unwrap();
            let mut partial = empty();
            partial.update(Groups::Each { ids }, args).unwrap();
            let partial = partial.output(0, Part::Intermediate, 0..3).unwrap();
            assert_eq!(partial.ty(), &Type::map(Type::BigInt, Type::Varchar));
            // After an exchange, partial results are a dictionary over those of several drivers.
            let picked = Vector::wrap(&partial, &Buffer::from_slice(&[2, 0, 1]));
            last.merge(Groups::Each { ids: &[2, 0, 1] }, &column(picked)).unwrap();
        }
        let entry = |key: i64, value: Option<&str>| {
            (Value::BigInt(key), value.map_or(Value::Null, Value::bytes))
        };
        let first = [entry(2, Some("c")), entry(5, None), entry(9, None)];
        let expected = [Value::Map(first.into()), Value::Null, Value::Null];
        for made in [single, last] {
            assert_eq!(values_of(&made.output(0, Part::Result, 0..3).unwrap()), expected);
        }
    }
}
