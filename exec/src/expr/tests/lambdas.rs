//! Tests higher-order functions: by examples, with captured columns, encodings and errors.

use super::*;
use vector::testing::batch_of;

fn array(items: &[Option<i64>]) -> Value {
    Value::Array(items.iter().map(|item| item.map_or(Value::Null, Value::BigInt)).collect())
}

fn map(entries: &[(i64, i64)]) -> Value {
    Value::Map(entries.iter().map(|(k, v)| (Value::BigInt(*k), Value::BigInt(*v))).collect())
}

fn numbers() -> Type {
    Type::array(Type::BigInt)
}

fn lambda(parameters: &[(&str, Type)], body: TypedExpr) -> TypedExpr {
    TypedExpr::lambda(&RowType::new(parameters.iter().cloned()), body)
}

fn x() -> TypedExpr {
    column("x", Type::BigInt)
}

fn of_x(body: TypedExpr) -> TypedExpr {
    lambda(&[("x", Type::BigInt)], body)
}

fn of_entry(body: TypedExpr) -> TypedExpr {
    lambda(&[("k", Type::BigInt), ("v", Type::BigInt)], body)
}

/// Returns arrays `a`, a number `n` and maps `m`, with some nulls.
fn batch() -> RowVector {
    let rows = [
        (array(&[Some(1), None, Some(3)]), Value::BigInt(10), map(&[(1, 5), (2, 6)])),
        (Value::Null, Value::BigInt(20), Value::Null),
        (array(&[]), Value::Null, map(&[])),
        (array(&[Some(-4)]), Value::BigInt(30), map(&[(3, 7)])),
    ];
    let column = |pick: fn(&(Value, Value, Value)) -> Value| rows.iter().map(pick).collect();
    batch_of(&[
        ("a", numbers(), column(|r| r.0.clone())),
        ("n", Type::BigInt, column(|r| r.1.clone())),
        ("m", Type::map(Type::BigInt, Type::BigInt), column(|r| r.2.clone())),
    ])
}

fn a() -> TypedExpr {
    column("a", numbers())
}

fn m() -> TypedExpr {
    column("m", Type::map(Type::BigInt, Type::BigInt))
}

#[track_caller]
fn assert_rows(expr: &TypedExpr, expected: [Value; 4]) {
    let batch = batch();
    assert_eq!(evaluate(expr, &batch).unwrap(), expected, "{expr}");
    // Rows in another order, some of them repeated, under a dictionary.
    let places = [3u32, 0, 0, 1, 2];
    let expected: Vec<Value> = places.iter().map(|i| expected[*i as usize].clone()).collect();
    assert_eq!(evaluate(expr, &batch.wrap(&places.into_iter().collect())).unwrap(), expected);
}

#[test]
fn transform_sees_nulls_and_captured_columns() {
    let sum = call("plus", vec![x(), column("n", Type::BigInt)]);
    let expr = call("transform", vec![a(), of_x(sum)]);
    let expected =
        [array(&[Some(11), None, Some(13)]), Value::Null, array(&[]), array(&[Some(26)])];
    assert_rows(&expr, expected);
    let or_zero = call("coalesce", vec![x(), bigint(0)]);
    let expr = call("transform", vec![a(), of_x(or_zero)]);
    let expected =
        [array(&[Some(1), Some(0), Some(3)]), Value::Null, array(&[]), array(&[Some(-4)])];
    assert_rows(&expr, expected);
}

#[test]
fn filter_keeps_what_is_true_and_matches_are_unknown_where_a_null_could_decide() {
    let positive = || of_x(call("gt", vec![x(), bigint(0)]));
    let expr = call("filter", vec![a(), positive()]);
    assert_rows(&expr, [array(&[Some(1), Some(3)]), Value::Null, array(&[]), array(&[])]);
    let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
    let expect = |name: &str, expected: [Value; 4]| {
        assert_rows(&call(name, vec![a(), positive()]), expected);
    };
    expect("any_match", [yes.clone(), Value::Null, no.clone(), no.clone()]);
    expect("all_match", [Value::Null, Value::Null, yes.clone(), no.clone()]);
    expect("none_match", [no, Value::Null, yes.clone(), yes]);
}

#[test]
fn reduce_takes_elements_in_their_order_for_rows_of_any_length() {
    let state = || column("s", Type::BigInt);
    let next = |body| lambda(&[("s", Type::BigInt), ("x", Type::BigInt)], body);
    let item = call("coalesce", vec![x(), bigint(0)]);
    let shifted = call("plus", vec![call("multiply", vec![state(), bigint(10)]), item]);
    let last = lambda(&[("s", Type::BigInt)], call("negate", vec![state()]));
    let expr = call("reduce", vec![a(), bigint(7), next(shifted), last]);
    let n = Value::BigInt;
    assert_rows(&expr, [n(-7103), Value::Null, n(-7), n(-66)]);
}

#[test]
fn maps_are_filtered_and_their_sides_are_transformed() {
    let (k, v) = (|| column("k", Type::BigInt), || column("v", Type::BigInt));
    let even = call("eq", vec![call("modulus", vec![v(), bigint(2)]), bigint(0)]);
    let expr = call("map_filter", vec![m(), of_entry(even)]);
    assert_rows(&expr, [map(&[(2, 6)]), Value::Null, map(&[]), map(&[])]);
    let sum = || of_entry(call("plus", vec![k(), v()]));
    let expr = call("transform_values", vec![m(), sum()]);
    assert_rows(&expr, [map(&[(1, 6), (2, 8)]), Value::Null, map(&[]), map(&[(3, 10)])]);
    let expr = call("transform_keys", vec![m(), sum()]);
    assert_rows(&expr, [map(&[(6, 5), (8, 6)]), Value::Null, map(&[]), map(&[(10, 7)])]);
    for key in [bigint(1), null(Type::BigInt)] {
        let expr = call("transform_keys", vec![m(), of_entry(key)]);
        assert!(evaluate(&expr, &batch()).unwrap_err().is_user());
    }
}

#[test]
fn zip_with_goes_on_with_nulls_where_one_list_ends() {
    let y = call("coalesce", vec![column("y", Type::BigInt), bigint(100)]);
    let body = call("plus", vec![call("coalesce", vec![x(), bigint(0)]), y]);
    let two = || TypedExpr::constant(array(&[Some(5), Some(6)]), numbers());
    let pair = lambda(&[("x", Type::BigInt), ("y", Type::BigInt)], body);
    let expr = call("zip_with", vec![a(), two(), pair]);
    let expected = [
        array(&[Some(6), Some(6), Some(103)]),
        Value::Null,
        array(&[Some(5), Some(6)]),
        array(&[Some(1), Some(6)]),
    ];
    assert_rows(&expr, expected);
}

#[test]
fn lambdas_within_lambdas_see_all_that_is_outside() {
    let y = || column("y", Type::BigInt);
    let sum = call("plus", vec![call("plus", vec![x(), y()]), column("n", Type::BigInt)]);
    let inner = call("transform", vec![a(), lambda(&[("y", Type::BigInt)], sum)]);
    let expr = call("transform", vec![a(), of_x(call("cardinality", vec![inner.clone()]))]);
    let threes = array(&[Some(3), Some(3), Some(3)]);
    assert_rows(&expr, [threes, Value::Null, array(&[]), array(&[Some(1)])]);
    let expr = call("transform", vec![a(), of_x(call("element_at", vec![inner, bigint(1)]))]);
    let expected =
        [array(&[Some(12), None, Some(14)]), Value::Null, array(&[]), array(&[Some(22)])];
    assert_rows(&expr, expected);
}

#[test]
fn a_parameter_hides_a_column_of_its_name() {
    let body = call("plus", vec![column("n", Type::BigInt), bigint(1)]);
    let expr = call("transform", vec![a(), lambda(&[("n", Type::BigInt)], body)]);
    assert_eq!(expr.field_names(), ["a"]);
    let expected = [array(&[Some(2), None, Some(4)]), Value::Null, array(&[]), array(&[Some(-3)])];
    assert_rows(&expr, expected);
}

#[test]
fn what_fails_in_rows_that_nobody_asks_for_does_not_surface() {
    let body = call("divide", vec![bigint(12), call("minus", vec![x(), bigint(1)])]);
    let expr = call("transform", vec![a(), of_x(body)]);
    assert!(evaluate(&expr, &batch()).unwrap_err().is_user());
    let mut rows = SelectivityVector::all(4);
    rows.set(0, false);
    let values = evaluate_rows(&expr, &batch(), &rows).unwrap();
    assert_eq!(values[3], array(&[Some(-2)]));
    assert_eq!(values[2], array(&[]));
}

#[test]
fn lambdas_that_do_not_fit_are_refused() {
    let compile = |expr: TypedExpr| {
        ExprSet::compile(&[expr], batch().row_type(), &FunctionRegistry::builtin()).unwrap_err()
    };
    let of_text = lambda(&[("x", Type::Varchar)], bigint(1));
    let error = compile(TypedExpr::call("transform", vec![a(), of_text], numbers()));
    assert!(error.is_user() && error.field("expected") == Some("(BIGINT)"), "{error}");
    let plain = TypedExpr::call("transform", vec![a(), bigint(1)], numbers());
    assert!(compile(plain).is_user());
    assert!(compile(of_x(x())).is_user());
    let both = lambda(&[("x", Type::BigInt), ("y", Type::BigInt)], x());
    assert!(compile(TypedExpr::call("transform", vec![a(), both], numbers())).is_user());
}
