//! Determines which sources of a node the recorded rows replace.
//!
//! ```text
//! Project - Filter - (source)      one operator under the project's id: rows of the filter's source
//! HashJoin - (probe), (build)      two pipelines: the names of their operators distinguish them
//! any other - (source)             rows of its source
//! ```
//!
//! The output type of a source is derived from the plan JSON alone (`output_type`): no node below a
//! replaced source has to be implemented.

use dwio::connector::ConnectorSplit;
use exec::plan::{PlanNode, PlanNodeId, TableScanNode};
use vector::sync::Arc;
use vector::{Error, Result, RowType};

use super::inputs::{RecordedFile, RecordedTable};
use super::layout::{DriverFolder, INPUT, SUMMARY};
use super::summary::Summary;
use crate::replay::json::Json;
use crate::replay::output_type::output_type;

/// The rows that were recorded for one source of a node.
#[derive(Debug)]
pub(super) struct Feed {
    /// Id of the scan that returns them.
    pub(super) id: PlanNodeId,
    /// JSON pointer of the source in the plan.
    place: String,
    row_type: Arc<RowType>,
    files: Vec<DriverFolder>,
}

/// Returns the node with this id, at or below `node`.
pub(super) fn find<'a>(node: &Json<'a>, id: &str) -> Result<Option<Json<'a>>> {
    let mut rest = vec![node.clone()];
    while let Some(node) = rest.pop() {
        if let Some(found) = node.optional("id")?
            && found.text()? == id
        {
            return Ok(Some(node));
        }
        rest.extend(node.optional_elements("sources")?);
    }
    Ok(None)
}

/// Returns the sources of a node whose rows the `recorded` drivers read.
pub(super) fn feeds(node: &Json<'_>, recorded: &[&DriverFolder]) -> Result<Vec<Feed>> {
    let sources = node.optional_elements("sources")?;
    match (node.class()?.0, sources.as_slice()) {
        ("HashJoinNode", [probe, build]) => {
            let (probe_files, build_files) = sides(recorded)?;
            let feeds = [
                Feed::new(node, "probe", probe, probe_files)?,
                Feed::new(node, "build", build, build_files)?,
            ];
            Ok(feeds.into())
        }
        ("ProjectNode", [filter]) if filter.class()?.0 == "FilterNode" => {
            match filter.optional_elements("sources")?.as_slice() {
                [source] => Ok(vec![Feed::new(node, "input", source, owned(recorded))?]),
                _ => Err(filter.wrong("one source")),
            }
        }
        (_, [source]) => Ok(vec![Feed::new(node, "input", source, owned(recorded))?]),
        _ => Err(node.refuse_class("recorded rows of a node with these sources")),
    }
}

fn owned(recorded: &[&DriverFolder]) -> Vec<DriverFolder> {
    recorded.iter().map(|driver| (*driver).clone()).collect()
}

/// Returns the drivers of a join's probe side and those of its build side, by the names of their
/// operators. Without a summary, the lower pipeline is the probe side.
fn sides(recorded: &[&DriverFolder]) -> Result<(Vec<DriverFolder>, Vec<DriverFolder>)> {
    let lowest = recorded.iter().map(|driver| driver.pipeline).min();
    let (mut probe, mut build) = (Vec::new(), Vec::new());
    for driver in recorded {
        let is_build = match Summary::read(&driver.file(SUMMARY))? {
            Some(summary) => summary.operator == "HashBuild",
            None => Some(driver.pipeline) != lowest,
        };
        if is_build { &mut build } else { &mut probe }.push((*driver).clone());
    }
    Ok((probe, build))
}

impl Feed {
    fn new(
        node: &Json<'_>,
        side: &'static str,
        source: &Json<'_>,
        drivers: Vec<DriverFolder>,
    ) -> Result<Self> {
        let files: Vec<_> = drivers.into_iter().filter(|d| d.file(INPUT).is_file()).collect();
        let id = node.member("id")?.text()?;
        if files.is_empty() {
            return Err(Error::not_found("no rows were recorded for a node")
                .with("node", id)
                .with("side", side));
        }
        Ok(Feed {
            id: format!("{id}.{side}").into(),
            place: source.path().to_string(),
            row_type: output_type(source)?,
            files,
        })
    }

    /// Returns the JSON pointer of the source in the plan, and the node that replaces it.
    pub(super) fn stand_in(&self) -> (String, Arc<PlanNode>) {
        let scan = TableScanNode {
            id: self.id.clone(),
            output_type: Arc::clone(&self.row_type),
            table: Arc::new(RecordedTable { name: self.id.to_string() }),
            assignments: Vec::new(),
        };
        (self.place.clone(), Arc::new(PlanNode::TableScan(scan)))
    }

    /// Returns a split for each driver's file.
    pub(super) fn splits(&self) -> Vec<Arc<dyn ConnectorSplit>> {
        let split = |driver: &DriverFolder| {
            Arc::new(RecordedFile { path: driver.file(INPUT) }) as Arc<dyn ConnectorSplit>
        };
        self.files.iter().map(split).collect()
    }
}
