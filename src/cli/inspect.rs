//! `ocior inspect`: what the footer of a file says.

use clap::{Args, Subcommand};

use super::options::GlobalArgs;
use super::{Outcome, print};
use crate::inspect;
use crate::output::OutputFormat;

const EXAMPLES: &str = "\
Examples:
  ocior inspect file part-0.parquet
  ocior inspect schema part-0.parquet -v
  ocior inspect columns part-0.parquet --row-group 0 -f json";

/// Show what the footer of a Parquet file says
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
        /// Levels and field ids too
        #[arg(short, long)]
        verbose: bool,
    },
    /// Version, writer, rows, sizes and the writer's notes
    File {
        /// The file
        path: String,
    },
    /// Rows, bytes and place of each row group
    RowGroups {
        /// The file
        path: String,
    },
    /// How each column is written in each row group
    Columns {
        /// The file
        path: String,
        /// Only this column, or everything below it
        #[arg(long, value_name = "PATH")]
        column: Option<String>,
        /// Only this row group
        #[arg(long, value_name = "N")]
        row_group: Option<usize>,
    },
}

pub(super) fn run(args: &InspectArgs, global: &GlobalArgs) -> Outcome {
    let format = global.chosen_format().unwrap_or(OutputFormat::Table);
    let is_for_people = matches!(format, OutputFormat::Table | OutputFormat::Markdown);
    let engine = global.engine();
    let keys = global.key_provider();
    let open = |path: &str| inspect::open(engine.file_system().as_ref(), path, keys.as_ref());
    let batch = match &args.what {
        What::Schema { path, verbose } => {
            let view = inspect::SchemaView { is_tree: is_for_people, is_verbose: *verbose };
            inspect::schema(&open(path)?, view)?
        }
        What::File { path } if is_for_people => inspect::file_by_property(&open(path)?, path)?,
        What::File { path } => inspect::file(&open(path)?, path)?,
        What::RowGroups { path } => inspect::row_groups(&open(path)?)?,
        What::Columns { path, column, row_group } => {
            let wanted = inspect::ColumnsOf { column: column.clone(), row_group: *row_group };
            inspect::columns(&open(path)?, &wanted)?
        }
    };
    Ok(print::whole(global, format, &batch)?)
}
