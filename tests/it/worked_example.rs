//! The worked example of the seed on real files, with all of its numbers checked by statistics:
//!
//! ```text
//! SELECT name, comment WHERE nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4
//!   11 rows of nation are scanned, 4 pass the range filter, 1 passes the remaining filter: CANADA,
//!   and of the payload one row is loaded
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use connector_hive::{ColumnMapping, HiveTableHandle};
use dwio::connector::SourcePoll;
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::fs::MemoryFiles;
use dwio::subfield::Subfield;
use vector::{Encoding, RowSet, RowType, Type, Value, Vector};

use crate::support::files::{Layout, parquet_file};
use crate::support::source::{parquet_split, rows_of, source_of};

const NATIONS: [(&str, i64); 11] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
];

fn nation() -> Vec<u8> {
    let names = NATIONS.map(|(name, _)| name);
    let comments = NATIONS.map(|(name, _)| format!("about {name}"));
    let rows = RecordBatch::try_from_iter([
        ("nationkey", Arc::new(Int64Array::from_iter_values(0..11)) as ArrayRef),
        ("name", Arc::new(StringArray::from_iter_values(names))),
        ("regionkey", Arc::new(Int64Array::from_iter_values(NATIONS.map(|(_, region)| region)))),
        ("comment", Arc::new(StringArray::from_iter_values(comments))),
    ]);
    parquet_file(&rows.unwrap(), Layout::default())
}

#[test]
fn eleven_rows_are_scanned_four_filtered_one_left_and_one_row_of_payload_loaded() {
    let data = [
        ("nationkey", Type::BigInt),
        ("name", Type::Varchar),
        ("regionkey", Type::BigInt),
        ("comment", Type::Varchar),
    ];
    let field = |name| TypedExpr::field(name, Type::BigInt);
    let sum = TypedExpr::call("plus", vec![field("nationkey"), field("regionkey")], Type::BigInt);
    let four = TypedExpr::constant(Value::BigInt(4), Type::BigInt);
    let remaining = TypedExpr::call("gte", vec![sum, four], Type::Boolean);
    let table = HiveTableHandle::new("hive", "nation")
        .with_data_columns(Arc::new(RowType::new(data)))
        .with_column_mapping(ColumnMapping::Name)
        .with_filter(Subfield::column("nationkey"), Arc::new(Filter::bigint_range(0, 3, false)))
        .with_remaining_filter(Some(remaining));
    let files = MemoryFiles::new();
    files.put("nation", nation());
    let wanted = [("name", Type::Varchar), ("comment", Type::Varchar)];
    let mut source = source_of(Arc::new(files), table, &wanted);
    source.add_split(Arc::new(parquet_split("nation"))).unwrap();
    let SourcePoll::Batch(batch) = source.next(1000).unwrap() else { panic!("no rows") };

    let progress = source.progress();
    assert_eq!((progress.raw_rows, batch.len()), (11, 1));
    // The payload stays lazy until it is loaded, and only the one selected row of it is loaded.
    let Vector::Lazy(comment) = batch.children()[1].as_ref() else {
        panic!("{:?}", batch.children()[1].encoding())
    };
    assert!(!comment.is_loaded());
    assert_eq!(comment.len(), 1);
    assert_eq!(comment.load(&RowSet::all(1)).unwrap().len(), 1);
    assert_ne!(batch.children()[0].encoding(), Encoding::Constant);
    let canada = [Value::bytes("CANADA"), Value::bytes("about CANADA")];
    assert_eq!(rows_of(&batch), [canada]);

    assert!(matches!(source.next(1000).unwrap(), SourcePoll::SplitDone));
    let metrics = source.metrics();
    let found = |name| metrics.sum(name);
    assert_eq!((found("processedSplits"), found("skippedSplits")), (1, 0));
    assert_eq!((found("processedStrides"), found("skippedStrides")), (1, 0));
    assert_eq!((found("parquet.rowsScanned"), found("parquet.rowsPassed")), (11, 4));
    assert_eq!(found("fileFormat.parquet"), 1);
    let times = ["totalRemainingFilterWallNanos", "totalRemainingFilterCpuNanos"];
    assert!(times.iter().all(|name| metrics.get(name).is_some_and(|time| time.count == 1)));
}
