//! What filters leave of a row group and of its pages before a value is read.
//!
//! ```text
//! row group    statistics of the chunk  ->  bloom filter    one filter says None: nothing passes
//! pages        column index             ->  RowRanges       intersected over the filters
//! ```
//!
//! Each stage asks the filter the same question and gets a [`Match`]. `None` needs a proof for
//! every row that the believed statistics allow; `All` lets the reader leave the filter out; any
//! doubt is `Some` (rule P5.1).

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

/// A filter on the values of one leaf. On a leaf below a repeated field it asks whether some
/// element passes.
#[derive(Debug, Clone, Copy)]
pub struct LeafFilter<'a> {
    /// The leaf's number.
    pub leaf: usize,
    /// The filter.
    pub filter: &'a Filter,
    /// The type that the leaf is read as, which the filter is made for.
    pub ty: &'a Type,
}

/// What showed that no row passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrunedBy {
    /// Null counts alone.
    NullCount,
    /// The bounds.
    MinMax,
    /// The bloom filter.
    Bloom,
    /// The column indexes: no page may have a row.
    PageIndex,
    /// What several columns' statistics say of a condition that no single filter expresses.
    Condition,
    /// The dictionary: no entry passes. The last variant, which [`PrunedBy::ALL`] counts by.
    Dictionary,
}

impl PrunedBy {
    /// All reasons, each at its number. A new variant in front of the last one does not compile before it is
    /// listed here.
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

/// What the filters leave of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroupMatch {
    /// The answer of all filters together.
    pub matched: Match,
    /// The answer of each filter; those behind one that says `None` were not asked.
    pub by_filter: Vec<Match>,
    /// Which filter showed that no row passes, and by what.
    pub pruned: Option<(usize, PrunedBy)>,
}

/// How many rows of a row group pass all filters, as far as metadata tells: statistics first, then
/// bloom filters for what is still open, if there is a `source` to read them from.
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

/// How many of the rows that the statistics of a chunk or page describe pass a filter.
pub fn match_statistics(
    filter: &LeafFilter<'_>,
    leaf: &Leaf,
    statistics: &ColumnStatistics,
) -> Match {
    let known = widened(statistics, &leaf.ty, filter.ty);
    // Bounds of UUIDs are believed only where their order is that of the stored numbers.
    let ty = if *filter.ty == Type::Uuid { &Type::HugeInt } else { filter.ty };
    let matched = may_match(filter.filter, &known, ty);
    if matched != Match::All {
        return matched;
    }
    if leaf.max_rep > 0 {
        // That every element passes says nothing of a row without elements.
        return Match::Some;
    }
    // Bounds that may be cut show what is outside, and are not asked what is inside.
    let is_bytes = matches!(ty, Type::Varchar | Type::Varbinary);
    if is_bytes && !(known.is_min_exact && known.is_max_exact) {
        return may_match(filter.filter, &without_bounds(&known), ty);
    }
    matched
}

/// What made [`match_statistics`] say `None`.
pub fn pruned_by(filter: &LeafFilter<'_>, leaf: &Leaf, statistics: &ColumnStatistics) -> PrunedBy {
    match match_statistics(filter, leaf, &without_bounds(statistics)) {
        Match::None => PrunedBy::NullCount,
        _ => PrunedBy::MinMax,
    }
}

fn without_bounds(statistics: &ColumnStatistics) -> ColumnStatistics {
    ColumnStatistics { min: None, max: None, ..statistics.clone() }
}

/// The answer of a filter for each page; empty when the column index does not tell.
pub fn match_pages(filter: &LeafFilter<'_>, leaf: &Leaf, index: &PageIndex) -> Vec<Match> {
    index.statistics().iter().map(|page| match_statistics(filter, leaf, page)).collect()
}

/// The rows that a filter leaves to be read: those of pages that may have a passing one, and all
/// when the indexes do not tell.
pub fn pages_to_row_ranges(filter: &LeafFilter<'_>, leaf: &Leaf, index: &PageIndex) -> RowRanges {
    let matches = match_pages(filter, leaf, index);
    if matches.is_empty() {
        return RowRanges::all(index.num_rows());
    }
    let wanted = matches.iter().enumerate().filter(|(_, matched)| **matched != Match::None);
    wanted.map(|(page, _)| index.rows(page)).collect()
}

/// True when the metadata proves that every data page of the chunk is dictionary-encoded, so that
/// the dictionary has all values (rules P5.43, P5.44). The reader still has to find the dictionary
/// page in front of them.
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
    // Older writers list what occurs: levels are the only other thing beside such pages. PLAIN
    // may be the dictionary itself or pages after it.
    let of_levels = |encoding| matches!(encoding, Encoding::Rle | Encoding::BitPacked);
    meta.encodings.contains(&Encoding::PlainDictionary)
        && meta
            .encodings
            .iter()
            .all(|encoding| *encoding == Encoding::PlainDictionary || of_levels(*encoding))
}

#[cfg(test)]
mod tests;
