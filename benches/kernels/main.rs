//! Single kernels at each level of this CPU: nanoseconds a value, gigabytes a second, and how often
//! faster than the portable form. `cargo bench --bench kernels`.
//!
//! | file | has |
//! |---|---|
//! | `harness` | the levels in turn, the answers checked first, the table |
//! | `unpacking` | bit unpacking, matching of packed indices |
//! | `levels` | levels in short runs, against the way for all runs |
//! | `selecting` | values picked and spread by bits, filters |
//! | `snappy` | decompression of columns; the portable form is the `snap` crate |

mod harness;
mod levels;
mod selecting;
mod snappy;
mod unpacking;

/// Numbers without pattern, from a seed.
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
