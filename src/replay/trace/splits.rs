//! Reads and writes the splits of a driver's scan: JSON texts with lengths and checksums.
//!
//! ```text
//! length u32 | text | crc u32        records without gaps, all numbers little-endian
//! ```
//!
//! The checksum is CRC-32 without the final inversion. A truncated or damaged record is an error,
//! because the rows of its split would otherwise be missing without notice.

use std::path::Path;

use dwio::input::cursor::Cursor;
use format_parquet::page::decompress::crc32;
use serde_json::Value;
use vector::{Error, Result, ResultExt};

/// Reads all records of the file at `path`.
pub(super) fn read_records(path: &Path) -> Result<Vec<Value>> {
    let read = std::fs::read(path)
        .map_err(|e| Error::from_io(e, "cannot read a file of a trace"))
        .and_then(|bytes| records(&bytes));
    read.in_named("file", path.to_string_lossy())
}

/// Returns the checksum of a record's text.
pub(super) fn checksum(text: &[u8]) -> u32 {
    !crc32(text)
}

/// Returns the record of a split's text.
pub(in crate::replay) fn record(text: &[u8]) -> Result<Vec<u8>> {
    let len = u32::try_from(text.len())
        .map_err(|_| Error::limit("a split is too large to be recorded"))?;
    Ok([&len.to_le_bytes(), text, &checksum(text).to_le_bytes()].concat())
}

/// Reads the records of a split file and returns their number; `Corrupt` for the first damaged
/// record.
pub fn check_split_records(bytes: &[u8]) -> Result<usize> {
    records(bytes).map(|records| records.len())
}

/// Reads all records in `bytes`.
pub(super) fn records(bytes: &[u8]) -> Result<Vec<Value>> {
    let mut cursor = Cursor::new(bytes);
    let mut records = Vec::new();
    while !cursor.is_at_end() {
        let start = cursor.position();
        let record = read_record(&mut cursor).map_err(|error| error.with("record_offset", start));
        records.push(record.in_place("record", records.len())?);
    }
    Ok(records)
}

fn read_record(cursor: &mut Cursor<'_>) -> Result<Value> {
    let len = cursor.u32_le()?;
    let text = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    let (expected, found) = (cursor.u32_le()?, checksum(text));
    if expected != found {
        return Err(Error::corrupt("a split has another checksum than was recorded")
            .with("expected", format_args!("{expected:#010x}"))
            .with("found", format_args!("{found:#010x}")));
    }
    serde_json::from_slice(text)
        .map_err(|e| Error::corrupt("a recorded split is not JSON").caused_by(e))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(text: &str) -> Vec<u8> {
        super::record(text.as_bytes()).unwrap()
    }

    #[test]
    fn records_are_read_to_the_end_of_the_file() {
        let bytes = [record(r#"{"start":1}"#), record(r#"{"start":2}"#)].concat();
        assert_eq!(records(&bytes).unwrap(), [json!({"start": 1}), json!({"start": 2})]);
        assert!(records(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_record_that_is_cut_short_or_changed_is_an_error_with_its_place() {
        let whole = [record("{}"), record(r#"{"start":2}"#)].concat();
        let first = record("{}").len();
        for len in (1..whole.len()).filter(|len| *len != first) {
            let error = records(&whole[..len]).unwrap_err();
            assert!(error.field("record_offset").is_some(), "{error}");
        }
        let mut changed = whole.clone();
        changed[first + 6] ^= 1;
        let error = records(&changed).unwrap_err();
        assert_eq!(error.field("record_offset"), Some(first.to_string().as_str()));
        assert!(error.field("expected").is_some() && error.field("found").is_some());
        let huge = [u32::MAX.to_le_bytes().to_vec(), b"{}".to_vec()].concat();
        assert!(records(&huge).is_err());
        assert!(records(&record("{")).unwrap_err().to_string().contains("not JSON"));
    }
}
