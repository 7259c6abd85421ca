//! Combination of filters: conjunction on one column (rules S2.41 to S2.51) and disjunction on one
//! column (rules S4.22 to S4.28).
//!
//! Integers are combined as lists of accepted ranges or lists of values; strings, floating-point
//! numbers, timestamps and 128-bit integers are combined range by range. A pattern is combined with
//! a list of strings or with an equal pattern. The conjunction of tests of different families, or
//! without a common form, is an error value: the caller keeps the predicate as an expression.

use vector::sync::Arc;
use vector::{Error, Result};

use super::range::{Bound, BoundRange, ClosedRange};
use super::set::BytesSet;
use super::{Filter, ValueTest, sorted_distinct};

impl Filter {
    /// Returns the filter that accepts exactly the values that both filters accept.
    ///
    /// # Errors
    /// `Internal` if the filters test different types or their conjunction is not representable as
    /// a filter.
    pub fn merge(&self, other: &Filter) -> Result<Filter> {
        use Filter::*;
        Ok(match (self, other) {
            (AlwaysFalse, _) | (_, AlwaysFalse) => AlwaysFalse,
            (AlwaysTrue, x) | (x, AlwaysTrue) => x.clone(),
            (IsNull, x) | (x, IsNull) => Filter::null_or_false(x.test_null()),
            (IsNotNull, x) | (x, IsNotNull) => x.with_null_allowed(false),
            (Values { test: a, null_allowed: m }, Values { test: b, null_allowed: n }) => {
                and_values(a, b, *m && *n)?
            }
        })
    }

    /// Returns the filter that accepts the values that any of the filters accepts. Returns `None`
    /// unless the filters are at least two ranges or lists of one family, because other
    /// combinations have no common form (rule S4.27).
    pub fn any_of(filters: &[Filter]) -> Option<Filter> {
        let mut tests = Vec::with_capacity(filters.len());
        for filter in filters {
            match filter {
                Filter::Values { test, .. } => tests.push(test),
                _ => return None,
            }
        }
        if tests.len() < 2 {
            return None;
        }
        let null_allowed = filters.iter().any(Filter::test_null);
        or_integers(&tests, null_allowed)
            .or_else(|| or_floats(&tests, null_allowed))
            .or_else(|| or_strings(&tests, null_allowed))
    }
}

fn and_values(a: &ValueTest, b: &ValueTest, null_allowed: bool) -> Result<Filter> {
    use ValueTest::*;
    match (a, b) {
        (Bool(x), Bool(y)) if x == y => Ok(Filter::boolean(*x, null_allowed)),
        (Bool(_), Bool(_)) => Ok(Filter::null_or_false(null_allowed)),
        _ if is_integral(a) && is_integral(b) => Ok(and_integers(a, b, null_allowed)),
        (MultiRange(_), _) | (_, MultiRange(_)) => {
            let mut tests = Vec::new();
            for x in members(a) {
                for y in members(b) {
                    tests.extend(and_pair(x, y)?);
                }
            }
            Ok(Filter::multi_range(one_list(tests), null_allowed))
        }
        _ => Ok(Filter::multi_range(and_pair(a, b)?, null_allowed)),
    }
}

/// Returns the tests of a disjunction; any other test is its only member.
fn members(test: &ValueTest) -> &[ValueTest] {
    match test {
        ValueTest::MultiRange(tests) => tests,
        other => std::slice::from_ref(other),
    }
}

fn is_integral(test: &ValueTest) -> bool {
    matches!(
        test,
        ValueTest::Bool(_)
            | ValueTest::BigintRange(_)
            | ValueTest::NegatedBigintRange(_)
            | ValueTest::BigintValues(_)
            | ValueTest::NegatedBigintValues(_)
            | ValueTest::BigintMultiRange(_)
    )
}

fn accepts(test: &ValueTest, value: i64) -> bool {
    match test {
        ValueTest::Bool(wanted) => (value != 0) == *wanted,
        ValueTest::BigintRange(range) => range.contains(value),
        ValueTest::NegatedBigintRange(range) => !range.contains(value),
        ValueTest::BigintValues(set) => set.contains(value),
        ValueTest::NegatedBigintValues(set) => !set.contains(value),
        ValueTest::BigintMultiRange(ranges) => ranges.iter().any(|r| r.contains(value)),
        _ => false,
    }
}

/// Returns the conjunction of two integer tests (rule S2.44).
fn and_integers(a: &ValueTest, b: &ValueTest, null_allowed: bool) -> Filter {
    use ValueTest::*;
    match (a, b) {
        (BigintValues(set), other) | (other, BigintValues(set)) => {
            let both = set.values().iter().copied().filter(|v| accepts(other, *v)).collect();
            return Filter::bigint_values(both, null_allowed);
        }
        (NegatedBigintValues(set), other) | (other, NegatedBigintValues(set)) => {
            let more = match other {
                NegatedBigintValues(other) => Some(other.values()),
                NegatedBigintRange(one) if one.lower == one.upper => {
                    Some(std::slice::from_ref(&one.lower))
                }
                _ => None,
            };
            if let Some(more) = more {
                return Filter::negated_bigint_values([set.values(), more].concat(), null_allowed);
            }
        }
        // Two rejected ranges that touch or overlap are combined into one (rule S2.45).
        (NegatedBigintRange(x), NegatedBigintRange(y)) => {
            if let [one] = *joined_ranges(vec![*x, *y]) {
                return Filter::negated_bigint_range(one.lower, one.upper, null_allowed);
            }
        }
        _ => {}
    }
    let (a, b) = (accepted_ranges(a), accepted_ranges(b));
    Filter::of_ranges(intersected(&a, &b), null_allowed)
}

/// Returns the accepted integers as ascending, non-overlapping ranges.
fn accepted_ranges(test: &ValueTest) -> Vec<ClosedRange<i64>> {
    match test {
        ValueTest::Bool(true) => gaps([ClosedRange::new(0, 0)]),
        ValueTest::Bool(false) => vec![ClosedRange::new(0, 0)],
        ValueTest::BigintRange(range) if range.is_empty() => Vec::new(),
        ValueTest::BigintRange(range) => vec![*range],
        ValueTest::NegatedBigintRange(range) if range.is_empty() => gaps([]),
        ValueTest::NegatedBigintRange(range) => gaps([*range]),
        ValueTest::BigintValues(set) => {
            set.values().iter().map(|v| ClosedRange::new(*v, *v)).collect()
        }
        ValueTest::NegatedBigintValues(set) => {
            gaps(set.values().iter().map(|v| ClosedRange::new(*v, *v)))
        }
        ValueTest::BigintMultiRange(ranges) => ranges.to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the gaps between ascending, non-overlapping ranges.
fn gaps(ranges: impl IntoIterator<Item = ClosedRange<i64>>) -> Vec<ClosedRange<i64>> {
    let mut gaps = Vec::new();
    let mut start = Some(i64::MIN);
    for range in ranges {
        if let (Some(start), Some(end)) = (start, range.lower.checked_sub(1))
            && start <= end
        {
            gaps.push(ClosedRange::new(start, end));
        }
        start = range.upper.checked_add(1);
    }
    gaps.extend(start.map(|start| ClosedRange::new(start, i64::MAX)));
    gaps
}

/// Returns the intersection of two lists of ascending, non-overlapping ranges, in linear
/// time.
fn intersected(a: &[ClosedRange<i64>], b: &[ClosedRange<i64>]) -> Vec<ClosedRange<i64>> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut both = Vec::new();
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        both.extend(x.intersect(y));
        if x.upper < y.upper {
            a.next();
        } else {
            b.next();
        }
    }
    both
}

/// Sorts ranges and joins those that overlap or touch, so that the result has gaps between all
/// ranges.
pub(super) fn joined_ranges(mut ranges: Vec<ClosedRange<i64>>) -> Vec<ClosedRange<i64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.lower);
    let mut joined: Vec<ClosedRange<i64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.upper.checked_add(1).is_none_or(|next| next >= range.lower) => {
                last.upper = last.upper.max(range.upper);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the conjunction of two tests that are not disjunctions, as the list of tests of a
/// disjunction; empty if no value passes both.
fn and_pair(a: &ValueTest, b: &ValueTest) -> Result<Vec<ValueTest>> {
    use ValueTest::*;
    Ok(match (a, b) {
        (DoubleRange(x), DoubleRange(y)) => x.intersect(y).map(DoubleRange).into_iter().collect(),
        (FloatRange(x), FloatRange(y)) => x.intersect(y).map(FloatRange).into_iter().collect(),
        (TimestampRange(x), TimestampRange(y)) => {
            x.intersect(y).map(TimestampRange).into_iter().collect()
        }
        (HugeintRange(x), HugeintRange(y)) => {
            x.intersect(y).map(HugeintRange).into_iter().collect()
        }
        (HugeintValues(values), HugeintRange(range))
        | (HugeintRange(range), HugeintValues(values)) => {
            hugeints(values.iter().copied().filter(|v| range.contains(*v)).collect())
        }
        (HugeintValues(x), HugeintValues(y)) => {
            hugeints(x.iter().copied().filter(|v| y.binary_search(v).is_ok()).collect())
        }
        _ if is_bytes(a) && is_bytes(b) => and_strings(a, b),
        _ if a == b => vec![a.clone()],
        (BytesValues(set), pattern @ (Like(_) | NegatedLike(_)))
        | (pattern @ (Like(_) | NegatedLike(_)), BytesValues(set)) => accepted_of(set, pattern),
        (Like(_) | NegatedLike(_), other) | (other, Like(_) | NegatedLike(_))
            if is_bytes_or_pattern(other) =>
        {
            return Err(Error::internal("two filters of one column have no common form")
                .with("one", a)
                .with("other", b));
        }
        _ => {
            return Err(Error::internal("two filters of one column test different types")
                .with("one", a)
                .with("other", b));
        }
    })
}

fn hugeints(values: Box<[i128]>) -> Vec<ValueTest> {
    if values.is_empty() { Vec::new() } else { vec![ValueTest::HugeintValues(values)] }
}

fn is_bytes(test: &ValueTest) -> bool {
    matches!(
        test,
        ValueTest::BytesRange(_)
            | ValueTest::NegatedBytesRange(_)
            | ValueTest::BytesValues(_)
            | ValueTest::NegatedBytesValues(_)
    )
}

fn is_bytes_or_pattern(test: &ValueTest) -> bool {
    is_bytes(test) || matches!(test, ValueTest::Like(_) | ValueTest::NegatedLike(_))
}

fn accepts_bytes(test: &ValueTest, bytes: &[u8]) -> bool {
    match test {
        ValueTest::BytesRange(range) => range.contains(bytes),
        ValueTest::NegatedBytesRange(range) => !range.contains(bytes),
        ValueTest::BytesValues(set) => set.contains(bytes),
        ValueTest::NegatedBytesValues(set) => !set.contains(bytes),
        ValueTest::Like(pattern) => pattern.matches(bytes),
        ValueTest::NegatedLike(pattern) => !pattern.matches(bytes),
        _ => false,
    }
}

/// Returns the strings of a list that pass another test of strings.
fn accepted_of(set: &BytesSet, other: &ValueTest) -> Vec<ValueTest> {
    strings(set.values().iter().filter(|v| accepts_bytes(other, v)).cloned().collect())
}

/// Returns the conjunction of two string tests other than patterns, as the list of tests of a
/// disjunction (rule S2.49).
fn and_strings(a: &ValueTest, b: &ValueTest) -> Vec<ValueTest> {
    use ValueTest::*;
    match (a, b) {
        (BytesValues(set), other) | (other, BytesValues(set)) => accepted_of(set, other),
        (NegatedBytesValues(x), NegatedBytesValues(y)) => {
            let all = sorted_distinct([x.values(), y.values()].concat());
            vec![NegatedBytesValues(BytesSet::new(all))]
        }
        (NegatedBytesRange(range), other) | (other, NegatedBytesRange(range)) => range
            .complement()
            .into_iter()
            .flat_map(|range| and_strings(&BytesRange(range), other))
            .collect(),
        (BytesRange(x), BytesRange(y)) => x.intersect(y).map(BytesRange).into_iter().collect(),
        (BytesRange(range), NegatedBytesValues(set))
        | (NegatedBytesValues(set), BytesRange(range)) => {
            between(range, set).into_iter().map(BytesRange).collect()
        }
        _ => Vec::new(),
    }
}

fn strings(sorted: Vec<Arc<[u8]>>) -> Vec<ValueTest> {
    if sorted.is_empty() {
        return Vec::new();
    }
    vec![ValueTest::BytesValues(BytesSet::new(sorted))]
}

/// Returns the parts of a range between rejected strings, in order.
fn between(range: &BoundRange<Arc<[u8]>>, rejected: &BytesSet) -> Vec<BoundRange<Arc<[u8]>>> {
    let mut ranges = Vec::new();
    let mut lower = range.lower.clone();
    for value in rejected.values().iter().filter(|v| range.contains(v)) {
        let upper = Bound::Exclusive(Arc::clone(value));
        ranges.push(BoundRange { lower, upper });
        lower = Bound::Exclusive(Arc::clone(value));
    }
    ranges.push(BoundRange { lower, upper: range.upper.clone() });
    ranges.retain(|r| !r.is_empty());
    ranges
}

/// Combines all lists of strings among the tests into one list (rule S2.49).
fn one_list(tests: Vec<ValueTest>) -> Vec<ValueTest> {
    let mut values = Vec::new();
    let mut others = Vec::with_capacity(tests.len());
    for test in tests {
        match test {
            ValueTest::BytesValues(set) => values.extend_from_slice(set.values()),
            other => others.push(other),
        }
    }
    others.extend(strings(sorted_distinct(values)));
    others
}

/// Returns the disjunction of tests that are all ranges of integers: single values become a list
/// (rule S4.22), other ranges are joined if they overlap or are adjacent (rule S4.23).
fn or_integers(tests: &[&ValueTest], null_allowed: bool) -> Option<Filter> {
    let mut ranges = Vec::new();
    for test in tests {
        match test {
            ValueTest::BigintRange(range) => ranges.push(*range),
            ValueTest::BigintMultiRange(more) => ranges.extend_from_slice(more),
            _ => return None,
        }
    }
    if ranges.iter().all(|range| range.lower == range.upper) {
        let values = ranges.iter().map(|range| range.lower).collect();
        return Some(Filter::bigint_values(values, null_allowed));
    }
    Some(match *joined_ranges(ranges) {
        [ClosedRange { lower: i64::MIN, upper: i64::MAX }] => Filter::any_value(null_allowed),
        ref ranges => Filter::of_ranges(ranges.to_vec(), null_allowed),
    })
}

/// Returns the disjunction of tests that are all ranges of one floating-point type, joined if they
/// overlap or touch with at least one inclusive bound (rule S4.24).
fn or_floats(tests: &[&ValueTest], null_allowed: bool) -> Option<Filter> {
    macro_rules! ranges_of {
        ($kind:ident) => {{
            let ranges = tests.iter().map(|test| match test {
                ValueTest::$kind(range) => Some(*range),
                _ => None,
            });
            ranges.collect::<Option<Vec<_>>>().map(|ranges| {
                let joined = joined_bounds(ranges);
                if joined.iter().any(|r| r.lower.is_unbounded() && r.upper.is_unbounded()) {
                    return Filter::any_value(null_allowed);
                }
                Filter::multi_range(
                    joined.into_iter().map(ValueTest::$kind).collect(),
                    null_allowed,
                )
            })
        }};
    }
    ranges_of!(DoubleRange).or_else(|| ranges_of!(FloatRange))
}

/// Sorts ranges and joins those that overlap, or that touch at a value which at least one of them
/// includes.
fn joined_bounds<T: PartialOrd + Copy>(mut ranges: Vec<BoundRange<T>>) -> Vec<BoundRange<T>> {
    use std::cmp::Ordering;
    ranges.retain(|range| !range.is_empty());
    let by_lower = |a: &BoundRange<T>, b: &BoundRange<T>| match (a.lower.value(), b.lower.value()) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(x), Some(y)) => x
            .partial_cmp(y)
            .unwrap_or(Ordering::Equal)
            .then(a.lower.is_exclusive().cmp(&b.lower.is_exclusive())),
    };
    ranges.sort_by(by_lower);
    let mut joined: Vec<BoundRange<T>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if reaches(&last.upper, &range.lower) => {
                let is_wider = match (last.upper.value(), range.upper.value()) {
                    (None, _) => false,
                    (_, None) => true,
                    (Some(x), Some(y)) => y > x || (x == y && last.upper.is_exclusive()),
                };
                if is_wider {
                    last.upper = range.upper;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns true if a range with bound `upper` and a following range with bound `lower` leave no
/// value between them.
fn reaches<T: PartialOrd>(upper: &Bound<T>, lower: &Bound<T>) -> bool {
    match (upper.value(), lower.value()) {
        (Some(u), Some(l)) => l < u || (l == u && !(upper.is_exclusive() && lower.is_exclusive())),
        _ => true,
    }
}

/// Returns the disjunction of string tests: lists and single values as one list (rule S4.25),
/// ranges as a sorted list of ranges (rule S4.26), and patterns together with lists and ranges.
fn or_strings(tests: &[&ValueTest], null_allowed: bool) -> Option<Filter> {
    let mut values = Some(Vec::new());
    for test in tests {
        match (test, &mut values) {
            (ValueTest::BytesValues(set), Some(values)) => values.extend_from_slice(set.values()),
            (ValueTest::BytesRange(range), Some(list)) => match range.single_value() {
                Some(value) => list.push(Arc::clone(value)),
                None => values = None,
            },
            _ => values = None,
        }
    }
    if let Some(values) = values {
        return Some(Filter::bytes_values(values, null_allowed));
    }
    let is_pattern =
        |test: &&ValueTest| matches!(test, ValueTest::Like(_) | ValueTest::NegatedLike(_));
    if tests.iter().any(is_pattern) {
        let all = tests.iter().all(|test| is_bytes_or_pattern(test));
        let tests = || tests.iter().map(|test| (*test).clone()).collect();
        return all.then(|| Filter::multi_range(tests(), null_allowed));
    }
    let mut ranges = Vec::with_capacity(tests.len());
    for test in tests {
        match test {
            ValueTest::BytesRange(range) => ranges.push(range.clone()),
            _ => return None,
        }
    }
    ranges.sort_by(|a, b| a.lower.value().cmp(&b.lower.value()));
    let tests = ranges.into_iter().map(ValueTest::BytesRange).collect();
    Some(Filter::multi_range(tests, null_allowed))
}
