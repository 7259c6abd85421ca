//! Column statistics, and the test of a filter against them.
//!
//! A format fills [`ColumnStatistics`] for a file, a row group or a page with the statistics it
//! trusts and leaves all others absent. [`may_match`] returns one of three results: no row passes,
//! so the rows are not read; every row passes, so the filter need not be evaluated; or the
//! statistics do not decide. An absent statistic never excludes a row (rule S2.52).

use vector::{Timestamp, Type, Value};

use crate::filter::Filter;
pub use crate::filter::Match;

/// Bounds and counts of one column in a range of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStatistics {
    /// Number of rows, including null rows.
    pub num_values: Option<u64>,
    /// Number of null rows.
    pub num_nulls: Option<u64>,
    /// Number of rows that are NaN. The bounds need not cover NaN.
    pub num_nans: Option<u64>,
    /// Lower bound of all values except NaN.
    pub min: Option<Value>,
    /// Upper bound of all values except NaN.
    pub max: Option<Value>,
    /// True if `min` is the smallest value, not merely a lower bound.
    pub is_min_exact: bool,
    /// True if `max` is the largest value, not merely an upper bound.
    pub is_max_exact: bool,
}

impl ColumnStatistics {
    /// Returns false only if it is known that no row is null.
    pub fn may_have_null(&self) -> bool {
        self.num_nulls != Some(0)
    }

    /// Returns true if it is known that every row is null.
    pub fn is_all_null(&self) -> bool {
        self.num_nulls.is_some() && self.num_nulls == self.num_values
    }

    /// Returns true if it is known that every row is null or NaN and at least one is NaN.
    pub fn is_all_nan(&self) -> bool {
        let (Some(nulls), Some(nans)) = (self.num_nulls, self.num_nans) else { return false };
        nans > 0 && nulls.checked_add(nans) == self.num_values
    }

    /// Returns false only if it is known that no value is NaN.
    pub fn may_have_nan(&self) -> bool {
        self.num_nans != Some(0)
    }
}

/// Returns how many of the rows described by the statistics pass a filter. `ty` is the type of the
/// column in the file, not the requested type: the filter must match the file's physical type (rule
/// S2.53).
///
/// ```
/// # use ocior_dwio as dwio;
/// use dwio::filter::Filter;
/// use dwio::stats::{ColumnStatistics, Match, may_match};
/// use vector::{Type, Value};
///
/// let stats = ColumnStatistics {
///     num_nulls: Some(0),
///     min: Some(Value::BigInt(10)),
///     max: Some(Value::BigInt(20)),
///     ..ColumnStatistics::default()
/// };
/// let ask = |lower, upper| {
///     may_match(&Filter::bigint_range(lower, upper, false), &stats, &Type::BigInt)
/// };
/// assert_eq!(ask(0, 9), Match::None);
/// assert_eq!(ask(0, 15), Match::Some);
/// assert_eq!(ask(0, 20), Match::All);
/// ```
pub fn may_match(filter: &Filter, stats: &ColumnStatistics, ty: &Type) -> Match {
    let of_nulls = if filter.test_null() { Match::All } else { Match::None };
    if stats.is_all_null() {
        return of_nulls;
    }
    let data_handle = match filter.test_any_value() {
        Some(true) => Match::All,
        Some(false) => Match::None,
        None if stats.is_all_nan() => match_nan(filter, ty),
        None => match_values(filter, stats, ty),
    };
    if stats.may_have_null() { data_handle.joined(of_nulls) } else { data_handle }
}

/// Returns how many of the non-null rows pass.
fn match_values(filter: &Filter, stats: &ColumnStatistics, ty: &Type) -> Match {
    let (min, max) = (stats.min.as_ref(), stats.max.as_ref());
    // Formats order these types differently from the integers in which they are stored.
    if (min.is_none() && max.is_none()) || matches!(ty, Type::Uuid | Type::Interval) {
        return Match::Some;
    }
    let fits = |bound: Option<&Value>| bound.is_none_or(|v| !v.is_null() && v.fits(ty));
    if !fits(min) || !fits(max) {
        return Match::Some;
    }
    match min.or(max) {
        Some(Value::Boolean(_)) => {
            let at = |bound: Option<&Value>, open| match bound {
                Some(Value::Boolean(v)) => *v,
                _ => open,
            };
            match_booleans(filter, at(min, false), at(max, true))
        }
        Some(Value::Real(_) | Value::Double(_)) => {
            let at = |bound: Option<&Value>, open| match bound {
                Some(Value::Real(v)) => f64::from(*v),
                Some(Value::Double(v)) => *v,
                _ => open,
            };
            let (min, max) = (at(min, f64::NEG_INFINITY), at(max, f64::INFINITY));
            filter.match_f64(min, max, stats.may_have_nan())
        }
        Some(Value::Timestamp(_)) => {
            let at = |bound: Option<&Value>, open| match bound {
                Some(Value::Timestamp(v)) => *v,
                _ => open,
            };
            let lowest = Timestamp::new(i64::MIN, 0);
            let highest = Timestamp::new(i64::MAX, 999_999_999);
            filter.match_timestamp(at(min, lowest), at(max, highest))
        }
        Some(Value::Bytes(_)) => {
            filter.match_bytes(min.and_then(Value::as_bytes), max.and_then(Value::as_bytes))
        }
        Some(Value::HugeInt(_)) => {
            let at = |bound: Option<&Value>, open| bound.and_then(Value::as_i128).unwrap_or(open);
            filter.match_i128(at(min, i128::MIN), at(max, i128::MAX))
        }
        _ => {
            let at = |bound: Option<&Value>, open| bound.and_then(Value::as_i64).unwrap_or(open);
            filter.match_i64(at(min, i64::MIN), at(max, i64::MAX))
        }
    }
}

/// Returns how many of the rows pass if all of them are NaN.
fn match_nan(filter: &Filter, ty: &Type) -> Match {
    let passes = match ty {
        Type::Double => filter.test_f64(f64::NAN),
        Type::Real | Type::Float16 => filter.test_f32(f32::NAN),
        _ => return Match::Some,
    };
    match passes {
        Ok(true) => Match::All,
        Ok(false) => Match::None,
        Err(_) => Match::Some,
    }
}

fn match_booleans(filter: &Filter, min: bool, max: bool) -> Match {
    let of = |value| match filter.test_bool(value) {
        Ok(true) => Match::All,
        Ok(false) => Match::None,
        Err(_) => Match::Some,
    };
    if min & !max { Match::Some } else { of(min).joined(of(max)) }
}

#[cfg(test)]
mod tests {
    use vector::testing::Random;

    use super::*;
    use crate::filter::tests::{families, model};

    /// Returns statistics that a format might have for `values`.
    fn statistics(values: &[Value], random: &mut Random) -> ColumnStatistics {
        let is_nan = |v: &Value| match v {
            Value::Real(v) => v.is_nan(),
            Value::Double(v) => v.is_nan(),
            _ => false,
        };
        let count = |of: &dyn Fn(&Value) -> bool| values.iter().filter(|v| of(v)).count() as u64;
        let numbers = || values.iter().filter(|v| !v.is_null() && !is_nan(v));
        let known = |random: &mut Random| random.chance(0.7);
        ColumnStatistics {
            num_values: known(random).then_some(values.len() as u64),
            num_nulls: known(random).then(|| count(&Value::is_null)),
            num_nans: known(random).then(|| count(&is_nan)),
            min: numbers().min().filter(|_| known(random)).cloned(),
            max: numbers().max().filter(|_| known(random)).cloned(),
            ..ColumnStatistics::default()
        }
    }

    #[test]
    fn statistics_never_speak_against_the_values() {
        let mut random = Random::new(21);
        let (mut num_none, mut num_all) = (0, 0);
        for family in families() {
            for _ in 0..2_000 {
                let values: Vec<Value> = (0..1 + random.below(4))
                    .map(
                        |_| if random.chance(0.3) { Value::Null } else { family.some(&mut random) },
                    )
                    .collect();
                let stats = statistics(&values, &mut random);
                let filter = family.filter(&mut random);
                let passing = values.iter().filter(|v| model(&filter, v)).count();
                match may_match(&filter, &stats, &family.ty) {
                    Match::None => {
                        num_none += 1;
                        assert_eq!(passing, 0, "{filter} of {values:?} by {stats:?}");
                    }
                    Match::All => {
                        num_all += 1;
                        assert_eq!(passing, values.len(), "{filter} of {values:?} by {stats:?}");
                    }
                    Match::Some => {}
                }
            }
        }
        assert!(num_none > 2_000 && num_all > 1_000, "{num_none} none, {num_all} all");
    }

    #[test]
    fn nulls_decide_where_there_is_nothing_else() {
        let known = |num_nulls| ColumnStatistics {
            num_values: Some(10),
            num_nulls,
            ..ColumnStatistics::default()
        };
        let ask = |filter: &Filter, nulls| may_match(filter, &known(nulls), &Type::BigInt);
        assert_eq!(ask(&Filter::IsNull, Some(10)), Match::All);
        assert_eq!(ask(&Filter::IsNull, Some(0)), Match::None);
        assert_eq!(ask(&Filter::IsNotNull, Some(10)), Match::None);
        assert_eq!(ask(&Filter::IsNotNull, Some(0)), Match::All);
        assert_eq!(ask(&Filter::IsNull, None), Match::Some);
        assert_eq!(ask(&Filter::bigint_range(1, 2, false), Some(10)), Match::None);
        assert_eq!(ask(&Filter::bigint_range(1, 2, false), Some(3)), Match::Some);
    }

    #[test]
    fn rows_that_are_all_nan_pass_as_nan_does() {
        use crate::filter::Bound;
        let known = |num_nulls, num_nans| ColumnStatistics {
            num_values: Some(10),
            num_nulls: Some(num_nulls),
            num_nans: Some(num_nans),
            ..ColumnStatistics::default()
        };
        let above = Filter::double_range(Bound::Exclusive(5.0), Bound::Unbounded, false).unwrap();
        let below = Filter::double_range(Bound::Unbounded, Bound::Exclusive(5.0), false).unwrap();
        let ask =
            |filter: &Filter, nulls, nans| may_match(filter, &known(nulls, nans), &Type::Double);
        assert_eq!(ask(&above, 0, 10), Match::All);
        assert_eq!(ask(&above, 4, 6), Match::Some);
        assert_eq!(ask(&below, 4, 6), Match::None);
        assert_eq!(ask(&below, 4, 5), Match::Some);
        assert_eq!(ask(&Filter::IsNotNull, 0, 10), Match::All);
    }

    #[test]
    fn bounds_that_make_no_sense_say_nothing() {
        let filter = Filter::bigint_range(100, 200, false);
        let ask = |min, max, ty: &Type| {
            let stats = ColumnStatistics {
                num_nulls: Some(0),
                min: Some(min),
                max: Some(max),
                ..ColumnStatistics::default()
            };
            may_match(&filter, &stats, ty)
        };
        assert_eq!(ask(Value::BigInt(5), Value::BigInt(1), &Type::BigInt), Match::Some);
        assert_eq!(ask(Value::BigInt(1), Value::bytes("x"), &Type::BigInt), Match::Some);
        assert_eq!(ask(Value::bytes("a"), Value::bytes("b"), &Type::Varchar), Match::Some);
        assert_eq!(ask(Value::BigInt(1), Value::BigInt(5), &Type::BigInt), Match::None);
    }
}
