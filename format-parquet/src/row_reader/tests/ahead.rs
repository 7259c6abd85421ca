//! Remote files: regions that a scan announces are already fetched when it reaches them.

use std::time::Duration;

use dwio::fs::AheadFiles;

use super::*;

/// Number of rows of a row group; a file has `GROUPS` row groups.
const ROWS: i32 = 600_000;
const GROUPS: i32 = 4;

/// Returns a file of two columns of large chunks, each read in pieces: `a` counts rows, `b` is a
/// hundred times as much.
fn large() -> File {
    let element = |name: &str| crate::thrift::structs::SchemaElement {
        name: name.into(),
        repetition: Some(crate::thrift::structs::Repetition::Required),
        ..leaf(PhysicalType::Int32)
    };
    let mut footer = footer(vec![element("a"), element("b")], vec![None, None]);
    let template = footer.metadata.row_groups.remove(0);
    let mut bytes = b"PAR1".to_vec();
    for group in 0..GROUPS {
        let mut row_group = RowGroup { num_rows: ROWS as u64, ..template.clone() };
        for (number, factor) in [1, 100].into_iter().enumerate() {
            let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
            for first in (0..ROWS).step_by(20_000) {
                let first = group * ROWS + first;
                let values = int32s((first..first + 20_000).map(|row| row.wrapping_mul(factor)));
                chunk.v1(&required(20_000), PLAIN, &values);
            }
            let change = |column: &mut ColumnChunk| {
                let meta = column.meta_data.as_mut().unwrap();
                meta.num_values = ROWS as u64;
                meta.data_page_offset = bytes.len() as u64;
                meta.total_compressed_bytes = chunk.bytes.len() as u64;
            };
            row_group.columns.change(number, change).unwrap();
            bytes.extend(chunk.bytes);
        }
        footer.metadata.row_groups.push(row_group);
    }
    stored_with(footer, bytes, Fault::Slow(Duration::from_millis(2)))
}

/// Returns the sum of a column and the number of reads that the scanning thread had to make itself.
/// `settle` is called after rows are decoded; it waits for the fetches, because decoding is much
/// faster here than with a remote file.
fn scan(
    file: &File,
    files: Arc<dyn FileSystem>,
    columns: Vec<ColumnSpec>,
    settle: impl Fn(),
) -> (i64, u64) {
    let before = file.files.reads_here();
    let mut reader = reader_of(file, files.as_ref(), columns, 0..u64::MAX);
    let mut adaptation = ScanAdaptation::new(2);
    let mut sum = 0;
    while let Some(rows) = next(&mut reader, 10_000, &mut adaptation).unwrap() {
        let last = rows.batch.children().last().unwrap();
        sum += values_of(last).iter().filter_map(Value::as_i64).sum::<i64>();
        settle();
    }
    (sum, file.files.reads_here() - before)
}

/// The next row group is prefetched while the current one is decoded, and lazy columns that are not
/// read cost no I/O (rules P6.44, P6.46, S7.77).
#[test]
fn pieces_other_columns_and_the_next_row_group_are_fetched_while_rows_are_decoded() {
    let file = large();
    let near: Arc<dyn FileSystem> = Arc::new(file.files.clone());
    let filter = || Some(Filter::bigint_range(100, i64::from(i32::MAX), false));
    let scans = [both(), vec![column("a", Some(0), filter()), column("b", Some(1), None)]];
    for columns in scans {
        let (expected, waits) = scan(&file, Arc::clone(&near), columns.clone(), || {});
        let bytes = file.files.read_bytes();
        assert!(waits >= 20, "{waits}");
        let far = AheadFiles::new(Arc::clone(&near), 4, 64 << 20);
        let fetching = far.clone();
        let settle = || fetching.wait_until_fetched();
        let (sum, own) = scan(&file, Arc::new(far), columns, settle);
        assert_eq!(sum, expected);
        assert!(own * 4 <= waits, "{own} of {waits} reads were waited for");
        // Little is read twice, and nothing that is not needed.
        let total: u64 = file.footer.file_bytes;
        assert!(file.files.read_bytes() - bytes < total + total / 4);
    }
}

#[test]
fn nothing_is_fetched_of_row_groups_outside_of_the_range() {
    let file = large();
    let far = AheadFiles::new(Arc::new(file.files.clone()), 2, 64 << 20);
    let one_group = vec![column("a", Some(0), None), column("b", Some(1), None)];
    let mut reader = reader_of(&file, &far, one_group, 0..100);
    let mut adaptation = ScanAdaptation::new(2);
    while next(&mut reader, 10_000, &mut adaptation).unwrap().is_some() {}
    drop(reader);
    drop(far);
    let of_group = file.footer.file_bytes / GROUPS as u64;
    assert!(file.files.read_bytes() < of_group + of_group / 4);
}
