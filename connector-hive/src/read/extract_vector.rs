//! Application of extractions to vectors (rules S16.6 to S16.12).
//!
//! Steps work on the base vector below wrappers: a dictionary over maps becomes a dictionary over
//! their sizes. Rows, nulls, offsets and lengths are those of the input; only the vector that they
//! refer to changes.

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{
    ArrayVector, Bitmap, Buffer, DictionaryVector, Error, FlatVector, MapVector, Result, RowVector,
    Type, Vector, VectorRef,
};

use crate::read::entries::{kept_entries, on_base};
use crate::table::extraction::{Extraction, ExtractionStep, KeySet, chain_type, output_type};

/// Returns the result of a column's extractions; `ty` is the type of the result. Loads lazy
/// columns.
///
/// # Errors
/// `Internal` if the column or the result does not have the expected type, or errors of loading.
pub(crate) fn extract(
    column: &VectorRef,
    extractions: &[Extraction],
    ty: &Type,
) -> Result<VectorRef> {
    let result = match extractions {
        [] => Vector::loaded(column)?,
        [one] => apply(column, &one.chain)?,
        several => {
            let children =
                several.iter().map(|e| apply(column, &e.chain)).collect::<Result<Vec<_>>>()?;
            let derived = output_type(column.ty(), extractions)?;
            let Type::Row(row_type) = derived else {
                return Err(Error::internal("several extractions make a struct"));
            };
            Arc::new(Vector::Row(RowVector::new(row_type, column.len(), None, children)?))
        }
    };
    if result.ty().is_equivalent(ty) {
        return Ok(result);
    }
    Err(Error::internal("an extraction returned another type than derived")
        .with("type", result.ty())
        .with("derived", ty))
}

/// Applies the steps of a chain in order.
fn apply(column: &VectorRef, chain: &[ExtractionStep]) -> Result<VectorRef> {
    let Some((step, rest)) = chain.split_first() else { return Vector::loaded(column) };
    let next = match step {
        ExtractionStep::ArrayElements => {
            let ty = chain_type(column.ty(), chain)?;
            return on_base(column, &ty, &mut |base| match base {
                Vector::Array(array) => {
                    let elements = apply(array.elements(), rest)?;
                    rewrapped(Spans::of_array(array), elements)
                }
                other => Err(misfit(step, other)),
            });
        }
        one => {
            let ty = chain_type(column.ty(), std::slice::from_ref(one))?;
            on_base(column, &ty, &mut |base| step_on(one, base))?
        }
    };
    apply(&next, rest)
}

fn step_on(step: &ExtractionStep, base: &Vector) -> Result<VectorRef> {
    match (step, base) {
        (ExtractionStep::StructField(name), Vector::Row(row)) => {
            let at = row.row_type().index_of(name).ok_or_else(|| misfit(step, base))?;
            Ok(null_where(row.child(at)?, row.validity(), row.len()))
        }
        (ExtractionStep::MapKeys, Vector::Map(map)) => {
            rewrapped(Spans::of_map(map), Arc::clone(map.keys()))
        }
        (ExtractionStep::MapValues, Vector::Map(map)) => {
            rewrapped(Spans::of_map(map), Arc::clone(map.values()))
        }
        (ExtractionStep::MapKeyFilter(keys), Vector::Map(map)) => {
            Ok(match kept_entries(map, &key_filter(keys))? {
                Some(kept) => Arc::new(Vector::Map(kept)),
                None => Arc::new(Vector::Map(map.clone())),
            })
        }
        (ExtractionStep::Size, Vector::Map(map)) => sizes(Spans::of_map(map)),
        (ExtractionStep::Size, Vector::Array(array)) => sizes(Spans::of_array(array)),
        (step, base) => Err(misfit(step, base)),
    }
}

fn misfit(step: &ExtractionStep, base: &Vector) -> Error {
    Error::internal("an extraction step met a vector of another kind")
        .with("step", step)
        .with("type", base.ty())
}

/// Returns the filter that accepts exactly the keys of a set and rejects null.
fn key_filter(keys: &KeySet) -> Filter {
    match keys {
        KeySet::Strings(keys) => Filter::bytes_values(keys.clone(), false),
        KeySet::Integers(keys) => Filter::bigint_values(keys.clone(), false),
    }
}

/// Offsets, lengths and validity of an array or map.
struct Spans<'a> {
    offsets: &'a Buffer<u32>,
    lengths: &'a Buffer<u32>,
    validity: Option<&'a Bitmap>,
}

impl<'a> Spans<'a> {
    fn of_array(v: &'a ArrayVector) -> Self {
        Spans { offsets: v.offsets(), lengths: v.lengths(), validity: v.validity() }
    }

    fn of_map(v: &'a MapVector) -> Self {
        Spans { offsets: v.offsets(), lengths: v.lengths(), validity: v.validity() }
    }
}

/// Returns an array of other elements with the same offsets, lengths and nulls.
fn rewrapped(spans: Spans<'_>, elements: VectorRef) -> Result<VectorRef> {
    let validity = spans.validity.cloned();
    let array = ArrayVector::new(spans.offsets.clone(), spans.lengths.clone(), validity, elements)?;
    Ok(Arc::new(Vector::Array(array)))
}

fn sizes(spans: Spans<'_>) -> Result<VectorRef> {
    let is_null = |i: usize| spans.validity.is_some_and(|v| !v.get(i));
    let lengths = spans.lengths.iter().enumerate();
    // The length of a null row is undefined.
    let sizes: Buffer<i64> =
        lengths.map(|(i, n)| if is_null(i) { 0 } else { i64::from(*n) }).collect();
    let sizes = FlatVector::from_buffer(Type::BigInt, sizes, spans.validity.cloned())?;
    Ok(Arc::new(Vector::Flat(sizes)))
}

/// Returns `child` with nulls where the enclosing struct is null (rule S16.9).
fn null_where(child: &VectorRef, validity: Option<&Bitmap>, len: usize) -> VectorRef {
    match validity {
        Some(validity) if !validity.all_ones() => {
            let rows: Buffer<u32> = (0..len as u32).collect();
            let child = Arc::clone(child);
            let nulls = Some(validity.clone());
            Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(child, rows, nulls)))
        }
        _ => Arc::clone(child),
    }
}
