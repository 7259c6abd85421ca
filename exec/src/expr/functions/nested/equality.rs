//! `=` and `<>` of arrays, maps and structs.
//!
//! A null inside of a value makes the result null, unless it is decided otherwise: values of
//! different lengths and any two parts that differ make the values unequal. Maps are equal when
//! they have the same keys with equal values, independent of the order of their entries.

use std::ops::Range;

use vector::{DecodedVector, Error, Result, RowComparator, Vector, equal_rows};

use crate::expr::by_row::tests;
use crate::expr::kernel::{Call, Kernel};

/// A column together with its child columns.
struct Side {
    column: DecodedVector,
    parts: Vec<Side>,
    /// Order of the keys of maps.
    keys: Option<RowComparator>,
}

impl Side {
    fn new(column: DecodedVector) -> Result<Self> {
        let mut keys = None;
        let parts = match column.base().as_ref() {
            Vector::Array(array) => vec![DecodedVector::new(array.elements())?],
            Vector::Map(map) => {
                let of_maps = std::slice::from_ref(map.keys());
                keys = Some(RowComparator::new(of_maps, of_maps)?);
                vec![DecodedVector::new(map.keys())?, DecodedVector::new(map.values())?]
            }
            Vector::Row(row) => {
                row.children().iter().map(DecodedVector::new).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        let parts = parts.into_iter().map(Side::new).collect::<Result<_>>()?;
        Ok(Side { column, parts, keys })
    }

    /// Returns the entries of a map in the order of their keys.
    fn sorted(&self, entries: Range<usize>) -> Vec<usize> {
        let mut sorted: Vec<usize> = entries.collect();
        if let Some(keys) = &self.keys {
            sorted.sort_unstable_by(|i, j| keys.compare(0, *i, *j));
        }
        sorted
    }
}

/// Returns whether two values are equal; `None` when that depends on a null.
fn same(a: &Side, i: usize, b: &Side, j: usize) -> Result<Option<bool>> {
    if a.column.is_null(i) || b.column.is_null(j) {
        return Ok(None);
    }
    let (at, other) = (a.column.index(i), b.column.index(j));
    match (a.column.base().as_ref(), b.column.base().as_ref()) {
        (Vector::Array(left), Vector::Array(right)) => {
            let (left, right) = (left.span(at), right.span(other));
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            all_same(left.zip(right).map(|(i, j)| same(&a.parts[0], i, &b.parts[0], j)))
        }
        (Vector::Row(_), Vector::Row(_)) => {
            let parts = a.parts.iter().zip(&b.parts);
            all_same(parts.map(|(left, right)| same(left, at, right, other)))
        }
        (Vector::Map(left), Vector::Map(right)) => {
            let (left, right) = (left.span(at), right.span(other));
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            let as_stored = || left.clone().zip(right.clone());
            if have_same_keys(a, b, as_stored())? {
                return same_values(a, b, as_stored());
            }
            let (left, right) = (a.sorted(left), b.sorted(right));
            let sorted = || left.iter().copied().zip(right.iter().copied());
            if !have_same_keys(a, b, sorted())? {
                return Ok(Some(false));
            }
            same_values(a, b, sorted())
        }
        _ => equal_rows(&a.column, i, &b.column, j).map(Some),
    }
}

/// Returns false when some part differs, otherwise `None` when some part is null.
fn all_same(parts: impl Iterator<Item = Result<Option<bool>>>) -> Result<Option<bool>> {
    let mut all = Some(true);
    for part in parts {
        match part? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => all = None,
        }
    }
    Ok(all)
}

/// Returns whether the pairs of entries have equal keys.
fn have_same_keys(
    a: &Side,
    b: &Side,
    mut pairs: impl Iterator<Item = (usize, usize)>,
) -> Result<bool> {
    let (left, right) = (&a.parts[0].column, &b.parts[0].column);
    pairs.try_fold(true, |same, (i, j)| Ok(same && equal_rows(left, i, right, j)?))
}

/// Returns whether the pairs of entries have equal values.
fn same_values(
    a: &Side,
    b: &Side,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Result<Option<bool>> {
    all_same(pairs.map(|(i, j)| same(&a.parts[1], i, &b.parts[1], j)))
}

/// Creates the kernel of `=`, or of `<>` if `wanted` is false.
pub(in crate::expr) fn bind(wanted: bool) -> Kernel {
    Kernel::new(move |call: &Call<'_>| {
        let [a, b] = call.args else { return Err(Error::internal("two values are compared")) };
        let (a, b) = (Side::new(a.clone())?, Side::new(b.clone())?);
        tests(call, &mut |row| Ok(same(&a, row, &b, row)?.map(|same| same == wanted)))
    })
}
