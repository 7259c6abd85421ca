//! The filters of a row group, in the order that rejects rows at the lowest cost.
//!
//! | known | order |
//! |---|---|
//! | nothing | by the filters' kinds, then by the columns' names (rule S5.31) |
//! | earlier costs | nanoseconds for each rejected row, reading included (rule P6.19) |
//!
//! The order is determined anew for each row group, from the costs observed in all files before.
//!
//! A filter is tested on encoded values where possible. If its column is projected, the values are
//! read as follows:
//!
//! | pass rate | values |
//! |---|---|
//! | high | the window is read as a whole, tested, and the rows that pass are selected at the end |
//! | otherwise | the rows that pass are read while they are tested |

use std::cmp::Ordering;
use std::time::Instant;

use dwio::adaptation::{FilterCost, ScanAdaptation};
use dwio::filter::{Filter, FilterKind};
use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedSpec};
use vector::sync::Arc;
use vector::{DecodedVector, Result, ResultExt, SelectivityVector, Vector, VectorRef};

use super::column::{ScanColumn, SharedColumn};
use super::group::GroupScan;
use super::pick::Wanted;

/// Minimum pass rate at which a projected column is read before it is tested, if at least this
/// share of the window's rows has passed the preceding filters.
const MANY_PASS: f64 = 0.8;

/// The filters of one column.
pub(super) struct FilterStep {
    /// Index of the column among the columns of the scan.
    pub(super) position: usize,
    /// Index of the column in the spec.
    pub(super) index: usize,
    pub(super) column: SharedColumn,
    /// The filter on the column's own value; fields below it may have filters of their own.
    pub(super) own: Option<Arc<Filter>>,
}

/// The values of a filter's column that were read while it was tested.
pub(super) struct Filtered {
    vector: VectorRef,
    /// The rows of the window that the vector has; `None` for all.
    rows: Option<SelectivityVector>,
}

/// Sorts the steps into the order of evaluation.
pub(super) fn sort(steps: &mut [FilterStep], columns: &[ColumnSpec], learned: &ScanAdaptation) {
    let key = |step: &FilterStep| -> (f64, Option<FilterKind>, &str) {
        let cost = learned.rank(step.index);
        let name = columns.get(step.index).map_or("", |spec| spec.name.as_str());
        (cost, step.own.as_ref().map(|filter| filter.kind()), name)
    };
    steps.sort_by(|a, b| {
        let ((a_cost, a_kind, a_name), (b_cost, b_kind, b_name)) = (key(a), key(b));
        let by_kind = match (a_kind, b_kind) {
            (Some(a), Some(b)) => a.cmp(&b),
            // Filters below a column come after those on columns.
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        let by_cost = a_cost.partial_cmp(&b_cost).unwrap_or(Ordering::Equal);
        by_cost.then(by_kind).then_with(|| a_name.cmp(b_name))
    });
}

impl FilterStep {
    /// Returns true when the dictionary of the column contains all its values and none of them
    /// passes.
    pub(super) fn is_excluded_by_dictionary(&self, group: &GroupScan) -> Result<bool> {
        let Some(filter) = &self.own else { return Ok(false) };
        let mut column = self.column.lock();
        let in_dictionary = group.is_in_dictionaries(column.reader.leaf_numbers());
        Ok(in_dictionary && !column.reader.dictionary_may_match(filter)?)
    }

    /// Deselects the rows of the window at `row` that do not pass; returns the column's values if
    /// `spec` projects the column.
    pub(super) fn apply(
        &self,
        group: &GroupScan,
        row: u64,
        spec: &ColumnSpec,
        selection: &mut SelectivityVector,
        learned: &mut ScanAdaptation,
    ) -> Result<Option<Filtered>> {
        let started = Instant::now();
        let rows_in = selection.count() as u64;
        let pass_rate = learned.recent_cost(self.index).pass_rate();
        let mut column = self.column.lock();
        let filtered = self.test(&mut column, group, row, (spec, pass_rate), selection)?;
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let rows_out = selection.count() as u64;
        column.tested(rows_in, rows_out);
        learned.record(self.index, FilterCost { rows_in, rows_out, nanos });
        Ok(filtered)
    }

    fn test(
        &self,
        column: &mut ScanColumn,
        group: &GroupScan,
        row: u64,
        (spec, pass_rate): (&ColumnSpec, Option<f64>),
        selection: &mut SelectivityVector,
    ) -> Result<Option<Filtered>> {
        let is_projected = spec.channel.is_some();
        // Where all values have the same result there is nothing to test; nulls follow from the
        // levels.
        let tests_values = self.own.as_ref().is_none_or(|own| own.test_any_value().is_none());
        let many = |share: f64| share >= MANY_PASS;
        let reads_first = is_projected
            && tests_values
            && pass_rate.is_some_and(many)
            && many(selection.count() as f64 / selection.len() as f64);
        match &self.own {
            Some(filter) if column.filters_in_place() && !reads_first => {
                if !is_projected {
                    column.filter(group, row, filter, selection)?;
                    return Ok(None);
                }
                let vector = column.filter_and_read(group, row, filter, selection)?;
                Ok(Some(Filtered { vector, rows: Some(selection.clone()) }))
            }
            own => {
                let vector = column.read(group, row, selection.len())?;
                apply_filters(own.as_deref(), spec, &vector, selection)
                    .in_named("column", &spec.name)?;
                Ok(is_projected.then_some(Filtered { vector, rows: None }))
            }
        }
    }
}

impl Filtered {
    /// Returns the values of the rows that passed all filters, `count` in number.
    pub(super) fn of_rows(&self, passed: &SelectivityVector, count: usize) -> Result<VectorRef> {
        if self.vector.len() == count {
            return Ok(Arc::clone(&self.vector));
        }
        let wanted = match &self.rows {
            None => Wanted::of_window(passed),
            Some(rows) => Wanted::ranks(rows, passed),
        };
        wanted.pick(&self.vector)
    }
}

/// Applies the filter of a column and those of the fields below it. On a list or map, the column's
/// own filter can only test for null (rule S10.51).
fn apply_filters(
    own: Option<&Filter>,
    spec: &ColumnSpec,
    vector: &VectorRef,
    selection: &mut SelectivityVector,
) -> Result<()> {
    if let Some(filter) = own {
        filter.apply(&DecodedVector::new(vector)?, selection)?;
    }
    let NestedSpec::Row(fields) = &spec.nested else { return Ok(()) };
    let Vector::Row(row) = vector.as_ref() else { return Ok(()) };
    // A field is null wherever its struct is null, so its filter sees the nulls of the struct.
    for (field, child) in fields.iter().zip(row.children()) {
        if let FieldSpec::Wanted(field) = field
            && field.has_filter()
        {
            apply_filters(field.filter.as_deref(), field, child, selection)
                .in_named("field", &field.name)?;
        }
    }
    Ok(())
}
