//! A plan as a tree, as text or as JSON, with notes below its nodes.
//!
//! ```text
//! -- HashJoin[4][INNER, k = k] -> k BIGINT, x BIGINT
//!      probe       TableScan[0]
//!      build       TableScan[2]
//!   -- TableScan[0][a] -> ...
//!        files     1 of 1, about 70 rows
//!        filters   x between 3 and 5
//! ```

use std::fmt::Write;

use exec::plan::PlanNode;
use serde_json::{Map, Value as Json, json};

use crate::engine::{DynamicTarget, PushedScan};

/// Width of the first column of notes.
pub(super) const LABEL_WIDTH: usize = 12;

/// Formats a node and its sources, with the lines that `notes` returns for each node.
pub(super) fn text(
    root: &PlanNode,
    pushed: &[PushedScan],
    notes: &dyn Fn(&PlanNode) -> Vec<String>,
) -> String {
    let mut out = String::new();
    let mut rest = vec![(root, 0)];
    while let Some((node, depth)) = rest.pop() {
        let indent = depth * 2;
        let of_scan = pushed_into(node, pushed);
        let details = of_scan.map_or_else(|| node.details(), |scan| scan.table.clone());
        let (name, id, columns) = (node.name(), node.id(), node.output_type());
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:indent$}-- {name}[{id}][{details}] -> {columns}", "");
        let of_join = join_notes(node).into_iter().map(|(label, text)| line(label, &text));
        let of_scan = of_scan.map(scan_notes).unwrap_or_default();
        let of_scan = of_scan.into_iter().map(|(label, text)| line(label, &text));
        for note in of_join.chain(of_scan).chain(notes(node)) {
            let _ = writeln!(out, "{:indent$}     {}", "", note.trim_end());
        }
        let at = rest.len();
        rest.extend(node.sources().map(|source| (&**source, depth + 1)));
        rest[at..].reverse();
    }
    out.truncate(out.trim_end().len());
    out
}

/// Formats a note with its label.
pub(super) fn line(label: &str, text: &str) -> String {
    format!("{label:<LABEL_WIDTH$}{text}")
}

/// Formats a node as JSON with its sources as members; `notes` adds further members.
pub(super) fn json(
    node: &PlanNode,
    pushed: &[PushedScan],
    notes: &dyn Fn(&PlanNode, &mut Map<String, Json>),
) -> Json {
    // Recursion is safe, since the depth of statements and thus of plans is limited.
    let columns = node.output_type().fields();
    let columns = columns.map(|(name, ty)| json!({ "name": name, "type": ty.to_string() }));
    let mut members = Map::new();
    members.insert("node".into(), node.name().into());
    members.insert("id".into(), (&**node.id()).into());
    let of_scan = pushed_into(node, pushed);
    // The node's own details show the condition before pushdown; `pushed` has the parts.
    let details = of_scan.map_or_else(|| node.details(), |scan| scan.table.clone());
    members.insert("details".into(), details.into());
    members.insert("output".into(), columns.collect());
    if let Some(scan) = of_scan {
        members.insert("pushed".into(), pushed_json(scan));
    }
    if let PlanNode::HashJoin(join) = node {
        let keys = join.left_keys.iter().zip(&join.right_keys);
        let keys = keys.map(|(probe, build)| json!({ "probe": probe, "build": build }));
        members.insert(
            "join".into(),
            json!({
                "kind": join.join_type.to_string(),
                "null_aware": join.null_aware,
                "keys": keys.collect::<Vec<_>>(),
                "filter": join.filter.as_ref().map(ToString::to_string),
                "probe": &**join.left.id(),
                "build": &**join.right.id(),
            }),
        );
    }
    notes(node, &mut members);
    let mut sources = node.sources().map(|source| json(source, pushed, notes));
    members.insert("source".into(), sources.next().unwrap_or(Json::Null));
    let rest: Vec<Json> = sources.collect();
    if matches!(node, PlanNode::HashJoin(_)) {
        members.insert("build".into(), rest.into_iter().next().unwrap_or(Json::Null));
    } else if !rest.is_empty() {
        members.insert("more_sources".into(), rest.into());
    }
    Json::Object(members)
}

fn pushed_into<'a>(node: &PlanNode, pushed: &'a [PushedScan]) -> Option<&'a PushedScan> {
    match node {
        PlanNode::TableScan(scan) => pushed.iter().find(|p| p.scan.as_ref() == Some(&scan.id)),
        _ => None,
    }
}

fn join_notes(node: &PlanNode) -> Vec<(&'static str, String)> {
    let PlanNode::HashJoin(join) = node else { return Vec::new() };
    let side = |node: &PlanNode| format!("{}[{}]", node.name(), node.id());
    vec![("probe", side(&join.left)), ("build", side(&join.right))]
}

fn scan_notes(scan: &PushedScan) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    if let Some((num_files, num_left_out)) = scan.files {
        let rows = scan.estimated_rows.map(|rows| format!(", about {rows} rows"));
        let read = num_files.saturating_sub(num_left_out);
        let rows = rows.unwrap_or_default();
        notes.push(("files", format!("{read} of {num_files} are read{rows}")));
    }
    let columns = scan.columns.iter().map(|column| {
        let parts = match column.subfields.as_slice() {
            [] => String::new(),
            parts => format!(" (only {})", parts.join(", ")),
        };
        let source = match column.source {
            "file" => String::new(),
            other => format!(" (of the {other})"),
        };
        format!("{}{parts}{source}", column.name)
    });
    let columns: Vec<String> = columns.collect();
    notes.push(("columns", if columns.is_empty() { "none".into() } else { columns.join(", ") }));
    let mut terms = |label, terms: &[String]| {
        if !terms.is_empty() {
            notes.push((label, terms.join(" and ")));
        }
    };
    terms("partitions", &scan.partitions);
    terms("filters", &scan.filters);
    terms("remaining", &scan.remaining);
    if scan.remaining_prunes {
        notes.push(("", "statistics are asked about it first".to_string()));
    }
    if let Some(share) = &scan.sample {
        notes.push(("sample", format!("{share} of the rows")));
    }
    for target in &scan.dynamic {
        let DynamicTarget { column, node, operator, key } = target;
        notes.push(("dynamic", format!("{column} from {key} of {operator}[{node}]")));
    }
    notes
}

fn pushed_json(scan: &PushedScan) -> Json {
    let columns = scan.columns.iter().map(|column| {
        json!({ "name": column.name, "source": column.source, "subfields": column.subfields })
    });
    let dynamic = scan.dynamic.iter().map(|target| {
        let DynamicTarget { column, node, operator, key } = target;
        json!({ "column": column, "node": &**node, "operator": operator, "key": key })
    });
    json!({
        "table": scan.table,
        "files": scan.files.map(|(found, left_out)| json!({ "found": found, "left_out": left_out })),
        "estimated_rows": scan.estimated_rows,
        "columns": columns.collect::<Vec<_>>(),
        "partitions": scan.partitions,
        "filters": scan.filters,
        "remaining": scan.remaining,
        "statistics_of_remaining": scan.remaining_prunes,
        "sample": scan.sample,
        "dynamic_filters": dynamic.collect::<Vec<_>>(),
    })
}
