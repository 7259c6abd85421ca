//! Passes over a hand-made file of two columns `a` and `b` in three row groups of ten rows.

use dwio::filter::Filter;
use dwio::fs::{Fault, FileSystem, MemoryFiles, ObservedFiles};
use dwio::scan_spec::{ColumnSpec, ScanSpec, SplitBinding};
use vector::testing::values_of;
use vector::{Type, Value};

use super::*;
use crate::page::PageOptions;
use crate::page::testing::{ChunkWriter, PLAIN, int32s, required};
use crate::statistics::tests::{footer, leaf};
use crate::thrift::structs::{Codec, ColumnChunk, PhysicalType};

const ROWS_IN_GROUP: i32 = 10;
const NUM_ROWS: i32 = 30;

/// Column `a` counts the rows of the file, `b` is a hundred times that; two pages a chunk.
struct File {
    footer: Arc<Footer>,
    files: ObservedFiles,
    /// Where the pages of each row group's `b` start.
    b_offsets: Vec<u64>,
}

fn file(change: impl FnOnce(&mut Vec<u8>, &[u64])) -> File {
    let elements = ["a", "b"].map(|name| crate::thrift::structs::SchemaElement {
        name: name.into(),
        repetition: Some(crate::thrift::structs::Repetition::Required),
        ..leaf(PhysicalType::Int32)
    });
    let mut footer = footer(elements.into(), vec![None, None]);
    let template = footer.metadata.row_groups.remove(0);
    let (mut bytes, mut b_offsets) = (b"PAR1".to_vec(), Vec::new());
    for first in (0..NUM_ROWS).step_by(ROWS_IN_GROUP as usize) {
        let mut group = RowGroup { num_rows: ROWS_IN_GROUP as u64, ..template.clone() };
        for (leaf, factor) in [1, 100].into_iter().enumerate() {
            let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
            let values = |rows: Range<i32>| int32s(rows.map(|row| row * factor));
            chunk.v1(&required(4), PLAIN, &values(first..first + 4)).v2(
                &required(6),
                PLAIN,
                &values(first + 4..first + 10),
            );
            let change = |column: &mut ColumnChunk| {
                let meta = column.meta_data.as_mut().unwrap();
                meta.num_values = ROWS_IN_GROUP as u64;
                meta.data_page_offset = bytes.len() as u64;
                meta.total_compressed_bytes = chunk.bytes.len() as u64;
            };
            group.columns.change(leaf, change).unwrap();
            if factor > 1 {
                b_offsets.push(bytes.len() as u64);
            }
            bytes.extend(chunk.bytes);
        }
        footer.metadata.row_groups.push(group);
    }
    change(&mut bytes, &b_offsets);
    File { b_offsets, ..stored(footer, bytes) }
}

/// The file of `bytes`, behind which `footer` stands.
fn stored(footer: Footer, bytes: Vec<u8>) -> File {
    stored_with(footer, bytes, Fault::None)
}

/// [`stored`] where reading meets `fault`.
fn stored_with(mut footer: Footer, bytes: Vec<u8>, fault: Fault) -> File {
    footer.footer_offset = bytes.len() as u64;
    footer.file_bytes = bytes.len() as u64;
    let files = MemoryFiles::new();
    files.put("f.parquet", bytes);
    let files = ObservedFiles::failing(Arc::new(files), fault);
    File { footer: Arc::new(footer), files, b_offsets: Vec::new() }
}

fn reader(file: &File, columns: Vec<ColumnSpec>, range: Range<u64>) -> ParquetRowReader {
    reader_of(file, &file.files, columns, range)
}

fn reader_of(
    file: &File,
    files: &dyn FileSystem,
    columns: Vec<ColumnSpec>,
    range: Range<u64>,
) -> ParquetRowReader {
    let bound = columns.iter().map(|c| BoundColumn::File { ordinal: usize::from(c.name == "b") });
    let params = RowReaderParams {
        binding: Arc::new(SplitBinding::new(bound.collect())),
        spec: Arc::new(ScanSpec::new(columns)),
        range,
        metadata_filter: None,
    };
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(files.open("f.parquet").unwrap(), pool.clone());
    let footer = Arc::clone(&file.footer);
    let file = OpenFile { footer, input, page_options: PageOptions::default(), is_known: false };
    ParquetRowReader::new(file, params, &pool).unwrap()
}

fn column(name: &str, channel: Option<usize>, filter: Option<Filter>) -> ColumnSpec {
    ColumnSpec {
        channel,
        filter: filter.map(Arc::new),
        ..ColumnSpec::whole(name, Type::Integer, 0)
    }
}

fn next(
    reader: &mut ParquetRowReader,
    max_rows: usize,
    adaptation: &mut ScanAdaptation,
) -> Result<Option<ReadRows>> {
    match reader.next(ReadRequest { max_rows, adaptation, payload: Payload::Eager })? {
        ReadOutcome::Rows(rows) => Ok(Some(rows)),
        ReadOutcome::End => Ok(None),
    }
}

fn all(reader: &mut ParquetRowReader, max_rows: usize) -> Vec<ReadRows> {
    let mut adaptation = ScanAdaptation::new(2);
    std::iter::from_fn(|| next(reader, max_rows, &mut adaptation).unwrap()).collect()
}

fn values(batches: &[ReadRows], child: usize) -> Vec<Value> {
    batches.iter().flat_map(|rows| values_of(rows.batch.child(child).unwrap())).collect()
}

fn ints(values: impl IntoIterator<Item = i32>) -> Vec<Value> {
    values.into_iter().map(Value::Integer).collect()
}

fn both() -> Vec<ColumnSpec> {
    vec![column("a", Some(0), None), column("b", Some(1), None)]
}

/// Rules S7.75, S7.76.
#[test]
fn windows_end_with_their_row_group_and_know_their_place() {
    let file = file(|_, _| {});
    let found = all(&mut reader(&file, both(), 0..u64::MAX), 7);
    let places: Vec<_> = found.iter().map(|w| (w.first_row, w.scanned)).collect();
    assert_eq!(places, [(0, 7), (7, 3), (10, 7), (17, 3), (20, 7), (27, 3)]);
    assert!(found.iter().all(|w| w.selected.is_all(w.scanned)));
    assert_eq!(values(&found, 0), ints(0..NUM_ROWS));
    assert_eq!(values(&found, 1), ints((0..NUM_ROWS).map(|row| row * 100)));
}

/// Rule S7.70.
#[test]
fn two_ranges_cut_anywhere_read_each_row_once() {
    let file = file(|_, _| {});
    for cut in 0..=file.footer.file_bytes {
        let mut rows = values(&all(&mut reader(&file, both(), 0..cut), 100), 0);
        rows.extend(values(&all(&mut reader(&file, both(), cut..u64::MAX), 100), 0));
        assert_eq!(rows, ints(0..NUM_ROWS), "cut at {cut}");
    }
}

#[test]
fn rows_are_counted_without_reading_when_no_column_is_wanted() {
    let file = file(|_, _| {});
    let found = all(&mut reader(&file, Vec::new(), 0..u64::MAX), 8);
    assert_eq!(found.iter().map(|w| w.batch.len()).sum::<usize>(), NUM_ROWS as usize);
    assert_eq!((found.len(), file.files.reads()), (6, 0));
}

#[test]
fn rows_that_pass_come_with_their_places_whatever_the_window() {
    let file = file(|_, _| {});
    for kept in [3..=3, 0..=9, 8..=12, 2..=28, 40..=50] {
        for max_rows in [1, 3, 7, 10, 100] {
            let filter = Filter::bigint_range(*kept.start(), *kept.end(), false);
            let columns = vec![column("a", None, Some(filter)), column("b", Some(0), None)];
            let found = all(&mut reader(&file, columns, 0..u64::MAX), max_rows);
            let places = found
                .iter()
                .flat_map(|w| w.selected.iter().map(|row| w.first_row as i64 + row as i64));
            let expected: Vec<i64> =
                (0..i64::from(NUM_ROWS)).filter(|r| kept.contains(r)).collect();
            assert!(places.eq(expected.iter().copied()), "{kept:?} {max_rows}");
            let rows = expected.iter().map(|row| *row as i32 * 100);
            assert_eq!(values(&found, 0), ints(rows));
            assert_eq!(found.iter().map(|w| w.scanned).sum::<usize>(), NUM_ROWS as usize);
        }
    }
}

#[test]
fn scattered_rows_are_picked_from_filtering_and_other_columns() {
    let file = file(|_, _| {});
    let rows = [1, 2, 9, 15, 28];
    let filter = Filter::bigint_values(rows.map(i64::from).into(), false);
    let columns = vec![column("a", Some(0), Some(filter)), column("b", Some(1), None)];
    let found = all(&mut reader(&file, columns, 0..u64::MAX), 100);
    assert_eq!(values(&found, 0), ints(rows));
    assert_eq!(values(&found, 1), ints(rows.map(|row| row * 100)));
}

#[test]
fn a_late_filter_counts_from_the_next_window_on_and_its_cost_is_kept() {
    let file = file(|_, _| {});
    let mut reader = reader(&file, both(), 0..u64::MAX);
    let mut adaptation = ScanAdaptation::new(2);
    let first = next(&mut reader, 5, &mut adaptation).unwrap().unwrap();
    assert_eq!(first.batch.len(), 5);
    adaptation.set_dynamic_filter(1, Arc::new(Filter::bigint_range(700, 800, false)));
    let second = next(&mut reader, 5, &mut adaptation).unwrap().unwrap();
    assert_eq!(values_of(second.batch.child(0).unwrap()), ints([7, 8]));
    assert_eq!((adaptation.cost(1).rows_in, adaptation.cost(1).rows_out), (5, 2));
}

#[test]
fn pages_without_a_wanted_row_are_not_decoded() {
    // The first page of `b` says an encoding that does not exist; it is passed over.
    let broken = file(|bytes, b_offsets| {
        let page = &mut bytes[b_offsets[0] as usize..];
        let encoding = page.windows(4).position(|w| w == [0x15, 0x00, 0x15, 0x06]).unwrap();
        page[encoding + 1] = 0x7e;
    });
    let passing = |lower| {
        let filter = Filter::bigint_range(lower, 100, false);
        vec![column("a", None, Some(filter)), column("b", Some(0), None)]
    };
    let found = all(&mut reader(&broken, passing(4), 0..u64::MAX), 100);
    assert_eq!(values(&found, 0), ints((4..NUM_ROWS).map(|row| row * 100)));
    let mut reader = reader(&broken, passing(3), 0..u64::MAX);
    let error = next(&mut reader, 100, &mut ScanAdaptation::new(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "unsupported: this encoding cannot be read yet (encoding=?63 storage=INT32)\n  \
             in page 0, offset {}, column \"b\", row group 0, file \"f.parquet\"",
            broken.b_offsets[0]
        )
    );
}

/// Rules P5.1, P5.25, S10.51: what statistics exclude is not read at all.
#[test]
fn row_groups_that_statistics_exclude_are_not_read() {
    let mut file = file(|_, _| {});
    let mut footer = Arc::into_inner(file.footer).unwrap();
    for (number, group) in footer.metadata.row_groups.iter_mut().enumerate() {
        let first = number as i32 * ROWS_IN_GROUP;
        let change = |column: &mut ColumnChunk| {
            let meta = column.meta_data.as_mut().unwrap();
            meta.statistics = Some(Box::new(crate::statistics::Statistics {
                null_count: Some(0),
                min_value: Some(first.to_le_bytes().into()),
                max_value: Some((first + ROWS_IN_GROUP - 1).to_le_bytes().into()),
                ..Default::default()
            }));
        };
        group.columns.change(0, change).unwrap();
    }
    file.footer = Arc::new(footer);
    let scan = |lower, upper| {
        let filter = Filter::bigint_range(lower, upper, false);
        vec![column("a", None, Some(filter)), column("b", Some(0), None)]
    };
    let found = all(&mut reader(&file, scan(12, 14), 0..u64::MAX), 100);
    assert_eq!(values(&found, 0), ints([1200, 1300, 1400]));
    let places: Vec<_> = found.iter().map(|w| (w.first_row, w.scanned)).collect();
    // One read for the filter, and one for the other column, which has a passing row.
    assert_eq!((places, file.files.reads()), (vec![(10, 10)], 2));
    assert!(all(&mut reader(&file, scan(100, 200), 0..u64::MAX), 100).is_empty());
    assert_eq!(file.files.reads(), 2);
}

mod ahead;
mod dictionaries;
mod encrypted;
mod on_demand;
