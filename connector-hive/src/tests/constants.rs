//! Tests of values that are constant for a split (partition keys, synthesized columns, row ids),
//! and of splits that they exclude.

use dwio::filter::Bound;
use dwio::stats::ColumnStatistics;
use vector::{ErrorKind, MetricUnit, Timestamp};

use super::*;
use crate::table::hidden_columns::{BUCKET, FILE_SIZE, PATH};
use crate::{DateText, RowIdProperties};

fn metric(source: &dyn DataSource, name: &str) -> i64 {
    source.metrics().sum(name)
}

#[test]
fn s8_5_a_handle_says_how_dates_are_written() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let handle = |dates| {
        let handle = HiveColumnHandle::new("d", ColumnKind::PartitionKey, Type::Date);
        scan().handle("d", handle.with_date_text(dates))
    };
    let rows = |dates, text| world.read(handle(dates), vec![split_in("f", &[("d", Some(text))])]);
    assert_eq!(rows(DateText::Days, "18263").unwrap(), [[Value::Integer(18_263)]]);
    assert_eq!(rows(DateText::Iso, "2020-01-02").unwrap(), [[Value::Integer(18_263)]]);
    assert_eq!(rows(DateText::Iso, "18263").unwrap_err().kind(), ErrorKind::InvalidInput);
    // The test that excludes splits parses the text the same way (rule S8.3).
    let filtered = handle(DateText::Days).filter("d", Filter::bigint_range(0, 10, false));
    assert_eq!(world.read(filtered, vec![split_in("f", &[("d", Some("11"))])]).unwrap().len(), 0);
}

#[test]
fn s8_9_timestamps_of_partitions_are_local_times_of_a_zone_that_is_set() {
    let mut world = World::new();
    world.put_numbers("f", [1]);
    let rows = |world: &World| {
        let splits = vec![split_in("f", &[("t", Some("2019-12-31 16:00:00"))])];
        world.read(scan().key("t", Type::Timestamp), splits).unwrap()[0][0].clone()
    };
    let utc = Value::Timestamp(Timestamp::parse("2019-12-31 16:00:00").unwrap());
    assert_eq!(rows(&world), utc);
    world.session.set("process_time_zone", "America/Los_Angeles");
    assert_eq!(rows(&world), Value::Timestamp(Timestamp::from_days(18_262)));
    world.session.set("reader.timestamp_partition_value_as_local_time", "false");
    assert_eq!(rows(&world), utc);
}

#[test]
fn s7_57_timestamps_are_cut_towards_the_past_and_pushed_filters_see_all_of_them() {
    let mut world = World::new();
    let at = |text| Timestamp::parse(text).unwrap();
    let values = ["1969-12-31 23:59:59.9999", "2020-01-01 00:00:00.0005"].map(at);
    let nested = |t| map([(n(1), array([row([Value::Timestamp(t)])]))]);
    let ty = Type::map(Type::BigInt, Type::array(Type::row([("t", Type::Timestamp)])));
    let rows = values.map(|t| vec![Value::Timestamp(t), nested(t)]);
    world.put("f", &[("t", Type::Timestamp), ("m", ty.clone())], vec![rows.to_vec()]);
    let wanted = || scan().regular("t", Type::Timestamp).regular("m", ty.clone());
    let cut = |t| vec![Value::Timestamp(t), nested(t)];
    let (old, new) = (at("1969-12-31 23:59:59.999"), at("2020-01-01 00:00:00"));
    assert_eq!(world.read(wanted(), vec![split("f")]).unwrap(), [cut(old), cut(new)]);
    let after = at("2020-01-01 00:00:00.0001");
    let filtered = wanted().filter("t", Filter::timestamp_range(after, at("2030-01-01"), false));
    assert_eq!(world.read(filtered, vec![split("f")]).unwrap(), [cut(new)]);
    world.session.set("reader.timestamp_unit", "9");
    assert_eq!(world.read(wanted(), vec![split("f")]).unwrap(), values.map(cut));
}

#[test]
fn s7_40_every_filter_on_a_partition_key_must_pass() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let filtered = |p, q| {
        scan()
            .regular("x", Type::BigInt)
            .filter_key("p", Type::BigInt)
            .filter_key("q", Type::BigInt)
            .filter("p", p)
            .filter("q", q)
    };
    let one = || Filter::bigint_range(1, 1, false);
    let splits = |q| vec![split_in("f", &[("p", Some("1")), ("q", q)])];
    let rows = |q_filter, q| world.read(filtered(one(), q_filter), splits(q)).unwrap().len();
    assert_eq!(rows(one(), Some("1")), 1);
    assert_eq!(rows(one(), Some("2")), 0);
    assert_eq!(rows(one(), None), 0);
    assert_eq!(rows(Filter::IsNull, None), 1);
    assert_eq!(rows(Filter::IsNull, Some("1")), 0);
}

/// Filters test partition values and widened columns in their own type family; the row count of the
/// file bounds its nulls (rules S7.43, S7.58).
#[test]
fn s8_4_filters_test_partition_values_in_their_own_family() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let count = |ty: Type, text: &str, filter: Filter| {
        let scan = scan().key("p", ty).filter("p", filter);
        world.read(scan, vec![split_in("f", &[("p", Some(text))])]).unwrap().len()
    };
    // 0.1 as a REAL is greater than 0.1 as a DOUBLE; the filter is a REAL filter.
    let tenth =
        || Filter::float_range(Bound::Inclusive(0.1), Bound::Inclusive(0.1), false).unwrap();
    assert_eq!(count(Type::Real, "0.1", tenth()), 1);
    assert_eq!(count(Type::Date, "1970-01-08", Filter::bigint_range(7, 7, false)), 1);
    let short = Type::Decimal { precision: 10, scale: 2 };
    assert_eq!(count(short, "1.5", Filter::bigint_range(150, 150, false)), 1);
    let long = Type::Decimal { precision: 30, scale: 2 };
    assert_eq!(count(long.clone(), "1.5", Filter::hugeint_range(150, 150, false)), 1);
    assert_eq!(count(long, "1.5", Filter::hugeint_range(151, 200, false)), 0);
}

#[test]
fn s7_7_settings_of_a_format_reach_its_reader_without_prefix() {
    let mut world = World::new();
    world.put_numbers("f", [1]);
    world.config.set("hive.fake.footer-size", "1");
    world.config.set("hive.fake.kept", "2");
    world.config.set("hive.other.key", "3");
    world.session.set("fake_footer_size", "4");
    world.read(scan(), vec![split("f")]).unwrap();
    assert_eq!(world.format.options(), ["footer-size=4", "kept=2"]);
}

#[test]
fn s7_40_statistics_of_a_file_exclude_it() {
    let world = World::new();
    world.put_file("f", &[("x", Type::BigInt)], vec![big([1, 5])], |f| {
        f.statistics = Some(ColumnStatistics {
            num_nulls: Some(0),
            min: Some(n(1)),
            max: Some(n(5)),
            ..ColumnStatistics::default()
        });
    });
    let source = |lower, upper, ty: Type| {
        let scan = scan().regular("x", ty).filter("x", Filter::bigint_range(lower, upper, false));
        let mut source = world.source(scan).unwrap();
        source.add_split(Arc::new(split("f"))).unwrap();
        let rows = drain(source.as_mut()).unwrap().len();
        (
            rows,
            metric(source.as_ref(), "skippedSplits"),
            metric(source.as_ref(), "skippedSplitBytes"),
        )
    };
    assert_eq!(source(5, 9, Type::BigInt), (1, 0, 0));
    assert_eq!(source(6, 9, Type::BigInt), (0, 1, 100));
    // Statistics of another type than that of the filter are ignored.
    assert_eq!(source(6, 9, Type::HugeInt).1, 0);
}

/// Metrics are cumulative over splits and count formats, excluded and empty splits and the time of
/// the remaining filter (rules S6.16, S6.22, S6.27, S6.39, S6.52).
#[test]
fn s7_44_kept_excluded_and_empty_splits_are_counted() {
    let mut world = World::new();
    world.session.set("ignore_missing_files", "true");
    world.put_numbers("f", [1]);
    world.put("none", &[("x", Type::BigInt)], vec![vec![]]);
    let scan = scan().regular("x", Type::BigInt).key("p", Type::BigInt);
    let scan = scan.filter("p", Filter::bigint_range(1, 1, false));
    let mut source = world.source(scan).unwrap();
    let keyed = |path, p| split_in(path, &[("p", Some(p))]);
    for split in [
        keyed("f", "1"),
        keyed("f", "2").with_range(20, 30),
        keyed("none", "1"),
        keyed("missing", "1"),
        keyed("f", "3"),
    ] {
        source.add_split(Arc::new(split)).unwrap();
        drain(source.as_mut()).unwrap();
    }
    let counted = |name| metric(source.as_ref(), name);
    assert_eq!((counted("processedSplits"), counted("skippedSplits")), (1, 2));
    assert_eq!(counted("skippedSplitBytes"), 130);
    assert_eq!(counted("fileFormat.other"), 5);
    assert_eq!(counted("processedStrides"), 1);
    let metrics = source.metrics();
    assert!(metrics.get("totalRemainingFilterWallNanos").is_some());
    assert!(metrics.get("numBucketConversion").is_none());
    // The fake format does not mark reads of column data, so all of its reads count as metadata.
    let reads = metrics.get("metadata.storageReadBytes").unwrap();
    assert_eq!(reads.sum as u64, source.progress().raw_bytes);
    assert!(reads.count >= 2 && metrics.get("storageReadBytes").is_none());
    for time in ["metadata.storageReadWallNanos", "metadata.ioWaitWallNanos"] {
        assert_eq!(metrics.get(time).unwrap().unit, MetricUnit::Nanos);
    }
}

/// Synthesized columns have dates in the ISO form (rule S8.6).
#[test]
fn s7_22_any_name_of_the_splits_synthesized_columns_is_a_column() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let kind = ColumnKind::Synthesized;
    let scan = scan()
        .column("p", ColumnKind::Synthesized, Type::Varchar)
        .column("$day", kind, Type::Date)
        .column(BUCKET, kind, Type::Integer)
        .column("absent", kind, Type::Real);
    let split = split("f")
        .with_synthesized_column("p", "text")
        .with_synthesized_column("$day", "1970-01-02")
        .with_bucket(7);
    let row = [Value::bytes("text"), Value::Integer(1), Value::Integer(7), Value::Null];
    assert_eq!(world.read(scan, vec![split]).unwrap(), [row]);
}

/// Assertions on synthesized columns are checked before the file is opened (rule S7.1).
#[test]
fn s7_82_a_filter_on_a_synthesized_column_is_a_promise_of_the_split() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let wanted = |name: &str, ty: Type, filter| {
        let scan = scan().regular("x", Type::BigInt);
        scan.column(name, ColumnKind::Synthesized, ty).filter(name, filter)
    };
    let bucket = |value| split("f").with_bucket(value);
    let three = || Filter::bigint_range(3, 3, false);
    let rows = |scan, split| world.read(scan, vec![split]);
    assert_eq!(rows(wanted(BUCKET, Type::Integer, three()), bucket(3)).unwrap().len(), 1);
    let opens = world.observed.opens();
    let error = rows(wanted(BUCKET, Type::Integer, three()), bucket(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(error.field("value"), Some("2"));
    assert!(error.is_in("column"));
    assert_eq!(world.observed.opens(), opens);
    let path = Filter::bytes_values(vec![Arc::from(*b"f")], false);
    assert_eq!(rows(wanted(PATH, Type::Varchar, path), split("f")).unwrap().len(), 1);
    // A filter on a synthesized column that the split does not define is ignored (rule S7.83).
    assert_eq!(rows(wanted(FILE_SIZE, Type::BigInt, three()), split("f")).unwrap().len(), 1);
    let mut without_handle = scan().regular("x", Type::BigInt);
    without_handle = without_handle.filter(PATH, Filter::IsNotNull);
    assert_eq!(rows(without_handle, split("f")).unwrap_err().kind(), ErrorKind::Internal);
    let day = split("f").with_synthesized_column("$day", "1970-01-02");
    let other = rows(wanted("$day", Type::Date, three()), day).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Internal);
}

#[test]
fn s7_84_conditions_on_synthesized_columns_are_promises_only_when_they_are_plain_filters() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let wanted = |condition: TypedExpr, chosen: bool| {
        let mut scan = scan()
            .regular("x", Type::BigInt)
            .column(PATH, ColumnKind::Synthesized, Type::Varchar)
            .condition(condition);
        if !chosen {
            scan.table = scan.table.with_unchosen_splits();
        }
        world.read(scan, vec![split("f")])
    };
    let path = || field(PATH, Type::Varchar);
    let plain = || call("eq", vec![path(), text("other")]);
    let odd = || call("eq", vec![path(), path()]);
    assert_eq!(wanted(plain(), true).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(wanted(plain(), false).unwrap().len(), 0);
    assert_eq!(wanted(odd(), true).unwrap().len(), 1);
    assert_eq!(wanted(call("eq", vec![path(), text("f")]), true).unwrap().len(), 1);
}

#[test]
fn a_condition_on_a_partition_key_that_a_split_has_not() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let rows = |name: &str| {
        let scan = scan().regular("x", Type::BigInt).filter_key(name, Type::BigInt);
        let condition = call("eq", vec![field(name, Type::BigInt), int(1)]);
        world.read(scan.condition(condition), vec![split("f")])
    };
    assert_eq!(rows("p").unwrap().len(), 0);
    let of_file = scan().filter_key("x", Type::BigInt);
    let condition = call("eq", vec![field("x", Type::BigInt), int(1)]);
    let error = world.read(of_file.condition(condition), vec![split("f")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

fn row_id_type() -> Type {
    Type::row([
        ("row_number", Type::BigInt),
        ("row_group_id", Type::Varchar),
        ("metadata_version", Type::BigInt),
        ("partition_id", Type::BigInt),
        ("table_guid", Type::Varchar),
    ])
}

/// A physical column with the name of the row index column is ignored (rule S7.25).
#[test]
fn s6_58_a_row_id_is_the_rows_number_and_constants_of_the_split() {
    let world = World::new();
    world.put("dir/f", &[("x", Type::BigInt)], vec![big([1, 2]), big([3])]);
    let wanted = |ty| {
        let scan = scan().column("id", ColumnKind::RowId, ty);
        scan.data(&[("x", Type::BigInt)]).filter("x", Filter::bigint_range(2, 3, false))
    };
    let properties =
        RowIdProperties { metadata_version: 3, partition_id: -8, table_guid: "guid".into() };
    let told = split("dir/f").with_row_id(properties);
    let id = |number| vec![row([n(number), Value::bytes("f"), n(3), n(-8), Value::bytes("guid")])];
    assert_eq!(world.read(wanted(row_id_type()), vec![told]).unwrap(), [id(1), id(2)]);
    let untold = world.read(wanted(row_id_type()), vec![split("dir/f")]).unwrap_err();
    assert_eq!(untold.kind(), ErrorKind::Internal);
    assert_eq!(world.source(wanted(Type::BigInt)).err().unwrap().kind(), ErrorKind::Internal);
}

/// Late filters are accepted for columns of the files and constants, and are combined with the
/// filters of the plan (rules S6.44, S12.2, S12.9, S12.10).
#[test]
fn s12_25_late_filters_are_not_for_row_numbers() {
    let world = World::new();
    let scan = scan()
        .regular("x", Type::BigInt)
        .key("p", Type::BigInt)
        .column("n", ColumnKind::RowIndex, Type::BigInt)
        .filter("x", Filter::IsNotNull);
    let mut source = world.source(scan).unwrap();
    let filters = source.dynamic_filters().unwrap();
    assert_eq!([0, 1, 2, 3].map(|c| filters.accepts(c)), [true, true, false, false]);
    assert_eq!(filters.static_filter(0).as_deref(), Some(&Filter::IsNotNull));
    assert_eq!(filters.static_filter(1), None);
    let refused = filters.add_dynamic_filter(2, Arc::new(Filter::IsNull)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Internal);
}
