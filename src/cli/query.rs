//! `ocior query`: runs a SELECT or COPY statement over files.

use clap::Args;

use super::Outcome;
use super::options::{GlobalArgs, SqlArgs};
use super::runs::RunArgs;
use crate::QueryOptions;
use crate::output::OutputFormat;

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
    #[command(flatten)]
    runs: RunArgs,
}

pub(super) fn run(args: &QueryArgs, global: &GlobalArgs) -> Outcome {
    let sql = args.sql.text()?;
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let options = global.query_options(None);
    // Results of queries are read by programs; canonical lines are for comparing files.
    let format = match global.output_format() {
        OutputFormat::CanonicalJsonLines => OutputFormat::JsonLines,
        format => format,
    };
    let query = |options: &QueryOptions| engine.query_with(&sql, options);
    args.runs.run(global, format, (&options, Some(&sql)), query)
}
