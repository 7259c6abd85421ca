//! The values of a file as the Arrow reader returns them.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::oracle;

/// A value as filters compare it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    /// Integers, unscaled decimals, days and times; timestamps in nanoseconds.
    Int(i128),
    Float(f64),
    Bytes(Vec<u8>),
    /// A list, map or struct, of which filters only test whether it is null.
    Nested,
}

impl Datum {
    /// Compares two values of one column; NaN is above all numbers and equal to itself.
    pub(super) fn order(&self, other: &Datum) -> Ordering {
        match (self, other) {
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
            (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => {
                a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            _ => panic!("{self:?} and {other:?} are not of one column"),
        }
    }
}

/// Path to a column, or to a member of a struct in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) column: usize,
    pub(super) members: Vec<usize>,
}

impl Place {
    pub(super) fn column(column: usize) -> Self {
        Place { column, members: Vec::new() }
    }

    pub(super) fn member(&self, member: usize) -> Self {
        let mut members = self.members.clone();
        members.push(member);
        Place { column: self.column, members }
    }
}

/// All rows of a file.
pub(super) struct Table {
    schema: std::sync::Arc<Schema>,
    /// Batches, each with the number of its first row.
    batches: Vec<(usize, RecordBatch)>,
    num_rows: usize,
}

impl Table {
    pub(super) fn read(file: Vec<u8>) -> Self {
        let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let reader = builder.with_batch_size(1 << 16).build().unwrap();
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        let (mut batches, mut num_rows) = (Vec::new(), 0);
        for batch in reader {
            let batch = batch.unwrap();
            batches.push((num_rows, batch));
            num_rows += batches.last().map_or(0, |(_, batch)| batch.num_rows());
        }
        Table { schema, batches, num_rows }
    }

    pub(super) fn num_rows(&self) -> usize {
        self.num_rows
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the type of a path.
    pub(super) fn ty(&self, place: &Place) -> &DataType {
        let column = self.schema.field(place.column).data_type();
        place.members.iter().fold(column, |ty, member| match ty {
            DataType::Struct(fields) => fields[*member].data_type(),
            other => panic!("{other} has no members"),
        })
    }

    /// Returns the array and the row in it that contain a value; `None` where an enclosing struct
    /// is null.
    fn find(&self, place: &Place, row: usize) -> Option<(&ArrayRef, usize)> {
        let batch = self.batches.partition_point(|(first, _)| *first <= row) - 1;
        let (first, batch) = &self.batches[batch];
        let mut array = batch.column(place.column);
        for member in &place.members {
            if array.is_null(row - first) {
                return None;
            }
            array = array.as_struct().column(*member);
        }
        Some((array, row - first))
    }

    /// Returns the value of a path in a row.
    pub(super) fn datum(&self, place: &Place, row: usize) -> Datum {
        self.find(place, row).map_or(Datum::Null, |(array, row)| datum(array.as_ref(), row))
    }

    /// Returns the value of a path in a row as canonical text.
    pub(super) fn text(&self, place: &Place, row: usize) -> String {
        let mut text = String::new();
        match self.find(place, row) {
            Some((array, row)) => oracle::value(array.as_ref(), row, &mut text),
            None => text.push_str("null"),
        }
        text
    }

    /// Returns true when the value of a path, or an enclosing struct, is null.
    pub(super) fn is_null(&self, place: &Place, row: usize) -> bool {
        self.find(place, row).is_none_or(|(array, row)| array.is_null(row))
    }
}

fn datum(array: &dyn Array, row: usize) -> Datum {
    if array.is_null(row) {
        return Datum::Null;
    }
    macro_rules! int {
        ($ty:ty) => {
            Datum::Int(array.as_primitive::<$ty>().value(row).into())
        };
        ($ty:ty, $nanos:expr) => {
            Datum::Int(i128::from(array.as_primitive::<$ty>().value(row)) * $nanos)
        };
    }
    match array.data_type() {
        DataType::Boolean => Datum::Bool(array.as_boolean().value(row)),
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::UInt64 => int!(UInt64Type),
        DataType::Date32 => int!(Date32Type),
        DataType::Decimal128(_, _) => int!(Decimal128Type),
        DataType::Time32(TimeUnit::Millisecond) => int!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => int!(Time64MicrosecondType),
        DataType::Time64(TimeUnit::Nanosecond) => int!(Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => int!(TimestampMillisecondType, 1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => int!(TimestampMicrosecondType, 1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => int!(TimestampNanosecondType, 1),
        DataType::Float32 => Datum::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Datum::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Datum::Bytes(array.as_string::<i32>().value(row).into()),
        DataType::Binary => Datum::Bytes(array.as_binary::<i32>().value(row).into()),
        DataType::FixedSizeBinary(_) => {
            Datum::Bytes(array.as_fixed_size_binary().value(row).into())
        }
        _ => Datum::Nested,
    }
}
