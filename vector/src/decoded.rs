//! Decoded vectors: a uniform view of all encodings as a base, a mapping and a validity (rule
//! S1.46).
//!
//! ```text
//! Dictionary(i, Dictionary(j, Flat))   ->   base Flat, Indices(j[i]), validity of all layers
//! Flat, Row, Array, Map                ->   base itself, Identity
//! Constant                             ->   base of one row, Constant
//! ```
//!
//! Kernels branch on the mapping once per batch and then process plain slices.

use crate::bitmap::{Bitmap, BitmapMut};
use crate::bits;
use crate::build::vector_of_value;
use crate::encoding::{FlatType, FlatValues, LazyVector, Vector, VectorRef};
use crate::error::{Error, Result};
use crate::load::load_rows;
use crate::memory::buffer::{Buffer, BufferMut};
use crate::rows::RowSet;
use crate::sync::Arc;
use crate::types::{Type, TypeKind, Value};

/// Maps rows to rows of the base.
#[derive(Debug, Clone)]
pub enum Mapping {
    /// Row `i` is base row `i`.
    Identity,
    /// Every row is base row 0.
    Constant,
    /// Row `i` is base row `indices[i]`; the indices of null rows are unspecified, but inside the
    /// base.
    Indices(Buffer<u32>),
}

impl Mapping {
    /// Returns the base row of row `i`.
    #[inline]
    pub fn index(&self, i: usize) -> usize {
        match self {
            Mapping::Identity => i,
            Mapping::Constant => 0,
            Mapping::Indices(indices) => indices[i] as usize,
        }
    }
}

/// A vector without wrappers, and the mapping of the rows to it.
#[derive(Debug, Clone)]
pub struct DecodedVector {
    base: VectorRef,
    mapping: Mapping,
    validity: Option<Bitmap>,
    len: usize,
}

impl DecodedVector {
    /// Decodes a vector and loads lazy vectors in it for all rows.
    ///
    /// # Errors
    /// The errors of loading; `Internal` for a dictionary with non-null rows over an empty base.
    pub fn new(vector: &VectorRef) -> Result<Self> {
        Self::decode(vector, LazyVector::loaded)
    }

    /// Decodes a vector of which only `rows` will be read. Lazy vectors in it are loaded for the
    /// base rows of `rows`, through all wrappers; other rows are unspecified.
    ///
    /// # Errors
    /// As [`DecodedVector::new`].
    pub fn for_rows(vector: &VectorRef, rows: &RowSet) -> Result<Self> {
        load_rows(vector, rows)?;
        Self::decode(vector, |lazy| match lazy.loaded_if_ready() {
            Some(loaded) => Ok(loaded),
            None => lazy.loaded(),
        })
    }

    fn decode(
        vector: &VectorRef,
        open: impl Fn(&LazyVector) -> Result<VectorRef> + Copy,
    ) -> Result<Self> {
        let len = vector.len();
        match vector.as_ref() {
            Vector::Lazy(lazy) => {
                let mut decoded = Self::decode(&open(lazy)?, open)?;
                decoded.truncate(len);
                Ok(decoded)
            }
            Vector::Flat(v) => Ok(Self::identity(vector, v.validity().cloned())),
            Vector::Row(v) => Ok(Self::identity(vector, v.validity().cloned())),
            Vector::Array(v) => Ok(Self::identity(vector, v.validity().cloned())),
            Vector::Map(v) => Ok(Self::identity(vector, v.validity().cloned())),
            Vector::Constant(constant) => {
                let nulls = constant.is_null().then(|| Bitmap::filled(len, false));
                let validity = nulls.and_then(Bitmap::into_validity);
                let base = vector_of_value(constant.ty(), constant.value())?;
                Ok(DecodedVector { base, mapping: Mapping::Constant, validity, len })
            }
            Vector::Dictionary(dictionary) => {
                let inner = Self::decode(dictionary.base(), open)?;
                inner.picked(dictionary.indices(), dictionary.validity())
            }
        }
    }

    fn identity(vector: &VectorRef, validity: Option<Bitmap>) -> Self {
        DecodedVector {
            base: Arc::clone(vector),
            mapping: Mapping::Identity,
            validity,
            len: vector.len(),
        }
    }

    /// Returns the rows `indices` of this vector, with the additional nulls `own`.
    fn picked(self, indices: &Buffer<u32>, own: Option<&Bitmap>) -> Result<Self> {
        let len = indices.len();
        // If all rows are null, they may be selected even from an empty base.
        if self.len == 0 && own.is_none_or(|v| v.count_ones() > 0) && len > 0 {
            return Err(Error::internal("dictionary over an empty base"));
        }
        let inner_validity = self.validity.as_ref();
        // The index of an own null may have any value, so the inner validity is read only for other
        // rows.
        let validity = match (own, inner_validity) {
            (None, None) => None,
            (Some(own), None) => Some(own.clone()),
            (None, Some(inner)) => inner.gather(indices).into_validity(),
            (Some(own), Some(inner)) => {
                let mut both = BitmapMut::new();
                both.extend_from_fn(len, |i| own.get(i) && inner.get(indices[i] as usize));
                both.freeze_validity()
            }
        };
        let mapping = match (&self.mapping, own) {
            (Mapping::Constant, _) => Mapping::Constant,
            (Mapping::Identity, None) => Mapping::Indices(indices.clone()),
            (Mapping::Identity, Some(own)) => {
                Mapping::Indices(inside(indices, own, self.base.len()))
            }
            (Mapping::Indices(inner), None) => {
                Mapping::Indices(indices.iter().map(|index| inner[*index as usize]).collect())
            }
            (Mapping::Indices(inner), Some(own)) => {
                // Without inner rows all rows are null, and any index will do.
                let look_up = |index: &u32| inner.get(*index as usize).copied().unwrap_or(0);
                let safe = inside(indices, own, inner.len());
                Mapping::Indices(safe.iter().map(look_up).collect())
            }
        };
        Ok(DecodedVector { base: self.base, mapping, validity, len })
    }

    fn truncate(&mut self, len: usize) {
        if self.len == len {
            return;
        }
        self.len = len;
        self.validity = self.validity.take().and_then(|v| v.slice(0, len).into_validity());
        if let Mapping::Indices(indices) = &self.mapping {
            self.mapping = Mapping::Indices(indices.slice(0..len));
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the logical type.
    pub fn ty(&self) -> &Type {
        self.base.ty()
    }

    /// Returns the vector without wrappers: flat, row, array or map, or a null constant of one row
    /// if the type is UNKNOWN.
    pub fn base(&self) -> &VectorRef {
        &self.base
    }

    /// Returns the mapping of rows to base rows.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Returns the validity of the rows; `None` if no row is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// Returns true if row `i` is null.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(i))
    }

    /// Returns true if every row is null, or if there are no rows. In either case no value may be
    /// read.
    pub fn all_null(&self) -> bool {
        self.len == 0
            || self.validity.as_ref().is_some_and(|v| bits::count_ones(v.words(), self.len) == 0)
    }

    /// Returns the base row of row `i`.
    #[inline]
    pub fn index(&self, i: usize) -> usize {
        self.mapping.index(i)
    }

    /// Returns the base's flat values, or `None` if the base is nested or a null constant.
    #[inline]
    pub fn flat_values(&self) -> Option<&FlatValues> {
        match self.base.as_ref() {
            Vector::Flat(flat) => Some(flat.values()),
            _ => None,
        }
    }

    /// Returns the base's fixed-width values, or `None` if they are not of type `T`. Rows are
    /// mapped by [`DecodedVector::index`].
    pub fn base_slice<T: FlatType>(&self) -> Option<&[T]> {
        self.flat_values().and_then(T::unwrap).map(Buffer::as_slice)
    }

    /// Returns the bytes of the string in row `i`, which must not be null.
    #[inline]
    pub fn string(&self, i: usize) -> &[u8] {
        match self.flat_values() {
            Some(FlatValues::String(strings)) => strings.get(self.index(i)),
            _ => &[],
        }
    }

    /// Returns the boolean in row `i`, which must not be null.
    #[inline]
    pub fn boolean(&self, i: usize) -> bool {
        match self.flat_values() {
            Some(FlatValues::Boolean(bits)) => bits.get(self.index(i)),
            _ => false,
        }
    }

    /// Returns row `i` as a value. It is meant for a few rows, because it decodes the children of
    /// nested values at every call; for all rows of a nested column use a [`ValueReader`].
    ///
    /// # Errors
    /// The errors of loading lazy children.
    pub fn value(&self, i: usize) -> Result<Value> {
        if self.is_null(i) {
            return Ok(Value::Null);
        }
        match self.base.as_ref() {
            Vector::Flat(flat) => Ok(flat.values().value(self.index(i))),
            _ => Ok(ValueReader::of(self.clone())?.value(i)),
        }
    }

    /// Returns the kind of the type.
    pub fn kind(&self) -> TypeKind {
        self.base.ty().kind()
    }
}

/// Returns the indices with those of null rows replaced if they are outside of the base, which is
/// rare.
fn inside(indices: &Buffer<u32>, validity: &Bitmap, num_base: usize) -> Buffer<u32> {
    let largest = indices.iter().fold(0, |largest, index| largest.max(*index));
    if (largest as usize) < num_base {
        return indices.clone();
    }
    let mut checked = BufferMut::with_capacity(indices.len());
    for (i, index) in indices.iter().enumerate() {
        checked.push(if validity.get(i) { *index } else { 0 });
    }
    checked.freeze()
}

/// Returns the rows of one column as [`Value`]s, with its children decoded once. It is meant for
/// output and tests, not for kernels.
#[derive(Debug, Clone)]
pub struct ValueReader {
    decoded: DecodedVector,
    /// Readers of the fields of a row, of the elements of an array, or of the keys and values of a
    /// map.
    children: Vec<ValueReader>,
}

impl ValueReader {
    /// Decodes a vector and its children, loading lazy ones.
    ///
    /// # Errors
    /// As [`DecodedVector::new`].
    pub fn new(vector: &VectorRef) -> Result<Self> {
        Self::of(DecodedVector::new(vector)?)
    }

    fn of(decoded: DecodedVector) -> Result<Self> {
        let children = match decoded.base().as_ref() {
            Vector::Row(row) => row.children().iter().map(Self::new).collect::<Result<_>>()?,
            Vector::Array(array) => vec![Self::new(array.elements())?],
            Vector::Map(map) => vec![Self::new(map.keys())?, Self::new(map.values())?],
            _ => Vec::new(),
        };
        Ok(ValueReader { decoded, children })
    }

    /// Returns the decoded column.
    pub fn decoded(&self) -> &DecodedVector {
        &self.decoded
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.decoded.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.decoded.is_empty()
    }

    /// Returns row `i` as a value.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn value(&self, i: usize) -> Value {
        if self.decoded.is_null(i) {
            return Value::Null;
        }
        let at = self.decoded.index(i);
        match (self.decoded.base().as_ref(), self.children.as_slice()) {
            (Vector::Flat(flat), _) => flat.values().value(at),
            (Vector::Row(_), fields) => Value::Row(fields.iter().map(|f| f.value(at)).collect()),
            (Vector::Array(array), [elements]) => {
                Value::Array(array.span(at).map(|entry| elements.value(entry)).collect())
            }
            (Vector::Map(map), [keys, values]) => Value::Map(
                map.span(at).map(|entry| (keys.value(entry), values.value(entry))).collect(),
            ),
            // Only a base that consists of nulls has another form, and null rows were handled
            // above.
            _ => Value::Null,
        }
    }
}
