//! A connector for recorded input rows of operators: each driver's file is a split.
//!
//! A page becomes one batch as it was recorded, independent of the batch size that the scan
//! requests.

use std::any::Any;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use dwio::connector::{
    Connector, ConnectorQueryCtx, ConnectorSplit, DataSource, DataSourceRequest, SourcePoll,
    SourceProgress, TableHandle,
};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType};

use crate::replay::presto::PageReader;

/// Id of the connector.
const CONNECTOR: &str = "recorded rows";

/// The connector for recorded rows.
#[derive(Debug)]
pub(super) struct RecordedRows;

/// The recorded input of one node.
#[derive(Debug)]
pub(super) struct RecordedTable {
    pub(super) name: String,
}

/// File with the recorded input of one driver.
#[derive(Debug)]
pub(super) struct RecordedFile {
    pub(super) path: PathBuf,
}

impl TableHandle for RecordedTable {
    fn connector_id(&self) -> &str {
        CONNECTOR
    }

    fn table_name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        format!("recorded rows: {}", self.name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ConnectorSplit for RecordedFile {
    fn connector_id(&self) -> &str {
        CONNECTOR
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }

    fn size_bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Connector for RecordedRows {
    fn id(&self) -> &str {
        CONNECTOR
    }

    fn data_source(
        &self,
        request: DataSourceRequest,
        _: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>> {
        Ok(Box::new(RecordedSource {
            row_type: request.output_type,
            pages: None,
            progress: SourceProgress::default(),
        }))
    }
}

/// Reads files of recorded rows, one after another.
struct RecordedSource {
    row_type: Arc<RowType>,
    pages: Option<PageReader<BufReader<File>>>,
    progress: SourceProgress,
}

impl DataSource for RecordedSource {
    fn add_split(&mut self, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let Some(file) = split.as_any().downcast_ref::<RecordedFile>() else {
            return Err(Error::internal("a split of another connector"));
        };
        let opened = File::open(&file.path)
            .and_then(|opened| Ok((opened.metadata()?.len(), opened)))
            .map_err(|e| Error::from_io(e, "cannot open a file of a trace"));
        let (num_bytes, opened) = opened.in_named("file", file.path.to_string_lossy())?;
        let input = BufReader::new(opened);
        self.pages = Some(PageReader::new(input, num_bytes, Arc::clone(&self.row_type)));
        Ok(())
    }

    fn next(&mut self, _: usize) -> Result<SourcePoll> {
        let Some(pages) = &mut self.pages else {
            return Err(Error::internal("recorded rows were read without a split"));
        };
        let before = pages.offset();
        let page = pages.next_page()?;
        self.progress.raw_bytes += pages.offset() - before;
        let Some(batch) = page else {
            self.pages = None;
            return Ok(SourcePoll::SplitDone);
        };
        self.progress.raw_rows += batch.len() as u64;
        Ok(SourcePoll::Batch(batch))
    }

    fn abandon_split(&mut self) {
        self.pages = None;
    }

    fn progress(&self) -> SourceProgress {
        self.progress
    }
}
