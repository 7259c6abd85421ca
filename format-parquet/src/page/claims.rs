//! Checks of the counts and sizes that headers and footers claim.
//!
//! A count in a page header, a footer or an index is a claim. It is compared with a second
//! statement before rows depend on it, so that a scan that skips pages by their headers and one
//! that reads all of them return the same rows or both refuse the file.
//!
//! | claim | compared with | where |
//! |---|---|---|
//! | page type | the struct of the header | `thrift::page_header` |
//! | v2: rows, nulls, bytes of levels | values of the page, levels of the schema | [`check_data_header`] |
//! | values (v2: rows) of all pages | the chunk's values (the row group's rows) | [`PageReader::check_chunk`] |
//! | location, size, values of a page | offset index, if read | [`PageReader::check_chunk`], `placed_page` |
//! | end of the chunk | start and end of each page | [`check_inside`] |
//! | entries of a dictionary | its bytes, before memory is allocated | [`check_dictionary`] |
//! | values, nulls, rows of a page that is read | levels and value bytes, all used up | `column::leaf` |
//! | rows of a row group | the rows of each column that was read to its end | `row_reader::column` |
//!
//! Besides contradictions to the claims above, the following is refused:
//!
//! - a page of unknown type. The specification allows new types of pages "that can be safely
//!   skipped", but does not state how to recognize one that holds rows: `Unsupported`;
//! - a page of version 2 that has values and no rows, or that does not start with a row;
//! - level bytes in a column without levels in its schema, unless they state that there are none;
//!   in version 1, a page of dictionary indices that starts with levels;
//! - a page of version 1 with repetition and definition levels in two encodings: writers of the
//!   deprecated one use it for both;
//! - a dictionary of zero-width values with more than one entry: its entries are distinct;
//! - a page with values after the last value of its chunk.
//!
//! The following is tolerated, because valid files contain it:
//!
//! - an INDEX_PAGE (with its own header struct), which never holds rows, is skipped;
//! - a page without values may have an arbitrary body, and a page in which every value is null may
//!   have arbitrary value bytes;
//! - the last bit-packed run may hold more values than the page (up to a group of 8, in files of
//!   DuckDB a block of 256 and more bytes after it), and may be truncated; the last repeated level
//!   may extend beyond the page (Impala counted one too many);
//! - up to 8 bytes after the PLAIN values of a page of version 1 (fastparquet, HVR), unless the
//!   page starts with bytes that may be definition levels of all its values, which a REQUIRED
//!   column does not have;
//! - bytes that are not a page after the last value of a chunk;
//! - a chunk of a writer that did not count the header of its dictionary page (PARQUET-816) may end
//!   after its declared end, but each of its pages starts before it;
//! - `num_nulls` of a page below a repeated field, for which writers disagree on the definition,
//!   and a `num_nulls` of 0 in any page (Arrow C++ 10, Parquet.Net); nothing depends on it;
//! - `num_rows` that equal `num_values` in every page of a repeated column (Arrow C++ before 15,
//!   Parquet.Net, parquet.js): they are ignored unless their sum is correct.
//!
//! Not compared are headers of pages that are skipped in a chunk too large to be held in memory, if
//! no offset index was read either. Their sum is still checked once the chunk is read to its end.

use dwio::input::cursor::Cursor;
use vector::{BitmapMut, Buffer, Error, Result, ResultExt};

use super::stored::{HeaderLocation, StoredPage};
use super::{ChunkParams, PageReader};
use crate::encoding::rle_hybrid::{AfterLastValue, RleHybrid};
use crate::thrift::structs::{
    DataPageHeader, DataPageHeaderV2, DictionaryPageHeader, Encoding, PageKind, PhysicalType,
};

/// The sums of the counts in the headers of all data pages of a chunk.
#[derive(Debug, Default)]
struct Totals {
    values: u64,
    /// Number of rows; `None` when a page does not state it.
    rows: Option<u64>,
    /// Number of pages with values.
    pages: usize,
    has_other_encodings: bool,
    /// True when a page of a repeated column has a number of rows that differs from that of its
    /// values.
    tells_rows: bool,
}

impl Totals {
    fn add(&mut self, kind: &PageKind) {
        let (values, rows, encoding) = match kind {
            PageKind::Data(v1) => (v1.num_values, None, v1.encoding),
            PageKind::DataV2(v2) => (v2.num_values, Some(v2.num_rows as u64), v2.encoding),
            PageKind::Dictionary(_) | PageKind::Index | PageKind::Unknown(_) => return,
        };
        if values == 0 {
            return;
        }
        self.rows = match (self.pages, self.rows) {
            (0, _) => rows,
            (_, sum) => sum.zip(rows).map(|(sum, rows)| sum.saturating_add(rows)),
        };
        self.tells_rows |= rows.is_some_and(|rows| rows != values as u64);
        self.values = self.values.saturating_add(values as u64);
        self.pages = self.pages.saturating_add(1);
        let is_index = matches!(encoding, Encoding::PlainDictionary | Encoding::RleDictionary);
        self.has_other_encodings |= !is_index;
    }
}

/// Checks the header of a page by itself.
///
/// # Errors
///
/// `Unsupported` for a page of unknown type, `Corrupt` when the header contradicts the schema.
pub(super) fn check_header(kind: &PageKind, chunk: &ChunkParams) -> Result<()> {
    match kind {
        PageKind::DataV2(v2) => check_data_header(v2, chunk),
        PageKind::Unknown(number) => {
            Err(Error::unsupported("a page of a type that is not known may hold rows")
                .with("page_type", number))
        }
        PageKind::Data(v1) => check_level_encodings(v1, chunk),
        PageKind::Dictionary(_) | PageKind::Index => Ok(()),
    }
}

fn check_level_encodings(header: &DataPageHeader, chunk: &ChunkParams) -> Result<()> {
    let DataPageHeader { repetition_encoding, definition_encoding, .. } = *header;
    // Where there are no levels, their encodings in headers are arbitrary.
    let has_both = chunk.max_rep > 0 && chunk.max_def > 0;
    if !has_both || repetition_encoding == definition_encoding {
        return Ok(());
    }
    Err(Error::corrupt("the levels of a page are in two encodings")
        .with("repetition_levels", repetition_encoding)
        .with("definition_levels", definition_encoding))
}

fn check_data_header(header: &DataPageHeaderV2, chunk: &ChunkParams) -> Result<()> {
    let DataPageHeaderV2 { num_values, num_nulls, num_rows, .. } = *header;
    if chunk.max_def == 0 && num_nulls > 0 {
        return Err(Error::corrupt("nulls in a column that has none").with("num_nulls", num_nulls));
    }
    if num_nulls > num_values {
        return Err(Error::corrupt("a page has more nulls than values")
            .with("num_values", num_values)
            .with("num_nulls", num_nulls));
    }
    let is_flat = chunk.max_rep == 0;
    if num_rows > num_values || (is_flat || num_rows == 0) && num_rows != num_values {
        return Err(Error::corrupt("the rows of a page do not fit its values")
            .with("num_values", num_values)
            .with("num_rows", num_rows)
            .with("max_repetition_level", chunk.max_rep));
    }
    Ok(())
}

/// Checks level bytes of a column that has no such levels: they may only represent levels without
/// information, as levels of zero bits or as equal bits for all values.
///
/// # Errors
///
/// `Corrupt` when they are anything else.
pub(super) fn check_needless_levels(bytes: &Buffer<u8>, num_values: usize) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let are_alike = |width| -> Result<bool> {
        let mut levels = RleHybrid::new(bytes.clone(), width)?;
        let mut bits = BitmapMut::new();
        let ones = match width {
            0 => levels.skip(num_values).map(|()| 0)?,
            _ => levels.read_bits(num_values, &mut bits)?,
        };
        levels.check_end(AfterLastValue::Nothing)?;
        Ok(ones == 0 || ones == num_values)
    };
    if [0, 1].into_iter().any(|width| are_alike(width).unwrap_or(false)) {
        return Ok(());
    }
    Err(Error::corrupt("a page has levels that its column does not have")
        .with("bytes", bytes.len())
        .with("values", num_values))
}

/// Checks that a page of dictionary indices without levels does not start with levels. Indices with
/// such bytes would start with runs of no values, which no writer produces.
///
/// # Errors
///
/// `Corrupt` when it does.
pub(super) fn check_levels_in_front(bytes: &[u8], num_values: usize) -> Result<()> {
    if !starts_with_levels(bytes, num_values) {
        return Ok(());
    }
    Err(Error::corrupt("a page has levels that its column does not have")
        .with("bytes", bytes.len())
        .with("values", num_values))
}

/// Returns true when a page may start with the definition levels of all its slots, with their
/// length prefix: those of an OPTIONAL column that is read as REQUIRED. In a page of byte arrays
/// they would be read as the first value.
pub(crate) fn starts_with_levels(bytes: &[u8], num_slots: usize) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return false };
    let levels = usize::try_from(u32::from_le_bytes(*length)).ok().and_then(|len| rest.get(..len));
    levels.is_some_and(|levels| num_levels(levels).is_ok_and(|num| num.contains(&num_slots)))
}

/// Returns the possible numbers of levels of at most 1 that the runs in `bytes` have; the runs must
/// take all bytes and be complete. An error means that the bytes are no such runs, as is the case
/// for nearly all text.
fn num_levels(bytes: &[u8]) -> Result<std::ops::RangeInclusive<usize>> {
    let no_levels = || Error::corrupt("not levels");
    let mut cursor = Cursor::new(bytes);
    let (mut num, mut spare) = (0usize, 0);
    while cursor.position() < bytes.len() {
        let header = cursor.uleb128()?;
        let len = usize::try_from(header >> 1).map_err(|_| no_levels())?;
        if len == 0 {
            return Err(no_levels());
        }
        let in_run = match header & 1 {
            0 if cursor.u8()? > 1 => return Err(no_levels()),
            0 => len,
            _ => {
                cursor.take(len)?;
                // The last group of the last run may have unused levels.
                spare = if cursor.position() == bytes.len() { 7 } else { 0 };
                len.saturating_mul(8)
            }
        };
        num = num.saturating_add(in_run);
    }
    Ok(num.saturating_sub(spare)..=num)
}

/// Checks that a page starts before the declared end of its chunk.
pub(super) fn check_inside(page: &StoredPage, chunk: &ChunkParams) -> Result<()> {
    if (page.header_at as u64) < chunk.declared_bytes {
        return Ok(());
    }
    Err(Error::corrupt("a page stands behind the declared end of its column chunk")
        .with("offset", chunk.offset.saturating_add(page.header_at as u64))
        .with("chunk_offset", chunk.offset)
        .with("declared_bytes", chunk.declared_bytes))
}

/// Checks the number of entries that a dictionary page claims against its `bytes` decompressed
/// bytes, before memory is allocated for the entries. Bytes after the last entry of a byte array
/// dictionary are detected when the entries are walked over.
///
/// # Errors
///
/// `Corrupt` when the bytes cannot hold this number of entries, or hold more.
pub(super) fn check_dictionary(
    header: &DictionaryPageHeader,
    bytes: usize,
    chunk: &ChunkParams,
) -> Result<()> {
    let entries = header.num_values;
    let (width, is_exact) = match (chunk.storage.physical, chunk.storage.width()) {
        // A dictionary of booleans is refused when it is used.
        (PhysicalType::Boolean, _) => return Ok(()),
        (_, Some(width)) => (width, true),
        (_, None) => (size_of::<u32>(), false),
    };
    let is_possible = match width {
        0 => entries <= 1 && bytes == 0,
        width => entries.checked_mul(width).is_some_and(|needed| match is_exact {
            true => needed == bytes,
            false => needed <= bytes,
        }),
    };
    if is_possible {
        return Ok(());
    }
    Err(Error::corrupt("a dictionary has other entries than its bytes")
        .with("entries", entries)
        .with(
            "bytes_of_an_entry",
            format_args!("{width}{}", if is_exact { "" } else { " or more" }),
        )
        .with("bytes", bytes))
}

impl PageReader {
    /// Compares the headers of all pages with the footer and with the offset index, if it was read.
    /// `first` is the first data page with values, after which this reader is positioned; the
    /// headers of the others are parsed if the chunk is in memory, which costs one header each.
    /// Returns whether all data pages hold dictionary indices, if this is known, and whether their
    /// numbers of rows are reliable.
    pub(super) fn check_chunk(&self, first: &StoredPage) -> Result<(Option<bool>, bool)> {
        let chunk = &self.chunk;
        let bytes = self.source.in_memory(0).filter(|b| b.len() >= self.source.num_bytes());
        let Some(bytes) = bytes else { return Ok((None, false)) };
        let mut totals = Totals::default();
        totals.add(&first.header.kind);
        let (mut at, mut ordinal) = (self.at, self.next_ordinal.saturating_add(1));
        let end = usize::try_from(chunk.declared_bytes).unwrap_or(usize::MAX).min(bytes.len());
        while at < end {
            let place = HeaderLocation {
                chunk_offset: chunk.offset,
                chunk_bytes: self.source.num_bytes(),
                at,
                ordinal,
                // An encrypted header is authentic, but its counts may still be wrong.
                decryptor: chunk.decryptor.as_ref(),
            };
            let is_complete = totals.values >= chunk.num_values;
            let found = match place.page(bytes.get(at..).unwrap_or(&[])) {
                Ok(found) => found,
                Err(_) if is_complete => break,
                Err(error) => return Err(error.in_place("page", ordinal)),
            };
            at = found.body.end;
            if found.num_values().is_none() {
                if is_complete {
                    break;
                }
                check_header(&found.header.kind, chunk).in_place("page", ordinal)?;
                continue;
            }
            if is_complete && found.num_values() != Some(0) {
                return Err(Error::corrupt("a page with values behind the last one of its chunk")
                    .with("offset", self.file_offset(found.header_at))
                    .with("chunk_values", chunk.num_values)
                    .in_place("page", ordinal));
            }
            if found.num_values() != Some(0) {
                check_header(&found.header.kind, chunk)
                    .and_then(|()| self.source.check_location(&found, totals.pages))
                    .map_err(|e| {
                        let offset = self.file_offset(found.header_at);
                        e.in_place("page", ordinal).in_place("offset", offset)
                    })?;
                totals.add(&found.header.kind);
            }
            ordinal = ordinal.saturating_add(1);
        }
        let rows_add_up = self.check_totals(&totals)?;
        Ok((Some(!totals.has_other_encodings), rows_add_up))
    }

    /// Compares the sums and returns whether that of the rows is correct.
    fn check_totals(&self, totals: &Totals) -> Result<bool> {
        let chunk = &self.chunk;
        let expected = chunk.num_values;
        if totals.values != expected {
            return Err(Error::corrupt(
                "the pages of a chunk have other values than the footer says",
            )
            .with("expected", expected)
            .with("found", totals.values)
            .with("pages", totals.pages));
        }
        match totals.rows {
            Some(rows) if rows != chunk.num_rows && totals.tells_rows => {
                Err(Error::corrupt("the pages of a chunk have other rows than the row group")
                    .with("expected", chunk.num_rows)
                    .with("found", rows)
                    .with("pages", totals.pages))
            }
            rows => Ok(rows == Some(chunk.num_rows)),
        }
    }

    /// Returns whether all data pages hold dictionary indices; `None` when their headers were not
    /// examined.
    pub(crate) fn has_only_indices(&self) -> Option<bool> {
        self.has_only_indices
    }
}

#[cfg(test)]
mod tests;
