//! COPY through the engine: what appears, what is refused, what vanishes.

use std::fs;
use std::path::{Path, PathBuf};

use dwio::fs::{LocalAccess, LocalFiles};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::{DecodedVector, ErrorKind, MemoryPool, RowType, RowVector, Type, Value};

use super::{CopyJob, CopyTarget};
use crate::Engine;
use crate::sql::CopyRequest;

/// A folder of one test, removed when the test is done.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ocior-copy-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// The names of everything below a folder.
    fn names(&self, below: &str) -> Vec<String> {
        fn collect(folder: &Path, root: &Path, out: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => collect(&path, root, out),
                    false => out.push(path.strip_prefix(root).unwrap().display().to_string()),
                }
            }
        }
        let (mut out, root) = (Vec::new(), self.0.join(below));
        collect(&root, &root, &mut out);
        out.sort();
        out
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn engine() -> Engine {
    Engine::builder().file_system(Arc::new(LocalFiles::new(LocalAccess::Pread))).build()
}

/// Runs a COPY and gives its counts of rows, files and bytes.
fn copy(sql: &str) -> vector::Result<Vec<i64>> {
    let batches = engine().query(sql)?.collect_batches()?;
    let counts =
        batches[0].children().iter().map(|column| match DecodedVector::new(column)?.value(0)? {
            Value::BigInt(count) => Ok(count),
            other => panic!("{other:?}"),
        });
    counts.collect()
}

/// The nations of the example table, by key.
const NATIONS: &str = "SELECT nationkey, name, regionkey FROM 'examples/warehouse/nation'";

#[test]
fn rows_become_lines_and_are_counted() {
    let folder = Scratch::new("lines");
    let (csv, jsonl) = (folder.path("t.csv"), folder.path("t.out"));
    let one = "SELECT 1 AS n, 'a,b' AS s, NULL AS x";
    let bytes = "n,s,x\n1,\"a,b\",\n".len() as i64;
    assert_eq!(copy(&format!("COPY ({one}) TO '{csv}'")).unwrap(), [1, 1, bytes]);
    assert_eq!(fs::read_to_string(&csv).unwrap(), "n,s,x\n1,\"a,b\",\n");
    copy(&format!("COPY ({one}) TO '{csv}' (HEADER false, OVERWRITE)")).unwrap();
    assert_eq!(fs::read_to_string(&csv).unwrap(), "1,\"a,b\",\n");
    copy(&format!("COPY ({one}) TO '{jsonl}' (FORMAT jsonl)")).unwrap();
    assert_eq!(fs::read_to_string(&jsonl).unwrap(), "{\"n\":1,\"s\":\"a,b\",\"x\":null}\n");
    assert_eq!(folder.names(""), ["t.csv", "t.out"]);
}

#[test]
fn without_rows_there_is_a_file_without_rows() {
    let folder = Scratch::new("no-rows");
    let path = folder.path("t.csv");
    let none = "SELECT 1 AS n WHERE 1 = 2";
    assert_eq!(copy(&format!("COPY ({none}) TO '{path}'")).unwrap(), [0, 1, 2]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "n\n");
}

#[test]
fn partitions_are_directories_of_their_keys() {
    let folder = Scratch::new("partitions");
    let path = folder.path("nations");
    let sql = format!("COPY ({NATIONS}) TO '{path}' (FORMAT csv, PARTITION_BY (RegionKey))");
    let counts = copy(&sql).unwrap();
    let files = folder.names("nations");
    assert_eq!(counts[1], files.len() as i64);
    assert!(files.contains(&"regionkey=1/data_0.csv".to_string()), "{files:?}");
    let one = fs::read_to_string(folder.path("nations/regionkey=1/data_0.csv")).unwrap();
    assert!(one.starts_with("nationkey,name\n"), "{one}");
    // Once more is refused, and replaced when it is asked for; other things are let alone.
    let error = copy(&sql).unwrap_err().to_string();
    assert!(error.contains("what COPY would write exists already"), "{error}");
    let again = sql.replace("(RegionKey))", "(RegionKey), OVERWRITE)");
    assert_eq!(copy(&again).unwrap(), counts);
    assert_eq!(folder.names(""), files.iter().map(|f| format!("nations/{f}")).collect::<Vec<_>>());
    fs::write(folder.path("nations/letter.txt"), "dear").unwrap();
    let error = copy(&again).unwrap_err().to_string();
    assert!(error.contains("found=letter.txt"), "{error}");
    assert!(folder.names("nations").contains(&"letter.txt".to_string()));
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let folder = Scratch::new("failing");
    let path = folder.path("t.csv");
    let failing = "SELECT 10 / (nationkey - 3) AS x, regionkey FROM 'examples/warehouse/nation'";
    assert!(copy(&format!("COPY ({failing}) TO '{path}'")).is_err());
    let partitioned = format!("COPY ({failing}) TO '{path}' (PARTITION_BY regionkey)");
    assert!(copy(&partitioned).is_err());
    drop(engine().query(&format!("COPY ({NATIONS}) TO '{path}'")).unwrap());
    assert_eq!(folder.names(""), [""; 0]);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0);
}

#[test]
fn an_engine_that_reads_only_plans_a_copy_and_does_not_run_it() {
    let folder = Scratch::new("read-only");
    let engine = Engine::builder().read_only().build();
    let plan = engine.plan(&format!("COPY (SELECT 1 AS n) TO '{}'", folder.path("t.csv"))).unwrap();
    let error = engine.run(&plan, &crate::QueryOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "invalid input: this engine reads only, and COPY writes files");
    assert_eq!(folder.names(""), [""; 0]);
}

#[cfg(feature = "copy-parquet")]
#[test]
fn rows_that_wait_for_their_row_group_are_paid_for() {
    let folder = Scratch::new("memory");
    let row_type = Arc::new(RowType::new([("s", Type::Varchar)]));
    let request = CopyRequest { path: folder.path("t.parquet"), options: Vec::new() };
    let target = CopyTarget::new(&request, &row_type).unwrap();
    let pool = MemoryPool::root("engine", 100_000);
    let mut job = CopyJob::start(target, &row_type, None, &pool).unwrap();
    let texts = vec![Value::bytes("x".repeat(100)); 300];
    let column = vector_of(&Type::Varchar, &texts).unwrap();
    let batch = RowVector::batch(Arc::clone(&row_type), 300, vec![column]).unwrap();
    job.write(&batch).unwrap();
    assert!((30_000..60_000).contains(&pool.used()), "{}", pool.used());
    job.write(&batch).unwrap();
    assert_eq!(job.write(&batch).unwrap_err().kind(), ErrorKind::Limit);
    drop(job);
    assert_eq!((pool.used(), folder.names("")), (0, Vec::new()));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let folder = Scratch::new("refused");
    fs::write(folder.path("old.csv"), "old").unwrap();
    let at = |name: &str| folder.path(name);
    for (sql, says) in [
        (format!("COPY (SELECT 1 AS n) TO '{}'", at("t.xyz")), "COPY does not know the format"),
        (format!("COPY (SELECT 1 AS n) TO '{}'", at("old.csv")), "exists already"),
        (format!("COPY (SELECT 1 AS n) TO '{}'", at("no/t.csv")), "cannot create a file"),
        (format!("COPY (SELECT 1 AS n) TO '{}' (FORMAT csv)", at("")), "a folder is where"),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (FORMAT orc)", at("t")),
            "COPY does not write this format (option=FORMAT value=orc)",
        ),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (HEDER)", at("t.csv")),
            "no such option of COPY (option=HEDER)",
        ),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (HEADER)", at("t.jsonl")),
            "an option of COPY that this format has not (option=HEADER)",
        ),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (HEADER maybe)", at("t.csv")),
            "an option of COPY has no such value (option=HEADER value=maybe)",
        ),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (HEADER, HEADER)", at("t.csv")),
            "an option of COPY is given twice (option=HEADER)",
        ),
        (
            format!("COPY (SELECT 1 AS n, 2 AS n) TO '{}'", at("t.csv")),
            "COPY would write two columns of one name",
        ),
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (PARTITION_BY n)", at("t.csv")),
            "PARTITION_BY leaves no column",
        ),
        (
            format!("COPY (SELECT 1 AS n, 2 AS m) TO '{}' (PARTITION_BY k)", at("t.csv")),
            "PARTITION_BY names no column of the query (columns=n, m)",
        ),
        (
            format!("COPY (SELECT 1 AS n, 0.5e0 AS m) TO '{}' (PARTITION_BY m)", at("t.csv")),
            "unsupported partition type (type=DOUBLE)",
        ),
    ] {
        let error = copy(&sql).unwrap_err().to_string();
        assert!(error.contains(says), "{sql}\n{error}");
    }
    assert_eq!(folder.names(""), ["old.csv"]);
    assert_eq!(fs::read_to_string(folder.path("old.csv")).unwrap(), "old");
}
