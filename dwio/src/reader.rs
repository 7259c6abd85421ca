//! Readers of file formats: open a file, obtain its schema, read its rows.
//!
//! ```text
//! FormatRegistry --ReaderFactory--> Reader (one open file) --RowReader (one pass)--> batches
//! ```
//!
//! A row reader returns the columns that are in the file. Constants, row numbers and missing
//! columns are added by the owner of the split binding.

use std::any::Any;
use std::fmt;
use std::ops::Range;

use vector::sync::Arc;
use vector::{Error, MemoryPool, Metrics, Result, RowSet, RowType, RowVector};

use crate::adaptation::ScanAdaptation;
use crate::config::Config;
use crate::input::BufferedInput;
use crate::metadata_filter::MetadataFilter;
use crate::scan_spec::{ScanSpec, SplitBinding};
use crate::stats::ColumnStatistics;
use crate::stored::StoredColumn;

/// Name of a file format, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileFormat(Arc<str>);

impl FileFormat {
    /// Returns the format called `name`.
    pub fn new(name: &str) -> Self {
        FileFormat(name.to_ascii_lowercase().into())
    }

    /// Returns the name of the format.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Prefix of the serde parameters of a file in [`ReaderParams::options`].
pub const SERDE_PREFIX: &str = "serde.";

/// Prefix of the parameters of a table in [`ReaderParams::options`].
pub const TABLE_PREFIX: &str = "table.";

/// Parameters for opening a file. Format options are opaque here: the factory reads the keys that
/// belong to it.
#[derive(Debug, Clone)]
pub struct ReaderParams {
    /// Settings of the format, and the parameters of file and table with their prefixes
    /// [`SERDE_PREFIX`] and [`TABLE_PREFIX`].
    pub options: Config,
    /// Leaf memory pool that accounts for metadata and pages.
    pub pool: MemoryPool,
    /// Data columns that the table declares for its files, used by formats whose files do not
    /// contain a schema (rule S7.8).
    pub file_schema: Option<Arc<RowType>>,
}

/// Creates readers of one format.
pub trait ReaderFactory: Send + Sync + fmt::Debug {
    /// Returns the format of the readers.
    fn format(&self) -> FileFormat;

    /// Opens a file and reads its metadata.
    ///
    /// # Errors
    /// `Corrupt` if the metadata is invalid, `Unsupported` if the file uses an unsupported feature,
    /// or an error of reading the file.
    fn open(&self, input: BufferedInput, params: ReaderParams) -> Result<Box<dyn Reader>>;

    /// Returns true if files of this format contain their columns and number of rows.
    fn has_embedded_schema(&self) -> bool {
        true
    }
}

/// One open file.
pub trait Reader: Send {
    /// Returns the top-level columns of the file, in file order.
    fn row_type(&self) -> &Arc<RowType>;

    /// Returns the number of rows in the file; `None` if its metadata does not contain it.
    fn num_rows(&self) -> Option<u64>;

    /// Returns the field id of each top-level column; `None` for a column without one.
    fn field_ids(&self) -> Vec<Option<i32>> {
        vec![None; self.row_type().len()]
    }

    /// Returns the field ids of all columns and of the fields nested in them.
    fn field_id_tree(&self) -> Vec<FieldIds> {
        let ids = self.field_ids().into_iter();
        ids.map(|id| FieldIds { id, children: Vec::new() }).collect()
    }

    /// Returns the properties of the top-level columns that their types do not express; empty if
    /// the file has none.
    fn stored_columns(&self) -> Vec<StoredColumn> {
        Vec::new()
    }

    /// Returns statistics over all values of top-level column `ordinal` in the whole file; `None`
    /// if there are none. A bound is present only if every row group with non-null values supplies
    /// it, a count only if every row group does (rule S7.42).
    fn column_statistics(&self, ordinal: usize) -> Option<ColumnStatistics> {
        let _ = ordinal;
        None
    }

    /// Returns true if row readers apply filters on map keys, which select the entries of a map and
    /// reject null keys (rules S3.13, S3.19). Specs for other readers have no such filters, and the
    /// caller drops the entries.
    fn filters_map_keys(&self) -> bool {
        false
    }

    /// Returns the metadata that was read to open the file, for a caller that expects the file to
    /// be opened again: while the caller holds it, a later open does not read the file's metadata
    /// again. `None` if the format does not keep metadata.
    fn metadata(&self) -> Option<FileMetadata> {
        None
    }

    /// Starts a pass through the file.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` if the metadata or the requested columns cannot be used, or an
    /// error of reading the file.
    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>>;
}

/// Keeps the metadata of a file alive; see [`Reader::metadata`].
#[derive(Clone)]
pub struct FileMetadata(
    #[expect(dead_code, reason = "held, not looked at")] Arc<dyn Any + Send + Sync>,
);

impl FileMetadata {
    /// Returns an owner of `metadata`.
    pub fn new(metadata: Arc<impl Any + Send + Sync>) -> Self {
        FileMetadata(metadata)
    }
}

impl fmt::Debug for FileMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileMetadata")
    }
}

/// Field id of a column or field, and those of the fields nested in it: the fields of a struct, the
/// element of a list, the key and value of a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldIds {
    /// Field id; `None` if there is none.
    pub id: Option<i32>,
    /// Field ids of the nested fields; empty if they are not known.
    pub children: Vec<FieldIds>,
}

/// Parameters of one pass through a file.
#[derive(Debug, Clone)]
pub struct RowReaderParams {
    /// Columns and filters that the plan requests.
    pub spec: Arc<ScanSpec>,
    /// Location of each column of the spec in this file, in the order of the spec.
    pub binding: Arc<SplitBinding>,
    /// Byte range of the file that this pass owns: it reads the units whose start lies inside the
    /// range.
    pub range: Range<u64>,
    /// Condition that the caller evaluates on the rows itself. Units for which metadata proves that
    /// the condition never holds need not be read, because the metadata filter only skips units and
    /// never replaces the evaluation of rows (rule S4.37). It names columns as the spec does.
    pub metadata_filter: Option<Arc<MetadataFilter>>,
}

impl RowReaderParams {
    /// Returns parameters without a metadata filter.
    pub fn new(spec: Arc<ScanSpec>, binding: Arc<SplitBinding>, range: Range<u64>) -> Self {
        RowReaderParams { spec, binding, range, metadata_filter: None }
    }
}

/// One pass through a file.
pub trait RowReader: Send {
    /// Reads the next window of at most `request.max_rows` rows.
    ///
    /// # Errors
    /// `Corrupt` if the data is invalid, `Unsupported` if it uses an unsupported feature, or an
    /// error of reading the file or reserving memory.
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome>;

    /// Returns the estimated size of an output row in bytes; `None` if unknown.
    fn estimated_row_size(&self) -> Option<u64>;

    /// Returns the counters of this pass so far, such as `skippedStrides` and `processedUnits`
    /// (rules S15.10, S15.17).
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Returns the counters of single columns in this pass so far. Columns that were not read may
    /// be missing.
    fn column_counts(&self) -> Vec<ColumnCounts> {
        Vec::new()
    }
}

/// Counters of reading one column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnCounts {
    /// Position of the column in the spec.
    pub column: usize,
    /// Number of rows that the filters of the column tested.
    pub rows_in: u64,
    /// Number of rows that passed the filters.
    pub rows_out: u64,
    /// Number of values that were decoded.
    pub values_decoded: u64,
    /// Number of data pages that were decompressed or inspected.
    pub pages_read: u64,
    /// Number of data pages that were skipped.
    pub pages_skipped: u64,
}

/// Arguments of one call of [`RowReader::next`].
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// Maximum number of rows to scan; at least one.
    pub max_rows: usize,
    /// Dynamic filters to apply, and filter costs to update.
    pub adaptation: &'a mut ScanAdaptation,
    /// When columns without a filter are read.
    pub payload: Payload,
}

impl<'a> ReadRequest<'a> {
    /// Returns a request whose columns are all read with the window.
    pub fn new(max_rows: usize, adaptation: &'a mut ScanAdaptation) -> Self {
        ReadRequest { max_rows, adaptation, payload: Payload::Eager }
    }
}

/// When the columns that do not filter are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payload {
    /// With the window.
    #[default]
    Eager,
    /// On first access: the columns are lazy vectors if the format supports them. A lazy vector can
    /// be loaded only until the next window is requested (rule S1.37); a vector that is not loaded
    /// is not read.
    Lazy,
}

/// Result of one call of [`RowReader::next`].
#[derive(Debug)]
pub enum ReadOutcome {
    /// A window was scanned.
    Rows(ReadRows),
    /// The pass has ended.
    End,
}

/// A scanned window.
#[derive(Debug)]
pub struct ReadRows {
    /// Row number in the file of the first row of the window.
    pub first_row: u64,
    /// Number of rows scanned, including rows that did not pass; at least one.
    pub scanned: usize,
    /// Rows of the window that passed all filters, relative to `first_row`.
    pub selected: RowSet,
    /// Rows that passed. One child for each column of the spec that is bound to the file and has a
    /// channel, in the order of the spec and of the type that the spec requests; some children may
    /// be lazy.
    pub batch: RowVector,
}

/// Reader factories by format.
#[derive(Debug, Clone, Default)]
pub struct FormatRegistry {
    factories: Vec<Arc<dyn ReaderFactory>>,
}

impl FormatRegistry {
    /// Returns a registry without formats.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a factory, replacing an earlier one of the same format.
    pub fn register(&mut self, factory: Arc<dyn ReaderFactory>) {
        self.factories.retain(|f| f.format() != factory.format());
        self.factories.push(factory);
    }

    /// Returns the factory of a format.
    ///
    /// # Errors
    /// `Unsupported` if no factory is registered for it.
    pub fn factory(&self, format: &FileFormat) -> Result<&Arc<dyn ReaderFactory>> {
        self.factories.iter().find(|f| f.format() == *format).ok_or_else(|| {
            let known: Vec<String> =
                self.factories.iter().map(|f| f.format().to_string()).collect();
            Error::unsupported("no reader for this file format")
                .with("format", format)
                .with("known", known.join(" "))
        })
    }
}
