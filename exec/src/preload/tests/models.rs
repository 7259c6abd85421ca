//! Tests an [`AsyncSource`] in all orders of its threads.

use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, ModelArc, thread};

use crate::preload::async_source::{AsyncSource, Phase};

/// A source that counts the runs of its makers and the drops of its items.
struct Counted {
    source: Arc<AsyncSource<Item>>,
    runs: ModelArc<AtomicUsize>,
    drops: ModelArc<AtomicUsize>,
}

struct Item(ModelArc<AtomicUsize>);

impl Drop for Item {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counted {
    fn new() -> Self {
        let runs = ModelArc::new(AtomicUsize::new(0));
        let drops = ModelArc::new(AtomicUsize::new(0));
        let (counter, item) = (ModelArc::clone(&runs), Item(ModelArc::clone(&drops)));
        let source = Arc::new(AsyncSource::new(Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Some(item))
        })));
        Counted { source, runs, drops }
    }

    fn on_thread<R: 'static>(
        &self,
        call: impl FnOnce(&AsyncSource<Item>) -> R + 'static,
    ) -> thread::JoinHandle<R> {
        let source = Arc::clone(&self.source);
        thread::spawn(move || call(&source))
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn drops(&self) -> usize {
        self.drops.load(Ordering::SeqCst)
    }
}

#[test]
fn loom_the_maker_runs_once_and_the_taker_always_gets_the_item() {
    loom::model(|| {
        let counted = Counted::new();
        let ahead = counted.on_thread(AsyncSource::prepare);
        assert!(counted.source.take().unwrap().is_some());
        ahead.join().unwrap();
        assert_eq!((counted.runs(), counted.drops()), (1, 1));
        assert_eq!(counted.source.phase(), Phase::Finished);
    });
}

#[test]
fn loom_close_against_maker_and_taker_loses_nobody_and_drops_once() {
    loom::model(|| {
        let counted = Counted::new();
        let ahead = counted.on_thread(AsyncSource::prepare);
        let closing = counted.on_thread(AsyncSource::close);
        let taken = counted.source.take().unwrap();
        closing.join().unwrap();
        ahead.join().unwrap();
        drop(taken);
        assert!(counted.runs() <= 1);
        assert_eq!(counted.drops(), 1);
        assert_eq!(counted.source.phase(), Phase::Finished);
    });
}

#[test]
fn loom_a_stop_leaves_no_item_behind_whether_it_sees_it_or_the_maker_sees_the_stop() {
    loom::model(|| {
        let counted = Counted::new();
        let stop = vector::sync::CancelFlag::new();
        let seen = stop.clone();
        let ahead = counted.on_thread(move |source| {
            source.prepare();
            if seen.is_cancelled() {
                source.cancel();
            }
        });
        stop.cancel();
        counted.source.cancel();
        ahead.join().unwrap();
        assert_eq!(counted.drops(), 1);
        assert_eq!(counted.source.phase(), Phase::Cancelled);
    });
}

#[test]
fn loom_who_leaves_its_thread_until_the_item_is_made_comes_back() {
    loom::model(|| {
        let counted = Counted::new();
        let ahead = counted.on_thread(AsyncSource::prepare);
        if let Some(until) = counted.source.until_made() {
            until.wait().unwrap();
            assert!(counted.source.has_value());
        }
        assert!(counted.source.take().unwrap().is_some());
        ahead.join().unwrap();
    });
}
