//! What a plan pushes into its scans: files, columns, filters, and filters that come while it runs.
//!
//! ```text
//! PlannedScan --splits--> files that are opened     TableScanNode --push-down--> filters, the rest
//! HashJoinNode, TopNNode --ColumnSources--> columns of scans that they will speak of
//! ```

use connector_hive::columns::ScanColumns;
use connector_hive::pushdown::Pushdown;
use connector_hive::{ColumnKind, HiveColumnHandle, HiveTableHandle};
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

/// What one scan is asked, as people read it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushedScan {
    /// The scan.
    pub scan: Option<PlanNodeId>,
    /// The table.
    pub table: String,
    /// Files of the table that have bytes, and those that conditions on partitions and paths leave
    /// out; `None` for plans made elsewhere.
    pub files: Option<(usize, usize)>,
    /// Rows of the table, about; `None` when nobody counted them.
    pub estimated_rows: Option<u64>,
    /// Columns that are given out, and what of each.
    pub columns: Vec<PushedColumn>,
    /// Terms that are decided for whole files or partitions.
    pub partitions: Vec<String>,
    /// Filters on encoded values, each with its column.
    pub filters: Vec<String>,
    /// The share of rows that is looked at, where it is not all.
    pub sample: Option<String>,
    /// Terms that are tested on the rows of a batch.
    pub remaining: Vec<String>,
    /// True when statistics are asked about the remaining terms.
    pub remaining_prunes: bool,
    /// Columns that joins and top-Ns will put filters on.
    pub dynamic: Vec<DynamicTarget>,
}

/// A column that a scan gives out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedColumn {
    /// Its name in the scan's output.
    pub name: String,
    /// Where it comes from: the files, the partition, the split.
    pub source: &'static str,
    /// Paths of what is read of it; none for all.
    pub subfields: Vec<String>,
}

/// A filter that will come from a join's table or from the bound of a top-N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicTarget {
    /// The column of the scan.
    pub column: String,
    /// The node that makes the filter.
    pub node: PlanNodeId,
    /// What that node is: `HashJoin` or `TopN`.
    pub operator: &'static str,
    /// The key on the build side; the sort column.
    pub key: String,
}

/// What a query pushes into each of its scans, those of left sources first.
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
            // A footer that cannot be read is the scan's to complain of.
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

/// The filters that operators will make: the scan, its output column, and from where.
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
    // Of tables of other connectors their own words have to do.
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
    let info = pushdown.info_filters.iter().map(described);
    found.partitions = pushdown.split_terms.iter().map(TypedExpr::to_string).chain(info).collect();
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

/// The type of a column, or of a field in it.
fn type_at<'a>(columns: &'a RowType, path: &Subfield) -> Option<&'a Type> {
    let mut ty = columns.type_of(path.column_name())?;
    for element in path.path().iter().skip(1) {
        ty = ty.as_row()?.type_of(element.as_field()?)?;
    }
    Some(ty)
}
