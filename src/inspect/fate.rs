//! Effect of a condition on the pages of a file: whether a scan reads a page, reads it in part or
//! skips it, and because of what.
//!
//! ```text
//! row group   statistics, bloom filter       -> all of its pages are skipped
//! rows        page indexes of filter columns -> pages without a remaining row are skipped
//! values      rows that pass the condition   -> of other columns, pages without one are skipped
//! ```
//!
//! The first two tests are those of the reader. The rows of the third are the result of a scan.

use dwio::stats::Match;
use format_parquet::chunk_source::FileSource;
use format_parquet::page_index::{RowRanges, read_page_index};
use format_parquet::prune::{LeafFilter, PrunedBy, may_row_group_match, pages_to_row_ranges};
use format_parquet::schema::ColumnKind;
use format_parquet::statistics::TrustOptions;
use std::ops::Range;
use vector::{Result, Value};

use super::InspectedFile;
use super::facts::{number_or_null, text_or_null};
use crate::engine::FileCondition;

/// Effect of a condition on one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fate {
    /// `read`, `partly` or `skipped`.
    what: &'static str,
    /// Number of rows of the page that are requested, if the page's rows are known.
    wanted: Option<u64>,
    /// Test that excluded the other rows.
    by: Option<String>,
}

impl Fate {
    fn of(wanted: Option<u64>, num_rows: Option<u64>, by: String) -> Self {
        match (wanted, num_rows) {
            (Some(0), _) => Fate { what: "skipped", wanted, by: Some(by) },
            (Some(wanted), Some(all)) if wanted < all => {
                Fate { what: "partly", wanted: Some(wanted), by: Some(by) }
            }
            _ => Fate { what: "read", wanted, by: None },
        }
    }

    /// Returns the effect on a dictionary, which is read if one of its data pages is.
    pub(super) fn of_dictionary(pages: &[Fate]) -> Self {
        let by = pages.iter().find_map(|page| page.by.clone());
        match pages.iter().all(|page| page.what == "skipped") {
            true if !pages.is_empty() => Fate { what: "skipped", wanted: None, by },
            _ => Fate { what: "read", wanted: None, by: None },
        }
    }

    /// Returns the columns `fate`, `wanted_rows` and `by`.
    pub(super) fn facts(&self) -> [Value; 3] {
        [text_or_null(Some(self.what)), number_or_null(self.wanted), text_or_null(self.by.as_ref())]
    }
}

/// Effect of a condition on one row group.
#[derive(Debug)]
pub(super) struct GroupFate {
    /// Test that excluded the whole row group, if any.
    pruned: Option<PrunedBy>,
    /// Rows that the metadata does not exclude.
    wanted: RowRanges,
    /// Rows that pass the condition, counted from the first row of the row group.
    passing: Vec<u64>,
    /// Leaves of the columns that the condition uses.
    tested: Vec<Range<usize>>,
}

impl GroupFate {
    /// Determines the effect of a condition on a row group.
    pub(super) fn new(
        file: &InspectedFile,
        condition: &FileCondition,
        row_group: usize,
    ) -> Result<Self> {
        let footer = &file.footer;
        let columns = footer.schema.columns();
        let named = |name: &str| columns.iter().find(|column| column.name == name);
        let filters: Vec<LeafFilter<'_>> = condition
            .filters
            .iter()
            .filter_map(|(name, filter, ty)| match named(name)?.kind {
                ColumnKind::Leaf(leaf) => Some(LeafFilter { leaf, filter, ty }),
                _ => None,
            })
            .collect();
        let source = FileSource { input: &file.input, decryptor: footer.decryptor.as_ref() };
        let options = TrustOptions::default();
        let answer = may_row_group_match(footer, row_group, &filters, Some(source), options)?;
        let counts = footer.row_groups().iter().map(|group| group.num_rows);
        let first_row = counts.clone().take(row_group).fold(0, u64::saturating_add);
        let num_rows = counts.clone().nth(row_group).unwrap_or(0);
        let mut wanted = RowRanges::all(num_rows);
        for (filter, matched) in filters.iter().zip(&answer.by_filter) {
            let Some(leaf) = footer.schema.leaves().get(filter.leaf) else { continue };
            if *matched == Match::Some {
                let chunk = source.chunk(footer, row_group, filter.leaf);
                let index = read_page_index(chunk, true, options)?;
                if index.offsets().is_some() && index.num_rows() == num_rows {
                    wanted = wanted.intersect(&pages_to_row_ranges(filter, leaf, &index));
                }
            }
        }
        let own = |row: &u64| row.checked_sub(first_row).filter(|row| *row < num_rows);
        Ok(GroupFate {
            pruned: answer.pruned.map(|(_, by)| by),
            wanted,
            passing: condition.rows.iter().filter_map(own).collect(),
            tested: condition
                .columns
                .iter()
                .filter_map(|c| Some(named(c)?.leaves.clone()))
                .collect(),
        })
    }

    /// Returns the effect on a page of `leaf` with these rows; `None` for unknown rows.
    pub(super) fn of_page(&self, leaf: usize, rows: Option<Range<u64>>) -> Fate {
        if let Some(by) = &self.pruned {
            return Fate { what: "skipped", wanted: Some(0), by: Some(by.to_string()) };
        }
        let num_rows = rows.as_ref().map(|rows| rows.end.saturating_sub(rows.start));
        let left = rows
            .clone()
            .map(|rows| self.wanted.intersect(&std::iter::once(rows).collect()).num_rows());
        let by_index = Fate::of(left, num_rows, PAGE_INDEX.to_string());
        if by_index.what == "skipped" || self.tested.iter().any(|leaves| leaves.contains(&leaf)) {
            return by_index;
        }
        let passing = match rows {
            Some(rows) => {
                let before = |row: u64| self.passing.partition_point(|passing| *passing < row);
                Some(before(rows.end).saturating_sub(before(rows.start)) as u64)
            }
            None if self.passing.is_empty() => Some(0),
            None => None,
        };
        Fate::of(passing, num_rows, "values".to_string())
    }
}

/// Name of the page index as a test that excludes rows.
const PAGE_INDEX: &str = "page index";
