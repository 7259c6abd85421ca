//! The parts of a plan that are pushed into its scans: files, columns, filters, and dynamic
//! filters.
//!
//! ```text
//! PlannedScan --splits--> files that are opened     TableScanNode --pushdown--> filters, remaining
//! HashJoinNode, TopNNode --ColumnSources--> columns of scans that will get dynamic filters
//! ```

use connector_hive::{ColumnKind, HiveColumnHandle, HiveTableHandle, Pushdown, ScanColumns};
use dwio::connector::{DataSourceRequest, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::subfield::Subfield;
use exec::operator::hash_join::filter_keys;
use exec::operator::scan_targets::ColumnSources;
use exec::plan::{PlanNode, PlanNodeId, TableScanNode};
use vector::sync::Arc;
use vector::{Result, RowType, Type};

use crate::sql::PlannedQuery;

/// Description of one scan for display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushedScan {
    /// Id of the scan.
    pub scan: Option<PlanNodeId>,
    /// Name of the table.
    pub table: String,
    /// Number of non-empty files of the table, and number of those that conditions on partitions
    /// and paths exclude; `None` for plans that the engine has not planned.
    pub files: Option<(usize, usize)>,
    /// Estimated number of rows of the table; `None` if it is unknown.
    pub estimated_rows: Option<u64>,
    /// Output columns, with the subfields that are read.
    pub columns: Vec<PushedColumn>,
    /// Terms that are tested once per file or partition.
    pub partitions: Vec<String>,
    /// Filters on encoded values, each with its column.
    pub filters: Vec<String>,
    /// Fraction of rows that is sampled, unless all rows are read.
    pub sample: Option<String>,
    /// Terms that are tested on the rows of a batch.
    pub remaining: Vec<String>,
    /// True if statistics are tested with the remaining terms.
    pub remaining_prunes: bool,
    /// Columns on which joins and TopN operators will put filters.
    pub dynamic: Vec<DynamicTarget>,
}

/// An output column of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedColumn {
    /// Name in the scan's output.
    pub name: String,
    /// Source of the column: the files, the partition, the split or the row number.
    pub source: &'static str,
    /// Subfields that are read; empty if the whole column is.
    pub subfields: Vec<String>,
}

/// A dynamic filter from the build side of a join or from the bound of a TopN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicTarget {
    /// Column of the scan.
    pub column: String,
    /// Id of the node that produces the filter.
    pub node: PlanNodeId,
    /// Kind of that node: `HashJoin` or `TopN`.
    pub operator: &'static str,
    /// Key on the build side, or the sort column.
    pub key: String,
}

/// Returns what a query pushes into each of its scans, those of left sources first.
pub(super) fn pushed(
    query: &PlannedQuery,
    evaluator: &dyn ExpressionEvaluator,
) -> Result<Vec<PushedScan>> {
    let targets = dynamic_targets(&query.root);
    let scans = query.root.scans().into_iter().map(|scan| {
        let mut found = of_scan(scan, evaluator)?;
        if let Some(planned) = query.scans.iter().find(|planned| planned.id == scan.id) {
            let splits = planned.table.splits(planned.filter.as_ref(), u64::MAX)?;
            found.files = Some((splits.num_files, splits.num_files_left_out));
            // If the footer cannot be read, the scan reports the error.
            found.estimated_rows = planned.table.estimated_rows().ok();
        }
        let of_scan = targets.iter().filter(|(id, _, _)| *id == scan.id);
        found.dynamic = of_scan
            .filter_map(|(_, channel, target)| {
                let column = scan.output_type.names().get(*channel)?.clone();
                Some(DynamicTarget { column, ..target.clone() })
            })
            .collect();
        Ok(found)
    });
    scans.collect()
}

/// Returns the dynamic filters of operators: the scan, its output column, and their target.
fn dynamic_targets(root: &PlanNode) -> Vec<(PlanNodeId, usize, DynamicTarget)> {
    let mut found = Vec::new();
    let mut rest = vec![root];
    while let Some(node) = rest.pop() {
        match node {
            PlanNode::HashJoin(join) => {
                for (key, sources) in filter_keys(join) {
                    let key = join.right_keys.get(key).cloned().unwrap_or_default();
                    found.extend(targets(node, key, sources));
                }
            }
            PlanNode::TopN(top_n) => {
                let first = top_n.keys.first();
                found.extend(first.into_iter().flat_map(|key| {
                    let sources = ColumnSources::of(&top_n.source, &key.column);
                    targets(node, key.column.clone(), sources)
                }));
            }
            _ => {}
        }
        rest.extend(node.sources().map(AsRef::as_ref));
    }
    found
}

fn targets(
    node: &PlanNode,
    key: String,
    sources: ColumnSources<'_>,
) -> impl Iterator<Item = (PlanNodeId, usize, DynamicTarget)> {
    let (node, operator) = (node.id().clone(), node.name());
    let target = DynamicTarget { column: String::new(), node, operator, key };
    sources.scans.into_iter().map(move |(scan, channel)| (scan.clone(), channel, target.clone()))
}

fn of_scan(scan: &TableScanNode, evaluator: &dyn ExpressionEvaluator) -> Result<PushedScan> {
    let mut found = PushedScan {
        scan: Some(scan.id.clone()),
        table: scan.table.table_name().to_string(),
        ..PushedScan::default()
    };
    // Tables of other connectors are shown by their own description.
    let Ok(table) = HiveTableHandle::of(scan.table.as_ref()) else {
        found.table = scan.table.describe();
        return Ok(found);
    };
    let request = DataSourceRequest {
        output_type: scan.output_type.clone(),
        table: scan.table.clone(),
        assignments: scan.assignments.clone(),
    };
    let columns = ScanColumns::new(&request, table)?;
    let pushdown = Pushdown::new(table, &columns, evaluator)?;
    let named = scan.output_type.names().iter().zip(columns.outputs());
    found.columns = named.map(|(name, handle)| column(name, handle)).collect();
    let described =
        |(path, filter): &(Subfield, Arc<Filter>)| describe(path, filter, &pushdown, table);
    let synthesized = pushdown.synthesized_filters.iter().map(described);
    found.partitions =
        pushdown.split_terms.iter().map(TypedExpr::to_string).chain(synthesized).collect();
    found.filters = pushdown.filters.iter().map(described).collect();
    found.sample = (pushdown.sample_rate < 1.0).then(|| pushdown.sample_rate.to_string());
    if let Some(remaining) = &pushdown.remaining {
        found.remaining = remaining.conjuncts().into_iter().map(|t| t.to_string()).collect();
        found.remaining_prunes = pushdown.metadata_filter.is_some();
    }
    Ok(found)
}

fn column(name: &str, handle: &HiveColumnHandle) -> PushedColumn {
    let source = match handle.kind() {
        ColumnKind::Regular => "file",
        ColumnKind::PartitionKey => "partition",
        ColumnKind::Synthesized => "split",
        ColumnKind::RowIndex | ColumnKind::RowId => "row number",
    };
    let subfields = handle.required_subfields().iter().map(Subfield::to_string).collect();
    PushedColumn { name: name.to_string(), source, subfields }
}

fn describe(
    path: &Subfield,
    filter: &Filter,
    pushdown: &Pushdown,
    table: &HiveTableHandle,
) -> String {
    let of_table = table.data_columns().map(AsRef::as_ref);
    let ty = type_at(&pushdown.condition_fields, path)
        .or_else(|| of_table.and_then(|columns| type_at(columns, path)));
    match ty {
        Some(ty) => format!("{path} {}", filter.describe(ty)),
        None => format!("{path} {filter}"),
    }
}

/// Returns the type of a column, or of a field in it.
fn type_at<'a>(columns: &'a RowType, path: &Subfield) -> Option<&'a Type> {
    let mut ty = columns.type_of(path.column_name())?;
    for element in path.path().iter().skip(1) {
        ty = ty.as_row()?.type_of(element.as_field()?)?;
    }
    Some(ty)
}
