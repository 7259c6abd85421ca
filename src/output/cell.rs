//! One column of a batch, prepared for printing row by row.
//!
//! Decoding and the dispatch by type happen once per column and batch; printing a row only looks up
//! its value. Cells of nested columns have the cells of their children.

use std::fmt::Write as _;

use super::json::unique_names;
use vector::types::decimal;
use vector::types::temporal::{SECONDS_PER_DAY, write_date, write_time};
use vector::{DecodedVector, FlatValues, Interval, Result, TimeUnit, Type, Vector, VectorRef};

/// A decoded column with the cells of its children.
pub(super) struct Cell {
    decoded: DecodedVector,
    ty: Type,
    children: Vec<(String, Cell)>,
    /// Unique names of a struct's fields; empty if its names do not repeat.
    unique_names: Vec<String>,
}

/// Variants of the text form of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// JSON: strings and temporal values are quoted and escaped, with `T` between date and time.
    /// Keys are unique.
    Json,
    /// Canonical JSON: as `Json`, but keys are those of the file, and intervals are in hexadecimal.
    CanonicalJson,
    /// Plain text: scalars are not quoted, with a space between date and time; nested values are
    /// JSON.
    Plain,
}

impl Cell {
    /// Prepares a column. Loads a lazy column.
    pub(super) fn new(vector: &VectorRef) -> Result<Self> {
        let decoded = DecodedVector::new(vector)?;
        let ty = vector.ty().clone();
        let children = match decoded.base().as_ref() {
            Vector::Row(row) => row
                .row_type()
                .names()
                .iter()
                .zip(row.children())
                .map(|(name, child)| Ok((json_string(name.as_bytes()), Cell::new(child)?)))
                .collect::<Result<_>>()?,
            Vector::Array(array) => vec![(String::new(), Cell::new(array.elements())?)],
            Vector::Map(map) => vec![
                (String::new(), Cell::new(map.keys())?),
                (String::new(), Cell::new(map.values())?),
            ],
            _ => Vec::new(),
        };
        let unique_names = match decoded.base().as_ref() {
            Vector::Row(row) => numbered_names(row.row_type().names()),
            _ => Vec::new(),
        };
        Ok(Cell { decoded, ty, children, unique_names })
    }

    /// Returns true if row `i` is null.
    pub(super) fn is_null(&self, i: usize) -> bool {
        self.decoded.is_null(i)
    }

    /// Appends the value of row `i`, or `null`.
    pub(super) fn write(&self, i: usize, style: Style, out: &mut String) {
        if self.decoded.is_null(i) {
            out.push_str("null");
            return;
        }
        let at = self.decoded.index(i);
        let inner = if style == Style::Plain { Style::Json } else { style };
        match self.decoded.base().as_ref() {
            Vector::Flat(flat) => self.write_scalar(flat.values(), at, style, out),
            Vector::Row(_) => {
                out.push('{');
                for (n, (name, child)) in self.children.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    let unique = self.unique_names.get(n).filter(|_| inner == Style::Json);
                    out.push_str(unique.unwrap_or(name));
                    out.push(':');
                    child.write(at, inner, out);
                }
                out.push('}');
            }
            Vector::Array(array) => {
                self.write_list(array.span(at), out, |row, out| {
                    self.children[0].1.write(row, inner, out);
                });
            }
            Vector::Map(map) => {
                self.write_list(map.span(at), out, |row, out| {
                    out.push('[');
                    self.children[0].1.write(row, inner, out);
                    out.push(',');
                    self.children[1].1.write(row, inner, out);
                    out.push(']');
                });
            }
            // Such a base consists of nulls only, which are printed above.
            Vector::Constant(_) | Vector::Dictionary(_) | Vector::Lazy(_) => out.push_str("null"),
        }
    }

    fn write_list(
        &self,
        span: std::ops::Range<usize>,
        out: &mut String,
        item: impl Fn(usize, &mut String),
    ) {
        out.push('[');
        let first = span.start;
        for row in span {
            if row > first {
                out.push(',');
            }
            item(row, out);
        }
        out.push(']');
    }

    fn write_scalar(&self, values: &FlatValues, at: usize, style: Style, out: &mut String) {
        let quote = style != Style::Plain && is_quoted(&self.ty);
        if let FlatValues::String(strings) = values {
            return write_string(strings.get(at), &self.ty, quote, out);
        }
        if quote {
            out.push('"');
        }
        // Writing to a string cannot fail.
        let _ = match values {
            FlatValues::Boolean(v) => out.write_str(if v.get(at) { "true" } else { "false" }),
            FlatValues::TinyInt(v) => write!(out, "{}", v[at]),
            FlatValues::SmallInt(v) => write!(out, "{}", v[at]),
            FlatValues::Integer(v) => match self.ty {
                Type::Date => write_date(out, i64::from(v[at])),
                _ => write!(out, "{}", v[at]),
            },
            FlatValues::BigInt(v) => match self.ty {
                Type::Time(unit) => write_time_of_day(v[at], unit, out),
                Type::Decimal { scale, .. } => decimal::write(out, i128::from(v[at]), scale),
                _ => write!(out, "{}", v[at]),
            },
            FlatValues::HugeInt(v) => self.write_huge(v[at], style, out),
            FlatValues::Real(v) => match self.ty {
                Type::Float16 => write_float(half_as_shortest(v[at]), style, out),
                _ => write_float(v[at], style, out),
            },
            FlatValues::Double(v) => write_float(v[at], style, out),
            FlatValues::Timestamp(v) => {
                let second = v[at].seconds().rem_euclid(SECONDS_PER_DAY).unsigned_abs();
                write_date(out, v[at].days())
                    .and_then(|()| out.write_char(if style == Style::Plain { ' ' } else { 'T' }))
                    .and_then(|()| write_time(out, second, v[at].nanos()))
            }
            FlatValues::String(_) => Ok(()),
        };
        if quote {
            out.push('"');
        }
    }

    fn write_huge(&self, value: i128, style: Style, out: &mut String) -> std::fmt::Result {
        match self.ty {
            Type::Decimal { scale, .. } => decimal::write(out, value, scale),
            Type::Uuid => {
                let hex = format!("{value:032x}");
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                out.write_str(&parts.join("-"))
            }
            Type::Interval if style == Style::CanonicalJson => {
                write_hex(&Interval::from_stored(value).to_bytes(), out);
                Ok(())
            }
            Type::Interval => write!(out, "{}", Interval::from_stored(value)),
            _ => write!(out, "{value}"),
        }
    }
}

/// Returns the unique names as JSON strings; empty if the names do not repeat.
fn numbered_names(names: &[String]) -> Vec<String> {
    let unique = unique_names(names);
    if unique == names {
        return Vec::new();
    }
    unique.iter().map(|name| json_string(name.as_bytes())).collect()
}

fn is_quoted(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Varchar
            | Type::Varbinary
            | Type::Date
            | Type::Time(_)
            | Type::Timestamp
            | Type::Decimal { .. }
            | Type::Uuid
            | Type::Interval
    )
}

fn write_string(bytes: &[u8], ty: &Type, quote: bool, out: &mut String) {
    if *ty == Type::Varbinary {
        if quote {
            out.push('"');
        }
        write_hex(bytes, out);
        if quote {
            out.push('"');
        }
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    if quote {
        write_json_string(&text, out);
    } else {
        out.push_str(&text);
    }
}

/// Returns bytes as a JSON string. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn json_string(bytes: &[u8]) -> String {
    let mut out = String::new();
    write_json_string(&String::from_utf8_lossy(bytes), &mut out);
    out
}

fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..i]);
        plain = i + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn write_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Writes a time of day. A value outside of the day, which a file may store, is printed with its
/// number of hours.
fn write_time_of_day(value: i64, unit: TimeUnit, out: &mut String) -> std::fmt::Result {
    let per_second = unit.per_second();
    let (size, per_second) = (value.unsigned_abs(), per_second.unsigned_abs());
    if value < 0 {
        out.push('-');
    }
    write_time(out, size / per_second, size % per_second * (1_000_000_000 / per_second))
}

trait Float: std::fmt::Debug + Copy {
    fn special(self) -> Option<&'static str>;
}

macro_rules! float {
    ($($t:ty),*) => { $(impl Float for $t {
        fn special(self) -> Option<&'static str> {
            if self.is_nan() {
                Some("NaN")
            } else if self.is_infinite() {
                Some(if self > 0.0 { "Infinity" } else { "-Infinity" })
            } else {
                None
            }
        }
    })* };
}
float!(f32, f64);

/// Writes the shortest text that parses to the same number, as `{:?}` prints it.
fn write_float(value: impl Float, style: Style, out: &mut String) -> std::fmt::Result {
    match value.special() {
        Some(name) if style != Style::Plain => write!(out, "\"{name}\""),
        Some(name) => out.write_str(name),
        None => write!(out, "{value:?}"),
    }
}

/// Returns a number that prints with the fewest digits that still parse to the half-precision float
/// `value`: 65504 as 65500.
fn half_as_shortest(value: f32) -> f64 {
    let exact = f64::from(value);
    if !value.is_finite() || value == 0.0 {
        return exact;
    }
    for digits in 0..5 {
        let text = format!("{exact:.digits$e}");
        let Ok(nearest) = text.parse::<f64>() else { return exact };
        // Below a power of two the rounding interval is narrower on one side, so a neighbour of the
        // nearest decimal can be inside it when the nearest is not.
        let exponent = text.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
        let step = 10f64.powi(exponent - digits as i32);
        let candidates = [nearest, nearest + step, nearest - step].map(|c| shorten(c, digits));
        let best = candidates
            .into_iter()
            .filter(|c| round_to_half(*c) == exact)
            .min_by(|a, b| (a - exact).abs().total_cmp(&(b - exact).abs()));
        if let Some(best) = best {
            return best;
        }
    }
    exact
}

fn shorten(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

/// Rounds `value` to half precision, ties to even.
fn round_to_half(value: f64) -> f64 {
    let exponent = (value.abs().log2().floor() as i32).clamp(-14, 15);
    let quantum = 2f64.powi(exponent - 10);
    (value / quantum).round_ties_even() * quantum
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::types::Value;

    fn text(ty: Type, value: Value, style: Style) -> String {
        let cell = Cell::new(&vector_of(&ty, [&value]).unwrap()).unwrap();
        let mut out = String::new();
        cell.write(0, style, &mut out);
        out
    }

    #[test]
    fn canonical_scalars_print_to_the_letter() {
        let json = |ty, value| text(ty, value, Style::Json);
        assert_eq!(json(Type::Real, Value::Real(0.1)), "0.1");
        assert_eq!(json(Type::Double, Value::Double(1e16)), "1e16");
        assert_eq!(json(Type::Double, Value::Double(1.5e-7)), "1.5e-7");
        assert_eq!(json(Type::Double, Value::Double(0.0001)), "0.0001");
        assert_eq!(json(Type::Double, Value::Double(-0.0)), "-0.0");
        assert_eq!(json(Type::Double, Value::Double(f64::NAN)), "\"NaN\"");
        assert_eq!(json(Type::Float16, Value::Real(65504.0)), "65500.0");
        assert_eq!(json(Type::Float16, Value::Real(5.9604645e-8)), "6e-8");
        assert_eq!(json(Type::Float16, Value::Real(1.0)), "1.0");
        assert_eq!(json(Type::decimal(4, 2).unwrap(), Value::BigInt(-5)), "\"-0.05\"");
        assert_eq!(json(Type::Varbinary, Value::bytes([0xab, 1])), "\"ab01\"");
        assert_eq!(json(Type::Varchar, Value::bytes("a\"\\\n\u{1}é")), "\"a\\\"\\\\\\n\\u0001é\"");
        assert_eq!(json(Type::Uuid, Value::HugeInt(1)), "\"00000000-0000-0000-0000-000000000001\"");
        let time = Value::BigInt(3_723_004);
        assert_eq!(json(Type::Time(TimeUnit::Millis), time), "\"01:02:03.004\"");
        for (value, expected) in [(-1, "-00:00:00.001"), (-3_723_004, "-01:02:03.004")] {
            let printed = json(Type::Time(TimeUnit::Millis), Value::BigInt(value));
            assert_eq!(printed, format!("\"{expected}\""));
        }
        let stamp = Value::Timestamp(vector::Timestamp::new(0, 120_000_000));
        assert_eq!(json(Type::Timestamp, stamp.clone()), "\"1970-01-01T00:00:00.12\"");
        assert_eq!(text(Type::Timestamp, stamp, Style::Plain), "1970-01-01 00:00:00.12");
        assert_eq!(json(Type::BigInt, Value::Null), "null");
    }

    #[test]
    fn nested_values_print_as_objects_arrays_and_pairs() {
        let ty = Type::row([
            ("a", Type::array(Type::Integer)),
            ("m", Type::map(Type::Varchar, Type::Boolean)),
        ]);
        let value = Value::Row(
            [
                Value::Array([Value::Integer(1), Value::Null].into()),
                Value::Map([(Value::bytes("k"), Value::Boolean(true))].into()),
            ]
            .into(),
        );
        assert_eq!(text(ty, value, Style::Json), r#"{"a":[1,null],"m":[["k",true]]}"#);
    }

    #[test]
    fn every_half_float_reads_back_from_its_shortest_text() {
        for bits in 1u16..0x7c00 {
            let (exponent, fraction) = (i32::from(bits >> 10), f64::from(bits & 0x3ff));
            let value = match exponent {
                0 => fraction * 2f64.powi(-24),
                e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
            };
            assert_eq!(round_to_half(half_as_shortest(value as f32)), value, "{bits:#x}");
        }
    }
}
