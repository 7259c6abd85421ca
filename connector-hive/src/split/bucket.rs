//! Bucket conversion: selects the rows of one bucket from a file that was written with another
//! number of buckets than the table has now (rules S6.54 to S6.57).
//!
//! ```text
//! table: 16 buckets    file: bucket 5 of 8    split: bucket 13 of the table
//! rows of the file are in buckets 5 and 13    those in 13 are kept
//! ```
//!
//! A row whose bucket is neither 5 nor 13 is in the wrong file, which is an error.

use vector::{Buffer, Error, Result, RowVector, Vector};

use crate::plan::scan_spec::ReadColumns;
use crate::split::bucket_hash::buckets;
use crate::split::hive_split::{BucketConversion, HiveSplit};
use crate::table::column_handle::ColumnKind;
use crate::table::table_handle::HiveTableHandle;

/// Keeps the rows of one bucket.
#[derive(Debug, Clone)]
pub(crate) struct BucketFilter {
    table_buckets: u32,
    partition_buckets: u32,
    bucket: u32,
    channels: Vec<usize>,
}

impl BucketFilter {
    /// Returns the filter of a split and the columns that the split then reads; `None` if the file
    /// has the table's buckets.
    ///
    /// # Errors
    /// `Internal` if the split contradicts itself or its table.
    pub(crate) fn new(
        split: &HiveSplit,
        table: &HiveTableHandle,
        columns: &ReadColumns,
    ) -> Result<Option<(Self, ReadColumns)>> {
        let Some(conversion) = &split.bucket_conversion else { return Ok(None) };
        let BucketConversion { table_buckets, partition_buckets, .. } = *conversion;
        let wrong = |what: &'static str| {
            Error::internal(what)
                .with("table_buckets", table_buckets)
                .with("partition_buckets", partition_buckets)
        };
        if table_buckets == partition_buckets {
            return Err(wrong("a bucket conversion between equal numbers of buckets"));
        }
        if table_buckets == 0 || partition_buckets == 0 || conversion.columns.is_empty() {
            return Err(wrong("a bucket conversion without buckets or columns"));
        }
        let bucket = split
            .bucket
            .ok_or_else(|| wrong("a bucket conversion needs the split's bucket in the table"))?;
        let data_columns = table
            .data_columns()
            .ok_or_else(|| wrong("a bucket conversion needs the table's data columns"))?;
        let mut keys = Vec::with_capacity(conversion.columns.len());
        for handle in &conversion.columns {
            if handle.kind() != ColumnKind::Regular {
                return Err(Error::internal("a bucket column must be a regular column")
                    .in_named("column", handle.name()));
            }
            let ty = data_columns.type_of(handle.name()).ok_or_else(|| {
                Error::internal("a bucket column is not a data column of its table")
                    .in_named("column", handle.name())
            })?;
            keys.push((handle.name(), ty));
        }
        let (columns, channels) = columns.with_bucket_columns(&keys)?;
        Ok(Some((BucketFilter { table_buckets, partition_buckets, bucket, channels }, columns)))
    }

    /// Returns the rows of the selected bucket; `None` if these are all rows.
    ///
    /// # Errors
    /// `Internal` if a row belongs to none of the file's buckets, `Unsupported` for a key type
    /// without a bucket hash.
    pub(crate) fn rows(&self, batch: &RowVector) -> Result<Option<Buffer<u32>>> {
        let keys = self.channels.iter().map(|c| Vector::loaded(batch.child(*c)?));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let buckets = buckets(&keys, batch.len(), self.table_buckets)?;
        let modulus = i64::from(self.partition_buckets);
        for (row, bucket) in buckets.iter().enumerate() {
            let distance = i64::from(*bucket) - i64::from(self.bucket);
            if distance.rem_euclid(modulus) != 0 {
                return Err(Error::internal("a row is in a file of another bucket")
                    .with("row", row)
                    .with("bucket", bucket)
                    .with("expected_bucket", self.bucket)
                    .with("partition_buckets", self.partition_buckets));
            }
        }
        if buckets.iter().all(|bucket| *bucket == self.bucket) {
            return Ok(None);
        }
        let kept = buckets.iter().enumerate().filter(|(_, bucket)| **bucket == self.bucket);
        Ok(Some(kept.map(|(row, _)| row as u32).collect()))
    }
}
