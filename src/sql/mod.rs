//! The SQL front end: translates SQL text into plan nodes.
//!
//! ```text
//! text --parse--> syntax tree --bind (scope, functions)--> TypedExpr --plan--> PlanNode
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `source.rs` | positions in the query text, for errors |
//! | `parse.rs` | text to the syntax tree of the `sqlparser` crate, within limits |
//! | `copy.rs` | the COPY statement around a query |
//! | `catalog.rs` | interface through which the front end reads tables |
//! | `scope.rs` | resolution of names to columns |
//! | `expr_index.rs` | index that finds an expression in a list |
//! | `literal.rs` | literals to constants, type names to types |
//! | `bind/` | syntax to typed expressions |
//! | `plan/` | clauses to plan nodes |
//!
//! The syntax tree is private to this folder, and the crates below the root crate do not know SQL.

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
