//! Compression and expansion of words and values by bit masks, and filters, which produce bit
//! masks.

use dwio::filter::{Bound, Filter, FilterValue};
use vector::{bits, select};

use crate::harness::Kernel;
use crate::noise;

/// Number of values of one run: they fit the CPU cache.
const VALUES: usize = 1 << 12;
/// Number of passes of a run over the values.
const ROUNDS: usize = 16;

pub(crate) fn measure() {
    let mut next = noise(5);
    let half: Vec<u64> = (0..VALUES / 64).map(|_| next()).collect();
    let tenth: Vec<u64> = (0..VALUES / 64).map(|_| next() & next() & next()).collect();
    let most: Vec<u64> = (0..VALUES / 64).map(|_| next() | next() | next()).collect();
    Kernel {
        name: "word compress",
        values: VALUES * ROUNDS,
        bytes: VALUES * ROUNDS / 8,
        run: &mut |level| {
            (0..ROUNDS).flat_map(|_| &half).zip(most.iter().cycle()).fold(
                0,
                |sum: u64, (word, mask)| {
                    sum.wrapping_mul(3) ^ bits::compress_word_with(level, *word, *mask)
                },
            )
        },
    }
    .measure();
    let fours: Vec<u32> = (0..VALUES).map(|_| next() as u32).collect();
    let eights: Vec<u64> = (0..VALUES).map(|_| next()).collect();
    for (share, words) in [("1/8", &tenth), ("1/2", &half), ("7/8", &most)] {
        let mut out = vec![0u32; VALUES];
        Kernel {
            name: &format!("compress {share} of u32"),
            values: VALUES * ROUNDS,
            bytes: VALUES * ROUNDS * 4,
            run: &mut |level| {
                (0..ROUNDS)
                    .map(|_| select::compress_with(level, &fours, words, &mut out))
                    .sum::<usize>() as u64
                    + u64::from(out[100])
            },
        }
        .measure();
        let mut out = vec![0u64; VALUES];
        Kernel {
            name: &format!("compress {share} of u64"),
            values: VALUES * ROUNDS,
            bytes: VALUES * ROUNDS * 8,
            run: &mut |level| {
                (0..ROUNDS)
                    .map(|_| select::compress_with(level, &eights, words, &mut out))
                    .sum::<usize>() as u64
                    ^ out[100]
            },
        }
        .measure();
        let first = bits::ones(words, VALUES).next().unwrap_or(0);
        let mut slots = eights.clone();
        Kernel {
            name: &format!("expand to {share} of u64"),
            values: VALUES * ROUNDS,
            bytes: VALUES * ROUNDS * 8,
            run: &mut |level| {
                (0..ROUNDS).fold(0, |sum, _| {
                    slots[0] = 7;
                    select::expand_with(level, &mut slots, words);
                    sum + slots[first]
                })
            },
        }
        .measure();
    }
    filters();
}

fn filters() {
    let mut next = noise(7);
    let longs: Vec<i64> = (0..VALUES).map(|_| (next() % 1000) as i64).collect();
    let ints: Vec<i32> = longs.iter().map(|v| *v as i32).collect();
    let shorts: Vec<i16> = longs.iter().map(|v| *v as i16).collect();
    let doubles: Vec<f64> = longs.iter().map(|v| *v as f64).collect();
    let range = Filter::bigint_range(100, 700, false);
    let one = Filter::bigint_range(500, 500, false);
    let floats = Filter::double_range(Bound::Inclusive(100.0), Bound::Inclusive(700.0), false)
        .expect("a range");
    let list = Filter::bigint_values(vec![3, 50_000, 700, 1 << 40, 500], false);
    measure_filter("i64 range", &range, &longs);
    measure_filter("i64 equals", &one, &longs);
    measure_filter("i32 range", &range, &ints);
    measure_filter("i16 range", &range, &shorts);
    measure_filter("f64 range", &floats, &doubles);
    measure_filter("i64 in a list", &list, &longs);
}

fn measure_filter<T: FilterValue>(name: &str, filter: &Filter, values: &[T]) {
    let mut words = vec![0u64; VALUES / 64];
    Kernel {
        name: &format!("filter {name}"),
        values: VALUES * ROUNDS,
        bytes: VALUES * ROUNDS * size_of::<T>(),
        run: &mut |level| {
            (0..ROUNDS).fold(0, |sum, _| {
                words.fill(u64::MAX);
                filter.retain_with(level, values, &mut words).expect("the types fit");
                words.iter().fold(sum, |sum, w| sum.wrapping_mul(31) ^ w)
            })
        },
    }
    .measure();
}
