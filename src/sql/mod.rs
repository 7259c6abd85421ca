//! The SQL front end: text to plan nodes.
//!
//! ```text
//! text --parse--> syntax tree --bind (scope, functions)--> TypedExpr --plan--> PlanNode
//! ```
//!
//! | file | what |
//! |---|---|
//! | `source.rs` | places in the text, for errors |
//! | `parse.rs` | text to the syntax tree of the `sqlparser` crate, within bounds |
//! | `copy.rs` | the frame of COPY around a query |
//! | `catalog.rs` | what the front end needs to know of tables |
//! | `scope.rs` | names to columns |
//! | `expr_index.rs` | finding an expression among many |
//! | `literal.rs` | constants, and the types that SQL text names |
//! | `bind/` | syntax to typed expressions |
//! | `plan/` | clauses to plan nodes |
//!
//! The syntax tree ends here: nothing outside of this folder sees it, and nothing below the root
//! crate knows SQL.

mod bind;
mod catalog;
mod copy;
mod expr_index;
mod functions;
mod literal;
mod parse;
mod plan;
mod scope;
mod source;

#[cfg(test)]
mod testing;

pub(crate) use catalog::{
    Catalog, CatalogTable, FoundTable, ScanParts, SchemaGap, TableColumn, TableSplits,
};
pub(crate) use copy::{CopyOption, CopyRequest, plan_statement};
pub(crate) use plan::{PlannedQuery, PlannedScan, ScanClauses, plan_scan};
