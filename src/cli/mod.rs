//! The command line. Rows go to standard output, errors and timings to standard error.
//!
//! ```text
//! arguments --clap--> Command --> Engine --batches--> output format --> stdout or a file
//!                        \-- one file per command: query, scan, inspect, explain,
//!                            replay, trace
//! ```
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | success |
//! | 1 | the query or its data failed; the message explains how |
//! | 2 | invalid command line |
//! | 130, 143 | ended by SIGINT or SIGTERM; temporary files are removed |
//! | 141 | the reader of the output pipe has closed it; no message |
//!
//! Only the help text is coloured, and only on a terminal without `NO_COLOR`.

mod explain;
mod inspect;
mod interrupt;
mod keys;
mod options;
mod output_file;
mod print;
mod query;
mod replay;
mod runs;
mod scan;
mod scan_report;
mod trace;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use vector::Error;

use crate::output::is_closed_pipe;

pub use interrupt::interrupt;

use options::GlobalArgs;
use output_file::OutputFile;

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_PIPE_CLOSED: u8 = 141;

const EXAMPLES: &str = "\
Examples:
  ocior query \"SELECT count(*) FROM 'sales.parquet'\"
  ocior query --table sales=data/sales -f csv \"SELECT ds, sum(price) FROM sales GROUP BY ds\"
  ocior scan sales.parquet --columns ds,price --where 'price > 100' --limit 10
  ocior inspect schema sales.parquet

Exit codes: 0 done, 1 the query or its data failed, 2 wrong command line, 130 and 143 ended by
SIGINT and SIGTERM, 141 output pipe closed.";

/// A columnar scan engine: Hive tables in Parquet, read selectively
#[derive(Debug, Parser)]
#[command(name = "ocior", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(query::QueryArgs),
    Scan(scan::ScanArgs),
    Explain(explain::ExplainArgs),
    Inspect(inspect::InspectArgs),
    Replay(replay::ReplayArgs),
    Trace(trace::TraceArgs),
}

/// Reason for which a command failed.
#[derive(Debug)]
enum Failure {
    /// The arguments are inconsistent.
    Usage(String),
    /// Any other error.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

type Outcome = Result<(), Failure>;

/// Runs the program with the arguments of the process. Calls `when_limited` first where they limit
/// memory: what its allocator keeps is the program's matter.
pub fn main(when_limited: fn()) -> ExitCode {
    let mut cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(stop) => return stopped_by_clap(&stop),
    };
    if cli.global.output.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        cli.global.output = None;
    }
    if cli.global.memory.is_some() {
        when_limited();
    }
    cli.global.output_file = cli.global.output.as_deref().and_then(OutputFile::of);
    let outcome = cli.global.check_output().and_then(|()| run(&cli));
    // Temporary files are removed before the process ends.
    drop(cli);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // After a signal any error is a consequence of the cancellation.
        Err(_) if interrupt::signal().is_some() => {
            let signal = interrupt::signal().and_then(|signal| u8::try_from(signal).ok());
            ExitCode::from(128 | signal.unwrap_or(0))
        }
        Err(Failure::Usage(sentence)) => {
            complain(&format!("error: {sentence}\n\nFor more information, try '--help'."));
            ExitCode::from(EXIT_USAGE)
        }
        Err(Failure::Error(error)) if is_closed_pipe(&error) => ExitCode::from(EXIT_PIPE_CLOSED),
        Err(Failure::Error(error)) => {
            complain(&format!("error: {error}"));
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Runs the command and publishes the file of `-o` if it succeeds.
fn run(cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Query(args) => query::run(args, &cli.global),
        Command::Scan(args) => scan::run(args, &cli.global),
        Command::Explain(args) => explain::run(args, &cli.global),
        Command::Inspect(args) => inspect::run(args, &cli.global),
        Command::Replay(args) => replay::run(args, &cli.global),
        Command::Trace(args) => trace::run(args, &cli.global),
    }?;
    if let Some(file) = &cli.global.output_file {
        file.publish()?;
    }
    Ok(())
}

/// Prints the message of the argument parser. Help and version are successful unless the output
/// pipe is closed; any other message is an invalid command line.
fn stopped_by_clap(stop: &clap::Error) -> ExitCode {
    match stop.print() {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe && !stop.use_stderr() => {
            ExitCode::from(EXIT_PIPE_CLOSED)
        }
        _ => ExitCode::from(if stop.use_stderr() { EXIT_USAGE } else { 0 }),
    }
}

/// Prints to standard error. If standard error is closed, only the exit code reports the failure.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
