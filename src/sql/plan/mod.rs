//! Clauses to plan nodes.
//!
//! ```text
//! FROM, WHERE    TableScan, the condition pushed into it    (Values of one row without FROM)
//! JOIN           HashJoin, the condition split among its sides    from.rs, joins.rs
//! GROUP BY       Project keys and arguments, Aggregation    grouping.rs
//! HAVING         Filter
//! SELECT         Project
//! DISTINCT       Aggregation by all columns
//! ORDER BY       OrderBy, or TopN with LIMIT                output.rs
//! LIMIT, OFFSET  Limit
//! ```
//!
//! Only the columns that something above the scan uses are scanned: a condition that is pushed
//! down reads its own.

mod build;
mod clauses;
mod from;
mod grouping;
#[cfg(test)]
mod join_tests;
mod joins;
mod output;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use exec::plan::{PlanNode, PlanNodeId};
use sqlparser::ast::{BinaryOperator, Expr, Query, SelectFlavor, SelectItem, SetExpr, Spanned};
use vector::sync::Arc;
use vector::{Error, Result, RowType};

use super::bind::{Aggregates, Alias, Binder};
use super::catalog::{Catalog, CatalogTable, FoundTable};
use super::parse;
use super::scope::Scope;
use super::source::SourceText;

use build::Builder;
use clauses::Clauses;
use from::{From, FromPlanner};
use output::Sort;

/// A query as plan nodes, and the tables that its scans read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedQuery {
    /// The topmost node.
    pub(crate) root: Arc<PlanNode>,
    /// The result's columns by the names that the query gives them.
    pub(crate) row_type: Arc<RowType>,
    /// The scans.
    pub(crate) scans: Vec<PlannedScan>,
}

/// The scan of a query, for whoever makes its splits.
#[derive(Debug, Clone)]
pub(crate) struct PlannedScan {
    /// The scan's id.
    pub(crate) id: PlanNodeId,
    /// The table.
    pub(crate) table: Arc<dyn CatalogTable>,
    /// The condition that was pushed into it.
    pub(crate) filter: Option<TypedExpr>,
}

/// An expression of the SELECT list.
#[derive(Debug, Clone)]
struct Item {
    name: String,
    expr: TypedExpr,
}

/// Plans one SELECT statement whose text is `source`.
pub(crate) fn plan_parsed(
    query: &Query,
    source: SourceText<'_>,
    catalog: &dyn Catalog,
    functions: &FunctionRegistry,
) -> Result<PlannedQuery> {
    let clauses = Clauses::of(query, source)?;
    let (from, scope) = match &clauses.from {
        Some(from) => {
            let planner = FromPlanner {
                catalog,
                functions,
                source,
                filter: clauses.filter,
                relations: Vec::new(),
                taken: HashSet::new(),
            };
            let (from, scope) = planner.plan(from)?;
            (Some(from), scope)
        }
        None => (None, Scope::default()),
    };
    Statement { source, functions, scope: &scope, clauses: &clauses }.plan(from)
}

/// What a scan without SQL reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScanClauses<'a> {
    /// Columns by name or path; all when `None`.
    pub(crate) columns: Option<&'a [String]>,
    /// A condition in SQL.
    pub(crate) filter: Option<&'a str>,
    /// Rows at most.
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
    let scope = Scope::new(&relation, table.columns());
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
    let mut builder = Builder::new();
    let used: Vec<&TypedExpr> = items.iter().map(|i| &i.expr).collect();
    builder.source(Some(From::alone(table)), filter, &used)?;
    builder.output(&items, Sort::default(), false)?;
    builder.limit(0, clauses.limit)?;
    builder.finish(&items)
}

/// The terms of a condition that use partition columns only; what cannot be bound to them is left
/// out here and judged when all columns are known.
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

/// What is needed to plan one statement.
struct Statement<'a> {
    source: SourceText<'a>,
    functions: &'a FunctionRegistry,
    scope: &'a Scope,
    clauses: &'a Clauses<'a>,
}

impl<'a> Statement<'a> {
    fn plan(&self, from: Option<From>) -> Result<PlannedQuery> {
        let filter = match self.clauses.filter {
            Some(expr) => Some(self.binder("WHERE", &[], None).bind_condition(expr)?),
            None => None,
        };
        let mut aggregates = Aggregates::default();
        let items = self.items(&mut aggregates)?;
        let aliases: Vec<Alias> = items
            .iter()
            .map(|item| Alias { name: item.name.clone(), expr: item.expr.clone() })
            .collect();
        let keys = self.group_keys(&items, &aliases)?;
        let having = match self.clauses.having {
            Some(expr) => {
                Some(self.binder("HAVING", &aliases, Some(&mut aggregates)).bind_condition(expr)?)
            }
            None => None,
        };
        let sort = self.sort(&items, &aliases, &mut aggregates)?;

        let mut builder = Builder::new();
        let grouped = keys.is_some() || having.is_some() || !aggregates.calls().is_empty();
        if !grouped {
            let mut used: Vec<&TypedExpr> = items.iter().map(|i| &i.expr).collect();
            used.extend(sort.keys.iter().map(|k| &k.expr));
            builder.source(from, filter, &used)?;
            builder.output(&items, sort, self.clauses.distinct)?;
            builder.limit(self.clauses.offset, self.clauses.limit)?;
            return builder.finish(&items);
        }
        let keys = keys.unwrap_or_default();
        let mut used: Vec<&TypedExpr> = keys.iter().collect();
        used.extend(aggregates.calls().iter().flat_map(|c| c.args.iter().chain(&c.filter)));
        builder.source(from, filter, &used)?;
        let groups = builder.aggregate(&keys, &aggregates)?;
        let items = items
            .into_iter()
            .map(|item| Ok(Item { expr: groups.rewrite(&item.expr)?, name: item.name }))
            .collect::<Result<Vec<_>>>()?;
        if let Some(having) = having {
            builder.filter(groups.rewrite(&having)?);
        }
        let sort = sort.try_map(|expr| groups.rewrite(&expr))?;
        builder.output(&items, sort, self.clauses.distinct)?;
        builder.limit(self.clauses.offset, self.clauses.limit)?;
        builder.finish(&items)
    }

    fn binder<'b>(
        &'b self,
        clause: &'static str,
        aliases: &'b [Alias],
        aggregates: Option<&'b mut Aggregates>,
    ) -> Binder<'b> {
        Binder {
            aliases,
            aggregates,
            ..Binder::new(self.scope, self.functions, self.source, clause)
        }
    }

    /// The SELECT list, `*` spelled out.
    fn items(&self, aggregates: &mut Aggregates) -> Result<Vec<Item>> {
        if self.clauses.select.flavor == SelectFlavor::FromFirstNoSelect {
            return Ok(all_columns(self.scope));
        }
        let mut items = Vec::new();
        for item in &self.clauses.select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let bound = self.binder("SELECT", &[], Some(aggregates)).bind(expr)?;
                    let name = self.name_of(expr, &bound);
                    items.push(Item { name, expr: bound });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let bound = self.binder("SELECT", &[], Some(aggregates)).bind(expr)?;
                    items.push(Item { name: alias.value.clone(), expr: bound });
                }
                SelectItem::Wildcard(options) => {
                    clauses::plain_wildcard(options, self.source)?;
                    if self.clauses.from.is_none() {
                        let error = Error::invalid_input("SELECT * needs a table");
                        return Err(self.source.point(error, item.span()));
                    }
                    items.extend(all_columns(self.scope));
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    clauses::plain_wildcard(options, self.source)?;
                    items.extend(self.qualified_wildcard(kind)?);
                }
                SelectItem::ExprWithAliases { .. } => {
                    let error = Error::unsupported("several aliases of one expression");
                    return Err(self.source.point(error, item.span()));
                }
            }
        }
        Ok(items)
    }

    /// The name of a column that was given none: that of the column, else its text.
    fn name_of(&self, expr: &Expr, bound: &TypedExpr) -> String {
        column_name(self.scope, bound).unwrap_or_else(|| expr.to_string())
    }
}

/// All columns that `*` gives.
fn all_columns(scope: &Scope) -> Vec<Item> {
    scope.visible().map(|(c, expr)| Item { name: c.name.clone(), expr }).collect()
}

/// The name that people use for a column or a struct field.
fn column_name(scope: &Scope, expr: &TypedExpr) -> Option<String> {
    match expr {
        TypedExpr::Field { name, .. } => {
            scope.columns().iter().find(|c| c.field == *name).map(|c| c.name.clone())
        }
        TypedExpr::Dereference { input, index, .. } => {
            input.ty().as_row().and_then(|row| row.names().get(*index).cloned())
        }
        _ => None,
    }
}

/// The SELECT of a query, unless it is something else.
fn select_of(body: &SetExpr) -> Option<&sqlparser::ast::Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) if clauses::is_bare(query) => select_of(&query.body),
        _ => None,
    }
}
