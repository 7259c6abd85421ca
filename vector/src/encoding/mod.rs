//! Vectors: one column of a batch, in one of a closed set of encodings.
//!
//! ```text
//! Vector
//!   Flat        values side by side                 FlatVector
//!   Constant    one value, many rows                ConstantVector
//!   Dictionary  indices over a base vector          DictionaryVector
//!   Lazy        read when first touched             LazyVector
//!   Row, Array, Map   the nested shapes             nested.rs
//! ```
//!
//! Vectors are immutable and shared as [`VectorRef`]; their buffers can be taken back for writing
//! when nobody else holds them (rule S1.54). Validity bits are 1 for "not null" (S1.2). A vector
//! has a validity exactly when at least one of its rows is null: every constructor and every slice
//! drops a bitmap without a zero ([`Bitmap::into_validity`]).

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

/// A shared vector.
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

/// The encoding of a [`Vector`], by name.
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

/// Runs the same expression on whatever vector is inside.
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
    /// A vector of `len` nulls of type `ty`.
    pub fn nulls(ty: Type, len: usize) -> Vector {
        Vector::Constant(ConstantVector::null(ty, len))
    }

    /// A vector of `len` times `value`, which must fit `ty`.
    pub fn constant(ty: Type, value: Value, len: usize) -> Result<Vector> {
        ConstantVector::new(ty, value, len).map(Vector::Constant)
    }

    /// The logical type.
    pub fn ty(&self) -> &Type {
        each!(self, v => v.ty())
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The encoding's name.
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

    /// This vector, or what it loads to when it is lazy, loaded for all rows (rule S1.26).
    pub fn loaded(this: &VectorRef) -> Result<VectorRef> {
        match this.as_ref() {
            Vector::Lazy(lazy) => lazy.loaded(),
            _ => Ok(Arc::clone(this)),
        }
    }

    /// The rows `offset..offset + len` as a vector of their own. Buffers are shared; bitmaps and
    /// offsets of nested vectors are copied. Loads a lazy vector.
    ///
    /// # Panics
    /// When the range is not inside the vector.
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

    /// Rows `indices` of `this`, in that order, without copying values: a dictionary over it
    /// (rule S1.21). A constant only changes its length.
    pub fn wrap(this: &VectorRef, indices: &crate::Buffer<u32>) -> VectorRef {
        match this.as_ref() {
            Vector::Constant(c) => Arc::new(Vector::Constant(c.resized(indices.len()))),
            _ => Arc::new(Vector::Dictionary(DictionaryVector::over(
                Arc::clone(this),
                indices.clone(),
            ))),
        }
    }

    /// The row vector inside, or an `Internal` error.
    pub fn as_row(&self) -> Result<&RowVector> {
        match self {
            Vector::Row(row) => Ok(row),
            other => Err(Error::internal("a row vector was expected").with("found", other.ty())),
        }
    }

    /// Bytes that this vector keeps alive, shared ones counted in full.
    pub fn retained_bytes(&self) -> usize {
        self.held_bytes(Held::All)
    }

    /// As [`Vector::retained_bytes`], of the memory that is asked for.
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

/// Checks that a row type is that of the batch; the names may differ.
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
