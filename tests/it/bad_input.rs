//! Wrong questions and broken files: one clear error and the right exit code.

use crate::support::command::{Scratch, ocior};
use crate::support::files::numbers_file;

const FILE: &str = "examples/warehouse/nation/ds=2026-09-01/part-0.parquet";

/// Runs the binary, which must fail with `code` and print no rows, and gives what it said.
fn error_of(code: i32, args: &[&str]) -> String {
    let ran = ocior(args);
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?} said {}", ran.err);
    ran.err
}

fn query_error(sql: &str) -> String {
    error_of(1, &["query", sql])
}

#[test]
fn a_missing_file_is_named() {
    let want = "\
error: not found: no such file or directory: No such file or directory (os error 2)
  in path \"no/such/file.parquet\"
";
    assert_eq!(error_of(1, &["scan", "no/such/file.parquet"]), want);
    // A statement also tells where it names the file.
    let want = want.replacen("directory: ", "directory (at=1:15): ", 1);
    assert_eq!(query_error("SELECT * FROM 'no/such/file.parquet'"), want);
    let want = "error: not found: no file matches the pattern (pattern=src/*.parquet at=1:15)\n";
    assert_eq!(query_error("SELECT * FROM 'src/*.parquet'"), want);
}

#[test]
fn a_missing_table_is_named() {
    let want = "\
error: not found: no such table (name=nations at=1:15)
  hint: a path needs quotes: FROM 'dir/file.parquet'
";
    assert_eq!(query_error("SELECT * FROM nations"), want);
}

#[test]
fn a_directory_without_parquet_files_is_named() {
    let scratch = Scratch::new("no-parquet");
    scratch.write("t/_SUCCESS", b"");
    scratch.write("t/.hidden.parquet", b"");
    let path = scratch.path().join("t").display().to_string();
    let said = query_error(&format!("SELECT * FROM '{path}'"));
    assert_eq!(said, format!("error: not found: no data files (at=1:15)\n  in path \"{path}\"\n"));
    let notes = scratch.write("t/notes.txt", b"these are notes\n");
    let said = query_error(&format!("SELECT * FROM '{path}'"));
    assert!(said.starts_with("error: corrupt: not a Parquet file"), "{said}");
    assert!(said.contains(&notes), "{said}");
}

#[test]
fn a_truncated_file_is_corrupt() {
    let scratch = Scratch::new("truncated");
    let bytes = numbers_file(1000);
    for len in [bytes.len() - 1, bytes.len() / 2, 11, 4, 0] {
        let path = scratch.write(&format!("cut-{len}.parquet"), &bytes[..len]);
        let said = query_error(&format!("SELECT count(*) FROM '{path}'"));
        assert!(said.starts_with("error: corrupt: "), "{len}: {said}");
        assert!(said.contains(&format!("cut-{len}.parquet")), "{len}: {said}");
    }
}

#[test]
fn pages_that_were_overwritten_are_corrupt() {
    let scratch = Scratch::new("overwritten");
    let mut bytes = numbers_file(1000);
    bytes[4..40].fill(0xff);
    let path = scratch.write("f.parquet", &bytes);
    let said = query_error(&format!("SELECT sum(n) FROM '{path}'"));
    assert!(said.starts_with("error: corrupt: "), "{said}");
    assert!(said.contains("column \"n\""), "{said}");
    assert!(said.contains("f.parquet"), "{said}");
}

#[test]
fn a_text_file_is_no_parquet_file() {
    let scratch = Scratch::new("text");
    let path = scratch.write("notes.parquet", b"these are notes, long enough for a footer\n");
    let want = format!(
        "error: corrupt: not a Parquet file: the last four bytes are not PAR1 (found=ter\\n)\n  \
         in file \"{path}\"\n"
    );
    assert_eq!(error_of(1, &["scan", &path]), want);
}

#[test]
fn an_unknown_column_is_answered_with_the_nearest_name() {
    let want = "\
error: not found: no such column (name=nationkee at=1:8)
  hint: did you mean \"nationkey\"?
        SELECT nationkee FROM 'examples/warehouse/nation'
               ^
";
    assert_eq!(query_error("SELECT nationkee FROM 'examples/warehouse/nation'"), want);
    for clause in ["WHERE nationkee = 1", "GROUP BY nationkee", "ORDER BY nationkee"] {
        let said = query_error(&format!("SELECT 1 FROM 'examples/warehouse/nation' {clause}"));
        assert!(said.starts_with("error: not found: no such column (name=nationkee"), "{said}");
        assert!(said.contains("hint: did you mean \"nationkey\"?"), "{clause}: {said}");
    }
}

#[test]
fn an_unknown_column_of_a_scan_is_answered_with_the_nearest_name() {
    let want = "\
error: not found: no such column (name=nationkee)
  hint: did you mean \"nationkey\"?
";
    let scan = |option| error_of(1, &["scan", "examples/warehouse/nation", option]);
    assert_eq!(scan("--columns=nationkee"), want);
    let said = scan("--where=nationkee = 1");
    assert!(said.contains("nationkee") && said.contains("nationkey"), "{said}");
}

#[test]
fn types_that_do_not_compare_are_told() {
    let want = "\
error: invalid input: values of these types cannot be compared \
(left=name VARCHAR right=5 INTEGER at=1:49)
  hint: write numbers without quotes, or convert one side with CAST
        SELECT 1 FROM 'examples/warehouse/nation' WHERE name > 5
                                                        ^
";
    assert_eq!(query_error("SELECT 1 FROM 'examples/warehouse/nation' WHERE name > 5"), want);
    for condition in ["nationkey = 'CANADA'", "nationkey", "name + 1 = 2", "ds = 'tomorrow'"] {
        let said =
            query_error(&format!("SELECT 1 FROM 'examples/warehouse/nation' WHERE {condition}"));
        assert!(said.starts_with("error: invalid input: "), "{condition}: {said}");
    }
}

#[test]
fn an_unknown_function_is_answered_with_the_nearest_name() {
    let want = "\
error: invalid input: no such function (name=lowr at=1:8)
  hint: did you mean lower?
";
    assert_eq!(query_error("SELECT lowr(name) FROM 'examples/warehouse/nation'"), want);
}

#[test]
fn a_syntax_error_tells_where_it_is() {
    let want = "\
error: invalid input: SQL syntax error (expected=SELECT found=SELEC at=1:1)
  hint: SELEC 1
        ^
";
    assert_eq!(query_error("SELEC 1"), want);
    assert_eq!(query_error(""), "error: invalid input: there is no SQL statement\n");
    for sql in ["SELECT FROM WHERE", "SELECT name FROM 'examples/warehouse/nation' WHRE 1"] {
        let said = query_error(sql);
        assert!(said.starts_with("error: invalid input: SQL syntax error"), "{sql}: {said}");
        assert!(said.contains("at=1:"), "{sql}: {said}");
    }
}

#[test]
fn statements_that_are_no_queries_are_refused() {
    for sql in ["DROP TABLE nation", "SELECT 1; SELECT 2", "INSERT INTO t VALUES (1)"] {
        let said = query_error(sql);
        let kinds = ["error: invalid input: ", "error: unsupported: "];
        assert!(kinds.iter().any(|kind| said.starts_with(kind)), "{sql}: {said}");
    }
}

#[test]
fn arithmetic_that_overflows_is_an_error() {
    let sql = "SELECT sum((nationkey + 1) * 9223372036854775807) FROM 'examples/warehouse/nation'";
    let said = query_error(sql);
    assert!(said.starts_with("error: invalid input: integer overflow "), "{said}");
    assert!(said.contains("multiply(plus(nationkey, 1), 9223372036854775807)"), "{said}");
}

#[test]
fn a_query_beyond_its_memory_is_stopped() {
    let sql = "SELECT name, count(*) FROM 'examples/warehouse/nation' GROUP BY name";
    let said = error_of(1, &["query", "--memory", "10kB", sql]);
    assert!(said.starts_with("error: limit: memory limit reached "), "{said}");
    assert!(said.contains("limit=10000"), "{said}");
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for args in [
        &["query", "SELECT 1", "--no-such-option"] as &[&str],
        &["no-such-command"],
        &[],
        &["scan"],
        &["inspect", "pages-of-gold", "f.parquet"],
        &["query", "-f", "yaml", "SELECT 1"],
        &["query", "--table", "nation", "SELECT 1"],
        &["query", "--drivers", "0", "SELECT 1"],
        &["query", "--memory", "lots", "SELECT 1"],
        &["query", "--partition-types", "ds=daate", "SELECT 1"],
    ] {
        let said = error_of(2, args);
        assert!(said.contains("Usage") || said.starts_with("error: "), "{args:?}: {said}");
    }
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let said = error_of(1, &["query", "-F", "no/such.sql"]);
    let want = "error: not found: cannot read the statement: No such file or directory \
        (os error 2)\n  in file \"no/such.sql\"\n";
    assert_eq!(said, want);
    let said = error_of(1, &["scan", "examples/warehouse/nation", "-o", "no/such/dir.csv"]);
    assert!(said.starts_with("error: not found: cannot create a file"), "{said}");
}

#[test]
fn a_full_disk_is_an_error() {
    let said = error_of(1, &["inspect", "file", FILE, "-o", "/dev/full"]);
    let want = "error: i/o: cannot write the output: No space left on device (os error 28)\n";
    assert_eq!(said, want);
}

/// Of a large file the first four bytes are looked at too, whatever is read of it.
#[test]
fn a_file_that_starts_with_something_else_is_corrupt_whatever_its_length() {
    let scratch = Scratch::new("wrong-magic");
    for num_rows in [1_000, 200_000] {
        let mut bytes = numbers_file(num_rows);
        bytes[..4].copy_from_slice(b"ORC\0");
        let path = scratch.write("f.parquet", &bytes);
        for what in ["*", "count(*)"] {
            let said = query_error(&format!("SELECT {what} FROM '{path}'"));
            assert!(said.starts_with("error: corrupt: not a Parquet file"), "{num_rows}: {said}");
            assert!(said.contains(r"(found=ORC\x00)") && said.contains(&path), "{said}");
        }
    }
}

#[test]
fn a_page_beyond_the_limit_is_refused_with_the_setting_that_raises_it() {
    let scratch = Scratch::new("page-limit");
    let path = scratch.write("f.parquet", &numbers_file(10_000));
    let sql = format!("SELECT * FROM '{path}'");
    let said = error_of(1, &["query", "--set", "parquet_max_page_bytes=100", &sql]);
    assert!(said.starts_with("error: limit: a page is too large (bytes="), "{said}");
    assert!(said.contains("max=100") && said.contains("parquet_max_page_bytes"), "{said}");
    assert!(said.contains(&path) && said.contains("in page 0, offset "), "{said}");
    let read = ocior(&["query", "--set", "parquet_max_page_bytes=1000000", &sql]);
    assert_eq!(read.code, 0, "{}", read.err);
}
