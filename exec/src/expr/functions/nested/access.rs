//! Functions of arrays and maps: cardinality and access to elements.

use vector::sync::Arc;
use vector::{
    Bitmap, BitmapMut, BufferMut, DecodedVector, DictionaryVector, Error, Result, Type, Vector,
    VectorRef, equal_rows,
};

use crate::expr::coercion::can_coerce;
use crate::expr::functions::string::characters::numbers;
use crate::expr::kernel::{Argument, Call, Kernel, Operand, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("cardinality", &["(ARRAY(T)) -> BIGINT", "(MAP(K,V)) -> BIGINT"], cardinality)
        .with_rule(one_container),
    Function::scalar("subscript", ELEMENT, subscript).with_rule(element_of),
    Function::scalar("element_at", ELEMENT, element_at).with_rule(element_of),
];

const ELEMENT: &[&str] = &["(ARRAY(T), BIGINT) -> T", "(MAP(K,V), K) -> V"];

fn one_container(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Array(_) | Type::Map(..)] => Some(Resolved::new(types.to_vec(), Type::BigInt)),
        _ => None,
    }
}

/// Resolves an element of an array by position, or the value of a map by key.
fn element_of(types: &[Type]) -> Option<Resolved> {
    match types {
        [Type::Array(element), index] if can_coerce(index, &Type::BigInt) => {
            let element = element.as_ref().clone();
            Some(Resolved::new(vec![types[0].clone(), Type::BigInt], element))
        }
        [Type::Map(key, value), wanted] if can_coerce(wanted, key) => {
            let (key, value) = (key.as_ref().clone(), value.as_ref().clone());
            Some(Resolved::new(vec![types[0].clone(), key], value))
        }
        _ => None,
    }
}

/// Number of elements or entries.
fn cardinality(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let argument = &call.args[0];
        let lengths = match argument.base().as_ref() {
            Vector::Array(array) => array.lengths(),
            Vector::Map(map) => map.lengths(),
            other => return Err(wrong_storage(other.ty())),
        };
        numbers(call, |row| i64::from(lengths[argument.index(row)]))
    }))
}

/// `array[index]` from 1, `map[key]`; a missing element is an error.
fn subscript(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| pick(call, true)))
}

/// Like `subscript`, but a missing element is null, and negative indices count from the end.
fn element_at(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| pick(call, false)))
}

/// Returns the selected elements as a dictionary over all elements, without copying any.
fn pick(call: &Call<'_>, strict: bool) -> Result<Vector> {
    let container = &call.args[0];
    match container.base().as_ref() {
        Vector::Array(array) => {
            let wanted = Operand::<i64>::new(&call.args[1])?;
            let wanted = wanted.side();
            dictionary(call, array.elements(), &mut |row| {
                let span = array.span(container.index(row));
                let (index, count) = (wanted.at(row), span.len() as i64);
                let place = if index > 0 && index <= count {
                    Some(span.start + index as usize - 1)
                } else if !strict && index < 0 && index >= -count {
                    Some(span.end - index.unsigned_abs() as usize)
                } else {
                    None
                };
                if index == 0 || (strict && place.is_none()) {
                    return Err(Error::invalid_input("an array has no element at this index")
                        .with("index", index)
                        .with("elements", count));
                }
                Ok(place)
            })
        }
        Vector::Map(map) => {
            let keys = DecodedVector::new(map.keys())?;
            let wanted = &call.args[1];
            dictionary(call, map.values(), &mut |row| {
                for entry in map.span(container.index(row)) {
                    if equal_rows(&keys, entry, wanted, row)? {
                        return Ok(Some(entry));
                    }
                }
                if strict {
                    let key = vector::print::value_text(wanted.ty(), &wanted.value(row)?);
                    return Err(Error::invalid_input("a map has no such key").with("key", key));
                }
                Ok(None)
            })
        }
        other => Err(wrong_storage(other.ty())),
    }
}

/// Returns a value of `base`, or null, for each counted row.
pub(in crate::expr) fn dictionary(
    call: &Call<'_>,
    base: &VectorRef,
    place_of: &mut dyn FnMut(usize) -> Result<Option<usize>>,
) -> Result<Vector> {
    let mut indices = BufferMut::new();
    indices.resize(call.num_rows(), 0u32);
    let mut found = BitmapMut::new();
    found.push_n(false, call.num_rows());
    for row in call.rows.iter() {
        if let Some(place) = place_of(row)? {
            indices[row] = place as u32;
            found.set(row, true);
        }
    }
    let validity = Bitmap::and(call.validity.as_ref(), Some(&found.freeze()));
    Ok(Vector::Dictionary(DictionaryVector::over_with_validity(
        Arc::clone(base),
        indices.freeze(),
        validity,
    )))
}
