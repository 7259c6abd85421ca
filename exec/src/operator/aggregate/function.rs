//! The interface of an aggregate function: its name, its types and its properties.
//!
//! ```text
//! resolve(argument types) --> AggregateSignature --accumulator--> state of all groups
//! ```
//!
//! A function and its accumulator are in the same module; `registry.rs` lists the functions.

use vector::{DecodedVector, Result, Type, Value};

use super::accumulator::{Accumulator, Part};

/// The types of one call of an aggregate function.
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
    /// Returns the signature of a function that takes one argument.
    pub(super) fn unary(arg: Type, intermediate: Type, result: Type) -> Self {
        AggregateSignature { args: vec![arg], intermediate, result }
    }

    /// Returns the type of argument `index`, or `UNKNOWN` if the function has no such argument.
    pub(super) fn arg(&self, index: usize) -> Type {
        self.args.get(index).cloned().unwrap_or(Type::Unknown)
    }
}

/// An aggregate function.
pub(super) trait AggregateFunction: Send + Sync {
    /// Returns the name in SQL and in plans, in lower case.
    fn name(&self) -> &'static str;

    /// Returns the types of a call with arguments of types `args`, or `None` if the function does
    /// not accept them.
    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature>;

    /// Creates the accumulator of a call that [`AggregateFunction::resolve`] returned.
    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>>;

    /// Returns true if repeated values do not change the result, so that DISTINCT has no effect.
    fn ignores_duplicates(&self) -> bool {
        false
    }

    /// Returns true if the order of the rows may change the result by more than the rounding of a
    /// sum.
    fn depends_on_order(&self) -> bool {
        false
    }

    /// Returns the result for a group without rows: the output of an empty state.
    fn result_of_no_rows(&self, signature: &AggregateSignature) -> Result<Value> {
        let mut accumulator = self.accumulator(signature)?;
        accumulator.resize(1);
        let result = accumulator.output(0, Part::Result, 0..1)?;
        DecodedVector::new(&result)?.value(0)
    }
}

/// Returns the type of an argument. A null literal has type `UNKNOWN`; any type is correct for it,
/// because its values are null.
pub(super) fn typed(arg: &Type) -> Type {
    if *arg == Type::Unknown { Type::BigInt } else { arg.clone() }
}

/// Returns the argument type of a function of one argument, or `None` for another number of
/// arguments.
pub(super) fn only(args: &[Type]) -> Option<Type> {
    match args {
        [arg] => Some(typed(arg)),
        _ => None,
    }
}

/// Returns the argument types of a function of two arguments, or `None` for another number of
/// arguments.
pub(super) fn both(args: &[Type]) -> Option<[Type; 2]> {
    match args {
        [first, second] => Some([typed(first), typed(second)]),
        _ => None,
    }
}

/// Returns the type in which values of `arg` are summed: HUGEINT, DECIMAL(38) or DOUBLE; `None` if
/// values of this type cannot be summed.
pub(super) fn sum_type(arg: &Type) -> Option<Type> {
    match arg {
        Type::Decimal { scale, .. } => Type::decimal(38, *scale).ok(),
        Type::HugeInt => Some(Type::HugeInt),
        _ if arg.is_integer() => Some(Type::HugeInt),
        _ if arg.is_float() => Some(Type::Double),
        _ => None,
    }
}

/// Returns true if values of type `ty` have an order.
pub(super) fn is_orderable(ty: &Type) -> bool {
    match ty {
        Type::Map(..) | Type::Unknown => false,
        Type::Array(element) => is_orderable(element),
        Type::Row(row) => row.types().iter().all(is_orderable),
        _ => true,
    }
}
