//! Names that the SELECT list gives to expressions, for the clauses bound after it.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use sqlparser::ast::Ident;

/// An expression with a name that later clauses may use.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) expr: TypedExpr,
}

/// The aliases of one SELECT.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    list: Vec<Alias>,
    /// The first alias of each name in lower case.
    by_name: HashMap<String, usize>,
}

impl Aliases {
    /// The aliases in their order; of equal names the first one counts.
    pub(crate) fn new(list: Vec<Alias>) -> Self {
        let mut by_name = HashMap::with_capacity(list.len());
        for (i, alias) in list.iter().enumerate() {
            by_name.entry(alias.name.to_lowercase()).or_insert(i);
        }
        Aliases { list, by_name }
    }

    /// The alias that an identifier means.
    pub(crate) fn find(&self, ident: &Ident) -> Option<&Alias> {
        self.list.get(*self.by_name.get(&ident.value.to_lowercase())?)
    }
}
