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
//! Files in reading order: `handles`, `split`, `partition`, `prune`, `discovery`, then `pushdown`,
//! `scan_spec`, `split_reader`, `data_source`, `connector`.

#![forbid(unsafe_code)]

pub mod discovery;
pub mod handles;
pub mod partition;
pub mod prune;
pub mod split;

pub use discovery::{DataFile, DiscoveryOptions, HiveTable, SplitOptions};
pub use handles::{ColumnKind, HiveColumnHandle, HiveTableHandle};
pub use prune::PartitionPredicate;
pub use split::{HiveSplit, PartitionKeys};
