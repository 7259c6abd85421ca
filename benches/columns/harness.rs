//! Two ways to the same answer, timed in turn.

use std::time::{Duration, Instant};

/// Timed runs of each side.
const RUNS: usize = 15;

/// Two readers of one column.
pub(crate) struct Duel<'a> {
    pub(crate) name: &'a str,
    pub(crate) ocior: &'a mut dyn FnMut() -> u64,
    pub(crate) other: &'a mut dyn FnMut() -> u64,
}

/// Prints the table's first line.
pub(crate) fn print_header(ocior: &str, other: &str) {
    println!("{:<28}{:>14}{:>16}{:>8}", "column", ocior, other, "ratio");
}

impl Duel<'_> {
    /// Checks that both give the same answer, then times them in turn and prints the best runs.
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
