//! `ocior inspect`: prints the metadata of a file, or verifies it.

use clap::{Args, Subcommand};
use vector::{Error, Result, RowVector};

use super::options::GlobalArgs;
use super::{Outcome, complain, print};
use crate::Engine;
use crate::inspect::{self, ChunksOf, InspectedFile, Shown};
use crate::output::OutputFormat;

const EXAMPLES: &str = "\
Examples:
  ocior inspect file part-0.parquet
  ocior inspect schema part-0.parquet -v
  ocior inspect columns part-0.parquet --row-group 0 -f json
  ocior inspect pages part-0.parquet --column address.city
  ocior inspect pages part-0.parquet --where \"id = 17 AND price > 100\"
  ocior inspect bloom part-0.parquet --column id --probe 17
  ocior inspect verify part-0.parquet

For a broken file, the readable part is printed; the errors state where it is broken.";

/// Show the metadata of a Parquet file, or verify it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InspectArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The schema tree with logical and physical types
    Schema {
        /// The file
        path: String,
        /// Also print levels and field ids
        #[arg(short, long)]
        verbose: bool,
    },
    /// Version, writer, rows, sizes and key-value metadata
    File {
        /// The file
        path: String,
    },
    /// Rows, bytes and offset of each row group
    RowGroups {
        /// The file
        path: String,
    },
    /// How each column is written in each row group
    Columns(ChunkArgs),
    /// The pages of each column chunk, with their entries in the page index
    Pages {
        #[command(flatten)]
        chunks: ChunkArgs,
        /// Print for each page whether a scan with this SQL condition reads it, reads some of its
        /// rows or skips it, and why
        #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
        filter: Option<String>,
    },
    /// The entries of dictionaries
    Dict {
        #[command(flatten)]
        chunks: ChunkArgs,
        /// Maximum number of entries of each dictionary
        #[arg(long, value_name = "N", default_value = "20")]
        limit: usize,
    },
    /// Offset, size and fill ratio of bloom filters
    Bloom {
        #[command(flatten)]
        chunks: ChunkArgs,
        /// Test the filters of the column for this value
        #[arg(long, value_name = "VALUE", requires = "column", allow_hyphen_values = true)]
        probe: Option<String>,
    },
    /// Bounds and counts of each column chunk, and whether scans use them
    Stats(ChunkArgs),
    /// Key-value metadata of the file and of column chunks
    Kv {
        /// The file
        path: String,
    },
    /// Decode everything and compare it with counts, checksums, statistics and indexes
    Verify {
        /// The file
        path: String,
    },
}

/// A file, and which of its column chunks to show.
#[derive(Debug, Args)]
struct ChunkArgs {
    /// The file
    path: String,
    /// Only this column, or everything below it
    #[arg(long, value_name = "PATH")]
    column: Option<String>,
    /// Only this row group
    #[arg(long, value_name = "N")]
    row_group: Option<usize>,
}

impl ChunkArgs {
    fn chunks(&self) -> ChunksOf {
        ChunksOf { column: self.column.clone(), row_group: self.row_group }
    }
}

impl What {
    fn path(&self) -> &str {
        match self {
            What::Schema { path, .. }
            | What::File { path }
            | What::RowGroups { path }
            | What::Kv { path }
            | What::Verify { path } => path,
            What::Columns(chunks)
            | What::Stats(chunks)
            | What::Pages { chunks, .. }
            | What::Dict { chunks, .. }
            | What::Bloom { chunks, .. } => &chunks.path,
        }
    }
}

pub(super) fn run(args: &InspectArgs, global: &GlobalArgs) -> Outcome {
    let format = global.output_format();
    let is_for_people = matches!(format, OutputFormat::Table | OutputFormat::Markdown);
    let engine = global.engine();
    let files = engine.file_system().as_ref();
    let pool = || engine.memory_pool().leaf("inspect");
    let (path, keys) = (args.what.path(), global.key_provider());
    let shown = match InspectedFile::open(files, path, keys.as_ref(), pool()) {
        Ok(file) => show(&args.what, &file, &engine, is_for_people)?,
        Err(error) if matches!(args.what, What::Pages { filter: None, .. }) && error.is_user() => {
            // Pages can be found without a footer. If there are none, only the footer's error is
            // reported.
            let mut shown = inspect::pages_without_footer(files, path, pool());
            match &mut shown {
                Ok(shown) if !shown.rows.is_empty() => shown.broken.insert(0, error),
                _ => return Err(error.into()),
            }
            shown?
        }
        Err(error) => return Err(error.into()),
    };
    print::whole(global, format, &shown.rows)?;
    let mut broken = shown.broken;
    let Some(last) = broken.pop() else { return Ok(()) };
    broken.iter().for_each(|error| complain(&format!("error: {error}")));
    Err(last.into())
}

fn show(what: &What, file: &InspectedFile, engine: &Engine, is_for_people: bool) -> Result<Shown> {
    let footer = &file.footer;
    let whole = |rows: RowVector| {
        let broken = footer.defect.iter().map(Error::duplicate).collect();
        Shown { rows, broken }
    };
    let mut shown = match what {
        What::Schema { verbose, .. } => {
            let view = inspect::SchemaView { is_tree: is_for_people, is_verbose: *verbose };
            return Ok(whole(inspect::schema(footer, view)?));
        }
        What::File { path } if is_for_people => {
            return Ok(whole(inspect::file_by_property(footer, path)?));
        }
        What::File { path } => return Ok(whole(inspect::file(footer, path)?)),
        What::RowGroups { .. } => return Ok(whole(inspect::row_groups(footer)?)),
        What::Columns(args) => return Ok(whole(inspect::columns(footer, &args.chunks())?)),
        What::Stats(args) => return Ok(whole(inspect::stats(footer, &args.chunks())?)),
        What::Kv { .. } => return Ok(whole(inspect::kv(footer)?)),
        What::Verify { .. } => return verify(file, is_for_people),
        What::Pages { chunks, filter: None } => inspect::pages(file, &chunks.chunks())?,
        What::Pages { chunks, filter: Some(filter) } => {
            let condition = engine.file_condition(&chunks.path, filter)?;
            inspect::pages_under(file, &chunks.chunks(), &condition)?
        }
        What::Dict { chunks, limit } => inspect::dict(file, &chunks.chunks(), *limit)?,
        What::Bloom { chunks, probe } => inspect::bloom(file, &chunks.chunks(), probe.as_deref())?,
    };
    shown.broken.extend(footer.defect.iter().map(Error::duplicate));
    Ok(shown)
}

fn verify(file: &InspectedFile, is_for_people: bool) -> Result<Shown> {
    let report = inspect::verify(file)?;
    let rows = if is_for_people { report.by_problem()? } else { report.by_check()? };
    let num_problems = report.problems().len();
    let broken = (num_problems > 0).then(|| {
        Error::corrupt("the file is not what it says of itself").with("problems", num_problems)
    });
    Ok(Shown { rows, broken: broken.into_iter().collect() })
}
