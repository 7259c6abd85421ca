//! The number of rows that a scan requests from its data source per read: the number that fills a
//! batch according to the source's estimate of the row size, and more when filters drop most of the
//! rows (S11.21 to S11.25).
//!
//! The first row of the table that applies determines the number:
//!
//! | known | rows |
//! |---|---|
//! | the split's hint | the hint, divided by the ratio |
//! | override set | the override, unchanged |
//! | row size, of this source or an earlier file | preferred bytes / row size, up to the maximum, divided by the ratio |
//! | nothing | the last base size, at first the preferred rows, divided by the ratio |
//!
//! The ratio is the greatest share of the requested rows that a read has returned, at least a
//! quarter. A number that was divided by the ratio is at most the maximum number of rows. Before
//! the first read no number is divided.

use crate::query_ctx::QueryConfig;

/// Lower bound of the ratio, which limits a read to four times the base size (S11.22).
const MIN_FILTERING_RATIO: f64 = 0.25;

/// Determines the number of rows that the next read requests.
#[derive(Debug)]
pub(super) struct BatchSize {
    max_rows: usize,
    preferred_bytes: u64,
    override_rows: usize,
    /// Base size in rows, before the division by the ratio. It persists across splits, so that a
    /// source without an estimate uses the size of the previous one (S11.23).
    rows: usize,
    row_size: Option<u64>,
    /// Greatest share of the requested rows that a read has returned; 0 before the first read.
    ratio: f64,
}

impl BatchSize {
    /// Creates the state before the first read, with the limits of `config`.
    pub(super) fn new(config: &QueryConfig) -> Self {
        BatchSize {
            max_rows: config.max_output_batch_rows,
            preferred_bytes: config.preferred_output_batch_bytes,
            override_rows: config.table_scan_output_batch_rows_override,
            rows: config.preferred_output_batch_rows,
            row_size: None,
            ratio: 0.0,
        }
    }

    /// Returns the number of rows to request. `hint` is the number of rows that the split prefers,
    /// and `estimate` is the source's estimate of the row size in bytes.
    pub(super) fn rows(&mut self, hint: Option<usize>, estimate: Option<u64>) -> usize {
        if let Some(hint) = hint {
            return self.enlarged(hint);
        }
        if self.override_rows > 0 {
            return self.override_rows;
        }
        self.row_size = estimate.or(self.row_size);
        if let Some(row_size) = self.row_size {
            self.rows = match self.preferred_bytes.checked_div(row_size) {
                Some(rows) => usize::try_from(rows).unwrap_or(usize::MAX).clamp(1, self.max_rows),
                None => self.max_rows,
            };
        }
        self.enlarged(self.rows)
    }

    fn enlarged(&self, rows: usize) -> usize {
        if self.ratio > 0.0 { self.max_rows.min((rows as f64 / self.ratio) as usize) } else { rows }
    }

    /// Records that a read for which `asked` rows were requested returned `given` rows.
    pub(super) fn record(&mut self, asked: usize, given: usize) {
        // A scan that only counts rows may return more rows than were requested.
        let share = (given as f64 / asked.max(1) as f64).min(1.0);
        self.ratio = self.ratio.max(share).max(MIN_FILTERING_RATIO);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn reads_grow_fourfold_while_filters_drop_rows_and_shrink_when_they_do_not() {
        let mut size = BatchSize::new(&QueryConfig::default());
        assert_eq!(size.rows(None, None), 1_024);
        size.record(1_024, 0);
        assert_eq!(size.rows(None, None), 4_096);
        size.record(4_096, 2_048);
        assert_eq!(size.rows(None, None), 2_048);
        size.record(2_048, 2_048);
        assert_eq!(size.rows(None, None), 1_024);
    }

    #[test]
    fn a_row_size_fills_the_preferred_bytes_within_the_maximum_and_is_remembered() {
        let mut size = BatchSize::new(&QueryConfig::default());
        assert_eq!(size.rows(None, Some(10 << 10)), 1_024);
        assert_eq!(size.rows(None, None), 1_024);
        assert_eq!(size.rows(None, Some(1)), 10_000);
        assert_eq!(size.rows(None, Some(0)), 10_000);
        assert_eq!(size.rows(None, Some(u64::MAX)), 1);
    }

    #[test]
    fn an_override_is_taken_as_it_is() {
        let config =
            QueryConfig { table_scan_output_batch_rows_override: 50_000, ..Default::default() };
        let mut size = BatchSize::new(&config);
        size.record(100, 1);
        assert_eq!(size.rows(None, Some(8)), 50_000);
    }

    #[test]
    fn what_a_split_wants_comes_before_everything_and_grows_with_the_filters() {
        let config =
            QueryConfig { table_scan_output_batch_rows_override: 50_000, ..Default::default() };
        let mut size = BatchSize::new(&config);
        assert_eq!(size.rows(Some(20_000), Some(8)), 20_000);
        size.record(20_000, 0);
        assert_eq!(size.rows(Some(300), Some(8)), 1_200);
        assert_eq!(size.rows(Some(20_000), Some(8)), 10_000);
    }
}
