//! Timing of two implementations in alternation, with a check that their results are equal.

use std::time::{Duration, Instant};

/// Number of timed runs of each implementation.
const RUNS: usize = 15;

/// Two readers of one column; each returns a sum over its values.
pub(crate) struct Duel<'a> {
    pub(crate) name: &'a str,
    pub(crate) ocior: &'a mut dyn FnMut() -> u64,
    pub(crate) other: &'a mut dyn FnMut() -> u64,
}

/// Prints the header of the table.
pub(crate) fn print_header(ocior: &str, other: &str) {
    println!("{:<28}{:>14}{:>16}{:>8}", "column", ocior, other, "ratio");
}

impl Duel<'_> {
    /// Checks that both readers return the same sum, then times them in alternation and prints the
    /// best runs.
    pub(crate) fn run(self) {
        assert_eq!((self.ocior)(), (self.other)(), "{}: the readers disagree", self.name);
        let mut best = [Duration::MAX; 2];
        for _ in 0..RUNS {
            best[0] = best[0].min(time(self.ocior));
            best[1] = best[1].min(time(self.other));
        }
        let [ocior, other] = best.map(|d| d.as_secs_f64() * 1e3);
        println!("{:<28}{ocior:>11.2} ms{other:>13.2} ms{:>8.2}", self.name, other / ocior);
    }
}

fn time(run: &mut dyn FnMut() -> u64) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}
