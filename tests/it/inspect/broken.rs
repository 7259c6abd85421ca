//! Broken files: the readable part is printed, and the error states where the file is broken.

use super::json;
use crate::support::command::{Ran, Scratch, ocior};
use crate::support::files::{Layout, numbers, numbers_file, parquet_file};
use parquet::basic::Compression;

/// Returns three pages of 64 numbers each, neither compressed nor dictionary encoded.
fn three_pages() -> Vec<u8> {
    let layout = Layout {
        codec: Compression::UNCOMPRESSED,
        has_dictionary: false,
        rows_per_page: 64,
        ..Layout::default()
    };
    parquet_file(&numbers(192), layout)
}

/// Returns the rows that are printed as JSON before the errors.
fn rows(ran: &Ran) -> Vec<serde_json::Value> {
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns the offsets of the pages.
fn offsets(path: &str) -> Vec<usize> {
    let pages = json(&["inspect", "pages", path, "-f", "json"]);
    let offset = |page: &serde_json::Value| page["offset"].as_u64().unwrap() as usize;
    pages.as_array().unwrap().iter().map(offset).collect()
}

#[test]
fn pages_in_front_of_a_broken_header_are_shown() {
    let scratch = Scratch::new("broken-header");
    let mut bytes = three_pages();
    let path = scratch.write("f.parquet", &bytes);
    let offsets = offsets(&path);
    assert_eq!(offsets.len(), 3);
    bytes[offsets[1]] = 0xff;
    scratch.write("f.parquet", &bytes);
    let ran = ocior(&["inspect", "pages", &path, "-f", "json"]);
    assert_eq!((ran.code, rows(&ran).len()), (1, 1));
    assert!(ran.err.contains(&format!("page header at {}", offsets[1])), "{}", ran.err);
}

#[test]
fn pages_of_a_file_that_was_cut_are_shown_without_its_footer() {
    let scratch = Scratch::new("no-footer");
    let bytes = three_pages();
    let path = scratch.write("f.parquet", &bytes);
    let offsets = offsets(&path);
    scratch.write("f.parquet", &bytes[..offsets[2] + 40]);
    let ran = ocior(&["inspect", "pages", &path, "-f", "json"]);
    assert_eq!((ran.code, rows(&ran).len()), (1, 2));
    assert_eq!(rows(&ran)[1]["offset"], offsets[1]);
    assert!(ran.err.starts_with("error: corrupt: not a Parquet file"), "{}", ran.err);
    assert!(ran.err.contains(&format!("offset={}", offsets[2])), "{}", ran.err);
    let ran = ocior(&["inspect", "schema", &path]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
}

#[test]
fn a_footer_that_does_not_fit_its_file_is_shown_with_its_defect() {
    let scratch = Scratch::new("defect");
    let bytes = numbers_file(1000);
    // The pages are missing, the footer is complete.
    let footer_bytes = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap());
    let footer_at = bytes.len() - 8 - footer_bytes as usize;
    let path = scratch.write("f.parquet", &[b"PAR1", &bytes[footer_at..]].concat());
    for what in ["schema", "file", "row-groups", "columns", "stats"] {
        let ran = ocior(&["inspect", what, &path, "-f", "json"]);
        assert_eq!((ran.code, rows(&ran).len()), (1, 1), "{what}");
        assert!(ran.err.contains("column chunk outside the file's data"), "{}", ran.err);
    }
    let ran = ocior(&["inspect", "verify", &path, "-f", "json"]);
    assert_eq!(ran.code, 1);
    assert!(rows(&ran)[0]["problems"][0].as_str().unwrap().contains("outside the file's data"));
}
