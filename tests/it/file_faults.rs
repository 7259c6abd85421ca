//! Files that fail or change while they are read: the result is right, or an error that names the
//! file.
//!
//! ```text
//! ten queries x each file system call x each injection --> rows of a run without faults | error
//! a file truncated, replaced or removed after the first batch --> old rows, new rows | error
//! ```
//!
//! Guarantees for bytes that are changed in transfer: authenticated encryption covers every byte of
//! a file, so no wrong row is returned; verified checksums cover the pages, but not footers,
//! headers and indexes; without either, the query ends in rows or an error, and nothing more is
//! guaranteed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use dwio::fs::{FileSystem, LocalAccess, LocalFiles, MemoryFiles};
use format_parquet::ParquetReaderFactory;
use format_parquet::decrypt::{FixedKeys, Key};
use ocior::Engine;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use vector::{ErrorKind, Result};

use crate::support::command::Scratch;
use crate::support::encryption::{Encryption, KEY};
use crate::support::faults::wait_until;
use crate::support::file_parts::{FileParts, Indexes};
use crate::support::files::{lines, with_drivers};
use crate::support::injection::{InjectingFiles, Injection};

/// Number of rows of a file, which is larger than a single read.
const NUM_ROWS: i64 = 600;

const QUERIES: [&str; 10] = [
    "SELECT id, n, s, l FROM 't'",
    "SELECT id, s FROM 't' WHERE id BETWEEN 130 AND 160",
    "SELECT count(*) FROM 't'",
    "SELECT id FROM 't' WHERE s = 'word 7'",
    "SELECT s, sum(n) FROM 't' GROUP BY s",
    "SELECT a.id, b.n FROM 't/0.parquet' a JOIN 't/1.parquet' b ON a.n = b.n WHERE a.id < 40",
    "SELECT id, pad FROM 't' ORDER BY n DESC, id LIMIT 5",
    "SELECT id, n, l FROM 't' WHERE id % 97 = 3",
    "SELECT l FROM 't' WHERE n IN (3, 11)",
    "SELECT max(pad) FROM 't' WHERE id > 400",
];

/// Returns a file of rows from `first` on, with a padding column that makes it large.
fn file(first: i64, encryption: Encryption) -> Vec<u8> {
    let rows = || first..first + NUM_ROWS;
    let pad = rows().map(|i| {
        let letter = |at: i64| char::from(b'a' + ((i * 31 + at * at * 7) % 23) as u8);
        (0..600).map(letter).collect::<String>()
    });
    let lists = rows().map(|i| (i % 5 > 0).then(|| (0..i % 4).map(|n| Some(n as i32))));
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(rows().collect::<Int64Array>())),
        (
            "n",
            Arc::new(
                rows().map(|i| (i % 7 > 0).then_some((i % 50) as i32)).collect::<Int32Array>(),
            ),
        ),
        ("s", Arc::new(rows().map(|i| Some(format!("word {}", i % 30))).collect::<StringArray>())),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(lists)),
        ),
        ("pad", Arc::new(pad.map(Some).collect::<StringArray>())),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_column_bloom_filter_enabled("s".into(), true)
        .set_column_dictionary_enabled("pad".into(), false)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_max_row_group_row_count(Some(400));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties.build()));
    writer.as_mut().unwrap().write(&rows).unwrap();
    writer.unwrap().close().unwrap();
    let parts = FileParts::parse(&bytes, Indexes::Both, encryption)
        .with_checksums()
        .with_file_unique(format!("rows from {first}"));
    let bytes = parts.bytes(&mut |_, _| {});
    assert!(bytes.len() > 300_000, "{}", bytes.len());
    bytes
}

fn engine_over(files: Arc<dyn FileSystem>) -> Engine {
    let keys = FixedKeys { footer: Some(Key::new(&KEY).unwrap()), ..FixedKeys::default() };
    let parquet = ParquetReaderFactory::with_keys(Arc::new(keys)).verifying_checksums(true);
    Engine::builder().file_system(files).format(Arc::new(parquet)).build()
}

fn table(encryption: Encryption) -> InjectingFiles {
    let files = MemoryFiles::new();
    for number in 0..2 {
        files.put(format!("t/{number}.parquet"), file(number * NUM_ROWS, encryption));
    }
    InjectingFiles::new(Arc::new(files))
}

/// Returns the rows sorted by their text, because files are read in any order.
fn rows(engine: &Engine, sql: &str, drivers: usize) -> Result<Vec<String>> {
    let mut rows = lines(engine.query_with(sql, &with_drivers(drivers))?)?;
    rows.sort();
    Ok(rows)
}

/// Numbers of runs that returned right rows, wrong rows and errors.
#[derive(Debug, Default)]
struct Ends {
    right: u64,
    /// The query, injection and call number of each run with wrong rows.
    wrong: Vec<String>,
    errors: u64,
}

/// Runs the queries once for each call and injection. An error that does not name a file fails the
/// test.
fn inject(encryption: Encryption, injections: &[Injection], drivers: usize) -> Ends {
    let files = table(encryption);
    let engine = engine_over(Arc::new(files.clone()));
    let mut ends = Ends::default();
    for sql in QUERIES {
        files.plan(None);
        let wanted = rows(&engine, sql, drivers).unwrap();
        assert!(!wanted.is_empty(), "{sql}");
        let num_calls = files.num_calls();
        assert!(num_calls > 5, "{sql} makes {num_calls} calls");
        for injection in injections {
            for call in 0..num_calls {
                files.plan(Some((call, *injection)));
                match rows(&engine, sql, drivers) {
                    Ok(got) if got == wanted => ends.right += 1,
                    Ok(_) => ends.wrong.push(format!("{sql}, {injection:?} of call {call}")),
                    Err(error) => {
                        let text = error.to_string();
                        let is_named =
                            text.contains("t/") || text.contains("'t'") || text.contains("\"t\"");
                        assert!(is_named, "{sql}, {injection:?} of call {call}: {text}");
                        assert_ne!(error.kind(), ErrorKind::Internal, "{sql}, {call}: {text}");
                        ends.errors += 1;
                    }
                }
                // Files that were opened ahead are released on an I/O thread.
                let what = format!("no memory in use, {sql}, {injection:?} of call {call}");
                wait_until(&what, || engine.memory_pool().used() == 0);
            }
        }
    }
    ends
}

#[test]
fn a_call_that_fails_is_late_or_short_gives_right_rows_or_an_error_with_the_file() {
    let injections = [Injection::Fail, Injection::Delay, Injection::Shorten];
    for drivers in [1, 2] {
        let ends = inject(Encryption::None, &injections, drivers);
        println!("fails, is late or short, {drivers} drivers: {ends:?}");
        assert!(ends.wrong.is_empty(), "{ends:?}");
        assert!(ends.right > 100 && ends.errors > 100, "{ends:?}");
    }
}

#[test]
fn bytes_of_an_encrypted_file_that_arrive_changed_or_twice_never_give_wrong_rows() {
    let injections = [Injection::Change, Injection::Repeat];
    let ends = inject(Encryption::EncryptedFooter, &injections, 1);
    println!("changed or repeated, authenticated: {ends:?}");
    assert!(ends.wrong.is_empty(), "{ends:?}");
    assert!(ends.errors > 50, "{ends:?}");
}

#[test]
fn bytes_of_a_plain_file_that_arrive_changed_or_twice_end_in_rows_or_an_error() {
    let injections = [Injection::Change, Injection::Repeat];
    let ends = inject(Encryption::None, &injections, 1);
    println!("changed or repeated, checksums of pages alone: {ends:?}");
    assert!(ends.errors > 50, "{ends:?}");
}

/// Change of a file after the first batch.
#[derive(Debug, Clone, Copy)]
enum Happening {
    /// The file is truncated to a part of its length, in 16ths.
    Truncated(u64),
    /// The file is replaced by another one of the same name.
    Replaced,
    Removed,
}

fn happen(happening: Happening, path: &Path, other: &[u8]) {
    match happening {
        Happening::Truncated(part) => {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() * part / 16).unwrap();
        }
        Happening::Replaced => {
            let beside = path.with_extension("new");
            std::fs::write(&beside, other).unwrap();
            std::fs::rename(beside, path).unwrap();
        }
        Happening::Removed => std::fs::remove_file(path).unwrap(),
    }
}

#[test]
fn a_file_that_is_truncated_replaced_or_removed_in_a_scan_is_read_or_named() {
    let [old, new] = [0, NUM_ROWS].map(|first| file(first, Encryption::None));
    let happenings = [
        Happening::Truncated(0),
        Happening::Truncated(1),
        Happening::Truncated(8),
        Happening::Truncated(15),
        Happening::Replaced,
        Happening::Removed,
    ];
    let mut num_errors = 0;
    for access in [LocalAccess::Pread, LocalAccess::Map] {
        for happening in happenings {
            for batches in [0, 1, 3] {
                let scratch = Scratch::new("file-faults");
                for name in ["t/0.parquet", "t/1.parquet"] {
                    scratch.write(name, &old);
                }
                let engine = engine_over(Arc::new(LocalFiles::new(access)));
                let sql = format!("SELECT id, pad FROM '{}'", scratch.path().join("t").display());
                let of = |bytes: &[u8]| {
                    let files = MemoryFiles::new();
                    files.put("f.parquet", bytes.to_vec());
                    let engine = engine_over(Arc::new(files));
                    rows(&engine, "SELECT id, pad FROM 'f.parquet'", 1).unwrap()
                };
                let known: HashSet<String> = [of(&old), of(&new)].concat().into_iter().collect();
                let mut options = with_drivers(1);
                options.settings.set("table_scan_output_batch_rows_override", "50");
                let mut result = engine.query_with(&sql, &options).unwrap();
                let row_type = Arc::clone(result.row_type());
                let mut num_rows = 0;
                for _ in 0..batches {
                    num_rows += result.next().unwrap().unwrap().len();
                }
                for name in ["t/0.parquet", "t/1.parquet"] {
                    happen(happening, &scratch.path().join(name), &new);
                }
                let what = format!("{access:?}, {happening:?} behind {batches} batches");
                let mut error = None;
                for batch in result {
                    match batch {
                        Ok(batch) => {
                            num_rows += batch.len();
                            for line in text_of(&row_type, &batch) {
                                assert!(known.contains(&line), "{what}: {line}");
                            }
                        }
                        Err(found) => error = Some(found),
                    }
                }
                match error {
                    Some(error) => {
                        num_errors += 1;
                        let text = error.to_string();
                        assert!(text.contains(".parquet"), "{what}: {text}");
                        assert_ne!(error.kind(), ErrorKind::Internal, "{what}: {text}");
                    }
                    None => assert_eq!(num_rows, 2 * NUM_ROWS as usize, "{what}"),
                }
            }
        }
    }
    assert!(num_errors > 10, "{num_errors}");
}

/// Returns the rows of a batch as lines.
fn text_of(row_type: &Arc<vector::RowType>, batch: &vector::RowVector) -> Vec<String> {
    let mut bytes = Vec::new();
    let format = ocior::output::OutputFormat::JsonLines;
    let mut writer = ocior::output::batch_writer(format, row_type, Box::new(&mut bytes)).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    String::from_utf8(bytes).unwrap().lines().map(str::to_string).collect()
}
