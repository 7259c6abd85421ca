//! Selection of rows from vectors that were read with more rows than are needed in the end.
//!
//! ```text
//! window     0 1 2 3 4 5 6 7
//! read       . x . x x . x x      the vector's rows 0 1 2 3 4
//! wanted     . . . x x . . x      bits over the vector's rows: 0 1 1 0 1
//! ```
//!
//! The selection is kept as bits: indices and validities are compressed with them, word by word,
//! and positions are computed only for vectors that are wrapped.

use vector::sync::Arc;
use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, DictionaryVector, FlatType, FlatValues, FlatVector,
    Native, Result, RowSet, SelectivityVector, Vector, VectorRef, bits, match_flat, select,
};

/// Minimum ratio of rows to selected rows for which rows are copied; below it the vector is
/// wrapped.
const MIN_ROWS_TO_WRAP: usize = 4;

/// A selection of the rows of a vector.
pub(super) struct Wanted {
    words: Vec<u64>,
    count: usize,
}

impl Wanted {
    /// Selects the selected rows of the window, for a vector that has all rows of the window.
    pub(super) fn of_window(selected: &SelectivityVector) -> Self {
        Wanted { words: selected.words().to_vec(), count: selected.count() }
    }

    /// Selects the ranks of the selected rows among the rows of `within`, which contains them all.
    pub(super) fn ranks(within: &SelectivityVector, selected: &SelectivityVector) -> Self {
        let mut words = Vec::new();
        bits::compress(selected.words(), within.words(), &mut words);
        Wanted { words, count: selected.count() }
    }

    /// Returns the selected rows of `vector`: copied when that is cheap or they are few, otherwise
    /// wrapped.
    pub(super) fn pick(&self, vector: &VectorRef) -> Result<VectorRef> {
        if self.count == vector.len() {
            return Ok(Arc::clone(vector));
        }
        match vector.as_ref() {
            // Over the same base, so that operators on distinct values can still use it.
            Vector::Dictionary(dictionary) => {
                let indices = self.data_handle(dictionary.indices());
                let validity = dictionary.validity().map(|validity| self.of_bits(validity));
                let base = Arc::clone(dictionary.base());
                let picked = DictionaryVector::over_with_validity(base, indices, validity);
                Ok(Arc::new(Vector::Dictionary(picked)))
            }
            Vector::Flat(flat) => match self.of_flat(flat)? {
                Some(picked) => Ok(Arc::new(Vector::Flat(picked))),
                None => self.by_position(vector),
            },
            _ => self.by_position(vector),
        }
    }

    fn by_position(&self, vector: &VectorRef) -> Result<VectorRef> {
        match RowSet::from_bits(&self.words, vector.len()) {
            RowSet::Range(range) => Vector::slice(vector, range.start, range.len()),
            RowSet::Positions(positions)
                if matches!(vector.as_ref(), Vector::Flat(_))
                    && positions.len() < vector.len() / MIN_ROWS_TO_WRAP =>
            {
                vector::gather(vector, &positions)
            }
            RowSet::Positions(positions) => Ok(Vector::wrap(vector, &positions)),
        }
    }

    /// Returns a copy of the selected rows, if values of this type are moved several at a time.
    fn of_flat(&self, flat: &FlatVector) -> Result<Option<FlatVector>> {
        let values = match_flat!(
            flat.values(),
            fixed(values) => match fast(values) {
                true => FlatType::wrap(self.data_handle(values)),
                false => return Ok(None),
            },
            boolean(values) => FlatValues::Boolean(self.of_bits(values)),
            string(_strings) => return Ok(None)
        );
        let validity = flat.validity().map(|validity| self.of_bits(validity));
        FlatVector::new(flat.ty().clone(), values, validity).map(Some)
    }

    fn data_handle<T: Native>(&self, values: &[T]) -> Buffer<T> {
        let mut picked = BufferMut::new();
        picked.resize_unspecified(self.count);
        select::compress(values, &self.words, picked.as_mut_slice());
        picked.freeze()
    }

    fn of_bits(&self, bitmap: &Bitmap) -> Bitmap {
        let (mut words, mut picked) = (Vec::new(), BitmapMut::new());
        bits::compress(bitmap.words(), &self.words, &mut words);
        picked.extend_from_words(&words, 0, self.count);
        picked.freeze()
    }
}

/// Returns true when values of this type are compressed several at a time.
fn fast<T: Native>(_: &Buffer<T>) -> bool {
    select::compresses_fast::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::Type;
    use vector::testing::{Random, RandomVectors, values_of};

    fn random_rows(random: &mut Random, len: usize) -> SelectivityVector {
        let (mut rows, keep) = (SelectivityVector::none(len), random.below(10));
        (0..len).filter(|_| random.below(9) < keep).for_each(|row| rows.set(row, true));
        rows
    }

    #[test]
    fn ranks_are_places_among_the_rows_that_were_kept() {
        let mut random = Random::new(11);
        for _ in 0..500 {
            let len = 1 + random.below(200);
            let within = random_rows(&mut random, len);
            let mut selected = random_rows(&mut random, len);
            selected.intersect_words(within.words());
            let ranks = Wanted::ranks(&within, &selected);
            let kept: Vec<usize> = within.iter().collect();
            let places = (0..kept.len()).filter(|rank| selected.contains(kept[*rank]));
            assert!(bits::ones(&ranks.words, kept.len()).eq(places));
            assert_eq!(ranks.count, selected.count());
        }
    }

    #[test]
    fn picked_rows_are_those_of_the_vector_whatever_its_encoding() {
        let mut vectors = RandomVectors::new(13);
        let types = [
            Type::Boolean,
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::Double,
            Type::Varchar,
            Type::HugeInt,
            Type::Timestamp,
            Type::array(Type::BigInt),
        ];
        for (round, ty) in (0..40).flat_map(|round| types.iter().map(move |ty| (round, ty))) {
            let len = 1 + round * 7;
            let vector = vectors.vector(ty, len);
            let selected = random_rows(vectors.random(), len);
            let picked = Wanted::of_window(&selected).pick(&vector).unwrap();
            let all = values_of(&vector);
            let expected: Vec<_> = selected.iter().map(|row| all[row].clone()).collect();
            assert_eq!(values_of(&picked), expected, "{ty} {len}");
        }
    }
}
