//! What is read, decompressed and decoded, by counters: only what can matter.

use dwio::expr::TypedExpr;
use dwio::metadata_filter::MetadataFilter;
use vector::{ErrorKind, RowSet};

use super::*;
use crate::page::PageOptions;
use crate::page_index::tests::Indexes;
use crate::thrift::structs::IndexRegion;

pub(super) const ROWS_OF_PAGE: i32 = 4_000;
pub(super) const NUM_PAGES: i32 = 10;
pub(super) const ROWS: i32 = ROWS_OF_PAGE * NUM_PAGES;
/// Header and body of a page.
pub(super) const PAGE_BYTES: u64 = 16_100;

/// One row group of `num_columns` columns of ten pages. Column `i` counts the rows times `i + 1`;
/// all have offset indexes, and the first `num_ordered` column indexes too. Columns behind the
/// eighth have the chunks of the first ones once more.
pub(super) fn wide(num_columns: usize, num_ordered: usize, change: impl Fn(&mut Indexes)) -> File {
    wide_in(Codec::Uncompressed, num_columns, num_ordered, change)
}

fn wide_in(
    codec: Codec,
    num_columns: usize,
    num_ordered: usize,
    change: impl Fn(&mut Indexes),
) -> File {
    let element = |i: usize| crate::thrift::structs::SchemaElement {
        name: format!("c{i}"),
        repetition: Some(crate::thrift::structs::Repetition::Required),
        ..leaf(PhysicalType::Int32)
    };
    let elements = (0..num_columns).map(element).collect();
    let mut footer = footer(elements, vec![None; num_columns]);
    let group = &mut footer.metadata.row_groups[0];
    group.num_rows = ROWS as u64;
    let mut bytes = b"PAR1".to_vec();
    let mut indexes = Vec::new();
    let own = num_columns.min(8);
    for (factor, leaf) in (1..).zip(0..own) {
        let mut chunk = ChunkWriter::new(codec, 0, 0);
        let mut index = Indexes {
            pages: Vec::new(),
            null_pages: vec![false; NUM_PAGES as usize],
            mins: Vec::new(),
            maxs: Vec::new(),
            order: 1,
            null_counts: vec![0; NUM_PAGES as usize],
        };
        let start = bytes.len();
        for first in (0..ROWS).step_by(ROWS_OF_PAGE as usize) {
            let at = chunk.bytes.len();
            let rows = first..first + ROWS_OF_PAGE;
            index.mins.push((rows.start * factor).to_le_bytes().into());
            index.maxs.push(((rows.end - 1) * factor).to_le_bytes().into());
            chunk.v1(&required(ROWS_OF_PAGE as usize), PLAIN, &int32s(rows.map(|r| r * factor)));
            let size = (chunk.bytes.len() - at) as i32;
            assert!(u64::from(size.unsigned_abs()) < PAGE_BYTES);
            index.pages.push(((start + at) as i64, size, first.into()));
        }
        change(&mut index);
        indexes.push(index);
        let set = |column: &mut ColumnChunk| {
            let meta = column.meta_data.as_mut().unwrap();
            meta.codec = codec;
            meta.num_values = ROWS as u64;
            meta.data_page_offset = start as u64;
            meta.total_compressed_bytes = chunk.bytes.len() as u64;
        };
        group.columns.change(leaf, set).unwrap();
        bytes.extend(chunk.bytes);
    }
    let mut put = |part: Vec<u8>| {
        let region = IndexRegion { offset: bytes.len() as u64, bytes: part.len() as u32 };
        bytes.extend(part);
        Some(region)
    };
    for (i, index) in indexes.iter().enumerate() {
        let set = |column: &mut ColumnChunk| {
            column.offset_index = put(index.offset_bytes());
            if i < num_ordered {
                column.column_index = put(index.column_bytes());
            }
        };
        group.columns.change(i, set).unwrap();
    }
    for i in own..num_columns {
        let twin = group.columns.chunk(i % own).unwrap().clone();
        group.columns.change(i, |column| *column = twin).unwrap();
    }
    stored(footer, bytes)
}

/// Rule P1.3: far away the magic at the start of a file comes with the values behind it.
#[test]
fn the_magic_that_opening_did_not_look_at_is_read_with_the_first_chunk() {
    // A chunk that is loaded with others, and one that is read in pieces.
    for num_columns in [2, 600] {
        for (magic, is_sound) in [(*b"PAR1", true), (*b"PARE", false)] {
            let mut file = wide(num_columns, 0, |_| ());
            let scan = |file: &File, name: &str| {
                let before = file.files.reads();
                let mut reader = reader(file, vec![column(name, Some(0), None)], 0..u64::MAX);
                let mut adaptation = ScanAdaptation::new(1);
                let read = next(&mut reader, ROWS as usize, &mut adaptation);
                read.map(|rows| (rows.unwrap().batch.len(), file.files.reads() - before))
            };
            let usual = scan(&file, "a").unwrap();
            Arc::get_mut(&mut file.footer).unwrap().unchecked_head = Some(magic);
            let found = scan(&file, "a");
            match is_sound {
                true => assert_eq!(found.unwrap(), usual),
                false => {
                    let text = found.unwrap_err().to_string();
                    assert!(text.contains("are not PARE (found=PAR1)"), "{text}");
                }
            }
            // Nothing is read for its sake.
            assert_eq!(scan(&file, "b").unwrap().0, ROWS as usize);
        }
    }
}

pub(super) fn pass(
    file: &File,
    columns: Vec<ColumnSpec>,
    condition: Option<TypedExpr>,
) -> ParquetRowReader {
    let ordinal = |spec: &ColumnSpec| spec.name[1..].parse().unwrap();
    let bound = columns.iter().map(|spec| BoundColumn::File { ordinal: ordinal(spec) }).collect();
    let (spec, binding) = (ScanSpec::new(columns), SplitBinding::new(bound));
    let filter = condition.and_then(|expr| MetadataFilter::new(&expr, &|_| None, &|_| false));
    let params = RowReaderParams {
        metadata_filter: filter.map(Arc::new),
        ..RowReaderParams::new(Arc::new(spec), Arc::new(binding), 0..u64::MAX)
    };
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(file.files.open("f.parquet").unwrap(), pool.clone());
    let footer = Arc::clone(&file.footer);
    ParquetRowReader::new(
        OpenFile { footer, input, page_options: PageOptions::default(), is_known: false },
        params,
        &pool,
    )
    .unwrap()
}

pub(super) fn one_of(values: &[i64]) -> Option<Filter> {
    Some(Filter::bigint_values(values.to_vec(), false))
}

fn lazy_window(reader: &mut ParquetRowReader, learned: &mut ScanAdaptation) -> ReadRows {
    let request = ReadRequest { payload: Payload::Lazy, ..ReadRequest::new(10_000, learned) };
    match reader.next(request).unwrap() {
        ReadOutcome::Rows(rows) => rows,
        ReadOutcome::End => panic!("no more rows"),
    }
}

fn counts_of(reader: &ParquetRowReader, column: usize) -> ColumnCounts {
    reader.column_counts().into_iter().find(|counts| counts.column == column).unwrap()
}

/// Rules P5.36, P6.43.
#[test]
fn a_point_query_reads_only_the_pages_that_can_hold_the_key() {
    let file = wide(3, 1, |_| {});
    let columns = vec![
        column("c0", None, one_of(&[12_345])),
        column("c1", Some(0), None),
        column("c2", Some(1), None),
    ];
    let mut reader = pass(&file, columns, None);
    let found = all(&mut reader, 10_000);
    assert_eq!(values(&found, 0), ints([24_690]));
    assert_eq!(values(&found, 1), ints([37_035]));
    let metrics = reader.metrics();
    assert_eq!(metrics.sum("parquet.pagesRead"), 3);
    assert_eq!(metrics.sum("parquet.rowsSkippedByPageIndex"), i64::from(ROWS - ROWS_OF_PAGE));
    assert!(file.files.read_bytes() < 3 * PAGE_BYTES + 2_000, "{}", file.files.read_bytes());
}

#[test]
fn few_rows_that_only_the_values_tell_cost_few_pages_of_other_columns() {
    let file = wide(2, 0, |_| {});
    let filter = one_of(&[1, 17_000, 39_999]);
    let columns = vec![column("c0", None, filter), column("c1", Some(0), None)];
    let mut reader = pass(&file, columns, None);
    assert_eq!(values(&all(&mut reader, 10_000), 0), ints([2, 34_000, 79_998]));
    let chunk_bytes = file.footer.column_chunk(0, 0).unwrap().meta().unwrap();
    let filter_bytes = chunk_bytes.total_compressed_bytes;
    let others = file.files.read_bytes() - filter_bytes;
    assert!(others < 3 * PAGE_BYTES + 1_000, "{others}");
    assert_eq!(reader.metrics().sum("parquet.pagesRead"), i64::from(NUM_PAGES) + 3);
}

/// Two pages may be decompressed at once, also where any of them may be left out.
#[test]
fn whichever_pages_a_selection_leaves_out_the_others_are_read_once_and_right() {
    let file = wide_in(Codec::Snappy, 2, 0, |_| {});
    let all_pages = (1u32 << NUM_PAGES) - 1;
    for left_out in [0, 1, 1 << 4, 1 << 5, 0b11 << 4, 1 << 9, 0b10_1000_0000, 0b1_0101_0101] {
        let pages = (0..NUM_PAGES).filter(|page| left_out >> page & 1 == 0);
        let rows: Vec<i64> = pages.map(|page| i64::from(page * ROWS_OF_PAGE + 17)).collect();
        let columns = vec![column("c0", None, one_of(&rows)), column("c1", Some(0), None)];
        let mut reader = pass(&file, columns, None);
        let doubled: Vec<i32> = rows.iter().map(|row| *row as i32 * 2).collect();
        let windows = all(&mut reader, ROWS_OF_PAGE as usize);
        let found: Vec<_> = (0..windows.len()).flat_map(|i| values(&windows[i..=i], 0)).collect();
        assert_eq!(found, ints(doubled), "{left_out:b}");
        let wanted = (all_pages & !left_out).count_ones();
        let read = reader.metrics().sum("parquet.pagesRead");
        assert_eq!(read, i64::from(NUM_PAGES) + i64::from(wanted), "{left_out:b}");
    }
}

#[test]
fn a_filter_that_drops_a_whole_row_group_costs_no_byte_of_other_columns() {
    let file = wide(3, 0, |_| {});
    let alone = |columns| {
        let before = file.files.read_bytes();
        assert!(all(&mut pass(&file, columns, None), 10_000).iter().all(|w| w.batch.is_empty()));
        file.files.read_bytes() - before
    };
    let none = || column("c1", None, one_of(&[7, 80_001]));
    let filter_only = alone(vec![none()]);
    assert_eq!(
        alone(vec![none(), column("c0", Some(0), None), column("c2", Some(1), None)]),
        filter_only
    );
}

/// Rule P5.31: what an offset index says is compared with the pages that are read.
#[test]
fn a_wrong_offset_index_is_an_error_or_ignored_but_never_wrong_rows() {
    let columns = || vec![column("c0", None, one_of(&[12_345])), column("c1", Some(0), None)];
    // Another number of rows than the pages have.
    let shifted = wide(2, 0, |index| index.pages[3].2 += 100);
    let mut reader = pass(&shifted, columns(), None);
    let mut learned = ScanAdaptation::new(2);
    let mut error = None;
    while error.is_none() {
        match next(&mut reader, 10_000, &mut learned) {
            Ok(window) => assert_eq!(window.unwrap().batch.len(), 0),
            Err(found) => error = Some(found),
        }
    }
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("another one than the offset index says"), "{error}");
    // Pages that it leaves out.
    let holed = wide(2, 0, |index| {
        index.pages.remove(2);
    });
    let found = all(&mut pass(&holed, columns(), None), 10_000);
    assert_eq!(values(&found, 0), ints([24_690]));
}

/// Rules S1.37, S10.41 to S10.45.
#[test]
fn lazy_columns_read_the_rows_that_are_asked_and_only_in_time() {
    let file = wide(3, 0, |_| {});
    let filter = one_of(&[5, 9, 4_001, 9_000, 30_000]);
    let columns = vec![
        column("c0", Some(0), filter),
        column("c1", Some(1), None),
        column("c2", Some(2), None),
    ];
    let mut reader = pass(&file, columns, None);
    let mut learned = ScanAdaptation::new(3);
    let first = lazy_window(&mut reader, &mut learned);
    let [own, asked, unread] = first.batch.children() else { panic!("three columns") };
    assert_eq!(values_of(own), ints([5, 9, 4_001, 9_000]));
    let rows = RowSet::from_positions([1u32, 3].into_iter().collect());
    let Vector::Lazy(lazy) = asked.as_ref() else { panic!("not lazy") };
    let loaded = values_of(&lazy.load(&rows).unwrap());
    assert_eq!((&loaded[1], &loaded[3]), (&ints([18])[0], &ints([18_000])[0]));
    assert_eq!(counts_of(&reader, 1).values_decoded, 2);
    let decoded = reader.column_counts().iter().map(|c| c.values_decoded).sum::<u64>();
    assert_eq!(reader.metrics().sum("parquet.valuesDecoded"), decoded as i64);
    assert_eq!(counts_of(&reader, 1).pages_read, 2);
    // Windows without a passing row touch nothing; the next one that has some goes on from there.
    let others: Vec<ReadRows> = (0..3).map(|_| lazy_window(&mut reader, &mut learned)).collect();
    assert_eq!(others.iter().map(|w| w.batch.len()).sum::<usize>(), 1);
    let Vector::Lazy(late) = unread.as_ref() else { panic!("not lazy") };
    let error = late.loaded().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("after its reader moved on"), "{error}");
    assert!(error.is_in("row group") && error.is_in("file"), "{error}");
    assert_eq!(counts_of(&reader, 2), ColumnCounts { column: 2, ..ColumnCounts::default() });
}

#[test]
fn the_last_window_of_a_row_group_can_still_be_loaded() {
    let file = wide(2, 0, |_| {});
    let columns = vec![column("c0", None, one_of(&[39_999])), column("c1", Some(0), None)];
    let mut reader = pass(&file, columns, None);
    let mut learned = ScanAdaptation::new(2);
    let windows: Vec<ReadRows> = (0..4).map(|_| lazy_window(&mut reader, &mut learned)).collect();
    let last = windows.last().unwrap().batch.child(0).unwrap();
    assert_eq!(values_of(&Vector::loaded(last).unwrap()), ints([79_998]));
}

#[test]
fn a_wide_file_costs_what_is_read_of_it() {
    let file = wide(1_000, 0, |_| {});
    let columns = vec![column("c500", Some(0), None), column("c7", Some(1), None)];
    let found = all(&mut pass(&file, columns, None), 10_000);
    assert_eq!(values(&found, 1)[3], Value::Integer(24));
    let bytes = file.files.read_bytes();
    assert!(bytes < 2 * (NUM_PAGES as u64) * PAGE_BYTES + 1_000, "{bytes}");
    assert!(file.files.reads() <= 4);
}

/// Rules S4.32, S4.37: pages of several columns, whose ends need not agree.
#[test]
fn a_condition_on_several_columns_leaves_pages_out_and_decides_no_row() {
    let file = wide(3, 2, |_| {});
    let less = |name: &str, than: i32| {
        let than = TypedExpr::constant(Value::Integer(than), Type::Integer);
        TypedExpr::call("lt", vec![TypedExpr::field(name, Type::Integer), than], Type::Boolean)
    };
    let either = |args| TypedExpr::call("or", args, Type::Boolean);
    let columns = || {
        let names = ["c0", "c1", "c2"].into_iter().enumerate();
        names.map(|(i, name)| column(name, Some(i), None)).collect::<Vec<_>>()
    };
    let rows = |condition| {
        let found = all(&mut pass(&file, columns(), Some(condition)), 10_000);
        found.iter().map(|w| w.batch.len()).sum::<usize>()
    };
    let page = ROWS_OF_PAGE as usize;
    assert_eq!(rows(either(vec![less("c0", 100), less("c1", 8_100)])), 2 * page);
    assert_eq!(rows(either(vec![less("c0", -1), less("c1", 0)])), 0);
    // Nothing is known of the pages of `c2`.
    assert_eq!(rows(either(vec![less("c0", 100), less("c2", 5)])), 10 * page);
}

/// Rules S5.31, P6.19.
#[test]
fn filters_are_tested_in_the_order_of_what_dropping_a_row_costs() {
    let file = wide(2, 0, |_| {});
    let columns = || {
        vec![
            column("c0", None, Some(Filter::bigint_range(0, 1 << 30, false))),
            column("c1", None, one_of(&[7])),
        ]
    };
    let mut learned = ScanAdaptation::new(2);
    let mut first = pass(&file, columns(), None);
    while next(&mut first, 10_000, &mut learned).unwrap().is_some() {}
    // By kind the range comes first; it dropped nothing.
    assert_eq!(counts_of(&first, 1).rows_in, ROWS as u64);
    let mut second = pass(&file, columns(), None);
    while next(&mut second, 10_000, &mut learned).unwrap().is_some() {}
    assert_eq!(counts_of(&second, 1).rows_in, ROWS as u64);
    assert_eq!((counts_of(&second, 0).rows_in, counts_of(&second, 0).pages_read), (0, 0));
}

/// Rule P4.26: bounds of blocks follow from the headers of their miniblocks.
#[test]
fn of_ascending_differences_only_blocks_whose_bounds_pass_are_decoded() {
    const DELTA_BINARY_PACKED: u8 = 5;
    const SORTED: i64 = 40_000;
    let element = crate::thrift::structs::SchemaElement {
        name: "c0".into(),
        repetition: Some(crate::thrift::structs::Repetition::Required),
        ..leaf(PhysicalType::Int32)
    };
    let mut footer = footer(vec![element], vec![None]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    let numbers: Vec<i64> = (0..SORTED).map(|row| row * 3 + row % 2).collect();
    let page = crate::encoding::delta_binary_packed::tests::encode(&numbers, 32, (128, 4));
    chunk.v1(&required(SORTED as usize), DELTA_BINARY_PACKED, &page);
    let group = &mut footer.metadata.row_groups[0];
    group.num_rows = SORTED as u64;
    let set = |column: &mut ColumnChunk| {
        let meta = column.meta_data.as_mut().unwrap();
        meta.num_values = SORTED as u64;
        meta.data_page_offset = 4;
        meta.total_compressed_bytes = chunk.bytes.len() as u64;
    };
    group.columns.change(0, set).unwrap();
    let bytes = [b"PAR1", chunk.bytes.as_slice()].concat();
    let file = stored(footer, bytes);
    for (lower, upper) in [(60_000, 60_100), (0, 5), (119_000, 500_000), (-9, -1), (-9, 200_000)] {
        let filter = Filter::bigint_range(lower, upper, false);
        let mut reader = pass(&file, vec![column("c0", Some(0), Some(filter))], None);
        let found = values(&all(&mut reader, 10_000), 0);
        let wanted = numbers.iter().filter(|n| (lower..=upper).contains(*n));
        assert_eq!(found, ints(wanted.map(|n| *n as i32)), "{lower} {upper}");
        let decoded = counts_of(&reader, 0).values_decoded;
        let most = found.len() as u64 + 10 * 1024;
        assert!(decoded <= most && decoded >= found.len() as u64, "{lower} {upper}: {decoded}");
    }
}
