//! Page indexes: the locations of the data pages of a chunk, and their statistics.
//!
//! ```text
//! offset index  page 0: bytes 4..900, from row 0    page 1: bytes 900..1400, from row 512   ...
//! column index  page 0: 17 to 40, no null           page 1: only nulls                      ...
//!                    |                                   |
//!               ColumnStatistics of each page      rows of each page -> RowRanges
//! ```
//!
//! An index may be wrong in many ways, and reading the rows does not require it. An index that
//! contradicts the chunk is therefore ignored as a whole, the reason is kept for display, and
//! reading continues without it. Only a failed read of the file is an error.
//!
//! | file | contains |
//! |---|---|
//! | `stored` | the structs of the format and their parsers |
//! | `page_index` | the checks, and the statistics and rows of pages |
//! | `row_ranges` | sets of rows |

mod row_ranges;
mod stored;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use dwio::stats::ColumnStatistics;
use vector::{Buffer, Error, Result, Value};

use crate::chunk_source::{ChunkSource, is_defect, region_inside};
use crate::decrypt::ModuleKind;
use crate::footer::Footer;
use crate::statistics::{BoundRules, RejectedBound, StoredBounds, TrustOptions, leaf_statistics};
use crate::thrift::structs::IndexRegion;

pub use row_ranges::RowRanges;
pub use stored::{ColumnIndex, OffsetIndex, PageLocation, parse_column_index, parse_offset_index};

/// The indexes of one chunk, as far as they are trusted.
#[derive(Debug, Default)]
pub struct PageIndex {
    num_rows: u64,
    offsets: Option<OffsetIndex>,
    columns: Option<ColumnIndex>,
    statistics: Vec<ColumnStatistics>,
    /// The bounds of pages that are not trusted, each with the page number and the reason.
    doubts: Vec<(usize, RejectedBound)>,
    is_ordered: bool,
    offset_defect: Option<Error>,
    column_defect: Option<Error>,
}

/// The bytes of a chunk's indexes, from any source.
#[derive(Debug, Default)]
pub struct IndexBytes {
    /// The offset index: `None` if the file has none, an error if it cannot be read.
    pub offsets: Option<Result<Buffer<u8>>>,
    /// The column index: `None` if the file has none, an error if it cannot be read.
    pub columns: Option<Result<Buffer<u8>>>,
}

/// Returns the regions of a chunk's indexes that lie inside the file, to be announced to the input,
/// so that adjacent indexes are read together.
pub fn index_regions(
    footer: &Footer,
    row_group: usize,
    leaf: usize,
) -> impl Iterator<Item = Range<u64>> {
    let chunk = footer.column_chunk(row_group, leaf).ok();
    let regions = chunk.map(|chunk| [chunk.offset_index, chunk.column_index]);
    regions.into_iter().flatten().flatten().filter_map(|region| region_inside(footer, region).ok())
}

/// Reads the indexes of a chunk. Regions that the input has loaded are not read again.
///
/// The column index is worth reading only for a column with a filter on values; set `want_columns`
/// to false for the others.
///
/// # Errors
///
/// Returns errors of reading the file, such as `Io`; defects of an index are recorded in the
/// result.
pub fn read_page_index(
    source: ChunkSource<'_>,
    want_columns: bool,
    options: TrustOptions,
) -> Result<PageIndex> {
    let Some(chunk) = source.chunk() else { return Ok(PageIndex::default()) };
    let columns = chunk.column_index.filter(|_| want_columns);
    let bytes = IndexBytes {
        offsets: read_part(source, chunk.offset_index, ModuleKind::OffsetIndex)?,
        columns: read_part(source, columns, ModuleKind::ColumnIndex)?,
    };
    Ok(PageIndex::new(source.footer, source.row_group, source.leaf, bytes, options))
}

fn read_part(
    source: ChunkSource<'_>,
    region: Option<IndexRegion>,
    kind: ModuleKind,
) -> Result<Option<Result<Buffer<u8>>>> {
    let Some(region) = region else { return Ok(None) };
    match source.read_module(region, kind) {
        Err(error) if !is_defect(&error) => Err(error),
        read => Ok(Some(read)),
    }
}

impl PageIndex {
    /// Parses and checks the indexes of a chunk.
    pub fn new(
        footer: &Footer,
        row_group: usize,
        leaf: usize,
        bytes: IndexBytes,
        options: TrustOptions,
    ) -> PageIndex {
        let mut index = PageIndex {
            num_rows: footer.row_groups().get(row_group).map_or(0, |group| group.num_rows),
            ..PageIndex::default()
        };
        let offsets = bytes.offsets.map(|bytes| {
            let offsets = parse_offset_index(&bytes?)?;
            check_offsets(&offsets, footer, row_group, leaf, index.num_rows)?;
            Ok(offsets)
        });
        (index.offsets, index.offset_defect) = split(offsets);
        let columns = bytes.columns.map(|bytes| parse_column_index(&bytes?));
        (index.columns, index.column_defect) = split(columns);
        let (Some(columns), Some(rules)) = (&index.columns, BoundRules::new(footer, leaf, options))
        else {
            return index;
        };
        let chunk = leaf_statistics(footer, row_group, leaf, options);
        let mut doubts = Vec::new();
        match index.page_statistics(columns, &rules, &mut doubts).and_then(|pages| {
            check_against_chunk(&pages, &chunk)?;
            Ok(pages)
        }) {
            Ok(pages) => {
                index.doubts = doubts;
                index.is_ordered = is_ordered(&pages, columns.boundary_order);
                index.statistics = pages;
            }
            Err(defect) => index.column_defect = Some(defect),
        }
        index
    }

    /// Returns the locations of the pages; `None` if they are missing or not trusted.
    pub fn offsets(&self) -> Option<&OffsetIndex> {
        self.offsets.as_ref()
    }

    /// Returns the locations of the pages without the rest of the index; `None` if they are missing
    /// or not trusted.
    pub fn into_offsets(self) -> Option<OffsetIndex> {
        self.offsets
    }

    /// Returns the column index as stored, trusted or not.
    pub fn stored_columns(&self) -> Option<&ColumnIndex> {
        self.columns.as_ref()
    }

    /// Returns the reason why the offset index is not trusted.
    pub fn offset_defect(&self) -> Option<&Error> {
        self.offset_defect.as_ref()
    }

    /// Returns the reason why the column index is not trusted.
    pub fn column_defect(&self) -> Option<&Error> {
        self.column_defect.as_ref()
    }

    /// Returns the trusted statistics of each page; empty without a column index.
    pub fn statistics(&self) -> &[ColumnStatistics] {
        &self.statistics
    }

    /// Returns the bounds of single pages that are not trusted, with the reason.
    pub fn doubts(&self) -> &[(usize, RejectedBound)] {
        &self.doubts
    }

    /// Returns true when the bounds ascend or descend as the index states.
    pub fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Returns the number of pages, or 0 if their locations are not known.
    pub fn num_pages(&self) -> usize {
        self.offsets.as_ref().map_or(0, |offsets| offsets.pages.len())
    }

    /// Returns the number of rows of the row group.
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Returns the rows of a page; an empty range when there is no such page.
    pub fn rows(&self, page: usize) -> Range<u64> {
        let first_row = |page: usize| {
            let page = self.offsets.as_ref()?.pages.get(page)?;
            Some(page.first_row)
        };
        let Some(start) = first_row(page) else { return 0..0 };
        start..first_row(page.saturating_add(1)).unwrap_or(self.num_rows)
    }

    /// Returns the pages that contain at least one of the rows, in order.
    pub fn pages_of<'a>(&'a self, rows: &'a RowRanges) -> impl Iterator<Item = usize> + 'a {
        (0..self.num_pages()).filter(|page| rows.overlaps(&self.rows(*page)))
    }

    fn page_statistics(
        &self,
        columns: &ColumnIndex,
        rules: &BoundRules<'_>,
        doubts: &mut Vec<(usize, RejectedBound)>,
    ) -> Result<Vec<ColumnStatistics>> {
        if self.offsets.is_none() {
            return Err(Error::corrupt("a column index needs an offset index"));
        }
        let num_pages = self.num_pages();
        let lengths =
            [columns.null_pages.len(), columns.num_mins(), columns.num_maxs()].map(|n| n as u64);
        if lengths != [num_pages as u64; 3] {
            return Err(Error::corrupt("the two indexes have other numbers of pages")
                .with("offset_index", num_pages)
                .with("null_pages", columns.null_pages.len())
                .with("mins", columns.num_mins())
                .with("maxs", columns.num_maxs()));
        }
        for (list, len) in
            [("null_counts", columns.null_counts.len()), ("nan_counts", columns.nan_counts.len())]
        {
            if len != 0 && len != num_pages {
                return Err(Error::corrupt("a list of the column index has another length")
                    .with("list", list)
                    .with("expected", num_pages)
                    .with("found", len));
            }
        }
        // SPEC: counts are optional.
        let counts = |counts: &[i64], page: usize| {
            counts.get(page).copied().filter(|_| counts.len() == num_pages)
        };
        let is_rows = rules.leaf().max_rep == 0;
        let is_required = rules.leaf().max_def == 0;
        columns
            .null_pages
            .iter()
            .enumerate()
            .map(|(page, is_null)| {
                let rows = self.rows(page);
                let num_rows = rows.end.saturating_sub(rows.start);
                // Below a repeated field the counts are not of rows.
                let null_count = counts(&columns.null_counts, page).filter(|_| is_rows);
                let nan_count = counts(&columns.nan_counts, page);
                let is_all_null = null_count.map(|count| u64::try_from(count) == Ok(num_rows));
                if (*is_null && (is_required || is_all_null == Some(false)))
                    || (!*is_null && is_all_null == Some(true) && !is_required)
                {
                    return Err(Error::corrupt("a page's nulls contradict each other")
                        .with("is_null_page", is_null)
                        .with("rows", num_rows)
                        .with("null_count", null_count.unwrap_or(0))
                        .in_place("page", page));
                }
                if *is_null {
                    let mut known = rules.nothing_stored(num_rows);
                    known.num_nulls = is_rows.then_some(num_rows);
                    return Ok(known);
                }
                let bounds = StoredBounds {
                    min: columns.min(page),
                    max: columns.max(page),
                    ..StoredBounds::default()
                };
                let judged = rules.judge_page(bounds, num_rows, null_count, nan_count);
                let of_bounds = [judged.min.distrust, judged.max.distrust];
                doubts.extend(of_bounds.into_iter().flatten().map(|reason| (page, reason)));
                match judged.distrust {
                    None => Ok(judged.trusted),
                    Some(distrust) => Err(Error::corrupt(distrust.as_str())
                        .with("rows", num_rows)
                        .with("null_count", null_count.unwrap_or(0))
                        .in_place("page", page)),
                }
            })
            .collect()
    }
}

fn split<T>(found: Option<Result<T>>) -> (Option<T>, Option<Error>) {
    match found {
        None => (None, None),
        Some(Ok(found)) => (Some(found), None),
        Some(Err(defect)) => (None, Some(defect)),
    }
}

/// SPEC: pages follow each other inside the chunk, and each starts with a row of its own.
fn check_offsets(
    offsets: &OffsetIndex,
    footer: &Footer,
    row_group: usize,
    leaf: usize,
    num_rows: u64,
) -> Result<()> {
    let (meta, chunk) = footer.chunk(row_group, leaf)?;
    let (mut byte, mut rows) = (chunk.start, 0..1);
    for (number, page) in offsets.pages.iter().enumerate() {
        let end = page.offset.saturating_add(u64::from(page.compressed_bytes));
        if page.offset < byte || page.compressed_bytes == 0 || end > chunk.end {
            return Err(Error::corrupt("the page is not behind the one before it in its chunk")
                .with("offset", page.offset)
                .with("bytes", page.compressed_bytes)
                .with("expected", format_args!("{byte} to {}", chunk.end))
                .in_place("page", number));
        }
        if !rows.contains(&page.first_row) || page.first_row >= num_rows {
            return Err(Error::corrupt("the page does not start behind the rows before it")
                .with("first_row", page.first_row)
                .with("rows", num_rows)
                .in_place("page", number));
        }
        byte = end;
        rows = page.first_row.saturating_add(1)..num_rows;
    }
    if offsets.pages.is_empty() && meta.num_values > 0 {
        return Err(Error::corrupt("the index has no pages"));
    }
    Ok(())
}

/// Checks that pages do not contradict the statistics of the chunk, in which case the index was
/// written for another chunk.
fn check_against_chunk(pages: &[ColumnStatistics], chunk: &ColumnStatistics) -> Result<()> {
    let nulls = pages.iter().map(|page| page.num_nulls).sum::<Option<u64>>();
    if let (Some(found), Some(stated)) = (nulls, chunk.num_nulls)
        && found != stated
    {
        return Err(Error::corrupt("the nulls of the pages are not those of the chunk")
            .with("pages", found)
            .with("chunk", stated));
    }
    let above =
        |a: &Option<Value>, b: &Option<Value>| matches!((a, b), (Some(a), Some(b)) if a > b);
    for (number, page) in pages.iter().enumerate() {
        // Truncated bounds may exceed those of the chunk, but must overlap with them.
        let is_outside = (page.is_min_exact && above(&chunk.min, &page.min))
            || (page.is_max_exact && above(&page.max, &chunk.max))
            || above(&page.min, &chunk.max)
            || above(&chunk.min, &page.max);
        if is_outside {
            return Err(Error::corrupt("the bounds of a page lie outside of the chunk's")
                .in_place("page", number));
        }
    }
    Ok(())
}

/// SPEC: lower and upper bounds are each ordered, without those of pages without values.
fn is_ordered(pages: &[ColumnStatistics], boundary_order: i32) -> bool {
    let in_order = |bounds: &mut dyn Iterator<Item = &Value>| match boundary_order {
        1 => bounds.is_sorted(),
        2 => bounds.is_sorted_by(|a, b| a >= b),
        _ => false,
    };
    in_order(&mut pages.iter().filter_map(|page| page.min.as_ref()))
        && in_order(&mut pages.iter().filter_map(|page| page.max.as_ref()))
}
