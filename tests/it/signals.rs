//! Signals, crashes and several writers in one folder: what COPY and `--output` leave behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::command::{Scratch, command, ocior, output_of};

/// Nothing that is waited for takes this long.
const LONG: Duration = Duration::from_secs(60);
/// The time that a command has to end at a signal, on a machine that does much else.
const PROMPT: Duration = Duration::from_secs(3);

/// Entries of a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        std::thread::yield_now();
    }
}

/// A table whose join with itself practically never ends, outside of the observed folder.
fn table(scratch: &Scratch) -> String {
    let path = scratch.path().join("t.parquet").to_str().unwrap().to_string();
    let rows = "SELECT x, x % 7 AS k, 1 AS one FROM UNNEST(sequence(1, 5000)) AS t(x)";
    output_of(&["query", &format!("COPY ({rows}) TO '{path}'")]);
    path
}

fn endless(table: &str) -> String {
    format!(
        "SELECT a.x, b.x AS y, c.x AS z, a.k FROM '{table}' a JOIN '{table}' b ON a.one = b.one \
         JOIN '{table}' c ON a.one = c.one"
    )
}

fn start(args: &[&str]) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Sends a signal; returns the exit code and the time until the exit.
fn end(signal: &str, mut child: Child) -> (Option<i32>, Duration) {
    let start = Instant::now();
    send(signal, &child);
    let code = child.wait().unwrap().code();
    (code, start.elapsed())
}

/// What is written is on its way: a staged file or folder that has bytes or files.
fn is_written(folder: &Path) -> bool {
    is_written_as(folder, ".")
}

/// Returns true when a file or folder with this name prefix has bytes or files.
fn is_written_as(folder: &Path, prefix: &str) -> bool {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut staged = entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
    staged.any(|entry| {
        let has_files = fs::read_dir(entry.path()).is_ok_and(|mut files| files.next().is_some());
        has_files || entry.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
    })
}

#[test]
fn a_signal_at_any_time_leaves_nothing_of_a_copy() {
    let scratch = Scratch::new("signals-copy");
    let rows = endless(&table(&scratch));
    let folder = scratch.path().join("out");
    fs::create_dir(&folder).unwrap();
    let to = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let statements = [
        format!("COPY ({rows}) TO '{}' (FORMAT parquet, PARTITION_BY (k))", to("parts")),
        format!("COPY ({rows}) TO '{}'", to("rows.csv")),
        format!("COPY ({rows}) TO '{}/' (FORMAT parquet, ROW_GROUP_SIZE 1000)", to("folder")),
    ];
    for (number, statement) in statements.iter().enumerate() {
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            for drivers in ["1", "3"] {
                let child = start(&["query", "--drivers", drivers, statement]);
                // The first statement is ended once any file exists, later ones while they write.
                match number {
                    0 => wait_until("staged", || !names(&folder).is_empty()),
                    _ => wait_until("written", || is_written(&folder)),
                }
                let (found, time) = end(signal, child);
                assert_eq!(found, Some(code), "{statement}");
                assert!(time < PROMPT, "{statement}: {time:?}");
                assert_eq!(names(&folder), [""; 0], "{statement}");
            }
        }
    }
}

#[test]
fn a_signal_keeps_the_output_file_that_was_there() {
    let scratch = Scratch::new("signals-output");
    let rows = endless(&table(&scratch));
    let path = scratch.write("out/rows.csv", b"kept");
    let folder = scratch.path().join("out");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = start(&["query", "-o", &path, &rows]);
        wait_until("written", || is_written(&folder));
        let (found, time) = end(signal, child);
        assert_eq!(found, Some(code));
        assert!(time < PROMPT, "{time:?}");
        assert_eq!(names(&folder), ["rows.csv"]);
        assert_eq!(fs::read(&path).unwrap(), b"kept");
    }
}

#[test]
fn a_command_that_waits_for_its_statement_ends_at_a_signal() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut child =
            command(&["query"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // Open to the end, so that the statement never comes.
        let _input = child.stdin.take();
        let status = format!("/proc/{}/status", child.id());
        // Signals that are caught, as a number of 16 hexadecimal digits.
        let caught = || {
            let status = fs::read_to_string(&status).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
        };
        if Path::new(&status).exists() {
            // SIGINT is number 2, SIGTERM 15.
            wait_until("handlers", || caught() & 1 << 1 != 0 && caught() & 1 << 14 != 0);
        }
        assert_eq!(end(signal, child).0, Some(code));
    }
}

#[test]
fn a_later_copy_removes_what_a_killed_one_left_and_nothing_else() {
    let scratch = Scratch::new("signals-killed");
    let table = table(&scratch);
    let folder = scratch.path().join("out");
    fs::create_dir(&folder).unwrap();
    let to = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let partitioned = "(FORMAT parquet, PARTITION_BY (k), ROW_GROUP_SIZE 100)";
    for (name, options) in [("parts", partitioned), ("rows.csv", "")] {
        let statement = format!("COPY ({}) TO '{}' {options}", endless(&table), to(name));
        let mut child = start(&["query", &statement]);
        // What the one before has left is there too.
        wait_until("written", || is_written_as(&folder, &format!(".{name}.")));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // The second has removed what the first one left.
    let left = names(&folder);
    assert!(left.len() == 1 && left[0].starts_with(".rows.csv."), "{left:?}");
    let others = [".other.tmp", ".rows.csv.17-0.tmp", "file"];
    others.iter().for_each(|name| fs::write(folder.join(name), "kept").unwrap());
    // One that is running has a lock on what it stages.
    let running = start(&["query", &format!("COPY ({}) TO '{}'", endless(&table), to("b.csv"))]);
    let is_of_running = |name: &String| name.starts_with(".b.csv.");
    wait_until("staged", || names(&folder).iter().any(is_of_running));
    let done = format!("COPY (SELECT 1 AS a) TO '{}'", to("done.csv"));
    assert_eq!(ocior(&["query", &done]).code, 0);
    let now = names(&folder);
    assert!(!left.iter().any(|name| now.contains(name)), "{now:?}");
    assert!(now.iter().any(is_of_running), "{now:?}");
    assert_eq!(end("-INT", running).0, Some(130));
    assert_eq!(names(&folder), [".other.tmp", ".rows.csv.17-0.tmp", "done.csv", "file"]);
}

#[test]
fn copies_into_one_folder_at_the_same_time_all_succeed() {
    let scratch = Scratch::new("signals-several");
    let table = table(&scratch);
    let folder = scratch.path().join("out");
    fs::create_dir(&folder).unwrap();
    let copy = |i: usize| {
        let to = folder.join(format!("{}{i}", if i.is_multiple_of(2) { "t" } else { "p" }));
        let options =
            if i.is_multiple_of(2) { "(FORMAT csv)" } else { "(FORMAT parquet, PARTITION_BY (k))" };
        start(&["query", &format!("COPY '{table}' TO '{}' {options}", to.display())])
    };
    let children: Vec<Child> = (0..6).map(copy).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(names(&folder), ["p1", "p3", "p5", "t0", "t2", "t4"]);
    // Of two that write the same one, without OVERWRITE, one succeeds.
    let same = format!("COPY '{table}' TO '{}'", folder.join("same.csv").display());
    let children: Vec<Child> = (0..4).map(|_| start(&["query", &same])).collect();
    let codes = children.into_iter().map(|mut child| child.wait().unwrap().code());
    let mut codes: Vec<Option<i32>> = codes.collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(1), Some(1), Some(1)]);
    assert_eq!(names(&folder).len(), 7);
}

#[test]
fn a_write_beyond_the_file_size_limit_is_an_error_that_leaves_nothing() {
    let scratch = Scratch::new("signals-limit");
    let folder = scratch.path().join("out");
    fs::create_dir(&folder).unwrap();
    let rows = "SELECT x, x * 7919 AS y FROM UNNEST(sequence(1, 9000)) AS t(x)".to_string();
    let to = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let runs = [
        vec![format!("COPY ({rows}) TO '{}'", to("rows.parquet"))],
        vec![format!("COPY ({rows}) TO '{}'", to("rows.csv"))],
        vec![rows.clone(), "-f".into(), "csv".into(), "-o".into(), to("output.csv")],
    ];
    for run in runs {
        // 20 blocks of 512 or 1,024 bytes.
        let ran = Command::new("sh")
            .args(["-c", "ulimit -f 20; exec \"$0\" query \"$@\"", env!("CARGO_BIN_EXE_ocior")])
            .args(&run)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{run:?}: {:?}, {text}", ran.status);
        assert!(text.contains("too large") && text.contains("out"), "{text}");
        assert_eq!(names(&folder), Vec::<String>::new(), "{run:?}");
    }
}
