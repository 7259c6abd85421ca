//! Elementary functions: roots, logarithms, trigonometry, constants, signs, kinds of DOUBLEs, and
//! rounding of floats at a decimal digit.

use std::f64::consts::{E, PI};

use vector::{BufferMut, Result, Type, TypeKind, Vector};

use crate::expr::by_row::{Integers, double, doubles, numbers, tests};
use crate::expr::kernel::{Call, Operand, Side, map};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("sqrt", &["(DOUBLE) -> DOUBLE"], sqrt),
    Function::rows("ln", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::ln)),
    Function::rows("log2", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::log2)),
    Function::rows("log10", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::log10)),
    Function::rows("exp", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::exp)),
    Function::rows("cbrt", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::cbrt)),
    Function::rows("radians", &["(DOUBLE) -> DOUBLE"], |call| double(call, |x| x * (PI / 180.0))),
    Function::rows("degrees", &["(DOUBLE) -> DOUBLE"], |call| double(call, |x| x * (180.0 / PI))),
    Function::rows("sin", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::sin)),
    Function::rows("cos", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::cos)),
    Function::rows("tan", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::tan)),
    Function::rows("asin", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::asin)),
    Function::rows("acos", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::acos)),
    Function::rows("atan", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::atan)),
    Function::rows("cosh", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::cosh)),
    Function::rows("tanh", &["(DOUBLE) -> DOUBLE"], |call| double(call, f64::tanh)),
    Function::rows("power", &["(DOUBLE, DOUBLE) -> DOUBLE"], |call| doubles(call, f64::powf)),
    Function::rows("pow", &["(DOUBLE, DOUBLE) -> DOUBLE"], |call| doubles(call, f64::powf)),
    Function::rows("atan2", &["(DOUBLE, DOUBLE) -> DOUBLE"], |call| doubles(call, f64::atan2)),
    Function::rows("pi", &["() -> DOUBLE"], |call| constant(call, PI)),
    Function::rows("e", &["() -> DOUBLE"], |call| constant(call, E)),
    Function::rows("nan", &["() -> DOUBLE"], |call| constant(call, f64::NAN)),
    Function::rows("infinity", &["() -> DOUBLE"], |call| constant(call, f64::INFINITY)),
    Function::rows("is_nan", &["(DOUBLE) -> BOOLEAN"], |call| is(call, f64::is_nan)),
    Function::rows("is_finite", &["(DOUBLE) -> BOOLEAN"], |call| is(call, f64::is_finite)),
    Function::rows("is_infinite", &["(DOUBLE) -> BOOLEAN"], |call| is(call, f64::is_infinite)),
    Function::rows("sign", &["(T) -> T for number T"], sign),
    Function::rows(
        "clamp",
        &["(T, T, T) -> T for integer T", "(DOUBLE, DOUBLE, DOUBLE) -> DOUBLE"],
        clamp,
    ),
];

/// Applies `f` to floats of either width and a number of digits, which is 0 without a second
/// argument.
fn floats(call: &Call<'_>, f: fn(f64, i32) -> f64) -> Result<Vector> {
    let digits = match call.args.len() {
        2 => Some(Integers::new(call, 1)?),
        _ => None,
    };
    let digits = |row| match &digits {
        Some(digits) => digits.at(row).clamp(i32::MIN.into(), i32::MAX.into()) as i32,
        None => 0,
    };
    macro_rules! of {
        ($t:ty) => {{
            let (values, mut out) = (Operand::<$t>::new(&call.args[0])?, BufferMut::new());
            out.resize(call.num_rows(), <$t>::NAN);
            for row in call.rows.iter() {
                out[row] = f(f64::from(values.side().at(row)), digits(row)) as $t;
            }
            call.fixed(out.freeze())
        }};
    }
    if call.ty.kind() == TypeKind::Real { of!(f32) } else { of!(f64) }
}

/// Applies `f` to floats; integers are unchanged.
fn of_floats(call: &Call<'_>, f: fn(f64, i32) -> f64) -> Result<Vector> {
    if matches!(call.ty, Type::Real | Type::Double) {
        return floats(call, f);
    }
    let values = Integers::new(call, 0)?;
    numbers(call, &mut |row| Ok(Some(values.at(row))))
}

/// One instruction computes several roots, so an inlined loop pays off.
fn sqrt(call: &Call<'_>) -> Result<Vector> {
    let argument = Operand::<f64>::new(&call.args[0])?;
    call.fixed(map(argument.side(), call.num_rows(), f64::sqrt))
}

/// Returns -1, 0 or 1; NaN for NaN.
fn sign(call: &Call<'_>) -> Result<Vector> {
    if matches!(call.ty, Type::Real | Type::Double) {
        return floats(call, |x, _| if x == 0.0 { 0.0 } else { x.signum() });
    }
    let values = Integers::new(call, 0)?;
    numbers(call, &mut |row| Ok(Some(values.at(row).signum())))
}

/// Rounds half away from zero at a decimal digit. Integers are unchanged, as in Velox.
pub(super) fn round(call: &Call<'_>) -> Result<Vector> {
    of_floats(call, rounded)
}

/// Rounds towards zero at a decimal digit.
pub(super) fn truncate(call: &Call<'_>) -> Result<Vector> {
    of_floats(call, truncated)
}

fn rounded(x: f64, digits: i32) -> f64 {
    if !x.is_finite() || (digits >= 0 && x == x.trunc()) {
        return x;
    }
    let factor = 10f64.powf(digits.into());
    ((x.abs() * factor).round() / factor).copysign(x)
}

fn truncated(x: f64, digits: i32) -> f64 {
    let factor = 10f64.powf(digits.unsigned_abs().into());
    if digits < 0 {
        return if factor.is_finite() { (x / factor).trunc() * factor } else { 0.0 };
    }
    let moved = x * factor;
    if moved.is_finite() { moved.trunc() / factor } else { x }
}

/// Returns the value, or the bound that it violates. The upper bound counts if the bounds cross.
fn clamp(call: &Call<'_>) -> Result<Vector> {
    if call.ty.kind() == TypeKind::Double {
        let [x, low, high] = [0, 1, 2].map(|arg| Operand::<f64>::new(&call.args[arg]));
        let (x, low, high) = (x?, low?, high?);
        let mut out = BufferMut::new();
        out.resize(call.num_rows(), 0f64);
        for row in call.rows.iter() {
            let [x, low, high] = [&x, &low, &high].map(|operand| operand.side().at(row));
            out[row] = if x < low {
                low
            } else if high < x {
                high
            } else {
                x
            };
        }
        return call.fixed(out.freeze());
    }
    let (x, low, high) =
        (Integers::new(call, 0)?, Integers::new(call, 1)?, Integers::new(call, 2)?);
    numbers(call, &mut |row| {
        let (x, low, high) = (x.at(row), low.at(row), high.at(row));
        Ok(Some(if x < low { low } else { x.min(high) }))
    })
}

/// Tests whether a DOUBLE is of a class.
fn is(call: &Call<'_>, kind: fn(f64) -> bool) -> Result<Vector> {
    let values = Operand::<f64>::new(&call.args[0])?;
    tests(call, &mut |row| Ok(Some(kind(values.side().at(row)))))
}

/// Returns one DOUBLE for all rows.
fn constant(call: &Call<'_>, value: f64) -> Result<Vector> {
    call.fixed(map(Side::One(value), call.num_rows(), |x: f64| x))
}

#[cfg(all(test, not(loom)))]
mod unit_tests {
    use super::*;

    #[test]
    fn digits_are_rounded_as_the_product_with_a_power_of_ten_is() {
        // Observed from Velox 0.2.0.
        for (x, digits, expected) in [
            (1.255, 2, 1.25),
            (2.675, 2, 2.68),
            (-2.5, 0, -3.0),
            (1234.5, -2, 1200.0),
            (1e300, 300, 1e300),
            (1.5, 308, 1.5),
            (1_234_567.5, 307, f64::INFINITY),
            (1.5, 400, f64::NAN),
            (1.5, -400, f64::NAN),
            (f64::INFINITY, -2, f64::INFINITY),
            (0.499_999_999_999_999_94, 0, 0.0),
        ] {
            let found = rounded(x, digits);
            assert!(found == expected || found.is_nan() && expected.is_nan(), "{x} {digits}");
        }
        for (x, digits, expected) in [
            (-0.5, 0, 0.0),
            (1.999, 2, 1.99),
            (0.29, 2, 0.28),
            (1234.567, -2, 1200.0),
            (1e300, 300, 1e300),
            (1.5, 400, 1.5),
            (123.5, -400, 0.0),
            (f64::NAN, -400, 0.0),
            (f64::INFINITY, 2, f64::INFINITY),
        ] {
            assert_eq!(truncated(x, digits), expected, "{x} {digits}");
        }
    }
}
