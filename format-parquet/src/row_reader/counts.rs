//! What a pass did, by names for people (rules S15.10, S15.18).

use vector::Metrics;
use vector::sync::atomic::{AtomicU64, Ordering};

use crate::page::PageCounters;
use crate::page_index::RowRanges;
use crate::prune::PrunedBy;

/// Files whose footer somebody else had already (rule S15.12).
const FOOTER_CACHE_HIT: &str = "footerCacheHit";
/// Row groups that were read.
pub(super) const PROCESSED_STRIDES: &str = "processedStrides";
/// The same by the name that row groups have in other formats (rule S15.13).
const NUM_STRIPES: &str = "numStripes";
/// And by the name of what is loaded at once (rule S15.17).
const PROCESSED_UNITS: &str = "processedUnits";
/// Row groups that metadata left out.
pub(super) const SKIPPED_STRIDES: &str = "skippedStrides";
/// Rows that page indexes left out of row groups that were read.
pub(super) const PAGE_INDEX_ROWS: &str = "parquet.rowsSkippedByPageIndex";
/// Rows that were tested or given out,
pub(super) const ROWS_SCANNED: &str = "parquet.rowsScanned";
/// and those that passed the filters.
pub(super) const ROWS_PASSED: &str = "parquet.rowsPassed";

/// Values that were decoded, of all columns.
pub(super) const VALUES_DECODED: &str = "parquet.valuesDecoded";
/// Bytes between wanted ones that were read with them (rule S15.41).
pub(super) const READ_GAP_BYTES: &str = "readGapBytes";
/// The same as bytes beyond wanted ones (rule S15.37): there are no others.
pub(super) const OVERREAD_BYTES: &str = "overreadBytes";

/// Row groups and rows of a pass.
#[derive(Debug, Default)]
pub(super) struct GroupCounts {
    footer_was_known: bool,
    processed: usize,
    /// Row groups that were left out, in the order of [`PrunedBy::ALL`].
    skipped: [usize; PrunedBy::ALL.len()],
    rows_skipped: u64,
    rows_scanned: u64,
    rows_passed: u64,
}

impl GroupCounts {
    /// Nothing yet of a file, whose footer somebody else may have had.
    pub(super) fn of_file(footer_was_known: bool) -> Self {
        GroupCounts { footer_was_known, ..Self::default() }
    }

    /// Counts a row group that is left out.
    pub(super) fn skipped(&mut self, by: PrunedBy) {
        for (counted, count) in PrunedBy::ALL.into_iter().zip(&mut self.skipped) {
            *count += usize::from(counted == by);
        }
    }

    /// Counts a row group of which `wanted` are read.
    pub(super) fn started(&mut self, num_rows: u64, wanted: &RowRanges) {
        self.processed += 1;
        let left_out = num_rows.saturating_sub(wanted.num_rows());
        self.rows_skipped = self.rows_skipped.saturating_add(left_out);
    }

    /// Counts a window.
    pub(super) fn scanned(&mut self, rows: usize, passed: usize) {
        self.rows_scanned = self.rows_scanned.saturating_add(rows as u64);
        self.rows_passed = self.rows_passed.saturating_add(passed as u64);
    }

    /// All counts that are not 0.
    pub(super) fn metrics(&self, pages: &PageCounters) -> Metrics {
        let mut metrics = Metrics::new();
        let mut count = |name: &'static str, count: u64| {
            if count > 0 {
                metrics.add_count(name, usize::try_from(count).unwrap_or(usize::MAX));
            }
        };
        let skipped: usize = self.skipped.iter().sum();
        count(FOOTER_CACHE_HIT, u64::from(self.footer_was_known));
        count(PROCESSED_STRIDES, self.processed as u64);
        count(NUM_STRIPES, self.processed as u64);
        count(PROCESSED_UNITS, self.processed as u64);
        count(SKIPPED_STRIDES, skipped as u64);
        for (by, skipped) in PrunedBy::ALL.into_iter().zip(&self.skipped) {
            count(skipped_by(by), *skipped as u64);
        }
        count(PAGE_INDEX_ROWS, self.rows_skipped);
        count(ROWS_SCANNED, self.rows_scanned);
        count(ROWS_PASSED, self.rows_passed);
        // Only sums are kept; nothing is ordered by them.
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        count("parquet.pagesRead", of(&pages.read));
        count("parquet.pagesSkipped", of(&pages.skipped));
        count("parquet.dictionariesRead", of(&pages.dictionaries));
        for (name, counter) in [
            ("parquet.pageBytes", &pages.stored_bytes),
            ("parquet.decompressedBytes", &pages.decompressed_bytes),
        ] {
            if of(counter) > 0 {
                metrics.add_bytes(name, of(counter));
            }
        }
        metrics
    }
}

fn skipped_by(by: PrunedBy) -> &'static str {
    match by {
        PrunedBy::NullCount => "parquet.rowGroupsSkippedByNullCount",
        PrunedBy::MinMax => "parquet.rowGroupsSkippedByMinMax",
        PrunedBy::Bloom => "parquet.rowGroupsSkippedByBloomFilter",
        PrunedBy::PageIndex => "parquet.rowGroupsSkippedByPageIndex",
        PrunedBy::Condition => "parquet.rowGroupsSkippedByCondition",
        PrunedBy::Dictionary => "parquet.rowGroupsSkippedByDictionary",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let mut counts = GroupCounts::default();
        for (number, by) in PrunedBy::ALL.into_iter().enumerate() {
            // The number of a reason is its place.
            assert_eq!(by as usize, number);
            (0..=number).for_each(|_| counts.skipped(by));
        }
        let metrics = counts.metrics(&PageCounters::default());
        for (number, by) in PrunedBy::ALL.into_iter().enumerate() {
            assert_eq!(metrics.sum(skipped_by(by)), number as i64 + 1, "{by}");
        }
        let all: i64 = (1..=PrunedBy::ALL.len() as i64).sum();
        assert_eq!(metrics.sum(SKIPPED_STRIDES), all);
    }
}
