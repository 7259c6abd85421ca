//! Casts of arrays, maps and structs: their elements are cast and their shapes are kept.
//!
//! Only elements of counted rows are converted, so that failures of other rows are not reported.

use vector::sync::Arc;
use vector::{
    ArrayVector, MapVector, Result, RowVector, SelectivityVector, Type, Vector, VectorRef,
};

use super::scalar;
use crate::expr::functions::nested::constructors::placed;
use crate::expr::kernel::{Call, Kernel, wrong_storage};
use crate::expr::peel::apply;

/// Cast of one child vector.
struct Part {
    to: Type,
    /// `None` when no conversion is needed.
    kernel: Option<Kernel>,
    from_nulls: bool,
}

impl Part {
    fn new(from: &Type, to: &Type) -> Result<Self> {
        let from_nulls = *from == Type::Unknown;
        let kernel = match from_nulls || from.is_equivalent(to) {
            true => None,
            false => Some(scalar::bind(from, to, false)?),
        };
        Ok(Part { to: to.clone(), kernel, from_nulls })
    }

    fn cast(&self, values: &VectorRef, rows: &SelectivityVector) -> Result<VectorRef> {
        match &self.kernel {
            Some(kernel) => apply(kernel, std::slice::from_ref(values), rows, &self.to, None),
            None if self.from_nulls => Ok(Arc::new(Vector::nulls(self.to.clone(), values.len()))),
            None => Ok(Arc::clone(values)),
        }
    }
}

/// Creates the kernel of a cast between two nested types; `None` when their shapes differ.
pub(in crate::expr) fn bind(from: &Type, to: &Type) -> Result<Option<Kernel>> {
    let parts = match (from, to) {
        (Type::Array(a), Type::Array(b)) => vec![Part::new(a, b)?],
        (Type::Map(k, v), Type::Map(l, w)) => vec![Part::new(k, l)?, Part::new(v, w)?],
        (Type::Row(a), Type::Row(b)) if a.len() == b.len() => {
            let pairs = a.types().iter().zip(b.types());
            pairs.map(|(a, b)| Part::new(a, b)).collect::<Result<_>>()?
        }
        _ => return Ok(None),
    };
    Ok(Some(Kernel::new(move |call| {
        let argument = &call.args[0];
        let made = match (argument.base().as_ref(), parts.as_slice()) {
            (Vector::Array(array), [part]) => {
                let rows = reached(call, array.elements().len(), |row| array.span(row));
                let elements = part.cast(array.elements(), &rows)?;
                let (offsets, lengths) = (array.offsets().clone(), array.lengths().clone());
                let validity = array.validity().cloned();
                Vector::Array(ArrayVector::new(offsets, lengths, validity, elements)?)
            }
            (Vector::Map(map), [key, value]) => {
                let rows = reached(call, map.keys().len(), |row| map.span(row));
                let (keys, values) =
                    (key.cast(map.keys(), &rows)?, value.cast(map.values(), &rows)?);
                let (offsets, lengths) = (map.offsets().clone(), map.lengths().clone());
                let validity = map.validity().cloned();
                Vector::Map(MapVector::new(offsets, lengths, validity, keys, values)?)
            }
            (Vector::Row(row), parts) => {
                let row_type = call.ty.as_row().ok_or_else(|| wrong_storage(call.ty))?;
                let fields = row.children().iter().zip(parts).map(|(field, part)| {
                    part.cast(field, &reached(call, field.len(), |row| row..row + 1))
                });
                let fields = fields.collect::<Result<_>>()?;
                let validity = row.validity().cloned();
                Vector::Row(RowVector::new(Arc::clone(row_type), row.len(), validity, fields)?)
            }
            (other, _) => return Err(wrong_storage(other.ty())),
        };
        Ok(Arc::unwrap_or_clone(placed(Arc::new(made), argument)))
    })))
}

/// Returns the elements that belong to counted rows.
fn reached(
    call: &Call<'_>,
    num_parts: usize,
    span: impl Fn(usize) -> std::ops::Range<usize>,
) -> SelectivityVector {
    let mut reached = SelectivityVector::none(num_parts);
    for row in call.rows.iter() {
        span(call.args[0].index(row)).for_each(|part| reached.set(part, true));
    }
    reached
}
