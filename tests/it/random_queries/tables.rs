//! Random tables: the truth that the evaluator works on, and the same rows in Parquet files.
//!
//! A column takes its values from a pool, small or large, so that keys of different tables meet;
//! many tables are in the order of a column, so that statistics leave out pages and row groups.

use std::ops::Range;

use arrow_schema::{DataType, Field, TimeUnit};

use super::arrays::record_batch;
use super::rows::Row;
use super::values::{Datum, Kind, NANOS_PER_DAY};
use crate::random_files::{one_of, random_file};
use crate::support::random::Random;

/// A column of a table; columns are called `c0`, `c1`, ...
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) kind: Kind,
    /// How files store it.
    pub(super) stored: DataType,
    pub(super) nullable: bool,
}

/// A table: its rows, and the files that have them.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) files: Vec<TableFile>,
}

/// A file of a table.
#[derive(Debug)]
pub(super) struct TableFile {
    /// Below the folder of the table.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    num_rows: usize,
    /// The name and value of the partition key, in tables that have one.
    pub(super) key: Option<(String, Option<i64>)>,
}

impl Table {
    /// A table of this many rows.
    pub(super) fn random(num_rows: usize, random: &mut Random) -> Table {
        let num_columns = 3 + random.below(6) as usize;
        let columns: Vec<Column> = (0..num_columns).map(|i| random_column(i, random)).collect();
        let makers: Vec<Maker> = columns.iter().map(|column| Maker::new(column, random)).collect();
        let row = |random: &mut Random| makers.iter().map(|maker| maker.value(random)).collect();
        let mut rows: Vec<Row> = (0..num_rows).map(|_| row(random)).collect();
        if random.once_in(2) {
            let by = random.below(num_columns as u64) as usize;
            rows.sort_by(|a, b| a[by].cmp(&b[by]));
        }
        let mut table = Table { columns, rows, files: Vec::new() };
        let has_key = random.once_in(4);
        let num_files = one_of(random, &[1, 2, 3, 5]);
        let keys = (0..num_files).map(|file| {
            // The type of the key is inferred from its values: one of them is not null.
            let value =
                if file > 0 && random.once_in(4) { None } else { Some(random.below(3) as i64) };
            has_key.then_some(value)
        });
        for (file, key) in keys.collect::<Vec<_>>().into_iter().enumerate() {
            let rest = num_rows - table.files.iter().map(|file| file.num_rows).sum::<usize>();
            let is_last = file + 1 == num_files;
            let len = if is_last { rest } else { random.below(rest as u64 + 1) as usize };
            table.put_file(num_rows - rest..num_rows - rest + len, key, random);
        }
        if has_key {
            let (kind, stored) = (Kind::Int, DataType::Int64);
            table.columns.push(Column { kind, stored, nullable: true });
        }
        table
    }

    /// Writes rows as a file; `key` is the value of the partition key for these rows, which becomes
    /// their last column.
    fn put_file(&mut self, rows: Range<usize>, key: Option<Option<i64>>, random: &mut Random) {
        let of_file = &mut self.rows[rows];
        let has_all = self.files.is_empty();
        let layout = file_columns(&self.columns, of_file, has_all, random);
        let bytes = random_file(&record_batch(&layout, of_file), random);
        let number = self.files.len();
        let mut path = format!("{number}.parquet");
        let name = format!("c{}", self.columns.len());
        if let Some(value) = key {
            let text = value.map(|value| value.to_string());
            let text = text.as_deref().unwrap_or("__HIVE_DEFAULT_PARTITION__");
            path = format!("{name}={text}/{path}");
            let value = value.map_or(Datum::Null, Datum::Int);
            of_file.iter_mut().for_each(|row| row.push(value.clone()));
        }
        let (num_rows, key) = (of_file.len(), key.map(|value| (name, value)));
        self.files.push(TableFile { path, bytes, num_rows, key });
    }
}

/// The columns of one file, by their places in the table: it may store integers narrower than others,
/// and leave out columns that are null in all of its rows. One file has them all.
fn file_columns(
    columns: &[Column],
    rows: &[Row],
    is_first: bool,
    random: &mut Random,
) -> Vec<(usize, Column)> {
    let mut found = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        let mut column = column.clone();
        let mut values = rows.iter().map(|row| &row[i]);
        if !is_first && values.clone().all(Datum::is_null) && random.once_in(2) {
            continue;
        }
        let fits = |value: &Datum| match value {
            Datum::Int(value) => i16::try_from(*value).is_ok(),
            _ => true,
        };
        let is_wide = matches!(column.stored, DataType::Int32 | DataType::Int64);
        if is_wide && values.all(fits) && random.once_in(4) {
            column.stored = DataType::Int16;
        }
        found.push((i, column));
    }
    // A file has at least one column.
    if found.is_empty() { vec![(0, columns[0].clone())] } else { found }
}

/// The first columns are those that joins need.
fn random_column(place: usize, random: &mut Random) -> Column {
    let choice = match place {
        0 => 0,
        1 => random.below(2),
        _ => random.below(16),
    };
    let boxed = |kind: Kind| Box::new(kind);
    let item = |ty: DataType| std::sync::Arc::new(Field::new("element", ty, true));
    let (kind, stored) = match choice {
        0 | 2..=4 => {
            let stored = [
                DataType::Int8,
                DataType::Int16,
                DataType::Int32,
                DataType::Int32,
                DataType::Int64,
                DataType::Int64,
                DataType::UInt8,
                DataType::UInt16,
                DataType::UInt32,
            ];
            (Kind::Int, stored[random.below(9) as usize].clone())
        }
        1 | 5 | 6 => (Kind::Text, DataType::Utf8),
        7 => (Kind::Bool, DataType::Boolean),
        8 => (Kind::Double, DataType::Float64),
        9 => (Kind::Real, DataType::Float32),
        10 => {
            let (precision, scale) = one_of(random, &[(5, 2), (9, 0), (12, 3), (18, 4), (25, 2)]);
            (Kind::Decimal { precision, scale }, DataType::Decimal128(precision, scale as i8))
        }
        11 => (Kind::Date, DataType::Date32),
        12 => {
            let units = [TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
            (Kind::Timestamp, DataType::Timestamp(one_of(random, &units), None))
        }
        13 => (Kind::List(boxed(Kind::Int)), DataType::List(item(DataType::Int64))),
        14 => {
            let fields =
                [Field::new("f0", DataType::Int32, true), Field::new("f1", DataType::Utf8, true)];
            (Kind::Row(vec![Kind::Int, Kind::Text]), DataType::Struct(fields.into_iter().collect()))
        }
        _ => {
            let fields = [
                Field::new("key", DataType::Utf8, false),
                Field::new("value", DataType::Int64, true),
            ];
            let entries = DataType::Struct(fields.into_iter().collect());
            let entries = std::sync::Arc::new(Field::new("key_value", entries, false));
            (Kind::Map(boxed(Kind::Text), boxed(Kind::Int)), DataType::Map(entries, false))
        }
    };
    Column { kind, stored, nullable: !random.once_in(4) }
}

/// What values a column has.
struct Maker {
    pool: Vec<Datum>,
    /// The number of nulls among a number of values: `(values, nulls)`.
    nulls: (u64, u64),
}

impl Maker {
    fn new(column: &Column, random: &mut Random) -> Maker {
        let size = one_of(random, &[1, 3, 8, 30, 300, 2000]);
        let wide = random.once_in(4);
        let stored = Some(&column.stored);
        let pool = (0..size).map(|_| random_value(&column.kind, stored, wide, random)).collect();
        let shares = [(0, 1), (0, 1), (1, 20), (1, 20), (1, 5), (1, 5), (1, 2), (9, 10)];
        let nulls = if random.once_in(30) { (1, 1) } else { one_of(random, &shares) };
        Maker { pool, nulls: if column.nullable { nulls } else { (0, 1) } }
    }

    fn value(&self, random: &mut Random) -> Datum {
        if random.below(self.nulls.1) < self.nulls.0 {
            return Datum::Null;
        }
        self.pool[random.below(self.pool.len() as u64) as usize].clone()
    }
}

/// A value of a type that is not null; `wide` ones seldom repeat. As far as `stored` holds it.
pub(super) fn random_value(
    kind: &Kind,
    stored: Option<&DataType>,
    wide: bool,
    random: &mut Random,
) -> Datum {
    match kind {
        Kind::Bool => Datum::Bool(random.once_in(2)),
        Kind::Int => Datum::Int(integer(stored, wide, random)),
        Kind::Real | Kind::Double => Datum::Double(double(wide, random)),
        Kind::Decimal { precision, .. } => {
            let most = if wide { 10i64.pow(u32::from(*precision).min(15)) } else { 500 };
            Datum::Decimal((random.next() as i64 % most).into())
        }
        Kind::Text => Datum::Text(text(wide, random)),
        Kind::Date => Datum::Date(day(wide, random)),
        Kind::Timestamp => {
            let millis = if wide { random.below(86_400_000) } else { random.below(3) * 12_345_678 };
            Datum::Timestamp(
                i64::from(day(wide, random)) * NANOS_PER_DAY + millis as i64 * 1_000_000,
            )
        }
        Kind::List(item) => {
            let len = random.below(4);
            Datum::List((0..len).map(|_| maybe_null(item, wide, random)).collect())
        }
        Kind::Row(fields) => {
            Datum::Row(fields.iter().map(|field| maybe_null(field, wide, random)).collect())
        }
        Kind::Map(key, item) => {
            let len = random.below(3);
            let mut keys: Vec<Datum> =
                (0..len).map(|_| random_value(key, None, wide, random)).collect();
            keys.sort();
            keys.dedup();
            let entry = |key| (key, maybe_null(item, wide, random));
            Datum::Map(keys.into_iter().map(entry).collect())
        }
    }
}

/// A value inside of another.
fn maybe_null(kind: &Kind, wide: bool, random: &mut Random) -> Datum {
    let is_null = random.once_in(5);
    let value = random_value(kind, Some(&DataType::Int32), wide, random);
    if is_null { Datum::Null } else { value }
}

fn integer(stored: Option<&DataType>, wide: bool, random: &mut Random) -> i64 {
    if !wide {
        return random.below(12) as i64;
    }
    let (low, high) = match stored {
        Some(DataType::Int8) => (i8::MIN.into(), i8::MAX.into()),
        Some(DataType::Int16) => (i16::MIN.into(), i16::MAX.into()),
        Some(DataType::Int32) => (i32::MIN.into(), i32::MAX.into()),
        Some(DataType::UInt8) => (0, u8::MAX.into()),
        Some(DataType::UInt16) => (0, u16::MAX.into()),
        Some(DataType::UInt32) => (0, u32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    let any = random.next() as i64;
    let near = random.below(2_001) as i64 - 1_000;
    let value = one_of(random, &[low, high, low + 1, high - 1, any, near, near, near, near]);
    let span = i128::from(high) - i128::from(low) + 1;
    let moved = (i128::from(value) - i128::from(low)).rem_euclid(span) + i128::from(low);
    moved.try_into().expect("within 64 bits")
}

/// Eighths, so that sums are exact; also what is no number.
fn double(wide: bool, random: &mut Random) -> f64 {
    if !wide {
        return random.below(20) as f64 / 4.0 - 2.0;
    }
    match random.below(16) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4 => 0.0,
        _ => (random.below(20_001) as f64 - 10_000.0) / 8.0,
    }
}

fn day(wide: bool, random: &mut Random) -> i32 {
    if wide { random.below(40_000) as i32 - 15_000 } else { 18_250 + random.below(15) as i32 }
}

/// Words of few letters, among them those of patterns; longer than a view keeps inline, now and then.
fn text(wide: bool, random: &mut Random) -> String {
    const LETTERS: [char; 9] = ['a', 'b', 'c', 'A', '%', '_', ' ', 'é', '東'];
    let words = ["", "a", "ab", "abc", "b", "ba", "a b", "é", "7", "a long word of many letters"];
    if !wide {
        return one_of(random, &words).to_string();
    }
    let len = one_of(random, &[0, 1, 2, 3, 5, 12, 13, 30]);
    (0..len).map(|_| one_of(random, &LETTERS)).collect()
}
