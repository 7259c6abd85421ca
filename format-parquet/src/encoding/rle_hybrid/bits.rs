//! Decoding of one-bit values into bitmaps.
//!
//! ```text
//! 14 01   03 f7   0e 01   05 ef bb ...      repeat 10, packed 8, repeat 7, packed 16, ...
//! ```
//!
//! Levels of columns with scattered nulls consist of thousands of such runs in a page, and a run is
//! hardly longer than its header. Runs that fit in a word, with a header of one byte, are decoded
//! in a loop without a call or a state change between two of them. All others, runs of which only a
//! part is requested, and invalid runs are handled by [`RleHybrid::next_run`].

use vector::{BitmapMut, Result, bits};

use super::{RleHybrid, Run};
use crate::encoding::bit_pack::append_bits;

/// Number of bytes behind the header that are loaded for one run: a word.
const WORD_BYTES: usize = 8;

impl RleHybrid {
    /// Appends the next `n` values, of width 1, as bits and returns how many of them are one.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the section has fewer values.
    pub fn read_bits(&mut self, n: usize, out: &mut BitmapMut) -> Result<usize> {
        let start = out.len();
        let mut left = n;
        loop {
            if self.run.is_over() {
                left -= self.short_runs(left, out);
            }
            if left == 0 {
                break;
            }
            left -= match self.next_run(left)? {
                Run::Repeat { value, n } => {
                    out.push_n(value != 0, n);
                    n
                }
                Run::Packed { bytes, first, n } => {
                    append_bits(bytes, first, n, out);
                    n
                }
            };
        }
        Ok(bits::count_ones_in(out.words(), start..start + n))
    }

    /// Appends whole runs of at most a word each, as long as such runs follow and have at most
    /// `max` values in total; returns their number of values.
    fn short_runs(&mut self, max: usize, out: &mut BitmapMut) -> usize {
        let bytes = self.bytes.as_slice();
        let mut rest = bytes.get(self.at..).unwrap_or(&[]);
        let mut left = max;
        let mut writer = out.writer();
        // Where fewer bytes are left, the page ends soon.
        while let Some((header, behind)) = rest.split_first()
            && let Some(word) = behind.first_chunk::<WORD_BYTES>()
        {
            let count = usize::from(header >> 1);
            let word = u64::from_le_bytes(*word);
            let (values, n, num_bytes) = if header & 1 == 0 {
                let value = word & 0xff;
                if count >= 64 || value > 1 {
                    break;
                }
                (value.wrapping_neg() & bits::low_mask(count), count, 1)
            } else {
                if count > WORD_BYTES {
                    break;
                }
                let n = count * 8;
                (word & bits::low_mask(n), n, count)
            };
            if n > left {
                break;
            }
            writer.push(values, n);
            left -= n;
            rest = behind.get(num_bytes..).unwrap_or(&[]);
        }
        self.at = bytes.len() - rest.len();
        max - left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::bit_pack;
    use crate::encoding::rle_hybrid::tests::uleb;
    use vector::Buffer;
    use vector::testing::Random;

    /// Returns runs of random kinds and lengths; some headers are longer than necessary.
    fn runs(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for _ in 0..random.below(40) {
            let long = random.below(12) == 0;
            let (header, body) = if random.below(2) == 0 {
                let count = random.below(if long { 3000 } else { 70 });
                let value = random.below(2) as u8;
                values.extend(vec![value; count]);
                ((count << 1) as u32, vec![value])
            } else {
                let groups = random.below(if long { 400 } else { 11 });
                let run: Vec<u32> = (0..groups * 8).map(|_| random.below(2) as u32).collect();
                values.extend(run.iter().map(|bit| *bit as u8));
                ((groups << 1 | 1) as u32, bit_pack::pack(&run, 1))
            };
            let mut header = uleb(header);
            if random.below(20) == 0 {
                if let Some(last) = header.last_mut() {
                    *last |= 0x80;
                }
                header.push(0);
            }
            bytes.extend(header);
            bytes.extend(body);
        }
        (bytes, values)
    }

    fn decoder(bytes: &[u8]) -> RleHybrid {
        RleHybrid::new(Buffer::from_slice(bytes), 1).unwrap()
    }

    #[test]
    fn any_mix_of_runs_in_any_cuts_equals_the_values_read_as_bytes() {
        let mut random = Random::new(23);
        for _ in 0..400 {
            let (bytes, values) = runs(&mut random);
            let (mut as_bits, mut as_bytes) = (decoder(&bytes), decoder(&bytes));
            let mut out = BitmapMut::new();
            out.push_n(true, random.below(70));
            let mut at = 0;
            while at < values.len() {
                let n = (1 + random.below(200)).min(values.len() - at);
                let before = out.len();
                let ones = as_bits.read_bits(n, &mut out).unwrap();
                let mut naive = vec![9u8; n];
                as_bytes.read(&mut naive).unwrap();
                assert_eq!(naive, values[at..at + n]);
                assert!((0..n).all(|i| u8::from(out.get(before + i)) == naive[i]));
                assert_eq!(ones, naive.iter().filter(|bit| **bit == 1).count());
                assert_eq!(out.len(), before + n);
                at += n;
            }
            assert!(as_bits.read_bits(1, &mut out).is_err());
        }
    }

    #[test]
    fn broken_and_cut_sections_fail_as_they_do_for_bytes() {
        let mut random = Random::new(29);
        for _ in 0..2000 {
            let (mut bytes, values) = runs(&mut random);
            bytes.truncate(random.below(bytes.len() + 1));
            for _ in 0..random.below(3) {
                if let Some(byte) = bytes.get_mut(random.below(values.len().max(1))) {
                    *byte = random.bits() as u8;
                }
            }
            let n = values.len() + random.below(3);
            let mut out = BitmapMut::new();
            let as_bits = decoder(&bytes).read_bits(n, &mut out);
            let mut naive = vec![0u8; n];
            match decoder(&bytes).read(&mut naive) {
                Ok(()) => {
                    assert_eq!(as_bits.unwrap(), naive.iter().filter(|bit| **bit == 1).count());
                    assert!((0..n).all(|i| u8::from(out.get(i)) == naive[i]));
                }
                Err(error) => assert_eq!(as_bits.unwrap_err().to_string(), error.to_string()),
            }
        }
    }
}
