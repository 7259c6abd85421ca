//! The interface of an aggregate function: its name, its types and its properties.
//!
//! ```text
//! resolve(argument types) --> AggregateSignature --accumulator--> state of every group
//! ```
//!
//! A function and its accumulator are in the same file; `registry.rs` lists the functions.

use vector::{DecodedVector, Result, Type, Value};

use super::accumulator::{Accumulator, Part};

/// The types of one use of an aggregate function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateSignature {
    /// The types to which the arguments are cast.
    pub args: Vec<Type>,
    /// The type of the output of a partial step.
    pub intermediate: Type,
    /// The type of the output of a single or final step.
    pub result: Type,
}

impl AggregateSignature {
    /// The signature of a function that takes one argument.
    pub(super) fn unary(arg: Type, intermediate: Type, result: Type) -> Self {
        AggregateSignature { args: vec![arg], intermediate, result }
    }

    /// The type of argument `index`; `UNKNOWN` if the function has no such argument.
    pub(super) fn arg(&self, index: usize) -> Type {
        self.args.get(index).cloned().unwrap_or(Type::Unknown)
    }
}

/// An aggregate function.
pub(super) trait AggregateFunction: Send + Sync {
    /// The name in SQL and in plans, lower case.
    fn name(&self) -> &'static str;

    /// The types of a call with arguments of `args`; `None` if the function does not take them.
    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature>;

    /// The state for a call that [`AggregateFunction::resolve`] returned.
    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>>;

    /// True if repeated values do not change the result, so that DISTINCT has no effect.
    fn ignores_duplicates(&self) -> bool {
        false
    }

    /// True if the order of the rows may change the result by more than the rounding of a sum.
    fn depends_on_order(&self) -> bool {
        false
    }

    /// The result for a group without rows: the output of an empty state.
    fn result_of_no_rows(&self, signature: &AggregateSignature) -> Result<Value> {
        let mut accumulator = self.accumulator(signature)?;
        accumulator.resize(1);
        let result = accumulator.output(0, Part::Result, 0..1)?;
        DecodedVector::new(&result)?.value(0)
    }
}

/// The type of an argument. A null literal has type `UNKNOWN`; any type is right for it, because the
/// result is null.
pub(super) fn typed(arg: &Type) -> Type {
    if *arg == Type::Unknown { Type::BigInt } else { arg.clone() }
}

/// The argument types of a function of one argument, if there is one.
pub(super) fn only(args: &[Type]) -> Option<Type> {
    match args {
        [arg] => Some(typed(arg)),
        _ => None,
    }
}

/// The argument types of a function of two arguments, if there are two.
pub(super) fn both(args: &[Type]) -> Option<[Type; 2]> {
    match args {
        [first, second] => Some([typed(first), typed(second)]),
        _ => None,
    }
}

/// The type in which values of `arg` are summed: HUGEINT, DECIMAL(38) or DOUBLE; `None` if values of
/// this type have no sum.
pub(super) fn sum_type(arg: &Type) -> Option<Type> {
    match arg {
        Type::Decimal { scale, .. } => Type::decimal(38, *scale).ok(),
        Type::HugeInt => Some(Type::HugeInt),
        _ if arg.is_integer() => Some(Type::HugeInt),
        _ if arg.is_float() => Some(Type::Double),
        _ => None,
    }
}

/// True if values of type `ty` have an order.
pub(super) fn is_orderable(ty: &Type) -> bool {
    match ty {
        Type::Map(..) | Type::Unknown => false,
        Type::Array(element) => is_orderable(element),
        Type::Row(row) => row.types().iter().all(is_orderable),
        _ => true,
    }
}
