//! Replay: reads plans of Velox, written as JSON, with the splits of a case or of a trace, and runs
//! them as plans of Ocior.
//!
//! ```text
//! plan JSON --nodes, aggregates--> PlanNode
//!              expressions            function names; types are derived again
//!              handles, filters       tables, columns, conditions pushed into scans
//!              types, values, serialized
//! case JSON --splits--> HiveSplit for each scan, settings, number of drivers
//!
//! plan, drivers --record, presto--> a trace that is read the same way
//! trace folder --trace, presto--> nodes of the plan with the recorded splits or rows
//!
//! json   values with their position in the document
//! ```
//!
//! A part of a plan that cannot be run is rejected with its name and its position in the JSON, and
//! is never left out; members that do not change the result rows are ignored.

mod aggregates;
mod expressions;
mod filters;
mod handles;
mod json;
mod nodes;
mod output_type;
mod paths;
pub mod presto;
mod query_settings;
pub mod record;
mod serialized;
mod splits;
mod spread;
pub mod trace;
mod types;
mod values;

use std::path::Path;

use dwio::config::Config;
use dwio::connector::{Connector, ConnectorSplit};
use exec::expr::FunctionRegistry;
use exec::plan::{PlanNode, PlanNodeId};
use vector::sync::Arc;
use vector::{Error, Result};

use expressions::Expressions;
use json::Json;
use nodes::Nodes;
use query_settings::Meaning;

pub use paths::PathMap;

/// A plan with the splits and settings that it is run with.
#[derive(Debug)]
pub struct Replay {
    /// Topmost node of the plan.
    pub root: Arc<PlanNode>,
    /// Splits of the scans, by the scan's id.
    pub splits: Vec<(PlanNodeId, Vec<Arc<dyn ConnectorSplit>>)>,
    /// Connectors that the plan needs beside the one for tables.
    pub connectors: Vec<Arc<dyn Connector>>,
    /// Number of drivers that the case was run with.
    pub drivers: usize,
    /// Settings of the connector.
    pub connector_settings: Config,
    /// Settings of the session, which take precedence over those of the connector.
    pub session_settings: Config,
}

impl Replay {
    /// Returns a plan without splits, run by one driver.
    fn of(root: Arc<PlanNode>) -> Self {
        Replay {
            root,
            splits: Vec::new(),
            connectors: Vec::new(),
            drivers: 1,
            connector_settings: Config::new(),
            session_settings: Config::new(),
        }
    }

    /// Reads the plan in `plan` and the case in `case`, both JSON text, for tables of connector
    /// `connector_id`. `${CASE}` in the case is replaced by `folder`, and file paths are mapped by
    /// `paths`.
    /// The plan may call `functions`, which are those of the engine that runs it.
    ///
    /// # Errors
    ///
    /// `Unsupported` for what cannot be run, `InvalidInput` for malformed input; both with the
    /// position in the JSON.
    pub fn read(
        plan: &str,
        case: &str,
        folder: &Path,
        connector_id: &str,
        paths: &PathMap,
        functions: &Arc<FunctionRegistry>,
    ) -> Result<Self> {
        let plan = parse("plan", plan)?;
        let parsed = parse("case", case)?;
        let case_json = Json::root("case", &parsed);
        let nodes = Nodes {
            connector_id,
            expressions: Expressions::new(functions),
            drivers: drivers(&case_json)?.unwrap_or(1),
            fed: Vec::new(),
        };
        let mut replay = Replay::of(nodes.read(&Json::root("plan", &plan))?);
        replay.apply_case(case)?;
        let case = case_json;
        let folder = folder.to_string_lossy();
        for (scan, splits) in case.optional_members("splits")? {
            if !has_scan(&replay.root, scan) {
                return Err(splits.locate(Error::invalid_input("the plan has no such scan")));
            }
            let splits = splits.elements()?;
            let splits = splits.iter().map(|split| {
                let mut split = splits::read_split(split, connector_id, Some(&folder))?;
                paths.apply(&mut split);
                Ok(Arc::new(split) as Arc<dyn ConnectorSplit>)
            });
            replay.splits.push((scan.into(), splits.collect::<Result<_>>()?));
        }
        Ok(replay)
    }

    /// Applies the settings and the number of drivers of a case; values that the case does not
    /// contain are kept.
    pub fn apply_case(&mut self, case: &str) -> Result<()> {
        let case = parse("case", case)?;
        let case = Json::root("case", &case);
        for (key, value) in case.optional_members("hive_config")? {
            self.connector_settings.set(key, value.setting()?);
        }
        for (key, value) in case.optional_members("session_config")? {
            self.session_settings.set(key, value.setting()?);
        }
        for (key, value) in case.optional_members("query_config")? {
            let text = value.setting()?;
            if value.check(query_settings::meaning(key, &text))? == Meaning::Honoured {
                self.session_settings.set(key, text);
            }
        }
        if let Some(drivers) = drivers(&case)? {
            self.drivers = drivers;
        }
        if let Some(zone) = case.optional("process_time_zone")? {
            self.connector_settings.set("process-time-zone", zone.text()?);
        }
        Ok(())
    }
}

fn parse(document: &'static str, text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|e| {
        Error::invalid_input("a text that is not JSON").with("document", document).caused_by(e)
    })
}

/// Returns the number of drivers that a case was run with.
fn drivers(case: &Json<'_>) -> Result<Option<usize>> {
    let drivers = case.optional("drivers")?.map(|drivers| drivers.integer::<usize>());
    Ok(drivers.transpose()?.map(|drivers| drivers.max(1)))
}

fn has_scan(root: &PlanNode, id: &str) -> bool {
    root.scans().iter().any(|scan| *scan.id == *id)
}
