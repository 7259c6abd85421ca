//! Decoding of values of a few bits into one byte each: levels of nested columns.
//!
//! ```text
//! width 2   0c 02   05 e4 1b c6 39   06 00      repeat 6, packed 16, repeat 3
//! ```
//!
//! As in `bits`, runs are often hardly longer than their header. Short runs are written in whole
//! words without calls between them, and the surplus is overwritten by the next run; all other runs
//! are handled by [`RleHybrid::next_run`].

use vector::{Result, bits};

use super::RleHybrid;

/// Number of bytes behind the header that are loaded for one run: a word.
const WORD_BYTES: usize = 8;

/// Number of slots that a short run may write to.
const ROOM: usize = 64;

impl RleHybrid {
    /// Decodes values of at most 8 bits until `out` is full.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has fewer values or a value does not fit.
    pub fn read_bytes(&mut self, out: &mut [u8]) -> Result<()> {
        let mut out = out;
        while !out.is_empty() {
            if self.run.is_over() {
                let n = self.short_runs_of_bytes(out);
                out = out.split_at_mut(n).1;
            }
            let n = self.read_run(out)?;
            out = out.split_at_mut(n).1;
        }
        Ok(())
    }

    /// Decodes whole short runs, as long as such runs follow and `out` has enough slots; returns
    /// their number of values.
    fn short_runs_of_bytes(&mut self, out: &mut [u8]) -> usize {
        let width = usize::from(self.width);
        let (value_bytes, max_groups) = match width {
            1..=8 => (1, WORD_BYTES / width),
            _ => return 0,
        };
        let bytes = self.bytes.as_slice();
        let mut rest = bytes.get(self.at..).unwrap_or(&[]);
        let mut filled = 0;
        while let Some((header, behind)) = rest.split_first()
            && let Some(word) = behind.first_chunk::<WORD_BYTES>()
            && let Some(slots) = out.get_mut(filled..).and_then(|out| out.first_chunk_mut::<ROOM>())
        {
            let count = usize::from(header >> 1);
            let word = u64::from_le_bytes(*word);
            let num_bytes = if header & 1 == 0 {
                let [value, ..] = word.to_le_bytes();
                if count >= ROOM || u64::from(value) >> width != 0 {
                    break;
                }
                *slots = [value; ROOM];
                filled += count;
                value_bytes
            } else {
                if count > max_groups {
                    break;
                }
                let groups = slots.as_chunks_mut::<8>().0.iter_mut().take(count);
                for (group, slots) in groups.enumerate() {
                    *slots = spread(word >> (group * width * 8), width).to_le_bytes();
                }
                filled += count * 8;
                count * width
            };
            rest = behind.get(num_bytes..).unwrap_or(&[]);
        }
        self.at = bytes.len() - rest.len();
        filled
    }
}

/// Expands the eight lowest values of `width` bits, at most 8, to a byte each.
#[inline]
fn spread(packed: u64, width: usize) -> u64 {
    // The values are split into halves of the word, then into quarters, then one by one.
    let four = bits::low_mask(4 * width);
    let word = packed & four | (packed >> (4 * width) & four) << 32;
    let two = bits::low_mask(2 * width) * 0x0000_0001_0000_0001;
    let word = word & two | (word >> (2 * width) & two) << 16;
    let one = bits::low_mask(width) * 0x0001_0001_0001_0001;
    word & one | (word >> width & one) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::rle_hybrid::tests::uleb;
    use vector::Buffer;
    use vector::testing::Random;

    #[test]
    fn eight_values_of_every_width_get_a_byte_each() {
        let mut random = Random::new(3);
        for width in 1..=8usize {
            for _ in 0..50 {
                let packed = random.bits();
                let mask = bits::low_mask(width);
                let naive =
                    (0..8).fold(0, |word, i| word | (packed >> (i * width) & mask) << (8 * i));
                assert_eq!(spread(packed, width), naive, "{width}");
            }
        }
    }

    #[test]
    fn any_mix_of_runs_in_any_cuts_equals_the_values_read_as_numbers() {
        let mut random = Random::new(31);
        for round in 0..600 {
            let width = round % 9;
            let (mut bytes, mut len) = (Vec::new(), 0);
            for _ in 0..random.below(40) {
                let long = random.below(12) == 0;
                if random.below(2) == 0 {
                    let count = random.below(if long { 900 } else { 70 });
                    bytes.extend(uleb((count << 1) as u32));
                    let value = random.bits() & bits::low_mask(width);
                    bytes.extend(&value.to_le_bytes()[..usize::from(width > 0)]);
                    len += count;
                } else {
                    let groups = random.below(if long { 90 } else { 6 });
                    bytes.extend(uleb((groups << 1 | 1) as u32));
                    bytes.extend((0..groups * width).map(|_| random.bits() as u8));
                    len += groups * 8;
                }
            }
            let section = || RleHybrid::new(Buffer::from_slice(&bytes), width as u8).unwrap();
            let (mut as_bytes, mut as_numbers) = (section(), section());
            let mut at = 0;
            while at < len {
                let n = (1 + random.below(300)).min(len - at);
                let (mut found, mut naive) = (vec![9u8; n], vec![9u32; n]);
                as_bytes.read_bytes(&mut found).unwrap();
                as_numbers.read(&mut naive).unwrap();
                assert!(found.iter().map(|value| u32::from(*value)).eq(naive), "{width}");
                at += n;
            }
            assert!(as_bytes.read_bytes(&mut [0]).is_err());
            // A truncated section fails where decoding into numbers fails.
            bytes.truncate(random.below(bytes.len() + 1));
            let mut cut = RleHybrid::new(Buffer::from_slice(&bytes), width as u8).unwrap();
            let mut whole = RleHybrid::new(Buffer::from_slice(&bytes), width as u8).unwrap();
            let (found, naive) =
                (cut.read_bytes(&mut vec![0; len]), whole.read(&mut vec![0u32; len]));
            assert_eq!(found.map_err(|e| e.to_string()), naive.map_err(|e| e.to_string()));
        }
    }
}
