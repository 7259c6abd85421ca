//! Tests of the data source: splits in, rows out.

use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::subfield::Subfield;
use vector::{Encoding, Error, ErrorKind};

use super::*;
use crate::table::hidden_columns::{FILE_SIZE, PATH, ROW_INDEX};

/// The file of a split that its partition excludes is not opened (rule S7.2).
#[test]
fn of_2000_partitions_only_the_files_asked_for_are_opened() {
    let world = World::new();
    for n in 0..2000 {
        world.put_numbers(&format!("t/n={n}/f"), [n * 10, n * 10 + 1]);
    }
    let table = world.discover("t").unwrap();
    assert_eq!(world.observed.opens(), 0);
    let condition = || {
        all(vec![
            call("gt", vec![field("n", Type::BigInt), int(1996)]),
            call("gt", vec![field("x", Type::BigInt), int(19_970)]),
        ])
    };
    let scan =
        || scan().regular("x", Type::BigInt).filter_key("n", Type::BigInt).condition(condition());
    let wanted = big([19_971, 19_980, 19_981, 19_990, 19_991]);

    // The partitions are pruned when the splits are made, ...
    let mut predicate = predicate(&condition(), &table.partition_columns);
    let splits = table.splits(Some(&mut predicate), &split_options()).unwrap();
    assert_eq!(splits.len(), 3);
    assert_eq!(world.read(scan(), splits).unwrap(), wanted);
    assert_eq!(world.observed.opened(), ["t/n=1997/f", "t/n=1998/f", "t/n=1999/f"]);

    // ... or when the splits are read.
    let splits = table.splits(None, &split_options()).unwrap();
    assert_eq!(splits.len(), 2000);
    assert_eq!(world.read(scan(), splits).unwrap(), wanted);
    assert_eq!(world.observed.opens(), 6);
}

#[test]
fn s7_21_a_partition_value_wins_over_a_column_of_the_file() {
    let world = World::new();
    world.put("f", &[("p", Type::BigInt)], vec![big([1, 2])]);
    let rows = |value: Option<&str>| {
        world.read(scan().key("p", Type::BigInt), vec![split_in("f", &[("p", value)])])
    };
    assert_eq!(rows(Some("1")).unwrap(), big([1, 1]));
    assert_eq!(rows(None).unwrap(), [[Value::Null], [Value::Null]]);
    assert_eq!(
        rows(Some("one")).unwrap_err().to_string(),
        "invalid input: a partition value is not of its column's type \
         (column=p text=one type=BIGINT)\n  in file \"f\""
    );
    // Without a partition value the column is read from the file.
    let rows = |name| world.read(scan().key(name, Type::BigInt), vec![split("f")]).unwrap();
    assert_eq!(rows("p"), big([1, 2]));
    assert_eq!(rows("q"), [[Value::Null], [Value::Null]]);
    let regular = scan().regular("p", Type::BigInt);
    let error = world.read(regular, vec![split_in("f", &[("p", Some("1"))])]).unwrap_err();
    assert_eq!(error.message(), "column handle missing for partition key");
}

/// A missing column is a constant of the requested type, independent of the files read before
/// (rules S7.23, S7.24, S7.28, S7.59).
#[test]
fn a_column_that_a_file_has_not_is_null_whatever_was_read_before() {
    let world = World::new();
    world.put("a", &[("x", Type::BigInt)], vec![big([1])]);
    let both = vec![vec![Value::bytes("c"), Value::BigInt(2)]];
    world.put("b", &[("c", Type::Varchar), ("x", Type::BigInt)], vec![both]);
    let scan = || scan().regular("x", Type::BigInt).regular("c", Type::Varchar);
    let a = vec![Value::BigInt(1), Value::Null];
    let b = vec![Value::BigInt(2), Value::bytes("c")];
    let rows = |order: [&str; 2]| world.read(scan(), order.map(split).to_vec()).unwrap();
    assert_eq!(rows(["a", "b"]), [a.clone(), b.clone()]);
    assert_eq!(rows(["b", "a"]), [b, a]);
}

/// A filter that rejects null excludes each file that lacks its column (rules S6.13, S7.40, S7.45).
#[test]
fn a_filter_on_a_missing_column_decides_about_the_whole_file() {
    let world = World::new();
    world.put_numbers("f", [1, 2]);
    let rows = |filter: Filter| {
        let mut scan = scan().regular("x", Type::BigInt);
        let columns = RowType::new([("x", Type::BigInt), ("y", Type::BigInt)]);
        scan.table = scan
            .table
            .with_data_columns(Arc::new(columns))
            .with_filter(Subfield::column("y"), Arc::new(filter));
        world.read(scan, vec![split("f")]).unwrap().len()
    };
    assert_eq!(rows(Filter::IsNull), 2);
    assert_eq!(rows(Filter::IsNotNull), 0);
    let mut unknown = scan().regular("x", Type::BigInt);
    unknown.table = unknown.table.with_filter(Subfield::column("y"), Arc::new(Filter::IsNull));
    assert_eq!(world.source(unknown).err().unwrap().kind(), ErrorKind::Internal);
}

/// A filter on a partition key excludes files without opening them (rules S6.5, S7.40).
#[test]
fn a_filter_on_a_partition_key_keeps_the_file_closed() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let filtered = || {
        let mut scan = scan().regular("x", Type::BigInt).filter_key("p", Type::BigInt);
        scan.table = scan.table.with_filter(Subfield::column("p"), Arc::new(Filter::IsNotNull));
        scan
    };
    let rows = |p| world.read(filtered(), vec![split_in("f", &[("p", p)])]).unwrap().len();
    assert_eq!((rows(None), world.observed.opens()), (0, 0));
    assert_eq!((rows(Some("1")), world.observed.opens()), (1, 1));
}

#[test]
fn columns_of_one_name_are_told_apart_by_their_order() {
    let world = World::new();
    let names = [("x", Type::BigInt), ("y", Type::BigInt), ("x", Type::Varchar)];
    let row = vec![Value::BigInt(1), Value::BigInt(2), Value::bytes("c")];
    world.put("t/f", &names, vec![vec![row]]);
    let table = world.discover("t").unwrap();
    let pool = MemoryPool::unlimited();
    let inferred = world.connector().table_schema(&table, &fake(), 8, &pool).unwrap();
    let schema = inferred.schema;
    let x = |n, ty: Type| schema.column_handle("x").unwrap().with_occurrence(n, ty);
    let both = || {
        let (first, second) = (x(0, Type::BigInt), x(1, Type::Varchar));
        scan().handle("x", first).handle("other", second)
    };
    let row = vec![Value::BigInt(1), Value::bytes("c")];
    assert_eq!(world.read(both(), vec![split("t/f")]).unwrap(), std::slice::from_ref(&row));
    // A condition refers to the second column by its numbered name.
    let second = |value| call("eq", vec![field("x#2", Type::Varchar), text(value)]);
    for (value, rows) in [("c", 1), ("d", 0)] {
        let scan = both().condition(second(value));
        assert_eq!(world.read(scan, vec![split("t/f")]).unwrap().len(), rows);
        let mut scan = scan_of_table(&schema);
        scan.table = scan.table.with_remaining_filter(Some(second(value)));
        assert_eq!(world.read(scan, vec![split("t/f")]).unwrap().len(), rows);
    }
    let third = scan().handle("x", x(2, Type::Real));
    assert_eq!(world.read(third, vec![split("t/f")]).unwrap(), [[Value::Null]]);
}

fn scan_of_table(schema: &crate::TableSchema) -> Scan {
    Scan { outputs: Vec::new(), table: schema.table_handle("hive", "t") }
}

/// Filters are extracted from the condition; the remaining filter keeps rows for which it is true,
/// not null (rules S6.8, S6.9, S6.33, S6.38).
#[test]
fn filters_are_found_in_the_condition_and_the_rest_is_evaluated() {
    let world = World::new();
    world.put_numbers("f", 0..10);
    let x = || field("x", Type::BigInt);
    let sum = call("plus", vec![x(), x()]);
    let condition = all(vec![
        call("gt", vec![x(), call("plus", vec![int(1), int(2)])]),
        call("lt", vec![x(), int(7)]),
        call("gt", vec![sum, int(10)]),
    ]);
    let mut source = world.source(scan().regular("x", Type::BigInt).condition(condition)).unwrap();
    source.add_split(Arc::new(split("f"))).unwrap();
    assert_eq!(drain(source.as_mut()).unwrap(), big([6]));
    assert_eq!(source.progress().raw_rows, 10);
}

/// Columns that only the remaining filter uses are read and are not in the output (rules S6.10,
/// S6.34, S6.35, S6.38).
#[test]
fn the_remaining_filter_may_use_columns_that_are_not_given() {
    let world = World::new();
    let rows = (0..10).map(|i| vec![Value::BigInt(i), Value::BigInt(10 - i)]).collect();
    world.put("f", &[("x", Type::BigInt), ("y", Type::BigInt)], vec![rows]);
    let sum = |a: &str, b: &str| call("plus", vec![field(a, Type::BigInt), field(b, Type::BigInt)]);
    let rows = |condition: TypedExpr| {
        let scan = scan().regular("x", Type::BigInt).filter_key("p", Type::BigInt);
        world.read(scan.condition(condition), vec![split_in("f", &[("p", Some("100"))])])
    };
    // A term that mixes partition and file columns is evaluated on rows.
    let mixed = call("gt", vec![sum("y", "p"), int(107)]);
    assert_eq!(rows(mixed).unwrap(), big([0, 1, 2]));
    assert_eq!(rows(call("gt", vec![sum("x", "y"), int(10)])).unwrap(), big([]));
    assert_eq!(rows(call("eq", vec![sum("x", "y"), int(10)])).unwrap(), big(0..10));
    let null = TypedExpr::constant(Value::Null, Type::BigInt);
    assert_eq!(rows(call("eq", vec![sum("x", "y"), null])).unwrap(), big([]));
    let error = rows(call("fail", vec![field("x", Type::BigInt)])).unwrap_err();
    assert_eq!(error.to_string(), "invalid input: asked to fail\n  in file \"f\"");
}

/// A scan without output columns returns batches with a number of rows (rule S6.34).
#[test]
fn a_scan_without_columns_still_counts_rows() {
    let world = World::new();
    world.put_numbers("f", 0..10);
    assert_eq!(world.read(scan(), vec![split("f")]).unwrap().len(), 10);
    let some = scan().condition(call("gt", vec![field("x", Type::BigInt), int(6)]));
    assert_eq!(world.read(some, vec![split("f")]).unwrap().len(), 3);
}

/// Lazy columns are returned unloaded, wrapped in the dictionary of the passing rows (rule S6.36).
#[test]
fn late_columns_stay_lazy_and_are_read_for_the_rows_that_passed() {
    let world = World::new();
    let rows = (0..3).map(|i| vec![Value::BigInt(i), Value::BigInt(-i)]).collect();
    world.put("f", &[("x", Type::BigInt), ("lazy", Type::BigInt)], vec![rows]);
    let scan = scan().regular("lazy", Type::BigInt);
    let mut source =
        world.source(scan.condition(call("gt", vec![field("x", Type::BigInt), int(0)]))).unwrap();
    source.add_split(Arc::new(split("f"))).unwrap();
    let SourcePoll::Batch(batch) = source.next(10).unwrap() else { panic!() };
    assert_eq!(batch.children()[0].encoding(), Encoding::Lazy);
    assert_eq!(world.format.loads(), []);
    assert_eq!(rows_of(&batch).unwrap(), big([-1, -2]));
    assert_eq!(world.format.loads(), [2]);
}

/// A lazy column of the remaining filter is loaded for all rows that the output may need (rule
/// S6.12).
#[test]
fn a_lazy_column_that_the_filter_uses_is_loaded_once_for_all_rows() {
    let world = World::new();
    world.put("f", &[("lazy", Type::BigInt)], vec![big([1, 2, 3])]);
    let sum = call("plus", vec![field("lazy", Type::BigInt), int(1)]);
    let condition = call("gt", vec![sum, int(2)]);
    let scan = scan().regular("lazy", Type::BigInt).condition(condition);
    assert_eq!(world.read(scan, vec![split("f")]).unwrap(), big([2, 3]));
    assert_eq!(world.format.loads(), [3]);
}

#[test]
fn a_column_of_a_later_term_is_loaded_for_the_rows_that_the_terms_before_left() {
    let world = World::new();
    let rows = (0..9).map(|i| vec![Value::BigInt(i), Value::BigInt(-i)]).collect();
    world.put("f", &[("x", Type::BigInt), ("lazy", Type::BigInt)], vec![rows]);
    // Readers cannot test sums, so this term is in the remaining filter.
    let sum = |name| call("plus", vec![field(name, Type::BigInt), int(0)]);
    let (x, lazy) = (|| sum("x"), || sum("lazy"));
    let above = call("gt", vec![x(), int(3)]);
    let below = call("lt", vec![lazy(), int(-5)]);
    let read = |terms| {
        let scan = scan().regular("lazy", Type::BigInt);
        let before = world.format.loads().len();
        let rows = world.read(scan.condition(super::all(terms)), vec![split("f")]);
        (rows, world.format.loads()[before..].iter().sum::<usize>())
    };
    let (rows, loads) = read(vec![above.clone(), below.clone()]);
    assert_eq!((rows.unwrap(), loads), (big([-6, -7, -8]), 6));
    // The term that needs no further column is evaluated first, in any order of the terms.
    let tight = call("gt", vec![x(), int(7)]);
    let (rows, loads) = read(vec![above.clone(), below.clone(), tight]);
    assert_eq!((rows.unwrap(), loads), (big([-8]), 1));
    // If most rows pass, reading all rows costs less than selecting.
    let most = call("gt", vec![x(), int(-1)]);
    assert_eq!(read(vec![most, below.clone()]).1, 9);
    let none = call("gt", vec![x(), int(100)]);
    assert_eq!(read(vec![none, below.clone()]).1, 0);
    // An evaluation error on rows that another term rejects is ignored.
    let fails = call("fail", vec![x()]);
    let none = call("gt", vec![lazy(), int(100)]);
    assert_eq!(read(vec![fails.clone(), none]).0.unwrap(), big([]));
    assert!(read(vec![fails, below]).0.is_err());
}

/// The byte range of the split selects the row groups that start in it (rules S7.9, S7.70).
#[test]
fn a_row_group_belongs_to_the_split_in_which_it_starts() {
    let world = World::new();
    world.put("f", &[("x", Type::BigInt)], vec![big([1]), big([2, 3]), big([4])]);
    let part = |start, length| {
        world.read(scan().regular("x", Type::BigInt), vec![split("f").with_range(start, length)])
    };
    assert_eq!(part(0, 100).unwrap(), big([1]));
    assert_eq!(part(0, 101).unwrap(), big([1, 2, 3]));
    assert_eq!(part(101, 98).unwrap(), big([]));
    assert_eq!(part(101, u64::MAX).unwrap(), big([4]));
    let table = world.discover("f").unwrap();
    for target_bytes in [1, 7, 50, 100, 150, 1000] {
        let options = SplitOptions { target_bytes, ..split_options() };
        let splits = table.splits(None, &options).unwrap();
        let rows = world.read(scan().regular("x", Type::BigInt), splits).unwrap();
        assert_eq!(rows, big([1, 2, 3, 4]), "{target_bytes}");
    }
}

/// A row number is the 0-based position in the file, independent of filters and skipped row groups
/// (rules S7.76, S7.85).
#[test]
fn row_numbers_count_from_the_files_start_and_survive_filters() {
    let world = World::new();
    let with_nulls = vec![
        vec![vec![Value::BigInt(0)], vec![Value::Null], vec![Value::BigInt(2)]],
        vec![vec![Value::Null], vec![Value::BigInt(4)]],
    ];
    world.put("f", &[("x", Type::BigInt)], with_nulls);
    let mut scan = scan().column(ROW_INDEX, ColumnKind::RowIndex, Type::BigInt);
    scan.table = scan
        .table
        .with_data_columns(Arc::new(RowType::new([("x", Type::BigInt)])))
        .with_filter(Subfield::column("x"), Arc::new(Filter::IsNotNull));
    let late = call("gt", vec![field(ROW_INDEX, Type::BigInt), int(0)]);
    assert_eq!(world.read(scan.condition(late), vec![split("f")]).unwrap(), big([2, 4]));
}

/// Synthesized columns have the values of the split (rules S6.4, S7.22, S7.81).
#[test]
fn columns_made_from_the_split_are_constants() {
    let world = World::new();
    world.put_numbers("dir/f", [1]);
    let table = world.discover("dir").unwrap();
    let synthesized = ColumnKind::Synthesized;
    let scan = scan()
        .column(PATH, synthesized, Type::Varchar)
        .column(FILE_SIZE, synthesized, Type::BigInt)
        .column("$file_modified_time", synthesized, Type::BigInt)
        .condition(call("eq", vec![field(PATH, Type::Varchar), text("dir/f")]));
    let splits = table.splits(None, &split_options()).unwrap();
    let row = vec![Value::bytes("dir/f"), Value::BigInt(100), Value::Null];
    assert_eq!(world.read(scan, splits).unwrap(), [row]);
}

/// Handles are identified by the table's column name, and only constants may have two outputs
/// (rules S6.2, S6.3, S6.5).
#[test]
fn only_a_partition_key_may_be_given_twice() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let twice = |name: &str, kind| {
        let handle = HiveColumnHandle::new(name, kind, Type::BigInt);
        scan().handle("a", handle.clone()).handle("b", handle)
    };
    let splits = vec![split_in("f", &[("p", Some("5"))])];
    let rows = world.read(twice("p", ColumnKind::PartitionKey), splits).unwrap();
    assert_eq!(rows, [[Value::BigInt(5), Value::BigInt(5)]]);
    let error = world.source(twice("x", ColumnKind::Regular)).err().unwrap();
    assert_eq!(error.message(), "a table column is mapped to two outputs; a projection is needed");
    let differing = twice("p", ColumnKind::PartitionKey).filter_key("p", Type::Varchar);
    assert_eq!(world.source(differing).err().unwrap().kind(), ErrorKind::Internal);
}

/// An empty file is an empty split; a missing file is an error unless a setting ignores it (rules
/// S7.13, S7.16, S7.17).
#[test]
fn empty_and_missing_files_are_told_apart() {
    let mut world = World::new();
    world.files.put("empty", vec![]);
    world.put("no_rows", &[("x", Type::BigInt)], vec![vec![]]);
    let rows =
        |world: &World, path| world.read(scan().regular("x", Type::BigInt), vec![split(path)]);
    assert_eq!(rows(&world, "empty").unwrap(), big([]));
    assert_eq!(rows(&world, "no_rows").unwrap(), big([]));
    let error = rows(&world, "nowhere").unwrap_err();
    assert_eq!(error.to_string(), "not found: no such file\n  in file \"nowhere\"");
    world.session.set("ignore_missing_files", "true");
    assert_eq!(rows(&world, "nowhere").unwrap(), big([]));
}

/// After an error the data source keeps its split until it is abandoned (rules S6.25, S7.12).
#[test]
fn a_failed_split_names_its_file_once_and_can_be_abandoned() {
    let world = World::new();
    world.files.put("broken", vec![0; 10]);
    world.put_numbers("f", [1]);
    let mut source = world.source(scan().regular("x", Type::BigInt)).unwrap();
    let error = source.add_split(Arc::new(split("broken"))).unwrap_err();
    assert_eq!(error.to_string(), "corrupt: not a file of this format\n  in file \"broken\"");
    assert_eq!(source.next(1).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(source.add_split(Arc::new(split("f"))).unwrap_err().kind(), ErrorKind::Internal);
    source.abandon_split();
    source.add_split(Arc::new(split("f"))).unwrap();
    assert_eq!(drain(source.as_mut()).unwrap(), big([1]));

    let other = HiveSplit::new("hive", "f", FileFormat::new("other"));
    let error = source.add_split(Arc::new(other)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.field("format"), Some("other"));
}

/// Calls that do not fit the state are internal errors (rules S6.19, S6.20, S6.26, S6.41).
#[test]
fn calls_out_of_order_are_mistakes() {
    let world = World::new();
    world.put_numbers("f", [1]);
    let mut source = world.source(scan().regular("x", Type::BigInt)).unwrap();
    let message = |error: Error| error.message().to_string();
    assert_eq!(message(source.next(1).unwrap_err()), "no split to read");
    source.add_split(Arc::new(split("f"))).unwrap();
    let early = source.add_split(Arc::new(split("f"))).unwrap_err();
    assert_eq!(message(early), "the previous split is not finished");
    assert_eq!(drain(source.as_mut()).unwrap(), big([1]));
    assert_eq!(message(source.next(1).unwrap_err()), "no split to read");
    world.cancel.cancel();
    source.add_split(Arc::new(split("f"))).unwrap();
    assert_eq!(source.next(1).unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Progress counts scanned rows and read bytes, and batches without passing rows are empty (rules
/// S6.24, S6.29, S6.30, S6.32, S6.37, S6.40, S6.51, S7.20).
#[test]
fn progress_counts_scanned_rows_and_bytes_over_all_splits() {
    let world = World::new();
    world.put_numbers("a", 0..10);
    world.put_numbers("b", 0..5);
    let condition = call("gt", vec![field("x", Type::BigInt), int(100)]);
    let mut source = world.source(scan().regular("x", Type::BigInt).condition(condition)).unwrap();
    assert_eq!(source.progress(), Default::default());
    for path in ["a", "b"] {
        source.add_split(Arc::new(split(path))).unwrap();
        assert_eq!(drain(source.as_mut()).unwrap(), big([]));
    }
    let progress = source.progress();
    assert_eq!((progress.raw_rows, progress.row_size), (15, Some(8)));
    assert_eq!(progress.raw_bytes, world.observed.read_bytes());
}

/// A late filter replaces the column's filter for the following batches and is tested on constants
/// at once (rules S6.42, S6.43, S12.20, S12.24).
#[test]
fn a_late_filter_works_on_file_columns_and_on_constants() {
    let world = World::new();
    let rows = (0..6).map(|i| vec![if i % 2 == 0 { Value::Null } else { Value::BigInt(i) }]);
    world.put("f", &[("x", Type::BigInt)], vec![rows.collect()]);
    let scan = scan().regular("x", Type::BigInt).key("p", Type::BigInt);
    let mut source = world.source(scan).unwrap();
    let add = |source: &mut Box<dyn DataSource>, channel, filter| {
        source.dynamic_filters().unwrap().add_dynamic_filter(channel, Arc::new(filter))
    };
    let keyed = |p| Arc::new(split_in("f", &[("p", p)]));
    source.add_split(keyed(None)).unwrap();
    assert!(matches!(source.next(3).unwrap(), SourcePoll::Batch(b) if b.len() == 3));
    add(&mut source, 0, Filter::IsNotNull).unwrap();
    assert!(matches!(source.next(2).unwrap(), SourcePoll::Batch(b) if b.len() == 1));
    // The unread rows of the split have a null partition value.
    add(&mut source, 1, Filter::IsNotNull).unwrap();
    assert!(matches!(source.next(1).unwrap(), SourcePoll::SplitDone));
    let opens = world.observed.opens();
    source.add_split(keyed(None)).unwrap();
    assert!(matches!(source.next(1).unwrap(), SourcePoll::SplitDone));
    assert_eq!(world.observed.opens(), opens);
    source.add_split(keyed(Some("1"))).unwrap();
    assert_eq!(drain(source.as_mut()).unwrap().len(), 3);
    assert_eq!(add(&mut source, 2, Filter::IsNull).unwrap_err().kind(), ErrorKind::Internal);
}
