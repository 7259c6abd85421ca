//! `ocior explain`: how a statement would be run, and where its conditions are tested.

use std::io::Write as _;

use clap::Args;
use exec::plan::PlanNode;
use serde_json::{Value as Json, json};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Type, Value};

use super::options::{GlobalArgs, SqlArgs};
use super::{Outcome, print};
use crate::engine::Whereabouts;
use crate::output::OutputFormat;

const EXAMPLES: &str = "\
Examples:
  ocior explain \"SELECT count(*) FROM 'sales' WHERE ds = '2026-09-01' AND price > 100\"
  ocior explain --why \"SELECT 1 FROM 'sales' WHERE lower(name) = 'x' AND id IN (1, 7)\"";

/// Print the plan of a SELECT statement without running it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    sql: SqlArgs,
    /// Instead of the plan, print of each term of WHERE and HAVING where it is tested and why not
    /// earlier
    #[arg(long)]
    why: bool,
}

pub(super) fn run(args: &ExplainArgs, global: &GlobalArgs) -> Outcome {
    let mut engine = global.engine();
    args.sql.register_tables(&mut engine)?;
    let plan = engine.plan_with(&args.sql.text()?, &global.query_options(None))?;
    if args.why {
        let terms = table_of(&engine.why(&plan)?)?;
        return Ok(print::whole(global, global.output_format(), &terms)?);
    }
    let text = match global.output_format() {
        OutputFormat::Json | OutputFormat::JsonLines => node(plan.root()).to_string(),
        _ => plan.to_string(),
    };
    let mut out = print::destination(global)?;
    writeln!(out, "{}", text.trim_end())
        .and_then(|()| out.flush())
        .map_err(|e| Error::from_io(e, "cannot write the output"))?;
    Ok(())
}

/// A node with its source inside of it.
fn node(node: &PlanNode) -> Json {
    // Statements are bounded, and so are their plans.
    let output = node.output_type().fields();
    let columns = output.map(|(name, ty)| json!({ "name": name, "type": ty.to_string() }));
    json!({
        "node": node.name(),
        "id": &**node.id(),
        "details": node.details(),
        "output": columns.collect::<Vec<_>>(),
        "source": node.source().map(|source| self::node(source)),
        "build": node.sources().nth(1).map(|source| self::node(source)),
    })
}

fn table_of(terms: &[Whereabouts]) -> Result<RowVector> {
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
