//! Planning: translates clauses into plan nodes, in two steps.
//!
//! ```text
//! statement --planner.rs, statement.rs--> Query: all names bound     query.rs
//!    FROM, subqueries           relations, and the tree that joins them    relations.rs, tree.rs
//!    IN, EXISTS, values         relations joined to those of FROM          subqueries.rs
//!
//! Query --build.rs--> plan nodes
//!    FROM, WHERE    TableScan, the condition pushed into it    scan.rs
//!    JOIN           HashJoin, Unnest                           joins.rs
//!    GROUP BY       Project keys and arguments, Aggregation
//!    HAVING         Filter
//!    SELECT         Project
//!    DISTINCT       Aggregation by all columns
//!    UNION          LocalPartition of several sources
//!    ORDER BY       OrderBy, or TopN with LIMIT
//!    LIMIT, OFFSET  Limit
//! ```
//!
//! A scan returns only the columns that the nodes above it use: the columns of a condition that is
//! pushed down are read by the scan itself.

mod build;
mod clauses;
mod correlated;
mod from;
mod grouping;
#[cfg(test)]
mod join_tests;
mod joins;
mod names;
mod output;
mod planner;
mod query;
mod relations;
mod scan;
mod set_operations;
mod statement;
mod subqueries;
#[cfg(test)]
mod subquery_tests;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use exec::plan::{PlanNode, PlanNodeId};
use sqlparser::ast::{self, BinaryOperator, Expr};
use vector::sync::Arc;
use vector::{Result, RowType};

use super::bind::Binder;
use super::catalog::{Catalog, CatalogTable, FoundTable};
use super::parse;
use super::scope::Scope;
use super::source::SourceText;

use build::Builder;
use output::Sort;
use planner::Planner;
use query::{Body, Query, Select};
use relations::From;

/// Plan nodes of a query, and the tables that its scans read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedQuery {
    /// Topmost node.
    pub(crate) root: Arc<PlanNode>,
    /// Columns of the result under the names that the query assigns to them.
    pub(crate) row_type: Arc<RowType>,
    /// Scans of the plan.
    pub(crate) scans: Vec<PlannedScan>,
}

/// A scan of a query, from which its splits are made.
#[derive(Debug, Clone)]
pub(crate) struct PlannedScan {
    /// Id of the scan node.
    pub(crate) id: PlanNodeId,
    /// Table that is scanned.
    pub(crate) table: Arc<dyn CatalogTable>,
    /// Condition that was pushed into the scan.
    pub(crate) filter: Option<TypedExpr>,
}

/// An expression of the SELECT list with its name.
#[derive(Debug, Clone)]
struct Item {
    name: String,
    expr: TypedExpr,
}

/// Plans one SELECT statement whose text is `source`.
pub(crate) fn plan_parsed(
    query: &ast::Query,
    source: SourceText<'_>,
    catalog: &dyn Catalog,
    functions: &FunctionRegistry,
) -> Result<PlannedQuery> {
    let mut planner = Planner::new(catalog, functions, source);
    Builder::plan(planner.query(query, None)?.query, functions)
}

/// Columns, condition and limit of a scan without SQL.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScanClauses<'a> {
    /// Names or paths of the columns; all columns when `None`.
    pub(crate) columns: Option<&'a [String]>,
    /// Condition as a SQL expression.
    pub(crate) filter: Option<&'a str>,
    /// Maximum number of rows.
    pub(crate) limit: Option<u64>,
}

/// Plans a scan without SQL.
pub(crate) fn plan_scan(
    found: Box<dyn FoundTable + '_>,
    clauses: ScanClauses<'_>,
    functions: &FunctionRegistry,
) -> Result<PlannedQuery> {
    let filter = clauses.filter.map(parse::parse_expression).transpose()?;
    let relation = found.name().to_string();
    let keys = Scope::new(&relation, found.partition_columns());
    let table = found.open(known_terms(filter.as_ref(), &keys, functions).as_ref())?;
    let scope = Scope::of_table(&relation, &*table, table.columns());
    let items = match clauses.columns {
        None => all_columns(&scope),
        Some(columns) => columns
            .iter()
            .map(|column| {
                let expr = scope.resolve(&clauses::column_path(column), SourceText(""))?;
                let name = column_name(&scope, &expr).unwrap_or_else(|| column.clone());
                Ok(Item { name, expr })
            })
            .collect::<Result<Vec<_>>>()?,
    };
    let source = SourceText(clauses.filter.unwrap_or_default());
    let filter = match &filter {
        Some(expr) => Some(Binder::new(&scope, functions, source, "WHERE").bind_condition(expr)?),
        None => None,
    };
    let select = Select {
        from: From::alone(table),
        filter: filter.into_iter().collect(),
        items,
        groups: None,
        distinct: false,
    };
    let body = Body::Select(Box::new(select));
    let query = Query { body, sort: Sort::default(), offset: 0, limit: clauses.limit };
    Builder::plan(query, functions)
}

/// Returns the terms of a condition that use partition columns only; terms that cannot be bound to
/// these are left out here and are bound when all columns are known.
fn known_terms(
    filter: Option<&Expr>,
    keys: &Scope,
    functions: &FunctionRegistry,
) -> Option<TypedExpr> {
    let mut terms = Vec::new();
    let mut rest: Vec<&Expr> = filter.into_iter().collect();
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                rest.extend([&**right, left])
            }
            Expr::Nested(inner) => rest.push(inner),
            term => {
                let mut binder = Binder::new(keys, functions, SourceText(""), "WHERE");
                terms.extend(binder.bind_condition(term).ok());
            }
        }
    }
    TypedExpr::and(terms)
}

/// Returns all columns that `*` selects.
fn all_columns(scope: &Scope) -> Vec<Item> {
    scope.visible().map(|(c, expr)| Item { name: c.name.clone(), expr }).collect()
}

/// Returns the name of a column or struct field that the user sees.
fn column_name(scope: &Scope, expr: &TypedExpr) -> Option<String> {
    match expr {
        TypedExpr::Field { name, .. } => scope.column_of(name).map(|column| column.name.clone()),
        TypedExpr::Dereference { input, index, .. } => {
            input.ty().as_row().and_then(|row| row.names().get(*index).cloned())
        }
        _ => None,
    }
}
