//! Data sources: one driver's stream of batches from splits.

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
/// `add_split` while active and `next` while idle are `Internal` errors (rule S6.19).
pub trait DataSource: Any + Send {
    /// Starts a split; files may be opened here.
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()>;

    /// Reads on: at most `max_rows` rows of the split are scanned, or more where a batch takes no
    /// memory, because its rows are only counted. A batch of no rows means that
    /// none of the scanned ones passed (rule S6.37).
    fn next(&mut self, max_rows: usize) -> Result<SourcePoll>;

    /// Lets go of the current split, if there is one (rule S11.33).
    fn abandon_split(&mut self);

    /// What was read so far, over all splits.
    fn progress(&self) -> SourceProgress;

    /// Everything that was counted so far, over all splits, by the names of rules S15.7 to S15.43:
    /// a cumulative snapshot.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// What its filters and columns took so far, over all splits: a cumulative snapshot.
    fn details(&self) -> ScanDetails {
        ScanDetails::default()
    }

    /// Takes over what another data source of the same scan prepared: its split and counters become
    /// this one's (rules S6.45 and following), and the other one can prepare the next split.
    /// `Internal` when this source cannot.
    fn take_over(&mut self, prepared: &mut dyn DataSource) -> Result<()> {
        let _ = prepared;
        Err(Error::internal("this data source does not take over prepared splits"))
    }

    /// Sets who is told of batches by [`DataSource::batch_done`].
    fn set_batch_listener(&mut self, listener: BatchListener) {
        drop(listener);
    }

    /// Says that a batch with rows was read: `num_rows` were scanned for it since the call before
    /// it, in `wall` time. The bytes read since the last such call are counted in any case (rule
    /// S6.49).
    fn batch_done(&mut self, num_rows: u64, wall: Duration) {
        let _ = (num_rows, wall);
    }

    /// The ability to take filters while running, if this source has it.
    fn dynamic_filters(&mut self) -> Option<&mut dyn DynamicFilters> {
        None
    }
}

/// What a scan tells of a batch that it has read; valid during the call only (rule S6.59).
#[derive(Debug, Clone, Copy)]
pub struct ScanBatchEvent<'a> {
    /// Rows scanned for the batch, whether they passed or not.
    pub num_rows: u64,
    /// Time that it took.
    pub wall: Duration,
    /// Bytes read from storage since the last event.
    pub storage_bytes: u64,
    /// The table's database, if it has a name.
    pub database: Option<&'a str>,
    /// The table.
    pub table: &'a str,
    /// The split, while there is one.
    pub split: Option<EventSplit<'a>>,
}

/// The split that a batch came from.
#[derive(Debug, Clone, Copy)]
pub struct EventSplit<'a> {
    /// The file.
    pub path: &'a str,
    /// The file's format.
    pub format: &'a str,
    /// Keys and values of the partition; `None` when the split has none.
    pub partition_keys: Option<&'a [(String, Option<String>)]>,
}

/// Who is told of batches.
pub type BatchListener = Arc<dyn Fn(&ScanBatchEvent<'_>) + Send + Sync>;

/// The ability to take filters while running.
pub trait DynamicFilters {
    /// True when output column `channel` can take a filter; columns that are computed from the
    /// split or from others cannot (rule S12.25).
    fn accepts(&self, channel: usize) -> bool {
        let _ = channel;
        true
    }

    /// The filter that the plan has put on output column `channel` itself: a late filter replaces
    /// it, so it has to be merged in (rule S12.9).
    fn static_filter(&self, channel: usize) -> Option<Arc<Filter>> {
        let _ = channel;
        None
    }

    /// Replaces the filter of output column `channel` by one that is merged with all earlier ones.
    fn add_dynamic_filter(&mut self, channel: usize, filter: Arc<Filter>) -> Result<()>;

    /// Rows that come first in this order of output column `channel` are wanted most, and nobody
    /// sees in which order rows come: what is likely to have them may be read before the rest.
    fn read_first(&mut self, channel: usize, order: SortOrder) {
        let _ = (channel, order);
    }
}

/// What one call of [`DataSource::next`] gives.
#[derive(Debug)]
pub enum SourcePoll {
    /// Rows of the scan's output type, maybe none.
    Batch(RowVector),
    /// Nothing now; ask again when the continuation is ready.
    Blocked(Continuation),
    /// The split is finished.
    SplitDone,
}

/// What the single filters and columns of a scan took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanDetails {
    /// Splits that nothing was read of: why, for people, and how many.
    pub skipped: Vec<(&'static str, u64)>,
    /// Filters in the order in which rows meet them.
    pub filters: Vec<FilterProgress>,
    /// Columns in the order of the scan.
    pub columns: Vec<ColumnProgress>,
}

/// What one filter was given and what it left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterProgress {
    /// The filter as people read it.
    pub filter: String,
    /// Rows that it tested.
    pub rows_in: u64,
    /// Rows that passed.
    pub rows_out: u64,
    /// Time that it took, with the reading of what it tests.
    pub nanos: u64,
}

/// What reading one column took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnProgress {
    /// The column's name.
    pub name: String,
    /// Values that were decoded.
    pub values_decoded: u64,
    /// Data pages that were decompressed or looked into.
    pub pages_read: u64,
    /// Data pages that were passed over.
    pub pages_skipped: u64,
}

impl ScanDetails {
    /// Adds what another driver of the same scan counted.
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

/// What a data source has read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceProgress {
    /// Rows scanned, before filters.
    pub raw_rows: u64,
    /// Bytes of the files read.
    pub raw_bytes: u64,
    /// Estimated bytes of an output row, if known.
    pub row_size: Option<u64>,
}
