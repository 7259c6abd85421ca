//! Descriptions of filters that use the type of the column: days as dates, unscaled numbers as
//! decimals.

use vector::sync::Arc;
use vector::{Type, TypeKind, Value, value_text};

use super::{BytesSet, ClosedRange, Filter, ValueTest};

/// Maximum number of values or ranges listed.
const MAX_LISTED: usize = 8;

impl Filter {
    /// Returns the filter in words, with its values formatted for a column of type `ty`. An
    /// unbounded side of a range is omitted.
    pub fn describe(&self, ty: &Type) -> String {
        let Filter::Values { test, null_allowed } = self else { return self.to_string() };
        let null = if *null_allowed { " or null" } else { "" };
        match in_words(test, ty) {
            Some(words) => format!("{words}{null}"),
            None => self.to_string(),
        }
    }
}

/// Returns the words of a test whose values are formatted by type; `None` for other tests.
fn in_words(test: &ValueTest, ty: &Type) -> Option<String> {
    let range = |range: &ClosedRange<i64>| bounds(range, (i64::MIN, i64::MAX), |v| of_i64(v, ty));
    Some(match test {
        ValueTest::BigintRange(one) => range(one),
        ValueTest::NegatedBigintRange(one) => match one.lower == one.upper {
            true => format!("<> {}", of_i64(one.lower, ty)),
            false => format!("not {}", range(one)),
        },
        ValueTest::BigintMultiRange(ranges) => {
            let shown = ranges.iter().take(MAX_LISTED).map(range).collect::<Vec<_>>();
            cut(shown.join(" or "), ranges.len())
        }
        ValueTest::BigintValues(set) => list("in", set.values(), |v| of_i64(*v, ty)),
        ValueTest::NegatedBigintValues(set) => list("not in", set.values(), |v| of_i64(*v, ty)),
        ValueTest::HugeintRange(range) => bounds(range, (i128::MIN, i128::MAX), |v| of_i128(v, ty)),
        ValueTest::HugeintValues(values) => list("in", values, |v| of_i128(*v, ty)),
        ValueTest::BytesValues(set) => texts("in", set),
        ValueTest::NegatedBytesValues(set) => texts("not in", set),
        _ => return None,
    })
}

fn bounds<T: Copy + PartialEq>(
    range: &ClosedRange<T>,
    (least, greatest): (T, T),
    text: impl Fn(T) -> String,
) -> String {
    match (range.lower == least, range.upper == greatest) {
        _ if range.lower == range.upper => format!("= {}", text(range.lower)),
        (false, false) => format!("between {} and {}", text(range.lower), text(range.upper)),
        (true, false) => format!("<= {}", text(range.upper)),
        (false, true) => format!(">= {}", text(range.lower)),
        (true, true) => "is any value".to_string(),
    }
}

fn list<T>(word: &str, values: &[T], text: impl Fn(&T) -> String) -> String {
    let shown: Vec<String> = values.iter().take(MAX_LISTED).map(text).collect();
    format!("{word} ({})", cut(shown.join(", "), values.len()))
}

fn texts(word: &str, set: &BytesSet) -> String {
    list(word, set.values(), |value: &Arc<[u8]>| format!("'{}'", String::from_utf8_lossy(value)))
}

/// Appends the total count if not all entries are shown.
fn cut(shown: String, count: usize) -> String {
    if count > MAX_LISTED { format!("{shown}, ... {count} in all") } else { shown }
}

fn of_i64(value: i64, ty: &Type) -> String {
    let typed = match ty.kind() {
        TypeKind::Integer => i32::try_from(value).ok().map(Value::Integer),
        TypeKind::BigInt => Some(Value::BigInt(value)),
        _ => None,
    };
    typed.map_or_else(|| value.to_string(), |typed| value_text(ty, &typed))
}

fn of_i128(value: i128, ty: &Type) -> String {
    match ty.kind() {
        TypeKind::HugeInt => value_text(ty, &Value::HugeInt(value)),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_those_of_the_column() {
        let date = |filter: Filter| filter.describe(&Type::Date);
        assert_eq!(date(Filter::bigint_range(20_697, 20_697, false)), "= 2026-09-01");
        assert_eq!(date(Filter::bigint_range(i64::MIN, 20_697, true)), "<= 2026-09-01 or null");
        assert_eq!(date(Filter::negated_bigint_range(20_697, 20_697, false)), "<> 2026-09-01");
        let decimal = Type::Decimal { precision: 15, scale: 2 };
        let between = Filter::bigint_range(5, 7, false);
        assert_eq!(between.describe(&decimal), "between 0.05 and 0.07");
        let huge = Filter::hugeint_range(-150, i128::MAX, false);
        assert_eq!(huge.describe(&Type::Decimal { precision: 38, scale: 2 }), ">= -1.50");
        let many = Filter::bigint_values((0..100).map(|n| n * n).collect(), false);
        assert_eq!(many.describe(&Type::BigInt), "in (0, 1, 4, 9, 16, 25, 36, 49, ... 100 in all)");
        let words = Filter::bytes_values(vec![b"AIR".as_slice().into()], false);
        assert_eq!(words.describe(&Type::Varchar), "in ('AIR')");
        assert_eq!(Filter::IsNull.describe(&Type::Date), "is null");
    }
}
