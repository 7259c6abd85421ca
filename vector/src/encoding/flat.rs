//! Flat vectors: contiguous values and a validity.

use crate::bitmap::Bitmap;
use crate::bits;
use crate::error::{Error, Result};
use crate::memory::Held;
use crate::memory::buffer::{Buffer, Native};
use crate::sync::Arc;
use crate::types::{StringView, Timestamp, Type, TypeKind, Value};

/// Values of a flat vector, by storage kind. The slots of null rows are unspecified (rule S1.11).
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum FlatValues {
    Boolean(Bitmap),
    TinyInt(Buffer<i8>),
    SmallInt(Buffer<i16>),
    Integer(Buffer<i32>),
    BigInt(Buffer<i64>),
    HugeInt(Buffer<i128>),
    Real(Buffer<f32>),
    Double(Buffer<f64>),
    Timestamp(Buffer<Timestamp>),
    /// Values of VARCHAR and VARBINARY.
    String(StringValues),
}

/// String views, and the buffers with the bytes of the long strings.
#[derive(Debug, Clone)]
pub struct StringValues {
    views: Buffer<StringView>,
    buffers: Arc<[Buffer<u8>]>,
}

impl StringValues {
    /// Combines views and buffers. Reading a view that is not inside its buffer panics.
    pub fn new(views: Buffer<StringView>, buffers: impl Into<Arc<[Buffer<u8>]>>) -> Self {
        StringValues { views, buffers: buffers.into() }
    }

    /// Returns the views.
    pub fn views(&self) -> &Buffer<StringView> {
        &self.views
    }

    /// Returns the buffers of the long strings.
    pub fn buffers(&self) -> &Arc<[Buffer<u8>]> {
        &self.buffers
    }

    /// Returns the bytes of string `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        self.bytes_of(&self.views[i])
    }

    /// Returns the bytes of one of these views.
    #[inline]
    pub fn bytes_of<'a>(&'a self, view: &'a StringView) -> &'a [u8] {
        let len = view.len();
        if view.is_inline() {
            // The bytes are inside the view itself, after the 4 bytes of the length.
            &view_bytes(view)[4..4 + len]
        } else {
            let (buffer, offset) = view.location();
            &self.buffers[buffer][offset..offset + len]
        }
    }
}

/// Returns the memory of a view as bytes, from which inline strings are borrowed.
#[inline]
fn view_bytes(view: &StringView) -> &[u8; 16] {
    crate::memory::buffer::bytes_of(view)
}

/// Fixed-width values that a flat vector stores in one buffer.
pub trait FlatType: Native + PartialOrd {
    /// Kind of the columns that store this type.
    const KIND: TypeKind;
    /// Returns the values if they are of this type.
    fn unwrap(values: &FlatValues) -> Option<&Buffer<Self>>;
    /// Returns the values as [`FlatValues`].
    fn wrap(values: Buffer<Self>) -> FlatValues;
    /// Returns one value as a [`Value`].
    fn value(self) -> Value;
    /// Returns the value in a [`Value`] if it is of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! flat_types {
    ($($t:ty => $kind:ident),*) => { $(
        impl FlatType for $t {
            const KIND: TypeKind = TypeKind::$kind;
            #[inline]
            fn unwrap(values: &FlatValues) -> Option<&Buffer<Self>> {
                match values {
                    FlatValues::$kind(buffer) => Some(buffer),
                    _ => None,
                }
            }
            fn wrap(values: Buffer<Self>) -> FlatValues {
                FlatValues::$kind(values)
            }
            fn value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$kind(v) => Some(*v),
                    _ => None,
                }
            }
        }
    )* };
}
flat_types!(
    i8 => TinyInt, i16 => SmallInt, i32 => Integer, i64 => BigInt, i128 => HugeInt,
    f32 => Real, f64 => Double, Timestamp => Timestamp
);

/// Evaluates one expression for all fixed-width types, with the name in `fixed` bound to the
/// buffer; booleans and strings have expressions of their own.
#[macro_export]
macro_rules! match_flat {
    ($value:expr, fixed($f:ident) => $fixed:expr, boolean($b:ident) => $boolean:expr,
     string($s:ident) => $string:expr) => {
        match $value {
            $crate::FlatValues::Boolean($b) => $boolean,
            $crate::FlatValues::TinyInt($f) => $fixed,
            $crate::FlatValues::SmallInt($f) => $fixed,
            $crate::FlatValues::Integer($f) => $fixed,
            $crate::FlatValues::BigInt($f) => $fixed,
            $crate::FlatValues::HugeInt($f) => $fixed,
            $crate::FlatValues::Real($f) => $fixed,
            $crate::FlatValues::Double($f) => $fixed,
            $crate::FlatValues::Timestamp($f) => $fixed,
            $crate::FlatValues::String($s) => $string,
        }
    };
}

impl FlatValues {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match_flat!(self, fixed(v) => v.len(), boolean(v) => v.len(), string(v) => v.views.len())
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a column of `kind` stores its values in this way.
    pub fn is_of(&self, kind: TypeKind) -> bool {
        matches!(
            (self, kind),
            (FlatValues::Boolean(_), TypeKind::Boolean)
                | (FlatValues::TinyInt(_), TypeKind::TinyInt)
                | (FlatValues::SmallInt(_), TypeKind::SmallInt)
                | (FlatValues::Integer(_), TypeKind::Integer)
                | (FlatValues::BigInt(_), TypeKind::BigInt)
                | (FlatValues::HugeInt(_), TypeKind::HugeInt)
                | (FlatValues::Real(_), TypeKind::Real)
                | (FlatValues::Double(_), TypeKind::Double)
                | (FlatValues::Timestamp(_), TypeKind::Timestamp)
                | (FlatValues::String(_), TypeKind::Varchar | TypeKind::Varbinary)
        )
    }

    /// Returns value `i` as a [`Value`]; the caller has already checked the validity.
    pub fn value(&self, i: usize) -> Value {
        match_flat!(
            self,
            fixed(v) => v[i].value(),
            boolean(v) => Value::Boolean(v.get(i)),
            string(v) => Value::bytes(v.get(i))
        )
    }
}

/// A vector of contiguous values.
#[derive(Debug, Clone)]
pub struct FlatVector {
    ty: Type,
    values: FlatValues,
    validity: Option<Bitmap>,
}

impl FlatVector {
    /// Creates a flat vector of a scalar type.
    ///
    /// # Errors
    /// `Internal` if `ty` stores its values in another way or the validity has another length than
    /// the values.
    pub fn new(ty: Type, values: FlatValues, validity: Option<Bitmap>) -> Result<Self> {
        if !values.is_of(ty.kind()) {
            return Err(Error::internal("values stored otherwise than their type").with("type", ty));
        }
        if let Some(bitmap) = &validity
            && bitmap.len() != values.len()
        {
            return Err(Error::internal("validity and values differ in length")
                .with("validity", bitmap.len())
                .with("values", values.len()));
        }
        Ok(FlatVector { ty, values, validity: validity.and_then(Bitmap::into_validity) })
    }

    /// Creates a flat vector from fixed-width values.
    ///
    /// # Errors
    /// As [`FlatVector::new`].
    pub fn from_buffer<T: FlatType>(
        ty: Type,
        values: Buffer<T>,
        validity: Option<Bitmap>,
    ) -> Result<Self> {
        Self::new(ty, T::wrap(values), validity)
    }

    /// Creates a BOOLEAN vector.
    ///
    /// # Errors
    /// As [`FlatVector::new`].
    pub fn boolean(values: Bitmap, validity: Option<Bitmap>) -> Result<Self> {
        Self::new(Type::Boolean, FlatValues::Boolean(values), validity)
    }

    /// Returns the logical type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values; the slots of null rows are unspecified.
    pub fn values(&self) -> &FlatValues {
        &self.values
    }

    /// Returns the fixed-width values if they are of type `T`.
    pub fn slice_of<T: FlatType>(&self) -> Option<&[T]> {
        T::unwrap(&self.values).map(Buffer::as_slice)
    }

    /// Returns the validity; `None` if no row is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// Returns type, values and validity, so that the buffers can be reused.
    pub fn into_parts(self) -> (Type, FlatValues, Option<Bitmap>) {
        (self.ty, self.values, self.validity)
    }

    /// Returns true if row `i` is null.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(i))
    }

    /// Returns the same values with another type of the same kind.
    ///
    /// # Errors
    /// `Internal` if `ty` is of another kind.
    pub fn retyped(self, ty: Type) -> Result<Self> {
        Self::new(ty, self.values, self.validity)
    }

    /// Returns the rows `offset..offset + len`.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        let range = offset..offset + len;
        macro_rules! cut {
            ($($kind:ident),*) => {
                match &self.values {
                    $(FlatValues::$kind(v) => FlatValues::$kind(v.slice(range)),)*
                    FlatValues::Boolean(v) => FlatValues::Boolean(v.slice(offset, len)),
                    FlatValues::String(v) => FlatValues::String(StringValues {
                        views: v.views.slice(range),
                        buffers: Arc::clone(&v.buffers),
                    }),
                }
            };
        }
        let values = cut!(TinyInt, SmallInt, Integer, BigInt, HugeInt, Real, Double, Timestamp);
        let validity = self.validity.as_ref().and_then(|v| v.slice(offset, len).into_validity());
        FlatVector { ty: self.ty.clone(), values, validity }
    }

    /// Returns the size in bytes of the memory that this vector keeps alive, as far as `held`
    /// selects it.
    pub fn held_bytes(&self, held: Held) -> usize {
        let values = match_flat!(
            &self.values,
            fixed(v) => v.held_bytes(held),
            boolean(v) => bits::words_for(v.len()) * 8,
            string(v) => {
                v.views.held_bytes(held)
                    + v.buffers.iter().map(|buffer| buffer.held_bytes(held)).sum::<usize>()
            }
        );
        values + self.validity.as_ref().map_or(0, |v| bits::words_for(v.len()) * 8)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_read_from_its_view_or_its_buffer() {
        let long = b"a string that does not fit into a view";
        let buffer = Buffer::from_slice(long);
        let views = [
            StringView::inline(b"short"),
            StringView::new(long, 0, 0),
            StringView::new(&long[2..20], 0, 2),
        ];
        let values = StringValues::new(Buffer::from_slice(&views), vec![buffer]);
        assert_eq!(values.get(0), b"short");
        assert_eq!(values.get(1), long);
        assert_eq!(values.get(2), &long[2..20]);
    }

    #[test]
    fn values_must_be_stored_as_their_type_says() {
        let values = Buffer::from_slice(&[1i32, 2]);
        assert!(FlatVector::from_buffer(Type::Date, values.clone(), None).is_ok());
        assert!(FlatVector::from_buffer(Type::BigInt, values.clone(), None).is_err());
        let validity = Some(Bitmap::filled(3, true));
        assert!(FlatVector::from_buffer(Type::Integer, values, validity).is_err());
    }

    #[test]
    fn a_slice_shares_values_and_cuts_the_validity() {
        let values: Buffer<i64> = (0..100).collect();
        let validity: Bitmap = (0..100).map(|i| i % 2 == 0).collect();
        let vector = FlatVector::from_buffer(Type::BigInt, values, Some(validity)).unwrap();
        let slice = vector.slice(11, 5);
        assert_eq!(slice.slice_of::<i64>().unwrap(), &[11, 12, 13, 14, 15]);
        assert!(slice.is_null(0) && !slice.is_null(1));
    }
}
