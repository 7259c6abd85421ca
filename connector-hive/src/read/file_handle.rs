//! Opens files through a file system and the reader factory of their format.
//!
//! [`FileAccess`] is the connector's part of opening and is shared by all scans. [`Opener`] is the
//! caller's part: memory pool, session settings and byte counter.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dwio::config::Config;
use dwio::connector::ConnectorSplit;
use dwio::fs::{FileSystem, ReadFile};
use dwio::input::cache::{CacheAccess, CacheCounter, RegionCache};
use dwio::input::{BufferedInput, Coalescing, InputOptions};
use dwio::reader::{FileFormat, FormatRegistry, Reader, ReaderParams, SERDE_PREFIX, TABLE_PREFIX};
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, CancelFlag};
use vector::{Buffer, Error, MemoryPool, MetricUnit, Result, RuntimeMetric};

use crate::split::hive_split::HiveSplit;
use crate::table::table_handle::HiveTableHandle;

/// Access to files: file system, formats, settings and cache.
#[derive(Debug, Clone)]
pub(crate) struct FileAccess {
    /// File system that the files are on.
    pub files: Arc<dyn FileSystem>,
    /// Registered file formats.
    pub formats: FormatRegistry,
    /// Id of the connector, which is the prefix of its settings.
    pub connector_id: String,
    /// Settings of the connector.
    pub config: Config,
    /// Cache shared by all queries; `None` if each query reads for itself.
    pub cache: Option<RegionCache>,
}

/// The caller's parameters for opening a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opener<'a> {
    /// Session settings.
    pub session: &'a Config,
    /// Leaf pool to which the data read is charged.
    pub pool: &'a MemoryPool,
    /// Counts the bytes read.
    pub counter: &'a ReadCounter,
    /// Sizes and distances of coalesced reads.
    pub coalescing: Coalescing,
    /// Is set when the query is cancelled.
    pub cancel: Option<&'a CancelFlag>,
}

/// A file to open, with the properties that are known without reading it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileToOpen<'a> {
    path: &'a str,
    format: &'a FileFormat,
    origin: Option<(&'a HiveSplit, &'a HiveTableHandle)>,
}

impl<'a> FileToOpen<'a> {
    /// Returns the file at `path`, of which only the format is known.
    pub(crate) fn new(path: &'a str, format: &'a FileFormat) -> Self {
        FileToOpen { path, format, origin: None }
    }

    /// Returns the file of a split.
    pub(crate) fn of(split: &'a HiveSplit, table: &'a HiveTableHandle) -> Self {
        FileToOpen { path: &split.path, format: &split.format, origin: Some((split, table)) }
    }

    /// Compares the length of the file with its length when its splits were made. The byte ranges
    /// of the splits cover the old length, so rows of a file that has grown or shrunk since would
    /// be missed.
    ///
    /// # Errors
    /// `Io` if the length differs.
    fn check_length(self, found: u64) -> Result<()> {
        match self.origin.and_then(|(split, _)| split.file_bytes) {
            Some(expected) if expected != found => Err(Error::io(
                "the file has changed since it was listed: its length is another one",
            )
            .with("expected_bytes", expected)
            .with("found_bytes", found)),
            _ => Ok(()),
        }
    }

    fn is_cacheable(self) -> bool {
        self.origin.is_none_or(|(split, _)| split.cacheable)
    }

    /// Returns the parameters of table and split that describe how values are encoded.
    fn parameters(self) -> impl Iterator<Item = (String, &'a str)> {
        let named = |prefix: &'static str, parameters: &'a BTreeMap<String, String>| {
            parameters.iter().map(move |(name, value)| (format!("{prefix}{name}"), value.as_str()))
        };
        self.origin.into_iter().flat_map(move |(split, table)| {
            let of_table = named(TABLE_PREFIX, table.parameters());
            of_table.chain(named(SERDE_PREFIX, &split.serde_parameters))
        })
    }
}

impl FileAccess {
    /// Opens a file and reads its metadata. Returns `None` for an empty file of any format (rule
    /// S7.16).
    ///
    /// # Errors
    /// `NotFound` or `Io` of the file system, `Io` if the length differs from the one in the split,
    /// `Unsupported` for a format that is not registered, and errors of the format, such as
    /// `Corrupt` or `InvalidInput`. Each error names the file.
    pub(crate) fn open(
        &self,
        file: FileToOpen<'_>,
        opener: Opener<'_>,
    ) -> Result<Option<Box<dyn Reader>>> {
        self.open_file(file, opener).map_err(|e| in_file(e, file.path))
    }

    /// Returns the number of bytes of a split: the part of its range that lies within the file
    /// (rule S7.44).
    pub(crate) fn split_bytes(&self, split: &HiveSplit) -> u64 {
        if split.length < u64::MAX || split.file_bytes.is_some() {
            return split.size_bytes();
        }
        // A missing file counts as empty; opening it reports the error.
        let len = self.files.stat(&split.path).map_or(0, |entry| entry.len);
        len.saturating_sub(split.start)
    }

    fn open_file(
        &self,
        to_open: FileToOpen<'_>,
        opener: Opener<'_>,
    ) -> Result<Option<Box<dyn Reader>>> {
        let file = self.files.open(to_open.path)?;
        to_open.check_length(file.len())?;
        if file.is_empty() {
            return Ok(None);
        }
        let factory = self.formats.factory(to_open.format)?;
        let counter = opener.counter.clone();
        let counted = CountedFile { file, counter, is_of_values: false };
        let options = InputOptions {
            coalescing: opener.coalescing,
            cache: self.cache.as_ref().map(|cache| CacheAccess {
                cache: cache.clone(),
                keeps: to_open.is_cacheable(),
                counter: opener.counter.found().clone(),
            }),
            cancel: opener.cancel.cloned(),
        };
        let input = BufferedInput::with_options(Arc::new(counted), opener.pool.clone(), options);
        let mut options = self.format_options(to_open.format, opener.session);
        to_open.parameters().for_each(|(name, value)| options.set(name, value));
        let file_schema = to_open.origin.and_then(|(_, table)| table.data_columns().cloned());
        let params = ReaderParams { options, pool: opener.pool.clone(), file_schema };
        factory.open(input, params).map(Some)
    }

    /// Returns the settings of a format: `<connector>.<format>.<key>` of the connector, overridden
    /// by `<format>_<key>` of the session, which may also be spelled as the connector's.
    /// Underscores in keys become dashes (rule S7.7). The factory reads the keys that it supports.
    fn format_options(&self, format: &FileFormat, session: &Config) -> Config {
        let connector = format!("{}.", self.connector_id);
        let own = self.config.iter().filter_map(|(k, v)| {
            let key = k.strip_prefix(&connector)?.strip_prefix(format.name())?;
            Some((key.strip_prefix('.')?, v))
        });
        let of_session = session.iter().filter_map(|(k, v)| {
            let key = k.strip_prefix(&connector).unwrap_or(k).strip_prefix(format.name())?;
            Some((key.strip_prefix(['_', '.'])?, v))
        });
        own.chain(of_session).map(|(k, v)| (k.replace('_', "-"), v)).collect()
    }
}

/// Adds the file's name to an error that does not have it yet.
pub(crate) fn in_file(error: Error, path: &str) -> Error {
    if error.is_in("file") { error } else { error.in_named("file", path) }
}

/// Counters of all reads of one scan, separately for column data, metadata and prefetched regions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadCounter {
    values: Arc<ReadCounts>,
    metadata: Arc<ReadCounts>,
    ahead: Arc<ReadCounts>,
    found: CacheCounter,
}

/// Number of bytes read, number of reads and time spent in them.
#[derive(Debug, Default)]
pub(crate) struct ReadCounts {
    bytes: AtomicU64,
    reads: AtomicU64,
    nanos: AtomicU64,
}

impl ReadCounts {
    /// Number of bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of reads so far.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Time spent in reads.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    /// Returns bytes and number of reads as one metric; `None` before the first read.
    pub(crate) fn metric(&self) -> Option<RuntimeMetric> {
        summed(self.bytes(), self.reads())
    }

    fn add(&self, bytes: u64, reads: u64, time: Duration) {
        // Relaxed ordering suffices: the counters are only summed and synchronize nothing.
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.reads.fetch_add(reads, Ordering::Relaxed);
    }

    fn absorb(&self, other: &ReadCounts) {
        self.add(other.bytes(), other.reads(), other.time());
    }
}

impl ReadCounter {
    /// Number of bytes read so far, of column data and metadata.
    pub(crate) fn bytes(&self) -> u64 {
        self.values.bytes().saturating_add(self.metadata.bytes())
    }

    /// Counts reads of column data, and of small files as a whole.
    pub(crate) fn values(&self) -> &ReadCounts {
        &self.values
    }

    /// Counts reads of footers, page indexes and other metadata (rule S15.31).
    pub(crate) fn metadata(&self) -> &ReadCounts {
        &self.metadata
    }

    /// Counts regions that the file system started to prefetch (rule S15.35).
    pub(crate) fn ahead(&self) -> &ReadCounts {
        &self.ahead
    }

    /// Counts the bytes found in the cache instead of read.
    pub(crate) fn found(&self) -> &CacheCounter {
        &self.found
    }

    /// Number of bytes requested: those found in the cache plus those read.
    pub(crate) fn requested_bytes(&self) -> u64 {
        self.bytes().saturating_add(self.found.hits().0)
    }

    /// Adds the counts of another counter.
    pub(crate) fn absorb(&self, other: &ReadCounter) {
        self.values.absorb(&other.values);
        self.metadata.absorb(&other.metadata);
        self.ahead.absorb(&other.ahead);
        self.found.absorb(&other.found);
    }
}

/// A file whose reads are counted, as column data if `is_of_values` is set and else as metadata.
#[derive(Debug)]
struct CountedFile {
    file: Arc<dyn ReadFile>,
    counter: ReadCounter,
    is_of_values: bool,
}

impl CountedFile {
    fn counts(&self) -> &ReadCounts {
        if self.is_of_values { &self.counter.values } else { &self.counter.metadata }
    }
}

impl ReadFile for CountedFile {
    dwio::same_file_as!(file);

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = Instant::now();
        self.file.read_exact_at(offset, out)?;
        self.counts().add(out.len() as u64, 1, start.elapsed());
        Ok(())
    }

    fn prefetch(&self, offset: u64, len: u64) -> bool {
        let begins = self.file.prefetch(offset, len);
        if begins {
            self.counter.ahead.add(len, 1, Duration::ZERO);
        }
        begins
    }

    fn data_handle(&self) -> Option<Arc<dyn ReadFile>> {
        let (file, counter) = (Arc::clone(&self.file), self.counter.clone());
        Some(Arc::new(CountedFile { file, counter, is_of_values: true }))
    }

    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        let bytes = self.file.mapped(offset, len)?;
        // Counts a mapped region without time: its pages are read when they are first accessed.
        self.counts().add(len as u64, 1, Duration::ZERO);
        Some(bytes)
    }
}

/// Returns a metric of `count` values with this sum. The individual values are unknown, so minimum
/// and maximum are the mean.
pub(crate) fn summed(sum: u64, count: u64) -> Option<RuntimeMetric> {
    let sum = i64::try_from(sum).unwrap_or(i64::MAX);
    let mean = sum.checked_div(i64::try_from(count).ok()?)?;
    Some(RuntimeMetric { sum, count, min: mean, max: mean, unit: MetricUnit::Bytes })
}
