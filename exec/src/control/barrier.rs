//! Barriers: all rows of the splits so far, before others come (rules S11.30, S11.72).
//!
//! ```text
//! request --> SplitQueue: a barrier behind the splits --> each driver of the scan: a wave through
//!     its operators --> exchange: all producers have arrived --> the drivers behind it --> cursor
//! ```
//!
//! Operators that keep rows give what came of them, and begin anew: what comes between two barriers
//! is as a run of its own. The barrier is passed when the wave has gone through all drivers.
//!
//! | call | by | gives |
//! |---|---|---|
//! | `request` | the owner of the task | the number of the barrier that is on its way, and a wait for it |
//! | `arrive` | each driver, when its wave is through | the last one ends the waits |
//! | drop of a ticket | a driver that ends | as if it would arrive |
//! | `end` | the task's end | ends the waits |

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

/// The barriers of a task.
#[derive(Debug, Default)]
pub struct Barriers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last barrier that was asked for.
    requested: u64,
    /// The number of the last one that is passed.
    passed: u64,
    /// Drivers that there are.
    drivers: usize,
    /// Those of them that have arrived at the barrier that is on its way.
    arrived: usize,
    /// Who waits for that one.
    waiting: Vec<Promise>,
}

impl Barriers {
    /// Asks for a barrier; those who ask before it is passed share it.
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

    /// True while a barrier is on its way.
    pub fn is_requested(&self) -> bool {
        let state = self.state.lock();
        state.requested > state.passed
    }

    /// A wait until barrier `number` is passed; none when it is.
    pub fn until_passed(&self, number: u64) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.passed >= number {
            return None;
        }
        let (promise, passed) = promise();
        state.waiting.push(promise);
        Some(passed)
    }

    /// Counts a driver in until its ticket is dropped.
    pub fn enter(self: &Arc<Self>) -> BarrierTicket {
        self.state.lock().drivers += 1;
        BarrierTicket { barriers: Arc::clone(self), arrived: 0 }
    }

    /// The task has ended: there is nothing to wait for.
    pub fn end(&self) {
        self.change(|state| state.arrived = state.drivers);
    }

    /// Changes who is there and who has arrived; when these are all, the barrier is passed.
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

/// One driver's presence at the barriers of its task.
#[derive(Debug)]
pub struct BarrierTicket {
    barriers: Arc<Barriers>,
    /// The last barrier that the driver has arrived at.
    arrived: u64,
}

impl BarrierTicket {
    /// True when somebody has asked for a barrier, so that there may be more of them.
    pub fn are_used(&self) -> bool {
        self.barriers.state.lock().requested > 0
    }

    /// All rows before barrier `number` have left the driver.
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
