//! Rows of the evaluator as a batch of the Arrow crates, which write them to files.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, ListArray, MapArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::rows::Row;
use super::tables::Column;
use super::values::Datum;

/// Some columns of rows as a batch: each with its place in the rows.
pub(super) fn record_batch(columns: &[(usize, Column)], rows: &[Row]) -> RecordBatch {
    let fields = columns
        .iter()
        .map(|(i, column)| Field::new(format!("c{i}"), column.stored.clone(), column.nullable));
    let arrays = columns.iter().map(|(i, column)| {
        let cells: Vec<&Datum> = rows.iter().map(|row| &row[*i]).collect();
        array(&column.stored, &cells)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, arrays.collect()).unwrap()
}

fn integers<T: ArrowPrimitiveType>(cells: &[&Datum]) -> ArrayRef
where
    T::Native: TryFrom<i64>,
{
    let number = |cell: &&Datum| -> Option<T::Native> {
        let value = match cell {
            Datum::Null => return None,
            Datum::Int(value) => *value,
            Datum::Date(days) => i64::from(*days),
            other => unreachable!("{other:?} is no integer"),
        };
        Some(value.try_into().ok().expect("the column holds its values"))
    };
    Arc::new(cells.iter().map(number).collect::<PrimitiveArray<T>>())
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>>(cells: &[&Datum], nanos: i64) -> ArrayRef {
    let point = |cell: &&Datum| match cell {
        Datum::Timestamp(point) => Some(point / nanos),
        _ => None,
    };
    Arc::new(cells.iter().map(point).collect::<PrimitiveArray<T>>())
}

fn array(stored: &DataType, cells: &[&Datum]) -> ArrayRef {
    let double = |cell: &&Datum| match cell {
        Datum::Double(value) => Some(*value),
        _ => None,
    };
    match stored {
        DataType::Boolean => {
            let truths = cells.iter().map(|cell| cell.truth());
            Arc::new(truths.collect::<BooleanArray>())
        }
        DataType::Int8 => integers::<Int8Type>(cells),
        DataType::Int16 => integers::<Int16Type>(cells),
        DataType::Int32 => integers::<Int32Type>(cells),
        DataType::Int64 => integers::<Int64Type>(cells),
        DataType::UInt8 => integers::<UInt8Type>(cells),
        DataType::UInt16 => integers::<UInt16Type>(cells),
        DataType::UInt32 => integers::<UInt32Type>(cells),
        DataType::Date32 => integers::<Date32Type>(cells),
        DataType::Float32 => {
            let values = cells.iter().map(|cell| double(cell).map(|value| value as f32));
            Arc::new(values.collect::<PrimitiveArray<Float32Type>>())
        }
        DataType::Float64 => {
            Arc::new(cells.iter().map(double).collect::<PrimitiveArray<Float64Type>>())
        }
        DataType::Decimal128(precision, scale) => {
            let digits = |cell: &&Datum| match cell {
                Datum::Decimal(unscaled) => Some(*unscaled),
                _ => None,
            };
            let values: Decimal128Array = cells.iter().map(digits).collect();
            Arc::new(values.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Utf8 => {
            let text = |cell: &&Datum| match cell {
                Datum::Text(text) => Some(text.clone()),
                _ => None,
            };
            Arc::new(cells.iter().map(text).collect::<StringArray>())
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            timestamps::<TimestampMillisecondType>(cells, 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            timestamps::<TimestampMicrosecondType>(cells, 1_000)
        }
        DataType::Timestamp(_, _) => timestamps::<TimestampNanosecondType>(cells, 1),
        DataType::List(field) => {
            let items = |cell: &Datum| match cell {
                Datum::List(items) => items.clone(),
                _ => Vec::new(),
            };
            let lists: Vec<Vec<Datum>> = cells.iter().map(|cell| items(cell)).collect();
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
            let flat: Vec<&Datum> = lists.iter().flatten().collect();
            let values = array(field.data_type(), &flat);
            Arc::new(ListArray::new(Arc::clone(field), offsets, values, validity(cells)))
        }
        DataType::Struct(fields) => {
            let column = |(i, field): (usize, &Arc<Field>)| {
                let cell = |cell: &&Datum| match cell {
                    Datum::Row(values) => values[i].clone(),
                    _ => Datum::Null,
                };
                let cells: Vec<Datum> = cells.iter().map(cell).collect();
                array(field.data_type(), &cells.iter().collect::<Vec<_>>())
            };
            let columns = fields.iter().enumerate().map(column).collect();
            Arc::new(StructArray::new(fields.clone(), columns, validity(cells)))
        }
        DataType::Map(field, is_sorted) => {
            let entries = |cell: &Datum| match cell {
                Datum::Map(entries) => entries.clone(),
                _ => Vec::new(),
            };
            let maps: Vec<Vec<(Datum, Datum)>> = cells.iter().map(|cell| entries(cell)).collect();
            let offsets = OffsetBuffer::from_lengths(maps.iter().map(Vec::len));
            let entry =
                |(key, value): &(Datum, Datum)| Datum::Row(vec![key.clone(), value.clone()]);
            let flat: Vec<Datum> = maps.iter().flatten().map(entry).collect();
            let entries = array(field.data_type(), &flat.iter().collect::<Vec<_>>());
            let entries = entries.as_any().downcast_ref::<StructArray>().unwrap().clone();
            let field = Arc::clone(field);
            Arc::new(MapArray::new(field, offsets, entries, validity(cells), *is_sorted))
        }
        other => unreachable!("no column is stored as {other}"),
    }
}

fn validity(cells: &[&Datum]) -> Option<NullBuffer> {
    let validity: Vec<bool> = cells.iter().map(|cell| !cell.is_null()).collect();
    validity.contains(&false).then(|| NullBuffer::from(validity))
}
