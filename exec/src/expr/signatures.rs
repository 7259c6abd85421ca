//! Typing rules of the built-in functions: the types of their arguments and results.
//!
//! Rules are plain functions from argument types to [`Resolved`], shared by functions with the same
//! typing. `functions.rs` assigns a rule to each function.

use vector::Type;
use vector::types::MAX_PRECISION;

use super::coercion::{as_decimal, can_coerce, common_type};
use super::registry::Resolved;

/// Returns the common type of all types; `None` without types.
fn common_of(types: &[Type]) -> Option<Type> {
    let (first, rest) = types.split_first()?;
    rest.iter().try_fold(first.clone(), |common, ty| common_type(&common, ty))
}

/// Resolves arguments of one common scalar type; the result has this type or `result`.
fn same_scalars(types: &[Type], result: Option<Type>) -> Option<Resolved> {
    let common = common_of(types)?;
    if common.is_nested() {
        return None;
    }
    let result = result.unwrap_or_else(|| common.clone());
    Some(Resolved::new(vec![common; types.len()], result))
}

/// Resolves arguments that convert implicitly to the types `wanted`.
fn exactly(types: &[Type], wanted: &[Type], result: Type) -> Option<Resolved> {
    let fits =
        types.len() == wanted.len() && types.iter().zip(wanted).all(|(t, w)| can_coerce(t, w));
    fits.then(|| Resolved::new(wanted.to_vec(), result))
}

pub(super) fn comparison(types: &[Type]) -> Option<Resolved> {
    (types.len() == 2).then(|| same_scalars(types, Some(Type::Boolean)))?
}

pub(super) fn distinct_from(types: &[Type]) -> Option<Resolved> {
    let [a, b] = types else { return None };
    Some(Resolved::new(vec![common_type(a, b)?; 2], Type::Boolean))
}

pub(super) fn between(types: &[Type]) -> Option<Resolved> {
    (types.len() == 3).then(|| same_scalars(types, Some(Type::Boolean)))?
}

pub(super) fn in_list(types: &[Type]) -> Option<Resolved> {
    (types.len() >= 2).then(|| same_scalars(types, Some(Type::Boolean)))?
}

pub(super) fn rand(types: &[Type]) -> Option<Resolved> {
    exactly(types, &[], Type::Double)
}

pub(super) fn attempt(types: &[Type]) -> Option<Resolved> {
    let [ty] = types else { return None };
    Some(Resolved::new(vec![ty.clone()], ty.clone()))
}

pub(super) fn is_null(types: &[Type]) -> Option<Resolved> {
    let [ty] = types else { return None };
    Some(Resolved::new(vec![ty.clone()], Type::Boolean))
}

pub(super) fn not(types: &[Type]) -> Option<Resolved> {
    exactly(types, &[Type::Boolean], Type::Boolean)
}

pub(super) fn junction(types: &[Type]) -> Option<Resolved> {
    let wanted = vec![Type::Boolean; types.len()];
    if types.is_empty() { None } else { exactly(types, &wanted, Type::Boolean) }
}

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

pub(super) fn if_else(types: &[Type]) -> Option<Resolved> {
    if matches!(types.len(), 2 | 3) { switch(types) } else { None }
}

pub(super) fn switch(types: &[Type]) -> Option<Resolved> {
    if types.len() < 2 {
        return None;
    }
    // Conditions are at even positions, except for a last argument that is the ELSE branch.
    let is_condition = |i: usize| i.is_multiple_of(2) && i + 1 < types.len();
    let mut branches = Vec::with_capacity(types.len());
    for (i, ty) in types.iter().enumerate() {
        if !is_condition(i) {
            branches.push(ty.clone());
        } else if !can_coerce(ty, &Type::Boolean) {
            return None;
        }
    }
    let common = common_of(&branches)?;
    let arg = |i| if is_condition(i) { Type::Boolean } else { common.clone() };
    Some(Resolved::new((0..types.len()).map(arg).collect(), common))
}

pub(super) fn coalesce(types: &[Type]) -> Option<Resolved> {
    let common = common_of(types)?;
    Some(Resolved::new(vec![common.clone(); types.len()], common))
}

pub(super) fn nullif(types: &[Type]) -> Option<Resolved> {
    (types.len() == 2).then(|| same_scalars(types, None))?
}

fn texts(types: &[Type], result: Type) -> Option<Resolved> {
    exactly(types, &vec![Type::Varchar; types.len()], result)
}

pub(super) fn like(types: &[Type]) -> Option<Resolved> {
    (matches!(types.len(), 2 | 3)).then(|| texts(types, Type::Boolean))?
}

pub(super) fn length(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Varbinary] => Some(Resolved::new(types.to_vec(), Type::BigInt)),
        _ => exactly(types, &[Type::Varchar], Type::BigInt),
    }
}

pub(super) fn text_to_text(types: &[Type]) -> Option<Resolved> {
    exactly(types, &[Type::Varchar], Type::Varchar)
}

pub(super) fn substr(types: &[Type]) -> Option<Resolved> {
    let wanted = [Type::Varchar, Type::BigInt, Type::BigInt];
    let count = types.len().clamp(2, 3);
    exactly(types, &wanted[..count], Type::Varchar)
}

pub(super) fn starts_with(types: &[Type]) -> Option<Resolved> {
    (types.len() == 2).then(|| texts(types, Type::Boolean))?
}

pub(super) fn date_part(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Timestamp] => Some(Resolved::new(types.to_vec(), Type::BigInt)),
        _ => exactly(types, &[Type::Date], Type::BigInt),
    }
}

pub(super) fn cardinality(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Array(_) | Type::Map(..)] => Some(Resolved::new(types.to_vec(), Type::BigInt)),
        _ => None,
    }
}

/// Resolves an element of an array by position, or the value of a map by key.
pub(super) fn subscript(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Array(element), index] if can_coerce(index, &Type::BigInt) => {
            let element = element.as_ref().clone();
            Some(Resolved::new(vec![types[0].clone(), Type::BigInt], element))
        }
        [Type::Map(key, value), wanted] if can_coerce(wanted, key) => {
            let (key, value) = (key.as_ref().clone(), value.as_ref().clone());
            Some(Resolved::new(vec![types[0].clone(), key], value))
        }
        _ => None,
    }
}
