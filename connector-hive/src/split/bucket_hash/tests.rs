//! Tests of the bucket function: golden values and encodings of vectors.

use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Buffer, ErrorKind, TimeUnit, Timestamp, Value};

use super::*;

fn hash_of(ty: &Type, value: Value) -> u32 {
    hashes(&vector_of(ty, &[value]).unwrap()).unwrap()[0]
}

fn in_500_and_997(ty: &Type, value: Value) -> (u32, u32) {
    let key = [vector_of(ty, &[value]).unwrap()];
    (buckets(&key, 1, 500).unwrap()[0], buckets(&key, 1, 997).unwrap()[0])
}

/// A null hashes to 0, floats hash by their bits, and the bucket is the hash without its sign bit
/// modulo the number of buckets (rules S9.1, S9.3, S9.7).
#[test]
fn s9_2_golden_values_of_scalars() {
    let bytes = |text: &str| (Type::Varchar, Value::bytes(text));
    let big = |v| (Type::BigInt, Value::BigInt(v));
    let tiny = |v| (Type::TinyInt, Value::TinyInt(v));
    let small = |v| (Type::SmallInt, Value::SmallInt(v));
    let int = |v| (Type::Integer, Value::Integer(v));
    let date = |v| (Type::Date, Value::Integer(v));
    let real = |v| (Type::Real, Value::Real(v));
    let double = |v| (Type::Double, Value::Double(v));
    let time = |seconds, nanos| (Type::Timestamp, Value::Timestamp(Timestamp::new(seconds, nanos)));
    let short = (Type::Decimal { precision: 18, scale: 2 }, Value::BigInt(300_000_000_000));
    let of_day = (Type::Time(TimeUnit::Micros), Value::BigInt(300_000_000_000));
    let cases = [
        (big(300_000_000_000), (497, 852)),
        (short, (497, 852)),
        (of_day, (497, 852)),
        (big(i64::MIN), (0, 0)),
        (big(i64::MAX), (0, 0)),
        (bytes(""), (0, 0)),
        (bytes("test string"), (211, 894)),
        (bytes("强大的Presto引擎"), (454, 831)),
        ((Type::Varbinary, Value::bytes("")), (0, 0)),
        ((Type::Varbinary, Value::bytes("test string")), (211, 894)),
        ((Type::Boolean, Value::Boolean(true)), (1, 1)),
        ((Type::Boolean, Value::Boolean(false)), (0, 0)),
        (tiny(64), (64, 64)),
        (tiny(-128), (20, 355)),
        (tiny(127), (127, 127)),
        (small(30_000), (0, 90)),
        (small(i16::MIN), (380, 616)),
        (small(i16::MAX), (267, 863)),
        (int(2_000_000_000), (0, 54)),
        (int(i32::MAX), (147, 482)),
        (int(i32::MIN), (0, 0)),
        (date(2_000_000_000), (0, 54)),
        (date(i32::MAX), (147, 482)),
        (date(i32::MIN), (0, 0)),
        (real(2e9), (348, 544)),
        (real(f32::MIN), (39, 632)),
        (real(f32::MAX), (39, 632)),
        (double(300_000_000_000.5), (349, 63)),
        (double(f64::MIN), (76, 729)),
        (double(f64::MAX), (76, 729)),
        (time(100_000, 900_000), (284, 514)),
        (time(-9_223_372_036_854_776, 0), (122, 404)),
        (time(9_223_372_036_854_775, 999_999_999), (450, 733)),
    ];
    for ((ty, value), expected) in cases {
        assert_eq!(in_500_and_997(&ty, value.clone()), expected, "{value:?} as {ty}");
        assert_eq!(hash_of(&ty, Value::Null), 0);
    }
    assert_eq!(hash_of(&Type::BigInt, Value::BigInt(300_000_000_000)), 3_647_256_645);
    assert_eq!(hash_of(&Type::Varchar, Value::bytes("test string")), 3_976_043_359);
    assert_eq!(hash_of(&Type::Unknown, Value::Null), 0);
}

#[test]
fn s9_4_golden_values_of_nested_types() {
    let array = Type::array(Type::Integer);
    let map = Type::map(Type::Varchar, Type::BigInt);
    let row = Type::row([("a", Type::Integer), ("b", Type::Real), ("c", Type::Varchar)]);
    let ints = |v: &[i32]| Value::Array(v.iter().map(|v| Value::Integer(*v)).collect());
    let pairs = |v: &[(&str, Option<i64>)]| {
        let value = |v: &Option<i64>| v.map_or(Value::Null, Value::BigInt);
        Value::Map(v.iter().map(|(k, v)| (Value::bytes(k), value(v))).collect())
    };
    let fields = Value::Row([Value::Integer(1), Value::Real(1.0), Value::bytes("a")].into());
    let cases = [
        (&array, ints(&[1, 2, 3]), (26, 29)),
        (&array, Value::Array([Value::Null].into()), (0, 0)),
        (&array, ints(&[]), (0, 0)),
        (&array, Value::Null, (0, 0)),
        (&map, pairs(&[("a", None)]), (97, 97)),
        (&map, pairs(&[("b", Some(1))]), (99, 99)),
        (&map, pairs(&[("x", Some(1)), ("y", Some(2)), ("z", Some(3))]), (365, 365)),
        (&map, pairs(&[("z", Some(3)), ("x", Some(1)), ("y", Some(2))]), (365, 365)),
        (&row, fields, (34, 466)),
        (&row, Value::Row([Value::Null, Value::Null, Value::Null].into()), (0, 0)),
    ];
    for (ty, value, expected) in cases {
        assert_eq!(in_500_and_997(ty, value.clone()), expected, "{value:?}");
    }
}

/// The result has one bucket per row (rule S9.8).
#[test]
fn s9_5_keys_are_joined_in_order() {
    let a = vector_of(&Type::BigInt, &[Value::BigInt(7), Value::Null]).unwrap();
    let b = vector_of(&Type::Varchar, &[Value::bytes("x"), Value::bytes("x")]).unwrap();
    let modulus = 1 << 20;
    assert_eq!(buckets(&[a.clone(), b.clone()], 2, modulus).unwrap(), [7 * 31 + 120, 120]);
    assert_eq!(buckets(&[b, a.clone()], 2, modulus).unwrap(), [120 * 31 + 7, 120 * 31]);
    assert!(buckets(&[a], 2, 0).is_err() && buckets(&[], 2, 4).is_err());
}

#[test]
fn s9_6_encodings_do_not_matter() {
    let base =
        vector_of(&Type::BigInt, &[Value::BigInt(1), Value::Null, Value::BigInt(3)]).unwrap();
    let picked = Vector::wrap(&base, &Buffer::from_slice(&[2u32, 1, 0, 2]));
    assert_eq!(hashes(&picked).unwrap(), [3, 0, 1, 3]);
    let twice = Vector::wrap(&picked, &Buffer::from_slice(&[3u32, 1]));
    assert_eq!(hashes(&twice).unwrap(), [3, 0]);
    let constant: VectorRef =
        Arc::new(Vector::constant(Type::BigInt, Value::BigInt(5), 3).unwrap());
    assert_eq!(hashes(&constant).unwrap(), [5, 5, 5]);
    let nulls: VectorRef = Arc::new(Vector::nulls(Type::array(Type::BigInt), 2));
    assert_eq!(hashes(&nulls).unwrap(), [0, 0]);
}

#[test]
fn s9_2_types_without_a_hash_are_refused_at_any_depth() {
    let long = Type::Decimal { precision: 30, scale: 0 };
    for ty in [Type::HugeInt, long.clone(), Type::array(long)] {
        let nulls: VectorRef = Arc::new(Vector::nulls(ty, 1));
        assert_eq!(hashes(&nulls).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
