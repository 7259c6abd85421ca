//! Two clocks at once: how long something took, and how long this thread was at work on it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time on the wall and of the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Time that passed.
    pub wall: Duration,
    /// Time that the thread ran.
    pub cpu: Duration,
}

impl Times {
    /// Adds what passed since `start`, on the same thread.
    pub fn add_since(&mut self, start: Started) {
        self.wall += start.wall.elapsed();
        self.cpu += cpu_of_thread().saturating_sub(start.cpu);
    }
}

/// When something began.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    wall: Instant,
    cpu: Duration,
}

impl Started {
    /// Now.
    pub fn now() -> Self {
        Started { wall: Instant::now(), cpu: cpu_of_thread() }
    }
}

fn cpu_of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The clock starts at 0 with the thread.
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
