//! Group keys of a statement.

use dwio::expr::TypedExpr;
use sqlparser::ast::{
    Expr, GroupByExpr, SelectItemQualifiedWildcardKind, Spanned, Value as Literal,
};
use vector::sync::Arc;
use vector::{Error, Result};

use super::Item;
use super::statement::Statement;
use crate::sql::bind::{Alias, Aliases, has_aggregate};
use crate::sql::catalog::TableColumn;
use crate::sql::expr_index::ExprIndex;
use crate::sql::source::{SourceText, place_of};

impl Statement<'_> {
    /// Returns the group keys without duplicates; `None` without GROUP BY.
    pub(super) fn group_keys(
        &self,
        items: &[Item],
        aliases: &Aliases,
    ) -> Result<Option<Vec<TypedExpr>>> {
        let (exprs, modifiers) = match self.clauses.group_by {
            GroupByExpr::All(modifiers) => {
                let keys = items.iter().map(|i| &i.expr).filter(|e| !has_aggregate(e));
                let mut unique = UniqueExprs::default();
                for key in keys {
                    unique.push(key.clone());
                }
                (Err(unique.list), modifiers)
            }
            GroupByExpr::Expressions(exprs, modifiers) => (Ok(exprs), modifiers),
        };
        if !modifiers.is_empty() {
            return Err(Error::unsupported("grouping sets are not supported yet"));
        }
        let exprs = match exprs {
            Err(keys) => return Ok(Some(keys)),
            Ok(exprs) if exprs.is_empty() => return Ok(None),
            Ok(exprs) => exprs,
        };
        let mut keys = UniqueExprs::default();
        for expr in exprs {
            let key = match ordinal(expr) {
                Some(position) => {
                    item_at(self.source, "GROUP BY", position, items, expr)?.expr.clone()
                }
                None => self.binder("GROUP BY", Some(aliases), None).bind(expr)?,
            };
            if has_aggregate(&key) {
                let error = Error::invalid_input("an aggregate is not allowed here")
                    .with("clause", "GROUP BY")
                    .with("expression", expr);
                return Err(self.source.point(error, place_of(expr)));
            }
            keys.push(key);
        }
        Ok(Some(keys.list))
    }

    /// Returns the columns that `t.*` selects.
    pub(super) fn qualified_wildcard(
        &self,
        kind: &SelectItemQualifiedWildcardKind,
    ) -> Result<Vec<Item>> {
        if let SelectItemQualifiedWildcardKind::ObjectName(name) = kind
            && let [part] = name.0.as_slice()
            && let Some(ident) = part.as_ident()
            && let Some(columns) = self.scope.visible_of(ident)
        {
            let item = |c: &TableColumn| Item {
                name: c.name.clone(),
                expr: TypedExpr::field(Arc::clone(&c.field), c.ty.clone()),
            };
            return Ok(columns.into_iter().map(item).collect());
        }
        let error = Error::not_found("no such table").with("name", kind);
        Err(self.source.point(error, kind.span()))
    }
}

/// List of expressions without duplicates.
#[derive(Default)]
struct UniqueExprs {
    list: Vec<TypedExpr>,
    index: ExprIndex,
}

impl UniqueExprs {
    fn push(&mut self, expr: TypedExpr) {
        if self.index.find(&expr, |i| self.list.get(i)).is_none() {
            self.index.insert(&expr, self.list.len());
            self.list.push(expr);
        }
    }
}

/// Returns the item of the SELECT list at a position, counted from 1.
pub(super) fn item_at<'i>(
    source: SourceText<'_>,
    clause: &'static str,
    position: usize,
    items: &'i [Item],
    expr: &Expr,
) -> Result<&'i Item> {
    position.checked_sub(1).and_then(|i| items.get(i)).ok_or_else(|| {
        let error = Error::invalid_input("there is no such position in the SELECT list")
            .with("clause", clause)
            .with("position", position)
            .with("columns", items.len());
        source.point(error, place_of(expr))
    })
}

/// Returns the position that a bare integer in GROUP BY or ORDER BY means.
pub(super) fn ordinal(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Literal::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the alias that a bare name in ORDER BY means.
pub(super) fn alias<'a>(expr: &Expr, aliases: &'a Aliases) -> Option<&'a Alias> {
    match expr {
        Expr::Identifier(name) => aliases.find(name),
        _ => None,
    }
}
