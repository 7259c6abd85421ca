//! Tests functions by examples; `properties.rs` tests them over all encodings.

use super::*;
use vector::types::temporal::parse_date;
use vector::{Interval, Timestamp};

fn date(text: &str) -> TypedExpr {
    TypedExpr::constant(Value::Integer(parse_date(text).unwrap() as i32), Type::Date)
}

fn timestamp(text: &str) -> TypedExpr {
    TypedExpr::constant(Value::Timestamp(Timestamp::parse(text).unwrap()), Type::Timestamp)
}

fn integer(value: i32) -> TypedExpr {
    TypedExpr::constant(Value::Integer(value), Type::Integer)
}

#[test]
fn integers_overflow_with_an_error_that_names_both_sides() {
    assert_error(
        call("plus", vec![bigint(i64::MAX), bigint(1)]),
        "integer overflow (operator=plus left=9223372036854775807 right=1)",
    );
    assert_error(
        call("multiply", vec![integer(1 << 20), integer(1 << 20)]),
        "integer overflow (operator=multiply left=1048576 right=1048576)",
    );
    assert_error(
        call("divide", vec![integer(i32::MIN), integer(-1)]),
        "integer overflow (operator=divide left=-2147483648 right=-1)",
    );
    assert_error(
        call("modulus", vec![integer(7), integer(0)]),
        "division by zero (operator=modulus left=7 right=0)",
    );
    assert_error(
        call("negate", vec![integer(i32::MIN)]),
        "integer overflow (operator=negate value=-2147483648)",
    );
    assert_value(call("modulus", vec![integer(i32::MIN), integer(-1)]), Value::Integer(0));
    assert_value(call("divide", vec![integer(-7), integer(2)]), Value::Integer(-3));
}

#[test]
fn floats_follow_ieee_and_nan_is_the_largest() {
    assert_value(call("divide", vec![double(1.0), double(0.0)]), Value::Double(f64::INFINITY));
    let nan = || call("divide", vec![double(0.0), double(0.0)]);
    assert_value(call("eq", vec![nan(), nan()]), Value::Boolean(true));
    assert_value(call("gt", vec![nan(), double(f64::INFINITY)]), Value::Boolean(true));
    assert_value(call("lt", vec![nan(), double(1.0)]), Value::Boolean(false));
    assert_value(call("eq", vec![double(-0.0), double(0.0)]), Value::Boolean(true));
    // Equal in comparisons, but not the same constant.
    assert_value(call("divide", vec![double(1.0), double(-0.0)]), Value::Double(-f64::INFINITY));
}

#[test]
fn decimals_are_exact_and_rounded_half_away_from_zero() {
    // 12.34 * (1 - 0.05) as in TPC-H.
    let discounted = call("minus", vec![integer(1), decimal(5, 15, 2)]);
    let price = call("multiply", vec![decimal(1234, 15, 2), discounted]);
    assert_eq!(price.ty(), &Type::decimal(31, 4).unwrap());
    assert_value(price, Value::HugeInt(117_230));
    assert_value(call("divide", vec![decimal(1, 3, 0), decimal(3, 3, 2)]), Value::BigInt(3333));
    assert_value(call("divide", vec![decimal(-2, 3, 1), decimal(3, 3, 0)]), Value::BigInt(-1));
    assert_value(call("modulus", vec![decimal(-75, 3, 1), decimal(2, 3, 0)]), Value::BigInt(-15));
    assert_error(
        call("divide", vec![decimal(125, 3, 2), decimal(0, 3, 1)]),
        "division by zero (left=1.25 right=0.0)",
    );
    let most =
        TypedExpr::constant(Value::HugeInt(10i128.pow(38) - 1), Type::decimal(38, 0).unwrap());
    assert_error(
        call("plus", vec![most, decimal(1, 38, 0)]),
        &format!("decimal overflow (left={} right=1)", "9".repeat(38)),
    );
}

#[test]
fn a_list_with_a_null_never_says_no() {
    let list = |first| vec![bigint(first), bigint(2), null(Type::Unknown), bigint(1 << 40)];
    assert_value(call("in", list(2)), Value::Boolean(true));
    assert_value(call("in", list(1 << 40)), Value::Boolean(true));
    assert_value(call("in", list(3)), Value::Null);
    assert_value(call("in", vec![varchar("b"), varchar("a"), varchar("b")]), Value::Boolean(true));
    assert_value(call("in", vec![null(Type::BigInt), bigint(1)]), Value::Null);
}

#[test]
fn a_comparison_with_an_untyped_null_is_null() {
    assert_value(call("eq", vec![bigint(1), null(Type::Unknown)]), Value::Null);
    assert_value(call("eq", vec![null(Type::Unknown), null(Type::Unknown)]), Value::Null);
    assert_value(call("is_null", vec![null(Type::Unknown)]), Value::Boolean(true));
    let both = vec![null(Type::Unknown), null(Type::Unknown)];
    assert_value(call("distinct_from", both), Value::Boolean(false));
    assert_value(call("plus", vec![bigint(1), null(Type::Unknown)]), Value::Null);
}

#[test]
fn nested_values_are_distinct_when_any_element_is() {
    let ty = Type::array(Type::BigInt);
    let list = |items: &[Value]| TypedExpr::constant(Value::Array(items.into()), ty.clone());
    let (one, null_list) = (list(&[Value::BigInt(1)]), list(&[Value::Null]));
    let distinct = |a: &TypedExpr, b: &TypedExpr| call("distinct_from", vec![a.clone(), b.clone()]);
    assert_value(distinct(&one, &one), Value::Boolean(false));
    assert_value(distinct(&one, &null_list), Value::Boolean(true));
    assert_value(distinct(&one, &null(ty.clone())), Value::Boolean(true));
    assert_value(call("cardinality", vec![one]), Value::BigInt(1));
    assert_value(call("cardinality", vec![null(ty.clone())]), Value::Null);
}

#[test]
fn elements_are_found_by_position_and_by_key() {
    let ty = Type::array(Type::Varchar);
    let list = |items: &[&str]| Value::Array(items.iter().map(Value::bytes).collect());
    let values = vec![list(&["a", "b"]), list(&["c"]), Value::Null];
    let batch = batch_of(&[("l", ty.clone(), values)]);
    let at = |name: &str, index: i64| call(name, vec![column("l", ty.clone()), bigint(index)]);
    let text = |text: &str| Value::bytes(text);
    assert_eq!(evaluate(&at("subscript", 1), &batch).unwrap(), [text("a"), text("c"), Value::Null]);
    let second = evaluate(&at("element_at", 2), &batch).unwrap();
    assert_eq!(second, [text("b"), Value::Null, Value::Null]);
    let last = evaluate(&at("element_at", -1), &batch).unwrap();
    assert_eq!(last, [text("b"), text("c"), Value::Null]);
    let error = evaluate(&at("subscript", 2), &batch).unwrap_err();
    assert_eq!(error.message(), "an array has no element at this index");
    assert!(evaluate(&at("element_at", 0), &batch).is_err());
    for index in [i64::MIN, i64::MAX] {
        assert_eq!(evaluate(&at("element_at", index), &batch).unwrap(), vec![Value::Null; 3]);
    }

    let ty = Type::map(Type::Varchar, Type::BigInt);
    let map = Value::Map([(text("k"), Value::BigInt(7)), (text("n"), Value::Null)].into());
    let map = || TypedExpr::constant(map.clone(), ty.clone());
    assert_value(call("subscript", vec![map(), varchar("k")]), Value::BigInt(7));
    assert_value(call("subscript", vec![map(), varchar("n")]), Value::Null);
    assert_value(call("element_at", vec![map(), varchar("x")]), Value::Null);
    assert_error(call("subscript", vec![map(), varchar("x")]), "a map has no such key (key=x)");
}

#[test]
fn text_counts_characters_and_binaries_count_bytes() {
    assert_value(call("length", vec![varchar("äöü")]), Value::BigInt(3));
    let bytes = TypedExpr::constant(Value::bytes("äöü"), Type::Varbinary);
    assert_value(call("length", vec![bytes]), Value::BigInt(6));
    assert_value(call("upper", vec![varchar("straße äb")]), Value::bytes("STRAẞE ÄB"));
    assert_value(call("trim", vec![varchar(" \t x y \n")]), Value::bytes("x y"));
    assert_value(call("ltrim", vec![varchar("  x ")]), Value::bytes("x "));
    assert_value(call("rtrim", vec![varchar("  x ")]), Value::bytes("  x"));
    assert_value(
        call("substring", vec![varchar("hello"), bigint(-3), bigint(2)]),
        Value::bytes("ll"),
    );
    assert_value(call("strpos", vec![varchar("äbc"), varchar("c")]), Value::BigInt(3));
}

#[test]
fn a_cut_of_a_long_string_shares_its_buffer() {
    let text = "the quick brown fox jumps over the lazy dog";
    let batch = batch_of(&[("s", Type::Varchar, vec![Value::bytes(text); 2])]);
    let expr = call("substr", vec![column("s", Type::Varchar), bigint(5), bigint(30)]);
    assert_eq!(evaluate(&expr, &batch).unwrap(), vec![Value::bytes(&text[4..34]); 2]);
    let expr = call("substr", vec![column("s", Type::Varchar), bigint(-3)]);
    assert_eq!(evaluate(&expr, &batch).unwrap(), vec![Value::bytes("dog"); 2]);
}

#[test]
fn like_takes_an_escape_and_reports_a_bad_one() {
    let like = |text: &str, pattern: &str| {
        call("like", vec![varchar(text), varchar(pattern), varchar("#")])
    };
    assert_value(like("50%", "50#%"), Value::Boolean(true));
    assert_value(like("500", "50#%"), Value::Boolean(false));
    let error = value(&like("a", "a#")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid input: the escape of LIKE must stand before %, _ or itself (pattern=a#)"
    );
}

#[test]
fn parts_of_dates_and_timestamps() {
    for point in [date("1998-12-01"), timestamp("1998-12-01 23:59:59.999")] {
        assert_value(call("year", vec![point.clone()]), Value::BigInt(1998));
        assert_value(call("month", vec![point.clone()]), Value::BigInt(12));
        assert_value(call("day", vec![point]), Value::BigInt(1));
    }
    assert_value(call("year", vec![timestamp("1969-12-31 23:00:00")]), Value::BigInt(1969));
}

#[test]
fn intervals_move_dates_and_timestamps() {
    let interval = |months, days, millis| {
        let stored = Interval { months, days, millis }.to_stored();
        TypedExpr::constant(Value::HugeInt(stored), Type::Interval)
    };
    assert_value(
        call("minus", vec![date("1998-12-01"), interval(0, 90, 0)]),
        Value::Integer(parse_date("1998-09-02").unwrap() as i32),
    );
    assert_value(
        call("plus", vec![interval(12, 0, 0), date("1996-02-29")]),
        Value::Integer(parse_date("1997-02-28").unwrap() as i32),
    );
    assert_value(
        call("minus", vec![timestamp("2000-03-01 00:00:00"), interval(0, 0, 1500)]),
        Value::Timestamp(Timestamp::parse("2000-02-29 23:59:58.5").unwrap()),
    );
    assert!(value(&call("plus", vec![date("2000-01-01"), interval(u32::MAX, 0, 0)])).is_err());
}

#[test]
fn fields_of_structs_are_null_where_the_struct_is() {
    let ty = Type::row([("a", Type::BigInt), ("b", Type::Varchar)]);
    let row = |a: i64| Value::Row([Value::BigInt(a), Value::bytes("b")].into());
    let batch = batch_of(&[("r", ty.clone(), vec![row(1), Value::Null, row(3)])]);
    let field = TypedExpr::Dereference {
        input: Box::new(column("r", ty.clone())),
        index: 0,
        ty: Type::BigInt,
    };
    let expr = call("plus", vec![field, bigint(10)]);
    let expected = [Value::BigInt(11), Value::Null, Value::BigInt(13)];
    assert_eq!(evaluate(&expr, &batch).unwrap(), expected);
    let constant = TypedExpr::Dereference {
        input: Box::new(TypedExpr::constant(row(5), ty)),
        index: 1,
        ty: Type::Varchar,
    };
    assert_value(constant, Value::bytes("b"));
}
