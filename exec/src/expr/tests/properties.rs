//! Compares every function with the model, over random columns with random encodings and
//! selections.

use super::model::{Failed, model};
use super::*;
use vector::testing::{Random, RandomVectors, batch_of_vectors};

const NUM_ROUNDS: u64 = 25;

/// Returns values that are often equal, overflow, or are zero.
fn some_value(random: &mut Random, ty: &Type) -> Value {
    if random.chance(0.15) {
        return Value::Null;
    }
    let small = random.between(-3, 3);
    let extreme = random.chance(0.05);
    match ty {
        Type::Boolean => Value::Boolean(random.chance(0.5)),
        Type::TinyInt => Value::TinyInt(if extreme { i8::MIN } else { small as i8 }),
        Type::SmallInt => Value::SmallInt(if extreme { i16::MAX } else { small as i16 }),
        Type::Integer => Value::Integer(if extreme { i32::MIN } else { small as i32 }),
        Type::Date if extreme => Value::Integer(*random.pick(&[i32::MIN, i32::MAX])),
        // The epoch, leap days and ends of months.
        Type::Date => {
            let near = *random.pick(&[0, 18_321, 19_782, -141_428, 11_016, -719_468]);
            Value::Integer(near + small as i32)
        }
        Type::Interval => {
            let (months, days) = (random.below(30) as u32, random.below(40) as u32);
            let millis = *random.pick(&[0, 5, 2 * 86_400_000 + 5]);
            Value::HugeInt(vector::Interval { months, days, millis }.to_stored())
        }
        Type::BigInt => Value::BigInt(if extreme { i64::MIN } else { small }),
        Type::HugeInt => Value::HugeInt(if extreme { i128::MAX } else { small.into() }),
        Type::Real => Value::Real(*random.pick(&[0.0, -0.0, 1.5, -2.0, f32::NAN])),
        Type::Double => Value::Double(*random.pick(&[0.0, -0.0, 1.5, f64::INFINITY, f64::NAN])),
        Type::Timestamp => Value::Timestamp(vector::Timestamp::new(small, small.unsigned_abs())),
        Type::Decimal { precision, .. } if *precision <= 18 => {
            Value::BigInt(if extreme { 10i64.pow(u32::from(*precision)) - 1 } else { small * 7 })
        }
        Type::Decimal { .. } => Value::HugeInt(i128::from(small) * 7),
        Type::Varchar => {
            let length = random.below(4);
            let long = if random.chance(0.3) { " and some text behind" } else { "" };
            let pieces = ["a", "b", "ä", "%", "_"];
            let start: String = (0..length).map(|_| *random.pick(&pieces)).collect();
            Value::bytes(start + long)
        }
        other => panic!("no values of {other}"),
    }
}

/// Returns a batch of 0 to 200 rows, and the values of its columns.
fn some_batch(
    vectors: &mut RandomVectors,
    columns: &[(&str, Type)],
) -> (RowVector, Vec<Vec<Value>>) {
    let num_rows = vectors.random().below(200);
    let mut plain = Vec::new();
    let mut encoded = Vec::new();
    for (name, ty) in columns {
        let mut values: Vec<Value> =
            (0..num_rows).map(|_| some_value(vectors.random(), ty)).collect();
        if vectors.random().chance(0.1)
            && let Some(first) = values.first().cloned()
        {
            values.fill(first);
        }
        encoded.push((*name, vectors.encode(ty, &values)));
        plain.push(values);
    }
    if encoded.is_empty() || num_rows == 0 {
        let row_type = RowType::new(columns.iter().cloned());
        return (RowVector::empty(Arc::new(row_type)), plain);
    }
    (batch_of_vectors(&encoded), plain)
}

fn some_rows(random: &mut Random, num_rows: usize) -> SelectivityVector {
    let mut rows = SelectivityVector::all(num_rows);
    let share = *random.pick(&[0.0, 0.2, 0.9, 1.0]);
    (0..num_rows).for_each(|row| rows.set(row, random.chance(share)));
    rows
}

/// Evaluates `expr` and compares it with the model: equal where every selected row has a value, an
/// error if one fails.
fn check(expr: &TypedExpr, batch: &RowVector, plain: &[Vec<Value>], rows: &SelectivityVector) {
    let of_row = |row: usize| {
        model(expr, &|name: &str| plain[batch.row_type().index_of(name).unwrap()][row].clone())
    };
    let expected: Result<Vec<Value>, Failed> = (0..batch.len())
        .map(|row| if rows.contains(row) { of_row(row) } else { Ok(Value::Null) })
        .collect();
    match (evaluate_rows(expr, batch, rows), expected) {
        (Ok(found), Ok(expected)) => {
            for (row, (f, e)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(f, e, "{expr} in row {row}");
            }
        }
        (Err(error), Err(Failed)) => assert!(error.is_user(), "{expr}: {error}"),
        (found, expected) => panic!("{expr}: found {found:?}, expected {expected:?}"),
    }
}

/// Checks `name` over columns of `types`, some of which are replaced by constants.
fn check_function(name: &str, types: &[Type]) {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let columns: Vec<(&str, Type)> = NAMES.into_iter().zip(types.iter().cloned()).collect();
    for seed in 0..NUM_ROUNDS {
        let mut vectors = RandomVectors::new(seed);
        let (batch, plain) = some_batch(&mut vectors, &columns);
        let rows = some_rows(vectors.random(), batch.len());
        let args = columns
            .iter()
            .map(|(name, ty)| match vectors.random().chance(0.3) {
                true => TypedExpr::constant(some_value(vectors.random(), ty), ty.clone()),
                false => column(name, ty.clone()),
            })
            .collect();
        check(&call(name, args), &batch, &plain, &rows);
    }
}

fn decimal_type(precision: u8, scale: u8) -> Type {
    Type::decimal(precision, scale).unwrap()
}

#[test]
fn comparisons_equal_the_model() {
    let types = [
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Integer,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::Date,
        Type::Timestamp,
        Type::Varchar,
        decimal_type(10, 2),
        decimal_type(30, 2),
    ];
    for ty in types {
        for name in ["eq", "neq", "lt", "lte", "gt", "gte", "distinct_from"] {
            check_function(name, &[ty.clone(), ty.clone()]);
        }
        check_function("between", &[ty.clone(), ty.clone(), ty.clone()]);
        check_function("in", &[ty.clone(), ty.clone(), ty.clone(), ty.clone()]);
        check_function("is_null", std::slice::from_ref(&ty));
        check_function("coalesce", &[ty.clone(), ty.clone(), ty.clone()]);
        check_function("switch", &[Type::Boolean, ty.clone(), Type::Boolean, ty.clone()]);
        check_function("if", &[Type::Boolean, ty.clone(), ty]);
    }
}

#[test]
fn membership_in_constants_equals_the_model() {
    for ty in [Type::Boolean, Type::Integer, Type::BigInt, Type::Double, Type::Varchar] {
        for seed in 0..NUM_ROUNDS {
            let mut vectors = RandomVectors::new(seed);
            let (batch, plain) = some_batch(&mut vectors, &[("a", ty.clone())]);
            let rows = some_rows(vectors.random(), batch.len());
            let mut args = vec![column("a", ty.clone())];
            for _ in 0..1 + vectors.random().below(5) {
                args.push(TypedExpr::constant(some_value(vectors.random(), &ty), ty.clone()));
            }
            check(&call("in", args), &batch, &plain, &rows);
        }
    }
}

#[test]
fn arithmetic_equals_the_model() {
    let operators = ["plus", "minus", "multiply", "divide", "modulus"];
    let integers = [Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::HugeInt];
    for ty in integers {
        for name in operators {
            check_function(name, &[ty.clone(), ty.clone()]);
        }
        check_function("negate", std::slice::from_ref(&ty));
        if ty != Type::HugeInt {
            check_function("abs", &[ty]);
        }
    }
    for name in operators {
        check_function(name, &[Type::Double, Type::Double]);
        for (left, right) in [
            (decimal_type(5, 2), decimal_type(5, 2)),
            (decimal_type(15, 2), decimal_type(10, 4)),
            (decimal_type(18, 0), decimal_type(18, 6)),
            (decimal_type(30, 4), decimal_type(9, 1)),
            (decimal_type(9, 1), decimal_type(30, 4)),
            (decimal_type(38, 3), decimal_type(38, 2)),
        ] {
            check_function(name, &[left, right]);
        }
    }
}

#[test]
fn text_functions_equal_the_model() {
    let text = Type::Varchar;
    for name in ["length", "lower", "upper", "trim"] {
        check_function(name, std::slice::from_ref(&text));
    }
    for name in ["concat", "starts_with", "ends_with", "strpos", "like"] {
        check_function(name, &[text.clone(), text.clone()]);
    }
    check_function("concat", &[text.clone(), text.clone(), text.clone(), text.clone()]);
    check_function("substr", &[text.clone(), Type::BigInt]);
    check_function("substr", &[text, Type::BigInt, Type::BigInt]);
}

#[test]
fn extremes_equal_the_model() {
    let types = [
        Type::Boolean,
        Type::TinyInt,
        Type::Integer,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::Timestamp,
        Type::Varchar,
        decimal_type(30, 2),
    ];
    for ty in types {
        for name in ["greatest", "least"] {
            check_function(name, std::slice::from_ref(&ty));
            check_function(name, &[ty.clone(), ty.clone(), ty.clone()]);
        }
    }
}

#[test]
fn functions_of_dates_equal_the_model() {
    for ty in [Type::Date, Type::Timestamp] {
        for name in ["year", "month", "day"] {
            check_function(name, std::slice::from_ref(&ty));
        }
    }
    for name in ["plus", "minus"] {
        check_function(name, &[Type::Date, Type::Interval]);
    }
    for unit in ["month", "quarter", "year"] {
        for seed in 0..NUM_ROUNDS {
            let mut vectors = RandomVectors::new(seed);
            let (batch, plain) = some_batch(&mut vectors, &[("a", Type::Date)]);
            // The first day of its first unit is outside of the range of DATE.
            let first = |value: &Value| matches!(value, Value::Integer(days) if *days == i32::MIN);
            let mut rows = some_rows(vectors.random(), batch.len());
            for (row, _) in plain[0].iter().enumerate().filter(|(_, value)| first(value)) {
                rows.set(row, false);
            }
            let args = vec![varchar(unit), column("a", Type::Date)];
            check(&call("date_trunc", args), &batch, &plain, &rows);
        }
    }
}

fn either(random: &mut Random, names: [&'static str; 2]) -> &'static str {
    names[random.below(2)]
}

/// Returns a random expression of the type. At most one of its nodes can fail, because the model
/// does not define which of two failures excuses the other.
fn some_tree(random: &mut Random, ty: &Type, depth: usize, may_fail: &mut bool) -> TypedExpr {
    if depth == 0 || random.chance(0.1) {
        return match (ty, random.chance(0.3)) {
            (ty, true) => TypedExpr::constant(some_value(random, ty), ty.clone()),
            (Type::Boolean, _) => column(either(random, ["p", "q"]), Type::Boolean),
            (Type::Varchar, _) => column(either(random, ["s", "t"]), Type::Varchar),
            _ => column(either(random, ["x", "y"]), Type::Integer),
        };
    }
    let mut some = |random: &mut Random, ty: &Type| some_tree(random, ty, depth - 1, may_fail);
    let shared = random.pick(&["if", "coalesce"]);
    match (ty, random.below(5)) {
        (ty, 0) if *shared == "if" => {
            let condition = some(random, &Type::Boolean);
            call("if", vec![condition, some(random, ty), some(random, ty)])
        }
        (ty, 0) => call("coalesce", vec![some(random, ty), some(random, ty)]),
        (Type::Boolean, 1) => call("not", vec![some(random, ty)]),
        (Type::Boolean, 2) => {
            let of = random.pick(&[Type::Integer, Type::Varchar]).clone();
            let name = *random.pick(&["eq", "lt", "gte", "distinct_from"]);
            call(name, vec![some(random, &of), some(random, &of)])
        }
        (Type::Boolean, _) => {
            let name = *random.pick(&["and", "or"]);
            let count = 2 + random.below(2);
            call(name, (0..count).map(|_| some(random, ty)).collect())
        }
        (Type::Varchar, _) => {
            let name = *random.pick(&["lower", "upper"]);
            call(name, vec![some(random, ty)])
        }
        _ if *may_fail => {
            *may_fail = false;
            let divisor = column("x", Type::Integer);
            call("divide", vec![column("y", Type::Integer), divisor])
        }
        _ => column("y", Type::Integer),
    }
}

#[test]
fn random_trees_equal_the_model() {
    let columns = [
        ("p", Type::Boolean),
        ("q", Type::Boolean),
        ("s", Type::Varchar),
        ("t", Type::Varchar),
        ("x", Type::Integer),
        ("y", Type::Integer),
    ];
    for seed in 0..600 {
        let mut vectors = RandomVectors::new(seed);
        let (batch, plain) = some_batch(&mut vectors, &columns);
        let rows = some_rows(vectors.random(), batch.len());
        let mut may_fail = true;
        let expr = some_tree(vectors.random(), &Type::Boolean, 4, &mut may_fail);
        check(&expr, &batch, &plain, &rows);
    }
}

/// Returns flat strings like those of a page: views into one buffer, in order or shuffled, some of
/// them short.
fn page_of(random: &mut Random, num_rows: usize) -> Vec<String> {
    let words = ["special", "requests", "specia", "quests", "x", "ä", "special requests"];
    let share_of_words = *random.pick(&[0.02, 0.3, 1.0]);
    let row = |_| {
        let mut text = String::new();
        for _ in 0..random.below(6) {
            text.push_str(if random.chance(share_of_words) {
                random.pick::<&str>(&words)
            } else {
                "ab"
            });
            text.push_str(random.pick::<&str>(&["", " ", ", "]));
        }
        text
    };
    (0..num_rows).map(row).collect()
}

#[test]
fn like_and_length_of_pages_of_strings_equal_those_of_each_string() {
    let patterns = ["%special%requests%", "%quest%", "ab%special%", "%special", "%x%", "%ä%x%"];
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let num_rows = random.below(4000);
        let texts = page_of(random, num_rows);
        let mut bytes = Vec::new();
        let mut views = Vec::new();
        for text in &texts {
            // Without lengths between the strings, a word may also span two strings.
            if random.chance(0.5) {
                bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            }
            views.push(vector::StringView::new(text.as_bytes(), 0, bytes.len() as u32));
            bytes.extend_from_slice(text.as_bytes());
        }
        let mut order: Vec<usize> = (0..num_rows).collect();
        if random.chance(0.3) {
            order.iter_mut().for_each(|row| *row = random.below(num_rows));
        }
        let validity: vector::Bitmap = (0..num_rows).map(|_| random.chance(0.9)).collect();
        let validity = random.chance(0.3).then_some(validity);
        let values = vector::StringValues::new(
            order.iter().map(|row| views[*row]).collect(),
            vec![vector::Buffer::from_slice(&bytes)],
        );
        let flat = vector::FlatVector::new(
            Type::Varchar,
            vector::FlatValues::String(values),
            validity.clone(),
        );
        let batch = batch_of_vectors(&[("a", Arc::new(vector::Vector::Flat(flat.unwrap())))]);
        let rows = some_rows(random, num_rows);
        let plain: Vec<Value> = order
            .iter()
            .enumerate()
            .map(|(row, at)| match &validity {
                Some(validity) if !validity.get(row) => Value::Null,
                _ => Value::bytes(texts[*at].as_str()),
            })
            .collect();
        let text = || column("a", Type::Varchar);
        let pattern = varchar(random.pick::<&str>(&patterns));
        check(&call("like", vec![text(), pattern]), &batch, std::slice::from_ref(&plain), &rows);
        check(&call("length", vec![text()]), &batch, std::slice::from_ref(&plain), &rows);
    }
}
