//! Placement of the terms of a condition: where each term is tested, and why not earlier.
//!
//! ```text
//! partitions          before a file is opened
//! pushed filter       on encoded values, after a test of metadata
//! remaining filter    on the rows of a batch, possibly after a test of metadata
//! filter operator     on batches after the scan
//! ```
//!
//! Each term is passed to the connector's pushdown on its own, so that the result shows what the
//! pushdown does.

use std::fmt;

use connector_hive::{ColumnKind, HiveTableHandle, Pushdown, ScanColumns};
use dwio::connector::{DataSourceRequest, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use dwio::expr::to_filter::extract_filters;
use dwio::filter::{Filter, FilterKind};
use dwio::subfield::Subfield;
use exec::plan::{PlanNode, TableScanNode};
use vector::sync::Arc;
use vector::{Result, Type, Value};

/// Stages at which a term is tested, earliest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum FilterStage {
    Partitions,
    PushedFilter,
    RemainingFilter,
    FilterOperator,
}

impl fmt::Display for FilterStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FilterStage::Partitions => "partitions",
            FilterStage::PushedFilter => "pushed filter",
            FilterStage::RemainingFilter => "remaining filter",
            FilterStage::FilterOperator => "filter operator",
        })
    }
}

/// A term of a condition, with its stage and the reason why it is not tested earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredicatePlacement {
    /// The term.
    pub term: String,
    /// Stage at which the term is tested.
    pub station: FilterStage,
    /// Form in which the stage tests the term: filters on columns, or the term itself.
    pub tested_as: String,
    /// Metadata that excludes data before values are read; `None` if there is none.
    pub pruned_by: Option<String>,
    /// Reason why the term is not tested earlier; `None` at the earliest stage.
    pub why_not_earlier: Option<String>,
}

/// A condition on the rows of one file, in the form that the file's reader uses.
#[derive(Debug, Clone, Default)]
pub struct FileCondition {
    /// Filters on whole columns, with the types as which the columns are read.
    pub filters: Vec<(String, Arc<Filter>, Type)>,
    /// All columns that the condition uses.
    pub columns: Vec<String>,
    /// Numbers of the rows that pass the condition, in ascending order.
    pub rows: Vec<u64>,
}

/// Returns the filters and columns of a plan over one file, without the rows.
pub(super) fn file_condition(
    root: &PlanNode,
    evaluator: &dyn ExpressionEvaluator,
) -> Result<FileCondition> {
    let mut node = root;
    while let Some(source) = node.source() {
        node = source;
    }
    let PlanNode::TableScan(scan) = node else { return Ok(FileCondition::default()) };
    let table = HiveTableHandle::of(scan.table.as_ref())?;
    let columns = ScanColumns::new(&request_of(scan), table)?;
    let pushdown = Pushdown::new(table, &columns, evaluator)?;
    let used = &pushdown.condition_fields;
    let filters = pushdown.filters.iter().filter(|(path, _)| path.is_column());
    let filters = filters.filter_map(|(path, filter)| {
        let name = path.column_name();
        Some((name.to_string(), Arc::clone(filter), used.type_of(name)?.clone()))
    });
    let filters = filters.collect();
    Ok(FileCondition { filters, columns: used.names().to_vec(), rows: Vec::new() })
}

fn request_of(scan: &TableScanNode) -> DataSourceRequest {
    DataSourceRequest {
        output_type: Arc::clone(&scan.output_type),
        table: Arc::clone(&scan.table),
        assignments: scan.assignments.clone(),
    }
}

/// Returns the placement of the terms of all conditions of a plan, those of scans first.
pub(super) fn whereabouts(
    root: &Arc<PlanNode>,
    evaluator: &dyn ExpressionEvaluator,
) -> Result<Vec<PredicatePlacement>> {
    let mut found = Vec::new();
    let mut rest = vec![root];
    while let Some(node) = rest.pop() {
        let of_node = match &**node {
            PlanNode::TableScan(scan) => of_scan(scan, evaluator)?,
            PlanNode::Filter(filter) => {
                let why = why_not_in_scan(&filter.source);
                filter
                    .predicate
                    .conjuncts()
                    .into_iter()
                    .map(|term| of_operator(term, why))
                    .collect()
            }
            _ => Vec::new(),
        };
        // Nodes are visited from the top, while rows flow from the bottom.
        found.splice(0..0, of_node);
        rest.extend(node.sources());
    }
    Ok(found)
}

fn of_operator(term: &TypedExpr, why: &str) -> PredicatePlacement {
    PredicatePlacement {
        term: term.to_string(),
        station: FilterStage::FilterOperator,
        tested_as: term.to_string(),
        pruned_by: None,
        why_not_earlier: Some(why.to_string()),
    }
}

fn why_not_in_scan(source: &PlanNode) -> &'static str {
    match source {
        PlanNode::TableScan(_) => "the names of its columns do not tell them apart in the table",
        PlanNode::Values(_) => "there is no scan below",
        _ => "it is about what is computed above the scan",
    }
}

fn of_scan(
    scan: &TableScanNode,
    evaluator: &dyn ExpressionEvaluator,
) -> Result<Vec<PredicatePlacement>> {
    let Ok(table) = HiveTableHandle::of(scan.table.as_ref()) else { return Ok(Vec::new()) };
    let columns = ScanColumns::new(&request_of(scan), table)?;
    let terms = table.remaining_filter().map(TypedExpr::conjuncts).unwrap_or_default();
    let together = Pushdown::new(table, &columns, evaluator)?;
    let left = together.remaining.as_ref().map(TypedExpr::conjuncts).unwrap_or_default();
    let of_terms = terms.into_iter().map(|term| {
        let alone = table.clone().with_remaining_filter(Some(term.clone()));
        let pushdown = Pushdown::new(&alone, &columns, evaluator)?;
        let told = of_term(term, &pushdown, table, &columns);
        let is_left = told.station == FilterStage::PushedFilter && left.contains(&term);
        Ok(if is_left { of_left_term(told, term, &together) } else { told })
    });
    of_terms.collect()
}

/// Returns the placement of a term that would be a filter if its columns had no other filters.
fn of_left_term(
    alone: PredicatePlacement,
    term: &TypedExpr,
    together: &Pushdown,
) -> PredicatePlacement {
    let names = term.field_names().join(", ");
    PredicatePlacement {
        station: FilterStage::RemainingFilter,
        tested_as: term.to_string(),
        pruned_by: alone.pruned_by.filter(|_| together.metadata_filter.is_some()),
        why_not_earlier: Some(format!("it has no common form with another filter of {names}")),
        ..alone
    }
}

fn of_term(
    term: &TypedExpr,
    pushdown: &Pushdown,
    table: &HiveTableHandle,
    columns: &ScanColumns,
) -> PredicatePlacement {
    // The table's own filters are part of each pushdown.
    let filters = pushdown.filters.iter().filter(|(path, filter)| {
        !table.filters().iter().any(|(own, same)| own == path && same == filter)
    });
    let filters: Vec<(&Subfield, &Filter)> =
        filters.map(|(path, filter)| (path, filter.as_ref())).collect();
    let described: Vec<String> = filters
        .iter()
        .map(|(path, filter)| match type_at(term, path) {
            Some(ty) => format!("{path} {}", filter.describe(&ty)),
            None => format!("{path} {filter}"),
        })
        .collect();
    let (station, tested_as, pruned_by, why) = match &pushdown.remaining {
        Some(rest) => {
            let tested: Vec<String> = described.into_iter().chain([rest.to_string()]).collect();
            let metadata = pushdown.metadata_filter.is_some();
            let pruned = metadata.then(|| "statistics and page indexes of its columns".to_string());
            let why = why_not_pushed(rest, columns);
            (FilterStage::RemainingFilter, tested.join(" and "), pruned, Some(why))
        }
        None if !filters.is_empty() => {
            let why = "its columns have other values from row to row".to_string();
            (FilterStage::PushedFilter, described.join(" and "), pruned_by(&filters), Some(why))
        }
        None if pushdown.sample_rate < table.sample_rate() => {
            let tested = format!("a sample of {} of the rows", pushdown.sample_rate);
            (FilterStage::PushedFilter, tested, None, Some("it is not about columns".to_string()))
        }
        None => (FilterStage::Partitions, term.to_string(), Some("whole files".to_string()), None),
    };
    let term = term.to_string();
    PredicatePlacement { term, station, tested_as, pruned_by, why_not_earlier: why }
}

/// Returns the type of a column of the term, or of a field in it.
fn type_at(term: &TypedExpr, path: &Subfield) -> Option<Type> {
    let mut found = None;
    term.visit(&mut |expr| match expr {
        TypedExpr::Field { name, ty } if **name == *path.column_name() => found = Some(ty.clone()),
        _ => {}
    });
    let mut ty = found?;
    for element in path.path().iter().skip(1) {
        let row = ty.as_row()?;
        ty = row.type_of(element.as_field()?)?.clone();
    }
    Some(ty)
}

/// Returns the metadata that can be tested with filters before values are read.
fn pruned_by(filters: &[(&Subfield, &Filter)]) -> Option<String> {
    let whole: Vec<&Filter> =
        filters.iter().filter(|(path, _)| path.is_column()).map(|(_, filter)| *filter).collect();
    if whole.is_empty() {
        return None;
    }
    let mut by = vec!["statistics", "page index"];
    if whole.iter().any(|filter| has_single_values(filter)) {
        by.push("bloom filter");
    }
    if whole.iter().any(|filter| filter.test_any_value().is_none()) {
        by.push("dictionary");
    }
    Some(by.join(", "))
}

/// Returns true if a bloom filter can be tested with the filter.
fn has_single_values(filter: &Filter) -> bool {
    use FilterKind::{
        BigintValuesUsingBitmask, BigintValuesUsingHashTable, BytesValues,
        HugeintValuesUsingHashTable,
    };
    let kind = filter.kind();
    matches!(
        kind,
        BigintValuesUsingBitmask
            | BigintValuesUsingHashTable
            | BytesValues
            | HugeintValuesUsingHashTable
    ) || match filter {
        Filter::Values { test: dwio::filter::ValueTest::BigintRange(range), .. } => {
            range.lower == range.upper
        }
        _ => false,
    }
}

/// Returns why the rest of a term is not a filter on single columns.
fn why_not_pushed(rest: &TypedExpr, columns: &ScanColumns) -> String {
    let names = rest.field_names();
    let of_kind = |wanted: &dyn Fn(ColumnKind) -> bool| {
        names.iter().copied().find(|name| wanted(columns.kind(name)))
    };
    let of_file = of_kind(&|kind| kind == ColumnKind::Regular);
    if let Some(name) = of_kind(&|kind| matches!(kind, ColumnKind::RowIndex | ColumnKind::RowId)) {
        return format!("{name} is in no file");
    }
    if let (Some(constant), Some(of_file)) = (of_kind(&ColumnKind::is_split_constant), of_file) {
        return format!("it needs {constant} of the split beside {of_file} of the file");
    }
    match names.as_slice() {
        [] => "it uses no column".to_string(),
        [_] => why_no_filter(rest),
        several => format!("it is about several columns: {}", several.join(", ")),
    }
}

/// Returns why a term on one column has no filter, by the first part of it that has none.
fn why_no_filter(term: &TypedExpr) -> String {
    let TypedExpr::Call { name, args, .. } = term else {
        return format!("{term} is no comparison");
    };
    if matches!(&**name, "and" | "or" | "not") {
        let has_none = |part: &&TypedExpr| {
            let fold = |expr: &TypedExpr| match expr {
                TypedExpr::Constant { value, .. } => Some(value.clone()),
                _ => None,
            };
            extract_filters(part, &fold, &|_| false).remaining.is_some()
        };
        return match args.iter().find(has_none) {
            Some(part) => why_no_filter(part),
            None => "its parts have no filter together".to_string(),
        };
    }
    let Some(tested) = args.iter().find(|arg| !arg.field_names().is_empty()) else {
        return format!("{term} uses no column");
    };
    match tested {
        TypedExpr::Cast { input, ty, .. } => format!("{input} has to be cast to {ty} first"),
        TypedExpr::Call { name, .. } => format!("{name} has to be computed first"),
        _ if matches!(tested.ty(), Type::Array(_) | Type::Map(..) | Type::Row(_)) => {
            format!("there are no filters on values of type {}", tested.ty())
        }
        _ if args
            .iter()
            .any(|arg| matches!(arg, TypedExpr::Constant { value: Value::Null, .. })) =>
        {
            "it compares with null".to_string()
        }
        _ => format!("no filter says what {name} says"),
    }
}
