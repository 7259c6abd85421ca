//! Hive text tables through the whole engine: a query over text returns the same rows as over
//! Parquet files, for all splits, numbers of drivers and codecs.

use std::io::Write;
use std::sync::Arc;

use dwio::fs::{MemoryFiles, ObservedFiles};
use ocior::{Engine, QueryOptions};
use vector::ErrorKind;

use crate::support::command::{Scratch, output_of};
use crate::support::files::{lines as json_lines, numbers_file, with_drivers};

const ROWS: usize = 100_000;

/// Returns `n \x01 n / 2 or \N \x01 a list \x01 a map` for each row.
fn text(rows: std::ops::Range<usize>) -> String {
    rows.map(|n| {
        let half = if n % 2 == 0 { (n / 2).to_string() } else { "\\N".to_string() };
        format!("{n}\u{1}{half}\u{1}{n}\u{2}{}\u{1}k\u{3}{n}\n", n + 1)
    })
    .collect()
}

const SCHEMA: &str = "n=BIGINT,half=INTEGER,list=ARRAY(BIGINT),map=MAP(VARCHAR,BIGINT)";

fn options(drivers: usize) -> QueryOptions {
    let mut options = with_drivers(drivers);
    options.settings.set("input_format", "text");
    options.settings.set("table_schema", SCHEMA);
    options
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// Returns a table of two days: one plain file and one compressed file.
fn table() -> (Engine, ObservedFiles) {
    let files = MemoryFiles::new();
    files.put("t/day=2026-01-01/000000_0", text(0..ROWS / 2).into_bytes());
    files.put("t/day=2026-01-02/000000_0.gz", gzip(&text(ROWS / 2..ROWS)));
    files.put("p/day=2026-01-01/f", numbers_file(1000));
    let observed = ObservedFiles::new(Arc::new(files));
    (Engine::builder().file_system(Arc::new(observed.clone())).build(), observed)
}

fn lines(engine: &Engine, sql: &str, options: &QueryOptions) -> Vec<String> {
    json_lines(engine.query_with(sql, options).unwrap()).unwrap()
}

#[test]
fn a_text_table_is_queried_like_any_other() {
    let (engine, observed) = table();
    for drivers in [1, 3] {
        let options = options(drivers);
        let sql = "SELECT count(*) AS c, sum(n) AS s, count(half) AS h, min(day) AS d FROM 't'";
        let sum = ROWS * (ROWS - 1) / 2;
        let expected = format!(r#"{{"c":{ROWS},"s":{sum},"h":{},"d":"2026-01-01"}}"#, ROWS / 2);
        assert_eq!(lines(&engine, sql, &options), [expected]);
        let sql = "SELECT n, half, list, map FROM 't' WHERE n > 70000 AND half < 35003 ORDER BY n";
        let expected = [
            r#"{"n":70002,"half":35001,"list":[70002,70003],"map":[["k",70002]]}"#,
            r#"{"n":70004,"half":35002,"list":[70004,70005],"map":[["k",70004]]}"#,
        ];
        assert_eq!(lines(&engine, sql, &options), expected);
    }
    let opened = observed.opened().len();
    let sql = "SELECT max(n) AS m FROM 't' WHERE day = '2026-01-02'";
    assert_eq!(lines(&engine, sql, &options(1)), [format!(r#"{{"m":{}}}"#, ROWS - 1)]);
    let opened = observed.opened().split_off(opened);
    assert!(opened.iter().all(|path| path.ends_with(".gz")), "{opened:?}");
}

#[test]
fn nothing_above_the_readers_knows_the_format() {
    let (engine, _) = table();
    let of_text = options(2);
    let of_parquet = QueryOptions::default();
    for rest in [
        "count(*) AS c, sum(n) AS s, min(n) AS lo FROM 'T' WHERE n < 1000 AND n % 7 = 3",
        "n, \"$row_index\" AS i, day FROM 'T' WHERE n BETWEEN 17 AND 19 ORDER BY n",
        "n FROM 'T' WHERE n IN (5, 900) OR n = 12 ORDER BY n DESC",
    ] {
        let text = lines(&engine, &format!("SELECT {}", rest.replace("'T'", "'t'")), &of_text);
        let rest = rest.replace("'T'", "'p'");
        assert_eq!(text, lines(&engine, &format!("SELECT {rest}"), &of_parquet), "{rest}");
    }
}

#[test]
fn errors_say_file_line_and_column() {
    let files = MemoryFiles::new();
    files.put("t/a", b"1\x012\nx\x013\n".to_vec());
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    let mut options = options(1);
    assert_eq!(lines(&engine, "SELECT count(n) AS c FROM 't'", &options), [r#"{"c":1}"#]);
    // The setting has the spelling of messages, and that of sessions.
    for setting in ["text.bad-values", "text_bad_values"] {
        let mut options = options.clone();
        options.settings.set(setting, "error");
        assert!(engine.query_with("SELECT n FROM 't'", &options).and_then(json_lines).is_err());
    }
    options.settings.set("text_bad_values", "error");
    let result = engine.query_with("SELECT n FROM 't'", &options).and_then(json_lines);
    assert_eq!(
        result.unwrap_err().to_string().lines().take(2).collect::<Vec<_>>(),
        [
            "corrupt: a text is not a value of its column's type (text=x type=BIGINT offset=4)",
            "  in column \"n\", line 2, file \"t/a\", split \"t/a bytes 0..8\", \
             operator \"TableScan[0]\"",
        ]
    );
    let mut options = QueryOptions::default();
    options.settings.set("input_format", "text");
    let error = engine.query_with("SELECT n FROM 't'", &options).and_then(json_lines);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn the_command_line_reads_text_with_a_schema_and_serde_parameters() {
    let folder = Scratch::new("text-table");
    let path = folder.path().join("part.csv");
    std::fs::write(&path, "id,tags,name\n1,a;b,x\\,y\n2,,NULL\n").unwrap();
    let path = path.to_str().unwrap();
    let schema = "id=INTEGER,tags=ARRAY(VARCHAR),name=VARCHAR";
    let mut args = vec!["scan", path, "-f", "jsonl", "--input-format", "text", "--schema", schema];
    for parameter in [
        "field.delim=,",
        "collection.delim=;",
        "escape.delim=\\",
        "serialization.null.format=NULL",
        "skip.header.line.count=1",
    ] {
        args.extend(["--serde", parameter]);
    }
    let expected = "{\"id\":1,\"tags\":[\"a\",\"b\"],\"name\":\"x,y\"}\n\
                    {\"id\":2,\"tags\":[],\"name\":null}\n";
    assert_eq!(output_of(&args), expected);
}

/// The number of rows of a text file is unknown, so the build side is chosen by the file size.
#[test]
fn text_tables_are_joined_like_any_other() {
    let folder = Scratch::new("text-join");
    let a = folder.write("a.csv", b"1,one\n2,two\n3,three\n");
    let b = folder.write("b.csv", b"2,zwei\n3,drei\n4,vier\n");
    let query = |sql: &str| {
        let schema = "id=BIGINT,v=VARCHAR";
        let text = ["--input-format", "text", "--schema", schema, "--serde", "field.delim=,"];
        output_of(&[&["-f", "csv", "query", sql][..], &text].concat())
    };
    let sql = format!("SELECT a.v, b.v AS w FROM '{a}' a JOIN '{b}' b ON a.id = b.id ORDER BY 1");
    assert_eq!(query(&sql), "v,w\nthree,drei\ntwo,zwei\n");
    let sql =
        format!("SELECT v FROM '{a}' a WHERE NOT EXISTS (SELECT 1 FROM '{b}' b WHERE b.id = a.id)");
    assert_eq!(query(&sql), "v\none\n");
    let sql = format!("SELECT count(*) AS n FROM '{a}', '{b}'");
    assert_eq!(query(&sql), "n\n9\n");
}
