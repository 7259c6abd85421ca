//! ORDER BY: the keys that a statement names.

use dwio::expr::TypedExpr;
use sqlparser::ast::{OrderByExpr, OrderByKind, OrderBySort};
use vector::{Error, Result, SortOrder};

use super::grouping::{alias, ordinal};
use super::{Item, Statement};
use crate::sql::bind::{Aggregates, Alias};
use crate::sql::source::place_of;

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
    /// The keys of ORDER BY over the table's columns; of equal ones the first counts.
    pub(super) fn sort(
        &self,
        items: &[Item],
        aliases: &[Alias],
        aggregates: &mut Aggregates,
    ) -> Result<Sort> {
        let mut sort = Sort::default();
        let Some(order_by) = self.clauses.order_by else { return Ok(sort) };
        if order_by.interpolate.is_some() {
            return Err(Error::unsupported("INTERPOLATE is not supported"));
        }
        let OrderByKind::Expressions(exprs) = &order_by.kind else {
            return Err(Error::unsupported("ORDER BY ALL is not supported yet"));
        };
        for key in exprs {
            let expr = self.sort_expr(key, items, aliases, aggregates)?;
            if !expr.ty().is_nested() && !sort.keys.iter().any(|k| k.expr == expr) {
                sort.keys.push(SortBy { expr, order: self.order(key)? });
            } else if expr.ty().is_nested() {
                let error = Error::unsupported("nested values cannot be sorted by yet")
                    .with("expression", &key.expr)
                    .with("type", expr.ty());
                return Err(self.source.point(error, place_of(&key.expr)));
            }
        }
        Ok(sort)
    }

    fn sort_expr(
        &self,
        key: &OrderByExpr,
        items: &[Item],
        aliases: &[Alias],
        aggregates: &mut Aggregates,
    ) -> Result<TypedExpr> {
        if let Some(position) = ordinal(&key.expr) {
            return Ok(self.item_at("ORDER BY", position, items, &key.expr)?.expr.clone());
        }
        if let Some(alias) = alias(&key.expr, aliases) {
            return Ok(alias.expr.clone());
        }
        self.binder("ORDER BY", aliases, Some(aggregates)).bind(&key.expr)
    }

    /// The direction; nulls stand last unless the query says otherwise.
    fn order(&self, key: &OrderByExpr) -> Result<SortOrder> {
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
}
