//! Arrays as sets: distinct elements, union, intersection, difference, duplicates.
//!
//! The elements of each row are sorted, so that equal elements form a run, represented by its first
//! member. Selected runs are returned in the order of the elements. Nulls are equal to each other
//! here, and so are NaNs, and -0 and 0.

use vector::sync::Arc;
use vector::{
    BufferMut, DecodedVector, FlatVector, MapVector, Result, RowComparator, SortOrder, Type,
    Vector, VectorRef,
};

use super::lists::{Lists, Places, pick};
use crate::expr::by_row::tests;
use crate::expr::kernel::Call;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("array_distinct", &["(ARRAY(T)) -> ARRAY(T)"], distinct),
    Function::rows("array_duplicates", &["(ARRAY(T)) -> ARRAY(T)"], duplicates),
    Function::rows("array_union", &["(ARRAY(T), ARRAY(T)) -> ARRAY(T)"], union),
    Function::rows("array_intersect", &["(ARRAY(T), ARRAY(T)) -> ARRAY(T)"], intersect),
    Function::rows("array_except", &["(ARRAY(T), ARRAY(T)) -> ARRAY(T)"], except),
    Function::rows("arrays_overlap", &["(ARRAY(T), ARRAY(T)) -> BOOLEAN"], overlap),
    Function::rows("array_has_duplicates", &["(ARRAY(T)) -> BOOLEAN"], has_duplicates),
    Function::rows("array_frequency", &["(ARRAY(T)) -> MAP(T, INTEGER)"], frequency),
];

/// Elements of the first arguments, sorted within each row.
struct Sets<'a> {
    lists: Lists<'a>,
    sorted: Places,
    same: RowComparator,
}

impl<'a> Sets<'a> {
    fn new(call: &Call<'a>, num_args: usize) -> Result<Self> {
        let lists = Lists::new(call, num_args)?;
        let mut sorted = Places::of_rows(call, &mut |row, places| {
            places.extend(lists.all(row));
            Ok(())
        })?;
        sorted.sort(&lists.elements, SortOrder::default())?;
        let same = lists.comparator()?;
        Ok(Sets { lists, sorted, same })
    }

    /// Returns the runs of equal elements of a row.
    fn runs(&self, row: usize) -> impl Iterator<Item = &[u32]> {
        let places = &self.sorted.places[self.sorted.range(row)];
        places.chunk_by(|a, b| self.same.compare(0, *a as usize, *b as usize).is_eq())
    }

    /// Returns the position of the first element of the second argument.
    fn second(&self, row: usize) -> u32 {
        self.lists.span(1, row).start
    }
}

/// Predicate on the numbers of members of a run from the first and from the second argument.
type Chosen = fn(usize, usize) -> bool;

/// Returns an array of one element of each selected run.
fn chosen(call: &Call<'_>, num_args: usize, chosen: Chosen) -> Result<Vector> {
    let sets = Sets::new(call, num_args)?;
    pick(call, &sets.lists.elements, &mut |row, places| {
        let second = if num_args > 1 { sets.second(row) } else { u32::MAX };
        let (start, is_first) = (places.len(), |place: &&u32| **place < second);
        for run in sets.runs(row) {
            // Members from the first argument come first.
            let of_first = run.iter().take_while(is_first).count();
            if chosen(of_first, run.len() - of_first) {
                places.push(run[0]);
            }
        }
        places[start..].sort_unstable();
        Ok(())
    })
}

pub(in crate::expr) fn distinct(call: &Call<'_>) -> Result<Vector> {
    chosen(call, 1, |_, _| true)
}

fn union(call: &Call<'_>) -> Result<Vector> {
    chosen(call, 2, |_, _| true)
}

fn intersect(call: &Call<'_>) -> Result<Vector> {
    chosen(call, 2, |first, second| first > 0 && second > 0)
}

fn except(call: &Call<'_>) -> Result<Vector> {
    chosen(call, 2, |_, second| second == 0)
}

/// Returns the elements that occur more than once.
fn duplicates(call: &Call<'_>) -> Result<Vector> {
    chosen(call, 1, |count, _| count > 1)
}

fn has_duplicates(call: &Call<'_>) -> Result<Vector> {
    let sets = Sets::new(call, 1)?;
    tests(call, &mut |row| Ok(Some(sets.runs(row).any(|run| run.len() > 1))))
}

/// Returns whether both arrays share an element; null when that depends on a null.
fn overlap(call: &Call<'_>) -> Result<Vector> {
    let sets = Sets::new(call, 2)?;
    let elements = DecodedVector::new(&sets.lists.elements)?;
    tests(call, &mut |row| {
        let second = sets.second(row);
        let (mut both, mut has_null) = (false, false);
        for run in sets.runs(row) {
            let is_null = elements.is_null(run[0] as usize);
            has_null |= is_null;
            both |= !is_null && run[0] < second && run.last().is_some_and(|last| *last >= second);
        }
        let one_is_empty = (0..2).any(|argument| sets.lists.span(argument, row).is_empty());
        Ok(if both || one_is_empty || !has_null { Some(both) } else { None })
    })
}

/// Returns a map from each element to its number of occurrences, without nulls.
fn frequency(call: &Call<'_>) -> Result<Vector> {
    let sets = Sets::new(call, 1)?;
    let elements = DecodedVector::new(&sets.lists.elements)?;
    let mut counts: BufferMut<i32> = BufferMut::new();
    let keys = Places::of_rows(call, &mut |row, places| {
        for run in sets.runs(row).filter(|run| !elements.is_null(run[0] as usize)) {
            places.push(run[0]);
            counts.push(run.len() as i32);
        }
        Ok(())
    })?;
    let counts = FlatVector::from_buffer(Type::Integer, counts.freeze(), None)?;
    let counts: VectorRef = Arc::new(Vector::Flat(counts));
    let places = vector::Buffer::from_slice(&keys.places);
    let keys_of = Vector::wrap(&sets.lists.elements, &places);
    let (offsets, lengths) = (keys.offsets.freeze(), keys.lengths.freeze());
    MapVector::new(offsets, lengths, call.validity.clone(), keys_of, counts).map(Vector::Map)
}
