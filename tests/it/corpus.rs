//! Files that other projects wrote, where they are at hand.
//!
//! They are found through `OCIOR_SHARED`, a directory that holds `corpus/corpus.json`; without it
//! beside the repository. This is a sample that needs nothing but this test; the runner that comes
//! with the corpus checks all of it against the binary.

use std::path::{Path, PathBuf};

use ocior::Engine;
use serde_json::Value;

use crate::support::command::{Scratch, ocior};
use crate::support::files::lines_of;

/// Larger files are left to the runner.
const MAX_FILE_BYTES: u64 = 64 << 10;

pub(crate) fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("OCIOR_SHARED").map_or_else(beside, PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.join("corpus.json").exists() {
        return Some(corpus);
    }
    eprintln!("\nSKIPPED: no corpus in {}; set OCIOR_SHARED to check it\n", corpus.display());
    None
}

/// The files that are small enough.
pub(crate) fn entries(corpus: &Path) -> Vec<Value> {
    let index = std::fs::read_to_string(corpus.join("corpus.json")).unwrap();
    let mut index: Value = serde_json::from_str(&index).unwrap();
    let Value::Array(files) = index["files"].take() else { panic!("no list of files") };
    files.into_iter().filter(|entry| entry["size"].as_u64().unwrap() <= MAX_FILE_BYTES).collect()
}

/// Encrypted files are broken to whoever has no keys.
pub(crate) fn has_rows(entry: &Value) -> bool {
    entry["expect"] == "rows" && entry["keys"].is_null()
}

fn is_broken(entry: &Value) -> bool {
    entry["expect"] == "error" || !entry["keys"].is_null()
}

fn read(corpus: &Path, entry: &Value) -> vector::Result<Vec<String>> {
    let path = corpus.join(entry["path"].as_str().unwrap());
    lines_of(&Engine::new(), &format!("SELECT * FROM '{}'", path.display()))
}

/// The first difference to the expected rows of the entry or to one of its alternates.
fn difference(corpus: &Path, entry: &Value, got: &[String]) -> Option<String> {
    let differs = |accepted: &Value| {
        let name = accepted["expected"].as_str().unwrap();
        let want = std::fs::read_to_string(corpus.join(name)).unwrap();
        let num_rows = accepted["rows"].as_u64().unwrap() as usize;
        if got.len() != num_rows {
            return Some(format!("{} rows, expected {num_rows}", got.len()));
        }
        let mut lines = want.split_terminator('\n').zip(got).enumerate();
        lines
            .find(|(_, (want, got))| want != got)
            .map(|(row, (want, got))| format!("row {row}\n  want {want:.300}\n  got  {got:.300}"))
    };
    let first = differs(entry)?;
    let others = entry["alternates"].as_array().map_or(&[][..], Vec::as_slice);
    others.iter().map(differs).all(|found| found.is_some()).then_some(first)
}

#[test]
fn small_files_of_other_writers_give_their_expected_rows() {
    let Some(corpus) = corpus() else { return };
    let mut num_checked = 0;
    let mut failures = Vec::new();
    for entry in entries(&corpus).iter().filter(|e| has_rows(e)) {
        num_checked += 1;
        let failure = match read(&corpus, entry) {
            Ok(got) => difference(&corpus, entry, &got),
            Err(error) => Some(error.to_string()),
        };
        failures.extend(failure.map(|failure| format!("{}: {failure}", entry["path"])));
    }
    assert!(num_checked > 100, "only {num_checked} files were found");
    assert!(failures.is_empty(), "{} of {num_checked}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn broken_files_end_in_an_error_and_never_in_a_panic() {
    let Some(corpus) = corpus() else { return };
    let mut accepted = Vec::new();
    for entry in entries(&corpus).iter().filter(|e| is_broken(e)) {
        if read(&corpus, entry).is_ok() {
            accepted.push(entry["path"].to_string());
        }
    }
    assert!(accepted.is_empty(), "read without an error:\n{}", accepted.join("\n"));
}

#[test]
fn encrypted_files_give_their_rows_and_hold_with_their_keys_and_not_with_others() {
    let Some(corpus) = corpus() else { return };
    let scratch = Scratch::new("keys");
    let other = "00".repeat(16);
    let other = scratch.write("other.json", format!(r#"{{"footer": "{other}"}}"#).as_bytes());
    for entry in entries(&corpus).iter().filter(|entry| !entry["keys"].is_null()) {
        let path = corpus.join(entry["path"].as_str().unwrap());
        let path = path.to_str().unwrap();
        let keys = scratch.write("keys.json", entry["keys"].to_string().as_bytes());
        let read = ocior(&["scan", path, "-f", "jsonl", "--verify-checksums", "--keys", &keys]);
        assert_eq!((read.code, read.err.as_str()), (0, ""), "{path}");
        let lines: Vec<String> = read.out.lines().map(str::to_string).collect();
        assert_eq!(difference(&corpus, entry, &lines), None, "{path}");
        let verified = ocior(&["inspect", "verify", path, "-f", "json", "--keys", &keys]);
        assert_eq!((verified.code, verified.err.as_str()), (0, ""), "{path}");
        let refused = ocior(&["scan", path, "--keys", &other]);
        assert_eq!(refused.code, 1, "{path}");
        let is_about_keys = refused.err.contains("key") && refused.err.contains("invalid input");
        assert!(is_about_keys || refused.err.contains("AAD prefix"), "{}", refused.err);
    }
}
