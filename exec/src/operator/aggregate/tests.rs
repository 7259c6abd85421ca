//! Tests of aggregations: compares every function with a plain computation, in every encoding.

use std::collections::HashMap;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Buffer, DecodedVector, ErrorKind, SortOrder, Type, sorted_rows};

use super::*;

fn aggregate(function: &str, ty: &Type, batches: &[(Option<Vec<u32>>, VectorRef)]) -> Vec<Value> {
    try_aggregate(function, ty, batches).unwrap()
}

/// Runs a function as a single step and as partial and final steps. Both must return the same
/// values for all forms of the partial results: unchanged, in halves, as constants, and selected by
/// a dictionary as after an exchange.
fn try_aggregate(
    function: &str,
    ty: &Type,
    batches: &[(Option<Vec<u32>>, VectorRef)],
) -> Result<Vec<Value>> {
    let types = std::slice::from_ref(ty);
    let num_groups = batches.iter().flat_map(|(ids, _)| ids.iter().flatten()).max();
    let num_groups = num_groups.map_or(1, |max| *max as usize + 1);
    let empty = || -> Result<Box<dyn Accumulator>> {
        let mut made = registry::accumulator(function, types)?;
        made.resize(num_groups);
        Ok(made)
    };
    let mut single = empty()?;
    let mut last = (0..4).map(|_| empty()).collect::<Result<Vec<_>>>()?;
    for (ids, values) in batches {
        let groups = match ids {
            Some(ids) => Groups::Each { ids },
            None => Groups::One { num_rows: values.len() },
        };
        let column = [Column::new(Arc::clone(values))?];
        single.update(groups, &column)?;
        let mut partial = empty()?;
        partial.update(groups, &column)?;
        let partial = partial.output(0, Part::Intermediate, 0..num_groups)?;
        let wanted = resolve_aggregate(function, types)?.intermediate;
        assert!(partial.ty().is_equivalent(&wanted), "{}", partial.ty());
        for (way, last) in ways(&partial)?.into_iter().zip(&mut last) {
            for (ids, partial) in way {
                last.merge(Groups::Each { ids: &ids }, &Column::new(partial)?)?;
            }
        }
    }
    let single = values(&single.output(0, Part::Result, 0..num_groups)?);
    for (way, last) in last.into_iter().enumerate() {
        let last = values(&last.output(0, Part::Result, 0..num_groups)?);
        assert_eq!(single, last, "{function} in parts, {way}");
    }
    Ok(single)
}

/// Partial results with the groups of their rows.
type Piece = (Vec<u32>, VectorRef);

/// Returns the same column of partial results, one row per group, in several forms, each as pieces.
fn ways(partial: &VectorRef) -> Result<[Vec<Piece>; 4]> {
    let num_groups = partial.len() as u32;
    let all: Vec<u32> = (0..num_groups).collect();
    let picked = |rows: Vec<u32>| {
        let column = Vector::wrap(partial, &Buffer::from_slice(&rows));
        (rows, column)
    };
    let (even, odd) = all.iter().partition(|row| *row % 2 == 0);
    let (low, high) = all.split_at(all.len() / 2);
    let halves = [(low, 0), (high, low.len())]
        .map(|(ids, start)| Ok((ids.to_vec(), Vector::slice(partial, start, ids.len())?)));
    let constant = |(row, value): (u32, Value)| {
        let constant = Vector::constant(partial.ty().clone(), value, 1)?;
        Ok((vec![row], Arc::new(constant) as VectorRef))
    };
    let constants = all.iter().copied().zip(values(partial)).map(constant);
    Ok([
        vec![(all.clone(), Arc::clone(partial))],
        vec![picked(even), picked(odd)],
        halves.into_iter().collect::<Result<_>>()?,
        constants.collect::<Result<_>>()?,
    ])
}

fn values(vector: &VectorRef) -> Vec<Value> {
    let decoded = DecodedVector::new(vector).unwrap();
    (0..vector.len()).map(|row| decoded.value(row).unwrap()).collect()
}

fn column(ty: &Type, values: &[Value]) -> VectorRef {
    vector_of(ty, values).unwrap()
}

fn bigints(values: &[i64]) -> VectorRef {
    column(&Type::BigInt, &values.iter().map(|v| Value::BigInt(*v)).collect::<Vec<_>>())
}

#[test]
fn nulls_do_not_count_and_a_group_of_nulls_is_null() {
    let v =
        column(&Type::Integer, &[Value::Integer(3), Value::Null, Value::Integer(5), Value::Null]);
    let batches = [(Some(vec![0, 0, 0, 1]), v)];
    let run = |function| aggregate(function, &Type::Integer, &batches);
    assert_eq!(run("count"), [Value::BigInt(2), Value::BigInt(0)]);
    assert_eq!(run("sum"), [Value::BigInt(8), Value::Null]);
    assert_eq!(run("avg"), [Value::Double(4.0), Value::Null]);
    assert_eq!(run("min"), [Value::Integer(3), Value::Null]);
    assert_eq!(run("max"), [Value::Integer(5), Value::Null]);
}

#[test]
fn a_sum_is_exact_until_the_end_and_then_must_fit() {
    let max = i64::MAX;
    let fits = [(None, bigints(&[max, max, -max])), (None, bigints(&[-3]))];
    assert_eq!(aggregate("sum", &Type::BigInt, &fits), [Value::BigInt(max - 3)]);
    assert_eq!(
        aggregate("avg", &Type::BigInt, &[(None, bigints(&[max, max]))]),
        [Value::Double(max as f64)]
    );
    let error = try_aggregate("sum", &Type::BigInt, &[(None, bigints(&[max, 1]))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);

    let wide = Type::decimal(38, 0).unwrap();
    let nines = 10i128.pow(38) - 1;
    let too_much = column(&wide, &vec![Value::HugeInt(nines); 3]);
    let error = try_aggregate("sum", &wide, &[(None, too_much)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid input: a sum does not fit its type (type=DECIMAL(38,0))"
    );
}

#[test]
fn decimals_are_averaged_in_their_own_type_rounded_half_away_from_zero() {
    let price = Type::decimal(15, 2).unwrap();
    let of = |cents: &[i64]| {
        let v: Vec<Value> = cents.iter().map(|c| Value::BigInt(*c)).collect();
        aggregate("avg", &price, &[(None, column(&price, &v))])
    };
    assert_eq!(of(&[1, 2]), [Value::BigInt(2)]);
    assert_eq!(of(&[-1, -2]), [Value::BigInt(-2)]);
    assert_eq!(of(&[1, 1, 2]), [Value::BigInt(1)]);
    let sum = aggregate("sum", &price, &[(None, bigints_as(&price, &[150, 250]))]);
    assert_eq!(sum, [Value::HugeInt(400)]);
}

fn bigints_as(ty: &Type, v: &[i64]) -> VectorRef {
    column(ty, &v.iter().map(|v| Value::BigInt(*v)).collect::<Vec<_>>())
}

#[test]
fn floats_are_summed_in_double_precision_whatever_the_number_of_rows() {
    for num_rows in [1, 3, 4, 5, 1_000] {
        let reals: Vec<Value> = (0..num_rows).map(|i| Value::Real(i as f32 * 0.5)).collect();
        let expected = (0..num_rows).map(|i| i as f64 * 0.5).sum::<f64>();
        let batches = [(None, column(&Type::Real, &reals))];
        assert_eq!(aggregate("sum", &Type::Real, &batches), [Value::Real(expected as f32)]);
        let average = expected / num_rows as f64;
        assert_eq!(aggregate("avg", &Type::Real, &batches), [Value::Double(average)]);
    }
    let negative = column(&Type::Double, &[Value::Double(-0.25), Value::Null]);
    assert_eq!(aggregate("sum", &Type::Double, &[(None, negative)]), [Value::Double(-0.25)]);
}

#[test]
fn nan_is_the_greatest_and_strings_are_compared_as_bytes() {
    let doubles = column(
        &Type::Double,
        &[Value::Double(f64::NAN), Value::Double(1.5), Value::Double(f64::INFINITY)],
    );
    let batches = [(None, doubles)];
    assert_eq!(aggregate("min", &Type::Double, &batches), [Value::Double(1.5)]);
    let max = aggregate("max", &Type::Double, &batches);
    assert!(matches!(max[0], Value::Double(v) if v.is_nan()));

    let words = ["b", "a much longer word than a view", "\u{e9}", "Z"];
    let strings = column(&Type::Varchar, &words.map(Value::bytes));
    let batches = [(Some(vec![0, 1, 0, 0]), strings)];
    assert_eq!(
        aggregate("max", &Type::Varchar, &batches),
        [Value::bytes("\u{e9}"), Value::bytes(words[1])]
    );
    assert_eq!(
        aggregate("min", &Type::Varchar, &batches),
        [Value::bytes("Z"), Value::bytes(words[1])]
    );
}

#[test]
fn booleans_timestamps_and_arrays_have_least_and_greatest_values() {
    let flags = column(&Type::Boolean, &[true, false, true].map(Value::Boolean));
    assert_eq!(aggregate("min", &Type::Boolean, &[(None, flags)]), [Value::Boolean(false)]);
    let times = [5, -7, 3].map(|s| Value::Timestamp(vector::Timestamp::new(s, 1)));
    let of = column(&Type::Timestamp, &times);
    assert_eq!(aggregate("min", &Type::Timestamp, &[(None, of)]), [times[1].clone()]);
    let ty = Type::array(Type::BigInt);
    let lists = [&[1, 2][..], &[1], &[0, 9]]
        .map(|v| Value::Array(v.iter().map(|x| Value::BigInt(*x)).collect()));
    assert_eq!(aggregate("max", &ty, &[(None, column(&ty, &lists))]), [lists[0].clone()]);
}

#[test]
fn every_encoding_of_an_argument_gives_the_same() {
    let base: Vec<Value> =
        (0..7).map(|i| if i == 3 { Value::Null } else { Value::BigInt(i * i) }).collect();
    let base = column(&Type::BigInt, &base);
    let indices: Vec<u32> = (0..100).map(|i| i * 5 % 7).collect();
    let dictionary = Vector::wrap(&base, &Buffer::from_slice(&indices));
    let flat = vector::flatten(&dictionary).unwrap();
    let ids: Vec<u32> = (0..100).map(|i| i % 3).collect();
    for function in ["count", "sum", "avg", "min", "max"] {
        for ids in [None, Some(ids.clone())] {
            let of =
                |v: &VectorRef| aggregate(function, &Type::BigInt, &[(ids.clone(), Arc::clone(v))]);
            assert_eq!(of(&dictionary), of(&flat), "{function}");
        }
    }
    let mut lists = GroupLists::default();
    lists.build(&ids, 5);
    let listed: Vec<_> = lists.iter().map(|(group, rows)| (group, rows.len())).collect();
    assert_eq!(listed, [(0, 34), (1, 33), (2, 33)]);
    for function in ["count", "sum", "avg", "min", "max"] {
        for argument in [&dictionary, &flat, &bigints(&(0..100).collect::<Vec<_>>())] {
            let [by_id, by_list] =
                [Groups::Each { ids: &ids }, Groups::Listed { ids: &ids, lists: &lists }].map(
                    |groups| {
                        let mut accumulator =
                            registry::accumulator(function, &[Type::BigInt]).unwrap();
                        accumulator.resize(5);
                        let column = Column::new(Arc::clone(argument)).unwrap();
                        accumulator.update(groups, &[column]).unwrap();
                        values(&accumulator.output(0, Part::Result, 0..5).unwrap())
                    },
                );
            assert_eq!(by_id, by_list, "{function}");
        }
    }
    let constant = Vector::constant(Type::BigInt, Value::BigInt(4), 10).unwrap();
    let sum = aggregate("sum", &Type::BigInt, &[(None, Arc::new(constant))]);
    assert_eq!(sum, [Value::BigInt(40)]);
    let nulls = Arc::new(Vector::nulls(Type::BigInt, 10));
    assert_eq!(aggregate("max", &Type::BigInt, &[(None, nulls)]), [Value::Null]);
}

/// Returns the types of key columns, and their batches in several encodings.
fn key_batches() -> Vec<(Vec<Type>, Vec<Vec<VectorRef>>)> {
    let words = |n: usize| -> Vec<Value> {
        (0..n).map(|i| Value::bytes(format!("word number {}", i % 9))).collect()
    };
    let dictionary = |batch: usize| {
        let mut base = words(9);
        base[4] = Value::Null;
        base[5] = base[6].clone();
        let base = column(&Type::Varchar, &base);
        let indices: Vec<u32> = (0..50).map(|i| ((i * 7 + batch) % 9) as u32).collect();
        Vector::wrap(&base, &Buffer::from_slice(&indices))
    };
    let integers = |batch: usize| {
        let v: Vec<Value> = (0..50)
            .map(|i| match (i + batch) % 11 {
                0 => Value::Null,
                m => Value::Integer(m as i32 % 4),
            })
            .collect();
        column(&Type::Integer, &v)
    };
    let floats = |_: usize| {
        let cycle = [0.0, -0.0, f64::NAN, -f64::NAN, 1.0];
        let v: Vec<Value> = (0..50).map(|i| Value::Double(cycle[i % 5])).collect();
        column(&Type::Double, &v)
    };
    let booleans = |batch: usize| {
        let v: Vec<Value> = (0..50)
            .map(|i| {
                if i % 7 == 0 { Value::Null } else { Value::Boolean((i + batch).is_multiple_of(3)) }
            })
            .collect();
        column(&Type::Boolean, &v)
    };
    let constants = |batch: usize| {
        let value = if batch == 2 { Value::Null } else { Value::bytes(batch.to_string()) };
        Arc::new(Vector::constant(Type::Varchar, value, 50).unwrap())
    };
    let lists = |batch: usize| {
        let v: Vec<Value> = (0..50)
            .map(|i| Value::Array([Value::Integer(((i + batch) % 3) as i32)].into()))
            .collect();
        column(&Type::array(Type::Integer), &v)
    };
    let flat_words = |batch: usize| column(&Type::Varchar, &words(50 + batch)[batch..]);
    type Make<'a> = (Type, Box<dyn Fn(usize) -> VectorRef + 'a>);
    let make = |columns: Vec<Make<'_>>| {
        let batches = (0..4).map(|b| columns.iter().map(|(_, f)| f(b)).collect()).collect();
        (columns.iter().map(|(ty, _)| ty.clone()).collect(), batches)
    };
    vec![
        make(vec![(Type::Varchar, Box::new(dictionary))]),
        make(vec![(Type::Varchar, Box::new(dictionary)), (Type::Boolean, Box::new(booleans))]),
        make(vec![(Type::Varchar, Box::new(constants)), (Type::Varchar, Box::new(dictionary))]),
        make(vec![(Type::Varchar, Box::new(flat_words)), (Type::Integer, Box::new(integers))]),
        make(vec![(Type::Double, Box::new(floats))]),
        make(vec![(Type::array(Type::Integer), Box::new(lists))]),
        make(vec![(
            Type::Varchar,
            // The same key is in a dictionary in one batch and in a flat vector in the next.
            Box::new(|batch| if batch % 2 == 0 { dictionary(batch) } else { flat_words(batch) }),
        )]),
    ]
}

#[test]
fn groups_are_the_distinct_keys_in_the_order_of_their_first_rows() {
    for (types, batches) in key_batches() {
        let mut table = GroupTable::new(&types);
        let mut expected: Vec<Vec<Value>> = Vec::new();
        let mut ids = Vec::new();
        for keys in &batches {
            table.assign(keys, 50, &mut ids).unwrap();
            let columns: Vec<Vec<Value>> = keys.iter().map(values).collect();
            for (row, id) in ids.iter().enumerate() {
                let key: Vec<Value> = columns.iter().map(|c| c[row].clone()).collect();
                let same =
                    |other: &Vec<Value>| other.iter().zip(&key).all(|(a, b)| a.compare(b).is_eq());
                let wanted = expected.iter().position(same).unwrap_or(expected.len());
                if wanted == expected.len() {
                    expected.push(key);
                }
                assert_eq!(*id as usize, wanted, "{types:?} row {row}");
            }
        }
        assert_eq!(table.len(), expected.len());
        let keys = table.keys(0..table.len()).unwrap();
        for (column, key) in keys.iter().enumerate() {
            for (group, value) in values(key).iter().enumerate() {
                assert!(value.compare(&expected[group][column]).is_eq());
            }
        }
        let some = table.keys(1..2).unwrap();
        assert_eq!(values(&some[0]).len(), 1);
    }
}

#[test]
fn many_groups_keep_their_own_sums() {
    let mut table = GroupTable::new(&[Type::BigInt]);
    let mut sum = registry::accumulator("sum", &[Type::BigInt]).unwrap();
    let mut expected: HashMap<i64, i64> = HashMap::new();
    let mut ids = Vec::new();
    for batch in 0..20i64 {
        let keys: Vec<i64> = (0..1_000).map(|i| (i * 7_919 + batch * 13) % 5_003).collect();
        for key in &keys {
            *expected.entry(*key).or_default() += key * 2;
        }
        let doubled: Vec<i64> = keys.iter().map(|k| k * 2).collect();
        table.assign(&[bigints(&keys)], 1_000, &mut ids).unwrap();
        sum.resize(table.len());
        let column = Column::new(bigints(&doubled)).unwrap();
        sum.update(Groups::Each { ids: &ids }, &[column]).unwrap();
    }
    let keys = &table.keys(0..table.len()).unwrap()[0];
    let sums = sum.output(0, Part::Result, 0..table.len()).unwrap();
    assert_eq!(table.len(), expected.len());
    for row in
        sorted_rows(std::slice::from_ref(keys), &[SortOrder::default()], keys.len()).unwrap().iter()
    {
        let key = values(keys)[*row as usize].as_i64().unwrap();
        assert_eq!(values(&sums)[*row as usize], Value::BigInt(expected[&key]));
        if key > 50 {
            break;
        }
    }
}

#[test]
fn sets_bits_and_any_values_pass_over_what_they_know() {
    let ty = Type::BigInt;
    let [five, seven] = [Value::BigInt(5), Value::BigInt(7)];
    let rows = |values: &[&Value]| {
        column(&ty, &values.iter().map(|value| (*value).clone()).collect::<Vec<_>>())
    };
    let null = Value::Null;
    let batches = [
        (Some(vec![0, 0, 1]), rows(&[&null, &five, &null])),
        (Some(vec![0, 0, 0]), rows(&[&seven, &five, &null])),
    ];
    let set = |values: &[&Value]| Value::Array(values.iter().map(|v| (*v).clone()).collect());
    let expected = [
        ("set_agg", set(&[&null, &five, &seven]), set(&[&null])),
        ("any_value", five.clone(), null.clone()),
        ("arbitrary", five.clone(), null.clone()),
        ("bitwise_and_agg", Value::BigInt(5), null.clone()),
        ("bitwise_or_agg", Value::BigInt(7), null.clone()),
        ("bitwise_xor_agg", Value::BigInt(5 ^ 7 ^ 5), null.clone()),
    ];
    for (function, first, second) in expected {
        assert_eq!(aggregate(function, &ty, &batches), [first, second], "{function}");
    }
}
