//! Encrypted pages that are read one by one, with an offset index that is encrypted itself.

use super::on_demand::{NUM_PAGES, PAGE_BYTES, ROWS, ROWS_OF_PAGE, one_of, pass, wide};
use super::*;
use crate::decrypt::FileDecryptor;
use crate::decrypt::tests::{algorithm, keys, seal};
use crate::page_index::tests::Indexes;
use crate::thrift::structs::{ColumnCrypto, IndexRegion};

const KEY: [u8; 16] = [7; 16];
/// Number of bytes of a module besides its content: length, nonce and tag.
const MODULE_BYTES: usize = 4 + 12 + 16;

/// Returns a module of the second column of the first row group; `page` is the page's ordinal.
fn sealed(module: u8, page: Option<u8>, content: &[u8]) -> Vec<u8> {
    let mut place = [&b"prefixunique"[..], &[module, 0, 0, 1, 0]].concat();
    place.extend(page.into_iter().flat_map(|ordinal| [ordinal, 0]));
    seal(&KEY, &place, content)
}

/// Returns the file of `wide` with an encrypted `c1`; `order` is the order of its pages in the
/// file.
fn file(order: [u8; NUM_PAGES as usize]) -> File {
    let plain = wide(2, 1, |_| {});
    let mut footer = Arc::into_inner(plain.footer).unwrap();
    let opened = plain.files.open("f.parquet").unwrap();
    let mut bytes = vec![0; opened.len() as usize];
    opened.read_exact_at(0, &mut bytes).unwrap();
    let start = bytes.len();
    let mut pages = Vec::new();
    for (place, page) in order.into_iter().enumerate() {
        let first = i32::from(page) * ROWS_OF_PAGE;
        let values = int32s((first..first + ROWS_OF_PAGE).map(|row| row * 2));
        let mut header = ChunkWriter::new(Codec::Uncompressed, 0, 0);
        let body = sealed(2, Some(page), &values);
        header.page(0, 5, &[ROWS_OF_PAGE as u32, PLAIN.into(), 3, 3], &body, values.len());
        header.bytes.truncate(header.bytes.len() - body.len());
        let at = bytes.len();
        bytes.extend(sealed(4, Some(page), &header.bytes));
        bytes.extend(body);
        let row = place as i64 * i64::from(ROWS_OF_PAGE);
        pages.push((at as i64, (bytes.len() - at) as i32, row));
    }
    let chunk_bytes = (bytes.len() - start) as u64;
    let index = Indexes { pages, ..Indexes::sample() };
    let index = sealed(7, None, &index.offset_bytes());
    let region = IndexRegion { offset: bytes.len() as u64, bytes: index.len() as u32 };
    bytes.extend(index);
    let encrypt = |chunk: &mut ColumnChunk| {
        let meta = chunk.meta_data.as_mut().unwrap();
        meta.data_page_offset = start as u64;
        meta.total_compressed_bytes = chunk_bytes;
        chunk.offset_index = Some(region);
        chunk.crypto = Some(ColumnCrypto::FooterKey);
        chunk.is_unlocked = true;
    };
    footer.metadata.row_groups[0].columns.change(1, encrypt).unwrap();
    footer.decryptor = Some(FileDecryptor::new(&algorithm(false), None, keys(&KEY, &[])).unwrap());
    stored(footer, bytes)
}

fn in_order() -> [u8; NUM_PAGES as usize] {
    std::array::from_fn(|page| page as u8)
}

#[test]
fn encrypted_pages_are_found_by_their_offset_index_and_decrypted_at_their_place() {
    let file = file(in_order());
    let columns =
        |rows: &[i64]| vec![column("c0", None, one_of(rows)), column("c1", Some(0), None)];
    let mut reader = pass(&file, columns(&[12_345, 12_349]), None);
    assert_eq!(values(&all(&mut reader, 10_000), 0), ints([24_690, 24_698]));
    // One page of each column, and the indexes that locate them.
    assert_eq!(reader.metrics().sum("parquet.pagesRead"), 2);
    let bytes = file.files.read_bytes();
    assert!(bytes < 2 * (PAGE_BYTES + 2 * MODULE_BYTES as u64) + 2_000, "{bytes}");
    let mut reader = pass(&file, columns(&[3, 20_000, 39_999]), None);
    assert_eq!(values(&all(&mut reader, 10_000), 0), ints([6, 40_000, 79_998]));
    let whole = vec![column("c1", Some(0), None)];
    let found = values(&all(&mut pass(&file, whole, None), 10_000), 0);
    assert_eq!(found, ints((0..ROWS).map(|row| row * 2)));
}

#[test]
fn an_encrypted_page_at_the_place_of_another_is_refused() {
    let mut order = in_order();
    order.swap(3, 4);
    let columns = vec![column("c0", None, one_of(&[12_345])), column("c1", Some(0), None)];
    let mut reader = pass(&file(order), columns, None);
    let mut learned = ScanAdaptation::new(2);
    let error = loop {
        match next(&mut reader, 10_000, &mut learned) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the page of other rows was read"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("cannot decrypt"), "{error}");
}
