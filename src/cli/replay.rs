//! `ocior replay`: runs a Velox plan on the splits of a case, or a node of a trace on its recorded
//! input.

use std::path::{Path, PathBuf};

use clap::Args;
use dwio::config::Config;
use exec::expr::FunctionRegistry;
use vector::sync::Arc;
use vector::{Error, Result, ResultExt};

use super::options::GlobalArgs;
use super::runs::RunArgs;
use super::{Outcome, complain, print};
use crate::output::OutputFormat;
use crate::replay::trace::{Trace, TraceContext, TraceSettings};
use crate::replay::{PathMap, Replay};
use crate::{Engine, QueryOptions};

const EXAMPLES: &str = "\
Examples:
  ocior replay --plan case/plan.json --case case/case.json
  ocior replay --plan plan.json --case case.json --drivers 4 -f jsonl
  ocior replay --trace traces/query_1/task_1
  ocior replay --trace traces/query_1/task_1 --node 0 --map-path s3a://lake=/mnt/lake --timing";

/// Run a Velox plan in JSON, or a node of a trace that Velox recorded
///
/// A plan that cannot be run is refused with the name and the JSON path of the unsupported part.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArgs {
    /// The plan: a plan node with its sources
    #[arg(long, value_name = "FILE", required_unless_present = "trace", requires = "case")]
    plan: Option<PathBuf>,
    /// The trace: the folder of one task; its contents are listed unless --node is given
    #[arg(long, value_name = "DIR", conflicts_with = "plan")]
    trace: Option<PathBuf>,
    /// The plan node of the trace to run
    #[arg(long, value_name = "ID", requires = "trace")]
    node: Option<String>,
    /// The case: splits by the id of their scan, settings, drivers; ${CASE} is its folder
    #[arg(long, value_name = "FILE")]
    case: Option<PathBuf>,
    /// Replace the prefix FROM of file paths by TO
    #[arg(long, value_name = "FROM=TO", value_parser = super::options::key_value)]
    map_path: Vec<(String, String)>,
    #[command(flatten)]
    runs: RunArgs,
}

pub(super) fn run(args: &ReplayArgs, global: &GlobalArgs) -> Outcome {
    let case = args.case.as_deref().map(Case::read).transpose()?;
    let functions = Arc::new(FunctionRegistry::builtin());
    let paths = PathMap::new(args.map_path.iter().cloned());
    let replay = match (&args.trace, &args.plan, &args.node) {
        (Some(folder), _, None) => return list(&Trace::open(folder)?, global),
        (Some(folder), _, Some(node)) => {
            let trace = Trace::open(folder)?;
            if args.runs.stats {
                tell_settings(&trace.settings()?);
            }
            let surroundings = TraceContext {
                case_folder: case.as_ref().map(|case| case.folder.to_string_lossy().into_owned()),
                paths,
                connector_id: Engine::HIVE.to_string(),
                functions,
            };
            let mut replay = trace.replay(node, &surroundings)?;
            if let Some(case) = &case {
                replay.apply_case(&case.text)?;
            }
            replay
        }
        (None, Some(plan), _) => {
            let case = case.ok_or_else(|| Error::internal("a plan came without a case"))?;
            Replay::read(&read(plan)?, &case.text, &case.folder, Engine::HIVE, &paths, &functions)?
        }
        (None, None, _) => return Err(Error::internal("neither a plan nor a trace").into()),
    };
    run_replay(&replay, args, global)
}

/// The text of a case file and the folder that contains it.
struct Case {
    text: String,
    folder: PathBuf,
}

impl Case {
    fn read(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Case { text: read(path)?, folder: folder.unwrap_or(Path::new(".")).to_path_buf() })
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::from_io(e, "cannot read the file"))
        .in_named("file", path.to_string_lossy())
}

fn run_replay(replay: &Replay, args: &ReplayArgs, global: &GlobalArgs) -> Outcome {
    let mut builder = global.engine_builder();
    for (key, value) in replay.connector_settings.iter() {
        builder = builder.setting(key, value);
    }
    for connector in &replay.connectors {
        builder = builder.connector(connector.clone());
    }
    let mut options = QueryOptions {
        settings: replay.session_settings.clone(),
        ..global.query_options(Some(replay.drivers))
    };
    for (key, value) in &global.set {
        options.settings.set(key, value);
    }
    let engine = builder.build();
    args.runs.run(global, global.output_format(), (&options, None), |options| {
        engine.run_nodes(&replay.root, replay.splits.clone(), options)
    })
}

/// Prints the contents of a trace. Its settings go to standard error.
fn list(trace: &Trace, global: &GlobalArgs) -> Outcome {
    let listing = trace.listing()?;
    let settings = trace.settings()?;
    let format = global.chosen_format().unwrap_or(OutputFormat::Table);
    print::whole(global, format, &listing)?;
    tell_settings(&settings);
    Ok(())
}

fn tell_settings(settings: &TraceSettings) {
    let pairs = |config: &Config| {
        let pairs: Vec<String> =
            config.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { "none".to_string() } else { pairs.join(", ") }
    };
    complain(&format!("settings honoured: {}", pairs(&settings.honoured)));
    complain(&format!("settings ignored: {}", pairs(&settings.ignored)));
}
