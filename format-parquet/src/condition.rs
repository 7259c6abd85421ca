//! Conditions on several columns, evaluated on metadata: they exclude row groups and pages that no
//! filter on a single column can exclude, mainly by ORs across columns (rules S4.32 to S4.38).
//!
//! ```text
//! row group   statistics of each column                        -> the condition never holds?
//! pages       page indexes; pages of different columns end at different rows:
//!             a   |-------|-------|--------|
//!             b   |----|------------|------|
//!             cut |----|--|-------|-|------|                   -> stretches where it may hold
//! ```
//!
//! The condition never decides on a row: the caller evaluates it on the rows that are read.

use std::ops::Range;

use dwio::metadata_filter::MetadataFilter;
use dwio::reader::RowReaderParams;
use dwio::scan_spec::BoundColumn;
use dwio::stats::Match;
use vector::sync::Arc;
use vector::{Bitmap, Result, Type};

use crate::footer::Footer;
use crate::page_index::RowRanges;
use crate::prune::{LeafFilter, match_pages, match_statistics};
use crate::read_plan::Indexes;
use crate::schema::{ColumnKind, Schema};
use crate::statistics::{TrustOptions, leaf_statistics};

/// A condition, with the leaves of the file to which its filters apply.
#[derive(Debug)]
pub(crate) struct Condition {
    filter: Arc<MetadataFilter>,
    /// For each filter in order, its leaf and the type as which the leaf is read; `None` where the
    /// file has no suitable leaf.
    leaves: Vec<Option<(usize, Type)>>,
}

impl Condition {
    /// Returns the condition of a scan, if there is one that can be evaluated on metadata of this
    /// file.
    pub(crate) fn new(params: &RowReaderParams, schema: &Schema) -> Option<Self> {
        let filter = params.metadata_filter.as_ref()?;
        let leaf_of = |name: &str| {
            let mut specs = params.spec.columns().iter().enumerate();
            let (at, spec) = specs.find(|(_, spec)| spec.name == name)?;
            let Some(BoundColumn::File { ordinal }) = params.binding.column(at) else {
                return None;
            };
            // Statistics of leaves below repeated fields do not describe rows (rule P5.19).
            let ColumnKind::Leaf(leaf) = schema.columns().get(*ordinal)?.kind else { return None };
            Some((leaf, spec.ty.clone()))
        };
        let leaves: Vec<_> = filter
            .leaves()
            .iter()
            .map(|leaf| leaf_of(leaf.subfield.is_column().then(|| leaf.subfield.column_name())?))
            .collect();
        let is_known = leaves.iter().any(Option::is_some);
        is_known.then(|| Condition { filter: Arc::clone(filter), leaves })
    }

    fn leaf_filters(&self) -> impl Iterator<Item = Option<LeafFilter<'_>>> {
        self.filter.leaves().iter().zip(&self.leaves).map(|(asked, known)| {
            let (leaf, ty) = known.as_ref()?;
            Some(LeafFilter { leaf: *leaf, filter: &asked.filter, ty })
        })
    }

    /// Returns true when the statistics of a row group prove that the condition holds for none of
    /// its rows.
    pub(crate) fn excludes_row_group(
        &self,
        footer: &Footer,
        row_group: usize,
        options: TrustOptions,
    ) -> Result<bool> {
        let answers = self.leaf_filters().map(|filter| {
            let filter = filter?;
            let leaf = footer.schema.leaves().get(filter.leaf)?;
            let known = leaf_statistics(footer, row_group, filter.leaf, options);
            Some([match_statistics(&filter, leaf, &known) == Match::None].into_iter().collect())
        });
        let answers: Vec<Option<Bitmap>> = answers.collect();
        Ok(self.filter.excluded(1, &answers)?.is_some_and(|excluded| excluded.get(0)))
    }

    /// Returns the rows for which the condition may hold; `None` without usable page indexes.
    ///
    /// # Errors
    ///
    /// Returns errors of reading page indexes, such as `Io`.
    pub(crate) fn rows(&self, indexes: &mut Indexes<'_>) -> Result<Option<RowRanges>> {
        // For each filter, the rows of the pages in which nothing passes.
        let mut excluded: Vec<Option<RowRanges>> = Vec::with_capacity(self.leaves.len());
        let mut cuts = Vec::new();
        for filter in self.leaf_filters() {
            let Some(filter) = filter else {
                excluded.push(None);
                continue;
            };
            let (footer, leaf) = (indexes.footer, filter.leaf);
            let (Some(leaf), Some(index)) =
                (footer.schema.leaves().get(leaf), indexes.of_leaf(leaf)?)
            else {
                excluded.push(None);
                continue;
            };
            let matches = match_pages(&filter, leaf, index);
            let pages = matches.iter().enumerate().filter(|(_, m)| **m == Match::None);
            let pages: RowRanges = pages.map(|(page, _)| index.rows(page)).collect();
            cuts.extend(pages.ranges().iter().flat_map(|rows| [rows.start, rows.end]));
            excluded.push((!matches.is_empty()).then_some(pages));
        }
        let groups = indexes.footer.row_groups();
        let num_rows = groups.get(indexes.row_group).map_or(0, |group| group.num_rows);
        cuts.extend([0, num_rows]);
        cuts.sort_unstable();
        cuts.dedup();
        let stretches: Vec<Range<u64>> =
            cuts.iter().zip(cuts.iter().skip(1)).map(|(start, end)| *start..*end).collect();
        let answers: Vec<Option<Bitmap>> = excluded
            .iter()
            .map(|pages| {
                let pages = pages.as_ref()?;
                Some(stretches.iter().map(|rows| pages.overlaps(rows)).collect())
            })
            .collect();
        let Some(excluded) = self.filter.excluded(stretches.len(), &answers)? else {
            return Ok(None);
        };
        let left = stretches.into_iter().enumerate().filter(|(at, _)| !excluded.get(*at));
        Ok(Some(left.map(|(_, rows)| rows).collect()))
    }
}
