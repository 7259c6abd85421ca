//! Plans of Velox, written as JSON, with the splits of a case: read into our plans.
//!
//! ```text
//! plan JSON --nodes, aggregates--> PlanNode
//!              expressions            names of functions, types derived again
//!              handles, filters       tables, columns, what is pushed into scans
//!              types, values, serialized
//! case JSON --splits--> HiveSplit for each scan, settings, number of drivers
//!
//! json   values that know their place
//! ```
//!
//! What cannot be run is refused by name with its place in the JSON, never left out; members that
//! change nothing about the rows are passed over.

mod aggregates;
mod expressions;
mod filters;
mod handles;
mod json;
mod nodes;
mod serialized;
mod splits;

mod types;
mod values;

use std::path::Path;

use dwio::config::Config;
use dwio::connector::ConnectorSplit;
use exec::plan::{PlanNode, PlanNodeId};
use vector::sync::Arc;
use vector::{Error, Result};

use expressions::Expressions;
use json::Json;
use nodes::Nodes;

/// A plan and what it is run on.
#[derive(Debug)]
pub struct Replay {
    /// The topmost node.
    pub root: Arc<PlanNode>,
    /// The splits of scans, by the scan's id.
    pub splits: Vec<(PlanNodeId, Vec<Arc<dyn ConnectorSplit>>)>,
    /// The drivers that the case was run with.
    pub drivers: usize,
    /// Settings of the connector.
    pub connector_settings: Config,
    /// Settings of the session, which win over them.
    pub session_settings: Config,
}

impl Replay {
    /// Reads the plan in `plan` and the case in `case`, both JSON text, for tables of connector
    /// `connector_id`. `${CASE}` in the case stands for `folder`.
    ///
    /// `Unsupported` for what cannot be run, `InvalidInput` for what makes no sense; both say where
    /// in the JSON it stands.
    pub fn read(plan: &str, case: &str, folder: &Path, connector_id: &str) -> Result<Self> {
        let plan = parse("plan", plan)?;
        let case = parse("case", case)?;
        let nodes = Nodes { connector_id, expressions: Expressions::new() };
        let root = nodes.read(&Json::root("plan", &plan))?;
        let case = Json::root("case", &case);
        let mut replay = Replay {
            root,
            splits: Vec::new(),
            drivers: 1,
            connector_settings: settings(&case, "hive_config")?,
            session_settings: settings(&case, "session_config")?,
        };
        if let Some(drivers) = case.optional("drivers")? {
            replay.drivers = drivers.integer::<usize>()?.max(1);
        }
        if let Some(zone) = case.optional("process_time_zone")? {
            replay.connector_settings.set("process-time-zone", zone.text()?);
        }
        let folder = folder.to_string_lossy();
        for (scan, splits) in case.optional_members("splits")? {
            if !has_scan(&replay.root, scan) {
                return Err(splits.locate(Error::invalid_input("the plan has no such scan")));
            }
            let splits = splits.elements()?;
            let splits = splits.iter().map(|split| {
                let split = splits::read_split(split, connector_id, &folder)?;
                Ok(Arc::new(split) as Arc<dyn ConnectorSplit>)
            });
            replay.splits.push((scan.into(), splits.collect::<Result<_>>()?));
        }
        Ok(replay)
    }
}

fn parse(document: &'static str, text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|e| {
        Error::invalid_input("a text that is not JSON").with("document", document).caused_by(e)
    })
}

fn settings(case: &Json<'_>, name: &str) -> Result<Config> {
    let members = case.optional_members(name)?;
    members.iter().map(|(key, value)| Ok((key.to_string(), value.setting()?))).collect()
}

fn has_scan(root: &PlanNode, id: &str) -> bool {
    root.scans().iter().any(|scan| *scan.id == *id)
}
