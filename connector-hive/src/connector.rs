//! The Hive connector: a file system and file formats, lent to data sources.

use dwio::config::Config;
use dwio::connector::{Connector, ConnectorQueryCtx, DataSource, DataSourceRequest};
use dwio::fs::FileSystem;
use dwio::reader::{FileFormat, FormatRegistry};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result};

use crate::data_source::HiveDataSource;
use crate::discovery::HiveTable;
use crate::file_handle::{FileAccess, FileToOpen, Opener, ReadCounter};
use crate::schema::TableSchema;

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
        let access = FileAccess { files, formats, connector_id: id.into(), config };
        HiveConnector { access: Arc::new(access) }
    }

    /// The file system.
    pub fn files(&self) -> &Arc<dyn FileSystem> {
        &self.access.files
    }

    /// The schema of a table: the columns of its first file that has bytes, and the partition
    /// keys. Opens that one file. `NotFound` when there is none.
    pub fn table_schema(
        &self,
        table: &HiveTable,
        format: &FileFormat,
        pool: &MemoryPool,
    ) -> Result<TableSchema> {
        let (session, counter) = (Config::new(), ReadCounter::default());
        let opener = Opener { session: &session, pool, counter: &counter };
        for file in table.nonempty_files() {
            // A file may have lost its bytes since it was listed.
            if let Some(reader) = self.access.open(FileToOpen::new(&file.path, format), opener)? {
                let partition_columns = Arc::clone(&table.partition_columns);
                return Ok(TableSchema::new(Arc::clone(reader.row_type()), partition_columns));
            }
        }
        // Empty files of a directory have no rows; one that was asked for by name is broken.
        match table.files.as_slice() {
            [file] if file.path == table.path => {
                Err(Error::corrupt("the file is empty").in_named("file", &file.path))
            }
            _ => Err(Error::not_found("no data files").in_named("path", &table.path)),
        }
    }
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
