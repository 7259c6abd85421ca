//! Values and batches as readable text, for debugging, plans, tables and error messages.
//!
//! A [`Value`] has only a storage kind; its [`Type`] determines the text. The machine-readable
//! formats JSON and CSV are written by the command line, not here.

use std::fmt::{self, Write};

use crate::decoded::ValueReader;
use crate::encoding::RowVector;
use crate::error::Result;
use crate::types::{Interval, TimeUnit, Type, Value, decimal, temporal, uuid};

/// Writes a value as text. Decimals have all digits of their scale, dates and times are in ISO
/// form, UUIDs have dashes, binary values are ASCII with `\xNN` escapes, lists are `[a, b]`, maps
/// are `{k=v}` and rows are `{name: v}`. Strings inside lists, maps and rows are quoted. A value
/// that does not fit its type is written in its stored form.
///
/// # Errors
/// Only the errors of `out`.
pub fn write_value(out: &mut impl Write, ty: &Type, value: &Value) -> fmt::Result {
    match (ty, value) {
        (Type::Varchar, Value::Bytes(bytes)) => out.write_str(&String::from_utf8_lossy(bytes)),
        _ => write_inner(out, ty, value),
    }
}

/// Returns the text that [`write_value`] writes.
pub fn value_text(ty: &Type, value: &Value) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_value(&mut text, ty, value);
    text
}

/// Returns the first `max_rows` rows of a batch for debugging, one line per row with named columns.
/// Loads lazy columns for all rows.
///
/// # Errors
/// The errors of loading and decoding a column.
pub fn print_rows(batch: &RowVector, max_rows: usize) -> Result<String> {
    let columns: Vec<ValueReader> =
        batch.children().iter().map(ValueReader::new).collect::<Result<_>>()?;
    let mut text = format!("{} rows of {}\n", batch.len(), batch.ty());
    for row in 0..batch.len().min(max_rows) {
        let _ = write!(text, "{row}:");
        if batch.is_null(row) {
            text.push_str(" NULL");
        } else {
            for ((name, ty), column) in batch.row_type().fields().zip(&columns) {
                let _ = write!(text, " {name}=");
                let _ = write_inner(&mut text, ty, &column.value(row));
            }
        }
        text.push('\n');
    }
    if batch.len() > max_rows {
        let _ = writeln!(text, "... {} more", batch.len() - max_rows);
    }
    Ok(text)
}

fn write_inner(out: &mut impl Write, ty: &Type, value: &Value) -> fmt::Result {
    match (ty, value) {
        (_, Value::Null) => out.write_str("NULL"),
        (_, Value::Boolean(v)) => write!(out, "{v}"),
        (Type::Date, Value::Integer(days)) => temporal::write_date(out, i64::from(*days)),
        (Type::Time(unit), Value::BigInt(units)) => write_time(out, *unit, *units),
        (_, Value::Timestamp(v)) => write!(out, "{v}"),
        (Type::Uuid, Value::HugeInt(v)) => uuid::write(out, *v),
        (Type::Interval, Value::HugeInt(v)) => write!(out, "{}", Interval::from_stored(*v)),
        (Type::Decimal { scale, .. }, v) => match v.as_i128() {
            Some(unscaled) => decimal::write(out, unscaled, *scale),
            None => write_stored(out, v),
        },
        (_, Value::Real(v)) => write_float(out, f64::from(*v), v),
        (_, Value::Double(v)) => write_float(out, *v, v),
        (Type::Varchar, Value::Bytes(v)) => write!(out, "{:?}", String::from_utf8_lossy(v)),
        (_, Value::Bytes(v)) => write_binary(out, v),
        (Type::Array(element), Value::Array(items)) => {
            write_list(out, ['[', ']'], items.iter(), |out, item| write_inner(out, element, item))
        }
        (Type::Map(key_type, value_type), Value::Map(pairs)) => {
            write_list(out, ['{', '}'], pairs.iter(), |out, (key, value)| {
                write_inner(out, key_type, key)?;
                out.write_str("=")?;
                write_inner(out, value_type, value)
            })
        }
        (Type::Row(row_type), Value::Row(fields)) => {
            let named = row_type.fields().zip(fields.iter());
            write_list(out, ['{', '}'], named, |out, ((name, ty), field)| {
                write!(out, "{name}: ")?;
                write_inner(out, ty, field)
            })
        }
        (_, v) => write_stored(out, v),
    }
}

fn write_stored(out: &mut impl Write, value: &Value) -> fmt::Result {
    match value.as_i128() {
        Some(number) => write!(out, "{number}"),
        None => write!(out, "{value:?}"),
    }
}

fn write_list<W: Write, T>(
    out: &mut W,
    brackets: [char; 2],
    items: impl Iterator<Item = T>,
    mut write_item: impl FnMut(&mut W, T) -> fmt::Result,
) -> fmt::Result {
    out.write_char(brackets[0])?;
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.write_str(", ")?;
        }
        write_item(out, item)?;
    }
    out.write_char(brackets[1])
}

/// Writes a float. `text` is the float in its own width, which determines its shortest digits.
fn write_float(out: &mut impl Write, value: f64, text: &dyn fmt::Debug) -> fmt::Result {
    match value {
        v if v.is_nan() => out.write_str("NaN"),
        f64::INFINITY => out.write_str("Infinity"),
        f64::NEG_INFINITY => out.write_str("-Infinity"),
        _ => write!(out, "{text:?}"),
    }
}

fn write_time(out: &mut impl Write, unit: TimeUnit, units: i64) -> fmt::Result {
    let per_second = unit.per_second();
    let in_a_day = 0..temporal::SECONDS_PER_DAY.saturating_mul(per_second);
    if !in_a_day.contains(&units) {
        return write!(out, "{units}");
    }
    let nanos = (units % per_second) as u64 * (temporal::NANOS_PER_SECOND / per_second as u64);
    temporal::write_time(out, (units / per_second) as u64, nanos)
}

fn write_binary(out: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    for byte in bytes {
        match byte {
            b' '..=b'~' if *byte != b'\\' => out.write_char(char::from(*byte))?,
            _ => write!(out, "\\x{byte:02X}")?,
        }
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    #[test]
    fn the_type_decides_the_text() {
        let cases = [
            (Type::Integer, Value::Integer(-3), "-3"),
            (Type::Date, Value::Integer(-1), "1969-12-31"),
            (Type::Time(TimeUnit::Millis), Value::BigInt(3_723_004), "01:02:03.004"),
            (Type::Time(TimeUnit::Millis), Value::BigInt(-1), "-1"),
            (
                Type::Timestamp,
                Value::Timestamp(Timestamp::new(0, 5_000_000)),
                "1970-01-01 00:00:00.005",
            ),
            (Type::Decimal { precision: 10, scale: 2 }, Value::BigInt(-5), "-0.05"),
            (Type::Decimal { precision: 38, scale: 0 }, Value::HugeInt(7), "7"),
            (
                Type::Uuid,
                Value::HugeInt(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff),
                "00112233-4455-6677-8899-aabbccddeeff",
            ),
            (Type::Uuid, Value::HugeInt(-1), "ffffffff-ffff-ffff-ffff-ffffffffffff"),
            (Type::Interval, Value::HugeInt(1 << 64), "1 months 0 days 0 ms"),
            (Type::Real, Value::Real(0.1), "0.1"),
            (Type::Double, Value::Double(f64::NEG_INFINITY), "-Infinity"),
            (Type::Double, Value::Double(-f64::NAN), "NaN"),
            (Type::Double, Value::Double(1e300), "1e300"),
            (Type::Varchar, Value::bytes("a\"b"), "a\"b"),
            (Type::Varbinary, Value::bytes(b"a\\\xff"), "a\\x5C\\xFF"),
            (Type::Boolean, Value::Null, "NULL"),
            (Type::Boolean, Value::Boolean(true), "true"),
        ];
        for (ty, value, text) in cases {
            assert_eq!(value_text(&ty, &value), text, "{ty}");
        }
    }

    #[test]
    fn nested_values_show_their_names_and_quote_their_text() {
        let ty = Type::row([
            ("tags", Type::array(Type::Varchar)),
            ("prices", Type::map(Type::Date, Type::Decimal { precision: 5, scale: 1 })),
        ]);
        let value = Value::Row(
            [
                Value::Array([Value::bytes("a"), Value::Null].into()),
                Value::Map([(Value::Integer(0), Value::BigInt(15))].into()),
            ]
            .into(),
        );
        assert_eq!(value_text(&ty, &value), "{tags: [\"a\", NULL], prices: {1970-01-01=1.5}}");
    }
}
