//! Writes the case beside a trace: the splits of the whole query, with which `plan.json` can be
//! run.

use dwio::connector::ConnectorSplit;
use exec::plan::{Aggregate, PlanNode, PlanNodeId};
use serde_json::{Map, Value as Json, json};
use vector::Result;
use vector::sync::Arc;

use super::handles::ReadsTables;
use super::splits::split_json;

/// Name of the connector for tables in a trace.
pub(super) const CONNECTOR: &str = "hive";
/// Relative tolerance for sums of floats that are added in another order.
const FLOAT_TOLERANCE: f64 = 1e-12;

/// A case to be written.
#[derive(Debug)]
pub(super) struct CaseFile {
    json: Json,
}

impl CaseFile {
    /// Returns the case of a plan and its splits.
    pub(super) fn new(
        root: &PlanNode,
        splits: &[(PlanNodeId, Vec<Arc<dyn ConnectorSplit>>)],
        drivers: usize,
        sql: Option<String>,
    ) -> Result<Self> {
        let mut of_scans = Map::new();
        for (scan, splits) in splits {
            let splits = splits.iter().map(|split| split_json(&**split));
            of_scans.insert(scan.to_string(), json!(splits.collect::<Result<Vec<_>>>()?));
        }
        let config = ReadsTables::of(root)?.map(ReadsTables::connector);
        let tolerance = if adds_floats(root) { FLOAT_TOLERANCE } else { 0.0 };
        Ok(CaseFile {
            json: json!({
                "about": "A query that Ocior ran and recorded.",
                "ordered": is_ordered(root),
                "float_tolerance": tolerance,
                "drivers": drivers,
                "plan_origin": "written by Ocior",
                "sql": sql,
                "hive_config": config.unwrap_or_else(|| json!({})),
                "splits": of_scans,
            }),
        })
    }

    /// Returns the case with the values that are known after the run.
    pub(super) fn json(&self, trace: &str, nodes: &[&str]) -> Json {
        let mut json = self.json.clone();
        json["trace"] = json!(trace);
        json["traced_nodes"] = json!(nodes);
        json
    }
}

/// Returns true when the order of the rows is a part of the result.
fn is_ordered(root: &PlanNode) -> bool {
    let mut node = root;
    loop {
        node = match node {
            PlanNode::OrderBy(_) | PlanNode::TopN(_) => return true,
            PlanNode::Project(project) => &project.source,
            PlanNode::Limit(limit) => &limit.source,
            _ => return false,
        };
    }
}

fn adds_floats(root: &PlanNode) -> bool {
    let adds = |aggregate: &Aggregate| {
        aggregate.raw_types.iter().any(vector::Type::is_float)
            && matches!(&*aggregate.function, "sum" | "avg")
    };
    let mut rest = vec![root];
    while let Some(node) = rest.pop() {
        if let PlanNode::Aggregation(aggregation) = node
            && aggregation.aggregates.iter().any(adds)
        {
            return true;
        }
        rest.extend(node.sources().map(AsRef::as_ref));
    }
    false
}
