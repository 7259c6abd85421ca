//! Tests every function and every cast at the limits of each type. Results are tested elsewhere.
//! This test detects overflows, slices outside of a string and other panics, because tests are
//! compiled with overflow checks. An error counts as a valid result.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vector::testing::{batch_of_vectors, vector};
use vector::{Interval, TimeUnit, Timestamp, VectorRef};

use super::*;

/// Functions with a result as long as a number states. Their memory limit is tested elsewhere.
const SIZED_BY_A_NUMBER: [&str; 4] = ["lpad", "rpad", "repeat", "sequence"];

/// Strings that are numbers, times and other text, at and beyond the limits of types.
const TEXTS: [&str; 40] = [
    "",
    " ",
    "-",
    "+",
    ".",
    "0",
    "-0",
    "1",
    "127",
    "-129",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "170141183460469231731687303715884105727",
    "170141183460469231731687303715884105727.5",
    "-170141183460469231731687303715884105728.5",
    "99999999999999999999999999999999999999.99",
    "0.99999999999999999999999999999999999999999",
    "1e400",
    "-1e-400",
    "1e2147483647",
    "1e-2147483648",
    "NaN",
    "-Infinity",
    "2147483647-12-31",
    "999999999-12-31",
    "-999999999-01-01 00:00:00",
    "+292278994-08-17 07:12:55.807",
    "1969-12-31 23:59:59.999999999",
    "2020-02-30",
    "2020-02-29 23:59:59.9999999999",
    "24:00:00",
    "23:59:59.999999999",
    "%Y-%m-%d %H:%i:%s",
    "year",
    "day",
    "millisecond",
    "true",
    "\u{e4}\u{1f30d}",
    "%a\\_b%",
];

fn bigints(values: &[i64]) -> Vec<Value> {
    values.iter().copied().map(Value::BigInt).collect()
}

/// Types with the limits of their ranges and neighbouring values.
fn edges() -> Vec<(Type, Vec<Value>)> {
    let decimal = |precision, scale| {
        let ty = Type::decimal(precision, scale).unwrap();
        let end = 10i128.pow(precision.into()) - 1;
        let values = [0, 1, -1, 5.min(end), end, -end, end / 2 + 1].map(|v| match ty.kind() {
            vector::TypeKind::BigInt => Value::BigInt(v as i64),
            _ => Value::HugeInt(v),
        });
        (ty, values.to_vec())
    };
    let wide = [0, 1, -1, i128::MAX, i128::MIN, i128::MAX / 2 + 1].map(Value::HugeInt);
    let doubles = [
        0.0,
        -0.0,
        0.5,
        -1.5,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        9.3e18,
        -1.8e38,
    ];
    let intervals = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (u32::MAX, u32::MAX, u32::MAX)];
    let intervals =
        intervals.map(|(months, days, millis)| Interval { months, days, millis }.to_stored());
    let times = [(0, 0), (-1, 999_999_999), (i64::MAX, 999_999_999), (i64::MIN, 0), (1 << 40, 5)];
    let times = times.map(|(seconds, nanos)| Value::Timestamp(Timestamp::new(seconds, nanos)));
    let list = |values: &[i64]| Value::Array(bigints(values).into());
    let texts: Vec<Value> = TEXTS.iter().map(|text| Value::bytes(*text)).collect();
    let bytes = [&[][..], &[0], &[0xff, 0x80, 0x41], &[0xc3]].map(Value::bytes);
    let pair = |key: i64| (Value::BigInt(key), Value::BigInt(key));
    let maps = [Value::Map([].into()), Value::Map([pair(1), pair(i64::MIN)].into())];
    vec![
        (Type::Boolean, [true, false].map(Value::Boolean).to_vec()),
        (Type::TinyInt, [0, 1, -1, i8::MIN, i8::MAX].map(Value::TinyInt).to_vec()),
        (Type::SmallInt, [0, 1, -1, i16::MIN, i16::MAX].map(Value::SmallInt).to_vec()),
        (Type::Integer, [0, 1, -1, 40, i32::MIN, i32::MAX].map(Value::Integer).to_vec()),
        (Type::BigInt, bigints(&[0, 1, -1, 40, i64::MIN, i64::MAX, i32::MIN.into()])),
        (Type::HugeInt, wide.to_vec()),
        (Type::Float16, [0.0, -1.5, 65504.0, f32::NAN].map(Value::Real).to_vec()),
        (Type::Real, [0.0, -0.5, f32::MAX, f32::MIN, f32::NAN].map(Value::Real).to_vec()),
        (Type::Double, doubles.map(Value::Double).to_vec()),
        (Type::Date, [0, -1, 18_321, i32::MIN, i32::MAX].map(Value::Integer).to_vec()),
        (Type::Time(TimeUnit::Millis), bigints(&[0, 86_399_999])),
        (Type::Time(TimeUnit::Nanos), bigints(&[0, 86_399_999_999_999])),
        (Type::Timestamp, times.to_vec()),
        (Type::Interval, intervals.map(Value::HugeInt).to_vec()),
        decimal(1, 0),
        decimal(1, 1),
        decimal(18, 0),
        decimal(18, 18),
        decimal(19, 1),
        decimal(38, 0),
        decimal(38, 20),
        decimal(38, 38),
        (Type::Uuid, wide.to_vec()),
        (Type::Varchar, texts),
        (Type::Varbinary, bytes.to_vec()),
        (Type::array(Type::BigInt), vec![list(&[]), list(&[i64::MIN, i64::MAX, 0])]),
        (Type::map(Type::BigInt, Type::BigInt), maps.to_vec()),
    ]
}

/// Evaluates `expr` over columns a, b and c of all combinations of values, as one batch and row by
/// row.
fn evaluate_all(expr: &TypedExpr, columns: &[&(Type, Vec<Value>)]) {
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for (_, values) in columns {
        let with = |row: &Vec<Value>| {
            let row = row.clone();
            values.iter().map(move |value| [row.clone(), vec![value.clone()]].concat())
        };
        rows = rows.iter().flat_map(with).collect();
    }
    let names = ["a", "b", "c"];
    let batch = |rows: &[Vec<Value>]| {
        if columns.is_empty() {
            return RowVector::batch(Arc::new(RowType::empty()), 1, vec![]).unwrap();
        }
        let column = |(i, (ty, _)): (usize, &&(Type, Vec<Value>))| {
            let values: Vec<Value> = rows.iter().map(|row| row[i].clone()).collect();
            (names[i], vector(ty, &values))
        };
        let columns: Vec<(&str, VectorRef)> = columns.iter().enumerate().map(column).collect();
        batch_of_vectors(&columns)
    };
    let registry = FunctionRegistry::builtin();
    let all = batch(&rows);
    let Ok(mut set) = ExprSet::compile(std::slice::from_ref(expr), all.row_type(), &registry)
    else {
        return;
    };
    let mut run = |batch: &RowVector, what: &[Vec<Value>]| {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let selected = SelectivityVector::all(batch.len());
            if let Ok(vectors) = ExprSet::evaluate(&mut set, batch, &selected) {
                vectors.iter().for_each(|vector| vector::check::check(vector).unwrap());
            }
        }));
        if outcome.is_err() {
            panic!("{expr} panics, {} rows, the first is {:?}", what.len(), what.first());
        }
    };
    run(&all, &rows);
    // One error ends a batch, so the rows after it are only evaluated individually.
    let step = rows.len().div_ceil(60).max(1);
    for row in rows.iter().step_by(step) {
        run(&batch(std::slice::from_ref(row)), std::slice::from_ref(row));
    }
}

fn columns_of(columns: &[&(Type, Vec<Value>)]) -> Vec<TypedExpr> {
    columns.iter().zip(["a", "b", "c"]).map(|((ty, _), name)| column(name, ty.clone())).collect()
}

#[test]
fn no_function_panics_at_the_ends_of_its_arguments() {
    let registry = FunctionRegistry::builtin();
    let edges = edges();
    // Three arguments have too many combinations, so fewer values and fewer different types are
    // used.
    let few = |(ty, values): &(Type, Vec<Value>)| {
        let step = values.len().div_ceil(10);
        (ty.clone(), values.iter().step_by(step).cloned().collect::<Vec<_>>())
    };
    let few: Vec<(Type, Vec<Value>)> = edges.iter().map(few).collect();
    let apart = [Type::BigInt, Type::Double, Type::Date, Type::Timestamp, Type::Varchar];
    let apart: Vec<_> = few.iter().filter(|(ty, _)| apart.contains(ty)).collect();
    let mut tuples: Vec<Vec<&(Type, Vec<Value>)>> = vec![vec![]];
    tuples.extend(edges.iter().map(|one| vec![one]));
    tuples.extend(edges.iter().flat_map(|a| edges.iter().map(move |b| vec![a, b])));
    tuples.extend(few.iter().map(|one| vec![one; 3]));
    for a in &apart {
        for b in &apart {
            tuples.extend(apart.iter().map(|c| vec![*a, *b, *c]));
        }
    }
    let mut num_calls = 0;
    for name in registry.names().filter(|name| !SIZED_BY_A_NUMBER.contains(name)) {
        for columns in &tuples {
            let types: Vec<Type> = columns.iter().map(|(ty, _)| ty.clone()).collect();
            let Ok(resolved) = registry.resolve(name, &types) else { continue };
            // A call with other types is equivalent to one of these with casts of its arguments.
            if resolved.args == types {
                let expr = TypedExpr::call(name, columns_of(columns), resolved.result);
                evaluate_all(&expr, columns);
                num_calls += 1;
            }
        }
    }
    assert!(num_calls > 300, "{num_calls} calls");
}

#[test]
fn no_cast_panics_at_the_ends_of_its_argument() {
    let edges = edges();
    for from in &edges {
        for (to, _) in &edges {
            let cast = TypedExpr::cast(column("a", from.0.clone()), to.clone());
            evaluate_all(&cast, &[from]);
        }
    }
}
