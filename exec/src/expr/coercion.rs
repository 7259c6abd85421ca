//! Implicit conversions of types, and the common type of two types.
//!
//! ```text
//! TINYINT < SMALLINT < INTEGER < BIGINT < HUGEINT < DECIMAL < REAL < DOUBLE
//! DATE < TIMESTAMP        TIME(3) < TIME(6) < TIME(9)        UNKNOWN < everything
//! ```
//!
//! Arrays, maps and structs of the same shape have a common type if their parts do.
//!
//! Text is never implicitly converted to a number or a date; that requires a cast, or a typed
//! literal from the binder.

use vector::Type;
use vector::types::MAX_PRECISION;

/// Returns precision and scale of the decimal that holds every value of an integer type, or of the
/// decimal itself.
pub(super) fn as_decimal(ty: &Type) -> Option<(u8, u8)> {
    match ty {
        Type::TinyInt => Some((3, 0)),
        Type::SmallInt => Some((5, 0)),
        Type::Integer => Some((10, 0)),
        Type::BigInt => Some((19, 0)),
        Type::HugeInt => Some((MAX_PRECISION, 0)),
        Type::Decimal { precision, scale } => Some((*precision, *scale)),
        _ => None,
    }
}

/// Returns the rank of a numeric type in the order of implicit conversions.
fn numeric_rank(ty: &Type) -> Option<u8> {
    Some(match ty {
        Type::TinyInt => 0,
        Type::SmallInt => 1,
        Type::Integer => 2,
        Type::BigInt => 3,
        Type::HugeInt => 4,
        Type::Decimal { .. } => 5,
        Type::Float16 => 6,
        Type::Real => 7,
        Type::Double => 8,
        _ => return None,
    })
}

/// Returns the type to which both types convert implicitly; `None` when there is none.
pub fn common_type(a: &Type, b: &Type) -> Option<Type> {
    if a.is_equivalent(b) {
        return Some(a.clone());
    }
    match (a, b) {
        (Type::Unknown, other) | (other, Type::Unknown) => Some(other.clone()),
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Some(Type::Timestamp),
        (Type::Time(x), Type::Time(y)) => Some(Type::Time(*x.max(y))),
        (Type::Array(x), Type::Array(y)) => common_type(x, y).map(Type::array),
        (Type::Map(k, v), Type::Map(l, w)) => {
            Some(Type::map(common_type(k, l)?, common_type(v, w)?))
        }
        // The names of the fields are those of the first type.
        (Type::Row(x), Type::Row(y)) if x.len() == y.len() => {
            let pairs = x.fields().zip(y.types());
            let fields = pairs.map(|((name, a), b)| Some((name, common_type(a, b)?)));
            fields.collect::<Option<Vec<_>>>().map(Type::row)
        }
        // Half precision represents few integers exactly, so its common type with other numbers is
        // REAL.
        (Type::Float16, other) | (other, Type::Float16) => match other {
            Type::Double => Some(Type::Double),
            other => numeric_rank(other).map(|_| Type::Real),
        },
        _ => {
            let (rank_a, rank_b) = (numeric_rank(a)?, numeric_rank(b)?);
            let wider = if rank_a >= rank_b { a } else { b };
            if !matches!(wider, Type::Decimal { .. }) {
                return Some(wider.clone());
            }
            let ((p1, s1), (p2, s2)) = (as_decimal(a)?, as_decimal(b)?);
            let scale = s1.max(s2);
            let precision = ((p1 - s1).max(p2 - s2) + scale).min(MAX_PRECISION);
            Some(Type::Decimal { precision, scale })
        }
    }
}

/// Returns the common type of all types; `None` without types.
pub(super) fn common_of(types: &[Type]) -> Option<Type> {
    let (first, rest) = types.split_first()?;
    rest.iter().try_fold(first.clone(), |common, ty| common_type(&common, ty))
}

/// Returns true when `from` converts to `to` implicitly.
pub fn can_coerce(from: &Type, to: &Type) -> bool {
    common_type(from, to).is_some_and(|common| common.is_equivalent(to))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn decimal(precision: u8, scale: u8) -> Type {
        Type::Decimal { precision, scale }
    }

    #[test]
    fn numbers_meet_in_the_wider_one() {
        assert_eq!(common_type(&Type::TinyInt, &Type::BigInt), Some(Type::BigInt));
        assert_eq!(common_type(&Type::BigInt, &Type::Real), Some(Type::Real));
        assert_eq!(common_type(&decimal(10, 2), &Type::Double), Some(Type::Double));
        assert_eq!(common_type(&decimal(10, 2), &Type::Integer), Some(decimal(12, 2)));
        assert_eq!(common_type(&decimal(10, 2), &decimal(5, 4)), Some(decimal(12, 4)));
        assert_eq!(common_type(&decimal(38, 0), &decimal(38, 38)), Some(decimal(38, 38)));
        assert_eq!(common_type(&Type::Float16, &Type::SmallInt), Some(Type::Real));
    }

    #[test]
    fn text_meets_only_text_and_null_meets_everything() {
        assert_eq!(common_type(&Type::Varchar, &Type::BigInt), None);
        assert_eq!(common_type(&Type::Varchar, &Type::Date), None);
        assert_eq!(common_type(&Type::Unknown, &Type::Varchar), Some(Type::Varchar));
        assert_eq!(common_type(&Type::Date, &Type::Timestamp), Some(Type::Timestamp));
    }

    #[test]
    fn coercion_goes_up_only() {
        assert!(can_coerce(&Type::Integer, &Type::Double));
        assert!(!can_coerce(&Type::Double, &Type::Integer));
        assert!(can_coerce(&Type::Integer, &decimal(12, 2)));
        assert!(!can_coerce(&decimal(12, 2), &decimal(10, 2)));
        assert!(can_coerce(&Type::Unknown, &Type::array(Type::Date)));
    }
}
