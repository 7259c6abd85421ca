//! Tests AND, OR, CASE, COALESCE and NULLIF: truth tables, lazy evaluation, errors.

use super::*;

const TRUTHS: [Option<bool>; 3] = [Some(true), Some(false), None];

fn truth(value: Option<bool>) -> TypedExpr {
    value.map_or_else(|| null(Type::Boolean), boolean)
}

/// Returns a column `x` with the rows 0, 1, 2, null.
fn small() -> RowVector {
    let values = vec![Value::BigInt(0), Value::BigInt(1), Value::BigInt(2), Value::Null];
    batch_of(&[("x", Type::BigInt, values)])
}

fn x() -> TypedExpr {
    column("x", Type::BigInt)
}

fn one_over_x() -> TypedExpr {
    call("divide", vec![bigint(1), x()])
}

#[test]
fn and_and_or_follow_the_truth_tables() {
    for a in TRUTHS {
        for b in TRUTHS {
            let and = match (a, b) {
                (Some(false), _) | (_, Some(false)) => Value::Boolean(false),
                (None, _) | (_, None) => Value::Null,
                _ => Value::Boolean(true),
            };
            let or = match (a, b) {
                (Some(true), _) | (_, Some(true)) => Value::Boolean(true),
                (None, _) | (_, None) => Value::Null,
                _ => Value::Boolean(false),
            };
            assert_value(call("and", vec![truth(a), truth(b)]), and);
            assert_value(call("or", vec![truth(a), truth(b)]), or);
        }
    }
}

#[test]
fn a_case_guards_its_branches() {
    let zero = call("eq", vec![x(), bigint(0)]);
    let case = call("switch", vec![zero, bigint(0), one_over_x()]);
    let expected = [Value::BigInt(0), Value::BigInt(1), Value::BigInt(0), Value::Null];
    assert_eq!(evaluate(&case, &small()).unwrap(), expected);
}

#[test]
fn a_case_without_a_true_condition_is_null() {
    let case = call("switch", vec![call("gt", vec![x(), bigint(1)]), varchar("large")]);
    let large = Value::bytes("large");
    let expected = [Value::Null, Value::Null, large, Value::Null];
    assert_eq!(evaluate(&case, &small()).unwrap(), expected);
}

#[test]
fn and_is_safe_in_either_order() {
    let guard = call("neq", vec![x(), bigint(0)]);
    let failing = call("gte", vec![one_over_x(), bigint(1)]);
    let expected =
        [Value::Boolean(false), Value::Boolean(true), Value::Boolean(false), Value::Null];
    for terms in [vec![guard.clone(), failing.clone()], vec![failing, guard]] {
        assert_eq!(evaluate(&call("and", terms), &small()).unwrap(), expected);
    }
}

#[test]
fn an_error_that_no_term_excuses_surfaces_with_its_expression() {
    let guard = call("lt", vec![x(), bigint(5)]);
    let failing = call("gte", vec![one_over_x(), bigint(1)]);
    let error = evaluate(&call("and", vec![guard, failing]), &small()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid input: division by zero (operator=divide left=1 right=0)\n  \
         in expression \"and(lt(x, 5), gte(divide(1, x), 1))\""
    );
}

#[test]
fn rows_that_are_not_selected_do_not_fail() {
    let batch = small();
    let mut rows = SelectivityVector::all(batch.len());
    rows.set(0, false);
    let found = evaluate_rows(&one_over_x(), &batch, &rows).unwrap();
    assert_eq!(found, [Value::Null, Value::BigInt(1), Value::BigInt(0), Value::Null]);
    assert!(evaluate(&one_over_x(), &batch).is_err());
}

#[test]
fn a_failing_constant_fails_only_when_a_row_asks_for_it() {
    let failing = call("divide", vec![bigint(1), bigint(0)]);
    let guarded = call("if", vec![call("gt", vec![x(), bigint(5)]), failing.clone(), bigint(7)]);
    assert_eq!(evaluate(&guarded, &small()).unwrap(), vec![Value::BigInt(7); 4]);
    assert!(evaluate(&failing, &small()).is_err());
    let none = SelectivityVector::none(4);
    assert!(evaluate_rows(&failing, &small(), &none).is_ok());
}

#[test]
fn coalesce_asks_later_terms_only_for_nulls() {
    let expr = call("coalesce", vec![x(), call("divide", vec![bigint(1), bigint(0)])]);
    let mut rows = SelectivityVector::all(4);
    rows.set(3, false);
    assert!(evaluate_rows(&expr, &small(), &rows).is_ok());
    assert!(evaluate(&expr, &small()).is_err());
    let expr = call("coalesce", vec![x(), bigint(9)]);
    let expected = [0, 1, 2, 9].map(Value::BigInt);
    assert_eq!(evaluate(&expr, &small()).unwrap(), expected);
}

#[test]
fn nullif_is_null_where_both_are_equal() {
    let expr = call("nullif", vec![x(), bigint(1)]);
    let expected = [Value::BigInt(0), Value::Null, Value::BigInt(2), Value::Null];
    assert_eq!(evaluate(&expr, &small()).unwrap(), expected);
}

#[test]
fn branches_meet_in_their_common_type() {
    let expr = call("if", vec![call("eq", vec![x(), bigint(1)]), bigint(3), double(0.5)]);
    let expected = [0.5, 3.0, 0.5, 0.5].map(Value::Double);
    assert_eq!(evaluate(&expr, &small()).unwrap(), expected);
}

#[test]
fn branches_of_nested_types_are_merged_row_by_row() {
    let ty = Type::array(Type::BigInt);
    let list = |n: i64| Value::Array([Value::BigInt(n)].into());
    let batch = batch_of(&[
        ("p", Type::Boolean, vec![Value::Boolean(true), Value::Boolean(false), Value::Null]),
        ("a", ty.clone(), vec![list(1), list(2), list(3)]),
        ("b", ty.clone(), vec![list(10), Value::Null, list(30)]),
    ]);
    let args = vec![column("p", Type::Boolean), column("a", ty.clone()), column("b", ty)];
    let expected = [list(1), Value::Null, list(30)];
    assert_eq!(evaluate(&call("if", args), &batch).unwrap(), expected);
}

#[test]
fn a_selection_keeps_rows_that_are_true() {
    let batch = small();
    let registry = FunctionRegistry::builtin();
    let condition = call("gte", vec![x(), bigint(1)]);
    let mut set = ExprSet::compile(&[condition], batch.row_type(), &registry).unwrap();
    let rows = SelectivityVector::all(4);
    let vectors = ExprSet::evaluate(&mut set, &batch, &rows).unwrap();
    let selected = select_true(&vectors[0], &rows).unwrap();
    assert_eq!(selected.iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn an_expression_nested_too_deep_is_refused() {
    let mut expr = x();
    for _ in 0..100_000 {
        expr = TypedExpr::call("negate", vec![expr], Type::BigInt);
    }
    let error = evaluate(&expr, &small()).unwrap_err();
    assert_eq!(error.kind(), vector::ErrorKind::Limit);
    // Dropping the deeply nested expression would overflow the stack of the test itself.
    std::mem::forget(expr);
}

#[test]
fn try_gives_null_for_the_rows_that_fail_and_keeps_the_others() {
    let values = (0..9).map(|i| Value::BigInt(i % 3)).collect();
    let batch = batch_of(&[("x", Type::BigInt, values)]);
    let divided = || call("divide", vec![bigint(6), column("x", Type::BigInt)]);
    let expected = [Value::Null, Value::BigInt(6), Value::BigInt(3)];
    let expected: Vec<Value> = (0..9).map(|i| expected[i % 3].clone()).collect();
    assert_eq!(evaluate(&call("try", vec![divided()]), &batch).unwrap(), expected);
    assert!(evaluate(&divided(), &batch).is_err());
}
