//! Counters of a scan, under the names that are displayed: those of row groups (rule S15.10) and
//! those of the format, which have its prefix (rule S15.18).

use vector::Metrics;
use vector::sync::atomic::{AtomicU64, Ordering};

use crate::page::PageCounters;
use crate::page_index::RowRanges;
use crate::prune::PrunedBy;

/// Number of files with a footer that came from the cache of footers (rule S15.12).
const FOOTER_CACHE_HIT: &str = "footerCacheHit";
/// Number of row groups that were read.
pub(super) const PROCESSED_STRIDES: &str = "processedStrides";
/// Number of row groups that were read, under the name of the unit in ORC (rule S15.13).
const NUM_STRIPES: &str = "numStripes";
/// Number of row groups that were read, under the name of the unit that is loaded (rule S15.17).
const PROCESSED_UNITS: &str = "processedUnits";
/// Number of row groups that metadata excluded.
pub(super) const SKIPPED_STRIDES: &str = "skippedStrides";
/// Number of rows that page indexes excluded from row groups that were read.
pub(super) const PAGE_INDEX_ROWS: &str = "parquet.rowsSkippedByPageIndex";
/// Number of rows that were tested or returned.
pub(super) const ROWS_SCANNED: &str = "parquet.rowsScanned";
/// Number of rows that passed the filters.
pub(super) const ROWS_PASSED: &str = "parquet.rowsPassed";

/// Number of values that were decoded, over all columns.
pub(super) const VALUES_DECODED: &str = "parquet.valuesDecoded";
/// Number of bytes in gaps that were read because nearby regions were merged (rule S15.41).
pub(super) const READ_GAP_BYTES: &str = "readGapBytes";
/// Number of bytes read beyond the requested regions, which are only those in gaps (rule S15.37).
pub(super) const OVERREAD_BYTES: &str = "overreadBytes";

/// Counts of row groups and rows of a scan.
#[derive(Debug, Default)]
pub(super) struct GroupCounts {
    footer_was_known: bool,
    processed: usize,
    /// Number of row groups that were excluded, in the order of [`PrunedBy::ALL`].
    skipped: [usize; PrunedBy::ALL.len()],
    rows_skipped: u64,
    rows_scanned: u64,
    rows_passed: u64,
}

impl GroupCounts {
    /// Creates the counts of a file; `footer_was_known` is true when its footer came from the
    /// cache.
    pub(super) fn of_file(footer_was_known: bool) -> Self {
        GroupCounts { footer_was_known, ..Self::default() }
    }

    /// Counts a row group that is excluded.
    pub(super) fn skipped(&mut self, by: PrunedBy) {
        for (counted, count) in PrunedBy::ALL.into_iter().zip(&mut self.skipped) {
            *count += usize::from(counted == by);
        }
    }

    /// Counts a row group of which the rows `wanted` are read.
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

    /// Returns all counts that are not 0.
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
        // The counters are only summed and order no other access.
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
            // The discriminant of a reason is its index.
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
