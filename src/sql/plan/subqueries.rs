//! Subqueries in expressions: EXISTS, IN and values, as joins of the query around them.
//!
//! ```text
//! x IN (SELECT y ..)      a term of WHERE: semi join on x = y; elsewhere a column that says so
//! x NOT IN (SELECT y ..)  a term of WHERE: null aware anti join
//! EXISTS (SELECT ..)      the same without x = y
//! (SELECT max(y) ..)      a join with its one row; a lookup by key where it uses columns of the
//!                         query around it                                       correlated.rs
//! ```
//!
//! While a clause is bound each subquery becomes a relation, and a column of it stands in the
//! expression; once all clauses are bound the relations are joined to those of FROM. Terms of the
//! subquery's own WHERE that use columns of the query around it become terms of the join, and the
//! columns of the subquery that they use become columns of its relation.

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

/// The subqueries that clauses of one SELECT have.
pub(super) struct Subqueries<'f, 'p> {
    planner: &'f mut Planner<'p>,
    found: Vec<Subquery>,
}

/// A subquery, and what stands for it.
#[derive(Debug)]
struct Subquery {
    relation: Relation,
    /// Terms over its columns and those of the query around it.
    terms: Vec<TypedExpr>,
    /// The column that stands for it.
    column: TypedExpr,
    answer: Answer,
    span: Span,
}

/// What the column says.
#[derive(Debug)]
enum Answer {
    /// Whether there is a row.
    Exists,
    /// Whether a row has in its column what the left side has.
    In(TypedExpr, TypedExpr),
    /// The value of the one row.
    Value,
    /// A value for each row of the query around, made of columns of the row that is found for it.
    LookedUp,
}

impl<'f, 'p> Subqueries<'f, 'p> {
    /// None yet.
    pub(super) fn new(planner: &'f mut Planner<'p>) -> Self {
        Subqueries { planner, found: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The values that groups by `keys` have beside them; `above` is what is made of groups.
    pub(super) fn group_values(
        &self,
        keys: &[TypedExpr],
        above: &[&TypedExpr],
    ) -> Result<Vec<TypedExpr>> {
        let mut values = Vec::new();
        for subquery in &self.found {
            match subquery.answer {
                // A value is the same for all rows, so that it may be one more key.
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

    /// Joins the subqueries to FROM. Terms of WHERE that are nothing but an answer become the join;
    /// `above` are the other expressions that may use the columns.
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

    /// Binds a subquery and makes its relation; its own columns come first, `num_columns` of them.
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
            // Which rows there are matters, neither how often nor where.
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

    /// Gives a subquery the columns that its terms over the query around need of it.
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

/// What is asked of a subquery.
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
    /// What stands for it where it is looked up for each row of the query around.
    value: Option<TypedExpr>,
}

impl Related {
    /// The only column; `None` when there is another number of them.
    fn only_column(&self) -> Option<TypedExpr> {
        let columns = self.query.columns();
        let (_, ty) = columns.first().filter(|_| self.num_columns == 1)?;
        Some(TypedExpr::field(Arc::clone(self.fields.first()?), (*ty).clone()))
    }
}

/// The columns that expressions use.
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
            // One row is among the values of a subquery when it has its value.
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
    /// True when an expression has a column of its relation.
    fn is_used_by(&self, exprs: &[&TypedExpr]) -> bool {
        let own: HashSet<&str> = self.relation.fields.iter().map(AsRef::as_ref).collect();
        exprs.iter().any(|expr| expr.field_names().iter().any(|name| own.contains(name)))
    }

    /// Fails when rows of one group may find different values.
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
        // Where rows are only kept or dropped, unknown is as good as false.
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

/// The join that gives an answer, and the term of WHERE that it makes true.
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
