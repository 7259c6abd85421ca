//! Scans of one table over files of two formats, Parquet and text: readers, filters that arrive
//! before the first split, and the shared cache.

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use connector_hive::{
    ColumnKind, ColumnMapping, HiveColumnHandle, HiveConnector, HiveSplit, HiveTableHandle,
};
use dwio::config::Config;
use dwio::connector::{
    ColumnHandle, Connector, ConnectorQueryCtx, DataSource, DataSourceRequest, SourcePoll,
};
use dwio::filter::Filter;
use dwio::fs::{FileSystem, MemoryFiles, ObservedFiles};
use dwio::input::cache::RegionCache;
use dwio::reader::{FileFormat, FormatRegistry};
use dwio::subfield::Subfield;
use exec::expr::{ExecEvaluator, FunctionRegistry};
use format_parquet::ParquetReaderFactory;
use format_text::TextReaderFactory;
use vector::sync::{Arc, CancelFlag};
use vector::{ErrorKind, MemoryPool, RowType, Type};

use crate::support::files::{Layout, parquet_file};
use crate::support::source::rows_of;

/// Returns a connector that reads both formats.
fn connector(files: impl FileSystem + 'static) -> HiveConnector {
    let mut formats = FormatRegistry::new();
    formats.register(Arc::new(ParquetReaderFactory::default()));
    formats.register(Arc::new(TextReaderFactory));
    HiveConnector::new("hive", Arc::new(files), formats, Config::new())
}

/// Returns a source of the BIGINT column `x` of `table`.
fn source(
    connector: &HiveConnector,
    table: HiveTableHandle,
    pool: MemoryPool,
) -> Box<dyn DataSource> {
    let x: Arc<dyn ColumnHandle> =
        Arc::new(HiveColumnHandle::new("x", ColumnKind::Regular, Type::BigInt));
    let request = DataSourceRequest {
        output_type: Arc::new(RowType::new([("x", Type::BigInt)])),
        table: Arc::new(table),
        assignments: [("x".to_string(), x)].into_iter().collect(),
    };
    let ctx = ConnectorQueryCtx {
        pool,
        evaluator: Arc::new(ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()))),
        session: Config::new(),
        cancel: CancelFlag::new(),
    };
    connector.data_source(request, &Arc::new(ctx)).unwrap()
}

/// Returns the values of the current split, read in small batches.
fn drain(source: &mut dyn DataSource) -> Vec<i64> {
    let mut values = Vec::new();
    loop {
        match source.next(3).unwrap() {
            SourcePoll::Batch(batch) => {
                values.extend(rows_of(&batch).iter().map(|row| row[0].as_i64().unwrap()));
            }
            SourcePoll::SplitDone => return values,
            SourcePoll::Blocked(_) => panic!("files in memory never block"),
        }
    }
}

fn parquet(numbers: std::ops::Range<i64>) -> Vec<u8> {
    let x: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    parquet_file(&RecordBatch::try_from_iter([("x", x)]).unwrap(), Layout::default())
}

fn parquet_split(path: &str) -> HiveSplit {
    HiveSplit::new("hive", path, FileFormat::new(format_parquet::FORMAT_NAME))
        .with_column_mapping(ColumnMapping::Name)
}

fn text_split(path: &str, parameters: &[(&str, &str)]) -> HiveSplit {
    let parameters = parameters.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    HiveSplit::new("hive", path, FileFormat::new(format_text::FORMAT_NAME))
        .with_serde_parameters(Arc::new(parameters.collect()))
        .with_column_mapping(ColumnMapping::Name)
}

/// A table of which `x` from 2 to 9 is read, and whose text files have a header line.
fn filtered_table() -> HiveTableHandle {
    let columns = RowType::new([("name", Type::Varchar), ("x", Type::BigInt)]);
    HiveTableHandle::new("hive", "t")
        .with_data_columns(Arc::new(columns))
        .with_filter(Subfield::parse("x").unwrap(), Arc::new(Filter::bigint_range(2, 9, false)))
        .with_parameter("skip.header.line.count", "1")
}

/// The schema comes from the table, the delimiters from the split, and the byte range from the
/// split (rules S7.8, S7.9, S7.11).
#[test]
fn s7_5_each_split_is_read_by_the_reader_of_its_format() {
    let files = MemoryFiles::new();
    files.put("a", parquet(0..4));
    files.put("b", b"name|x\none|1\ntwo|2\nthree|3\n".to_vec());
    files.put("c", b"name,x\nnine,9\nten,10\n".to_vec());
    let splits = [
        parquet_split("a"),
        text_split("b", &[("field.delim", "|")]),
        parquet_split("a"),
        text_split("c", &[("field.delim", "44")]),
    ];
    let connector = connector(files);
    let mut scan = source(&connector, filtered_table(), MemoryPool::unlimited());
    let mut found = Vec::new();
    for split in splits {
        scan.add_split(Arc::new(split)).unwrap();
        found.extend(drain(scan.as_mut()));
    }
    assert_eq!(found, [2, 3, 2, 3, 2, 3, 9]);
    let metrics = scan.metrics();
    assert_eq!((metrics.sum("fileFormat.text"), metrics.sum("fileFormat.parquet")), (2, 2));
    // The estimated size of rows is always known (rule S7.10).
    assert!(scan.progress().row_size.is_some());
    let orc = HiveSplit::new("hive", "a", FileFormat::new("orc"));
    let error = scan.add_split(Arc::new(orc)).unwrap_err();
    assert_eq!((error.kind(), error.field("format")), (ErrorKind::Unsupported, Some("orc")));
}

/// A filter that arrives before the first data source has read a split applies like a later one
/// (rules S12.11, S12.22).
#[test]
fn s12_11_a_filter_that_comes_before_the_first_split_counts_like_a_later_one() {
    let files = MemoryFiles::new();
    files.put("a", parquet(0..20));
    files.put("b", (0..20).map(|n| format!("h\u{1}{n}\n")).collect::<String>().into_bytes());
    let connector = connector(files);
    for split in [parquet_split("a"), text_split("b", &[])] {
        let filter = || Arc::new(Filter::bigint_range(8, 9, false));
        let mut early = source(&connector, filtered_table(), MemoryPool::unlimited());
        let filters = early.dynamic_filters().unwrap();
        // The caller has already combined the filter with the one of the plan.
        assert!(filters.static_filter(0).is_some());
        filters.add_dynamic_filter(0, filter()).unwrap();
        early.add_split(Arc::new(split.clone())).unwrap();
        let mut after = source(&connector, filtered_table(), MemoryPool::unlimited());
        after.add_split(Arc::new(split.clone())).unwrap();
        after.dynamic_filters().unwrap().add_dynamic_filter(0, filter()).unwrap();
        let found = drain(early.as_mut());
        assert_eq!(found, [8, 9], "{}", split.path);
        assert_eq!(drain(after.as_mut()), found, "{}", split.path);
    }
}

/// Data of a split that is not cacheable is not stored, but cached data is used (rule S14.15).
#[test]
fn s14_15_a_split_that_is_not_cacheable_leaves_nothing_and_uses_what_is_there() {
    let text = (0..100).map(|n| format!("{n}\n")).collect::<String>().into_bytes();
    // The whole text file, and its first four bytes again, which are checked for the magic of
    // another format.
    let text_bytes = Some(text.len() as i64 + 4);
    let columns = Arc::new(RowType::new([("x", Type::BigInt)]));
    let table = || HiveTableHandle::new("hive", "t").with_data_columns(Arc::clone(&columns));
    for (split, file, expected_bytes) in
        [(text_split("t", &[]), text, text_bytes), (parquet_split("t"), parquet(0..100), None)]
    {
        let files = MemoryFiles::with_versions();
        files.put("t", file);
        let observed = ObservedFiles::new(Arc::new(files));
        let root = MemoryPool::root("engine", u64::MAX);
        let cache = RegionCache::new(&root, 1 << 20);
        let connector = connector(observed.clone()).with_cache(cache.clone());
        let read = |cacheable: bool| {
            let mut source = source(&connector, table(), root.leaf("scan"));
            source.add_split(Arc::new(HiveSplit { cacheable, ..split.clone() })).unwrap();
            assert_eq!(drain(source.as_mut()).len(), 100);
            let metrics = source.metrics();
            (observed.reads(), metrics.sum("ramReadBytes"), metrics.sum("numRamRead"))
        };
        assert_eq!(read(false).1, 0);
        assert_eq!(cache.pool().used(), 0);
        let (reads, _, _) = read(true);
        assert!(cache.pool().used() > 0);
        for cacheable in [true, false] {
            let (again, bytes, num) = read(cacheable);
            assert_eq!(again, reads);
            assert!(expected_bytes.is_none_or(|expected| bytes == expected), "{bytes} bytes");
            assert!(bytes > 0 && num > 0);
        }
        cache.clear();
        assert_eq!(root.used(), 0);
    }
}
