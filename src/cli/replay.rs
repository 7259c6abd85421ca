//! `ocior replay`: a plan of Velox on the splits of a case.

use std::path::{Path, PathBuf};

use clap::Args;
use vector::{Error, Result, ResultExt};

use super::options::GlobalArgs;
use super::{Outcome, print};
use crate::replay::Replay;
use crate::{Engine, QueryOptions};

const EXAMPLES: &str = "\
Examples:
  ocior replay --plan case/plan.json --case case/case.json
  ocior replay --plan plan.json --case case.json --drivers 4 -f jsonl";

/// Run a plan of Velox, written as JSON, on the splits of a case file
///
/// What cannot be run is refused by name with its place in the JSON.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArgs {
    /// The plan: one plan node with everything below it
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The case: splits by the id of their scan, settings, drivers; ${CASE} in it is its folder
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
}

pub(super) fn run(args: &ReplayArgs, global: &GlobalArgs) -> Outcome {
    let plan = read(&args.plan)?;
    let case = read(&args.case)?;
    let folder = args.case.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let replay = Replay::read(&plan, &case, folder, Engine::HIVE)?;

    let mut builder = global.engine_builder();
    for (key, value) in replay.connector_settings.iter() {
        builder = builder.setting(key, value);
    }
    let mut options = QueryOptions {
        settings: replay.session_settings,
        ..global.query_options(Some(replay.drivers))
    };
    for (key, value) in &global.set {
        options.settings.set(key, value);
    }
    let result = builder.build().run_nodes(&replay.root, replay.splits, &options)?;
    let mut writer = print::open(global, global.output_format(), result.row_type())?;
    for batch in result {
        writer.write(&batch?)?;
    }
    Ok(writer.finish()?)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::from_io(e, "cannot read the file"))
        .in_named("file", path.to_string_lossy())
}
