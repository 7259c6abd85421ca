//! Unique names for the columns of one node.

use std::collections::HashMap;

use dwio::expr::TypedExpr;

use crate::sql::expr_index::ExprIndex;

/// Columns to compute, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) list: Vec<(String, TypedExpr)>,
    index: ExprIndex,
    names: Names,
    /// True when at least one column is computed or renamed.
    pub(super) computed: bool,
}

impl Columns {
    /// Returns the name of the column that has `expr`; an unchanged source column keeps its name.
    pub(super) fn column(&mut self, expr: &TypedExpr, base: &str) -> String {
        let found = self.index.find(expr, |i| self.list.get(i).map(|(_, have)| have));
        if let Some((name, _)) = found.and_then(|i| self.list.get(i)) {
            return name.clone();
        }
        let name = match expr {
            TypedExpr::Field { name, .. } => self.names.fresh(name),
            _ => {
                self.computed = true;
                self.names.fresh(base)
            }
        };
        // A computed column may already have taken the name of the source column.
        self.computed |= matches!(expr, TypedExpr::Field { name: own, .. } if **own != *name);
        self.index.insert(expr, self.list.len());
        self.list.push((name.clone(), expr.clone()));
        name
    }
}

/// Names that are taken, each with the last number that was appended to it.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    pub(super) fn take(&mut self, name: &str) {
        self.0.entry(name.to_string()).or_default();
    }

    /// Returns `base`, or `base_1` and so on when it is taken.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        while self.0.contains_key(&name) {
            let number = self.0.entry(base.to_string()).or_default();
            *number += 1;
            name = format!("{base}_{number}");
        }
        self.take(&name);
        name
    }
}
