//! Counters of a driver's operator, recorded when it finished.

use std::path::Path;

use serde_json::Value;
use vector::{Error, Result, ResultExt};

use super::layout::read_text;
use crate::replay::json::Json;

/// Counters of one driver's operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    /// Kind of the operator, such as `TableScan`.
    pub(super) operator: String,
    /// Number of splits of a scan; `None` for other operators.
    pub(super) num_splits: Option<i64>,
    /// Number of rows that a scan returned, or that another operator read.
    pub(super) input_rows: i64,
    pub(super) input_bytes: i64,
    /// Number of rows that a scan read.
    pub(super) raw_input_rows: i64,
    pub(super) raw_input_bytes: i64,
    pub(super) peak_memory: i64,
}

impl Summary {
    /// Reads the summary at `path`; returns `None` when the file is missing, because the query may
    /// have failed.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        if !path.is_file() {
            return Ok(None);
        }
        let read = read_text(path).and_then(|text| Self::parse(&text));
        read.in_named("file", path.to_string_lossy()).map(Some)
    }

    fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text)
            .map_err(|e| Error::corrupt("a summary that is not JSON").caused_by(e))?;
        let json = Json::root("summary", &json);
        let count = |name: &str| json.optional(name)?.map_or(Ok(0), |json| json.integer());
        Ok(Summary {
            operator: json.member("opType")?.text()?.to_string(),
            num_splits: json.optional("numSplits")?.map(|json| json.integer()).transpose()?,
            input_rows: count("inputRows")?,
            input_bytes: count("inputBytes")?,
            raw_input_rows: count("rawInputRows")?,
            raw_input_bytes: count("rawInputBytes")?,
            peak_memory: count("peakMemory")?,
        })
    }
}
