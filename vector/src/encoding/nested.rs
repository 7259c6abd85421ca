//! Row, array and map vectors.
//!
//! A [`RowVector`] is both a struct column and a batch. Its number of rows is its own, so that a
//! batch without columns still has rows (rule S1.49). Row `i` of an array or map consists of the
//! entries `offset..offset + length` of its child vectors, which have a length of their own (rule
//! S1.5).

use super::{DictionaryVector, Vector, VectorRef};
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::sync::Arc;
use crate::types::{RowType, Type, Value};

/// Named children with at least as many rows as the vector; a struct column or a batch.
#[derive(Debug, Clone)]
pub struct RowVector {
    ty: Type,
    len: usize,
    validity: Option<Bitmap>,
    children: Vec<VectorRef>,
}

impl RowVector {
    /// Creates a row vector of `len` rows.
    ///
    /// # Errors
    /// `Internal` if the number of children differs from the number of fields, a child has another
    /// type or fewer rows, or the validity has another length.
    pub fn new(
        row_type: Arc<RowType>,
        len: usize,
        validity: Option<Bitmap>,
        children: Vec<VectorRef>,
    ) -> Result<Self> {
        let fits = children.len() == row_type.len()
            && children
                .iter()
                .zip(row_type.types())
                .all(|(child, ty)| child.len() >= len && child.ty().is_equivalent(ty))
            && validity.as_ref().is_none_or(|v| v.len() == len);
        if !fits {
            let found: Vec<String> =
                children.iter().map(|c| format!("{} x {}", c.len(), c.ty())).collect();
            return Err(Error::internal("children do not fit their row vector")
                .with("rows", len)
                .with("type", &row_type)
                .with("children", found.join(", ")));
        }
        let validity = validity.and_then(Bitmap::into_validity);
        Ok(RowVector { ty: Type::Row(row_type), len, validity, children })
    }

    /// Creates a batch, which is a row vector without null rows.
    ///
    /// # Errors
    /// As [`RowVector::new`].
    pub fn batch(row_type: Arc<RowType>, len: usize, children: Vec<VectorRef>) -> Result<Self> {
        Self::new(row_type, len, None, children)
    }

    /// Creates a batch without rows.
    pub fn empty(row_type: Arc<RowType>) -> Self {
        let children =
            row_type.types().iter().map(|t| Arc::new(Vector::nulls(t.clone(), 0))).collect();
        RowVector { ty: Type::Row(row_type), len: 0, validity: None, children }
    }

    /// Returns the type, which is always a ROW.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the fields.
    pub fn row_type(&self) -> &Arc<RowType> {
        match &self.ty {
            Type::Row(row) => row,
            // `new` and `empty` are the only constructors and create no other type.
            _ => unreachable!("a row vector of another type"),
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

    /// Returns the validity of the rows themselves; `None` if no row is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// Returns the columns, each with at least as many rows as this vector.
    pub fn children(&self) -> &[VectorRef] {
        &self.children
    }

    /// Returns column `i`.
    ///
    /// # Errors
    /// `Internal` if there is no such column.
    pub fn child(&self, i: usize) -> Result<&VectorRef> {
        self.children.get(i).ok_or_else(|| {
            Error::internal("no such column in the batch")
                .with("column", i)
                .with("columns", self.children.len())
        })
    }

    /// Returns true if row `i` is null.
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v.get(i))
    }

    /// Returns the rows `offset..offset + len`.
    ///
    /// # Errors
    /// The errors of loading a lazy column.
    pub fn slice(&self, offset: usize, len: usize) -> Result<Self> {
        let children = self
            .children
            .iter()
            .map(|child| Vector::slice(child, offset, len))
            .collect::<Result<_>>()?;
        let validity = self.validity.as_ref().and_then(|v| v.slice(offset, len).into_validity());
        Ok(RowVector { ty: self.ty.clone(), len, validity, children })
    }

    /// Returns the rows `indices` of a batch, in that order: every column is wrapped in a
    /// dictionary (rule S1.53), and the validity of the rows themselves is gathered.
    pub fn wrap(&self, indices: &Buffer<u32>) -> Self {
        RowVector {
            ty: self.ty.clone(),
            len: indices.len(),
            validity: self.validity.as_ref().and_then(|v| v.gather(indices).into_validity()),
            children: self.children.iter().map(|c| Vector::wrap(c, indices)).collect(),
        }
    }
}

impl Vector {
    /// Returns field `index` of a struct vector in any encoding, in the same encoding. The field is
    /// null where the struct is null.
    ///
    /// # Errors
    /// `Internal` if there is no such field or the vector is not a struct; the errors of loading a
    /// lazy vector.
    pub fn field(structs: &VectorRef, index: usize) -> Result<VectorRef> {
        let over = |field: VectorRef, indices, validity| {
            let field = DictionaryVector::over_with_validity(field, indices, validity);
            Arc::new(Vector::Dictionary(field))
        };
        match structs.as_ref() {
            Vector::Row(row) => {
                let field = Arc::clone(row.child(index)?);
                let Some(validity) = row.validity() else {
                    // A column may have more rows than its struct.
                    return if field.len() == row.len() {
                        Ok(field)
                    } else {
                        Self::slice(&field, 0, row.len())
                    };
                };
                let rows = (0..row.len() as u32).collect();
                Ok(over(field, rows, Some(validity.clone())))
            }
            Vector::Dictionary(dictionary) => {
                let field = Self::field(dictionary.base(), index)?;
                Ok(over(field, dictionary.indices().clone(), dictionary.validity().cloned()))
            }
            Vector::Constant(constant) => {
                let ty = constant.ty().as_row().and_then(|row| row.types().get(index));
                let ty = ty.ok_or_else(|| {
                    Error::internal("a struct has no such field").with("struct", constant.ty())
                })?;
                let field = match constant.value() {
                    Value::Row(fields) => fields.get(index).cloned(),
                    _ => None,
                };
                let field = field.unwrap_or(Value::Null);
                Ok(Arc::new(Vector::constant(ty.clone(), field, constant.len())?))
            }
            Vector::Lazy(lazy) => Self::field(&lazy.loaded()?, index),
            Vector::Flat(_) | Vector::Array(_) | Vector::Map(_) => {
                Err(Error::internal("a struct has no fields in its vector")
                    .with("type", structs.ty()))
            }
        }
    }
}

impl From<RowVector> for Vector {
    fn from(v: RowVector) -> Self {
        Vector::Row(v)
    }
}

/// Location of the entries of each array or map row in the child vectors.
#[derive(Debug, Clone)]
struct Spans {
    offsets: Buffer<u32>,
    lengths: Buffer<u32>,
    validity: Option<Bitmap>,
}

impl Spans {
    fn new(
        offsets: Buffer<u32>,
        lengths: Buffer<u32>,
        validity: Option<Bitmap>,
        num_entries: usize,
    ) -> Result<Self> {
        // A position that was truncated to 32 bits would be the position of another entry.
        if u32::try_from(num_entries).is_err() {
            return Err(Error::limit("a vector has more entries than 32 bits count")
                .with("entries", num_entries));
        }
        let sizes_agree = offsets.len() == lengths.len()
            && validity.as_ref().is_none_or(|v| v.len() == offsets.len());
        let validity = validity.and_then(Bitmap::into_validity);
        let spans = Spans { offsets, lengths, validity };
        let end = |(offset, len): (&u32, &u32)| u64::from(*offset) + u64::from(*len);
        let ends = || spans.offsets.iter().zip(spans.lengths.iter()).map(end);
        let num_ends = num_entries as u64;
        // Offset and length of a null row are undefined (rule S1.5), but mostly they are inside as
        // well.
        let is_inside = sizes_agree
            && (ends().fold(0, u64::max) <= num_ends
                || ends().enumerate().all(|(i, end)| {
                    end <= num_ends || spans.validity.as_ref().is_some_and(|v| !v.get(i))
                }));
        if is_inside {
            return Ok(spans);
        }
        Err(Error::internal("offsets and lengths do not fit their entries")
            .with("rows", spans.offsets.len())
            .with("entries", num_entries))
    }

    fn slice(&self, offset: usize, len: usize) -> Self {
        Spans {
            offsets: self.offsets.slice(offset..offset + len),
            lengths: self.lengths.slice(offset..offset + len),
            validity: self.validity.as_ref().and_then(|v| v.slice(offset, len).into_validity()),
        }
    }
}

macro_rules! span_methods {
    () => {
        /// Returns the type.
        pub fn ty(&self) -> &Type {
            &self.ty
        }

        /// Returns the number of rows.
        pub fn len(&self) -> usize {
            self.spans.offsets.len()
        }

        /// Returns true if there are no rows.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// Returns the first entry of each row; undefined for null rows.
        pub fn offsets(&self) -> &Buffer<u32> {
            &self.spans.offsets
        }

        /// Returns the number of entries of each row; undefined for null rows.
        pub fn lengths(&self) -> &Buffer<u32> {
            &self.spans.lengths
        }

        /// Returns the validity; `None` if no row is null.
        pub fn validity(&self) -> Option<&Bitmap> {
            self.spans.validity.as_ref()
        }

        /// Returns true if row `i` is null.
        pub fn is_null(&self, i: usize) -> bool {
            self.spans.validity.as_ref().is_some_and(|v| !v.get(i))
        }

        /// Returns the range of the entries of row `i`, which must not be null.
        #[inline]
        pub fn span(&self, i: usize) -> std::ops::Range<usize> {
            let start = self.spans.offsets[i] as usize;
            start..start + self.spans.lengths[i] as usize
        }

        /// Returns the rows `offset..offset + len`; they keep all entries alive.
        pub fn slice(&self, offset: usize, len: usize) -> Self {
            Self { spans: self.spans.slice(offset, len), ..self.clone() }
        }
    };
}

/// A vector of lists of elements.
#[derive(Debug, Clone)]
pub struct ArrayVector {
    ty: Type,
    spans: Spans,
    elements: VectorRef,
}

impl ArrayVector {
    /// Creates an array vector.
    ///
    /// # Errors
    /// `Internal` if a non-null row is not inside the elements, or offsets, lengths and validity
    /// differ in length; `Limit` if the number of elements does not fit 32 bits.
    pub fn new(
        offsets: Buffer<u32>,
        lengths: Buffer<u32>,
        validity: Option<Bitmap>,
        elements: VectorRef,
    ) -> Result<Self> {
        let ty = Type::array(elements.ty().clone());
        let spans = Spans::new(offsets, lengths, validity, elements.len())?;
        Ok(ArrayVector { ty, spans, elements })
    }

    span_methods!();

    /// Returns the elements of all rows.
    pub fn elements(&self) -> &VectorRef {
        &self.elements
    }
}

impl From<ArrayVector> for Vector {
    fn from(v: ArrayVector) -> Self {
        Vector::Array(v)
    }
}

/// A vector of lists of key-value pairs.
#[derive(Debug, Clone)]
pub struct MapVector {
    ty: Type,
    spans: Spans,
    keys: VectorRef,
    values: VectorRef,
}

impl MapVector {
    /// Creates a map vector.
    ///
    /// # Errors
    /// `Internal` if keys and values differ in length, a non-null row is not inside of them, or
    /// offsets, lengths and validity differ in length; `Limit` if the number of entries does not
    /// fit 32 bits.
    pub fn new(
        offsets: Buffer<u32>,
        lengths: Buffer<u32>,
        validity: Option<Bitmap>,
        keys: VectorRef,
        values: VectorRef,
    ) -> Result<Self> {
        if keys.len() != values.len() {
            return Err(Error::internal("a map has other numbers of keys and values")
                .with("keys", keys.len())
                .with("values", values.len()));
        }
        let ty = Type::map(keys.ty().clone(), values.ty().clone());
        let spans = Spans::new(offsets, lengths, validity, keys.len())?;
        Ok(MapVector { ty, spans, keys, values })
    }

    span_methods!();

    /// Returns the keys of all rows.
    pub fn keys(&self) -> &VectorRef {
        &self.keys
    }

    /// Returns the values of all rows.
    pub fn values(&self) -> &VectorRef {
        &self.values
    }
}

impl From<MapVector> for Vector {
    fn from(v: MapVector) -> Self {
        Vector::Map(v)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::FlatVector;

    fn numbers(n: i64) -> VectorRef {
        let values: Buffer<i64> = (0..n).collect();
        Arc::new(Vector::Flat(FlatVector::from_buffer(Type::BigInt, values, None).unwrap()))
    }

    #[test]
    fn a_batch_without_columns_still_has_rows() {
        let batch = RowVector::batch(Arc::new(RowType::empty()), 42, vec![]).unwrap();
        assert_eq!((batch.len(), batch.children().len()), (42, 0));
        assert_eq!(batch.slice(2, 10).unwrap().len(), 10);
        assert_eq!(batch.wrap(&Buffer::from_slice(&[1, 2, 3])).len(), 3);
    }

    #[test]
    fn children_of_other_type_or_fewer_rows_are_refused() {
        let ty = Arc::new(RowType::new([("a", Type::BigInt)]));
        assert!(RowVector::batch(ty.clone(), 3, vec![numbers(3)]).is_ok());
        assert!(RowVector::batch(ty.clone(), 4, vec![numbers(3)]).is_err());
        assert!(RowVector::batch(ty, 3, vec![]).is_err());
    }

    #[test]
    fn a_field_has_as_many_rows_as_its_struct() {
        let ty = Arc::new(RowType::new([("a", Type::BigInt)]));
        let validity = [true, false, true].into_iter().collect::<Bitmap>();
        for validity in [None, Some(validity)] {
            let row = RowVector::new(Arc::clone(&ty), 3, validity, vec![numbers(5)]).unwrap();
            let field = Vector::field(&Arc::new(Vector::Row(row)), 0).unwrap();
            assert_eq!(field.len(), 3);
        }
    }

    #[test]
    fn more_entries_than_32_bits_count_are_refused() {
        let ty = Type::BigInt;
        let entries = |len| Arc::new(Vector::nulls(ty.clone(), len));
        let none = Buffer::empty;
        for (len, is_ok) in [(u32::MAX as usize, true), ((u32::MAX as usize) + 1, false)] {
            let array = ArrayVector::new(none(), none(), None, entries(len));
            let map = MapVector::new(none(), none(), None, entries(len), entries(len));
            for error in [array.err(), map.err()] {
                let kind = error.map(|error| error.kind());
                assert_eq!(kind, (!is_ok).then_some(crate::ErrorKind::Limit), "{len}");
            }
        }
    }

    #[test]
    fn a_null_array_row_may_point_anywhere_and_a_valid_one_may_not() {
        let offsets = Buffer::from_slice(&[0u32, u32::MAX]);
        let lengths = Buffer::from_slice(&[2u32, u32::MAX]);
        let validity: Bitmap = [true, false].into_iter().collect();
        let make = |v| ArrayVector::new(offsets.clone(), lengths.clone(), v, numbers(2));
        assert!(make(Some(validity)).is_ok());
        assert!(make(None).is_err());
    }
}
