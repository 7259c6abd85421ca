//! Reads column filters from plan JSON.
//!
//! Only the outermost filter determines whether null passes; the null flags of nested filters are
//! ignored, so that a nested IsNull passes no row.

use dwio::filter::{Bound, ClosedRange, Filter, ValueTest};
use vector::Result;
use vector::sync::Arc;

use super::json::Json;
use super::values::read_timestamp;

/// Reads a filter.
pub(super) fn read_filter(json: &Json<'_>) -> Result<Filter> {
    let (name, class) = json.class()?;
    let null_allowed = json.flag("nullAllowed")?;
    Ok(match name {
        "AlwaysTrue" => Filter::AlwaysTrue,
        "AlwaysFalse" => Filter::AlwaysFalse,
        "IsNull" => Filter::IsNull,
        "IsNotNull" => Filter::IsNotNull,
        "BoolValue" => Filter::boolean(json.member("value")?.boolean()?, null_allowed),
        "BigintRange" => {
            let range = bigint_range(json)?;
            Filter::values(ValueTest::BigintRange(range), null_allowed)
        }
        "NegatedBigintRange" => {
            // Some writers of plans nest the range.
            let range = match json.optional("nonNegated")? {
                Some(inside) => bigint_range(&inside)?,
                None => bigint_range(json)?,
            };
            Filter::values(ValueTest::NegatedBigintRange(range), null_allowed)
        }
        "BigintMultiRange" => {
            let ranges = json.member("ranges")?.elements()?;
            let ranges = ranges.iter().map(bigint_range).collect::<Result<_>>()?;
            Filter::bigint_multi_range(ranges, null_allowed)
        }
        "BigintValuesUsingBitmask" | "BigintValuesUsingHashTable" => {
            Filter::bigint_values(integers(json)?, null_allowed)
        }
        "NegatedBigintValuesUsingBitmask" | "NegatedBigintValuesUsingHashTable" => {
            Filter::negated_bigint_values(integers(&json.member("nonNegated")?)?, null_allowed)
        }
        "HugeintRange" => {
            let lower = json.member("lower")?.huge_integer()?;
            Filter::hugeint_range(lower, json.member("upper")?.huge_integer()?, null_allowed)
        }
        "HugeintValuesUsingHashTable" => Filter::hugeint_values(huge_integers(json)?, null_allowed),
        "DoubleRange" => {
            let [lower, upper] = bounds(json, |bound| bound.float())?;
            json.check(Filter::double_range(lower, upper, null_allowed))?
        }
        "FloatRange" => {
            let [lower, upper] = bounds(json, |bound| Ok(bound.float()? as f32))?;
            json.check(Filter::float_range(lower, upper, null_allowed))?
        }
        "BytesRange" => {
            let [lower, upper] = bounds(json, bytes)?;
            Filter::bytes_range(lower, upper, null_allowed)
        }
        "NegatedBytesRange" => {
            let [lower, upper] = bounds(&json.member("nonNegated")?, bytes)?;
            Filter::negated_bytes_range(lower, upper, null_allowed)
        }
        "BytesValues" => Filter::bytes_values(strings(json)?, null_allowed),
        "NegatedBytesValues" => {
            Filter::negated_bytes_values(strings(&json.member("nonNegated")?)?, null_allowed)
        }
        "TimestampRange" => {
            let lower = read_timestamp(&json.member("lower")?)?;
            let upper = read_timestamp(&json.member("upper")?)?;
            Filter::timestamp_range(lower, upper, null_allowed)
        }
        "MultiRange" => multi_range(json, null_allowed)?,
        _ => return Err(class.refuse("a filter that is not built")),
    })
}

/// Reads a filter that passes the values that any of its nested filters passes.
fn multi_range(json: &Json<'_>, null_allowed: bool) -> Result<Filter> {
    let mut tests = Vec::new();
    let mut any = false;
    for inside in json.member("filters")?.elements()? {
        match read_filter(&inside)? {
            Filter::AlwaysTrue | Filter::IsNotNull => any = true,
            Filter::AlwaysFalse | Filter::IsNull => {}
            Filter::Values { test: ValueTest::MultiRange(inner), .. } => tests.extend(inner),
            Filter::Values { test, .. } => tests.push(test),
        }
    }
    if any {
        Ok(Filter::any_value(null_allowed))
    } else {
        Ok(Filter::multi_range(tests, null_allowed))
    }
}

fn bigint_range(json: &Json<'_>) -> Result<ClosedRange<i64>> {
    Ok(ClosedRange::new(json.member("lower")?.integer()?, json.member("upper")?.integer()?))
}

fn integers(json: &Json<'_>) -> Result<Vec<i64>> {
    json.member("values")?.elements()?.iter().map(Json::integer).collect()
}

/// Reads 128-bit integers from halves; the lower halves are unsigned and are written as signed
/// numbers.
fn huge_integers(json: &Json<'_>) -> Result<Vec<i128>> {
    let (lower, upper) = (json.member("lower_values")?, json.member("upper_values")?);
    let (lowers, uppers) = (lower.elements()?, upper.elements()?);
    if lowers.len() != uppers.len() {
        return Err(lower.wrong("as many lower as upper halves"));
    }
    let halves = lowers.iter().zip(&uppers);
    let whole = halves.map(|(lower, upper)| {
        let (lower, upper) = (lower.integer::<i64>()?, upper.integer::<i64>()?);
        Ok(i128::from(upper) << 64 | i128::from(lower as u64))
    });
    whole.collect()
}

fn bytes(json: &Json<'_>) -> Result<Arc<[u8]>> {
    Ok(Arc::from(json.text()?.as_bytes()))
}

fn strings(json: &Json<'_>) -> Result<Vec<Arc<[u8]>>> {
    json.member("values")?.elements()?.iter().map(bytes).collect()
}

/// Reads the bounds of a range; the value of an absent bound is ignored.
fn bounds<T>(json: &Json<'_>, read: impl Fn(&Json<'_>) -> Result<T>) -> Result<[Bound<T>; 2]> {
    let bound = |value, unbounded, exclusive| {
        Ok(if json.flag(unbounded)? {
            Bound::Unbounded
        } else if json.flag(exclusive)? {
            Bound::Exclusive(read(&json.member(value)?)?)
        } else {
            Bound::Inclusive(read(&json.member(value)?)?)
        })
    };
    Ok([
        bound("lower", "lowerUnbounded", "lowerExclusive")?,
        bound("upper", "upperUnbounded", "upperExclusive")?,
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: serde_json::Value) -> Filter {
        read_filter(&Json::root("filter", &json)).unwrap()
    }

    #[test]
    fn only_the_outermost_filter_decides_about_null() {
        let range = |lower: f64, null_allowed: bool| {
            json!({"name": "DoubleRange", "nullAllowed": null_allowed, "lower": lower,
                "upper": lower, "lowerUnbounded": false, "upperUnbounded": false,
                "lowerExclusive": false, "upperExclusive": false})
        };
        let of = |filters: serde_json::Value| {
            read(json!({"name": "MultiRange", "nullAllowed": false, "filters": filters}))
        };
        let is_null = json!({"name": "IsNull", "nullAllowed": true});
        let filter = of(json!([is_null, range(1.0, true), range(3.0, true)]));
        assert!(!filter.test_null());
        let passes = |v: f64| filter.test_f64(v).unwrap();
        assert!(passes(1.0) && passes(3.0) && !passes(2.0));
        assert_eq!(of(json!([is_null])), Filter::AlwaysFalse);
        let is_not_null = json!({"name": "IsNotNull", "nullAllowed": false});
        assert_eq!(of(json!([range(1.0, false), is_not_null])), Filter::IsNotNull);
    }

    #[test]
    fn ends_that_are_not_there_have_no_value() {
        let filter = read(json!({"name": "DoubleRange", "nullAllowed": false, "lower": 2,
            "upper": 1.7976931348623157e308, "lowerUnbounded": false, "lowerExclusive": true,
            "upperUnbounded": true, "upperExclusive": false}));
        let passes = |v: f64| filter.test_f64(v).unwrap();
        assert!(passes(f64::INFINITY) && passes(f64::NAN) && passes(2.5) && !passes(2.0));
    }

    #[test]
    fn values_of_128_bits_come_in_halves() {
        let filter = read(json!({"name": "HugeintValuesUsingHashTable", "nullAllowed": true,
            "lower_values": [-1, 5], "upper_values": [0, -1]}));
        let wanted = [i128::from(u64::MAX), (-1i128 << 64) + 5];
        assert!(filter.test_null() && wanted.iter().all(|v| filter.test_i128(*v).unwrap()));
        assert!(!filter.test_i128(5).unwrap());
    }
}
