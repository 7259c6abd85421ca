//! Splits: a split is the byte range of one file that a driver reads.
//!
//! A split is plain data without open resources: it can be logged, counted and sent. Partition
//! values are unescaped *text* here, with `None` for null (rule S8.1). They are converted to typed
//! values when the split is read, because only the scan has the types of the columns.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

use dwio::connector::ConnectorSplit;
use dwio::reader::FileFormat;
use vector::sync::Arc;
use vector::{Error, Result};

use crate::table::column_handle::HiveColumnHandle;
use crate::table::hidden_columns::{BUCKET, PATH};
use crate::table::table_handle::ColumnMapping;

/// Keys and values of a partition in the order of its directories; a value is text or null.
pub type PartitionKeys = Arc<[(String, Option<String>)]>;

/// Serde parameters of a table, which describe how its values are encoded; shared by its splits.
pub type SerdeParameters = Arc<BTreeMap<String, String>>;

/// A byte range of one file, with the properties that all of its rows share.
#[derive(Debug, Clone, PartialEq)]
pub struct HiveSplit {
    /// Id of the connector that the split belongs to.
    pub connector_id: String,
    /// Path of the file.
    pub path: String,
    /// Format of the file.
    pub format: FileFormat,
    /// Offset of the first byte of the range. A row group belongs to the split in which it starts.
    pub start: u64,
    /// Length of the range in bytes; `u64::MAX` means up to the end of the file.
    pub length: u64,
    /// Partition of the file.
    pub partition_keys: PartitionKeys,
    /// Values of synthesized columns such as `$path`, as text by column name.
    pub synthesized_columns: BTreeMap<String, String>,
    /// Bucket of all rows, if the table is bucketed.
    pub bucket: Option<u32>,
    /// Length of the file, if known. Opening fails if the file has another length.
    pub file_bytes: Option<u64>,
    /// Mapping of columns for this file, if it differs from that of the table and the settings.
    pub column_mapping: Option<ColumnMapping>,
    /// Buckets of the file, if they differ from those of the table.
    pub bucket_conversion: Option<BucketConversion>,
    /// Properties from which row ids are built.
    pub row_id: Option<RowIdProperties>,
    /// Serde parameters of the file by their Hive names. The format reads the ones that it supports
    /// (rule S7.11).
    pub serde_parameters: SerdeParameters,
    /// If true, the data read may be kept in the cache (rule S14.15).
    pub cacheable: bool,
}

/// Part of a split that describes the buckets of its file and their key columns.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketConversion {
    /// Number of buckets of the table.
    pub table_buckets: u32,
    /// Number of buckets of the partition when the file was written.
    pub partition_buckets: u32,
    /// Bucket key columns in order.
    pub columns: Vec<HiveColumnHandle>,
}

/// Properties of a split from which the ids of its rows are built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowIdProperties {
    /// Version of the table's metadata.
    pub metadata_version: i64,
    /// Id of the partition.
    pub partition_id: i64,
    /// Id of the table.
    pub table_guid: String,
}

impl HiveSplit {
    /// Returns the split of a whole file without partition (rule S7.4).
    pub fn new(
        connector_id: impl Into<String>,
        path: impl Into<String>,
        format: FileFormat,
    ) -> Self {
        let path = path.into();
        HiveSplit {
            connector_id: connector_id.into(),
            synthesized_columns: [(PATH.to_string(), path.clone())].into(),
            path,
            format,
            start: 0,
            length: u64::MAX,
            partition_keys: Arc::from([]),
            bucket: None,
            file_bytes: None,
            column_mapping: None,
            bucket_conversion: None,
            row_id: None,
            serde_parameters: SerdeParameters::default(),
            cacheable: true,
        }
    }

    /// Returns the split with the byte range `start..start + length`.
    pub fn with_range(mut self, start: u64, length: u64) -> Self {
        self.start = start;
        self.length = length;
        self
    }

    /// Returns the split with a partition.
    pub fn with_partition_keys(mut self, keys: PartitionKeys) -> Self {
        self.partition_keys = keys;
        self
    }

    /// Returns the split with an additional synthesized column.
    pub fn with_synthesized_column(
        mut self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.synthesized_columns.insert(name.into(), text.into());
        self
    }

    /// Returns the split with a bucket, which is also the synthesized column `$bucket`.
    pub fn with_bucket(mut self, bucket: u32) -> Self {
        self.bucket = Some(bucket);
        self.with_synthesized_column(BUCKET, bucket.to_string())
    }

    /// Returns the split with its own mapping of columns.
    pub fn with_column_mapping(mut self, mapping: ColumnMapping) -> Self {
        self.column_mapping = Some(mapping);
        self
    }

    /// Returns the split with a bucket conversion, for a file with other buckets than its table.
    pub fn with_bucket_conversion(mut self, conversion: BucketConversion) -> Self {
        self.bucket_conversion = Some(conversion);
        self
    }

    /// Returns the split with the properties of row ids.
    pub fn with_row_id(mut self, properties: RowIdProperties) -> Self {
        self.row_id = Some(properties);
        self
    }

    /// Returns the split with serde parameters.
    pub fn with_serde_parameters(mut self, parameters: SerdeParameters) -> Self {
        self.serde_parameters = parameters;
        self
    }

    /// Returns the byte range; its end saturates (rule S7.9).
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.length)
    }

    /// Returns the value of a partition key: `None` if the partition has no such key, `Some(None)`
    /// if the value is null.
    pub fn partition_value(&self, key: &str) -> Option<Option<&str>> {
        self.partition_keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_deref())
    }

    /// Returns the part of the path after the last `/`.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Downcasts a split to a Hive split.
    ///
    /// # Errors
    /// `Internal` if it belongs to another connector.
    pub fn of(split: &dyn ConnectorSplit) -> Result<&HiveSplit> {
        split.as_any().downcast_ref().ok_or_else(|| {
            Error::internal("a split of another connector").with("split", split.describe())
        })
    }
}

impl ConnectorSplit for HiveSplit {
    fn connector_id(&self) -> &str {
        &self.connector_id
    }

    fn describe(&self) -> String {
        if self.start == 0 && self.length == u64::MAX {
            self.path.clone()
        } else {
            format!("{} bytes {}..{}", self.path, self.start, self.range().end)
        }
    }

    fn size_bytes(&self) -> u64 {
        // An unlimited length counts as the rest of the file after the start (rule S7.44).
        match self.file_bytes {
            Some(bytes) => self.length.min(bytes.saturating_sub(self.start)),
            None if self.length == u64::MAX => 0,
            None => self.length,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new split covers the whole file, and the end of its range saturates (rules S7.4, S7.9).
    #[test]
    fn a_split_is_a_whole_file_unless_told_otherwise() {
        let split = HiveSplit::new("hive", "/t/ds=1/f.parquet", FileFormat::new("parquet"));
        assert_eq!(split.range(), 0..u64::MAX);
        assert_eq!(split.describe(), "/t/ds=1/f.parquet");
        assert_eq!(split.file_name(), "f.parquet");
        assert_eq!(split.synthesized_columns[PATH], "/t/ds=1/f.parquet");
        assert_eq!(split.size_bytes(), 0);
        let part = split.with_range(100, 50);
        assert_eq!(
            (part.describe(), part.size_bytes()),
            ("/t/ds=1/f.parquet bytes 100..150".into(), 50)
        );
    }

    /// A partition value is optional text, where none is null (rule S8.1).
    #[test]
    fn a_null_partition_value_is_not_an_absent_one() {
        let keys: PartitionKeys = [("ds".to_string(), None), ("h".into(), Some("1".into()))].into();
        let split =
            HiveSplit::new("hive", "f", FileFormat::new("parquet")).with_partition_keys(keys);
        assert_eq!(split.partition_value("ds"), Some(None));
        assert_eq!(split.partition_value("h"), Some(Some("1")));
        assert_eq!(split.partition_value("x"), None);
    }

    /// The bucket of a split is also its column `$bucket` (rule S7.4).
    #[test]
    fn a_bucket_is_a_synthesized_column_too() {
        let split = HiveSplit::new("hive", "f", FileFormat::new("parquet")).with_bucket(3);
        assert_eq!(split.synthesized_columns[BUCKET], "3");
    }
}
