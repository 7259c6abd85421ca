//! Rows into a Parquet file, by the `parquet` crate: the only place of the house that names it.
//!
//! ```text
//! batch --shred along the schema--> columns (levels, values) --row group full--> column chunks
//! ```
//!
//! | file | what |
//! |---|---|
//! | `schema.rs` | types to the file's schema |
//! | `levels.rs` | nested values to places in columns |
//! | `column.rs` | values as the file stores them |
//!
//! A row group waits in memory until it has its rows or its bytes, because a file has one column
//! after the other. Data pages are of version 1 and have statistics and page indexes: what every
//! reader understands.

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

/// Bytes of a row group in memory at most.
const MAX_ROW_GROUP_BYTES: usize = 128 << 20;

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParquetLayout {
    pub(super) codec: Codec,
    /// Rows of a row group at most.
    pub(super) row_group_rows: usize,
    /// What timestamps are stored in; `None` for what they were stored in, or else microseconds.
    pub(super) timestamps: Option<TimeUnit>,
}

impl Default for ParquetLayout {
    fn default() -> Self {
        ParquetLayout { codec: Codec::Snappy, row_group_rows: 1 << 20, timestamps: None }
    }
}

/// How pages are packed.
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
    /// Begins a file for batches of `row_type`, whose columns files describe as `stored` says.
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

    /// Ends the row group, if it has rows.
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

/// An error of the `parquet` crate: one of the disk, or our mistake.
fn wrong(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(io) => Error::from_io(*io, "cannot write the output"),
            Err(cause) => Error::internal("the Parquet file could not be made").caused_by(cause),
        },
        other => Error::internal("the Parquet file could not be made").caused_by(other),
    }
}
