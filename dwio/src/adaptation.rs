//! Adaptation of a scan: dynamic filters, and measured costs of filters.
//!
//! One [`ScanAdaptation`] belongs to one data source, outlives its splits and is lent to every
//! read. Filters are ordered by the measured cost of dropping a row, and by their kinds while
//! nothing has been measured (rule S5.31).

use vector::SortOrder;
use vector::sync::Arc;

use crate::filter::Filter;

/// Counters of the filter of one column.
#[derive(Debug, Clone, Copy, Default)]
pub struct FilterCost {
    /// Number of rows tested.
    pub rows_in: u64,
    /// Number of rows that passed.
    pub rows_out: u64,
    /// Time spent reading and testing, in nanoseconds.
    pub nanos: u64,
}

impl FilterCost {
    /// Returns the nanoseconds per dropped row; infinite if no row has been dropped.
    pub fn nanos_per_dropped(&self) -> f64 {
        let dropped = self.rows_in.saturating_sub(self.rows_out);
        if dropped == 0 { f64::INFINITY } else { self.nanos as f64 / dropped as f64 }
    }

    /// Returns the fraction of tested rows that passed; `None` if no row has been tested.
    pub fn pass_rate(&self) -> Option<f64> {
        (self.rows_in > 0).then(|| self.rows_out as f64 / self.rows_in as f64)
    }

    fn add(&mut self, other: FilterCost) {
        self.rows_in = self.rows_in.saturating_add(other.rows_in);
        self.rows_out = self.rows_out.saturating_add(other.rows_out);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }
}

/// Number of rows after which the earlier measurements are halved.
const MEMORY_ROWS: u64 = 1 << 20;

/// Dynamic filters and filter costs, by column in the order of the scan spec.
#[derive(Debug, Clone, Default)]
pub struct ScanAdaptation {
    columns: Vec<ObservedCosts>,
    num_filters_set: u64,
    /// True if filters keep the order of their kinds regardless of their costs.
    keeps_order: bool,
    first: Option<(usize, SortOrder)>,
}

#[derive(Debug, Clone, Default)]
struct ObservedCosts {
    filter: Option<Arc<Filter>>,
    total: FilterCost,
    recent: FilterCost,
}

impl ScanAdaptation {
    /// Returns an adaptation of `num_columns` columns without measurements or dynamic filters.
    pub fn new(num_columns: usize) -> Self {
        ScanAdaptation {
            columns: vec![ObservedCosts::default(); num_columns],
            num_filters_set: 0,
            keeps_order: false,
            first: None,
        }
    }

    /// Sets whether filters keep the order of their kinds. If they do, the order never changes
    /// during the scan, even if costs have been measured (rule S5.33).
    pub fn keeping_order(self, keeps_order: bool) -> Self {
        ScanAdaptation { keeps_order, ..self }
    }

    /// Requests that the rows that sort first by `order` of column `i` are read early: the units of
    /// a file may be read in the order that their statistics suggest.
    pub fn read_first(&mut self, i: usize, order: SortOrder) {
        self.first = Some((i, order));
    }

    /// Returns the column and order set by [`ScanAdaptation::read_first`].
    pub fn first(&self) -> Option<(usize, SortOrder)> {
        self.first
    }

    /// Returns the rank of the filter of column `i`; filters with lower ranks are evaluated
    /// earlier.
    pub fn rank(&self, i: usize) -> f64 {
        if self.keeps_order { f64::INFINITY } else { self.recent_cost(i).nanos_per_dropped() }
    }

    /// Returns the dynamic filter of column `i`. It replaces the static filter, which has been
    /// merged into it.
    pub fn dynamic_filter(&self, i: usize) -> Option<&Arc<Filter>> {
        self.columns.get(i)?.filter.as_ref()
    }

    /// Sets the dynamic filter of column `i`, into which the static filter is merged.
    pub fn set_dynamic_filter(&mut self, i: usize, filter: Arc<Filter>) {
        if let Some(column) = self.columns.get_mut(i) {
            column.filter = Some(filter);
            self.num_filters_set += 1;
        }
    }

    /// Returns a number that changes whenever a dynamic filter is set.
    pub fn filters_version(&self) -> u64 {
        self.num_filters_set
    }

    /// Returns the total cost of the filter of column `i` so far.
    pub fn cost(&self, i: usize) -> FilterCost {
        self.columns.get(i).map(|column| column.total).unwrap_or_default()
    }

    /// Returns the recent cost of the filter of column `i`: earlier measurements decay, so that the
    /// order of the filters follows the current data (rule P6.19).
    pub fn recent_cost(&self, i: usize) -> FilterCost {
        self.columns.get(i).map(|column| column.recent).unwrap_or_default()
    }

    /// Adds the counters of one batch to column `i`.
    pub fn record(&mut self, i: usize, batch: FilterCost) {
        let Some(column) = self.columns.get_mut(i) else { return };
        column.total.add(batch);
        if column.recent.rows_in >= MEMORY_ROWS {
            let FilterCost { rows_in, rows_out, nanos } = column.recent;
            column.recent =
                FilterCost { rows_in: rows_in / 2, rows_out: rows_out / 2, nanos: nanos / 2 };
        }
        column.recent.add(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_follow_what_was_measured_lately() {
        let mut adaptation = ScanAdaptation::new(1);
        let window = |rows_out, nanos| FilterCost { rows_in: 10_000, rows_out, nanos };
        for _ in 0..1_000 {
            adaptation.record(0, window(0, 10_000));
        }
        assert_eq!(adaptation.recent_cost(0).nanos_per_dropped(), 1.0);
        for _ in 0..1_000 {
            adaptation.record(0, window(9_000, 10_000));
        }
        assert!(adaptation.recent_cost(0).nanos_per_dropped() > 9.0);
        assert_eq!(adaptation.cost(0).rows_in, 20_000_000);
        assert_eq!(adaptation.rank(0), adaptation.recent_cost(0).nanos_per_dropped());
        assert_eq!(adaptation.keeping_order(true).rank(0), f64::INFINITY);
    }
}
