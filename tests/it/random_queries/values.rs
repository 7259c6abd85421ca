//! Values and types of the naive evaluator, independent of the engine's own.
//!
//! [`Datum`] has one total order: null first, `-0.0` equal to `0.0`, NaN equal to itself and above
//! all numbers. It serves groups, sorting and the comparison of results. Comparisons in SQL are
//! [`Datum::compare`], which is unknown where a side is null.

use std::cmp::Ordering;
use std::fmt::Write;

use vector::Value;

/// The type of a column or expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// TINYINT to BIGINT: the width matters to files only.
    Int,
    Real,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Text,
    Date,
    Timestamp,
    List(Box<Kind>),
    /// Fields `f0`, `f1`, ...
    Row(Vec<Kind>),
    Map(Box<Kind>, Box<Kind>),
}

impl Kind {
    /// The name in SQL.
    pub(super) fn name(&self) -> String {
        match self {
            Kind::Bool => "BOOLEAN".to_string(),
            Kind::Int => "BIGINT".to_string(),
            Kind::Real => "REAL".to_string(),
            Kind::Double => "DOUBLE".to_string(),
            Kind::Decimal { precision, scale } => format!("DECIMAL({precision}, {scale})"),
            Kind::Text => "VARCHAR".to_string(),
            Kind::Date => "DATE".to_string(),
            Kind::Timestamp => "TIMESTAMP".to_string(),
            Kind::List(_) | Kind::Row(_) | Kind::Map(..) => {
                unreachable!("no expression is cast to a nested type")
            }
        }
    }

    /// True for types that ORDER BY and comparisons take here.
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(self, Kind::List(_) | Kind::Row(_) | Kind::Map(..))
    }
}

/// One value.
#[derive(Debug, Clone)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    Int(i64),
    /// REAL and DOUBLE.
    Double(f64),
    /// Unscaled digits; the type has the scale.
    Decimal(i128),
    Text(String),
    /// Days from 1970-01-01.
    Date(i32),
    /// Nanoseconds from 1970-01-01.
    Timestamp(i64),
    List(Vec<Datum>),
    Row(Vec<Datum>),
    /// Entries in the order of their keys.
    Map(Vec<(Datum, Datum)>),
}

impl Datum {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The order of two values of one type; `None` where a side is null.
    pub(super) fn compare(&self, other: &Datum) -> Option<Ordering> {
        (!self.is_null() && !other.is_null()).then(|| self.cmp(other))
    }

    /// The truth of a condition; `None` is unknown.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Datum::Null => None,
            Datum::Bool(truth) => Some(*truth),
            other => unreachable!("no condition: {other:?}"),
        }
    }

    pub(super) fn of_truth(truth: Option<bool>) -> Datum {
        truth.map_or(Datum::Null, Datum::Bool)
    }

    /// A value of the engine.
    pub(super) fn of_engine(value: &Value, kind: &Kind) -> Datum {
        match (value, kind) {
            (Value::Null, _) => Datum::Null,
            (Value::Boolean(value), Kind::Bool) => Datum::Bool(*value),
            (Value::Real(value), Kind::Real) => Datum::Double(f64::from(*value)),
            (Value::Double(value), Kind::Double) => Datum::Double(*value),
            (Value::Bytes(bytes), Kind::Text) => {
                Datum::Text(String::from_utf8(bytes.to_vec()).expect("a VARCHAR is UTF-8"))
            }
            (Value::Integer(days), Kind::Date) => Datum::Date(*days),
            (Value::Timestamp(point), Kind::Timestamp) => {
                let nanos = i128::from(point.seconds()) * NANOS + i128::from(point.nanos());
                Datum::Timestamp(nanos.try_into().expect("a timestamp of these tables"))
            }
            (Value::Array(items), Kind::List(kind)) => {
                Datum::List(items.iter().map(|item| Datum::of_engine(item, kind)).collect())
            }
            (Value::Row(fields), Kind::Row(kinds)) => {
                let fields = fields.iter().zip(kinds);
                Datum::Row(fields.map(|(field, kind)| Datum::of_engine(field, kind)).collect())
            }
            (Value::Map(entries), Kind::Map(key, item)) => {
                let entries = entries.iter();
                let mut entries: Vec<_> = entries
                    .map(|(k, v)| (Datum::of_engine(k, key), Datum::of_engine(v, item)))
                    .collect();
                entries.sort();
                Datum::Map(entries)
            }
            (value, Kind::Decimal { .. }) if value.as_i128().is_some() => {
                Datum::Decimal(value.as_i128().unwrap_or_default())
            }
            (value, Kind::Int) if value.as_i64().is_some() => {
                Datum::Int(value.as_i64().unwrap_or_default())
            }
            (value, kind) => panic!("{value:?} is no {kind:?}"),
        }
    }

    /// The value as a literal of SQL.
    pub(super) fn literal(&self, kind: &Kind) -> String {
        match (self, kind) {
            (Datum::Null, kind) => format!("CAST(NULL AS {})", kind.name()),
            (Datum::Bool(value), _) => if *value { "TRUE" } else { "FALSE" }.to_string(),
            (Datum::Int(value), _) => value.to_string(),
            (Datum::Double(value), Kind::Real) => match floating(*value) {
                Some(special) => format!("CAST('{special}' AS REAL)"),
                None => format!("CAST({value:e} AS REAL)"),
            },
            (Datum::Double(value), _) => match floating(*value) {
                Some(special) => format!("CAST('{special}' AS DOUBLE)"),
                None => format!("{value:e}"),
            },
            (Datum::Decimal(unscaled), Kind::Decimal { precision, scale }) => {
                let text = decimal_text(*unscaled, *scale);
                format!("CAST({text} AS DECIMAL({precision}, {scale}))")
            }
            (Datum::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
            (Datum::Date(days), _) => format!("DATE '{}'", date_text(i64::from(*days))),
            (Datum::Timestamp(nanos), _) => format!("TIMESTAMP '{}'", timestamp_text(*nanos)),
            (other, kind) => unreachable!("no literal of {other:?} as {kind:?}"),
        }
    }

    /// The value as plain text, for reports and for other engines' answers.
    pub(super) fn text(&self, kind: &Kind) -> String {
        let list = |items: Vec<String>| items.join(", ");
        match (self, kind) {
            (Datum::Null, _) => "null".to_string(),
            (Datum::Bool(value), _) => value.to_string(),
            (Datum::Int(value), _) => value.to_string(),
            (Datum::Double(value), _) => floating(*value).map_or_else(
                || format!("{:?}", if *value == 0.0 { 0.0 } else { *value }),
                str::to_string,
            ),
            (Datum::Decimal(unscaled), Kind::Decimal { scale, .. }) => {
                decimal_text(*unscaled, *scale)
            }
            (Datum::Text(text), _) => format!("{text:?}"),
            (Datum::Date(days), _) => date_text(i64::from(*days)),
            (Datum::Timestamp(nanos), _) => timestamp_text(*nanos),
            (Datum::List(items), Kind::List(kind)) => {
                format!("[{}]", list(items.iter().map(|item| item.text(kind)).collect()))
            }
            (Datum::Row(fields), Kind::Row(kinds)) => {
                let fields = fields.iter().zip(kinds).map(|(field, kind)| field.text(kind));
                format!("({})", list(fields.collect()))
            }
            (Datum::Map(entries), Kind::Map(key, item)) => {
                let entries =
                    entries.iter().map(|(k, v)| format!("{}: {}", k.text(key), v.text(item)));
                format!("{{{}}}", list(entries.collect()))
            }
            (other, kind) => unreachable!("{other:?} as {kind:?}"),
        }
    }
}

/// The text of what no literal of digits can say.
fn floating(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

impl Ord for Datum {
    fn cmp(&self, other: &Datum) -> Ordering {
        use Datum::{Bool, Date, Decimal, Double, Int, List, Map, Null, Row, Text, Timestamp};
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Less,
            (_, Null) => Ordering::Greater,
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int(a), Int(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Double(a), Double(b)) => {
                let by_number = a.partial_cmp(b);
                by_number.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            (Decimal(a), Decimal(b)) => a.cmp(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Date(a), Date(b)) => a.cmp(b),
            (List(a), List(b)) | (Row(a), Row(b)) => a.cmp(b),
            (Map(a), Map(b)) => a.cmp(b),
            (a, b) => unreachable!("{a:?} and {b:?} are of different types"),
        }
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Datum) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Datum {}

/// Nanoseconds of a second.
pub(super) const NANOS: i128 = 1_000_000_000;

/// Nanoseconds of a day.
pub(super) const NANOS_PER_DAY: i64 = 86_400 * 1_000_000_000;

fn decimal_text(unscaled: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    format!("{}{whole}{point}{fraction}", if unscaled < 0 { "-" } else { "" })
}

/// Year, month and day of a number of days from 1970-01-01, counted year by year and month by month.
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let (mut left, mut year) = (days, 1970);
    while left < 0 {
        year -= 1;
        left += 365 + i64::from(is_leap(year));
    }
    while left >= 365 + i64::from(is_leap(year)) {
        left -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

/// A date as `2026-09-01`.
pub(super) fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp_text(nanos: i64) -> String {
    let mut text = date_text(nanos.div_euclid(NANOS_PER_DAY));
    let of_day = nanos.rem_euclid(NANOS_PER_DAY);
    let seconds = of_day / 1_000_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(text, " {hour:02}:{minute:02}:{second:02}.{:09}", of_day % 1_000_000_000).unwrap();
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
