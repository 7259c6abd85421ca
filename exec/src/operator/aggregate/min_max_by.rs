//! The aggregate functions MIN_BY and MAX_BY: the first argument of the row whose second argument
//! is minimal or maximal.
//!
//! Rows whose second argument is null are ignored; the first argument may be null and is returned
//! as null. The order is that of MIN and MAX, and among equal rows the first one is kept.
//!
//! Within a batch, rows are compared in place; only the best row of each group is copied out and
//! compared with the best one so far.

use std::cmp::Ordering;
use std::ops::Range;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::{
    Bitmap, DecodedVector, Error, Result, RowComparator, RowVector, Type, Value, ValueReader,
    Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, both, is_orderable};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[
    &ExtremeByFunction("min_by", Ordering::Less),
    &ExtremeByFunction("max_by", Ordering::Greater),
];

/// The function `min_by` or `max_by`.
struct ExtremeByFunction(&'static str, Ordering);

impl AggregateFunction for ExtremeByFunction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let [value, by] = both(args).filter(|[_, by]| is_orderable(by))?;
        let (intermediate, result) = (intermediate(&value, &by), value.clone());
        Some(AggregateSignature { args: vec![value, by], intermediate, result })
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(ExtremeBy::new(self.1, signature.arg(0), signature.arg(1))))
    }

    fn ignores_duplicates(&self) -> bool {
        true
    }

    /// Returns true: among rows with the same extreme, the first one determines the result.
    fn depends_on_order(&self) -> bool {
        true
    }
}

/// The row number of a group without a row in the batch.
const NONE: u32 = u32::MAX;

/// The accumulator of MIN_BY or MAX_BY.
pub(super) struct ExtremeBy {
    /// How the `by` value of a better row compares with the best one so far.
    wanted: Ordering,
    value_type: Type,
    by_type: Type,
    states: Vec<Option<Best>>,
    /// Number of bytes that values take outside of `states`.
    value_bytes: usize,
    /// The best row of each group in the current batch, or [`NONE`].
    rows: Vec<u32>,
    /// The groups that have a best row in the current batch.
    touched: Vec<u32>,
}

/// The arguments of the best row of a group.
struct Best {
    value: Value,
    by: Value,
}

impl Best {
    fn bytes(&self) -> usize {
        value_bytes(&self.value) + value_bytes(&self.by)
    }
}

impl ExtremeBy {
    /// Creates the accumulator. A row is better than another when its value of `by_type` compares
    /// as `wanted` with that of the other.
    fn new(wanted: Ordering, value_type: Type, by_type: Type) -> Self {
        ExtremeBy {
            wanted,
            value_type,
            by_type,
            states: Vec::new(),
            value_bytes: 0,
            rows: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Updates the states with the rows that are not null in `counted`; rows with a null `by` are
    /// ignored.
    fn take(
        &mut self,
        groups: Groups<'_>,
        counted: &DecodedVector,
        (values, by): (&VectorRef, &Column),
    ) -> Result<()> {
        let order =
            RowComparator::new(std::slice::from_ref(&by.vector), std::slice::from_ref(&by.vector))?;
        let (wanted, touched) = (self.wanted, &mut self.touched);
        self.rows.resize(self.states.len(), NONE);
        let is_better = |row: usize, best: u32| {
            !by.decoded.is_null(row)
                && (best == NONE || order.compare(0, row, best as usize) == wanted)
        };
        let mut found: Vec<(u32, usize)> = Vec::new();
        match groups {
            Groups::One { .. } => {
                let mut best = [NONE];
                fold_rows(groups, counted, &mut best, |best, row| {
                    if is_better(row, *best) {
                        *best = row as u32;
                    }
                });
                let [best] = best;
                found.extend((best != NONE).then_some((best, 0)));
            }
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                fold_rows(groups, counted, &mut self.rows, |best, row| {
                    if is_better(row, *best) {
                        if *best == NONE {
                            touched.push(ids[row]);
                        }
                        *best = row as u32;
                    }
                });
                for group in touched.drain(..) {
                    let row = std::mem::replace(&mut self.rows[group as usize], NONE);
                    found.push((row, group as usize));
                }
            }
        }
        let (values, by) = (ValueReader::new(values)?, ValueReader::new(&by.vector)?);
        for (row, group) in found {
            let new = by.value(row as usize);
            let state = &mut self.states[group];
            if state.as_ref().is_some_and(|best| new.compare(&best.by) != wanted) {
                continue;
            }
            let best = Best { value: values.value(row as usize), by: new };
            self.value_bytes += best.bytes();
            if let Some(before) = state.replace(best) {
                self.value_bytes -= before.bytes();
            }
        }
        Ok(())
    }
}

impl Accumulator for ExtremeBy {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize_with(num_groups, || None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let [value, by] = args else {
            return Err(Error::internal("min_by and max_by take two arguments")
                .with("arguments", args.len()));
        };
        self.take(groups, &by.decoded, (&value.vector, by))
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let by = Column::new(Vector::field(&partial.vector, 1)?)?;
        self.take(groups, &partial.decoded, (&Vector::field(&partial.vector, 0)?, &by))
    }

    fn output(&self, _: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let null = Value::Null;
        let values = states.iter().map(|s| s.as_ref().map_or(&null, |best| &best.value));
        let values = vector_of(&self.value_type, values)?;
        if part == Part::Result {
            return Ok(values);
        }
        let by = states.iter().map(|s| s.as_ref().map_or(&null, |best| &best.by));
        let children = vec![values, vector_of(&self.by_type, by)?];
        let ty = intermediate(&self.value_type, &self.by_type);
        let row_type = ty.as_row().ok_or_else(|| Error::internal("pairs are rows"))?;
        let validity: Bitmap = states.iter().map(Option::is_some).collect();
        let validity = (!validity.all_ones()).then_some(validity);
        let row = RowVector::new(Arc::clone(row_type), states.len(), validity, children)?;
        Ok(Arc::new(Vector::Row(row)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Best>>()
            + self.rows.capacity() * size_of::<u32>()
            + self.value_bytes
    }
}

/// Returns the type of an intermediate value, which is the type that Velox uses.
fn intermediate(value: &Type, by: &Type) -> Type {
    Type::row([("value", value.clone()), ("by", by.clone())])
}

/// Returns the approximate number of bytes that a value takes outside of its own [`Value`].
pub(super) fn value_bytes(value: &Value) -> usize {
    let of_all = |values: &[Value]| {
        values.iter().map(|value| size_of::<Value>() + value_bytes(value)).sum::<usize>()
    };
    match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(values) | Value::Row(values) => of_all(values),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| 2 * size_of::<Value>() + value_bytes(key) + value_bytes(value))
            .sum(),
        _ => 0,
    }
}
