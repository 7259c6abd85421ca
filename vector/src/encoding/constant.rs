//! Constant vectors: one value for all rows.
//!
//! The value is stored as a [`Value`] of its own, so a constant never borrows from a split or a
//! reader (rule S1.17) and never wraps another encoding (rule S1.15).

use crate::error::{Error, Result};
use crate::types::{Type, Value};

/// A vector in which every row has the same value.
#[derive(Debug, Clone)]
pub struct ConstantVector {
    ty: Type,
    value: Value,
    len: usize,
}

impl ConstantVector {
    /// Creates a vector of `len` rows of `value`.
    ///
    /// # Errors
    /// `Internal` if the value does not fit the type.
    pub fn new(ty: Type, value: Value, len: usize) -> Result<Self> {
        if !value.fits(&ty) {
            return Err(Error::internal("a constant does not fit its type").with("type", ty));
        }
        Ok(ConstantVector { ty, value, len })
    }

    /// Creates a vector of `len` nulls.
    pub fn null(ty: Type, len: usize) -> Self {
        ConstantVector { ty, value: Value::Null, len }
    }

    /// Returns the logical type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the value of every row.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns true if every row is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// Returns the same value for another number of rows.
    pub fn resized(&self, len: usize) -> Self {
        ConstantVector { len, ..self.clone() }
    }
}
