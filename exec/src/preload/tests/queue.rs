//! Tests which splits are prepared, and which one is taken (rules S11.56 to S11.58, S13.4).

use vector::sync::{Arc, Mutex};

use dwio::connector::ConnectorSplit;

use crate::preload::async_source::{AsyncSource, Phase};
use crate::preload::{SplitPreloader, SplitPreparation};
use crate::split_source::{SplitPoll, SplitSource};
use crate::task::split_queue::{SplitOrder, SplitQueue};
use crate::testing::Script;

/// A preloader that records the preparations to start.
#[derive(Default)]
struct Kept {
    quota: usize,
    started: Mutex<Vec<Arc<SplitPreparation>>>,
}

impl SplitPreloader for Kept {
    fn quota(&self) -> usize {
        self.quota
    }

    /// Fails; for readiness an error is equivalent to an item.
    fn preparation(&self, split: &Arc<dyn ConnectorSplit>) -> Arc<SplitPreparation> {
        let error = vector::Error::io(split.describe());
        Arc::new(AsyncSource::new(Box::new(move || Err(error))))
    }

    fn start(&self, preparation: Arc<SplitPreparation>) {
        self.started.lock().push(preparation);
    }
}

impl Kept {
    fn with_quota(quota: usize) -> Self {
        Kept { quota, ..Kept::default() }
    }

    fn num_started(&self) -> usize {
        self.started.lock().len()
    }

    /// Runs the preparation that was started as number `i`.
    fn prepare(&self, i: usize) {
        self.started.lock()[i].prepare();
    }
}

/// A queue of splits with 0, 1, 2, ... reads, which identify them.
fn queue(order: SplitOrder, num_splits: usize) -> SplitQueue {
    let queue = SplitQueue::new(order);
    for i in 0..num_splits {
        let acts = std::iter::repeat_n(crate::testing::Act::Block, i);
        queue.add(Arc::new(Script(acts.collect()))).unwrap();
    }
    queue.no_more();
    queue
}

/// Returns the number of the taken split and whether it has a preparation.
fn take(queue: &SplitQueue, preloader: &Kept) -> Option<(usize, bool)> {
    match queue.next_split(0, Some(preloader)).unwrap() {
        SplitPoll::Split(taken) => {
            let script = taken.split.as_any().downcast_ref::<Script>().unwrap();
            Some((script.0.len(), taken.preparation.is_some()))
        }
        _ => None,
    }
}

#[test]
fn the_taken_split_is_left_to_its_taker_and_the_next_ones_are_prepared() {
    let (queue, preloader) = (queue(SplitOrder::ReadyFirst, 5), Kept::with_quota(2));
    assert_eq!(take(&queue, &preloader), Some((0, false)));
    assert_eq!(preloader.num_started(), 2);
    assert_eq!(take(&queue, &preloader), Some((1, true)));
    assert_eq!(preloader.num_started(), 3);
    let rest: Vec<_> = std::iter::from_fn(|| take(&queue, &preloader)).collect();
    assert_eq!(rest, [(2, true), (3, true), (4, true)]);
    assert_eq!(preloader.num_started(), 4, "each is prepared once");
}

#[test]
fn a_single_split_and_a_quota_of_none_prepare_nothing() {
    for (num_splits, quota) in [(1, 2), (4, 0)] {
        let (queue, preloader) =
            (queue(SplitOrder::ReadyFirst, num_splits), Kept::with_quota(quota));
        for i in 0..num_splits {
            assert_eq!(take(&queue, &preloader), Some((i, false)));
        }
        assert_eq!(preloader.num_started(), 0);
    }
}

#[test]
fn several_drivers_take_the_first_ready_split_within_the_quota_else_the_first() {
    let (queue, preloader) = (queue(SplitOrder::ReadyFirst, 6), Kept::with_quota(3));
    assert_eq!(take(&queue, &preloader), Some((0, false)));
    preloader.prepare(1);
    assert_eq!(take(&queue, &preloader), Some((2, true)));
    assert_eq!(take(&queue, &preloader), Some((1, true)), "none is ready");
    // Splits 3, 4 and 5 are queued; the quota covers all of them.
    preloader.prepare(4);
    preloader.prepare(3);
    assert_eq!(take(&queue, &preloader), Some((4, true)));
    assert_eq!(take(&queue, &preloader), Some((5, true)));
    assert_eq!(take(&queue, &preloader), Some((3, true)));
    assert_eq!(take(&queue, &preloader), None);
}

#[test]
fn a_single_driver_takes_splits_as_they_were_added() {
    let (queue, preloader) = (queue(SplitOrder::Added, 4), Kept::with_quota(3));
    assert_eq!(take(&queue, &preloader), Some((0, false)));
    preloader.prepare(2);
    let rest: Vec<_> = std::iter::from_fn(|| take(&queue, &preloader)).collect();
    assert_eq!(rest, [(1, true), (2, true), (3, true)]);
}

#[test]
fn the_end_of_the_task_drops_what_was_prepared_for_splits_that_nobody_took() {
    let (queue, preloader) = (queue(SplitOrder::ReadyFirst, 4), Kept::with_quota(3));
    assert_eq!(take(&queue, &preloader), Some((0, false)));
    queue.drop_preparations();
    let phases: Vec<Phase> = preloader.started.lock().iter().map(|p| p.phase()).collect();
    assert_eq!(phases, [Phase::Cancelled; 3]);
}
