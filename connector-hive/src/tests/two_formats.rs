//! Tests of one scan over files of two formats, and of filters that arrive before the first split.

use super::*;
use crate::text::FORMAT_NAME;
use vector::ErrorKind;

fn text_split(path: &str, parameters: &[(&str, &str)]) -> HiveSplit {
    let parameters = parameters.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    HiveSplit::new("hive", path, FileFormat::new(FORMAT_NAME))
        .with_serde_parameters(Arc::new(parameters.collect()))
}

fn wanted() -> Scan {
    let mut scan = scan()
        .data(&[("name", Type::Varchar), ("x", Type::BigInt)])
        .regular("x", Type::BigInt)
        .filter("x", Filter::bigint_range(2, 9, false));
    scan.table = scan.table.with_parameter("skip.header.line.count", "1");
    scan
}

/// The schema comes from the table, the delimiters from the split, and the byte range from the
/// split (rules S7.8, S7.9, S7.11).
#[test]
fn s7_5_each_split_is_read_by_the_reader_of_its_format() {
    let world = World::new();
    world.put_numbers("a", 0..4);
    world.files.put("b", b"name|x\none|1\ntwo|2\nthree|3\n".to_vec());
    world.files.put("c", b"name,x\nnine,9\nten,10\n".to_vec());
    let splits = vec![
        split("a"),
        text_split("b", &[("field.delim", "|")]),
        split("a"),
        text_split("c", &[("field.delim", "44")]),
    ];
    let mut source = world.source(wanted()).unwrap();
    let mut found = Vec::new();
    for split in splits {
        source.add_split(Arc::new(split.with_column_mapping(ColumnMapping::Name))).unwrap();
        found.extend(drain(source.as_mut()).unwrap());
    }
    assert_eq!(found, big([2, 3, 2, 3, 2, 3, 9]));
    let metrics = source.metrics();
    assert_eq!((metrics.sum("fileFormat.text"), metrics.sum("fileFormat.other")), (2, 2));
    // The estimated size of rows is always known (rule S7.10).
    assert!(source.progress().row_size.is_some());
    let orc = HiveSplit::new("hive", "a", FileFormat::new("orc"));
    let error = world.read(wanted(), vec![orc]).unwrap_err();
    assert_eq!((error.kind(), error.field("format")), (ErrorKind::Unsupported, Some("orc")));
}

/// A filter that arrives before the first data source has read a split applies like a later one
/// (rules S12.11, S12.22).
#[test]
fn s12_11_a_filter_that_comes_before_the_first_split_counts_like_a_later_one() {
    let world = World::new();
    world.put_numbers("a", 0..20);
    world.files.put("b", (0..20).map(|n| format!("h\u{1}{n}\n")).collect::<String>().into_bytes());
    for path in ["a", "b"] {
        let by_name = |path: &str| match path {
            "a" => split("a").with_column_mapping(ColumnMapping::Name),
            path => text_split(path, &[]),
        };
        let late = || Arc::new(Filter::bigint_range(8, 9, false));
        let mut early = world.source(wanted()).unwrap();
        let filters = early.dynamic_filters().unwrap();
        // The caller has already combined the filter with the one of the plan.
        assert!(filters.static_filter(0).is_some());
        filters.add_dynamic_filter(0, late()).unwrap();
        early.add_split(Arc::new(by_name(path))).unwrap();
        let mut after = world.source(wanted()).unwrap();
        after.add_split(Arc::new(by_name(path))).unwrap();
        after.dynamic_filters().unwrap().add_dynamic_filter(0, late()).unwrap();
        let found = drain(early.as_mut()).unwrap();
        assert_eq!(found, big([8, 9]), "{path}");
        assert_eq!(drain(after.as_mut()).unwrap(), found, "{path}");
    }
}
