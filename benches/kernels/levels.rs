//! Levels of columns with nulls here and there: repeat runs and packed runs in turn, as writers make
//! them of one null in so many rows. What is called portable here is the general way, which decodes
//! run by run; other levels are the ways for short runs.

use format_parquet::encoding::rle_hybrid::RleHybrid;
use vector::cpu::Level;
use vector::{BitmapMut, Buffer};

use crate::harness::Kernel;
use crate::noise;

/// Levels of a page.
const LEVELS: usize = 1 << 16;
/// Levels that are read at a time.
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

/// Runs as most writers make them: eight or more equal levels are repeated, others packed.
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
        // A header of one byte has room for 63 values or groups.
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
