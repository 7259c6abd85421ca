//! Tests errors of single rows: a batch fails exactly if one of its rows fails individually.

use super::*;
use vector::testing::Random;

/// Returns columns `a`, `b`, `c` of few different numbers with zeros and nulls, and arrays `l` of
/// them.
fn rows(random: &mut Random, num_rows: usize) -> RowVector {
    let cell = |random: &mut Random, zeros: f64| match random.chance(0.15) {
        true => Value::Null,
        false if random.chance(zeros) => Value::BigInt(0),
        false => Value::BigInt(1 + random.below(4) as i64),
    };
    let zeros = *random.pick(&[0.02, 0.2, 0.7]);
    let mut column = |_: usize| (0..num_rows).map(|_| cell(random, zeros)).collect::<Vec<_>>();
    let (a, b, c) = (column(0), column(1), column(2));
    let lists = (0..num_rows).map(|_| match random.chance(0.1) {
        true => Value::Null,
        false => Value::Array((0..random.below(4)).map(|_| cell(random, zeros)).collect()),
    });
    let lists = lists.collect();
    batch_of(&[
        ("a", Type::BigInt, a),
        ("b", Type::BigInt, b),
        ("c", Type::BigInt, c),
        ("l", Type::array(Type::BigInt), lists),
    ])
}

/// Divides 4 by `x`, which fails for 0.
fn quotient(x: TypedExpr) -> TypedExpr {
    call("divide", vec![bigint(4), x])
}

fn number(random: &mut Random, depth: usize) -> TypedExpr {
    let name = *random.pick(&["a", "b", "c"]);
    let plain = column(name, Type::BigInt);
    if depth == 0 {
        return if random.chance(0.6) { quotient(plain) } else { plain };
    }
    match random.below(7) {
        0 => call("plus", vec![number(random, depth - 1), number(random, depth - 1)]),
        1 => call("coalesce", vec![number(random, depth - 1), number(random, depth - 1)]),
        2 => call("try", vec![number(random, depth - 1)]),
        3 => {
            let condition = truth(random, depth - 1);
            call("if", vec![condition, number(random, depth - 1), number(random, depth - 1)])
        }
        _ => quotient(number(random, depth - 1)),
    }
}

fn truth(random: &mut Random, depth: usize) -> TypedExpr {
    if depth == 0 {
        let comparison = *random.pick(&["eq", "gt", "lte", "distinct_from"]);
        return call(comparison, vec![number(random, 0), bigint(random.below(5) as i64)]);
    }
    let mut inner = |_: usize| truth(random, depth - 1);
    let (first, second) = (inner(0), inner(1));
    match random.below(9) {
        0 | 1 => call("and", vec![first, second, truth(random, depth - 1)]),
        2 | 3 => call("or", vec![first, second, truth(random, depth - 1)]),
        4 => call("not", vec![first]),
        5 => call("in", vec![number(random, depth - 1), bigint(1), bigint(4)]),
        6 => call("in", vec![number(random, depth - 1), number(random, 0), bigint(2)]),
        7 => {
            let bounds = [number(random, 0), number(random, 0)];
            call("between", vec![number(random, depth - 1), bounds[0].clone(), bounds[1].clone()])
        }
        _ => {
            let element = column("x", Type::BigInt);
            let captured = call("plus", vec![quotient(element), column("a", Type::BigInt)]);
            let test = call("gt", vec![captured, bigint(random.below(6) as i64)]);
            let lambda = TypedExpr::lambda(&RowType::new([("x", Type::BigInt)]), test);
            let matches = *random.pick(&["any_match", "all_match", "none_match"]);
            call(matches, vec![column("l", Type::array(Type::BigInt)), lambda])
        }
    }
}

#[test]
fn a_batch_gives_what_its_rows_give_one_by_one() {
    let (mut num_failing, mut num_good) = (0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let expr = truth(&mut random, 1 + (seed % 3) as usize);
        let num_rows = *random.pick(&[2, 5, 40, 100]);
        let batch = rows(&mut random, num_rows);
        let alone: Vec<Result<Value>> = (0..num_rows)
            .map(|row| {
                let row = batch.slice(row, 1).unwrap();
                evaluate(&expr, &row).map(|mut values| values.remove(0))
            })
            .collect();
        let good: Vec<usize> = (0..num_rows).filter(|row| alone[*row].is_ok()).collect();
        let mut selected = SelectivityVector::none(num_rows);
        good.iter().for_each(|row| selected.set(*row, true));
        let values = evaluate_rows(&expr, &batch, &selected).unwrap();
        for row in &good {
            assert_eq!(
                values[*row],
                *alone[*row].as_ref().unwrap(),
                "{expr} at {row}, seed {seed}"
            );
        }
        let whole = evaluate(&expr, &batch);
        match good.len() == num_rows {
            true => {
                num_good += 1;
                assert_eq!(whole.unwrap(), values, "{expr}, seed {seed}");
            }
            false => {
                num_failing += 1;
                assert!(whole.unwrap_err().is_user(), "{expr}, seed {seed}");
            }
        }
        // The result is null where the row fails individually.
        let tried = evaluate(&call("try", vec![expr.clone()]), &batch).unwrap();
        for (row, value) in tried.iter().enumerate() {
            let expected = alone[row].as_ref().map_or(&Value::Null, |value| value);
            assert_eq!(value, expected, "try({expr}) at {row}, seed {seed}");
        }
    }
    assert!(num_failing > 10 && num_good > 10, "{num_failing} {num_good}");
}

#[test]
fn one_row_alone_follows_the_rules_of_velox() {
    const FAILURE: &str = "division by zero (operator=divide left=4 right=0)";
    let fails = || quotient(bigint(0));
    let is_one = |x: TypedExpr| call("eq", vec![x, bigint(1)]);
    let no = || boolean(false);
    let unknown = || null(Type::Boolean);
    assert_value(call("and", vec![is_one(fails()), no()]), Value::Boolean(false));
    assert_value(call("or", vec![is_one(fails()), boolean(true)]), Value::Boolean(true));
    assert_error(call("and", vec![is_one(fails()), unknown()]), FAILURE);
    // A null argument decides the result where nulls propagate.
    assert_value(call("plus", vec![fails(), null(Type::BigInt)]), Value::Null);
    assert_value(call("plus", vec![null(Type::BigInt), fails()]), Value::Null);
    assert_error(call("coalesce", vec![null(Type::BigInt), fails()]), FAILURE);
    let bounds = |low, high| call("between", vec![bigint(7), low, high]);
    assert_value(bounds(null(Type::BigInt), bigint(5)), Value::Null);
    assert_value(bounds(bigint(9), null(Type::BigInt)), Value::Null);
    assert_error(bounds(bigint(9), fails()), FAILURE);
}

/// Each level of nesting is evaluated only once more where rows fail.
#[test]
fn deep_junctions_over_failing_rows_end() {
    let mut random = Random::new(3);
    let batch = rows(&mut random, 200);
    let leaf = || call("eq", vec![quotient(column("a", Type::BigInt)), bigint(9)]);
    let deep = (0..100).fold(leaf(), |inner, level| {
        let form = if level % 2 == 0 { "and" } else { "or" };
        let inner = if level % 5 == 0 { call("try", vec![inner]) } else { inner };
        call(form, vec![leaf(), inner])
    });
    let _ = evaluate(&deep, &batch);
    assert!(evaluate(&call("try", vec![deep]), &batch).is_ok());
}
