//! The aggregate function COUNT: the number of rows, or of values that are not null.

use std::ops::Range;

use vector::sync::Arc;
use vector::{Buffer, DecodedVector, Error, FlatVector, Result, Type, Vector, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part, fold, fold_rows};
use super::function::{AggregateFunction, AggregateSignature};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[&CountFunction];

/// The function `count`: without an argument it counts rows, with one it counts values that are not
/// null.
struct CountFunction;

impl AggregateFunction for CountFunction {
    fn name(&self) -> &'static str {
        "count"
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let (intermediate, result) = (Type::BigInt, Type::BigInt);
        (args.len() <= 1).then(|| AggregateSignature { args: args.to_vec(), intermediate, result })
    }

    fn accumulator(&self, _: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Count::default()))
    }
}

/// The accumulator of COUNT. Without an argument it counts all rows, with one it counts the rows
/// whose argument is not null.
#[derive(Debug, Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl Count {
    /// Counts the rows whose `arg` is not null and for which `passes` returns true.
    pub(super) fn count_rows(
        &mut self,
        groups: Groups<'_>,
        arg: &DecodedVector,
        passes: impl Fn(usize) -> bool,
    ) {
        fold_rows(groups, arg, &mut self.counts, |count, row| *count += i64::from(passes(row)));
    }
}

impl Accumulator for Count {
    fn resize(&mut self, num_groups: usize) {
        self.counts.resize(num_groups, 0);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        match args.first().map(|arg| &arg.decoded) {
            Some(arg) if arg.validity().is_some() => {
                self.count_rows(groups, arg, |_| true);
            }
            _ => match groups {
                Groups::One { num_rows } => {
                    if let Some(count) = self.counts.first_mut() {
                        *count += num_rows as i64;
                    }
                }
                Groups::Listed { lists, .. } => {
                    for (group, rows) in lists.iter() {
                        self.counts[group] += rows.len() as i64;
                    }
                }
                Groups::Each { ids } => {
                    for id in ids {
                        self.counts[*id as usize] += 1;
                    }
                }
            },
        }
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let counts = partial.decoded.base_slice::<i64>().ok_or_else(|| {
            Error::internal("partial counts of another type").with("type", partial.decoded.ty())
        })?;
        fold(groups, &partial.decoded, counts, &mut self.counts, |count, more| *count += more);
        Ok(())
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let counts = Buffer::from_slice(&self.counts[groups]);
        Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(Type::BigInt, counts, None)?)))
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
