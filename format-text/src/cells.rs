//! Cells: the texts of one column, collected into a vector of the type that the plan requests.
//!
//! ```text
//! level 0   columns      a \x01 b \x01 c
//! level 1   of a column  elements, fields, entries      x \x02 y
//! level 2   below them   key and value of an entry      k \x03 v
//! ```
//!
//! The cells of a column are planned once per file: which fields of its structs are read and their
//! positions, and how many elements of its lists. A list or map whose text is empty has no
//! elements.

use std::collections::HashSet;

use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use vector::build::VectorBuilder;
use vector::sync::Arc;
use vector::{
    ArrayVector, BitmapMut, BufferMut, Error, FlatValues, FlatVector, MapVector, Result, RowType,
    RowVector, StringBuilder, Type, Vector, VectorRef,
};

use crate::base64;
use crate::dialect::{BadValues, Dialect};
use crate::fields::{Pieces, split_once, unescaped};
use crate::values::{has_text, parse_scalar};

/// How the text of a column or nested value is decoded.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// Null in every row, because the value is not requested or the file does not have it.
    Nothing(Type),
    /// A string.
    String(Type),
    /// A scalar that is not a string.
    Scalar(Type),
    /// A list.
    Array {
        /// Shape of an element.
        element: Box<Shape>,
        /// Maximum number of elements kept per row.
        max_elements: usize,
    },
    /// A map. Of several entries with the same key the first is kept.
    Map {
        /// Shape of a key.
        key: Box<Shape>,
        /// Shape of a value.
        value: Box<Shape>,
    },
    /// A struct.
    Row {
        /// Type of the output.
        row_type: Arc<RowType>,
        /// For each field of the type, its position in the file, or `None` if it is not read, and
        /// its shape.
        fields: Vec<(Option<usize>, Shape)>,
    },
}

impl Shape {
    /// Returns the shape of a column whose type in the file is `file`.
    ///
    /// # Errors
    /// `Unsupported` if the plan requests another kind of type, a type without a text form, or
    /// levels of nesting that have no separator.
    pub(crate) fn new(column: &ColumnSpec, binding: &NestedBinding, file: &Type) -> Result<Self> {
        shape(&column.ty, &column.nested, binding, file, 1)
    }

    /// Returns empty cells of this shape.
    pub(crate) fn cells(&self) -> Cells {
        let storage = match self {
            Shape::Nothing(_) => Storage::Nothing(0),
            Shape::String(ty) => Storage::Strings {
                strings: StringBuilder::new(),
                is_base64: *ty == Type::Varbinary,
            },
            Shape::Scalar(ty) => Storage::Scalars(VectorBuilder::new(ty.clone())),
            Shape::Array { element, max_elements } => Storage::Array {
                spans: Spans::default(),
                element: Box::new(element.cells()),
                max_elements: *max_elements,
            },
            Shape::Map { key, value } => Storage::Map {
                spans: Spans::default(),
                key: Box::new(key.cells()),
                value: Box::new(value.cells()),
            },
            Shape::Row { row_type, fields } => Storage::Row {
                row_type: Arc::clone(row_type),
                fields: fields.iter().map(|(at, field)| (*at, field.cells())).collect(),
            },
        };
        Cells { ty: self.ty(), storage, validity: BitmapMut::new() }
    }

    fn ty(&self) -> Type {
        match self {
            Shape::Nothing(ty) | Shape::String(ty) | Shape::Scalar(ty) => ty.clone(),
            Shape::Array { element, .. } => Type::array(element.ty()),
            Shape::Map { key, value } => Type::map(key.ty(), value.ty()),
            Shape::Row { row_type, .. } => Type::Row(Arc::clone(row_type)),
        }
    }
}

fn shape(
    ty: &Type,
    nested: &NestedSpec,
    binding: &NestedBinding,
    file: &Type,
    level: usize,
) -> Result<Shape> {
    // Deepest separator of this type; a map uses the one of the next level too, for its keys.
    let deepest = match ty {
        Type::Map(..) => level + 1,
        Type::Array(_) | Type::Row(_) => level,
        _ => 0,
    };
    if Dialect::default().separator(deepest).is_none() {
        return Err(Error::unsupported("a type nested deeper than text has separators for"));
    }
    match (ty, file) {
        (Type::Unknown, _) | (_, Type::Unknown) => Ok(Shape::Nothing(ty.clone())),
        (Type::Array(ty), Type::Array(file)) => {
            let (spec, max_elements) = match nested {
                NestedSpec::Array { element, max_elements } => (&element.nested, *max_elements),
                _ => (&NestedSpec::Whole, usize::MAX),
            };
            let element = match binding {
                NestedBinding::Array(None) => Shape::Nothing((**ty).clone()),
                NestedBinding::Array(Some(binding)) => shape(ty, spec, binding, file, level + 1)?,
                _ => shape(ty, spec, &NestedBinding::ByName, file, level + 1)?,
            };
            Ok(Shape::Array { element: Box::new(element), max_elements })
        }
        (Type::Map(key, ty), Type::Map(file_key, file)) => {
            let spec = match nested {
                NestedSpec::Map { value, .. } => &value.nested,
                _ => &NestedSpec::Whole,
            };
            let by_name = &NestedBinding::ByName;
            let key = shape(key, &NestedSpec::Whole, by_name, file_key, level + 2)?;
            let value = match binding {
                NestedBinding::Map(None) => Shape::Nothing((**ty).clone()),
                NestedBinding::Map(Some(binding)) => shape(ty, spec, binding, file, level + 2)?,
                _ => shape(ty, spec, by_name, file, level + 2)?,
            };
            Ok(Shape::Map { key: Box::new(key), value: Box::new(value) })
        }
        (Type::Row(row), Type::Row(file)) => {
            let fields = row.fields().enumerate().map(|(i, (name, ty))| {
                let nothing = (None, Shape::Nothing(ty.clone()));
                let spec = match nested {
                    NestedSpec::Row(fields) => match fields.get(i) {
                        Some(FieldSpec::Wanted(spec)) => &spec.nested,
                        _ => return Ok(nothing),
                    },
                    _ => &NestedSpec::Whole,
                };
                let (at, binding) = match binding {
                    NestedBinding::Row(bound) => match bound.get(i).and_then(Option::as_ref) {
                        Some(bound) => (Some(bound.ordinal), &bound.nested),
                        None => (None, &NestedBinding::ByName),
                    },
                    _ => (file.index_of(name), &NestedBinding::ByName),
                };
                let Some((at, file)) = at.and_then(|at| Some((at, file.types().get(at)?))) else {
                    return Ok(nothing);
                };
                let field = shape(ty, spec, binding, file, level + 1);
                Ok((Some(at), field.map_err(|e| e.in_named("field", name))?))
            });
            let fields = fields.collect::<Result<_>>()?;
            Ok(Shape::Row { row_type: Arc::clone(row), fields })
        }
        _ if ty.is_nested() || file.is_nested() => {
            Err(Error::unsupported("the column cannot be read as this type")
                .with("file_type", file)
                .with("type", ty))
        }
        (Type::Varchar | Type::Varbinary, _) => Ok(Shape::String(ty.clone())),
        _ if has_text(ty) => Ok(Shape::Scalar(ty.clone())),
        _ => {
            Err(Error::unsupported("values of this type are not written as text").with("type", ty))
        }
    }
}

/// The texts of one column collected so far.
pub(crate) struct Cells {
    ty: Type,
    storage: Storage,
    validity: BitmapMut,
}

enum Storage {
    Nothing(usize),
    Strings { strings: StringBuilder, is_base64: bool },
    Scalars(VectorBuilder),
    Array { spans: Spans, element: Box<Cells>, max_elements: usize },
    Map { spans: Spans, key: Box<Cells>, value: Box<Cells> },
    Row { row_type: Arc<RowType>, fields: Vec<(Option<usize>, Cells)> },
}

/// Offsets and lengths of the elements of each row.
#[derive(Default)]
struct Spans {
    offsets: BufferMut<u32>,
    lengths: BufferMut<u32>,
    len: u32,
}

impl Spans {
    fn push(&mut self, len: u32) {
        self.offsets.push(self.len);
        self.lengths.push(len);
        self.len += len;
    }
}

impl Cells {
    /// Appends the value that `text` stands for at a nesting level; null if there is no text or it
    /// is the text of null.
    ///
    /// # Errors
    /// `Corrupt` for a bad value if the dialect rejects bad values.
    pub(crate) fn push(
        &mut self,
        text: Option<&[u8]>,
        level: usize,
        dialect: &Dialect,
    ) -> Result<()> {
        let text = text.filter(|text| *text != dialect.null_text.as_slice());
        let ty = &self.ty;
        match (&mut self.storage, text) {
            (Storage::Nothing(len), _) => {
                *len += 1;
                return Ok(());
            }
            (Storage::Scalars(values), text) => {
                return match text.and_then(|text| parse_scalar(text, ty)) {
                    Some(value) => values.push(&value),
                    None => {
                        values.push_null();
                        check_bad(text, ty, dialect)
                    }
                };
            }
            (Storage::Strings { strings, is_base64 }, Some(text)) => {
                let text = unescaped(text, dialect);
                // Hive keeps bytes that are not valid base64 as they are.
                let bytes = if *is_base64 { base64::decode_bytes(&text) } else { None };
                strings.push(bytes.as_deref().unwrap_or(&text));
            }
            (Storage::Strings { strings, .. }, None) => strings.push(b""),
            (Storage::Array { spans, element, max_elements }, Some(text)) => {
                let mut len = 0;
                for piece in elements(text, level, dialect)?.take(*max_elements) {
                    element.push(Some(piece), level + 1, dialect)?;
                    len += 1;
                }
                spans.push(len);
            }
            (Storage::Map { spans, key, value }, Some(text)) => {
                spans.push(push_entries(text, key, value, level, dialect)?);
            }
            (Storage::Array { spans, .. } | Storage::Map { spans, .. }, None) => spans.push(0),
            (Storage::Row { fields, .. }, text) => {
                let num_pieces = fields.iter().filter_map(|(at, _)| *at).max().map_or(0, |m| m + 1);
                let separator = separator(level, dialect)?;
                let pieces = text.map(|text| Pieces::new(text, separator, dialect));
                let pieces: Vec<&[u8]> = pieces.into_iter().flatten().take(num_pieces).collect();
                for (at, field) in fields {
                    let piece = at.and_then(|at| pieces.get(at)).copied();
                    field.push(piece, level + 1, dialect)?;
                }
            }
        }
        self.validity.push(text.is_some());
        Ok(())
    }

    /// Returns the vector of all cells.
    ///
    /// # Errors
    /// Errors of the vector's construction.
    pub(crate) fn finish(self) -> Result<VectorRef> {
        let len = self.validity.len();
        let validity = self.validity.freeze_validity();
        Ok(Arc::new(match self.storage {
            Storage::Nothing(len) => Vector::nulls(self.ty, len),
            Storage::Scalars(values) => return values.finish(),
            Storage::Strings { strings, .. } => Vector::Flat(FlatVector::new(
                self.ty,
                FlatValues::String(strings.finish()?),
                validity,
            )?),
            Storage::Array { spans, element, .. } => Vector::Array(ArrayVector::new(
                spans.offsets.freeze(),
                spans.lengths.freeze(),
                validity,
                element.finish()?,
            )?),
            Storage::Map { spans, key, value } => Vector::Map(MapVector::new(
                spans.offsets.freeze(),
                spans.lengths.freeze(),
                validity,
                key.finish()?,
                value.finish()?,
            )?),
            Storage::Row { row_type, fields } => {
                let children = fields.into_iter().map(|(_, field)| field.finish());
                let children = children.collect::<Result<_>>()?;
                Vector::Row(RowVector::new(row_type, len, validity, children)?)
            }
        }))
    }

    /// Returns true if the text of a scalar is null. Map keys must not be null.
    fn is_null(&self, text: &[u8], dialect: &Dialect) -> bool {
        text == dialect.null_text.as_slice()
            || match &self.storage {
                Storage::Nothing(_) => true,
                Storage::Scalars(_) => parse_scalar(text, &self.ty).is_none(),
                _ => false,
            }
    }
}

/// Appends the entries of a map and returns their number. Entries with a null key are skipped, as
/// in Hive. An entry without a separator has a null value.
fn push_entries(
    text: &[u8],
    key: &mut Cells,
    value: &mut Cells,
    level: usize,
    dialect: &Dialect,
) -> Result<u32> {
    let key_separator = separator(level + 1, dialect)?;
    let mut seen = HashSet::new();
    let mut len = 0;
    for entry in elements(text, level, dialect)? {
        let (key_text, value_text) = match split_once(entry, key_separator, dialect.escape) {
            Some((key, value)) => (key, Some(value)),
            None => (entry, None),
        };
        if key.is_null(key_text, dialect) {
            check_bad(Some(key_text).filter(|t| *t != dialect.null_text), &key.ty, dialect)?;
            continue;
        }
        if seen.insert(key_text) {
            key.push(Some(key_text), level + 2, dialect)?;
            value.push(value_text, level + 2, dialect)?;
            len += 1;
        }
    }
    Ok(len)
}

/// Returns the elements of a list or map; an empty text has none.
fn elements<'a>(
    text: &'a [u8],
    level: usize,
    dialect: &Dialect,
) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
    let pieces = Pieces::new(text, separator(level, dialect)?, dialect);
    Ok(pieces.take(if text.is_empty() { 0 } else { usize::MAX }))
}

/// Returns the separator of a level. Planning has checked that the level has one.
fn separator(level: usize, dialect: &Dialect) -> Result<u8> {
    dialect.separator(level).ok_or_else(|| {
        Error::internal("a level of nesting without a separator").with("level", level)
    })
}

/// Returns an error for a text that is not a valid value if the dialect rejects bad values. An
/// absent or empty text is accepted, since writers use it for a missing value.
fn check_bad(text: Option<&[u8]>, ty: &Type, dialect: &Dialect) -> Result<()> {
    match text {
        Some(text) if dialect.bad_values == BadValues::Refuse && !text.is_empty() => {
            Err(Error::corrupt("a text is not a value of its column's type")
                .with("text", String::from_utf8_lossy(text))
                .with("type", ty))
        }
        _ => Ok(()),
    }
}
