//! Writes the trace files of one driver of one node while the driver runs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use dwio::connector::ConnectorSplit;
use exec::OperatorStats;
use exec::plan::AggregationStep;
use exec::trace::{OperatorTrace, TracedOperator};
use serde_json::json;
use vector::sync::{Arc, Mutex};
use vector::{Error, Result, ResultExt, RowVector};

use super::splits::split_json;
use crate::replay::presto::write_page;
use crate::replay::trace::layout::{INPUT, SPLITS, SUMMARY};
use crate::replay::trace::splits::record;

/// Returns Velox's name of an operator whose input it records; `None` for operators that it does
/// not record.
pub(super) fn kind_of(operator: &TracedOperator<'_>) -> Option<&'static str> {
    Some(match (operator.name, operator.step) {
        ("TableScan", _) => SCAN,
        ("FilterProject", _) => "FilterProject",
        ("Aggregation", Some(AggregationStep::Partial)) => "PartialAggregation",
        ("Aggregation", _) => "Aggregation",
        ("HashBuild", _) => "HashBuild",
        ("HashProbe", _) => "HashProbe",
        ("OrderBy", _) => "OrderBy",
        ("Unnest", _) => "Unnest",
        _ => return None,
    })
}

const SCAN: &str = "TableScan";

/// Records the input of one driver of a node.
#[derive(Debug)]
pub(super) struct DriverTrace {
    node: Arc<str>,
    kind: &'static str,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// File of splits for a scan, of pages for other operators.
    file: BufWriter<File>,
    num_splits: u64,
    rows: u64,
    bytes: u64,
    /// Error of a callback that cannot return one.
    failed: Option<Error>,
}

impl DriverTrace {
    /// Makes the folder `path` and an empty file in it.
    pub(super) fn new(node: &Arc<str>, kind: &'static str, path: PathBuf) -> Result<Self> {
        let name = if kind == SCAN { SPLITS } else { INPUT };
        let made = std::fs::create_dir_all(&path).and_then(|()| File::create(path.join(name)));
        let file = made
            .map_err(|e| Error::from_io(e, "cannot make a file of a trace"))
            .in_named("folder", path.to_string_lossy())?;
        let file = BufWriter::new(file);
        let state = State { file, num_splits: 0, rows: 0, bytes: 0, failed: None };
        Ok(DriverTrace { node: Arc::clone(node), kind, path, state: Mutex::new(state) })
    }

    pub(super) fn node(&self) -> &str {
        &self.node
    }

    /// Returns the stored error, if there is one.
    pub(super) fn check(&self) -> Result<()> {
        self.state.lock().failed.take().map_or(Ok(()), Err)
    }

    fn append(&self, state: &mut State, bytes: &[u8]) -> Result<()> {
        state
            .file
            .write_all(bytes)
            .map_err(|e| Error::from_io(e, "cannot write a file of a trace"))
            .in_named("folder", self.path.to_string_lossy())
    }
}

impl OperatorTrace for DriverTrace {
    fn split(&self, split: &dyn ConnectorSplit) -> Result<()> {
        let text = split_json(split)?.to_string();
        let state = &mut *self.state.lock();
        state.num_splits += 1;
        self.append(state, &record(text.as_bytes())?)
    }

    fn input(&self, batch: &RowVector) -> Result<()> {
        let page = write_page(batch)?;
        let state = &mut *self.state.lock();
        state.rows += batch.len() as u64;
        state.bytes += page.len() as u64;
        self.append(state, &page)
    }

    fn output(&self, batch: &RowVector) {
        // A scan counts its output rows, other operators their input rows.
        if self.kind == SCAN {
            self.state.lock().rows += batch.len() as u64;
        }
    }

    fn finish(&self, stats: &OperatorStats) {
        let state = &mut *self.state.lock();
        let mut summary = json!({
            "opType": self.kind,
            "inputRows": state.rows,
            "inputBytes": state.bytes,
            "rawInputRows": stats.raw_rows,
            "rawInputBytes": stats.raw_bytes,
            "peakMemory": 0,
        });
        if self.kind == SCAN {
            summary["numSplits"] = json!(state.num_splits);
        }
        let flushed = state.file.flush();
        let done = flushed
            .map_err(|e| Error::from_io(e, "cannot write a file of a trace"))
            .and_then(|()| super::write(Path::new(&self.path.join(SUMMARY)), &summary));
        if let Err(error) = done {
            state.failed.get_or_insert(error);
        }
    }
}
