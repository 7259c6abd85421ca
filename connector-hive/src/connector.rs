//! The Hive connector: a file system and file formats, lent to data sources.

use dwio::config::Config;
use dwio::connector::{Connector, ConnectorQueryCtx, DataSource, DataSourceRequest};
use dwio::fs::FileSystem;
use dwio::input::Coalescing;
use dwio::input::cache::RegionCache;
use dwio::reader::{FileFormat, FileMetadata, FormatRegistry, Reader};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result};

use crate::data_source::HiveDataSource;
use crate::discovery::{DataFile, HiveTable};
use crate::file_handle::{FileAccess, FileToOpen, Opener, ReadCounter};
use crate::schema::{TableSchema, merged_columns};
use crate::settings::ScanSettings;
use crate::zone::ProcessZone;

/// Files of a table that are opened to learn its columns, at most.
const MAX_SCHEMA_FILES: usize = 8;

/// Access to Hive tables on one file system.
#[derive(Debug, Clone)]
pub struct HiveConnector {
    access: Arc<FileAccess>,
}

impl HiveConnector {
    /// A connector called `id`. The session's settings win over `config`.
    pub fn new(
        id: impl Into<String>,
        files: Arc<dyn FileSystem>,
        formats: FormatRegistry,
        config: Config,
    ) -> Self {
        let access = FileAccess { files, formats, connector_id: id.into(), config, cache: None };
        HiveConnector { access: Arc::new(access) }
    }

    /// The same connector, which keeps what it reads in `cache`.
    pub fn with_cache(self, cache: RegionCache) -> Self {
        let access = FileAccess { cache: Some(cache), ..(*self.access).clone() };
        HiveConnector { access: Arc::new(access) }
    }

    /// The file system.
    pub fn files(&self) -> &Arc<dyn FileSystem> {
        &self.access.files
    }

    /// The zone that timestamps in partition values are in, by the session's settings and the
    /// connector's own; `None` when they are UTC (rule S8.9).
    pub fn partition_zone(&self, session: &Config) -> Result<Option<ProcessZone>> {
        let access = &self.access;
        let settings = ScanSettings::new(&access.connector_id, &access.config, session)?;
        Ok(settings.timestamp_zone)
    }

    /// The schema of a table: the columns of its files, and the partition keys. Opens the first
    /// file that has bytes and some of the others, spread evenly over the table, the last one among
    /// them: what they store wider, or have more, is in the schema. `NotFound` when there is none.
    /// What was read of the first one comes too, for it is opened again when the table is scanned.
    pub fn table_schema(
        &self,
        table: &HiveTable,
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Result<(TableSchema, Option<FileMetadata>)> {
        let mut files = table.nonempty_files();
        let open = |file: &DataFile| self.look_into(file, format, pool);
        // A file may have lost its bytes since it was listed.
        while let Some(file) = files.next() {
            let Some(reader) = open(file)? else { continue };
            let mut columns = Arc::clone(reader.row_type());
            for file in spread(files.collect()) {
                // A file that cannot be opened says nothing of the schema; the scan says why.
                let Ok(Some(reader)) = open(file) else { continue };
                if *reader.row_type() != columns {
                    columns = Arc::new(merged_columns(&columns, reader.row_type()));
                }
            }
            let schema = TableSchema::new(columns, Arc::clone(&table.partition_columns));
            return Ok((schema, reader.metadata()));
        }
        // Empty files of a directory have no rows; one that was asked for by name is broken.
        match table.files.as_slice() {
            [file] if file.path == table.path => {
                Err(Error::corrupt("the file is empty").in_named("file", &file.path))
            }
            _ => Err(Error::not_found("no data files").in_named("path", &table.path)),
        }
    }

    /// Opens a file for what it says of itself; `None` when it has no bytes.
    fn look_into(
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

    /// Rows of a table, about: counted in the footer of the first file that has bytes, and taken
    /// for the others by their sizes. `None` when the file does not say, as files of text do not.
    pub fn estimated_rows(
        &self,
        table: &HiveTable,
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Result<Option<u64>> {
        let Some(file) = table.nonempty_files().next() else { return Ok(Some(0)) };
        if !self.access.formats.factory(format)?.describes_itself() {
            return Ok(None);
        }
        let reader = self.look_into(file, format, pool)?;
        let Some(num_rows) = reader.and_then(|reader| reader.num_rows()) else { return Ok(None) };
        let scaled = u128::from(num_rows) * u128::from(table.total_bytes());
        let scaled = scaled / u128::from(file.len.max(1));
        Ok(Some(u64::try_from(scaled).unwrap_or(u64::MAX)))
    }
}

/// Some of the files, the last one among them.
fn spread(files: Vec<&DataFile>) -> Vec<&DataFile> {
    let num_files = files.len();
    let num_wanted = num_files.min(MAX_SCHEMA_FILES - 1);
    let mut chosen: Vec<&DataFile> = (0..num_wanted)
        .filter_map(|i| files.get(num_files - 1 - i * num_files / num_wanted).copied())
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
