//! Builders that make vectors row by row.
//!
//! [`StringBuilder`] and the buffers are for kernels. [`VectorBuilder`] is for code that processes
//! [`Value`]s or single rows of other vectors: tests, VALUES, aggregation results and sorting.

use crate::bitmap::BitmapMut;
use crate::encoding::{ArrayVector, MapVector, RowVector};
use crate::encoding::{
    ConstantVector, FlatType, FlatValues, FlatVector, StringValues, Vector, VectorRef,
};
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, BufferMut};
use crate::sync::Arc;
use crate::types::string_view::INLINE_LIMIT;
use crate::types::{StringView, Timestamp, Type, TypeKind, Value};

/// Size in bytes beyond which a string buffer is not filled further, so that offsets fit 32 bits.
const MAX_STRING_BUFFER: usize = 1 << 30;

/// Minimum size in bytes of a string buffer that is started because the previous one could not
/// grow.
const MIN_STRING_BUFFER: usize = 64 << 10;

/// Collects strings into views and buffers.
#[derive(Debug, Default)]
pub struct StringBuilder {
    views: BufferMut<StringView>,
    full: Vec<Buffer<u8>>,
    open: BufferMut<u8>,
    /// Error of the first string that could not be stored; with it [`StringBuilder::finish`] fails.
    failed: Option<Box<Error>>,
}

impl StringBuilder {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of strings so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Returns true if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Appends a copy of `bytes`. If memory is refused or the string has 4 GiB or more, an empty
    /// string is appended instead and [`StringBuilder::finish`] fails.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        if bytes.len() <= INLINE_LIMIT {
            self.views.push(StringView::inline(bytes));
            return;
        }
        if self.open.len() + bytes.len() > self.open.capacity() && !self.make_room(bytes.len()) {
            self.views.push(StringView::default());
            return;
        }
        // `make_room` starts a new buffer before offsets exceed 32 bits; `finish` checks the number
        // of buffers.
        let offset = self.open.len() as u32;
        self.open.extend_from_slice(bytes);
        self.views.push(StringView::new(bytes, self.full.len() as u32, offset));
    }

    /// Reserves memory for `additional` more bytes of long strings; returns false if that fails.
    #[cold]
    fn make_room(&mut self, additional: usize) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if self.open.len() + additional > MAX_STRING_BUFFER {
            self.close();
        }
        let room = if u32::try_from(additional).is_err() {
            let message = "a string is longer than 32 bits count";
            Err(Error::limit(message).with("bytes", additional))
        } else {
            // If the buffer cannot be doubled, memory for a separate buffer may still be available.
            self.open.try_grow(additional).or_else(|_| {
                self.close();
                self.open.try_reserve(additional.max(MIN_STRING_BUFFER))
            })
        };
        self.failed = room.err().map(Box::new);
        self.failed.is_none()
    }

    /// Returns true if a string could not be stored, after which building more strings is useless.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.full.push(open.freeze());
        }
    }

    /// Ends building and returns the strings.
    ///
    /// # Errors
    /// `Limit` if memory for a string was refused, a string has 4 GiB or more, or the number of
    /// buffers does not fit 32 bits.
    pub fn finish(mut self) -> Result<StringValues> {
        self.close();
        if let Some(error) = self.failed {
            return Err(*error);
        }
        entries_of(self.full.len())?;
        Ok(StringValues::new(self.views.freeze(), self.full))
    }
}

/// Returns a number of entries, or the position after them, as arrays and maps store it.
///
/// # Errors
/// `Limit` if the number does not fit 32 bits.
fn entries_of(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        Error::limit("a vector has more entries than 32 bits count").with("entries", number)
    })
}

enum Storage {
    Boolean(BitmapMut),
    TinyInt(BufferMut<i8>),
    SmallInt(BufferMut<i16>),
    Integer(BufferMut<i32>),
    BigInt(BufferMut<i64>),
    HugeInt(BufferMut<i128>),
    Real(BufferMut<f32>),
    Double(BufferMut<f64>),
    Timestamp(BufferMut<Timestamp>),
    String(StringBuilder),
    Array {
        offsets: BufferMut<u32>,
        lengths: BufferMut<u32>,
        elements: Box<VectorBuilder>,
    },
    Map {
        offsets: BufferMut<u32>,
        lengths: BufferMut<u32>,
        keys: Box<VectorBuilder>,
        values: Box<VectorBuilder>,
    },
    Row(Vec<VectorBuilder>),
    Unknown,
}

/// Collects rows of any type.
pub struct VectorBuilder {
    ty: Type,
    storage: Storage,
    validity: BitmapMut,
}

impl VectorBuilder {
    /// Creates an empty builder of `ty`.
    pub fn new(ty: Type) -> Self {
        let child = |ty: &Type| Box::new(VectorBuilder::new(ty.clone()));
        let storage = match (ty.kind(), &ty) {
            (TypeKind::Boolean, _) => Storage::Boolean(BitmapMut::new()),
            (TypeKind::TinyInt, _) => Storage::TinyInt(BufferMut::new()),
            (TypeKind::SmallInt, _) => Storage::SmallInt(BufferMut::new()),
            (TypeKind::Integer, _) => Storage::Integer(BufferMut::new()),
            (TypeKind::BigInt, _) => Storage::BigInt(BufferMut::new()),
            (TypeKind::HugeInt, _) => Storage::HugeInt(BufferMut::new()),
            (TypeKind::Real, _) => Storage::Real(BufferMut::new()),
            (TypeKind::Double, _) => Storage::Double(BufferMut::new()),
            (TypeKind::Timestamp, _) => Storage::Timestamp(BufferMut::new()),
            (TypeKind::Varchar | TypeKind::Varbinary, _) => Storage::String(StringBuilder::new()),
            (_, Type::Array(element)) => Storage::Array {
                offsets: BufferMut::new(),
                lengths: BufferMut::new(),
                elements: child(element),
            },
            (_, Type::Map(key, value)) => Storage::Map {
                offsets: BufferMut::new(),
                lengths: BufferMut::new(),
                keys: child(key),
                values: child(value),
            },
            (_, Type::Row(row)) => {
                Storage::Row(row.types().iter().map(|t| VectorBuilder::new(t.clone())).collect())
            }
            _ => Storage::Unknown,
        };
        VectorBuilder { ty, storage, validity: BitmapMut::new() }
    }

    /// Returns the number of rows so far.
    pub fn len(&self) -> usize {
        self.validity.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.validity.is_empty()
    }

    /// Returns the type of the vector under construction.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        match &mut self.storage {
            Storage::Boolean(v) => v.push(false),
            Storage::TinyInt(v) => v.push(0),
            Storage::SmallInt(v) => v.push(0),
            Storage::Integer(v) => v.push(0),
            Storage::BigInt(v) => v.push(0),
            Storage::HugeInt(v) => v.push(0),
            Storage::Real(v) => v.push(0.0),
            Storage::Double(v) => v.push(0.0),
            Storage::Timestamp(v) => v.push(Timestamp::default()),
            Storage::String(v) => v.push(b""),
            // The span of a null row is unspecified.
            Storage::Array { offsets, lengths, .. } | Storage::Map { offsets, lengths, .. } => {
                offsets.push(0);
                lengths.push(0);
            }
            Storage::Row(fields) => fields.iter_mut().for_each(VectorBuilder::push_null),
            Storage::Unknown => {}
        }
        self.validity.push(false);
    }

    /// Appends a value. The builder must not be used after an error.
    ///
    /// # Errors
    /// `Internal` if the value is not of the builder's type; `Limit` if the total number of entries
    /// of all arrays or maps does not fit 32 bits.
    pub fn push(&mut self, value: &Value) -> Result<()> {
        match (&mut self.storage, value) {
            (_, Value::Null) => {
                self.push_null();
                return Ok(());
            }
            (Storage::Boolean(v), Value::Boolean(x)) => v.push(*x),
            (Storage::TinyInt(v), Value::TinyInt(x)) => v.push(*x),
            (Storage::SmallInt(v), Value::SmallInt(x)) => v.push(*x),
            (Storage::Integer(v), Value::Integer(x)) => v.push(*x),
            (Storage::BigInt(v), Value::BigInt(x)) => v.push(*x),
            (Storage::HugeInt(v), Value::HugeInt(x)) => v.push(*x),
            (Storage::Real(v), Value::Real(x)) => v.push(*x),
            (Storage::Double(v), Value::Double(x)) => v.push(*x),
            (Storage::Timestamp(v), Value::Timestamp(x)) => v.push(*x),
            (Storage::String(v), Value::Bytes(x)) => v.push(x),
            (Storage::Array { offsets, lengths, elements }, Value::Array(items)) => {
                offsets.push(entries_of(elements.len())?);
                lengths.push(entries_of(items.len())?);
                items.iter().try_for_each(|item| elements.push(item))?;
            }
            (Storage::Map { offsets, lengths, keys, values }, Value::Map(pairs)) => {
                offsets.push(entries_of(keys.len())?);
                lengths.push(entries_of(pairs.len())?);
                for (key, value) in pairs.iter() {
                    keys.push(key)?;
                    values.push(value)?;
                }
            }
            (Storage::Row(fields), Value::Row(items)) if fields.len() == items.len() => {
                fields.iter_mut().zip(items.iter()).try_for_each(|(f, item)| f.push(item))?;
            }
            _ => {
                return Err(
                    Error::internal("a value of another type was appended").with("type", &self.ty)
                );
            }
        }
        self.validity.push(true);
        Ok(())
    }

    /// Appends value `i` of `values`, which is not null.
    ///
    /// # Errors
    /// `Internal` if the values are of another type.
    pub(crate) fn push_flat(&mut self, values: &FlatValues, i: usize) -> Result<()> {
        match (&mut self.storage, values) {
            (Storage::Boolean(v), FlatValues::Boolean(x)) => v.push(x.get(i)),
            (Storage::TinyInt(v), FlatValues::TinyInt(x)) => v.push(x[i]),
            (Storage::SmallInt(v), FlatValues::SmallInt(x)) => v.push(x[i]),
            (Storage::Integer(v), FlatValues::Integer(x)) => v.push(x[i]),
            (Storage::BigInt(v), FlatValues::BigInt(x)) => v.push(x[i]),
            (Storage::HugeInt(v), FlatValues::HugeInt(x)) => v.push(x[i]),
            (Storage::Real(v), FlatValues::Real(x)) => v.push(x[i]),
            (Storage::Double(v), FlatValues::Double(x)) => v.push(x[i]),
            (Storage::Timestamp(v), FlatValues::Timestamp(x)) => v.push(x[i]),
            (Storage::String(v), FlatValues::String(x)) => v.push(x.get(i)),
            _ => {
                return Err(
                    Error::internal("a row of another type was appended").with("type", &self.ty)
                );
            }
        }
        self.validity.push(true);
        Ok(())
    }

    /// Ends building and returns a flat or nested vector, or a null constant for UNKNOWN.
    ///
    /// # Errors
    /// As [`StringBuilder::finish`], [`ArrayVector::new`] and [`MapVector::new`].
    pub fn finish(self) -> Result<VectorRef> {
        let len = self.validity.len();
        let validity = self.validity.freeze_validity();
        macro_rules! flat {
            ($values:expr) => {
                Vector::Flat(FlatVector::new(self.ty, $values, validity)?)
            };
        }
        Ok(Arc::new(match self.storage {
            Storage::Boolean(v) => flat!(FlatValues::Boolean(v.freeze())),
            Storage::TinyInt(v) => flat!(i8::wrap(v.freeze())),
            Storage::SmallInt(v) => flat!(i16::wrap(v.freeze())),
            Storage::Integer(v) => flat!(i32::wrap(v.freeze())),
            Storage::BigInt(v) => flat!(i64::wrap(v.freeze())),
            Storage::HugeInt(v) => flat!(i128::wrap(v.freeze())),
            Storage::Real(v) => flat!(f32::wrap(v.freeze())),
            Storage::Double(v) => flat!(f64::wrap(v.freeze())),
            Storage::Timestamp(v) => flat!(Timestamp::wrap(v.freeze())),
            Storage::String(v) => flat!(FlatValues::String(v.finish()?)),
            Storage::Array { offsets, lengths, elements } => Vector::Array(ArrayVector::new(
                offsets.freeze(),
                lengths.freeze(),
                validity,
                elements.finish()?,
            )?),
            Storage::Map { offsets, lengths, keys, values } => Vector::Map(MapVector::new(
                offsets.freeze(),
                lengths.freeze(),
                validity,
                keys.finish()?,
                values.finish()?,
            )?),
            Storage::Row(fields) => {
                let children = fields.into_iter().map(Self::finish).collect::<Result<_>>()?;
                let row_type = self.ty.as_row().cloned().ok_or_else(|| {
                    Error::internal("a row builder of another type").with("type", &self.ty)
                })?;
                Vector::Row(RowVector::new(row_type, len, validity, children)?)
            }
            Storage::Unknown => Vector::Constant(ConstantVector::null(self.ty, len)),
        }))
    }
}

/// Creates a vector of the values.
///
/// # Errors
/// `Internal` if a value is not of type `ty`; otherwise as [`VectorBuilder::finish`].
pub fn vector_of<'a>(ty: &Type, values: impl IntoIterator<Item = &'a Value>) -> Result<VectorRef> {
    let mut builder = VectorBuilder::new(ty.clone());
    values.into_iter().try_for_each(|value| builder.push(value))?;
    builder.finish()
}

/// Creates a flat or nested vector of one row.
///
/// # Errors
/// As [`vector_of`].
pub fn vector_of_value(ty: &Type, value: &Value) -> Result<VectorRef> {
    vector_of(ty, std::iter::once(value))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::decoded::DecodedVector;

    #[test]
    fn rows_of_every_shape_come_out_as_they_went_in() {
        let ty = Type::row([
            ("a", Type::array(Type::Varchar)),
            ("m", Type::map(Type::Integer, Type::Boolean)),
        ]);
        let text = Value::bytes("a string that is longer than a view");
        let rows = vec![
            Value::Row(
                [
                    Value::Array([text.clone(), Value::Null].into()),
                    Value::Map([(Value::Integer(1), Value::Boolean(true))].into()),
                ]
                .into(),
            ),
            Value::Null,
            Value::Row([Value::Null, Value::Map([].into())].into()),
        ];
        let vector = vector_of(&ty, &rows).unwrap();
        let decoded = DecodedVector::new(&vector).unwrap();
        let back: Vec<Value> = (0..3).map(|i| decoded.value(i).unwrap()).collect();
        assert_eq!(back, rows);
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let mut builder = VectorBuilder::new(Type::BigInt);
        assert!(builder.push(&Value::Integer(1)).is_err());
    }
}
