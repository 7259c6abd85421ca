//! Lazy vectors: columns that are read when somebody first touches them.
//!
//! | state    | `load(rows)`                                   | `loaded()`               |
//! |----------|------------------------------------------------|--------------------------|
//! | Unloaded | the loader runs; Loaded or Poisoned            | loads all rows           |
//! | Loaded   | the same vector, if it covers `rows`           | the vector               |
//! | Poisoned | the same error again                           | the same error again     |
//!
//! The loader runs at most once (rule S1.25), under the cell's lock, so a second thread waits for
//! its outcome. A loader whose reader has moved on answers with an `Internal` error, never with
//! other rows (S1.37); which reader position it belongs to is the loader's own knowledge.

use super::{Vector, VectorRef};
use crate::error::{Error, Result};
use crate::rows::RowSet;
use crate::sync::{ModelArc, Mutex};
use crate::types::Type;

/// Reads the values of a lazy column.
pub trait VectorLoader: Send {
    /// Reads rows `rows` (positions of the lazy vector, ascending). The result has at least as
    /// many rows as the lazy vector up to the last of `rows`; other positions are unspecified but
    /// safe to decode (rule S1.29).
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef>;
}

enum Cell {
    Unloaded(Box<dyn VectorLoader>),
    /// The loaded vector; `complete` when every row was asked for.
    Loaded {
        vector: VectorRef,
        complete: bool,
    },
    Poisoned(Error),
}

/// A column that is read when first touched; clones share the load.
#[derive(Clone)]
pub struct LazyVector {
    ty: Type,
    len: usize,
    cell: ModelArc<Mutex<Cell>>,
}

impl LazyVector {
    /// A vector of `len` rows that `loader` will read.
    pub fn new(ty: Type, len: usize, loader: impl VectorLoader + 'static) -> Self {
        let cell = Cell::Unloaded(Box::new(loader));
        LazyVector { ty, len, cell: ModelArc::new(Mutex::new(cell)) }
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

    /// True once a load has ended well.
    pub fn is_loaded(&self) -> bool {
        matches!(*self.cell.lock(), Cell::Loaded { .. })
    }

    /// The loaded vector, without loading.
    pub fn loaded_if_ready(&self) -> Option<VectorRef> {
        match &*self.cell.lock() {
            Cell::Loaded { vector, .. } => Some(vector.clone()),
            _ => None,
        }
    }

    /// The vector, loaded for all rows (rule S1.26).
    pub fn loaded(&self) -> Result<VectorRef> {
        self.load(&RowSet::all(self.len))
    }

    /// The vector, loaded for `rows`. The first call decides which rows are read; asking later
    /// for rows outside of a partial load is an `Internal` error.
    pub fn load(&self, rows: &RowSet) -> Result<VectorRef> {
        let mut cell = self.cell.lock();
        match &*cell {
            Cell::Loaded { vector, complete } => {
                if *complete || !rows.is_all(self.len) {
                    return Ok(vector.clone());
                }
                return Err(Error::internal("a lazy column was loaded for some of its rows only"));
            }
            Cell::Poisoned(error) => return Err(error.duplicate()),
            Cell::Unloaded(_) => {}
        }
        let pending = Error::internal("a lazy column was touched by its own loader");
        let Cell::Unloaded(loader) = std::mem::replace(&mut *cell, Cell::Poisoned(pending)) else {
            return Err(Error::internal("unreachable state of a lazy column"));
        };
        match self.run(loader, rows) {
            Ok(vector) => {
                let complete = rows.is_all(self.len);
                *cell = Cell::Loaded { vector: vector.clone(), complete };
                Ok(vector)
            }
            Err(error) => {
                *cell = Cell::Poisoned(error.duplicate());
                Err(error)
            }
        }
    }

    fn run(&self, loader: Box<dyn VectorLoader>, rows: &RowSet) -> Result<VectorRef> {
        // Nothing asked for: nothing is read (rule S1.28).
        if rows.is_empty() {
            return Ok(Vector::nulls(self.ty.clone(), self.len).into());
        }
        let vector = Vector::loaded(&loader.load(rows)?)?;
        if vector.len() < self.len || !vector.ty().is_equivalent(&self.ty) {
            return Err(Error::internal("a loader gave another vector than it promised")
                .with("rows", vector.len())
                .with("promised_rows", self.len)
                .with("type", vector.ty())
                .with("promised_type", &self.ty));
        }
        Ok(vector)
    }
}

impl std::fmt::Debug for LazyVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LazyVector({}, {} rows)", self.ty, self.len)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::FlatVector;
    use crate::error::ErrorKind;
    use crate::memory::buffer::Buffer;

    struct Numbers(Result<usize>);

    impl VectorLoader for Numbers {
        fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
            let values: Buffer<i64> = (0..self.0? as i64).collect();
            Ok(Vector::Flat(FlatVector::from_buffer(Type::BigInt, values, None)?).into())
        }
    }

    #[test]
    fn a_lazy_column_loads_once_and_its_clones_share_the_load() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Ok(5)));
        let clone = lazy.clone();
        assert!(!clone.is_loaded());
        let first = lazy.loaded().unwrap();
        assert!(crate::sync::Arc::ptr_eq(&first, &clone.loaded().unwrap()));
    }

    #[test]
    fn a_failed_load_fails_again_with_the_same_error() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Err(Error::corrupt("bad page"))));
        for _ in 0..2 {
            assert_eq!(lazy.loaded().unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn a_loader_that_breaks_its_promise_is_an_internal_error() {
        let short = LazyVector::new(Type::BigInt, 5, Numbers(Ok(4)));
        assert_eq!(short.loaded().unwrap_err().kind(), ErrorKind::Internal);
        let wrong = LazyVector::new(Type::Integer, 5, Numbers(Ok(5)));
        assert_eq!(wrong.loaded().unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn a_partial_load_is_not_taken_for_a_whole_one() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Ok(5)));
        lazy.load(&RowSet::range(1, 3)).unwrap();
        assert_eq!(lazy.loaded().unwrap_err().kind(), ErrorKind::Internal);
    }
}
