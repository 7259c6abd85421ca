//! Random queries: relations and how they are joined, conditions, groups, order, limits, set
//! operations and subqueries.

use std::rc::Rc;

use super::ast::{
    Aggregate, AggregateCall, Body, Comparison, Expr, FromItem, Group, JoinKind, Query, Select,
    SetOperation, SortKey, Source,
};
use super::expressions::{Scope, ScopeColumn};
use super::rows::is_literal;
use super::tables::Table;
use super::values::Kind;
use crate::random_files::one_of;
use crate::support::random::Random;

/// Makes queries over tables.
pub(super) struct Generator<'a> {
    pub(super) random: &'a mut Random,
    pub(super) tables: &'a [Table],
    /// Queries that may still be nested.
    pub(super) depth: u32,
    next_relation: usize,
}

/// Tables with fewer rows than this are joined, and stand in subqueries; the first of a join may have
/// some more.
const FEW_ROWS: usize = 100;
const SOME_ROWS: usize = 250;

impl<'a> Generator<'a> {
    pub(super) fn new(random: &'a mut Random, tables: &'a [Table]) -> Self {
        Generator { random, tables, depth: 2, next_relation: 0 }
    }

    /// A statement.
    pub(super) fn statement(&mut self) -> Query {
        let mut query =
            if self.random.once_in(8) { self.set_query() } else { self.select_query(None) };
        self.put_order(&mut query);
        query
    }

    /// Makes a query one level deeper.
    fn nested<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.depth -= 1;
        let made = make(self);
        self.depth += 1;
        made
    }

    fn set_query(&mut self) -> Query {
        let left = self.select_query(None);
        let kinds = left.kinds();
        let right = if kinds.iter().all(Kind::is_scalar) {
            self.select_query(Some(&kinds))
        } else {
            // Nothing but columns has a nested type: other rows of the same query.
            self.without_filter(&left)
        };
        let operations = [SetOperation::Union, SetOperation::Intersect, SetOperation::Except];
        Query::of(Body::Set {
            operation: one_of(self.random, &operations),
            all: self.random.once_in(2),
            left: Box::new(left),
            right: Box::new(right),
        })
    }

    fn without_filter(&mut self, query: &Query) -> Query {
        let mut query = query.clone();
        if let Body::Select(select) = &mut query.body {
            select.filter = None;
        }
        query
    }

    /// ORDER BY some columns, or all of them with a limit.
    fn put_order(&mut self, query: &mut Query) {
        let kinds = query.kinds();
        let mut columns: Vec<usize> = (0..kinds.len()).collect();
        for at in (1..columns.len()).rev() {
            columns.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        let is_total = kinds.iter().all(Kind::is_scalar);
        if self.random.once_in(2) {
            return;
        }
        let has_limit = is_total && self.random.once_in(2);
        if !has_limit {
            columns.retain(|column| kinds[*column].is_scalar());
            columns.truncate(1 + self.random.below(3) as usize);
        }
        let key = |column| SortKey {
            column,
            descending: self.random.once_in(2),
            nulls_first: self.random.once_in(2),
        };
        query.order = columns.into_iter().map(key).collect();
        if has_limit {
            query.limit = Some(one_of(self.random, &[0, 1, 1, 3, 3, 3, 10, 10, 100]));
            query.offset = one_of(self.random, &[0, 0, 0, 1, 7]);
        }
    }

    /// A SELECT with columns of these types, or of any, that may have an order and a limit.
    fn ordered_query(&mut self, kinds: Option<&[Kind]>) -> Query {
        let mut query = self.select_query(kinds);
        self.put_order(&mut query);
        query
    }

    /// A SELECT with columns of these types, or of any.
    fn select_query(&mut self, kinds: Option<&[Kind]>) -> Query {
        let (from, scope) = self.from();
        let has_filter = !self.random.once_in(3);
        let filter = has_filter.then(|| self.condition(&scope, 2));
        let select = match kinds {
            None if self.random.once_in(3) => self.grouped(from, filter, &scope),
            _ => {
                let items = match kinds {
                    Some(kinds) => kinds.iter().map(|kind| self.value(&scope, kind, 1)).collect(),
                    None => self.items(&scope),
                };
                Select { distinct: self.random.once_in(8), items, from, filter, group: None }
            }
        };
        Query::of(Body::Select(Box::new(select)))
    }

    fn items(&mut self, scope: &Scope) -> Vec<Expr> {
        let count = 1 + self.random.below(4);
        let item = |this: &mut Self| match this.column(scope) {
            Some(column) if column.kind.is_scalar() && this.random.once_in(2) => {
                this.value(scope, &column.kind, 2)
            }
            Some(column) => column.expr,
            None => this.value(scope, &Kind::Int, 1),
        };
        (0..count).map(|_| item(self)).collect()
    }

    fn grouped(&mut self, from: Vec<FromItem>, filter: Option<Expr>, scope: &Scope) -> Select {
        // What stands in a group has no subqueries.
        let scope = &Scope { takes_subqueries: false, ..scope.clone() };
        let mut keys: Vec<Expr> = Vec::new();
        let mut above = Scope::default();
        for _ in 0..self.random.below(4) {
            let Some(column) = self.column(scope) else { break };
            let is_plain = !column.kind.is_scalar() || !self.random.once_in(3);
            let key = if is_plain { column.expr } else { self.value(scope, &column.kind, 2) };
            if is_literal(&key) {
                continue;
            }
            let samples = if is_plain { column.samples } else { Rc::default() };
            let (expr, kind) = (Expr::Key(keys.len(), column.kind.clone()), column.kind);
            above.columns.push(ScopeColumn { expr, kind, samples });
            keys.push(key);
        }
        let count = self.random.below(4) + u64::from(keys.is_empty());
        let aggregates: Vec<AggregateCall> = (0..count).map(|_| self.aggregate(scope)).collect();
        for (i, call) in aggregates.iter().enumerate() {
            let expr = Expr::Aggregate(i, call.kind.clone());
            above.columns.push(ScopeColumn {
                expr,
                kind: call.kind.clone(),
                samples: Rc::default(),
            });
        }
        let having = self.random.once_in(4).then(|| self.condition(&above, 1));
        let mut items: Vec<Expr> = above.columns.iter().map(|column| column.expr.clone()).collect();
        if self.random.once_in(3) {
            items = self.items(&above);
            // Without a key, an aggregate makes it a group.
            if keys.is_empty() {
                items.push(Expr::Aggregate(0, aggregates[0].kind.clone()));
            }
        }
        let group = Group { keys, aggregates, having };
        Select { distinct: self.random.once_in(16), items, from, filter, group: Some(group) }
    }

    fn aggregate(&mut self, scope: &Scope) -> AggregateCall {
        let filter = self.random.once_in(5).then(|| self.condition(scope, 1));
        let distinct = self.random.once_in(4);
        let call =
            |function, input, kind| AggregateCall { function, input, distinct, filter, kind };
        let column = self.column(scope);
        let scalar = column.filter(|column| column.kind.is_scalar());
        let Some(column) = scalar.filter(|_| !self.random.once_in(6)) else {
            return AggregateCall { distinct: false, ..call(Aggregate::Count, None, Kind::Int) };
        };
        let kind = column.kind.clone();
        let input = if self.random.once_in(3) { self.value(scope, &kind, 1) } else { column.expr };
        let plain = match self.random.below(3) {
            0 => Aggregate::Count,
            1 => Aggregate::Min,
            _ => Aggregate::Max,
        };
        let plain_kind = if plain == Aggregate::Count { Kind::Int } else { kind.clone() };
        if self.random.once_in(3) && kind != Kind::Bool {
            return call(plain, Some(input), plain_kind);
        }
        match kind {
            Kind::Bool => {
                let functions = [Aggregate::BoolAnd, Aggregate::BoolOr, Aggregate::CountIf];
                let function = one_of(self.random, &functions);
                let is_count = function == Aggregate::CountIf;
                let kind = if is_count { Kind::Int } else { Kind::Bool };
                AggregateCall { distinct: false, ..call(function, Some(input), kind) }
            }
            Kind::Int if self.random.once_in(2) => {
                call(Aggregate::Sum, Some(self.small(scope, 1)), Kind::Int)
            }
            Kind::Int => call(Aggregate::Avg, Some(self.small(scope, 1)), Kind::Double),
            Kind::Double => {
                call(one_of(self.random, &[Aggregate::Sum, Aggregate::Avg]), Some(input), kind)
            }
            Kind::Decimal { scale, .. } if self.random.once_in(2) => {
                call(Aggregate::Sum, Some(input), Kind::Decimal { precision: 38, scale })
            }
            Kind::Decimal { .. } => call(Aggregate::Avg, Some(input), kind),
            _ => call(plain, Some(input), plain_kind),
        }
    }

    /// FROM, and what may be used behind it.
    pub(super) fn from(&mut self) -> (Vec<FromItem>, Scope) {
        let count = one_of(self.random, &[1, 1, 1, 2, 2, 2, 3]);
        let max_rows = if count == 1 { usize::MAX } else { SOME_ROWS };
        let (relation, source, mut scope) = self.source(max_rows);
        let mut items = vec![FromItem { relation, source, join: JoinKind::Cross, on: None }];
        for _ in 1..count {
            let (relation, source, right) = self.source(FEW_ROWS);
            let join = one_of(
                self.random,
                &[
                    JoinKind::Inner,
                    JoinKind::Inner,
                    JoinKind::Left,
                    JoinKind::Right,
                    JoinKind::Full,
                    JoinKind::Semi,
                    JoinKind::Anti,
                    JoinKind::RightSemi,
                    JoinKind::RightAnti,
                    JoinKind::Cross,
                ],
            );
            let on = (join != JoinKind::Cross).then(|| self.join_condition(&scope, &right));
            match join {
                JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::RightSemi | JoinKind::RightAnti => scope = right,
                _ => scope.columns.extend(right.columns),
            }
            items.push(FromItem { relation, source, join, on });
        }
        scope.takes_subqueries = true;
        (items, scope)
    }

    /// A table of fewer rows than `max_rows`, or a query.
    fn source(&mut self, max_rows: usize) -> (usize, Source, Scope) {
        let relation = self.next_relation;
        self.next_relation += 1;
        if self.depth > 0 && self.random.once_in(6) {
            let query = self.nested(|this| this.ordered_query(None));
            let kinds = query.kinds().into_iter().map(|kind| (kind, Rc::default()));
            let scope = Scope { columns: columns(relation, kinds), takes_subqueries: false };
            return (relation, Source::Query(Box::new(query)), scope);
        }
        let fitting: Vec<usize> = (0..self.tables.len())
            .filter(|table| self.tables[*table].rows.len() < max_rows)
            .collect();
        let table = fitting[self.random.below(fitting.len() as u64) as usize];
        (relation, Source::Table(table), table_scope(self.tables, table, relation))
    }

    /// A condition on pairs: mostly that columns are equal.
    fn join_condition(&mut self, left: &Scope, right: &Scope) -> Expr {
        let mut terms = Vec::new();
        let mut both = left.clone();
        both.columns.extend(right.columns.clone());
        both.takes_subqueries = false;
        let count = one_of(self.random, &[0, 1, 1, 1, 1, 1, 2]);
        for _ in 0..count {
            terms.extend(self.equal_columns(left, right));
        }
        if terms.is_empty() || self.random.once_in(4) {
            terms.push(self.condition(&both, 1));
        }
        if terms.len() == 1 { terms.remove(0) } else { Expr::And(terms) }
    }

    /// A column of one side equal to a column of the other.
    fn equal_columns(&mut self, left: &Scope, right: &Scope) -> Option<Expr> {
        let is_pair = |l: &&ScopeColumn, r: &&ScopeColumn| l.kind == r.kind && l.kind.is_scalar();
        let pairs: Vec<_> = left
            .columns
            .iter()
            .flat_map(|l| right.columns.iter().map(move |r| (l, r)))
            .filter(|(l, r)| is_pair(l, r))
            .collect();
        let count = pairs.len() as u64;
        let (l, r) = (count > 0).then(|| pairs[self.random.below(count) as usize])?;
        let (mut l, mut r) = (l.expr.clone(), r.expr.clone());
        if self.random.once_in(2) {
            std::mem::swap(&mut l, &mut r);
        }
        Some(Expr::Compare(Comparison::Equal, Box::new(l), Box::new(r)))
    }

    /// `EXISTS (..)` or `x IN (..)`, also with columns of the query around.
    pub(super) fn subquery_condition(&mut self, around: &Scope) -> Expr {
        let negated = self.random.once_in(2);
        let plain_around = Scope { takes_subqueries: false, ..around.clone() };
        // A whole statement, which is the same for each row around.
        let is_alone = self.random.once_in(3);
        if self.random.once_in(3) {
            let query = self.nested(|this| match is_alone {
                true => this.ordered_query(None),
                false => this.related_query(&plain_around, None, false),
            });
            return Expr::Exists { query: Box::new(query), negated };
        }
        let kinds: Vec<Kind> = around.columns.iter().map(|column| column.kind.clone()).collect();
        let kinds: Vec<&Kind> = kinds.iter().filter(|kind| kind.is_scalar()).collect();
        let kind = match kinds.len() as u64 {
            0 => Kind::Int,
            count => kinds[self.random.below(count) as usize].clone(),
        };
        let input = Box::new(self.value(&plain_around, &kind, 1));
        let query = self.nested(|this| match is_alone {
            true => this.ordered_query(Some(std::slice::from_ref(&kind))),
            false => this.related_query(&plain_around, Some(&kind), true),
        });
        Expr::InQuery { input, query: Box::new(query), negated }
    }

    /// A query of one relation, half of the time with a condition on the query around; its column
    /// is of `kind`, if one is asked for.
    fn related_query(&mut self, around: &Scope, kind: Option<&Kind>, by_equality: bool) -> Query {
        let (relation, source, own) = self.source(FEW_ROWS);
        let mut terms = Vec::new();
        if self.random.once_in(2) {
            terms.extend(self.equal_columns(&own, around));
            if !by_equality && self.random.once_in(3) {
                let mut both = own.clone();
                both.columns.extend(around.columns.clone());
                terms.push(self.condition(&both, 0));
            }
        }
        if terms.is_empty() || self.random.once_in(2) {
            terms.push(self.condition(&own, 1));
        }
        let filter = if terms.len() == 1 { terms.remove(0) } else { Expr::And(terms) };
        let kind = kind.cloned().unwrap_or(Kind::Int);
        let items = vec![self.value(&own, &kind, 1)];
        let from = vec![FromItem { relation, source, join: JoinKind::Cross, on: None }];
        let (distinct, filter) = (false, Some(filter));
        Query::of(Body::Select(Box::new(Select { distinct, items, from, filter, group: None })))
    }

    /// An aggregate over rows that may depend on the row around, or a first row, as a value.
    pub(super) fn scalar_subquery(&mut self, around: &Scope, kind: &Kind) -> Option<Expr> {
        if self.random.once_in(4) {
            // The first row of a statement.
            let mut query = self.nested(|this| this.select_query(Some(std::slice::from_ref(kind))));
            let (descending, nulls_first) = (self.random.once_in(2), self.random.once_in(2));
            query.order = vec![SortKey { column: 0, descending, nulls_first }];
            query.limit = Some(1);
            return Some(Expr::Scalar(Box::new(query), kind.clone()));
        }
        let around = Scope { takes_subqueries: false, ..around.clone() };
        let query = self.nested(|this| {
            let (relation, source, own) = this.source(FEW_ROWS);
            let calls: Vec<AggregateCall> = (0..6).map(|_| this.aggregate(&own)).collect();
            let call = calls.into_iter().find(|call| call.kind == *kind)?;
            let mut terms = Vec::new();
            if this.random.once_in(2) {
                terms.extend(this.equal_columns(&own, &around));
            }
            if this.random.once_in(2) {
                terms.push(this.condition(&own, 1));
            }
            let filter = match terms.len() {
                0 => None,
                1 => Some(terms.remove(0)),
                _ => Some(Expr::And(terms)),
            };
            let items = vec![Expr::Aggregate(0, call.kind.clone())];
            let group = Some(Group { keys: Vec::new(), aggregates: vec![call], having: None });
            let from = vec![FromItem { relation, source, join: JoinKind::Cross, on: None }];
            Some(Select { distinct: false, items, from, filter, group })
        })?;
        Some(Expr::Scalar(Box::new(Query::of(Body::Select(Box::new(query)))), kind.clone()))
    }
}

fn columns(
    relation: usize,
    columns: impl Iterator<Item = (Kind, Rc<Vec<super::values::Datum>>)>,
) -> Vec<ScopeColumn> {
    let column = |(column, (kind, samples)): (usize, (Kind, Rc<_>))| {
        let expr = Expr::Column { relation, column, kind: kind.clone() };
        ScopeColumn { expr, kind, samples }
    };
    columns.enumerate().map(column).collect()
}

/// The columns of a table, with some of their values.
pub(super) fn table_scope(tables: &[Table], table: usize, relation: usize) -> Scope {
    let table = &tables[table];
    let of_column = |(i, column): (usize, &super::tables::Column)| {
        let step = (table.rows.len() / 20).max(1);
        let samples = table.rows.iter().step_by(step).map(|row| row[i].clone());
        let samples: Vec<_> = samples.filter(|value| !value.is_null()).collect();
        (column.kind.clone(), Rc::new(samples))
    };
    let found = table.columns.iter().enumerate().map(of_column);
    Scope { columns: columns(relation, found), takes_subqueries: false }
}
