//! Row groups that are excluded by the dictionary of a column with a filter.

use super::*;
use crate::page::testing::{RLE_DICTIONARY, indices};
use crate::thrift::structs::{Encoding, PageEncodingStats, PageType};

const VALUES: [[i32; 3]; 2] = [[10, 20, 30], [10, 25, 30]];
const ROWS: usize = 16;

/// Returns a file of two row groups. `a` cycles through the three values of a dictionary, `b`
/// counts rows; with `has_plain` the last page of `a` is PLAIN, with the value five. With `is_told`
/// the footer states how pages are encoded.
fn file(has_plain: bool, is_told: bool) -> File {
    let element = |name: &str| crate::thrift::structs::SchemaElement {
        name: name.into(),
        repetition: Some(crate::thrift::structs::Repetition::Required),
        ..leaf(PhysicalType::Int32)
    };
    let mut footer = footer(vec![element("a"), element("b")], vec![None, None]);
    let template = footer.metadata.row_groups.remove(0);
    let (mut bytes, mut b_offsets) = (b"PAR1".to_vec(), Vec::new());
    let num_rows = if has_plain { 2 * ROWS } else { ROWS };
    for dictionary in VALUES {
        let mut group = RowGroup { num_rows: num_rows as u64, ..template.clone() };
        let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
        let picked: Vec<u8> = (0..ROWS).map(|row| row as u8 % 3).collect();
        chunk.dictionary(3, &int32s(dictionary));
        let dictionary_bytes = chunk.bytes.len() as u64;
        chunk.v1(&required(ROWS), RLE_DICTIONARY, &indices(&picked, 2));
        if has_plain {
            chunk.v1(&required(ROWS), PLAIN, &int32s([5; ROWS]));
        }
        let told = |encoding, num_pages: u32| PageEncodingStats {
            page_type: if num_pages == 0 { PageType::Dictionary } else { PageType::Data },
            encoding,
            num_pages: num_pages.max(1),
        };
        let start = bytes.len() as u64;
        let of_a = |column: &mut ColumnChunk| {
            let meta = column.meta_data.as_mut().unwrap();
            meta.codec = Codec::Snappy;
            meta.num_values = num_rows as u64;
            meta.dictionary_page_offset = Some(start);
            meta.data_page_offset = start + dictionary_bytes;
            meta.total_compressed_bytes = chunk.bytes.len() as u64;
            meta.encodings = vec![Encoding::Plain, Encoding::Rle, Encoding::RleDictionary];
            if is_told {
                meta.encoding_stats =
                    vec![told(Encoding::Plain, 0), told(Encoding::RleDictionary, 1)];
                meta.encoding_stats.extend(has_plain.then(|| told(Encoding::Plain, 1)));
            }
        };
        group.columns.change(0, of_a).unwrap();
        bytes.extend(chunk.bytes);
        let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
        chunk.v1(&required(num_rows), PLAIN, &int32s(0..num_rows as i32));
        b_offsets.push(bytes.len() as u64);
        let of_b = |column: &mut ColumnChunk| {
            let meta = column.meta_data.as_mut().unwrap();
            meta.num_values = num_rows as u64;
            meta.data_page_offset = bytes.len() as u64;
            meta.total_compressed_bytes = chunk.bytes.len() as u64;
        };
        group.columns.change(1, of_b).unwrap();
        bytes.extend(chunk.bytes);
        footer.metadata.row_groups.push(group);
    }
    File { b_offsets, ..stored(footer, bytes) }
}

/// Returns the rows of `b` where `a` is `value`, and the numbers of excluded row groups, data pages
/// read and dictionaries read.
fn scan(file: &File, value: i64) -> (Vec<Value>, [i64; 3]) {
    let filter = Filter::bigint_values(vec![value], false);
    let columns = vec![column("a", None, Some(filter)), column("b", Some(0), None)];
    let mut reader = reader(file, columns, 0..u64::MAX);
    let found = values(&all(&mut reader, 100), 0);
    let metrics = reader.metrics();
    let counted = ["skippedStrides", "parquet.pagesRead", "parquet.dictionariesRead"];
    (found, counted.map(|name| metrics.sum(name)))
}

/// When every data page is dictionary-encoded and no entry of the dictionary passes, the row group
/// is excluded (rule P5.40).
#[test]
fn a_dictionary_without_a_passing_value_leaves_its_row_group_out() {
    let found = || ints((1..16).step_by(3));
    let told = file(false, true);
    assert_eq!(scan(&told, 25), (found(), [1, 2, 2]), "one page of `a`, one of `b`");
    assert_eq!(scan(&told, 20), (found(), [1, 2, 2]));
    assert_eq!(scan(&told, 7), (vec![], [2, 0, 2]));
    // Without the statement of the footer any page may have any value; the rows are the same.
    assert_eq!(scan(&file(false, false), 25), (found(), [0, 3, 2]));
    assert_eq!(scan(&file(false, false), 7), (vec![], [0, 2, 2]));
}

#[test]
fn a_plain_page_beside_the_dictionary_may_have_what_that_has_not() {
    for is_told in [true, false] {
        let mixed = file(true, is_told);
        let (rows, [skipped, ..]) = scan(&mixed, 5);
        assert_eq!((rows.len(), skipped), (2 * ROWS, 0), "{is_told}");
        assert_eq!(scan(&mixed, 7).0, vec![]);
        assert_eq!(scan(&mixed, 25).0, ints((1..16).step_by(3)));
    }
}
