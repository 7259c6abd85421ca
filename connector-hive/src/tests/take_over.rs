//! Tests of taking over a split that another data source has prepared (rules S6.45 to S6.48), and
//! of batch events (S6.49, S6.50).

use std::time::Duration;

use vector::ErrorKind;
use vector::sync::Mutex;

use super::*;

fn wanted() -> Scan {
    let below = call("lt", vec![field("x", Type::BigInt), int(100)]);
    scan().regular("x", Type::BigInt).key("p", Type::BigInt).condition(below)
}

fn keyed(path: &str, p: &str) -> Arc<HiveSplit> {
    Arc::new(split_in(path, &[("p", Some(p))]))
}

/// The adopting source takes over the split and its counters and keeps its own row count and
/// filters (rules S6.46, S6.47, S6.48).
#[test]
fn s6_45_the_prepared_split_and_its_counters_move() {
    let world = World::new();
    world.put_numbers("a", [1, 2]);
    world.put_numbers("b", [3]);
    let mut active = world.source(wanted()).unwrap();
    active.add_split(keyed("a", "1")).unwrap();
    assert_eq!(drain(active.as_mut()).unwrap().len(), 2);
    let mut prepared = world.source(wanted()).unwrap();
    prepared.add_split(keyed("b", "2")).unwrap();
    active.take_over(prepared.as_mut()).unwrap();
    assert_eq!(drain(active.as_mut()).unwrap(), [[n(3), n(2)]]);
    assert_eq!(active.progress().raw_rows, 3);
    assert_eq!(active.progress().raw_bytes, world.observed.read_bytes());
    let metrics = active.metrics();
    assert_eq!(metrics.sum("processedSplits"), 2);
    assert_eq!(metrics.sum("fileFormat.other"), 2);
    assert_eq!(metrics.sum("processedStrides"), 2);
}

#[test]
fn a_source_whose_split_was_taken_over_prepares_the_next_one() {
    let world = World::new();
    for (name, x) in [("a", 1), ("b", 2), ("c", 3)] {
        world.put_numbers(name, [x]);
    }
    let mut active = world.source(wanted()).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    for (name, x) in [("a", 1), ("b", 2), ("c", 3)] {
        prepared.add_split(keyed(name, "7")).unwrap();
        active.take_over(prepared.as_mut()).unwrap();
        assert_eq!(drain(active.as_mut()).unwrap(), [[n(x), n(7)]]);
    }
    assert_eq!(active.progress().raw_bytes, world.observed.read_bytes());
    assert_eq!(active.metrics().sum("processedSplits"), 3);
    assert_eq!(prepared.progress().raw_bytes, 0);
    assert_eq!(prepared.metrics().sum("processedSplits"), 0);
}

#[test]
fn s12_21_late_filters_of_the_active_source_count_for_the_prepared_split() {
    let world = World::new();
    world.put_numbers("f", 0..10);
    let mut active = world.source(wanted()).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    prepared.add_split(keyed("f", "1")).unwrap();
    let range = |low, high| Arc::new(Filter::bigint_range(low, high, false));
    let filters = active.dynamic_filters().unwrap();
    filters.add_dynamic_filter(0, range(4, 5)).unwrap();
    active.take_over(prepared.as_mut()).unwrap();
    assert_eq!(drain(active.as_mut()).unwrap(), [[n(4), n(1)], [n(5), n(1)]]);
    // A filter that only the prepared source has is kept (rule S12.23).
    let mut third = world.source(wanted()).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    prepared.dynamic_filters().unwrap().add_dynamic_filter(0, range(7, 7)).unwrap();
    prepared.add_split(keyed("f", "1")).unwrap();
    third.take_over(prepared.as_mut()).unwrap();
    assert_eq!(drain(third.as_mut()).unwrap(), [[n(7), n(1)]]);
}

#[test]
fn a_late_filter_on_a_partition_key_drops_the_prepared_split() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let mut active = world.source(wanted()).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    prepared.add_split(keyed("f", "1")).unwrap();
    let two = Arc::new(Filter::bigint_range(2, 2, false));
    active.dynamic_filters().unwrap().add_dynamic_filter(1, two).unwrap();
    active.take_over(prepared.as_mut()).unwrap();
    assert!(matches!(active.next(1).unwrap(), SourcePoll::SplitDone));
}

#[test]
fn s6_45_only_an_idle_source_takes_over_and_only_from_its_own_scan() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let mut active = world.source(wanted()).unwrap();
    let mut other = world.source(scan().key("p", Type::Varchar)).unwrap();
    assert_eq!(active.take_over(other.as_mut()).unwrap_err().kind(), ErrorKind::Internal);
    active.add_split(keyed("f", "1")).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    assert_eq!(active.take_over(prepared.as_mut()).unwrap_err().kind(), ErrorKind::Internal);
    // The current split can still be read.
    assert_eq!(drain(active.as_mut()).unwrap().len(), 1);
}

/// An event has the number of scanned rows and the bytes since the last event, for the registered
/// listener only (rules S6.50, S6.53, S6.59).
#[test]
fn s6_49_events_tell_the_bytes_since_the_last_one_and_none_twice() {
    let world = World::new();
    world.put_numbers("a", [1, 2]);
    world.put_numbers("b", [3]);
    let mut scan = wanted();
    scan.table = scan.table.with_database("db");
    let mut active = world.source(scan).unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let bytes: Arc<Mutex<u64>> = Arc::default();
    let (lines, sum) = (told.clone(), bytes.clone());
    active.set_batch_listener(Arc::new(move |event| {
        let split = event.split.map(|s| (s.path.to_string(), s.partition_keys.map(<[_]>::len)));
        lines
            .lock()
            .push(format!("{:?}.{} {} {split:?}", event.database, event.table, event.num_rows));
        *sum.lock() += event.storage_bytes;
    }));
    active.add_split(keyed("a", "1")).unwrap();
    active.next(5).unwrap();
    active.batch_done(2, Duration::ZERO);
    drain(active.as_mut()).unwrap();
    let mut prepared = world.source(wanted()).unwrap();
    prepared.add_split(Arc::new(split("b"))).unwrap();
    active.take_over(prepared.as_mut()).unwrap();
    active.next(5).unwrap();
    active.batch_done(1, Duration::ZERO);
    active.abandon_split();
    active.batch_done(0, Duration::ZERO);
    let expected = [
        "Some(\"db\").t 2 Some((\"a\", Some(1)))",
        "Some(\"db\").t 1 Some((\"b\", None))",
        "Some(\"db\").t 0 None",
    ];
    assert_eq!(*told.lock(), expected);
    assert_eq!(*bytes.lock(), world.observed.read_bytes());
}
