//! Constant vectors: one value, many rows.
//!
//! The value is kept as a [`Value`] of its own, so a constant never borrows from a split or a
//! reader (rule S1.17) and can never wrap another encoding (S1.15).

use crate::error::{Error, Result};
use crate::types::{Type, Value};

/// One value for every row.
#[derive(Debug, Clone)]
pub struct ConstantVector {
    ty: Type,
    value: Value,
    len: usize,
}

impl ConstantVector {
    /// `len` rows of `value`; `Internal` when the value does not fit the type.
    pub fn new(ty: Type, value: Value, len: usize) -> Result<Self> {
        if !value.fits(&ty) {
            return Err(Error::internal("a constant does not fit its type").with("type", ty));
        }
        Ok(ConstantVector { ty, value, len })
    }

    /// `len` nulls.
    pub fn null(ty: Type, len: usize) -> Self {
        ConstantVector { ty, value: Value::Null, len }
    }

    /// The logical type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of every row.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// True when every row is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// The same value for another number of rows.
    pub fn resized(&self, len: usize) -> Self {
        ConstantVector { len, ..self.clone() }
    }
}
