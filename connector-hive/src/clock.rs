//! Measurement of wall time and of the CPU time of the current thread.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Wall time and CPU time of an activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Elapsed wall time.
    pub wall: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
}

impl Times {
    /// Adds the time since `start`, which must have been taken on the same thread.
    pub(crate) fn add_since(&mut self, start: Started) {
        self.wall += start.wall.elapsed();
        self.cpu += cpu_of_thread().saturating_sub(start.cpu);
    }
}

/// Start of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    wall: Instant,
    cpu: Duration,
}

impl Started {
    /// Returns the current time.
    pub(crate) fn now() -> Self {
        Started { wall: Instant::now(), cpu: cpu_of_thread() }
    }
}

fn cpu_of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The clock starts at 0 with the thread, so it is never negative.
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_does_not_work() {
        let start = Started::now();
        std::thread::sleep(Duration::from_millis(50));
        let mut times = Times::default();
        times.add_since(start);
        assert!(times.wall >= Duration::from_millis(50));
        assert!(times.cpu < times.wall / 2, "{times:?}");
        let (before, start) = (times.cpu, Started::now());
        while cpu_of_thread() == start.cpu {
            assert!(start.wall.elapsed() < Duration::from_secs(60), "the clock stands still");
        }
        times.add_since(start);
        assert!(times.cpu > before);
    }
}
