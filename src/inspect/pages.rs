//! Pages of column chunks: their headers and their entries in the page index.

use std::ops::Range;

use dwio::fs::FileSystem;
use dwio::input::BufferedInput;
use format_parquet::chunk_pages::stored_pages;
use format_parquet::page::stored::{StoredPage, StoredPages};
use format_parquet::page_index::{PageIndex, read_page_index};
use format_parquet::schema::Leaf;
use format_parquet::statistics::{TrustOptions, stored_value};
use format_parquet::thrift::structs::PageKind;
use vector::{MemoryPool, Result, Type, Value, value_text};

use super::chunks::{Chosen, ChunksOf};
use super::facts::{Facts, hex, number, number_or_null, text, text_or_null, texts, value_or_null};
use super::fate::{Fate, GroupFate};
use super::{InspectedFile, Shown};
use crate::engine::FileCondition;

/// Number of magic bytes at the start of a file.
const MAGIC_BYTES: u64 = 4;

fn no_facts(with_fate: bool) -> Facts {
    let fate = [("fate", Type::Varchar), ("wanted_rows", Type::BigInt), ("by", Type::Varchar)];
    let columns = [
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
        ("details", Type::array(Type::Varchar)),
    ];
    Facts::new(columns.into_iter().chain(fate.into_iter().filter(|_| with_fate)))
}

/// Returns one row for each page of the selected chunks. Only data pages have a number (`page`).
/// Rows, nulls and bounds are present if the header or the page index states them.
///
/// # Errors
/// `NotFound` if the column or row group does not exist. Errors of a single chunk are part of the
/// result.
pub fn pages(file: &InspectedFile, wanted: &ChunksOf) -> Result<Shown> {
    show(file, wanted, None)
}

/// Returns the same rows, with the effect of a condition on each page: read, read in part or
/// skipped, and because of what.
///
/// # Errors
/// As [`pages`], and errors of testing the condition on a row group.
pub fn pages_under(
    file: &InspectedFile,
    wanted: &ChunksOf,
    condition: &FileCondition,
) -> Result<Shown> {
    show(file, wanted, Some(condition))
}

fn show(
    file: &InspectedFile,
    wanted: &ChunksOf,
    condition: Option<&FileCondition>,
) -> Result<Shown> {
    let mut facts = no_facts(condition.is_some());
    let mut broken = Vec::new();
    let mut group: Option<(usize, GroupFate)> = None;
    for chosen in wanted.find(&file.footer)? {
        if let Some(condition) = condition
            && group.as_ref().is_none_or(|(number, _)| *number != chosen.row_group)
        {
            let fate = GroupFate::new(file, condition, chosen.row_group);
            group = Some((chosen.row_group, fate.map_err(|e| chosen.place(e))?));
        }
        let mut rows = Vec::new();
        let shown = show_chunk(file, &chosen, &mut rows);
        broken.extend(shown.err().map(|e| chosen.place(e)));
        let fates = group.as_ref().map(|(_, group)| fates(group, chosen.leaf, &rows));
        for (at, page) in rows.into_iter().enumerate() {
            let fate = fates.as_ref().and_then(|fates| fates.get(at)).map(Fate::facts);
            facts.push(page.facts.into_iter().chain(fate.into_iter().flatten()).collect());
        }
    }
    Ok(Shown { rows: facts.finish()?, broken })
}

/// A page to show.
struct ShownPage {
    facts: Vec<Value>,
    /// True for data pages.
    has_rows: bool,
    /// Rows of the page, counted from the first row of the row group, if known.
    rows: Option<Range<u64>>,
}

/// Returns the effect of a condition on each page of a chunk.
fn fates(group: &GroupFate, leaf: usize, pages: &[ShownPage]) -> Vec<Fate> {
    let of_data = |page: &ShownPage| group.of_page(leaf, page.rows.clone());
    let data: Vec<Fate> = pages.iter().filter(|page| page.has_rows).map(of_data).collect();
    let mut of_data = data.iter();
    let fates = pages.iter().map(|page| match page.has_rows {
        true => of_data.next().cloned().unwrap_or_else(|| Fate::of_dictionary(&data)),
        false => Fate::of_dictionary(&data),
    });
    fates.collect()
}

/// Returns the pages of a file without a usable footer: consecutive pages from the start of the
/// file. The last error states where they end.
///
/// # Errors
/// Errors of opening and reading the file. The error that ends the pages is part of the result.
pub fn pages_without_footer(files: &dyn FileSystem, path: &str, pool: MemoryPool) -> Result<Shown> {
    let input = BufferedInput::new(files.open(path)?, pool);
    let mut facts = no_facts(false);
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
                row.push(texts(details(&pages, &page, None)));
                facts.push(row);
            }
            Err(error) => break vec![error.in_named("file", path)],
        }
    };
    Ok(Shown { rows: facts.finish()?, broken })
}

fn show_chunk(file: &InspectedFile, chosen: &Chosen<'_>, shown: &mut Vec<ShownPage>) -> Result<()> {
    let source = file.chunk(chosen.row_group, chosen.leaf);
    let mut pages = stored_pages(source)?;
    let index = read_page_index(source, true, TrustOptions::default())?;
    let leaf = file.footer.schema.leaves().get(chosen.leaf);
    let is_flat = leaf.is_some_and(|leaf| leaf.max_rep == 0);
    let mut next_row = Some(0);
    while let Some((page, ordinal)) = pages.next_page()? {
        let offset = pages.file_offset(page.header_at);
        let mut row = vec![number(chosen.row_group as u64), text(&chosen.name)];
        row.extend(header(&page, ordinal, offset));
        let place = ordinal.and_then(|ordinal| place_in_index(&index, ordinal, offset));
        row.extend(indexed(&page, leaf, place.map(|place| (&index, place))));
        row.push(texts(details(&pages, &page, leaf)));
        let has_rows = ordinal.is_some();
        let counted = counted_rows(&page, is_flat);
        let first = next_row;
        if has_rows {
            next_row = first.zip(counted).map(|(first, rows)| first + rows);
        }
        let indexed = place.map(|place| index.rows(place)).filter(|rows| !rows.is_empty());
        let rows = indexed.or(first.zip(counted).map(|(first, rows)| first..first + rows));
        shown.push(ShownPage { facts: row, has_rows, rows });
    }
    Ok(())
}

/// Returns the number of rows of a data page according to its header. Values are rows if the column
/// is not repeated.
fn counted_rows(page: &StoredPage, is_flat: bool) -> Option<u64> {
    match &page.header.kind {
        PageKind::Data(v1) if is_flat => Some(v1.num_values as u64),
        PageKind::DataV2(v2) => Some(v2.num_rows as u64),
        _ => None,
    }
}

/// Returns the position of the page in the index, which may omit pages without values.
fn place_in_index(index: &PageIndex, ordinal: usize, offset: u64) -> Option<usize> {
    match index.offsets() {
        Some(offsets) => offsets.pages.binary_search_by_key(&offset, |page| page.offset).ok(),
        None => Some(ordinal),
    }
}

/// Returns the columns from `page` to `values`.
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

/// Returns the columns from `nulls` to `max`; `place` is the position of the page in the index.
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
    // The bounds of a page of nulls are meaningless.
    let bounds = columns.filter(|(columns, at)| columns.null_pages.get(*at) == Some(&false));
    let shown = |bytes: Option<&[u8]>| match (leaf, bytes) {
        (Some(leaf), Some(bytes)) => bound(leaf, bytes),
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

/// Returns a bound as a value, or as bytes if it is not a valid value.
fn bound(leaf: &Leaf, bytes: &[u8]) -> Value {
    match stored_value(leaf, bytes) {
        Some(value) => value_or_null(&leaf.ty, Some(&value)),
        None => hex(bytes),
    }
}

/// Returns further properties of the header: encodings of levels, exceptions and its own
/// statistics.
fn details(pages: &StoredPages, page: &StoredPage, leaf: Option<&Leaf>) -> Vec<String> {
    let mut details = match &page.header.kind {
        PageKind::Data(v1) => vec![
            format!("definition levels {}", v1.definition_encoding),
            format!("repetition levels {}", v1.repetition_encoding),
        ],
        PageKind::DataV2(v2) => {
            let mut details = vec![
                format!("definition levels {} bytes", v2.definition_bytes),
                format!("repetition levels {} bytes", v2.repetition_bytes),
            ];
            if !v2.is_compressed {
                details.push("values not compressed".into());
            }
            details
        }
        PageKind::Dictionary(dictionary) if dictionary.is_sorted => vec!["sorted".into()],
        PageKind::Dictionary(_) | PageKind::Index | PageKind::Unknown(_) => Vec::new(),
    };
    let found = match pages.header_statistics(page) {
        Ok(Some(found)) => found,
        Ok(None) => return details,
        Err(error) => {
            details.push(format!("header statistics: {error}"));
            return details;
        }
    };
    let bounds = [
        ("min", found.min_value),
        ("max", found.max_value),
        ("deprecated min", found.deprecated_min),
        ("deprecated max", found.deprecated_max),
    ];
    for (name, bytes) in bounds {
        let (Some(bytes), Some(leaf)) = (bytes, leaf) else { continue };
        details.push(format!("header {name} {}", value_text(&Type::Varchar, &bound(leaf, &bytes))));
    }
    for (name, count) in [("nulls", found.null_count), ("distinct values", found.distinct_count)] {
        details.extend(count.map(|count| format!("header {name} {count}")));
    }
    details
}
