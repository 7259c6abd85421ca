//! Binds one SELECT: its clauses over the columns of FROM.

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use sqlparser::ast::{Expr, OrderBy, SelectFlavor, SelectItem, Spanned};
use std::collections::HashSet;
use vector::{Error, Result};

use super::clauses::{self, SelectClauses};
use super::output::Sort;
use super::planner::Planner;
use super::query::{Grouping, Select};
use super::relations::From;
use super::subqueries::Subqueries;
use super::{Item, all_columns, column_name};
use crate::sql::bind::{Aggregates, Alias, Aliases, Binder, SubqueryBinder};
use crate::sql::scope::Scope;
use crate::sql::source::SourceText;

/// Inputs for binding the clauses of one SELECT.
pub(super) struct Statement<'a> {
    pub(super) source: SourceText<'a>,
    pub(super) functions: &'a FunctionRegistry,
    /// Columns of FROM.
    pub(super) scope: &'a Scope,
    pub(super) clauses: &'a SelectClauses<'a>,
    /// Columns of the outer query, which WHERE may use.
    pub(super) outer: Option<&'a Scope>,
}

/// Aggregates and subqueries that clauses use and that are computed before the clauses.
pub(super) struct Wanted<'f, 'p> {
    pub(super) aggregates: Aggregates,
    pub(super) subqueries: Subqueries<'f, 'p>,
}

/// A SELECT, the terms of its WHERE that use columns of the outer query, and its ORDER BY.
pub(super) type BoundSelect = (Select, Vec<TypedExpr>, Sort);

impl Statement<'_> {
    /// Binds all clauses; `from` has the relations of FROM.
    pub(super) fn bind(
        &self,
        planner: &mut Planner<'_>,
        mut from: From,
        order_by: Option<&OrderBy>,
    ) -> Result<BoundSelect> {
        let subqueries = Subqueries::new(planner);
        let mut wanted = Wanted { aggregates: Aggregates::default(), subqueries };
        let scope = self.scope.clone().inside_of(self.outer);
        let filter = match self.clauses.filter {
            Some(expr) => {
                let mut binder = Binder::new(&scope, self.functions, self.source, "WHERE");
                binder.subqueries = Some(&mut wanted.subqueries);
                Some(binder.bind_condition(expr)?)
            }
            None => None,
        };
        let items = self.items(&mut wanted)?;
        let aliases =
            items.iter().map(|item| Alias { name: item.name.clone(), expr: item.expr.clone() });
        let aliases = Aliases::new(aliases.collect());
        let keys = self.group_keys(&items, &aliases)?;
        let having = match self.clauses.having {
            Some(expr) => Some(
                self.binder("HAVING", Some(&aliases), Some(&mut wanted)).bind_condition(expr)?,
            ),
            None => None,
        };
        let sort = self.sort(&items, &aliases, order_by, &mut wanted)?;

        let Wanted { aggregates, subqueries } = wanted;
        let grouped = keys.is_some() || having.is_some() || !aggregates.calls().is_empty();
        let groups = match grouped {
            true => {
                let mut keys = keys.unwrap_or_default();
                let above = items.iter().map(|item| &item.expr).chain(&having);
                let above: Vec<&TypedExpr> =
                    above.chain(sort.keys.iter().map(|key| &key.expr)).collect();
                keys.extend(subqueries.group_values(&keys, &above)?);
                Some(Grouping { keys, aggregates, having: having.into_iter().collect() })
            }
            false => None,
        };
        let mut filter = match filter {
            Some(filter) if self.outer.is_none() && subqueries.is_empty() => vec![filter],
            Some(filter) => filter.conjuncts().into_iter().cloned().collect(),
            None => Vec::new(),
        };
        let above = items.iter().map(|item| &item.expr);
        let above = above.chain(sort.keys.iter().map(|key| &key.expr));
        let above = above.chain(groups.iter().flat_map(Grouping::inputs));
        subqueries.join(&mut from, &mut filter, &above.collect::<Vec<_>>())?;

        let mut correlated = Vec::new();
        if self.outer.is_some() {
            let own: HashSet<&str> =
                from.relations.iter().flat_map(|r| &r.fields).map(AsRef::as_ref).collect();
            let local = |term: &TypedExpr| term.field_names().iter().all(|name| own.contains(name));
            (filter, correlated) = filter.into_iter().partition(local);
        }
        let distinct = self.clauses.distinct;
        Ok((Select { from, filter, items, groups, distinct }, correlated, sort))
    }

    pub(super) fn binder<'b>(
        &'b self,
        clause: &'static str,
        aliases: Option<&'b Aliases>,
        wanted: Option<&'b mut Wanted<'_, '_>>,
    ) -> Binder<'b> {
        let mut binder = Binder::new(self.scope, self.functions, self.source, clause);
        binder.aliases = aliases;
        if let Some(wanted) = wanted {
            binder.aggregates = Some(&mut wanted.aggregates);
            binder.subqueries = Some(&mut wanted.subqueries as &mut dyn SubqueryBinder);
        }
        binder
    }

    /// Returns the SELECT list with `*` expanded.
    fn items(&self, wanted: &mut Wanted<'_, '_>) -> Result<Vec<Item>> {
        if self.clauses.select.flavor == SelectFlavor::FromFirstNoSelect {
            return Ok(all_columns(self.scope));
        }
        let mut items = Vec::new();
        for item in &self.clauses.select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let bound = self.binder("SELECT", None, Some(wanted)).bind(expr)?;
                    let name = self.name_of(expr, &bound);
                    items.push(Item { name, expr: bound });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let bound = self.binder("SELECT", None, Some(wanted)).bind(expr)?;
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

    /// Returns the name of an item without an alias: that of its column, else its text.
    fn name_of(&self, expr: &Expr, bound: &TypedExpr) -> String {
        column_name(self.scope, bound).unwrap_or_else(|| expr.to_string())
    }
}
