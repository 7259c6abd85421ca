//! Decimal arithmetic: exact, with the result types of `result_types.rs`.
//!
//! Both sides are unscaled integers of 64 or 128 bits. The loops compute in 128 bits, without
//! checks if the result type can represent every possible result. An intermediate result of more
//! than 128 bits (a long dividend rescaled to a larger scale) uses a slow path with 256 bits.

use vector::types::decimal::{fits, power_of_ten, write};
use vector::types::{MAX_PRECISION, MAX_SHORT_PRECISION};
use vector::{Error, FlatType, Result, Type, TypeKind, Vector};

use super::arithmetic::Operator;
use crate::expr::kernel::{Call, Kernel, Operand, wrong_storage, zip};

/// Parameters of a decimal operator, derived from its types.
#[derive(Debug, Clone, Copy)]
struct Plan {
    operator: Operator,
    /// Factors that rescale each side for the computation.
    factors: (i128, i128),
    scales: (u8, u8),
    precision: u8,
    /// True when the result type can represent the result of any two values of the argument types.
    roomy: bool,
}

pub(super) fn bind(operator: Operator, left: &Type, right: &Type, result: &Type) -> Result<Kernel> {
    let (
        Type::Decimal { precision: p1, scale: s1 },
        Type::Decimal { precision: p2, scale: s2 },
        Type::Decimal { precision, scale },
    ) = (left, right, result)
    else {
        return Err(wrong_storage(result));
    };
    let larger = *s1.max(s2);
    let power = |exponent: u8| {
        power_of_ten(exponent).ok_or_else(|| {
            Error::unsupported("a decimal operator needs more than 38 digits on the way")
                .with("left", left)
                .with("right", right)
        })
    };
    let (factors, digits) = match operator {
        Operator::Plus | Operator::Minus => {
            ((power(larger - s1)?, power(larger - s2)?), (p1 - s1).max(p2 - s2) + larger + 1)
        }
        Operator::Modulus => ((power(larger - s1)?, power(larger - s2)?), u8::MAX),
        Operator::Multiply => ((1, 1), p1 + p2),
        Operator::Divide => ((power(scale + s2 - s1)?, 1), u8::MAX),
    };
    let plan = Plan {
        operator,
        factors,
        scales: (*s1, *s2),
        precision: *precision,
        roomy: digits <= MAX_PRECISION,
    };
    // Select the loop by the storage of both sides and of the result.
    let short = |ty: &Type| ty.kind() == TypeKind::BigInt;
    Ok(match (short(left), short(right), *precision <= MAX_SHORT_PRECISION) {
        (true, true, true) => Kernel::new(move |call| run::<i64, i64, i64>(&plan, call)),
        (true, true, false) => Kernel::new(move |call| run::<i64, i64, i128>(&plan, call)),
        (true, false, false) => Kernel::new(move |call| run::<i64, i128, i128>(&plan, call)),
        (false, true, false) => Kernel::new(move |call| run::<i128, i64, i128>(&plan, call)),
        (false, false, false) => Kernel::new(move |call| run::<i128, i128, i128>(&plan, call)),
        (true, false, true) => Kernel::new(move |call| run::<i64, i128, i64>(&plan, call)),
        (false, true, true) => Kernel::new(move |call| run::<i128, i64, i64>(&plan, call)),
        (false, false, true) => Kernel::new(move |call| run::<i128, i128, i64>(&plan, call)),
    })
}

/// Storage of decimals.
trait Stored: FlatType + Into<i128> + Default {
    /// Truncates the number to the storage; returns whether it did not fit.
    fn cut(value: i128) -> (Self, bool);
}

impl Stored for i64 {
    #[inline]
    fn cut(value: i128) -> (Self, bool) {
        (value as i64, value as i64 as i128 != value)
    }
}

impl Stored for i128 {
    #[inline]
    fn cut(value: i128) -> (Self, bool) {
        (value, false)
    }
}

fn run<A: Stored, B: Stored, R: Stored>(plan: &Plan, call: &Call<'_>) -> Result<Vector> {
    let (left, right) = (Operand::<A>::new(&call.args[0])?, Operand::<B>::new(&call.args[1])?);
    let (left, right, len) = (left.side(), right.side(), call.num_rows());
    let (fx, fy) = plan.factors;
    let mut failed = false;
    let mut keep = |value: i128| {
        let (value, cut) = R::cut(value);
        failed |= cut;
        value
    };
    let values = match plan.operator {
        // A sum with small factors, and a product of two short decimals, fit well into 128 bits.
        Operator::Plus if plan.roomy => zip(left, right, len, |x, y| {
            keep(x.into().wrapping_mul(fx).wrapping_add(y.into().wrapping_mul(fy)))
        }),
        Operator::Minus if plan.roomy => zip(left, right, len, |x, y| {
            keep(x.into().wrapping_mul(fx).wrapping_sub(y.into().wrapping_mul(fy)))
        }),
        Operator::Multiply if plan.roomy => {
            zip(left, right, len, |x, y| keep(x.into().wrapping_mul(y.into())))
        }
        _ => zip(left, right, len, |x, y| match exact(plan, x.into(), y.into()) {
            Some(value) => R::cut(value).0,
            None => {
                failed = true;
                R::default()
            }
        }),
    };
    if failed
        && let Some(row) =
            call.first_row(|row| exact(plan, left.at(row).into(), right.at(row).into()).is_none())
    {
        return Err(failure(plan, left.at(row).into(), right.at(row).into()));
    }
    call.fixed(values)
}

#[cold]
fn failure(plan: &Plan, left: i128, right: i128) -> Error {
    let text = |value: i128, scale: u8| {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = write(&mut out, value, scale);
        out
    };
    let by_zero = matches!(plan.operator, Operator::Divide | Operator::Modulus) && right == 0;
    Error::invalid_input(if by_zero { "division by zero" } else { "decimal overflow" })
        .with("left", text(left, plan.scales.0))
        .with("right", text(right, plan.scales.1))
}

/// Returns the result, if it exists and has no more digits than the result type.
fn exact(plan: &Plan, x: i128, y: i128) -> Option<i128> {
    let (fx, fy) = plan.factors;
    let value = match plan.operator {
        Operator::Plus => x.checked_mul(fx)?.checked_add(y.checked_mul(fy)?)?,
        Operator::Minus => x.checked_mul(fx)?.checked_sub(y.checked_mul(fy)?)?,
        Operator::Multiply => match (i64::try_from(x), i64::try_from(y)) {
            // Most factors are small, and a checked 128-bit product costs a call.
            (Ok(a), Ok(b)) => i128::from(a) * i128::from(b),
            _ => x.checked_mul(y)?,
        },
        Operator::Divide if y == 0 => return None,
        Operator::Divide => match x.checked_mul(fx) {
            Some(dividend) => divide_rounded(dividend, y)?,
            None => divide_wide(x, fx, y)?,
        },
        Operator::Modulus if y == 0 => return None,
        Operator::Modulus => x.checked_mul(fx)?.checked_rem(y.checked_mul(fy)?)?,
    };
    fits(value, plan.precision).then_some(value)
}

/// Returns `x / y` rounded half away from zero.
fn divide_rounded(x: i128, y: i128) -> Option<i128> {
    let (quotient, rest) = (x.checked_div(y)?, x.checked_rem(y)?);
    // Twice the remainder reaches the divisor, compared without doubling.
    if rest.unsigned_abs() >= y.unsigned_abs() - rest.unsigned_abs() {
        quotient.checked_add(if (x < 0) == (y < 0) { 1 } else { -1 })
    } else {
        Some(quotient)
    }
}

/// Returns `x * factor / y` rounded half away from zero, with the product in 256 bits.
fn divide_wide(x: i128, factor: i128, y: i128) -> Option<i128> {
    let negative = (x < 0) != (y < 0);
    let (mut high, mut low) = multiply_wide(x.unsigned_abs(), factor.unsigned_abs());
    let divisor = y.unsigned_abs();
    // Long division bit by bit; a quotient of more than 128 bits is an overflow.
    let (mut rest, mut quotient) = (0u128, 0u128);
    for _ in 0..256 {
        if quotient >> 127 != 0 {
            return None;
        }
        let carry = rest >> 127;
        rest = rest << 1 | high >> 127;
        high = high << 1 | low >> 127;
        low <<= 1;
        quotient <<= 1;
        if carry != 0 || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    if rest >= divisor - rest {
        quotient = quotient.checked_add(1)?;
    }
    let quotient = i128::try_from(quotient).ok()?;
    Some(if negative { -quotient } else { quotient })
}

/// Returns the 256-bit product as high and low halves.
fn multiply_wide(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & LOW);
    (a1 * b1 + (middle >> 64) + (other >> 64), other << 64 | low & LOW)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn wide_division_equals_the_short_one_where_both_exist() {
        for (x, y) in [(7, 2), (-7, 2), (1, 3), (2, 3), (10i128.pow(30), 7), (5, -10)] {
            assert_eq!(divide_wide(x, 100, y), divide_rounded(x * 100, y), "{x} / {y}");
        }
    }

    #[test]
    fn a_product_of_more_than_128_bits_is_divided_exactly() {
        let large = 10i128.pow(37);
        assert_eq!(divide_wide(large, 10i128.pow(10), 10i128.pow(10)), Some(large));
        assert_eq!(divide_wide(-large, 10i128.pow(10), 10i128.pow(11)), Some(-large / 10));
        assert_eq!(divide_wide(large, 10i128.pow(10), 1), None);
    }
}
