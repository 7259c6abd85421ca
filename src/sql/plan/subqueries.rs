//! Subqueries in expressions: EXISTS, IN and scalar subqueries, planned as joins of the outer
//! query.
//!
//! ```text
//! x IN (SELECT y ..)      a term of WHERE: semi join on x = y; elsewhere a mark column
//! x NOT IN (SELECT y ..)  a term of WHERE: null-aware anti join
//! EXISTS (SELECT ..)      the same without x = y
//! (SELECT max(y) ..)      a join with its one row; a lookup by key where it is correlated
//!                         with the outer query                                  correlated.rs
//! ```
//!
//! While a clause is bound, each subquery becomes a relation, and a column of it replaces the
//! subquery in the expression; once all clauses are bound, the relations are joined to those of
//! FROM. Terms of the subquery's own WHERE that use columns of the outer query become terms of the
//! join, and the columns of the subquery that they use become columns of its relation.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::plan::JoinType;
use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;
use vector::sync::Arc;
use vector::{Error, Result, Type};

use super::Item;
use super::correlated::{group_by_links, take_having, value_or_default};
use super::output::Sort;
use super::planner::{Bound, Planner};
use super::query::{Body, Query};
use super::relations::{From, Relation, Rows};
use super::tree::{Join, Tree};
use crate::sql::bind::{Binder, SubqueryBinder, SubqueryUse, has_aggregate};
use crate::sql::scope::Scope;

/// The subqueries in the clauses of one SELECT.
pub(super) struct Subqueries<'f, 'p> {
    planner: &'f mut Planner<'p>,
    found: Vec<Subquery>,
}

/// A subquery, and the column that represents it.
#[derive(Debug)]
struct Subquery {
    relation: Relation,
    /// Terms over its columns and those of the outer query.
    terms: Vec<TypedExpr>,
    /// Column that represents the subquery in expressions.
    column: TypedExpr,
    answer: Answer,
    span: Span,
}

/// Meaning of the column that represents a subquery.
#[derive(Debug)]
enum Answer {
    /// Whether there is a row.
    Exists,
    /// Whether the first expression, of the outer query, equals the second one, of the subquery, in
    /// some row.
    In(TypedExpr, TypedExpr),
    /// The value of the single row.
    Value,
    /// A value for each row of the outer query, computed of columns of the row that the lookup
    /// finds.
    LookedUp,
}

impl<'f, 'p> Subqueries<'f, 'p> {
    /// Returns an empty list of subqueries.
    pub(super) fn new(planner: &'f mut Planner<'p>) -> Self {
        Subqueries { planner, found: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the subquery values to add to the group keys `keys`; `above` are the expressions
    /// over the groups.
    pub(super) fn group_values(
        &self,
        keys: &[TypedExpr],
        above: &[&TypedExpr],
    ) -> Result<Vec<TypedExpr>> {
        let mut values = Vec::new();
        for subquery in &self.found {
            match subquery.answer {
                // The value is the same for all rows, so it may be added to the keys.
                Answer::Value if !keys.is_empty() => values.push(subquery.column.clone()),
                Answer::LookedUp if subquery.is_used_by(above) => {
                    subquery
                        .check_keys(keys)
                        .map_err(|e| self.planner.source.point(e, subquery.span))?;
                    values.push(subquery.column.clone());
                }
                _ => {}
            }
        }
        Ok(values)
    }

    /// Joins the subqueries to FROM. Terms of WHERE that consist of nothing but a subquery's mark
    /// column become the join kind; `above` are the other expressions that may use the columns.
    pub(super) fn join(
        self,
        from: &mut From,
        filter: &mut Vec<TypedExpr>,
        above: &[&TypedExpr],
    ) -> Result<()> {
        let source = self.planner.source;
        for subquery in self.found {
            let span = subquery.span;
            subquery.join(from, filter, above).map_err(|error| source.point(error, span))?;
        }
        Ok(())
    }

    /// Binds a subquery and makes its relation; its own `num_columns` columns are first.
    fn relation(&mut self, ast: &ast::Query, scope: &Scope, asked: Asked) -> Result<Related> {
        self.planner.count_relation()?;
        let around = self.planner.around.replace(scope.clone());
        let bound = self.planner.query(ast, Some(scope));
        self.planner.around = around;
        let Bound { mut query, correlated } = bound?;
        if asked == Asked::Exists && query.offset == 0 && query.limit != Some(0) {
            query.limit = None;
        }
        let cut = query.limit.is_some() || query.offset > 0;
        if !cut && asked != Asked::Value {
            // Only the set of rows matters, neither how often a row occurs nor the order.
            query.sort = Sort::default();
            match &mut query.body {
                Body::Select(select) => select.distinct = false,
                Body::Union(union) => union.distinct = false,
            }
        }
        let names = query.columns().into_iter().map(|(name, _)| name.to_string());
        let names: Vec<String> = names.collect();
        let fields = names.iter().map(|name| self.planner.fresh_field("subquery", name));
        let fields: Vec<Arc<str>> = fields.collect();
        let num_columns = names.len();
        let mut related = Related { query, fields, num_columns, terms: correlated, value: None };
        if !related.terms.is_empty() {
            let tied = self.tie(&mut related, asked);
            tied.map_err(|error| self.planner.source.point(error, ast.span()))?;
        }
        Ok(related)
    }

    /// Adds the columns to a subquery that its correlated terms need.
    fn tie(&mut self, related: &mut Related, asked: Asked) -> Result<()> {
        let Related { query, fields, num_columns, terms, value } = related;
        let is_single_row = query.is_single_row() || query.has_one_group();
        let cut = query.offset > 0 || query.limit.is_some_and(|limit| limit == 0 || !is_single_row);
        let select = match &mut query.body {
            Body::Select(select) if !cut => select,
            _ => {
                return Err(Error::unsupported(
                    "a subquery with a limit cannot use columns of the query around it",
                ));
            }
        };
        match &select.groups {
            None if asked == Asked::Value => Err(Error::unsupported(
                "a subquery that stands for a value and uses columns of the query around it must \
                 be an aggregate",
            )),
            None => {
                let own = select.from.relations.iter().flat_map(|relation| &relation.fields);
                let own: HashSet<Arc<str>> = own.cloned().collect();
                for (name, ty) in columns_of(terms) {
                    if own.contains(&name) && !fields.contains(&name) {
                        let expr = TypedExpr::field(Arc::clone(&name), ty);
                        select.items.push(Item { name: name.to_string(), expr });
                        fields.push(name);
                    }
                }
                Ok(())
            }
            Some(groups) if !groups.keys.is_empty() => {
                if asked == Asked::Value {
                    return Err(Error::unsupported(
                        "a subquery that stands for a value and uses columns of the query around \
                         it cannot have GROUP BY",
                    ));
                }
                let links = group_by_links(self.planner, select, terms)?;
                fields.extend(links.fields);
                *terms = links.terms;
                Ok(())
            }
            Some(groups) => {
                if asked == Asked::In && !groups.having.is_empty() {
                    return Err(Error::unsupported(
                        "a subquery of IN with HAVING and without GROUP BY cannot use columns of \
                         the query around it",
                    ));
                }
                if *num_columns != 1 && asked != Asked::Exists {
                    return Ok(());
                }
                select.items.truncate(1);
                fields.truncate(1);
                *num_columns = 1;
                take_having(select, asked == Asked::Exists);
                let (Some(field), Some(item)) = (fields.first(), select.items.first()) else {
                    return Err(Error::internal("a subquery without its column"));
                };
                let column = TypedExpr::field(Arc::clone(field), item.expr.ty().clone());
                let (column, found) = value_or_default(self.planner, select, column)?;
                fields.extend(found);
                let links = group_by_links(self.planner, select, terms)?;
                fields.extend(links.fields);
                (*terms, *value) = (links.terms, Some(column));
                (query.sort, query.limit) = (Sort::default(), None);
                Ok(())
            }
        }
    }
}

/// Use of a subquery, without the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Exists,
    In,
    Value,
}

/// A subquery as a relation.
struct Related {
    query: Query,
    fields: Vec<Arc<str>>,
    num_columns: usize,
    terms: Vec<TypedExpr>,
    /// Expression that represents the subquery where it is looked up for each row of the outer
    /// query.
    value: Option<TypedExpr>,
}

impl Related {
    /// Returns the only column; `None` when the number of columns is not one.
    fn only_column(&self) -> Option<TypedExpr> {
        let columns = self.query.columns();
        let (_, ty) = columns.first().filter(|_| self.num_columns == 1)?;
        Some(TypedExpr::field(Arc::clone(self.fields.first()?), (*ty).clone()))
    }
}

/// Returns the columns that expressions use.
fn columns_of(exprs: &[TypedExpr]) -> Vec<(Arc<str>, Type)> {
    let mut columns = Vec::new();
    for expr in exprs {
        expr.visit(&mut |part| {
            if let TypedExpr::Field { name, ty } = part {
                columns.push((Arc::clone(name), ty.clone()));
            }
        });
    }
    columns
}

impl SubqueryBinder for Subqueries<'_, '_> {
    fn bind_subquery(
        &mut self,
        usage: SubqueryUse,
        query: &ast::Query,
        scope: &Scope,
    ) -> Result<TypedExpr> {
        let (source, span) = (self.planner.source, query.span());
        let asked = match usage {
            SubqueryUse::Exists => Asked::Exists,
            SubqueryUse::In(_) => Asked::In,
            SubqueryUse::Value => Asked::Value,
        };
        let mut related = self.relation(query, scope, asked)?;
        if let Some(value) = related.value.take() {
            let Related { query, fields, terms, .. } = related;
            let relation = Relation { rows: Rows::Query(Box::new(query)), fields };
            let (column, answer) = (value.clone(), Answer::LookedUp);
            self.found.push(Subquery { relation, terms, column, answer, span });
            // IN of a subquery with a single row is equality with its value.
            return match usage {
                SubqueryUse::In(left) => {
                    let binder = Binder::new(scope, self.planner.functions, source, "IN");
                    binder.equal(left, value, span)
                }
                SubqueryUse::Exists | SubqueryUse::Value => Ok(value),
            };
        }
        let only_column = related.only_column().ok_or_else(|| {
            let error = Error::invalid_input("this subquery must have one column")
                .with("columns", related.num_columns);
            source.point(error, span)
        });
        let mut mark = |name: &str| {
            TypedExpr::field(self.planner.fresh_field("subquery", name), Type::Boolean)
        };
        let (column, answer) = match usage {
            SubqueryUse::Exists => {
                if related.terms.is_empty() && related.query.limit.is_none() {
                    related.query.limit = Some(1);
                }
                (mark("exists"), Answer::Exists)
            }
            SubqueryUse::In(left) => {
                let column = mark("in");
                let binder = Binder::new(scope, self.planner.functions, source, "IN");
                let pair = match binder.equal(left, only_column?, span)? {
                    TypedExpr::Call { args, .. } => <[TypedExpr; 2]>::try_from(args).ok(),
                    _ => None,
                };
                let Some([left, right]) = pair else {
                    return Err(Error::internal("a comparison without two sides"));
                };
                (column, Answer::In(left, right))
            }
            SubqueryUse::Value => (only_column?, Answer::Value),
        };
        let Related { query, fields, terms, .. } = related;
        let query = Box::new(query);
        let rows = match asked {
            Asked::Value => Rows::Value(query),
            Asked::Exists | Asked::In => Rows::Query(query),
        };
        let relation = Relation { rows, fields };
        self.found.push(Subquery { relation, terms, column: column.clone(), answer, span });
        Ok(column)
    }
}

impl Subquery {
    /// Returns true when an expression uses a column of the subquery's relation.
    fn is_used_by(&self, exprs: &[&TypedExpr]) -> bool {
        let own: HashSet<&str> = self.relation.fields.iter().map(AsRef::as_ref).collect();
        exprs.iter().any(|expr| expr.field_names().iter().any(|name| own.contains(name)))
    }

    /// Fails when rows of one group may have different values of the subquery.
    fn check_keys(&self, keys: &[TypedExpr]) -> Result<()> {
        let own: HashSet<&str> = self.relation.fields.iter().map(AsRef::as_ref).collect();
        let around = columns_of(&self.terms);
        let mut around = around.iter().filter(|(name, _)| !own.contains(&**name));
        let is_key = |name: &str| {
            keys.iter()
                .any(|key| matches!(key, TypedExpr::Field { name: key, .. } if **key == *name))
        };
        match around.find(|(name, _)| !is_key(name)) {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid_input(
                "a subquery uses a column that is neither grouped by nor inside an aggregate",
            )
            .with("column", name)
            .hint(format!("add {name} to GROUP BY"))),
        }
    }

    fn join(
        self,
        from: &mut From,
        filter: &mut Vec<TypedExpr>,
        above: &[&TypedExpr],
    ) -> Result<()> {
        let Subquery { relation, mut terms, column, answer, .. } = self;
        let right = Tree::relation(from.add(relation));
        let left = std::mem::replace(&mut from.tree, Tree::one_row());
        let known: HashSet<&str> =
            from.relations.iter().flat_map(|r| &r.fields).map(AsRef::as_ref).collect();
        let mut in_pair = match answer {
            Answer::Value | Answer::LookedUp | Answer::Exists => None,
            Answer::In(ref left, ref right) => Some((left.clone(), right.clone())),
        };
        let sides = in_pair.iter().flat_map(|(left, right)| [left, right]);
        for side in terms.iter().chain(sides) {
            if has_aggregate(side) {
                return Err(Error::unsupported(
                    "what aggregates give cannot be looked for in a subquery yet",
                ));
            }
            if !side.field_names().iter().all(|name| known.contains(name)) {
                return Err(Error::unsupported(
                    "a subquery may use columns of the query right around it only",
                ));
            }
        }
        let mut mark = None;
        let kind = match answer {
            Answer::Value => JoinType::Inner,
            Answer::LookedUp => JoinType::Left,
            Answer::Exists | Answer::In(..) => {
                let (kind, answered) = kind_of(&column, filter, above);
                if let Some(answered) = answered {
                    filter.remove(answered);
                }
                kind
            }
        };
        if let (JoinType::LeftSemiProject, TypedExpr::Field { name, .. }) = (kind, &column) {
            let fields = vec![Arc::clone(name)];
            mark = Some(from.add(Relation { rows: Rows::Added, fields }));
        }
        // Where rows are only kept or dropped, unknown has the same effect as false.
        if kind == JoinType::LeftSemiFilter
            && let Some((left, right)) = in_pair.take()
        {
            terms.push(TypedExpr::call("eq", vec![left, right], Type::Boolean));
        }
        let join = Join { kind, left, right, on: Vec::new(), in_pair, mark };
        from.tree = Tree::joined(join, terms, &from.relations);
        Ok(())
    }
}

/// Returns the kind of join that computes an answer, and the position of the WHERE term that the
/// join replaces.
fn kind_of(
    column: &TypedExpr,
    filter: &[TypedExpr],
    above: &[&TypedExpr],
) -> (JoinType, Option<usize>) {
    let TypedExpr::Field { name, .. } = column else { return (JoinType::LeftSemiProject, None) };
    let uses = |expr: &TypedExpr| expr.field_names().contains(&&**name);
    let mut using = filter.iter().enumerate().filter(|(_, term)| uses(term));
    let (Some((place, term)), None) = (using.next(), using.next()) else {
        return (JoinType::LeftSemiProject, None);
    };
    if above.iter().any(|expr| uses(expr)) {
        return (JoinType::LeftSemiProject, None);
    }
    match term {
        term if term == column => (JoinType::LeftSemiFilter, Some(place)),
        TypedExpr::Call { name, args, .. } if &**name == "not" && *args == [column.clone()] => {
            (JoinType::Anti, Some(place))
        }
        _ => (JoinType::LeftSemiProject, None),
    }
}
