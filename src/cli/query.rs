//! `ocior query`: a SELECT or COPY statement over files.

use std::time::Instant;

use clap::Args;
use vector::Result;

use super::options::{GlobalArgs, SqlArgs, at_least_one};
use super::scan_report::ScanReport;
use super::trace::RecordingArgs;
use super::{Outcome, complain, print, trace};
use crate::QueryResult;

const EXAMPLES: &str = "\
Examples:
  ocior query \"SELECT * FROM 'events/*.parquet' WHERE day = '2026-09-01' LIMIT 5\"
  ocior query --table t=warehouse/t -f jsonl \"SELECT ds, count(*) FROM t GROUP BY ds\"
  ocior query -F report.sql -o report.csv
  ocior query \"COPY (SELECT * FROM 'sales') TO 'by-day' (FORMAT parquet, PARTITION_BY (ds))\"
  ocior query \"COPY 'sales.parquet' TO 'sales.csv' (HEADER false, OVERWRITE)\"
  ocior query --stats \"SELECT max(price) FROM 'sales.parquet' WHERE id = 17\"
  echo 'SELECT 1' | ocior query";

/// Run a SELECT statement over files, or write its rows into files with COPY
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
    /// Tell on standard error what the scans read, what they left out and why; as JSON with -f json
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    recording: RecordingArgs,
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
            let options = args.recording.options(&options, Some(&sql));
            let result = engine.query_with(&sql, &options)?;
            let (seconds, told) = print_rows(result, global, start)?;
            times.push(seconds);
            trace::finish(&options)?;
            if args.stats {
                complain(&told.to_string(global.output_format()));
            }
        }
    }
    if args.timing {
        complain(&serde_json::json!({ "times": times }).to_string());
    }
    Ok(())
}

pub(super) fn drain(mut result: QueryResult) -> Result<()> {
    result.try_for_each(|batch| batch.map(drop))
}

/// Prints the rows as they come; gives the seconds from `start` to the last batch, and what was
/// counted.
pub(super) fn print_rows(
    mut result: QueryResult,
    global: &GlobalArgs,
    start: Instant,
) -> Result<(f64, ScanReport)> {
    let mut writer = print::open(global, global.output_format(), result.row_type())?;
    for batch in &mut result {
        writer.write(&batch?)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    writer.finish()?;
    Ok((seconds, ScanReport::new(result.files(), &result.stats())))
}
