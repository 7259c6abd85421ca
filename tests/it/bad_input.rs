//! Wrong questions and broken files: one clear error and the right exit code.

use crate::support::command::{Scratch, ocior};
use crate::support::files::numbers_file;

/// Runs the binary, which must fail with `code` and print no rows, and gives what it said.
fn error_of(code: i32, args: &[&str]) -> String {
    let ran = ocior(args);
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?} said {}", ran.err);
    ran.err
}

fn query_error(sql: &str) -> String {
    error_of(1, &["query", sql])
}
