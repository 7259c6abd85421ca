//! Random types up to a depth, and random values of them.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, ListArray,
    MapArray, PrimitiveArray, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use crate::support::random::Random;

/// Maximum nesting depth of lists, maps and structs.
const MAX_DEPTH: usize = 4;

/// Maximum number of values of one column: beyond this, nested lists get no more elements.
const MAX_VALUES: usize = 4_000;

/// Shares of nulls in a nullable field, in thousandths: none, few, half, almost all, all.
const NULLS_IN_THOUSAND: [u64; 5] = [0, 10, 500, 980, 1000];

/// Returns random rows of a random schema. The same seed returns the same rows.
pub(crate) fn random_batch(random: &mut Random) -> RecordBatch {
    let num_rows = match random.below(10) {
        0 => random.below(3),
        1..=6 => random.below(60),
        _ => random.below(300),
    } as usize;
    let num_columns = 1 + random.below(5);
    random_rows(num_rows, num_columns as usize, random)
}

/// Returns `num_rows` random rows of `num_columns` random columns, `c0` and so on.
pub(crate) fn random_rows(num_rows: usize, num_columns: usize, random: &mut Random) -> RecordBatch {
    let fields: Fields = (0..num_columns)
        .map(|n| {
            let depth = random.below(MAX_DEPTH as u64 + 1) as usize;
            random_field(format!("c{n}"), depth, random)
        })
        .collect();
    let columns = fields.iter().map(|field| random_array(field, num_rows, random)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn random_field(name: String, depth: usize, random: &mut Random) -> Field {
    let ty = if depth == 0 || random.once_in(5) {
        random_scalar(random)
    } else {
        random_nested(depth - 1, random)
    };
    Field::new(name, ty, !random.once_in(3))
}

fn random_nested(depth: usize, random: &mut Random) -> DataType {
    match random.below(3) {
        0 => DataType::List(Arc::new(random_field("element".into(), depth, random))),
        1 => {
            let key = Field::new("key", random_scalar(random), false);
            let value = random_field("value".into(), depth, random);
            let entry = DataType::Struct(Fields::from(vec![key, value]));
            DataType::Map(Arc::new(Field::new("key_value", entry, false)), false)
        }
        _ => {
            let num_fields = 1 + random.below(3);
            let fields = (0..num_fields).map(|n| random_field(format!("f{n}"), depth, random));
            DataType::Struct(fields.collect())
        }
    }
}

fn random_scalar(random: &mut Random) -> DataType {
    let scalars = [
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Date32,
        DataType::Time32(TimeUnit::Millisecond),
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::Utf8,
        DataType::Binary,
        DataType::FixedSizeBinary(1 + random.below(20) as i32),
        {
            let precision = 1 + random.below(38) as u8;
            DataType::Decimal128(precision, random.below(u64::from(precision) + 1) as i8)
        },
    ];
    scalars[random.below(scalars.len() as u64) as usize].clone()
}

/// Returns which of `len` values are null; `None` when none can be null.
fn random_nulls(field: &Field, len: usize, random: &mut Random) -> Option<NullBuffer> {
    if !field.is_nullable() {
        return None;
    }
    let nulls = NULLS_IN_THOUSAND[random.below(5) as usize];
    Some((0..len).map(|_| random.below(1000) >= nulls).collect::<Vec<bool>>().into())
}

fn random_array(field: &Field, len: usize, random: &mut Random) -> ArrayRef {
    let nulls = random_nulls(field, len, random);
    match field.data_type() {
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| random_array(field, len, random)).collect();
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, len).unwrap())
        }
        DataType::List(element) => {
            let (offsets, num_elements) = random_offsets(nulls.as_ref(), len, random);
            let elements = random_array(element, num_elements, random);
            Arc::new(ListArray::new(Arc::clone(element), offsets, elements, nulls))
        }
        DataType::Map(entry, sorted) => {
            let (offsets, num_entries) = random_offsets(nulls.as_ref(), len, random);
            let DataType::Struct(fields) = entry.data_type() else { unreachable!() };
            let columns = fields.iter().map(|f| random_array(f, num_entries, random)).collect();
            let entries =
                StructArray::try_new_with_length(fields.clone(), columns, None, num_entries);
            Arc::new(MapArray::new(Arc::clone(entry), offsets, entries.unwrap(), nulls, *sorted))
        }
        scalar => {
            let variety = [1, 3, 20, u64::MAX][random.below(4) as usize];
            let run = [None, None, Some(7), Some(50)][random.below(4) as usize];
            Values { len, nulls, variety, run }.array(scalar, random)
        }
    }
}

/// Returns the offsets of lists. Null lists have no elements, because values below a null are not
/// written to a file.
fn random_offsets(
    nulls: Option<&NullBuffer>,
    len: usize,
    random: &mut Random,
) -> (OffsetBuffer<i32>, usize) {
    let most = [1, 2, 4, 9][random.below(4) as usize];
    let mut left = MAX_VALUES;
    let lengths: Vec<usize> = (0..len)
        .map(|row| {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            let wanted = if is_null { 0 } else { random.below(most + 1) as usize };
            let given = wanted.min(left);
            left -= given;
            given
        })
        .collect();
    let total = lengths.iter().sum();
    (OffsetBuffer::from_lengths(lengths), total)
}

/// Values of a scalar column; few distinct values lead to dictionaries, and runs of equal values
/// make pages with a single value.
struct Values {
    len: usize,
    nulls: Option<NullBuffer>,
    variety: u64,
    run: Option<usize>,
}

impl Values {
    fn each<T>(&self, random: &mut Random, one: impl Fn(&mut Random) -> T) -> Vec<Option<T>> {
        let first = random.next();
        (0..self.len)
            .map(|row| {
                let number = match self.run {
                    Some(run) => (row / run) as u64,
                    None => random.next(),
                };
                let mut own = Random::new(first ^ (number % self.variety));
                let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                (!is_null).then(|| one(&mut own))
            })
            .collect()
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        random: &mut Random,
        one: impl Fn(&mut Random) -> T::Native,
    ) -> ArrayRef {
        Arc::new(self.each(random, one).into_iter().collect::<PrimitiveArray<T>>())
    }

    fn array(&self, ty: &DataType, random: &mut Random) -> ArrayRef {
        const DAY_MS: u64 = 86_400_000;
        // About the years 1 to 9999, as far as the unit reaches.
        const MOST_MS: u64 = 250_000_000_000_000;
        match ty {
            DataType::Boolean => Arc::new(BooleanArray::from(self.each(random, |r| r.once_in(2)))),
            DataType::Int8 => self.numbers::<Int8Type>(random, |r| integer(r) as i8),
            DataType::Int16 => self.numbers::<Int16Type>(random, |r| integer(r) as i16),
            DataType::Int32 => self.numbers::<Int32Type>(random, |r| integer(r) as i32),
            DataType::Int64 => self.numbers::<Int64Type>(random, integer),
            DataType::UInt8 => self.numbers::<UInt8Type>(random, |r| integer(r) as u8),
            DataType::UInt16 => self.numbers::<UInt16Type>(random, |r| integer(r) as u16),
            DataType::UInt32 => self.numbers::<UInt32Type>(random, |r| integer(r) as u32),
            DataType::UInt64 => self.numbers::<UInt64Type>(random, |r| integer(r) as u64),
            DataType::Float32 => self.numbers::<Float32Type>(random, |r| float(r) as f32),
            DataType::Float64 => self.numbers::<Float64Type>(random, float),
            DataType::Date32 => {
                self.numbers::<Date32Type>(random, |r| r.below(3_600_000) as i32 - 700_000)
            }
            DataType::Time32(_) => {
                self.numbers::<Time32MillisecondType>(random, |r| r.below(DAY_MS) as i32)
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                self.numbers::<Time64MicrosecondType>(random, |r| r.below(DAY_MS * 1000) as i64)
            }
            DataType::Time64(_) => {
                self.numbers::<Time64NanosecondType>(random, |r| r.below(DAY_MS * 1_000_000) as i64)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => self
                .numbers::<TimestampMillisecondType>(random, |r| {
                    r.below(MOST_MS) as i64 - 60_000_000_000_000
                }),
            DataType::Timestamp(TimeUnit::Microsecond, _) => self
                .numbers::<TimestampMicrosecondType>(random, |r| {
                    r.below(MOST_MS * 1000) as i64 - 60_000_000_000_000_000
                }),
            DataType::Timestamp(_, _) => {
                self.numbers::<TimestampNanosecondType>(random, |r| r.next() as i64)
            }
            DataType::Utf8 => Arc::new(StringArray::from(self.each(random, text))),
            DataType::Binary => {
                let values = self.each(random, |r| bytes(r.below(30) as usize, r));
                Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>())
            }
            DataType::FixedSizeBinary(size) => {
                let values = self.each(random, |r| bytes(*size as usize, r)).into_iter();
                let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size);
                Arc::new(array.unwrap())
            }
            DataType::Decimal128(precision, scale) => {
                let end = 10i128.pow(u32::from(*precision));
                let values = self.each(random, |r| {
                    let wide = (i128::from(r.next()) << 64) | i128::from(r.next());
                    if r.once_in(2) { wide % end } else { i128::from(integer(r)) % end }
                });
                let array: Decimal128Array = values.into_iter().collect();
                Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
            }
            other => unreachable!("no values of {other}"),
        }
    }
}

fn integer(random: &mut Random) -> i64 {
    match random.below(12) {
        0 => random.next() as i64,
        1 => [i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX), 0, -1]
            [random.below(6) as usize],
        2..=5 => random.below(100_000) as i64,
        _ => random.below(200) as i64 - 100,
    }
}

fn float(random: &mut Random) -> f64 {
    match random.below(16) {
        0 => f64::NAN,
        1 => [f64::INFINITY, f64::NEG_INFINITY][random.below(2) as usize],
        2 => -0.0,
        3 => 0.0,
        4 => f64::from_bits(random.next()),
        5..=9 => (random.below(2001) as f64 - 1000.0) / 8.0,
        _ => random.next() as i64 as f64 / 1e12,
    }
}

pub(super) fn text(random: &mut Random) -> String {
    const LETTERS: [char; 8] = ['a', 'b', 'z', ' ', 'é', '東', '0', '𝄞'];
    let len = [0, 1, 4, 12, 13, 40][random.below(6) as usize];
    (0..len).map(|_| LETTERS[random.below(8) as usize]).collect()
}

fn bytes(len: usize, random: &mut Random) -> Vec<u8> {
    (0..len).map(|_| random.next() as u8).collect()
}
