//! Formatting of results as text. Writers take batches and buffer at most one batch, and at most a row
//! and 64 KiB of its text.
//!
//! ```text
//! RowVector --prepare once--> a Cell for each column --row by row--> byte buffer --> Write
//! ```
//!
//! Canonical JSON lines are for comparing engines: two engines that read the same file print the
//! same bytes. In this form a repeated name is printed repeatedly, and an interval is its twelve
//! bytes in hexadecimal. The other JSON formats are for programs: repeated names are numbered (`a`,
//! `a_1`), and an interval is text. `table` is the only format that collects rows, since it needs
//! the column widths before the first line.

mod cell;
mod delimited;
mod json;
mod table;

use std::io::Write;

use vector::{Error, Result, RowType, RowVector};

/// Size of the text at which writers pass it on: a batch may repeat one long value in all of its rows,
/// and its text then takes far more memory than the batch.
const FLUSH_BYTES: usize = 64 << 10;

/// Text formats of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Aligned columns for people.
    Table,
    /// One JSON array of objects.
    Json,
    /// One JSON object per line.
    JsonLines,
    /// One JSON object per line in canonical form.
    CanonicalJsonLines,
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// Tab-separated values with a header line.
    Tsv,
    /// A Markdown table.
    Markdown,
}

/// Prints batches in one format.
pub trait BatchWriter {
    /// Prints one batch.
    ///
    /// # Errors
    /// `Io` if the output cannot be written, and errors of loading a lazy column.
    fn write(&mut self, batch: &RowVector) -> Result<()>;
    /// Prints the text after the last batch and flushes.
    ///
    /// # Errors
    /// `Io` if the output cannot be written.
    fn finish(&mut self) -> Result<()>;
}

/// Returns a writer for batches of `row_type`. The text before the first row is printed with the
/// first batch or at the end.
///
/// # Errors
/// None at present.
pub fn batch_writer<'a>(
    format: OutputFormat,
    row_type: &RowType,
    out: Box<dyn Write + 'a>,
) -> Result<Box<dyn BatchWriter + 'a>> {
    Ok(match format {
        OutputFormat::Table => Box::new(table::TableWriter::boxed(row_type, out)),
        OutputFormat::Markdown => Box::new(table::TableWriter::markdown(row_type, out)),
        OutputFormat::Json => Box::new(json::JsonWriter::array(row_type, out)),
        OutputFormat::JsonLines => Box::new(json::JsonWriter::lines(row_type, out)),
        OutputFormat::CanonicalJsonLines => Box::new(json::JsonWriter::canonical(row_type, out)),
        OutputFormat::Csv => Box::new(delimited::DelimitedWriter::csv(row_type, out)?),
        OutputFormat::Tsv => Box::new(delimited::DelimitedWriter::tsv(row_type, out)?),
    })
}

/// Returns a writer of rows without the text before the first and after the last one, for formats
/// in which each row is a line; `Internal` for other formats.
pub(crate) fn row_appender<'a>(
    format: OutputFormat,
    row_type: &RowType,
    out: Box<dyn Write + 'a>,
) -> Result<Box<dyn BatchWriter + 'a>> {
    Ok(match format {
        OutputFormat::JsonLines => Box::new(json::JsonWriter::lines(row_type, out)),
        OutputFormat::CanonicalJsonLines => Box::new(json::JsonWriter::canonical(row_type, out)),
        OutputFormat::Csv => {
            Box::new(delimited::DelimitedWriter::csv(row_type, out)?.without_header())
        }
        OutputFormat::Tsv => {
            Box::new(delimited::DelimitedWriter::tsv(row_type, out)?.without_header())
        }
        OutputFormat::Table | OutputFormat::Json | OutputFormat::Markdown => {
            return Err(Error::internal("rows of this format do not stand alone"));
        }
    })
}

/// Converts the error of a failed write. The error of a closed pipe keeps its cause, so that the
/// command line can detect it.
fn write_error(error: std::io::Error) -> Error {
    Error::from_io(error, "cannot write the output")
}

/// Returns true if the error is that the reader of the output pipe has closed it.
pub fn is_closed_pipe(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::sync::{Arc, Mutex};
    use vector::{Type, Value, Vector};

    /// The length of each write.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<usize>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn formats_of_lines_hold_little_of_a_batch_that_shows_one_long_value_in_all_rows() {
        const NUM_ROWS: usize = 500;
        const LEN: usize = 4_000;
        let ty = Arc::new(RowType::new([("s", Type::Varchar)]));
        let value = Value::bytes("x".repeat(LEN));
        let column = Vector::constant(Type::Varchar, value, NUM_ROWS).unwrap();
        let batch = RowVector::batch(ty.clone(), NUM_ROWS, vec![Arc::new(column)]).unwrap();
        for format in [
            OutputFormat::Csv,
            OutputFormat::Tsv,
            OutputFormat::Json,
            OutputFormat::JsonLines,
            OutputFormat::CanonicalJsonLines,
        ] {
            let writes = Writes::default();
            let mut writer = batch_writer(format, &ty, Box::new(writes.clone())).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            let lens = writes.0.lock();
            assert!(lens.iter().sum::<usize>() > NUM_ROWS * LEN, "{format:?}");
            let longest = lens.iter().max().copied().unwrap();
            assert!(longest <= FLUSH_BYTES + LEN + 100, "{format:?}: {longest} bytes");
        }
    }
}
