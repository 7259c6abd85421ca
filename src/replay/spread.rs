//! Reads plan nodes that distribute rows or change their number: local exchanges, UNNEST, single
//! rows.

use exec::plan::{
    EnforceSingleRowNode, LocalMergeNode, LocalPartitionNode, Partitioning, PlanNode, UnnestNode,
};
use vector::Result;
use vector::sync::Arc;

use super::json::Json;
use super::nodes::{Nodes, column_name, sort_keys};

/// Reads a local exchange. An exchange over one source is left out, because the distribution of
/// rows does not change the result.
pub(super) fn read_partition(nodes: &Nodes<'_>, json: &Json<'_>) -> Result<Arc<PlanNode>> {
    let mut sources = sources(nodes, json)?;
    match (sources.pop(), sources.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            sources.extend(last);
            let node = LocalPartitionNode::new(id(json)?, sources, Partitioning::RoundRobin);
            Ok(Arc::new(PlanNode::LocalPartition(json.check(node)?)))
        }
    }
}

/// Reads a merge of sorted sources.
pub(super) fn read_merge(nodes: &Nodes<'_>, json: &Json<'_>) -> Result<PlanNode> {
    let sources = sources(nodes, json)?;
    let Some(first) = sources.first() else { return Err(json.wrong("a source")) };
    let keys = sort_keys(json, first.output_type())?;
    let node = LocalMergeNode::new(id(json)?, sources, keys);
    Ok(PlanNode::LocalMerge(json.check(node)?))
}

/// Reads an UNNEST of arrays and maps.
pub(super) fn read_unnest(source: Arc<PlanNode>, json: &Json<'_>) -> Result<PlanNode> {
    let columns = |name: &'static str| -> Result<Vec<String>> {
        let columns = json.optional_elements(name)?;
        let input = source.output_type();
        columns.iter().map(|column| Ok(column_name(column, input)?.to_string())).collect()
    };
    let (replicated, unnested) = (columns("replicateVariables")?, columns("unnestVariables")?);
    let names = json.member("unnestNames")?.elements()?;
    let names = names.iter().map(|name| Ok(name.text()?.to_string()));
    let mut names = names.collect::<Result<Vec<String>>>()?;
    if let Some(ordinality) = json.optional("ordinalityName")? {
        names.push(ordinality.text()?.to_string());
    }
    if let Some(marker) = json.optional("markerName")? {
        return Err(marker.refuse("a column that marks rows of empty lists"));
    }
    let node = UnnestNode::new(id(json)?, Arc::clone(&source), replicated, unnested, names);
    Ok(PlanNode::Unnest(json.check(node)?))
}

/// Reads a node that returns exactly one row.
pub(super) fn read_single_row(source: Arc<PlanNode>, json: &Json<'_>) -> Result<PlanNode> {
    Ok(PlanNode::EnforceSingleRow(EnforceSingleRowNode { id: id(json)?, source }))
}

fn id(json: &Json<'_>) -> Result<Arc<str>> {
    Ok(Arc::from(json.member("id")?.text()?))
}

fn sources(nodes: &Nodes<'_>, json: &Json<'_>) -> Result<Vec<Arc<PlanNode>>> {
    json.member("sources")?.elements()?.iter().map(|source| nodes.read(source)).collect()
}
