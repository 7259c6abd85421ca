//! Column chunks: how each leaf is stored in each row group.

use format_parquet::footer::Footer;
use format_parquet::statistics::Statistics;
use format_parquet::thrift::structs::{ColumnChunk, ColumnCrypto, ColumnOrder};
use vector::{Result, RowVector, Type, Value};

use super::chunks::ChunksOf;
use super::facts::{Facts, hex, number, number_or_null, text, text_or_null, texts};

/// Returns one row for each row group and leaf, in file order.
///
/// # Errors
/// `NotFound` if the column or row group does not exist, `Corrupt` if the metadata of a column
/// chunk cannot be decoded.
pub fn columns(footer: &Footer, wanted: &ChunksOf) -> Result<RowVector> {
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
        ("encoded_pages", Type::array(Type::Varchar)),
        ("order", Type::Varchar),
        ("key", Type::Varchar),
        ("file_path", Type::Varchar),
        ("regions", Type::array(Type::Varchar)),
        ("key_metadata", Type::Varchar),
    ]);
    for wanted in wanted.find(footer)? {
        let physical = footer.schema.leaves().get(wanted.leaf).map(|leaf| leaf.physical.as_str());
        let mut row =
            vec![number(wanted.row_group as u64), text(&wanted.name), text_or_null(physical)];
        row.extend(storage(wanted.chunk));
        row.extend([
            texts(encoded_pages(wanted.chunk)),
            text_or_null(order(footer, wanted.leaf)),
            text_or_null(key(wanted.chunk)),
            text_or_null(wanted.chunk.file_path.as_deref()),
            texts(regions(wanted.chunk)),
            key_metadata(wanted.chunk),
        ]);
        facts.push(row);
    }
    facts.finish()
}

/// Returns the columns from `codec` to `indexes`; nulls for an encrypted chunk whose metadata is
/// not readable.
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

/// Returns the names of the statistics that are present.
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

/// Returns page type, encoding and number of pages as stated in the chunk's encoding statistics.
fn encoded_pages(chunk: &ColumnChunk) -> Vec<String> {
    let meta = chunk.meta_data.as_ref();
    let claims = meta.map(|meta| meta.encoding_stats.as_slice()).unwrap_or_default();
    claims.iter().map(|c| format!("{} {} {}", c.page_type, c.encoding, c.num_pages)).collect()
}

/// Returns the sort order of the leaf's bounds; `None` if the file does not state it.
fn order(footer: &Footer, leaf: usize) -> Option<&'static str> {
    let orders = footer.metadata.column_orders.as_deref()?;
    Some(match orders.get(leaf)? {
        ColumnOrder::TypeDefined => "TYPE_ORDER",
        ColumnOrder::Ieee754Total => "IEEE_754_TOTAL_ORDER",
        ColumnOrder::Int96Timestamp => "INT96_TIMESTAMP_ORDER",
        ColumnOrder::Unknown => "?",
    })
}

/// Returns which key encrypts the chunk; `None` if it is not encrypted.
fn key(chunk: &ColumnChunk) -> Option<&'static str> {
    Some(match chunk.crypto.as_ref()? {
        ColumnCrypto::FooterKey => "footer",
        ColumnCrypto::ColumnKey { .. } => "column",
    })
}

/// Returns name, offset and length of the indexes and the bloom filter of a chunk.
fn regions(chunk: &ColumnChunk) -> Vec<String> {
    let bloom = chunk.meta_data.as_ref().and_then(|meta| meta.bloom_filter);
    let there = [
        ("column index", chunk.column_index),
        ("offset index", chunk.offset_index),
        ("bloom", bloom),
    ];
    let there = there.iter().filter_map(|(name, region)| Some((name, region.as_ref()?)));
    there.map(|(name, region)| format!("{name} {} {}", region.offset, region.bytes)).collect()
}

/// Returns the metadata of the chunk's own key.
fn key_metadata(chunk: &ColumnChunk) -> Value {
    match &chunk.crypto {
        Some(ColumnCrypto::ColumnKey { key_metadata: Some(bytes), .. }) => hex(bytes),
        _ => Value::Null,
    }
}
