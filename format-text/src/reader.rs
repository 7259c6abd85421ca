//! Opens text files. A text file is opened without reading it, except for a check of its magic bytes.

use dwio::input::BufferedInput;
use dwio::reader::{FileFormat, Reader, ReaderFactory, ReaderParams, RowReader, RowReaderParams};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, RowType};

use crate::bytes::Codec;
use crate::dialect::Dialect;
use crate::lines::TextFile;
use crate::row_reader::TextRows;

/// Name of the format.
pub const FORMAT_NAME: &str = "text";

/// Opens text files.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextReaderFactory;

impl ReaderFactory for TextReaderFactory {
    fn format(&self) -> FileFormat {
        FileFormat::new(FORMAT_NAME)
    }

    fn has_embedded_schema(&self) -> bool {
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

/// Returns `InvalidInput` for a Parquet file. Read as text, it has no line that fits a table and
/// would silently return few rows or none.
fn refuse_parquet(input: &BufferedInput) -> Result<()> {
    let Some(last) = input.file_len().checked_sub(PARQUET_MAGIC_BYTES) else { return Ok(()) };
    let has_magic = |offset| -> Result<bool> {
        let bytes = input.read(offset, PARQUET_MAGIC_BYTES)?;
        Ok(matches!(&bytes[..], b"PAR1" | b"PARE"))
    };
    // Reads the end of the file first: text usually ends with a line end, so the start need not be
    // read.
    if last >= PARQUET_MAGIC_BYTES && has_magic(last)? && has_magic(0)? {
        return Err(Error::invalid_input("a Parquet file is not read as text")
            .hint("leave out the input format, or say parquet"));
    }
    Ok(())
}

/// Number of bytes of the magic at both ends of a Parquet file.
const PARQUET_MAGIC_BYTES: u64 = 4;

/// Reader of one text file.
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

    /// Returns `None`: the number of rows is unknown until all lines are read.
    fn num_rows(&self) -> Option<u64> {
        None
    }

    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>> {
        let file = TextFile {
            input: &self.input,
            codec: self.codec,
            dialect: &self.dialect,
            pool: &self.pool,
        };
        Ok(Box::new(TextRows::new(file, &self.row_type, params)?))
    }
}
