//! Tests constructors of structs and arrays, `greatest` and `least`, rounding, and `date_trunc`.

use super::*;
use vector::Timestamp;
use vector::types::temporal::parse_date;

fn n(value: i64) -> Value {
    Value::BigInt(value)
}

fn numbers(items: &[Option<i64>]) -> TypedExpr {
    let items = items.iter().map(|item| item.map_or(Value::Null, Value::BigInt)).collect();
    TypedExpr::constant(Value::Array(items), Type::array(Type::BigInt))
}

fn text(text: &str) -> TypedExpr {
    TypedExpr::constant(Value::bytes(text), Type::Varchar)
}

fn null() -> TypedExpr {
    TypedExpr::constant(Value::Null, Type::BigInt)
}

#[test]
fn contains_is_unknown_where_only_a_null_could_be_it() {
    let contains = |items: &[Option<i64>], wanted| call("contains", vec![numbers(items), wanted]);
    assert_value(contains(&[Some(1), None], bigint(1)), Value::Boolean(true));
    assert_value(contains(&[Some(1), None], bigint(2)), Value::Null);
    assert_value(contains(&[Some(1)], bigint(2)), Value::Boolean(false));
    assert_value(contains(&[], bigint(2)), Value::Boolean(false));
    assert_value(contains(&[Some(1)], null()), Value::Null);
}

#[test]
fn structs_and_arrays_are_made_of_values_and_nulls() {
    let row = Value::Row([n(1), Value::Null].into());
    assert_value(call("row_constructor", vec![bigint(1), null()]), row);
    let array = Value::Array([n(1), Value::Null].into());
    assert_value(call("array_constructor", vec![bigint(1), null()]), array);
    let entries = Value::Map([(n(1), Value::Null), (n(2), n(3))].into());
    let map = || TypedExpr::constant(entries.clone(), Type::map(Type::BigInt, Type::BigInt));
    assert_value(call("map_keys", vec![map()]), Value::Array([n(1), n(2)].into()));
    assert_value(call("map_values", vec![map()]), Value::Array([Value::Null, n(3)].into()));
}

#[test]
fn extremes_are_null_with_a_null_and_nan_is_the_greatest() {
    assert_value(call("greatest", vec![bigint(1), bigint(3), bigint(2)]), n(3));
    assert_value(call("least", vec![bigint(1), bigint(-3)]), n(-3));
    assert_value(call("least", vec![bigint(1), null()]), Value::Null);
    let nan = || double(f64::NAN);
    assert_value(call("greatest", vec![double(1.0), nan()]), Value::Double(f64::NAN));
    assert_value(call("least", vec![nan(), double(1.0)]), Value::Double(1.0));
    assert_value(call("greatest", vec![text("a"), text("b")]), Value::bytes("b"));
}

#[test]
fn numbers_become_whole() {
    assert_value(call("floor", vec![double(-1.5)]), Value::Double(-2.0));
    assert_value(call("ceil", vec![double(-1.5)]), Value::Double(-1.0));
    assert_value(call("round", vec![double(-1.5)]), Value::Double(-2.0));
    assert_value(call("floor", vec![bigint(7)]), n(7));
    assert_value(call("sqrt", vec![double(9.0)]), Value::Double(3.0));
    assert_value(call("power", vec![double(2.0), double(-1.0)]), Value::Double(0.5));
}

#[test]
fn points_in_time_are_cut_to_their_unit() {
    let date = |text: &str| Value::Integer(parse_date(text).unwrap() as i32);
    let cut = |unit: &str, day: &str| {
        call("date_trunc", vec![text(unit), TypedExpr::constant(date(day), Type::Date)])
    };
    assert_value(cut("month", "2024-02-29"), date("2024-02-01"));
    assert_value(cut("QUARTER", "2024-12-31"), date("2024-10-01"));
    assert_value(cut("year", "1969-07-20"), date("1969-01-01"));
    assert_value(cut("week", "1970-01-01"), date("1969-12-29"));
    assert_value(cut("week", "2024-03-04"), date("2024-03-04"));
    let point = |text: &str| Value::Timestamp(Timestamp::parse(text).unwrap());
    let cut = |unit: &str, at: &str| {
        call("date_trunc", vec![text(unit), TypedExpr::constant(point(at), Type::Timestamp)])
    };
    assert_value(cut("hour", "1969-12-31 23:59:59.5"), point("1969-12-31 23:00:00"));
    assert_value(cut("second", "1969-12-31 23:59:59.5"), point("1969-12-31 23:59:59"));
    assert_value(cut("month", "2024-02-29 12:00:00"), point("2024-02-01 00:00:00"));
}
