//! Traces that Velox recorded: the inputs of operators while a query ran.
//!
//! ```text
//! TASK / task_trace_meta.json                           metadata: plan, settings
//! TASK / NODE / PIPELINE / DRIVER / op_split_trace.split     splits of a scan, as records
//!                                 / op_input_trace.data      input pages of other operators
//!                                 / op_trace_summary.json    summary: counters
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `layout` | the folders of a task |
//! | `metadata` | the plan, the query's settings, those of connectors |
//! | `settings` | which of these settings are honoured |
//! | `splits`, `summary`, `inputs` | the files of one driver |
//! | `feed` | which sources the recorded rows replace |
//! | `listing` | the contents of a trace, as a table |
//!
//! A node is run again in one of two ways. A scan reads all splits of its recorded drivers. Any
//! other node reads the recorded input rows of its drivers in place of its sources: each driver's
//! file is a split of a connector for recorded rows (`inputs`), so the input is read page by page
//! and by as many drivers as there are files. A node without recordings can still be run if all
//! scans below it were recorded.

mod feed;
mod inputs;
pub(super) mod layout;
mod listing;
mod metadata;
mod settings;
pub(super) mod splits;
mod summary;

use std::path::{Path, PathBuf};

use dwio::config::Config;
use dwio::connector::{Connector, ConnectorSplit};
use exec::expr::FunctionRegistry;
use vector::sync::Arc;
use vector::{Error, Result, ResultExt};

use super::aggregates::as_recorded;
use super::json::Json;
use super::nodes::Nodes;
use super::paths::PathMap;
use super::splits::read_split;
use super::{Expressions, Replay};
use feed::Feed;
use inputs::RecordedRows;
use layout::DriverFolder;
use metadata::Metadata;
pub use settings::TraceSettings;
pub use splits::check_split_records;

/// An opened trace, of which the metadata has been read and the other files have not.
#[derive(Debug)]
pub struct Trace {
    folder: PathBuf,
    metadata: Metadata,
    drivers: Vec<DriverFolder>,
}

/// Parameters of a replay that are not a part of the trace.
#[derive(Debug, Clone)]
pub struct TraceContext {
    /// Replacement of `${CASE}` in paths, if there is one.
    pub case_folder: Option<String>,
    /// Mapping from recorded to current file paths.
    pub paths: PathMap,
    /// Id of the connector that reads tables.
    pub connector_id: String,
    /// Functions that the plan may call, which are those of the engine that runs it.
    pub functions: Arc<FunctionRegistry>,
}

impl Default for TraceContext {
    fn default() -> Self {
        TraceContext {
            case_folder: None,
            paths: PathMap::default(),
            connector_id: String::new(),
            functions: Arc::new(FunctionRegistry::builtin()),
        }
    }
}

impl Trace {
    /// Opens the trace of one task, which is the folder with `task_trace_meta.json`.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no trace, `Corrupt` or `InvalidInput` when the metadata is
    /// malformed.
    pub fn open(folder: &Path) -> Result<Self> {
        let metadata = Metadata::read(folder)?;
        let drivers = layout::drivers(folder)?;
        Ok(Trace { folder: folder.to_path_buf(), metadata, drivers })
    }

    /// Returns which settings of the recorded query are honoured and which are ignored.
    pub fn settings(&self) -> Result<TraceSettings> {
        TraceSettings::new(&self.metadata)
    }

    /// Reads what is needed to run node `id` again.
    ///
    /// # Errors
    ///
    /// `NotFound` when the plan has no such node or nothing was recorded for it, `Unsupported` with
    /// the position in the plan for what cannot be run, `Corrupt` for damaged files.
    pub fn replay(&self, id: &str, surroundings: &TraceContext) -> Result<Replay> {
        self.replay_node(id, surroundings).in_named("trace", self.folder.to_string_lossy())
    }

    fn replay_node(&self, id: &str, surroundings: &TraceContext) -> Result<Replay> {
        let plan = self.metadata.plan();
        let node = feed::find(&plan, id)?.ok_or_else(|| {
            Error::not_found("the plan of a trace has no such node")
                .with("node", id)
                .hint(format!("recorded are {}", self.recorded_ids().join(", ")))
        })?;
        let recorded: Vec<&DriverFolder> = self.of_node(id).collect();
        let is_scan = node.class()?.0 == "TableScanNode";
        let feeds = if is_scan || recorded.is_empty() {
            Vec::new()
        } else {
            feed::feeds(&node, &recorded)?
        };
        let nodes = Nodes {
            connector_id: &surroundings.connector_id,
            expressions: Expressions::new(&surroundings.functions),
            drivers: self.num_drivers(),
            fed: feeds.iter().map(Feed::stand_in).collect(),
        };
        let root = as_recorded(&node, nodes.read(&node)?)?;
        let mut replay = Replay::of(root);
        for feed in feeds {
            replay.splits.push((feed.id.clone(), feed.splits()));
        }
        if replay.splits.is_empty() {
            for scan in replay.root.scans() {
                let splits = self.scan_splits(&scan.id, id, surroundings)?;
                replay.splits.push((scan.id.clone(), splits));
            }
        } else {
            replay.connectors.push(Arc::new(RecordedRows) as Arc<dyn Connector>);
        }
        let pipelines = recorded.iter().map(|driver| driver.pipeline);
        let drivers_of = |pipeline| recorded.iter().filter(|d| d.pipeline == pipeline).count();
        replay.drivers = pipelines.map(drivers_of).max().unwrap_or(1);
        replay.session_settings = self.settings()?.honoured;
        Ok(replay)
    }

    /// Returns the maximum number of drivers of the recorded pipelines.
    fn num_drivers(&self) -> usize {
        let last = self.drivers.iter().map(|driver| driver.driver).max();
        last.map_or(1, |last| (last as usize).saturating_add(1))
    }

    fn of_node(&self, id: &str) -> impl Iterator<Item = &DriverFolder> {
        self.drivers.iter().filter(move |driver| driver.node == id)
    }

    fn recorded_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.drivers.iter().map(|driver| driver.node.as_str()).collect();
        ids.dedup();
        ids
    }

    /// Returns the splits of all drivers of a scan, which node `wanted` needs.
    fn scan_splits(
        &self,
        scan: &str,
        wanted: &str,
        surroundings: &TraceContext,
    ) -> Result<Vec<Arc<dyn ConnectorSplit>>> {
        let mut files = Vec::new();
        for driver in self.of_node(scan) {
            files.extend(driver.file(layout::SPLITS).is_file().then_some(driver));
        }
        if files.is_empty() {
            return Err(Error::not_found("nothing was recorded of a scan that a node needs")
                .with("scan", scan)
                .with("node", wanted)
                .hint(format!("recorded are {}", self.recorded_ids().join(", "))));
        }
        let session = self.settings()?.honoured;
        let mut splits: Vec<Arc<dyn ConnectorSplit>> = Vec::new();
        for driver in files {
            let path = driver.file(layout::SPLITS);
            for (record, text) in splits::read_records(&path)?.iter().enumerate() {
                let split = self.split(text, surroundings, &session);
                let split = split.in_place("record", record);
                splits.push(Arc::new(split.in_named("file", path.to_string_lossy())?));
            }
        }
        Ok(splits)
    }

    fn split(
        &self,
        text: &serde_json::Value,
        surroundings: &TraceContext,
        session: &Config,
    ) -> Result<connector_hive::HiveSplit> {
        let json = Json::root("split", text);
        let folder = surroundings.case_folder.as_deref();
        let mut split = read_split(&json, &surroundings.connector_id, folder)?;
        surroundings.paths.apply(&mut split);
        let may_be_missing =
            connector_hive::ScanSettings::new(&split.connector_id, &Config::new(), session)?
                .ignore_missing_files;
        if may_be_missing || Path::new(&split.path).exists() {
            return Ok(split);
        }
        Err(Error::not_found("a file of a trace is not where it was")
            .with("path", &split.path)
            .hint("say where it is now with --map-path FROM=TO"))
    }
}
