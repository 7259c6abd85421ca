//! Where the rows of one file go.

use std::io::Write as _;
use std::path::PathBuf;

use dwio::stored::StoredColumn;
use vector::sync::Arc;
use vector::{Result, RowType, RowVector};

use super::files::StagedFile;
use super::options::CopyFormat;
#[cfg(feature = "copy-parquet")]
use super::parquet::ParquetSink;
use crate::output::{OutputFormat, batch_writer, row_appender};

/// Writes the rows of one file.
pub(super) trait RowSink: Send {
    /// Takes a batch.
    fn write(&mut self, batch: &RowVector) -> Result<()>;

    /// Bytes that wait in memory.
    fn num_bytes(&self) -> usize;

    /// Lets go of what waits, as far as the format can.
    fn flush(&mut self) -> Result<()>;

    /// Ends the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file being written, and how far it is.
pub(super) struct OpenFile {
    pub(super) sink: Box<dyn RowSink>,
    pub(super) path: PathBuf,
}

impl OpenFile {
    /// Begins a file of batches of `row_type`, whose columns files describe as `stored` says.
    pub(super) fn new(
        format: &CopyFormat,
        (row_type, stored): (&Arc<RowType>, &[StoredColumn]),
        file: StagedFile,
    ) -> Result<Self> {
        #[cfg(not(feature = "copy-parquet"))]
        let _ = stored;
        let path = file.path().to_path_buf();
        let text = |format, has_header, file| TextSink::new(format, row_type, has_header, file);
        let sink: Box<dyn RowSink> = match format {
            CopyFormat::Csv { has_header } => Box::new(text(OutputFormat::Csv, *has_header, file)?),
            CopyFormat::JsonLines => Box::new(text(OutputFormat::JsonLines, false, file)?),
            #[cfg(feature = "copy-parquet")]
            CopyFormat::Parquet(layout) => {
                Box::new(ParquetSink::new((row_type, stored), *layout, file)?)
            }
        };
        Ok(OpenFile { sink, path })
    }
}

/// Rows as lines.
struct TextSink {
    format: OutputFormat,
    row_type: Arc<RowType>,
    file: StagedFile,
}

impl TextSink {
    fn new(
        format: OutputFormat,
        row_type: &Arc<RowType>,
        has_header: bool,
        mut file: StagedFile,
    ) -> Result<Self> {
        if has_header {
            batch_writer(format, row_type, Box::new(&mut file))?.finish()?;
        }
        Ok(TextSink { format, row_type: Arc::clone(row_type), file })
    }
}

impl RowSink for TextSink {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        // Lines hold nothing back from batch to batch, and neither does their writer.
        row_appender(self.format, &self.row_type, Box::new(&mut self.file))?.write(batch)
    }

    fn num_bytes(&self) -> usize {
        0
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|e| vector::Error::from_io(e, "cannot write the output"))
    }
}
