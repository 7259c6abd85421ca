//! Splits: which bytes of which file one driver reads next.
//!
//! A split is plain data: it can be logged, counted and sent, and holds nothing open. Partition
//! values are *text* here, unescaped and with `None` for null (rule S8.1); they become typed
//! values when the split is read, because only the scan knows the columns' types.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

use dwio::connector::ConnectorSplit;
use dwio::reader::FileFormat;
use vector::sync::Arc;
use vector::{Error, Result};

use crate::bucket::BucketConversion;
use crate::handles::{BUCKET, PATH};
use crate::mapping::ColumnMapping;
use crate::row_id::RowIdProperties;

/// Keys and values of a partition in the order of its directories; a value is text, or null.
pub type PartitionKeys = Arc<[(String, Option<String>)]>;

/// Parameters of the code that writes and reads a table's values, shared by its splits.
pub type SerdeParameters = Arc<BTreeMap<String, String>>;

/// A byte range of one file, and what is known of all its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct HiveSplit {
    /// The connector it belongs to.
    pub connector_id: String,
    /// The file.
    pub path: String,
    /// How to read it.
    pub format: FileFormat,
    /// First byte of the range. A row group belongs to the split in which it starts.
    pub start: u64,
    /// Bytes of the range; `u64::MAX` means up to the end.
    pub length: u64,
    /// The file's partition.
    pub partition_keys: PartitionKeys,
    /// Values of columns that are made from the split, as text by name, such as `$path`.
    pub info_columns: BTreeMap<String, String>,
    /// The bucket of all rows, if the table is bucketed.
    pub bucket: Option<u32>,
    /// Length of the file, if known. A file of another length is refused when it is opened.
    pub file_bytes: Option<u64>,
    /// How columns are found in the file, if that differs from what table and settings say.
    pub column_mapping: Option<ColumnMapping>,
    /// The buckets of the file, if they are not those of the table.
    pub bucket_conversion: Option<BucketConversion>,
    /// What row ids are made of.
    pub row_id: Option<RowIdProperties>,
    /// How the file writes its values, by the names that Hive has for it; the format reads those
    /// it owns (rule S7.11).
    pub serde_parameters: SerdeParameters,
    /// What is read of the file may be kept for others (rule S14.15).
    pub cacheable: bool,
}

impl HiveSplit {
    /// A whole file without partition (rule S7.4).
    pub fn new(
        connector_id: impl Into<String>,
        path: impl Into<String>,
        format: FileFormat,
    ) -> Self {
        let path = path.into();
        HiveSplit {
            connector_id: connector_id.into(),
            info_columns: [(PATH.to_string(), path.clone())].into(),
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

    /// The same split for the bytes `start..start + length`.
    pub fn with_range(mut self, start: u64, length: u64) -> Self {
        self.start = start;
        self.length = length;
        self
    }

    /// The same split in a partition.
    pub fn with_partition_keys(mut self, keys: PartitionKeys) -> Self {
        self.partition_keys = keys;
        self
    }

    /// The same split with one more info column.
    pub fn with_info_column(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.info_columns.insert(name.into(), text.into());
        self
    }

    /// The same split in a bucket, which is an info column too.
    pub fn with_bucket(mut self, bucket: u32) -> Self {
        self.bucket = Some(bucket);
        self.with_info_column(BUCKET, bucket.to_string())
    }

    /// The same split whose columns are found in another way.
    pub fn with_column_mapping(mut self, mapping: ColumnMapping) -> Self {
        self.column_mapping = Some(mapping);
        self
    }

    /// The same split of a file with other buckets than its table.
    pub fn with_bucket_conversion(mut self, conversion: BucketConversion) -> Self {
        self.bucket_conversion = Some(conversion);
        self
    }

    /// The same split with what row ids are made of.
    pub fn with_row_id(mut self, properties: RowIdProperties) -> Self {
        self.row_id = Some(properties);
        self
    }

    /// The same split of a file that is written in another way.
    pub fn with_serde_parameters(mut self, parameters: SerdeParameters) -> Self {
        self.serde_parameters = parameters;
        self
    }

    /// The bytes of the range; the end saturates (rule S7.9).
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.length)
    }

    /// The value of a partition key: `None` when the partition has no such key, `Some(None)` when
    /// it is null.
    pub fn partition_value(&self, key: &str) -> Option<Option<&str>> {
        self.partition_keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_deref())
    }

    /// The part of the path behind the last `/`.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The Hive split inside a split; `Internal` when it is of another connector.
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
        // A default length counts as what the file has behind the start (rule S7.44).
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

    /// Rules S7.4, S7.9.
    #[test]
    fn a_split_is_a_whole_file_unless_told_otherwise() {
        let split = HiveSplit::new("hive", "/t/ds=1/f.parquet", FileFormat::new("parquet"));
        assert_eq!(split.range(), 0..u64::MAX);
        assert_eq!(split.describe(), "/t/ds=1/f.parquet");
        assert_eq!(split.file_name(), "f.parquet");
        assert_eq!(split.info_columns[PATH], "/t/ds=1/f.parquet");
        assert_eq!(split.size_bytes(), 0);
        let part = split.with_range(100, 50);
        assert_eq!(
            (part.describe(), part.size_bytes()),
            ("/t/ds=1/f.parquet bytes 100..150".into(), 50)
        );
    }

    /// Rule S8.1.
    #[test]
    fn a_null_partition_value_is_not_an_absent_one() {
        let keys: PartitionKeys = [("ds".to_string(), None), ("h".into(), Some("1".into()))].into();
        let split =
            HiveSplit::new("hive", "f", FileFormat::new("parquet")).with_partition_keys(keys);
        assert_eq!(split.partition_value("ds"), Some(None));
        assert_eq!(split.partition_value("h"), Some(Some("1")));
        assert_eq!(split.partition_value("x"), None);
    }

    /// Rule S7.4.
    #[test]
    fn a_bucket_is_an_info_column_too() {
        let split = HiveSplit::new("hive", "f", FileFormat::new("parquet")).with_bucket(3);
        assert_eq!(split.info_columns[BUCKET], "3");
    }
}
