//! Statistics of all values of a leaf, joined from those of all row groups (rule S7.42).

use dwio::stats::ColumnStatistics;
use vector::Value;

use super::trust::{TrustOptions, leaf_statistics};
use crate::footer::Footer;

/// Returns the joined trusted statistics of all row groups with rows; `None` when there are none. A
/// bound is kept only when every row group with a value has one, a count only when every row group
/// has it.
pub fn file_statistics(
    footer: &Footer,
    leaf: usize,
    options: TrustOptions,
) -> Option<ColumnStatistics> {
    let groups = footer.row_groups().iter().enumerate().filter(|(_, group)| group.num_rows > 0);
    let known = groups.map(|(number, _)| leaf_statistics(footer, number, leaf, options));
    known.reduce(|all, group| joined(&all, &group))
}

/// Returns the statistics of the union of both sets of values.
fn joined(a: &ColumnStatistics, b: &ColumnStatistics) -> ColumnStatistics {
    let sum = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
    let (min, is_min_exact) = outer(a, b, |s| (s.min.as_ref(), s.is_min_exact), Value::lt);
    let (max, is_max_exact) = outer(a, b, |s| (s.max.as_ref(), s.is_max_exact), Value::gt);
    ColumnStatistics {
        num_values: sum(a.num_values, b.num_values),
        num_nulls: sum(a.num_nulls, b.num_nulls),
        num_nans: sum(a.num_nans, b.num_nans),
        min,
        max,
        is_min_exact,
        is_max_exact,
    }
}

/// Returns the outer one of two bounds, and whether it is exact. Statistics of only nulls are
/// ignored.
fn outer<'a>(
    a: &'a ColumnStatistics,
    b: &'a ColumnStatistics,
    bound: impl Fn(&'a ColumnStatistics) -> (Option<&'a Value>, bool),
    is_further: impl Fn(&Value, &Value) -> bool,
) -> (Option<Value>, bool) {
    let ((of_a, a_exact), (of_b, b_exact)) = (bound(a), bound(b));
    match (of_a, of_b) {
        (Some(x), Some(y)) if is_further(y, x) => (Some(y.clone()), b_exact),
        (Some(x), Some(_)) => (Some(x.clone()), a_exact),
        (Some(x), None) if b.is_all_null() => (Some(x.clone()), a_exact),
        (None, Some(y)) if a.is_all_null() => (Some(y.clone()), b_exact),
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(nulls: Option<u64>, bounds: Option<(i64, i64)>) -> ColumnStatistics {
        ColumnStatistics {
            num_values: Some(4),
            num_nulls: nulls,
            min: bounds.map(|b| Value::BigInt(b.0)),
            max: bounds.map(|b| Value::BigInt(b.1)),
            is_min_exact: bounds.is_some(),
            ..ColumnStatistics::default()
        }
    }

    #[test]
    fn s7_42_a_bound_counts_when_every_row_group_with_values_has_one() {
        let both = joined(&stats(Some(1), Some((3, 9))), &stats(Some(0), Some((1, 5))));
        assert_eq!((both.min, both.max), (Some(Value::BigInt(1)), Some(Value::BigInt(9))));
        assert_eq!((both.num_values, both.num_nulls), (Some(8), Some(1)));
        assert!(both.is_min_exact && !both.is_max_exact);
        let all_null = joined(&stats(Some(4), None), &stats(Some(0), Some((1, 5))));
        assert_eq!(all_null.min, Some(Value::BigInt(1)));
        let unknown = joined(&stats(Some(3), None), &stats(Some(0), Some((1, 5))));
        assert_eq!((unknown.min, unknown.is_min_exact), (None, false));
        assert_eq!(joined(&stats(None, None), &stats(Some(0), None)).num_nulls, None);
    }
}
