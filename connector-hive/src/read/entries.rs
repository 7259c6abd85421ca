//! Dropping of map entries and array elements that a scan does not request, after reading.
//!
//! A format may leave part of the nested spec to the connector: the selected keys of a map (rule
//! S3.13), the removal of null keys (S3.19) and the first elements of an array (S3.16). Rows are
//! kept; only their contents shrink (S3.21). If nothing is dropped, which is the common case,
//! vectors are returned as they are.

use dwio::filter::Filter;
use dwio::scan_spec::{FieldSpec, NestedSpec};
use vector::sync::Arc;
use vector::{
    ArrayVector, Buffer, BufferMut, DecodedVector, DictionaryVector, MapVector, Result, RowVector,
    SelectivityVector, Type, Vector, VectorRef,
};

/// Returns true if a column of this type may have entries to drop.
pub(crate) fn has_entries(ty: &Type, nested: &NestedSpec) -> bool {
    match (ty, nested) {
        (Type::Map(..), _) => true,
        (Type::Array(_), NestedSpec::Array { max_elements, .. }) if *max_elements < usize::MAX => {
            true
        }
        (Type::Array(element), NestedSpec::Array { element: spec, .. }) => {
            has_entries(element, &spec.nested)
        }
        (Type::Array(element), _) => has_entries(element, &NestedSpec::Whole),
        (Type::Row(row), NestedSpec::Row(fields)) => {
            row.types().iter().zip(fields).any(|(ty, field)| match field {
                FieldSpec::Wanted(spec) => has_entries(ty, &spec.nested),
                FieldSpec::Pruned => false,
            })
        }
        (Type::Row(row), _) => row.types().iter().any(|ty| has_entries(ty, &NestedSpec::Whole)),
        _ => false,
    }
}

/// Returns the column without the entries that the spec does not include. Loads lazy columns.
///
/// # Errors
/// Errors of loading a lazy column and of applying the key filter.
pub(crate) fn without_pruned_entries(column: &VectorRef, nested: &NestedSpec) -> Result<VectorRef> {
    if !has_entries(column.ty(), nested) {
        return Ok(Arc::clone(column));
    }
    let ty = column.ty().clone();
    on_base(column, &ty, &mut |base| match base {
        Vector::Map(map) => of_map(map, nested),
        Vector::Array(array) => of_array(array, nested),
        Vector::Row(row) => of_row(row, nested),
        other => Ok(Arc::new(other.clone())),
    })
}

/// Applies `f` to the nested vector below the dictionary and lazy wrappers of `column` and wraps
/// the result the same way. `ty` is the type of the result. `f` must keep the number of rows.
pub(crate) fn on_base(
    column: &VectorRef,
    ty: &Type,
    f: &mut dyn FnMut(&Vector) -> Result<VectorRef>,
) -> Result<VectorRef> {
    match column.as_ref() {
        Vector::Lazy(lazy) => on_base(&lazy.loaded()?, ty, f),
        Vector::Constant(constant) if constant.is_null() => {
            Ok(Arc::new(Vector::nulls(ty.clone(), constant.len())))
        }
        Vector::Constant(_) => f(&*vector::flatten(column)?),
        Vector::Dictionary(dictionary) => {
            let base = on_base(dictionary.base(), ty, f)?;
            let indices = dictionary.indices().clone();
            let validity = dictionary.validity().cloned();
            let wrapped = DictionaryVector::over_with_validity(base, indices, validity);
            Ok(Arc::new(Vector::Dictionary(wrapped)))
        }
        base => f(base),
    }
}

fn of_row(row: &RowVector, nested: &NestedSpec) -> Result<VectorRef> {
    let whole = NestedSpec::Whole;
    let below = |i: usize| match nested {
        NestedSpec::Row(fields) => match fields.get(i) {
            Some(FieldSpec::Wanted(spec)) => Some(&spec.nested),
            _ => None,
        },
        _ => Some(&whole),
    };
    let children = row.children().iter().enumerate().map(|(i, child)| match below(i) {
        Some(nested) => without_pruned_entries(child, nested),
        None => Ok(Arc::clone(child)),
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let row_type = Arc::clone(row.row_type());
    let row = RowVector::new(row_type, row.len(), row.validity().cloned(), children)?;
    Ok(Arc::new(Vector::Row(row)))
}

fn of_array(array: &ArrayVector, nested: &NestedSpec) -> Result<VectorRef> {
    let (nested, max) = match nested {
        NestedSpec::Array { element, max_elements } => (&element.nested, *max_elements),
        _ => (&NestedSpec::Whole, usize::MAX),
    };
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    let is_long = |i: usize| !array.is_null(i) && array.lengths()[i] > max;
    let lengths = match (0..array.len()).any(is_long) {
        true => array.lengths().iter().map(|length| (*length).min(max)).collect(),
        false => array.lengths().clone(),
    };
    let elements = without_pruned_entries(array.elements(), nested)?;
    let validity = array.validity().cloned();
    let array = ArrayVector::new(array.offsets().clone(), lengths, validity, elements)?;
    Ok(Arc::new(Vector::Array(array)))
}

fn of_map(map: &MapVector, nested: &NestedSpec) -> Result<VectorRef> {
    let whole = NestedSpec::Whole;
    let (filter, key_nested, value_nested) = match nested {
        NestedSpec::Map { key, value } => (key.filter.as_deref(), &key.nested, &value.nested),
        _ => (None, &whole, &whole),
    };
    let kept = kept_entries(map, filter.unwrap_or(&Filter::IsNotNull))?;
    let map = kept.as_ref().unwrap_or(map);
    let keys = without_pruned_entries(map.keys(), key_nested)?;
    let values = without_pruned_entries(map.values(), value_nested)?;
    let (offsets, lengths) = (map.offsets().clone(), map.lengths().clone());
    let map = MapVector::new(offsets, lengths, map.validity().cloned(), keys, values)?;
    Ok(Arc::new(Vector::Map(map)))
}

/// Returns the map with only those entries whose key passes, in their order; `None` if all pass.
pub(crate) fn kept_entries(map: &MapVector, filter: &Filter) -> Result<Option<MapVector>> {
    let keys = DecodedVector::new(map.keys())?;
    if *filter == Filter::IsNotNull && keys.validity().is_none() {
        return Ok(None);
    }
    let mut passing = SelectivityVector::all(keys.len());
    filter.apply(&keys, &mut passing)?;
    passing.deselect_nulls(keys.validity());
    if passing.is_all() {
        return Ok(None);
    }
    let mut offsets = BufferMut::with_capacity(map.len());
    let mut lengths = BufferMut::with_capacity(map.len());
    let mut entries: BufferMut<u32> = BufferMut::new();
    for row in 0..map.len() {
        let start = entries.len() as u32;
        if !map.is_null(row) {
            for entry in map.span(row).filter(|entry| passing.contains(*entry)) {
                entries.push(entry as u32);
            }
        }
        offsets.push(start);
        lengths.push(entries.len() as u32 - start);
    }
    let entries: Buffer<u32> = entries.freeze();
    let keys = Vector::wrap(map.keys(), &entries);
    let values = Vector::wrap(map.values(), &entries);
    let validity = map.validity().cloned();
    MapVector::new(offsets.freeze(), lengths.freeze(), validity, keys, values).map(Some)
}
