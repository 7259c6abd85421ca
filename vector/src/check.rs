//! Validation of the invariants of vectors.
//!
//! Constructors reject most invalid vectors. This module checks everything again, including what
//! the constructors leave to the caller for speed: string views, indices of
//! [`DictionaryVector::over`] and prefixes of strings. Tests call it on every batch that passes
//! between operators; no code path of a release build depends on it.

use std::ops::Range;

use crate::bitmap::Bitmap;
use crate::encoding::RowVector;
use crate::encoding::{
    ConstantVector, DictionaryVector, FlatValues, FlatVector, StringValues, Vector, VectorRef,
};
use crate::error::{Error, Result, ResultExt};
use crate::memory::buffer::Buffer;
use crate::types::string_view::INLINE_LIMIT;
use crate::types::temporal::NANOS_PER_SECOND;
use crate::types::{Timestamp, Type};

/// Checks a vector and all its children. A lazy vector is checked only if it is already loaded; it
/// is never loaded for the check.
///
/// # Errors
/// `Internal` for the first violated invariant, with its place as frames.
pub fn check(vector: &VectorRef) -> Result<()> {
    match vector.as_ref() {
        Vector::Flat(flat) => check_flat(flat),
        Vector::Constant(constant) => check_constant(constant),
        Vector::Dictionary(dictionary) => check_dictionary(dictionary),
        Vector::Lazy(lazy) => match lazy.loaded_if_ready() {
            None => Ok(()),
            Some(loaded) => {
                if loaded.len() < lazy.len() {
                    return Err(Error::internal("a lazy vector loaded too few rows")
                        .with("rows", lazy.len())
                        .with("loaded", loaded.len()));
                }
                check_type(lazy.ty(), loaded.ty())?;
                check(&loaded)
            }
        },
        Vector::Row(row) => check_row(row),
        Vector::Array(array) => {
            check_validity(array.validity(), array.len())?;
            let children = [array.elements()];
            check_spans(array.offsets(), array.lengths(), array.validity(), children)?;
            match array.ty() {
                Type::Array(element) => check_type(element, array.elements().ty())?,
                other => return Err(another_type(other)),
            }
            check(array.elements()).in_place("child", "elements")
        }
        Vector::Map(map) => {
            check_validity(map.validity(), map.len())?;
            let children = [map.keys(), map.values()];
            check_spans(map.offsets(), map.lengths(), map.validity(), children)?;
            match map.ty() {
                Type::Map(key, value) => {
                    check_type(key, map.keys().ty())?;
                    check_type(value, map.values().ty())?;
                }
                other => return Err(another_type(other)),
            }
            check(map.keys()).in_place("child", "keys")?;
            check(map.values()).in_place("child", "values")
        }
    }
}

/// Checks a batch and its columns as [`check`] does.
///
/// # Errors
/// `Internal` for the first violated invariant.
pub fn check_batch(batch: &RowVector) -> Result<()> {
    check_row(batch)
}

fn another_type(ty: &Type) -> Error {
    Error::internal("a vector of this encoding cannot have its type").with("type", ty)
}

fn check_type(declared: &Type, found: &Type) -> Result<()> {
    if declared.is_equivalent(found) {
        return Ok(());
    }
    Err(Error::internal("a child has another type than its parent declares")
        .with("declared", declared)
        .with("found", found))
}

fn check_validity(validity: Option<&Bitmap>, len: usize) -> Result<()> {
    match validity {
        Some(bitmap) if bitmap.len() != len => {
            Err(Error::internal("validity and rows differ in number")
                .with("validity", bitmap.len())
                .with("rows", len))
        }
        _ => Ok(()),
    }
}

/// Calls `test` for all non-null rows, up to the first error.
fn for_valid(
    validity: Option<&Bitmap>,
    len: usize,
    mut test: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    (0..len)
        .filter(|i| validity.is_none_or(|v| v.get(*i)))
        .try_for_each(|i| test(i).in_place("row", i))
}

fn check_flat(flat: &FlatVector) -> Result<()> {
    if !flat.values().is_of(flat.ty().kind()) {
        return Err(another_type(flat.ty()));
    }
    check_validity(flat.validity(), flat.len())?;
    match flat.values() {
        FlatValues::String(strings) => {
            for_valid(flat.validity(), flat.len(), |i| check_string(strings, i))
        }
        FlatValues::Timestamp(values) => {
            for_valid(flat.validity(), flat.len(), |i| check_timestamp(values[i]))
        }
        _ => Ok(()),
    }
}

fn check_timestamp(value: Timestamp) -> Result<()> {
    if value.nanos() < NANOS_PER_SECOND {
        return Ok(());
    }
    Err(Error::internal("a timestamp has more than a second of nanoseconds")
        .with("nanos", value.nanos()))
}

fn check_string(strings: &StringValues, i: usize) -> Result<()> {
    let view = strings.views()[i];
    let raw = view.to_bytes();
    if view.is_inline() {
        // Two inline views are compared as whole views, so the bytes after the string must be zero.
        if raw[4 + view.len()..].iter().any(|byte| *byte != 0) {
            return Err(Error::internal("a short string is not padded with zeros"));
        }
        return Ok(());
    }
    let (index, offset) = view.location();
    let bytes = strings.buffers().get(index).and_then(|b| b.get(offset..offset + view.len()));
    let Some(bytes) = bytes else {
        return Err(Error::internal("a string does not lie inside its buffer")
            .with("buffer", index)
            .with("offset", offset)
            .with("bytes", view.len())
            .with("buffers", strings.buffers().len()));
    };
    debug_assert!(bytes.len() > INLINE_LIMIT);
    if raw[4..8] != bytes[..4] {
        return Err(Error::internal("the prefix of a string differs from its bytes"));
    }
    Ok(())
}

fn check_constant(constant: &ConstantVector) -> Result<()> {
    if constant.value().fits(constant.ty()) {
        return Ok(());
    }
    Err(Error::internal("a constant does not fit its type").with("type", constant.ty()))
}

fn check_dictionary(dictionary: &DictionaryVector) -> Result<()> {
    check_validity(dictionary.validity(), dictionary.len())?;
    let num_base = dictionary.base().len();
    for_valid(dictionary.validity(), dictionary.len(), |i| {
        let index = dictionary.indices()[i];
        if (index as usize) < num_base {
            return Ok(());
        }
        Err(Error::internal("a dictionary index is outside of the base")
            .with("index", index)
            .with("base", num_base))
    })?;
    check(dictionary.base()).in_place("dictionary", "base")
}

fn check_row(row: &RowVector) -> Result<()> {
    check_validity(row.validity(), row.len())?;
    if row.children().len() != row.row_type().len() {
        return Err(Error::internal("a row has another number of children than fields")
            .with("children", row.children().len())
            .with("fields", row.row_type().len()));
    }
    for ((name, ty), child) in row.row_type().fields().zip(row.children()) {
        let fits = || {
            if child.len() < row.len() {
                return Err(Error::internal("a child has fewer rows than its parent")
                    .with("child", child.len())
                    .with("parent", row.len()));
            }
            check_type(ty, child.ty())?;
            check(child)
        };
        fits().in_named("field", name)?;
    }
    Ok(())
}

fn check_spans<const N: usize>(
    offsets: &Buffer<u32>,
    lengths: &Buffer<u32>,
    validity: Option<&Bitmap>,
    children: [&VectorRef; N],
) -> Result<()> {
    if offsets.len() != lengths.len() {
        return Err(Error::internal("offsets and lengths differ in number")
            .with("offsets", offsets.len())
            .with("lengths", lengths.len()));
    }
    for_valid(validity, offsets.len(), |i| {
        let span: Range<usize> = offsets[i] as usize..offsets[i] as usize + lengths[i] as usize;
        match children.iter().find(|child| span.end > child.len()) {
            None => Ok(()),
            Some(child) => Err(Error::internal("a row reaches outside of its entries")
                .with("end", span.end)
                .with("entries", child.len())),
        }
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::ArrayVector;
    use crate::sync::Arc;
    use crate::types::StringView;

    const LONG: &[u8] = b"a string that is longer than a view";

    fn strings(views: &[StringView], validity: Option<Bitmap>) -> VectorRef {
        let buffers = vec![Buffer::from_slice(LONG)];
        let values = FlatValues::String(StringValues::new(Buffer::from_slice(views), buffers));
        Arc::new(Vector::Flat(FlatVector::new(Type::Varchar, values, validity).unwrap()))
    }

    fn message(vector: &VectorRef) -> String {
        check(vector).unwrap_err().to_string()
    }

    #[test]
    fn strings_outside_of_their_buffers_are_found_unless_they_are_null() {
        let good = StringView::new(LONG, 0, 0);
        for bad in [
            StringView::new(LONG, 1, 0),
            StringView::new(LONG, 0, 1),
            StringView::new(LONG, 0, u32::MAX),
        ] {
            assert!(message(&strings(&[good, bad], None)).contains("does not lie inside"));
            let validity: Bitmap = [true, false].into_iter().collect();
            check(&strings(&[good, bad], Some(validity))).unwrap();
        }
    }

    #[test]
    fn a_prefix_that_is_not_that_of_the_bytes_is_found() {
        let view = StringView::new(b"another string of 25 bytes", 0, 0);
        assert_eq!(
            message(&strings(&[view], None)),
            "internal: the prefix of a string differs from its bytes\n  in row 0"
        );
    }

    #[test]
    fn the_place_of_a_broken_child_is_named() {
        let bad = strings(&[StringView::new(LONG, 7, 0)], None);
        let array =
            ArrayVector::new(Buffer::from_slice(&[0u32]), Buffer::from_slice(&[1u32]), None, bad);
        let array: VectorRef = Arc::new(Vector::Array(array.unwrap()));
        let row_type = Type::row([("tags", array.ty().clone())]);
        let batch = RowVector::batch(row_type.as_row().unwrap().clone(), 1, vec![array]).unwrap();
        let text = check_batch(&batch).unwrap_err().to_string();
        assert!(text.ends_with("in row 0, child elements, field \"tags\""), "{text}");
    }

    #[test]
    fn a_dictionary_under_its_own_nulls_may_have_any_index_and_others_not() {
        let base = strings(&[StringView::inline(b"x")], None);
        let make = |validity| {
            let indices = Buffer::from_slice(&[0u32, 5]);
            let dictionary =
                DictionaryVector::over_with_validity(base.clone(), indices, Some(validity));
            Arc::new(Vector::Dictionary(dictionary))
        };
        check(&make([true, false].into_iter().collect())).unwrap();
        let broken = make([true, true].into_iter().collect());
        assert!(message(&broken).contains("index=5 base=1"));
    }
}
