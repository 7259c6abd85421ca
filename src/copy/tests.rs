//! Tests of COPY through the engine: output, errors, and removal of temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dwio::fs::{LocalAccess, LocalFiles};
use exec::plan::{WriteTarget, WriterPlace};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::{DecodedVector, ErrorKind, MemoryPool, RowType, RowVector, Type, Value};

use super::{CopyJob, CopyTarget};
use crate::sql::CopyRequest;
use crate::{Engine, QueryOptions};

/// The folder of one test, removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let process = std::process::id();
        // The name is unique, also if several machines or users share the directory.
        let path = (0..1_000)
            .map(|n| std::env::temp_dir().join(format!("ocior-copy-{name}-{process}-{n}")))
            .find(|path| fs::create_dir(path).is_ok());
        Scratch(path.unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// Returns the names of all entries below a folder.
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

/// Runs a COPY and returns its counts of rows, files and bytes.
fn copy(sql: &str) -> vector::Result<Vec<i64>> {
    copy_with(sql, 1).map(|(counts, _)| counts)
}

/// Runs a COPY with `drivers` drivers; returns the counts and the number of drivers that have
/// written.
fn copy_with(sql: &str, drivers: usize) -> vector::Result<(Vec<i64>, u64)> {
    let mut result =
        engine().query_with(sql, &QueryOptions { drivers, ..QueryOptions::default() })?;
    let batches = result.by_ref().collect::<vector::Result<Vec<_>>>()?;
    let stats = result.stats().operators;
    let writers = stats.iter().find(|o| o.operator == "TableWrite").unwrap().num_drivers;
    let counts =
        batches[0].children().iter().map(|column| match DecodedVector::new(column)?.value(0)? {
            Value::BigInt(count) => Ok(count),
            other => panic!("{other:?}"),
        });
    Ok((counts.collect::<vector::Result<_>>()?, writers))
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
    // A second COPY is rejected, and replaces the output with OVERWRITE; other files are kept.
    let error = copy(&sql).unwrap_err().to_string();
    assert!(error.contains("what COPY would write exists already"), "{error}");
    let again = sql.replace("(RegionKey))", "(RegionKey), OVERWRITE)");
    assert_eq!(copy(&again).unwrap(), counts);
    assert_eq!(folder.names(""), files.iter().map(|f| format!("nations/{f}")).collect::<Vec<_>>());
    fs::write(folder.path("nations/letter.txt"), "dear").unwrap();
    let error = copy(&again).unwrap_err().to_string();
    assert!(error.contains("/letter.txt"), "{error}");
    assert!(folder.names("nations").contains(&"letter.txt".to_string()));
}

/// Returns the sorted lines of all files below a folder, without header lines.
fn lines_of(folder: &Scratch, below: &str) -> Vec<String> {
    let read = |name: &String| fs::read_to_string(folder.path(&format!("{below}/{name}"))).unwrap();
    let texts: Vec<String> = folder.names(below).iter().map(read).collect();
    let mut lines: Vec<String> =
        texts.iter().flat_map(|text| text.lines().skip(1)).map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn into_a_folder_each_driver_writes_files_of_its_own() {
    let folder = Scratch::new("drivers");
    let one = folder.path("one.csv");
    let (counts, writers) = copy_with(&format!("COPY ({NATIONS}) TO '{one}'"), 3).unwrap();
    assert_eq!((counts[1], writers), (1, 1), "a file has one writer");
    let mut expected: Vec<String> =
        fs::read_to_string(one).unwrap().lines().skip(1).map(str::to_string).collect();
    expected.sort();
    for (target, options) in [("a/", ""), ("b", ", PER_THREAD_OUTPUT")] {
        let path = folder.path(target);
        let sql = format!("COPY ({NATIONS}) TO '{path}' (FORMAT csv{options})");
        let (counts, writers) = copy_with(&sql, 3).unwrap();
        let names = folder.names(target);
        assert_eq!(writers, 2, "as many as the scan has splits");
        assert_eq!(counts[..2], [expected.len() as i64, names.len() as i64]);
        assert!(names.iter().all(|name| ["data_0.csv", "data_1.csv"].contains(&name.as_str())));
        assert_eq!(lines_of(&folder, target), expected);
        // The folder is replaced as a whole, unless it contains files that COPY does not write.
        assert!(copy(&sql).unwrap_err().to_string().contains("exists already"));
        let again = sql.replace("csv", "jsonl").replace("FORMAT jsonl", "FORMAT jsonl, OVERWRITE");
        copy(&again).unwrap();
        assert!(folder.names(target).iter().all(|name| name.ends_with(".jsonl")));
    }
    let ordered = format!(
        "COPY ({NATIONS} ORDER BY name DESC LIMIT 5) TO '{}/' (FORMAT csv)",
        folder.path("ordered")
    );
    assert_eq!(copy_with(&ordered, 3).unwrap().1, 1, "rows in order have one writer");
    let none = format!("COPY (SELECT 1 AS n WHERE 1 = 2) TO '{}/' (FORMAT csv)", folder.path("no"));
    assert_eq!(copy_with(&none, 3).unwrap().0, [0, 1, 2]);
}

#[cfg(feature = "copy-parquet")]
#[test]
fn partitions_are_written_by_all_drivers() {
    let folder = Scratch::new("partitioned-drivers");
    let path = folder.path("p");
    let sql = format!("COPY ({NATIONS}) TO '{path}' (FORMAT parquet, PARTITION_BY (regionkey))");
    let (counts, writers) = copy_with(&sql, 3).unwrap();
    assert_eq!((counts[0], writers), (50, 2));
    assert_eq!(counts[1], folder.names("p").len() as i64);
    let sums = "SELECT CAST(regionkey AS BIGINT) AS r, count(*), sum(nationkey), min(name) FROM";
    let read = |from: &str| {
        let found = engine().query(&format!("{sums} {from} GROUP BY 1 ORDER BY 1")).unwrap();
        let mut rows = Vec::new();
        for batch in found.collect_batches().unwrap() {
            let columns = batch.children().iter().map(|c| DecodedVector::new(c).unwrap());
            let columns: Vec<DecodedVector> = columns.collect();
            let row = |row| columns.iter().map(|c| c.value(row).unwrap()).collect::<Vec<_>>();
            rows.extend((0..batch.len()).map(row));
        }
        rows
    };
    let written = read(&format!("'{path}'"));
    assert_eq!((written.len(), &written), (5, &read(&format!("({NATIONS})"))));
}

#[test]
fn what_is_cancelled_leaves_nothing_behind() {
    let folder = Scratch::new("cancelled");
    // More rows than the test waits for.
    let tables: Vec<String> = ('a'..='f').map(|name| format!("({NATIONS}) {name}")).collect();
    let wide = format!("SELECT a.* FROM {}", tables.join(", "));
    for (number, options) in
        ["", ", PER_THREAD_OUTPUT", ", PARTITION_BY regionkey"].iter().enumerate()
    {
        let path = folder.path(&number.to_string());
        let sql = format!("COPY ({wide}) TO '{path}' (FORMAT csv{options})");
        let options = QueryOptions { drivers: 2, ..QueryOptions::default() };
        let engine = engine();
        let mut result = engine.query_with(&sql, &options).unwrap();
        let canceller = result.canceller();
        let root = folder.0.clone();
        let waiting = vector::sync::thread::spawn(move || {
            let has_begun = || fs::read_dir(&root).unwrap().next().is_some();
            let start = Instant::now();
            while !has_begun() && start.elapsed() < Duration::from_secs(60) {
                vector::sync::thread::sleep(Duration::from_millis(1));
            }
            canceller.cancel();
        });
        assert_eq!(result.next_batch().unwrap_err().kind(), ErrorKind::Cancelled);
        waiting.join().unwrap();
        assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0, "with its error");
        drop(result);
        assert_eq!(engine.memory_pool().used(), 0);
    }
}

#[test]
fn what_fails_leaves_nothing_behind() {
    let folder = Scratch::new("failing");
    let path = folder.path("t.csv");
    let failing = "SELECT 10 / (nationkey - 3) AS x, regionkey FROM 'examples/warehouse/nation'";
    assert!(copy(&format!("COPY ({failing}) TO '{path}'")).is_err());
    let partitioned = format!("COPY ({failing}) TO '{path}' (PARTITION_BY regionkey)");
    assert!(copy(&partitioned).is_err());
    assert!(copy(&format!("COPY ({failing}) TO '{path}/' (FORMAT csv)")).is_err());
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
    // Up to an eighth of the limit may be buffered.
    let pool = MemoryPool::root("engine", 400_000);
    let job = CopyJob::start(target, &row_type, None).unwrap();
    let place = WriterPlace { driver: 0, num_drivers: 1, pool: pool.leaf("copy") };
    let mut writer = job.writer(place).unwrap();
    let texts = vec![Value::bytes("x".repeat(100)); 300];
    let column = vector_of(&Type::Varchar, &texts).unwrap();
    let batch = RowVector::batch(Arc::clone(&row_type), 300, vec![column]).unwrap();
    writer.write(&batch).unwrap();
    assert!((30_000..60_000).contains(&pool.used()), "{}", pool.used());
    let other = pool.leaf("other");
    let taken = 400_000 - pool.used() - 10_000;
    other.reserve(taken).unwrap();
    assert_eq!(writer.write(&batch).unwrap_err().kind(), ErrorKind::Limit);
    other.release(taken);
    drop((writer, job));
    assert_eq!((pool.used(), folder.names("")), (0, Vec::new()));
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_devices_are_not_replaced() {
    let folder = Scratch::new("links");
    fs::write(folder.path("real.csv"), "old").unwrap();
    std::os::unix::fs::symlink("real.csv", folder.path("link.csv")).unwrap();
    copy(&format!("COPY (SELECT 1 AS n) TO '{}' (OVERWRITE)", folder.path("link.csv"))).unwrap();
    assert!(Path::new(&folder.path("link.csv")).is_symlink());
    assert_eq!(fs::read_to_string(folder.path("real.csv")).unwrap(), "n\n1\n");
    std::os::unix::fs::symlink("/dev/null", folder.path("null.csv")).unwrap();
    let copied =
        copy(&format!("COPY (SELECT 1 AS n) TO '{}' (OVERWRITE)", folder.path("null.csv")));
    assert!(copied.unwrap_err().to_string().contains("neither a file nor a folder"));
    assert!(!Path::new("/dev/null").is_file());
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
        (
            format!("COPY (SELECT 1 AS n) TO '{}' (FORMAT csv)", at("").trim_end_matches('/')),
            "a folder is where",
        ),
        (format!("COPY (SELECT 1 AS n) TO '{}' (FORMAT csv)", at("")), "exists already"),
        (
            format!("COPY (SELECT 1 AS n) TO '{}/' (FORMAT csv)", at("old.csv")),
            "a file is where COPY would write a folder",
        ),
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
