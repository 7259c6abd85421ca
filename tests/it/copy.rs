//! COPY: for all types and layouts, a written file reads back as the rows of its source; also the
//! queries of the seed examples over tables that COPY wrote.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use dwio::fs::{LocalAccess, LocalFiles, ObservedFiles};
use ocior::{Engine, QueryOptions};
use serde_json::Value as Json;

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::files::{lines, lines_of};

/// Larger files of the corpus are not tested.
const MAX_FILE_BYTES: u64 = 32 << 10;

fn copy(engine: &Engine, sql: &str) -> vector::Result<String> {
    lines_of(engine, sql).map(|rows| rows.join("\n"))
}

fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("OCIOR_SHARED")?;
    let corpus = PathBuf::from(shared).join("corpus");
    corpus.join("corpus.json").exists().then_some(corpus)
}

/// The corpus has files of many writers and types.
#[test]
fn files_of_other_writers_read_the_same_after_a_copy() {
    let Some(corpus) = corpus() else {
        eprintln!("\nSKIPPED: no corpus; set OCIOR_SHARED to check it\n");
        return;
    };
    let folder = Scratch::new("copy-corpus");
    let engine = Engine::new();
    let index = fs::read_to_string(corpus.join("corpus.json")).unwrap();
    let index: Json = serde_json::from_str(&index).unwrap();
    let (mut num_same, mut refused, mut failures) = (0, Vec::new(), Vec::new());
    let entries = index["files"].as_array().unwrap().iter();
    let small = |entry: &&Json| entry["size"].as_u64().unwrap() <= MAX_FILE_BYTES;
    for (i, entry) in entries.filter(small).enumerate() {
        let from = corpus.join(entry["path"].as_str().unwrap());
        let (from, to) = (from.display(), folder.path().join(format!("{i}.parquet")));
        let Ok(want) = lines_of(&engine, &format!("SELECT * FROM '{from}'")) else { continue };
        // COPY rejects timestamps that the unit cannot represent, so each successful copy has the
        // same values.
        let written = ["nanos", "micros"].map(|unit| {
            copy(
                &engine,
                &format!(
                    "COPY '{from}' TO '{}' (TIMESTAMP_UNIT {unit}, ROW_GROUP_SIZE 100, OVERWRITE)",
                    to.display()
                ),
            )
        });
        if let [Err(error), Err(_)] = &written {
            let text = error.to_string();
            assert!(!to.exists(), "{text}");
            refused.push(text.lines().next().unwrap().to_string());
            continue;
        }
        let got = lines_of(&engine, &format!("SELECT * FROM '{}'", to.display()));
        match got {
            // UINT_64 is written as a decimal, which is printed as text.
            Ok(got) if got == want || same_but_for_quotes(&got, &want) => num_same += 1,
            Ok(got) => {
                let at = got.iter().zip(&want).position(|(got, want)| got != want);
                let at = at.unwrap_or(got.len().min(want.len()));
                failures.push(format!("{from}: row {at}: {:?} / {:?}", got.get(at), want.get(at)));
            }
            Err(error) => failures.push(format!("{from}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    refused.sort();
    refused.dedup_by_key(|text| text.split(" (").next().unwrap().to_string());
    assert!(num_same > 500, "{num_same} files; refused:\n{}", refused.join("\n"));
    let known = [
        "two columns of one name",
        "without columns",
        "no struct without fields",
        "does not fit the type",
        "key of a map is null",
    ];
    let unknown = refused.iter().filter(|text| !known.iter().any(|known| text.contains(known)));
    assert_eq!(unknown.collect::<Vec<_>>(), [""; 0]);
}

fn same_but_for_quotes(got: &[String], want: &[String]) -> bool {
    let plain = |lines: &[String]| lines.join("\n").replace('"', "");
    plain(got) == plain(want)
}

#[test]
fn partitions_of_a_copy_are_a_table_again() {
    let folder = Scratch::new("copy-partitions");
    let engine = Engine::new();
    let nations = "SELECT nationkey, name, regionkey, ds FROM 'examples/warehouse/nation'";
    for format in ["parquet", "csv", "jsonl"] {
        let to = folder.path().join(format);
        let sql = format!(
            "COPY ({nations}) TO '{}' (FORMAT {format}, PARTITION_BY (ds, regionkey))",
            to.display()
        );
        copy(&engine, &sql).unwrap();
        let days = fs::read_dir(&to).unwrap().count();
        assert!(days > 1, "{format}: {days}");
    }
    let from = folder.path().join("parquet");
    let again = format!(
        "SELECT nationkey, name, regionkey, ds FROM '{}' ORDER BY nationkey, ds",
        from.display()
    );
    let want = lines_of(&engine, &format!("{nations} ORDER BY nationkey, ds")).unwrap();
    assert_eq!(lines_of(&engine, &again).unwrap(), want);
    // Conditions on the partition keys prune files.
    let one = format!("SELECT name FROM '{}' WHERE regionkey = 1", from.display());
    let mut result = engine.query(&one).unwrap();
    while result.next_batch().unwrap().is_some() {}
    let files = &result.files()[0];
    assert!(files.num_left_out * 2 > files.num_files, "{files:?}");
}

#[test]
fn the_command_line_copies_and_says_how_much() {
    let folder = Scratch::new("copy-command");
    let to = folder.path().join("numbers.parquet");
    let to = to.to_str().unwrap();
    let sql = format!("COPY (SELECT name, nationkey FROM 'examples/warehouse/nation') TO '{to}'");
    let told = output_of(&["query", &sql]);
    let (names, counts) = told.trim().split_once('\n').unwrap();
    assert_eq!(names, "rows,files,bytes");
    let counts: Vec<u64> = counts.split(',').map(|count| count.parse().unwrap()).collect();
    assert_eq!((counts[1], counts[2]), (1, fs::metadata(to).unwrap().len()));
    let rows = output_of(&["query", &format!("SELECT count(*) AS c FROM '{to}'")]);
    assert_eq!(rows, format!("c\n{}\n", counts[0]));
    let refused = ocior(&["query", &sql]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("exists already"), "{}", refused.err);
    let plan = output_of(&["explain", &sql.replace("numbers", "others")]);
    assert!(plan.starts_with("-- Copy["), "{plan}");
    assert!(!folder.path().join("others.parquet").exists());
    let ran =
        output_of(&["explain", "--analyze", &sql.replace("numbers.parquet", "each.parquet/")]);
    let writers: Vec<&str> = ran.lines().skip_while(|line| !line.starts_with("-- Copy[")).collect();
    assert!(writers[1].contains(&format!("in          {} rows", counts[0])), "{ran}");
}

/// Returns lines of `x`, `y` and other columns, separated by back quotes.
fn text_table(num_rows: u64) -> String {
    (0..num_rows).map(|x| format!("{x}`y {:0>120}`z {:0>120}\n", x * 7, x * 11)).collect()
}

/// The scenario of the seed: a text table with back quotes as separators is copied into two Parquet
/// tables, and their left join reads only the columns of each that it needs.
#[test]
fn a_text_table_is_copied_into_two_parquet_tables_whose_join_reads_what_it_needs() {
    let folder = Scratch::new("copy-seed");
    folder.write("text/part-0", text_table(20_000).as_bytes());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let mut options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    options.settings.set("input_format", "text");
    options.settings.set("table_schema", "x=BIGINT,y=VARCHAR,z=VARCHAR");
    options.settings.set("serde.field.delim", "`");
    let engine = Engine::new();
    for (name, condition) in [("parquet", "true"), ("parquet2", "x < 5000")] {
        let sql = format!(
            "COPY (SELECT * FROM '{}' WHERE {condition}) TO '{}' (FORMAT parquet, COMPRESSION none)",
            at("text"),
            at(name),
        );
        let counted = lines(engine.query_with(&sql, &options).unwrap()).unwrap();
        let rows = if name == "parquet" { 20_000 } else { 5_000 };
        assert!(counted[0].starts_with(&format!("{{\"rows\":{rows},\"files\":1,")), "{counted:?}");
    }
    let observed = ObservedFiles::new(Arc::new(LocalFiles::new(LocalAccess::Pread)));
    let mut engine = Engine::builder().file_system(Arc::new(observed.clone())).build();
    for name in ["parquet", "parquet2"] {
        engine.register_table(name, &at(name)).unwrap();
    }
    let sql = "select a.x, b.y from parquet a left join parquet2 b on (a.x = b.x)";
    let rows = lines_of(&engine, sql).unwrap();
    assert_eq!(rows.len(), 20_000);
    assert!(rows.contains(&format!(r#"{{"x":4999,"y":"y {:0>120}"}}"#, 4_999 * 7)));
    assert!(rows.contains(&r#"{"x":5000,"y":null}"#.to_string()));
    let all: u64 = ["parquet", "parquet2"].iter().map(|n| fs::metadata(at(n)).unwrap().len()).sum();
    let read = observed.read_bytes();
    assert!(read * 2 < all, "{read} of {all} bytes, footers included");
    // Of each table exactly the pages of these columns are read, without the page headers.
    let mut result = engine.query(sql).unwrap();
    while result.next_batch().unwrap().is_some() {}
    for (name, columns) in [("parquet", &["x"][..]), ("parquet2", &["x", "y"])] {
        let stats = result.stats();
        let of_table = |o: &&exec::OperatorStats| o.scan.as_ref().is_some_and(|s| s.table == name);
        let scan = stats.operators.iter().find(of_table).unwrap();
        let pages = scan.metrics.sum("parquet.pageBytes") as u64;
        let needed: u64 = columns.iter().map(|column| chunk_bytes(&at(name), column)).sum();
        assert!(pages <= needed && pages * 20 > needed * 19, "{name}: {pages} of {needed}");
    }
}

/// Returns the number of compressed bytes of a column's chunks in a file.
fn chunk_bytes(path: &str, column: &str) -> u64 {
    let chunks = output_of(&["inspect", "columns", path, "-f", "json"]);
    let chunks: Json = serde_json::from_str(&chunks).unwrap();
    let chunks = chunks.as_array().unwrap().iter().filter(|chunk| chunk["column"] == column);
    chunks.map(|chunk| chunk["compressed_bytes"].as_u64().unwrap()).sum()
}

/// The selective query of the seed, and how many row groups the statistics of each column exclude.
#[test]
fn statistics_of_each_column_exclude_row_groups_and_are_counted() {
    let folder = Scratch::new("copy-pruning");
    // In row groups of ten rows, ids increase by one step per group and repeat after five groups;
    // names are constant in the first half.
    let lines: String =
        (0..100).map(|i| format!("{}`{}\n", i / 10 % 5 * 2, if i < 50 { 22 } else { i })).collect();
    folder.write("text/part-0", lines.as_bytes());
    let to = folder.path().join("t1.parquet");
    let mut options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    options.settings.set("input_format", "text");
    options.settings.set("table_schema", "id=BIGINT,name=VARCHAR");
    options.settings.set("serde.field.delim", "`");
    let sql = format!(
        "COPY '{}' TO '{}' (ROW_GROUP_SIZE 10)",
        folder.path().join("text").display(),
        to.display()
    );
    let mut engine = Engine::new();
    lines_of_with(&engine, &sql, &options);
    engine.register_table("t1", to.to_str().unwrap()).unwrap();
    let skipped = |condition: &str| {
        let sql = format!("select id from t1 where {condition}");
        let mut result =
            engine.query_with(&sql, &QueryOptions { drivers: 1, ..Default::default() });
        let result = result.as_mut().unwrap();
        let mut rows = 0;
        while let Some(batch) = result.next_batch().unwrap() {
            rows += batch.len();
        }
        let stats = result.stats();
        let scan = stats.operators.iter().find(|o| o.operator == "TableScan").unwrap();
        let metric = |name: &str| scan.metrics.sum(name);
        (rows, metric("skippedStrides"), metric("processedStrides"))
    };
    // Ids are 0, 2, 4, 6, 8, each in two of the ten groups; the name 22 is in the first five.
    assert_eq!(skipped("id < 5"), (60, 4, 6));
    assert_eq!(skipped("id > 1"), (80, 2, 8));
    assert_eq!(skipped("name = '22'"), (50, 5, 5));
    assert_eq!(skipped("id < 5 and id > 1 and name = '22'"), (20, 8, 2));
}

fn lines_of_with(engine: &Engine, sql: &str, options: &QueryOptions) -> Vec<String> {
    lines(engine.query_with(sql, options).unwrap()).unwrap()
}
