//! Results as text: batches in, bytes out, nothing held back longer than one batch, and no more than
//! a row and 64 KiB of its text at once.
//!
//! ```text
//! RowVector --prepare once--> a Cell for each column --row by row--> byte buffer --> Write
//! ```
//!
//! Canonical JSON lines are for comparing engines: two that read the same file print the same bytes.
//! There a name that a file has twice is printed twice, and an interval is its twelve bytes in
//! hexadecimal. The other JSON formats are for programs: names that repeat are numbered (`a`, `a_1`),
//! and an interval is text. `table` has to know its widths before the first line, so it alone
//! collects its rows first.

mod cell;
mod delimited;
mod json;
mod table;

use std::io::Write;

use vector::{Error, Result, RowType, RowVector};

/// Writers hand their text on when it has grown to this many bytes: a batch may show one long value in
/// all of its rows, and its text then takes far more memory than the batch.
const FLUSH_BYTES: usize = 64 << 10;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Columns aligned for people.
    Table,
    /// One JSON array of objects.
    Json,
    /// One JSON object a line.
    JsonLines,
    /// One JSON object a line, in canonical form.
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
    fn write(&mut self, batch: &RowVector) -> Result<()>;
    /// Prints what stands behind the last batch and flushes.
    fn finish(&mut self) -> Result<()>;
}

/// Makes the writer of a format for batches of `row_type`; what must stand before the first row
/// is printed at once.
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

/// Makes a writer of rows alone, without what stands before the first or behind the last one, for
/// formats whose rows are lines. `Internal` for another one.
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

/// Turns a failed write into an error; a closed pipe keeps its cause, so that the command line can
/// end quietly.
fn write_error(error: std::io::Error) -> Error {
    Error::from_io(error, "cannot write the output")
}

/// True when the error is that the reader of our output has gone.
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
