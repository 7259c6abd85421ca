//! Testing one value.
//!
//! The form of a test is looked at once, then a [`TestVisitor`] gets it as a plain function, so
//! that the loops in `batch.rs` and in readers have no branch on the kind of filter. A test of a
//! type that the filter is not made for is an `Internal` error that names both (rules S2.3, S2.4).

use vector::{Error, FlatType, Result, Timestamp, Type, Value};

use super::range::{ClosedFloats, ClosedRange};
use super::{Filter, ValueTest};

/// What is done with a value test once its form is known.
pub trait TestVisitor<T> {
    /// What comes out.
    type Output;

    /// Runs with the test as a function.
    fn visit(self, test: impl Fn(T) -> bool) -> Self::Output;

    /// The same, where it is also known whether any value between two others may pass.
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
pub trait BytesVisitor {
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

    /// Gives the test of strings to the visitor as a function.
    pub fn visit_bytes<V: BytesVisitor>(&self, visitor: V) -> Result<V::Output> {
        match self.values_test() {
            Ok(test) => visit_bytes_test(test, visitor),
            Err(answer) => Ok(visitor.visit(|_| answer)),
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
