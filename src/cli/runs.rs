//! Runs a plan once or several times: prints the rows of the last run and the times of all runs.
//!
//! ```text
//! run 1 .. N-1 --> batches dropped    \
//! run N        --> batches printed     +--> seconds of each, statistics of the last
//!                  (and recorded)     /
//! ```

use std::time::Instant;

use clap::Args;
use vector::Result;

use super::interrupt::Watch;
use super::options::{GlobalArgs, at_least_one};
use super::scan_report::ScanReport;
use super::trace::RecordingArgs;
use super::{Outcome, complain, print, trace};
use crate::output::OutputFormat;
use crate::{QueryOptions, QueryResult};

/// Options of commands that run a plan.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Run this many times and print the rows of the last run
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    repeat: usize,
    /// Print the seconds of each run, from its start to the last batch, as JSON on standard error
    #[arg(long)]
    timing: bool,
    /// Report on standard error what the scans read, what they skipped and why; as JSON with -f json
    #[arg(long)]
    pub(super) stats: bool,
    #[command(flatten)]
    recording: RecordingArgs,
}

impl RunArgs {
    /// Calls `start` as many times as requested. The last run is recorded if requested; `sql` is
    /// the statement of the recording, if there is one.
    pub(super) fn run(
        &self,
        global: &GlobalArgs,
        format: OutputFormat,
        (options, sql): (&QueryOptions, Option<&str>),
        start: impl Fn(&QueryOptions) -> Result<QueryResult>,
    ) -> Outcome {
        let mut times = Vec::with_capacity(self.repeat);
        for _ in 1..self.repeat {
            let begin = Instant::now();
            let mut result = start(options)?;
            let _watch = Watch::new(result.canceller());
            result.try_for_each(|batch| batch.map(drop))?;
            times.push(begin.elapsed().as_secs_f64());
        }
        let begin = Instant::now();
        let options = self.recording.options(options, sql);
        let mut result = start(&options)?;
        let _watch = Watch::new(result.canceller());
        result.notes().iter().for_each(|note| complain(&format!("note: {note}")));
        let mut writer = print::open(global, format, result.row_type())?;
        for batch in &mut result {
            writer.write(&batch?)?;
        }
        times.push(begin.elapsed().as_secs_f64());
        writer.finish()?;
        trace::finish(&options)?;
        if self.stats {
            let told = ScanReport::new(result.files(), &result.stats());
            complain(&told.to_string(global.output_format()));
        }
        if self.timing {
            complain(&serde_json::json!({ "times": times }).to_string());
        }
        Ok(())
    }
}
