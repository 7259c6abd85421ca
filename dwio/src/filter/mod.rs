//! Filters: tests of one column's value that can be pushed into reading.
//!
//! A [`Filter`] is immutable and says for every value and for null whether it passes. What it
//! asks of a value is a [`ValueTest`]; whether null passes stands beside it, once, also for tests
//! that are made of many ranges.
//!
//! ```text
//! WHERE x BETWEEN 3 AND 5 AND x <> 4
//!          |                   |
//!   BigintRange [3, 5]   BigintMultiRange [..3] [5..]      to_filter.rs finds them
//!          \__________ merge __/                           merge.rs: and, or
//!                        |
//!           BigintMultiRange [3, 3] [5, 5]
//!             |                      |
//!     values.rs: one value      batch.rs: a vector of values,
//!     matches.rs: the range     the rows that are left
//!     of a statistic
//! ```
//!
//! Files in reading order: `mod`, `range`, `set`, `pattern`, `values`, `matches`, `batch`, `merge`,
//! `print`, `describe`.

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

/// A test of one value, with a rule for nulls.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Nothing passes.
    AlwaysFalse,
    /// Everything passes, null too.
    AlwaysTrue,
    /// Only null passes.
    IsNull,
    /// Everything but null passes.
    IsNotNull,
    /// What passes the test passes, and null if it is allowed.
    Values {
        /// The test of values that are not null.
        test: ValueTest,
        /// True when null passes.
        null_allowed: bool,
    },
}

/// A test of values that are not null.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTest {
    /// Equal to the boolean; an integer is true unless it is 0 (rule S2.10).
    Bool(bool),
    /// An integer inside; nothing passes an empty range.
    BigintRange(ClosedRange<i64>),
    /// One of the integers.
    BigintValues(IntegerSet),
    /// An integer outside.
    NegatedBigintRange(ClosedRange<i64>),
    /// None of the integers.
    NegatedBigintValues(IntegerSet),
    /// A DOUBLE inside. NaN is above all numbers (rule S2.25).
    DoubleRange(BoundRange<f64>),
    /// A REAL inside. NaN is above all numbers (rule S2.25).
    FloatRange(BoundRange<f32>),
    /// A string inside, in the order of unsigned bytes.
    BytesRange(BoundRange<Arc<[u8]>>),
    /// A string outside.
    NegatedBytesRange(BoundRange<Arc<[u8]>>),
    /// One of the strings.
    BytesValues(BytesSet),
    /// None of the strings.
    NegatedBytesValues(BytesSet),
    /// A string that matches the pattern.
    Like(Arc<LikePattern>),
    /// A string that does not match the pattern.
    NegatedLike(Arc<LikePattern>),
    /// An integer inside one of the ranges, which ascend and do not overlap.
    BigintMultiRange(Box<[ClosedRange<i64>]>),
    /// A value that passes one of the tests, which are of one family.
    MultiRange(Box<[ValueTest]>),
    /// A 128-bit integer inside.
    HugeintRange(ClosedRange<i128>),
    /// A timestamp inside.
    TimestampRange(ClosedRange<Timestamp>),
    /// One of the 128-bit integers, which ascend.
    HugeintValues(Box<[i128]>),
}

/// The kinds of filters in the order of their cost while nothing was measured (rules S2.2, S5.31).
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
    /// Passes null only, or nothing: what an empty set of values becomes (rule S2.42).
    pub fn null_or_false(null_allowed: bool) -> Self {
        if null_allowed { Filter::IsNull } else { Filter::AlwaysFalse }
    }

    /// Passes every value, and null if it is allowed.
    pub fn any_value(null_allowed: bool) -> Self {
        if null_allowed { Filter::AlwaysTrue } else { Filter::IsNotNull }
    }

    /// Passes what the test passes, and null if it is allowed.
    pub fn values(test: ValueTest, null_allowed: bool) -> Self {
        Filter::Values { test, null_allowed }
    }

    /// Passes one boolean.
    pub fn boolean(value: bool, null_allowed: bool) -> Self {
        Self::values(ValueTest::Bool(value), null_allowed)
    }

    /// Passes the integers from `lower` to `upper`, both included.
    pub fn bigint_range(lower: i64, upper: i64, null_allowed: bool) -> Self {
        Self::values(ValueTest::BigintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Passes the integers below `lower` or above `upper`.
    pub fn negated_bigint_range(lower: i64, upper: i64, null_allowed: bool) -> Self {
        Self::values(ValueTest::NegatedBigintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Passes the integers of a list, in the form that tests fastest (rules S2.20, S2.22): a
    /// range when they are one, else a bit mask when they lie close, else a hash table.
    pub fn bigint_values(values: Vec<i64>, null_allowed: bool) -> Self {
        let values = sorted_distinct(values);
        match one_range(&values) {
            None if values.is_empty() => Self::null_or_false(null_allowed),
            Some((lower, upper)) => Self::bigint_range(lower, upper, null_allowed),
            None => Self::values(ValueTest::BigintValues(IntegerSet::new(values)), null_allowed),
        }
    }

    /// Passes the integers that are not in a list (rule S2.21).
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

    /// Passes the integers inside one of the ranges, given in any order (rule S2.18).
    pub fn bigint_multi_range(ranges: Vec<ClosedRange<i64>>, null_allowed: bool) -> Self {
        Self::of_ranges(merge::joined_ranges(ranges), null_allowed)
    }

    /// Ranges that ascend and do not overlap, as the simplest kind.
    fn of_ranges(ranges: Vec<ClosedRange<i64>>, null_allowed: bool) -> Self {
        match *ranges {
            [] => Self::null_or_false(null_allowed),
            [one] => Self::values(ValueTest::BigintRange(one), null_allowed),
            _ => Self::values(ValueTest::BigintMultiRange(ranges.into()), null_allowed),
        }
    }

    /// Passes the 128-bit integers from `lower` to `upper`, both included.
    pub fn hugeint_range(lower: i128, upper: i128, null_allowed: bool) -> Self {
        Self::values(ValueTest::HugeintRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Passes the 128-bit integers of a list.
    pub fn hugeint_values(values: Vec<i128>, null_allowed: bool) -> Self {
        let values = sorted_distinct(values);
        if values.is_empty() {
            return Self::null_or_false(null_allowed);
        }
        Self::values(ValueTest::HugeintValues(values.into()), null_allowed)
    }

    /// Passes the DOUBLE values between two bounds, of which none may be NaN (rule S2.24).
    pub fn double_range(lower: Bound<f64>, upper: Bound<f64>, null_allowed: bool) -> Result<Self> {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Ok(Self::any_value(null_allowed));
        }
        check_numbers([lower, upper].iter().filter_map(|b| b.value().copied()))?;
        Ok(Self::values(ValueTest::DoubleRange(BoundRange { lower, upper }), null_allowed))
    }

    /// Passes the REAL values between two bounds, of which none may be NaN (rule S2.24).
    pub fn float_range(lower: Bound<f32>, upper: Bound<f32>, null_allowed: bool) -> Result<Self> {
        if lower.is_unbounded() && upper.is_unbounded() {
            return Ok(Self::any_value(null_allowed));
        }
        check_numbers([lower, upper].iter().filter_map(|b| b.value().map(|v| f64::from(*v))))?;
        Ok(Self::values(ValueTest::FloatRange(BoundRange { lower, upper }), null_allowed))
    }

    /// Passes the strings between two bounds.
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

    /// Passes the strings that are not between two bounds.
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

    /// Passes the strings of a list.
    pub fn bytes_values(values: Vec<Arc<[u8]>>, null_allowed: bool) -> Self {
        if values.is_empty() {
            return Self::null_or_false(null_allowed);
        }
        let set = BytesSet::new(sorted_distinct(values));
        Self::values(ValueTest::BytesValues(set), null_allowed)
    }

    /// Passes the strings that are not in a list.
    pub fn negated_bytes_values(values: Vec<Arc<[u8]>>, null_allowed: bool) -> Self {
        if values.is_empty() {
            return Self::any_value(null_allowed);
        }
        let set = BytesSet::new(sorted_distinct(values));
        Self::values(ValueTest::NegatedBytesValues(set), null_allowed)
    }

    /// Passes the strings that match a pattern, in the form that tests fastest: a list or a range
    /// when the pattern says no more.
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

    /// Passes the strings that do not match a pattern.
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

    /// A search for the strings that the filter is about, where they are better searched together
    /// than tested one by one, and whether it is those that pass.
    pub fn search(&self) -> Option<(PatternSearch<'_>, bool)> {
        let (pattern, passes) = match self.values_test() {
            Ok(ValueTest::Like(pattern)) => (pattern, true),
            Ok(ValueTest::NegatedLike(pattern)) => (pattern, false),
            _ => return None,
        };
        Some((PatternSearch::new(pattern)?, passes))
    }

    /// Passes the timestamps from `lower` to `upper`, both included.
    pub fn timestamp_range(lower: Timestamp, upper: Timestamp, null_allowed: bool) -> Self {
        Self::values(ValueTest::TimestampRange(ClosedRange::new(lower, upper)), null_allowed)
    }

    /// Passes what one of the tests passes; none is nothing, one is itself (rule S2.40). Use
    /// [`Filter::bigint_multi_range`] for integers.
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

    /// True when null passes.
    pub fn test_null(&self) -> bool {
        match self {
            Filter::AlwaysTrue | Filter::IsNull => true,
            Filter::AlwaysFalse | Filter::IsNotNull => false,
            Filter::Values { null_allowed, .. } => *null_allowed,
        }
    }

    /// Whether values pass, when that does not depend on the value (rule S2.5).
    pub fn test_any_value(&self) -> Option<bool> {
        match self {
            Filter::AlwaysTrue | Filter::IsNotNull => Some(true),
            Filter::AlwaysFalse | Filter::IsNull => Some(false),
            Filter::Values { .. } => None,
        }
    }

    /// The same filter with another rule for nulls; the four kinds that do not look at values
    /// stay as they are (rule S2.6).
    pub fn with_null_allowed(&self, null_allowed: bool) -> Self {
        match self {
            Filter::Values { test, .. } => Self::values(test.clone(), null_allowed),
            other => other.clone(),
        }
    }

    /// The kind, for ordering filters whose cost is not known yet.
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
    /// The kind of a filter with this test.
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

/// First and last of sorted distinct values that are one run without gaps.
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
