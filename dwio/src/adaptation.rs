//! What a driver learns while scanning: filters that arrive late, and what filters cost.
//!
//! One [`ScanAdaptation`] belongs to one data source, outlives its splits and is lent to every
//! read. Filter order follows the measured cost of dropping a row, first by the filters' kinds
//! (rule S5.31).

use vector::sync::Arc;

use crate::filter::Filter;

/// Counters of one column's filter.
#[derive(Debug, Clone, Copy, Default)]
pub struct FilterCost {
    /// Rows tested.
    pub rows_in: u64,
    /// Rows that passed.
    pub rows_out: u64,
    /// Time spent reading and testing.
    pub nanos: u64,
}

impl FilterCost {
    /// Nanoseconds for each dropped row; infinite when nothing was dropped yet.
    pub fn nanos_per_dropped(&self) -> f64 {
        let dropped = self.rows_in.saturating_sub(self.rows_out);
        if dropped == 0 { f64::INFINITY } else { self.nanos as f64 / dropped as f64 }
    }
}

/// Late filters and filter costs, by the scan spec's column order.
#[derive(Debug, Clone, Default)]
pub struct ScanAdaptation {
    columns: Vec<(Option<Arc<Filter>>, FilterCost)>,
}

impl ScanAdaptation {
    /// Nothing learned about `num_columns` columns.
    pub fn new(num_columns: usize) -> Self {
        ScanAdaptation { columns: vec![(None, FilterCost::default()); num_columns] }
    }

    /// The filter that arrived for column `i`; it replaces the static one, being merged with it.
    pub fn dynamic_filter(&self, i: usize) -> Option<&Arc<Filter>> {
        self.columns.get(i)?.0.as_ref()
    }

    /// Sets the merged filter of column `i`.
    pub fn set_dynamic_filter(&mut self, i: usize, filter: Arc<Filter>) {
        if let Some(column) = self.columns.get_mut(i) {
            column.0 = Some(filter);
        }
    }

    /// What filtering by column `i` cost so far.
    pub fn cost(&self, i: usize) -> FilterCost {
        self.columns.get(i).map(|c| c.1).unwrap_or_default()
    }

    /// Adds one batch's counters to column `i`.
    pub fn record(&mut self, i: usize, batch: FilterCost) {
        if let Some((_, cost)) = self.columns.get_mut(i) {
            cost.rows_in += batch.rows_in;
            cost.rows_out += batch.rows_out;
            cost.nanos += batch.nanos;
        }
    }
}
