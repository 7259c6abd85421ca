//! Hive tables as data sources. A Hive table is a set of files in directories named `key=value`,
//! read through a file format that the caller registers.
//!
//! Stages, with what each one takes and returns:
//!
//! ```text
//! discovery    directory            -> files, partition keys             opens no file
//! splits       files, condition     -> splits of matching partitions     opens no file
//! plan         handles, condition   -> scan spec, partition terms, remaining filter
//! data source  splits               -> batches of the table's type
//! ```
//!
//! Folders in reading order; each uses only those above it:
//!
//! | folder | contents |
//! |---|---|
//! | `table` | column and table handles, schema, partition values |
//! | `plan` | filter pushdown, partition pruning, the scan spec |
//! | `split` | splits, discovery, row ids, buckets, sampling |
//! | `read` | data source, split reader, binding of columns, remaining filter |
//!
//! `connector` combines them. `settings`, `zone` and `clock` are used by all.
//!
//! # Examples
//!
//! ```
//! # use ocior_connector_hive as connector_hive;
//! use connector_hive::{DiscoveryOptions, HiveTable, SerdeParameters, SplitOptions};
//! use dwio::fs::MemoryFiles;
//! use dwio::reader::FileFormat;
//! use vector::Type;
//!
//! let files = MemoryFiles::new();
//! files.put("/nation/ds=2026-09-01/part-0.parquet", vec![0; 100]);
//! files.put("/nation/ds=2026-09-02/part-0.parquet", vec![0; 250]);
//! let table = HiveTable::discover(&files, "/nation", DiscoveryOptions::default())?;
//! assert_eq!(table.partition_columns.type_of("ds"), Some(&Type::Date));
//!
//! let options = SplitOptions {
//!     connector_id: "hive".into(),
//!     format: FileFormat::new("parquet"),
//!     target_bytes: 128,
//!     serde_parameters: SerdeParameters::default(),
//! };
//! let splits = table.splits(None, &options)?;
//! let ranges: Vec<_> = splits.iter().map(|s| (s.partition_value("ds"), s.range())).collect();
//! assert_eq!(ranges, [
//!     (Some(Some("2026-09-01")), 0..100),
//!     (Some(Some("2026-09-02")), 0..125),
//!     (Some(Some("2026-09-02")), 125..250),
//! ]);
//! # Ok::<(), vector::Error>(())
//! ```

#![forbid(unsafe_code)]

mod clock;
mod connector;
mod plan;
mod read;
mod settings;
mod split;
mod table;
mod zone;

#[cfg(test)]
mod tests;

pub use table::column_handle::{ColumnKind, FileColumn, HiveColumnHandle, PostProcessor};
pub use table::extraction::{Extraction, ExtractionStep, KeySet};
pub use table::hidden_columns;
pub use table::partition::{self, DateText};
pub use table::schema::{StoredColumns, TableSchema};
pub use table::table_handle::{ColumnMapping, HiveTableHandle};

pub use plan::columns::ScanColumns;
pub use plan::prune::{PartitionPredicate, Verdict};
pub use plan::pushdown::Pushdown;

pub use split::discovery::{DataFile, DiscoveryOptions, HiveTable, SplitOptions};
pub use split::hive_split::{
    BucketConversion, HiveSplit, PartitionKeys, RowIdProperties, SerdeParameters,
};

pub use connector::{DEFAULT_SCHEMA_FILES, HiveConnector, InferredSchema};
pub use settings::{SETTING_NAMES, ScanSettings};
pub use zone::ProcessZone;
