//! The aggregate functions ARBITRARY and ANY_VALUE: the first value of a group that is not null.

use std::ops::Range;

use vector::{Error, Result, Type, Value, ValueReader, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part, column_of_values, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, only};
use super::min_max_by::value_bytes;

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] =
    &[&AnyValueFunction("any_value"), &AnyValueFunction("arbitrary")];

struct AnyValueFunction(&'static str);

impl AggregateFunction for AnyValueFunction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        only(args).map(|arg| AggregateSignature::unary(arg.clone(), arg.clone(), arg))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(AnyValue::new(signature.arg(0))))
    }

    fn ignores_duplicates(&self) -> bool {
        true
    }

    fn depends_on_order(&self) -> bool {
        true
    }
}

/// The accumulator of ANY_VALUE: stores the first value of each group.
pub(super) struct AnyValue {
    ty: Type,
    states: Vec<Option<Value>>,
    /// Number of bytes that values take outside of `states`.
    value_bytes: usize,
}

impl AnyValue {
    /// Creates an accumulator of values of type `ty`.
    pub(super) fn new(ty: Type) -> Self {
        AnyValue { ty, states: Vec::new(), value_bytes: 0 }
    }
}

impl Accumulator for AnyValue {
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
