//! Statistics of chunks and pages: as they are stored, and what of them may be believed.
//!
//! ```text
//! footer:  Statistics (bytes, counts)  --trust-->  dwio's ColumnStatistics (values of the type)
//!                                       judged by the order of the column, the writer and the
//!                                       bound itself: what is doubtful is dropped, never an error
//! ```
//!
//! | file | has |
//! |---|---|
//! | this | the structs of the format and their parsers |
//! | `trust` | which bounds and counts are believed, and why others are not |
//! | `decode` | a bound's bytes as a value of the leaf's type |
//! | `file` | statistics of all row groups of a file together |
//! | `widen` | statistics of a column that is read as a wider type |
//! | `check` | statistics against the values that they describe |

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
    BoundRules, Distrust, JudgedBound, JudgedStatistics, StoredBounds, TrustOptions,
    leaf_statistics, nested_statistics,
};
pub(crate) use widen::loses_bits;
pub use widen::widened;

use crate::thrift::ThriftReader;

/// Bounds and counts of some values, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The older upper bound, in signed order whatever the type.
    pub deprecated_max: Option<Vec<u8>>,
    /// The older lower bound, in signed order whatever the type.
    pub deprecated_min: Option<Vec<u8>>,
    /// Nulls.
    pub null_count: Option<i64>,
    /// Distinct values.
    pub distinct_count: Option<i64>,
    /// The upper bound in the column's order.
    pub max_value: Option<Vec<u8>>,
    /// The lower bound in the column's order.
    pub min_value: Option<Vec<u8>>,
    /// The upper bound is a value of the column.
    pub is_max_value_exact: Option<bool>,
    /// The lower bound is a value of the column.
    pub is_min_value_exact: Option<bool>,
    /// NaNs.
    pub nan_count: Option<i64>,
}

/// Sizes that help to reserve memory, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeStatistics {
    /// Bytes of all byte array values without lengths.
    pub unencoded_byte_array_data_bytes: Option<i64>,
    /// How often each repetition level occurs.
    pub repetition_level_histogram: Vec<i64>,
    /// How often each definition level occurs.
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
