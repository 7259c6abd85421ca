//! Random rows with a column for each type.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, PrimitiveArray,
    RecordBatch, StringArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use crate::support::random::Random;

/// Generates one column: number of rows, and n of "one value in n is null" (0 for no nulls).
struct Maker<'a> {
    random: &'a mut Random,
    num_rows: usize,
    null_once_in: u64,
}

impl Maker<'_> {
    fn values<T>(&mut self, mut one: impl FnMut(&mut Random) -> T) -> Vec<Option<T>> {
        (0..self.num_rows)
            .map(|_| {
                let is_null = self.null_once_in > 0 && self.random.once_in(self.null_once_in);
                if is_null { None } else { Some(one(self.random)) }
            })
            .collect()
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        one: impl FnMut(&mut Random) -> T::Native,
    ) -> ArrayRef {
        Arc::new(self.values(one).into_iter().collect::<PrimitiveArray<T>>())
    }

    fn decimal(&mut self, precision: u8, scale: i8) -> ArrayRef {
        let most = 10i128.pow(precision.into()) - 1;
        let values = self.values(|random| {
            let wide = (i128::from(random.next()) << 64) | i128::from(random.next());
            let small = i128::from(random.below(2000)) - 1000;
            if random.once_in(2) { wide % most } else { small % most }
        });
        let array: Decimal128Array = values.into_iter().collect();
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    }

    /// Returns columns of all scalar types by name.
    fn scalars(&mut self) -> Vec<(&'static str, ArrayRef)> {
        const DAY_MS: u64 = 86_400_000;
        vec![
            ("bool", {
                let values = self.values(|r| r.once_in(3));
                Arc::new(BooleanArray::from(values)) as ArrayRef
            }),
            ("int8", self.primitive::<Int8Type>(|r| r.next() as i8)),
            ("int16", self.primitive::<Int16Type>(|r| r.next() as i16)),
            ("int32", self.primitive::<Int32Type>(|r| mostly_small(r) as i32)),
            ("int64", self.primitive::<Int64Type>(mostly_small)),
            ("uint8", self.primitive::<UInt8Type>(|r| r.next() as u8)),
            ("uint16", self.primitive::<UInt16Type>(|r| r.next() as u16)),
            ("uint32", self.primitive::<UInt32Type>(|r| r.next() as u32)),
            ("uint64", self.primitive::<UInt64Type>(|r| mostly_small(r) as u64)),
            ("float", self.primitive::<Float32Type>(|r| number(r) as f32)),
            ("double", self.primitive::<Float64Type>(number)),
            ("decimal9", self.decimal(9, 2)),
            ("decimal18", self.decimal(18, 0)),
            ("decimal38", self.decimal(38, 10)),
            ("date", self.primitive::<Date32Type>(|r| r.below(80_000) as i32 - 40_000)),
            ("time_ms", self.primitive::<Time32MillisecondType>(|r| r.below(DAY_MS) as i32)),
            ("time_us", self.primitive::<Time64MicrosecondType>(|r| r.below(DAY_MS * 1000) as i64)),
            (
                "time_ns",
                self.primitive::<Time64NanosecondType>(|r| r.below(DAY_MS * 1_000_000) as i64),
            ),
            (
                "stamp_ms",
                self.primitive::<TimestampMillisecondType>(|r| {
                    r.below(4_000_000_000_000) as i64 - 2_000_000_000_000
                }),
            ),
            (
                "stamp_us",
                self.primitive::<TimestampMicrosecondType>(|r| {
                    r.below(4_000_000_000_000_000) as i64 - 2_000_000_000_000_000
                }),
            ),
            ("stamp_ns", self.primitive::<TimestampNanosecondType>(|r| r.next() as i64 / 8)),
            ("text", {
                let values = self.values(text);
                Arc::new(StringArray::from(values))
            }),
            ("bytes", {
                let values = self.values(|r| text(r).into_bytes());
                Arc::new(values.iter().map(Option::as_deref).collect::<BinaryArray>())
            }),
            ("fixed", {
                let values = self.values(|r| r.below(50).to_be_bytes()[3..].to_vec());
                let values = values.into_iter();
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 5).unwrap())
            }),
        ]
    }
}

/// Returns a small number, which often repeats, or rarely a large one.
fn mostly_small(random: &mut Random) -> i64 {
    if random.once_in(10) { random.next() as i64 } else { random.below(200) as i64 - 100 }
}

fn number(random: &mut Random) -> f64 {
    match random.below(40) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4..20 => (random.below(21) as f64 - 10.0) / 4.0,
        _ => (random.next() as i64 as f64) / 1e15,
    }
}

/// Returns a word, the empty text, or a text that is too long to be inlined in a string view.
fn text(random: &mut Random) -> String {
    match random.below(8) {
        0 => String::new(),
        1 => "naïve 東京".to_string(),
        2 => format!("a long word that no view can keep inline {}", random.below(30)),
        _ => {
            let letter = char::from(b'a' + random.below(26) as u8);
            letter.to_string().repeat(1 + random.below(14) as usize)
        }
    }
}

fn lists(random: &mut Random, num_rows: usize) -> ArrayRef {
    let mut builder = ListBuilder::new(Int32Builder::new());
    for _ in 0..num_rows {
        for _ in 0..random.below(4) {
            let element = (!random.once_in(5)).then(|| random.below(100) as i32);
            builder.values().append_option(element);
        }
        builder.append(!random.once_in(6));
    }
    Arc::new(builder.finish())
}

fn lists_of_lists(random: &mut Random, num_rows: usize) -> ArrayRef {
    let mut builder = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for _ in 0..num_rows {
        for _ in 0..random.below(3) {
            for _ in 0..random.below(3) {
                builder.values().values().append_value(text(random));
            }
            let is_there = !random.once_in(5);
            builder.values().append(is_there);
        }
        builder.append(!random.once_in(6));
    }
    Arc::new(builder.finish())
}

fn maps(random: &mut Random, num_rows: usize) -> ArrayRef {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for _ in 0..num_rows {
        for _ in 0..random.below(4) {
            builder.keys().append_value(text(random));
            let value = (!random.once_in(4)).then(|| mostly_small(random));
            builder.values().append_option(value);
        }
        builder.append(!random.once_in(6)).unwrap();
    }
    Arc::new(builder.finish())
}

/// Returns nullable structs of a required field, a nullable field and a list.
fn structs(random: &mut Random, num_rows: usize) -> ArrayRef {
    let required =
        Maker { random, num_rows, null_once_in: 0 }.primitive::<Int32Type>(|r| r.below(9) as i32);
    let nullable = Maker { random, num_rows, null_once_in: 3 }.values(text);
    let list = lists(random, num_rows);
    let fields = [
        Field::new("a", DataType::Int32, false),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", list.data_type().clone(), true),
    ];
    let validity: Vec<bool> = (0..num_rows).map(|_| !random.once_in(7)).collect();
    let columns: Vec<ArrayRef> = vec![required, Arc::new(StringArray::from(nullable)), list];
    Arc::new(StructArray::new(
        fields.into_iter().collect(),
        columns,
        Some(NullBuffer::from(validity)),
    ))
}

/// Returns a column `id` of row numbers; each scalar type as `name` and, with nulls, as
/// `name_null`; and nested columns. The same seed returns the same rows.
pub(crate) fn random_rows(seed: u64, num_rows: usize) -> RecordBatch {
    let random = &mut Random::new(seed);
    let ids = PrimitiveArray::<Int64Type>::from_iter_values(0..num_rows as i64);
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![("id".into(), Arc::new(ids), false)];
    for (name, array) in (Maker { random, num_rows, null_once_in: 0 }).scalars() {
        columns.push((name.to_string(), array, false));
    }
    for (name, array) in (Maker { random, num_rows, null_once_in: 4 }).scalars() {
        columns.push((format!("{name}_null"), array, true));
    }
    columns.push(("list".into(), lists(random, num_rows), true));
    columns.push(("list_list".into(), lists_of_lists(random, num_rows), true));
    columns.push(("map".into(), maps(random, num_rows), true));
    columns.push(("struct".into(), structs(random, num_rows), true));
    let nulls = PrimitiveArray::<Int32Type>::new_null(num_rows);
    columns.push(("all_null".into(), Arc::new(nulls), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}
