//! Dictionary vectors: indices over a base vector, with nulls of their own.
//!
//! Row `i` is null when the own validity says so or when row `indices[i]` of the base is null
//! (rule S1.19). Indices under an own null are unspecified and may lie outside of the base.
//! Dictionaries nest (S1.22).

use super::{Vector, VectorRef};
use crate::bitmap::Bitmap;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::types::Type;

/// Rows picked from a base vector.
#[derive(Debug, Clone)]
pub struct DictionaryVector {
    base: VectorRef,
    indices: Buffer<u32>,
    validity: Option<Bitmap>,
}

impl DictionaryVector {
    /// Picks rows of `base`. `Internal` when an index of a valid row is outside of the base or the
    /// validity has another length.
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

    /// Like [`DictionaryVector::new`] for indices that the caller has already checked against the
    /// base (checked again in debug builds).
    pub fn over(base: VectorRef, indices: Buffer<u32>) -> Self {
        debug_assert!(indices.iter().all(|i| (*i as usize) < base.len()));
        DictionaryVector { base, indices, validity: None }
    }

    /// Like [`DictionaryVector::over`] with own nulls, whose indices may be anything.
    pub fn over_with_validity(
        base: VectorRef,
        indices: Buffer<u32>,
        validity: Option<Bitmap>,
    ) -> Self {
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == indices.len()));
        DictionaryVector { base, indices, validity: validity.and_then(Bitmap::into_validity) }
    }

    /// The logical type, that of the base.
    pub fn ty(&self) -> &Type {
        self.base.ty()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The vector that rows are picked from.
    pub fn base(&self) -> &VectorRef {
        &self.base
    }

    /// The base row of each row.
    pub fn indices(&self) -> &Buffer<u32> {
        &self.indices
    }

    /// The dictionary's own validity, not that of the base; `None` when no row is null by itself.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// The rows `offset..offset + len`.
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
