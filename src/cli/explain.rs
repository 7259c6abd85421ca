//! `ocior explain`: how a statement would be run.

use std::io::Write as _;

use clap::Args;
use vector::Error;

use super::options::{GlobalArgs, SqlArgs};
use super::{Outcome, print};

/// Print the plan of a SELECT statement without running it
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    sql: SqlArgs,
}

pub(super) fn run(args: &ExplainArgs, global: &GlobalArgs) -> Outcome {
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let plan = engine.plan_with(&args.sql.text()?, &global.query_options(None))?.to_string();
    let mut out = print::destination(global)?;
    writeln!(out, "{}", plan.trim_end())
        .and_then(|()| out.flush())
        .map_err(|e| Error::from_io(e, "cannot write the output"))?;
    Ok(())
}
