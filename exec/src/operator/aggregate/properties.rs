//! Tests random columns in random encodings and groupings: every function equals a plain
//! computation.

use vector::build::vector_of;
use vector::sync::Arc;
use vector::testing::{Random, RandomVectors};
use vector::{Buffer, DecodedVector, Type};

use super::*;

fn some_value(random: &mut Random, ty: &Type) -> Value {
    if random.chance(0.1) {
        return Value::Null;
    }
    match ty {
        Type::Integer => Value::Integer(*random.pick(&[0, -1, 5, i32::MAX, i32::MIN])),
        Type::BigInt => Value::BigInt(*random.pick(&[0, -1, 7, 1 << 40, -(1 << 50)])),
        // Sums of these values are exact in any order.
        Type::Double => Value::Double(*random.pick(&[0.0, -0.0, 0.25, -1.5, 1e6])),
        Type::Varchar => {
            let start = *random.pick(&["", "a", "a\0", "ab", "abc", "abcd", "\u{e9}"]);
            let tail = *random.pick(&["", "d", " and a text longer than a view", " and a text"]);
            Value::bytes(format!("{start}{tail}"))
        }
        other => panic!("no values of {other}"),
    }
}

/// Returns the rows of a column and the column itself, which is often a dictionary that is much
/// smaller than the batch and has unused entries.
fn some_column(vectors: &mut RandomVectors, ty: &Type, num_rows: usize) -> (Vec<Value>, VectorRef) {
    let random = vectors.random();
    let without_nulls = random.chance(0.6);
    let make = |random: &mut Random| loop {
        let value = some_value(random, ty);
        if !(without_nulls && value == Value::Null) {
            return value;
        }
    };
    if random.chance(0.5) {
        let entries: Vec<Value> = (0..random.below(12) + 2).map(|_| make(random)).collect();
        let num_used = random.below(entries.len()) + 1;
        let indices: Vec<u32> = (0..num_rows).map(|_| random.below(num_used) as u32).collect();
        let rows = indices.iter().map(|index| entries[*index as usize].clone()).collect();
        let base = vector_of(ty, &entries).unwrap();
        return (rows, Vector::wrap(&base, &Buffer::from_slice(&indices)));
    }
    let rows: Vec<Value> = (0..num_rows).map(|_| make(random)).collect();
    let vector = vectors.encode(ty, &rows);
    (rows, vector)
}

/// Computes the function over the values of a group, none of which is null.
fn plainly(function: &str, values: &[Value]) -> Value {
    let float = |value: &Value| match value {
        Value::Double(v) => Some(*v),
        _ => None,
    };
    let exact = || values.iter().map(|v| i128::from(v.as_i64().unwrap())).sum::<i128>();
    let count = values.len();
    match function {
        "count" => Value::BigInt(count as i64),
        _ if values.is_empty() => Value::Null,
        "min" => values.iter().min_by(|a, b| a.compare(b)).unwrap().clone(),
        // Among equal values the first one is returned.
        "max" => values.iter().rev().max_by(|a, b| a.compare(b)).unwrap().clone(),
        _ => {
            let floats: Option<Vec<f64>> = values.iter().map(float).collect();
            match (function, floats) {
                ("sum", Some(floats)) => Value::Double(floats.iter().sum::<f64>()),
                ("avg", Some(floats)) => Value::Double(floats.iter().sum::<f64>() / count as f64),
                ("sum", None) => Value::BigInt(exact() as i64),
                _ => Value::Double(exact() as f64 / count as f64),
            }
        }
    }
}

fn values(vector: &VectorRef) -> Vec<Value> {
    let decoded = DecodedVector::new(vector).unwrap();
    (0..vector.len()).map(|row| decoded.value(row).unwrap()).collect()
}

#[test]
fn every_function_equals_a_plain_computation() {
    let types = [Type::Integer, Type::BigInt, Type::Double, Type::Varchar];
    for seed in 0..120 {
        let mut vectors = RandomVectors::new(seed);
        let ty = vectors.random().pick(&types).clone();
        let functions: &[&str] = match ty {
            Type::Varchar => &["count", "min", "max"],
            _ => &["count", "min", "max", "sum", "avg"],
        };
        let num_groups = *vectors.random().pick(&[1, 2, 5]);
        let is_global = num_groups == 1;
        let raw_types = [ty.clone()];
        let mut accumulators: Vec<Box<dyn Accumulator>> = functions
            .iter()
            .map(|function| registry::accumulator(function, &raw_types).unwrap())
            .collect();
        accumulators.iter_mut().for_each(|a| a.resize(num_groups));
        let mut groups_of_values: Vec<Vec<Value>> = vec![Vec::new(); num_groups];
        for _ in 0..4 {
            let num_rows = vectors.random().below(300) + 1;
            let (rows, column) = some_column(&mut vectors, &ty, num_rows);
            let ids: Vec<u32> =
                (0..num_rows).map(|_| vectors.random().below(num_groups) as u32).collect();
            for (id, value) in ids.iter().zip(rows).filter(|(_, value)| *value != Value::Null) {
                groups_of_values[*id as usize].push(value);
            }
            let mut lists = GroupLists::default();
            lists.build(&ids, num_groups);
            for (group, rows) in lists.iter() {
                let of_group =
                    (0..num_rows as u32).filter(|row| ids[*row as usize] == group as u32);
                assert!(of_group.eq(rows.iter().copied()), "group {group} of {num_groups}");
            }
            let groups = match vectors.random().below(2) {
                _ if is_global => Groups::One { num_rows },
                0 => Groups::Each { ids: &ids },
                _ => Groups::Listed { ids: &ids, lists: &lists },
            };
            let column = [Column::new(column).unwrap()];
            accumulators.iter_mut().for_each(|a| a.update(groups, &column).unwrap());
        }
        for (function, accumulator) in functions.iter().zip(&accumulators) {
            let found = values(&accumulator.output(0, Part::Result, 0..num_groups).unwrap());
            let expected = groups_of_values.iter().map(|group| plainly(function, group));
            let expected: Vec<Value> = expected.collect();
            assert_eq!(found, expected, "{function} of {ty}, seed {seed}");
        }
    }
}

#[test]
fn a_sum_and_an_average_of_a_column_share_their_state() {
    let ty = Type::Double;
    let input = RowType::new([("a", ty.clone()), ("b", ty.clone())]);
    let field = |name: &str| vec![TypedExpr::field(name, ty.clone())];
    let calls = [("sum", "a"), ("avg", "a"), ("avg", "b"), ("sum", "b"), ("max", "a")];
    let mut running = Vec::new();
    let outputs = calls.map(|(function, column)| {
        let aggregate = aggregate_call("x", function, field(column), false).unwrap();
        add_aggregate(&mut running, &aggregate, AggregationStep::Single, &input).unwrap()
    });
    assert_eq!(outputs, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
    let column = vector_of(&ty, &[1.0, 2.0, 6.0].map(Value::Double)).unwrap();
    for (running, expected) in running.iter_mut().zip([[9.0, 3.0], [3.0, 9.0]]) {
        running.accumulator.resize(1);
        let column = [Column::new(Arc::clone(&column)).unwrap()];
        running.accumulator.update(Groups::One { num_rows: 3 }, &column).unwrap();
        for (output, expected) in expected.into_iter().enumerate() {
            let found = running.accumulator.output(output, Part::Result, 0..1).unwrap();
            assert_eq!(values(&found), [Value::Double(expected)]);
        }
    }
    let distinct = aggregate_call("x", "sum", field("a"), true).unwrap();
    let apart = add_aggregate(&mut running, &distinct, AggregationStep::Single, &input).unwrap();
    assert_eq!(apart, (3, 0));
}
