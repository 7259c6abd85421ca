//! The aggregate functions BITWISE_AND_AGG, BITWISE_OR_AGG and BITWISE_XOR_AGG, which combine the
//! bits of all integers of a group.

use std::ops::Range;

use vector::{Error, Result, Type, VectorRef};

use super::accumulator::{Accumulator, Column, Groups, Part, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, only};
use crate::expr::{Integers, integers_of};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[
    &BitwiseFunction("bitwise_and_agg", Bitwise::And),
    &BitwiseFunction("bitwise_or_agg", Bitwise::Or),
    &BitwiseFunction("bitwise_xor_agg", Bitwise::Xor),
];

struct BitwiseFunction(&'static str, Bitwise);

impl AggregateFunction for BitwiseFunction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args).filter(|arg| arg.is_integer() && *arg != Type::HugeInt)?;
        Some(AggregateSignature::unary(arg.clone(), arg.clone(), arg))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(BitwiseAgg::new(signature.arg(0), self.1)))
    }
}

/// The bitwise operation on two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
}

impl Bitwise {
    fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Bitwise::And => a & b,
            Bitwise::Or => a | b,
            Bitwise::Xor => a ^ b,
        }
    }
}

/// The accumulator of a bitwise aggregate. The result is null for a group without values.
pub(super) struct BitwiseAgg {
    ty: Type,
    operator: Bitwise,
    states: Vec<Option<i64>>,
}

impl BitwiseAgg {
    /// Creates an accumulator of integers of type `ty`.
    pub(super) fn new(ty: Type, operator: Bitwise) -> Self {
        BitwiseAgg { ty, operator, states: Vec::new() }
    }
}

impl Accumulator for BitwiseAgg {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = args.first().ok_or_else(|| Error::internal("bits without an argument"))?;
        if arg.decoded.all_null() {
            return Ok(());
        }
        let (numbers, operator) = (Integers::of(&arg.decoded)?, self.operator);
        fold_rows(groups, &arg.decoded, &mut self.states, |state, row| {
            let number = numbers.at(row);
            *state = Some(state.map_or(number, |before| operator.of(before, number)));
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        integers_of(&self.ty, &self.states[groups])
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<i64>>()
    }
}
