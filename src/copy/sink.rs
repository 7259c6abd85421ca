//! Writers of the rows of one file.

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
    /// Writes a batch.
    fn write(&mut self, batch: &RowVector) -> Result<()>;

    /// Number of bytes buffered in memory.
    fn num_bytes(&self) -> usize;

    /// Releases buffered bytes, as far as the format allows.
    fn flush(&mut self) -> Result<()>;

    /// Finishes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file being written.
pub(super) struct OpenFile {
    pub(super) sink: Box<dyn RowSink>,
    pub(super) path: PathBuf,
}

impl OpenFile {
    /// Creates a file for batches of `row_type`. `stored` is the metadata of its columns in the
    /// source files.
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

/// Writes rows as lines of text.
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
        // A writer of lines keeps no state between batches.
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
