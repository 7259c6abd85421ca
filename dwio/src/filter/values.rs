//! Testing one value, and testing all values of a range at once.
//!
//! The form of a test is looked at once, then a [`TestVisitor`] gets it as a plain function, so
//! that the loops in `batch.rs` and in readers have no branch on the kind of filter. A test of a
//! type that the filter is not made for is an `Internal` error that names both (rules S2.3, S2.4).
//!
//! Ranges of statistics are answered with three values, [`Match`]; from a range nothing is ever
//! concluded that some value in it could contradict.

use vector::{Error, FlatType, Result, Timestamp, Type, Value};

use super::range::{BoundRange, ClosedFloats, ClosedRange};
use super::{Filter, ValueTest};

/// How many values of some set pass a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// Not one passes.
    None,
    /// It is not known, or some do and some do not.
    Some,
    /// Every one passes.
    All,
}

impl Match {
    /// The answer for the opposite test.
    pub fn inverted(self) -> Self {
        match self {
            Match::None => Match::All,
            Match::Some => Match::Some,
            Match::All => Match::None,
        }
    }

    /// The answer for "this or that" over the same values.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Match::All, _) | (_, Match::All) => Match::All,
            (Match::None, Match::None) => Match::None,
            _ => Match::Some,
        }
    }

    /// The answer for "this and that" over the same values.
    pub fn and(self, other: Self) -> Self {
        self.inverted().or(other.inverted()).inverted()
    }

    /// The answer for the values of two sets together.
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

/// What is done with a value test once its form is known.
pub trait TestVisitor<T> {
    /// What comes out.
    type Output;

    /// Runs with the test as a function.
    fn visit(self, test: impl Fn(T) -> bool) -> Self::Output;
}

/// Fixed-width values that filters test.
pub trait FilterValue: FlatType {
    /// Gives the test to the visitor as a function of this type; an error when the test is not
    /// made for it.
    fn visit_test<V: TestVisitor<Self>>(test: &ValueTest, visitor: V) -> Result<V::Output>;
}

/// Tests one value.
struct One<T>(T);

impl<T> TestVisitor<T> for One<T> {
    type Output = bool;

    fn visit(self, test: impl Fn(T) -> bool) -> bool {
        test(self.0)
    }
}

macro_rules! integer_tests {
    ($($t:ty),*) => { $(
        impl FilterValue for $t {
            fn visit_test<V: TestVisitor<$t>>(test: &ValueTest, visitor: V) -> Result<V::Output> {
                // Bounds outside of a narrow type are cut to it: values pass or fail by value,
                // never by truncation (rule S2.8).
                let narrow = |range: &ClosedRange<i64>| {
                    let all = ClosedRange::new(i64::from(<$t>::MIN), i64::from(<$t>::MAX));
                    match range.intersect(&all) {
                        Some(cut) => ClosedRange::new(cut.lower as $t, cut.upper as $t),
                        None => ClosedRange::new(<$t>::MAX, <$t>::MIN),
                    }
                };
                Ok(match test {
                    ValueTest::Bool(wanted) => {
                        let wanted = *wanted;
                        visitor.visit(move |v| (v != 0) == wanted)
                    }
                    ValueTest::BigintRange(range) => {
                        let range = narrow(range);
                        visitor.visit(move |v| range.contains(v))
                    }
                    ValueTest::NegatedBigintRange(range) => {
                        let range = narrow(range);
                        visitor.visit(move |v| !range.contains(v))
                    }
                    ValueTest::BigintValues(set) => visitor.visit(|v| set.contains(i64::from(v))),
                    ValueTest::NegatedBigintValues(set) => {
                        visitor.visit(|v| !set.contains(i64::from(v)))
                    }
                    ValueTest::BigintMultiRange(ranges) => {
                        visitor.visit(|v| in_ranges(ranges, i64::from(v)))
                    }
                    ValueTest::HugeintRange(range) => {
                        visitor.visit(|v| range.contains(i128::from(v)))
                    }
                    ValueTest::HugeintValues(values) => {
                        visitor.visit(|v| values.binary_search(&i128::from(v)).is_ok())
                    }
                    ValueTest::MultiRange(tests) => visit_any(tests, visitor)?,
                    other => return Err(unsupported(other, stringify!($t))),
                })
            }
        }
    )* };
}
integer_tests!(i8, i16, i32, i64);

impl FilterValue for i128 {
    fn visit_test<V: TestVisitor<i128>>(test: &ValueTest, visitor: V) -> Result<V::Output> {
        Ok(match test {
            ValueTest::HugeintRange(range) => visitor.visit(|v| range.contains(v)),
            ValueTest::HugeintValues(values) => visitor.visit(|v| values.binary_search(&v).is_ok()),
            ValueTest::MultiRange(tests) => visit_any(tests, visitor)?,
            other => return Err(unsupported(other, "i128")),
        })
    }
}

impl FilterValue for Timestamp {
    fn visit_test<V: TestVisitor<Timestamp>>(test: &ValueTest, visitor: V) -> Result<V::Output> {
        Ok(match test {
            ValueTest::TimestampRange(range) => visitor.visit(|v| range.contains(v)),
            ValueTest::MultiRange(tests) => visit_any(tests, visitor)?,
            other => return Err(unsupported(other, "timestamp")),
        })
    }
}

impl FilterValue for f64 {
    fn visit_test<V: TestVisitor<f64>>(test: &ValueTest, visitor: V) -> Result<V::Output> {
        let closed = |test: &ValueTest| match test {
            ValueTest::DoubleRange(range) => Some(range.closed()),
            _ => None,
        };
        match (test, closed(test)) {
            (_, Some(range)) => Ok(visitor.visit(move |v| range.contains(v))),
            (ValueTest::MultiRange(tests), _) => {
                match tests.iter().map(closed).collect::<Option<Vec<_>>>() {
                    Some(ranges) => Ok(visitor.visit(|v| ranges.iter().any(|r| r.contains(v)))),
                    None => Err(unsupported(test, "f64")),
                }
            }
            _ => Err(unsupported(test, "f64")),
        }
    }
}

impl FilterValue for f32 {
    /// A filter of DOUBLE tests the widened value (rule S2.27).
    fn visit_test<V: TestVisitor<f32>>(test: &ValueTest, visitor: V) -> Result<V::Output> {
        match (test, closed_as_f64(test)) {
            (ValueTest::FloatRange(range), _) => {
                let range = range.closed();
                Ok(visitor.visit(move |v| range.contains(v)))
            }
            (_, Some(range)) => Ok(visitor.visit(move |v| range.contains(f64::from(v)))),
            (ValueTest::MultiRange(tests), _) => {
                match tests.iter().map(closed_as_f64).collect::<Option<Vec<_>>>() {
                    Some(ranges) => {
                        Ok(visitor.visit(|v| ranges.iter().any(|r| r.contains(f64::from(v)))))
                    }
                    None => Err(unsupported(test, "f32")),
                }
            }
            _ => Err(unsupported(test, "f32")),
        }
    }
}

/// A range of either float type, widened.
fn closed_as_f64(test: &ValueTest) -> Option<ClosedFloats<f64>> {
    match test {
        ValueTest::DoubleRange(range) => Some(range.closed()),
        ValueTest::FloatRange(range) => {
            let ClosedFloats { lower, upper, nan } = range.closed();
            Some(ClosedFloats { lower: lower.into(), upper: upper.into(), nan })
        }
        _ => None,
    }
}

/// A member of ranges that ascend without overlap.
#[inline]
fn in_ranges(ranges: &[ClosedRange<i64>], value: i64) -> bool {
    let after = ranges.partition_point(|r| r.lower <= value);
    after.checked_sub(1).and_then(|i| ranges.get(i)).is_some_and(|r| value <= r.upper)
}

fn visit_any<T: FilterValue, V: TestVisitor<T>>(
    tests: &[ValueTest],
    visitor: V,
) -> Result<V::Output> {
    struct Probe;
    impl<T> TestVisitor<T> for Probe {
        type Output = ();
        fn visit(self, _: impl Fn(T) -> bool) {}
    }
    for test in tests {
        T::visit_test(test, Probe)?;
    }
    // All tests were made for the type, so none gives an error below.
    Ok(visitor.visit(|v| tests.iter().any(|t| T::visit_test(t, One(v)).unwrap_or(false))))
}

/// What is done with a test of strings once its form is known.
pub(super) trait BytesVisitor {
    /// What comes out.
    type Output;

    /// Runs with the test as a function.
    fn visit(self, test: impl Fn(&[u8]) -> bool) -> Self::Output;
}

impl BytesVisitor for One<&[u8]> {
    type Output = bool;

    fn visit(self, test: impl Fn(&[u8]) -> bool) -> bool {
        test(self.0)
    }
}

/// Gives a test of strings to the visitor as a function; an error when it is not one of strings.
pub(super) fn visit_bytes_test<V: BytesVisitor>(test: &ValueTest, visitor: V) -> Result<V::Output> {
    Ok(match test {
        ValueTest::BytesRange(range) => visitor.visit(|v| range.contains(v)),
        ValueTest::NegatedBytesRange(range) => visitor.visit(|v| !range.contains(v)),
        ValueTest::BytesValues(set) => visitor.visit(|v| set.contains(v)),
        ValueTest::NegatedBytesValues(set) => visitor.visit(|v| !set.contains(v)),
        ValueTest::MultiRange(tests) => {
            for test in tests {
                visit_bytes_test(test, One(b"".as_slice()))?;
            }
            visitor.visit(|v| tests.iter().any(|t| visit_bytes_test(t, One(v)).unwrap_or(false)))
        }
        other => return Err(unsupported(other, "bytes")),
    })
}

/// The boolean that the test accepts; an error when it is not one of booleans.
pub(super) fn wanted_bool(test: &ValueTest) -> Result<bool> {
    match test {
        ValueTest::Bool(wanted) => Ok(*wanted),
        other => Err(unsupported(other, "bool")),
    }
}

impl Filter {
    /// Whether a fixed-width value passes.
    pub fn test<T: FilterValue>(&self, value: T) -> Result<bool> {
        match self.values_test() {
            Ok(test) => T::visit_test(test, One(value)),
            Err(answer) => Ok(answer),
        }
    }

    /// Whether an integer passes.
    pub fn test_i64(&self, value: i64) -> Result<bool> {
        self.test(value)
    }

    /// Whether a 128-bit integer passes.
    pub fn test_i128(&self, value: i128) -> Result<bool> {
        self.test(value)
    }

    /// Whether a DOUBLE passes.
    pub fn test_f64(&self, value: f64) -> Result<bool> {
        self.test(value)
    }

    /// Whether a REAL passes.
    pub fn test_f32(&self, value: f32) -> Result<bool> {
        self.test(value)
    }

    /// Whether a timestamp passes.
    pub fn test_timestamp(&self, value: Timestamp) -> Result<bool> {
        self.test(value)
    }

    /// Whether a boolean passes.
    pub fn test_bool(&self, value: bool) -> Result<bool> {
        match self.values_test() {
            Ok(test) => Ok(wanted_bool(test)? == value),
            Err(answer) => Ok(answer),
        }
    }

    /// Whether a string passes.
    pub fn test_bytes(&self, value: &[u8]) -> Result<bool> {
        match self.values_test() {
            Ok(test) => visit_bytes_test(test, One(value)),
            Err(answer) => Ok(answer),
        }
    }

    /// Whether a value of type `ty` passes, null by the rule for nulls. Arrays, maps and rows can
    /// only be asked whether they are null.
    pub fn test_value(&self, value: &Value, ty: &Type) -> Result<bool> {
        match value {
            Value::Null => Ok(self.test_null()),
            Value::Boolean(v) => self.test_bool(*v),
            Value::TinyInt(v) => self.test(*v),
            Value::SmallInt(v) => self.test(*v),
            Value::Integer(v) => self.test(*v),
            Value::BigInt(v) => self.test(*v),
            Value::HugeInt(v) => self.test(*v),
            Value::Real(v) => self.test(*v),
            Value::Double(v) => self.test(*v),
            Value::Timestamp(v) => self.test(*v),
            Value::Bytes(v) => self.test_bytes(v),
            Value::Array(_) | Value::Map(_) | Value::Row(_) => {
                self.test_any_value().ok_or_else(|| nested(self, ty))
            }
        }
    }

    /// The test of values, or the answer for all values.
    fn values_test(&self) -> std::result::Result<&ValueTest, bool> {
        match self {
            Filter::Values { test, .. } => Ok(test),
            Filter::AlwaysTrue | Filter::IsNotNull => Err(true),
            Filter::AlwaysFalse | Filter::IsNull => Err(false),
        }
    }

    /// Whether any value from `min` to `max`, or null if `has_null`, may pass (rule S2.7).
    pub fn test_i64_range(&self, min: i64, max: i64, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_i64(min, max) != Match::None
    }

    /// Like [`Filter::test_i64_range`] for 128-bit integers.
    pub fn test_i128_range(&self, min: i128, max: i128, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_i128(min, max) != Match::None
    }

    /// Like [`Filter::test_i64_range`] for floats; NaN is taken to exist although no range of a
    /// statistic covers it (rule S2.28).
    pub fn test_f64_range(&self, min: f64, max: f64, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_f64(min, max, true) != Match::None
    }

    /// Like [`Filter::test_i64_range`] for strings; an absent end is open (rule S2.33).
    pub fn test_bytes_range(&self, min: Option<&[u8]>, max: Option<&[u8]>, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_bytes(min, max) != Match::None
    }

    /// Like [`Filter::test_i64_range`] for timestamps.
    pub fn test_timestamp_range(&self, min: Timestamp, max: Timestamp, has_null: bool) -> bool {
        (has_null && self.test_null()) || self.match_timestamp(min, max) != Match::None
    }

    /// How many integers from `min` to `max` pass.
    pub fn match_i64(&self, min: i64, max: i64) -> Match {
        self.match_ordered(min <= max, |test| test.match_i64(min, max))
    }

    /// How many 128-bit integers from `min` to `max` pass.
    pub fn match_i128(&self, min: i128, max: i128) -> Match {
        self.match_ordered(min <= max, |test| test.match_i128(min, max))
    }

    /// How many timestamps from `min` to `max` pass.
    pub fn match_timestamp(&self, min: Timestamp, max: Timestamp) -> Match {
        self.match_ordered(min <= max, |test| test.match_timestamp(min, max))
    }

    /// How many strings from `min` to `max` pass; an absent end is open.
    pub fn match_bytes(&self, min: Option<&[u8]>, max: Option<&[u8]>) -> Match {
        let is_ordered = match (min, max) {
            (Some(min), Some(max)) => min <= max,
            _ => true,
        };
        self.match_ordered(is_ordered, |test| test.match_bytes(min, max))
    }

    /// How many floats pass: those from `min` to `max`, and NaN if it may be among them.
    pub fn match_f64(&self, min: f64, max: f64, may_have_nan: bool) -> Match {
        // A NaN as minimum or maximum says nothing about the rest: `<=` is false then.
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
            // Bounds in the wrong order say nothing.
            Ok(_) => Match::Some,
            Err(true) => Match::All,
            Err(false) => Match::None,
        }
    }
}

impl ValueTest {
    /// Bounds are in order. A test that is not made for the values says nothing about them.
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

    /// Of the numbers; NaN is not among them.
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
        // The strings between two ends can not be counted: all of them are in a set only if they
        // are one string.
        let in_set = |count: usize| Match::of(count == 0, min.is_some() && min == max);
        match self {
            ValueTest::BytesRange(range) => match_bytes_range(range, min, max),
            ValueTest::NegatedBytesRange(range) => match_bytes_range(range, min, max).inverted(),
            ValueTest::BytesValues(set) => in_set(set.count_in(min, max)),
            ValueTest::NegatedBytesValues(set) => in_set(set.count_in(min, max)).inverted(),
            ValueTest::MultiRange(tests) => any(tests, |t| t.match_bytes(min, max)),
            _ => Match::Some,
        }
    }
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

/// `count` values of a set lie between the two bounds.
fn match_set(count: usize, (min, max): (i128, i128)) -> Match {
    Match::of(count == 0, max.abs_diff(min) == count as u128 - u128::from(count > 0))
}

fn match_bytes_range(
    range: &BoundRange<vector::sync::Arc<[u8]>>,
    min: Option<&[u8]>,
    max: Option<&[u8]>,
) -> Match {
    let admits_low = min.map_or(range.lower.is_unbounded(), |v| range.lower.is_below(v));
    let admits_high = max.map_or(range.upper.is_unbounded(), |v| range.upper.is_above(v));
    let is_above = max.is_some_and(|v| !range.lower.is_below(v));
    let is_below = min.is_some_and(|v| !range.upper.is_above(v));
    Match::of(range.is_empty() || is_above || is_below, admits_low && admits_high)
}

fn nested(filter: &Filter, ty: &Type) -> Error {
    Error::internal("a filter of scalar values was applied to a nested column")
        .with("filter", filter)
        .with("type", ty)
}

fn unsupported(test: &ValueTest, ty: &'static str) -> Error {
    Error::internal("a filter was applied to values it is not made for")
        .with("filter", test)
        .with("values", ty)
}
