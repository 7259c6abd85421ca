//! `=` and `<>` of arrays, maps and structs.
//!
//! A null inside makes the answer null unless something else decides: values of another length, or
//! any two parts that differ, are not equal whatever else is unknown.

use vector::{DecodedVector, Error, Result, Vector, equal_rows};

use super::by_row::tests;
use super::kernel::{Call, Kernel};

/// A column with the columns inside of it.
struct Side {
    column: DecodedVector,
    parts: Vec<Side>,
}

impl Side {
    fn new(column: DecodedVector) -> Result<Self> {
        let parts = match column.base().as_ref() {
            Vector::Array(array) => vec![DecodedVector::new(array.elements())?],
            Vector::Map(map) => {
                vec![DecodedVector::new(map.keys())?, DecodedVector::new(map.values())?]
            }
            Vector::Row(row) => {
                row.children().iter().map(DecodedVector::new).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        let parts = parts.into_iter().map(Side::new).collect::<Result<_>>()?;
        Ok(Side { column, parts })
    }
}

/// Whether two values are equal, `None` when that depends on a null.
fn same(a: &Side, i: usize, b: &Side, j: usize) -> Result<Option<bool>> {
    if a.column.is_null(i) || b.column.is_null(j) {
        return Ok(None);
    }
    let (at, other) = (a.column.index(i), b.column.index(j));
    let mut all = Some(true);
    // Gives true when the answer is known.
    let mut differ = |part: Option<bool>| {
        all = match part {
            Some(true) => all,
            undecided_or_not => undecided_or_not,
        };
        all == Some(false)
    };
    match (a.column.base().as_ref(), b.column.base().as_ref()) {
        (Vector::Array(left), Vector::Array(right)) => {
            let (left, right) = (left.span(at), right.span(other));
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            for (i, j) in left.zip(right) {
                if differ(same(&a.parts[0], i, &b.parts[0], j)?) {
                    break;
                }
            }
        }
        (Vector::Row(_), Vector::Row(_)) => {
            for (left, right) in a.parts.iter().zip(&b.parts) {
                if differ(same(left, at, right, other)?) {
                    break;
                }
            }
        }
        (Vector::Map(left), Vector::Map(right)) => {
            let (left, right) = (left.span(at), right.span(other));
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            for i in left {
                let mut found = None;
                for j in right.clone() {
                    if equal_rows(&a.parts[0].column, i, &b.parts[0].column, j)? {
                        found = Some(j);
                        break;
                    }
                }
                let Some(j) = found else { return Ok(Some(false)) };
                if differ(same(&a.parts[1], i, &b.parts[1], j)?) {
                    break;
                }
            }
        }
        _ => return equal_rows(&a.column, i, &b.column, j).map(Some),
    }
    Ok(all)
}

/// `=`, or `<>` where equal is not `wanted`.
pub(super) fn bind(wanted: bool) -> Kernel {
    Kernel::new(move |call: &Call<'_>| {
        let [a, b] = call.args else { return Err(Error::internal("two values are compared")) };
        let (a, b) = (Side::new(a.clone())?, Side::new(b.clone())?);
        tests(call, &mut |row| Ok(same(&a, row, &b, row)?.map(|same| same == wanted)))
    })
}
