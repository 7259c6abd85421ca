//! Tests casts by tables: text of the input, types, text of the result.

use super::*;

fn decimal_type(precision: u8, scale: u8) -> Type {
    Type::decimal(precision, scale).unwrap()
}

/// Casts `text` to `from`, then to `to`, then back to text.
fn converted(text: &str, from: &Type, to: &Type) -> Result<String> {
    let input = TypedExpr::cast(varchar(text), from.clone());
    let output = TypedExpr::cast(TypedExpr::cast(input, to.clone()), Type::Varchar);
    match value(&output)? {
        Value::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn values_convert_to_every_type_that_has_room() {
    let (short, long) = (decimal_type(6, 2), decimal_type(30, 5));
    let table: &[(&str, Type, Type, &str)] = &[
        ("12", Type::BigInt, Type::TinyInt, "12"),
        ("-12", Type::TinyInt, Type::HugeInt, "-12"),
        ("12", Type::Integer, Type::Double, "12.0"),
        ("12", Type::Integer, short.clone(), "12.00"),
        ("0", Type::Integer, Type::Boolean, "false"),
        ("-3", Type::BigInt, Type::Boolean, "true"),
        ("2.5", Type::Double, Type::Integer, "3"),
        ("-2.5", Type::Double, Type::BigInt, "-3"),
        ("0.1", Type::Double, Type::Real, "0.1"),
        ("0.5", Type::Real, Type::Double, "0.5"),
        ("0.285", Type::Double, short.clone(), "0.29"),
        ("1e3", Type::Double, long.clone(), "1000.00000"),
        ("0.0", Type::Double, Type::Boolean, "false"),
        ("12.345", long.clone(), short.clone(), "12.35"),
        ("-12.345", long.clone(), Type::Integer, "-12"),
        ("12.5", short.clone(), Type::BigInt, "13"),
        ("0.1", short.clone(), Type::Double, "0.1"),
        ("1234567890123456789.12345", long.clone(), Type::Double, "1.2345678901234568E18"),
        ("0.00", short.clone(), Type::Boolean, "false"),
        ("12.34", short.clone(), long, "12.34000"),
        ("true", Type::Boolean, Type::Integer, "1"),
        ("f", Type::Boolean, Type::Double, "0.0"),
        ("1", Type::Boolean, short, "1.00"),
        ("2024-02-29", Type::Date, Type::Timestamp, "2024-02-29 00:00:00.000"),
        ("1969-12-31 23:59:59.5", Type::Timestamp, Type::Date, "1969-12-31"),
        (
            "12:30:01.123456",
            Type::Time(vector::TimeUnit::Micros),
            Type::Time(vector::TimeUnit::Millis),
            "12:30:01.123",
        ),
        (
            "2000-01-01 12:30:01.5",
            Type::Timestamp,
            Type::Time(vector::TimeUnit::Millis),
            "12:30:01.5",
        ),
        ("héllo", Type::Varchar, Type::Varbinary, "héllo"),
    ];
    for (text, from, to, expected) in table {
        assert!(can_cast(from, to), "{from} to {to}");
        assert_eq!(converted(text, from, to).unwrap(), *expected, "{text}: {from} to {to}");
    }
}

#[test]
fn text_is_read_and_written_the_same() {
    let table: &[(&str, Type, &str)] = &[
        (" 42 ", Type::Integer, "42"),
        ("+7", Type::BigInt, "7"),
        (
            "-170141183460469231731687303715884105728",
            Type::HugeInt,
            "-170141183460469231731687303715884105728",
        ),
        ("1e10", Type::Double, "1.0E10"),
        ("nan", Type::Double, "NaN"),
        ("-Infinity", Type::Real, "-Infinity"),
        ("0.1", Type::Real, "0.1"),
        ("TRUE", Type::Boolean, "true"),
        ("1.005", decimal_type(10, 2), "1.01"),
        ("2020-1-5", Type::Date, "2020-01-05"),
        ("2020-01-05T10:00", Type::Timestamp, "2020-01-05 10:00:00.000"),
        ("9:05", Type::Time(vector::TimeUnit::Nanos), "09:05:00"),
        (
            "00112233-4455-6677-8899-AABBCCDDEEFF",
            Type::Uuid,
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    ];
    for (text, ty, expected) in table {
        assert_eq!(converted(text, ty, ty).unwrap(), *expected, "{text} as {ty}");
    }
}

#[test]
fn a_value_without_room_is_an_error_that_names_it_or_null() {
    let cast = |text: &str, from: &Type, to: &Type, try_cast| TypedExpr::Cast {
        input: Box::new(TypedExpr::cast(varchar(text), from.clone())),
        ty: to.clone(),
        try_cast,
    };
    let short = decimal_type(4, 2);
    let table: &[(&str, Type, Type)] = &[
        ("128", Type::Integer, Type::TinyInt),
        ("1e30", Type::Double, Type::BigInt),
        ("NaN", Type::Double, Type::Integer),
        ("Infinity", Type::Real, decimal_type(38, 0)),
        ("100", Type::BigInt, short.clone()),
        ("99.995", decimal_type(10, 3), short),
        ("12a", Type::Varchar, Type::Integer),
        ("", Type::Varchar, Type::Double),
        ("maybe", Type::Varchar, Type::Boolean),
        ("2023-02-29", Type::Varchar, Type::Date),
        ("1.2.3", Type::Varchar, decimal_type(10, 2)),
        ("00112233", Type::Varchar, Type::Uuid),
    ];
    for (text, from, to) in table {
        let error = value(&cast(text, from, to, false)).unwrap_err();
        assert_eq!(error.message(), "a value cannot be cast", "{text}: {from} to {to}");
        assert_eq!(error.field("to"), Some(to.to_string().as_str()));
        assert_value(cast(text, from, to, true), Value::Null);
    }
    assert_error(
        cast("12a", &Type::Varchar, &Type::Integer, false),
        "a value cannot be cast (value=12a from=VARCHAR to=INTEGER)",
    );
}

#[test]
fn only_rows_that_count_must_convert() {
    let text = |t: &str| Value::bytes(t);
    let batch = batch_of(&[("s", Type::Varchar, vec![text("1"), text("x"), Value::Null])]);
    let field = || Box::new(column("s", Type::Varchar));
    let strict = TypedExpr::cast(*field(), Type::BigInt);
    let mut rows = SelectivityVector::all(3);
    rows.set(1, false);
    assert_eq!(
        evaluate_rows(&strict, &batch, &rows).unwrap(),
        [Value::BigInt(1), Value::Null, Value::Null]
    );
    assert!(evaluate(&strict, &batch).is_err());
    let tried = TypedExpr::Cast { input: field(), ty: Type::BigInt, try_cast: true };
    assert_eq!(evaluate(&tried, &batch).unwrap(), [Value::BigInt(1), Value::Null, Value::Null]);
}

#[test]
fn casts_that_do_not_exist_are_refused_when_compiled() {
    for (from, to) in [
        (Type::Date, Type::Integer),
        (Type::BigInt, Type::Timestamp),
        (Type::Varchar, Type::Interval),
        (Type::Double, Type::Float16),
        (Type::array(Type::BigInt), Type::Varchar),
    ] {
        assert!(!can_cast(&from, &to), "{from} to {to}");
    }
    assert!(can_cast(&Type::Unknown, &Type::array(Type::Date)));
    assert_error(
        TypedExpr::cast(TypedExpr::cast(null(Type::Unknown), Type::Date), Type::Integer),
        "there is no cast between these types (from=DATE to=INTEGER)",
    );
}
