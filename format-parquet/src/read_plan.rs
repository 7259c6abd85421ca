//! What of a row group is read at all, as far as metadata tells.
//!
//! ```text
//! statistics, bloom filter  ->  the row group may be left out
//! page index of each filter ->  its pages that may have a row  -> RowRanges, intersected
//! ```
//!
//! A filter that metadata cannot judge leaves everything; metadata that is missing, broken or not
//! believed does too. What stays is still tested row by row.

use dwio::filter::Filter;
use dwio::input::BufferedInput;
use dwio::stats::Match;
use vector::sync::Arc;
use vector::{Result, Type};

use crate::chunk_source::FileSource;
use crate::footer::Footer;
use crate::page_index::{RowRanges, read_page_index};
use crate::prune::{LeafFilter, may_row_group_match, pages_to_row_ranges};
use crate::schema::{Column, ColumnKind};
use crate::statistics::TrustOptions;

/// A filter on a column that is one leaf without repetition.
#[derive(Debug)]
pub(crate) struct ColumnFilter {
    leaf: usize,
    filter: Arc<Filter>,
    ty: Type,
}

impl ColumnFilter {
    /// The filter of `column`, which is read as `ty`; `None` for nested columns, whose leaves'
    /// statistics do not describe rows (rule P5.19).
    pub(crate) fn new(column: &Column, filter: &Arc<Filter>, ty: &Type) -> Option<Self> {
        let ColumnKind::Leaf(leaf) = column.kind else { return None };
        Some(ColumnFilter { leaf, filter: Arc::clone(filter), ty: ty.clone() })
    }

    fn as_leaf_filter(&self) -> LeafFilter<'_> {
        LeafFilter { leaf: self.leaf, filter: &self.filter, ty: &self.ty }
    }

    /// True when the bounds of single pages may say more than those of the chunk (rule P5.31).
    fn may_prune_pages(&self) -> bool {
        !matches!(*self.filter, Filter::IsNotNull | Filter::AlwaysTrue | Filter::AlwaysFalse)
    }
}

/// The rows of a row group, counted from its first one, that may pass all filters.
pub(crate) fn wanted_rows(
    footer: &Footer,
    input: &BufferedInput,
    row_group: usize,
    filters: &[ColumnFilter],
) -> Result<RowRanges> {
    let num_rows = footer.row_groups().get(row_group).map_or(0, |group| group.num_rows);
    let mut rows = RowRanges::all(num_rows);
    if filters.is_empty() {
        return Ok(rows);
    }
    let source = FileSource { input, decryptor: footer.decryptor.as_ref() };
    let options = TrustOptions::default();
    let asked: Vec<LeafFilter<'_>> = filters.iter().map(ColumnFilter::as_leaf_filter).collect();
    let answer = may_row_group_match(footer, row_group, &asked, Some(source), options)?;
    if answer.matched == Match::None {
        return Ok(RowRanges::none());
    }
    for ((filter, asked), matched) in filters.iter().zip(&asked).zip(&answer.by_filter) {
        let Some(leaf) = footer.schema.leaves().get(filter.leaf) else { continue };
        if *matched != Match::Some || !filter.may_prune_pages() {
            continue;
        }
        let index = read_page_index(source.chunk(footer, row_group, filter.leaf), true, options)?;
        if index.offsets().is_some() && index.num_rows() == num_rows {
            rows = rows.intersect(&pages_to_row_ranges(asked, leaf, &index));
        }
    }
    Ok(rows)
}
