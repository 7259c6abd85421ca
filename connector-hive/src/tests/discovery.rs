//! Tests of table discovery and of the division into splits.

use dwio::fs::{FileEntry, FileSystem, ReadFile};
use vector::sync::Mutex;
use vector::{Error, ErrorKind};

use super::*;
use crate::plan::prune::Verdict;
use crate::table::hidden_columns::{FILE_SIZE, PATH};

fn paths(table: &HiveTable) -> Vec<&str> {
    table.files.iter().map(|f| f.path.as_str()).collect()
}

fn values(table: &HiveTable) -> Vec<Vec<Option<&str>>> {
    table.files.iter().map(|f| f.partition_values.iter().map(|v| v.as_deref()).collect()).collect()
}

#[test]
fn partitions_are_read_from_directory_names_and_hidden_entries_are_left_out() {
    let world = World::new();
    for path in [
        "t/ds=2026-09-01/hour=07/b",
        "t/ds=2026-09-01/hour=07/a",
        "t/ds=2026-09-01/hour=07/_SUCCESS",
        "t/ds=2026-09-01/hour=07/.a.crc",
        "t/ds=2026-09-01/_tmp/hour=1/c",
        "t/ds=__HIVE_DEFAULT_PARTITION__/hour=8/d",
        "t/_ds=x/e",
        "t/.hive/ds=1/f",
    ] {
        world.files.put(path, vec![7]);
    }
    let table = world.discover("t").unwrap();
    assert_eq!(
        paths(&table),
        [
            "t/ds=2026-09-01/hour=07/a",
            "t/ds=2026-09-01/hour=07/b",
            "t/ds=__HIVE_DEFAULT_PARTITION__/hour=8/d"
        ]
    );
    let first = vec![Some("2026-09-01"), Some("07")];
    assert_eq!(values(&table), [first.clone(), first, vec![None, Some("8")]]);
    // `07` is not the canonical form of an integer.
    assert_eq!(table.partition_columns.to_string(), "ds DATE,hour VARCHAR");
    assert_eq!(world.observed.opens(), 0);
}

#[test]
fn names_and_values_of_partitions_are_unescaped() {
    let world = World::new();
    world.files.put("t/a%3Ab=x%2Fy z%C3%A4/f", vec![7]);
    let table = world.discover("t").unwrap();
    assert_eq!(table.partition_columns.to_string(), "\"a:b\" VARCHAR");
    assert_eq!(values(&table), [[Some("x/y zä")]]);
    // A `%` that does not start an escape stands for itself.
    world.files.put("t/a%3Ab=5%/f", vec![7]);
    assert_eq!(values(&world.discover("t").unwrap()), [[Some("5%")], [Some("x/y zä")]]);
    world.files.put("t/a%3Ab=%ff/f", vec![7]);
    assert_eq!(
        world.discover("t").unwrap_err().to_string(),
        "invalid input: a partition directory name is not UTF-8 (name=%ff)\n  \
         in path \"t/a%3Ab=%ff\""
    );
}

#[test]
fn a_file_and_a_directory_of_files_are_tables_without_partitions() {
    let world = World::new();
    for path in ["t/b", "t/a", "t/sub/c", "u/ds=1/f"] {
        world.files.put(path, vec![7]);
    }
    assert_eq!(paths(&world.discover("t").unwrap()), ["t/a", "t/b", "t/sub/c"]);
    let one = world.discover("u/ds=1/f").unwrap();
    assert_eq!((paths(&one), one.partition_columns.len()), (vec!["u/ds=1/f"], 0));
    let options = DiscoveryOptions { without_partitions: true, ..DiscoveryOptions::default() };
    let plain = HiveTable::discover(&world.observed, "u", options).unwrap();
    assert_eq!((paths(&plain), plain.partition_columns.len()), (vec!["u/ds=1/f"], 0));
}

#[test]
fn files_that_lie_differently_deep_are_refused_with_both_paths() {
    let world = World::new();
    world.files.put("t/a", vec![7]);
    world.files.put("t/ds=1/b", vec![7]);
    let error = world.discover("t").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid input: two files of a table have different partition keys \
         (first=t/a first_keys=none second=t/ds=1/b second_keys=ds)\n  \
         hint: name a directory in which all files lie equally deep"
    );
    let world = World::new();
    world.files.put("t/a=1/x", vec![7]);
    world.files.put("t/b=1/x", vec![7]);
    assert_eq!(world.discover("t").unwrap_err().field("second_keys"), Some("b"));
    let world = World::new();
    world.files.put("t/a=1/a=2/x", vec![7]);
    assert_eq!(world.discover("t").unwrap_err().field("key"), Some("a"));
}

#[test]
fn files_without_bytes_are_passed_over_where_no_data_can_be() {
    let world = World::new();
    let empty =
        ["t/SUCCESS", "t/ds=1_$folder$", "t/ds=1/hour=2/empty", "t/ds=1/marker", "t/x/marker"];
    empty.into_iter().for_each(|path| world.files.put(path, Vec::new()));
    world.files.put("t/ds=1/hour=2/a", vec![7]);
    world.files.put("t/ds=1/hour=2/b._COPYING_", vec![7]);
    let table = world.discover("t").unwrap();
    assert_eq!(paths(&table), ["t/ds=1/hour=2/a", "t/ds=1/hour=2/empty"]);
    assert_eq!(table.partition_columns.to_string(), "ds BIGINT,hour BIGINT");
    // A non-empty file may have rows, which would have no partition values.
    world.files.put("t/SUCCESS", vec![7]);
    let error = world.discover("t").unwrap_err().to_string();
    assert!(error.contains("two files of a table have different partition keys"), "{error}");
}

#[test]
fn a_directory_without_data_files_is_not_found() {
    let world = World::new();
    world.files.put("t/_SUCCESS", vec![7]);
    let error = world.discover("t").unwrap_err();
    assert_eq!(error.to_string(), "not found: no data files\n  in path \"t\"");
    assert_eq!(world.discover("nowhere").unwrap_err().kind(), ErrorKind::NotFound);
}

/// A file system that records which directories are listed.
#[derive(Debug)]
struct Listed(MemoryFiles, Mutex<Vec<String>>);

impl FileSystem for Listed {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        Err(Error::internal("nothing should be opened").with("path", path))
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.0.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.1.lock().push(path.to_string());
        self.0.list(path)
    }
}

#[test]
fn a_pruned_directory_is_never_listed() {
    let files = MemoryFiles::new();
    for (ds, hour) in [("1", "1"), ("1", "2"), ("2", "1"), ("__HIVE_DEFAULT_PARTITION__", "2")] {
        files.put(format!("t/ds={ds}/hour={hour}/f"), vec![7]);
    }
    let listed = Listed(files, Mutex::new(Vec::new()));
    let columns = RowType::new([("ds", Type::BigInt), ("hour", Type::BigInt)]);
    let condition = all(vec![
        call("gt", vec![field("hour", Type::BigInt), int(1)]),
        call("eq", vec![field("ds", Type::BigInt), int(1)]),
        call("eq", vec![field("x", Type::BigInt), int(1)]),
    ]);
    let mut predicate = predicate(&condition, &columns);
    let discover = |predicate: &mut PartitionPredicate| {
        let partition_types = columns.fields().map(|(n, t)| (n.to_string(), t.clone())).collect();
        let options = DiscoveryOptions {
            partition_types,
            predicate: Some(predicate),
            ..DiscoveryOptions::default()
        };
        HiveTable::discover(&listed, "t", options)
    };
    let table = discover(&mut predicate).unwrap();
    assert_eq!(paths(&table), ["t/ds=1/hour=2/f"]);
    assert_eq!(*listed.1.lock(), ["t", "t/ds=1", "t/ds=1/hour=2"]);

    // A table whose partitions are all pruned differs from one without files.
    let never = call("gt", vec![field("ds", Type::BigInt), int(9)]);
    let table = discover(&mut super::predicate(&never, &columns)).unwrap();
    assert_eq!((table.files.len(), &*table.partition_columns), (0, &columns));
}

#[test]
fn files_of_a_glob_have_the_keys_of_their_directories() {
    let world = World::new();
    for path in ["w/t/ds=1/a", "w/t/ds=2/a", "w/u/a"] {
        world.files.put(path, vec![7]);
    }
    let from = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|p| p.to_string()).collect();
        HiveTable::from_files(&world.observed, "w/", &paths, DiscoveryOptions::default())
    };
    let table = from(&["w/t/ds=1/a", "w/t/ds=2/a"]).unwrap();
    assert_eq!(values(&table), [[Some("1")], [Some("2")]]);
    assert_eq!(values(&from(&["w/t/ds=2"]).unwrap()), [[Some("2")]]);
    assert_eq!(from(&["w/t/ds=1/a", "w/u/a"]).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(from(&["w/t/ds=1/z"]).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(from(&[]).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn splits_cover_every_byte_once_and_empty_files_have_none() {
    let world = World::new();
    world.files.put("t/ds=1/big", vec![7; 1001]);
    world.files.put("t/ds=1/empty", vec![]);
    world.files.put("t/ds=2/small", vec![7; 10]);
    let table = world.discover("t").unwrap();
    assert_eq!(table.total_bytes(), 1011);
    let options = SplitOptions { target_bytes: 300, ..split_options() };
    let splits = table.splits(None, &options).unwrap();
    let ranges: Vec<_> = splits.iter().map(|s| (s.file_name(), s.range())).collect();
    assert_eq!(
        ranges,
        [
            ("big", 0..251),
            ("big", 251..502),
            ("big", 502..753),
            ("big", 753..1001),
            ("small", 0..10)
        ]
    );
    assert!(Arc::ptr_eq(&splits[0].partition_keys, &splits[3].partition_keys));
    assert_eq!(splits[4].partition_value("ds"), Some(Some("2")));
    assert_eq!(splits[0].synthesized_columns[FILE_SIZE], "1001");
    assert_eq!(splits[0].synthesized_columns[PATH], "t/ds=1/big");
}

#[test]
fn splits_are_pruned_by_partitions_and_paths() {
    let world = World::new();
    for ds in ["2026-09-01", "2026-09-02", "__HIVE_DEFAULT_PARTITION__"] {
        world.files.put(format!("t/ds={ds}/f"), vec![7]);
    }
    let table = world.discover("t").unwrap();
    let chosen = |condition: TypedExpr| {
        let columns = RowType::new([("ds", Type::Date), (PATH, Type::Varchar)]);
        let mut predicate = predicate(&condition, &columns);
        let splits = table.splits(Some(&mut predicate), &split_options())?;
        Ok::<_, Error>(splits.iter().map(|s| s.path.clone()).collect::<Vec<_>>())
    };
    let day = TypedExpr::constant(Value::Integer(20_698), Type::Date);
    let of_day = |f: &str| call(f, vec![field("ds", Type::Date), day.clone()]);
    assert_eq!(chosen(of_day("eq")).unwrap(), ["t/ds=2026-09-02/f"]);
    assert_eq!(chosen(of_day("lt")).unwrap(), ["t/ds=2026-09-01/f"]);
    let path = call("lt", vec![field(PATH, Type::Varchar), text("t/ds=2026-09-02")]);
    assert_eq!(chosen(path).unwrap(), ["t/ds=2026-09-01/f"]);
    // A term that fails does not drop the split: its error is for the first row that passes all
    // other terms.
    let failing = || call("fail", vec![field("ds", Type::Date)]);
    assert_eq!(chosen(failing()).unwrap().len(), 3);
    let mut of_file = predicate(&failing(), &RowType::new([("ds", Type::Date)]));
    let verdict = of_file.test(|_, _| Ok(Some(Value::Integer(1)))).unwrap();
    let Verdict::Fails(error) = verdict else { panic!("{verdict:?}") };
    assert_eq!(
        error.to_string(),
        "invalid input: asked to fail\n  in condition on partitions \"fail(ds)\""
    );
    // A term that is false drops the partition, in any order of the terms.
    assert!(chosen(all(vec![of_day("gt"), failing()])).unwrap().is_empty());
    assert!(chosen(all(vec![failing(), of_day("gt")])).unwrap().is_empty());
}

#[test]
fn a_partition_value_of_another_type_is_refused_with_its_file() {
    let world = World::new();
    world.files.put("t/n=1/f", vec![7]);
    world.files.put("t/n=x/f", vec![7]);
    let partition_types = vec![("n".to_string(), Type::Integer)];
    let options = DiscoveryOptions { partition_types, ..DiscoveryOptions::default() };
    let table = HiveTable::discover(&world.observed, "t", options).unwrap();
    let error = table.partition_value(&table.files[1], "n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid input: a partition value is not of its column's type \
         (column=n text=x type=INTEGER)\n  in file \"t/n=x/f\""
    );
    assert_eq!(table.partition_value(&table.files[0], "n").unwrap(), Some(Value::Integer(1)));
    assert_eq!(table.partition_value(&table.files[0], "m").unwrap(), None);
}

#[test]
fn a_schema_joins_the_first_files_columns_and_the_partition_keys() {
    let world = World::new();
    world.files.put("t/a=x/b=1/empty", vec![]);
    world.put("t/a=x/b=1/f", &[("b", Type::Varchar), ("c", Type::Real)], vec![vec![]]);
    let table = world.discover("t").unwrap();
    let pool = MemoryPool::unlimited();
    let inferred = world.connector().table_schema(&table, &fake(), 8, &pool).unwrap();
    let schema = inferred.schema;
    assert_eq!(schema.columns().to_string(), "b BIGINT,c REAL,a VARCHAR");
    assert_eq!(world.observed.opened(), ["t/a=x/b=1/f"]);
    let kind = |name| schema.column_handle(name).map(|h| h.kind());
    assert_eq!(kind("b"), Some(ColumnKind::PartitionKey));
    assert_eq!(kind("c"), Some(ColumnKind::Regular));
    assert_eq!(kind("$path"), Some(ColumnKind::Synthesized));
    assert_eq!(kind("$row_index"), Some(ColumnKind::RowIndex));
    assert_eq!(kind("d"), None);
    assert_eq!(schema.table_handle("hive", "t").filter_columns().len(), 2);

    world.files.put("broken/f", vec![0; 20]);
    let table = world.discover("broken").unwrap();
    let error = world.connector().table_schema(&table, &fake(), 8, &pool).unwrap_err();
    assert_eq!(error.to_string(), "corrupt: not a file of this format\n  in file \"broken/f\"");
    world.files.put("empty/f", vec![]);
    let table = world.discover("empty").unwrap();
    let error = world.connector().table_schema(&table, &fake(), 8, &pool).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
