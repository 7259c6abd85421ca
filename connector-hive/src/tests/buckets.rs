//! Tests of bucket conversion: a split reads only the rows of its bucket (rules S6.54 to S6.57).

use vector::ErrorKind;

use super::*;
use crate::BucketConversion;
use crate::split::bucket_hash::buckets;

const B: Type = Type::BigInt;

fn key(name: &str) -> HiveColumnHandle {
    HiveColumnHandle::new(name, ColumnKind::Regular, B)
}

fn converted(table: u32, partition: u32, wanted: u32, keys: Vec<HiveColumnHandle>) -> HiveSplit {
    let conversion =
        BucketConversion { table_buckets: table, partition_buckets: partition, columns: keys };
    split("f").with_bucket(wanted).with_bucket_conversion(conversion)
}

/// Creates a file with the rows `k, v = 10 * k` of one of `partition` buckets.
fn world(partition: i64, bucket: i64) -> World {
    let world = World::new();
    let rows = (0..60).filter(|k| k % partition == bucket).map(|k| vec![n(k), n(10 * k)]);
    world.put("f", &[("k", B), ("v", B)], vec![rows.collect()]);
    world
}

fn wanted() -> Scan {
    scan().regular("v", B).data(&[("k", B), ("v", B)])
}

#[test]
fn s6_57_rows_of_the_expected_bucket_are_kept() {
    // The hash of a small non-negative integer is the integer.
    let world = world(2, 1);
    let rows = |bucket| world.read(wanted(), vec![converted(6, 2, bucket, vec![key("k")])]);
    let of = |bucket| big((0..60).filter(|k| k % 6 == bucket).map(|k| 10 * k));
    for bucket in [1, 3, 5] {
        assert_eq!(rows(bucket).unwrap(), of(i64::from(bucket)));
    }
    // Numbers of buckets need not be powers of two, and the row's bucket may be the smaller one
    // (rule S6.57).
    let error = rows(2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(error.message(), "a row is in a file of another bucket");
}

/// Each split has its own reader and its own read columns; the scan's columns do not change (rules
/// S6.18, S6.21, S6.23, S6.56, S7.3, S7.19).
#[test]
fn s6_55_hidden_bucket_columns_are_read_and_not_given_out() {
    let world = world(2, 0);
    let split = || converted(4, 2, 2, vec![key("k")]);
    // Alternates with files that have the table's buckets, and with all kinds of filters.
    let condition = call("gt", vec![call("plus", vec![field("k", B), int(1)]), int(30)]);
    let scan = wanted().filter("k", Filter::bigint_range(0, 50, false)).condition(condition);
    let rows = world.read(scan, vec![split(), super::split("f"), split()]).unwrap();
    let converted = big((30..=50).filter(|k| k % 4 == 2).map(|k| 10 * k));
    let all = big((30..=50).filter(|k| k % 2 == 0).map(|k| 10 * k));
    assert_eq!(rows, [converted.clone(), all, converted].concat());
    let mut source = world.source(wanted()).unwrap();
    source.add_split(Arc::new(split())).unwrap();
    assert_eq!(drain(source.as_mut()).unwrap().len(), 15);
    assert_eq!(source.metrics().sum("numBucketConversion"), 1);
    assert_eq!(source.progress().raw_rows, 30);
}

#[test]
fn s6_55_a_pruned_bucket_column_is_read_whole() {
    let world = World::new();
    let ty = || Type::row([("a", B), ("b", B)]);
    let values: Vec<Value> = (0..20).map(|i| row([n(i % 3), n(i)])).collect();
    let all = vector::build::vector_of(&ty(), &values).unwrap();
    let number = buckets(&[all], 20, 4).unwrap();
    let in_file = |i: &usize| number[*i] % 2 == 1;
    let rows = (0..20).filter(in_file).map(|i| vec![values[i].clone()]);
    world.put("f", &[("s", ty())], vec![rows.collect()]);
    let handle = HiveColumnHandle::new("s", ColumnKind::Regular, ty());
    let pruned = handle.clone().with_required_subfields(vec![Subfield::parse("s.a").unwrap()]);
    let scan = scan().data(&[("s", ty())]).handle("s", pruned.unwrap());
    let rows = world.read(scan, vec![converted(4, 2, 3, vec![handle])]).unwrap();
    let expected = (0..20).filter(|i| number[*i] == 3).map(|i| vec![values[i].clone()]);
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

#[test]
fn s6_57_lazy_columns_are_loaded_for_the_rows_of_the_bucket() {
    let world = World::new();
    let rows = (0..8).map(|k| vec![n(k), n(-k)]).collect();
    world.put("f", &[("k", B), ("lazy", B)], vec![rows]);
    let scan = scan().regular("lazy", B).data(&[("k", B), ("lazy", B)]);
    let mut source = world.source(scan).unwrap();
    source.add_split(Arc::new(converted(4, 1, 3, vec![key("k")]))).unwrap();
    let SourcePoll::Batch(batch) = source.next(100).unwrap() else { panic!() };
    assert_eq!(rows_of(&batch).unwrap(), big([-3, -7]));
    assert_eq!(world.format.loads(), [2]);
}

#[test]
fn s6_54_a_split_that_contradicts_itself_or_its_table_is_refused() {
    let world = world(1, 0);
    let no_bucket = HiveSplit { bucket: None, ..converted(4, 2, 1, vec![key("k")]) };
    let partition = HiveColumnHandle::new("k", ColumnKind::PartitionKey, B);
    let no_schema = scan().regular("v", B);
    for (scan, split) in [
        (wanted(), converted(4, 4, 1, vec![key("k")])),
        (wanted(), no_bucket),
        (wanted(), converted(4, 2, 1, vec![partition])),
        (wanted(), converted(4, 2, 1, vec![key("nowhere")])),
        (wanted(), converted(4, 2, 1, vec![])),
        (wanted(), converted(4, 0, 1, vec![key("k")])),
        (no_schema, converted(4, 2, 1, vec![key("k")])),
    ] {
        let error = world.read(scan, vec![split]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    }
}
