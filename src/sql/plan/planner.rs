//! Translates statements into bound queries: WITH, set operations, and the clauses of each SELECT.
//!
//! ```text
//! WITH a AS (..)        named queries; each use of a name is bound separately
//! .. UNION ALL ..       inputs, whose columns are converted to common types  set_operations.rs
//! VALUES ..             rows of constants                                    values.rs
//! SELECT ..             in this order: FROM, WHERE, SELECT, GROUP BY, HAVING, ORDER BY
//! ```
//!
//! All column names in a plan are unique within the statement, including its subqueries, so that a
//! condition that a subquery shares with the outer query has the same meaning in both.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use sqlparser::ast::{self, Ident, SetExpr, SetOperator, Spanned};
use vector::sync::Arc;
use vector::{Error, Result};

use super::clauses::{self, SelectClauses, Trailer};
use super::from::{RelationSyntax, SourceSyntax};
use super::query::{Body, Query};
use super::relations::From;
use super::set_operations::{Matched, arms};
use super::statement::Statement;
use crate::sql::bind::is_placeholder;
use crate::sql::catalog::Catalog;
use crate::sql::scope::{self, Scope};
use crate::sql::source::SourceText;

/// Maximum nesting depth of queries.
const MAX_DEPTH: usize = 24;
/// Maximum number of relations of a statement, in which each use of a WITH name is counted.
const MAX_RELATIONS: usize = 512;

/// State that all parts of a statement share.
pub(super) struct Planner<'a> {
    pub(super) catalog: &'a dyn Catalog,
    pub(super) functions: &'a FunctionRegistry,
    pub(super) source: SourceText<'a>,
    /// Names of columns in the plan.
    taken: HashSet<Arc<str>>,
    /// The queries that WITH has defined so far, including those of enclosing queries.
    named: Vec<NamedQuery>,
    num_relations: usize,
    depth: usize,
    /// Columns of the query around the subquery that is being bound, for errors.
    pub(super) around: Option<Scope>,
}

/// A query that WITH defines.
#[derive(Debug, Clone)]
struct NamedQuery {
    name: Ident,
    columns: Vec<Ident>,
    query: Arc<ast::Query>,
    /// Number of earlier named queries that it may use itself.
    num_known: usize,
}

/// A bound query, and the terms of its WHERE that use columns of the outer query.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) query: Query,
    pub(super) correlated: Vec<TypedExpr>,
}

impl<'a> Planner<'a> {
    /// Returns a planner without named queries.
    pub(super) fn new(
        catalog: &'a dyn Catalog,
        functions: &'a FunctionRegistry,
        source: SourceText<'a>,
    ) -> Self {
        Planner {
            catalog,
            functions,
            source,
            taken: HashSet::new(),
            named: Vec::new(),
            num_relations: 0,
            depth: 0,
            around: None,
        }
    }

    /// Binds a query; `outer` has the columns of the outer query that WHERE may use.
    pub(super) fn query(&mut self, query: &ast::Query, outer: Option<&Scope>) -> Result<Bound> {
        self.nested(|planner| planner.whole_query(query, outer))
    }

    /// Calls `f` one nesting level deeper.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("subqueries are nested too deep").with("max", MAX_DEPTH));
        }
        let done = f(self);
        self.depth -= 1;
        done
    }

    fn whole_query(&mut self, query: &ast::Query, outer: Option<&Scope>) -> Result<Bound> {
        let num_named = self.named.len();
        if let Some(with) = &query.with {
            if with.recursive {
                let error = Error::unsupported("WITH RECURSIVE is not supported");
                return Err(self.source.point(error, with.span()));
            }
            for cte in &with.cte_tables {
                let named = NamedQuery {
                    name: cte.alias.name.clone(),
                    columns: cte.alias.columns.iter().map(|c| c.name.clone()).collect(),
                    query: Arc::new(ast::Query::clone(&cte.query)),
                    num_known: self.named.len(),
                };
                self.named.push(named);
            }
        }
        let trailer = Trailer::of(query, self.source)?;
        let bound = self.body(&query.body, &trailer, outer)?;
        self.named.truncate(num_named);
        Ok(bound)
    }

    /// Binds the body of a query, without WITH and ORDER BY.
    pub(super) fn body(
        &mut self,
        body: &SetExpr,
        trailer: &Trailer<'_>,
        outer: Option<&Scope>,
    ) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => {
                let clauses = SelectClauses::of(select, self.source)?;
                self.select(&clauses, trailer, outer)
            }
            SetExpr::Query(inner) if clauses::is_bare(inner) => {
                self.body(&inner.body, trailer, outer)
            }
            SetExpr::Query(_) => self.union(vec![body], false, trailer),
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let is_all = self.is_all(*set_quantifier, body)?;
                let sides = [&**left, right];
                match op {
                    SetOperator::Union => self.union(arms(body, !is_all), !is_all, trailer),
                    SetOperator::Intersect => self.matched(sides, Matched::Both(is_all), trailer),
                    SetOperator::Except | SetOperator::Minus => {
                        self.matched(sides, Matched::First(is_all), trailer)
                    }
                }
            }
            SetExpr::Values(values) => self.values(values, trailer),
            other => Err(clauses::unsupported_body(other, self.source)),
        }
    }

    fn select(
        &mut self,
        clauses: &SelectClauses<'_>,
        trailer: &Trailer<'_>,
        outer: Option<&Scope>,
    ) -> Result<Bound> {
        let (from, scope) = match &clauses.from {
            Some(from) => self.from(from, clauses.filter)?,
            None => (From::nothing(), Scope::default()),
        };
        let scope = scope.within(self.around.as_ref());
        let (source, functions) = (self.source, self.functions);
        let statement = Statement { source, functions, scope: &scope, clauses, outer };
        let (select, correlated, sort) = statement.bind(self, from, trailer.order_by)?;
        let body = Body::Select(Box::new(select));
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated })
    }

    /// Returns the query that WITH defined under the name of a relation, if any.
    pub(super) fn query_called(&mut self, syntax: &RelationSyntax<'_>) -> Result<Option<Query>> {
        let SourceSyntax::Table { ident: Some(ident), .. } = &syntax.source else {
            return Ok(None);
        };
        let found = self.named.iter().rev().find(|named| scope::matches(ident, &named.name.value));
        let Some(found) = found.cloned() else { return Ok(None) };
        // Queries that were defined later or in nested statements are not visible to it.
        let later = self.named.split_off(found.num_known);
        let mut query = self.query(&found.query, None)?.query;
        self.named.extend(later);
        if let Some(extra) = found.columns.get(query.columns().len()) {
            let error =
                Error::invalid_input("there are more names than columns").with("name", extra);
            return Err(self.source.point(error, extra.span));
        }
        for (i, name) in found.columns.iter().enumerate() {
            query.rename(i, &name.value);
        }
        Ok(Some(query))
    }

    /// Counts a relation of the statement.
    pub(super) fn count_relation(&mut self) -> Result<()> {
        self.num_relations += 1;
        if self.num_relations > MAX_RELATIONS {
            return Err(Error::limit("a statement has too many tables").with("max", MAX_RELATIONS));
        }
        Ok(())
    }

    /// Returns a name for a column of a relation that no other column of the statement has.
    pub(super) fn fresh_field(&mut self, relation: &str, name: &str) -> Arc<str> {
        // No column may be mistaken for the placeholder of an aggregate.
        let plain = |text: &str| match is_placeholder(text) {
            true => format!("#{text}"),
            false => text.to_string(),
        };
        let (relation, name) = (plain(relation), plain(name));
        let mut field: Arc<str> = name.as_str().into();
        let mut number = 0;
        while !self.taken.insert(Arc::clone(&field)) {
            number += 1;
            field = match number {
                1 => format!("{relation}.{name}").into(),
                _ => format!("{relation}.{name}#{number}").into(),
            };
        }
        field
    }
}
