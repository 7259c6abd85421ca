//! Filters on single values.
//!
//! The form of a test is dispatched on once; a [`TestVisitor`] then receives it as a plain
//! function, so that the loops in `batch.rs` and in readers do not branch on the kind of filter.
//! Applying a test to a type that it does not support is an `Internal` error with both of them
//! (rules S2.3, S2.4).

use vector::{Error, FlatType, Result, Timestamp, Type, Value};

use super::range::{ClosedFloats, ClosedRange};
use super::{Filter, ValueTest};

/// Uses a value test after its form has been dispatched on.
pub trait TestVisitor<T> {
    /// Result of the visit.
    type Output;

    /// Runs with the test as a function.
    fn visit(self, test: impl Fn(T) -> bool) -> Self::Output;

    /// Runs like [`TestVisitor::visit`], with an additional function that returns whether any value
    /// between two values may pass.
    fn visit_sparse(
        self,
        test: impl Fn(T) -> bool,
        _may_pass_between: impl Fn(T, T) -> bool,
    ) -> Self::Output
    where
        Self: Sized,
        T: Copy + Ord,
    {
        self.visit(test)
    }
}

/// Fixed-width values that filters can test.
pub trait FilterValue: FlatType {
    /// Calls the visitor with the test as a function of this type.
    ///
    /// # Errors
    /// `Internal` if the test does not support this type.
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
                // Bounds outside of a narrow type are clamped to it: the result depends on the
                // value and is never changed by truncation (rule S2.8).
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
                    ValueTest::BigintValues(set) if set.is_bitmask() => {
                        visitor.visit(|v| set.contains(i64::from(v)))
                    }
                    ValueTest::BigintValues(set) => visitor.visit_sparse(
                        |v| set.contains(i64::from(v)),
                        |min, max| set.may_have_between(i64::from(min), i64::from(max)),
                    ),
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
    /// A DOUBLE filter tests the widened value (rule S2.27).
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

/// Returns a range of either floating-point type, widened.
pub(super) fn closed_as_f64(test: &ValueTest) -> Option<ClosedFloats<f64>> {
    match test {
        ValueTest::DoubleRange(range) => Some(range.closed()),
        ValueTest::FloatRange(range) => {
            let ClosedFloats { lower, upper, nan } = range.closed();
            Some(ClosedFloats { lower: lower.into(), upper: upper.into(), nan })
        }
        _ => None,
    }
}

/// Returns true if the value is in one of the ascending, non-overlapping ranges.
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
    // All tests support the type, as checked above, so none of the calls below returns an error.
    Ok(visitor.visit(|v| tests.iter().any(|t| T::visit_test(t, One(v)).unwrap_or(false))))
}

/// Uses a string test after its form has been dispatched on.
pub trait BytesVisitor {
    /// Result of the visit.
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

/// Calls the visitor with a string test as a function.
///
/// # Errors
/// `Internal` if the test does not support strings.
pub(super) fn visit_bytes_test<V: BytesVisitor>(test: &ValueTest, visitor: V) -> Result<V::Output> {
    Ok(match test {
        ValueTest::BytesRange(range) => visitor.visit(|v| range.contains(v)),
        ValueTest::NegatedBytesRange(range) => visitor.visit(|v| !range.contains(v)),
        ValueTest::BytesValues(set) => visitor.visit(|v| set.contains(v)),
        ValueTest::NegatedBytesValues(set) => visitor.visit(|v| !set.contains(v)),
        ValueTest::Like(pattern) => visitor.visit(|v| pattern.matches(v)),
        ValueTest::NegatedLike(pattern) => visitor.visit(|v| !pattern.matches(v)),
        ValueTest::MultiRange(tests) => {
            for test in tests {
                visit_bytes_test(test, One(b"".as_slice()))?;
            }
            visitor.visit(|v| tests.iter().any(|t| visit_bytes_test(t, One(v)).unwrap_or(false)))
        }
        other => return Err(unsupported(other, "bytes")),
    })
}

/// Returns the boolean that the test accepts.
///
/// # Errors
/// `Internal` if the test does not support booleans.
pub(super) fn wanted_bool(test: &ValueTest) -> Result<bool> {
    match test {
        ValueTest::Bool(wanted) => Ok(*wanted),
        other => Err(unsupported(other, "bool")),
    }
}

impl Filter {
    /// Returns whether a fixed-width value passes.
    ///
    /// # Errors
    /// `Internal` if the filter does not test values of this type.
    pub fn test<T: FilterValue>(&self, value: T) -> Result<bool> {
        match self.values_test() {
            Ok(test) => T::visit_test(test, One(value)),
            Err(answer) => Ok(answer),
        }
    }

    /// Returns whether an integer passes.
    ///
    /// # Errors
    /// Those of [`Filter::test`].
    pub fn test_i64(&self, value: i64) -> Result<bool> {
        self.test(value)
    }

    /// Returns whether a 128-bit integer passes.
    ///
    /// # Errors
    /// Those of [`Filter::test`].
    pub fn test_i128(&self, value: i128) -> Result<bool> {
        self.test(value)
    }

    /// Returns whether a DOUBLE passes.
    ///
    /// # Errors
    /// Those of [`Filter::test`].
    pub fn test_f64(&self, value: f64) -> Result<bool> {
        self.test(value)
    }

    /// Returns whether a REAL passes.
    ///
    /// # Errors
    /// Those of [`Filter::test`].
    pub fn test_f32(&self, value: f32) -> Result<bool> {
        self.test(value)
    }

    /// Returns whether a timestamp passes.
    ///
    /// # Errors
    /// Those of [`Filter::test`].
    pub fn test_timestamp(&self, value: Timestamp) -> Result<bool> {
        self.test(value)
    }

    /// Returns whether a boolean passes.
    ///
    /// # Errors
    /// `Internal` if the filter does not test booleans.
    pub fn test_bool(&self, value: bool) -> Result<bool> {
        match self.values_test() {
            Ok(test) => Ok(wanted_bool(test)? == value),
            Err(answer) => Ok(answer),
        }
    }

    /// Calls the visitor with the string test as a function.
    ///
    /// # Errors
    /// `Internal` if the filter does not test strings.
    pub fn visit_bytes<V: BytesVisitor>(&self, visitor: V) -> Result<V::Output> {
        match self.values_test() {
            Ok(test) => visit_bytes_test(test, visitor),
            Err(answer) => Ok(visitor.visit(|_| answer)),
        }
    }

    /// Returns whether a string passes.
    ///
    /// # Errors
    /// `Internal` if the filter does not test strings.
    pub fn test_bytes(&self, value: &[u8]) -> Result<bool> {
        match self.values_test() {
            Ok(test) => visit_bytes_test(test, One(value)),
            Err(answer) => Ok(answer),
        }
    }

    /// Returns whether a value of type `ty` passes; null passes if the filter accepts it. Arrays,
    /// maps and rows can only be tested for null.
    ///
    /// # Errors
    /// `Internal` if the filter does not test values of this type.
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

    /// Returns the test of values, or the result for all values if it does not depend on them.
    pub(super) fn values_test(&self) -> std::result::Result<&ValueTest, bool> {
        match self {
            Filter::Values { test, .. } => Ok(test),
            Filter::AlwaysTrue | Filter::IsNotNull => Err(true),
            Filter::AlwaysFalse | Filter::IsNull => Err(false),
        }
    }
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
