//! Filters: tests of a single column's value that are pushed down into readers.
//!
//! A [`Filter`] is immutable and defines for each value and for null whether it passes. Values are
//! tested by a [`ValueTest`]; whether null passes is stored once beside it, also for tests that
//! consist of many ranges.
//!
//! ```text
//! WHERE x BETWEEN 3 AND 5 AND x <> 4
//!          |                   |
//!   BigintRange [3, 5]   BigintMultiRange [..3] [5..]      extracted by to_filter.rs
//!          \__________ merge __/                           merge.rs: and, or
//!                        |
//!           BigintMultiRange [3, 3] [5, 5]
//!             |                      |
//!     values.rs: one value      batch.rs: a vector of values,
//!     matches.rs: the range     the rows that pass
//!     of a statistic
//! ```
//!
//! The files in reading order: `mod`, `range`, `set`, `pattern`, `values`, `matches`, `batch`,
//! `merge`, `print`, `describe`.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod batch;
mod describe;
mod matches;
mod merge;
mod pattern;
mod print;
mod range;
mod set;
mod values;

#[cfg(test)]
pub(crate) mod tests;

use vector::sync::Arc;
use vector::{Error, Result, Timestamp};

use pattern::SimplePattern;

pub use batch::retain;
pub use matches::Match;
pub use pattern::{LikePattern, PatternSearch};
pub use range::{Bound, BoundRange, ClosedRange};
pub use set::{BytesSet, IntegerSet};
pub use values::{BytesVisitor, FilterValue, TestVisitor};

/// A test of one value, with a rule for null.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// No value passes, nor does null.
    AlwaysFalse,
    /// All values and null pass.
    AlwaysTrue,
    /// Only null passes.
    IsNull,
    /// All values pass, but null does not.
    IsNotNull,
    /// The values that pass the test pass; null passes if it is allowed.
    Values {
        /// Test of values that are not null.
        test: ValueTest,
        /// True if null passes.
        null_allowed: bool,
    },
}

/// A test of a value that is not null.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTest {
    /// Equality with a boolean; an integer counts as true unless it is 0 (rule S2.10).
    Bool(bool),
    /// Integers inside a range; no value passes an empty range.
    BigintRange(ClosedRange<i64>),
    /// Integers of a list.
    BigintValues(IntegerSet),
    /// Integers outside a range.
    NegatedBigintRange(ClosedRange<i64>),
    /// Integers that are not in a list.
    NegatedBigintValues(IntegerSet),
    /// DOUBLE values inside a range. NaN is larger than all numbers, including infinity, so it
    /// passes if the range has no upper bound (rule S2.25).
    DoubleRange(BoundRange<f64>),
    /// REAL values inside a range. NaN is larger than all numbers, including infinity, so it passes
    /// if the range has no upper bound (rule S2.25).
    FloatRange(BoundRange<f32>),
    /// Strings inside a range, ordered by unsigned bytes.
    BytesRange(BoundRange<Arc<[u8]>>),
    /// Strings outside a range.
    NegatedBytesRange(BoundRange<Arc<[u8]>>),
    /// Strings of a list.
    BytesValues(BytesSet),
    /// Strings that are not in a list.
    NegatedBytesValues(BytesSet),
    /// Strings that match a LIKE pattern.
    Like(Arc<LikePattern>),
    /// Strings that do not match a LIKE pattern.
    NegatedLike(Arc<LikePattern>),
    /// Integers inside one of several ranges, which are ascending and do not overlap.
    BigintMultiRange(Box<[ClosedRange<i64>]>),
    /// Values that pass at least one of several tests of one family.
    MultiRange(Box<[ValueTest]>),
    /// 128-bit integers inside a range.
    HugeintRange(ClosedRange<i128>),
    /// Timestamps inside a range.
    TimestampRange(ClosedRange<Timestamp>),
    /// 128-bit integers of an ascending list.
    HugeintValues(Box<[i128]>),
}

/// Kinds of filters in the order of their assumed cost. The order decides which filter is evaluated
/// first while no costs have been measured (rules S2.2, S5.31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum FilterKind {
    AlwaysFalse,
    AlwaysTrue,
    IsNull,
    IsNotNull,
    BoolValue,
    BigintRange,
    BigintValuesUsingHashTable,
    BigintValuesUsingBitmask,
    NegatedBigintRange,
    NegatedBigintValuesUsingHashTable,
    NegatedBigintValuesUsingBitmask,
    DoubleRange,
    FloatRange,
    BytesRange,
    NegatedBytesRange,
    BytesValues,
    NegatedBytesValues,
    BigintMultiRange,
    MultiRange,
    HugeintRange,
    TimestampRange,
    HugeintValuesUsingHashTable,
    Like,
    NegatedLike,
}

impl Filter {
    /// Returns the filter that accepts only null if it is allowed, and nothing otherwise: the
    /// filter of an empty set of values (rule S2.42).
    pub fn null_or_false(null_allowed: bool) -> Self {
        if null_allowed { Filter::IsNull } else { Filter::AlwaysFalse }
    }

    /// Returns the filter that accepts all values, and null if it is allowed.
    pub fn any_value(null_allowed: bool) -> Self {
        if null_allowed { Filter::AlwaysTrue } else { Filter::IsNotNull }
    }

    /// Returns the filter that accepts the values that pass `test`, and null if it is allowed.
    pub fn values(test: ValueTest, null_allowed: bool) -> Self {
        Filter::Values { test, null_allowed }
    }

    /// Returns the filter that accepts one boolean.
    pub fn boolean(value: bool, null_allowed: bool) -> Self {
        Self::values(ValueTest::Bool(value), null_allowed)
    }

    /// Returns the filter that accepts the integers from `lower` to `upper`, both inclusive.
    pub fn bigint_range(lower: i64, upper: i64, null_allowed: bool) -> Self {
        Self::values(ValueTest::BigintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Returns the filter that accepts the integers below `lower` or above `upper`.
    pub fn negated_bigint_range(lower: i64, upper: i64, null_allowed: bool) -> Self {
        Self::values(ValueTest::NegatedBigintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Returns the filter that accepts the integers of a list, which may have duplicates (rule
    /// S2.22), in the form with the fastest test: a range if the values are contiguous, else a bit
    /// mask if they are close together, else a hash table (rule S2.20).
    pub fn bigint_values(values: Vec<i64>, null_allowed: bool) -> Self {
        let values = sorted_distinct(values);
        match one_range(&values) {
            None if values.is_empty() => Self::null_or_false(null_allowed),
            Some((lower, upper)) => Self::bigint_range(lower, upper, null_allowed),
            None => Self::values(ValueTest::BigintValues(IntegerSet::new(values)), null_allowed),
        }
    }

    /// Returns the filter that accepts the integers that are not in a list, in the same forms as
    /// [`Filter::bigint_values`] (rule S2.21).
    pub fn negated_bigint_values(values: Vec<i64>, null_allowed: bool) -> Self {
        let values = sorted_distinct(values);
        match one_range(&values) {
            None if values.is_empty() => Self::any_value(null_allowed),
            Some((lower, upper)) => Self::negated_bigint_range(lower, upper, null_allowed),
            None => {
                let test = ValueTest::NegatedBigintValues(IntegerSet::new(values));
                Self::values(test, null_allowed)
            }
        }
    }

    /// Returns the filter that accepts the integers inside one of the ranges. They may be in any
    /// order and overlap: the filter stores them ascending and disjoint (rule S2.18).
    pub fn bigint_multi_range(ranges: Vec<ClosedRange<i64>>, null_allowed: bool) -> Self {
        Self::of_ranges(merge::joined_ranges(ranges), null_allowed)
    }

    /// Returns the filter of ascending, non-overlapping ranges, in its simplest kind.
    fn of_ranges(ranges: Vec<ClosedRange<i64>>, null_allowed: bool) -> Self {
        match *ranges {
            [] => Self::null_or_false(null_allowed),
            [one] => Self::values(ValueTest::BigintRange(one), null_allowed),
            _ => Self::values(ValueTest::BigintMultiRange(ranges.into()), null_allowed),
        }
    }

    /// Returns the filter that accepts the 128-bit integers from `lower` to `upper`, both
    /// inclusive.
    pub fn hugeint_range(lower: i128, upper: i128, null_allowed: bool) -> Self {
        Self::values(ValueTest::HugeintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Returns the filter that accepts the 128-bit integers of a list.
    pub fn hugeint_values(values: Vec<i128>, null_allowed: bool) -> Self {
        let values = sorted_distinct(values);
        if values.is_empty() {
            return Self::null_or_false(null_allowed);
        }
        Self::values(ValueTest::HugeintValues(values.into()), null_allowed)
    }

    /// Returns the filter that accepts the DOUBLE values between two bounds.
    ///
    /// # Errors
    /// `Internal` if a bound is NaN (rule S2.24).
    pub fn double_range(lower: Bound<f64>, upper: Bound<f64>, null_allowed: bool) -> Result<Self> {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Ok(Self::any_value(null_allowed));
        }
        check_numbers([lower, upper].iter().filter_map(|b| b.value().copied()))?;
        Ok(Self::values(ValueTest::DoubleRange(BoundRange { lower, upper }), null_allowed))
    }

    /// Returns the filter that accepts the REAL values between two bounds.
    ///
    /// # Errors
    /// `Internal` if a bound is NaN (rule S2.24).
    pub fn float_range(lower: Bound<f32>, upper: Bound<f32>, null_allowed: bool) -> Result<Self> {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Ok(Self::any_value(null_allowed));
        }
        check_numbers([lower, upper].iter().filter_map(|b| b.value().map(|v| f64::from(*v))))?;
        Ok(Self::values(ValueTest::FloatRange(BoundRange { lower, upper }), null_allowed))
    }

    /// Returns the filter that accepts the strings between two bounds.
    pub fn bytes_range(
        lower: Bound<Arc<[u8]>>,
        upper: Bound<Arc<[u8]>>,
        null_allowed: bool,
    ) -> Self {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Self::any_value(null_allowed);
        }
        Self::values(ValueTest::BytesRange(BoundRange { lower, upper }), null_allowed)
    }

    /// Returns the filter that accepts the strings that are not between two bounds.
    pub fn negated_bytes_range(
        lower: Bound<Arc<[u8]>>,
        upper: Bound<Arc<[u8]>>,
        null_allowed: bool,
    ) -> Self {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Self::null_or_false(null_allowed);
        }
        Self::values(ValueTest::NegatedBytesRange(BoundRange { lower, upper }), null_allowed)
    }

    /// Returns the filter that accepts the strings of a list.
    pub fn bytes_values(values: Vec<Arc<[u8]>>, null_allowed: bool) -> Self {
        if values.is_empty() {
            return Self::null_or_false(null_allowed);
        }
        let set = BytesSet::new(sorted_distinct(values));
        Self::values(ValueTest::BytesValues(set), null_allowed)
    }

    /// Returns the filter that accepts the strings that are not in a list.
    pub fn negated_bytes_values(values: Vec<Arc<[u8]>>, null_allowed: bool) -> Self {
        if values.is_empty() {
            return Self::any_value(null_allowed);
        }
        let set = BytesSet::new(sorted_distinct(values));
        Self::values(ValueTest::NegatedBytesValues(set), null_allowed)
    }

    /// Returns the filter that accepts the strings that match a pattern, in the form with the
    /// fastest test: a list or a range if that is equivalent to the pattern.
    pub fn like(pattern: LikePattern, null_allowed: bool) -> Self {
        match pattern.simple() {
            Some(SimplePattern::Text(text)) => Self::bytes_values(vec![text.into()], null_allowed),
            Some(SimplePattern::Prefix(prefix)) => {
                let BoundRange { lower, upper } = BoundRange::of_prefix(prefix);
                Self::bytes_range(lower, upper, null_allowed)
            }
            Some(SimplePattern::AnyText) => Self::any_value(null_allowed),
            None => Self::values(ValueTest::Like(Arc::new(pattern)), null_allowed),
        }
    }

    /// Returns the filter that accepts the strings that do not match a pattern.
    pub fn not_like(pattern: LikePattern, null_allowed: bool) -> Self {
        match pattern.simple() {
            Some(SimplePattern::Text(text)) => {
                Self::negated_bytes_values(vec![text.into()], null_allowed)
            }
            Some(SimplePattern::Prefix(prefix)) => {
                let BoundRange { lower, upper } = BoundRange::of_prefix(prefix);
                Self::negated_bytes_range(lower, upper, null_allowed)
            }
            Some(SimplePattern::AnyText) => Self::null_or_false(null_allowed),
            None => Self::values(ValueTest::NegatedLike(Arc::new(pattern)), null_allowed),
        }
    }

    /// Returns a search for the strings that match the pattern of the filter, and whether these are
    /// the strings that pass. Returns `None` if testing the strings one by one is faster.
    pub fn search(&self) -> Option<(PatternSearch<'_>, bool)> {
        let (pattern, passes) = match self.values_test() {
            Ok(ValueTest::Like(pattern)) => (pattern, true),
            Ok(ValueTest::NegatedLike(pattern)) => (pattern, false),
            _ => return None,
        };
        Some((PatternSearch::new(pattern)?, passes))
    }

    /// Returns the filter that accepts the timestamps from `lower` to `upper`, both inclusive.
    pub fn timestamp_range(lower: Timestamp, upper: Timestamp, null_allowed: bool) -> Self {
        Self::values(ValueTest::TimestampRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Returns the filter that accepts the values that pass at least one of the tests: no value
    /// without tests, and the test itself for a single one. Otherwise the filter is an OR of tests
    /// of the same type (rule S2.40). For integers, use [`Filter::bigint_multi_range`].
    pub fn multi_range(mut tests: Vec<ValueTest>, null_allowed: bool) -> Self {
        match (tests.len(), tests.pop()) {
            (_, None) => Self::null_or_false(null_allowed),
            (1, Some(one)) => Self::values(one, null_allowed),
            (_, Some(last)) => {
                tests.push(last);
                Self::values(ValueTest::MultiRange(tests.into()), null_allowed)
            }
        }
    }

    /// Returns true if null passes.
    pub fn test_null(&self) -> bool {
        match self {
            Filter::AlwaysTrue | Filter::IsNull => true,
            Filter::AlwaysFalse | Filter::IsNotNull => false,
            Filter::Values { null_allowed, .. } => *null_allowed,
        }
    }

    /// Returns whether values pass if that does not depend on the value; `None` if it does (rule
    /// S2.5).
    pub fn test_any_value(&self) -> Option<bool> {
        match self {
            Filter::AlwaysTrue | Filter::IsNotNull => Some(true),
            Filter::AlwaysFalse | Filter::IsNull => Some(false),
            Filter::Values { .. } => None,
        }
    }

    /// Returns the same filter with another rule for null. The four kinds without a test of values
    /// are returned unchanged (rule S2.6).
    pub fn with_null_allowed(&self, null_allowed: bool) -> Self {
        match self {
            Filter::Values { test, .. } => Self::values(test.clone(), null_allowed),
            other => other.clone(),
        }
    }

    /// Returns the kind of the filter, for ordering filters whose cost is not known.
    pub fn kind(&self) -> FilterKind {
        match self {
            Filter::AlwaysFalse => FilterKind::AlwaysFalse,
            Filter::AlwaysTrue => FilterKind::AlwaysTrue,
            Filter::IsNull => FilterKind::IsNull,
            Filter::IsNotNull => FilterKind::IsNotNull,
            Filter::Values { test, .. } => test.kind(),
        }
    }
}

impl ValueTest {
    /// Returns the kind of a filter with this test.
    pub fn kind(&self) -> FilterKind {
        match self {
            ValueTest::Bool(_) => FilterKind::BoolValue,
            ValueTest::BigintRange(_) => FilterKind::BigintRange,
            ValueTest::BigintValues(set) if set.is_bitmask() => {
                FilterKind::BigintValuesUsingBitmask
            }
            ValueTest::BigintValues(_) => FilterKind::BigintValuesUsingHashTable,
            ValueTest::NegatedBigintRange(_) => FilterKind::NegatedBigintRange,
            ValueTest::NegatedBigintValues(set) if set.is_bitmask() => {
                FilterKind::NegatedBigintValuesUsingBitmask
            }
            ValueTest::NegatedBigintValues(_) => FilterKind::NegatedBigintValuesUsingHashTable,
            ValueTest::DoubleRange(_) => FilterKind::DoubleRange,
            ValueTest::FloatRange(_) => FilterKind::FloatRange,
            ValueTest::BytesRange(_) => FilterKind::BytesRange,
            ValueTest::NegatedBytesRange(_) => FilterKind::NegatedBytesRange,
            ValueTest::BytesValues(_) => FilterKind::BytesValues,
            ValueTest::NegatedBytesValues(_) => FilterKind::NegatedBytesValues,
            ValueTest::Like(_) => FilterKind::Like,
            ValueTest::NegatedLike(_) => FilterKind::NegatedLike,
            ValueTest::BigintMultiRange(_) => FilterKind::BigintMultiRange,
            ValueTest::MultiRange(_) => FilterKind::MultiRange,
            ValueTest::HugeintRange(_) => FilterKind::HugeintRange,
            ValueTest::TimestampRange(_) => FilterKind::TimestampRange,
            ValueTest::HugeintValues(_) => FilterKind::HugeintValuesUsingHashTable,
        }
    }
}

fn sorted_distinct<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns the first and last of sorted distinct values if they are contiguous.
fn one_range(sorted: &[i64]) -> Option<(i64, i64)> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let span = last.abs_diff(first);
    (span == sorted.len() as u64 - 1).then_some((first, last))
}

fn check_numbers(mut bounds: impl Iterator<Item = f64>) -> Result<()> {
    if bounds.any(f64::is_nan) {
        return Err(Error::internal("a bound of a filter is not a number"));
    }
    Ok(())
}
