//! Metadata of a recorded task: its plan and its settings.
//!
//! Older writers record the whole plan, newer ones the traced node alone, with its sources replaced
//! by their types. Both are read in the same way: a node is found by its id.

use std::path::Path;

use serde_json::Value;
use vector::{Error, Result, ResultExt};

use super::layout::{METADATA, read_text};
use crate::replay::json::Json;

/// The metadata of a task.
#[derive(Debug)]
pub(super) struct Metadata {
    json: Value,
}

/// Name of the file in errors.
const DOCUMENT: &str = "metadata";

impl Metadata {
    /// Reads the metadata in the folder of a task.
    pub(super) fn read(task: &Path) -> Result<Self> {
        let path = task.join(METADATA);
        if !path.is_file() {
            let what = if task.is_dir() {
                "the folder is no trace of a task: it has no metadata"
            } else {
                "there is no such trace"
            };
            let hint = format!("the folder of a task has a file {METADATA}");
            return Err(Error::not_found(what).with("folder", task.display()).hint(hint));
        }
        let read = read_text(&path).and_then(|text| Self::parse(&text));
        read.in_named("file", path.to_string_lossy())
    }

    /// Parses metadata from its text.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let json = serde_json::from_str(text)
            .map_err(|e| Error::corrupt("metadata of a trace that is not JSON").caused_by(e))?;
        let metadata = Metadata { json };
        let root = metadata.root();
        root.member("planNode")?.class()?;
        root.optional_members("queryConfig")?;
        root.optional_members("connectorProperties")?;
        Ok(metadata)
    }

    fn root(&self) -> Json<'_> {
        Json::root(DOCUMENT, &self.json)
    }

    /// Returns the topmost plan node.
    pub(super) fn plan(&self) -> Json<'_> {
        // `parse` has checked that it is present.
        self.root().member("planNode").unwrap_or_else(|_| self.root())
    }

    /// Returns the settings of the query.
    pub(super) fn query_config(&self) -> Result<Vec<(&str, Json<'_>)>> {
        self.root().optional_members("queryConfig")
    }

    /// Returns the settings of each connector's session.
    pub(super) fn connector_properties(&self) -> Result<Vec<(&str, Json<'_>)>> {
        self.root().optional_members("connectorProperties")
    }
}
