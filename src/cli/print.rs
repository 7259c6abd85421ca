//! Printing of batches to the output of a command.

use std::fs::File;
use std::io::{BufWriter, Write};

use vector::{Error, Result, ResultExt, RowType, RowVector};

use super::options::GlobalArgs;
use super::output_file::OutputFile;
use crate::output::{BatchWriter, OutputFormat, batch_writer};

/// Opens the output of a command as a writer of batches.
pub(super) fn open(
    global: &GlobalArgs,
    format: OutputFormat,
    row_type: &RowType,
) -> Result<Box<dyn BatchWriter>> {
    batch_writer(format, row_type, destination(global)?)
}

/// Returns the output of a command: standard output or the file of `-o`.
pub(super) fn destination(global: &GlobalArgs) -> Result<Box<dyn Write>> {
    Ok(match &global.output {
        // Writers write whole batches, so a second buffer would only delay lines.
        None => Box::new(std::io::stdout().lock()),
        Some(path) => {
            let staged = global.output_file.as_ref().map(OutputFile::staged).transpose()?;
            let file = File::create(staged.unwrap_or(path))
                .map_err(|e| Error::from_io(e, "cannot create the output file"))
                .in_named("file", path.to_string_lossy())?;
            Box::new(BufWriter::new(file))
        }
    })
}

/// Prints one batch as a whole result.
pub(super) fn whole(global: &GlobalArgs, format: OutputFormat, batch: &RowVector) -> Result<()> {
    let mut writer = open(global, format, batch.row_type())?;
    writer.write(batch)?;
    writer.finish()
}
