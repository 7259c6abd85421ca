//! Records runs of Ocior as traces in Velox's older form, which contains the whole plan.
//!
//! ```text
//! plan, splits --plan, expressions, filters, types--> JSON
//! drivers      --Tracer--> DriverTrace: splits, batches --presto--> files of one driver
//! ```
//!
//! ```text
//! ROOT / query_N / task_1 / ...        the trace
//!                / plan.json, case.json     the same query as a case
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `plan`, `handles` | plan nodes, tables and columns |
//! | `expressions`, `values` | expressions, and the literals in them |
//! | `filters`, `types`, `splits` | column filters, types and splits |
//! | `driver` | the files of one driver of one node |
//! | `case` | the case beside the trace |
//!
//! A plan that Velox's form cannot represent is rejected before the query runs.

mod case;
mod driver;
mod expressions;
mod filters;
mod handles;
mod plan;
mod splits;
mod types;
mod values;

use std::path::{Path, PathBuf};

use dwio::config::Config;
use dwio::connector::ConnectorSplit;
use exec::plan::{AggregationStep, PlanNode, PlanNodeId};
use exec::trace::{OperatorTrace, TracedOperator, Tracer};
use serde_json::json;
use vector::sync::{Arc, Mutex};
use vector::{Error, Result, ResultExt};

use super::trace::layout::METADATA;
use case::CaseFile;
use driver::DriverTrace;
use handles::ReadsTables;

/// Name of the folder of the only task of a query.
const TASK: &str = "task_1";

/// Destination and contents of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingOptions {
    /// Folder that contains the folders of all queries.
    pub root: PathBuf,
    /// Ids of the plan nodes that are recorded; all nodes when empty.
    pub nodes: Vec<String>,
    /// SQL text of the query, for information.
    pub sql: Option<String>,
}

/// The recording of one run.
#[derive(Debug)]
pub struct Recording {
    options: RecordingOptions,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folder: Option<PathBuf>,
    case: Option<CaseFile>,
    /// Steps of the plan's aggregations, which a task may split into a partial and a final step.
    steps: Vec<(PlanNodeId, AggregationStep)>,
    traces: Vec<Arc<DriverTrace>>,
}

impl Recording {
    /// Returns a recording that begins when a query runs with it.
    pub fn new(options: RecordingOptions) -> Self {
        Recording { options, state: Mutex::default() }
    }

    /// Makes the folder of the query and writes the files that are known before it runs. Called
    /// once for each recording.
    ///
    /// # Errors
    ///
    /// `Unsupported`, with its name, for a part of the plan that a trace cannot represent.
    pub(crate) fn begin(
        &self,
        root: &Arc<PlanNode>,
        splits: &[(PlanNodeId, Vec<Arc<dyn ConnectorSplit>>)],
        drivers: usize,
        settings: &Config,
    ) -> Result<()> {
        let plan = plan::plan_json(root)?;
        let case = CaseFile::new(root, splits, drivers, self.options.sql.clone())?;
        let mut state = self.state.lock();
        if state.folder.is_some() {
            return Err(Error::internal("a recording was begun twice"));
        }
        let session = ReadsTables::of(root)?.map_or_else(|| json!({}), ReadsTables::session);
        let query = self.query_folder()?;
        let folder = query.join(TASK);
        write(
            &folder.join(METADATA),
            &json!({
                "planNode": plan,
                "queryConfig": self.query_config(settings),
                "connectorProperties": { case::CONNECTOR: session },
            }),
        )?;
        write(&query.join("plan.json"), &plan)?;
        state.folder = Some(folder);
        state.case = Some(case);
        state.steps = steps(root);
        Ok(())
    }

    /// Returns the folder of the query's case; `InvalidInput` before the query runs.
    pub fn folder(&self) -> Result<PathBuf> {
        let state = self.state.lock();
        let query = state.folder.as_ref().and_then(|folder| folder.parent());
        query.map(Path::to_path_buf).ok_or_else(not_begun)
    }

    /// Writes the files that are known after the query has run, and returns the folder of its case.
    ///
    /// # Errors
    ///
    /// The first error of a driver's files.
    pub fn finish(&self) -> Result<PathBuf> {
        let mut state = self.state.lock();
        let traces = std::mem::take(&mut state.traces);
        traces.iter().try_for_each(|trace| trace.check())?;
        let (Some(folder), Some(case)) = (&state.folder, &state.case) else {
            return Err(not_begun());
        };
        let query = folder.parent().unwrap_or(folder);
        let mut nodes: Vec<&str> = traces.iter().map(|trace| trace.node()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        write(&query.join("case.json"), &case.json(TASK, &nodes))?;
        Ok(query.to_path_buf())
    }

    /// Makes a new folder for a query.
    fn query_folder(&self) -> Result<PathBuf> {
        let failed = |e, path: &Path| {
            Error::from_io(e, "cannot make the folder of a trace")
                .in_named("folder", path.to_string_lossy())
        };
        let root = &self.options.root;
        std::fs::create_dir_all(root).map_err(|e| failed(e, root))?;
        let mut number = 1u32;
        loop {
            let path = root.join(format!("query_{number}"));
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let task = path.join(TASK);
                    std::fs::create_dir(&task).map_err(|e| failed(e, &task))?;
                    return Ok(path);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(failed(e, &path)),
            }
        }
    }

    fn query_config(&self, settings: &Config) -> serde_json::Value {
        let of_tracing = [
            ("query_trace_enabled", "true".to_string()),
            ("query_trace_dir", self.options.root.to_string_lossy().into_owned()),
            ("query_trace_node_ids", self.options.nodes.join(",")),
            ("query_trace_task_reg_exp", ".*".to_string()),
        ];
        let of_query = settings.iter().map(|(name, value)| (name, value.to_string()));
        let all = of_tracing.into_iter().chain(of_query);
        all.map(|(name, value)| (name.to_string(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

impl Tracer for Recording {
    fn operator(&self, operator: &TracedOperator<'_>) -> Result<Option<Arc<dyn OperatorTrace>>> {
        let wanted = self.options.nodes.is_empty()
            || self.options.nodes.iter().any(|id| **id == **operator.node);
        let Some(kind) = driver::kind_of(operator).filter(|_| wanted) else { return Ok(None) };
        let mut state = self.state.lock();
        // The final half of an aggregation that is a single step in the plan reads intermediate
        // results, which are not rows of the plan.
        let is_whole = |(id, step): &(PlanNodeId, AggregationStep)| {
            id == operator.node && *step == AggregationStep::Single
        };
        let takes_partials =
            matches!(operator.step, Some(AggregationStep::Intermediate | AggregationStep::Final));
        if takes_partials && state.steps.iter().any(is_whole) {
            return Ok(None);
        }
        let Some(folder) = &state.folder else {
            return Err(Error::internal("a query is traced before its recording has begun"));
        };
        let path = folder
            .join(&**operator.node)
            .join(operator.pipeline.to_string())
            .join(operator.driver.to_string());
        let trace = Arc::new(DriverTrace::new(operator.node, kind, path)?);
        state.traces.push(Arc::clone(&trace));
        Ok(Some(trace))
    }
}

fn not_begun() -> Error {
    Error::invalid_input("nothing was recorded: no query has run")
}

fn steps(root: &PlanNode) -> Vec<(PlanNodeId, AggregationStep)> {
    let mut steps = Vec::new();
    let mut rest = vec![root];
    while let Some(node) = rest.pop() {
        if let PlanNode::Aggregation(aggregation) = node {
            steps.push((Arc::clone(&aggregation.id), aggregation.step));
        }
        rest.extend(node.sources().map(AsRef::as_ref));
    }
    steps
}

/// Writes a JSON file.
fn write(path: &Path, json: &serde_json::Value) -> Result<()> {
    std::fs::write(path, json.to_string())
        .map_err(|e| Error::from_io(e, "cannot write a file of a trace"))
        .in_named("file", path.to_string_lossy())
}
