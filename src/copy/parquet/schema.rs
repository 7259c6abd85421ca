//! Conversion of a batch's columns to a Parquet schema and to the field tree for shredding.
//!
//! | type | stored as | annotation |
//! |---|---|---|
//! | BOOLEAN, INTEGER, BIGINT, REAL, DOUBLE, VARBINARY | the same | none |
//! | TINYINT, SMALLINT | INT32 | INTEGER(8), INTEGER(16) |
//! | VARCHAR; DATE | BYTE_ARRAY; INT32 | STRING; DATE |
//! | TIME(ms); TIME(us), TIME(ns) | INT32; INT64 | TIME, in UTC or local as in the source |
//! | TIMESTAMP | INT64 | TIMESTAMP, in UTC or local and in the unit of the source |
//! | DECIMAL up to 9, 18, 38 digits | INT32, INT64, FIXED_LEN_BYTE_ARRAY | DECIMAL |
//! | HUGEINT that is UINT_64 in the source | INT64 | INTEGER(64), unsigned |
//! | other HUGEINT | FIXED_LEN_BYTE_ARRAY(16) | DECIMAL(38, 0): Parquet has no such integer |
//! | FLOAT16, UUID, INTERVAL | FIXED_LEN_BYTE_ARRAY(2, 16, 12) | the same |
//! | UNKNOWN | INT32 | UNKNOWN |
//! | ARRAY, MAP | three-level LIST, MAP | |
//!
//! A unit that COPY specifies for timestamps overrides that of the source. All fields are optional
//! except keys of maps.

use dwio::stored::{Annotation, StoredColumn};
use parquet::basic::{
    ConvertedType, LogicalType, Repetition, TimeUnit as FileUnit, Type as Physical,
};
use parquet::schema::types::{Type as FileType, TypePtr};
use vector::sync::Arc;
use vector::types::MAX_PRECISION;
use vector::{Error, Result, ResultExt, RowType, TimeUnit, Type};

use super::column::Column;
use super::wrong;

/// Number of decimal digits that always fit 4 bytes.
const DIGITS_OF_INT32: u8 = 9;
/// Number of decimal digits that always fit 8 bytes.
const DIGITS_OF_INT64: u8 = 18;

/// Number of bytes of an interval: months, days and milliseconds of 4 bytes each.
const INTERVAL_BYTES: usize = 12;

/// A field of the schema with its levels and children.
#[derive(Debug)]
pub(super) struct Field {
    /// Definition level of a value that is not null.
    pub(super) definition: i16,
    /// If true, a null is an error, as in keys of maps.
    pub(super) is_required: bool,
    pub(super) shape: Shape,
}

/// Contents of a field.
#[derive(Debug)]
pub(super) enum Shape {
    /// Index of a column.
    Leaf(usize),
    Row(Vec<Field>),
    /// Elements, or keys and values, with the repetition level of all but the first in a row.
    Repeated {
        repetition: i16,
        parts: Vec<Field>,
    },
}

/// A schema, and the data for shredding batches along it.
pub(super) struct Schema {
    pub(super) root: TypePtr,
    pub(super) fields: Vec<Field>,
    pub(super) columns: Vec<Column>,
}

/// Returns the schema of batches of `row_type`. `stored` is the metadata of its columns in the
/// source files. If `timestamps` is given, all timestamps are stored in that unit. Returns
/// `Unsupported` for a ROW without fields.
pub(super) fn schema_of(
    row_type: &RowType,
    stored: &[StoredColumn],
    timestamps: Option<TimeUnit>,
) -> Result<Schema> {
    let mut maker = Maker { timestamps, columns: Vec::new() };
    let top = Depth { definition: 0, repetition: 0 };
    let (mut types, mut fields) = (Vec::new(), Vec::new());
    for (i, (name, ty)) in row_type.fields().enumerate() {
        let from = Stored { ty, known: stored.get(i) };
        let (file_type, field) =
            maker.field(name, from, top, Repetition::OPTIONAL).in_named("column", name)?;
        types.push(Arc::new(file_type));
        fields.push(field);
    }
    let root = FileType::group_type_builder("schema").with_fields(types).build().map_err(wrong)?;
    Ok(Schema { root: Arc::new(root), fields, columns: maker.columns })
}

/// Levels of the parent of a field.
#[derive(Debug, Clone, Copy)]
struct Depth {
    definition: i16,
    repetition: i16,
}

struct Maker {
    timestamps: Option<TimeUnit>,
    columns: Vec<Column>,
}

/// The type of a field and its metadata in the source files.
#[derive(Clone, Copy)]
struct Stored<'a> {
    ty: &'a Type,
    known: Option<&'a StoredColumn>,
}

impl<'a> Stored<'a> {
    /// Returns the child at `index` of a list or map.
    fn part(self, index: usize, ty: &'a Type) -> Self {
        Stored { ty, known: self.known.and_then(|known| known.children.get(index)) }
    }

    fn annotation(self) -> Annotation {
        self.known.map(|known| known.annotation).unwrap_or_default()
    }
}

impl Maker {
    fn field(
        &mut self,
        name: &str,
        from: Stored<'_>,
        around: Depth,
        repetition: Repetition,
    ) -> Result<(FileType, Field)> {
        let is_required = repetition == Repetition::REQUIRED;
        let definition = around.definition + i16::from(!is_required);
        let here = Depth { definition, ..around };
        let group = |annotation, fields| {
            FileType::group_type_builder(name)
                .with_repetition(repetition)
                .with_logical_type(annotation)
                .with_fields(fields)
                .build()
                .map_err(wrong)
        };
        let (file_type, shape) = match from.ty {
            Type::Row(row) if row.is_empty() => {
                return Err(Error::unsupported("Parquet has no struct without fields"));
            }
            Type::Row(row) => {
                let (mut types, mut fields) = (Vec::new(), Vec::new());
                for (name, ty) in row.fields() {
                    let known = from.known.and_then(|known| known.field(name));
                    let made = self.field(name, Stored { ty, known }, here, Repetition::OPTIONAL);
                    let (file_type, field) = made.in_named("field", name)?;
                    types.push(Arc::new(file_type));
                    fields.push(field);
                }
                (group(None, types)?, Shape::Row(fields))
            }
            Type::Array(element) => {
                let parts = [("element", from.part(0, element), Repetition::OPTIONAL)];
                let (repeated, shape) = self.repeated("list", &parts, here)?;
                (group(Some(LogicalType::List), vec![repeated])?, shape)
            }
            Type::Map(key, value) => {
                let parts = [
                    ("key", from.part(0, key), Repetition::REQUIRED),
                    ("value", from.part(1, value), Repetition::OPTIONAL),
                ];
                let (repeated, shape) = self.repeated("key_value", &parts, here)?;
                (group(Some(LogicalType::Map), vec![repeated])?, shape)
            }
            scalar => {
                let stored = Storage::of(scalar, from.annotation(), self.timestamps)?;
                self.columns.push(Column::new(&stored, scalar.clone(), here.repetition > 0));
                (stored.file_type(name, repetition)?, Shape::Leaf(self.columns.len() - 1))
            }
        };
        Ok((file_type, Field { definition, is_required, shape }))
    }

    /// Builds the repeated group of a list or map.
    fn repeated(
        &mut self,
        name: &str,
        parts: &[(&str, Stored<'_>, Repetition)],
        around: Depth,
    ) -> Result<(TypePtr, Shape)> {
        let inside = Depth { definition: around.definition + 1, repetition: around.repetition + 1 };
        let (mut types, mut fields) = (Vec::new(), Vec::new());
        for (name, from, repetition) in parts {
            let (file_type, field) = self.field(name, *from, inside, *repetition)?;
            types.push(Arc::new(file_type));
            fields.push(field);
        }
        let group = FileType::group_type_builder(name)
            .with_repetition(Repetition::REPEATED)
            .with_fields(types)
            .build()
            .map_err(wrong)?;
        Ok((Arc::new(group), Shape::Repeated { repetition: inside.repetition, parts: fields }))
    }
}

/// Stored form of the values of a type.
#[derive(Debug)]
pub(super) struct Storage {
    pub(super) physical: Physical,
    /// Number of bytes of a value of fixed length.
    pub(super) width: usize,
    annotation: Option<LogicalType>,
    /// Unit of stored timestamps.
    pub(super) timestamps: TimeUnit,
}

impl Storage {
    fn of(ty: &Type, known: Annotation, timestamps: Option<TimeUnit>) -> Result<Self> {
        let (unit, is_utc) = match known {
            Annotation::Time { unit, is_utc } => (unit, is_utc),
            _ => (None, false),
        };
        let timestamps = timestamps.or(unit).unwrap_or(TimeUnit::Micros);
        use Physical::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64};
        let decimal =
            |precision: u8, scale: u8| LogicalType::decimal(scale.into(), precision.into());
        let (physical, width, annotation) = match ty {
            Type::Boolean => (BOOLEAN, 0, None),
            Type::TinyInt => (INT32, 0, Some(LogicalType::integer(8, true))),
            Type::SmallInt => (INT32, 0, Some(LogicalType::integer(16, true))),
            Type::Integer => (INT32, 0, None),
            Type::BigInt => (INT64, 0, None),
            Type::HugeInt if known == Annotation::Unsigned64 => {
                (INT64, 0, Some(LogicalType::integer(64, false)))
            }
            Type::HugeInt => (FIXED_LEN_BYTE_ARRAY, 16, Some(decimal(MAX_PRECISION, 0))),
            Type::Float16 => (FIXED_LEN_BYTE_ARRAY, 2, Some(LogicalType::Float16)),
            Type::Real => (FLOAT, 0, None),
            Type::Double => (DOUBLE, 0, None),
            Type::Varchar => (BYTE_ARRAY, 0, Some(LogicalType::String)),
            Type::Varbinary => (BYTE_ARRAY, 0, None),
            Type::Date => (INT32, 0, Some(LogicalType::Date)),
            Type::Time(unit) => {
                let physical = if *unit == TimeUnit::Millis { INT32 } else { INT64 };
                (physical, 0, Some(LogicalType::time(is_utc, file_unit(*unit))))
            }
            Type::Timestamp => {
                (INT64, 0, Some(LogicalType::timestamp(is_utc, file_unit(timestamps))))
            }
            Type::Decimal { precision, scale } => {
                let annotation = Some(decimal(*precision, *scale));
                match *precision {
                    digits if digits <= DIGITS_OF_INT32 => (INT32, 0, annotation),
                    digits if digits <= DIGITS_OF_INT64 => (INT64, 0, annotation),
                    digits => (FIXED_LEN_BYTE_ARRAY, bytes_of_digits(digits), annotation),
                }
            }
            Type::Uuid => (FIXED_LEN_BYTE_ARRAY, 16, Some(LogicalType::Uuid)),
            Type::Interval => (FIXED_LEN_BYTE_ARRAY, INTERVAL_BYTES, None),
            Type::Unknown => (INT32, 0, Some(LogicalType::Unknown)),
            Type::Array(_) | Type::Map(..) | Type::Row(_) => {
                return Err(Error::internal("a nested type as a column").with("type", ty));
            }
        };
        Ok(Storage { physical, width, annotation, timestamps })
    }

    fn file_type(&self, name: &str, repetition: Repetition) -> Result<FileType> {
        let mut builder = FileType::primitive_type_builder(name, self.physical)
            .with_repetition(repetition)
            .with_length(self.width as i32);
        if let Some(LogicalType::Decimal(digits)) = &self.annotation {
            builder = builder.with_precision(digits.precision).with_scale(digits.scale);
        }
        // An interval only has the older annotation.
        let is_interval = self.annotation.is_none() && self.width == INTERVAL_BYTES;
        builder = match is_interval {
            true => builder.with_converted_type(ConvertedType::INTERVAL),
            false => builder.with_logical_type(self.annotation.clone()),
        };
        builder.build().map_err(wrong)
    }
}

fn file_unit(unit: TimeUnit) -> FileUnit {
    match unit {
        TimeUnit::Millis => FileUnit::MILLIS,
        TimeUnit::Micros => FileUnit::MICROS,
        TimeUnit::Nanos => FileUnit::NANOS,
    }
}

/// Returns the number of bytes of the two's complement of any number with `digits` digits.
fn bytes_of_digits(digits: u8) -> usize {
    let greatest = 10i128.checked_pow(digits.into()).map_or(i128::MAX, |power| power - 1);
    let bits = i128::BITS - greatest.leading_zeros() + 1;
    bits.div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_take_as_many_bytes_as_their_digits_need() {
        let bytes = [19, 20, 21, 23, 24, 28, 30, 38].map(bytes_of_digits);
        assert_eq!(bytes, [9, 9, 9, 10, 11, 12, 13, 16]);
    }

    #[test]
    fn a_struct_without_fields_is_refused_by_name() {
        let none: [(&str, Type); 0] = [];
        let nested = Type::row([("inner", Type::row(none))]);
        let error = schema_of(&RowType::new([("a", nested)]), &[], None).err().unwrap();
        assert_eq!(
            error.to_string(),
            "unsupported: Parquet has no struct without fields\n  \
             in field \"inner\", column \"a\""
        );
    }
}
