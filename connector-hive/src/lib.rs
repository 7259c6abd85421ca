//! Hive tables as data sources: files in directories named `key=value`, read through a file
//! format that is handed over as a value.
//!
//! What a Hive table adds to a file:
//!
//! ```text
//! discovery   directory            -> files, partition keys          nothing opened
//! splits      files, condition     -> splits of wanted partitions    nothing opened
//! data source splits               -> batches of the table's type
//!    partition   text of a partition key        -> a typed constant
//!    pushdown    the condition on rows          -> filters, partition terms, the rest
//!    scan_spec   handles and filters            -> what to read; where this file has it
//!    split_reader  a split                      -> batches with constants put in
//!    data_source   batches                      -> batches that passed the rest
//! ```
//!
//! Files in reading order: `handles`, `split`, `partition`, `prune`, `discovery`, `schema`, then
//! `columns`, `pushdown`, `scan_spec`, `file_handle`, `split_reader`, `data_source`, `connector`.

#![forbid(unsafe_code)]

pub mod columns;
pub mod connector;
pub mod data_source;
pub mod discovery;
pub mod file_handle;
pub mod handles;
pub mod partition;
pub mod prune;
pub mod pushdown;
pub mod scan_spec;
pub mod schema;
pub mod split;
pub mod split_reader;

#[cfg(test)]
mod tests;

pub use connector::HiveConnector;
pub use data_source::HiveDataSource;
pub use discovery::{DataFile, DiscoveryOptions, HiveTable, SplitOptions};
pub use handles::{ColumnKind, HiveColumnHandle, HiveTableHandle};
pub use prune::PartitionPredicate;
pub use schema::TableSchema;
pub use split::{HiveSplit, PartitionKeys};
