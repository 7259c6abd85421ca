//! Tests of filters against a model that compares values one by one.

use std::cmp::Ordering;

use vector::cpu::Level;
use vector::sync::Arc;
use vector::testing::{Random, RandomVectors};
use vector::{DecodedVector, SelectivityVector, Timestamp, Type, Value, bits};

use super::range::{Bound, BoundRange, ClosedRange};
use super::{Filter, FilterKind, FilterValue, LikePattern, Match, ValueTest};

/// Returns whether a value passes, by the definition of the filter.
pub(crate) fn model(filter: &Filter, value: &Value) -> bool {
    match (filter, value) {
        (_, Value::Null) => filter.test_null(),
        (Filter::Values { test, .. }, value) => model_test(test, value),
        (filter, _) => filter.test_any_value().unwrap(),
    }
}

fn model_test(test: &ValueTest, value: &Value) -> bool {
    let integer = value.as_i128();
    let in_closed = |range: &ClosedRange<i64>| {
        let value = integer.unwrap();
        value >= range.lower.into() && value <= range.upper.into()
    };
    let in_set = |set: &[i64]| set.iter().any(|v| i128::from(*v) == integer.unwrap());
    // A REAL is compared as the DOUBLE of equal value.
    let widened = match value {
        Value::Real(v) => Value::Double(f64::from(*v)),
        other => other.clone(),
    };
    fn in_bounds<T: Clone>(range: &BoundRange<T>, value: &Value, of: impl Fn(T) -> Value) -> bool {
        let side = |bound: &Bound<T>, outside: Ordering| match bound {
            Bound::Unbounded => true,
            Bound::Inclusive(end) => value.compare(&of(end.clone())) != outside,
            Bound::Exclusive(end) => value.compare(&of(end.clone())) == outside.reverse(),
        };
        side(&range.lower, Ordering::Less) && side(&range.upper, Ordering::Greater)
    }
    match test {
        ValueTest::Bool(wanted) => match value {
            Value::Boolean(v) => v == wanted,
            _ => (integer.unwrap() != 0) == *wanted,
        },
        ValueTest::BigintRange(range) => in_closed(range),
        ValueTest::NegatedBigintRange(range) => !in_closed(range),
        ValueTest::BigintValues(set) => in_set(set.values()),
        ValueTest::NegatedBigintValues(set) => !in_set(set.values()),
        ValueTest::BigintMultiRange(ranges) => ranges.iter().any(in_closed),
        ValueTest::DoubleRange(range) => in_bounds(range, &widened, Value::Double),
        ValueTest::FloatRange(range) => in_bounds(range, &widened, |v| Value::Double(f64::from(v))),
        ValueTest::BytesRange(range) => in_bounds(range, value, Value::Bytes),
        ValueTest::NegatedBytesRange(range) => !in_bounds(range, value, Value::Bytes),
        ValueTest::BytesValues(set) => set.values().iter().any(|v| Some(&**v) == value.as_bytes()),
        ValueTest::NegatedBytesValues(set) => {
            set.values().iter().all(|v| Some(&**v) != value.as_bytes())
        }
        ValueTest::Like(pattern) => is_like(&pattern.to_string(), value),
        ValueTest::NegatedLike(pattern) => !is_like(&pattern.to_string(), value),
        ValueTest::MultiRange(tests) => tests.iter().any(|t| model_test(t, value)),
        ValueTest::HugeintRange(range) => {
            integer.unwrap() >= range.lower && integer.unwrap() <= range.upper
        }
        ValueTest::HugeintValues(values) => values.contains(&integer.unwrap()),
        ValueTest::TimestampRange(range) => {
            let Value::Timestamp(value) = value else { panic!("a timestamp") };
            *value >= range.lower && *value <= range.upper
        }
    }
}

/// Evaluates LIKE by definition, for a quoted pattern without escapes and text of single-byte
/// characters.
fn is_like(quoted: &str, value: &Value) -> bool {
    fn matches(text: &[u8], pattern: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'%', rest)) => (0..=text.len()).any(|skip| matches(&text[skip..], rest)),
            Some((b'_', rest)) => !text.is_empty() && matches(&text[1..], rest),
            Some((byte, rest)) => text.first() == Some(byte) && matches(&text[1..], rest),
        }
    }
    matches(value.as_bytes().unwrap(), &quoted.as_bytes()[1..quoted.len() - 1])
}

/// Returns a pattern of substrings with wildcards around them.
fn like_pattern(random: &mut Random, strings: &[&Arc<[u8]>]) -> LikePattern {
    let mut pattern = Vec::new();
    for string in strings {
        pattern.extend_from_slice(random.pick(&["", "%", "%", "_", "%_"]).as_bytes());
        let from = random.below(string.len() + 1);
        pattern.extend(string.iter().skip(from).take(random.below(6)));
    }
    pattern.extend_from_slice(random.pick(&["", "%", "%", "_"]).as_bytes());
    LikePattern::parse(&pattern, None).unwrap()
}

/// Returns true if the filter contains a pattern, which cannot be combined with most other filters.
fn has_pattern(filter: &Filter) -> bool {
    filter.to_string().contains("like '")
}

/// A type, with values of it that filters distinguish.
pub(crate) struct Family {
    pub(crate) ty: Type,
    pool: Vec<Value>,
}

pub(crate) fn families() -> Vec<Family> {
    fn family<T>(
        ty: Type,
        pool: impl IntoIterator<Item = T>,
        value: impl Fn(T) -> Value,
    ) -> Family {
        Family { ty, pool: pool.into_iter().map(value).collect() }
    }
    let small = -3..9;
    let wide = [i64::MIN, i64::MIN + 1, -5000, 1 << 20, 1 << 40, i64::MAX - 1, i64::MAX];
    let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, 1.25, 3.5, f64::INFINITY, f64::NAN];
    let texts = [
        "",
        "a",
        "a\0",
        "ab",
        "abc",
        "b",
        "zz",
        "twelve bytes",
        "thirteen byte",
        "a long string that lives outside of its view",
        "a long string that lives outside of its view, too",
    ];
    let times = [i64::MIN, -1, 0, 1, 2, 1_000_000, i64::MAX];
    vec![
        family(Type::Boolean, [false, true], Value::Boolean),
        family(Type::TinyInt, small.clone().chain([-128, 127]), |v| Value::TinyInt(v as i8)),
        family(Type::SmallInt, small.clone().chain([300, -300]), |v| Value::SmallInt(v as i16)),
        family(Type::Date, small.clone().chain([i32::MIN, i32::MAX]), Value::Integer),
        family(Type::BigInt, (-3i64..9).chain(wide), Value::BigInt),
        family(Type::HugeInt, [i128::MIN, -1, 0, 1, 2, 3, 1 << 80, i128::MAX], Value::HugeInt),
        family(Type::Real, floats, |v| Value::Real(v as f32)),
        family(Type::Double, floats, Value::Double),
        family(Type::Varchar, texts, Value::bytes),
        family(
            Type::Timestamp,
            times.iter().flat_map(|s| [(*s, 0), (*s, 999_999_999)]),
            |(s, n)| Value::Timestamp(Timestamp::new(s, n)),
        ),
    ]
}

impl Family {
    pub(crate) fn some(&self, random: &mut Random) -> Value {
        random.pick(&self.pool).clone()
    }

    /// Returns the filter of one predicate.
    fn predicate(&self, random: &mut Random) -> Filter {
        let null_allowed = random.chance(0.5);
        if random.chance(0.1) {
            return random
                .pick(&[Filter::AlwaysFalse, Filter::AlwaysTrue, Filter::IsNull, Filter::IsNotNull])
                .clone();
        }
        let (a, b) = (self.some(random), self.some(random));
        let many: Vec<Value> = (0..random.below(8)).map(|_| self.some(random)).collect();
        let kind = random.below(8);
        match (&a, &b) {
            (Value::Boolean(v), _) => Filter::boolean(*v, null_allowed),
            (Value::HugeInt(a), Value::HugeInt(b)) => match kind {
                0 | 1 => Filter::hugeint_values(
                    many.iter().filter_map(Value::as_i128).collect(),
                    null_allowed,
                ),
                _ => Filter::hugeint_range(*a.min(b), *a.max(b), null_allowed),
            },
            (Value::Timestamp(a), Value::Timestamp(b)) => {
                Filter::timestamp_range(*a.min(b), *a.max(b), null_allowed)
            }
            (Value::Real(a), Value::Real(b)) => {
                let (lower, upper) = (bound(random, *a), bound(random, *b));
                Filter::float_range(lower, upper, null_allowed).unwrap_or(Filter::IsNotNull)
            }
            (Value::Double(a), Value::Double(b)) => {
                let (lower, upper) = (bound(random, *a), bound(random, *b));
                Filter::double_range(lower, upper, null_allowed).unwrap_or(Filter::IsNotNull)
            }
            (Value::Bytes(a), Value::Bytes(b)) => {
                let strings = many.iter().filter_map(|v| v.as_bytes().map(Arc::from)).collect();
                let (lower, upper) = (bound(random, a.clone()), bound(random, b.clone()));
                match kind {
                    0 => Filter::bytes_values(strings, null_allowed),
                    1 => Filter::negated_bytes_values(strings, null_allowed),
                    2 => Filter::negated_bytes_range(lower, upper, null_allowed),
                    3 => Filter::like(like_pattern(random, &[a, b]), null_allowed),
                    4 => Filter::like(like_pattern(random, &[a]), null_allowed),
                    5 => Filter::not_like(like_pattern(random, &[a]), null_allowed),
                    _ => Filter::bytes_range(lower, upper, null_allowed),
                }
            }
            _ => {
                let (a, b) = (a.as_i64().unwrap(), b.as_i64().unwrap());
                let integers: Vec<i64> = many.iter().filter_map(Value::as_i64).collect();
                match kind {
                    0 => Filter::bigint_values(integers, null_allowed),
                    1 => Filter::negated_bigint_values(integers, null_allowed),
                    2 => Filter::negated_bigint_range(a, b, null_allowed),
                    3 => Filter::bigint_multi_range(
                        integers.windows(2).map(|w| ClosedRange::new(w[0], w[1])).collect(),
                        null_allowed,
                    ),
                    // Includes ranges outside of the narrow integer types.
                    4 => Filter::bigint_range(a.saturating_mul(100), b.saturating_mul(1000), false),
                    _ => Filter::bigint_range(a, b, null_allowed),
                }
            }
        }
    }

    /// Returns the filter of one predicate, or of two combined.
    pub(crate) fn filter(&self, random: &mut Random) -> Filter {
        let first = self.predicate(random);
        let second = self.predicate(random);
        match random.below(4) {
            0 => match first.merge(&second) {
                Err(_) if has_pattern(&first) || has_pattern(&second) => first,
                merged => merged.unwrap(),
            },
            1 => Filter::any_of(&[first.clone(), second]).unwrap_or(first),
            _ => first,
        }
    }
}

fn bound<T>(random: &mut Random, value: T) -> Bound<T> {
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Inclusive(value),
        _ => Bound::Exclusive(value),
    }
}

fn for_each_filter(seed: u64, mut check: impl FnMut(&Family, &Filter, &mut Random)) {
    let mut random = Random::new(seed);
    for family in families() {
        for _ in 0..400 {
            let filter = family.filter(&mut random);
            check(&family, &filter, &mut random);
        }
    }
}

#[test]
fn a_filter_tests_one_value_as_it_says() {
    for_each_filter(1, |family, filter, _| {
        for value in family.pool.iter().chain([&Value::Null]) {
            let found = filter.test_value(value, &family.ty).unwrap();
            assert_eq!(found, model(filter, value), "{filter} of {value:?}");
        }
    });
}

#[test]
fn a_batch_is_tested_like_its_values_in_every_encoding() {
    let mut vectors = RandomVectors::new(7);
    for_each_filter(2, |family, filter, random| {
        let len = *random.pick(&[0, 1, 63, 64, 65, 200, 300]);
        let null_chance = *random.pick(&[0.0, 0.3, 1.0]);
        let values: Vec<Value> = (0..len)
            .map(|_| if random.chance(null_chance) { Value::Null } else { family.some(random) })
            .collect();
        let vector = vectors.encode(&family.ty, &values);
        let decoded = DecodedVector::new(&vector).unwrap();
        let density = *random.pick(&[0.02, 0.5, 1.0]);
        let mut rows = SelectivityVector::none(len);
        (0..len).for_each(|i| rows.set(i, random.chance(density)));
        let before = rows.clone();
        filter.apply(&decoded, &mut rows).unwrap();
        for (i, value) in values.iter().enumerate() {
            let expected = before.contains(i) && model(filter, value);
            assert_eq!(
                rows.contains(i),
                expected,
                "{filter} of {value:?} in row {i} of {vector:?}"
            );
        }
    });
}

#[test]
fn the_entries_of_a_dictionary_are_answered_at_once() {
    for_each_filter(3, |family, filter, random| {
        let values: Vec<Value> = (0..100)
            .map(|_| if random.chance(0.2) { Value::Null } else { family.some(random) })
            .collect();
        let vector = vector::build::vector_of(&family.ty, &values).unwrap();
        let vector::Vector::Flat(flat) = vector.as_ref() else { return };
        let passing = filter.passing(flat.values(), flat.validity()).unwrap();
        for (i, value) in values.iter().enumerate() {
            assert_eq!(passing.get(i), model(filter, value), "{filter} of {value:?}");
        }
    });
}

#[test]
fn merging_is_and() {
    for_each_filter(4, |family, one, random| {
        let other = family.filter(random);
        let (merged, swapped) = (one.merge(&other), other.merge(one));
        if (has_pattern(one) || has_pattern(&other)) && merged.is_err() {
            assert!(swapped.is_err());
            return;
        }
        let (merged, swapped) = (merged.unwrap(), swapped.unwrap());
        for value in family.pool.iter().chain([&Value::Null]) {
            let expected = model(one, value) && model(&other, value);
            assert_eq!(model(&merged, value), expected, "{one} and {other} at {value:?}: {merged}");
            assert_eq!(model(&swapped, value), expected, "{other} and {one}: {swapped}");
        }
    });
}

#[test]
fn any_of_is_or() {
    for_each_filter(5, |family, one, random| {
        let other = family.filter(random);
        let Some(either) = Filter::any_of(&[one.clone(), other.clone()]) else { return };
        for value in family.pool.iter().chain([&Value::Null]) {
            let expected = model(one, value) || model(&other, value);
            assert_eq!(model(&either, value), expected, "{one} or {other} at {value:?}: {either}");
        }
    });
}

#[test]
fn a_range_is_never_judged_against_a_value_in_it() {
    for_each_filter(6, |family, filter, random| {
        let (a, b) = (family.some(random), family.some(random));
        let (min, max) = if a <= b { (a, b) } else { (b, a) };
        // In the statistics of a file, NaN is neither a bound nor inside a range.
        let is_nan = |v: &Value| *v == Value::Double(f64::NAN) || *v == Value::Real(f32::NAN);
        let inside: Vec<&Value> =
            family.pool.iter().filter(|v| (**v >= min && **v <= max) || is_nan(v)).collect();
        let numbers = |v: &Value| match v {
            Value::Real(v) => f64::from(*v),
            Value::Double(v) => *v,
            _ => panic!("a float"),
        };
        let found = match (&min, &max) {
            (Value::Boolean(_), _) => return,
            (Value::HugeInt(min), Value::HugeInt(max)) => filter.match_i128(*min, *max),
            (Value::Timestamp(min), Value::Timestamp(max)) => filter.match_timestamp(*min, *max),
            (Value::Bytes(min), Value::Bytes(max)) => {
                let open_low = filter.match_bytes(None, Some(max));
                let open_high = filter.match_bytes(Some(min), None);
                let closed = filter.match_bytes(Some(min), Some(max));
                for open in [open_low, open_high] {
                    assert!(open == Match::Some || open == closed, "{filter}");
                }
                closed
            }
            (Value::Real(_) | Value::Double(_), _) => {
                filter.match_f64(numbers(&min), numbers(&max), true)
            }
            _ => filter.match_i64(min.as_i64().unwrap(), max.as_i64().unwrap()),
        };
        let passing = inside.iter().filter(|v| model(filter, v)).count();
        match found {
            Match::None => assert_eq!(passing, 0, "{filter} from {min:?} to {max:?}"),
            Match::All => assert_eq!(passing, inside.len(), "{filter} from {min:?} to {max:?}"),
            Match::Some => {}
        }
    });
}

#[test]
fn a_pattern_becomes_the_simplest_test() {
    let pattern = |text: &str| LikePattern::parse(text.as_bytes(), None).unwrap();
    for (text, like, not_like) in [
        ("abc", "in {\"abc\"}", "not in {\"abc\"}"),
        ("", "in {\"\"}", "not in {\"\"}"),
        ("ab%", "[\"ab\", \"ac\")", "not [\"ab\", \"ac\")"),
        ("%%", "is not null", "false"),
        ("%b", "like '%b'", "not like '%b'"),
        ("a_", "like 'a_'", "not like 'a_'"),
    ] {
        assert_eq!(Filter::like(pattern(text), false).to_string(), like);
        assert_eq!(Filter::not_like(pattern(text), false).to_string(), not_like);
    }
    let last = LikePattern::parse(b"a\xff\xff%", None).unwrap();
    let range = Filter::like(last, false);
    assert!(range.test_bytes(b"a\xff\xff\xff").unwrap());
    assert!(!range.test_bytes(b"b").unwrap());
    assert!(!range.test_bytes(b"a\xff").unwrap());
    let end = Filter::like(LikePattern::parse(b"\xff%", None).unwrap(), false);
    assert!(end.test_bytes(b"\xff\xff").unwrap() && !end.test_bytes(b"\xfe").unwrap());
}

#[test]
fn a_pattern_is_put_together_with_lists_and_with_itself() {
    let like = |text: &str| Filter::like(LikePattern::parse(text.as_bytes(), None).unwrap(), true);
    let list =
        Filter::bytes_values(["abc", "cab", "b"].map(|v| v.as_bytes().into()).to_vec(), true);
    assert_eq!(like("%ab%").merge(&list).unwrap().to_string(), "in {\"abc\", \"cab\"} or null");
    assert_eq!(list.merge(&like("%z%")).unwrap(), Filter::IsNull);
    assert_eq!(like("%ab%").merge(&like("%%ab%")).unwrap(), like("%ab%"));
    let error = like("%ab%").merge(&like("%c%")).unwrap_err().to_string();
    assert!(
        error.starts_with("internal: two filters of one column have no common form"),
        "{error}"
    );
    assert!(like("%ab%").merge(&like("a%")).is_err());
    assert!(like("%ab%").merge(&Filter::bigint_range(1, 2, false)).is_err());
    let either = Filter::any_of(&[like("%ab%"), like("b%")]).unwrap();
    assert_eq!(either.to_string(), "like '%ab%' or [\"b\", \"c\") or null");
}

#[test]
fn statistics_know_where_matches_begin() {
    let like = |text: &str| Filter::like(LikePattern::parse(text.as_bytes(), None).unwrap(), false);
    let (ab, none) = (like("ab%c"), like("%c"));
    let range = |filter: &Filter, min: &str, max: &str| {
        filter.match_bytes(Some(min.as_bytes()), Some(max.as_bytes()))
    };
    assert_eq!(range(&ab, "a", "aa"), Match::None);
    assert_eq!(range(&ab, "ac", "b"), Match::None);
    assert_eq!(range(&ab, "abx", "abz"), Match::Some);
    assert_eq!(range(&ab, "abc", "abc"), Match::All);
    assert_eq!(range(&none, "a", "z"), Match::Some);
    assert_eq!(range(&none, "a", "a"), Match::None);
}

#[test]
fn repeated_values_of_a_list_count_once() {
    let filter = Filter::bigint_values(vec![1, 2, 4, 4], false);
    assert!(!filter.test_i64(3).unwrap());
    assert_eq!(Filter::bigint_values(vec![5, 5], false), Filter::bigint_range(5, 5, false));
    let all = Filter::negated_bigint_values(vec![3, 1, 2, 2], false);
    assert_eq!(all, Filter::negated_bigint_range(1, 3, false));
    let wide = Filter::bigint_values(vec![i64::MIN, i64::MAX], false);
    assert_eq!(wide.kind(), FilterKind::BigintValuesUsingHashTable);
}

#[test]
fn values_far_apart_are_found_among_sorted_and_random_numbers() {
    let mut random = Random::new(5);
    let mut wanted: Vec<i64> = (0..300).map(|_| random.below(1 << 24) as i64 - (1 << 22)).collect();
    wanted.extend([i64::MIN, -1, i64::MAX]);
    let filter = Filter::bigint_values(wanted.clone(), false);
    assert_eq!(filter.kind(), FilterKind::BigintValuesUsingHashTable);
    for sorted in [true, false] {
        let mut values: Vec<i64> = (0..5_000).map(|_| random.below(1 << 24) as i64).collect();
        values.extend_from_slice(&wanted);
        if sorted {
            values.sort_unstable();
        }
        for level in Level::available() {
            let mut words = vec![u64::MAX; bits::words_for(values.len())];
            filter.retain_with(level, &values, &mut words).unwrap();
            for (i, value) in values.iter().enumerate() {
                assert_eq!(bits::get(&words, i), wanted.contains(value), "{value} at {i}");
            }
        }
    }
}

#[test]
fn nan_passes_where_nothing_ends_the_range_above() {
    let above = Filter::double_range(Bound::Exclusive(5.0), Bound::Unbounded, false).unwrap();
    let below = Filter::double_range(Bound::Unbounded, Bound::Exclusive(5.0), false).unwrap();
    assert!(above.test_f64(f64::NAN).unwrap() && !below.test_f64(f64::NAN).unwrap());
    assert!(above.test_f32(f32::NAN).unwrap());
    // A NaN that is not covered by the bounds may pass.
    assert_eq!(above.match_f64(1.0, 2.0, true), Match::Some);
    assert_eq!(above.match_f64(1.0, 2.0, false), Match::None);
    assert_eq!(above.match_f64(1.0, f64::NAN, false), Match::Some);
    let infinite = Bound::Inclusive(f64::NEG_INFINITY);
    let all = Filter::double_range(infinite, Bound::Unbounded, false).unwrap();
    assert!(all.merge(&below).unwrap().test_f64(f64::NEG_INFINITY).unwrap());
    let error = Filter::double_range(Bound::Inclusive(f64::NAN), Bound::Unbounded, false);
    assert_eq!(error.unwrap_err().to_string(), "internal: a bound of a filter is not a number");
}

#[test]
fn a_filter_of_another_type_is_an_error_that_names_both() {
    let range = Filter::bigint_range(1, 5, true);
    let error = range.test_bytes(b"x").unwrap_err().to_string();
    assert_eq!(
        error,
        "internal: a filter was applied to values it is not made for \
         (filter=[1, 5] values=bytes)"
    );
    let float = Filter::float_range(Bound::Unbounded, Bound::Inclusive(1.5), false).unwrap();
    assert!(float.test_f64(1.0).is_err());
    assert!(range.merge(&float).is_err());
    let vector = vector::testing::doubles(&[Some(1.0)]);
    let decoded = DecodedVector::new(&vector).unwrap();
    assert!(range.apply(&decoded, &mut SelectivityVector::all(1)).is_err());
    // A column without values has nothing to test.
    let nulls = DecodedVector::new(&vector::testing::doubles(&[None])).unwrap();
    let mut rows = SelectivityVector::all(1);
    range.apply(&nulls, &mut rows).unwrap();
    assert!(rows.is_all());
}

#[test]
fn filters_print_what_they_accept() {
    let text = |v: &str| Arc::from(v.as_bytes());
    let range = Filter::bytes_range(Bound::Inclusive(text("a")), Bound::Exclusive(text("b")), true);
    assert_eq!(range.to_string(), "[\"a\", \"b\") or null");
    let floats = Filter::double_range(Bound::Unbounded, Bound::Inclusive(2.0), false).unwrap();
    assert_eq!(floats.to_string(), "(-inf, 2.0]");
    assert_eq!(Filter::negated_bigint_values(vec![1, 9], false).to_string(), "not in {1, 9}");
    let two = vec![ClosedRange::new(5, 6), ClosedRange::new(1, 2), ClosedRange::new(2, 3)];
    assert_eq!(Filter::bigint_multi_range(two, false).to_string(), "[1, 3] or [5, 6]");
    let long = Filter::bigint_values((0..100).map(|v| v * 2).collect(), false);
    assert_eq!(long.to_string(), "in {0, 2, 4, 6, 8, 10, 12, 14, ... 100 values}");
}

/// Checks a filter on values of one type at every level against testing value by value.
fn retains_alike<T: FilterValue>(filter: &Filter, values: &[T], passes: impl Fn(&T) -> bool) {
    let mut random = Random::new(values.len() as u64);
    for share in [0.0, 0.03, 0.5, 1.0] {
        let mut selected = vec![0u64; bits::words_for(values.len())];
        (0..values.len())
            .filter(|_| random.chance(share))
            .for_each(|i| bits::set(&mut selected, i));
        for level in Level::available() {
            let mut words = selected.clone();
            filter.retain_with(level, values, &mut words).unwrap();
            for (i, value) in values.iter().enumerate() {
                let stays = bits::get(&selected, i) && passes(value);
                assert_eq!(bits::get(&words, i), stays, "{level:?} {filter} {i}");
            }
        }
    }
}

#[test]
fn values_of_every_type_are_retained_alike_at_every_level() {
    let numbers: Vec<i64> = (0..1000).map(|i| i * 37 % 251 - 120).collect();
    for (lower, upper) in [(-120, 130), (5, 5), (-7, 60), (200, 300), (i64::MIN, 0)] {
        for (filter, found) in [
            (Filter::bigint_range(lower, upper, false), true),
            (Filter::negated_bigint_range(lower, upper, false), false),
        ] {
            let passes = |v: i64| (lower..=upper).contains(&v) == found;
            let of = |n: usize| &numbers[..n];
            for n in [0, 1, 63, 64, 65, 1000] {
                let shorts: Vec<i16> = of(n).iter().map(|v| *v as i16).collect();
                let ints: Vec<i32> = of(n).iter().map(|v| *v as i32).collect();
                retains_alike(&filter, of(n), |v| passes(*v));
                retains_alike(&filter, &ints, |v| passes(i64::from(*v)));
                retains_alike(&filter, &shorts, |v| passes(i64::from(*v)));
            }
        }
        let bytes: Vec<i8> = numbers.iter().map(|v| *v as i8).collect();
        let filter = Filter::bigint_range(lower, upper, false);
        retains_alike(&filter, &bytes, |v| (lower..=upper).contains(&i64::from(*v)));
    }
    let doubles: Vec<f64> = numbers.iter().map(|v| *v as f64 / 4.0).collect();
    let (lower, upper) = (Bound::Inclusive(-3.5), Bound::Exclusive(20.0));
    let filter = Filter::double_range(lower, upper, false).unwrap();
    retains_alike(&filter, &doubles, |v| (-3.5..20.0).contains(v));
    let list = Filter::bigint_values(vec![-100, 3, 77, 1 << 40], false);
    retains_alike(&list, &numbers, |v| [-100, 3, 77].contains(v));
}
