//! Statistics of a chunk or page as they are stored: bytes and counts, not yet judged.

use vector::Result;

use crate::thrift::ThriftReader;

/// Bounds and counts of some values, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The older upper bound, in signed order whatever the type.
    pub deprecated_max: Option<Vec<u8>>,
    /// The older lower bound, in signed order whatever the type.
    pub deprecated_min: Option<Vec<u8>>,
    /// Nulls; nonsense reads as absent.
    pub null_count: Option<u64>,
    /// Distinct values; nonsense reads as absent.
    pub distinct_count: Option<u64>,
    /// The upper bound in the column's order.
    pub max_value: Option<Vec<u8>>,
    /// The lower bound in the column's order.
    pub min_value: Option<Vec<u8>>,
    /// The upper bound is a value of the column.
    pub is_max_value_exact: Option<bool>,
    /// The lower bound is a value of the column.
    pub is_min_value_exact: Option<bool>,
    /// NaNs; nonsense reads as absent.
    pub nan_count: Option<u64>,
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
            3 => found.null_count = u64::try_from(r.read_i64(field)?).ok(),
            4 => found.distinct_count = u64::try_from(r.read_i64(field)?).ok(),
            5 => found.max_value = Some(r.read_binary(field)?.to_vec()),
            6 => found.min_value = Some(r.read_binary(field)?.to_vec()),
            7 => found.is_max_value_exact = Some(r.read_bool(field)?),
            8 => found.is_min_value_exact = Some(r.read_bool(field)?),
            9 => found.nan_count = u64::try_from(r.read_i64(field)?).ok(),
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
