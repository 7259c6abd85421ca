//! Queries, evaluated by nested loops over all rows.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::aggregates::aggregate;
use super::ast::{
    Body, Expr, FromItem, Group, JoinKind, Query, Select, SetOperation, SortKey, Source,
};
use super::evaluate::{Env, Outer};
use super::tables::Table;
use super::values::Datum;

pub(super) type Row = Vec<Datum>;

/// A query takes more steps than a test has time for.
#[derive(Debug)]
pub(super) struct TooExpensive;

/// Evaluates queries over tables.
pub(super) struct Evaluator<'a> {
    tables: &'a [Table],
    /// Rows that may still be looked at.
    steps: Cell<u64>,
    /// The rows of subqueries that are the same for each row around.
    known: RefCell<HashMap<*const Query, Rc<Vec<Row>>>>,
}

/// The rows of FROM, and where the columns of each relation begin.
struct Joined {
    layout: Vec<(usize, usize)>,
    width: usize,
    rows: Vec<Row>,
}

/// Where the rows of a SELECT stand.
#[derive(Clone, Copy)]
struct Place<'a> {
    layout: &'a [(usize, usize)],
    outer: Option<Outer<'a>>,
}

impl<'a> Place<'a> {
    fn env<'e>(&self, row: &'e [Datum]) -> Env<'e>
    where
        'a: 'e,
    {
        Env { layout: self.layout, row, group: None, outer: self.outer }
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(tables: &'a [Table], max_steps: u64) -> Self {
        Evaluator { tables, steps: Cell::new(max_steps), known: RefCell::default() }
    }

    fn step(&self) -> Result<(), TooExpensive> {
        let left = self.steps.get().checked_sub(1).ok_or(TooExpensive)?;
        self.steps.set(left);
        Ok(())
    }

    /// The rows of a query, in its order if it has one.
    pub(super) fn query(
        &self,
        query: &Query,
        outer: Option<Outer<'_>>,
    ) -> Result<Vec<Row>, TooExpensive> {
        let mut rows = match &query.body {
            Body::Select(select) => self.select(select, outer)?,
            Body::Set { operation, all, left, right } => {
                let (left, right) = (self.query(left, outer)?, self.query(right, outer)?);
                set_operation(*operation, *all, left, right)
            }
        };
        rows.sort_by(|a, b| ordered(a, b, &query.order));
        let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(rows.into_iter().skip(query.offset as usize).take(limit).collect())
    }

    /// The rows of a subquery for a row of the query around.
    pub(super) fn subquery(
        &self,
        query: &Query,
        env: &Env<'_>,
    ) -> Result<Rc<Vec<Row>>, TooExpensive> {
        let address: *const Query = query;
        if let Some(rows) = self.known.borrow().get(&address) {
            return Ok(Rc::clone(rows));
        }
        let is_used = Cell::new(false);
        let rows = Rc::new(self.query(query, Some(Outer { env, is_used: &is_used }))?);
        if !is_used.get() {
            self.known.borrow_mut().insert(address, Rc::clone(&rows));
        }
        Ok(rows)
    }

    fn select(&self, select: &Select, outer: Option<Outer<'_>>) -> Result<Vec<Row>, TooExpensive> {
        let joined = self.from(&select.from, outer)?;
        let place = Place { layout: &joined.layout, outer };
        let mut kept = Vec::new();
        for row in joined.rows {
            self.step()?;
            if self.holds(select.filter.as_ref(), &place.env(&row))? {
                kept.push(row);
            }
        }
        let mut rows = Vec::new();
        let mut add = |env: &Env<'_>| {
            let items = select.items.iter().map(|item| self.expr(item, env));
            rows.push(items.collect::<Result<Row, _>>()?);
            Ok(())
        };
        match &select.group {
            None => kept.iter().try_for_each(|row| add(&place.env(row)))?,
            Some(group) => {
                for (keys, aggregates) in self.groups(group, &kept, place)? {
                    let env = Env { group: Some((&keys, &aggregates)), ..place.env(&[]) };
                    if self.holds(group.having.as_ref(), &env)? {
                        add(&env)?;
                    }
                }
            }
        }
        if select.distinct {
            rows.sort();
            rows.dedup();
        }
        Ok(rows)
    }

    /// Keys and aggregates of each group.
    fn groups(
        &self,
        group: &Group,
        rows: &[Row],
        place: Place<'_>,
    ) -> Result<Vec<(Row, Row)>, TooExpensive> {
        let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        if group.keys.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in rows {
            let keys = group.keys.iter().map(|key| self.expr(key, &place.env(row)));
            groups.entry(keys.collect::<Result<_, _>>()?).or_default().push(row);
        }
        let mut found = Vec::new();
        for (keys, rows) in groups {
            let mut aggregates = Vec::new();
            for call in &group.aggregates {
                let mut inputs = Vec::new();
                for row in &rows {
                    self.step()?;
                    let env = place.env(row);
                    if self.holds(call.filter.as_ref(), &env)? {
                        let input = call.input.as_ref();
                        inputs.push(input.map_or(Ok(Datum::Bool(true)), |e| self.expr(e, &env))?);
                    }
                }
                aggregates.push(aggregate(call, inputs));
            }
            found.push((keys, aggregates));
        }
        Ok(found)
    }

    fn from(&self, items: &[FromItem], outer: Option<Outer<'_>>) -> Result<Joined, TooExpensive> {
        let mut joined = Joined { layout: Vec::new(), width: 0, rows: vec![Vec::new()] };
        for item in items {
            let (width, rows) = match &item.source {
                Source::Table(table) => {
                    let table = &self.tables[*table];
                    (table.columns.len(), table.rows.clone())
                }
                Source::Query(query) => (query.kinds().len(), self.query(query, outer)?),
            };
            joined = self.join(joined, item, (width, rows), outer)?;
        }
        Ok(joined)
    }

    fn join(
        &self,
        left: Joined,
        item: &FromItem,
        (width, right): (usize, Vec<Row>),
        outer: Option<Outer<'_>>,
    ) -> Result<Joined, TooExpensive> {
        let kind = item.join;
        let mut layout = left.layout.clone();
        layout.push((item.relation, left.width));
        let pair = |l: &[Datum], r: &[Datum]| [l, r].concat();
        let mut rows = Vec::new();
        let mut right_has_partner = vec![false; right.len()];
        for l in &left.rows {
            let mut has_partner = false;
            for (r, right_has_partner) in right.iter().zip(&mut right_has_partner) {
                self.step()?;
                let both = pair(l, r);
                let env = Env { layout: &layout, row: &both, group: None, outer };
                if !self.holds(item.on.as_ref(), &env)? {
                    continue;
                }
                has_partner = true;
                *right_has_partner = true;
                if kind.gives_pairs() {
                    rows.push(both);
                }
            }
            match kind {
                JoinKind::Left | JoinKind::Full if !has_partner => {
                    rows.push(pair(l, &vec![Datum::Null; width]));
                }
                JoinKind::Semi if has_partner => rows.push(l.clone()),
                JoinKind::Anti if !has_partner => rows.push(l.clone()),
                _ => {}
            }
        }
        for (r, has_partner) in right.iter().zip(right_has_partner) {
            match kind {
                JoinKind::Right | JoinKind::Full if !has_partner => {
                    rows.push(pair(&vec![Datum::Null; left.width], r));
                }
                JoinKind::RightSemi if has_partner => rows.push(r.clone()),
                JoinKind::RightAnti if !has_partner => rows.push(r.clone()),
                _ => {}
            }
        }
        Ok(match kind {
            JoinKind::Semi | JoinKind::Anti => Joined { rows, ..left },
            JoinKind::RightSemi | JoinKind::RightAnti => {
                Joined { layout: vec![(item.relation, 0)], width, rows }
            }
            _ => Joined { layout, width: left.width + width, rows },
        })
    }
}

impl JoinKind {
    /// True when each pair that meets is a row.
    fn gives_pairs(self) -> bool {
        use JoinKind::{Cross, Full, Inner, Left, Right};
        matches!(self, Cross | Inner | Left | Right | Full)
    }
}

/// The order of two rows by some keys.
pub(super) fn ordered(a: &[Datum], b: &[Datum], keys: &[SortKey]) -> Ordering {
    let by_key = |key: &SortKey| {
        let (a, b) = (&a[key.column], &b[key.column]);
        let nulls = a.is_null().cmp(&b.is_null());
        match a.compare(b) {
            Some(order) if key.descending => order.reverse(),
            Some(order) => order,
            None if key.nulls_first => nulls.reverse(),
            None => nulls,
        }
    };
    keys.iter().map(by_key).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

fn set_operation(operation: SetOperation, all: bool, left: Vec<Row>, right: Vec<Row>) -> Vec<Row> {
    let mut counts: BTreeMap<Row, [usize; 2]> = BTreeMap::new();
    for (side, rows) in [left, right].into_iter().enumerate() {
        rows.into_iter().for_each(|row| counts.entry(row).or_default()[side] += 1);
    }
    let kept = |[left, right]: [usize; 2]| match (operation, all) {
        (SetOperation::Union, true) => left + right,
        (SetOperation::Union, false) => 1,
        (SetOperation::Intersect, true) => left.min(right),
        (SetOperation::Intersect, false) => left.min(right).min(1),
        (SetOperation::Except, true) => left.saturating_sub(right),
        (SetOperation::Except, false) => usize::from(left > 0 && right == 0),
    };
    counts.into_iter().flat_map(|(row, counts)| vec![row; kept(counts)]).collect()
}

/// Returns true when the root is a literal, which as a grouping key would be a position.
pub(super) fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}
