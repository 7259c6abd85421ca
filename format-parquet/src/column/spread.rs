//! Expansion of non-null values to their rows: slots for null rows are inserted.
//!
//! Decoders do not handle nulls; they append value after value. Once a window is complete, its
//! validity determines the row of each value, and values are moved in place, from the last to the
//! first, so that none is overwritten before it has moved. The content of the slots of null rows is
//! unspecified.
#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "kernels; places follow from counted bits")
)]

use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, Error, MemoryPool, Native, Result, bits, select,
};

/// The memory of the last window, reused for the next one if its vector has been dropped by then:
/// most consumers drop a batch before they request another.
pub(crate) struct LastWindow<T: Native>(Option<Buffer<T>>);

impl<T: Native> LastWindow<T> {
    /// Creates an empty holder.
    pub(crate) fn new() -> Self {
        LastWindow(None)
    }

    /// Freezes a window, keeps a reference to its memory and returns its buffer.
    pub(crate) fn hand_out(&mut self, window: BufferMut<T>) -> Buffer<T> {
        let window = window.freeze();
        self.remember(&window);
        window
    }

    /// Keeps a reference to memory that is in use.
    pub(crate) fn remember(&mut self, memory: &Buffer<T>) {
        self.0 = Some(memory.clone());
    }

    /// Returns empty memory for the next window.
    pub(crate) fn take(&mut self, pool: &MemoryPool) -> BufferMut<T> {
        match self.0.take().map(Buffer::into_mut) {
            Some(Ok(mut memory)) => {
                memory.clear();
                memory
            }
            _ => BufferMut::new_in(pool),
        }
    }
}

/// Moves `values`, one for each set bit of `validity`, to the rows of the set bits.
pub(crate) fn spread<T: Native>(values: &mut BufferMut<T>, validity: &Bitmap) -> Result<()> {
    check(values.len(), validity)?;
    let num_slots = validity.len();
    values.try_reserve(num_slots - values.len())?;
    values.resize_unspecified(num_slots);
    select::expand(values.as_mut_slice(), validity.words());
    Ok(())
}

/// Overwrites the slots of null rows with the default value, for types of which stale values must
/// not be read.
pub(crate) fn clear_nulls<T: Native>(values: &mut BufferMut<T>, validity: &Bitmap) {
    let words = validity.words().iter().take(bits::words_for(validity.len()));
    for (slots, word) in values.as_mut_slice().chunks_mut(64).zip(words) {
        let mut nulls = !word & bits::low_mask(slots.len());
        while nulls != 0 {
            slots[nulls.trailing_zeros() as usize] = T::default();
            nulls &= nulls - 1;
        }
    }
}

/// Does the same as [`spread`] for bits; null rows get zeros.
pub(crate) fn spread_bits(values: &Bitmap, validity: &Bitmap) -> Result<Bitmap> {
    check(values.len(), validity)?;
    let words = validity.words().get(..bits::words_for(validity.len())).unwrap_or(&[]);
    let mut spread = Vec::new();
    bits::expand(values.words(), words, &mut spread);
    let mut out = BitmapMut::new();
    out.extend_from_words(&spread, 0, validity.len());
    Ok(out.freeze())
}

fn check(num_values: usize, validity: &Bitmap) -> Result<()> {
    if num_values == validity.count_ones() {
        return Ok(());
    }
    Err(Error::internal("values and validity of a window differ")
        .with("values", num_values)
        .with("valid", validity.count_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_bits_move_to_the_rows_of_the_ones() {
        for n in [0usize, 1, 63, 64, 65, 200, 1000] {
            for step in [1, 2, 3, 64, 65, 1000] {
                for shift in [0, 1, 130] {
                    let validity: Bitmap = (0..n)
                        .map(|i| i < shift || i % step == 0 || (64..128).contains(&i))
                        .collect();
                    let ones: Vec<usize> = validity.ones().collect();
                    let mut values: BufferMut<u32> = BufferMut::new();
                    values.extend(ones.iter().map(|i| *i as u32));
                    spread(&mut values, &validity).unwrap();
                    assert_eq!(values.len(), n);
                    assert!(ones.iter().all(|i| values[*i] == *i as u32), "{n} {step}");
                    clear_nulls(&mut values, &validity);
                    assert!(
                        (0..n).all(|i| values[i] == if validity.get(i) { i as u32 } else { 0 })
                    );
                    let bits: Bitmap = ones.iter().map(|i| i % 5 < 2).collect();
                    let bits = spread_bits(&bits, &validity).unwrap();
                    assert!(ones.iter().all(|i| bits.get(*i) == (i % 5 < 2)));
                }
            }
        }
    }

    #[test]
    fn a_validity_of_another_number_of_values_is_refused() {
        let mut values: BufferMut<u32> = BufferMut::new();
        values.push(1);
        assert!(spread(&mut values, &Bitmap::filled(3, true)).is_err());
    }
}
