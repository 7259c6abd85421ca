//! Key-value metadata of the file and of its column chunks: pairs of text that the writer stored.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::KeyValue;
use vector::{Result, RowVector, Type, Value};

use super::chunks::ChunksOf;
use super::facts::{Facts, number, text, text_or_null};

/// Returns one row for each pair. Those of the file come first, with null row group and column.
///
/// # Errors
/// `Corrupt` if the metadata of a column chunk cannot be decoded.
pub fn kv(footer: &Footer) -> Result<RowVector> {
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("key", Type::Varchar),
        ("value", Type::Varchar),
    ]);
    let mut push = |place: [Value; 2], notes: &[KeyValue]| {
        for note in notes {
            let [row_group, column] = place.clone();
            let value = text_or_null(note.value.as_deref());
            facts.push(vec![row_group, column, text(&note.key), value]);
        }
    };
    push([Value::Null, Value::Null], &footer.metadata.key_value_metadata);
    for chosen in ChunksOf::default().find(footer)? {
        if let Some(meta) = &chosen.chunk.meta_data {
            let place = [number(chosen.row_group as u64), text(&chosen.name)];
            push(place, &meta.key_value_metadata);
        }
    }
    facts.finish()
}
