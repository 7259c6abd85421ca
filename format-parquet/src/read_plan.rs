//! The read plan of a row group: the rows that metadata leaves to be read.
//!
//! ```text
//! statistics, bloom filter  ->  the row group may be excluded
//! condition by statistics   ->  the row group may be excluded
//! page index of each filter ->  its pages that may have a row  -> RowRanges, intersected
//! condition by page indexes ->  stretches between page ends    -> RowRanges, intersected
//! ```
//!
//! A filter that cannot be evaluated on metadata excludes nothing, and neither does metadata that
//! is missing, malformed or not trusted. The remaining rows are still tested one by one, except by
//! a filter that all rows are proved to pass.
//!
//! Page indexes that excluded little in the preceding row groups are read rarely (rule P5.65).

use dwio::filter::Filter;
use dwio::input::BufferedInput;
use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use dwio::stats::Match;
use vector::sync::Arc;
use vector::{Result, Type};

use crate::chunk_source::FileSource;
use crate::condition::Condition;
use crate::footer::Footer;
use crate::page_index::{OffsetIndex, PageIndex, RowRanges, read_page_index};
use crate::prune::{LeafFilter, PrunedBy, may_row_group_match, pages_to_row_ranges};
use crate::schema::{Column, ColumnKind};
use crate::statistics::TrustOptions;

/// Number of row groups at the start of a scan for which page indexes are always read.
const FIRST_ASKED: u64 = 4;
/// Reciprocal of the minimum fraction of rows that page indexes must exclude to be read for each
/// row group.
const LEAST_SHARE: u64 = 20;
/// Number of row groups per read of page indexes when they exclude less.
const ASKED_SELDOM: u64 = 8;

/// A filter on a column that is one leaf without repetition.
#[derive(Debug)]
pub(crate) struct ColumnFilter {
    /// Index of the column in the scan's spec.
    pub(crate) column: usize,
    leaf: usize,
    filter: Arc<Filter>,
    ty: Type,
}

impl ColumnFilter {
    /// Returns the filters of a column that can be evaluated on metadata: `own`, and those of
    /// fields of structs, because leaves below structs describe rows as well. Leaves below lists
    /// and maps describe elements and not rows (rule P5.19).
    pub(crate) fn of_column(
        position: usize,
        column: &Column,
        (spec, binding): (&ColumnSpec, &NestedBinding),
        own: Option<&Arc<Filter>>,
    ) -> Vec<Self> {
        let mut found = Vec::new();
        if let (ColumnKind::Leaf(leaf), Some(filter)) = (&column.kind, own) {
            let (filter, ty) = (Arc::clone(filter), spec.ty.clone());
            found.push(ColumnFilter { column: position, leaf: *leaf, filter, ty });
        }
        let (ColumnKind::Struct(children), NestedSpec::Row(fields)) = (&column.kind, &spec.nested)
        else {
            return found;
        };
        for (i, field) in fields.iter().enumerate() {
            let FieldSpec::Wanted(field) = field else { continue };
            if !field.has_filter() {
                continue;
            }
            let (child, below) = match binding {
                NestedBinding::Row(bound) => match bound.get(i) {
                    Some(Some(bound)) => (children.get(bound.ordinal), &bound.nested),
                    _ => continue,
                },
                _ => {
                    let mut same = children.iter().filter(|child| child.name == field.name);
                    match (same.next(), same.next()) {
                        (Some(only), None) => (Some(only), &NestedBinding::ByName),
                        _ => continue,
                    }
                }
            };
            if let Some(child) = child {
                let own = field.filter.as_ref();
                found.extend(Self::of_column(position, child, (field, below), own));
            }
        }
        found
    }

    fn as_leaf_filter(&self) -> LeafFilter<'_> {
        LeafFilter { leaf: self.leaf, filter: &self.filter, ty: &self.ty }
    }

    /// Returns true when the bounds of single pages may exclude more than those of the chunk. A
    /// test for non-null values alone is no reason to read page indexes (rule P5.31).
    fn may_prune_pages(&self) -> bool {
        !matches!(*self.filter, Filter::IsNotNull | Filter::AlwaysTrue | Filter::AlwaysFalse)
    }
}

/// The rows of a row group that are to be read.
#[derive(Debug, Default)]
pub(crate) struct GroupPlan {
    /// The rows that may pass, relative to the first row of the row group.
    pub(crate) rows: RowRanges,
    /// The kind of metadata that excluded all rows, if there are none.
    pub(crate) pruned: Option<PrunedBy>,
    /// The columns of the spec with filters that all rows pass.
    pub(crate) decided: Vec<usize>,
    /// The offset indexes that were read for the plan, each with the number of its leaf.
    pub(crate) offsets: Vec<(usize, OffsetIndex)>,
}

/// Plans the row groups of one scan.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    condition: Option<Condition>,
    groups_planned: u64,
    /// Number of rows of the row groups for which page indexes were evaluated.
    rows_asked: u64,
    rows_left_out: u64,
}

impl Planner {
    /// Creates a planner for a scan, with its condition on several columns if it has one.
    pub(crate) fn new(condition: Option<Condition>) -> Self {
        Planner { condition, ..Planner::default() }
    }

    /// Returns the rows of a row group that may pass `filters` and the condition.
    ///
    /// # Errors
    ///
    /// Returns errors of reading bloom filters and page indexes, such as `Io`.
    pub(crate) fn plan(
        &mut self,
        footer: &Footer,
        input: &BufferedInput,
        row_group: usize,
        filters: &[ColumnFilter],
    ) -> Result<GroupPlan> {
        let num_rows = footer.row_groups().get(row_group).map_or(0, |group| group.num_rows);
        let all = RowRanges::all(num_rows);
        let none = |by| Ok(GroupPlan { pruned: Some(by), ..GroupPlan::default() });
        if filters.is_empty() && self.condition.is_none() {
            return Ok(GroupPlan { rows: all, ..GroupPlan::default() });
        }
        let source = FileSource { input, decryptor: footer.decryptor.as_ref() };
        let options = TrustOptions::default();
        let asked: Vec<LeafFilter<'_>> = filters.iter().map(ColumnFilter::as_leaf_filter).collect();
        let answer = may_row_group_match(footer, row_group, &asked, Some(source), options)?;
        if let Some((_, by)) = answer.pruned {
            return none(by);
        }
        if let Some(condition) = &self.condition
            && condition.excludes_row_group(footer, row_group, options)?
        {
            return none(PrunedBy::Condition);
        }
        let answers = || filters.iter().zip(&asked).zip(&answer.by_filter);
        let decided = answers().filter(|(_, matched)| **matched == Match::All);
        let decided = decided.map(|((filter, _), _)| filter.column).collect();
        let mut plan = GroupPlan { rows: all, decided, ..GroupPlan::default() };
        self.groups_planned += 1;
        if !self.asks_page_indexes() {
            return Ok(plan);
        }
        let mut indexes = Indexes { footer, source, row_group, options, read: Vec::new() };
        let mut was_asked = false;
        for ((filter, asked), matched) in answers() {
            let Some(leaf) = footer.schema.leaves().get(filter.leaf) else { continue };
            if *matched != Match::Some || !filter.may_prune_pages() {
                continue;
            }
            if let Some(index) = indexes.of_leaf(filter.leaf)? {
                plan.rows = plan.rows.intersect(&pages_to_row_ranges(asked, leaf, index));
                was_asked = true;
            }
        }
        if !plan.rows.is_empty()
            && let Some(condition) = &self.condition
            && let Some(rows) = condition.rows(&mut indexes)?
        {
            plan.rows = plan.rows.intersect(&rows);
            was_asked = true;
        }
        if was_asked {
            self.rows_asked += num_rows;
            self.rows_left_out += num_rows.saturating_sub(plan.rows.num_rows());
        }
        plan.offsets = indexes.into_offsets();
        plan.pruned = plan.rows.is_empty().then_some(PrunedBy::PageIndex);
        Ok(plan)
    }

    /// Returns true when the statistics of a row group do not exclude it; nothing is read for this
    /// test.
    pub(crate) fn may_be_read(
        &self,
        footer: &Footer,
        row_group: usize,
        filters: &[ColumnFilter],
    ) -> bool {
        let asked: Vec<LeafFilter<'_>> = filters.iter().map(ColumnFilter::as_leaf_filter).collect();
        let answer = may_row_group_match(footer, row_group, &asked, None, TrustOptions::default());
        answer.is_ok_and(|answer| answer.pruned.is_none())
    }

    fn asks_page_indexes(&self) -> bool {
        self.groups_planned <= FIRST_ASKED
            || self.rows_left_out.saturating_mul(LEAST_SHARE) >= self.rows_asked
            || self.groups_planned.is_multiple_of(ASKED_SELDOM)
    }
}

/// The page indexes of a row group, each read once.
pub(crate) struct Indexes<'a> {
    pub(crate) footer: &'a Footer,
    source: FileSource<'a>,
    pub(crate) row_group: usize,
    options: TrustOptions,
    read: Vec<(usize, PageIndex)>,
}

impl Indexes<'_> {
    /// Returns the index of a leaf; `None` when the locations of its pages are not known.
    pub(crate) fn of_leaf(&mut self, leaf: usize) -> Result<Option<&PageIndex>> {
        let at = match self.read.iter().position(|(read, _)| *read == leaf) {
            Some(at) => at,
            None => {
                let chunk = self.source.chunk(self.footer, self.row_group, leaf);
                self.read.push((leaf, read_page_index(chunk, true, self.options)?));
                self.read.len().saturating_sub(1)
            }
        };
        let index = self.read.get(at).map(|(_, index)| index);
        Ok(index.filter(|index| index.offsets().is_some()))
    }

    fn into_offsets(self) -> Vec<(usize, OffsetIndex)> {
        let read = self.read.into_iter();
        read.filter_map(|(leaf, index)| Some((leaf, index.into_offsets()?))).collect()
    }
}
