//! The format's face: a factory that opens files, and an open file.

use dwio::fs::FileVersion;
use dwio::input::BufferedInput;
use dwio::reader::{
    FieldIds, FileFormat, FileMetadata, Reader, ReaderFactory, ReaderParams, RowReader,
    RowReaderParams,
};
use dwio::stats::ColumnStatistics;
use dwio::stored::{Annotation, StoredColumn};
use vector::sync::Arc;
use vector::{MemoryPool, Result, ResultExt, RowType, TimeUnit};

use crate::decrypt::KeyProvider;
use crate::footer::{Footer, SPECULATIVE_BYTES, read_footer};
use crate::page::PageOptions;
use crate::row_reader::{OpenFile, ParquetRowReader};
use crate::schema::{Column, ColumnKind, Schema};
use crate::shared_footers::SharedFooters;
use crate::statistics::{TrustOptions, file_statistics};
use crate::thrift::structs::{ConvertedType, LogicalType};

/// The name that the format is registered by.
pub const FORMAT_NAME: &str = "parquet";

/// The largest page that is read, in bytes after decompression: `parquet_max_page_bytes` among the
/// settings of a query.
const MAX_PAGE_BYTES_SETTING: &str = "max-page-bytes";

/// Opens Parquet files.
#[derive(Debug, Clone, Default)]
pub struct ParquetReaderFactory {
    keys: Option<Arc<dyn KeyProvider>>,
    page_options: PageOptions,
    footers: SharedFooters,
}

impl ParquetReaderFactory {
    /// A factory that opens encrypted files with the keys of `keys`.
    pub fn with_keys(keys: Arc<dyn KeyProvider>) -> Self {
        ParquetReaderFactory { keys: Some(keys), ..Self::default() }
    }

    /// Pages are compared with their checksums, where they have any. Some writers store wrong ones.
    pub fn verifying_checksums(mut self, yes: bool) -> Self {
        self.page_options.verifies_checksums = yes;
        self
    }

    /// Refuses pages of more than `bytes` after decompression; the setting
    /// `parquet_max_page_bytes` of a query overrides it. By default all pages are read that the format
    /// allows, up to 2 GiB.
    pub fn max_page_bytes(mut self, bytes: usize) -> Self {
        self.page_options.max_page_bytes = bytes;
        self
    }
}

impl ParquetReaderFactory {
    /// Takes the footer from whoever has the same file open.
    fn open_shared(
        &self,
        version: FileVersion,
        mut input: BufferedInput,
        params: ReaderParams,
    ) -> Result<ParquetReader> {
        let path = input.path().to_string();
        let mut is_known = true;
        let footer = self.footers.footer(&path, version, || {
            is_known = false;
            input.load_end(SPECULATIVE_BYTES)?;
            read_footer(&input, self.keys.as_ref())
        })?;
        let reader = ParquetReader::of_footer(footer, input, params.pool);
        Ok(ParquetReader { is_shared: true, is_known, ..reader })
    }
}

impl ReaderFactory for ParquetReaderFactory {
    fn format(&self) -> FileFormat {
        FileFormat::new(FORMAT_NAME)
    }

    fn open(&self, input: BufferedInput, params: ReaderParams) -> Result<Box<dyn Reader>> {
        let own = self.page_options;
        let max_page_bytes = params.options.get(MAX_PAGE_BYTES_SETTING, own.max_page_bytes)?;
        let page_options = PageOptions { max_page_bytes, ..own };
        let reader = match input.file_version() {
            Some(version) => self.open_shared(version, input, params)?,
            None => ParquetReader::open(input, params, self.keys.as_ref())?,
        };
        Ok(Box::new(ParquetReader { page_options, ..reader }))
    }
}

/// An open Parquet file with its footer parsed.
#[derive(Debug)]
pub struct ParquetReader {
    input: BufferedInput,
    footer: Arc<Footer>,
    pool: MemoryPool,
    page_options: PageOptions,
    /// Whoever opens the file again gets the same footer.
    is_shared: bool,
    /// Somebody else had the footer already.
    is_known: bool,
}

impl ParquetReader {
    /// Reads and checks the footer of a file; `keys` are for encrypted ones.
    pub fn open(
        mut input: BufferedInput,
        params: ReaderParams,
        keys: Option<&Arc<dyn KeyProvider>>,
    ) -> Result<Self> {
        input.load_end(SPECULATIVE_BYTES)?;
        let footer = read_footer(&input, keys)?;
        Ok(Self::of_footer(Arc::new(footer), input, params.pool))
    }

    /// A file whose footer was read before.
    pub fn of_footer(footer: Arc<Footer>, input: BufferedInput, pool: MemoryPool) -> Self {
        let (page_options, is_shared, is_known) = (PageOptions::default(), false, false);
        ParquetReader { footer, input, pool, page_options, is_shared, is_known }
    }

    /// Compares pages with their checksums, if `yes`.
    pub fn verifying_checksums(mut self, yes: bool) -> Self {
        self.page_options.verifies_checksums = yes;
        self
    }

    /// The file's bytes, of which the end is loaded.
    pub fn input(&self) -> &BufferedInput {
        &self.input
    }

    /// The parsed footer.
    pub fn footer(&self) -> &Arc<Footer> {
        &self.footer
    }

    /// The schema as a tree.
    pub fn schema(&self) -> &Schema {
        &self.footer.schema
    }
}

/// True when no map in the column, at any depth, has keys that are nested.
fn has_scalar_keys(column: &Column) -> bool {
    match &column.kind {
        ColumnKind::Leaf(_) => true,
        ColumnKind::Struct(fields) => fields.iter().all(has_scalar_keys),
        ColumnKind::List { element, .. } => has_scalar_keys(element),
        ColumnKind::Map { key, value, .. } => {
            matches!(key.kind, ColumnKind::Leaf(_))
                && value.as_ref().is_none_or(|value| has_scalar_keys(value))
        }
    }
}

impl Reader for ParquetReader {
    fn row_type(&self) -> &Arc<RowType> {
        self.footer.schema.row_type()
    }

    fn num_rows(&self) -> Option<u64> {
        Some(self.footer.num_rows)
    }

    fn field_ids(&self) -> Vec<Option<i32>> {
        self.footer.schema.columns().iter().map(|column| column.field_id).collect()
    }

    fn field_id_tree(&self) -> Vec<FieldIds> {
        self.footer.schema.columns().iter().map(field_ids_of).collect()
    }

    fn stored_columns(&self) -> Vec<StoredColumn> {
        let footer = &self.footer;
        footer.schema.columns().iter().map(|column| stored_column(footer, column)).collect()
    }

    fn column_statistics(&self, ordinal: usize) -> Option<ColumnStatistics> {
        let column = self.footer.schema.columns().get(ordinal)?;
        let ColumnKind::Leaf(leaf) = column.kind else { return None };
        file_statistics(&self.footer, leaf, TrustOptions::default())
    }

    /// Unless the keys of some map are no scalars: a column reader filters those that are.
    fn filters_map_keys(&self) -> bool {
        self.footer.schema.columns().iter().all(has_scalar_keys)
    }

    fn metadata(&self) -> Option<FileMetadata> {
        self.is_shared.then(|| FileMetadata::new(Arc::clone(&self.footer)))
    }

    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>> {
        let file = OpenFile {
            footer: Arc::clone(&self.footer),
            input: self.input.reopened(),
            page_options: self.page_options,
            is_known: self.is_known,
        };
        let reader = ParquetRowReader::new(file, params, &self.pool);
        Ok(Box::new(reader.in_named("file", self.input.path())?))
    }
}

/// What the footer says of a column beside its type; as deep as the schema, whose depth is bounded.
fn stored_column(footer: &Footer, column: &Column) -> StoredColumn {
    let of = |column: &Column| stored_column(footer, column);
    let (annotation, children) = match &column.kind {
        ColumnKind::Leaf(leaf) => (annotation_of(footer, *leaf), Vec::new()),
        ColumnKind::Struct(fields) => (Annotation::None, fields.iter().map(of).collect()),
        ColumnKind::List { element, .. } => (Annotation::None, vec![of(element)]),
        ColumnKind::Map { key, value, .. } => {
            (Annotation::None, vec![of(key), value.as_deref().map(of).unwrap_or_default()])
        }
    };
    StoredColumn { name: column.name.clone(), annotation, children }
}

/// The older annotations of times mean UTC (LogicalTypes.md, "Compatibility" of TIME and TIMESTAMP).
fn annotation_of(footer: &Footer, leaf: usize) -> Annotation {
    let element = footer.schema.leaf_element(leaf);
    let Some(element) = element.and_then(|at| footer.metadata.schema.get(at)) else {
        return Annotation::None;
    };
    match (&element.logical, element.converted) {
        (
            Some(
                LogicalType::Timestamp { is_adjusted_to_utc, unit }
                | LogicalType::Time { is_adjusted_to_utc, unit },
            ),
            _,
        ) => Annotation::Time { unit: *unit, is_utc: *is_adjusted_to_utc },
        (Some(LogicalType::Integer { bit_width: 64, is_signed: false }), _)
        | (None, Some(ConvertedType::Uint64)) => Annotation::Unsigned64,
        (None, Some(ConvertedType::TimestampMillis | ConvertedType::TimeMillis)) => {
            Annotation::Time { unit: Some(TimeUnit::Millis), is_utc: true }
        }
        (None, Some(ConvertedType::TimestampMicros | ConvertedType::TimeMicros)) => {
            Annotation::Time { unit: Some(TimeUnit::Micros), is_utc: true }
        }
        _ => Annotation::None,
    }
}

/// The ids of a column and of what is below it; as deep as the schema, whose depth is bounded.
fn field_ids_of(column: &Column) -> FieldIds {
    let children = match &column.kind {
        ColumnKind::Leaf(_) => Vec::new(),
        ColumnKind::Struct(fields) => fields.iter().map(field_ids_of).collect(),
        ColumnKind::List { element, .. } => vec![field_ids_of(element)],
        ColumnKind::Map { key, value, .. } => {
            let value = value.as_deref().map(field_ids_of).unwrap_or_default();
            vec![field_ids_of(key), value]
        }
    };
    FieldIds { id: column.field_id, children }
}
