//! Hive text tables (LazySimpleSerDe): a second format behind the reader traits of `dwio`.
//!
//! ```text
//! file --codec--> bytes --lines--> lines --fields--> texts of columns --cells--> vectors
//!      bytes.rs         lines.rs         fields.rs                   cells.rs
//!                                                                    values.rs: one scalar
//!      dialect.rs: separators, escape, text for null      row_reader.rs: filters, windows
//! ```
//!
//! A text file has no schema of its own: the table's columns are handed over (rule S7.8), and a
//! value is read as the type that the plan asks for. What is no such value is null, as in Hive,
//! unless the setting `text.bad-values` refuses it. A line ends at LF, CR or CR LF and belongs to
//! the split in which it starts; packed files cannot be cut and belong to the split that has their
//! first byte. Memory is bounded by the window of lines and the longest line that is allowed.
//!
//! Files in reading order: `dialect`, `bytes`, `lines`, `fields`, `values`, `cells`, `row_reader`.

pub mod bytes;
pub mod cells;
pub mod dialect;
pub mod fields;
pub mod lines;
pub mod row_reader;
pub mod values;

#[cfg(test)]
mod tests;

use dwio::input::BufferedInput;
use dwio::reader::{FileFormat, Reader, ReaderFactory, ReaderParams, RowReader, RowReaderParams};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, RowType};

use bytes::Codec;
use dialect::Dialect;
use row_reader::TextRows;

/// The name of the format.
pub const FORMAT_NAME: &str = "text";

/// Opens text files.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextReaderFactory;

impl ReaderFactory for TextReaderFactory {
    fn format(&self) -> FileFormat {
        FileFormat::new(FORMAT_NAME)
    }

    fn describes_itself(&self) -> bool {
        false
    }

    fn open(&self, input: BufferedInput, params: ReaderParams) -> Result<Box<dyn Reader>> {
        let Some(row_type) = params.file_schema else {
            return Err(Error::invalid_input("a text file is read with the schema of its table")
                .hint("name the columns and their types"));
        };
        let dialect = Arc::new(Dialect::new(&params.options)?);
        refuse_parquet(&input)?;
        let codec = Codec::of_path(input.path())?;
        Ok(Box::new(TextReader { input, codec, dialect, row_type, pool: params.pool }))
    }
}

/// `InvalidInput` for a Parquet file: as text it has no line that fits a table, and reading it would
/// give few rows or none without a word.
fn refuse_parquet(input: &BufferedInput) -> Result<()> {
    let Some(last) = input.file_len().checked_sub(PARQUET_MAGIC_BYTES) else { return Ok(()) };
    let has_magic = |offset| -> Result<bool> {
        let bytes = input.read(offset, PARQUET_MAGIC_BYTES)?;
        Ok(matches!(&bytes[..], b"PAR1" | b"PARE"))
    };
    // Text mostly ends with a line end: one look is enough.
    if last >= PARQUET_MAGIC_BYTES && has_magic(last)? && has_magic(0)? {
        return Err(Error::invalid_input("a Parquet file is not read as text")
            .hint("leave out the input format, or say parquet"));
    }
    Ok(())
}

/// Bytes that a Parquet file begins and ends with.
const PARQUET_MAGIC_BYTES: u64 = 4;

/// One text file.
#[derive(Debug)]
struct TextReader {
    input: BufferedInput,
    codec: Codec,
    dialect: Arc<Dialect>,
    row_type: Arc<RowType>,
    pool: MemoryPool,
}

impl Reader for TextReader {
    fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }

    /// Unknown until all lines are read.
    fn num_rows(&self) -> Option<u64> {
        None
    }

    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>> {
        let file = lines::TextFile {
            input: &self.input,
            codec: self.codec,
            dialect: &self.dialect,
            pool: &self.pool,
        };
        Ok(Box::new(TextRows::new(file, &self.row_type, params)?))
    }
}
