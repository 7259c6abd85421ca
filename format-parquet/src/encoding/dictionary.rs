//! Dictionaries: the distinct values of a chunk, and pages of indices into them.
//!
//! ```text
//! dictionary page   PLAIN values, converted once into what vectors store
//! data page         width (1 byte) | hybrid of indices
//! ```
//!
//! A dictionary of fixed-width values is padded to a power of two, so that a masked index is
//! inside of it without a test; whether indices are really below the number of values is asked
//! once for a block, of their maximum.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use vector::{Buffer, BufferMut, Error, MemoryPool, Native, Result};

use super::bit_pack;
use super::plain::PlainValues;
use super::rle_hybrid::{RleHybrid, Run};

/// Indices that are unpacked, tested and looked up at a time.
const BLOCK: usize = 256;

/// The values of a dictionary page, as vectors store them.
#[derive(Debug)]
pub struct Dictionary<T: Native> {
    /// Padded with defaults to a power of two, at least one value.
    values: Buffer<T>,
    len: usize,
}

impl<T: Native> Dictionary<T> {
    /// Decodes the `len` values of a dictionary page.
    pub fn decode<P: PlainValues<Out = T>>(
        plain: &P,
        bytes: &[u8],
        len: usize,
        pool: &MemoryPool,
    ) -> Result<Self> {
        let mut values = BufferMut::new_in(pool);
        plain.read(bytes, len, &mut values)?;
        let padded = len.next_power_of_two();
        values.try_reserve(padded - len)?;
        values.resize(padded, T::default());
        Ok(Dictionary { values: values.freeze(), len })
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The indices of one data page.
#[derive(Debug)]
pub struct DictionaryIndices {
    runs: RleHybrid,
    /// The page holds a width and nothing else.
    is_bare: bool,
}

impl DictionaryIndices {
    /// Indices from a data page's value bytes. No bytes at all are an empty page.
    pub fn new(bytes: &Buffer<u8>) -> Result<Self> {
        let Some(width) = bytes.first() else {
            return Ok(DictionaryIndices {
                runs: RleHybrid::new(Buffer::empty(), 1)?,
                is_bare: false,
            });
        };
        let runs = RleHybrid::new(bytes.slice(1..bytes.len()), *width)?;
        // Some writers leave out the runs when there is only one value to point to.
        let is_bare = *width == 0 && runs.is_without_bytes();
        Ok(DictionaryIndices { runs, is_bare })
    }

    /// Decodes as many indices as `out` takes; each is below `dictionary_len`.
    pub fn read(&mut self, dictionary_len: usize, out: &mut [u32]) -> Result<()> {
        if self.is_bare {
            check(0, dictionary_len, out.len())?;
            out.fill(0);
            return Ok(());
        }
        let width = self.runs.width();
        let mut out = out;
        while !out.is_empty() {
            let (n, max) = match self.runs.next_run(out.len())? {
                Run::Repeat { value, n } => {
                    out[..n].fill(value);
                    (n, value)
                }
                Run::Packed { bytes, first, n } => {
                    bit_pack::unpack(bytes, first, width, &mut out[..n]);
                    (n, largest(&out[..n]))
                }
            };
            check(max, dictionary_len, n)?;
            out = &mut out[n..];
        }
        Ok(())
    }

    /// Decodes as many values as `out` takes.
    pub fn gather<T: Native>(&mut self, dictionary: &Dictionary<T>, out: &mut [T]) -> Result<()> {
        let values = dictionary.values.as_slice();
        let mask = values.len() - 1;
        if self.is_bare {
            check(0, dictionary.len, out.len())?;
            out.fill(values[0]);
            return Ok(());
        }
        let width = self.runs.width();
        let mut out = out;
        let mut block = [0u32; BLOCK];
        while !out.is_empty() {
            let n = match self.runs.next_run(out.len())? {
                Run::Repeat { value, n } => {
                    check(value, dictionary.len, n)?;
                    out[..n].fill(values[value as usize & mask]);
                    n
                }
                Run::Packed { bytes, first, n } => {
                    for (i, out) in out[..n].chunks_mut(BLOCK).enumerate() {
                        let indices = &mut block[..out.len()];
                        bit_pack::unpack(bytes, first + i * BLOCK, width, indices);
                        check(largest(indices), dictionary.len, out.len())?;
                        for (slot, index) in out.iter_mut().zip(indices) {
                            *slot = values[*index as usize & mask];
                        }
                    }
                    n
                }
            };
            out = &mut out[n..];
        }
        Ok(())
    }

    /// Passes over `n` indices.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        if self.is_bare { Ok(()) } else { self.runs.skip(n) }
    }
}

fn largest(indices: &[u32]) -> u32 {
    indices.iter().fold(0, |max, index| max.max(*index))
}

#[inline]
fn check(index: u32, len: usize, num_indices: usize) -> Result<()> {
    if (index as usize) < len || num_indices == 0 {
        return Ok(());
    }
    Err(Error::corrupt("a dictionary index is outside of the dictionary")
        .with("index", index)
        .with("dictionary_values", len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::plain::{Fixed, Int32};

    fn dictionary(values: &[i32]) -> Dictionary<i32> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let pool = MemoryPool::unlimited();
        Dictionary::decode(&Fixed::<4, Int32>::new(), &bytes, values.len(), &pool).unwrap()
    }

    fn indices(width: u8, values: &[u32]) -> Buffer<u8> {
        let groups = values.len().div_ceil(8);
        let mut padded = values.to_vec();
        padded.resize(groups * 8, 0);
        let mut bytes = vec![width];
        assert!(groups < 64);
        bytes.push((groups << 1 | 1) as u8);
        bytes.extend(bit_pack::pack(&padded, width));
        Buffer::from_slice(&bytes)
    }

    #[test]
    fn values_are_looked_up_in_packed_and_repeat_runs() {
        let dictionary = dictionary(&[10, 20, 30, 40, 50]);
        let picked: Vec<u32> = (0..300).map(|i| i % 5).collect();
        let mut page = DictionaryIndices::new(&indices(3, &picked)).unwrap();
        let mut out = vec![0; 300];
        page.gather(&dictionary, &mut out[..77]).unwrap();
        page.skip(100).unwrap();
        page.gather(&dictionary, &mut out[177..]).unwrap();
        for i in (0..77).chain(177..300) {
            assert_eq!(out[i], (i as i32 % 5 + 1) * 10);
        }
        let mut repeat = DictionaryIndices::new(&Buffer::from_slice(&[3, 0x14, 4])).unwrap();
        let mut out = [0; 10];
        repeat.gather(&dictionary, &mut out).unwrap();
        assert_eq!(out, [50; 10]);
    }

    #[test]
    fn an_index_outside_of_the_dictionary_is_corrupt_in_every_kind_of_run() {
        let dictionary = dictionary(&[1, 2, 3, 4, 5]);
        for bytes in [indices(3, &[0, 1, 5]), Buffer::from_slice(&[3, 0x14, 5])] {
            let error = DictionaryIndices::new(&bytes)
                .unwrap()
                .gather(&dictionary, &mut [0; 3])
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                "corrupt: a dictionary index is outside of the dictionary \
                 (index=5 dictionary_values=5)"
            );
            let mut page = DictionaryIndices::new(&bytes).unwrap();
            assert!(page.read(5, &mut [0; 3]).is_err());
        }
        let mut empty = DictionaryIndices::new(&Buffer::from_slice(&[0, 0x14])).unwrap();
        assert!(empty.gather(&self::dictionary(&[]), &mut [0; 3]).is_err());
    }

    #[test]
    fn width_zero_means_the_first_value_with_or_without_runs() {
        let dictionary = dictionary(&[7]);
        for bytes in [&[0u8, 0x14][..], &[0]] {
            let mut page = DictionaryIndices::new(&Buffer::from_slice(bytes)).unwrap();
            let mut out = [0; 10];
            page.gather(&dictionary, &mut out).unwrap();
            assert_eq!(out, [7; 10]);
        }
        let mut none = DictionaryIndices::new(&Buffer::empty()).unwrap();
        none.gather(&dictionary, &mut []).unwrap();
        assert!(none.gather(&dictionary, &mut [0]).is_err());
    }
}
