//! The elements of the selected rows of arrays or maps, and the lists built from their results.
//!
//! Most lists of a batch are adjacent, so that their elements form one range. Nothing is copied
//! then, and no element is accessed before the lambda is evaluated.

use std::ops::Range;

use vector::{
    Bitmap, Buffer, BufferMut, DecodedVector, Error, Mapping, Result, SelectivityVector, Vector,
    VectorRef, bits,
};

use crate::expr::kernel::wrong_storage;
use crate::expr::select_true;

/// Maximum number of elements of one batch.
const MAX_ELEMENTS: usize = 1 << 28;

/// An argument of arrays or maps.
pub(super) struct Lists {
    decoded: DecodedVector,
}

impl Lists {
    pub(super) fn new(argument: &VectorRef) -> Result<Self> {
        Ok(Lists { decoded: DecodedVector::new(argument)? })
    }

    /// Returns the elements of all arrays; `None` when every row is null and there are no arrays.
    pub(super) fn array(&self) -> Result<Option<&VectorRef>> {
        match self.decoded.base().as_ref() {
            _ if self.decoded.all_null() => Ok(None),
            Vector::Array(array) => Ok(Some(array.elements())),
            other => Err(wrong_storage(other.ty())),
        }
    }

    /// Returns the keys and the values of all maps; `None` when every row is null and there are no
    /// maps.
    pub(super) fn map(&self) -> Result<Option<(&VectorRef, &VectorRef)>> {
        match self.decoded.base().as_ref() {
            _ if self.decoded.all_null() => Ok(None),
            Vector::Map(map) => Ok(Some((map.keys(), map.values()))),
            other => Err(wrong_storage(other.ty())),
        }
    }

    /// Returns the range of the elements of a row; `None` when the row is null.
    pub(super) fn span(&self, row: usize) -> Option<Range<usize>> {
        if self.decoded.is_null(row) {
            return None;
        }
        match self.decoded.base().as_ref() {
            Vector::Array(array) => Some(array.span(self.decoded.index(row))),
            Vector::Map(map) => Some(map.span(self.decoded.index(row))),
            _ => None,
        }
    }

    /// Returns the elements of the selected rows.
    pub(super) fn elements(&self, rows: &SelectivityVector) -> Result<Elements> {
        let (offsets, lengths) = match self.decoded.base().as_ref() {
            Vector::Array(array) => (array.offsets(), array.lengths()),
            Vector::Map(map) => (map.offsets(), map.lengths()),
            other => return Err(wrong_storage(other.ty())),
        };
        let mut lists = rows.clone();
        lists.deselect_nulls(self.decoded.validity());
        if matches!(self.decoded.mapping(), Mapping::Identity)
            && let Some(elements) = as_they_stand(offsets, lengths, &lists)?
        {
            return Ok(elements);
        }
        let starts = self.of_rows(offsets, &lists);
        let shape = Shape::new(self.of_rows(lengths, &lists), validity_of(&lists))?;
        let places = Places::new(&starts, &shape);
        Ok(Elements { places, shape })
    }

    /// Returns the value of a buffer for each row; 0 for rows that are not lists.
    fn of_rows(&self, of_base: &Buffer<u32>, lists: &SelectivityVector) -> BufferMut<u32> {
        let num_rows = lists.len();
        let mut of_rows = BufferMut::with_capacity(num_rows);
        match self.decoded.mapping() {
            Mapping::Identity => of_rows.extend_from_slice(&of_base[..num_rows]),
            Mapping::Constant => of_rows.resize(num_rows, of_base[0]),
            Mapping::Indices(indices) => {
                of_rows.extend(indices.iter().map(|index| of_base[*index as usize]));
            }
        }
        for (word, rows) in lists.words().iter().zip(of_rows.as_mut_slice().chunks_mut(64)) {
            let mut others = !word & bits::low_mask(rows.len());
            while others != 0 {
                rows[others.trailing_zeros() as usize] = 0;
                others &= others - 1;
            }
        }
        of_rows
    }
}

/// Returns the elements of lists that are adjacent, as usual after a read; they share the shape of
/// the argument. Returns `None` when the lists are not adjacent, or when unselected rows have
/// elements.
fn as_they_stand(
    offsets: &Buffer<u32>,
    lengths: &Buffer<u32>,
    lists: &SelectivityVector,
) -> Result<Option<Elements>> {
    let num_rows = lists.len();
    let (offsets, lengths) = (offsets.slice(0..num_rows), lengths.slice(0..num_rows));
    let (Some(first), Some(last)) = (offsets.first().copied(), offsets.last()) else {
        return Ok(None);
    };
    let ends = offsets.iter().zip(lengths.iter()).map(|(start, len)| start.wrapping_add(*len));
    let follow = ends.zip(&offsets[1..]).fold(true, |all, (end, next)| all & (end == *next));
    let mut others = SelectivityVector::all(num_rows);
    others.subtract(&lists.to_bitmap());
    if !follow || others.iter().any(|row| lengths[row] > 0) {
        return Ok(None);
    }
    let num_elements = (last - first) as usize + lengths[num_rows - 1] as usize;
    check_number(num_elements as u64)?;
    let offsets = match first {
        0 => offsets,
        _ => offsets.iter().map(|offset| offset - first).collect(),
    };
    let shape = Shape { offsets, lengths, validity: validity_of(lists), num_elements };
    let first = first as usize;
    Ok(Some(Elements { places: Places::Run(first..first + num_elements), shape }))
}

fn check_number(num_elements: u64) -> Result<()> {
    if num_elements <= MAX_ELEMENTS as u64 {
        return Ok(());
    }
    Err(Error::limit("the lists of a batch have too many elements").with("max", MAX_ELEMENTS))
}

fn validity_of(lists: &SelectivityVector) -> Option<Bitmap> {
    (!lists.is_all()).then(|| lists.to_bitmap())
}

/// A sequence of elements, and their assignment to rows.
pub(super) struct Elements {
    places: Places,
    pub(super) shape: Shape,
}

/// Position of each element among all elements of the argument.
#[derive(Clone)]
enum Places {
    Run(Range<usize>),
    Each(Buffer<u32>),
}

/// Number of elements per row, in row order; 0 where a row is null.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) offsets: Buffer<u32>,
    pub(super) lengths: Buffer<u32>,
    pub(super) validity: Option<Bitmap>,
    num_elements: usize,
}

impl Shape {
    /// Creates the shape of lists of these lengths; null lists have length 0.
    pub(super) fn new(lengths: BufferMut<u32>, validity: Option<Bitmap>) -> Result<Self> {
        let num_elements: u64 = lengths.iter().map(|len| u64::from(*len)).sum();
        check_number(num_elements)?;
        let mut end = 0;
        let offsets = lengths.iter().map(|len| {
            let start = end;
            end += len;
            start
        });
        Ok(Shape {
            offsets: offsets.collect(),
            lengths: lengths.freeze(),
            validity,
            num_elements: num_elements as usize,
        })
    }

    /// Returns true when a row is not null.
    pub(super) fn is_list(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.get(row))
    }

    /// Returns the number of set bits of a row in `words`, which have a bit per element.
    #[inline]
    fn ones(&self, row: usize, words: &[u64]) -> u32 {
        match self.word(row, words) {
            Ok(word) => word.count_ones(),
            Err(elements) => bits::count_ones_in(words, elements) as u32,
        }
    }

    /// Returns true when a bit of a row is set in `words`, which have a bit per element.
    #[inline]
    pub(super) fn any(&self, row: usize, words: &[u64]) -> bool {
        match self.word(row, words) {
            Ok(word) => word != 0,
            Err(elements) => bits::count_ones_in(words, elements) > 0,
        }
    }

    /// Returns the bits of a row's elements if they fit into one word, otherwise their range.
    #[inline]
    fn word(&self, row: usize, words: &[u64]) -> std::result::Result<u64, Range<usize>> {
        let (start, len) = (self.offsets[row] as usize, self.lengths[row] as usize);
        match len {
            0..=64 => Ok(bits::word_at(words, start) & bits::low_mask(len)),
            _ => Err(start..start + len),
        }
    }

    /// Returns the row of each element.
    pub(super) fn rows(&self) -> Buffer<u32> {
        let mut rows = BufferMut::new();
        rows.resize_unspecified(self.num_elements);
        let mut rest = rows.as_mut_slice();
        for (row, len) in self.lengths.iter().enumerate() {
            let (of_row, behind) = rest.split_at_mut(*len as usize);
            of_row.fill(row as u32);
            rest = behind;
        }
        rows.freeze()
    }
}

impl Places {
    /// Returns the positions of lists that start at `starts`.
    fn new(starts: &[u32], shape: &Shape) -> Self {
        let lists = || starts.iter().zip(shape.lengths.iter()).filter(|(_, len)| **len > 0);
        let first = lists().next().map_or(0, |(start, _)| *start);
        let mut next = first;
        let is_run = lists().all(|(start, len)| {
            let follows = *start == next;
            next = start.wrapping_add(*len);
            follows
        });
        if is_run {
            return Places::Run(first as usize..first as usize + shape.num_elements);
        }
        let mut places = BufferMut::new();
        places.resize_unspecified(shape.num_elements);
        let mut rest = places.as_mut_slice();
        for (start, len) in lists() {
            let (of_row, behind) = rest.split_at_mut(*len as usize);
            of_row.iter_mut().zip(*start..).for_each(|(place, at)| *place = at);
            rest = behind;
        }
        Places::Each(places.freeze())
    }
}

impl Elements {
    /// Returns the elements themselves, given `base`, which holds all elements of the argument.
    pub(super) fn of(&self, base: &VectorRef) -> Result<VectorRef> {
        match &self.places {
            Places::Run(run) if *run == (0..base.len()) => Ok(VectorRef::clone(base)),
            Places::Run(run) => Vector::slice(base, run.start, run.len()),
            Places::Each(places) => Ok(Vector::wrap(base, places)),
        }
    }

    /// Returns the elements for which `test` is true, with their rows.
    pub(super) fn kept(&self, test: &VectorRef) -> Result<Elements> {
        let keeps = select_true(test, &SelectivityVector::all(self.shape.num_elements))?;
        if keeps.is_all() {
            return Ok(Elements { places: self.places.clone(), shape: self.shape.clone() });
        }
        let words = keeps.words();
        let mut lengths = BufferMut::with_capacity(self.shape.lengths.len());
        lengths.extend((0..self.shape.lengths.len()).map(|row| self.shape.ones(row, words)));
        let mut places = BufferMut::new();
        bits::ones_into(words, keeps.len(), &mut places);
        let places = places.freeze();
        let places = match &self.places {
            Places::Run(run) if run.start == 0 => places,
            Places::Run(run) => places.iter().map(|place| place + run.start as u32).collect(),
            Places::Each(all) => places.iter().map(|place| all[*place as usize]).collect(),
        };
        Ok(Elements {
            places: Places::Each(places),
            shape: Shape::new(lengths, self.shape.validity.clone())?,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::testing::{Random, values_of};
    use vector::{ArrayVector, FlatVector, Type, Value};

    fn flags(bits: &[bool]) -> VectorRef {
        let values = bits.iter().copied().collect();
        VectorRef::new(Vector::Flat(FlatVector::boolean(values, None).unwrap()))
    }

    /// Returns lists as values: the elements of `of`, with their rows.
    fn lists(elements: &Elements, of: &VectorRef) -> Vec<Value> {
        let Shape { offsets, lengths, validity, .. } = elements.shape.clone();
        let array = ArrayVector::new(offsets, lengths, validity, elements.of(of).unwrap());
        values_of(&VectorRef::new(Vector::Array(array.unwrap())))
    }

    #[test]
    fn elements_are_those_of_the_selected_rows_however_lists_lie() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let num_lists = random.below(200) + 1;
            let longest = *random.pick(&[1, 5, 90]);
            let values: Vec<Value> = (0..num_lists)
                .map(|_| match random.chance(0.1) {
                    true => Value::Null,
                    false => Value::Array(
                        (0..random.below(longest)).map(|v| Value::BigInt(v as i64)).collect(),
                    ),
                })
                .collect();
            let mut argument = vector_of(&Type::array(Type::BigInt), &values).unwrap();
            if random.chance(0.5) {
                let places = (0..150).map(|_| random.below(num_lists) as u32).collect();
                argument = Vector::wrap(&argument, &places);
            }
            let share = *random.pick(&[0.0, 0.5, 1.0]);
            let mut rows = SelectivityVector::all(argument.len());
            (0..rows.len()).for_each(|row| rows.set(row, random.chance(share)));
            let of_rows = values_of(&argument);
            let expected = of_rows.iter().enumerate();
            let expected: Vec<Value> = expected
                .map(|(row, list)| if rows.contains(row) { list.clone() } else { Value::Null })
                .collect();

            let lists_of = Lists::new(&argument).unwrap();
            let Some(base) = lists_of.array().unwrap() else { continue };
            let elements = lists_of.elements(&rows).unwrap();
            assert_eq!(lists(&elements, base), expected);

            let mut keeps = Vec::new();
            let kept: Vec<Value> = expected
                .iter()
                .map(|list| match list {
                    Value::Array(list) => {
                        let kept = list.iter().filter(|_| {
                            keeps.push(random.chance(0.4));
                            keeps.last() == Some(&true)
                        });
                        Value::Array(kept.cloned().collect())
                    }
                    other => other.clone(),
                })
                .collect();
            assert_eq!(lists(&elements.kept(&flags(&keeps)).unwrap(), base), kept);
            let mut of_elements = elements.shape.rows().to_vec();
            of_elements.dedup();
            let with_elements = (0..rows.len() as u32).filter(
                |row| matches!(&expected[*row as usize], Value::Array(list) if !list.is_empty()),
            );
            assert!(of_elements.into_iter().eq(with_elements));
        }
    }
}
