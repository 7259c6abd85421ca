//! Properties that COPY preserves: annotations of columns beside their types, partition keys, and
//! the columns of tables without rows.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use dwio::fs::MemoryFiles;
use ocior::{Engine, QueryOptions};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::files::lines_of;

/// A schema with all column annotations that correspond to a type of Ocior.
const SCHEMA: &str = "message schema {
    optional int64 utc_ms (TIMESTAMP(MILLIS,true));
    optional int64 local_ms (TIMESTAMP(MILLIS,false));
    optional int64 utc_us (TIMESTAMP(MICROS,true));
    optional int64 local_us (TIMESTAMP(MICROS,false));
    optional int64 utc_ns (TIMESTAMP(NANOS,true));
    optional int64 local_ns (TIMESTAMP(NANOS,false));
    optional int32 time_ms (TIME(MILLIS,true));
    optional int64 time_us (TIME(MICROS,true));
    optional int64 local_time_ns (TIME(NANOS,false));
    optional int32 i8 (INTEGER(8,true));
    optional int32 i16 (INTEGER(16,true));
    optional int64 u64 (INTEGER(64,false));
    optional int32 d9 (DECIMAL(9,2));
    optional int64 d18 (DECIMAL(18,3));
    optional fixed_len_byte_array(16) d38 (DECIMAL(38,4));
    optional binary text (STRING);
    optional int32 day (DATE);
    optional fixed_len_byte_array(16) id (UUID);
    optional fixed_len_byte_array(2) half (FLOAT16);
    optional group s {
        optional int64 utc (TIMESTAMP(MILLIS,true));
        optional int64 local (TIMESTAMP(NANOS,false));
        optional int64 u64 (INTEGER(64,false));
    }
    optional group l (LIST) {
        repeated group list { optional int64 element (TIMESTAMP(MICROS,true)); }
    }
    optional group m (MAP) {
        repeated group key_value {
            required int64 key (TIMESTAMP(NANOS,true));
            optional int64 value (TIME(MICROS,true));
        }
    }
}";

/// Writes a file of one row with a value in each column.
fn write(path: &Path, schema: &str) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let leaves = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group().unwrap();
    for leaf in leaves {
        let mut column = group.next_column().unwrap().unwrap();
        let (def, rep) = ([leaf.max_def_level()], [0]);
        let (def, rep) = (Some(&def[..]), (leaf.max_rep_level() > 0).then_some(&rep[..]));
        let bytes = || ByteArray::from(vec![1; leaf.type_length().max(1) as usize]);
        // The largest unsigned number, or a time in which all digits are used.
        let number = if leaf.name() == "u64" { -1 } else { 1_234_567_890_123 };
        let written = match leaf.physical_type() {
            Physical::INT32 => column.typed::<Int32Type>().write_batch(&[7], def, rep),
            Physical::INT64 => column.typed::<Int64Type>().write_batch(&[number], def, rep),
            Physical::BYTE_ARRAY => {
                column.typed::<ByteArrayType>().write_batch(&[bytes()], def, rep)
            }
            Physical::FIXED_LEN_BYTE_ARRAY => {
                let value = FixedLenByteArray::from(bytes());
                column.typed::<FixedLenByteArrayType>().write_batch(&[value], def, rep)
            }
            other => panic!("{other}"),
        };
        written.unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Returns the logical type of each leaf of a file, by its path.
fn said(path: &Path) -> Vec<(String, Option<LogicalType>)> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let leaves = reader.metadata().file_metadata().schema_descr().columns();
    leaves.iter().map(|leaf| (leaf.path().string(), leaf.logical_type_ref().cloned())).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the rows of a query in canonical form, or its error.
fn rows(sql: &str) -> Result<Vec<String>, String> {
    lines_of(&Engine::new(), sql).map_err(|error| error.to_string())
}

fn types(path: &str) -> String {
    Engine::new().plan(&format!("SELECT * FROM '{path}'")).unwrap().row_type().to_string()
}

#[test]
fn a_copy_says_of_its_columns_what_the_file_said() {
    let scratch = Scratch::new("copy-said");
    let (from, to) = (scratch.path().join("from.parquet"), scratch.path().join("to.parquet"));
    write(&from, SCHEMA);
    for query in [
        "SELECT * FROM 'F'",
        "SELECT a.* FROM 'F' a JOIN 'F' b ON a.i8 = b.i8 ORDER BY a.u64 LIMIT 5",
        "SELECT * FROM (SELECT * FROM 'F' WHERE i8 = 7) AS t UNION ALL SELECT * FROM 'F' WHERE i8 = 8",
    ] {
        let query = query.replace("'F'", &format!("'{}'", text(&from)));
        rows(&format!("COPY ({query}) TO '{}' (OVERWRITE)", text(&to))).unwrap();
        assert_eq!(said(&to), said(&from), "{query}");
        assert_eq!(types(text(&to)), types(text(&from)), "{query}");
        let all = |path: &Path| rows(&format!("SELECT * FROM '{}'", text(path))).unwrap();
        assert_eq!(all(&to), all(&from), "{query}");
    }
}

#[test]
fn computed_times_are_of_utc_when_all_that_they_come_from_are() {
    let scratch = Scratch::new("copy-computed");
    let (from, to) = (scratch.path().join("from.parquet"), scratch.path().join("to.parquet"));
    write(&from, SCHEMA);
    let query = "SELECT date_trunc('day', utc_ms) AS a, date_trunc('day', local_ms) AS b, \
                 coalesce(utc_ms, utc_ns) AS c, coalesce(utc_ms, local_ms) AS d, s.utc AS e, \
                 s.local AS f, max(utc_us) AS g, max(local_us) AS h, u64 AS u \
                 FROM 'F' GROUP BY utc_ms, local_ms, utc_ns, s.utc, s.local, u64";
    let query = query.replace("'F'", &format!("'{}'", text(&from)));
    rows(&format!("COPY ({query}) TO '{}'", text(&to))).unwrap();
    let is_utc = said(&to).into_iter().filter_map(|(name, said)| match said {
        Some(LogicalType::Timestamp(time)) => Some((name, time.is_adjusted_to_u_t_c)),
        _ => None,
    });
    let is_utc: Vec<(String, bool)> = is_utc.collect();
    let expected = [
        ("a", true),
        ("b", false),
        ("c", true),
        ("d", false),
        ("e", true),
        ("f", false),
        ("g", true),
        ("h", false),
    ];
    assert_eq!(is_utc, expected.map(|(name, utc)| (name.to_string(), utc)));
}

#[test]
fn files_that_differ_are_copied_as_what_holds_for_all() {
    let scratch = Scratch::new("copy-differs");
    fs::create_dir(scratch.path().join("t")).unwrap();
    let one = |name: &str, of: &str| {
        let schema =
            format!("message schema {{ optional int64 a ({of}); optional int64 b ({of}); }}");
        write(&scratch.path().join("t").join(name), &schema);
    };
    one("1.parquet", "TIMESTAMP(MILLIS,true)");
    one("2.parquet", "TIMESTAMP(NANOS,true)");
    let (from, to) = (scratch.path().join("t"), scratch.path().join("to.parquet"));
    let copy = format!("COPY '{}' TO '{}' (OVERWRITE)", text(&from), text(&to));
    rows(&copy).unwrap();
    let both = said(&scratch.path().join("t/2.parquet"));
    assert_eq!(said(&to), both);
    one("3.parquet", "TIMESTAMP(NANOS,false)");
    rows(&copy).unwrap();
    assert_eq!(said(&to), said(&scratch.path().join("t/3.parquet")));
}

/// Text keys read back as the same text, or are rejected.
#[test]
fn text_keys_of_partitions_come_back_or_are_refused() {
    let scratch = Scratch::new("copy-keys");
    let keys = [
        "7",
        "007",
        "+1",
        "-0",
        "1e3",
        "2020-01-01",
        "2020-1-1",
        "%",
        "5%",
        "%41",
        "/",
        "a/b",
        "..",
        "=",
        "a=b",
        " ",
        " a ",
        "__HIVE_DEFAULT_PARTITION__",
        "null",
        "NULL",
        "ä€",
        "a\tb",
        "\"'",
        "true",
        "9223372036854775808",
        "#*?:{}[]^\\",
    ];
    for key in keys {
        let to = scratch.path().join("out");
        let sql_key = key.replace('\'', "''");
        let values = format!("SELECT * FROM (VALUES (1, '{sql_key}'), (2, NULL)) AS t(x, k)");
        let copy = format!(
            "COPY ({values}) TO '{}' (FORMAT parquet, PARTITION_BY (k), OVERWRITE)",
            text(&to)
        );
        if let Err(error) = rows(&copy) {
            panic!("{key:?}: {error}");
        }
        let back = format!("SELECT x, CAST(k AS VARCHAR) AS k FROM '{}' ORDER BY x", text(&to));
        assert_eq!(rows(&back), rows(&values), "{key:?}");
    }
    let to = scratch.path().join("empty");
    let copy = |values: &str| {
        rows(&format!(
            "COPY (SELECT * FROM (VALUES {values}) AS t(x, k)) TO '{}' (FORMAT parquet, PARTITION_BY (k))",
            text(&to)
        ))
    };
    let error = copy("(1, '')").unwrap_err();
    assert!(error.contains("an empty text is no partition key"), "{error}");
    assert!(!to.exists());
    let error = rows(&format!(
        "COPY (SELECT 1 AS k, 2 AS \"K\", 3 AS x) TO '{}' (FORMAT csv, PARTITION_BY (k))",
        text(&to)
    ));
    assert!(error.unwrap_err().contains("differ in case only"));
}

#[test]
fn a_copy_of_no_rows_is_a_table_of_no_rows() {
    let scratch = Scratch::new("copy-nothing");
    let none = "SELECT * FROM (VALUES (1, 'a', 2)) AS t(x, k, j) WHERE x > 1";
    for (name, options) in [
        ("file.parquet", ""),
        ("folder", "(FORMAT parquet, PER_THREAD_OUTPUT)"),
        ("parts", "(FORMAT parquet, PARTITION_BY (k, j))"),
        ("deeper", "(FORMAT parquet, PARTITION_BY (x))"),
    ] {
        let to = scratch.path().join(name);
        let counts = rows(&format!("COPY ({none}) TO '{}' {options}", text(&to))).unwrap();
        assert!(counts[0].starts_with("{\"rows\":0,\"files\":1,"), "{counts:?}");
        let all = format!("SELECT x, k, j FROM '{}'", text(&to));
        assert_eq!(rows(&all), Ok(Vec::new()), "{name}");
    }
}

#[test]
fn a_folder_is_overwritten_whole_and_only_if_copy_wrote_it() {
    let scratch = Scratch::new("copy-overwrite");
    let to = scratch.path().join("t");
    let copy = |by: &str| {
        rows(&format!(
            "COPY (SELECT 1 AS x, 2 AS k, 3 AS j) TO '{}' (FORMAT parquet, PARTITION_BY ({by}), OVERWRITE)",
            text(&to)
        ))
    };
    copy("k").unwrap();
    copy("j").unwrap();
    let mut names: Vec<_> = fs::read_dir(&to).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["j=3"]);
    fs::write(to.join("j=3/notes.txt"), "kept").unwrap();
    let error = copy("k").unwrap_err();
    assert!(
        error.contains("other things than COPY writes") && error.contains("notes.txt"),
        "{error}"
    );
    assert!(to.join("j=3/notes.txt").exists());
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}

#[test]
fn a_copy_is_refused_where_its_files_could_not_be_read() {
    let scratch = Scratch::new("copy-elsewhere");
    let path = scratch.path().join("t.csv");
    let engine = Engine::builder().file_system(Arc::new(MemoryFiles::new())).build();
    let sql = format!("COPY (SELECT 1 AS a) TO '{}'", text(&path));
    let error = engine.query(&sql).unwrap_err().to_string();
    assert!(error.contains("COPY writes to the local disk"), "{error}");
    assert!(!path.exists());
    let error = rows("COPY (SELECT 1 AS a) TO 's3://bucket/t.csv'").unwrap_err();
    assert!(error.contains("COPY writes to the local disk only"), "{error}");
}

/// The third file of the table has a column that the other files do not have.
#[test]
fn the_columns_of_all_files_are_known_or_it_is_said_that_they_are_not() {
    let scratch = Scratch::new("copy-columns");
    let folder = scratch.path().join("t");
    fs::create_dir(&folder).unwrap();
    for i in 0..40 {
        let more = if i == 17 { ", 5 AS extra" } else { "" };
        let file = folder.join(format!("{i:02}.parquet"));
        rows(&format!("COPY (SELECT {i} AS x{more}) TO '{}'", text(&file))).unwrap();
    }
    assert_eq!(types(text(&folder)), "x INTEGER,extra INTEGER");
    let to = scratch.path().join("out.csv");
    let copy = format!("COPY '{}' TO '{}'", text(&folder), text(&to));
    let few = ["--set", "max_schema_files=3"];
    let ran = ocior(&[&["query", &copy][..], &few].concat());
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("columns_of=3 of 40 files"), "{}", ran.err);
    assert!(!to.exists());
    let all = format!("SELECT count(*) AS n FROM '{}'", text(&folder));
    let ran = ocior(&[&["query", &all][..], &few].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "n\n40\n"));
    assert!(
        ran.err.starts_with("note: the columns of t are those of 3 of 40 files"),
        "{}",
        ran.err
    );
    output_of(&["query", &copy]);
    assert!(fs::read_to_string(&to).unwrap().starts_with("x,extra\n"));
    let options = QueryOptions::default();
    assert!(Engine::new().query_with(&all, &options).unwrap().notes().is_empty());
}
