//! Bit unpacking, and filtering of packed indices.

use format_parquet::encoding::bit_pack::{PassTable, match_packed_with, packed_bytes, unpack_with};

use crate::harness::Kernel;
use crate::noise;

/// Number of values of one run, about as many as a page has.
const VALUES: usize = 1 << 16;
/// Number of values unpacked at a time, as readers do.
const BLOCK: usize = 1024;

pub(crate) fn measure() {
    let mut next = noise(3);
    let words: Vec<u64> = (0..VALUES / 2).map(|_| next()).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    for width in [1, 3, 4, 7, 8, 11, 12, 16, 18, 24, 28, 32u8] {
        let bytes = &bytes[..packed_bytes(VALUES, width).expect("it is small")];
        let mut out = vec![0u32; BLOCK];
        Kernel {
            name: &format!("unpack {width} bits to u32"),
            values: VALUES,
            bytes: VALUES * 4,
            run: &mut |level| {
                let mut sum = 0u64;
                for first in (0..VALUES).step_by(BLOCK) {
                    unpack_with(level, bytes, first, width, &mut out);
                    sum = sum.wrapping_mul(31).wrapping_add(out[first % 1000].into());
                }
                sum
            },
        }
        .measure();
    }
    for width in [1, 2, 5, 8u8] {
        let mut out = vec![0u8; BLOCK];
        Kernel {
            name: &format!("unpack {width} bits to u8"),
            values: VALUES,
            bytes: VALUES,
            run: &mut |level| {
                let mut sum = 0u64;
                for first in (0..VALUES).step_by(BLOCK) {
                    unpack_with(level, &bytes, first, width, &mut out);
                    sum = sum.wrapping_mul(31).wrapping_add(out[first % 1000].into());
                }
                sum
            },
        }
        .measure();
    }
    for (form, width) in [("interval", 4), ("interval", 12), ("bits", 6), ("bits", 12u8)] {
        let len = 1usize << width;
        let mut passing = vec![0u64; len.div_ceil(64)];
        for i in (len / 4..len / 2).filter(|i| form == "interval" || i % 3 == 0) {
            passing[i / 64] |= 1 << (i % 64);
        }
        let table = PassTable::new(&passing, len);
        let mut words = vec![0u64; BLOCK / 64];
        Kernel {
            name: &format!("match {width} bits with {form}"),
            values: VALUES,
            bytes: VALUES / 8,
            run: &mut |level| {
                let mut sum = 0u64;
                for first in (0..VALUES).step_by(BLOCK) {
                    match_packed_with(level, (&bytes, first, width), BLOCK, &table, &mut words);
                    sum = words.iter().fold(sum, |sum, w| sum.wrapping_mul(31).wrapping_add(*w));
                }
                sum
            },
        }
        .measure();
    }
}
