//! Checks of the stored pages: headers against levels, bodies against checksums, offsets against
//! the offset index.

use format_parquet::chunk_pages::{open_pages, stored_pages};
use format_parquet::levels::LevelDecoder;
use format_parquet::page::PageReader;
use format_parquet::page::stored::StoredPage;
use format_parquet::page_index::PageLocation;
use format_parquet::thrift::structs::PageKind;
use vector::{Error, Result, ResultExt};

use super::{Check, ChunkFacts, Report};
use crate::inspect::InspectedFile;

/// Number of levels decoded at a time.
const BLOCK_LEVELS: usize = 4096;

/// Properties of a data page with values, as its header states them.
struct Stated {
    ordinal: usize,
    /// Numbers of nulls and rows, which only headers of version 2 state.
    counts: Option<(usize, usize)>,
    /// Position of the page in the offset index.
    index_place: Option<usize>,
}

pub(super) fn check(file: &InspectedFile, facts: &ChunkFacts<'_>, report: &mut Report) {
    let mut stated = Vec::new();
    let outcome =
        walk(file, facts, &mut stated, report).and_then(|()| check_levels(file, facts, &stated));
    if let Err(error) = outcome {
        report.problem(Check::Pages, facts.chosen.place(error));
    }
}

fn walk(
    file: &InspectedFile,
    facts: &ChunkFacts<'_>,
    stated: &mut Vec<Stated>,
    report: &mut Report,
) -> Result<()> {
    let chosen = &facts.chosen;
    let mut pages = stored_pages(file.chunk(chosen.row_group, chosen.leaf))?;
    let mut places = facts.index.offsets().map(|offsets| Places { pages: &offsets.pages, at: 0 });
    let is_flat =
        file.footer.schema.leaves().get(chosen.leaf).is_some_and(|leaf| leaf.max_rep == 0);
    while let Some((page, ordinal)) = pages.next_page()? {
        report.count(Check::Pages, 1);
        let offset = pages.file_offset(page.header_at);
        let end = pages.file_offset(page.body.end);
        if end > file.footer.footer_offset {
            let error =
                Error::corrupt("a page reaches into the footer: bytes of the file are missing")
                    .with("end", end)
                    .with("footer_offset", file.footer.footer_offset);
            report.problem(Check::Pages, chosen.place(error.in_place("offset", offset)));
        }
        if page.header.crc.is_some() {
            report.count(Check::Checksums, 1);
            let body = pages.bytes().get(page.body.clone()).unwrap_or(&[]);
            if let Err(error) = page.verify_checksum(body) {
                let error = match ordinal {
                    Some(ordinal) => error.in_place("page", ordinal),
                    None => error,
                };
                let error = chosen.place(error.in_place("offset", offset));
                report.problem(Check::Checksums, error);
            }
        }
        let Some(ordinal) = ordinal else { continue };
        let found = match &mut places {
            Some(places) => places.find(&page, offset, is_flat.then_some(&facts.index)),
            None => Ok(None),
        };
        let index_place = match found {
            Ok(place) => place,
            Err(error) => {
                places = None;
                let error = chosen.place(error.in_place("page", ordinal));
                report.problem(Check::OffsetIndex, error);
                None
            }
        };
        report.count(Check::OffsetIndex, u64::from(index_place.is_some()));
        if page.num_values().is_some_and(|values| values > 0) {
            let counts = match &page.header.kind {
                PageKind::DataV2(v2) => Some((v2.num_nulls, v2.num_rows)),
                _ => None,
            };
            stated.push(Stated { ordinal, counts, index_place });
        }
    }
    if let Some(Places { pages, at }) = places
        && at < pages.len()
    {
        let error = Error::corrupt("the offset index has more pages than the column chunk")
            .with("index", pages.len())
            .with("found", at);
        report.problem(Check::OffsetIndex, chosen.place(error));
    }
    Ok(())
}

/// The pages of an offset index with the position of the next one.
struct Places<'a> {
    pages: &'a [PageLocation],
    at: usize,
}

impl Places<'_> {
    /// Compares a page with the next position of the index. The index may omit a page without
    /// values. `index` is given for a leaf that is not repeated, in which each value is a row.
    fn find(
        &mut self,
        page: &StoredPage,
        offset: u64,
        index: Option<&format_parquet::page_index::PageIndex>,
    ) -> Result<Option<usize>> {
        let num_values = page.num_values().unwrap_or(0);
        let place = self.pages.get(self.at);
        if num_values == 0 && place.is_none_or(|place| place.offset != offset) {
            return Ok(None);
        }
        let Some(place) = place else {
            return Err(Error::corrupt("the offset index does not have the page")
                .with("offset", offset)
                .with("pages", self.pages.len()));
        };
        let num_bytes = page.body.end.saturating_sub(page.header_at) as u64;
        if (place.offset, u64::from(place.compressed_bytes)) != (offset, num_bytes) {
            return Err(Error::corrupt("the offset index has the page at another place")
                .with("offset", offset)
                .with("bytes", num_bytes)
                .with("index_offset", place.offset)
                .with("index_bytes", place.compressed_bytes));
        }
        let at = self.at;
        self.at += 1;
        if let Some(index) = index {
            let rows = index.rows(at);
            check_rows("the offset index gives the page another number of rows", num_values, {
                rows.end.saturating_sub(rows.start)
            })?;
        }
        Ok(Some(at))
    }
}

fn check_rows(sentence: &'static str, found: usize, stated: u64) -> Result<()> {
    if found as u64 == stated {
        return Ok(());
    }
    Err(Error::corrupt(sentence).with("stated", stated).with("found", found))
}

/// Decodes the levels of all pages and compares the numbers of nulls and rows with the stated ones.
fn check_levels(file: &InspectedFile, facts: &ChunkFacts<'_>, stated: &[Stated]) -> Result<()> {
    let chosen = &facts.chosen;
    let leaf = file.footer.schema.leaf(chosen.leaf)?;
    let mut pages = open_pages(file.chunk(chosen.row_group, chosen.leaf), file.input.pool())?;
    let mut num_rows = 0usize;
    for page in stated {
        let counts = count(&mut pages, leaf.max_def).in_place("page", page.ordinal);
        let Some((nulls, rows)) = counts? else { break };
        num_rows = num_rows.saturating_add(rows);
        let compared = match page.counts {
            None => Ok(()),
            Some((stated_nulls, stated_rows)) => {
                check_rows("the page's header has another number of nulls", nulls, {
                    stated_nulls as u64
                })
                .and_then(|()| {
                    check_rows("the page's header has another number of rows", rows, {
                        stated_rows as u64
                    })
                })
            }
        };
        let compared = compared.and_then(|()| match page.index_place {
            Some(at) if leaf.max_rep > 0 => {
                let stated = facts.index.rows(at);
                check_rows("the offset index gives the page another number of rows", rows, {
                    stated.end.saturating_sub(stated.start)
                })
            }
            _ => Ok(()),
        });
        compared.in_place("page", page.ordinal)?;
    }
    let group = file.footer.row_groups().get(chosen.row_group);
    let stated = group.map_or(0, |group| group.num_rows);
    check_rows("the column has another number of rows than its row group", num_rows, stated)
}

/// Returns the number of null or missing values of the next page, and the number of rows that start
/// in it.
fn count(pages: &mut PageReader, max_def: u8) -> Result<Option<(usize, usize)>> {
    if pages.peek()?.is_none() {
        return Ok(None);
    }
    let mut page = pages.read()?;
    let num_values = page.info.num_values;
    let defined = count_levels(&mut page.definition, num_values, |level| level == max_def)?;
    let rows = count_levels(&mut page.repetition, num_values, |level| level == 0)?;
    Ok(Some((num_values.saturating_sub(defined), rows)))
}

fn count_levels(
    levels: &mut LevelDecoder,
    num_levels: usize,
    is_counted: impl Fn(u8) -> bool,
) -> Result<usize> {
    let mut block = [0u8; BLOCK_LEVELS];
    let (mut left, mut counted) = (num_levels, 0usize);
    while left > 0 {
        let len = left.min(BLOCK_LEVELS);
        let Some(part) = block.get_mut(..len) else { break };
        levels.read(part)?;
        counted += part.iter().filter(|level| is_counted(**level)).count();
        left -= len;
    }
    Ok(counted)
}
