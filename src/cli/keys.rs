//! `--keys`: reads the keys of encrypted files from a JSON file.
//!
//! ```json
//! {"footer": "30313233...", "columns": {"a.b": "3132..."}, "aad_prefix": "7465..."}
//! ```
//!
//! Keys and prefix are in hexadecimal. Each of the three members is optional.

use std::path::Path;

use format_parquet::decrypt::{FixedKeys, Key};
use serde_json::Value;

/// Reads the keys in the file at `path`. The error is a message for the command line.
pub(super) fn read(path: &str) -> Result<FixedKeys, String> {
    let text = std::fs::read_to_string(Path::new(path)).map_err(|e| e.to_string())?;
    parse(&text)
}

fn parse(text: &str) -> Result<FixedKeys, String> {
    let root: Value = serde_json::from_str(text).map_err(|e| format!("not JSON: {e}"))?;
    let Value::Object(root) = root else { return Err("not a JSON object".to_string()) };
    let mut keys = FixedKeys::default();
    for (name, value) in &root {
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("footer", value) => keys.footer = Some(key(name, value)?),
            ("aad_prefix", value) => keys.aad_prefix = Some(bytes(name, value)?),
            ("columns", Value::Object(columns)) => {
                for (path, value) in columns {
                    keys.columns.insert(path.clone(), key(path, value)?);
                }
            }
            ("columns", _) => return Err("\"columns\" is not a JSON object".to_string()),
            _ => {
                return Err(format!("unknown member \"{name}\"; known: footer columns aad_prefix"));
            }
        }
    }
    Ok(keys)
}

fn key(name: &str, value: &Value) -> Result<Key, String> {
    Key::new(&bytes(name, value)?).map_err(|e| format!("\"{name}\": {e}"))
}

fn bytes(name: &str, value: &Value) -> Result<Vec<u8>, String> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let bytes = value.as_str().and_then(|text| {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
        rest.is_empty().then(|| pairs.iter().map(byte).collect::<Option<Vec<u8>>>())?
    });
    bytes.ok_or_else(|| format!("\"{name}\" is not a string of hexadecimal bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_what_is_wrong_with_them_is_said() {
        let key = "30313233343536373839303132333435";
        let text = format!(
            r#"{{"footer": "{key}", "columns": {{"a.b": "{key}"}}, "aad_prefix": "7465"}}"#
        );
        let keys = parse(&text).unwrap();
        assert_eq!(keys.footer, Some(Key::new(b"0123456789012345").unwrap()));
        assert_eq!(keys.columns["a.b"], Key::new(b"0123456789012345").unwrap());
        assert_eq!(keys.aad_prefix.unwrap(), b"te");
        assert!(parse("{}").unwrap().footer.is_none());
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("[]"), "not a JSON object");
        assert_eq!(error(r#"{"footer": "zz"}"#), "\"footer\" is not a string of hexadecimal bytes");
        assert_eq!(
            error(r#"{"footer": "123"}"#),
            "\"footer\" is not a string of hexadecimal bytes"
        );
        assert_eq!(
            error(r#"{"columns": {"c": "00"}}"#),
            "\"c\": invalid input: a key has neither 16 nor 24 nor 32 bytes (bytes=1)"
        );
        assert_eq!(
            error(r#"{"colums": {}}"#),
            "unknown member \"colums\"; known: footer columns aad_prefix"
        );
    }
}
