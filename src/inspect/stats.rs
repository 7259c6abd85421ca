//! Statistics of column chunks: as stored, as values, and whether the reader trusts them.

use format_parquet::footer::Footer;
use format_parquet::statistics::{BoundRules, JudgedBound, RejectedBound, TrustOptions};
use format_parquet::thrift::structs::ColumnMetaData;
use vector::{Result, RowVector, Type, Value};

use super::chunks::ChunksOf;
use super::facts::{
    Facts, boolean_or_null, hex, number, signed_list, signed_or_null, text, text_or_null,
    value_or_null,
};

/// Text for a bound that the reader trusts.
const TRUSTED: &str = "yes";

/// Returns one row for each selected column chunk, with nulls for statistics that the file does not
/// have.
///
/// `min_trusted` and `max_trusted` are `yes` or the reason why the reader does not use the bound.
/// `is_deprecated` is true for bounds in the format's deprecated fields.
///
/// # Errors
/// `NotFound` if the column or row group does not exist, `Corrupt` if the metadata of a column
/// chunk cannot be decoded.
pub fn stats(footer: &Footer, wanted: &ChunksOf) -> Result<RowVector> {
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("values", Type::BigInt),
        ("nulls", Type::BigInt),
        ("distinct", Type::BigInt),
        ("nans", Type::BigInt),
        ("min", Type::Varchar),
        ("max", Type::Varchar),
        ("min_raw", Type::Varchar),
        ("max_raw", Type::Varchar),
        ("min_trusted", Type::Varchar),
        ("max_trusted", Type::Varchar),
        ("min_exact", Type::Boolean),
        ("max_exact", Type::Boolean),
        ("is_deprecated", Type::Boolean),
        ("byte_array_bytes", Type::BigInt),
        ("definition_levels", Type::array(Type::BigInt)),
        ("repetition_levels", Type::array(Type::BigInt)),
    ]);
    for chosen in wanted.find(footer)? {
        let mut row = vec![number(chosen.row_group as u64), text(&chosen.name)];
        match &chosen.chunk.meta_data {
            None => row.extend(vec![Value::Null; 16]),
            Some(meta) => {
                row.push(number(meta.num_values));
                row.extend(values(footer, chosen.leaf, meta));
                row.extend(sizes(meta));
            }
        }
        facts.push(row);
    }
    facts.finish()
}

/// Returns the columns from `nulls` to `is_deprecated`.
fn values(footer: &Footer, leaf: usize, meta: &ColumnMetaData) -> Vec<Value> {
    let rules = BoundRules::new(footer, leaf, TrustOptions::default());
    let (Some(stored), Some(rules)) = (meta.statistics.as_deref(), rules) else {
        return vec![Value::Null; 12];
    };
    let judged = rules.judge(stored, meta.num_values);
    let (min, max) = (&judged.min, &judged.max);
    let ty = &rules.leaf().ty;
    let is_there = |bound: &JudgedBound<'_>| bound.stored.is_some();
    vec![
        signed_or_null(stored.null_count),
        signed_or_null(stored.distinct_count),
        signed_or_null(stored.nan_count),
        value_or_null(ty, min.value.as_ref()),
        value_or_null(ty, max.value.as_ref()),
        min.stored.map_or(Value::Null, hex),
        max.stored.map_or(Value::Null, hex),
        trust(min),
        trust(max),
        boolean_or_null(stored.is_min_value_exact),
        boolean_or_null(stored.is_max_value_exact),
        boolean_or_null(
            (is_there(min) || is_there(max)).then_some(min.is_deprecated || max.is_deprecated),
        ),
    ]
}

fn trust(bound: &JudgedBound<'_>) -> Value {
    let reason = bound.distrust.map(RejectedBound::as_str);
    text_or_null(bound.stored.map(|_| reason.unwrap_or(TRUSTED)))
}

fn sizes(meta: &ColumnMetaData) -> Vec<Value> {
    let Some(sizes) = meta.size_statistics.as_deref() else { return vec![Value::Null; 3] };
    vec![
        signed_or_null(sizes.unencoded_byte_array_data_bytes),
        signed_list(&sizes.definition_level_histogram),
        signed_list(&sizes.repetition_level_histogram),
    ]
}
