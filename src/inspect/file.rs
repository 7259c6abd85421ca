//! Properties of the file as a whole: writer, sizes and key-value metadata.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::EncryptionAlgorithm;
use vector::{Result, RowVector, Type, Value, value_text};

use super::facts::{Facts, hex, number, text, text_or_null};

/// Maximum number of characters of a metadata value in output for people.
const MAX_NOTE_CHARS: usize = 80;

type Property = (&'static str, Type, Value);

fn properties(footer: &Footer, path: &str) -> Vec<Property> {
    let metadata = &footer.metadata;
    let encryption = metadata.encryption.as_ref();
    let encryption =
        encryption.map(|algorithm| if algorithm.is_ctr { "AES_GCM_CTR_V1" } else { "AES_GCM_V1" });
    let aad = |part: fn(&EncryptionAlgorithm) -> Option<&Vec<u8>>| {
        metadata.encryption.as_ref().and_then(part).map_or(Value::Null, |bytes| hex(bytes))
    };
    let size = |name, value| (name, Type::BigInt, number(value));
    vec![
        ("path", Type::Varchar, text(path)),
        ("format_version", Type::Integer, Value::Integer(metadata.version)),
        ("created_by", Type::Varchar, text_or_null(metadata.created_by.as_deref())),
        size("rows", footer.num_rows),
        size("row_groups", footer.row_groups().len() as u64),
        size("columns", footer.schema.columns().len() as u64),
        size("leaf_columns", footer.schema.num_leaves() as u64),
        size("file_bytes", footer.file_bytes),
        size("footer_bytes", footer.footer_bytes),
        ("encryption", Type::Varchar, text_or_null(encryption)),
        ("aad_prefix", Type::Varchar, aad(|a| a.aad_prefix.as_ref())),
        ("aad_file_unique", Type::Varchar, aad(|a| a.aad_file_unique.as_ref())),
    ]
}

/// Returns one row with a column for each property. The key-value metadata is a map.
///
/// # Errors
/// `Internal` if a value does not fit its column.
pub fn file(footer: &Footer, path: &str) -> Result<RowVector> {
    let mut properties = properties(footer, path);
    let notes = footer.metadata.key_value_metadata.iter();
    let notes = notes.map(|note| (text(&note.key), text_or_null(note.value.as_deref()))).collect();
    properties.push(("key_values", Type::map(Type::Varchar, Type::Varchar), Value::Map(notes)));
    let mut facts = Facts::new(properties.iter().map(|(name, ty, _)| (*name, ty.clone())));
    facts.push(properties.into_iter().map(|(_, _, value)| value).collect());
    facts.finish()
}

/// Returns one row for each property, for display to people. Long metadata values are truncated.
///
/// # Errors
/// `Internal` if a value does not fit its column.
pub fn file_by_property(footer: &Footer, path: &str) -> Result<RowVector> {
    let mut facts = Facts::new([("property", Type::Varchar), ("value", Type::Varchar)]);
    for (name, ty, value) in properties(footer, path) {
        let shown = if value.is_null() { Value::Null } else { text(value_text(&ty, &value)) };
        facts.push(vec![text(name), shown]);
    }
    for note in &footer.metadata.key_value_metadata {
        let value =
            note.value.as_deref().map(|note| match note.char_indices().nth(MAX_NOTE_CHARS) {
                Some((end, _)) => format!("{}… ({} bytes)", &note[..end], note.len()),
                None => note.to_string(),
            });
        facts.push(vec![text(format!("key {:?}", note.key)), text_or_null(value)]);
    }
    facts.finish()
}
