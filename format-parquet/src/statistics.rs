//! Statistics of chunks and pages: the stored form, and the part of it that is trusted.
//!
//! ```text
//! footer:  Statistics (bytes, counts)  --trust-->  dwio's ColumnStatistics (values of the type)
//!                                       examined by the order of the column, the writer and the
//!                                       bound itself: a doubtful bound is dropped, never an error
//! ```
//!
//! | file | contains |
//! |---|---|
//! | `statistics` | the structs of the format and their parsers |
//! | `trust` | rules by which bounds and counts are trusted or rejected |
//! | `decode` | decoding of a bound into a value of the leaf's type |
//! | `file` | joined statistics of all row groups of a file |
//! | `widen` | statistics of a column that is read as a wider type |
//! | `check` | comparison of statistics with the values that they describe |

mod check;
mod decode;
mod file;
mod trust;
mod widen;

#[cfg(test)]
pub(crate) mod tests;

use vector::Result;

pub use check::{StatisticsCheck, each_leaf_value};
pub use decode::stored_value;
pub use file::file_statistics;
pub use trust::{
    BoundRules, JudgedBound, JudgedStatistics, RejectedBound, StoredBounds, TrustOptions,
    leaf_statistics, nested_statistics,
};
pub(crate) use widen::loses_bits;
pub use widen::widened;

use crate::thrift::ThriftReader;

/// Bounds and counts of some values, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The upper bound in the deprecated field, in signed order for all types.
    pub deprecated_max: Option<Vec<u8>>,
    /// The lower bound in the deprecated field, in signed order for all types.
    pub deprecated_min: Option<Vec<u8>>,
    /// Number of nulls.
    pub null_count: Option<i64>,
    /// Number of distinct values.
    pub distinct_count: Option<i64>,
    /// The upper bound in the column's order.
    pub max_value: Option<Vec<u8>>,
    /// The lower bound in the column's order.
    pub min_value: Option<Vec<u8>>,
    /// True when the upper bound is a value of the column.
    pub is_max_value_exact: Option<bool>,
    /// True when the lower bound is a value of the column.
    pub is_min_value_exact: Option<bool>,
    /// Number of NaNs.
    pub nan_count: Option<i64>,
}

/// Sizes from which memory can be estimated, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeStatistics {
    /// Number of bytes of all byte array values without lengths.
    pub unencoded_byte_array_data_bytes: Option<i64>,
    /// Number of occurrences of each repetition level.
    pub repetition_level_histogram: Vec<i64>,
    /// Number of occurrences of each definition level.
    pub definition_level_histogram: Vec<i64>,
}

pub(crate) fn statistics(r: &mut ThriftReader<'_>) -> Result<Statistics> {
    let mut found = Statistics::default();
    r.read_struct("Statistics", |r, field| {
        match field.id {
            1 => found.deprecated_max = Some(r.read_binary(field)?.to_vec()),
            2 => found.deprecated_min = Some(r.read_binary(field)?.to_vec()),
            3 => found.null_count = Some(r.read_i64(field)?),
            4 => found.distinct_count = Some(r.read_i64(field)?),
            5 => found.max_value = Some(r.read_binary(field)?.to_vec()),
            6 => found.min_value = Some(r.read_binary(field)?.to_vec()),
            7 => found.is_max_value_exact = Some(r.read_bool(field)?),
            8 => found.is_min_value_exact = Some(r.read_bool(field)?),
            9 => found.nan_count = Some(r.read_i64(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(found)
}

pub(crate) fn size_statistics(r: &mut ThriftReader<'_>) -> Result<SizeStatistics> {
    let mut found = SizeStatistics::default();
    r.read_struct("SizeStatistics", |r, field| {
        match field.id {
            1 => found.unencoded_byte_array_data_bytes = Some(r.read_i64(field)?),
            2 => found.repetition_level_histogram = r.read_i64_list(field)?,
            3 => found.definition_level_histogram = r.read_i64_list(field)?,
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(found)
}
