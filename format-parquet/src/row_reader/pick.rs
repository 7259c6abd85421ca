//! Rows of vectors that were read with more rows than are wanted in the end.

use vector::sync::Arc;
use vector::{DictionaryVector, Result, RowSet, SelectivityVector, Vector, VectorRef};

/// Rows are picked by copying when fewer than one in so many passed, else by wrapping.
const MIN_ROWS_TO_WRAP: usize = 4;

/// The rows of `vector` that are wanted: copied when they are few, else wrapped.
pub(super) fn pick(vector: &VectorRef, rows: &RowSet) -> Result<VectorRef> {
    let positions = match rows {
        RowSet::Range(range) => return Vector::slice(vector, range.start, range.len()),
        RowSet::Positions(positions) => positions,
    };
    match vector.as_ref() {
        // Over the same base, so that whoever works on distinct values still can.
        Vector::Dictionary(dictionary) => {
            let indices = dictionary.indices();
            let picked =
                positions.iter().map(|row| indices.get(*row as usize).copied().unwrap_or(0));
            let validity = dictionary.validity().map(|validity| validity.gather(positions));
            let base = Arc::clone(dictionary.base());
            let picked = DictionaryVector::over_with_validity(base, picked.collect(), validity);
            Ok(Arc::new(Vector::Dictionary(picked)))
        }
        Vector::Flat(_) if positions.len() < vector.len() / MIN_ROWS_TO_WRAP => {
            vector::gather(vector, positions)
        }
        _ => Ok(Vector::wrap(vector, positions)),
    }
}

/// The places that the rows of `selected` have among those of `within`, which has them all.
pub(super) fn ranks(within: &SelectivityVector, selected: &SelectivityVector) -> RowSet {
    let mut positions = Vec::with_capacity(selected.count());
    let mut before = 0u32;
    for (within, selected) in within.words().iter().zip(selected.words()) {
        let mut left = *selected;
        while left != 0 {
            let lowest = left & left.wrapping_neg();
            let below = lowest.wrapping_sub(1);
            positions.push(before.saturating_add((within & below).count_ones()));
            left ^= lowest;
        }
        before = before.saturating_add(within.count_ones());
    }
    RowSet::from_positions(positions.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::testing::Random;

    #[test]
    fn ranks_are_places_among_the_rows_that_were_kept() {
        let mut random = Random::new(11);
        for _ in 0..500 {
            let len = 1 + random.below(200);
            let mut within = SelectivityVector::none(len);
            let mut selected = SelectivityVector::none(len);
            let mut expected = Vec::new();
            let kept: Vec<usize> = (0..len).filter(|_| random.below(3) > 0).collect();
            for (rank, row) in kept.into_iter().enumerate() {
                within.set(row, true);
                if random.below(2) > 0 {
                    selected.set(row, true);
                    expected.push(rank);
                }
            }
            assert!(ranks(&within, &selected).iter().eq(expected));
        }
    }
}
