//! Dynamic filters of a running scan, shared by the operators that publish them and its drivers.
//!
//! ```text
//! join's table --publish--> ScanFilters --next_change--> TableScan of each driver --> DataSource
//! top-N ---------bound-----^   (one for each scan node, shared by its drivers)
//! ```
//!
//! A filter of a column is merged with the earlier ones of that column here, and with the plan's
//! own where it is installed (rules S12.7, S12.9, S12.10). A scan checks before each read, so that a
//! filter never changes in the middle of a batch (rule S12.13).
//!
//! A filter published before any driver of the scan checked, and accepted by the source, holds for
//! every row that the scan ever returns: a join may rely on it (rule S12.15). This is usual,
//! because a scan waits for the joins that may publish filters for it, also where rows go through
//! exchanges between (rule S12.14). While the first driver hands it to its source there are no rows,
//! for which it holds as well.
//!
//! The bound of a top-N comes while rows do, gets narrower, and is taken back when a barrier makes
//! the rows behind it count for themselves.

use vector::SortOrder;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Continuation, Mutex, Promise, promise};

use dwio::filter::Filter;

use crate::plan::PlanNodeId;

/// The dynamic filters of one scan node, shared by all of its drivers.
#[derive(Debug, Default)]
pub struct ScanFilters {
    /// Number of changes, so that a check takes no lock.
    version: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// True when a driver has read the filters; a filter published afterwards is late.
    seen: bool,
    /// True when a driver has installed the filters in its data source and reads.
    reading: bool,
    filters: Vec<ChannelFilter>,
    /// Number of filters that join tables not built yet may publish.
    expected: usize,
    /// Promises of the scans that wait for the expected filters.
    waiting: Vec<Promise>,
    /// Output column and sort order whose first rows should be read first.
    first: Option<(usize, SortOrder)>,
}

impl State {
    fn all(&self) -> Vec<(usize, Arc<Filter>)> {
        self.filters.iter().map(|f| (f.channel, f.merged())).collect()
    }

    fn of_channel(&mut self, channel: usize) -> Option<&mut ChannelFilter> {
        self.filters.iter_mut().find(|known| known.channel == channel)
    }

    /// Returns the slot of a channel; a new one accepts every value.
    fn slot(&mut self, channel: usize) -> Option<&mut ChannelFilter> {
        if self.of_channel(channel).is_none() {
            self.filters.push(ChannelFilter {
                channel,
                filter: Arc::new(Filter::AlwaysTrue),
                bound: None,
                accepted: false,
                producers: Vec::new(),
            });
        }
        self.of_channel(channel)
    }
}

/// The filters of one output column of the scan.
#[derive(Debug)]
struct ChannelFilter {
    channel: usize,
    /// Merged filter of the joins, which is permanent.
    filter: Arc<Filter>,
    /// Present bound of a top-N, which may be withdrawn.
    bound: Option<Filter>,
    accepted: bool,
    producers: Vec<Producer>,
}

impl ChannelFilter {
    /// Returns both filters merged, or the permanent one if they cannot be merged: a bound only
    /// saves work.
    fn merged(&self) -> Arc<Filter> {
        let merged = self.bound.as_ref().map(|bound| self.filter.merge(bound));
        merged.and_then(Result::ok).map_or_else(|| Arc::clone(&self.filter), Arc::new)
    }

    fn add_producer(&mut self, node: &PlanNodeId, is_early: bool) {
        if !self.producers.iter().any(|known| known.node == *node) {
            self.producers.push(Producer { node: Arc::clone(node), is_early });
        }
    }
}

/// A node that published a filter.
#[derive(Debug)]
struct Producer {
    node: PlanNodeId,
    /// True when the node published before the first read.
    is_early: bool,
}

/// The version of filters that one driver's scan has installed.
#[derive(Debug, Default)]
pub struct SeenFilters(Option<u64>);

impl ScanFilters {
    /// Adds a filter of `channel` that `producer` derived. Returns false and changes nothing when it
    /// cannot be merged with the present filter.
    pub fn publish(&self, producer: &PlanNodeId, channel: usize, filter: Filter) -> bool {
        let mut state = self.state.lock();
        let is_early = !state.seen;
        let Some(slot) = state.slot(channel) else { return false };
        let Ok(merged) = slot.filter.merge(&filter) else { return false };
        slot.filter = Arc::new(merged);
        slot.add_producer(producer, is_early);
        // Under the lock, so that a driver that sees the new version finds the filter.
        self.version.fetch_add(1, Ordering::Release);
        true
    }

    /// Adds the bound of `producer`, which needs only the rows that pass it and the earlier filters.
    pub fn bound(&self, producer: &PlanNodeId, channel: usize, bound: &Filter) {
        let mut state = self.state.lock();
        let Some(slot) = state.slot(channel) else { return };
        let merged = match &slot.bound {
            None => bound.clone(),
            // Several drivers have bounds of their own: the narrowest counts.
            Some(known) => match known.merge(bound) {
                Ok(merged) if merged != *known => merged,
                _ => return,
            },
        };
        slot.bound = Some(merged);
        slot.add_producer(producer, false);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Withdraws the bound of a channel.
    pub fn unbound(&self, channel: usize) {
        let mut state = self.state.lock();
        let bound = state.of_channel(channel).and_then(|slot| slot.bound.take());
        if bound.is_some() {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// Requests that the first rows in this order of an output column be read first; no operator
    /// observes the order of the rows.
    pub fn read_first(&self, channel: usize, order: SortOrder) {
        self.state.lock().first = Some((channel, order));
    }

    /// Returns the column and order set by [`ScanFilters::read_first`].
    pub fn first(&self) -> Option<(usize, SortOrder)> {
        self.state.lock().first
    }

    /// Announces a join table that may publish a filter and calls `settle` afterwards.
    pub fn expect(&self) {
        self.state.lock().expected += 1;
    }

    /// Records that an expected filter is published, or never will be.
    pub fn settle(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.expected = state.expected.saturating_sub(1);
            if state.expected > 0 {
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Promise::fulfil);
    }

    /// Returns the wait for all expected filters; `None` when there are none.
    pub fn wait_for_filters(&self) -> Option<Continuation> {
        let mut state = self.state.lock();
        if state.expected == 0 {
            return None;
        }
        let (promise, settled) = promise();
        state.waiting.push(promise);
        Some(settled)
    }

    /// Returns all filters if any changed since `seen`, and on the first call; the scan continues
    /// to read afterwards.
    pub fn next_change(&self, seen: &mut SeenFilters) -> Option<Vec<(usize, Arc<Filter>)>> {
        if seen.0 == Some(self.version.load(Ordering::Acquire)) {
            return None;
        }
        let mut state = self.state.lock();
        state.seen = true;
        seen.0 = Some(self.version.load(Ordering::Acquire));
        Some(state.all()).filter(|filters| !filters.is_empty())
    }

    /// Returns all present filters, for a data source that no driver reads yet.
    pub fn known(&self) -> Vec<(usize, Arc<Filter>)> {
        self.state.lock().all()
    }

    /// Records that a driver has installed the filters in its data source, which tests those of the
    /// `accepted` channels, and begins to read.
    pub fn installed(&self, accepted: &[usize]) {
        let mut state = self.state.lock();
        state.reading = true;
        for filter in state.filters.iter_mut().filter(|f| accepted.contains(&f.channel)) {
            filter.accepted = true;
        }
    }

    /// Returns true when every row that the scan has returned passes the filter that `producer`
    /// published for `channel`; once there are rows, later rows pass it too.
    pub fn holds_for_all_rows(&self, producer: &PlanNodeId, channel: usize) -> bool {
        let state = self.state.lock();
        let filter = state.filters.iter().find(|f| f.channel == channel);
        let is_early = |known: &Producer| known.is_early && known.node == *producer;
        let is_tested = |f: &ChannelFilter| f.accepted || !state.reading;
        filter.is_some_and(|f| is_tested(f) && f.producers.iter().any(is_early))
    }

    /// Returns the nodes whose filters the scan's data sources test (rule S15.53).
    pub fn producers(&self) -> Vec<PlanNodeId> {
        let state = self.state.lock();
        let accepted = state.filters.iter().filter(|f| f.accepted).flat_map(|f| &f.producers);
        let mut nodes: Vec<PlanNodeId> = accepted.map(|p| Arc::clone(&p.node)).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn filters_of_a_column_are_merged_and_seen_once() {
        let slot = ScanFilters::default();
        let (mut seen, node) = (SeenFilters::default(), PlanNodeId::from("j"));
        assert!(slot.publish(&node, 1, Filter::bigint_range(0, 9, true)));
        assert!(slot.publish(&node, 1, Filter::bigint_range(5, 20, false)));
        let filters = slot.next_change(&mut seen).unwrap();
        assert_eq!(filters, [(1, Arc::new(Filter::bigint_range(5, 9, false)))]);
        assert_eq!(slot.next_change(&mut seen), None);
        let strings = Filter::bytes_values(vec![Arc::from(*b"x")], false);
        assert!(!slot.publish(&node, 1, strings));
        assert_eq!(slot.next_change(&mut seen), None);
    }

    #[test]
    fn a_bound_gets_narrower_and_is_taken_back_while_what_joins_said_stays() {
        let slot = ScanFilters::default();
        let (mut seen, top) = (SeenFilters::default(), PlanNodeId::from("t"));
        slot.publish(&PlanNodeId::from("j"), 0, Filter::bigint_range(10, 90, false));
        let mut now = || slot.next_change(&mut seen).map(|mut all| all.remove(0).1);
        now();
        slot.bound(&top, 0, &Filter::bigint_range(i64::MIN, 50, false));
        assert_eq!(now(), Some(Arc::new(Filter::bigint_range(10, 50, false))));
        // The wider bound of another driver changes nothing.
        slot.bound(&top, 0, &Filter::bigint_range(i64::MIN, 70, false));
        assert_eq!(now(), None);
        slot.bound(&top, 0, &Filter::bigint_range(i64::MIN, 20, false));
        assert_eq!(now(), Some(Arc::new(Filter::bigint_range(10, 20, false))));
        slot.unbound(0);
        assert_eq!(now(), Some(Arc::new(Filter::bigint_range(10, 90, false))));
        assert!(!slot.holds_for_all_rows(&top, 0));
    }

    #[test]
    fn only_an_accepted_filter_from_before_the_first_read_holds_for_all_rows() {
        let slot = ScanFilters::default();
        let (early, late) = (PlanNodeId::from("1"), PlanNodeId::from("2"));
        slot.publish(&early, 0, Filter::bigint_range(0, 9, false));
        assert!(slot.holds_for_all_rows(&early, 0), "there are no rows");
        slot.next_change(&mut SeenFilters::default());
        slot.publish(&late, 0, Filter::bigint_range(0, 5, false));
        assert!(slot.holds_for_all_rows(&early, 0), "there are still none");
        slot.installed(&[]);
        assert!(!slot.holds_for_all_rows(&early, 0), "the source may not test it");
        slot.installed(&[0]);
        assert!(slot.holds_for_all_rows(&early, 0));
        assert!(!slot.holds_for_all_rows(&late, 0));
        assert_eq!(slot.producers(), [early, late]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::thread;

    #[test]
    fn loom_a_filter_that_was_there_in_time_holds_while_a_driver_begins_to_read() {
        loom::model(|| {
            let (slot, node) = (Arc::new(ScanFilters::default()), PlanNodeId::from("j"));
            slot.publish(&node, 0, Filter::AlwaysFalse);
            let scan = Arc::clone(&slot);
            let driver = thread::spawn(move || {
                let filters = scan.next_change(&mut SeenFilters::default()).unwrap();
                assert_eq!(filters.len(), 1);
                scan.installed(&[0]);
            });
            let late = PlanNodeId::from("k");
            slot.publish(&late, 0, Filter::AlwaysFalse);
            assert!(slot.holds_for_all_rows(&node, 0));
            driver.join().unwrap();
            assert!(slot.holds_for_all_rows(&node, 0));
        });
    }

    #[test]
    fn loom_who_waits_for_two_tables_goes_on_with_the_filters_of_both() {
        loom::model(|| {
            let slot = Arc::new(ScanFilters::default());
            slot.expect();
            slot.expect();
            let tables = [0, 1].map(|channel| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    slot.publish(&PlanNodeId::from("j"), channel, Filter::AlwaysFalse);
                    slot.settle();
                })
            });
            while let Some(until) = slot.wait_for_filters() {
                until.wait().unwrap();
            }
            assert_eq!(slot.known().len(), 2);
            for table in tables {
                table.join().unwrap();
            }
        });
    }
}
