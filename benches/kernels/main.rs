//! Benchmark of single kernels at each instruction level of this CPU: nanoseconds per value,
//! gigabytes per second, and the speed relative to the portable implementation. Run `cargo bench
//! --bench kernels`.
//!
//! | file | content |
//! |---|---|
//! | `harness` | alternating levels, the comparison of the results, the table |
//! | `unpacking` | bit unpacking, filtering of packed indices |
//! | `levels` | levels in short runs, compared with the general decoder |
//! | `selecting` | compression and expansion of values by bit masks, filters |
//! | `snappy` | decompression of columns; the portable implementation is the `snap` crate |

mod harness;
mod levels;
mod selecting;
mod snappy;
mod unpacking;

/// Returns a generator of pseudo-random numbers from a seed.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

fn main() {
    harness::print_header();
    unpacking::measure();
    levels::measure();
    selecting::measure();
    snappy::measure();
}
