//! Conversion of one predicate on one column to a filter (rules S4.11 to S4.18).
//!
//! A predicate is converted only if the filter is equivalent for every value: the predicates of the
//! table of rule S4.14, and LIKE. Only the filter of `is_null` accepts null, because WHERE keeps a
//! row only if its predicate is true. Under a NOT, the complement of the predicate is converted;
//! this is correct because a predicate and its complement are both null for null.

use vector::sync::Arc;
use vector::{Timestamp, Type, TypeKind, Value};

use super::TypedExpr;
use crate::filter::{Bound, BoundRange, ClosedRange, Filter, LikePattern, ValueTest};
use crate::subfield::{PathElement, Subfield};

/// Evaluates an expression without columns. Returns `None` if its value may differ between rows, or
/// if it fails; in this case the error occurs where the expression is evaluated.
pub(crate) type Fold<'a> = &'a dyn Fn(&TypedExpr) -> Option<Value>;

/// Returns the column and the filter equivalent to `expr`, or to its complement if `negated`.
pub(crate) fn leaf_filter(
    expr: &TypedExpr,
    negated: bool,
    fold: Fold<'_>,
) -> Option<(Subfield, Filter)> {
    let TypedExpr::Call { name, args, .. } = expr else { return None };
    match (&**name, args.as_slice()) {
        ("is_null", [column]) => {
            let filter = if negated { Filter::IsNotNull } else { Filter::IsNull };
            Some((subfield_of(column)?, filter))
        }
        ("between", [column, lower, upper]) => {
            let subfield = subfield_of(column)?;
            let (lower, upper) =
                (constant(lower, column.ty(), fold)?, constant(upper, column.ty(), fold)?);
            Some((subfield, between(lower, upper, column.ty(), negated)?))
        }
        ("in", [column, list @ ..]) if !list.is_empty() => {
            let subfield = subfield_of(column)?;
            Some((subfield, in_list(column.ty(), list, negated, fold)?))
        }
        ("like", [column, pattern, escape @ ..]) if escape.len() < 2 => {
            let subfield = subfield_of(column)?;
            Some((subfield, like(column.ty(), pattern, escape.first(), negated, fold)?))
        }
        (name, [left, right]) => {
            let comparison = Comparison::of_name(name)?;
            let (column, other, comparison) = match subfield_of(left) {
                Some(_) => (left, right, comparison),
                None => (right, left, comparison.mirrored()),
            };
            let subfield = subfield_of(column)?;
            let value = constant(other, column.ty(), fold)?;
            Some((subfield, comparison.filter(value, column.ty(), negated)?))
        }
        _ => None,
    }
}

/// Returns the path of a column or of a chain of named fields of a column; other expressions, such
/// as subscripts, have no filters (rule S4.11).
fn subfield_of(expr: &TypedExpr) -> Option<Subfield> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut expr = expr;
    loop {
        match expr {
            TypedExpr::Dereference { input, index, .. } => {
                let name = input.ty().as_row()?.names().get(*index)?;
                if name.is_empty() {
                    return None;
                }
                names.push(name.as_str().into());
                expr = input;
            }
            TypedExpr::Field { name, .. } => {
                let column = Subfield::column(Arc::clone(name));
                return Some(
                    names.into_iter().rev().fold(column, |s, n| s.then(PathElement::Field(n))),
                );
            }
            _ => return None,
        }
    }
}

/// Returns the value of an expression without columns if it is null or of type `ty`.
fn constant(expr: &TypedExpr, ty: &Type, fold: Fold<'_>) -> Option<Value> {
    let value = match expr {
        TypedExpr::Constant { value, .. } => value.clone(),
        _ if expr.field_names().is_empty() => fold(expr)?,
        _ => return None,
    };
    (value.is_null() || (expr.ty().is_equivalent(ty) && value.fits(ty))).then_some(value)
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Comparison {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "eq" => Comparison::Eq,
            "neq" => Comparison::Neq,
            "lt" => Comparison::Lt,
            "lte" => Comparison::Lte,
            "gt" => Comparison::Gt,
            "gte" => Comparison::Gte,
            _ => return None,
        })
    }

    /// Returns the same comparison with its operands exchanged.
    fn mirrored(self) -> Self {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Lte => Comparison::Gte,
            Comparison::Gt => Comparison::Lt,
            Comparison::Gte => Comparison::Lte,
            same => same,
        }
    }

    /// Returns the comparison that is true exactly where this one is false.
    fn complement(self) -> Self {
        match self {
            Comparison::Eq => Comparison::Neq,
            Comparison::Neq => Comparison::Eq,
            Comparison::Lt => Comparison::Gte,
            Comparison::Lte => Comparison::Gt,
            Comparison::Gt => Comparison::Lte,
            Comparison::Gte => Comparison::Lt,
        }
    }

    /// Returns the filter of a comparison of a column of `ty` with a value, as in the table of rule
    /// S4.14. The comparisons with null accept no row, and equality is not converted for
    /// floating-point types.
    fn filter(self, value: Value, ty: &Type, negated: bool) -> Option<Filter> {
        if value.is_null() {
            return Some(Filter::AlwaysFalse);
        }
        if self == Comparison::Eq && ty.is_float() {
            return None;
        }
        let comparison = if negated { self.complement() } else { self };
        match (value, ty.kind()) {
            (Value::Boolean(v), _) => {
                (comparison == Comparison::Eq).then(|| Filter::boolean(v, false))
            }
            (Value::HugeInt(v), _) => comparison.hugeint_filter(v, ty),
            (Value::Real(v), _) => comparison.float_filter(v, ValueTest::FloatRange),
            (Value::Double(v), _) => comparison.float_filter(v, ValueTest::DoubleRange),
            (Value::Timestamp(v), _) => Some(comparison.timestamp_filter(v)),
            (Value::Bytes(v), TypeKind::Varchar) => Some(comparison.bytes_filter(v)),
            (value, _) => Some(comparison.bigint_filter(value.as_i64()?)),
        }
    }

    fn bigint_filter(self, value: i64) -> Filter {
        let ranges = self.closed_ranges(
            value,
            (i64::MIN, i64::MAX),
            (value.checked_sub(1), value.checked_add(1)),
        );
        match *ranges {
            [] => Filter::AlwaysFalse,
            [range] => Filter::bigint_range(range.lower, range.upper, false),
            _ => Filter::values(ValueTest::BigintMultiRange(ranges.into()), false),
        }
    }

    fn hugeint_filter(self, value: i128, ty: &Type) -> Option<Filter> {
        // Other types with this storage, such as UUID, support equality only, no order.
        let is_ordered = matches!(ty, Type::HugeInt | Type::Decimal { .. });
        if self == Comparison::Neq || (self != Comparison::Eq && !is_ordered) {
            return None;
        }
        let ranges = self.closed_ranges(
            value,
            (i128::MIN, i128::MAX),
            (value.checked_sub(1), value.checked_add(1)),
        );
        let tests = ranges.into_iter().map(ValueTest::HugeintRange).collect();
        Some(Filter::multi_range(tests, false))
    }

    fn timestamp_filter(self, value: Timestamp) -> Filter {
        let lowest = Timestamp::new(i64::MIN, 0);
        let highest = Timestamp::new(i64::MAX, LAST_NANO);
        let before = match value.nanos() {
            0 => value.seconds().checked_sub(1).map(|s| Timestamp::new(s, LAST_NANO)),
            nanos => Some(Timestamp::new(value.seconds(), nanos - 1)),
        };
        let after = match value.nanos() {
            LAST_NANO.. => value.seconds().checked_add(1).map(|s| Timestamp::new(s, 0)),
            nanos => Some(Timestamp::new(value.seconds(), nanos + 1)),
        };
        let ranges = self.closed_ranges(value, (lowest, highest), (before, after));
        Filter::multi_range(ranges.into_iter().map(ValueTest::TimestampRange).collect(), false)
    }

    /// Returns the accepted ranges of a discrete type, in which every value but the lowest and the
    /// highest has a predecessor and a successor.
    fn closed_ranges<T: Ord + Copy>(
        self,
        value: T,
        (lowest, highest): (T, T),
        (before, after): (Option<T>, Option<T>),
    ) -> Vec<ClosedRange<T>> {
        let below = before.map(|before| ClosedRange::new(lowest, before));
        let above = after.map(|after| ClosedRange::new(after, highest));
        match self {
            Comparison::Eq => vec![ClosedRange::new(value, value)],
            Comparison::Neq => below.into_iter().chain(above).collect(),
            Comparison::Lt => below.into_iter().collect(),
            Comparison::Lte => vec![ClosedRange::new(lowest, value)],
            Comparison::Gt => above.into_iter().collect(),
            Comparison::Gte => vec![ClosedRange::new(value, highest)],
        }
    }

    /// Returns the filter of a comparison of floating-point numbers. Equality is never converted
    /// (rule S2.30), nor is any comparison with NaN.
    fn float_filter<T: Into<f64> + PartialOrd + Copy>(
        self,
        value: T,
        test: impl Fn(BoundRange<T>) -> ValueTest,
    ) -> Option<Filter> {
        let number: f64 = value.into();
        if number.is_nan() || self == Comparison::Eq {
            return None;
        }
        let mut ranges = self.open_ranges(value);
        // No value is below negative infinity. NaN is above positive infinity.
        if self == Comparison::Neq && number == f64::NEG_INFINITY {
            ranges.remove(0);
        }
        Some(Filter::multi_range(ranges.into_iter().map(test).collect(), false))
    }

    fn bytes_filter(self, value: Arc<[u8]>) -> Filter {
        let is_lowest = value.is_empty();
        match self {
            Comparison::Eq => Filter::bytes_values(vec![value], false),
            Comparison::Neq if is_lowest => {
                Filter::bytes_range(Bound::Exclusive(value), Bound::Unbounded, false)
            }
            _ => {
                let ranges = self.open_ranges(value);
                let tests = ranges.into_iter().map(ValueTest::BytesRange).collect();
                Filter::multi_range(tests, false)
            }
        }
    }

    /// Returns the accepted ranges of a type whose values have no predecessor and successor.
    fn open_ranges<T: Clone>(self, value: T) -> Vec<BoundRange<T>> {
        let below = |upper| BoundRange { lower: Bound::Unbounded, upper };
        let above = |lower| BoundRange { lower, upper: Bound::Unbounded };
        match self {
            Comparison::Eq => vec![BoundRange {
                lower: Bound::Inclusive(value.clone()),
                upper: Bound::Inclusive(value),
            }],
            Comparison::Neq => {
                vec![below(Bound::Exclusive(value.clone())), above(Bound::Exclusive(value))]
            }
            Comparison::Lt => vec![below(Bound::Exclusive(value))],
            Comparison::Lte => vec![below(Bound::Inclusive(value))],
            Comparison::Gt => vec![above(Bound::Exclusive(value))],
            Comparison::Gte => vec![above(Bound::Inclusive(value))],
        }
    }
}

/// The last nanosecond of a second.
const LAST_NANO: u64 = vector::types::temporal::NANOS_PER_SECOND - 1;

/// Returns the filter of `between`. A null bound is not converted, because the other bound alone
/// may make the predicate false (rule S4.17).
fn between(lower: Value, upper: Value, ty: &Type, negated: bool) -> Option<Filter> {
    match (lower, upper) {
        (Value::Real(l), Value::Real(u)) if !negated => {
            Filter::float_range(Bound::Inclusive(l), Bound::Inclusive(u), false).ok()
        }
        (Value::Double(l), Value::Double(u)) if !negated => {
            Filter::double_range(Bound::Inclusive(l), Bound::Inclusive(u), false).ok()
        }
        (Value::Timestamp(l), Value::Timestamp(u)) if !negated => {
            Some(Filter::timestamp_range(l, u, false))
        }
        (Value::Bytes(l), Value::Bytes(u)) if ty.kind() == TypeKind::Varchar => {
            let (lower, upper) = (Bound::Inclusive(l), Bound::Inclusive(u));
            Some(if negated {
                Filter::negated_bytes_range(lower, upper, false)
            } else {
                Filter::bytes_range(lower, upper, false)
            })
        }
        (lower @ (Value::Integer(_) | Value::BigInt(_)), upper) => {
            let (lower, upper) = (lower.as_i64()?, upper.as_i64()?);
            Some(if negated {
                Filter::negated_bigint_range(lower, upper, false)
            } else {
                Filter::bigint_range(lower, upper, false)
            })
        }
        _ => None,
    }
}

/// Returns the filter of `like`. A null pattern is null for every row. An invalid pattern is not
/// converted, so that its error occurs where it is evaluated.
fn like(
    ty: &Type,
    pattern: &TypedExpr,
    escape: Option<&TypedExpr>,
    negated: bool,
    fold: Fold<'_>,
) -> Option<Filter> {
    if ty.kind() != TypeKind::Varchar {
        return None;
    }
    let pattern = constant(pattern, ty, fold)?;
    let escape = match escape {
        Some(escape) => Some(constant(escape, ty, fold)?),
        None => None,
    };
    if pattern.is_null() || escape.as_ref().is_some_and(Value::is_null) {
        return Some(Filter::AlwaysFalse);
    }
    let pattern =
        LikePattern::parse(pattern.as_bytes()?, escape.as_ref().and_then(Value::as_bytes)).ok()?;
    Some(if negated { Filter::not_like(pattern, false) } else { Filter::like(pattern, false) })
}

/// Returns the filter of `in` with a list of arguments or one constant array; nulls in the list are
/// dropped for IN and make NOT IN accept no row (rule S4.16).
fn in_list(ty: &Type, list: &[TypedExpr], negated: bool, fold: Fold<'_>) -> Option<Filter> {
    let is_text = ty.kind() == TypeKind::Varchar;
    let is_integer = matches!(
        ty.kind(),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Integer | TypeKind::BigInt
    );
    if !is_text && !is_integer {
        return None;
    }
    let values: Vec<Value> = match list {
        [array] if matches!(array.ty(), Type::Array(_)) => array_values(array, ty, fold)?,
        list => list.iter().map(|item| constant(item, ty, fold)).collect::<Option<_>>()?,
    };
    let (nulls, values): (Vec<_>, Vec<_>) = values.into_iter().partition(Value::is_null);
    // A null in the list makes NOT IN null for every value that is not in the list.
    if values.is_empty() || (negated && !nulls.is_empty()) {
        return (!nulls.is_empty()).then_some(Filter::AlwaysFalse);
    }
    let texts = || values.iter().filter_map(|v| v.as_bytes().map(Arc::from)).collect();
    let integers = || values.iter().filter_map(Value::as_i64).collect();
    Some(match (is_text, negated) {
        (true, false) => Filter::bytes_values(texts(), false),
        (true, true) => Filter::negated_bytes_values(texts(), false),
        (false, false) => Filter::bigint_values(integers(), false),
        (false, true) => Filter::negated_bigint_values(integers(), false),
    })
}

/// Returns the elements of a constant array, each null or of type `ty`.
fn array_values(array: &TypedExpr, ty: &Type, fold: Fold<'_>) -> Option<Vec<Value>> {
    let Type::Array(element) = array.ty() else { return None };
    let Value::Array(items) = constant(array, array.ty(), fold)? else { return None };
    let fits = items.iter().all(Value::is_null)
        || (element.is_equivalent(ty) && items.iter().all(|v| v.fits(ty)));
    fits.then(|| items.to_vec())
}
