//! Tests functions of arrays over random columns with random encodings, against loops over values.

use std::cmp::Ordering;

use super::*;
use vector::testing::{Random, RandomVectors, batch_of_vectors};

type List = Vec<Value>;

fn some_list(random: &mut Random) -> Value {
    if random.chance(0.1) {
        return Value::Null;
    }
    let len = random.below(6);
    let element = |random: &mut Random| match random.chance(0.2) {
        true => Value::Null,
        false => Value::BigInt(random.between(-2, 3)),
    };
    Value::Array((0..len).map(|_| element(random)).collect())
}

/// Compares a function of the array columns `a` and `b` and the number column `k` with `model`,
/// where `None` is null.
#[track_caller]
fn check(name: &str, columns: &[&str], model: impl Fn(&List, &List, i64) -> Option<Value>) {
    let list = Type::array(Type::BigInt);
    let type_of = |name: &str| if name == "k" { Type::BigInt } else { list.clone() };
    for seed in 0..40 {
        let mut vectors = RandomVectors::new(seed);
        let num_rows = vectors.random().below(120) + 1;
        let mut plain: Vec<Vec<Value>> = Vec::new();
        for _ in ["a", "b"] {
            plain.push((0..num_rows).map(|_| some_list(vectors.random())).collect());
        }
        let random = vectors.random();
        plain.push((0..num_rows).map(|_| Value::BigInt(random.between(1, 3))).collect());
        if vectors.random().chance(0.3) {
            let first = plain[1][0].clone();
            plain[1].fill(first);
        }
        let encoded: Vec<_> = ["a", "b", "k"]
            .iter()
            .zip(&plain)
            .map(|(name, values)| (*name, vectors.encode(&type_of(name), values)))
            .collect();
        let batch = batch_of_vectors(&encoded);
        let mut rows = SelectivityVector::all(num_rows);
        let share = *vectors.random().pick(&[0.3, 1.0]);
        (0..num_rows).for_each(|row| rows.set(row, vectors.random().chance(share)));
        let args = columns.iter().map(|name| column(name, type_of(name))).collect();
        let found = evaluate_rows(&call(name, args), &batch, &rows).unwrap();
        let is_null = |row: usize| {
            columns
                .iter()
                .any(|name| plain[batch.row_type().index_of(name).unwrap()][row].is_null())
        };
        let list_of = |value: &Value| match value {
            Value::Array(list) => list.to_vec(),
            _ => Vec::new(),
        };
        for (row, found) in found.iter().enumerate() {
            let expected = match rows.contains(row) && !is_null(row) {
                true => {
                    let k = plain[2][row].as_i64().unwrap();
                    model(&list_of(&plain[0][row]), &list_of(&plain[1][row]), k)
                }
                false => None,
            };
            assert_eq!(*found, expected.unwrap_or(Value::Null), "{name} seed {seed} row {row}");
        }
    }
}

fn array(list: List) -> Option<Value> {
    Some(Value::Array(list.into()))
}

fn distinct<'v>(values: impl IntoIterator<Item = &'v Value>) -> List {
    let mut kept: List = Vec::new();
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    kept
}

/// Sorts nulls last in both directions.
fn sorted(list: &List, descending: bool) -> List {
    let mut list = list.clone();
    list.sort_by(|a, b| match (a.is_null(), b.is_null()) {
        (false, false) if descending => b.cmp(a),
        (false, false) => a.cmp(b),
        (a, b) => a.cmp(&b),
    });
    list
}

fn best(list: &List, wanted: Ordering) -> Option<Value> {
    let best =
        list.iter().reduce(|best, value| if value.cmp(best) == wanted { value } else { best });
    best.filter(|_| !list.contains(&Value::Null)).cloned()
}

#[test]
fn sets_of_elements_equal_the_model() {
    check("array_distinct", &["a"], |a, _, _| array(distinct(a)));
    check("array_union", &["a", "b"], |a, b, _| array(distinct(a.iter().chain(b))));
    check("array_intersect", &["a", "b"], |a, b, _| {
        array(distinct(a.iter().filter(|value| b.contains(value))))
    });
    check("array_except", &["a", "b"], |a, b, _| {
        array(distinct(a.iter().filter(|value| !b.contains(value))))
    });
    check("array_duplicates", &["a"], |a, _, _| {
        let count = |value: &Value| a.iter().filter(|other| *other == value).count();
        array(distinct(a.iter().filter(|value| count(value) > 1)))
    });
    check("array_has_duplicates", &["a"], |a, _, _| {
        Some(Value::Boolean(distinct(a).len() < a.len()))
    });
    check("arrays_overlap", &["a", "b"], |a, b, _| {
        let both = a.iter().any(|value| !value.is_null() && b.contains(value));
        let has_null = a.iter().chain(b).any(Value::is_null);
        let unknown = !both && has_null && !a.is_empty() && !b.is_empty();
        (!unknown).then_some(Value::Boolean(both))
    });
}

#[test]
fn orders_and_places_of_elements_equal_the_model() {
    check("array_sort", &["a"], |a, _, _| array(sorted(a, false)));
    check("array_sort_desc", &["a"], |a, _, _| array(sorted(a, true)));
    check("array_min", &["a"], |a, _, _| best(a, Ordering::Less));
    check("array_max", &["a"], |a, _, _| best(a, Ordering::Greater));
    check("array_sum", &["a"], |a, _, _| {
        Some(Value::BigInt(a.iter().filter_map(Value::as_i64).sum()))
    });
    check("array_position", &["a", "k"], |a, _, k| {
        let at = a.iter().position(|value| *value == Value::BigInt(k));
        Some(Value::BigInt(at.map_or(0, |at| at as i64 + 1)))
    });
    check("array_remove", &["a", "k"], |a, _, k| {
        array(a.iter().filter(|value| **value != Value::BigInt(k)).cloned().collect())
    });
}

#[test]
fn shapes_of_arrays_equal_the_model() {
    check("reverse", &["a"], |a, _, _| array(a.iter().rev().cloned().collect()));
    check("concat", &["a", "b"], |a, b, _| array(a.iter().chain(b).cloned().collect()));
    check("concat", &["a", "k"], |a, _, k| {
        array(a.iter().cloned().chain([Value::BigInt(k)]).collect())
    });
    check("concat", &["k", "b"], |_, b, k| {
        array([Value::BigInt(k)].into_iter().chain(b.iter().cloned()).collect())
    });
    check("slice", &["a", "k", "k"], |a, _, k| {
        array(a.iter().skip(k as usize - 1).take(k as usize).cloned().collect())
    });
    check("remove_nulls", &["a"], |a, _, _| {
        array(a.iter().filter(|value| !value.is_null()).cloned().collect())
    });
    check("repeat", &["k", "k"], |_, _, k| array(vec![Value::BigInt(k); k as usize]));
    check("sequence", &["k", "k", "k"], |_, _, k| array(vec![Value::BigInt(k)]));
}

#[test]
fn equality_of_arrays_is_unknown_only_where_a_null_decides() {
    let model = |a: &List, b: &List| {
        if a.len() != b.len() {
            return Some(false);
        }
        let pairs = || a.iter().zip(b);
        let known = |(x, y): &(&Value, &Value)| !x.is_null() && !y.is_null();
        match pairs().filter(known).all(|(x, y)| x == y) {
            false => Some(false),
            true => pairs().all(|pair| known(&pair)).then_some(true),
        }
    };
    check("eq", &["a", "b"], |a, b, _| model(a, b).map(Value::Boolean));
    check("neq", &["a", "b"], |a, b, _| model(a, b).map(|same| Value::Boolean(!same)));
}

#[test]
fn maps_are_in_the_order_of_their_keys() {
    let number = Value::BigInt;
    let pairs = |pairs: &[(i64, i64)]| -> Value {
        Value::Map(pairs.iter().map(|(k, v)| (number(*k), number(*v))).collect())
    };
    let ty = Type::map(Type::BigInt, Type::BigInt);
    let constant = |value: Value| TypedExpr::constant(value, ty.clone());
    let (first, second) = (pairs(&[(5, 1), (2, 2)]), pairs(&[(5, 3), (1, 4)]));
    let both = call("map_concat", vec![constant(first.clone()), constant(second)]);
    assert_value(both, pairs(&[(1, 4), (2, 2), (5, 3)]));
    let entries = call("map_entries", vec![constant(first)]);
    assert_value(call("map_from_entries", vec![entries]), pairs(&[(2, 2), (5, 1)]));
    assert_value(call("map", vec![]), Value::Map([].into()));
}
