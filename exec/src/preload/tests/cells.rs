//! Tests every state of an [`AsyncSource`] with every call (rule S13.21).

use std::panic::resume_unwind;
use std::time::Duration;

use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::sync::{Arc, Promise, promise, thread};
use vector::{Error, ErrorKind, Result};

use crate::preload::async_source::{AsyncSource, Phase, PrepareTime};
use crate::testing::eventually;

/// Initial state of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Init,
    Making,
    Prepared,
    PreparedNothing,
    Failed,
    Finished,
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Prepare,
    Take,
    Cancel,
    Close,
    HasValue,
}

/// Result of a call.
#[derive(Debug, PartialEq, Eq)]
enum Gave {
    Done,
    Item,
    Nothing,
    TheError,
    True,
    False,
}

/// A source that counts its makers, items and captured values.
struct Fixture {
    source: Arc<AsyncSource<Arc<()>>>,
    runs: Arc<AtomicUsize>,
    /// Reference-counted witness: one reference is here, and each maker and item has another.
    witness: Arc<()>,
    /// Lets a running maker end.
    gate: Option<Promise>,
    maker: Option<thread::JoinHandle<()>>,
}

impl Fixture {
    fn new(start: Start) -> Self {
        let (witness, runs) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let (gate, opened) = promise();
        let (item, counter) = (Arc::clone(&witness), Arc::clone(&runs));
        let source = Arc::new(AsyncSource::new(Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            if start == Start::Making {
                opened.wait()?;
            }
            match start {
                Start::Failed => Err(Error::corrupt("broken")),
                Start::PreparedNothing => Ok(None),
                _ => Ok(Some(item)),
            }
        })));
        let mut fixture = Fixture { source, runs, witness, gate: Some(gate), maker: None };
        let source = &fixture.source;
        match start {
            Start::Init => {}
            Start::Making => {
                let busy = Arc::clone(source);
                fixture.maker = Some(thread::spawn(move || busy.prepare()));
                // The maker runs, instead of being about to.
                while fixture.runs.load(Ordering::SeqCst) == 0 {
                    thread::yield_now();
                }
            }
            Start::Prepared | Start::PreparedNothing | Start::Failed => source.prepare(),
            Start::Finished => source.close(),
            Start::Cancelled => source.cancel(),
        }
        fixture
    }

    /// Makes the call on this thread, or on another thread if it has to wait, and checks that it
    /// waits.
    fn call(&mut self, call: Call, waits: bool) -> Gave {
        let source = Arc::clone(&self.source);
        let run = move || match call {
            Call::Prepare => done(|| source.prepare()),
            Call::Take => gave(&source.take()),
            Call::Cancel => done(|| source.cancel()),
            Call::Close => done(|| source.close()),
            Call::HasValue if source.has_value() => Gave::True,
            Call::HasValue => Gave::False,
        };
        if !waits {
            return run();
        }
        let waiting = thread::spawn(run);
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished(), "it waits for the maker");
        self.open();
        waiting.join().unwrap()
    }

    fn open(&mut self) {
        self.gate.take().into_iter().for_each(Promise::fulfil);
        self.maker.take().into_iter().for_each(|maker| maker.join().unwrap());
    }

    /// Returns the number of makers and items that are not dropped.
    fn kept(&self) -> usize {
        Arc::strong_count(&self.witness) - 1
    }
}

fn done(call: impl FnOnce()) -> Gave {
    call();
    Gave::Done
}

fn gave(taken: &Result<Option<Arc<()>>>) -> Gave {
    match taken {
        Ok(Some(_)) => Gave::Item,
        Ok(None) => Gave::Nothing,
        Err(error) => {
            assert_eq!((error.kind(), error.message()), (ErrorKind::Corrupt, "broken"));
            Gave::TheError
        }
    }
}

/// Checks one cell of the table: the result of the call, the state after it, how often the maker
/// ran, and how many makers and items are still alive.
fn check(start: Start, call: Call, end: (Gave, Phase, usize, usize)) {
    let waits = start == Start::Making && matches!(call, Call::Take | Call::Close);
    let mut fixture = Fixture::new(start);
    let gave = fixture.call(call, waits);
    let runs = fixture.runs.load(Ordering::SeqCst);
    assert_eq!((gave, fixture.source.phase(), runs, fixture.kept()), end, "{call:?} in {start:?}");
    fixture.open();
}

macro_rules! cells {
    ($($name:ident: $start:ident $call:ident => $gave:ident, $end:ident, $runs:literal, $kept:literal;)*) => {
        $(#[test]
        fn $name() {
            check(Start::$start, Call::$call, (Gave::$gave, Phase::$end, $runs, $kept));
        })*
    };
}

cells! {
    prepare_makes_what_nobody_has_begun: Init Prepare => Done, Prepared, 1, 1;
    prepare_leaves_what_is_being_made: Making Prepare => Done, Making, 1, 1;
    prepare_leaves_an_item: Prepared Prepare => Done, Prepared, 1, 1;
    prepare_leaves_a_prepared_nothing: PreparedNothing Prepare => Done, Prepared, 1, 0;
    prepare_leaves_a_failure: Failed Prepare => Done, Failed, 1, 0;
    prepare_leaves_what_is_finished: Finished Prepare => Done, Finished, 0, 0;
    prepare_never_makes_what_was_cancelled: Cancelled Prepare => Done, Cancelled, 0, 0;

    take_makes_what_nobody_has_begun: Init Take => Item, Finished, 1, 0;
    take_waits_for_what_is_being_made: Making Take => Item, Finished, 1, 0;
    take_gives_the_item: Prepared Take => Item, Finished, 1, 0;
    take_gives_a_prepared_nothing: PreparedNothing Take => Nothing, Finished, 1, 0;
    take_gives_the_error: Failed Take => TheError, Failed, 1, 0;
    take_gives_nothing_of_what_is_finished: Finished Take => Nothing, Finished, 0, 0;
    take_gives_nothing_of_what_was_cancelled: Cancelled Take => Nothing, Cancelled, 0, 0;

    cancel_drops_the_maker: Init Cancel => Done, Cancelled, 0, 0;
    cancel_leaves_what_is_being_made: Making Cancel => Done, Making, 1, 1;
    cancel_drops_the_item: Prepared Cancel => Done, Cancelled, 1, 0;
    cancel_ends_a_prepared_nothing: PreparedNothing Cancel => Done, Cancelled, 1, 0;
    cancel_leaves_a_failure: Failed Cancel => Done, Failed, 1, 0;
    cancel_leaves_what_is_finished: Finished Cancel => Done, Finished, 0, 0;
    cancel_leaves_what_was_cancelled: Cancelled Cancel => Done, Cancelled, 0, 0;

    close_drops_the_maker: Init Close => Done, Finished, 0, 0;
    close_waits_for_what_is_being_made_and_drops_it: Making Close => Done, Finished, 1, 0;
    close_drops_the_item: Prepared Close => Done, Finished, 1, 0;
    close_ends_a_prepared_nothing: PreparedNothing Close => Done, Finished, 1, 0;
    close_leaves_a_failure: Failed Close => Done, Failed, 1, 0;
    close_leaves_what_is_finished: Finished Close => Done, Finished, 0, 0;
    close_leaves_what_was_cancelled: Cancelled Close => Done, Cancelled, 0, 0;

    has_value_is_false_before_the_maker_ran: Init HasValue => False, Init, 0, 1;
    has_value_is_false_while_the_maker_runs: Making HasValue => False, Making, 1, 1;
    has_value_is_true_with_an_item: Prepared HasValue => True, Prepared, 1, 1;
    has_value_is_false_with_a_prepared_nothing: PreparedNothing HasValue => False, Prepared, 1, 0;
    has_value_is_true_with_an_error: Failed HasValue => True, Failed, 1, 0;
    has_value_is_false_when_finished: Finished HasValue => False, Finished, 0, 0;
    has_value_is_false_when_cancelled: Cancelled HasValue => False, Cancelled, 0, 0;
}

#[test]
fn a_second_taker_gets_nothing_while_the_first_one_waits() {
    let mut fixture = Fixture::new(Start::Making);
    let mut takers = [(), ()].map(|()| {
        let source = Arc::clone(&fixture.source);
        Some(thread::spawn(move || gave(&source.take())))
    });
    let is_through = |taker: &Option<thread::JoinHandle<Gave>>| {
        taker.as_ref().is_some_and(thread::JoinHandle::is_finished)
    };
    // There is no item yet: the taker that does not wait is the second one.
    eventually("one of them gets nothing", || takers.iter().any(is_through));
    let second = takers.iter().position(is_through).and_then(|at| takers[at].take());
    assert_eq!(second.unwrap().join().unwrap(), Gave::Nothing);
    fixture.open();
    let first = takers.iter_mut().find_map(Option::take);
    assert_eq!(first.unwrap().join().unwrap(), Gave::Item);
}

#[test]
fn the_error_comes_at_every_call_and_stays() {
    let mut fixture = Fixture::new(Start::Failed);
    for _ in 0..3 {
        assert_eq!(fixture.call(Call::Take, false), Gave::TheError);
        assert!(fixture.source.has_value());
    }
    fixture.source.close();
    assert_eq!(fixture.call(Call::Take, false), Gave::TheError);
}

#[test]
fn an_item_cancelled_after_it_was_made_is_dropped_by_whoever_closes() {
    let mut fixture = Fixture::new(Start::Making);
    fixture.source.cancel();
    fixture.open();
    assert_eq!((fixture.source.phase(), fixture.kept()), (Phase::Prepared, 1));
    fixture.source.cancel();
    assert_eq!((fixture.source.phase(), fixture.kept()), (Phase::Cancelled, 0));
}

#[test]
fn the_time_of_the_maker_is_counted_wherever_it_ran_and_only_then() {
    type Source = AsyncSource<()>;
    let slow = |fails: bool| {
        Source::new(Box::new(move || {
            thread::sleep(Duration::from_millis(5));
            if fails { Err(Error::corrupt("broken")) } else { Ok(Some(())) }
        }))
    };
    let at_least = Duration::from_millis(5);
    let (ahead, inline, failed, cancelled) = (slow(false), slow(false), slow(true), slow(false));
    ahead.prepare();
    assert_eq!(inline.take().unwrap(), Some(()));
    failed.prepare();
    cancelled.cancel();
    cancelled.prepare();
    let time = ahead.prepare_time();
    assert!(time.wall >= at_least && time.cpu < at_least, "it slept: {time:?}");
    ahead.prepare();
    assert_eq!(ahead.prepare_time(), time, "it runs once");
    for ran in [inline, failed] {
        assert!(ran.prepare_time().wall >= at_least);
    }
    assert_eq!(cancelled.prepare_time(), PrepareTime::default());
}

#[test]
fn a_maker_that_panics_has_failed_and_nobody_waits_for_it_forever() {
    let source: AsyncSource<()> = AsyncSource::new(Box::new(|| resume_unwind(Box::new("quiet"))));
    source.prepare();
    assert_eq!(source.take().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn who_does_not_want_to_hold_its_thread_is_told_when_the_item_is_made() {
    let mut fixture = Fixture::new(Start::Making);
    let until = fixture.source.until_made().unwrap();
    assert!(!until.is_ready());
    fixture.open();
    until.wait().unwrap();
    assert!(fixture.source.until_made().is_none() && fixture.source.has_value());
    assert_eq!(fixture.call(Call::Take, false), Gave::Item);
}
