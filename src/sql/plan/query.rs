//! Bound queries, in which all names are resolved: what they read and what they return, before
//! there are plan nodes.
//!
//! ```text
//! Query    Select | Union of queries, then ORDER BY, OFFSET, LIMIT
//! Select   From (relations, and the tree that joins them), WHERE, groups, HAVING, items, DISTINCT
//! ```
//!
//! A subquery in FROM is a [`Query`] among the relations of the outer query. Two optimizations are
//! applied between the two before nodes are made: conditions on the subquery's columns are pushed
//! into it, and columns that are not used are not computed.

use std::collections::HashMap;
use std::convert::Infallible;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use vector::sync::Arc;
use vector::{Result, Type};

use super::Item;
use super::output::Sort;
use super::relations::From;
use crate::sql::bind::{AggregateCall, Aggregates, has_aggregate};
use crate::sql::catalog::TableColumn;

/// A bound query.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) body: Body,
    /// Sort keys over the columns of FROM, or over those of a union.
    pub(super) sort: Sort,
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
}

/// Source of the rows of a query.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Select(Box<Select>),
    Union(Union),
}

/// A bound SELECT.
#[derive(Debug, Clone)]
pub(super) struct Select {
    pub(super) from: From,
    /// Terms of WHERE.
    pub(super) filter: Vec<TypedExpr>,
    /// Selected expressions, over the columns of FROM.
    pub(super) items: Vec<Item>,
    pub(super) groups: Option<Grouping>,
    pub(super) distinct: bool,
}

/// GROUP BY, or aggregates without it.
#[derive(Debug, Clone)]
pub(super) struct Grouping {
    pub(super) keys: Vec<TypedExpr>,
    pub(super) aggregates: Aggregates,
    /// Terms of HAVING.
    pub(super) having: Vec<TypedExpr>,
}

impl Grouping {
    /// Returns all expressions over the columns of FROM.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &TypedExpr> {
        let aggregates = self.aggregates.calls().iter().flat_map(AggregateCall::inputs);
        self.keys.iter().chain(aggregates).chain(&self.having)
    }
}

/// The rows of several queries with columns of the same types.
#[derive(Debug, Clone)]
pub(super) struct Union {
    pub(super) arms: Vec<Query>,
    pub(super) distinct: bool,
    /// Columns, as ORDER BY uses them.
    pub(super) columns: Vec<TableColumn>,
}

impl Query {
    /// Returns a query without ORDER BY and LIMIT.
    pub(super) fn plain(body: Body) -> Self {
        Query { body, sort: Sort::default(), offset: 0, limit: None }
    }

    /// Returns the names and types of the columns.
    pub(super) fn columns(&self) -> Vec<(&str, &Type)> {
        match &self.body {
            Body::Select(select) => {
                select.items.iter().map(|item| (item.name.as_str(), item.expr.ty())).collect()
            }
            Body::Union(union) => {
                union.columns.iter().map(|column| (column.name.as_str(), &column.ty)).collect()
            }
        }
    }

    /// Renames column `index`.
    pub(super) fn rename(&mut self, index: usize, name: &str) {
        let old = match &mut self.body {
            Body::Select(select) => select.items.get_mut(index).map(|item| &mut item.name),
            Body::Union(union) => union.columns.get_mut(index).map(|column| &mut column.name),
        };
        if let Some(old) = old {
            *old = name.to_string();
        }
    }

    /// Returns true when there is exactly one row for any data.
    pub(super) fn is_single_row(&self) -> bool {
        let Body::Select(select) = &self.body else { return false };
        let global = |groups: &Grouping| groups.keys.is_empty() && groups.having.is_empty();
        select.groups.as_ref().is_some_and(global) && self.offset == 0 && self.limit != Some(0)
    }

    /// Returns true when there is at most one row: aggregates without keys, with or without HAVING.
    pub(super) fn has_one_group(&self) -> bool {
        let Body::Select(select) = &self.body else { return false };
        select.groups.as_ref().is_some_and(|groups| groups.keys.is_empty())
    }

    /// Returns the estimated number of rows.
    pub(super) fn estimated_rows(&self) -> Result<u64> {
        let rows = match &self.body {
            _ if self.is_single_row() => 1,
            Body::Select(select) => select.from.estimated_rows()?,
            Body::Union(union) => {
                let arms = union.arms.iter().map(Query::estimated_rows);
                arms.sum::<Result<u64>>()?
            }
        };
        Ok(self.limit.map_or(rows, |limit| rows.min(limit)))
    }

    /// Returns true when a condition on columns, which are called `fields`, can be tested inside of
    /// the query.
    fn takes(&self, term: &TypedExpr, fields: &[Arc<str>], functions: &FunctionRegistry) -> bool {
        if self.limit.is_some() || self.offset > 0 {
            return false;
        }
        match &self.body {
            Body::Union(union) => union.arms.iter().all(|arm| arm.takes(term, fields, functions)),
            // The condition would compute what it refers to a second time.
            Body::Select(select) => functions.is_deterministic(&select.inside(term, fields)),
        }
    }

    /// Takes over a condition on columns, which are called `fields`, if it can be tested inside of
    /// the query, and returns whether it was taken.
    pub(super) fn push_down(
        &mut self,
        term: &TypedExpr,
        fields: &[Arc<str>],
        functions: &FunctionRegistry,
    ) -> bool {
        if !self.takes(term, fields, functions) {
            return false;
        }
        match &mut self.body {
            Body::Union(union) => {
                union.arms.iter_mut().for_each(|arm| {
                    arm.push_down(term, fields, functions);
                });
            }
            Body::Select(select) => {
                let term = select.inside(term, fields);
                match &mut select.groups {
                    // Without keys there is one row even if WHERE removes all rows, so the
                    // condition is tested after grouping.
                    Some(groups) if groups.keys.is_empty() || has_aggregate(&term) => {
                        groups.having.push(term);
                    }
                    _ => select.filter.push(term),
                }
            }
        }
        true
    }
}

impl Select {
    /// Returns a SELECT of all rows of `from`, without columns yet.
    pub(super) fn all_of(from: From) -> Self {
        let (filter, items) = (Vec::new(), Vec::new());
        Select { from, filter, items, groups: None, distinct: false }
    }

    /// Rewrites a condition on the selected columns, which are called `fields`, over the columns of
    /// FROM.
    fn inside(&self, term: &TypedExpr, fields: &[Arc<str>]) -> TypedExpr {
        let items = fields.iter().zip(&self.items);
        let meanings: HashMap<&str, &TypedExpr> =
            items.map(|(field, item)| (&**field, &item.expr)).collect();
        let Ok(inside) = term.replace::<Infallible>(&mut |part| match part {
            TypedExpr::Field { name, .. } => Ok(meanings.get(&**name).map(|expr| (*expr).clone())),
            _ => Ok(None),
        });
        inside
    }
}
