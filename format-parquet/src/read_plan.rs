//! What of a row group is read at all, as far as metadata tells.
//!
//! ```text
//! statistics, bloom filter  ->  the row group may be left out
//! condition by statistics   ->  the same
//! page index of each filter ->  its pages that may have a row  -> RowRanges, intersected
//! condition by page indexes ->  stretches between page ends    -> the same
//! ```
//!
//! A filter that metadata cannot judge leaves everything; metadata that is missing, broken or not
//! believed does too. What stays is still tested row by row, except by a filter that all rows are
//! proved to pass.
//!
//! Page indexes that did not help in the row groups before are asked seldom (rule P5.65).

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

/// Row groups whose page indexes are asked before anything is concluded.
const FIRST_ASKED: u64 = 4;
/// Afterwards, page indexes that leave out less than one row in so many are asked only
const LEAST_SHARE: u64 = 20;
/// in one row group of so many.
const ASKED_SELDOM: u64 = 8;

/// A filter on a column that is one leaf without repetition.
#[derive(Debug)]
pub(crate) struct ColumnFilter {
    /// The column's position in the scan's spec.
    pub(crate) column: usize,
    leaf: usize,
    filter: Arc<Filter>,
    ty: Type,
}

impl ColumnFilter {
    /// The filters of a column that metadata can be asked about: `own`, and those of fields of
    /// structs, whose leaves describe rows as well. Leaves below lists and maps do not (rule P5.19).
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

    /// True when the bounds of single pages may say more than those of the chunk (rule P5.31).
    fn may_prune_pages(&self) -> bool {
        !matches!(*self.filter, Filter::IsNotNull | Filter::AlwaysTrue | Filter::AlwaysFalse)
    }
}

/// What is to be read of a row group.
#[derive(Debug, Default)]
pub(crate) struct GroupPlan {
    /// The rows that may pass, counted from the row group's first one.
    pub(crate) rows: RowRanges,
    /// Why there are none.
    pub(crate) pruned: Option<PrunedBy>,
    /// The columns of the spec whose filters all rows pass.
    pub(crate) decided: Vec<usize>,
    /// Offset indexes that were read on the way, by leaf.
    pub(crate) offsets: Vec<(usize, OffsetIndex)>,
}

/// Plans the row groups of one pass.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    condition: Option<Condition>,
    groups_planned: u64,
    /// Rows of the row groups whose page indexes were asked, and those that they left out.
    rows_asked: u64,
    rows_left_out: u64,
}

impl Planner {
    /// A planner for a pass with a condition on several columns, if it has one.
    pub(crate) fn new(condition: Option<Condition>) -> Self {
        Planner { condition, ..Planner::default() }
    }

    /// What may pass `filters` and the condition.
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

    /// True when the statistics of a row group leave it; nothing is read for the answer.
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
    /// The index of a leaf; `None` when it does not tell where the pages are.
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
