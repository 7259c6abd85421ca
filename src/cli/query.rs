//! `ocior query`: a SELECT statement over files.

use std::time::Instant;

use clap::Args;
use vector::Result;

use super::options::{GlobalArgs, SqlArgs, at_least_one};
use super::{Outcome, complain, print};
use crate::{Engine, QueryOptions, QueryResult};

const EXAMPLES: &str = "\
Examples:
  ocior query \"SELECT * FROM 'events/*.parquet' WHERE day = '2026-09-01' LIMIT 5\"
  ocior query --table t=warehouse/t -f jsonl \"SELECT ds, count(*) FROM t GROUP BY ds\"
  ocior query -F report.sql -o report.csv
  echo 'SELECT 1' | ocior query";

/// Run a SELECT statement over files
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    sql: SqlArgs,
    /// Run the statement this many times and print the rows of the last run
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    repeat: usize,
    /// Print the seconds of each run, from planning to the last batch, as JSON on standard error
    #[arg(long)]
    timing: bool,
}

pub(super) fn run(args: &QueryArgs, global: &GlobalArgs) -> Outcome {
    let sql = args.sql.text()?;
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let options = global.query_options(None);
    let mut times = Vec::with_capacity(args.repeat);
    for run in 1..=args.repeat {
        let start = Instant::now();
        if run < args.repeat {
            drain(engine.query_with(&sql, &options)?)?;
            times.push(start.elapsed().as_secs_f64());
        } else {
            times.push(print_last(&engine, &sql, &options, global, start)?);
        }
    }
    if args.timing {
        complain(&serde_json::json!({ "times": times }).to_string());
    }
    Ok(())
}

fn drain(mut result: QueryResult) -> Result<()> {
    result.try_for_each(|batch| batch.map(drop))
}

/// Prints the rows as they come and gives the seconds from `start` to the last batch.
fn print_last(
    engine: &Engine,
    sql: &str,
    options: &QueryOptions,
    global: &GlobalArgs,
    start: Instant,
) -> Result<f64> {
    let result = engine.query_with(sql, options)?;
    let mut writer = print::open(global, global.output_format(), result.row_type())?;
    for batch in result {
        writer.write(&batch?)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    writer.finish()?;
    Ok(seconds)
}
