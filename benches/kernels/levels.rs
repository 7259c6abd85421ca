//! Definition levels of columns with scattered nulls: alternating repeated and bit-packed runs, as
//! writers produce them for a given frequency of nulls. The portable level measures the general
//! decoder, which decodes run by run; the other levels measure the decoders for short runs.

use format_parquet::encoding::rle_hybrid::RleHybrid;
use vector::cpu::Level;
use vector::{BitmapMut, Buffer};

use crate::harness::Kernel;
use crate::noise;

/// Number of levels of a page.
const LEVELS: usize = 1 << 16;
/// Number of levels that are read at a time.
const WINDOW: usize = 10_000;

pub(crate) fn measure() {
    for one_null_in in [2, 10, 100, 5000] {
        for (width, max) in [(1, 1), (2, 3u8)] {
            let page = page(one_null_in, width, max);
            let mut levels = vec![0u8; WINDOW];
            Kernel {
                name: &format!("levels to {max}, a null in {one_null_in}"),
                values: LEVELS,
                bytes: if max == 1 { LEVELS / 8 } else { LEVELS },
                run: &mut |level| {
                    let runs = RleHybrid::new(page.clone(), width);
                    let mut runs = runs.expect("the width is small");
                    let mut sum = 0;
                    for _ in 0..LEVELS / WINDOW {
                        if level != Level::PORTABLE && max == 1 {
                            let mut bits = BitmapMut::new();
                            sum += runs.read_bits(WINDOW, &mut bits).expect("the page is sound");
                            continue;
                        }
                        let read = match level {
                            Level::PORTABLE => runs.read(&mut levels),
                            _ => runs.read_bytes(&mut levels),
                        };
                        read.expect("the page is sound");
                        sum += levels.iter().filter(|level| **level == max).count();
                    }
                    sum as u64
                },
            }
            .measure();
        }
    }
}

/// Encodes a page as most writers do: eight or more equal levels are a repeated run, others a
/// bit-packed run.
fn page(one_null_in: u64, width: u8, max: u8) -> Buffer<u8> {
    let mut next = noise(11);
    let mut level = || if next().is_multiple_of(one_null_in) { 0 } else { max };
    let levels: Vec<u8> = (0..LEVELS).map(|_| level()).collect();
    let (groups, _) = levels.as_chunks::<8>();
    let is_equal = |group: &[u8; 8]| group.iter().all(|level| level == &group[0]);
    let mut bytes = Vec::new();
    let alike = |a: &[u8; 8], b: &[u8; 8]| match is_equal(a) {
        true => a == b,
        false => !is_equal(b),
    };
    for run in groups.chunk_by(alike) {
        // A one-byte header can encode up to 63 values or groups.
        if is_equal(&run[0]) {
            for part in run.chunks(7) {
                bytes.extend([(part.len() * 16) as u8, part[0][0]]);
            }
            continue;
        }
        for part in run.chunks(63) {
            bytes.push((part.len() << 1 | 1) as u8);
            for group in part {
                let packed =
                    group.iter().rev().fold(0u64, |w, level| w << width | u64::from(*level));
                bytes.extend(&packed.to_le_bytes()[..usize::from(width)]);
            }
        }
    }
    Buffer::from_slice(&bytes)
}
