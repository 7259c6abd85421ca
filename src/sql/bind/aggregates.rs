//! Aggregates: collected while expressions are bound, computed by an aggregation below them.
//!
//! ```text
//! sum(a) / count(*) + k      bound      divide(#0, #1) + k      and the list #0 := sum(a), #1 := ..
//! ```
//!
//! Once the groups are known, [`over_groups`] makes the same expression one over the aggregation's
//! output: what equals a key becomes the key's column, and any other column is an error.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use exec::operator::aggregate::{depends_on_order, ignores_duplicates, resolve_aggregate};
use sqlparser::ast::{Expr, OrderByExpr, OrderBySort};
use sqlparser::tokenizer::Span;
use vector::sync::Arc;
use vector::{Error, Result, SortOrder, Type};

use super::Binder;
use super::calls::Arguments;
use crate::sql::expr_index::ExprIndex;
use crate::sql::source::{SourceText, place_of};

/// Opens the names of columns that stand for aggregates; no column of a table can be confused
/// with them, because tables' columns get other names when they begin like that.
const PLACEHOLDER: char = '\u{1}';

/// True when a column stands for an aggregate.
pub(crate) fn is_placeholder(name: &str) -> bool {
    name.starts_with(PLACEHOLDER)
}

/// One aggregate of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AggregateCall {
    /// The function.
    pub(crate) function: Arc<str>,
    /// The arguments, over the table's columns.
    pub(crate) args: Vec<TypedExpr>,
    /// True when equal values count once.
    pub(crate) distinct: bool,
    /// Only rows for which this is true count.
    pub(crate) filter: Option<TypedExpr>,
    /// The order in which the rows of a group are taken, where the result depends on it.
    pub(crate) order: Vec<(TypedExpr, SortOrder)>,
    /// The type of the result.
    pub(crate) ty: Type,
}

impl AggregateCall {
    /// What it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &TypedExpr> {
        let keys = self.order.iter().map(|(key, _)| key);
        self.args.iter().chain(&self.filter).chain(keys)
    }
}

/// What a call of an aggregate has beside its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modifiers<'e> {
    pub(super) distinct: bool,
    pub(super) filter: Option<&'e Expr>,
    pub(super) order_by: &'e [OrderByExpr],
}

/// The aggregates of a query, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregates {
    calls: Vec<AggregateCall>,
    /// Positions of calls by their function and arguments as text.
    by_text: HashMap<String, Vec<usize>>,
}

impl Aggregates {
    /// The aggregates in the order of their first use.
    pub(crate) fn calls(&self) -> &[AggregateCall] {
        &self.calls
    }

    /// The call that a column stands for.
    pub(crate) fn call_of(&self, name: &str) -> Option<&AggregateCall> {
        self.calls.get(placeholder_index(name)?)
    }

    /// The column that stands for a call.
    pub(crate) fn add(&mut self, call: AggregateCall) -> TypedExpr {
        let ty = call.ty.clone();
        let args: Vec<String> = call.args.iter().map(ToString::to_string).collect();
        let alike =
            self.by_text.entry(format!("{}({})", call.function, args.join(","))).or_default();
        let known = alike.iter().copied().find(|i| self.calls.get(*i) == Some(&call));
        let index = known.unwrap_or_else(|| {
            alike.push(self.calls.len());
            self.calls.push(call);
            self.calls.len() - 1
        });
        TypedExpr::field(format!("{PLACEHOLDER}{index}"), ty)
    }
}

/// The position in [`Aggregates::calls`] that a column stands for.
fn placeholder_index(name: &str) -> Option<usize> {
    name.strip_prefix(PLACEHOLDER)?.parse().ok()
}

impl Binder<'_> {
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        args: Arguments<'_>,
        modifiers: Modifiers<'_>,
        span: Span,
    ) -> Result<TypedExpr> {
        // Inside the arguments no aggregate is allowed, so the list is taken away meanwhile.
        let Some(aggregates) = self.aggregates.take() else {
            return Err(self.misplaced_aggregate(name, span));
        };
        let call = self.aggregate_call(name, args, modifiers, span);
        let column = call.map(|call| aggregates.add(call));
        self.aggregates = Some(aggregates);
        column
    }

    fn aggregate_call(
        &mut self,
        name: &str,
        args: Arguments<'_>,
        Modifiers { distinct, filter, order_by }: Modifiers<'_>,
        span: Span,
    ) -> Result<AggregateCall> {
        let mut bound = match args {
            Arguments::Star if name == "count" && !distinct => Vec::new(),
            Arguments::Star => {
                let error = Error::invalid_input("only count takes *").with("function", name);
                return Err(self.source.point(error, span));
            }
            Arguments::List(args) => {
                let clause = std::mem::replace(&mut self.clause, "an aggregate");
                let bound = args.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>>>();
                self.clause = clause;
                bound?
            }
        };
        // A value that is never null counts rows.
        let never_null =
            |e: &TypedExpr| matches!(e, TypedExpr::Constant { value, .. } if !value.is_null());
        if name == "count" && !distinct && bound.len() == 1 && never_null(&bound[0]) {
            bound.clear();
        }
        let filter = filter.map(|filter| self.bind_condition(filter)).transpose()?;
        let types: Vec<Type> = bound.iter().map(|a| a.ty().clone()).collect();
        let resolved = resolve_aggregate(name, &types).map_err(|e| self.source.locate(e, span))?;
        let args = bound.into_iter().zip(&resolved.args);
        let args = args.map(|(arg, ty)| self.cast_to(arg, ty)).collect::<Vec<_>>();
        let mut order = self.order_of_rows(order_by)?;
        if distinct && order.iter().any(|(key, _)| !args.contains(key)) {
            let error = Error::invalid_input(
                "with DISTINCT an aggregate takes its rows in the order of its arguments only",
            );
            return Err(self.source.point(error.with("name", name), span));
        }
        if !depends_on_order(name) {
            order.clear();
        }
        let distinct = distinct && !ignores_duplicates(name);
        let (function, ty) = (name.into(), resolved.result);
        Ok(AggregateCall { function, args, distinct, filter, order, ty })
    }

    /// The keys of ORDER BY inside of a call, of equal ones the first. A constant orders nothing.
    fn order_of_rows(&mut self, order_by: &[OrderByExpr]) -> Result<Vec<(TypedExpr, SortOrder)>> {
        let clause = std::mem::replace(&mut self.clause, "an aggregate");
        let mut keys: Vec<(TypedExpr, SortOrder)> = Vec::new();
        for key in order_by {
            let bound = self.bind(&key.expr)?;
            if bound.ty().is_nested() {
                return Err(nested_key(&key.expr, bound.ty(), self.source));
            }
            let is_constant = matches!(bound, TypedExpr::Constant { .. });
            if !is_constant && keys.iter().all(|(known, _)| *known != bound) {
                keys.push((bound, sort_order(key)?));
            }
        }
        self.clause = clause;
        Ok(keys)
    }

    pub(super) fn misplaced_aggregate(&self, name: &str, span: Span) -> Error {
        let error = Error::invalid_input("an aggregate is not allowed here")
            .with("name", name)
            .with("clause", self.clause);
        match self.clause {
            "WHERE" => self.source.advise(error, span, "conditions on groups belong in HAVING"),
            _ => self.source.point(error, span),
        }
    }
}

/// The output of an aggregation, as expressions above it see it.
#[derive(Debug)]
pub(crate) struct GroupColumns<'a> {
    /// The keys: what they are over the table's columns, and the column that has them.
    pub(crate) keys: &'a [(TypedExpr, String)],
    /// Where each key stands.
    pub(crate) index: &'a ExprIndex,
    /// The columns of the aggregates, in the order of [`Aggregates::calls`].
    pub(crate) aggregates: &'a [String],
}

/// Makes an expression over the table's columns one over an aggregation's output.
pub(crate) fn over_groups(expr: &TypedExpr, groups: &GroupColumns<'_>) -> Result<TypedExpr> {
    expr.replace(&mut |part| {
        let found = groups.index.find(part, |i| groups.keys.get(i).map(|(key, _)| key));
        if let Some((key, column)) = found.and_then(|i| groups.keys.get(i)) {
            return Ok(Some(TypedExpr::field(column.as_str(), key.ty().clone())));
        }
        if let Some(junction) = over_keys_inside(part, groups)? {
            return Ok(Some(junction));
        }
        let TypedExpr::Field { name, ty } = part else { return Ok(None) };
        let column = placeholder_index(name).and_then(|i| groups.aggregates.get(i));
        let Some(column) = column else {
            return Err(Error::invalid_input(
                "a column is neither grouped by nor inside an aggregate",
            )
            .with("column", name)
            .hint(format!("add {name} to GROUP BY, or write min({name})")));
        };
        Ok(Some(TypedExpr::field(column.as_str(), ty.clone())))
    })
}

/// A chain of ANDs or ORs is one call, so that a key may be some of its terms: `(a OR b) OR c` in groups
/// of `a OR b` is `or(a, b, c)`. The chain over the groups; `None` where it has no key inside.
fn over_keys_inside(part: &TypedExpr, groups: &GroupColumns<'_>) -> Result<Option<TypedExpr>> {
    let TypedExpr::Call { name, args, ty } = part else { return Ok(None) };
    if !matches!(&**name, "and" | "or") {
        return Ok(None);
    }
    let chains = groups.keys.iter().filter_map(|(key, column)| match key {
        TypedExpr::Call { name: same, args, .. } if same == name => Some((args, column)),
        _ => None,
    });
    let mut chains: Vec<(&Vec<TypedExpr>, &String)> = chains.collect();
    // The longest one first: others may be its beginning.
    chains.sort_by_key(|(terms, _)| std::cmp::Reverse(terms.len()));
    // Each term of the result is a key's column, or a term as it was.
    let (mut terms, mut rest) = (Vec::new(), args.as_slice());
    while let Some((term, behind)) = rest.split_first() {
        let key = chains.iter().find(|(chain, _)| rest.starts_with(chain));
        terms.push(key.map_or(Err(term), |(_, column)| Ok(*column)));
        rest = key.map_or(behind, |(chain, _)| rest.get(chain.len()..).unwrap_or_default());
    }
    if terms.iter().all(|term| term.is_err()) {
        return Ok(None);
    }
    let terms = terms.into_iter().map(|term| match term {
        Ok(column) => Ok(TypedExpr::field(column.as_str(), ty.clone())),
        Err(term) => over_groups(term, groups),
    });
    Ok(Some(TypedExpr::call(Arc::clone(name), terms.collect::<Result<_>>()?, ty.clone())))
}

/// True when an expression has an aggregate inside.
pub(crate) fn has_aggregate(expr: &TypedExpr) -> bool {
    expr.field_names().iter().any(|n| is_placeholder(n))
}

/// The direction of a key of ORDER BY; nulls stand last unless the query says otherwise.
pub(crate) fn sort_order(key: &OrderByExpr) -> Result<SortOrder> {
    let descending = match &key.options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => {
            return Err(Error::unsupported("ORDER BY USING is not supported"));
        }
    };
    if key.with_fill.is_some() {
        return Err(Error::unsupported("WITH FILL is not supported"));
    }
    Ok(SortOrder { descending, nulls_first: key.options.nulls_first.unwrap_or(false) })
}

/// The error for a key of ORDER BY that has no order.
pub(crate) fn nested_key(key: &Expr, ty: &Type, source: SourceText<'_>) -> Error {
    let error = Error::unsupported("nested values cannot be sorted by yet")
        .with("expression", key)
        .with("type", ty);
    source.point(error, place_of(key))
}
