//! Layout of the folders of a task.
//!
//! Pipelines and drivers are numbers and are sorted as numbers. The pipelines of a node are listed
//! from its folder, not derived from the plan.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use vector::{Error, Result, ResultExt};

/// File with the metadata of a task.
pub(in crate::replay) const METADATA: &str = "task_trace_meta.json";
/// File with the splits of a driver's scan.
pub(in crate::replay) const SPLITS: &str = "op_split_trace.split";
/// File with the input pages of a driver's operator.
pub(in crate::replay) const INPUT: &str = "op_input_trace.data";
/// File with the counters of a driver's operator.
pub(in crate::replay) const SUMMARY: &str = "op_trace_summary.json";

/// Folder of the files that one driver recorded for one node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DriverFolder {
    pub(super) node: String,
    pub(super) pipeline: u32,
    pub(super) driver: u32,
    pub(super) path: PathBuf,
}

impl DriverFolder {
    /// Returns the path of one of its files.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Returns all driver folders of a task, ordered by node, pipeline and driver.
pub(super) fn drivers(task: &Path) -> Result<Vec<DriverFolder>> {
    let mut found = Vec::new();
    for (node, node_path) in folders(task)? {
        for (pipeline, pipeline_path) in numbered(&node_path)? {
            for (driver, path) in numbered(&pipeline_path)? {
                found.push(DriverFolder { node: node.clone(), pipeline, driver, path });
            }
        }
    }
    found.sort_by_key(|f| (node_order(&f.node), f.node.clone(), f.pipeline, f.driver));
    Ok(found)
}

/// Sort key of node ids: numeric ids are in numeric order, before other ids.
fn node_order(id: &str) -> u64 {
    id.parse().unwrap_or(u64::MAX)
}

fn numbered(path: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let numbered = folders(path)?.into_iter();
    Ok(numbered.filter_map(|(name, path)| Some((name.parse().ok()?, path))).collect())
}

fn folders(path: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |e| {
        Error::from_io(e, "cannot list a folder of a trace")
            .in_named("folder", path.to_string_lossy())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry: DirEntry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    Ok(found)
}

/// Reads the text of a file of a trace.
pub(super) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::from_io(e, "cannot read a file of a trace"))
        .in_named("file", path.to_string_lossy())
}
