//! Partition values: conversion between directory names, text and typed values.
//!
//! ```text
//! directory name   ds=2019-12-31 16%3A00   -> (key, escaped text)    split_name
//! escaped text     2019-12-31 16%3A00      -> text, or null          unescape, null name
//! text             2019-12-31 16:00        -> Value of a type        parse_value
//! ```
//!
//! Escapes and the placeholder for null occur in directory names only: [`parse_value`] takes its
//! text literally (rule S8.1).

use vector::types::{decimal, temporal, uuid};
use vector::{Error, Result, ResultExt, Timestamp, Type, Value};

use crate::zone::ProcessZone;

/// Directory name of a null or empty value.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Text form of dates in partition values (rule S8.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateText {
    /// `YYYY-MM-DD`.
    #[default]
    Iso,
    /// Days since 1970-01-01.
    Days,
}

/// Options for parsing the text of a partition value.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextRules<'a> {
    /// Text form of dates.
    pub dates: DateText,
    /// Zone of timestamps; `None` if they are in UTC (rule S8.9).
    pub zone: Option<&'a ProcessZone>,
}

/// Parses a value of type `ty` from partition text; `None` is null.
///
/// # Errors
/// `InvalidInput` with column, text and type if the text is not valid for the type (rule S8.2),
/// `Unsupported` for a type that is not implemented, `Internal` for a nested type.
pub fn parse_value(
    column: &str,
    text: Option<&str>,
    ty: &Type,
    rules: TextRules<'_>,
) -> Result<Value> {
    let Some(text) = text else { return Ok(Value::Null) };
    if ty.is_nested() || matches!(ty, Type::Unknown) {
        return Err(Error::internal("a partition column of a type that has no text")
            .with("type", ty)
            .in_named("column", column));
    }
    if matches!(ty, Type::Interval | Type::Float16) {
        return Err(Error::unsupported("partition values of this type are not read yet")
            .with("type", ty)
            .in_named("column", column));
    }
    let value = parse_scalar(text, ty, rules.dates).ok_or_else(|| {
        Error::invalid_input("a partition value is not of its column's type")
            .with("column", column)
            .with("text", text)
            .with("type", ty)
    })?;
    match (value, rules.zone) {
        (Value::Timestamp(local), Some(zone)) => {
            zone.to_utc(local).in_named("column", column).map(Value::Timestamp)
        }
        (value, _) => Ok(value),
    }
}

fn parse_scalar(text: &str, ty: &Type, dates: DateText) -> Option<Value> {
    Some(match ty {
        Type::Boolean => Value::Boolean(parse_boolean(text)?),
        Type::TinyInt => Value::TinyInt(text.parse().ok()?),
        Type::SmallInt => Value::SmallInt(text.parse().ok()?),
        Type::Integer => Value::Integer(text.parse().ok()?),
        Type::BigInt => Value::BigInt(text.parse().ok()?),
        Type::HugeInt => Value::HugeInt(text.parse().ok()?),
        Type::Real => Value::Real(text.parse().ok()?),
        Type::Double => Value::Double(text.parse().ok()?),
        Type::Varchar | Type::Varbinary => Value::bytes(text),
        Type::Date => Value::Integer(match dates {
            DateText::Iso => i32::try_from(temporal::parse_date(text)?).ok()?,
            DateText::Days => text.parse().ok()?,
        }),
        Type::Time(unit) => {
            let (seconds, nanos) = temporal::parse_time(text)?;
            let nanos_per_unit = temporal::NANOS_PER_SECOND / unit.per_second() as u64;
            Value::BigInt(seconds * unit.per_second() + (nanos / nanos_per_unit) as i64)
        }
        // Presto's cast accepts only a space between date and time (rule S8.8).
        Type::Timestamp if text.contains('T') => return None,
        Type::Timestamp => Value::Timestamp(Timestamp::parse(text)?),
        Type::Decimal { precision, scale } => {
            let unscaled = decimal::parse(text, *precision, *scale)?;
            match i64::try_from(unscaled) {
                Ok(short) if *precision <= vector::types::MAX_SHORT_PRECISION => {
                    Value::BigInt(short)
                }
                _ => Value::HugeInt(unscaled),
            }
        }
        Type::Uuid => Value::HugeInt(uuid::parse(text)?),
        Type::Float16
        | Type::Interval
        | Type::Array(_)
        | Type::Map(..)
        | Type::Row(_)
        | Type::Unknown => return None,
    })
}

fn parse_boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "1" => Some(true),
        "f" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// Formats a value as partition text, before escaping. Null is empty text (rules S8.13 to S8.16).
/// Timestamps are formatted as local time of `zone`.
///
/// # Errors
/// `Unsupported` for types that Hive does not write into directory names, and for bytes that are
/// not UTF-8.
pub fn value_text(value: &Value, ty: &Type, zone: Option<&ProcessZone>) -> Result<String> {
    let mut out = String::new();
    // Writing to a string cannot fail, so the results of the writers are ignored.
    match (value, ty) {
        (Value::Null, _) => {}
        (Value::Boolean(v), Type::Boolean) => out.push_str(if *v { "true" } else { "false" }),
        (Value::Integer(days), Type::Date) => {
            let _ = temporal::write_date(&mut out, i64::from(*days));
        }
        (Value::BigInt(v), Type::Decimal { scale, .. }) => {
            let _ = decimal::write(&mut out, i128::from(*v), *scale);
        }
        (Value::Timestamp(v), Type::Timestamp) => {
            let local = zone.map(|zone| zone.to_local(*v)).transpose()?;
            out = timestamp_text(local.unwrap_or(*v));
        }
        (Value::Bytes(v), Type::Varchar | Type::Varbinary) => {
            out = String::from_utf8(v.to_vec()).map_err(|e| {
                Error::unsupported("a partition value is not UTF-8").with("type", ty).caused_by(e)
            })?;
        }
        (value, ty) if ty.is_integer() && value.as_i64().is_some() => {
            out = value.as_i64().unwrap_or_default().to_string();
        }
        _ => return Err(Error::unsupported("unsupported partition type").with("type", ty)),
    }
    Ok(out)
}

/// Formats a timestamp with milliseconds, without trailing zeros but with at least one digit.
fn timestamp_text(value: Timestamp) -> String {
    let whole = Timestamp::new(value.seconds(), 0);
    let millis = format!("{:03}", value.nanos() / 1_000_000);
    let digits = match millis.trim_end_matches('0') {
        "" => "0",
        kept => kept,
    };
    format!("{whole}.{digits}")
}

/// Returns the directory name `key=value` of one partition key, with both sides escaped. Null and
/// empty text become [`NULL_PARTITION`] (rules S8.14, S8.17).
pub fn directory_name(key: &str, text: Option<&str>) -> String {
    match text {
        None | Some("") => format!("{}={NULL_PARTITION}", escape(key)),
        // A text equal to the placeholder has one extra escape, so that it is read as a value (rule
        // S8.20).
        Some(NULL_PARTITION) => {
            let (last, start) = (NULL_PARTITION.len() - 1, escape(key));
            format!("{start}={}%5F", &NULL_PARTITION[..last])
        }
        Some(text) => format!("{}={}", escape(key), escape(text)),
    }
}

/// Parses a directory name `key=value` into the key and the text of the value. Returns `None` for a
/// name without exactly one `=` or without a key, which is an ordinary directory (rule S8.20).
///
/// # Errors
/// `InvalidInput` if unescaping yields bytes that are not UTF-8.
pub(crate) fn parse_directory_name(name: &str) -> Result<Option<(String, Option<String>)>> {
    let Some((key, text)) = name.split_once('=') else { return Ok(None) };
    if key.is_empty() || text.contains('=') {
        return Ok(None);
    }
    // The placeholder is compared before unescaping, since an escaped one is a value.
    let value = if text == NULL_PARTITION { None } else { Some(unescape(text)?) };
    Ok(Some((unescape(key)?, value)))
}

/// Replaces the characters that Hive does not allow in directory names by `%XX` (rule S8.18).
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let special = matches!(c, '\u{1}'..='\u{1f}' | '\u{7f}')
            || matches!(
                c,
                '"' | '#' | '%' | '\'' | '*' | '/' | ':' | '=' | '?' | '\\' | '{' | '[' | ']' | '^'
            );
        if special {
            out.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Replaces each `%XX` by its byte. A `%` without two hexadecimal digits after it stands for
/// itself, as in Hive, which also reads directories that it has not written.
///
/// # Errors
/// `InvalidInput` if the result is not UTF-8.
pub(crate) fn unescape(text: &str) -> Result<String> {
    if !text.contains('%') {
        return Ok(text.to_string());
    }
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => digit(high).zip(digit(low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                out.push((high * 16 + low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(out).map_err(|_| {
        Error::invalid_input("a partition directory name is not UTF-8").with("name", text)
    })
}

/// Infers the common type of texts: DATE if each is `YYYY-MM-DD`, BIGINT if each is an integer in
/// range, else VARCHAR. Nulls are ignored; without values the type is VARCHAR.
///
/// A text counts for a type only if its value would be formatted as the same text: `+1`, `007`,
/// `-0` and ` 1` are VARCHAR, so that the query sees the text of the directory.
pub(crate) fn inferred_type<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Type {
    let (mut dates, mut integers, mut any) = (true, true, false);
    for text in texts.into_iter().flatten() {
        any = true;
        dates = dates && is_plain_date(text);
        integers = integers && is_plain_integer(text);
        if !dates && !integers {
            return Type::Varchar;
        }
    }
    match (any, dates, integers) {
        (true, true, _) => Type::Date,
        (true, _, true) => Type::BigInt,
        _ => Type::Varchar,
    }
}

fn is_plain_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|value| value.to_string() == text)
}

fn is_plain_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(i, b)| match i {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    shaped && temporal::parse_date(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::{ErrorKind, TimeUnit};

    fn parse(text: &str, ty: &Type) -> Result<Value> {
        parse_value("p", Some(text), ty, TextRules::default())
    }

    /// Tests are compiled with overflow checks: a text at the limit of a type's range is a value or
    /// an error, never a panic, in any zone.
    #[test]
    fn no_text_overflows_whatever_the_columns_type() {
        let digits = ["0", "9", "99", "170141183460469231731687303715884105727", "1e2147483647"];
        let more = [".5", "170141183460469231731687303715884105727.5", "1e-2147483648", "-", "+."];
        let times = ["999999999-12-31", "-999999999-01-01 00:00:00", "+292278994-08-17 07:12:55.9"];
        let days = ["2147483647", "-2147483648", "23:59:59.999999999", "9999-12-31 23:59:59"];
        let texts = digits.into_iter().chain(more).chain(times).chain(days);
        let units = [TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos].map(Type::Time);
        let decimals = [(1, 0), (18, 18), (19, 0), (38, 0), (38, 38)]
            .map(|(precision, scale)| Type::Decimal { precision, scale });
        let others = [Type::TinyInt, Type::BigInt, Type::HugeInt, Type::Real, Type::Double];
        let at = [Type::Date, Type::Timestamp, Type::Uuid, Type::Boolean];
        let types: Vec<Type> = units.into_iter().chain(decimals).chain(others).chain(at).collect();
        let zones = ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"];
        let zones = zones.map(|name| Some(ProcessZone::named(name).unwrap()));
        for text in texts.flat_map(|text| [text.to_string(), format!("-{text}")]) {
            for (ty, zone) in types.iter().flat_map(|ty| zones.iter().map(move |zone| (ty, zone))) {
                for dates in [DateText::Iso, DateText::Days] {
                    let rules = TextRules { dates, zone: zone.as_ref() };
                    match parse_value("p", Some(&text), ty, rules) {
                        // Formatting may fail for types without a text form; it must not panic.
                        Ok(value) => drop(value_text(&value, ty, zone.as_ref())),
                        Err(error) => assert!(!error.message().is_empty()),
                    }
                }
            }
        }
    }

    /// Text is taken literally and converted by the casts of Presto; any failure is a user error
    /// (rules S8.1, S8.2, S8.7, S8.8).
    #[test]
    fn text_becomes_a_value_of_the_columns_type() {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let noon = Timestamp::new(1_577_880_000, 0);
        let cases = [
            ("T", Type::Boolean, Value::Boolean(true)),
            ("False", Type::Boolean, Value::Boolean(false)),
            ("0", Type::Boolean, Value::Boolean(false)),
            ("-128", Type::TinyInt, Value::TinyInt(-128)),
            ("+300", Type::SmallInt, Value::SmallInt(300)),
            ("-2147483648", Type::Integer, Value::Integer(i32::MIN)),
            ("9223372036854775807", Type::BigInt, Value::BigInt(i64::MAX)),
            ("9223372036854775808", Type::HugeInt, Value::HugeInt(1 << 63)),
            ("1.5e3", Type::Real, Value::Real(1500.0)),
            ("NaN", Type::Double, Value::Double(f64::NAN)),
            ("-Infinity", Type::Double, Value::Double(f64::NEG_INFINITY)),
            ("", Type::Varchar, Value::bytes("")),
            (NULL_PARTITION, Type::Varchar, Value::bytes(NULL_PARTITION)),
            ("a%20b", Type::Varchar, Value::bytes("a%20b")),
            ("YWJj", Type::Varbinary, Value::bytes("YWJj")),
            ("2020-01-02", Type::Date, Value::Integer(18_263)),
            ("12.34", decimal(10, 2), Value::BigInt(1234)),
            ("-0.5", decimal(38, 2), Value::HugeInt(-50)),
            ("01:02:03.004", Type::Time(TimeUnit::Millis), Value::BigInt(3_723_004)),
            (" 2020-01-01 12:00 ", Type::Timestamp, Value::Timestamp(noon)),
            ("2020-01-01", Type::Timestamp, Value::Timestamp(Timestamp::from_days(18_262))),
            ("00000000-0000-0000-0000-0000000000ff", Type::Uuid, Value::HugeInt(255)),
        ];
        for (text, ty, value) in cases {
            assert_eq!(parse(text, &ty).unwrap(), value, "{text} as {ty}");
            assert!(value.fits(&ty), "{text} as {ty}");
            assert!(parse_value("p", None, &ty, TextRules::default()).unwrap().is_null());
        }
    }

    #[test]
    fn s8_5_dates_may_be_days_since_1970() {
        let days = TextRules { dates: DateText::Days, zone: None };
        let parse = |text| parse_value("p", Some(text), &Type::Date, days);
        assert_eq!(parse("18263").unwrap(), Value::Integer(18_263));
        assert_eq!(parse("-1").unwrap(), Value::Integer(-1));
        assert!(parse("2020-01-02").is_err() && parse("2147483648").is_err());
    }

    #[test]
    fn s8_9_timestamps_may_be_local_times_and_are_written_as_such() {
        let zone = ProcessZone::named("America/Los_Angeles").unwrap();
        let rules = TextRules { zone: Some(&zone), ..TextRules::default() };
        let local = "2019-12-31 16:00:00.0";
        let value = parse_value("p", Some(local), &Type::Timestamp, rules).unwrap();
        assert_eq!(value, Value::Timestamp(Timestamp::from_days(18_262)));
        assert_eq!(value_text(&value, &Type::Timestamp, Some(&zone)).unwrap(), local);
        let text = Some("2023-03-12 02:30:00");
        let gap = parse_value("p", text, &Type::Timestamp, rules).unwrap_err();
        assert_eq!(gap.kind(), ErrorKind::InvalidInput);
        // Only TIMESTAMP is shifted by the zone (rule S8.10).
        assert!(parse_value("p", text, &Type::Varchar, rules).is_ok());
        let time = Type::Time(TimeUnit::Millis);
        let shown = parse_value("p", Some("02:30:00"), &time, rules).unwrap();
        assert_eq!(shown, Value::BigInt(9_000_000));
    }

    /// A text that is not valid for its type is a user error (rules S8.2, S8.8).
    #[test]
    fn text_of_another_type_is_refused_with_column_text_and_type() {
        let decimal = Type::Decimal { precision: 4, scale: 2 };
        let cases = [
            ("yes", Type::Boolean),
            ("300", Type::TinyInt),
            ("", Type::Integer),
            (" 1", Type::Integer),
            ("1.0", Type::BigInt),
            ("9223372036854775808", Type::BigInt),
            ("one", Type::Double),
            ("2021-02-29", Type::Date),
            ("18263", Type::Date),
            ("9999999-01-01", Type::Date),
            ("123.45", decimal),
            ("2020-01-01T00:00", Type::Timestamp),
            ("2020-01-01 00:00 UTC", Type::Timestamp),
            ("25:00", Type::Time(TimeUnit::Micros)),
            ("0000", Type::Uuid),
        ];
        for (text, ty) in cases {
            let error = parse(text, &ty).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text} as {ty}");
            assert_eq!(error.field("column"), Some("p"));
            assert_eq!(error.field("text"), Some(text));
            assert_eq!(error.field("type"), Some(ty.to_string().as_str()));
        }
        let nested = parse("1", &Type::array(Type::BigInt)).unwrap_err();
        assert_eq!(nested.kind(), ErrorKind::Internal);
        assert_eq!(parse("1", &Type::Interval).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    /// Special characters are escaped bytewise as `%XX` and restored by unescaping (rules S8.18,
    /// S8.20).
    #[test]
    fn escaping_follows_hive_and_comes_back() {
        let all: String = (1..=0x7f).map(char::from).chain("äß€".chars()).collect();
        assert_eq!(unescape(&escape(&all)).unwrap(), all);
        assert_eq!(escape("a/b:c=d%"), "a%2Fb%3Ac%3Dd%25");
        assert_eq!(escape(" }.-\0ä"), " }.-\0ä");
        assert_eq!(unescape("%c3%A4").unwrap(), "ä");
        for itself in ["%", "a%2", "%zz", "%+1", "%é1", "5%", "%%", "100%_off"] {
            assert_eq!(unescape(itself).unwrap(), itself);
        }
        assert_eq!(unescape("%%41%4").unwrap(), "%A%4");
        assert_eq!(unescape("%ff").unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    /// A directory name is the escaped key, `=` and the escaped value, with a placeholder for null
    /// (rules S8.14, S8.17, S8.20).
    #[test]
    fn a_directory_name_is_a_key_and_a_value_with_one_equals_sign() {
        let parsed = |name| parse_directory_name(name).unwrap();
        let pair = |k: &str, v: Option<&str>| Some((k.to_string(), v.map(str::to_string)));
        assert_eq!(parsed("ds=2020-01-01"), pair("ds", Some("2020-01-01")));
        assert_eq!(parsed("a%3Db=c%3Dd"), pair("a=b", Some("c=d")));
        assert_eq!(parsed("ds="), pair("ds", Some("")));
        assert_eq!(parsed("ds=__HIVE_DEFAULT_PARTITION__"), pair("ds", None));
        assert_eq!(parsed("ds=__HIVE_DEFAULT_PARTITION_%5F"), pair("ds", Some(NULL_PARTITION)));
        for plain in ["ds", "=x", "a=b=c", ""] {
            assert_eq!(parsed(plain), None, "{plain}");
        }
    }

    /// Values are formatted as Hive does for each supported type (rules S8.13, S8.14, S8.15, S8.16,
    /// S8.17).
    #[test]
    fn values_become_directory_names() {
        let name = |value, ty| {
            let text = value_text(&value, &ty, None).unwrap();
            directory_name("k", Some(&text))
        };
        assert_eq!(name(Value::Boolean(true), Type::Boolean), "k=true");
        assert_eq!(name(Value::TinyInt(-1), Type::TinyInt), "k=-1");
        assert_eq!(name(Value::Integer(18_263), Type::Date), "k=2020-01-02");
        assert_eq!(name(Value::BigInt(-5), Type::Decimal { precision: 9, scale: 2 }), "k=-0.05");
        assert_eq!(name(Value::Null, Type::BigInt), format!("k={NULL_PARTITION}"));
        assert_eq!(name(Value::bytes(""), Type::Varchar), format!("k={NULL_PARTITION}"));
        let placeholder = name(Value::bytes(NULL_PARTITION), Type::Varchar);
        let back = parse_directory_name(&placeholder).unwrap();
        assert_eq!(back, Some(("k".to_string(), Some(NULL_PARTITION.to_string()))));
        for (nanos, text) in [(0, "0"), (980_000_000, "98"), (123_456_789, "123")] {
            let value = Value::Timestamp(Timestamp::new(1_577_836_800, nanos));
            let expected = format!("k=2020-01-01 00%3A00%3A00.{text}");
            assert_eq!(name(value, Type::Timestamp), expected);
        }
        let refused = value_text(&Value::Double(1.0), &Type::Double, None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_value_of_an_inferred_type_is_written_as_the_text_it_came_from() {
        let mut random = vector::testing::Random::new(8);
        let mut num_typed = 0;
        for _ in 0..50_000 {
            let len = random.below(11);
            let alphabet: &[u8] = if random.chance(0.5) { b"0129" } else { b"0123456789+- e." };
            let mut text: String = (0..len).map(|_| char::from(*random.pick(alphabet))).collect();
            if random.chance(0.2) {
                text = format!(
                    "{:04}-{:02}-{:02}",
                    random.below(10_000),
                    random.below(14),
                    random.below(33)
                );
            }
            let ty = inferred_type([Some(text.as_str())]);
            if ty == Type::Varchar {
                continue;
            }
            num_typed += 1;
            let value = parse(&text, &ty).unwrap();
            assert_eq!(value_text(&value, &ty, None).unwrap(), text, "{ty}");
        }
        assert!(num_typed > 10_000);
    }

    #[test]
    fn types_are_inferred_from_all_values() {
        let infer = |texts: &[&str]| inferred_type(texts.iter().map(|t| Some(*t)));
        assert_eq!(infer(&["2020-01-01", "2020-02-29"]), Type::Date);
        assert_eq!(infer(&["2020-01-01", "2021-02-29"]), Type::Varchar);
        assert_eq!(infer(&["1", "-2"]), Type::BigInt);
        for text in ["01", "+1", "-0", " 1", "1 ", "1e3", "0x1", "007", "٣"] {
            assert_eq!(infer(&["5", text]), Type::Varchar, "{text:?}");
        }
        for text in ["+2020-01-01", "2020-1-01", "12020-01-01", "2020-01-01 ", "0000-13-01"] {
            assert_eq!(infer(&["2020-02-29", text]), Type::Varchar, "{text:?}");
        }
        assert_eq!(infer(&["1", "9223372036854775808"]), Type::Varchar);
        assert_eq!(infer(&["1", ""]), Type::Varchar);
        assert_eq!(infer(&[]), Type::Varchar);
        assert_eq!(inferred_type([None, Some("7")]), Type::BigInt);
        assert_eq!(inferred_type([None]), Type::Varchar);
    }
}
