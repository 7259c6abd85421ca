//! Writing of Parquet files with the `parquet` crate. No other module uses that crate.
//!
//! ```text
//! batch --shred along the schema--> columns (levels, values) --row group full--> column chunks
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `schema.rs` | conversion of types to the file's schema |
//! | `levels.rs` | nested values to levels and columns |
//! | `column.rs` | values in stored form |
//!
//! A row group is buffered in memory until it has its maximum number of rows or bytes, because a
//! file stores one column after the other. Data pages are of version 1 and have statistics and page
//! indexes, which all readers support.

mod column;
mod levels;
mod schema;

use dwio::stored::StoredColumn;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, RowVector, TimeUnit};

use self::column::Column;
use self::levels::{Entries, shred};
use self::schema::{Field, Schema, schema_of};
use super::files::StagedFile;
use super::sink::RowSink;

/// Maximum number of bytes of a row group in memory.
const MAX_ROW_GROUP_BYTES: usize = 128 << 20;

/// Layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParquetLayout {
    pub(super) codec: Codec,
    /// Maximum number of rows of a row group.
    pub(super) row_group_rows: usize,
    /// Unit of stored timestamps; `None` for the unit of the source file, else microseconds.
    pub(super) timestamps: Option<TimeUnit>,
}

impl Default for ParquetLayout {
    fn default() -> Self {
        ParquetLayout { codec: Codec::Snappy, row_group_rows: 1 << 20, timestamps: None }
    }
}

/// Compression of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Codec {
    Uncompressed,
    Snappy,
}

/// Writes batches into one file.
pub(super) struct ParquetSink {
    writer: SerializedFileWriter<StagedFile>,
    row_group_rows: usize,
    fields: Vec<Field>,
    columns: Vec<Column>,
    num_rows: usize,
}

impl ParquetSink {
    /// Creates a file for batches of `row_type`. `stored` is the metadata of its columns in the
    /// source files.
    pub(super) fn new(
        (row_type, stored): (&RowType, &[StoredColumn]),
        layout: ParquetLayout,
        file: StagedFile,
    ) -> Result<Self> {
        let Schema { root, fields, columns } = schema_of(row_type, stored, layout.timestamps)?;
        let properties = WriterProperties::builder()
            .set_created_by(concat!("ocior version ", env!("CARGO_PKG_VERSION")).to_string())
            .set_compression(match layout.codec {
                Codec::Uncompressed => Compression::UNCOMPRESSED,
                Codec::Snappy => Compression::SNAPPY,
            });
        let writer = SerializedFileWriter::new(file, root, Arc::new(properties.build()));
        Ok(ParquetSink {
            writer: writer.map_err(wrong)?,
            row_group_rows: layout.row_group_rows.max(1),
            fields,
            columns,
            num_rows: 0,
        })
    }
}

impl RowSink for ParquetSink {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        let mut start = 0;
        while start < batch.len() {
            let len = (self.row_group_rows - self.num_rows).min(batch.len() - start);
            let part = batch.slice(start, len)?;
            let entries = Entries::of_rows(len);
            for (i, field) in self.fields.iter().enumerate() {
                let name = || part.row_type().names().get(i).cloned().unwrap_or_default();
                let cut = shred(field, part.children().get(i), &entries, &mut self.columns);
                cut.map_err(|error| error.in_named("column", name()))?;
            }
            self.num_rows += len;
            start += len;
            if self.num_rows >= self.row_group_rows || self.num_bytes() >= MAX_ROW_GROUP_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn num_bytes(&self) -> usize {
        self.columns.iter().map(Column::num_bytes).sum()
    }

    /// Writes the buffered row group, if it has rows.
    fn flush(&mut self) -> Result<()> {
        if self.num_rows == 0 {
            return Ok(());
        }
        self.num_rows = 0;
        let mut group = self.writer.next_row_group().map_err(wrong)?;
        for column in &mut self.columns {
            let chunk = group.next_column().map_err(wrong)?;
            let mut chunk =
                chunk.ok_or_else(|| Error::internal("a Parquet file has too few columns"))?;
            column.write(&mut chunk)?;
            chunk.close().map_err(wrong)?;
        }
        group.close().map_err(wrong)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush().in_named("format", "parquet")?;
        self.writer.close().map_err(wrong)?;
        Ok(())
    }
}

/// Converts an error of the `parquet` crate: an I/O error, or else an internal error.
fn wrong(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(io) => Error::from_io(*io, "cannot write the output"),
            Err(cause) => Error::internal("the Parquet file could not be made").caused_by(cause),
        },
        other => Error::internal("the Parquet file could not be made").caused_by(other),
    }
}
