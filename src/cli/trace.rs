//! `ocior trace record`: runs a query and records its trace as a case that can be replayed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt};

use super::interrupt::Watch;
use super::options::{GlobalArgs, SqlArgs};
use super::{Outcome, complain, print};
use crate::QueryOptions;
use crate::output::{OutputFormat, batch_writer};
use crate::replay::record::{Recording, RecordingOptions};

const EXAMPLES: &str = "\
Examples:
  ocior trace record --trace-dir traces \"SELECT count(*) FROM 'sales.parquet' WHERE price > 9\"
  ocior replay --trace traces/query_1/task_1
  ocior replay --plan traces/query_1/plan.json --case traces/query_1/case.json";

/// Record traces in the format of Velox
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    Record(RecordArgs),
}

/// Run a SELECT statement and record it: plan, splits, the input of each operator, and the rows
///
/// Prints the folder of the query, which contains the trace, plan.json, case.json and expected.jsonl.
#[derive(Debug, Args)]
struct RecordArgs {
    #[command(flatten)]
    sql: SqlArgs,
    /// Folder that contains the recorded queries
    #[arg(long, value_name = "DIR")]
    trace_dir: PathBuf,
    /// Record only these plan nodes
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    trace_nodes: Vec<String>,
}

/// Options of commands that can record what they run.
#[derive(Debug, Args)]
pub(super) struct RecordingArgs {
    /// Record a trace of the last run, in the format of Velox, in this folder
    #[arg(long, value_name = "DIR")]
    trace_dir: Option<PathBuf>,
    /// Record only these plan nodes
    #[arg(long, value_name = "ID,..", value_delimiter = ',', requires = "trace_dir")]
    trace_nodes: Vec<String>,
}

impl RecordingArgs {
    /// Returns the options of the last run, with a recording if one is requested.
    pub(super) fn options(&self, options: &QueryOptions, sql: Option<&str>) -> QueryOptions {
        let recording = self.trace_dir.as_ref().map(|root| {
            Arc::new(Recording::new(RecordingOptions {
                root: root.clone(),
                nodes: self.trace_nodes.clone(),
                sql: sql.map(str::to_string),
            }))
        });
        QueryOptions { recording, ..options.clone() }
    }
}

/// Finishes the recording of a run, if there is one, and prints its folder.
pub(super) fn finish(options: &QueryOptions) -> Result<()> {
    if let Some(recording) = &options.recording {
        complain(&format!("trace: {}", recording.finish()?.display()));
    }
    Ok(())
}

pub(super) fn run(args: &TraceArgs, global: &GlobalArgs) -> Outcome {
    match &args.command {
        TraceCommand::Record(args) => record(args, global),
    }
}

fn record(args: &RecordArgs, global: &GlobalArgs) -> Outcome {
    let sql = args.sql.text()?;
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let recording = Arc::new(Recording::new(RecordingOptions {
        root: args.trace_dir.clone(),
        nodes: args.trace_nodes.clone(),
        sql: Some(sql.clone()),
    }));
    let options =
        QueryOptions { recording: Some(Arc::clone(&recording)), ..global.query_options(None) };
    let result = engine.query_with(&sql, &options)?;
    let _watch = Watch::new(result.canceller());
    let path = recording.folder()?.join("expected.jsonl");
    let file = File::create(&path)
        .map_err(|e| Error::from_io(e, "cannot write a file of a trace"))
        .in_named("file", path.to_string_lossy())?;
    let out: Box<dyn Write> = Box::new(BufWriter::new(file));
    let mut writer = batch_writer(OutputFormat::CanonicalJsonLines, result.row_type(), out)?;
    for batch in result {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    drop(writer);
    let folder = recording.finish()?;
    writeln!(print::destination(global)?, "{}", folder.display())
        .map_err(|e| Error::from_io(e, "cannot write the output"))?;
    Ok(())
}
