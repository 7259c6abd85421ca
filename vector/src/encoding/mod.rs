//! Vectors: one column of a batch, in one of a fixed set of encodings.
//!
//! ```text
//! Vector
//!   Flat        contiguous values                   FlatVector
//!   Constant    one value for all rows              ConstantVector
//!   Dictionary  indices over a base vector          DictionaryVector
//!   Lazy        read when first accessed            LazyVector
//!   Row, Array, Map   nested types                  nested.rs
//! ```
//!
//! Vectors are immutable and shared as [`VectorRef`]. A buffer can be written again only if no
//! other vector shares it (rule S1.54). A validity bit of 1 means "not null" (rule S1.2). A vector
//! has a validity exactly if at least one of its rows is null: every constructor and every slice
//! drops a bitmap without zeros ([`Bitmap::into_validity`](crate::bitmap::Bitmap::into_validity)).

pub mod constant;
pub mod dictionary;
pub mod flat;
pub mod lazy;
pub mod nested;

use crate::error::{Error, Result};
use crate::memory::Held;
use crate::sync::Arc;
use crate::types::{RowType, Type, Value};

pub use constant::ConstantVector;
pub use dictionary::DictionaryVector;
pub use flat::{FlatType, FlatValues, FlatVector, StringValues};
pub use lazy::{LazyLoads, LazyVector, VectorLoader, lazy_loads, measure_lazy_loads};
pub use nested::{ArrayVector, MapVector, RowVector};

/// Shared pointer to a vector.
pub type VectorRef = Arc<Vector>;

/// One column of a batch.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Vector {
    Flat(FlatVector),
    Constant(ConstantVector),
    Dictionary(DictionaryVector),
    Lazy(LazyVector),
    Row(RowVector),
    Array(ArrayVector),
    Map(MapVector),
}

/// Name of the encoding of a [`Vector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Encoding {
    Flat,
    Constant,
    Dictionary,
    Lazy,
    Row,
    Array,
    Map,
}

/// Evaluates the same expression for the vector of each encoding.
macro_rules! each {
    ($vector:expr, $v:ident => $body:expr) => {
        match $vector {
            Vector::Flat($v) => $body,
            Vector::Constant($v) => $body,
            Vector::Dictionary($v) => $body,
            Vector::Lazy($v) => $body,
            Vector::Row($v) => $body,
            Vector::Array($v) => $body,
            Vector::Map($v) => $body,
        }
    };
}

impl Vector {
    /// Creates a vector of `len` nulls of type `ty`.
    pub fn nulls(ty: Type, len: usize) -> Vector {
        Vector::Constant(ConstantVector::null(ty, len))
    }

    /// Creates a vector of `len` rows of `value`.
    ///
    /// # Errors
    /// `Internal` if the value does not fit `ty`.
    pub fn constant(ty: Type, value: Value, len: usize) -> Result<Vector> {
        ConstantVector::new(ty, value, len).map(Vector::Constant)
    }

    /// Returns the logical type.
    pub fn ty(&self) -> &Type {
        each!(self, v => v.ty())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> Encoding {
        match self {
            Vector::Flat(_) => Encoding::Flat,
            Vector::Constant(_) => Encoding::Constant,
            Vector::Dictionary(_) => Encoding::Dictionary,
            Vector::Lazy(_) => Encoding::Lazy,
            Vector::Row(_) => Encoding::Row,
            Vector::Array(_) => Encoding::Array,
            Vector::Map(_) => Encoding::Map,
        }
    }

    /// Returns this vector, or its loaded vector if it is lazy, loaded for all rows (rule S1.26).
    ///
    /// # Errors
    /// As [`LazyVector::load`].
    pub fn loaded(this: &VectorRef) -> Result<VectorRef> {
        match this.as_ref() {
            Vector::Lazy(lazy) => lazy.loaded(),
            _ => Ok(Arc::clone(this)),
        }
    }

    /// Returns the rows `offset..offset + len` as a vector. Buffers of values, indices, offsets and
    /// lengths are shared; bitmaps are copied. Loads a lazy vector for all rows.
    ///
    /// # Errors
    /// As [`LazyVector::load`].
    ///
    /// # Panics
    /// If the range is not inside the vector.
    pub fn slice(this: &VectorRef, offset: usize, len: usize) -> Result<VectorRef> {
        assert!(offset + len <= this.len(), "slice outside of the vector");
        if offset == 0 && len == this.len() {
            return Ok(Arc::clone(this));
        }
        Ok(Arc::new(match this.as_ref() {
            Vector::Flat(v) => Vector::Flat(v.slice(offset, len)),
            Vector::Constant(v) => Vector::Constant(v.resized(len)),
            Vector::Dictionary(v) => Vector::Dictionary(v.slice(offset, len)),
            Vector::Lazy(v) => return Vector::slice(&v.loaded()?, offset, len),
            Vector::Row(v) => Vector::Row(v.slice(offset, len)?),
            Vector::Array(v) => Vector::Array(v.slice(offset, len)),
            Vector::Map(v) => Vector::Map(v.slice(offset, len)),
        }))
    }

    /// Returns the rows `indices` of `this`, in that order, without copying values: a dictionary
    /// over it (rule S1.21), or, for a constant, the constant with another length.
    pub fn wrap(this: &VectorRef, indices: &crate::Buffer<u32>) -> VectorRef {
        match this.as_ref() {
            Vector::Constant(c) => Arc::new(Vector::Constant(c.resized(indices.len()))),
            _ => Arc::new(Vector::Dictionary(DictionaryVector::over(
                Arc::clone(this),
                indices.clone(),
            ))),
        }
    }

    /// Returns the row vector.
    ///
    /// # Errors
    /// `Internal` if this is not a row vector.
    pub fn as_row(&self) -> Result<&RowVector> {
        match self {
            Vector::Row(row) => Ok(row),
            other => Err(Error::internal("a row vector was expected").with("found", other.ty())),
        }
    }

    /// Returns the size in bytes of the memory that this vector keeps alive; shared memory is
    /// counted in full.
    pub fn retained_bytes(&self) -> usize {
        self.held_bytes(Held::All)
    }

    /// Returns the size in bytes of the memory that this vector keeps alive, as far as `held`
    /// selects it.
    pub fn held_bytes(&self, held: Held) -> usize {
        match self {
            Vector::Flat(v) => v.held_bytes(held),
            Vector::Constant(_) => 0,
            Vector::Dictionary(v) => v.indices().held_bytes(held) + v.base().held_bytes(held),
            Vector::Lazy(v) => v.loaded_if_ready().map_or(0, |l| l.held_bytes(held)),
            Vector::Row(v) => v.children().iter().map(|c| c.held_bytes(held)).sum(),
            Vector::Array(v) => v.elements().held_bytes(held) + v.len() * 8,
            Vector::Map(v) => v.keys().held_bytes(held) + v.values().held_bytes(held) + v.len() * 8,
        }
    }
}

impl From<FlatVector> for Vector {
    fn from(v: FlatVector) -> Self {
        Vector::Flat(v)
    }
}

/// Checks that a batch has the types of `wanted`; the names may differ.
///
/// # Errors
/// `Internal` if the number of columns or a type differs.
pub fn check_row_type(batch: &RowVector, wanted: &RowType) -> Result<()> {
    let same = batch.row_type().len() == wanted.len()
        && batch.row_type().types().iter().zip(wanted.types()).all(|(a, b)| a.is_equivalent(b));
    if same {
        return Ok(());
    }
    Err(Error::internal("a batch has another type than its operator declared")
        .with("found", batch.row_type())
        .with("declared", wanted))
}
