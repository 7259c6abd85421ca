//! Parsing of scalars from text as Hive's lazy objects do it. `None` stands for a bad value.
//!
//! Numbers may have whitespace around them. Integers may have a fraction, which is truncated.
//! Booleans are only `true` and `false`, in any case. DATE and TIMESTAMP have no zone.

use vector::types::{decimal, temporal, uuid};
use vector::{Timestamp, Type, Value};

/// Returns true if values of a type can be stored as text without nesting.
pub(crate) fn has_text(ty: &Type) -> bool {
    !matches!(ty, Type::Float16 | Type::Interval) && !ty.is_nested()
}

/// Parses a value of `ty`, which is neither a string nor nested. Returns `None` if the text is not
/// valid for the type.
pub(crate) fn parse_scalar(text: &[u8], ty: &Type) -> Option<Value> {
    let text = std::str::from_utf8(text).ok()?;
    Some(match ty {
        Type::Boolean if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
        Type::Boolean if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
        Type::TinyInt => Value::TinyInt(integer(text)?),
        Type::SmallInt => Value::SmallInt(integer(text)?),
        Type::Integer => Value::Integer(integer(text)?),
        Type::BigInt => Value::BigInt(integer(text)?),
        Type::HugeInt => Value::HugeInt(integer(text)?),
        Type::Real => Value::Real(float(text)?),
        Type::Double => Value::Double(float(text)?),
        Type::Date => Value::Integer(date(text)?),
        Type::Time(unit) => {
            let (seconds, nanos) = temporal::parse_time(text.trim())?;
            let part = Timestamp::new(seconds, nanos).to_units(*unit)?;
            Value::BigInt(part)
        }
        Type::Timestamp => Value::Timestamp(Timestamp::parse(text)?),
        Type::Decimal { precision, scale } => {
            let unscaled = decimal::parse(text, *precision, *scale)?;
            if *precision <= vector::types::MAX_SHORT_PRECISION {
                Value::BigInt(i64::try_from(unscaled).ok()?)
            } else {
                Value::HugeInt(unscaled)
            }
        }
        Type::Uuid => Value::HugeInt(uuid::parse(text.trim())?),
        _ => return None,
    })
}

/// Parses `[+-]digits[.digits]` and truncates the fraction.
fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    let Some((whole, fraction)) = text.split_once('.') else { return text.parse().ok() };
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match whole {
        // A number without integer digits is 0 after truncation, whatever its sign.
        "" | "+" | "-" if !fraction.is_empty() => "0".parse().ok(),
        whole => whole.parse().ok(),
    }
}

/// Parses a float as Java writes it: `1.5`, `.5`, `1.`, `1e3`, `1.5f`, `NaN`, `-Infinity`.
fn float<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, "NaN" | "Infinity") {
        return text.parse().ok();
    }
    let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    // Rust also accepts other spellings of infinity and NaN, which are rejected here.
    let is_number = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if is_number { text.parse().ok() } else { None }
}

/// Parses a date, or the date part of a timestamp, as days since 1970-01-01.
fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    let date = text.split([' ', 'T']).next()?;
    i32::try_from(temporal::parse_date(date)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, ty: Type) -> Option<Value> {
        parse_scalar(text.as_bytes(), &ty)
    }

    #[test]
    fn numbers_are_read_with_blanks_and_fractions_and_refused_out_of_range() {
        assert_eq!(parse(" 12 ", Type::Integer), Some(Value::Integer(12)));
        assert_eq!(parse("-1.99", Type::BigInt), Some(Value::BigInt(-1)));
        assert_eq!(parse("-.5", Type::BigInt), Some(Value::BigInt(0)));
        assert_eq!(parse("7.", Type::SmallInt), Some(Value::SmallInt(7)));
        assert_eq!(parse("128", Type::TinyInt), None);
        for wrong in ["", " ", "1x", "0x10", "1e3", ".", "-", "1.5.5", "--1", "1_000"] {
            assert_eq!(parse(wrong, Type::BigInt), None, "{wrong}");
        }
        assert_eq!(parse("1.5f", Type::Double), Some(Value::Double(1.5)));
        assert_eq!(parse(".5", Type::Real), Some(Value::Real(0.5)));
        assert_eq!(parse("-Infinity", Type::Real), Some(Value::Real(f32::NEG_INFINITY)));
        assert_eq!(parse("NaN", Type::Double), Some(Value::Double(f64::NAN)));
        for wrong in ["nan", "inf", "infinity", "e5", "", "1.5ff", "f"] {
            assert_eq!(parse(wrong, Type::Double), None, "{wrong}");
        }
    }

    #[test]
    fn booleans_are_two_words_and_times_have_no_zone() {
        assert_eq!(parse("TRUE", Type::Boolean), Some(Value::Boolean(true)));
        assert_eq!(parse("False", Type::Boolean), Some(Value::Boolean(false)));
        assert_eq!(parse("1", Type::Boolean), None);
        assert_eq!(parse("2020-01-02", Type::Date), Some(Value::Integer(18_263)));
        assert_eq!(parse("2020-1-2 10:00:00", Type::Date), Some(Value::Integer(18_263)));
        assert_eq!(parse("2020-02-30", Type::Date), None);
        let noon = Value::Timestamp(Timestamp::new(1_577_880_000, 5_000_000));
        assert_eq!(parse("2020-01-01 12:00:00.005", Type::Timestamp), Some(noon.clone()));
        assert_eq!(parse("2020-01-01T12:00:00.005", Type::Timestamp), Some(noon));
        assert_eq!(parse("2020-01-01 12:00:00Z", Type::Timestamp), None);
        let decimal = Type::Decimal { precision: 4, scale: 1 };
        assert_eq!(parse("12.25", decimal.clone()), Some(Value::BigInt(123)));
        assert_eq!(parse("1234.5", decimal), None);
        let long = Type::Decimal { precision: 38, scale: 0 };
        assert_eq!(parse("1e3", long), Some(Value::HugeInt(1000)));
    }
}
