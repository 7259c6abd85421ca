//! The way from build to probe: parts from each building driver, one table for all probing ones.
//!
//! ```text
//! HashBuild of driver 0 --part--\                            /--table--> HashProbe of driver 0
//! HashBuild of driver 1 --part---+--> the last one: table --+---table--> HashProbe of driver 1
//! ```
//!
//! | call | by | gives |
//! |---|---|---|
//! | `add_part` | each builder, once | all parts to the last one, who must publish |
//! | `publish` | the last builder | wakes the probing drivers |
//! | `table` | probing drivers | the table, or a wait |
//! | `probe_done` | each probing driver, once | true to the last one, who gives what is left |
//!
//! A builder that fails never publishes: its task ends, and that end wakes who waits here.

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

/// Joins the drivers of a build with those of a probe; `P` are parts, `T` is the table.
#[derive(Debug)]
pub(super) struct JoinBridge<P, T> {
    state: Mutex<State<P, T>>,
}

#[derive(Debug)]
struct State<P, T> {
    builders: usize,
    probers: usize,
    parts: Vec<P>,
    table: Option<Arc<T>>,
    waiting: Vec<Promise>,
}

/// What a probing driver finds.
#[derive(Debug)]
pub(super) enum Built<T> {
    /// The table.
    Ready(Arc<T>),
    /// It is not there yet.
    Wait(Continuation),
}

impl<P, T> JoinBridge<P, T> {
    /// Between so many drivers of each side.
    pub(super) fn new(builders: usize, probers: usize) -> Self {
        let (parts, waiting) = (Vec::new(), Vec::new());
        let state = State { builders, probers, parts, table: None, waiting };
        JoinBridge { state: Mutex::new(state) }
    }

    /// Takes what one builder collected; the last one gets all parts, to build and publish.
    pub(super) fn add_part(&self, part: P) -> Option<Vec<P>> {
        let mut state = self.state.lock();
        state.parts.push(part);
        state.builders = state.builders.saturating_sub(1);
        (state.builders == 0).then(|| std::mem::take(&mut state.parts))
    }

    /// Hands the table to all probing drivers, now and later.
    pub(super) fn publish(&self, table: Arc<T>) {
        let waiting = {
            let mut state = self.state.lock();
            state.table = Some(table);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }

    /// The table, or a wait for it.
    pub(super) fn table(&self) -> Built<T> {
        let mut state = self.state.lock();
        if let Some(table) = &state.table {
            return Built::Ready(Arc::clone(table));
        }
        let (promise, continuation) = promise();
        state.waiting.push(promise);
        Built::Wait(continuation)
    }

    /// One probing driver has looked up all of its rows; true for the last one.
    pub(super) fn probe_done(&self) -> bool {
        let mut state = self.state.lock();
        state.probers = state.probers.saturating_sub(1);
        state.probers == 0
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::atomic::{AtomicUsize, Ordering};
    use vector::sync::{ModelArc, thread};

    fn build(bridge: &JoinBridge<u32, u32>, part: u32) {
        if let Some(parts) = bridge.add_part(part) {
            bridge.publish(Arc::new(parts.iter().sum()));
        }
    }

    fn probe(bridge: &JoinBridge<u32, u32>) -> u32 {
        loop {
            match bridge.table() {
                Built::Ready(table) => return *table,
                Built::Wait(until) => until.wait().unwrap(),
            }
        }
    }

    #[test]
    fn loom_every_prober_gets_the_table_of_all_parts() {
        loom::model(|| {
            let bridge = Arc::new(JoinBridge::new(2, 1));
            let builders = [1, 2].map(|part| {
                let bridge = Arc::clone(&bridge);
                thread::spawn(move || build(&bridge, part))
            });
            assert_eq!(probe(&bridge), 3);
            for builder in builders {
                builder.join().unwrap();
            }
        });
    }

    #[test]
    fn loom_one_prober_is_the_last() {
        loom::model(|| {
            let bridge = Arc::new(JoinBridge::new(1, 2));
            let last = ModelArc::new(AtomicUsize::new(0));
            let probers = [(), ()].map(|()| {
                let (bridge, last) = (Arc::clone(&bridge), ModelArc::clone(&last));
                thread::spawn(move || {
                    assert_eq!(probe(&bridge), 7);
                    last.fetch_add(usize::from(bridge.probe_done()), Ordering::SeqCst);
                })
            });
            build(&bridge, 7);
            for prober in probers {
                prober.join().unwrap();
            }
            assert_eq!(last.load(Ordering::SeqCst), 1);
        });
    }
}
