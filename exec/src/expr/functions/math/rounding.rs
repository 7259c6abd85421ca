//! Rounding of numbers: `floor`, `ceil`, `round` and `truncate`.
//!
//! Integers are unchanged by `floor` and `ceil`, and keep their type.

use vector::{FlatType, Result, Type, TypeKind};

use super::decimal_rounding;
use super::decimal_rounding::Way;
use super::elementary;
use crate::expr::coercion::can_coerce;
use crate::expr::kernel::{Argument, Call, Kernel, Operand, map, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("floor", WHOLE, floor).with_rule(whole_number),
    Function::scalar("ceil", WHOLE, ceil).with_rule(whole_number),
    Function::scalar("ceiling", WHOLE, ceil).with_rule(whole_number),
    Function::scalar("truncate", ROUND, truncate).with_rule(cut_number),
    Function::scalar("round", ROUND, round).with_rule(number_and_digits),
];

const ROUND: &[&str] = &["(T [, BIGINT]) -> T for numeric T, decimals with their own result type"];
const WHOLE: &[&str] = &["(T) -> T for numeric T, decimals with their own result type"];

/// Resolves integers and floats to the same type.
fn same_number(types: &[Type]) -> Option<Resolved> {
    let [ty] = types else { return None };
    let is_known = ty.is_integer() || matches!(ty, Type::Real | Type::Double);
    is_known.then(|| Resolved::new(vec![ty.clone()], ty.clone()))
}

/// Resolves any number for `floor` and `ceil`.
fn whole_number(types: &[Type]) -> Option<Resolved> {
    same_number(types).or_else(|| decimal_rounding::whole(types, Way::Down))
}

/// Resolves any number, with an optional number of decimal digits to keep, for `round`.
fn number_and_digits(types: &[Type]) -> Option<Resolved> {
    digits(types, Way::HalfAway)
}

/// Resolves the arguments of `truncate`; integers are converted to DOUBLE.
fn cut_number(types: &[Type]) -> Option<Resolved> {
    match types.first() {
        Some(ty) if ty.is_integer() => {
            let doubles = [&[Type::Double], types.get(1..)?].concat();
            digits(&doubles, Way::ToZero)
        }
        _ => digits(types, Way::ToZero),
    }
}

fn digits(types: &[Type], way: Way) -> Option<Resolved> {
    let Some(mut resolved) = same_number(types.get(..1)?) else {
        return decimal_rounding::at_digit(types, way);
    };
    match types {
        [_] => {}
        [_, digits] if can_coerce(digits, &Type::BigInt) => resolved.args.push(Type::BigInt),
        _ => return None,
    }
    Some(resolved)
}

fn floor(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    whole(result, Way::Down, f32::floor, f64::floor)
}

fn ceil(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    whole(result, Way::Up, f32::ceil, f64::ceil)
}

/// Rounds half away from zero.
fn round(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    if args.len() == 2 && !matches!(result, Type::Decimal { .. }) {
        return Ok(Kernel::new(elementary::round));
    }
    whole(result, Way::HalfAway, f32::round, f64::round)
}

/// Rounds towards zero.
fn truncate(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    Ok(match result {
        Type::Decimal { .. } => decimal_rounding::bind(Way::ToZero),
        _ => Kernel::new(elementary::truncate),
    })
}

fn whole(result: &Type, way: Way, real: fn(f32) -> f32, double: fn(f64) -> f64) -> Result<Kernel> {
    if let Type::Decimal { .. } = result {
        return Ok(decimal_rounding::bind(way));
    }
    Ok(match result.kind() {
        TypeKind::Real => Kernel::new(move |call| mapped(call, real)),
        TypeKind::Double => Kernel::new(move |call| mapped(call, double)),
        TypeKind::TinyInt => Kernel::new(|call| mapped(call, |x: i8| x)),
        TypeKind::SmallInt => Kernel::new(|call| mapped(call, |x: i16| x)),
        TypeKind::Integer => Kernel::new(|call| mapped(call, |x: i32| x)),
        TypeKind::BigInt => Kernel::new(|call| mapped(call, |x: i64| x)),
        TypeKind::HugeInt => Kernel::new(|call| mapped(call, |x: i128| x)),
        _ => return Err(wrong_storage(result)),
    })
}

fn mapped<T: FlatType>(call: &Call<'_>, f: impl Fn(T) -> T) -> Result<vector::Vector> {
    let argument = Operand::<T>::new(&call.args[0])?;
    call.fixed(map(argument.side(), call.num_rows(), f))
}
