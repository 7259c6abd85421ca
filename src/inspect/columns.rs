//! The column chunks: how each leaf is written in each row group.

use format_parquet::footer::Footer;
use format_parquet::statistics::Statistics;
use format_parquet::thrift::structs::ColumnChunk;
use vector::{Error, Result, RowVector, Type, Value};

use super::facts::{Facts, number, number_or_null, text, texts};

/// Which chunks are wanted.
#[derive(Debug, Clone, Default)]
pub struct ColumnsOf {
    /// Only this column, by its path with dots, or everything below it; all when `None`.
    pub column: Option<String>,
    /// Only this row group; all when `None`.
    pub row_group: Option<usize>,
}

/// One row for each row group and leaf, in file order. `NotFound` when the wanted column or row
/// group does not exist.
pub fn columns(footer: &Footer, wanted: &ColumnsOf) -> Result<RowVector> {
    let num_groups = footer.row_groups().len();
    if let Some(group) = wanted.row_group.filter(|group| *group >= num_groups) {
        return Err(Error::not_found("no such row group")
            .with("row_group", group)
            .with("row_groups", num_groups));
    }
    let names: Vec<String> =
        (0..footer.schema.num_leaves()).map(|leaf| footer.schema.leaf_name(leaf)).collect();
    let is_wanted = |name: &str| match &wanted.column {
        None => true,
        Some(column) => name
            .strip_prefix(column.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
    };
    if let Some(column) = &wanted.column
        && !names.iter().any(|name| is_wanted(name))
    {
        return Err(Error::not_found("no such column").with("column", column));
    }
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("physical", Type::Varchar),
        ("codec", Type::Varchar),
        ("encodings", Type::array(Type::Varchar)),
        ("values", Type::BigInt),
        ("compressed_bytes", Type::BigInt),
        ("uncompressed_bytes", Type::BigInt),
        ("dictionary_offset", Type::BigInt),
        ("data_offset", Type::BigInt),
        ("statistics", Type::array(Type::Varchar)),
        ("indexes", Type::array(Type::Varchar)),
    ]);
    for (ordinal, group) in footer.row_groups().iter().enumerate() {
        if wanted.row_group.is_some_and(|only| only != ordinal) {
            continue;
        }
        for ((chunk, leaf), name) in group.columns.iter().zip(footer.schema.leaves()).zip(&names) {
            if is_wanted(name) {
                let mut row =
                    vec![number(ordinal as u64), text(name), text(leaf.physical.as_str())];
                row.extend(storage(chunk));
                facts.push(row);
            }
        }
    }
    facts.finish()
}

/// The columns from `codec` on; nulls where an encrypted chunk tells nothing.
fn storage(chunk: &ColumnChunk) -> Vec<Value> {
    let Some(meta) = &chunk.meta_data else {
        let mut row = vec![Value::Null; 8];
        row.push(texts(indexes(chunk)));
        return row;
    };
    vec![
        text(meta.codec.to_string()),
        texts(meta.encodings.iter().map(ToString::to_string)),
        number(meta.num_values),
        number(meta.total_compressed_bytes),
        number(meta.total_uncompressed_bytes),
        number_or_null(meta.dictionary_page_offset),
        number(meta.data_page_offset),
        texts(meta.statistics.as_deref().map(statistics).unwrap_or_default()),
        texts(indexes(chunk)),
    ]
}

/// The names of the statistics that are there.
fn statistics(found: &Statistics) -> Vec<String> {
    let there = [
        ("min", found.min_value.is_some()),
        ("max", found.max_value.is_some()),
        ("min (deprecated)", found.deprecated_min.is_some() && found.min_value.is_none()),
        ("max (deprecated)", found.deprecated_max.is_some() && found.max_value.is_none()),
        ("nulls", found.null_count.is_some()),
        ("distinct", found.distinct_count.is_some()),
        ("nans", found.nan_count.is_some()),
    ];
    there.iter().filter(|(_, is)| *is).map(|(name, _)| (*name).to_string()).collect()
}

fn indexes(chunk: &ColumnChunk) -> Vec<String> {
    let has_bloom = chunk.meta_data.as_ref().is_some_and(|meta| meta.bloom_filter.is_some());
    let there = [
        ("column", chunk.column_index.is_some()),
        ("offset", chunk.offset_index.is_some()),
        ("bloom", has_bloom),
    ];
    there.iter().filter(|(_, is)| *is).map(|(name, _)| (*name).to_string()).collect()
}
