//! Traces: recorded, listed, run again, and damaged in all the ways in which files are.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::command::{Ran, Scratch, ocior, output_of};

const JOIN: &str = "\
SELECT n.name, count(*) AS c, sum(n.nationkey) AS s FROM 'examples/warehouse/nation' AS n \
JOIN 'examples/warehouse/nation' AS m ON n.nationkey = m.regionkey \
WHERE n.ds = '2026-09-01' AND m.nationkey + 1 > 2 GROUP BY n.name ORDER BY n.name";

/// A recorded query: its case folder.
struct Recorded {
    scratch: Scratch,
    case: PathBuf,
}

impl Recorded {
    fn new(name: &str, sql: &str, more: &[&str]) -> Self {
        let scratch = Scratch::new(name);
        let root = scratch.path().to_str().unwrap().to_string();
        let args = [&["trace", "record", "--trace-dir", &root, sql], more].concat();
        let case = PathBuf::from(output_of(&args).trim());
        Recorded { scratch, case }
    }

    fn task(&self) -> PathBuf {
        self.case.join("task_1")
    }

    fn expected(&self) -> String {
        fs::read_to_string(self.case.join("expected.jsonl")).unwrap()
    }

    fn replay(&self, args: &[&str]) -> Ran {
        let task = self.task();
        ocior(&[&["replay", "--trace", task.to_str().unwrap(), "-f", "jsonl"], args].concat())
    }

    /// Returns the listing of the trace, one JSON object for each row.
    fn listing(&self) -> Vec<Value> {
        let ran = self.replay(&[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Replaces the bytes of a file of the trace.
    fn damage(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.task().join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    /// Runs a node, which must fail, and returns its standard error.
    fn failure(&self, node: &str) -> String {
        let ran = self.replay(&["--node", node]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        ran.err
    }
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

fn scan_of_nation(name: &str) -> Recorded {
    let sql = "SELECT name FROM 'examples/warehouse/nation' WHERE nationkey + regionkey > 4";
    Recorded::new(name, sql, &["--drivers", "1"])
}

const SPLITS: &str = "0/0/0/op_split_trace.split";

#[test]
fn every_node_of_a_recorded_query_is_run_again_on_what_it_was_given() {
    for drivers in ["1", "3"] {
        let recorded = Recorded::new(&format!("trace-{drivers}"), JOIN, &["--drivers", drivers]);
        let listing = recorded.listing();
        let of = |row: &Value, column: &str| row[column].as_str().unwrap_or_default().to_string();
        let operators: Vec<String> = listing.iter().map(|row| of(row, "operator")).collect();
        for operator in ["TableScan", "HashProbe", "HashBuild", "OrderBy"] {
            assert!(operators.iter().any(|o| o == operator), "{operator} of {operators:?}");
        }
        let root = fs::read_to_string(recorded.case.join("plan.json")).unwrap();
        let root: Value = serde_json::from_str(&root).unwrap();
        let mut nodes: Vec<String> = listing.iter().map(|row| of(row, "node")).collect();
        nodes.dedup();
        for node in &nodes {
            let ran = recorded.replay(&["--node", node]);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{node}");
            assert!(!ran.out.is_empty(), "{node}");
            if root["id"] == node.as_str() {
                assert_eq!(ran.out, recorded.expected(), "{node} with {drivers} drivers");
            }
        }
        // The case beside the trace is the same query.
        let (plan, case) = (recorded.case.join("plan.json"), recorded.case.join("case.json"));
        let args = ["replay", "--plan", plan.to_str().unwrap(), "--case", case.to_str().unwrap()];
        assert_eq!(output_of(&[&args[..], &["-f", "jsonl"]].concat()), recorded.expected());
    }
}

#[test]
fn a_scan_counts_what_it_gave_and_read() {
    let recorded = scan_of_nation("trace-counts");
    let listing = recorded.listing();
    let scan = listing.iter().find(|row| row["operator"] == "TableScan").unwrap();
    let rows = recorded.expected().lines().count();
    assert_eq!(scan["input_rows"], rows);
    assert_eq!(scan["recorded"], "splits");
    assert!(scan["raw_input_rows"].as_u64().unwrap() >= rows as u64);
    let ran = recorded.replay(&["--node", "0", "--repeat", "2", "--timing", "--stats"]);
    assert_eq!(sorted(&ran.out), sorted(&recorded.expected()));
    contains_all(&ran.err, &["\"times\":[", "settings honoured: ", "settings ignored: none"]);
}

#[test]
fn only_wanted_nodes_are_recorded_and_others_run_if_their_scans_were() {
    let sql = "SELECT regionkey, count(*) AS n FROM 'examples/warehouse/nation' \
               GROUP BY regionkey ORDER BY regionkey LIMIT 3";
    let recorded = Recorded::new("trace-wanted", sql, &["--trace-nodes", "0"]);
    assert!(recorded.listing().iter().all(|row| row["node"] == "0"));
    let plan = fs::read_to_string(recorded.case.join("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let ran = recorded.replay(&["--node", plan["id"].as_str().unwrap()]);
    assert_eq!((ran.code, ran.out), (0, recorded.expected()));
}

#[test]
fn splits_that_are_cut_short_or_changed_are_errors_with_file_and_offset() {
    let recorded = scan_of_nation("trace-splits");
    let whole = fs::read(recorded.task().join(SPLITS)).unwrap();
    recorded.damage(SPLITS, |bytes| bytes.truncate(whole.len() - 3));
    let said = recorded.failure("0");
    contains_all(&said, &["corrupt: ", "ends too early", "record_offset=", "op_split_trace.split"]);

    recorded.damage(SPLITS, |bytes| {
        *bytes = whole.clone();
        bytes[20] ^= 1;
    });
    let said = recorded.failure("0");
    contains_all(&said, &["another checksum", "expected=0x", "found=0x", "record_offset=0"]);

    recorded.damage(SPLITS, |bytes| {
        *bytes = whole.clone();
        bytes[3] = 0xff;
    });
    contains_all(&recorded.failure("0"), &["ends too early", "wanted="]);
}

#[test]
fn pages_that_are_cut_short_or_changed_are_errors_with_file_and_offset() {
    let recorded = Recorded::new("trace-pages", JOIN, &["--drivers", "1"]);
    let listing = recorded.listing();
    let row = listing.iter().find(|row| row["operator"] == "OrderBy").unwrap();
    let node = row["node"].as_str().unwrap();
    let file = format!("{node}/{}/{}/op_input_trace.data", row["pipeline"], row["driver"]);
    let whole = fs::read(recorded.task().join(&file)).unwrap();
    for len in [whole.len() - 1, 30, 10] {
        recorded.damage(&file, |bytes| {
            *bytes = whole.clone();
            bytes.truncate(len);
        });
        let said = recorded.failure(node);
        contains_all(&said, &["corrupt: ", "expected_bytes=", "found_bytes=", "page_offset=0"]);
        contains_all(&said, &["op_input_trace.data"]);
    }
    // A size, a block's name, and the number of columns.
    for at in [9, 30, 21] {
        recorded.damage(&file, |bytes| {
            *bytes = whole.clone();
            bytes[at] ^= 0x40;
        });
        contains_all(&recorded.failure(node), &["corrupt: ", "page 0"]);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let recorded = scan_of_nation("trace-missing");
    let said = recorded.failure("nobody");
    contains_all(&said, &["no such node", "node=nobody", "recorded are 0"]);

    let scratch = recorded.scratch.path().join("moved");
    let moved = scratch.to_str().unwrap();
    let listed = recorded.replay(&["--node", "0", "--map-path", &format!("{}={moved}", here())]);
    assert_eq!(listed.code, 1);
    contains_all(&listed.err, &["not found: ", "not where it was", moved, "--map-path"]);

    fs::remove_file(recorded.task().join(SPLITS)).unwrap();
    contains_all(&recorded.failure("0"), &["nothing was recorded of a scan", "scan=0"]);

    recorded.damage("task_trace_meta.json", |bytes| bytes.truncate(50));
    contains_all(&recorded.failure("0"), &["not JSON", "task_trace_meta.json"]);
    fs::remove_file(recorded.task().join("task_trace_meta.json")).unwrap();
    contains_all(&recorded.failure("0"), &["not found: ", "it has no metadata"]);
    let ran = ocior(&["replay", "--trace", "/no/such/trace", "--node", "0"]);
    assert_eq!(ran.code, 1);
    contains_all(&ran.err, &["there is no such trace", "/no/such/trace"]);
}

/// Returns the working directory of the tests.
fn here() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap().to_string()
}

#[test]
fn files_that_moved_are_found_where_they_are_said_to_be() {
    let recorded = scan_of_nation("trace-moved");
    let moved = recorded.scratch.path().join("moved");
    for day in ["ds=2026-09-01", "ds=2026-09-02"] {
        let from = Path::new(&here()).join("examples/warehouse/nation").join(day);
        let to = moved.join(day);
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let map = format!("{}/examples/warehouse/nation={}", here(), moved.display());
    let ran = recorded.replay(&["--node", "0", "--map-path", &map]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(sorted(&ran.out), sorted(&recorded.expected()));
}

#[test]
fn what_a_trace_has_no_form_for_is_refused_before_the_query_runs() {
    let scratch = Scratch::new("trace-refused");
    let root = scratch.path().join("traces");
    let sql = "SELECT avg(CAST(nationkey AS REAL)) AS a FROM 'examples/warehouse/nation'";
    let ran = ocior(&["query", "--trace-dir", root.to_str().unwrap(), sql]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    contains_all(&ran.err, &["unsupported: ", "average of REAL"]);
    assert!(!root.join("query_1").exists());
}
