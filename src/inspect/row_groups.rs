//! Row groups: numbers of rows and bytes, offsets and sort order.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::RowGroup;
use vector::{Result, RowVector, Type};

use super::facts::{Facts, number, number_or_null, signed_or_null, texts};

/// Returns one row for each row group in file order. Sizes are the sums over the column chunks,
/// since writers often omit those of the row group. The sizes stored in the row group are shown
/// too, in the `stated_` columns.
///
/// # Errors
/// `Corrupt` if the metadata of a column chunk cannot be decoded.
pub fn row_groups(footer: &Footer) -> Result<RowVector> {
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("rows", Type::BigInt),
        ("compressed_bytes", Type::BigInt),
        ("uncompressed_bytes", Type::BigInt),
        ("offset", Type::BigInt),
        ("sorted_by", Type::array(Type::Varchar)),
        ("stated_compressed_bytes", Type::BigInt),
        ("stated_uncompressed_bytes", Type::BigInt),
        ("stated_offset", Type::BigInt),
        ("stated_ordinal", Type::BigInt),
    ]);
    for (ordinal, group) in footer.row_groups().iter().enumerate() {
        let (mut compressed, mut uncompressed) = (0u64, 0u64);
        let mut offset: Option<u64> = None;
        for chunk in group.columns.iter() {
            let Some(meta) = &chunk?.meta_data else { continue };
            compressed = compressed.saturating_add(meta.total_compressed_bytes);
            uncompressed = uncompressed.saturating_add(meta.total_uncompressed_bytes);
            let start = meta.start_offset();
            offset = Some(offset.map_or(start, |least| least.min(start)));
        }
        facts.push(vec![
            number(ordinal as u64),
            number(group.num_rows),
            number(compressed),
            number(uncompressed),
            number_or_null(offset),
            texts(sort_keys(footer, group)),
            number_or_null(group.total_compressed_bytes),
            number(group.total_uncompressed_bytes),
            number_or_null(group.file_offset),
            signed_or_null(group.ordinal.map(i64::from)),
        ]);
    }
    facts.finish()
}

fn sort_keys(footer: &Footer, group: &RowGroup) -> Vec<String> {
    let key = |sorted: &format_parquet::thrift::structs::SortingColumn| {
        let leaf = usize::try_from(sorted.leaf).ok();
        let name = leaf.map_or(String::new(), |leaf| footer.schema.leaf_name(leaf));
        let order = if sorted.is_descending { " DESC" } else { "" };
        let nulls = if sorted.is_nulls_first { " NULLS FIRST" } else { " NULLS LAST" };
        name + order + nulls
    };
    group.sorting_columns.iter().map(key).collect()
}
