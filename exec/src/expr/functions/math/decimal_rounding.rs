//! `round`, `floor`, `ceil` and `truncate` of decimals.
//!
//! ```text
//! (DECIMAL(p,s)) -> DECIMAL(p-s+1,0)           p-s for scale 0 or when truncated
//! (DECIMAL(p,s), digits) -> DECIMAL(p+1,s)     (p,s) when truncated
//! ```

use vector::types::MAX_PRECISION;
use vector::types::decimal::{divide_rounded, fits, power_of_ten};
use vector::{BufferMut, Error, FlatValues, Result, Type, TypeKind, Vector};

use crate::expr::by_row::Integers;
use crate::expr::coercion::can_coerce;
use crate::expr::kernel::{Call, Kernel, wrong_storage};
use crate::expr::typing::Resolved;

/// Rounding mode of a number between two multiples of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    HalfAway,
    Down,
    Up,
    ToZero,
}

impl Way {
    /// Returns the number of units that a value is rounded to.
    fn units(self, value: i128, unit: i128) -> i128 {
        match self {
            Way::HalfAway => divide_rounded(value, unit),
            Way::Down => value.div_euclid(unit),
            Way::Up => -(-value).div_euclid(unit),
            Way::ToZero => value / unit,
        }
    }
}

/// Resolves a decimal that is rounded to an integer.
pub(super) fn whole(types: &[Type], way: Way) -> Option<Resolved> {
    let &[Type::Decimal { precision, scale }] = types else { return None };
    let more = if way == Way::ToZero { 0 } else { scale.min(1) };
    let result = Type::Decimal { precision: (precision - scale + more).max(1), scale: 0 };
    Some(Resolved::new(types.to_vec(), result))
}

/// Resolves a decimal that is rounded to an integer, or at a digit.
pub(super) fn at_digit(types: &[Type], way: Way) -> Option<Resolved> {
    let [Type::Decimal { precision, scale }, digits] = types else { return whole(types, way) };
    let more = u8::from(way != Way::ToZero);
    let result = Type::Decimal { precision: (precision + more).min(MAX_PRECISION), scale: *scale };
    let args = vec![types[0].clone(), Type::BigInt];
    can_coerce(digits, &Type::BigInt).then(|| Resolved::new(args, result))
}

pub(super) fn bind(way: Way) -> Kernel {
    Kernel::new(move |call| rounded(call, way))
}

fn rounded(call: &Call<'_>, way: Way) -> Result<Vector> {
    let argument = &call.args[0];
    let (&Type::Decimal { scale, .. }, &Type::Decimal { precision, .. }, Some(values)) =
        (argument.ty(), call.ty, argument.flat_values())
    else {
        return Err(wrong_storage(argument.ty()));
    };
    let digits = match call.args.len() {
        2 => Some(Integers::new(call, 1)?),
        _ => None,
    };
    let mut out = BufferMut::new();
    out.resize(call.num_rows(), 0i128);
    for row in call.rows.iter() {
        let at = argument.index(row);
        let value = match values {
            FlatValues::BigInt(values) => i128::from(values[at]),
            FlatValues::HugeInt(values) => values[at],
            _ => return Err(wrong_storage(argument.ty())),
        };
        let kept = digits.as_ref().map_or(0, |digits| digits.at(row));
        let lost = i64::from(scale).saturating_sub(kept);
        // If more digits are removed than any decimal has, the result is 0; if none, it is the
        // value.
        let unit = if lost > 0 { u8::try_from(lost).ok().and_then(power_of_ten) } else { Some(1) };
        let units = unit.map_or(0, |unit| way.units(value, unit));
        let back = if digits.is_some() { unit.unwrap_or(1) } else { 1 };
        let result = units.checked_mul(back).filter(|result| fits(*result, precision));
        out[row] = result.ok_or_else(|| {
            Error::invalid_input("decimal overflow").with("type", call.ty).with("digits", kept)
        })?;
    }
    let out = out.freeze();
    match call.ty.kind() {
        // A value that fits the precision fits its storage.
        TypeKind::BigInt => call.fixed::<i64>(out.iter().map(|value| *value as i64).collect()),
        _ => call.fixed(out),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_types_that_velox_gives_them() {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let whole = |ty: Type, way| super::whole(&[ty], way).unwrap().result;
        assert_eq!(whole(decimal(5, 3), Way::HalfAway), decimal(3, 0));
        assert_eq!(whole(decimal(5, 0), Way::HalfAway), decimal(5, 0));
        assert_eq!(whole(decimal(38, 3), Way::Down), decimal(36, 0));
        assert_eq!(whole(decimal(5, 3), Way::ToZero), decimal(2, 0));
        assert_eq!(whole(decimal(3, 3), Way::ToZero), decimal(1, 0));
        let at = |way| at_digit(&[decimal(5, 3), Type::Integer], way).unwrap().result;
        assert_eq!(at(Way::HalfAway), decimal(6, 3));
        assert_eq!(at(Way::ToZero), decimal(5, 3));
    }

    #[test]
    fn ways_differ_between_two_multiples() {
        for (value, expected) in [(12_345, [12, 12, 13, 12]), (-12_500, [-13, -13, -12, -12])] {
            let ways = [Way::HalfAway, Way::Down, Way::Up, Way::ToZero];
            assert_eq!(ways.map(|way| way.units(value, 1_000)), expected);
        }
    }
}
