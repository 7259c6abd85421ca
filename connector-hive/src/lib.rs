//! Hive tables as data sources. A Hive table is a set of files in directories named `key=value`,
//! read through a file format that the caller registers.
//!
//! Stages, with what each one reads and produces:
//!
//! ```text
//! discovery   directory            -> files, partition keys           opens no file
//! splits      files, condition     -> splits of matching partitions   opens no file
//! data source splits               -> batches of the table's type
//!    partition, zone   text of a partition key   -> a typed constant
//!    pushdown, prune   the condition on rows     -> filters, partition terms, sampling,
//!                                                   remaining filter
//!    scan_spec, subfields   handles and filters  -> the scan spec
//!    binding, mapping  scan spec, one file       -> constants of the split, columns of the file
//!    split_reader      a split                   -> batches with constants added
//!       row_id, entries, sample, bucket             row numbers; unwanted entries and rows dropped
//!       timestamps                                  truncation to the session's unit
//!    text              a second format: Hive's text tables
//!    data_source       batches                   -> batches that passed the remaining filter
//!       remaining, outputs, extraction              remaining filter; output columns
//! ```
//!
//! Files in reading order: `handles`, `table_handle`, `split`, `settings`, `partition`, `prune`,
//! `discovery`, `schema`, then `columns`, `pushdown`, `scan_spec`, `mapping`, `binding`,
//! `file_handle`, `split_reader`, `data_source`, `connector`.

#![forbid(unsafe_code)]

pub mod base64;
pub mod binding;
pub mod bucket;
pub mod bucket_hash;
pub mod clock;
pub mod columns;
pub mod connector;
pub mod data_source;
pub mod discovery;
pub mod entries;
pub mod expr_subfields;
pub mod extract_vector;
pub mod extraction;
pub mod file_handle;
pub mod handles;
pub mod info_filters;
pub mod late;
pub mod mapping;
pub mod outputs;
pub mod partition;
pub mod prune;
pub mod pushdown;
pub mod remaining;
pub mod row_id;
pub mod sample;
pub mod scan_spec;
pub mod schema;
pub mod settings;
pub mod source_stats;
pub mod split;
pub mod split_reader;
pub mod subfields;
pub mod table_handle;
pub mod text;
pub mod timestamps;
pub mod zone;

#[cfg(test)]
mod tests;

pub use bucket::BucketConversion;
pub use connector::{DEFAULT_SCHEMA_FILES, HiveConnector, LearnedSchema};
pub use data_source::HiveDataSource;
pub use discovery::{DataFile, DiscoveryOptions, HiveTable, SplitOptions};
pub use extraction::{Extraction, ExtractionStep, KeySet};
pub use handles::{ColumnKind, HiveColumnHandle, PostProcessor};
pub use mapping::ColumnMapping;
pub use partition::DateText;
pub use prune::PartitionPredicate;
pub use row_id::RowIdProperties;
pub use schema::TableSchema;
pub use split::{HiveSplit, PartitionKeys, SerdeParameters};
pub use table_handle::HiveTableHandle;
pub use text::TextReaderFactory;
