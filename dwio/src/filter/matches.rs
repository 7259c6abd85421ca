//! Filters on ranges of values, as used with statistics.
//!
//! The result for a range is one of the three values of [`Match`]. It is conservative: `None` and
//! `All` are returned only if they hold for every value of the range. A range of a type that the
//! filter does not test yields `Some`.

use vector::Timestamp;
use vector::sync::Arc;

use super::pattern::LikePattern;
use super::range::{BoundRange, ClosedRange};
use super::values::closed_as_f64;
use super::{Filter, ValueTest};

/// How many values of a set pass a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// No value passes.
    None,
    /// Unknown, or some values pass and some do not.
    Some,
    /// All values pass.
    All,
}

impl Match {
    /// Returns the result for the negated test.
    pub fn inverted(self) -> Self {
        match self {
            Match::None => Match::All,
            Match::Some => Match::Some,
            Match::All => Match::None,
        }
    }

    /// Returns the result for the disjunction of two tests of the same values.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Match::All, _) | (_, Match::All) => Match::All,
            (Match::None, Match::None) => Match::None,
            _ => Match::Some,
        }
    }

    /// Returns the result for the conjunction of two tests of the same values.
    pub fn and(self, other: Self) -> Self {
        self.inverted().or(other.inverted()).inverted()
    }

    /// Returns the result for the union of two sets of values.
    pub fn joined(self, other: Self) -> Self {
        if self == other { self } else { Match::Some }
    }

    fn of(none: bool, all: bool) -> Self {
        match (none, all) {
            (true, _) => Match::None,
            (false, true) => Match::All,
            (false, false) => Match::Some,
        }
    }
}

impl Filter {
    /// Returns whether any value from `min` to `max`, or null if `has_null`, may pass. If null is
    /// present and accepted, the result is true whatever the range is (rule S2.7).
    pub fn test_i64_range(&self, min: i64, max: i64, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_i64(min, max) != Match::None
    }

    /// Returns whether any value may pass, as [`Filter::test_i64_range`] does, for 128-bit
    /// integers.
    pub fn test_i128_range(&self, min: i128, max: i128, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_i128(min, max) != Match::None
    }

    /// Returns whether any value may pass, as [`Filter::test_i64_range`] does, for floating-point
    /// numbers. NaN is assumed to be present, because the bounds of statistics do not cover it
    /// (rule S2.28).
    pub fn test_f64_range(&self, min: f64, max: f64, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_f64(min, max, true) != Match::None
    }

    /// Returns whether any value may pass, as [`Filter::test_i64_range`] does, for strings. An
    /// absent bound is infinite (rule S2.33).
    pub fn test_bytes_range(&self, min: Option<&[u8]>, max: Option<&[u8]>, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_bytes(min, max) != Match::None
    }

    /// Returns whether any value may pass, as [`Filter::test_i64_range`] does, for timestamps.
    pub fn test_timestamp_range(&self, min: Timestamp, max: Timestamp, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_timestamp(min, max) != Match::None
    }

    /// Returns how many of the integers from `min` to `max` pass.
    pub fn match_i64(&self, min: i64, max: i64) -> Match {
        self.match_ordered(min <= max, |test| test.match_i64(min, max))
    }

    /// Returns how many of the 128-bit integers from `min` to `max` pass.
    pub fn match_i128(&self, min: i128, max: i128) -> Match {
        self.match_ordered(min <= max, |test| test.match_i128(min, max))
    }

    /// Returns how many of the timestamps from `min` to `max` pass.
    pub fn match_timestamp(&self, min: Timestamp, max: Timestamp) -> Match {
        self.match_ordered(min <= max, |test| test.match_timestamp(min, max))
    }

    /// Returns how many of the strings from `min` to `max` pass; an absent bound is infinite.
    pub fn match_bytes(&self, min: Option<&[u8]>, max: Option<&[u8]>) -> Match {
        let is_ordered = match (min, max) {
            (Some(min), Some(max)) => min <= max,
            _ => true,
        };
        self.match_ordered(is_ordered, |test| test.match_bytes(min, max))
    }

    /// Returns how many of the floating-point numbers from `min` to `max` pass, together with NaN
    /// if `may_have_nan`.
    pub fn match_f64(&self, min: f64, max: f64, may_have_nan: bool) -> Match {
        // A NaN as minimum or maximum does not bound the other values; the comparison is then
        // false.
        self.match_ordered(min <= max, |test| {
            let numbers = test.match_f64(min, max);
            match (may_have_nan, test.passes_nan()) {
                (false, _) => numbers,
                (true, true) => numbers.joined(Match::All),
                (true, false) => numbers.joined(Match::None),
            }
        })
    }

    fn match_ordered(&self, is_ordered: bool, of_test: impl Fn(&ValueTest) -> Match) -> Match {
        match self.values_test() {
            Ok(test) if is_ordered => of_test(test),
            // Bounds in the wrong order are not usable.
            Ok(_) => Match::Some,
            Err(true) => Match::All,
            Err(false) => Match::None,
        }
    }
}

impl ValueTest {
    /// Returns how many of the values from `min` to `max` pass, where `min <= max`; `Some` if the
    /// test is for another type.
    fn match_i64(&self, min: i64, max: i64) -> Match {
        let wide = (i128::from(min), i128::from(max));
        match self {
            ValueTest::Bool(wanted) => {
                let truth = match_closed(&ClosedRange::new(0, 0), min, max).inverted();
                if *wanted { truth } else { truth.inverted() }
            }
            ValueTest::BigintRange(range) => match_closed(range, min, max),
            ValueTest::NegatedBigintRange(range) => match_closed(range, min, max).inverted(),
            ValueTest::BigintValues(set) => match_set(set.count_in(min, max), wide),
            ValueTest::NegatedBigintValues(set) => {
                match_set(set.count_in(min, max), wide).inverted()
            }
            ValueTest::BigintMultiRange(ranges) => ranges
                .iter()
                .map(|range| match_closed(range, min, max))
                .fold(Match::None, Match::or),
            other => other.match_i128(wide.0, wide.1),
        }
    }

    fn match_i128(&self, min: i128, max: i128) -> Match {
        match self {
            ValueTest::HugeintRange(range) => match_closed(range, min, max),
            ValueTest::HugeintValues(values) => {
                let below = values.partition_point(|v| *v < min);
                let up_to = values.partition_point(|v| *v <= max);
                match_set(up_to.saturating_sub(below), (min, max))
            }
            ValueTest::MultiRange(tests) => any(tests, |t| t.match_i128(min, max)),
            _ => Match::Some,
        }
    }

    fn match_timestamp(&self, min: Timestamp, max: Timestamp) -> Match {
        match self {
            ValueTest::TimestampRange(range) => match_closed(range, min, max),
            ValueTest::MultiRange(tests) => any(tests, |t| t.match_timestamp(min, max)),
            _ => Match::Some,
        }
    }

    /// Returns how many of the numbers from `min` to `max` pass; NaN is not included.
    fn match_f64(&self, min: f64, max: f64) -> Match {
        match (self, closed_as_f64(self)) {
            (_, Some(range)) => Match::of(
                range.lower > range.upper || max < range.lower || min > range.upper,
                range.lower <= min && max <= range.upper,
            ),
            (ValueTest::MultiRange(tests), _) => any(tests, |t| t.match_f64(min, max)),
            _ => Match::Some,
        }
    }

    fn passes_nan(&self) -> bool {
        match self {
            ValueTest::DoubleRange(range) => range.upper.is_unbounded(),
            ValueTest::FloatRange(range) => range.upper.is_unbounded(),
            ValueTest::MultiRange(tests) => tests.iter().any(ValueTest::passes_nan),
            _ => false,
        }
    }

    fn match_bytes(&self, min: Option<&[u8]>, max: Option<&[u8]>) -> Match {
        // The strings between two bounds cannot be counted: all of them are in a set only if the
        // bounds are equal.
        let in_set = |count: usize| Match::of(count == 0, min.is_some() && min == max);
        match self {
            ValueTest::BytesRange(range) => match_bytes_range(range, min, max),
            ValueTest::NegatedBytesRange(range) => match_bytes_range(range, min, max).inverted(),
            ValueTest::BytesValues(set) => in_set(set.count_in(min, max)),
            ValueTest::NegatedBytesValues(set) => in_set(set.count_in(min, max)).inverted(),
            ValueTest::Like(pattern) => match_pattern(pattern, min, max),
            ValueTest::NegatedLike(pattern) => match_pattern(pattern, min, max).inverted(),
            ValueTest::MultiRange(tests) => any(tests, |t| t.match_bytes(min, max)),
            _ => Match::Some,
        }
    }
}

/// Returns how many of the strings from `min` to `max` match. A range only shows whether its
/// strings can start with the prefix of the pattern, unless it is a single string.
fn match_pattern(pattern: &LikePattern, min: Option<&[u8]>, max: Option<&[u8]>) -> Match {
    let prefix = pattern.prefix();
    let is_before = max.is_some_and(|max| max < prefix);
    let is_behind = min.is_some_and(|min| min > prefix && !min.starts_with(prefix));
    let of_one = min.filter(|_| min == max).map(|only| pattern.matches(only));
    Match::of(is_before || is_behind || of_one == Some(false), of_one == Some(true))
}

fn any(tests: &[ValueTest], of_one: impl Fn(&ValueTest) -> Match) -> Match {
    tests.iter().map(of_one).fold(Match::None, Match::or)
}

fn match_closed<T: Ord + Copy>(range: &ClosedRange<T>, min: T, max: T) -> Match {
    Match::of(
        range.is_empty() || max < range.lower || min > range.upper,
        range.lower <= min && max <= range.upper,
    )
}

/// Returns how many of the values from `min` to `max` are in a set that has `count` values between
/// them.
fn match_set(count: usize, (min, max): (i128, i128)) -> Match {
    Match::of(count == 0, max.abs_diff(min) == count as u128 - u128::from(count > 0))
}

fn match_bytes_range(
    range: &BoundRange<Arc<[u8]>>,
    min: Option<&[u8]>,
    max: Option<&[u8]>,
) -> Match {
    let admits_low = min.map_or(range.lower.is_unbounded(), |v| range.lower.is_below(v));
    let admits_high = max.map_or(range.upper.is_unbounded(), |v| range.upper.is_above(v));
    let is_above = max.is_some_and(|v| !range.lower.is_below(v));
    let is_below = min.is_some_and(|v| !range.upper.is_above(v));
    Match::of(range.is_empty() || is_above || is_below, admits_low && admits_high)
}
