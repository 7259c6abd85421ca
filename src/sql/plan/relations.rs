//! The relations of a FROM clause: found, opened, and given columns whose names differ.
//!
//! ```text
//! FromClause      first a, then steps: (inner, b, ON ..), (left, c, USING ..)     from.rs
//! Relations       each with names for its columns that no other relation has
//! Scope           the columns of all, which the other clauses see
//! Tree            left( inner(a, b), c ), each join with its terms                tree.rs
//! ```

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::Span;
use vector::sync::Arc;
use vector::{Error, Result, RowVector, Type, Value};

use super::from::{Constraint, FromClause, RelationSyntax, SourceSyntax, Step};
use super::known_terms;
use super::planner::Planner;
use super::query::Query;
use super::tree::{JoinKind, Tree};
use crate::sql::bind::Binder;
use crate::sql::catalog::{CatalogTable, TableColumn};
use crate::sql::scope::Scope;
use crate::sql::source::place_of;

/// Relations of a FROM clause at most; the places of a term's columns are kept as bits.
pub(super) const MAX_RELATIONS: usize = 64;

/// Columns that have names of their own.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) rows: Rows,
    /// The plan's name of each column.
    pub(super) fields: Vec<Arc<str>>,
}

/// Where the columns of a relation come from.
#[derive(Debug, Clone)]
pub(super) enum Rows {
    Table(Arc<dyn CatalogTable>),
    Query(Box<Query>),
    /// The one row of a query; nulls when there is none.
    Value(Box<Query>),
    /// Rows that the statement itself has.
    Values(Vec<RowVector>),
    /// A node of the tree adds them to rows that it has.
    Added,
}

impl Relation {
    /// A table that stands alone: its columns keep their names.
    pub(super) fn alone(table: Arc<dyn CatalogTable>) -> Self {
        let fields = table.columns().iter().map(|c| Arc::clone(&c.field)).collect();
        Relation { rows: Rows::Table(table), fields }
    }

    /// Rows, about.
    pub(super) fn estimated_rows(&self) -> Result<u64> {
        match &self.rows {
            Rows::Table(table) => table.estimated_rows(),
            Rows::Query(query) => query.estimated_rows(),
            Rows::Value(_) => Ok(1),
            Rows::Values(batches) => Ok(batches.iter().map(|batch| batch.len() as u64).sum()),
            Rows::Added => Ok(0),
        }
    }
}

/// The relations of a FROM clause, and how they are joined.
#[derive(Debug, Clone)]
pub(super) struct From {
    pub(super) relations: Vec<Relation>,
    pub(super) tree: Tree,
}

impl From {
    /// One row without columns, for queries without FROM.
    pub(super) fn nothing() -> Self {
        From { relations: Vec::new(), tree: Tree::one_row() }
    }

    /// One table.
    pub(super) fn alone(table: Arc<dyn CatalogTable>) -> Self {
        From { relations: vec![Relation::alone(table)], tree: Tree::relation(0) }
    }

    /// One query, whose columns are called as `columns` says.
    pub(super) fn of(query: Query, columns: &[TableColumn]) -> Self {
        let fields = columns.iter().map(|column| Arc::clone(&column.field)).collect();
        let relation = Relation { rows: Rows::Query(Box::new(query)), fields };
        From { relations: vec![relation], tree: Tree::relation(0) }
    }

    /// Adds a relation and gives its place.
    pub(super) fn add(&mut self, relation: Relation) -> usize {
        self.relations.push(relation);
        self.relations.len() - 1
    }

    /// Rows, about.
    pub(super) fn estimated_rows(&self) -> Result<u64> {
        let mut tree = self.tree.clone();
        tree.estimate(&self.relations)?;
        Ok(tree.num_rows())
    }
}

impl Planner<'_> {
    /// The relations of FROM, their joins, and the columns that the other clauses may use.
    /// `filter` is WHERE, which may tell which files matter.
    pub(super) fn from(
        &mut self,
        clause: &FromClause<'_>,
        filter: Option<&Expr>,
    ) -> Result<(From, Scope)> {
        let mut from = From::nothing();
        let nothing = Scope::default();
        let first = &clause.first;
        let (mut scope, lists) = self.relation(first, filter, &nothing, &mut from)?;
        from.tree = match lists {
            Some(lists) => Tree::unnest(from.tree, 0, lists, false),
            None => Tree::relation(0),
        };
        for step in &clause.steps {
            let place = from.relations.len();
            let (right, lists) = self.relation(&step.relation, filter, &scope, &mut from)?;
            let both = scope.clone().joined(&right);
            let (terms, both) = self.constraint(step, &scope, &right, both)?;
            let left = std::mem::replace(&mut from.tree, Tree::one_row());
            if let Some(lists) = lists {
                let keeps_empty = self.is_outer_unnest(step, &terms)?;
                from.tree = Tree::unnest(left, place, lists, keeps_empty);
                for term in terms {
                    from.tree.push_down(term, &from.relations);
                }
                scope = both;
                continue;
            }
            let right_tree = Tree::relation(place);
            from.tree = Tree::join(step.kind, left, right_tree, terms, &from.relations);
            scope = match step.kind {
                JoinKind::LeftSemi | JoinKind::LeftAnti => scope,
                JoinKind::RightSemi | JoinKind::RightAnti => right,
                _ => both,
            };
        }
        Ok((from, scope))
    }

    /// Whether rows without elements stay in a join with UNNEST; `terms` is its condition.
    fn is_outer_unnest(&self, step: &Step<'_>, terms: &[TypedExpr]) -> Result<bool> {
        let sentence = match step.kind {
            JoinKind::Inner => return Ok(false),
            JoinKind::Left if terms.is_empty() => return Ok(true),
            JoinKind::Left => "a LEFT JOIN with UNNEST is supported with ON TRUE only",
            _ => "UNNEST is supported in inner and left joins only",
        };
        Err(self.source.point(Error::unsupported(sentence), step.relation.span))
    }

    /// Adds what FROM names; what UNNEST takes apart, over the columns of `left`, comes back.
    fn relation(
        &mut self,
        syntax: &RelationSyntax<'_>,
        filter: Option<&Expr>,
        left: &Scope,
        from: &mut From,
    ) -> Result<(Scope, Option<Vec<TypedExpr>>)> {
        self.count_relation()?;
        match &syntax.source {
            SourceSyntax::Table { name, quoted, .. } => {
                if let Some(query) = self.query_called(syntax)? {
                    return Ok((self.subquery(syntax, name, query, from)?, None));
                }
                Ok((self.table(syntax, (name, *quoted), filter, from)?, None))
            }
            SourceSyntax::Query(query) => {
                let query = self.query(query, None)?.query;
                Ok((self.subquery(syntax, "unnamed_subquery", query, from)?, None))
            }
            SourceSyntax::Unnest { lists, with_ordinality } => {
                let (scope, lists) = self.unnest(syntax, lists, *with_ordinality, left, from)?;
                Ok((scope, Some(lists)))
            }
        }
    }

    fn table(
        &mut self,
        syntax: &RelationSyntax<'_>,
        (name, quoted): (&str, bool),
        filter: Option<&Expr>,
        from: &mut From,
    ) -> Result<Scope> {
        let found = self.catalog.find(name, quoted);
        let found = found.map_err(|e| self.source.locate(e, syntax.span))?;
        let relation = syntax.name_or(found.name());
        let keys = Scope::new(&relation, found.partition_columns());
        let condition = match syntax.columns.is_empty() {
            true => known_terms(filter, &keys, self.functions),
            // Conditions use the new names.
            false => None,
        };
        let table = found.open(condition.as_ref())?;
        let mut columns: Vec<TableColumn> = table.columns().to_vec();
        self.rename(syntax, &mut columns)?;
        for column in &mut columns {
            column.field = self.fresh_field(&relation, &column.field);
        }
        let fields = columns.iter().map(|c| Arc::clone(&c.field)).collect();
        let scope = Scope::of_table(&relation, &*table, &columns);
        from.add(Relation { rows: Rows::Table(table), fields });
        Ok(scope)
    }

    fn subquery(
        &mut self,
        syntax: &RelationSyntax<'_>,
        name: &str,
        query: Query,
        from: &mut From,
    ) -> Result<Scope> {
        let relation = syntax.name_or(name);
        let columns = query.columns().into_iter().map(|(name, ty)| (name.to_string(), ty.clone()));
        let scope = self.add_columns(syntax, &relation, columns.collect(), from)?;
        if let Some(added) = from.relations.last_mut() {
            added.rows = Rows::Query(Box::new(query));
        }
        Ok(scope)
    }

    fn unnest(
        &mut self,
        syntax: &RelationSyntax<'_>,
        lists: &[&Expr],
        with_ordinality: bool,
        left: &Scope,
        from: &mut From,
    ) -> Result<(Scope, Vec<TypedExpr>)> {
        let relation = syntax.name_or("unnest");
        let mut binder = Binder::new(left, self.functions, self.source, "UNNEST");
        let mut bound = Vec::new();
        let mut columns = Vec::new();
        for list in lists {
            let expr = binder.bind(list)?;
            match expr.ty() {
                Type::Array(element) => columns.push((relation.clone(), (**element).clone())),
                Type::Map(key, value) => {
                    columns.push(("key".to_string(), (**key).clone()));
                    columns.push(("value".to_string(), (**value).clone()));
                }
                ty => {
                    let error = Error::invalid_input("UNNEST takes arrays and maps")
                        .with("expression", list)
                        .with("type", ty);
                    return Err(self.source.point(error, place_of(list)));
                }
            }
            bound.push(expr);
        }
        if with_ordinality {
            columns.push(("ordinality".to_string(), Type::BigInt));
        }
        Ok((self.add_columns(syntax, &relation, columns, from)?, bound))
    }

    /// Adds a relation of columns that are no table's.
    fn add_columns(
        &mut self,
        syntax: &RelationSyntax<'_>,
        relation: &str,
        columns: Vec<(String, Type)>,
        from: &mut From,
    ) -> Result<Scope> {
        let columns = columns.into_iter().map(|(name, ty)| {
            let field = Arc::from(name.as_str());
            TableColumn { name, field, ty, hidden: false }
        });
        let mut columns: Vec<TableColumn> = columns.collect();
        self.rename(syntax, &mut columns)?;
        for column in &mut columns {
            column.field = self.fresh_field(relation, &column.name);
        }
        let fields = columns.iter().map(|c| Arc::clone(&c.field)).collect();
        from.add(Relation { rows: Rows::Added, fields });
        Ok(Scope::new(relation, &columns))
    }

    /// Calls the first columns as `AS t(a, b)` says.
    fn rename(&self, syntax: &RelationSyntax<'_>, columns: &mut [TableColumn]) -> Result<()> {
        let mut shown = columns.iter_mut().filter(|column| !column.hidden);
        for name in &syntax.columns {
            let Some(column) = shown.next() else {
                let error = Error::invalid_input("there are more names than columns")
                    .with("name", &name.value);
                return Err(self.source.point(error, name.span));
            };
            column.name.clone_from(&name.value);
        }
        Ok(())
    }

    /// The condition of a join, and the columns of both sides as it leaves them.
    fn constraint(
        &self,
        step: &Step<'_>,
        left: &Scope,
        right: &Scope,
        both: Scope,
    ) -> Result<(Vec<TypedExpr>, Scope)> {
        let names: Vec<Ident> = match &step.constraint {
            Constraint::None => return Ok((Vec::new(), both)),
            Constraint::On(condition) => {
                let mut binder = Binder::new(&both, self.functions, self.source, "ON");
                let bound = binder.bind_condition(condition)?;
                // ON TRUE says nothing.
                let truth = TypedExpr::constant(Value::Boolean(true), Type::Boolean);
                let terms = bound.conjuncts().into_iter().filter(|term| **term != truth);
                return Ok((terms.cloned().collect(), both));
            }
            Constraint::Using(names) => names.iter().map(|name| (*name).clone()).collect(),
            Constraint::Natural(_) if left.is_partial() || right.is_partial() => {
                return Err(Error::not_found("the columns of a natural join are not all known"));
            }
            Constraint::Natural(span) => common_names(left, right, *span),
        };
        let mut scope = both.clone();
        let mut terms = Vec::new();
        for name in &names {
            let path = std::slice::from_ref(name);
            let (a, b) = (left.resolve(path, self.source)?, right.resolve(path, self.source)?);
            let binder = Binder::new(&both, self.functions, self.source, "USING");
            terms.push(binder.equal(a.clone(), b.clone(), name.span)?);
            let meaning = match step.kind {
                JoinKind::Right => b.clone(),
                JoinKind::Full => binder.first_of(a.clone(), b.clone(), name.span)?,
                _ => a.clone(),
            };
            if let TypedExpr::Field { name: other, .. } = &b {
                // The left name may stand for several columns already; its first one shows.
                if let Some(TypedExpr::Field { name: kept, .. }) = first_field(&a) {
                    scope.merge(kept, other, meaning);
                }
            }
        }
        Ok((terms, scope))
    }
}

/// The names that NATURAL joins by.
fn common_names(left: &Scope, right: &Scope, span: Span) -> Vec<Ident> {
    let of_left: HashSet<String> = left.visible().map(|(c, _)| c.name.to_lowercase()).collect();
    let of_right = right.visible().map(|(column, _)| column.name.clone());
    let common = of_right.filter(|name| of_left.contains(&name.to_lowercase()));
    common.map(|name| Ident { span, ..Ident::new(name) }).collect()
}

/// The first column in an expression.
fn first_field(expr: &TypedExpr) -> Option<&TypedExpr> {
    let mut found = None;
    expr.visit(&mut |part| {
        if found.is_none() && matches!(part, TypedExpr::Field { .. }) {
            found = Some(part);
        }
    });
    found
}
