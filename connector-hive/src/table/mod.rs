//! The table: what a plan specifies about a Hive table and its columns, and how partition values are
//! stored in directory names.
//!
//! Files in reading order: `column_handle` with `extraction`, `hidden_columns`, `table_handle`,
//! `schema`, `partition`. None of them uses another folder of the crate.

pub(crate) mod column_handle;
pub(crate) mod extraction;
pub mod hidden_columns;
pub mod partition;
pub(crate) mod schema;
pub(crate) mod table_handle;
