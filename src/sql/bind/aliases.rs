//! Aliases that the SELECT list defines, for the clauses that are bound after it.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use sqlparser::ast::Ident;

/// A named expression of the SELECT list, which later clauses may use.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) expr: TypedExpr,
}

/// The aliases of one SELECT.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    list: Vec<Alias>,
    /// Position in `list` of the first alias with a name, by the name in lower case.
    by_name: HashMap<String, usize>,
}

impl Aliases {
    /// Makes the aliases from their list in order; of equal names the first one is found.
    pub(crate) fn new(list: Vec<Alias>) -> Self {
        let mut by_name = HashMap::with_capacity(list.len());
        for (i, alias) in list.iter().enumerate() {
            by_name.entry(alias.name.to_lowercase()).or_insert(i);
        }
        Aliases { list, by_name }
    }

    /// Returns the alias that an identifier names, in any case.
    pub(crate) fn find(&self, ident: &Ident) -> Option<&Alias> {
        self.list.get(*self.by_name.get(&ident.value.to_lowercase())?)
    }
}
