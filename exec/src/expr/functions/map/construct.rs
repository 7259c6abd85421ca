//! Construction of maps from arrays, entries and other maps, and of arrays of entries from maps.
//!
//! The entries of a constructed map are in the order of its keys, as in Velox. Keys are distinct
//! and never null. When maps are concatenated, the value of the last map with a key counts.

use vector::print::value_text;
use vector::sync::Arc;
use vector::{
    ArrayVector, Buffer, BufferMut, DecodedVector, Error, MapVector, Result, RowComparator,
    RowVector, SortOrder, Type, Vector, VectorRef, concat,
};

use crate::expr::functions::array::lists::{Lists, Places};
use crate::expr::functions::nested::constructors::placed;
use crate::expr::kernel::{Call, wrong_storage};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows(
        "map",
        &["(ARRAY(K), ARRAY(V)) -> MAP(K, V)", "() -> MAP(UNKNOWN, UNKNOWN)"],
        map,
    ),
    Function::rows("map_from_entries", &["(ARRAY(ROW(K, V))) -> MAP(K, V)"], from_entries),
    Function::rows("map_concat", &["(MAP(K, V), ...) -> MAP(K, V)"], concatenated),
    Function::rows("map_entries", &["(MAP(K, V)) -> ARRAY(ROW(K, V))"], entries),
];

/// Treatment of a duplicate key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Refused,
    FirstCounts,
    LastCounts,
}

/// Entries as positions in the keys and in the values.
#[derive(Default)]
struct Entries {
    keys: Places,
    values: Vec<u32>,
}

impl Entries {
    /// Returns maps of the entries.
    fn maps(
        &self,
        call: &Call<'_>,
        keys: &VectorRef,
        values: &VectorRef,
        again: Again,
    ) -> Result<Vector> {
        let decoded = DecodedVector::new(keys)?;
        if self.keys.places.iter().any(|key| decoded.is_null(*key as usize)) {
            return Err(Error::invalid_input("a key of a map is null"));
        }
        let order = self.keys.order(keys, SortOrder::default())?;
        let same = RowComparator::new(std::slice::from_ref(keys), std::slice::from_ref(keys))?;
        let key_at = |at: &u32| self.keys.places[*at as usize] as usize;
        let (mut offsets, mut lengths) = (BufferMut::new(), BufferMut::new());
        let (mut key_places, mut value_places) = (Vec::new(), Vec::new());
        for row in 0..call.num_rows() {
            let start = key_places.len();
            let of_row = &order[self.keys.range(row)];
            for run in of_row.chunk_by(|a, b| same.compare(0, key_at(a), key_at(b)).is_eq()) {
                if run.len() > 1 && again == Again::Refused {
                    let key = value_text(keys.ty(), &decoded.value(key_at(&run[0]))?);
                    return Err(Error::invalid_input("a map has a key twice").with("key", key));
                }
                let kept = run[if again == Again::LastCounts { run.len() - 1 } else { 0 }];
                key_places.push(key_at(&kept) as u32);
                value_places.push(self.values[kept as usize]);
            }
            offsets.push(start as u32);
            lengths.push((key_places.len() - start) as u32);
        }
        let keys = Vector::wrap(keys, &Buffer::from_slice(&key_places));
        let values = Vector::wrap(values, &Buffer::from_slice(&value_places));
        let (offsets, lengths) = (offsets.freeze(), lengths.freeze());
        MapVector::new(offsets, lengths, call.validity.clone(), keys, values).map(Vector::Map)
    }
}

/// `map(keys, values)`, and `map()` without entries.
pub(in crate::expr) fn map(call: &Call<'_>) -> Result<Vector> {
    let [keys, values] = call.args else { return empty(call) };
    let (keys, values) =
        (Lists::of(std::slice::from_ref(keys))?, Lists::of(std::slice::from_ref(values))?);
    let mut data_handle = Vec::new();
    let places = Places::of_rows(call, &mut |row, places| {
        let (of_keys, values) = (keys.span(0, row), values.span(0, row));
        if of_keys.len() != values.len() {
            return Err(Error::invalid_input("a map has other numbers of keys and values")
                .with("keys", of_keys.len())
                .with("values", values.len()));
        }
        places.extend(of_keys);
        data_handle.extend(values);
        Ok(())
    })?;
    let entries = Entries { keys: places, values: data_handle };
    entries.maps(call, &keys.elements, &values.elements, Again::Refused)
}

/// Returns empty maps.
fn empty(call: &Call<'_>) -> Result<Vector> {
    let Type::Map(key, value) = call.ty else { return Err(wrong_storage(call.ty)) };
    let none = |ty: &Type| Arc::new(Vector::nulls(ty.clone(), 0));
    let places = Places::of_rows(call, &mut |_, _| Ok(()))?;
    Entries { keys: places, values: Vec::new() }.maps(
        call,
        &none(key),
        &none(value),
        Again::Refused,
    )
}

/// `map_from_entries(array of structs)`.
fn from_entries(call: &Call<'_>) -> Result<Vector> {
    of_entries(call, Again::Refused)
}

/// Like [`from_entries`], but a duplicate key keeps its first value.
pub(in crate::expr) fn from_first_entries(call: &Call<'_>) -> Result<Vector> {
    of_entries(call, Again::FirstCounts)
}

fn of_entries(call: &Call<'_>, again: Again) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let pairs = DecodedVector::new(&lists.elements)?;
    let places = Places::of_rows(call, &mut |row, places| {
        for pair in lists.span(0, row).map(|pair| pair as usize) {
            if pairs.is_null(pair) {
                return Err(Error::invalid_input("an entry of a map is null"));
            }
            places.push(pairs.index(pair) as u32);
        }
        Ok(())
    })?;
    let Vector::Row(row) = pairs.base().as_ref() else { return empty(call) };
    let data_handle = places.places.clone();
    Entries { keys: places, values: data_handle }.maps(call, row.child(0)?, row.child(1)?, again)
}

/// Concatenates maps.
fn concatenated(call: &Call<'_>) -> Result<Vector> {
    let (mut keys, mut values, mut maps, mut start) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for argument in call.args {
        let Vector::Map(map) = argument.base().as_ref() else {
            return Err(wrong_storage(argument.ty()));
        };
        keys.push(Arc::clone(map.keys()));
        values.push(Arc::clone(map.values()));
        maps.push((argument, map, start));
        start += map.keys().len();
    }
    // Columns may be longer than the ranges of their maps, but keys and values have the same
    // length.
    let places = Places::of_rows(call, &mut |row, places| {
        for (argument, map, start) in &maps {
            let span = map.span(argument.index(row));
            places.extend((start + span.start) as u32..(start + span.end) as u32);
        }
        Ok(())
    })?;
    let data_handle = places.places.clone();
    Entries { keys: places, values: data_handle }.maps(
        call,
        &concat(&keys)?,
        &concat(&values)?,
        Again::LastCounts,
    )
}

/// Returns the entries of a map as structs of key and value.
pub(in crate::expr) fn entries(call: &Call<'_>) -> Result<Vector> {
    let argument = &call.args[0];
    let (Vector::Map(map), Type::Array(element)) = (argument.base().as_ref(), call.ty) else {
        return Err(wrong_storage(argument.ty()));
    };
    let row_type = element.as_row().ok_or_else(|| wrong_storage(call.ty))?;
    let sides = vec![Arc::clone(map.keys()), Arc::clone(map.values())];
    let rows = RowVector::new(Arc::clone(row_type), map.keys().len(), None, sides)?;
    let (offsets, lengths) = (map.offsets().clone(), map.lengths().clone());
    let validity = map.validity().cloned();
    let array = ArrayVector::new(offsets, lengths, validity, Arc::new(Vector::Row(rows)))?;
    Ok(Arc::unwrap_or_clone(placed(Arc::new(Vector::Array(array)), argument)))
}
