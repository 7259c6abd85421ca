//! Claims of single headers and dictionaries.

use super::super::testing::{
    ChangedField, ChunkWriter, PLAIN, RLE_DICTIONARY, byte_arrays, int32s, required,
};
use super::super::{DictionaryPage, PageReader};
use super::*;
use crate::encoding::recoded::Storage;
use crate::thrift::structs::Codec;
use vector::{ErrorKind, MemoryPool};

fn reader(chunk: &ChunkWriter) -> PageReader {
    PageReader::new(chunk.params(), Buffer::from_slice(&chunk.bytes), MemoryPool::unlimited())
}

fn first(chunk: &ChunkWriter) -> Result<()> {
    reader(chunk).peek().map(drop)
}

#[test]
fn a_page_of_unknown_type_is_refused_and_an_index_page_is_not() {
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.index().v1(&required(2), PLAIN, &int32s([1, 2]));
    first(&chunk).unwrap();
    let mut unknown = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    unknown.page(9, 9, &[], b"rows?", 5);
    unknown.v1(&required(2), PLAIN, &int32s([1, 2]));
    let error = first(&unknown).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("page_type=9"), "{error}");
}

#[test]
fn counts_have_to_add_up_before_the_first_page_is_handed_out() {
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    for page in 0..5 {
        chunk.v1(&required(3), PLAIN, &int32s([page; 3]));
    }
    first(&chunk).unwrap();
    for num_values in [3, 12, 14, 16, 30] {
        let error = {
            let mut params = chunk.params();
            params.num_values = num_values;
            let bytes = Buffer::from_slice(&chunk.bytes);
            PageReader::new(params, bytes, MemoryPool::unlimited()).peek().unwrap_err()
        };
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{num_values}: {error}");
    }
}

#[test]
fn a_page_starts_in_front_of_the_declared_end() {
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.v1(&required(3), PLAIN, &int32s([1, 2, 3]));
    let declared_bytes = chunk.bytes.len() as u64;
    chunk.v1(&required(3), PLAIN, &int32s([4, 5, 6]));
    let with = |declared_bytes: u64, num_values: u64| {
        let mut params = chunk.params();
        (params.declared_bytes, params.num_values) = (declared_bytes, num_values);
        params.num_rows = num_values;
        let bytes = Buffer::from_slice(&chunk.bytes);
        let mut pages = PageReader::new(params, bytes, MemoryPool::unlimited());
        while pages.peek()?.is_some() {
            pages.skip()?;
        }
        Ok(()) as Result<()>
    };
    with(declared_bytes, 3).unwrap();
    // An old writer did not count the header of its dictionary page.
    with(declared_bytes + 1, 6).unwrap();
    assert_eq!(with(declared_bytes, 6).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(with(2 * declared_bytes, 3).unwrap_err().kind(), ErrorKind::Corrupt);
}

fn dictionary(storage: Storage, entries: usize, bytes: &[u8]) -> Result<DictionaryPage> {
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.storage = storage;
    chunk.dictionary(entries, bytes).v1(&required(1), PLAIN, &int32s([1]));
    let mut pages = reader(&chunk);
    pages.peek()?;
    pages.take_dictionary().map(|page| page.expect("the first page is a dictionary"))
}

#[test]
fn entries_of_a_dictionary_are_bounded_by_its_bytes() {
    let of = |physical, type_length| Storage { physical, type_length };
    let (int32, text) = (of(PhysicalType::Int32, 0), of(PhysicalType::ByteArray, 0));
    let fixed = |width| of(PhysicalType::FixedLenByteArray, width);
    let huge = i32::MAX as usize;
    let sound = [
        (int32, 2, int32s([1, 2])),
        (text, 2, byte_arrays(&[b"a", b""])),
        (fixed(3), 2, b"abcdef".to_vec()),
        (fixed(0), 1, Vec::new()),
        (fixed(0), 0, Vec::new()),
        (int32, 0, Vec::new()),
    ];
    for (storage, entries, bytes) in sound {
        assert_eq!(dictionary(storage, entries, &bytes).unwrap().num_values, entries);
    }
    let wrong = [
        (int32, 1, int32s([1, 2])),
        (int32, 3, int32s([1, 2])),
        (int32, huge, int32s([1, 2])),
        (text, huge, byte_arrays(&[b"a", b""])),
        (text, 3, byte_arrays(&[b"a", b""])),
        (fixed(3), 1, b"abcdef".to_vec()),
        (fixed(0), 2, Vec::new()),
        (fixed(0), huge, Vec::new()),
        (fixed(0), 1, b"x".to_vec()),
    ];
    for (storage, entries, bytes) in wrong {
        let error = dictionary(storage, entries, &bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{storage:?} {entries}: {error}");
    }
}

#[test]
fn needless_levels_may_only_say_that_there_are_none() {
    let check = |bytes: &[u8], num_values| {
        check_needless_levels(&Buffer::from_slice(bytes), num_values).is_ok()
    };
    // None; 68 of width 0; four ones and eight zeros of width 1.
    assert!(check(&[], 5) && check(&[0x88, 0x01], 68) && check(&[0x03, 0x0f], 4));
    assert!(check(&[0x10, 0x00], 8));
    // Too few, too many runs, some of each.
    assert!(!check(&[0x88, 0x01], 69) && !check(&[0x03, 0x05], 4));
    assert!(!check(&[0x03, 0x0f, 0x08, 0x01], 4) && !check(&[0x01, 0x02, 0x03, 0x04], 5));
}

#[test]
fn levels_in_front_of_a_page_are_told_from_values() {
    let section =
        |levels: &[u8]| [&(levels.len() as u32).to_le_bytes()[..], levels, b"values"].concat();
    let starts = |levels: &[u8], num| starts_with_levels(&section(levels), num);
    // A repeated run, a packed one, and both.
    assert!(starts(&[6, 1], 3) && starts(&[3, 0x2d], 6) && starts(&[3, 0x2d, 6, 0], 11));
    assert!(starts(&[6, 1, 5, 0xff, 0xff], 12) && starts(&[6, 1, 5, 0xff, 0xff], 19));
    // Of another number of values, and what is no run of levels.
    assert!(!starts(&[6, 1], 2) && !starts(&[6, 1], 4) && !starts(&[6, 1, 3, 0xff], 3));
    assert!(!starts(&[6, 2], 3) && !starts(&[5, 0xff], 10));
    assert!(!starts(b"sts.amazonaws.com", 1) && !starts(b"sts.amazonaws.com", 100));
    assert!(!starts_with_levels(b"\x09\0\0\0short", 3) && !starts_with_levels(b"", 0));
}

#[test]
fn indices_do_not_start_with_levels_and_levels_are_in_one_encoding() {
    // Three indices in a dictionary of two bits, and the same behind the levels of three values.
    let indices = [2, 3, 0b0010_0100];
    let page = |bytes: &[u8]| {
        let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
        chunk.v1(&required(3), RLE_DICTIONARY, bytes);
        let mut pages = reader(&chunk);
        pages.peek()?;
        pages.read().map(drop)
    };
    page(&indices).unwrap();
    let behind = [&[2, 0, 0, 0, 6, 1][..], &indices].concat();
    let error = page(&behind).unwrap_err();
    assert!(error.to_string().contains("levels that its column does not have"), "{error}");

    for (field, max_rep, is_sound) in [(2, 0, true), (2, 1, false), (3, 0, true), (3, 1, false)] {
        let mut chunk = ChunkWriter::new(Codec::Uncompressed, 1, max_rep);
        // The deprecated encoding.
        chunk.changed = Some(ChangedField { page: 0, field, value: 4 });
        chunk.v1(&[(0, 1), (0, 1)], PLAIN, &int32s([1, 2]));
        let found = first(&chunk);
        assert_eq!(found.is_ok(), is_sound, "{field} {max_rep} {found:?}");
    }
}
