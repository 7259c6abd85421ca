//! Correlated scalar subqueries with aggregates, planned as a lookup by key.
//!
//! ```text
//! (SELECT count(*) + 1 FROM u WHERE u.k = t.k AND u.x > 0)
//!
//! t LEFT JOIN (SELECT count(*) + 1 AS v, k, true AS found FROM u WHERE x > 0 GROUP BY k) ON k = t.k
//!    value: IF(found IS NULL, 0 + 1, v)
//! ```
//!
//! A row of the outer query for which no group is found has the results of the aggregates over no
//! rows, which each aggregate defines: 0 for counts, null for most others. Terms that compare
//! columns of both queries must be `=`, because only then do all rows of a group belong to the same
//! rows of the outer query.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use exec::operator::aggregate::result_of_no_rows;
use vector::sync::Arc;
use vector::{Error, Result, Type, Value};

use super::Item;
use super::planner::Planner;
use super::query::{Grouping, Select};
use crate::sql::bind::is_placeholder;
use crate::sql::functions::folded;

/// A comparison between the subquery and the outer query.
struct Link {
    /// Operand over the columns of the subquery.
    inner: TypedExpr,
    /// Operand over the columns of the outer query.
    outer: TypedExpr,
}

/// Columns by which the groups of a subquery are compared with the outer query.
pub(super) struct Links {
    /// Columns that were added to those that the subquery selects.
    pub(super) fields: Vec<Arc<str>>,
    /// Comparisons of these columns with the outer query.
    pub(super) terms: Vec<TypedExpr>,
}

/// Adds the subquery's operands of `terms` to its group keys and selects them.
pub(super) fn group_by_links(
    planner: &mut Planner<'_>,
    select: &mut Select,
    terms: &[TypedExpr],
) -> Result<Links> {
    let own = select.from.relations.iter().flat_map(|relation| &relation.fields);
    let own: HashSet<&str> = own.map(AsRef::as_ref).collect();
    let links: Vec<Link> = terms.iter().map(|term| link(term, &own)).collect::<Result<_>>()?;
    let Some(groups) = &mut select.groups else {
        return Err(Error::internal("a lookup in a subquery without groups"));
    };
    let mut keys: Vec<(TypedExpr, Arc<str>)> = Vec::new();
    let mut compared = Vec::with_capacity(links.len());
    for Link { inner, outer } in links {
        let known = keys.iter().find(|(key, _)| *key == inner).map(|(_, field)| Arc::clone(field));
        let field = known.unwrap_or_else(|| {
            let field = planner.fresh_field("subquery", "key");
            keys.push((inner.clone(), Arc::clone(&field)));
            field
        });
        let key = TypedExpr::field(field, inner.ty().clone());
        compared.push(TypedExpr::call("eq", vec![outer, key], Type::Boolean));
    }
    let mut fields = Vec::with_capacity(keys.len());
    for (key, field) in keys {
        select.items.push(Item { name: field.to_string(), expr: key.clone() });
        if !groups.keys.contains(&key) {
            groups.keys.push(key);
        }
        fields.push(field);
    }
    Ok(Links { fields, terms: compared })
}

/// Splits `inner = outer` into its operands; `Unsupported` for other terms.
fn link(term: &TypedExpr, own: &HashSet<&str>) -> Result<Link> {
    let is_inner = |expr: &TypedExpr| {
        let names = expr.field_names();
        !names.is_empty() && names.iter().all(|name| own.contains(name))
    };
    let is_outer = |expr: &TypedExpr| expr.field_names().iter().all(|name| !own.contains(name));
    if let TypedExpr::Call { name, args, .. } = term
        && let ("eq", [a, b]) = (&**name, args.as_slice())
    {
        for (inner, outer) in [(a, b), (b, a)] {
            if is_inner(inner) && is_outer(outer) {
                return Ok(Link { inner: inner.clone(), outer: outer.clone() });
            }
        }
    }
    Err(Error::unsupported(
        "a subquery with aggregates can be tied to the query around it by = only",
    )
    .with("condition", term))
}

/// Applies HAVING to the only column of a subquery with aggregates: the column is null where HAVING
/// is not true or, with `asks_for_rows`, becomes whether HAVING is true.
pub(super) fn take_having(select: &mut Select, asks_for_rows: bool) {
    let Some(groups) = &mut select.groups else { return };
    let having = TypedExpr::and(std::mem::take(&mut groups.having));
    let Some(item) = select.items.first_mut() else { return };
    if asks_for_rows {
        let truth = |value| TypedExpr::constant(Value::Boolean(value), Type::Boolean);
        item.expr = match having {
            Some(having) => TypedExpr::call("coalesce", vec![having, truth(false)], Type::Boolean),
            None => truth(true),
        };
    } else if let Some(having) = having {
        let ty = item.expr.ty().clone();
        item.expr = TypedExpr::call("if", vec![having, item.expr.clone()], ty);
    }
}

/// Selects a column that marks found groups, and returns the value of the subquery also for rows
/// without a group. The subquery's selected expression is over its aggregates; `column` represents
/// it in the outer query.
pub(super) fn value_or_default(
    planner: &mut Planner<'_>,
    select: &mut Select,
    column: TypedExpr,
) -> Result<(TypedExpr, Option<Arc<str>>)> {
    let (Some(item), Some(groups)) = (select.items.first(), &select.groups) else {
        return Err(Error::internal("a lookup of no value"));
    };
    let default = of_no_rows(&item.expr, groups, planner.functions)?;
    if matches!(default, TypedExpr::Constant { value: Value::Null, .. }) {
        return Ok((column, None));
    }
    let found = planner.fresh_field("subquery", "found");
    let truth = TypedExpr::constant(Value::Boolean(true), Type::Boolean);
    select.items.push(Item { name: found.to_string(), expr: truth });
    let missing = TypedExpr::field(Arc::clone(&found), Type::Boolean);
    let missing = TypedExpr::call("is_null", vec![missing], Type::Boolean);
    let ty = column.ty().clone();
    Ok((TypedExpr::call("if", vec![missing, default, column], ty), Some(found)))
}

/// Returns the value of an expression over aggregates when there are no rows.
fn of_no_rows(
    expr: &TypedExpr,
    groups: &Grouping,
    functions: &FunctionRegistry,
) -> Result<TypedExpr> {
    let mut empty = |part: &TypedExpr| {
        let TypedExpr::Field { name, ty } = part else { return Ok(None) };
        if !is_placeholder(name) {
            return Err(
                Error::invalid_input("a column is not inside an aggregate").with("column", name)
            );
        }
        let call = groups.aggregates.call_of(name);
        let call = call.ok_or_else(|| Error::internal("an aggregate without its call"))?;
        let types: Vec<Type> = call.args.iter().map(|arg| arg.ty().clone()).collect();
        let value = result_of_no_rows(&call.function, &types)?;
        Ok(Some(TypedExpr::constant(value, ty.clone())))
    };
    Ok(folded(expr.replace(&mut empty)?, functions))
}
