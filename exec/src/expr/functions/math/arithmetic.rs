//! Plus, minus, multiply, divide, modulus, negate and abs of integers and floats.
//!
//! Integer loops compute wrapping results and accumulate overflows in one flag, so that they have
//! no branch per row. Only if the flag is set are the counted rows searched for the overflow.
//! Floats follow IEEE 754.

use vector::{Error, FlatType, Result, Type, TypeKind, Vector};

use super::decimal;
use super::result_types;
use crate::expr::functions::temporal::calendar;
use crate::expr::kernel::{Argument, Call, Kernel, Operand, map, wrong_storage, zip};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("plus", &[NUMBERS, "(DATE or TIMESTAMP, INTERVAL)"], plus)
        .with_rule(result_types::plus),
    Function::scalar("minus", &[NUMBERS, "(DATE or TIMESTAMP, INTERVAL)"], minus)
        .with_rule(result_types::minus),
    Function::scalar("multiply", &[NUMBERS], multiply).with_rule(result_types::multiply),
    Function::scalar("divide", &[NUMBERS], divide).with_rule(result_types::divide),
    Function::scalar("modulus", &[NUMBERS], modulus).with_rule(result_types::modulus),
    Function::scalar("negate", &["(T) -> T for numeric T"], negate).with_rule(result_types::sign),
    Function::scalar("abs", &["(T) -> T for numeric T"], abs).with_rule(result_types::sign),
];

const NUMBERS: &str = "(T, T) -> T for numeric T, decimals with their own result type";

/// Binary arithmetic operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Multiply,
    Divide,
    Modulus,
}

impl Operator {
    fn name(self) -> &'static str {
        match self {
            Operator::Plus => "plus",
            Operator::Minus => "minus",
            Operator::Multiply => "multiply",
            Operator::Divide => "divide",
            Operator::Modulus => "modulus",
        }
    }
}

fn plus(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(Operator::Plus, args, result)
}

fn minus(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(Operator::Minus, args, result)
}

fn multiply(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(Operator::Multiply, args, result)
}

fn divide(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(Operator::Divide, args, result)
}

fn modulus(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(Operator::Modulus, args, result)
}

fn bind(operator: Operator, args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let [left, right] = args else { return Err(wrong_storage(result)) };
    if left.ty == &Type::Interval || right.ty == &Type::Interval {
        return calendar::bind_interval(operator == Operator::Minus, left.ty);
    }
    if let Type::Decimal { .. } = result {
        return decimal::bind(operator, left.ty, right.ty, result);
    }
    Ok(match result.kind() {
        TypeKind::TinyInt => Kernel::new(move |call| integers::<i8>(operator, call)),
        TypeKind::SmallInt => Kernel::new(move |call| integers::<i16>(operator, call)),
        TypeKind::Integer => Kernel::new(move |call| integers::<i32>(operator, call)),
        TypeKind::BigInt => Kernel::new(move |call| integers::<i64>(operator, call)),
        TypeKind::HugeInt => Kernel::new(move |call| integers::<i128>(operator, call)),
        TypeKind::Real => Kernel::new(move |call| floats::<f32>(operator, call)),
        TypeKind::Double => Kernel::new(move |call| floats::<f64>(operator, call)),
        _ => return Err(wrong_storage(result)),
    })
}

fn negate(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    Ok(match result.kind() {
        TypeKind::TinyInt => Kernel::new(signed::<i8, false>),
        TypeKind::SmallInt => Kernel::new(signed::<i16, false>),
        TypeKind::Integer => Kernel::new(signed::<i32, false>),
        TypeKind::BigInt => Kernel::new(signed::<i64, false>),
        TypeKind::HugeInt => Kernel::new(signed::<i128, false>),
        TypeKind::Real => Kernel::new(|call| float_map(call, |x: f32| -x)),
        TypeKind::Double => Kernel::new(|call| float_map(call, |x: f64| -x)),
        _ => return Err(wrong_storage(result)),
    })
}

fn abs(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    Ok(match result.kind() {
        TypeKind::TinyInt => Kernel::new(signed::<i8, true>),
        TypeKind::SmallInt => Kernel::new(signed::<i16, true>),
        TypeKind::Integer => Kernel::new(signed::<i32, true>),
        TypeKind::BigInt => Kernel::new(signed::<i64, true>),
        TypeKind::HugeInt => Kernel::new(signed::<i128, true>),
        TypeKind::Real => Kernel::new(|call| float_map(call, f32::abs)),
        TypeKind::Double => Kernel::new(|call| float_map(call, f64::abs)),
        _ => return Err(wrong_storage(result)),
    })
}

/// Integers of any width. A negative accumulator denotes an overflow.
trait Integer: FlatType + Ord + Default + std::fmt::Display {
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_neg(self) -> Self;
    fn wrapping_div(self, other: Self) -> Self;
    fn wrapping_rem(self, other: Self) -> Self;
    fn overflowing_mul(self, other: Self) -> (Self, bool);
    fn checked(self, operator: Operator, other: Self) -> Option<Self>;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Integer for $t {
            #[inline]
            fn wrapping_add(self, other: Self) -> Self { <$t>::wrapping_add(self, other) }
            #[inline]
            fn wrapping_sub(self, other: Self) -> Self { <$t>::wrapping_sub(self, other) }
            #[inline]
            fn wrapping_neg(self) -> Self { <$t>::wrapping_neg(self) }
            #[inline]
            fn wrapping_div(self, other: Self) -> Self { <$t>::wrapping_div(self, other) }
            #[inline]
            fn wrapping_rem(self, other: Self) -> Self { <$t>::wrapping_rem(self, other) }
            #[inline]
            fn overflowing_mul(self, other: Self) -> (Self, bool) {
                <$t>::overflowing_mul(self, other)
            }
            fn checked(self, operator: Operator, other: Self) -> Option<Self> {
                match operator {
                    Operator::Plus => self.checked_add(other),
                    Operator::Minus => self.checked_sub(other),
                    Operator::Multiply => self.checked_mul(other),
                    Operator::Divide => self.checked_div(other),
                    Operator::Modulus if other == 0 => None,
                    Operator::Modulus => Some(<$t>::wrapping_rem(self, other)),
                }
            }
            #[inline]
            fn and(self, other: Self) -> Self { self & other }
            #[inline]
            fn or(self, other: Self) -> Self { self | other }
            #[inline]
            fn xor(self, other: Self) -> Self { self ^ other }
        }
    )* };
}
integers!(i8, i16, i32, i64, i128);

fn integers<T: Integer>(operator: Operator, call: &Call<'_>) -> Result<Vector> {
    let (left, right) = (Operand::<T>::new(&call.args[0])?, Operand::<T>::new(&call.args[1])?);
    let (left, right) = (left.side(), right.side());
    let (len, zero) = (call.num_rows(), T::default());
    let mut evidence = zero;
    let mut failed = false;
    let values = match operator {
        Operator::Plus => zip(left, right, len, |x: T, y: T| {
            let sum = x.wrapping_add(y);
            evidence = evidence.or(x.xor(sum).and(y.xor(sum)));
            sum
        }),
        Operator::Minus => zip(left, right, len, |x: T, y: T| {
            let difference = x.wrapping_sub(y);
            evidence = evidence.or(x.xor(y).and(x.xor(difference)));
            difference
        }),
        Operator::Multiply => zip(left, right, len, |x: T, y: T| {
            let (product, overflow) = x.overflowing_mul(y);
            failed |= overflow;
            product
        }),
        Operator::Divide => zip(left, right, len, |x: T, y: T| {
            if y == zero {
                failed = true;
                return zero;
            }
            let quotient = x.wrapping_div(y);
            // The minimum divided by -1 is the only quotient of two negatives that is negative.
            evidence = evidence.or(x.and(y).and(quotient));
            quotient
        }),
        Operator::Modulus => zip(left, right, len, |x: T, y: T| {
            if y == zero {
                failed = true;
                return zero;
            }
            x.wrapping_rem(y)
        }),
    };
    if failed || evidence < zero {
        let culprit = |row| left.at(row).checked(operator, right.at(row)).is_none();
        if let Some(row) = call.first_row(culprit) {
            return Err(failure(operator, left.at(row), right.at(row), right.at(row) == zero));
        }
    }
    call.fixed(values)
}

#[cold]
fn failure(
    operator: Operator,
    left: impl std::fmt::Display,
    right: impl std::fmt::Display,
    by_zero: bool,
) -> Error {
    let message = match operator {
        Operator::Divide | Operator::Modulus if by_zero => "division by zero",
        _ => "integer overflow",
    };
    Error::invalid_input(message)
        .with("operator", operator.name())
        .with("left", left)
        .with("right", right)
}

/// Computes the negation, or the absolute value if `ABS`.
fn signed<T: Integer, const ABS: bool>(call: &Call<'_>) -> Result<Vector> {
    let operand = Operand::<T>::new(&call.args[0])?;
    let (side, zero) = (operand.side(), T::default());
    let mut evidence = zero;
    let values = map(side, call.num_rows(), |x: T| {
        let turned = if ABS && x >= zero { x } else { x.wrapping_neg() };
        // Only the minimum is negative both before and after negation.
        evidence = evidence.or(x.and(turned));
        turned
    });
    if evidence < zero
        && let Some(row) =
            call.first_row(|row| side.at(row) < zero && side.at(row).wrapping_neg() < zero)
    {
        return Err(Error::invalid_input("integer overflow")
            .with("operator", if ABS { "abs" } else { "negate" })
            .with("value", side.at(row)));
    }
    call.fixed(values)
}

/// Floats of either width.
trait Float:
    FlatType
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Rem<Output = Self>
{
}
impl Float for f32 {}
impl Float for f64 {}

fn floats<T: Float>(operator: Operator, call: &Call<'_>) -> Result<Vector> {
    let (left, right) = (Operand::<T>::new(&call.args[0])?, Operand::<T>::new(&call.args[1])?);
    let (left, right, len) = (left.side(), right.side(), call.num_rows());
    call.fixed(match operator {
        Operator::Plus => zip(left, right, len, |x, y| x + y),
        Operator::Minus => zip(left, right, len, |x, y| x - y),
        Operator::Multiply => zip(left, right, len, |x, y| x * y),
        Operator::Divide => zip(left, right, len, |x, y| x / y),
        Operator::Modulus => zip(left, right, len, |x, y| x % y),
    })
}

fn float_map<T: FlatType>(call: &Call<'_>, f: impl Fn(T) -> T) -> Result<Vector> {
    let operand = Operand::<T>::new(&call.args[0])?;
    call.fixed(map(operand.side(), call.num_rows(), f))
}
