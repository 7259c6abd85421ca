//! The pages of column chunks: what their headers say, and what the page index says of them.

use dwio::fs::FileSystem;
use dwio::input::BufferedInput;
use format_parquet::chunk_pages::stored_pages;
use format_parquet::page::stored::{StoredPage, StoredPages};
use format_parquet::page_index::{PageIndex, read_page_index};
use format_parquet::schema::Leaf;
use format_parquet::statistics::{TrustOptions, stored_value};
use format_parquet::thrift::structs::PageKind;
use vector::{MemoryPool, Result, Type, Value};

use super::chunks::{Chosen, ChunksOf};
use super::facts::{Facts, hex, number, number_or_null, text, text_or_null, value_or_null};
use super::{InspectedFile, Shown};

/// Magic bytes at the start of every file.
const MAGIC_BYTES: u64 = 4;

fn no_facts() -> Facts {
    Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("page", Type::BigInt),
        ("type", Type::Varchar),
        ("encoding", Type::Varchar),
        ("offset", Type::BigInt),
        ("header_bytes", Type::BigInt),
        ("compressed_bytes", Type::BigInt),
        ("uncompressed_bytes", Type::BigInt),
        ("values", Type::BigInt),
        ("nulls", Type::BigInt),
        ("rows", Type::BigInt),
        ("first_row", Type::BigInt),
        ("crc", Type::Varchar),
        ("min", Type::Varchar),
        ("max", Type::Varchar),
    ])
}

/// One row for each page of the chosen chunks. Only data pages have a number (`page`); rows, nulls
/// and bounds are there where the header or the page index tells them.
pub fn pages(file: &InspectedFile, wanted: &ChunksOf) -> Result<Shown> {
    let mut facts = no_facts();
    let mut broken = Vec::new();
    for chosen in wanted.find(&file.footer)? {
        let shown = show_chunk(file, &chosen, &mut facts);
        broken.extend(shown.err().map(|e| chosen.place(e)));
    }
    Ok(Shown { rows: facts.finish()?, broken })
}

/// The pages of a file without a usable footer: those that follow each other from its start on. The
/// last error says where they end.
pub fn pages_without_footer(files: &dyn FileSystem, path: &str, pool: MemoryPool) -> Result<Shown> {
    let input = BufferedInput::new(files.open(path)?, pool);
    let mut facts = no_facts();
    let bytes = input
        .read(MAGIC_BYTES.min(input.file_len()), input.file_len().saturating_sub(MAGIC_BYTES))?;
    let mut pages = StoredPages::new(MAGIC_BYTES, bytes, None);
    let broken = loop {
        match pages.next_page() {
            Ok(None) => break Vec::new(),
            Ok(Some((page, ordinal))) => {
                let mut row = vec![Value::Null, Value::Null];
                row.extend(header(&page, ordinal, pages.file_offset(page.header_at)));
                row.extend(indexed(&page, None, None));
                facts.push(row);
            }
            Err(error) => break vec![error.in_named("file", path)],
        }
    };
    Ok(Shown { rows: facts.finish()?, broken })
}

fn show_chunk(file: &InspectedFile, chosen: &Chosen<'_>, facts: &mut Facts) -> Result<()> {
    let source = file.chunk(chosen.row_group, chosen.leaf);
    let mut pages = stored_pages(source)?;
    let index = read_page_index(source, true, TrustOptions::default())?;
    let leaf = file.footer.schema.leaves().get(chosen.leaf);
    while let Some((page, ordinal)) = pages.next_page()? {
        let offset = pages.file_offset(page.header_at);
        let mut row = vec![number(chosen.row_group as u64), text(&chosen.name)];
        row.extend(header(&page, ordinal, offset));
        let place = ordinal.and_then(|ordinal| place_in_index(&index, ordinal, offset));
        row.extend(indexed(&page, leaf, place.map(|place| (&index, place))));
        facts.push(row);
    }
    Ok(())
}

/// Where the index has the page: pages without values may be left out of it.
fn place_in_index(index: &PageIndex, ordinal: usize, offset: u64) -> Option<usize> {
    match index.offsets() {
        Some(offsets) => offsets.pages.binary_search_by_key(&offset, |page| page.offset).ok(),
        None => Some(ordinal),
    }
}

/// The columns from `page` to `values`.
fn header(page: &StoredPage, ordinal: Option<usize>, offset: u64) -> Vec<Value> {
    let (kind, encoding, num_values) = match &page.header.kind {
        PageKind::Data(v1) => ("DATA_PAGE".into(), Some(v1.encoding), Some(v1.num_values)),
        PageKind::DataV2(v2) => ("DATA_PAGE_V2".into(), Some(v2.encoding), Some(v2.num_values)),
        PageKind::Dictionary(dictionary) => {
            let num_values = Some(dictionary.num_values);
            ("DICTIONARY_PAGE".into(), Some(dictionary.encoding), num_values)
        }
        PageKind::Index => ("INDEX_PAGE".into(), None, None),
        PageKind::Unknown(number) => (format!("?{number}"), None, None),
    };
    vec![
        number_or_null(ordinal.map(|ordinal| ordinal as u64)),
        text(kind),
        text_or_null(encoding.map(|encoding| encoding.to_string())),
        number(offset),
        number(page.body.start.saturating_sub(page.header_at) as u64),
        number(page.header.compressed_bytes as u64),
        number(page.header.uncompressed_bytes as u64),
        number_or_null(num_values.map(|values| values as u64)),
    ]
}

/// The columns from `nulls` to `max`; `place` is the page in the index.
fn indexed(
    page: &StoredPage,
    leaf: Option<&Leaf>,
    place: Option<(&PageIndex, usize)>,
) -> [Value; 6] {
    let stated = match &page.header.kind {
        PageKind::DataV2(v2) => Some((v2.num_nulls as u64, v2.num_rows as u64)),
        _ => None,
    };
    let columns = place.and_then(|(index, at)| Some((index.stored_columns()?, at)));
    let rows = place.map(|(index, at)| index.rows(at)).filter(|rows| !rows.is_empty());
    let nulls = columns.and_then(|(columns, at)| columns.null_counts.get(at)).copied();
    let num_nulls = stated.map(|(nulls, _)| nulls).or(nulls.and_then(|n| u64::try_from(n).ok()));
    let num_rows = stated
        .map(|(_, rows)| rows)
        .or(rows.as_ref().map(|rows| rows.end.saturating_sub(rows.start)));
    // The bounds of a page of nulls mean nothing.
    let bounds = columns.filter(|(columns, at)| columns.null_pages.get(*at) == Some(&false));
    let shown = |bytes: Option<&[u8]>| match (leaf, bytes) {
        (Some(leaf), Some(bytes)) => match stored_value(leaf, bytes) {
            Some(value) => value_or_null(&leaf.ty, Some(&value)),
            None => hex(bytes),
        },
        _ => Value::Null,
    };
    [
        number_or_null(num_nulls),
        number_or_null(num_rows),
        number_or_null(rows.map(|rows| rows.start)),
        text_or_null(page.header.crc.map(|crc| format!("{crc:08x}"))),
        shown(bounds.and_then(|(columns, at)| columns.min(at))),
        shown(bounds.and_then(|(columns, at)| columns.max(at))),
    ]
}
