//! `ocior explain`: prints the plan of a statement, the conditions pushed down into its scans, and
//! where each condition is tested; with `--analyze` also the statistics of a run.

mod analyze;
mod tree;

use std::io::Write as _;
use std::time::Instant;

use clap::Args;
use exec::plan::PlanNode;
use serde_json::{Map, Value as Json};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Type, Value};

use self::analyze::Run;
use super::options::{GlobalArgs, SqlArgs};
use super::{Outcome, print};
use crate::Plan;
use crate::engine::{PredicatePlacement, PushedScan};
use crate::output::OutputFormat;

const EXAMPLES: &str = "\
Examples:
  ocior explain \"SELECT count(*) FROM 'sales' WHERE ds = '2026-09-01' AND price > 100\"
  ocior explain --analyze \"SELECT ds, sum(price) FROM 'sales' GROUP BY ds\"
  ocior explain --analyze --json -F report.sql
  ocior explain --why \"SELECT 1 FROM 'sales' WHERE lower(name) = 'x' AND id IN (1, 7)\"";

/// Setting that makes drivers measure CPU time and batch sizes.
const MEASURE: &str = "track_operator_cpu_usage";

/// Print the plan of a statement and what is pushed into its scans; --analyze also runs it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    sql: SqlArgs,
    /// Run the statement and print for each node its rows, batches, times and waits, and what was
    /// read and skipped; a COPY writes its files
    #[arg(long)]
    analyze: bool,
    /// Print JSON, as -f json does
    #[arg(long)]
    json: bool,
    /// Instead of the plan, print for each term of WHERE and HAVING where it is evaluated and why it
    /// is not evaluated earlier
    #[arg(long, conflicts_with = "analyze")]
    why: bool,
}

pub(super) fn run(args: &ExplainArgs, global: &GlobalArgs) -> Outcome {
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let mut options = global.query_options(None);
    if args.analyze && options.settings.text(MEASURE).is_none() {
        options.settings.set(MEASURE, "true");
    }
    let start = Instant::now();
    let plan = engine.plan_with(&args.sql.text()?, &options)?;
    let format = if args.json { OutputFormat::Json } else { global.output_format() };
    if args.why {
        let terms = table_of(&engine.why(&plan)?)?;
        return Ok(print::whole(global, format, &terms)?);
    }
    let run = match args.analyze {
        true => Some(Run::drain(engine.run(&plan, &options)?, start)?),
        false => None,
    };
    let pushed = engine.pushed(&plan)?;
    let text = match format {
        OutputFormat::Json | OutputFormat::JsonLines | OutputFormat::CanonicalJsonLines => {
            in_json(&plan, &pushed, run.as_ref())
        }
        _ => in_words(&plan, &pushed, run.as_ref()),
    };
    let mut out = print::destination(global)?;
    writeln!(out, "{}", text.trim_end())
        .and_then(|()| out.flush())
        .map_err(|e| Error::from_io(e, "cannot write the output"))?;
    Ok(())
}

fn in_words(plan: &Plan, pushed: &[PushedScan], run: Option<&Run>) -> String {
    let copy = plan.copies_to().map(|target| {
        let writers = run.map(Run::writers).unwrap_or_default();
        [format!("-- Copy[{target}]")].into_iter().chain(writers).collect::<Vec<_>>().join("\n")
    });
    let notes = |node: &PlanNode| run.map(|run| run.notes(node)).unwrap_or_default();
    let tree = tree::text(plan.root(), pushed, &notes);
    let mut parts: Vec<String> = run.map(Run::summary).into_iter().chain(copy).collect();
    parts.push(tree);
    parts.extend(run.map(Run::pipelines).unwrap_or_default());
    parts.join("\n")
}

fn in_json(plan: &Plan, pushed: &[PushedScan], run: Option<&Run>) -> String {
    let notes = |node: &PlanNode, members: &mut Map<String, Json>| {
        if let Some(run) = run {
            run.add_to(node, members);
        }
    };
    let mut tree = tree::json(plan.root(), pushed, &notes);
    if let (Some(target), Some(members)) = (plan.copies_to(), tree.as_object_mut()) {
        members.insert("copy".into(), target.into());
    }
    run.map_or_else(|| tree.to_string(), |run| run.json(tree.clone()).to_string())
}

fn table_of(terms: &[PredicatePlacement]) -> Result<RowVector> {
    let names = ["condition", "tested_by", "tested_as", "pruned_by", "why_not_earlier"];
    let text = |text: &str| Value::bytes(text);
    let or_null = |given: &Option<String>| given.as_deref().map_or(Value::Null, text);
    let rows = terms.iter().map(|term| {
        [
            text(&term.term),
            text(&term.station.to_string()),
            text(&term.tested_as),
            or_null(&term.pruned_by),
            or_null(&term.why_not_earlier),
        ]
    });
    let rows: Vec<[Value; 5]> = rows.collect();
    let column = |i: usize| vector_of(&Type::Varchar, rows.iter().filter_map(|row| row.get(i)));
    let columns = (0..names.len()).map(column).collect::<Result<_>>()?;
    let row_type = RowType::new(names.map(|name| (name, Type::Varchar)));
    RowVector::batch(Arc::new(row_type), rows.len(), columns)
}
