//! Result types of arithmetic: common types of numbers, precision and scale of decimals, and dates
//! moved by intervals.

use vector::Type;
use vector::types::MAX_PRECISION;

use crate::expr::coercion::{as_decimal, common_of};
use crate::expr::typing::Resolved;

/// Returns precision and scale of both sides, when at least one is a decimal and the other an exact
/// number.
fn decimals(types: &[Type]) -> Option<[(u8, u8); 2]> {
    let [a, b] = types else { return None };
    let any = matches!(a, Type::Decimal { .. }) || matches!(b, Type::Decimal { .. });
    if !any {
        return None;
    }
    // A null takes the type of the other side.
    let shape = |ty: &Type, other: &Type| match ty {
        Type::Unknown => as_decimal(other),
        ty => as_decimal(ty),
    };
    Some([shape(a, b)?, shape(b, a)?])
}

/// Computes precision and scale of a decimal result from those of both sides.
type DecimalRule = fn([(u8, u8); 2]) -> Option<(u8, u8)>;

fn numeric(types: &[Type], decimal: DecimalRule) -> Option<Resolved> {
    if types.len() != 2 {
        return None;
    }
    if let Some(sides) = decimals(types) {
        let (precision, scale) = decimal(sides)?;
        let ty = |(precision, scale)| Type::Decimal { precision, scale };
        return Some(Resolved::new(sides.map(ty).to_vec(), ty((precision, scale))));
    }
    let common = match common_of(types)? {
        Type::Float16 => Type::Real,
        Type::Unknown => Type::BigInt,
        other => other,
    };
    common.is_numeric().then(|| Resolved::new(vec![common.clone(); 2], common))
}

/// Resolves dates and timestamps with an interval on the right, and for `plus` also on the left.
fn dated(types: &[Type], either_side: bool) -> Option<Resolved> {
    let is_dated = |ty: &Type| matches!(ty, Type::Date | Type::Timestamp);
    match types {
        [point, Type::Interval] if is_dated(point) => {
            Some(Resolved::new(types.to_vec(), point.clone()))
        }
        [Type::Interval, point] if either_side && is_dated(point) => {
            Some(Resolved::new(types.to_vec(), point.clone()))
        }
        _ => None,
    }
}

pub(super) fn plus(types: &[Type]) -> Option<Resolved> {
    dated(types, true).or_else(|| numeric(types, sum_of_decimals))
}

pub(super) fn minus(types: &[Type]) -> Option<Resolved> {
    dated(types, false).or_else(|| numeric(types, sum_of_decimals))
}

fn sum_of_decimals([(p1, s1), (p2, s2)]: [(u8, u8); 2]) -> Option<(u8, u8)> {
    let scale = s1.max(s2);
    Some((((p1 - s1).max(p2 - s2) + scale + 1).min(MAX_PRECISION), scale))
}

pub(super) fn multiply(types: &[Type]) -> Option<Resolved> {
    numeric(types, |[(p1, s1), (p2, s2)]| {
        let scale = s1 + s2;
        (scale <= MAX_PRECISION).then(|| ((p1 + p2).min(MAX_PRECISION), scale))
    })
}

pub(super) fn divide(types: &[Type]) -> Option<Resolved> {
    numeric(types, |[(p1, s1), (_, s2)]| {
        let precision = u16::from(p1) + u16::from(s2) + u16::from(s2.saturating_sub(s1));
        Some((precision.min(u16::from(MAX_PRECISION)) as u8, s1.max(s2)))
    })
}

pub(super) fn modulus(types: &[Type]) -> Option<Resolved> {
    numeric(types, |[(p1, s1), (p2, s2)]| {
        let scale = s1.max(s2);
        Some((((p1 - s1).min(p2 - s2) + scale).clamp(1, MAX_PRECISION), scale))
    })
}

pub(super) fn sign(types: &[Type]) -> Option<Resolved> {
    let [ty] = types else { return None };
    let ty = match ty {
        Type::Float16 => Type::Real,
        Type::Unknown => Type::BigInt,
        ty => ty.clone(),
    };
    ty.is_numeric().then(|| Resolved::new(vec![ty.clone()], ty))
}
