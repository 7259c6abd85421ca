//! Pages of hand-written chunks: what is walked, what is refused.

use super::decompress::Decompressor;
use super::stored::StoredPages;
use super::testing::{ChunkWriter, PLAIN, int32s, required};
use super::*;

fn reader(chunk: &ChunkWriter) -> PageReader {
    PageReader::new(chunk.params(), Buffer::from_slice(&chunk.bytes), MemoryPool::unlimited())
}

fn chunk(codec: Codec) -> ChunkWriter {
    let mut chunk = ChunkWriter::new(codec, 0, 0);
    chunk
        .dictionary(2, &int32s([7, 8]))
        .v1(&required(3), PLAIN, &int32s([1, 2, 3]))
        .index()
        .v1(&[], PLAIN, b"nonsense")
        .v2(&required(2), PLAIN, &int32s([4, 5]));
    chunk
}

fn rest(reader: &mut PageReader) -> Result<Vec<(usize, Vec<u8>)>> {
    let mut pages = Vec::new();
    while reader.peek()?.is_some() {
        let page = reader.read()?;
        pages.push((page.info.ordinal, page.values.to_vec()));
        let DataPage { values, repetition, definition, body, .. } = page;
        drop((values, repetition, definition));
        reader.recycle(body);
    }
    Ok(pages)
}

#[test]
fn data_pages_come_in_order_and_others_do_not_show() {
    for codec in [Codec::Uncompressed, Codec::Snappy] {
        let chunk = chunk(codec);
        let mut pages = reader(&chunk);
        let found = rest(&mut pages).unwrap();
        assert_eq!(found, [(0, int32s([1, 2, 3])), (2, int32s([4, 5]))]);
        assert_eq!(pages.values_left(), 0);
        let dictionary = pages.take_dictionary().unwrap().unwrap();
        assert_eq!((dictionary.num_values, dictionary.values.to_vec()), (2, int32s([7, 8])));
        assert!(pages.take_dictionary().unwrap().is_none());
    }
}

#[test]
fn a_skipped_page_is_passed_over_unread() {
    let mut broken = ChunkWriter::new(Codec::Snappy, 0, 0);
    broken.v1(&required(3), PLAIN, &int32s([1, 2, 3]));
    *broken.bytes.last_mut().unwrap() ^= 0xff;
    broken.v1(&required(1), PLAIN, &int32s([9]));
    let mut pages = reader(&broken);
    let info = pages.peek().unwrap().unwrap();
    assert_eq!(info, PageInfo { ordinal: 0, num_values: 3, num_rows: None, num_nulls: None });
    pages.skip().unwrap();
    assert_eq!(rest(&mut pages).unwrap(), [(1, int32s([9]))]);
}

#[test]
fn version_two_tells_its_rows() {
    let mut chunk = ChunkWriter::new(Codec::Snappy, 1, 1);
    chunk.v2(&[(0, 1), (1, 1), (0, 0)], PLAIN, &int32s([1, 2]));
    let mut pages = reader(&chunk);
    assert_eq!(pages.peek().unwrap().unwrap().num_rows, Some(2));
    let mut page = pages.read().unwrap();
    let (mut rep, mut def) = ([9; 3], [9; 3]);
    page.repetition.read(&mut rep).unwrap();
    page.definition.read(&mut def).unwrap();
    assert_eq!((rep, def), ([0, 1, 0], [1, 1, 0]));
}

#[test]
fn memory_of_two_pages_serves_the_next_ones() {
    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    for _ in 0..10 {
        chunk.v1(&required(1000), PLAIN, &int32s(0..1000));
    }
    let root = MemoryPool::root("root", u64::MAX);
    let leaf = root.leaf("leaf");
    let bytes = Buffer::from_slice(&chunk.bytes);
    let mut pages = PageReader::new(chunk.params(), bytes, leaf.clone());
    assert_eq!(rest(&mut pages).unwrap().len(), 10);
    let two_at_once = Decompressor::default().takes_two(Codec::Snappy);
    let expected = if two_at_once { 8000..10_000 } else { 4000..5000 };
    assert!(expected.contains(&leaf.peak()), "{} of {expected:?}", leaf.peak());
}

#[test]
fn what_is_wrong_with_a_page_is_told_when_it_is_read() {
    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    let mut ends = Vec::new();
    for page in 0..6 {
        chunk.v1(&required(1000), PLAIN, &int32s([page; 1000]));
        ends.push(chunk.bytes.len());
    }
    // Instead of its last copy page 4 has literals: what it decompresses to is too short.
    chunk.bytes[ends[4] - 3..ends[4]].fill(0);
    for skipped in 0..4 {
        let mut pages = reader(&chunk);
        for page in 0..6i32 {
            assert_eq!(pages.peek().unwrap().unwrap().ordinal, page as usize);
            if page == skipped {
                pages.skip().unwrap();
            } else if page == 4 {
                let error = pages.read().unwrap_err().to_string();
                assert!(error.contains("page 4"), "{error}");
            } else {
                let read = pages.read().unwrap();
                assert!(read.values.as_slice() == int32s([page; 1000]), "{page}");
                pages.recycle(read.body);
            }
        }
    }
}

#[test]
fn memory_that_was_still_held_when_its_page_ended_serves_a_later_page() {
    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    for page in 0..6 {
        chunk.v1(&required(1000), PLAIN, &int32s([page; 1000]));
    }
    let mut pages = reader(&chunk);
    let mut held: Option<Buffer<u8>> = None;
    let mut places = Vec::new();
    for page in 0..6 {
        pages.peek().unwrap();
        let DataPage { values, body, .. } = pages.read().unwrap();
        places.push(body.as_slice().as_ptr() as usize);
        pages.recycle(body);
        // A batch ends on this page and is let go of; the next one begins here.
        if let Some(before) = held.replace(values) {
            assert_eq!(before.as_slice(), int32s([page - 1; 1000]));
        }
        assert_eq!(held.as_ref().unwrap().as_slice(), int32s([page; 1000]));
    }
    places.sort_unstable();
    places.dedup();
    assert!(places.len() <= 4, "{}", places.len());
}

#[test]
fn a_chunk_that_breaks_the_rules_says_which() {
    let text = |chunk: &ChunkWriter| rest(&mut reader(chunk)).unwrap_err().to_string();

    let mut two = chunk(Codec::Uncompressed);
    two.dictionary(1, &int32s([1])).v1(&required(1), PLAIN, &int32s([1]));
    assert!(text(&two).starts_with("corrupt: a dictionary page that is not the first page"));

    let mut short = chunk(Codec::Uncompressed);
    short.num_values += 1;
    assert_eq!(
        text(&short),
        "corrupt: the pages of a chunk have other values than the footer says \
         (expected=6 found=5 pages=2)"
    );

    let mut long = chunk(Codec::Uncompressed);
    long.num_values -= 1;
    assert_eq!(
        text(&long),
        "corrupt: the pages of a chunk have other values than the footer says \
         (expected=4 found=5 pages=2)"
    );

    let mut nulls = ChunkWriter::new(Codec::Uncompressed, 1, 0);
    nulls.v2(&[(0, 0)], PLAIN, &[]);
    let params = ChunkParams { max_def: 0, ..nulls.params() };
    let bytes = Buffer::from_slice(&nulls.bytes);
    let mut pages = PageReader::new(params, bytes, MemoryPool::unlimited());
    assert_eq!(
        rest(&mut pages).unwrap_err().to_string(),
        "corrupt: nulls in a column that has none (num_nulls=1)\n  in offset 4, page 0"
    );
}

#[test]
fn a_chunk_cut_anywhere_is_an_error_and_a_changed_byte_no_panic() {
    for codec in [Codec::Uncompressed, Codec::Snappy] {
        let chunk = chunk(codec);
        let all = |bytes: &[u8]| {
            let bytes = Buffer::from_slice(bytes);
            rest(&mut PageReader::new(chunk.params(), bytes, MemoryPool::unlimited()))
        };
        for len in 0..chunk.bytes.len() {
            assert!(all(&chunk.bytes[..len]).is_err(), "{len}");
        }
        for at in 0..chunk.bytes.len() {
            for byte in [0x00, 0x01, 0x15, 0x7f, 0x80, 0xff] {
                let mut bytes = chunk.bytes.clone();
                bytes[at] = byte;
                let _ = all(&bytes);
            }
        }
    }
}

#[test]
fn old_writers_that_forgot_to_say_compressed_are_understood() {
    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    chunk.v2(&required(100), PLAIN, &int32s(0..100));
    // The header's last fields are the level sizes; is_compressed = false goes behind them.
    let at = chunk.bytes.windows(4).position(|w| w == [0x15, 0, 0, 0]).unwrap();
    chunk.bytes.insert(at + 2, 0x12);
    assert!(rest(&mut reader(&chunk)).is_err());
    let params = ChunkParams {
        quirks: PageQuirks { ignore_is_compressed: true, ..PageQuirks::default() },
        ..chunk.params()
    };
    let bytes = Buffer::from_slice(&chunk.bytes);
    let mut pages = PageReader::new(params, bytes, MemoryPool::unlimited());
    assert_eq!(rest(&mut pages).unwrap(), [(0, int32s(0..100))]);
}

#[test]
fn checksums_are_compared_only_when_asked_and_every_page_is_shown_as_it_stands() {
    // CRC-32 of the bytes `123456789` is known from its definition.
    assert_eq!(super::decompress::crc32(b"123456789"), 0xcbf4_3926);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.checksum = Some(super::decompress::crc32(&int32s(0..3)));
    chunk.v1(&required(3), PLAIN, &int32s(0..3)).index();
    chunk.checksum = Some(7);
    chunk.v2(&required(2), PLAIN, &int32s(3..5));
    assert_eq!(rest(&mut reader(&chunk)).unwrap().len(), 2);
    let params = ChunkParams {
        options: PageOptions { verifies_checksums: true, ..PageOptions::default() },
        ..chunk.params()
    };
    let bytes = Buffer::from_slice(&chunk.bytes);
    let error = rest(&mut PageReader::new(params, bytes.clone(), MemoryPool::unlimited()));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("(stored=00000007 computed="), "{text}");
    assert!(text.contains("in page 1, offset "), "{text}");

    let mut pages = StoredPages::new(4, bytes.clone(), None).until(5, bytes.len() as u64);
    let mut ordinals = Vec::new();
    while let Some((_, ordinal)) = pages.next_page().unwrap() {
        ordinals.push(ordinal);
    }
    assert_eq!(ordinals, [Some(0), None, Some(1)]);
    let mut pages = StoredPages::new(4, bytes.slice(0..bytes.len() - 1), None).until(5, 0);
    assert!(pages.next_page().unwrap().is_some() && pages.next_page().unwrap().is_some());
    assert!(pages.next_page().is_err());
    assert!(pages.next_page().unwrap().is_none());
}

#[test]
fn a_page_is_as_large_as_the_setting_allows() {
    for codec in [Codec::Uncompressed, Codec::Snappy] {
        let mut chunk = ChunkWriter::new(codec, 0, 0);
        chunk.v1(&required(100), PLAIN, &int32s(0..100)).v2(&required(100), PLAIN, &int32s(0..100));
        let read = |max_page_bytes| {
            let options = PageOptions { max_page_bytes, ..PageOptions::default() };
            let params = ChunkParams { options, ..chunk.params() };
            let bytes = Buffer::from_slice(&chunk.bytes);
            rest(&mut PageReader::new(params, bytes, MemoryPool::unlimited()))
        };
        assert_eq!(read(400).unwrap().len(), 2);
        let error = read(399).unwrap_err();
        assert_eq!(error.kind(), vector::ErrorKind::Limit);
        let text = error.to_string();
        assert!(text.contains("(bytes=400 max=399)"), "{text}");
        assert!(text.contains("parquet_max_page_bytes"), "{text}");
    }
}

#[test]
fn pages_are_the_same_whatever_pieces_of_the_file_are_held() {
    use dwio::fs::{FileSystem, MemoryFiles};
    use dwio::input::BufferedInput;

    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    chunk.dictionary(5_000, &int32s(0..5_000));
    for page in 0..12i32 {
        // Of all sizes, so that pages and headers end anywhere in a piece.
        let values = (0..1_000 * page + 7).map(|i| i.wrapping_mul(0x9e37_79b1u32.cast_signed()));
        chunk.v1(&required(values.len()), PLAIN, &int32s(values));
    }
    let files = MemoryFiles::new();
    files.put("f", [&b"PAR1"[..], &chunk.bytes, b"more"].concat());
    let region = 4..4 + chunk.bytes.len() as u64;
    let expected = rest(&mut reader(&chunk)).unwrap();
    for max_piece in [1, 5_000, 20_000, 70_000, 1 << 20] {
        let input = BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited());
        let source = source::PageSource::of_file(input, region.clone(), max_piece).unwrap();
        let mut pages = PageReader::new(chunk.params(), source, MemoryPool::unlimited());
        assert_eq!(rest(&mut pages).unwrap(), expected);
        // Its bytes may not be in memory any more.
        let dictionary = pages.take_dictionary().unwrap().unwrap();
        assert_eq!(dictionary.values.to_vec(), int32s(0..5_000));
    }
}
