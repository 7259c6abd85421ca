//! Decoded vectors: any encoding seen as a base, a mapping and a validity (rule S1.46).
//!
//! ```text
//! Dictionary(i, Dictionary(j, Flat))   ->   base Flat, Indices(j[i]), validity of all layers
//! Flat, Row, Array, Map                ->   base itself, Identity
//! Constant                             ->   base of one row, Constant
//! ```
//!
//! Kernels branch on the mapping once per batch and then run over plain slices.

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

/// How a row is found in the base.
#[derive(Debug, Clone)]
pub enum Mapping {
    /// Row `i` is base row `i`.
    Identity,
    /// Every row is base row 0.
    Constant,
    /// Row `i` is base row `indices[i]`; unspecified but inside of the base under a null.
    Indices(Buffer<u32>),
}

impl Mapping {
    /// The base row of row `i`.
    #[inline]
    pub fn index(&self, i: usize) -> usize {
        match self {
            Mapping::Identity => i,
            Mapping::Constant => 0,
            Mapping::Indices(indices) => indices[i] as usize,
        }
    }
}

/// A vector without wrappers, plus where each row stands in it.
#[derive(Debug, Clone)]
pub struct DecodedVector {
    base: VectorRef,
    mapping: Mapping,
    validity: Option<Bitmap>,
    len: usize,
}

impl DecodedVector {
    /// Decodes a vector, loading it for all rows if it is lazy.
    pub fn new(vector: &VectorRef) -> Result<Self> {
        Self::decode(vector, LazyVector::loaded)
    }

    /// Decodes a vector of which only `rows` will be looked at: lazy vectors below are loaded for
    /// those, whatever wraps them, and other rows are unspecified.
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

    /// Rows `indices` of this one, with `own` nulls on top.
    fn picked(self, indices: &Buffer<u32>, own: Option<&Bitmap>) -> Result<Self> {
        let len = indices.len();
        // Rows that are all null may have no base at all, and can be picked.
        if self.len == 0 && own.is_none_or(|v| v.count_ones() > 0) && len > 0 {
            return Err(Error::internal("dictionary over an empty base"));
        }
        let inner_validity = self.validity.as_ref();
        // Under an own null an index may be anything: look only where the row is valid.
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
                // Without inner rows all are null, and any index is as good.
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

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The logical type.
    pub fn ty(&self) -> &Type {
        self.base.ty()
    }

    /// The vector without wrappers: flat, row, array or map; or a null constant of one row when
    /// the type is UNKNOWN or nothing but a null is in it.
    pub fn base(&self) -> &VectorRef {
        &self.base
    }

    /// How rows are found in the base.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The validity of the rows; `None` when none is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// True when row `i` is null.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(i))
    }

    /// True when every row is null, also without rows: no value may be looked at.
    pub fn all_null(&self) -> bool {
        self.len == 0
            || self.validity.as_ref().is_some_and(|v| bits::count_ones(v.words(), self.len) == 0)
    }

    /// The base row of row `i`.
    #[inline]
    pub fn index(&self, i: usize) -> usize {
        self.mapping.index(i)
    }

    /// The base's flat values, unless every row is null or the base is nested.
    #[inline]
    pub fn flat_values(&self) -> Option<&FlatValues> {
        match self.base.as_ref() {
            Vector::Flat(flat) => Some(flat.values()),
            _ => None,
        }
    }

    /// The base's fixed-width values; look rows up through [`DecodedVector::index`].
    pub fn base_slice<T: FlatType>(&self) -> Option<&[T]> {
        self.flat_values().and_then(T::unwrap).map(Buffer::as_slice)
    }

    /// The bytes of the string in row `i`, which must not be null.
    #[inline]
    pub fn string(&self, i: usize) -> &[u8] {
        match self.flat_values() {
            Some(FlatValues::String(strings)) => strings.get(self.index(i)),
            _ => &[],
        }
    }

    /// The boolean in row `i`, which must not be null.
    #[inline]
    pub fn boolean(&self, i: usize) -> bool {
        match self.flat_values() {
            Some(FlatValues::Boolean(bits)) => bits.get(self.index(i)),
            _ => false,
        }
    }

    /// Row `i` as a value, for a few rows; decodes the children of nested values at every call.
    /// For all rows of a nested column make a [`ValueReader`].
    pub fn value(&self, i: usize) -> Result<Value> {
        if self.is_null(i) {
            return Ok(Value::Null);
        }
        match self.base.as_ref() {
            Vector::Flat(flat) => Ok(flat.values().value(self.index(i))),
            _ => Ok(ValueReader::of(self.clone())?.value(i)),
        }
    }

    /// The kind of the type.
    pub fn kind(&self) -> TypeKind {
        self.base.ty().kind()
    }
}

/// The indices, those of null rows inside of the base too: mostly they are already.
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

/// The rows of one column as [`Value`]s, children decoded once: for output and for tests, not for
/// kernels.
#[derive(Debug, Clone)]
pub struct ValueReader {
    decoded: DecodedVector,
    /// Fields of a row, elements of an array, keys and values of a map.
    children: Vec<ValueReader>,
}

impl ValueReader {
    /// Decodes a vector and its children, loading lazy ones.
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

    /// The decoded column.
    pub fn decoded(&self) -> &DecodedVector {
        &self.decoded
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.decoded.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.decoded.is_empty()
    }

    /// Row `i` as a value.
    ///
    /// # Panics
    /// When there is no such row.
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
            // Only the base of nothing but nulls has another form, and those were answered above.
            _ => Value::Null,
        }
    }
}
