//! How a file answers: open it, learn its schema, read its rows.
//!
//! ```text
//! FormatRegistry --ReaderFactory--> Reader (one open file) --RowReader (one pass)--> batches
//! ```
//!
//! A row reader gives the columns that the file has. Constants, row numbers and missing columns
//! are put in by whoever bound the split.

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

/// The name of a file format, lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileFormat(Arc<str>);

impl FileFormat {
    /// The format called `name`.
    pub fn new(name: &str) -> Self {
        FileFormat(name.to_ascii_lowercase().into())
    }

    /// The format's name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a file is opened. Format options are opaque here: the factory reads the keys it owns.
#[derive(Debug, Clone)]
pub struct ReaderParams {
    /// Settings of the format.
    pub options: Config,
    /// The leaf pool that pays for metadata and pages.
    pub pool: MemoryPool,
    /// The columns that the table says its files have, for formats whose files do not say it
    /// (rule S7.8).
    pub file_schema: Option<Arc<RowType>>,
}

/// Makes readers of one format.
pub trait ReaderFactory: Send + Sync + fmt::Debug {
    /// The format.
    fn format(&self) -> FileFormat;

    /// Opens a file and reads its metadata.
    fn open(&self, input: BufferedInput, params: ReaderParams) -> Result<Box<dyn Reader>>;

    /// True when files say themselves which columns and how many rows they have.
    fn describes_itself(&self) -> bool {
        true
    }
}

/// One open file.
pub trait Reader: Send {
    /// The top-level columns of the file, in file order.
    fn row_type(&self) -> &Arc<RowType>;

    /// Rows in the file, if its metadata tells.
    fn num_rows(&self) -> Option<u64>;

    /// The field ids of the top-level columns, where the format has them.
    fn field_ids(&self) -> Vec<Option<i32>> {
        vec![None; self.row_type().len()]
    }

    /// The field ids of all columns and of what is below them, where the format has them.
    fn field_id_tree(&self) -> Vec<FieldIds> {
        let ids = self.field_ids().into_iter();
        ids.map(|id| FieldIds { id, children: Vec::new() }).collect()
    }

    /// What the file says of its top-level columns beside their types; empty when it says nothing.
    fn stored_columns(&self) -> Vec<StoredColumn> {
        Vec::new()
    }

    /// What is known of all values of a top-level column of the file, if anything is (rule S7.42).
    fn column_statistics(&self, ordinal: usize) -> Option<ColumnStatistics> {
        let _ = ordinal;
        None
    }

    /// True when row readers obey the filters on map keys (rules S3.13, S3.19). Specs for readers
    /// that do not have none; whoever asked drops the entries.
    fn filters_map_keys(&self) -> bool {
        false
    }

    /// What was read of the file to open it, for whoever expects that it is opened again: as long as
    /// it is held, that takes no other look at the file. `None` when the format has no such thing.
    fn metadata(&self) -> Option<FileMetadata> {
        None
    }

    /// Starts a pass over the file.
    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>>;
}

/// Holds what a format knows of a file; see [`Reader::metadata`].
#[derive(Clone)]
pub struct FileMetadata(
    #[expect(dead_code, reason = "held, not looked at")] Arc<dyn Any + Send + Sync>,
);

impl FileMetadata {
    /// Holds `metadata`.
    pub fn new(metadata: Arc<impl Any + Send + Sync>) -> Self {
        FileMetadata(metadata)
    }
}

impl fmt::Debug for FileMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileMetadata")
    }
}

/// The id of a column or field, and of what is below it: a struct's fields, a list's element, a
/// map's key and value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldIds {
    /// The id, if there is one.
    pub id: Option<i32>,
    /// The ids below; none when they are not known.
    pub children: Vec<FieldIds>,
}

/// What one pass over a file reads.
#[derive(Debug, Clone)]
pub struct RowReaderParams {
    /// What the plan wants.
    pub spec: Arc<ScanSpec>,
    /// Where this file has it, by the spec's order.
    pub binding: Arc<SplitBinding>,
    /// The byte range of the file that this pass owns: units whose start lies inside belong to it.
    pub range: Range<u64>,
    /// A condition that whoever asks tests on the rows by himself; units where metadata proves that
    /// it never holds need not be read (rule S4.37). It names columns as the spec does.
    pub metadata_filter: Option<Arc<MetadataFilter>>,
}

impl RowReaderParams {
    /// A pass without a condition on several columns.
    pub fn new(spec: Arc<ScanSpec>, binding: Arc<SplitBinding>, range: Range<u64>) -> Self {
        RowReaderParams { spec, binding, range, metadata_filter: None }
    }
}

/// One pass over a file.
pub trait RowReader: Send {
    /// Reads the next window of at most `request.max_rows` rows.
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome>;

    /// Estimated bytes of an output row, if known.
    fn estimated_row_size(&self) -> Option<u64>;

    /// What was counted in this pass so far, such as `skippedStrides` (rules S15.10, S15.17).
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// What reading single columns took in this pass so far; columns that were not read may be
    /// missing.
    fn column_counts(&self) -> Vec<ColumnCounts> {
        Vec::new()
    }
}

/// What reading one column took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnCounts {
    /// The column's position in the spec.
    pub column: usize,
    /// Rows that its filters tested.
    pub rows_in: u64,
    /// Rows that passed them.
    pub rows_out: u64,
    /// Values that were decoded.
    pub values_decoded: u64,
    /// Data pages that were decompressed or looked into,
    pub pages_read: u64,
    /// and those that were passed over.
    pub pages_skipped: u64,
}

/// One call of [`RowReader::next`].
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// Rows to scan at most; at least one.
    pub max_rows: usize,
    /// Late filters to obey, and counters to add to.
    pub adaptation: &'a mut ScanAdaptation,
    /// When columns without a filter are read.
    pub payload: Payload,
}

impl<'a> ReadRequest<'a> {
    /// A window whose columns are all read with it.
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
    /// When somebody touches them: they come as lazy vectors, if the format can. They can be loaded
    /// until the next window is asked for (rule S1.37); what is not loaded is not read.
    Lazy,
}

/// What one call of [`RowReader::next`] gives.
#[derive(Debug)]
pub enum ReadOutcome {
    /// A window was scanned.
    Rows(ReadRows),
    /// The pass is over.
    End,
}

/// A scanned window.
#[derive(Debug)]
pub struct ReadRows {
    /// The file row number of the window's first row.
    pub first_row: u64,
    /// Rows scanned, whether they passed or not; at least one.
    pub scanned: usize,
    /// The rows of the window that passed all filters, counted from `first_row`.
    pub selected: RowSet,
    /// The passing rows: one child for each spec column that is bound to the file and has a
    /// channel, in the spec's order, of the type the spec asks for; some may be lazy.
    pub batch: RowVector,
}

/// Reader factories by format.
#[derive(Debug, Clone, Default)]
pub struct FormatRegistry {
    factories: Vec<Arc<dyn ReaderFactory>>,
}

impl FormatRegistry {
    /// No formats.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a factory; it replaces an earlier one of the same format.
    pub fn register(&mut self, factory: Arc<dyn ReaderFactory>) {
        self.factories.retain(|f| f.format() != factory.format());
        self.factories.push(factory);
    }

    /// The factory of a format; `Unsupported` when there is none.
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
