//! ORDER BY: the keys that a statement names.

use dwio::expr::TypedExpr;
use sqlparser::ast::{Expr, OrderBy, OrderByKind};
use vector::{Error, Result, SortOrder};

use super::Item;
use super::grouping::{alias, item_at, ordinal};
use super::statement::{Statement, Wanted};
use crate::sql::bind::{Aliases, nested_key, sort_order};
use crate::sql::expr_index::ExprIndex;
use crate::sql::source::SourceText;

/// A key of ORDER BY.
#[derive(Debug, Clone)]
pub(super) struct SortBy {
    pub(super) expr: TypedExpr,
    pub(super) order: SortOrder,
}

/// What ORDER BY says.
#[derive(Debug, Clone, Default)]
pub(super) struct Sort {
    pub(super) keys: Vec<SortBy>,
}

impl Sort {
    /// Changes every key's expression.
    pub(super) fn try_map(self, mut f: impl FnMut(TypedExpr) -> Result<TypedExpr>) -> Result<Self> {
        let keys = self.keys.into_iter().map(|k| Ok(SortBy { expr: f(k.expr)?, order: k.order }));
        Ok(Sort { keys: keys.collect::<Result<_>>()? })
    }
}

impl Statement<'_> {
    /// The keys of ORDER BY over the table's columns.
    pub(super) fn sort(
        &self,
        items: &[Item],
        aliases: &Aliases,
        order_by: Option<&OrderBy>,
        wanted: &mut Wanted<'_, '_>,
    ) -> Result<Sort> {
        sort_keys(self.source, items, order_by, |expr| match alias(expr, aliases) {
            Some(alias) => Ok(alias.expr.clone()),
            None => self.binder("ORDER BY", Some(aliases), Some(&mut *wanted)).bind(expr),
        })
    }
}

/// The keys of ORDER BY, of equal ones the first; `bind` binds those that are no positions in
/// `items`.
pub(super) fn sort_keys(
    source: SourceText<'_>,
    items: &[Item],
    order_by: Option<&OrderBy>,
    mut bind: impl FnMut(&Expr) -> Result<TypedExpr>,
) -> Result<Sort> {
    let mut sort = Sort::default();
    let mut known = ExprIndex::default();
    let Some(order_by) = order_by else { return Ok(sort) };
    if order_by.interpolate.is_some() {
        return Err(Error::unsupported("INTERPOLATE is not supported"));
    }
    let OrderByKind::Expressions(exprs) = &order_by.kind else {
        return Err(Error::unsupported("ORDER BY ALL is not supported yet"));
    };
    for key in exprs {
        let expr = match ordinal(&key.expr) {
            Some(position) => item_at(source, "ORDER BY", position, items, &key.expr)?.expr.clone(),
            None => bind(&key.expr)?,
        };
        if expr.ty().is_nested() {
            return Err(nested_key(&key.expr, expr.ty(), source));
        }
        if known.find(&expr, |i| sort.keys.get(i).map(|key| &key.expr)).is_none() {
            known.insert(&expr, sort.keys.len());
            sort.keys.push(SortBy { expr, order: sort_order(key)? });
        }
    }
    Ok(sort)
}
