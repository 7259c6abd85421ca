//! Index that finds an expression in a list: GROUP BY keys, sort keys, columns to compute.
//!
//! A column is found by its name, any other expression by its text; candidates with equal text are
//! then compared as expressions. Clauses with thousands of expressions are therefore bound in
//! linear time.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use vector::sync::Arc;

/// Positions of expressions in a list that the caller keeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExprIndex {
    columns: HashMap<Arc<str>, Vec<usize>>,
    computed: HashMap<String, Vec<usize>>,
}

impl ExprIndex {
    /// Returns the index of a list of expressions.
    pub(crate) fn of<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>) -> Self {
        let mut index = ExprIndex::default();
        for (i, expr) in exprs.into_iter().enumerate() {
            index.insert(expr, i);
        }
        index
    }

    /// Records that `expr` is at `position`.
    pub(crate) fn insert(&mut self, expr: &TypedExpr, position: usize) {
        match expr {
            TypedExpr::Field { name, .. } => {
                self.columns.entry(Arc::clone(name)).or_default().push(position);
            }
            _ => self.computed.entry(expr.to_string()).or_default().push(position),
        }
    }

    /// Returns the first position of `expr`; `at` returns the expression at a position.
    pub(crate) fn find<'e>(
        &self,
        expr: &TypedExpr,
        at: impl Fn(usize) -> Option<&'e TypedExpr>,
    ) -> Option<usize> {
        let alike = match expr {
            TypedExpr::Field { name, .. } => self.columns.get(name)?,
            // The text of a long expression is not formatted when there is nothing to compare it
            // with.
            _ if self.computed.is_empty() => return None,
            _ => self.computed.get(&expr.to_string())?,
        };
        alike.iter().copied().find(|position| at(*position) == Some(expr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::Type;

    #[test]
    fn expressions_of_equal_text_are_told_apart() {
        let column = |ty| TypedExpr::field("a", ty);
        let call = |ty| TypedExpr::call("abs", vec![column(ty)], Type::BigInt);
        let list = [
            column(Type::Date),
            call(Type::BigInt),
            column(Type::BigInt),
            call(Type::Date),
            column(Type::BigInt),
        ];
        let index = ExprIndex::of(&list);
        let find = |expr: &TypedExpr| index.find(expr, |i| list.get(i));
        for expr in &list {
            assert_eq!(find(expr), list.iter().position(|e| e == expr));
        }
        assert_eq!(find(&column(Type::Double)), None);
        assert_eq!(find(&call(Type::Double)), None);
    }
}
