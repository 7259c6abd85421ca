//! The Hive connector: creates data sources over a file system and a set of file formats.

use dwio::config::Config;
use dwio::connector::{Connector, ConnectorQueryCtx, DataSource, DataSourceRequest};
use dwio::fs::FileSystem;
use dwio::input::Coalescing;
use dwio::input::cache::RegionCache;
use dwio::reader::{FileFormat, FileMetadata, FormatRegistry, Reader};
use vector::sync::{Arc, thread};
use vector::{Error, MemoryPool, Result, RowType};

use crate::read::data_source::HiveDataSource;
use crate::read::file_handle::{FileAccess, FileToOpen, Opener, ReadCounter};
use crate::settings::ScanSettings;
use crate::split::discovery::{DataFile, HiveTable};
use crate::table::schema::{StoredColumns, TableSchema, merged_columns};
use crate::zone::ProcessZone;

/// Default for the maximum number of files that are opened to infer a table's columns.
pub const DEFAULT_SCHEMA_FILES: usize = 1_000;
/// Number of threads that open files for schema inference.
const SCHEMA_THREADS: usize = 8;
/// Maximum number of columns, over all footers together, that are kept until the scan opens their
/// files again.
const MAX_HELD_COLUMNS: usize = 200_000;

/// The inferred columns of a table and the metadata from which they were inferred.
#[derive(Debug, Clone)]
pub struct InferredSchema {
    /// The columns.
    pub schema: TableSchema,
    /// File metadata that was read, kept because scanning the table opens the same files again.
    pub metadata: Vec<FileMetadata>,
    /// Number of non-empty files that were opened.
    pub num_opened: usize,
    /// Number of non-empty files of the table.
    pub num_files: usize,
}

/// The columns of some files and their metadata.
struct InferredColumns {
    columns: Arc<RowType>,
    stored: StoredColumns,
    metadata: Vec<FileMetadata>,
}

impl InferredColumns {
    fn of(reader: &dyn Reader) -> Self {
        let mut stored = StoredColumns::default();
        stored.add(reader.stored_columns());
        let metadata = reader.metadata().into_iter().collect();
        InferredColumns { columns: Arc::clone(reader.row_type()), stored, metadata }
    }

    /// Adds the columns and metadata of files that come later in the order.
    fn extend(&mut self, others: Option<InferredColumns>) {
        let Some(others) = others else { return };
        if others.columns != self.columns {
            self.columns = Arc::new(merged_columns(&self.columns, &others.columns));
        }
        self.stored.add(others.stored.into_columns());
        let max_held = MAX_HELD_COLUMNS / self.columns.len().max(1);
        self.metadata.extend(others.metadata);
        self.metadata.truncate(max_held.max(1));
    }
}

/// Access to Hive tables on one file system.
#[derive(Debug, Clone)]
pub struct HiveConnector {
    access: Arc<FileAccess>,
}

impl HiveConnector {
    /// Returns a connector with the id `id`. Settings of the session override `config`.
    pub fn new(
        id: impl Into<String>,
        files: Arc<dyn FileSystem>,
        formats: FormatRegistry,
        config: Config,
    ) -> Self {
        let access = FileAccess { files, formats, connector_id: id.into(), config, cache: None };
        HiveConnector { access: Arc::new(access) }
    }

    /// Returns the connector with a cache for the data it reads.
    pub fn with_cache(self, cache: RegionCache) -> Self {
        let access = FileAccess { cache: Some(cache), ..(*self.access).clone() };
        HiveConnector { access: Arc::new(access) }
    }

    /// File system of the connector.
    pub fn files(&self) -> &Arc<dyn FileSystem> {
        &self.access.files
    }

    /// Returns the zone of timestamps in partition values, from the settings of the session and the
    /// connector; `None` if they are in UTC (rule S8.9).
    ///
    /// # Errors
    /// `InvalidInput` for an invalid setting.
    pub fn partition_zone(&self, session: &Config) -> Result<Option<ProcessZone>> {
        let access = &self.access;
        let settings = ScanSettings::new(&access.connector_id, &access.config, session)?;
        Ok(settings.timestamp_zone)
    }

    /// Infers the schema of a table: the columns of its files and the partition keys. Opens the
    /// non-empty files; if there are more than `max_files`, a sample that is spread evenly over the
    /// table and includes the first and the last file. The schema includes wider types and
    /// additional columns of these files.
    ///
    /// # Errors
    /// `NotFound` if the table has no non-empty file, `Corrupt` if the path is a single empty file,
    /// and errors of opening the first file.
    pub fn table_schema(
        &self,
        table: &HiveTable,
        format: &FileFormat,
        max_files: usize,
        pool: &MemoryPool,
    ) -> Result<InferredSchema> {
        let mut files = table.nonempty_files();
        let num_files = files.clone().count();
        // A file may have become empty since it was listed.
        while let Some(file) = files.next() {
            let Some(reader) = self.open_for_schema(file, format, pool)? else { continue };
            let mut inferred = InferredColumns::of(&*reader);
            drop(reader);
            let others = spread(files.collect(), max_files.saturating_sub(1));
            let num_opened = 1 + others.len();
            inferred.extend(self.infer(&others, format, pool));
            let InferredColumns { columns, stored, metadata } = inferred;
            let schema = TableSchema::new(columns, Arc::clone(&table.partition_columns));
            let schema = schema.with_stored_columns(stored);
            return Ok(InferredSchema { schema, metadata, num_opened, num_files });
        }
        // Empty files in a directory are ignored, but a single file that was named explicitly must
        // not be empty.
        match table.files.as_slice() {
            [file] if file.path == table.path => {
                Err(Error::corrupt("the file is empty").in_named("file", &file.path))
            }
            _ => Err(Error::not_found("no data files").in_named("path", &table.path)),
        }
    }

    /// Returns the merged columns of files, read on several threads; each file is closed again.
    /// Files that cannot be opened are skipped, since the scan reports their errors.
    fn infer(
        &self,
        files: &[&DataFile],
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Option<InferredColumns> {
        let of_part = |files: &[&DataFile]| {
            let readers =
                files.iter().filter_map(|file| self.open_for_schema(file, format, pool).ok()?);
            readers.map(|reader| InferredColumns::of(&*reader)).reduce(|mut all, one| {
                all.extend(Some(one));
                all
            })
        };
        let len = files.len().div_ceil(SCHEMA_THREADS);
        if len <= 1 {
            return of_part(files);
        }
        let parts = thread::scope(|scope| {
            let running: Vec<_> =
                files.chunks(len).map(|part| scope.spawn(move || of_part(part))).collect();
            running.into_iter().filter_map(|part| part.join().ok()?).collect::<Vec<_>>()
        });
        parts.into_iter().reduce(|mut all, part| {
            all.extend(Some(part));
            all
        })
    }

    /// Opens a file to read its metadata; `None` if it is empty.
    fn open_for_schema(
        &self,
        file: &DataFile,
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Result<Option<Box<dyn Reader>>> {
        let (session, counter) = (Config::new(), ReadCounter::default());
        let opener = Opener {
            session: &session,
            pool,
            counter: &counter,
            coalescing: Coalescing::default(),
            cancel: None,
        };
        self.access.open(FileToOpen::new(&file.path, format), opener)
    }

    /// Estimates the number of rows of a table from the footer of its first non-empty file, scaled
    /// by file size. Returns `None` if the format does not store the number, as text files do not.
    ///
    /// # Errors
    /// Errors of opening the file; `Unsupported` for a format that is not registered.
    pub fn estimated_rows(
        &self,
        table: &HiveTable,
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Result<Option<u64>> {
        let Some(file) = table.nonempty_files().next() else { return Ok(Some(0)) };
        if !self.access.formats.factory(format)?.has_embedded_schema() {
            return Ok(None);
        }
        let reader = self.open_for_schema(file, format, pool)?;
        let Some(num_rows) = reader.and_then(|reader| reader.num_rows()) else { return Ok(None) };
        let scaled = u128::from(num_rows) * u128::from(table.total_bytes());
        let scaled = scaled / u128::from(file.len.max(1));
        Ok(Some(u64::try_from(scaled).unwrap_or(u64::MAX)))
    }
}

/// Returns at most `max` of the files, evenly spread and including the last one.
fn spread(files: Vec<&DataFile>, max: usize) -> Vec<&DataFile> {
    let num_files = files.len();
    let num_chosen = num_files.min(max);
    let mut chosen: Vec<&DataFile> = (0..num_chosen)
        .filter_map(|i| files.get(num_files - 1 - i * num_files / num_chosen).copied())
        .collect();
    chosen.reverse();
    chosen
}

impl Connector for HiveConnector {
    fn id(&self) -> &str {
        &self.access.connector_id
    }

    fn data_source(
        &self,
        request: DataSourceRequest,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>> {
        Ok(Box::new(HiveDataSource::new(request, Arc::clone(&self.access), ctx)?))
    }

    fn supports_preload(&self) -> bool {
        true
    }
}
