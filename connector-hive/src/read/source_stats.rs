//! Runtime metrics of a data source, with the names of Velox (rules S15.7 to S15.16, S15.31 to
//! S15.44).

use std::collections::BTreeMap;

use dwio::connector::ScanDetails;
use dwio::reader::FileFormat;
use vector::Metrics;

use crate::clock::Times;
use crate::read::file_handle::{ReadCounter, ReadCounts, summed};
use crate::read::split_reader::SplitReader;

/// Number of splits whose rows were read because no filter on the split excluded them (rule S7.40).
pub(crate) const PROCESSED_SPLITS: &str = "processedSplits";
/// Number of splits that filters excluded.
pub(crate) const SKIPPED_SPLITS: &str = "skippedSplits";
/// Number of bytes of the splits that filters excluded.
pub(crate) const SKIPPED_SPLIT_BYTES: &str = "skippedSplitBytes";
/// Number of splits with a bucket conversion.
pub(crate) const NUM_BUCKET_CONVERSION: &str = "numBucketConversion";
/// Wall time of evaluating the remaining filter.
pub(crate) const REMAINING_FILTER_WALL_NANOS: &str = "totalRemainingFilterWallNanos";
/// CPU time of evaluating the remaining filter.
pub(crate) const REMAINING_FILTER_CPU_NANOS: &str = "totalRemainingFilterCpuNanos";
/// Names of three metrics of column data: bytes read from storage, with the number of reads as
/// count (rule S15.38); time of these reads (rule S15.32); time spent waiting for them (rule
/// S15.31). Read time and wait time are equal, because reads are synchronous.
pub(crate) const READS_OF_VALUES: [&str; 3] =
    ["storageReadBytes", "storageReadWallNanos", "ioWaitWallNanos"];
/// Names of the same three metrics for metadata.
pub(crate) const READS_OF_METADATA: [&str; 3] =
    ["metadata.storageReadBytes", "metadata.storageReadWallNanos", "metadata.ioWaitWallNanos"];
/// Number of regions that the file system prefetched (rule S15.35).
pub(crate) const NUM_PREFETCH: &str = "numPrefetch";
/// Number of bytes of the regions counted by [`NUM_PREFETCH`].
pub(crate) const PREFETCH_BYTES: &str = "prefetchBytes";
/// Time spent waiting for cache blocks that another thread was loading (rule S15.33).
pub(crate) const CACHE_WAIT_WALL_NANOS: &str = "cacheWaitWallNanos";
/// Number of requested bytes found in the cache, with the number of blocks as count (rule S15.40).
pub(crate) const RAM_READ_BYTES: &str = "ramReadBytes";
/// Number of cache hits (rule S15.40).
pub(crate) const NUM_RAM_READ: &str = "numRamRead";

/// Counters of one data source over all of its splits.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceStats {
    /// Number of splits whose rows were read.
    pub processed_splits: usize,
    /// Excluded splits by reason, and the cost of each column in the finished splits.
    details: ScanDetails,
    /// Number of bytes of the excluded splits.
    skipped_split_bytes: u64,
    /// Number of splits with a bucket conversion.
    pub bucket_conversions: usize,
    /// Number of splits by format.
    formats: BTreeMap<&'static str, usize>,
    /// Metrics of the readers of finished splits.
    readers: Metrics,
}

impl SourceStats {
    /// Counts a split of a format (rule S15.16).
    pub(crate) fn count_format(&mut self, format: &FileFormat) {
        // Metrics have fixed names, so formats without a name of their own are counted together.
        let name = match format.name() {
            "parquet" => "fileFormat.parquet",
            "text" => "fileFormat.text",
            "orc" => "fileFormat.orc",
            "dwrf" => "fileFormat.dwrf",
            "nimble" => "fileFormat.nimble",
            _ => "fileFormat.other",
        };
        *self.formats.entry(name).or_default() += 1;
    }

    /// Counts a split that filters excluded (rules S15.7, S15.9).
    pub(crate) fn count_skipped(&mut self, reason: &'static str, bytes: u64) {
        let one = ScanDetails { skipped: vec![(reason, 1)], ..ScanDetails::default() };
        self.details.merge(&one);
        self.skipped_split_bytes = self.skipped_split_bytes.saturating_add(bytes);
    }

    /// Excluded splits and costs of columns, for the splits that are finished.
    pub(crate) fn details(&self) -> &ScanDetails {
        &self.details
    }

    /// Adds the metrics of a split's reader at the end of the split (rule S6.30).
    pub(crate) fn add_reader(&mut self, reader: &SplitReader) {
        self.readers.merge(&reader.metrics());
        self.details.merge(&reader.details());
    }

    /// Adds the counts of another data source that has prepared a split (rule S6.45).
    pub(crate) fn merge(&mut self, other: &SourceStats) {
        self.processed_splits += other.processed_splits;
        self.details.merge(&other.details);
        self.skipped_split_bytes =
            self.skipped_split_bytes.saturating_add(other.skipped_split_bytes);
        self.bucket_conversions += other.bucket_conversions;
        for (name, count) in &other.formats {
            *self.formats.entry(name).or_default() += count;
        }
        self.readers.merge(&other.readers);
    }

    /// Returns a snapshot of all counters that are not 0, and always the times of the remaining
    /// filter (rules S15.2 to S15.4).
    pub(crate) fn metrics(&self, remaining: Times, read: &ReadCounter) -> Metrics {
        let mut metrics = self.readers.clone();
        let skipped = self.details.skipped.iter();
        let num_skipped = skipped.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        let counts = [
            (PROCESSED_SPLITS, self.processed_splits),
            (SKIPPED_SPLITS, usize::try_from(num_skipped).unwrap_or(usize::MAX)),
            (NUM_BUCKET_CONVERSION, self.bucket_conversions),
        ];
        for (name, count) in counts.into_iter().chain(self.formats.iter().map(|(n, c)| (*n, *c))) {
            if count > 0 {
                metrics.add_count(name, count);
            }
        }
        if self.skipped_split_bytes > 0 {
            metrics.add_bytes(SKIPPED_SPLIT_BYTES, self.skipped_split_bytes);
        }
        metrics.add_time(REMAINING_FILTER_WALL_NANOS, remaining.wall);
        metrics.add_time(REMAINING_FILTER_CPU_NANOS, remaining.cpu);
        add_reads(&mut metrics, READS_OF_VALUES, read.values());
        add_reads(&mut metrics, READS_OF_METADATA, read.metadata());
        if let Some(bytes) = read.ahead().metric() {
            metrics.add_metric(PREFETCH_BYTES, &bytes);
            metrics.add_count(NUM_PREFETCH, usize::try_from(bytes.count).unwrap_or(usize::MAX));
        }
        if !read.found().wait_time().is_zero() {
            metrics.add_time(CACHE_WAIT_WALL_NANOS, read.found().wait_time());
        }
        let (found_bytes, num_found) = read.found().hits();
        if let Some(bytes) = summed(found_bytes, num_found) {
            metrics.add_metric(RAM_READ_BYTES, &bytes);
            metrics.add_count(NUM_RAM_READ, usize::try_from(num_found).unwrap_or(usize::MAX));
        }
        metrics
    }
}

/// Adds bytes and times of reads, unless there were none.
fn add_reads(metrics: &mut Metrics, [bytes, wall, wait]: [&'static str; 3], read: &ReadCounts) {
    let Some(metric) = read.metric() else { return };
    metrics.add_metric(bytes, &metric);
    // Reads of mapped files are not timed.
    if !read.time().is_zero() {
        metrics.add_time(wall, read.time());
        metrics.add_time(wait, read.time());
    }
}
