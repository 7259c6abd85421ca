//! Statements to bound queries: WITH, set operations, and the clauses of each SELECT.
//!
//! ```text
//! WITH a AS (..)        named queries; each use of a name is bound on its own
//! .. UNION ALL ..       arms, whose columns are converted to common types
//! SELECT ..             one after the other: FROM, WHERE, SELECT, GROUP BY, HAVING, ORDER BY
//! ```
//!
//! All names of columns in a plan differ within the statement, subqueries included, so that a
//! condition that a subquery shares with the query around it means the same in both.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::expr::{FunctionRegistry, common_type};
use sqlparser::ast::{self, Ident, OrderBy, SetExpr, SetOperator, SetQuantifier, Spanned};
use vector::sync::Arc;
use vector::{Error, Result, Type};

use super::clauses::{self, SelectClauses, Trailer};
use super::from::{RelationSyntax, SourceSyntax};
use super::output::{Sort, sort_keys};
use super::query::{Body, Query, Select, Union};
use super::relations::{From, Relation, Rows};
use super::statement::Statement;
use super::tree::Tree;
use super::{Item, all_columns};
use crate::sql::bind::{Binder, is_placeholder};
use crate::sql::catalog::{Catalog, TableColumn};
use crate::sql::scope::{self, Scope};
use crate::sql::source::SourceText;

/// Queries inside of queries at most.
const MAX_DEPTH: usize = 24;
/// Relations of a whole statement at most: a name of WITH counts as often as it is used.
const MAX_RELATIONS: usize = 512;

/// What all parts of a statement share.
pub(super) struct Planner<'a> {
    pub(super) catalog: &'a dyn Catalog,
    pub(super) functions: &'a FunctionRegistry,
    pub(super) source: SourceText<'a>,
    /// Names of columns in the plan.
    taken: HashSet<Arc<str>>,
    /// The queries that WITH has named so far, those of queries around included.
    named: Vec<NamedQuery>,
    num_relations: usize,
    depth: usize,
}

/// A query that WITH names.
#[derive(Debug, Clone)]
struct NamedQuery {
    name: Ident,
    columns: Vec<Ident>,
    query: Arc<ast::Query>,
    /// The named queries that it may use itself.
    num_known: usize,
}

/// A query, and the terms of its WHERE that use columns of the query around it.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) query: Query,
    pub(super) correlated: Vec<TypedExpr>,
}

impl<'a> Planner<'a> {
    /// Knows no names yet.
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
        }
    }

    /// Binds a query; `outer` has the columns of the query around it that WHERE may use.
    pub(super) fn query(&mut self, query: &ast::Query, outer: Option<&Scope>) -> Result<Bound> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("subqueries are nested too deep").with("max", MAX_DEPTH));
        }
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
        self.depth -= 1;
        Ok(bound)
    }

    fn body(
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
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, .. } => {
                let distinct = match set_quantifier {
                    SetQuantifier::All => false,
                    SetQuantifier::Distinct | SetQuantifier::None => true,
                    _ => {
                        let error = Error::unsupported("UNION BY NAME is not supported yet");
                        return Err(self.source.point(error, body.span()));
                    }
                };
                self.union(arms(body, distinct), distinct, trailer)
            }
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
        let (source, functions) = (self.source, self.functions);
        let statement = Statement { source, functions, scope: &scope, clauses, outer };
        let (select, correlated, sort) = statement.bind(self, from, trailer.order_by)?;
        let body = Body::Select(Box::new(select));
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated })
    }

    fn union(
        &mut self,
        bodies: Vec<&SetExpr>,
        distinct: bool,
        trailer: &Trailer<'_>,
    ) -> Result<Bound> {
        let mut arms = Vec::with_capacity(bodies.len());
        for body in &bodies {
            let bound = match body {
                SetExpr::Query(query) => self.query(query, None)?,
                other => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(
                            Error::limit("subqueries are nested too deep").with("max", MAX_DEPTH)
                        );
                    }
                    let bound = self.body(other, &Trailer::default(), None)?;
                    self.depth -= 1;
                    bound
                }
            };
            self.count_relation()?;
            arms.push(bound.query);
        }
        let types = self.common_types(&arms, &bodies)?;
        let names: Vec<String> = match arms.first() {
            Some(first) => first.columns().iter().map(|(name, _)| name.to_string()).collect(),
            None => Vec::new(),
        };
        let columns = names.into_iter().zip(&types).map(|(name, ty)| TableColumn {
            field: self.fresh_field("union", &name),
            name,
            ty: ty.clone(),
            hidden: false,
        });
        let columns: Vec<TableColumn> = columns.collect();
        let arms = arms.into_iter().map(|arm| self.converted(arm, &types)).collect();
        let sort = self.union_sort(&columns, trailer.order_by)?;
        let body = Body::Union(Union { arms, distinct, columns });
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated: Vec::new() })
    }

    /// The types that the columns of all arms convert to.
    fn common_types(&self, arms: &[Query], bodies: &[&SetExpr]) -> Result<Vec<Type>> {
        let mut types: Vec<Type> = Vec::new();
        for (number, (arm, body)) in arms.iter().zip(bodies).enumerate() {
            let columns = arm.columns();
            if number > 0 && columns.len() != types.len() {
                let error = Error::invalid_input("the queries of a UNION differ in columns")
                    .with("one", types.len())
                    .with("other", columns.len());
                return Err(self.source.point(error, body.span()));
            }
            for (i, (name, ty)) in columns.into_iter().enumerate() {
                let Some(before) = types.get_mut(i) else {
                    types.push(ty.clone());
                    continue;
                };
                *before = common_type(before, ty).ok_or_else(|| {
                    let error = Error::invalid_input("the columns of a UNION have no common type")
                        .with("column", name)
                        .with("one", &*before)
                        .with("other", ty);
                    self.source.advise(error, body.span(), "convert one side with CAST")
                })?;
            }
        }
        Ok(types)
    }

    /// The query with its columns converted to `types`.
    fn converted(&mut self, query: Query, types: &[Type]) -> Query {
        let own: Vec<(String, Type)> =
            query.columns().into_iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
        if own.iter().zip(types).all(|((_, ty), wanted)| ty == wanted) {
            return query;
        }
        let mut fields = Vec::new();
        let mut items = Vec::new();
        for ((name, ty), wanted) in own.into_iter().zip(types) {
            let field = self.fresh_field("union", &name);
            let column = TypedExpr::field(Arc::clone(&field), ty.clone());
            let expr = if ty == *wanted { column } else { TypedExpr::cast(column, wanted.clone()) };
            fields.push(field);
            items.push(Item { name, expr });
        }
        let relation = Relation { rows: Rows::Query(Box::new(query)), fields };
        let from = From { relations: vec![relation], tree: Tree::relation(0) };
        let select = Select { from, filter: Vec::new(), items, groups: None, distinct: false };
        Query::plain(Body::Select(Box::new(select)))
    }

    fn union_sort(&self, columns: &[TableColumn], order_by: Option<&OrderBy>) -> Result<Sort> {
        let scope = Scope::new("union", columns);
        let mut binder = Binder::new(&scope, self.functions, self.source, "ORDER BY");
        sort_keys(self.source, &all_columns(&scope), order_by, |expr| binder.bind(expr))
    }

    /// The query that WITH gave the name of a relation, if any.
    pub(super) fn query_called(&mut self, syntax: &RelationSyntax<'_>) -> Result<Option<Query>> {
        let SourceSyntax::Table { ident: Some(ident), .. } = &syntax.source else {
            return Ok(None);
        };
        let found = self.named.iter().rev().find(|named| scope::matches(ident, &named.name.value));
        let Some(found) = found.cloned() else { return Ok(None) };
        // What was named later, or inside, is not known to it.
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

    /// A name for a column of a relation that no other column of the statement has.
    pub(super) fn fresh_field(&mut self, relation: &str, name: &str) -> Arc<str> {
        // No column may be taken for one that stands for an aggregate.
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

/// The queries that a chain of UNIONs puts together. Chains are long where programs write them, so
/// they are walked and not recursed into.
fn arms(body: &SetExpr, distinct: bool) -> Vec<&SetExpr> {
    let mut arms = Vec::new();
    let mut rest = vec![body];
    while let Some(next) = rest.pop() {
        match next {
            // Below a UNION that drops repeated rows it does not matter whether others do.
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right }
                if matches!(set_quantifier, SetQuantifier::All)
                    || distinct
                        && matches!(
                            set_quantifier,
                            SetQuantifier::Distinct | SetQuantifier::None
                        ) =>
            {
                rest.push(right);
                rest.push(left);
            }
            SetExpr::Query(query) if clauses::is_bare(query) => rest.push(&query.body),
            other => arms.push(other),
        }
    }
    arms
}
