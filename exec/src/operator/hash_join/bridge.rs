//! The join bridge: collects a part from each build driver and passes one table to all probe
//! drivers.
//!
//! ```text
//! HashBuild of driver 0 --part--\                            /--table--> HashProbe of driver 0
//! HashBuild of driver 1 --part---+--> last builder: table --+---table--> HashProbe of driver 1
//! ```
//!
//! | call | caller | effect |
//! |---|---|---|
//! | `add_part` | each builder, once | returns all parts to the last builder, which must publish |
//! | `publish` | the last builder | stores the table and wakes the waiting probe drivers |
//! | `table` | each probe driver | returns the table, or a continuation to wait for it |
//! | `probe_done` | each probe driver, once | returns true to the last, which returns build rows |
//!
//! A builder that fails never publishes a table: the end of its task wakes the probe drivers that
//! wait here.

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

/// Connects the build drivers of a join with its probe drivers. `P` is the type of a builder's
/// part, `T` is the type of the table.
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

/// The state of the table as a probe driver finds it.
#[derive(Debug)]
pub(super) enum Built<T> {
    /// The table has been published.
    Ready(Arc<T>),
    /// The table has not been published; the continuation is resumed when it is.
    Wait(Continuation),
}

impl<P, T> JoinBridge<P, T> {
    /// Creates a bridge between `builders` build drivers and `probers` probe drivers.
    pub(super) fn new(builders: usize, probers: usize) -> Self {
        let (parts, waiting) = (Vec::new(), Vec::new());
        let state = State { builders, probers, parts, table: None, waiting };
        JoinBridge { state: Mutex::new(state) }
    }

    /// Adds the part that one builder collected. The last builder receives all parts, to build and
    /// publish the table; the other builders receive `None`.
    pub(super) fn add_part(&self, part: P) -> Option<Vec<P>> {
        let mut state = self.state.lock();
        state.parts.push(part);
        state.builders = state.builders.saturating_sub(1);
        (state.builders == 0).then(|| std::mem::take(&mut state.parts))
    }

    /// Publishes the table to all probe drivers and wakes those that wait for it.
    pub(super) fn publish(&self, table: Arc<T>) {
        let waiting = {
            let mut state = self.state.lock();
            state.table = Some(table);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }

    /// Returns the table, or a continuation that is resumed when the table is published.
    pub(super) fn table(&self) -> Built<T> {
        let mut state = self.state.lock();
        if let Some(table) = &state.table {
            return Built::Ready(Arc::clone(table));
        }
        let (promise, continuation) = promise();
        state.waiting.push(promise);
        Built::Wait(continuation)
    }

    /// Records that one probe driver has probed all of its rows. Returns true for the last driver.
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
