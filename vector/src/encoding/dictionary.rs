//! Dictionary vectors: indices over a base vector, with nulls of their own.
//!
//! Row `i` is null if the own validity marks it as null or if row `indices[i]` of the base is null
//! (rule S1.19). Indices of own nulls are unspecified and may be outside of the base. The base of a
//! dictionary may itself be a dictionary (rule S1.22).

use super::{Vector, VectorRef};
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::types::Type;

/// Rows selected from a base vector.
#[derive(Debug, Clone)]
pub struct DictionaryVector {
    base: VectorRef,
    indices: Buffer<u32>,
    validity: Option<Bitmap>,
}

impl DictionaryVector {
    /// Creates a dictionary of the rows `indices` of `base`.
    ///
    /// # Errors
    /// `Internal` if an index of a non-null row is outside of the base or the validity has another
    /// length than the indices.
    pub fn new(base: VectorRef, indices: Buffer<u32>, validity: Option<Bitmap>) -> Result<Self> {
        let num_base = base.len();
        let inside = match &validity {
            None => indices.iter().all(|i| (*i as usize) < num_base),
            Some(v) if v.len() != indices.len() => false,
            Some(v) => v.ones().all(|row| (indices[row] as usize) < num_base),
        };
        if !inside {
            return Err(Error::internal("dictionary indices do not fit their base")
                .with("rows", indices.len())
                .with("base", num_base));
        }
        Ok(DictionaryVector { base, indices, validity: validity.and_then(Bitmap::into_validity) })
    }

    /// Creates a dictionary as [`DictionaryVector::new`] does, from indices that the caller has
    /// already checked against the base; they are checked again only in debug builds.
    pub fn over(base: VectorRef, indices: Buffer<u32>) -> Self {
        debug_assert!(indices.iter().all(|i| (*i as usize) < base.len()));
        DictionaryVector { base, indices, validity: None }
    }

    /// Creates a dictionary as [`DictionaryVector::over`] does, with own nulls, whose indices may
    /// have any value.
    pub fn over_with_validity(
        base: VectorRef,
        indices: Buffer<u32>,
        validity: Option<Bitmap>,
    ) -> Self {
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == indices.len()));
        DictionaryVector { base, indices, validity: validity.and_then(Bitmap::into_validity) }
    }

    /// Returns the logical type, which is that of the base.
    pub fn ty(&self) -> &Type {
        self.base.ty()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Returns the vector from which the rows are selected.
    pub fn base(&self) -> &VectorRef {
        &self.base
    }

    /// Returns the base row of each row.
    pub fn indices(&self) -> &Buffer<u32> {
        &self.indices
    }

    /// Returns the dictionary's own validity, which excludes nulls of the base; `None` if there are
    /// no own nulls.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// Returns the rows `offset..offset + len`.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        DictionaryVector {
            base: self.base.clone(),
            indices: self.indices.slice(offset..offset + len),
            validity: self.validity.as_ref().and_then(|v| v.slice(offset, len).into_validity()),
        }
    }
}

impl From<DictionaryVector> for Vector {
    fn from(v: DictionaryVector) -> Self {
        Vector::Dictionary(v)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::FlatVector;
    use crate::sync::Arc;

    #[test]
    fn an_index_outside_of_the_base_is_refused_unless_its_row_is_null() {
        let base = FlatVector::from_buffer(Type::BigInt, Buffer::from_slice(&[1i64, 2]), None);
        let base = Arc::new(Vector::Flat(base.unwrap()));
        let indices = Buffer::from_slice(&[1u32, 9]);
        assert!(DictionaryVector::new(base.clone(), indices.clone(), None).is_err());
        let validity: Bitmap = [true, false].into_iter().collect();
        assert!(DictionaryVector::new(base, indices, Some(validity)).is_ok());
    }
}
