//! Schema evolution: a Hive table whose files were written under older schemas. Any mix of files
//! with columns and fields dropped, added, reordered and widened returns the rows of each single
//! file.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, ListArray, RecordBatch, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use connector_hive::{ColumnMapping, HiveSplit, HiveTableHandle};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::fs::MemoryFiles;
use dwio::subfield::Subfield;
use vector::{RowType, Type, Value};

use crate::support::files::{Layout, parquet_file};
use crate::support::random::Random;
use crate::support::source::{drained, parquet_split, source_of};

/// Number of random tables.
const ROUNDS: usize = 240;

/// A type in which a file may store a column.
#[derive(Debug, Clone)]
enum Stored {
    Int(u8),
    Float(u8),
    Decimal(u8, i8),
    Row(Vec<(String, Stored)>),
    List(Box<Stored>),
}

/// Returns the current schema of the table.
fn table() -> Vec<(&'static str, Type)> {
    let point = Type::row([("x", Type::BigInt), ("y", Type::Integer)]);
    let decimal = Type::Decimal { precision: 20, scale: 4 };
    vec![
        ("a", Type::BigInt),
        ("b", Type::Double),
        ("d", decimal),
        ("s", point.clone()),
        ("l", Type::array(point)),
    ]
}

/// Returns a type that can be widened to the table's type.
fn narrower(random: &mut Random, wanted: &Type, by_position: bool) -> Stored {
    let one = |random: &mut Random, of: &[Stored]| of[below(random, of.len())].clone();
    match wanted {
        Type::BigInt => one(random, &[8, 16, 32, 64].map(Stored::Int)),
        Type::Integer => one(random, &[8, 16, 32].map(Stored::Int)),
        Type::Double => {
            one(random, &[Stored::Int(32), Stored::Float(32), Stored::Float(64), Stored::Int(8)])
        }
        Type::Decimal { .. } => {
            let decimals = [(5, 2), (18, 2), (20, 4)].map(|(p, s)| Stored::Decimal(p, s));
            one(random, &[&decimals[..], &[Stored::Int(16), Stored::Int(32)]].concat())
        }
        Type::Row(row) => {
            let fields = row
                .fields()
                .map(|(name, ty)| (name.to_string(), narrower(random, ty, by_position)));
            let fields = fields.collect();
            Stored::Row(changed(random_of(random), fields, by_position))
        }
        Type::Array(element) => Stored::List(Box::new(narrower(random, element, by_position))),
        other => panic!("no {other} in this table"),
    }
}

/// Returns a number below `bound`.
fn below(random: &mut Random, bound: usize) -> usize {
    random.below(bound as u64) as usize
}

/// Returns a separate generator, so that closures may borrow the other one.
fn random_of(random: &mut Random) -> Random {
    Random::new(random.next())
}

/// Returns columns or fields as an older schema had them: by name, some of them in any order and
/// with other columns between them; by position, the first ones under other names.
fn changed(
    mut random: Random,
    mut columns: Vec<(String, Stored)>,
    by_position: bool,
) -> Vec<(String, Stored)> {
    if by_position {
        let kept = 1 + below(&mut random, columns.len());
        columns.truncate(kept);
        let renamed = columns.into_iter().enumerate().map(|(i, (_, ty))| (format!("old{i}"), ty));
        return renamed.collect();
    }
    columns.push(("gone".to_string(), Stored::Int(64)));
    for i in (1..columns.len()).rev() {
        columns.swap(i, below(&mut random, i + 1));
    }
    let kept = 1 + below(&mut random, columns.len());
    columns.truncate(kept);
    columns
}

fn data_type(stored: &Stored) -> DataType {
    match stored {
        Stored::Int(8) => DataType::Int8,
        Stored::Int(16) => DataType::Int16,
        Stored::Int(32) => DataType::Int32,
        Stored::Int(_) => DataType::Int64,
        Stored::Float(32) => DataType::Float32,
        Stored::Float(_) => DataType::Float64,
        Stored::Decimal(precision, scale) => DataType::Decimal128(*precision, *scale),
        Stored::Row(fields) => DataType::Struct(arrow_fields(fields)),
        Stored::List(element) => {
            DataType::List(Arc::new(Field::new("element", data_type(element), true)))
        }
    }
}

fn arrow_fields(fields: &[(String, Stored)]) -> Fields {
    fields.iter().map(|(name, ty)| Field::new(name, data_type(ty), true)).collect()
}

fn some(random: &mut Random, stored: &Stored) -> Value {
    if below(random, 4) == 0 {
        return Value::Null;
    }
    match stored {
        Stored::Row(fields) => Value::Row(fields.iter().map(|(_, ty)| some(random, ty)).collect()),
        Stored::List(element) => {
            Value::Array((0..below(random, 3)).map(|_| some(random, element)).collect())
        }
        _ => Value::BigInt(below(random, 9) as i64 - 3),
    }
}

/// Returns the values as the file stores them.
fn arrow(stored: &Stored, values: &[Value]) -> ArrayRef {
    let numbers = || values.iter().map(Value::as_i64);
    let is_valid: Vec<bool> = values.iter().map(|v| !v.is_null()).collect();
    let nulls = Some(NullBuffer::from(is_valid));
    match stored {
        Stored::Int(8) => Arc::new(numbers().map(|v| v.map(|v| v as i8)).collect::<Int8Array>()),
        Stored::Int(16) => Arc::new(numbers().map(|v| v.map(|v| v as i16)).collect::<Int16Array>()),
        Stored::Int(32) => Arc::new(numbers().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        Stored::Int(_) => Arc::new(numbers().collect::<Int64Array>()),
        Stored::Float(32) => {
            Arc::new(numbers().map(|v| v.map(|v| v as f32)).collect::<Float32Array>())
        }
        Stored::Float(_) => {
            Arc::new(numbers().map(|v| v.map(|v| v as f64)).collect::<Float64Array>())
        }
        Stored::Decimal(precision, scale) => {
            let factor = 10i128.pow(*scale as u32);
            let values = numbers().map(|v| v.map(|v| i128::from(v) * factor));
            let array = values.collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        Stored::Row(fields) => {
            let column = |i: usize| -> Vec<Value> {
                let field = |v: &Value| match v {
                    Value::Row(fields) => fields[i].clone(),
                    _ => Value::Null,
                };
                values.iter().map(field).collect()
            };
            let children = fields.iter().enumerate().map(|(i, (_, ty))| arrow(ty, &column(i)));
            let fields = arrow_fields(fields);
            Arc::new(StructArray::try_new(fields, children.collect(), nulls).unwrap())
        }
        Stored::List(element) => {
            let items = |v: &Value| match v {
                Value::Array(items) => items.to_vec(),
                _ => Vec::new(),
            };
            let lists: Vec<Vec<Value>> = values.iter().map(items).collect();
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
            let field = Arc::new(Field::new("element", data_type(element), true));
            let elements = arrow(element, &lists.concat());
            Arc::new(ListArray::try_new(field, offsets, elements, nulls).unwrap())
        }
    }
}

/// Returns the value that the rules of schema evolution make of a stored value (S7.46 to S7.60).
fn adapted(value: &Value, stored: &Stored, wanted: &Type, by_position: bool) -> Value {
    match (value, stored, wanted) {
        (Value::Row(values), Stored::Row(fields), Type::Row(row)) => {
            let field = |(i, (name, ty)): (usize, (&str, &Type))| {
                let at = match by_position {
                    true => Some(i).filter(|i| *i < fields.len()),
                    false => fields.iter().position(|(n, _)| n == name),
                };
                at.map_or(Value::Null, |at| adapted(&values[at], &fields[at].1, ty, by_position))
            };
            Value::Row(row.fields().enumerate().map(field).collect())
        }
        (Value::Array(values), Stored::List(element), Type::Array(ty)) => {
            Value::Array(values.iter().map(|v| adapted(v, element, ty, by_position)).collect())
        }
        (Value::BigInt(v), _, Type::Double) => Value::Double(*v as f64),
        (Value::BigInt(v), _, Type::Integer) => Value::Integer(*v as i32),
        (Value::BigInt(v), _, Type::Decimal { .. }) => Value::HugeInt(i128::from(*v) * 10_000),
        (value, ..) => value.clone(),
    }
}

struct OldFile {
    columns: Vec<(String, Stored)>,
    rows: Vec<Value>,
}

impl OldFile {
    fn new(random: &mut Random, by_position: bool) -> Self {
        let columns = table();
        let columns =
            columns.iter().map(|(name, ty)| (name.to_string(), narrower(random, ty, by_position)));
        let columns = columns.collect();
        let columns = changed(random_of(random), columns, by_position);
        let row = |random: &mut Random| {
            Value::Row(columns.iter().map(|(_, ty)| some(random, ty)).collect())
        };
        let rows = (0..1 + below(random, 20)).map(|_| row(random)).collect();
        OldFile { columns, rows }
    }

    fn bytes(&self) -> Vec<u8> {
        let column = |i: usize| -> Vec<Value> {
            let of = |row: &Value| match row {
                Value::Row(values) => values[i].clone(),
                _ => Value::Null,
            };
            self.rows.iter().map(of).collect()
        };
        let columns = self.columns.iter().enumerate().map(|(i, (_, ty))| arrow(ty, &column(i)));
        let schema = Arc::new(Schema::new(arrow_fields(&self.columns)));
        let rows = RecordBatch::try_new(schema, columns.collect()).unwrap();
        parquet_file(&rows, Layout { rows_per_group: 7, ..Layout::default() })
    }

    fn model(&self, wanted: &Type, by_position: bool) -> Vec<Value> {
        let stored = Stored::Row(self.columns.clone());
        self.rows.iter().map(|row| adapted(row, &stored, wanted, by_position)).collect()
    }
}

/// Returns all rows of the splits, each as a row value.
fn scanned(
    files: &MemoryFiles,
    splits: &[HiveSplit],
    filter: Option<&Filter>,
    remaining: Option<TypedExpr>,
) -> Vec<Value> {
    let columns = Arc::new(RowType::new(table()));
    let mut handle = HiveTableHandle::new("hive", "t")
        .with_data_columns(Arc::clone(&columns))
        .with_remaining_filter(remaining);
    if let Some(filter) = filter {
        handle = handle.with_filter(Subfield::column("a"), Arc::new(filter.clone()));
    }
    let mut source = source_of(Arc::new(files.clone()), handle, &table());
    let mut rows = Vec::new();
    for split in splits {
        source.add_split(Arc::new(split.clone())).unwrap();
        let of_split = drained(source.as_mut(), 5);
        rows.extend(of_split.into_iter().map(|row| Value::Row(row.into())));
    }
    rows
}

#[test]
fn any_mix_of_files_of_older_schemas_gives_what_each_gives_on_its_own() {
    let mut random = Random::new(2026);
    let wanted = Type::Row(Arc::new(RowType::new(table())));
    for round in 0..ROUNDS {
        let by_position = round % 2 == 1;
        let mapping = if by_position { ColumnMapping::Position } else { ColumnMapping::Name };
        let old: Vec<OldFile> = (0..5).map(|_| OldFile::new(&mut random, by_position)).collect();
        let files = MemoryFiles::new();
        for (i, file) in old.iter().enumerate() {
            files.put(format!("f{i}"), file.bytes());
        }
        let order: Vec<usize> = (0..7).map(|_| below(&mut random, old.len())).collect();
        let split = |i: &usize| parquet_split(format!("f{i}")).with_column_mapping(mapping);
        let splits: Vec<HiveSplit> = order.iter().map(split).collect();
        let filter = [None, Some(Filter::bigint_range(0, 2, false)), Some(Filter::IsNull)]
            [below(&mut random, 3)]
        .clone();
        let b = || TypedExpr::field("b", Type::Double);
        let zero = TypedExpr::constant(Value::Double(0.0), Type::Double);
        let product = TypedExpr::call("multiply", vec![b(), b()], Type::Double);
        let positive = TypedExpr::call("gt", vec![product, zero], Type::Boolean);
        let remaining = (below(&mut random, 2) == 0).then_some(positive);
        let passes = |row: &Value| {
            let Value::Row(values) = row else { return false };
            let product = match &values[1] {
                Value::Double(b) => b * b,
                _ => 0.0,
            };
            let of_filter = |f: &Filter| f.test_value(&values[0], &Type::BigInt).unwrap();
            filter.as_ref().is_none_or(of_filter) && (remaining.is_none() || product > 0.0)
        };
        let expected: Vec<Value> = order
            .iter()
            .flat_map(|i| old[*i].model(&wanted, by_position))
            .filter(|row| passes(row))
            .collect();
        let found = scanned(&files, &splits, filter.as_ref(), remaining.clone());
        assert_eq!(found, expected, "round {round}");
    }
}
