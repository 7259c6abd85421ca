//! A simple model that evaluates expressions for one row: the oracle of the property tests.

use std::cmp::Ordering;

use super::*;
use vector::Interval;
use vector::types::calendar::{civil_from_days, days_from_civil};
use vector::types::decimal::{fits, power_of_ten};

/// An expression that fails for a row.
#[derive(Debug, PartialEq)]
pub(super) struct Failed;

type Outcome = Result<Value, Failed>;

/// Returns the value of `expr`, where `column` returns the values of columns.
pub(super) fn model(expr: &TypedExpr, column: &dyn Fn(&str) -> Value) -> Outcome {
    match expr {
        TypedExpr::Field { name, .. } => Ok(column(name)),
        TypedExpr::Constant { value, .. } => Ok(value.clone()),
        TypedExpr::Call { name, args, ty } => {
            let arg = |i: usize| model(&args[i], column);
            match &**name {
                "and" => junction(args, column, false),
                "or" => junction(args, column, true),
                "if" | "switch" => {
                    let mut i = 0;
                    while i + 1 < args.len() {
                        if arg(i)? == Value::Boolean(true) {
                            return arg(i + 1);
                        }
                        i += 2;
                    }
                    if i < args.len() { arg(i) } else { Ok(Value::Null) }
                }
                "coalesce" => {
                    for i in 0..args.len() {
                        let value = arg(i)?;
                        if !value.is_null() {
                            return Ok(value);
                        }
                    }
                    Ok(Value::Null)
                }
                // Null when any argument is null, even if one bound decides.
                "between" => {
                    let terms = [("gte", 1), ("lte", 2)].map(|(name, bound)| {
                        model(&call(name, vec![args[0].clone(), args[bound].clone()]), column)
                    });
                    match terms {
                        [Ok(Value::Null), _] | [_, Ok(Value::Null)] => Ok(Value::Null),
                        [Ok(above), Ok(below)] => {
                            Ok(if above == below { above } else { Value::Boolean(false) })
                        }
                        _ => Err(Failed),
                    }
                }
                name => {
                    let values = (0..args.len()).map(arg).collect::<Result<Vec<_>, _>>()?;
                    let types: Vec<&Type> = args.iter().map(TypedExpr::ty).collect();
                    scalar(name, &values, &types, ty)
                }
            }
        }
        other => panic!("no model of {other}"),
    }
}

/// A term with the deciding value decides, whatever the other terms are.
fn junction(args: &[TypedExpr], column: &dyn Fn(&str) -> Value, deciding: bool) -> Outcome {
    let terms: Vec<Outcome> = args.iter().map(|arg| model(arg, column)).collect();
    if terms.contains(&Ok(Value::Boolean(deciding))) {
        Ok(Value::Boolean(deciding))
    } else if terms.contains(&Err(Failed)) {
        Err(Failed)
    } else if terms.contains(&Ok(Value::Null)) {
        Ok(Value::Null)
    } else {
        Ok(Value::Boolean(!deciding))
    }
}

fn text(value: &Value) -> String {
    String::from_utf8(value.as_bytes().unwrap().to_vec()).unwrap()
}

fn scalar(name: &str, values: &[Value], types: &[&Type], result: &Type) -> Outcome {
    match name {
        "is_null" => return Ok(Value::Boolean(values[0].is_null())),
        "distinct_from" => return Ok(Value::Boolean(values[0] != values[1])),
        "in" if !values[0].is_null() => {
            return Ok(match values[1..].contains(&values[0]) {
                true => Value::Boolean(true),
                false if values.contains(&Value::Null) => Value::Null,
                false => Value::Boolean(false),
            });
        }
        _ => {}
    }
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let order = || values[0].cmp(&values[1]);
    Ok(match name {
        "eq" => Value::Boolean(order().is_eq()),
        "neq" => Value::Boolean(order().is_ne()),
        "lt" => Value::Boolean(order().is_lt()),
        "lte" => Value::Boolean(order().is_le()),
        "gt" => Value::Boolean(order().is_gt()),
        "gte" => Value::Boolean(order().is_ge()),
        "not" => Value::Boolean(values[0] == Value::Boolean(false)),
        "plus" | "minus" if types[1] == &Type::Interval => {
            return moved(&values[0], &values[1], name == "minus");
        }
        "greatest" | "least" => {
            let wins = if name == "greatest" { Ordering::Greater } else { Ordering::Less };
            let mut best = &values[0];
            for value in &values[1..] {
                if value.cmp(best) == wins {
                    best = value;
                }
            }
            best.clone()
        }
        "year" => Value::BigInt(date_of(&values[0]).0),
        "month" => Value::BigInt(date_of(&values[0]).1.into()),
        "day" => Value::BigInt(date_of(&values[0]).2.into()),
        "date_trunc" => {
            let (year, month, _) = date_of(&values[1]);
            let first = match &*text(&values[0]) {
                "month" => month,
                "quarter" => month - (month - 1) % 3,
                _ => 1,
            };
            Value::Integer(days_from_civil(year, first, 1).unwrap() as i32)
        }
        "plus" | "minus" | "multiply" | "divide" | "modulus" => {
            return arithmetic(name, values, types, result);
        }
        "negate" => stored(result, -values[0].as_i128().unwrap())?,
        "abs" => stored(result, values[0].as_i128().unwrap().abs())?,
        "length" => Value::BigInt(text(&values[0]).chars().count() as i64),
        "lower" => Value::bytes(text(&values[0]).to_lowercase()),
        "upper" => Value::bytes(text(&values[0]).to_uppercase()),
        "concat" => Value::bytes(values.iter().map(text).collect::<String>()),
        "trim" => Value::bytes(text(&values[0]).trim_matches(' ')),
        "starts_with" => Value::Boolean(text(&values[0]).starts_with(&text(&values[1]))),
        "ends_with" => Value::Boolean(text(&values[0]).ends_with(&text(&values[1]))),
        "strpos" => {
            let (text, part) = (text(&values[0]), text(&values[1]));
            Value::BigInt(text.find(&part).map_or(0, |at| text[..at].chars().count() as i64 + 1))
        }
        "substr" => {
            let characters: Vec<char> = text(&values[0]).chars().collect();
            let start = values[1].as_i64().unwrap();
            let length = values.get(2).map_or(i64::MAX, |v| v.as_i64().unwrap());
            let first = if start < 0 { characters.len() as i64 + start } else { start - 1 };
            let taken: String = if first < 0 || length < 0 {
                String::new()
            } else {
                characters.into_iter().skip(first as usize).take(length as usize).collect()
            };
            Value::bytes(taken)
        }
        "like" => {
            let (text, pattern): (Vec<char>, Vec<char>) =
                (text(&values[0]).chars().collect(), text(&values[1]).chars().collect());
            Value::Boolean(like(&text, &pattern))
        }
        other => panic!("no model of {other}"),
    })
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skip| like(&text[skip..], rest)),
        Some(('_', rest)) => !text.is_empty() && like(&text[1..], rest),
        Some((c, rest)) => text.first() == Some(c) && like(&text[1..], rest),
    }
}

/// Returns year, month and day of a DATE or TIMESTAMP.
fn date_of(point: &Value) -> (i64, u32, u32) {
    civil_from_days(match point {
        Value::Timestamp(point) => point.days(),
        days => days.as_i64().unwrap(),
    })
}

/// Adds an interval to a DATE, one month at a time and then one day at a time.
fn moved(date: &Value, by: &Value, back: bool) -> Outcome {
    let by = Interval::from_stored(by.as_i128().unwrap());
    let (mut year, mut month, day) = date_of(date);
    for _ in 0..by.months {
        (year, month) = match (back, month) {
            (false, 12) => (year + 1, 1),
            (false, month) => (year, month + 1),
            (true, 1) => (year - 1, 12),
            (true, month) => (year, month - 1),
        };
    }
    let mut days = (1..=day).rev().find_map(|day| days_from_civil(year, month, day)).unwrap();
    for _ in 0..by.days + by.millis / 86_400_000 {
        days += if back { -1 } else { 1 };
    }
    days.try_into().map(Value::Integer).map_err(|_| Failed)
}

/// Returns an integer as a value of `ty`, if it fits.
fn stored(ty: &Type, value: i128) -> Outcome {
    if let Type::Decimal { precision, .. } = ty
        && !fits(value, *precision)
    {
        return Err(Failed);
    }
    match ty.kind() {
        vector::TypeKind::TinyInt => value.try_into().map(Value::TinyInt),
        vector::TypeKind::SmallInt => value.try_into().map(Value::SmallInt),
        vector::TypeKind::Integer => value.try_into().map(Value::Integer),
        vector::TypeKind::BigInt => value.try_into().map(Value::BigInt),
        _ => Ok(Value::HugeInt(value)),
    }
    .map_err(|_| Failed)
}

fn arithmetic(name: &str, values: &[Value], types: &[&Type], result: &Type) -> Outcome {
    if let (Value::Double(x), Value::Double(y)) = (&values[0], &values[1]) {
        return Ok(Value::Double(match name {
            "plus" => x + y,
            "minus" => x - y,
            "multiply" => x * y,
            "divide" => x / y,
            _ => x % y,
        }));
    }
    let scale_of = |ty: &Type| match ty {
        Type::Decimal { scale, .. } => *scale,
        _ => 0,
    };
    let (s1, s2, scale) = (scale_of(types[0]), scale_of(types[1]), scale_of(result));
    let (mut x, mut y) = (values[0].as_i128().unwrap(), values[1].as_i128().unwrap());
    let power = |exponent: u8| power_of_ten(exponent).unwrap();
    if matches!(name, "plus" | "minus" | "modulus") {
        x = x.checked_mul(power(s1.max(s2) - s1)).ok_or(Failed)?;
        y = y.checked_mul(power(s1.max(s2) - s2)).ok_or(Failed)?;
    }
    let exact = match name {
        "plus" => x.checked_add(y),
        "minus" => x.checked_sub(y),
        "multiply" => x.checked_mul(y),
        _ if y == 0 => None,
        "modulus" => x.checked_rem(y),
        _ if matches!(result, Type::Decimal { .. }) => {
            let x = x.checked_mul(power(scale + s2 - s1)).ok_or(Failed)?;
            // Rounds half away from zero.
            let double = x.abs() * 2 + y.abs();
            Some(double / (y.abs() * 2) * x.signum() * y.signum())
        }
        _ => x.checked_div(y),
    };
    stored(result, exact.ok_or(Failed)?)
}
