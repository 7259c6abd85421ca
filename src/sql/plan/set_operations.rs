//! Set operations: queries of the same columns put together.
//!
//! ```text
//! UNION        a body of its own: arms, whose columns are converted to common types
//!
//! INTERSECT    the rows of both sides, each with the side that it is from, grouped by all columns:
//! EXCEPT       groups that have rows of both sides, or of the first one only
//!
//! .. ALL       each group has a list of its rows of either side; both lists are taken apart side by
//!              side, and a group has as many rows as there are with an element of each, or of the
//!              first one only
//! ```
//!
//! Groups find nulls equal, as set operations do.

use dwio::expr::TypedExpr;
use exec::expr::common_type;
use sqlparser::ast::{OrderBy, SetExpr, SetOperator, SetQuantifier, Spanned};
use vector::sync::Arc;
use vector::{Error, Result, Type, Value};

use super::clauses::{self, Trailer};
use super::output::{Sort, sort_keys};
use super::planner::{Bound, Planner};
use super::query::{Body, Grouping, Query, Select, Union};
use super::relations::{From, Relation, Rows};
use super::tree::Tree;
use super::{Item, all_columns};
use crate::sql::bind::{AggregateCall, Aggregates, Binder};
use crate::sql::catalog::TableColumn;
use crate::sql::scope::Scope;

/// Rows of two queries that are kept: once each, or with `true` as often as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matched {
    /// Those that both have.
    Both(bool),
    /// Those that only the first has.
    First(bool),
}

impl Planner<'_> {
    /// True when a set operation keeps repeated rows.
    pub(super) fn is_all(&self, quantifier: SetQuantifier, body: &SetExpr) -> Result<bool> {
        match quantifier {
            SetQuantifier::All => Ok(true),
            SetQuantifier::Distinct | SetQuantifier::None => Ok(false),
            _ => {
                let error = Error::unsupported("set operations BY NAME are not supported");
                Err(self.source.point(error, body.span()))
            }
        }
    }

    /// INTERSECT and EXCEPT.
    pub(super) fn matched(
        &mut self,
        sides: [&SetExpr; 2],
        kept: Matched,
        trailer: &Trailer<'_>,
    ) -> Result<Bound> {
        let queries = self.arms(&sides)?;
        let types = self.common_types(&queries, &sides)?;
        let names = names_of(&queries);
        // Both sides as one relation.
        let mut arms = Vec::with_capacity(queries.len());
        for (number, query) in queries.into_iter().enumerate() {
            let expr = TypedExpr::constant(Value::Boolean(number == 0), Type::Boolean);
            let side = Item { name: "side".to_string(), expr };
            arms.push(self.converted_with(query, &types, Some(side)));
        }
        let all_types = types.iter().cloned().chain([Type::Boolean]);
        let all_names = names.iter().cloned().chain(["side".to_string()]);
        let inside = self.new_columns(all_names.clone().zip(all_types.clone()));
        let union = Union { arms, distinct: false, columns: inside };
        let columns = self.new_columns(all_names.zip(all_types));
        let from = From::of(Query::plain(Body::Union(union)), &columns);
        let (keys, Some(side)) =
            (fields_of(&columns, types.len()), field_at(&columns, types.len()))
        else {
            return Err(Error::internal("a side of a set operation was lost"));
        };
        let items = names.iter().zip(&keys);
        let items = items.map(|(name, key)| Item { name: name.clone(), expr: key.clone() });
        let items: Vec<Item> = items.collect();

        let mut aggregates = Aggregates::default();
        let first = side.clone();
        let second = TypedExpr::call("not", vec![side.clone()], Type::Boolean);
        let (select, columns) = match kept {
            Matched::Both(false) | Matched::First(false) => {
                let mut count = |filter| aggregates.add(count_of(filter));
                let (first, second) = (count(first), count(second));
                let zero = || TypedExpr::constant(Value::BigInt(0), Type::BigInt);
                let is = |name, count| TypedExpr::call(name, vec![count, zero()], Type::Boolean);
                let wanted = if kept == Matched::Both(false) { "gt" } else { "eq" };
                let having = vec![is("gt", first), is(wanted, second)];
                let groups = Some(Grouping { keys, aggregates, having });
                let columns = columns.into_iter().take(types.len()).collect();
                (Select { items, groups, ..Select::all_of(from) }, columns)
            }
            Matched::Both(true) | Matched::First(true) => {
                let mut list = |filter| aggregates.add(list_of(&side, filter));
                let lists = [list(first), list(second)];
                let list_items = lists.into_iter().map(|expr| Item { name: "rows".into(), expr });
                let all_items = items.into_iter().chain(list_items).collect();
                let groups = Some(Grouping { keys, aggregates, having: Vec::new() });
                let select = Select { items: all_items, groups, ..Select::all_of(from) };
                self.repeated(select, &names, kept)
            }
        };
        let sort = self.union_sort(&columns, trailer.order_by)?;
        let body = Body::Select(Box::new(select));
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated: Vec::new() })
    }

    /// The groups of `select`, whose last two columns list their rows on both sides, as often as
    /// they are kept.
    fn repeated(
        &mut self,
        select: Select,
        names: &[String],
        kept: Matched,
    ) -> (Select, Vec<TableColumn>) {
        let all = select.items.iter().map(|item| (item.name.clone(), item.expr.ty().clone()));
        let columns = self.new_columns(all.collect::<Vec<_>>().into_iter());
        let mut from = From::of(Query::plain(Body::Select(Box::new(select))), &columns);
        let lists = fields_of(&columns, columns.len()).split_off(names.len());
        let rows = [(); 2].map(|()| ("row".to_string(), Type::Boolean));
        let rows = self.new_columns(rows.into_iter());
        let fields = rows.iter().map(|column| Arc::clone(&column.field)).collect();
        let place = from.add(Relation { rows: Rows::Added, fields });
        from.tree = Tree::unnest(from.tree, place, lists, false);
        let filter = fields_of(&rows, rows.len()).into_iter().enumerate().map(|(side, row)| {
            let missing = TypedExpr::call("is_null", vec![row], Type::Boolean);
            match side == 1 && kept == Matched::First(true) {
                true => missing,
                false => TypedExpr::call("not", vec![missing], Type::Boolean),
            }
        });
        let filter = filter.collect();
        let columns: Vec<TableColumn> = columns.into_iter().take(names.len()).collect();
        let items = names.iter().zip(fields_of(&columns, columns.len()));
        let items = items.map(|(name, expr)| Item { name: name.clone(), expr }).collect();
        (Select { items, filter, ..Select::all_of(from) }, columns)
    }

    /// Columns with these names and types, of new fields.
    pub(super) fn new_columns(
        &mut self,
        columns: impl Iterator<Item = (String, Type)>,
    ) -> Vec<TableColumn> {
        let column = |(name, ty): (String, Type)| {
            let field = self.fresh_field("union", &name);
            TableColumn { field, name, ty, hidden: false }
        };
        columns.map(column).collect()
    }

    /// UNION, of any number of queries.
    pub(super) fn union(
        &mut self,
        bodies: Vec<&SetExpr>,
        distinct: bool,
        trailer: &Trailer<'_>,
    ) -> Result<Bound> {
        let arms = self.arms(&bodies)?;
        let types = self.common_types(&arms, &bodies)?;
        let names = names_of(&arms);
        let columns = self.new_columns(names.into_iter().zip(types.iter().cloned()));
        let arms = arms.into_iter().map(|arm| self.converted(arm, &types)).collect();
        let sort = self.union_sort(&columns, trailer.order_by)?;
        let body = Body::Union(Union { arms, distinct, columns });
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated: Vec::new() })
    }

    /// The queries of both sides, or of more, each bound on its own.
    fn arms(&mut self, bodies: &[&SetExpr]) -> Result<Vec<Query>> {
        let mut arms = Vec::with_capacity(bodies.len());
        for body in bodies {
            let bound = match body {
                SetExpr::Query(query) => self.query(query, None)?,
                other => self.nested(|planner| planner.body(other, &Trailer::default(), None))?,
            };
            self.count_relation()?;
            arms.push(bound.query);
        }
        Ok(arms)
    }

    /// The types that the columns of all arms convert to.
    fn common_types(&self, arms: &[Query], bodies: &[&SetExpr]) -> Result<Vec<Type>> {
        let mut types: Vec<Type> = Vec::new();
        for (number, (arm, body)) in arms.iter().zip(bodies).enumerate() {
            let columns = arm.columns();
            if number > 0 && columns.len() != types.len() {
                let error =
                    Error::invalid_input("the queries of a set operation differ in columns")
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
                    let error =
                        Error::invalid_input("the columns of a set operation have no common type")
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
        if query.columns().iter().zip(types).all(|((_, ty), wanted)| *ty == wanted) {
            return query;
        }
        self.converted_with(query, types, None)
    }

    /// The same, with one more column.
    fn converted_with(&mut self, query: Query, types: &[Type], last: Option<Item>) -> Query {
        let own: Vec<(String, Type)> =
            query.columns().into_iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
        let mut fields = Vec::new();
        let mut items = Vec::new();
        for ((name, ty), wanted) in own.into_iter().zip(types) {
            let field = self.fresh_field("union", &name);
            let column = TypedExpr::field(Arc::clone(&field), ty.clone());
            let expr = if ty == *wanted { column } else { TypedExpr::cast(column, wanted.clone()) };
            fields.push(field);
            items.push(Item { name, expr });
        }
        items.extend(last);
        let relation = Relation { rows: Rows::Query(Box::new(query)), fields };
        let from = From { relations: vec![relation], tree: Tree::relation(0) };
        Query::plain(Body::Select(Box::new(Select { items, ..Select::all_of(from) })))
    }

    /// ORDER BY over the columns of what was put together.
    pub(super) fn union_sort(
        &self,
        columns: &[TableColumn],
        order_by: Option<&OrderBy>,
    ) -> Result<Sort> {
        let scope = Scope::new("union", columns);
        let mut binder = Binder::new(&scope, self.functions, self.source, "ORDER BY");
        sort_keys(self.source, &all_columns(&scope), order_by, |expr| binder.bind(expr))
    }
}

/// The columns of what is put together are called as those of the first.
fn names_of(queries: &[Query]) -> Vec<String> {
    let columns = queries.first().map(Query::columns).unwrap_or_default();
    columns.into_iter().map(|(name, _)| name.to_string()).collect()
}

/// The first columns as expressions.
fn fields_of(columns: &[TableColumn], count: usize) -> Vec<TypedExpr> {
    (0..count).filter_map(|index| field_at(columns, index)).collect()
}

fn field_at(columns: &[TableColumn], index: usize) -> Option<TypedExpr> {
    let column = columns.get(index)?;
    Some(TypedExpr::field(Arc::clone(&column.field), column.ty.clone()))
}

fn count_of(filter: TypedExpr) -> AggregateCall {
    let (args, filter) = (Vec::new(), Some(filter));
    AggregateCall {
        function: "count".into(),
        args,
        distinct: false,
        filter,
        order: Vec::new(),
        ty: Type::BigInt,
    }
}

fn list_of(side: &TypedExpr, filter: TypedExpr) -> AggregateCall {
    let (args, filter, ty) = (vec![side.clone()], Some(filter), Type::array(Type::Boolean));
    AggregateCall {
        function: "array_agg".into(),
        args,
        distinct: false,
        filter,
        order: Vec::new(),
        ty,
    }
}

/// The queries that a chain of UNIONs puts together. Chains are long where programs write them, so
/// they are walked and not recursed into.
pub(super) fn arms(body: &SetExpr, distinct: bool) -> Vec<&SetExpr> {
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
