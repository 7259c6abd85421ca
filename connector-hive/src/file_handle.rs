//! Opening files through a file system and the factory of their format.
//!
//! [`FileAccess`] is the connector's part of opening, the same for all scans; pool, session and
//! byte counter belong to the one who opens.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dwio::config::Config;
use dwio::connector::ConnectorSplit;
use dwio::fs::{FileSystem, ReadFile};
use dwio::input::cache::{CacheAccess, CacheCounter, RegionCache};
use dwio::input::{BufferedInput, Coalescing, InputOptions};
use dwio::reader::{FileFormat, FormatRegistry, Reader, ReaderParams};
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, CancelFlag};
use vector::{Buffer, Error, MemoryPool, Result, RuntimeMetric};

use crate::source_stats::summed;
use crate::split::HiveSplit;
use crate::table_handle::HiveTableHandle;
use crate::text::dialect::{SERDE_PREFIX, TABLE_PREFIX};

/// Where files are and how they are read.
#[derive(Debug, Clone)]
pub struct FileAccess {
    /// The file system.
    pub files: Arc<dyn FileSystem>,
    /// The formats.
    pub formats: FormatRegistry,
    /// The connector's id, the prefix of its settings.
    pub connector_id: String,
    /// The connector's settings.
    pub config: Config,
    /// What queries have read, for others; without one each reads for itself.
    pub cache: Option<RegionCache>,
}

/// Who opens a file.
#[derive(Debug, Clone, Copy)]
pub struct Opener<'a> {
    /// Session settings.
    pub session: &'a Config,
    /// The leaf pool that pays for what is read.
    pub pool: &'a MemoryPool,
    /// Counts the bytes read.
    pub counter: &'a ReadCounter,
    /// What is read at once.
    pub coalescing: Coalescing,
    /// Goes up when nobody wants to read any more.
    pub cancel: Option<&'a CancelFlag>,
}

/// A file to open, with what is known of it without looking into it.
#[derive(Debug, Clone, Copy)]
pub struct FileToOpen<'a> {
    path: &'a str,
    format: &'a FileFormat,
    origin: Option<(&'a HiveSplit, &'a HiveTableHandle)>,
}

impl<'a> FileToOpen<'a> {
    /// The file at `path`, of which nothing is known but its format.
    pub fn new(path: &'a str, format: &'a FileFormat) -> Self {
        FileToOpen { path, format, origin: None }
    }

    /// The file of a split.
    pub fn of(split: &'a HiveSplit, table: &'a HiveTableHandle) -> Self {
        FileToOpen { path: &split.path, format: &split.format, origin: Some((split, table)) }
    }

    /// Compares the file with what it was when its splits were made. The ranges of splits cover the
    /// bytes that it had: rows of a file that has grown or shrunk since would be left out.
    ///
    /// # Errors
    ///
    /// `Io` when the length is another one.
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

    /// What table and split say about how values are written.
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
    /// Opens a file and reads its metadata; `None` for a file of no bytes, whatever its format
    /// (rule S7.16). Errors name the file.
    pub fn open(
        &self,
        file: FileToOpen<'_>,
        opener: Opener<'_>,
    ) -> Result<Option<Box<dyn Reader>>> {
        self.open_file(file, opener).map_err(|e| in_file(e, file.path))
    }

    /// Bytes of a split: of its range, as far as the file reaches (rule S7.44).
    pub fn split_bytes(&self, split: &HiveSplit) -> u64 {
        if split.length < u64::MAX || split.file_bytes.is_some() {
            return split.size_bytes();
        }
        // A file that is not there has no bytes; nobody has looked for it yet.
        let len = self.files.stat(&split.path).map_or(0, |entry| entry.len);
        len.saturating_sub(split.start)
    }

    fn open_file(
        &self,
        wanted: FileToOpen<'_>,
        opener: Opener<'_>,
    ) -> Result<Option<Box<dyn Reader>>> {
        let file = self.files.open(wanted.path)?;
        wanted.check_length(file.len())?;
        if file.is_empty() {
            return Ok(None);
        }
        let factory = self.formats.factory(wanted.format)?;
        let counter = opener.counter.clone();
        let counted = CountedFile { file, counter, is_of_values: false };
        let options = InputOptions {
            coalescing: opener.coalescing,
            cache: self.cache.as_ref().map(|cache| CacheAccess {
                cache: cache.clone(),
                keeps: wanted.is_cacheable(),
                counter: opener.counter.found().clone(),
            }),
            cancel: opener.cancel.cloned(),
        };
        let input = BufferedInput::with_options(Arc::new(counted), opener.pool.clone(), options);
        let mut options = self.format_options(wanted.format, opener.session);
        wanted.parameters().for_each(|(name, value)| options.set(name, value));
        let file_schema = wanted.origin.and_then(|(_, table)| table.data_columns().cloned());
        let params = ReaderParams { options, pool: opener.pool.clone(), file_schema };
        factory.open(input, params).map(Some)
    }

    /// The settings of a format: `<connector>.<format>.<key>` of the connector, overridden by
    /// `<format>_<key>` of the session, which may also be spelled as the connector's; keys have
    /// dashes (rule S7.7). The factory reads the keys it owns.
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

/// Says in which file an error happened, unless it says so already.
pub(crate) fn in_file(error: Error, path: &str) -> Error {
    if error.is_in("file") { error } else { error.in_named("file", path) }
}

/// What was read through all files of one scan: values, what files say of themselves, and what was
/// begun ahead.
#[derive(Debug, Clone, Default)]
pub struct ReadCounter {
    values: Arc<ReadCounts>,
    metadata: Arc<ReadCounts>,
    ahead: Arc<ReadCounts>,
    found: CacheCounter,
}

/// Bytes, by how many reads, and how long these took.
#[derive(Debug, Default)]
pub struct ReadCounts {
    bytes: AtomicU64,
    reads: AtomicU64,
    nanos: AtomicU64,
}

impl ReadCounts {
    /// The bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The reads so far.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// The time in reads.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    /// Bytes and number of reads as one metric; `None` before the first read.
    pub fn metric(&self) -> Option<RuntimeMetric> {
        summed(self.bytes(), self.reads())
    }

    fn add(&self, bytes: u64, reads: u64, time: Duration) {
        // Only sums are kept, nothing is ordered by them.
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
    /// The bytes so far.
    pub fn bytes(&self) -> u64 {
        self.values.bytes().saturating_add(self.metadata.bytes())
    }

    /// Reads of values, and of small files as a whole.
    pub fn values(&self) -> &ReadCounts {
        &self.values
    }

    /// Reads of footers, page indexes and the like (rule S15.31).
    pub fn metadata(&self) -> &ReadCounts {
        &self.metadata
    }

    /// Regions that the file system began to read before they were wanted (rule S15.35).
    pub fn ahead(&self) -> &ReadCounts {
        &self.ahead
    }

    /// What was found in memory instead.
    pub fn found(&self) -> &CacheCounter {
        &self.found
    }

    /// Bytes that were wanted: those found in memory, and those read.
    pub fn wanted_bytes(&self) -> u64 {
        self.bytes().saturating_add(self.found.hits().0)
    }

    /// Adds what another counter has counted.
    pub fn absorb(&self, other: &ReadCounter) {
        self.values.absorb(&other.values);
        self.metadata.absorb(&other.metadata);
        self.ahead.absorb(&other.ahead);
        self.found.absorb(&other.found);
    }
}

/// A file whose reads are counted: as those of metadata, until it is asked for values.
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

    fn will_need(&self, offset: u64, len: u64) -> bool {
        let begins = self.file.will_need(offset, len);
        if begins {
            self.counter.ahead.add(len, 1, Duration::ZERO);
        }
        begins
    }

    fn of_values(&self) -> Option<Arc<dyn ReadFile>> {
        let (file, counter) = (Arc::clone(&self.file), self.counter.clone());
        Some(Arc::new(CountedFile { file, counter, is_of_values: true }))
    }

    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        let bytes = self.file.mapped(offset, len)?;
        // The pages of a map are read when they are touched.
        self.counts().add(len as u64, 1, Duration::ZERO);
        Some(bytes)
    }
}
