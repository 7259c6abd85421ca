//! Timing of one kernel at each instruction level of this CPU, with the levels in alternation.

use std::hint::black_box;
use std::time::{Duration, Instant};

use vector::cpu::Level;

/// Number of timed runs at each level.
const RUNS: usize = 31;

/// A kernel and its input.
pub(crate) struct Kernel<'a> {
    pub(crate) name: &'a str,
    /// Number of values that one run produces.
    pub(crate) values: usize,
    /// Number of bytes that one run writes.
    pub(crate) bytes: usize,
    /// Runs the kernel and returns a checksum of its result.
    pub(crate) run: &'a mut dyn FnMut(Level) -> u64,
}

/// Prints the header of the table.
pub(crate) fn print_header() {
    println!("{:<34}{:<8}{:>10}{:>10}{:>8}", "kernel", "level", "ns/value", "GB/s", "ratio");
}

impl Kernel<'_> {
    /// Checks that the results of all levels are equal, times the levels in alternation and prints
    /// the best runs. The ratio is relative to the portable implementation: above 1, the level is
    /// faster.
    pub(crate) fn measure(self) {
        let levels: Vec<Level> = Level::available().collect();
        let answers: Vec<u64> = levels.iter().map(|level| (self.run)(*level)).collect();
        assert!(answers.iter().all(|a| *a == answers[0]), "{}: the levels disagree", self.name);
        let mut best = vec![Duration::MAX; levels.len()];
        for _ in 0..RUNS {
            for (level, best) in levels.iter().zip(&mut best) {
                let started = Instant::now();
                black_box((self.run)(*level));
                *best = started.elapsed().min(*best);
            }
        }
        for (level, best_here) in levels.iter().zip(&best) {
            let ns = best_here.as_secs_f64() * 1e9;
            println!(
                "{:<34}{:<8}{:>10.3}{:>10.2}{:>8.2}",
                self.name,
                level.name(),
                ns / self.values as f64,
                self.bytes as f64 / ns,
                best[0].as_secs_f64() / best_here.as_secs_f64(),
            );
        }
    }
}
