//! Loading of lazy columns before an expression reads them.

use vector::sync::Arc;
use vector::{DictionaryVector, Result, SelectivityVector, Vector, VectorRef};

/// A column without lazy vectors on top or under dictionaries.
///
/// A column that was not accessed before is loaded for all rows: other expressions may need rows that
/// this one does not, and a column cannot be read twice. A caller that knows the final set of rows
/// loads the column beforehand, for these rows only.
pub(super) fn loaded(vector: &VectorRef, rows: &SelectivityVector) -> Result<VectorRef> {
    match vector.as_ref() {
        Vector::Lazy(lazy) => {
            let values =
                if lazy.is_loaded() { lazy.load(&rows.to_rows())? } else { lazy.loaded()? };
            loaded(&Vector::slice(&values, 0, lazy.len())?, rows)
        }
        Vector::Dictionary(dictionary) if has_lazy_base(dictionary) => {
            let mut valid = rows.clone();
            valid.deselect_nulls(dictionary.validity());
            let mut base_rows = SelectivityVector::none(dictionary.base().len());
            valid.iter().for_each(|row| base_rows.set(dictionary.indices()[row] as usize, true));
            Ok(Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
                loaded(dictionary.base(), &base_rows)?,
                dictionary.indices().clone(),
                dictionary.validity().cloned(),
            ))))
        }
        _ => Ok(Arc::clone(vector)),
    }
}

fn has_lazy_base(dictionary: &DictionaryVector) -> bool {
    match dictionary.base().as_ref() {
        Vector::Lazy(_) => true,
        Vector::Dictionary(inner) => has_lazy_base(inner),
        _ => false,
    }
}
