//! Pruning: excludes row groups and pages by metadata, before a value is read.
//!
//! ```text
//! row group    statistics of the chunk  ->  bloom filter    one filter says None: nothing passes
//! pages        column index             ->  RowRanges       intersected over the filters
//! ```
//!
//! Each stage evaluates the filter on metadata and returns a [`Match`]. `None` requires a proof for
//! every row content that is consistent with the trusted statistics; `All` allows the reader to
//! omit the filter; in any other case the result is `Some` (rule P5.1).

use std::fmt;

use dwio::filter::Filter;
use dwio::stats::{ColumnStatistics, Match, may_match};
use vector::{Result, Type};

use crate::bloom;
use crate::chunk_source::FileSource;
use crate::footer::Footer;
use crate::page_index::{PageIndex, RowRanges};
use crate::schema::Leaf;
use crate::statistics::{TrustOptions, leaf_statistics, widened};
use crate::thrift::structs::{ColumnMetaData, Encoding, PageType};

/// A filter on the values of one leaf. On a leaf below a repeated field it passes a row if any
/// element passes.
#[derive(Debug, Clone, Copy)]
pub struct LeafFilter<'a> {
    /// The number of the leaf.
    pub leaf: usize,
    /// The filter.
    pub filter: &'a Filter,
    /// The type as which the leaf is read, and to which the filter applies.
    pub ty: &'a Type,
}

/// The kind of metadata that proved that no row passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrunedBy {
    /// Null counts alone.
    NullCount,
    /// The bounds.
    MinMax,
    /// The bloom filter.
    Bloom,
    /// The column indexes: no page may contain a passing row.
    PageIndex,
    /// The statistics of several columns, for a condition that no single filter expresses.
    Condition,
    /// The dictionary: no entry passes. This is the last variant, from which the length of
    /// [`PrunedBy::ALL`] is derived.
    Dictionary,
}

impl PrunedBy {
    /// All reasons, each at the index of its discriminant. A new variant before the last one does
    /// not compile until it is added here.
    pub const ALL: [PrunedBy; PrunedBy::Dictionary as usize + 1] = [
        PrunedBy::NullCount,
        PrunedBy::MinMax,
        PrunedBy::Bloom,
        PrunedBy::PageIndex,
        PrunedBy::Condition,
        PrunedBy::Dictionary,
    ];
}

impl fmt::Display for PrunedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrunedBy::NullCount => "null count",
            PrunedBy::MinMax => "min/max",
            PrunedBy::Bloom => "bloom filter",
            PrunedBy::PageIndex => "page index",
            PrunedBy::Condition => "condition",
            PrunedBy::Dictionary => "dictionary",
        })
    }
}

/// The result of evaluating filters on the metadata of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroupMatch {
    /// The result of all filters together.
    pub matched: Match,
    /// The result of each filter; those after a filter with `None` are not evaluated.
    pub by_filter: Vec<Match>,
    /// The number of the filter that proved that no row passes, and the kind of metadata.
    pub pruned: Option<(usize, PrunedBy)>,
}

/// Evaluates all filters on the metadata of a row group: first on statistics, then, for undecided
/// filters, on bloom filters, if there is a `source` from which to read them.
///
/// # Errors
///
/// Returns errors of reading bloom filters, such as `Io`.
pub fn may_row_group_match(
    footer: &Footer,
    row_group: usize,
    filters: &[LeafFilter<'_>],
    source: Option<FileSource<'_>>,
    options: TrustOptions,
) -> Result<RowGroupMatch> {
    let mut answer = RowGroupMatch { matched: Match::All, by_filter: Vec::new(), pruned: None };
    let mut known = Vec::with_capacity(filters.len());
    for (number, filter) in filters.iter().enumerate() {
        let Some(leaf) = footer.schema.leaves().get(filter.leaf) else {
            known.push(ColumnStatistics::default());
            answer.by_filter.push(Match::Some);
            answer.matched = answer.matched.and(Match::Some);
            continue;
        };
        let statistics = leaf_statistics(footer, row_group, filter.leaf, options);
        let matched = match_statistics(filter, leaf, &statistics);
        answer.by_filter.push(matched);
        answer.matched = answer.matched.and(matched);
        if matched == Match::None {
            answer.pruned = Some((number, pruned_by(filter, leaf, &statistics)));
            return Ok(answer);
        }
        known.push(statistics);
    }
    let Some(source) = source else { return Ok(answer) };
    for (number, (filter, known)) in filters.iter().zip(&known).enumerate() {
        if answer.by_filter.get(number) == Some(&Match::Some)
            && bloom::excludes(source.chunk(footer, row_group, filter.leaf), filter, known)?
        {
            if let Some(of_filter) = answer.by_filter.get_mut(number) {
                *of_filter = Match::None;
            }
            answer.matched = Match::None;
            answer.pruned = Some((number, PrunedBy::Bloom));
            break;
        }
    }
    Ok(answer)
}

/// Evaluates a filter on the statistics of a chunk or page.
pub fn match_statistics(
    filter: &LeafFilter<'_>,
    leaf: &Leaf,
    statistics: &ColumnStatistics,
) -> Match {
    let known = widened(statistics, &leaf.ty, filter.ty);
    // Bounds of UUIDs are trusted only where their order is that of the stored numbers.
    let ty = if *filter.ty == Type::Uuid { &Type::HugeInt } else { filter.ty };
    let matched = may_match(filter.filter, &known, ty);
    if matched != Match::All {
        return matched;
    }
    if leaf.max_rep > 0 {
        // That every element passes implies nothing about a row without elements.
        return Match::Some;
    }
    // Truncated bounds prove which values are outside, but not that all inside pass.
    let is_bytes = matches!(ty, Type::Varchar | Type::Varbinary);
    if is_bytes && !(known.is_min_exact && known.is_max_exact) {
        return may_match(filter.filter, &without_bounds(&known), ty);
    }
    matched
}

/// Returns the kind of statistics by which [`match_statistics`] returned `None`.
pub fn pruned_by(filter: &LeafFilter<'_>, leaf: &Leaf, statistics: &ColumnStatistics) -> PrunedBy {
    match match_statistics(filter, leaf, &without_bounds(statistics)) {
        Match::None => PrunedBy::NullCount,
        _ => PrunedBy::MinMax,
    }
}

fn without_bounds(statistics: &ColumnStatistics) -> ColumnStatistics {
    ColumnStatistics { min: None, max: None, ..statistics.clone() }
}

/// Evaluates a filter on each page; returns an empty list without a trusted column index.
pub fn match_pages(filter: &LeafFilter<'_>, leaf: &Leaf, index: &PageIndex) -> Vec<Match> {
    index.statistics().iter().map(|page| match_statistics(filter, leaf, page)).collect()
}

/// Returns the rows of the pages that may contain a passing row; all rows without trusted indexes.
pub fn pages_to_row_ranges(filter: &LeafFilter<'_>, leaf: &Leaf, index: &PageIndex) -> RowRanges {
    let matches = match_pages(filter, leaf, index);
    if matches.is_empty() {
        return RowRanges::all(index.num_rows());
    }
    let wanted = matches.iter().enumerate().filter(|(_, matched)| **matched != Match::None);
    wanted.map(|(page, _)| index.rows(page)).collect()
}

/// Returns true when the metadata proves that every data page of the chunk is dictionary-encoded,
/// so that the dictionary contains all values: by the counts of pages for each encoding (rule
/// P5.43), or, where these are missing, by a list of encodings without any other value encoding
/// (rule P5.44). The reader still has to find the dictionary page in front of the data pages.
pub fn all_pages_dictionary_encoded(meta: &ColumnMetaData) -> bool {
    let is_dictionary =
        |encoding| matches!(encoding, Encoding::PlainDictionary | Encoding::RleDictionary);
    if !meta.encoding_stats.is_empty() {
        let mut data_pages = meta
            .encoding_stats
            .iter()
            .filter(|pages| matches!(pages.page_type, PageType::Data | PageType::DataV2))
            .filter(|pages| pages.num_pages > 0)
            .peekable();
        return data_pages.peek().is_some() && data_pages.all(|p| is_dictionary(p.encoding));
    }
    // Older writers list the encodings that occur: besides the dictionary encoding, only those of
    // levels are allowed. PLAIN may be the dictionary itself or data pages after it.
    let of_levels = |encoding| matches!(encoding, Encoding::Rle | Encoding::BitPacked);
    meta.encodings.contains(&Encoding::PlainDictionary)
        && meta
            .encodings
            .iter()
            .all(|encoding| *encoding == Encoding::PlainDictionary || of_levels(*encoding))
}

#[cfg(test)]
mod tests;
