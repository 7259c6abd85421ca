//! Writes column filters as Velox's JSON.

use dwio::filter::{Bound, BoundRange, ClosedRange, Filter, ValueTest};
use serde_json::{Value as Json, json};
use vector::sync::Arc;
use vector::{Error, Result};

use super::values::timestamp_json;

/// Returns the JSON of a filter.
pub(super) fn filter_json(filter: &Filter) -> Result<Json> {
    let named = |name: &str, null_allowed: bool| Ok(kind(name, null_allowed, json!({})));
    match filter {
        Filter::AlwaysFalse => named("AlwaysFalse", false),
        Filter::AlwaysTrue => named("AlwaysTrue", true),
        Filter::IsNull => named("IsNull", true),
        Filter::IsNotNull => named("IsNotNull", false),
        Filter::Values { test, null_allowed } => test_json(test, *null_allowed),
    }
}

fn test_json(test: &ValueTest, nulls: bool) -> Result<Json> {
    let (name, members) = match test {
        ValueTest::Bool(value) => ("BoolValue", json!({"value": value})),
        ValueTest::BigintRange(range) => ("BigintRange", bigint_range(range)),
        ValueTest::NegatedBigintRange(range) => ("NegatedBigintRange", bigint_range(range)),
        ValueTest::BigintValues(set) => ("BigintValuesUsingHashTable", integers(set.values())),
        ValueTest::NegatedBigintValues(set) => {
            let inside = kind("BigintValuesUsingHashTable", nulls, integers(set.values()));
            ("NegatedBigintValuesUsingHashTable", json!({"nonNegated": inside}))
        }
        ValueTest::DoubleRange(range) => {
            ("DoubleRange", bounds(range, |v| Ok(json!(v)), json!(0))?)
        }
        ValueTest::FloatRange(range) => ("FloatRange", bounds(range, |v| Ok(json!(v)), json!(0))?),
        ValueTest::BytesRange(range) => ("BytesRange", bytes_range(range)?),
        ValueTest::NegatedBytesRange(range) => {
            let inside = kind("BytesRange", nulls, bytes_range(range)?);
            ("NegatedBytesRange", json!({"nonNegated": inside}))
        }
        ValueTest::BytesValues(set) => ("BytesValues", strings(set.values())?),
        ValueTest::NegatedBytesValues(set) => {
            let inside = kind("BytesValues", nulls, strings(set.values())?);
            ("NegatedBytesValues", json!({"nonNegated": inside}))
        }
        ValueTest::BigintMultiRange(ranges) => {
            let ranges = ranges.iter().map(|r| kind("BigintRange", false, bigint_range(r)));
            ("BigintMultiRange", json!({"ranges": ranges.collect::<Vec<_>>()}))
        }
        ValueTest::MultiRange(tests) => {
            let tests = tests.iter().map(|test| test_json(test, false));
            ("MultiRange", json!({"filters": tests.collect::<Result<Vec<_>>>()?}))
        }
        ValueTest::HugeintRange(range) => {
            let (lower, upper) = (range.lower.to_string(), range.upper.to_string());
            ("HugeintRange", json!({"lower": lower, "upper": upper}))
        }
        ValueTest::TimestampRange(range) => {
            let (lower, upper) = (timestamp_json(range.lower), timestamp_json(range.upper));
            ("TimestampRange", json!({"lower": lower, "upper": upper}))
        }
        ValueTest::HugeintValues(values) => {
            let (mut lower, mut upper) = (Vec::new(), Vec::new());
            for value in values {
                lower.push(*value as i64);
                upper.push((*value >> 64) as i64);
            }
            let ends = |halves: &[i64]| {
                (halves.first().copied().unwrap_or(0), halves.last().copied().unwrap_or(0))
            };
            let ((min_lower, max_lower), (min_upper, max_upper)) = (ends(&lower), ends(&upper));
            let members = json!({"min_lower": min_lower, "min_upper": min_upper,
                "max_lower": max_lower, "max_upper": max_upper,
                "lower_values": lower, "upper_values": upper});
            ("HugeintValuesUsingHashTable", members)
        }
        ValueTest::Like(_) | ValueTest::NegatedLike(_) => {
            return Err(Error::unsupported("Velox has no filter for patterns").with("filter", test));
        }
    };
    Ok(kind(name, nulls, members))
}

fn kind(name: &str, null_allowed: bool, mut members: Json) -> Json {
    members["name"] = json!(name);
    members["kind"] = json!(format!("k{name}"));
    members["nullAllowed"] = json!(null_allowed);
    members
}

fn bigint_range(range: &ClosedRange<i64>) -> Json {
    json!({"lower": range.lower, "upper": range.upper})
}

fn integers(values: &[i64]) -> Json {
    json!({"min": values.iter().min(), "max": values.iter().max(), "values": values})
}

fn text(bytes: &[u8]) -> Result<Json> {
    std::str::from_utf8(bytes).map(|text| json!(text)).map_err(|e| {
        Error::unsupported("a filter with text that is not UTF-8 cannot be recorded").caused_by(e)
    })
}

fn strings(values: &[Arc<[u8]>]) -> Result<Json> {
    let values = values.iter().map(|value| text(value)).collect::<Result<Vec<_>>>()?;
    Ok(json!({"values": values}))
}

fn bytes_range(range: &BoundRange<Arc<[u8]>>) -> Result<Json> {
    let mut members = bounds(range, |bytes| text(bytes), json!(""))?;
    members["singleValue"] = json!(range.single_value().is_some());
    Ok(members)
}

/// Returns the bounds of a range; an absent bound has a value that readers ignore.
fn bounds<T>(
    range: &BoundRange<T>,
    value: impl Fn(&T) -> Result<Json>,
    nothing: Json,
) -> Result<Json> {
    let end = |bound: &Bound<T>| bound.value().map_or_else(|| Ok(nothing.clone()), &value);
    Ok(json!({
        "lower": end(&range.lower)?,
        "lowerUnbounded": range.lower.is_unbounded(),
        "lowerExclusive": range.lower.is_exclusive(),
        "upper": end(&range.upper)?,
        "upperUnbounded": range.upper.is_unbounded(),
        "upperExclusive": range.upper.is_exclusive(),
    }))
}
