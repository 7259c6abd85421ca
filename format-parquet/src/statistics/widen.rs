//! Statistics of a column that is read as a wider type than that of the file.
//!
//! A filter applies to the type as which the column is read. A widening keeps the order of values,
//! so the widened bounds are bounds of the widened values; where that is not known the bounds are
//! dropped, and counts are kept (rule P2.33). Unsigned integers may be read as signed ones of the
//! same width: in this case the bounds are valid only if both fit, which proves that no value
//! becomes negative (rule S7.54).

use std::borrow::Cow;

use dwio::stats::ColumnStatistics;
use vector::types::decimal;
use vector::{Timestamp, Type, TypeKind, Value};

/// Returns the statistics of a column of type `from` when it is read as `to`.
pub fn widened<'a>(
    statistics: &'a ColumnStatistics,
    from: &Type,
    to: &Type,
) -> Cow<'a, ColumnStatistics> {
    if from == to || (statistics.min.is_none() && statistics.max.is_none()) {
        return Cow::Borrowed(statistics);
    }
    let bound = |bound: &Option<Value>| bound.as_ref().and_then(|value| widen(value, from, to));
    let (mut min, mut max) = (bound(&statistics.min), bound(&statistics.max));
    if loses_bits(from, to) && (min.is_none() || max.is_none()) {
        (min, max) = (None, None);
    }
    Cow::Owned(ColumnStatistics {
        is_min_exact: statistics.is_min_exact && min.is_some(),
        is_max_exact: statistics.is_max_exact && max.is_some(),
        min,
        max,
        ..statistics.clone()
    })
}

/// Returns true when values of type `from` are truncated to their low bits as values of type `to`.
pub(crate) fn loses_bits(from: &Type, to: &Type) -> bool {
    let is_integer = |ty: &Type| ty.is_integer() || *ty == Type::HugeInt;
    is_integer(from) && is_integer(to) && to.kind() < from.kind()
}

fn widen(value: &Value, from: &Type, to: &Type) -> Option<Value> {
    let is_integer = from.is_integer() || *from == Type::HugeInt;
    match to {
        Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt | Type::HugeInt
            if is_integer =>
        {
            integer(value.as_i128()?, to.kind())
        }
        // Rounding to the nearest value never reverses the order of two values.
        Type::Double if is_integer => Some(Value::Double(value.as_i128()? as f64)),
        Type::Real | Type::Double if from.is_float() => match (value, to) {
            (Value::Real(v), Type::Double) => Some(Value::Double(f64::from(*v))),
            (Value::Real(_), Type::Real) | (Value::Double(_), Type::Double) => Some(value.clone()),
            _ => None,
        },
        Type::Decimal { precision, scale } => {
            let from_scale = match from {
                Type::Decimal { scale, .. } => *scale,
                _ if is_integer => 0,
                _ => return None,
            };
            if from_scale > *scale {
                return None;
            }
            integer(decimal::rescale(value.as_i128()?, from_scale, *scale, *precision)?, to.kind())
        }
        Type::Timestamp if *from == Type::Date => match value {
            Value::Integer(days) => Some(Value::Timestamp(Timestamp::from_days(*days))),
            _ => None,
        },
        Type::Varchar | Type::Varbinary if matches!(from, Type::Varchar | Type::Varbinary) => {
            Some(value.clone())
        }
        _ => None,
    }
}

fn integer(value: i128, kind: TypeKind) -> Option<Value> {
    match kind {
        TypeKind::TinyInt => value.try_into().ok().map(Value::TinyInt),
        TypeKind::SmallInt => value.try_into().ok().map(Value::SmallInt),
        TypeKind::Integer => value.try_into().ok().map(Value::Integer),
        TypeKind::BigInt => value.try_into().ok().map(Value::BigInt),
        TypeKind::HugeInt => Some(Value::HugeInt(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_every_widening_that_readers_make_and_no_other() {
        let wide = |value: Value, from: &Type, to: &Type| {
            let statistics = ColumnStatistics {
                num_nulls: Some(3),
                min: Some(value),
                is_min_exact: true,
                ..ColumnStatistics::default()
            };
            let widened = widened(&statistics, from, to).into_owned();
            assert_eq!(widened.num_nulls, Some(3));
            assert_eq!(widened.is_min_exact, widened.min.is_some());
            widened.min
        };
        let dec = |precision, scale| Type::decimal(precision, scale).unwrap();
        let cases = [
            (Value::Integer(-7), Type::Integer, Type::BigInt, Some(Value::BigInt(-7))),
            (Value::Integer(-7), Type::Integer, Type::Double, Some(Value::Double(-7.0))),
            (Value::Integer(-7), Type::Integer, dec(12, 2), Some(Value::BigInt(-700))),
            (Value::BigInt(7), Type::BigInt, dec(38, 3), Some(Value::HugeInt(7000))),
            (Value::BigInt(15), dec(4, 1), dec(20, 3), Some(Value::HugeInt(1500))),
            (Value::BigInt(15), dec(4, 1), dec(4, 0), None),
            (Value::BigInt(9_999), dec(4, 0), dec(4, 1), None),
            (Value::Real(0.5), Type::Real, Type::Double, Some(Value::Double(0.5))),
            (Value::Real(0.5), Type::Float16, Type::Real, Some(Value::Real(0.5))),
            (
                Value::Integer(2),
                Type::Date,
                Type::Timestamp,
                Some(Value::Timestamp(Timestamp::new(172_800, 0))),
            ),
            (Value::Integer(2), Type::Date, Type::BigInt, None),
            (Value::BigInt(300), Type::BigInt, Type::TinyInt, None),
            (Value::bytes("a"), Type::Varbinary, Type::Varchar, Some(Value::bytes("a"))),
            (Value::Integer(2), Type::Integer, Type::Varchar, None),
        ];
        for (value, from, to, want) in cases {
            assert_eq!(wide(value, &from, &to), want, "{from} to {to}");
        }
    }

    #[test]
    fn s7_54_bounds_of_integers_that_are_cut_hold_only_when_both_fit() {
        let cut = |min: Option<i64>, max: Option<i64>| {
            let statistics = ColumnStatistics {
                min: min.map(Value::BigInt),
                max: max.map(Value::BigInt),
                ..ColumnStatistics::default()
            };
            let cut = widened(&statistics, &Type::BigInt, &Type::Integer).into_owned();
            (cut.min, cut.max)
        };
        let fits = (Some(Value::Integer(1)), Some(Value::Integer(5)));
        assert_eq!(cut(Some(1), Some(5)), fits);
        assert_eq!(cut(Some(1), Some(1 << 31)), (None, None));
        assert_eq!(cut(Some(1), None), (None, None));
    }
}
