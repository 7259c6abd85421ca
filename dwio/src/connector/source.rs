//! Data sources: the stream of batches that one driver reads from its splits.

use std::any::Any;
use std::collections::HashMap;
use std::time::Duration;

use vector::sync::{Arc, Continuation};
use vector::{Error, Metrics, Result, RowVector, SortOrder};

use crate::connector::ConnectorSplit;
use crate::filter::Filter;

/// Reads splits one after the other.
///
/// ```text
/// Idle --add_split--> Active --next() = SplitDone--> Idle
/// ```
///
/// It is an `Internal` error to call `add_split` while a split is active, and to call `next` while
/// none is (rule S6.19).
pub trait DataSource: Any + Send {
    /// Starts a split; may open files.
    ///
    /// # Errors
    /// `Internal` while a split is active; `NotFound`, `Io`, `Corrupt` or `Unsupported` if the
    /// split cannot be opened.
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()>;

    /// Scans at most `max_rows` further rows of the split, or more if a batch needs no memory
    /// because its rows are only counted. A batch without rows means that no scanned row passed the
    /// filters (rule S6.37).
    ///
    /// # Errors
    /// `Internal` if no split is active, or an error of reading the split or evaluating its
    /// filters.
    fn next(&mut self, max_rows: usize) -> Result<SourcePoll>;

    /// Releases the current split, if there is one. Called when the output of a split is dropped,
    /// so that the next `add_split` is accepted (rule S11.33).
    fn abandon_split(&mut self);

    /// Returns what has been read so far, over all splits.
    fn progress(&self) -> SourceProgress;

    /// Returns all counters so far, over all splits, as a cumulative snapshot. Their names are
    /// those of rules S15.7 to S15.43.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Returns the counters of single filters and columns so far, over all splits, as a cumulative
    /// snapshot.
    fn details(&self) -> ScanDetails {
        ScanDetails::default()
    }

    /// Takes over the split and the counters that another data source of the same scan prepared
    /// (rule S6.45 and following). The other data source can then prepare the next split.
    ///
    /// # Errors
    /// `Internal` if this data source does not support it.
    fn take_over(&mut self, prepared: &mut dyn DataSource) -> Result<()> {
        let _ = prepared;
        Err(Error::internal("this data source does not take over prepared splits"))
    }

    /// Sets the listener that [`DataSource::batch_done`] calls.
    fn set_batch_listener(&mut self, listener: BatchListener) {
        drop(listener);
    }

    /// Reports that a batch with rows was read: `num_rows` rows were scanned for it since the
    /// previous call, in `wall` time. The baseline for the bytes read is updated by every call,
    /// even if no listener is set (rule S6.49).
    fn batch_done(&mut self, num_rows: u64, wall: Duration) {
        let _ = (num_rows, wall);
    }

    /// Returns the interface that accepts filters during the scan; `None` if this data source does
    /// not support it.
    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        None
    }
}

/// Event of a scan that has read a batch. It borrows from the data source and is valid only during
/// the call of the listener (rule S6.59).
#[derive(Debug, Clone, Copy)]
pub struct ScanBatchEvent<'a> {
    /// Number of rows scanned for the batch, including rows that did not pass.
    pub num_rows: u64,
    /// Time spent on the batch.
    pub wall: Duration,
    /// Number of bytes read from storage since the previous event.
    pub storage_bytes: u64,
    /// Database of the table, if it has a name.
    pub database: Option<&'a str>,
    /// Name of the table.
    pub table: &'a str,
    /// Split of the batch; `None` if there is no current split.
    pub split: Option<EventSplit<'a>>,
}

/// Split from which a batch was read.
#[derive(Debug, Clone, Copy)]
pub struct EventSplit<'a> {
    /// Path of the file.
    pub path: &'a str,
    /// Format of the file.
    pub format: &'a str,
    /// Keys and values of the partition; `None` if the split has none.
    pub partition_keys: Option<&'a [(String, Option<String>)]>,
}

/// Callback for scanned batches.
pub type BatchListener = Arc<dyn Fn(&ScanBatchEvent<'_>) + Send + Sync>;

/// Interface that accepts filters during a scan.
pub trait DynamicFilters {
    /// Returns true if output column `channel` accepts a filter. Columns computed from the split or
    /// from other columns, such as row numbers, do not (rule S12.25).
    fn accepts(&self, channel: usize) -> bool {
        let _ = channel;
        true
    }

    /// Returns the static filter that the plan has on output column `channel` itself. A dynamic
    /// filter replaces it, so the caller merges the two (rule S12.9).
    fn static_filter(&self, channel: usize) -> Option<Arc<Filter>> {
        let _ = channel;
        None
    }

    /// Replaces the filter of output column `channel` by one into which all earlier filters are
    /// merged.
    ///
    /// # Errors
    /// `Internal` if the column does not accept filters.
    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()>;

    /// Requests that the rows that sort first by `order` of output column `channel` are read early:
    /// the parts of the data that probably contain them may be read before the rest. The caller
    /// does not depend on the order of the rows.
    fn read_first(&mut self, channel: usize, order: SortOrder) {
        let _ = (channel, order);
    }
}

/// Result of one call of [`DataSource::next`].
#[derive(Debug)]
pub enum SourcePoll {
    /// Rows of the output type of the scan, possibly none.
    Batch(RowVector),
    /// No batch is available; call again when the continuation is ready.
    Blocked(Continuation),
    /// The split is finished.
    SplitDone,
}

/// Counters of the single filters and columns of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanDetails {
    /// Splits of which no data was read: the reason, for display, and the number of splits.
    pub skipped: Vec<(&'static str, u64)>,
    /// Filters in the order in which they are evaluated.
    pub filters: Vec<FilterProgress>,
    /// Columns in the order of the scan.
    pub columns: Vec<ColumnProgress>,
}

/// Input and output of one filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterProgress {
    /// Text of the filter, for display.
    pub filter: String,
    /// Number of rows that it tested.
    pub rows_in: u64,
    /// Number of rows that passed.
    pub rows_out: u64,
    /// Nanoseconds spent on it, including the reading of the tested values.
    pub nanos: u64,
}

/// Counters of reading one column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnProgress {
    /// Name of the column.
    pub name: String,
    /// Number of values that were decoded.
    pub values_decoded: u64,
    /// Number of data pages that were decompressed or inspected.
    pub pages_read: u64,
    /// Number of data pages that were skipped.
    pub pages_skipped: u64,
}

impl ScanDetails {
    /// Adds the counters of another driver of the same scan.
    pub fn merge(&mut self, other: &ScanDetails) {
        for (reason, count) in &other.skipped {
            match self.skipped.iter_mut().find(|(known, _)| known == reason) {
                Some((_, sum)) => *sum += count,
                None => self.skipped.push((reason, *count)),
            }
        }
        for filter in &other.filters {
            match self.filters.iter_mut().find(|known| known.filter == filter.filter) {
                Some(sum) => {
                    sum.rows_in += filter.rows_in;
                    sum.rows_out += filter.rows_out;
                    sum.nanos += filter.nanos;
                }
                None => self.filters.push(filter.clone()),
            }
        }
        let mut known: HashMap<String, usize> = HashMap::new();
        for (i, column) in self.columns.iter().enumerate() {
            known.entry(column.name.clone()).or_insert(i);
        }
        for column in &other.columns {
            match known.get(&column.name).and_then(|i| self.columns.get_mut(*i)) {
                Some(sum) => {
                    sum.values_decoded += column.values_decoded;
                    sum.pages_read += column.pages_read;
                    sum.pages_skipped += column.pages_skipped;
                }
                None => {
                    known.insert(column.name.clone(), self.columns.len());
                    self.columns.push(column.clone());
                }
            }
        }
    }
}

/// Amount of data that a data source has read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceProgress {
    /// Number of rows scanned, before filters.
    pub raw_rows: u64,
    /// Number of bytes of the files read, including those found in a cache.
    pub raw_bytes: u64,
    /// Estimated size of an output row in bytes; `None` if unknown.
    pub row_size: Option<u64>,
}
