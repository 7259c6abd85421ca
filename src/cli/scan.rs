//! `ocior scan`: prints the rows of files, without SQL.

use clap::Args;

use super::interrupt::Watch;
use super::options::GlobalArgs;
use super::{Outcome, complain, print};
use crate::ScanRequest;

const EXAMPLES: &str = "\
Examples:
  ocior scan part-0.parquet --limit 10
  ocior scan warehouse/t --columns id,address.city --where \"ds >= '2026-09-01'\"
  ocior scan a.parquet b.parquet -f jsonl";

/// Print the rows of files, directories or glob patterns, in the order given
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScanArgs {
    /// Files, directories with Hive partitions, or glob patterns
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// The columns to print, by name or by path into a struct; all by default
    #[arg(long, value_name = "A,B.C", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// SQL condition that selects the rows
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    filter: Option<String>,
    /// Maximum number of rows to print
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// Number of drivers by default. Only with one driver, rows keep the order of the files.
const DEFAULT_DRIVERS: usize = 1;

pub(super) fn run(args: &ScanArgs, global: &GlobalArgs) -> Outcome {
    let engine = global.engine();
    let request = ScanRequest {
        paths: args.paths.clone(),
        columns: args.columns.clone(),
        filter: args.filter.clone(),
        limit: args.limit,
    };
    let result = engine.scan(&request, &global.query_options(Some(DEFAULT_DRIVERS)))?;
    let _watch = Watch::new(result.canceller());
    result.notes().iter().for_each(|note| complain(&format!("note: {note}")));
    let mut writer = print::open(global, global.output_format(), result.row_type())?;
    for batch in result {
        writer.write(&batch?)?;
    }
    Ok(writer.finish()?)
}
