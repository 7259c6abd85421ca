//! Oracle: the canonical lines of a file, made by the Arrow reader and an independent formatter.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Returns the rows of a Parquet file as canonical lines.
pub(crate) fn lines(file: Vec<u8>) -> Vec<String> {
    batches(file).flat_map(|batch| batch_lines(&batch)).collect()
}

/// Returns the texts of the values of each column, as in the lines.
pub(crate) fn texts(file: Vec<u8>, num_columns: usize) -> Vec<Vec<String>> {
    let mut texts = vec![Vec::new(); num_columns];
    for batch in batches(file) {
        for (column, texts) in batch.columns().iter().zip(&mut texts) {
            texts.extend((0..batch.num_rows()).map(|row| {
                let mut text = String::new();
                value(column.as_ref(), row, &mut text);
                text
            }));
        }
    }
    texts
}

fn batches(file: Vec<u8>) -> impl Iterator<Item = RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    builder.build().unwrap().map(Result::unwrap)
}

fn batch_lines(batch: &RecordBatch) -> Vec<String> {
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
    (0..batch.num_rows())
        .map(|row| {
            let mut line = String::new();
            object(&names, batch.columns(), row, &mut line);
            line
        })
        .collect()
}

fn object(names: &[&str], columns: &[arrow_array::ArrayRef], row: usize, out: &mut String) {
    out.push('{');
    for (i, (name, column)) in names.iter().zip(columns).enumerate() {
        if i > 0 {
            out.push(',');
        }
        write!(out, "\"{name}\":").unwrap();
        value(column.as_ref(), row, out);
    }
    out.push('}');
}

fn list(items: std::ops::Range<usize>, out: &mut String, item: impl Fn(usize, &mut String)) {
    out.push('[');
    for at in items.clone() {
        if at > items.start {
            out.push(',');
        }
        item(at, out);
    }
    out.push(']');
}

/// Writes one value as text.
pub(crate) fn value(array: &dyn Array, row: usize, out: &mut String) {
    if array.is_null(row) {
        return out.push_str("null");
    }
    macro_rules! plain {
        ($ty:ty) => {
            write!(out, "{}", array.as_primitive::<$ty>().value(row)).unwrap()
        };
    }
    macro_rules! stored {
        ($ty:ty) => {
            i64::from(array.as_primitive::<$ty>().value(row))
        };
    }
    match array.data_type() {
        DataType::Null => out.push_str("null"),
        DataType::Boolean => write!(out, "{}", array.as_boolean().value(row)).unwrap(),
        DataType::Int8 => plain!(Int8Type),
        DataType::Int16 => plain!(Int16Type),
        DataType::Int32 => plain!(Int32Type),
        DataType::Int64 => plain!(Int64Type),
        DataType::UInt8 => plain!(UInt8Type),
        DataType::UInt16 => plain!(UInt16Type),
        DataType::UInt32 => plain!(UInt32Type),
        DataType::UInt64 => plain!(UInt64Type),
        DataType::Float32 => {
            let number = array.as_primitive::<Float32Type>().value(row);
            float(number.into(), format!("{number:?}"), out);
        }
        DataType::Float64 => {
            let number = array.as_primitive::<Float64Type>().value(row);
            float(number, format!("{number:?}"), out);
        }
        DataType::Decimal128(_, scale) => {
            decimal(array.as_primitive::<Decimal128Type>().value(row), *scale as usize, out);
        }
        DataType::Utf8 => write!(out, "{:?}", array.as_string::<i32>().value(row)).unwrap(),
        DataType::Binary => hex(array.as_binary::<i32>().value(row), out),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row), out),
        DataType::Date32 => write!(out, "\"{}\"", date(stored!(Date32Type))).unwrap(),
        DataType::Time32(TimeUnit::Millisecond) => {
            time(stored!(Time32MillisecondType) * 1_000_000, out);
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            time(stored!(Time64MicrosecondType) * 1000, out);
        }
        DataType::Time64(TimeUnit::Nanosecond) => time(stored!(Time64NanosecondType), out),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            timestamp(stored!(TimestampMillisecondType), 1000, out);
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            timestamp(stored!(TimestampMicrosecondType), 1_000_000, out);
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            timestamp(stored!(TimestampNanosecondType), 1_000_000_000, out);
        }
        DataType::Struct(fields) => {
            let names: Vec<&str> = fields.iter().map(|f| f.name().as_str()).collect();
            object(&names, array.as_struct().columns(), row, out);
        }
        DataType::List(_) => {
            let array = array.as_list::<i32>();
            let span = array.value_offsets()[row] as usize..array.value_offsets()[row + 1] as usize;
            list(span, out, |at, out| value(array.values().as_ref(), at, out));
        }
        DataType::Map(_, _) => {
            let array = array.as_map();
            let span = array.value_offsets()[row] as usize..array.value_offsets()[row + 1] as usize;
            list(span, out, |at, out| {
                out.push('[');
                value(array.keys().as_ref(), at, out);
                out.push(',');
                value(array.values().as_ref(), at, out);
                out.push(']');
            });
        }
        other => panic!("the oracle does not know {other}"),
    }
}

fn float(number: f64, text: String, out: &mut String) {
    match number {
        _ if number.is_nan() => out.push_str("\"NaN\""),
        f64::INFINITY => out.push_str("\"Infinity\""),
        f64::NEG_INFINITY => out.push_str("\"-Infinity\""),
        _ => out.push_str(&text),
    }
}

fn decimal(unscaled: i128, scale: usize, out: &mut String) {
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    write!(out, "\"{sign}{whole}{point}{fraction}\"").unwrap();
}

pub(crate) fn hex(bytes: &[u8], out: &mut String) {
    out.push('"');
    bytes.iter().for_each(|byte| write!(out, "{byte:02x}").unwrap());
    out.push('"');
}

/// Returns the text of a date in the years 0 to 9999, counted day by day: slow, and evidently
/// correct.
fn date(days: i64) -> String {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let mut left = days;
    let mut year = 1970;
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
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

fn clock(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = format!("{:09}", nanos % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        text = text + "." + fraction;
    }
    text
}

fn time(nanos: i64, out: &mut String) {
    write!(out, "\"{}\"", clock(nanos)).unwrap();
}

fn timestamp(stored: i64, per_second: i64, out: &mut String) {
    let per_day = 86_400 * per_second;
    let nanos = stored.rem_euclid(per_day) * (1_000_000_000 / per_second);
    quoted_timestamp(stored.div_euclid(per_day), nanos, out);
}

/// Writes the timestamp of a day since 1970-01-01 and its nanoseconds.
pub(crate) fn quoted_timestamp(days: i64, nanos: i64, out: &mut String) {
    write!(out, "\"{}T{}\"", date(days), clock(nanos)).unwrap();
}
