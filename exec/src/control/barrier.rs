//! Barriers: separate the rows of the splits added so far from the rows of later splits (rules
//! S11.30, S11.72).
//!
//! ```text
//! request --> SplitQueue: a barrier after the splits --> each driver of the scan: a drain wave
//!     through its operators --> exchange: all producers have arrived --> its consumers --> cursor
//! ```
//!
//! Operators that keep rows emit their results and start over: the splits between two barriers are
//! processed like a separate run. The barrier is passed when the wave has gone through all drivers.
//!
//! | call | by | effect |
//! |---|---|---|
//! | `request` | the owner of the task | returns the number of the barrier and a continuation |
//! | `arrive` | each driver, at the end of its wave | the last arrival fulfils the continuations |
//! | drop of a ticket | a driver that ends | counts as an arrival |
//! | `end` | the end of the task | fulfils the continuations |

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

/// Barriers of a task.
#[derive(Debug, Default)]
pub struct Barriers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the last barrier that was requested.
    requested: u64,
    /// Number of the last barrier that was passed.
    passed: u64,
    /// Number of drivers.
    drivers: usize,
    /// Number of drivers that have arrived at the barrier in progress.
    arrived: usize,
    /// Promises for the end of the barrier in progress.
    waiting: Vec<Promise>,
}

impl Barriers {
    /// Requests a barrier. Requests during a barrier in progress share that barrier.
    pub fn request(&self) -> (u64, Continuation) {
        let (promise, passed) = promise();
        let mut state = self.state.lock();
        if state.requested == state.passed {
            state.requested += 1;
            state.arrived = 0;
        }
        state.waiting.push(promise);
        (state.requested, passed)
    }

    /// Returns true while a barrier is in progress.
    pub fn is_requested(&self) -> bool {
        let state = self.state.lock();
        state.requested > state.passed
    }

    /// Returns a continuation that is ready when barrier `number` is passed; `None` if it already
    /// is.
    pub fn until_passed(&self, number: u64) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.passed >= number {
            return None;
        }
        let (promise, passed) = promise();
        state.waiting.push(promise);
        Some(passed)
    }

    /// Counts a driver until its ticket is dropped.
    pub fn enter(self: &Arc<Self>) -> BarrierTicket {
        self.state.lock().drivers += 1;
        BarrierTicket { barriers: Arc::clone(self), arrived: 0 }
    }

    /// Ends the barrier in progress at the end of the task.
    pub fn end(&self) {
        self.change(|state| state.arrived = state.drivers);
    }

    /// Changes the numbers of drivers and arrivals. The barrier is passed when all drivers have
    /// arrived.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let waiting = {
            let mut state = self.state.lock();
            change(&mut state);
            if state.arrived < state.drivers {
                return;
            }
            state.passed = state.requested;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }
}

/// Registration of one driver with the barriers of its task.
#[derive(Debug)]
pub struct BarrierTicket {
    barriers: Arc<Barriers>,
    /// Number of the last barrier at which the driver has arrived.
    arrived: u64,
}

impl BarrierTicket {
    /// Returns true when a barrier was ever requested, so that more of them may follow.
    pub fn are_used(&self) -> bool {
        self.barriers.state.lock().requested > 0
    }

    /// Records that all rows before barrier `number` have left the driver.
    pub fn arrive(&mut self, number: u64) {
        self.arrived = number;
        self.barriers.change(|state| state.arrived += 1);
    }
}

impl Drop for BarrierTicket {
    fn drop(&mut self) {
        self.barriers.change(|state| {
            state.drivers -= 1;
            if self.arrived > state.passed {
                state.arrived -= 1;
            }
        });
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::thread;

    #[test]
    fn loom_a_barrier_is_passed_when_the_last_driver_has_arrived_or_ended() {
        loom::model(|| {
            let barriers = Arc::new(Barriers::default());
            let tickets = [barriers.enter(), barriers.enter()];
            let (number, passed) = barriers.request();
            let drivers = tickets.map(|mut ticket| {
                thread::spawn(move || {
                    ticket.arrive(number);
                    ticket
                })
            });
            passed.wait().unwrap();
            assert!(!barriers.is_requested() && barriers.until_passed(number).is_none());
            let [first, second] = drivers.map(|driver| driver.join().unwrap());
            let (next, passed) = barriers.request();
            assert_eq!(next, number + 1);
            let ender = thread::spawn(move || drop(first));
            let mut second = second;
            second.arrive(next);
            passed.wait().unwrap();
            ender.join().unwrap();
        });
    }
}
