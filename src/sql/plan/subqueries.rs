//! Subqueries in expressions: EXISTS, IN and values, as joins of the query around them.
//!
//! ```text
//! x IN (SELECT y ..)      a term of WHERE: semi join on x = y; elsewhere a column that says so
//! x NOT IN (SELECT y ..)  a term of WHERE: null aware anti join
//! EXISTS (SELECT ..)      the same without x = y
//! (SELECT max(y) ..)      a join with its one row
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
}

impl<'f, 'p> Subqueries<'f, 'p> {
    /// None yet.
    pub(super) fn new(planner: &'f mut Planner<'p>) -> Self {
        Subqueries { planner, found: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The columns that stand for values.
    pub(super) fn values(&self) -> impl Iterator<Item = TypedExpr> {
        let values = self.found.iter().filter(|s| matches!(s.answer, Answer::Value));
        values.map(|subquery| subquery.column.clone())
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
    fn relation(&mut self, ast: &ast::Query, scope: &Scope, is_value: bool) -> Result<Related> {
        self.planner.count_relation()?;
        let Bound { mut query, correlated } = self.planner.query(ast, Some(scope))?;
        let cut = query.limit.is_some() || query.offset > 0;
        if !cut && !is_value {
            // Which rows there are matters, neither how often nor where.
            query.sort = Sort::default();
            match &mut query.body {
                Body::Select(select) => select.distinct = false,
                Body::Union(union) => union.distinct = false,
            }
        }
        let names = query.columns().into_iter().map(|(name, _)| name.to_string());
        let names: Vec<String> = names.collect();
        let mut fields: Vec<Arc<str>> =
            names.iter().map(|name| self.planner.fresh_field("subquery", name)).collect();
        if !correlated.is_empty() {
            let shared = match &mut query.body {
                Body::Select(select) if select.groups.is_none() && !cut && !is_value => select,
                _ => {
                    let error = Error::unsupported(
                        "a subquery with groups or a limit, or that stands for a value, cannot \
                         use columns of the query around it yet",
                    );
                    return Err(self.planner.source.point(error, ast.span()));
                }
            };
            let own = shared.from.relations.iter().flat_map(|relation| &relation.fields);
            let own: HashSet<Arc<str>> = own.cloned().collect();
            for (name, ty) in columns_of(&correlated) {
                if own.contains(&name) && !fields.contains(&name) {
                    let expr = TypedExpr::field(Arc::clone(&name), ty);
                    shared.items.push(Item { name: name.to_string(), expr });
                    fields.push(name);
                }
            }
        }
        Ok(Related { query, fields, num_columns: names.len(), terms: correlated })
    }
}

/// A subquery as a relation.
struct Related {
    query: Query,
    fields: Vec<Arc<str>>,
    num_columns: usize,
    terms: Vec<TypedExpr>,
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
        let is_value = matches!(usage, SubqueryUse::Value);
        let mut related = self.relation(query, scope, is_value)?;
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
        let rows = if is_value { Rows::Value(query) } else { Rows::Query(query) };
        let relation = Relation { rows, fields };
        self.found.push(Subquery { relation, terms, column: column.clone(), answer, span });
        Ok(column)
    }
}

impl Subquery {
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
            Answer::Value | Answer::Exists => None,
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
