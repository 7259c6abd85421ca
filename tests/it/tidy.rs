//! Checks the rules of ARCHITECTURE.md on the source files.

use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 6] =
    ["vector", "dwio", "format-parquet", "format-text", "connector-hive", "exec"];

/// Files that may contain `unsafe` code.
const UNSAFE_FILES: [&str; 4] = [
    "vector/src/memory/buffer.rs",
    "dwio/src/fs/local.rs",
    "format-parquet/src/page/snappy_fast.rs",
    "src/bin/ocior/allocator.rs",
];

/// Parts of a file name that mark a kernel for one kind of CPU.
const CPU_NAMES: [&str; 4] = ["avx2", "avx512", "bmi2", "neon"];

/// Code that reads the bytes of files: the file with its lints, and its path.
const READS_FILES: [(&str, &str); 3] = [
    ("format-parquet/src/lib.rs", "format-parquet/src/"),
    ("dwio/src/input/mod.rs", "dwio/src/input/"),
    ("dwio/src/fs.rs", "dwio/src/fs/"),
];

/// Lints that code which reads files must deny.
const READER_LINTS: [&str; 9] = [
    "clippy::unwrap_used",
    "clippy::expect_used",
    "clippy::panic",
    "clippy::unreachable",
    "clippy::indexing_slicing",
    "clippy::string_slice",
    "clippy::cast_possible_truncation",
    "clippy::cast_possible_wrap",
    "clippy::cast_sign_loss",
];

/// Files of readers that allow some of these lints, for reasons that they state, beside kernels for
/// one kind of CPU: other kernels, and casts that round or truncate intentionally.
const EXCEPTED: [&str; 8] = [
    "format-parquet/src/bloom.rs",
    "format-parquet/src/column/converted.rs",
    "format-parquet/src/column/spread.rs",
    "format-parquet/src/encoding/bit_pack/mod.rs",
    "format-parquet/src/encoding/dictionary.rs",
    "format-parquet/src/encoding/filling.rs",
    "format-parquet/src/encoding/selection.rs",
    "format-parquet/src/page/snappy_fast.rs",
];

/// Maximum number of lines of a file, including tests.
const MAX_FILE_LINES: usize = 800;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Returns the part of the file before its tests; nothing of a file that only has tests.
    fn code(&self) -> &str {
        if self.path.ends_with("/tests.rs")
            || self.path.ends_with("/testing.rs")
            || self.path.contains("/tests/")
        {
            return "";
        }
        let starts = ["\n#[cfg(test)]\nmod ", "\n#[cfg(all(test, "];
        let end = starts.iter().filter_map(|start| self.text.find(start)).min();
        &self.text[..end.unwrap_or(self.text.len())]
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.code().lines().enumerate().map(|(i, line)| (i + 1, line));
        code.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn collect(dir: &Path, out: &mut Vec<Source>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(&path, out);
            }
        } else if name.ends_with(".rs") {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
            out.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

fn sources() -> Vec<Source> {
    let mut out = Vec::new();
    collect(&root(), &mut out);
    assert!(out.len() > 50, "the tree was not found");
    out
}

fn library_sources() -> Vec<Source> {
    let inside = |s: &Source| {
        s.path.starts_with("src/")
            || CRATES.iter().any(|c| s.path.starts_with(&format!("{c}/src/")))
    };
    sources().into_iter().filter(inside).collect()
}

fn report(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// Returns the names in one section of a manifest.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']).ends_with(section)
                && !line.contains("workspace.")
                && (section != "dependencies"
                    || !(line.contains("dev-dependencies") || line.contains("build-")));
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            names.push(line.split(['.', ' ', '=']).next().unwrap().to_string());
        }
    }
    names
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let allowed: [(&str, &[&str]); 6] = [
        ("vector", &[]),
        ("dwio", &["vector"]),
        ("format-parquet", &["vector", "dwio"]),
        ("format-text", &["vector", "dwio"]),
        ("connector-hive", &["vector", "dwio"]),
        ("exec", &["vector", "dwio"]),
    ];
    let mut found = Vec::new();
    for (name, may) in allowed {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        for section in ["dependencies", "dev-dependencies"] {
            for dependency in dependencies(&manifest, section) {
                let itself = dependency == name;
                if CRATES.contains(&dependency.as_str())
                    && !may.contains(&dependency.as_str())
                    && !itself
                {
                    found.push(format!("{name} {section}: {dependency}"));
                }
                if section == "dependencies"
                    && ["arrow", "parquet", "datafusion"].iter().any(|c| dependency.starts_with(c))
                {
                    found.push(format!("{name} reads through {dependency}"));
                }
            }
        }
    }
    report("dependencies against the arrows", found);
}

#[test]
fn codecs_and_ciphers_are_named_only_where_bytes_are_unpacked() {
    let mut found = Vec::new();
    for source in library_sources() {
        for (n, line) in source.code_lines() {
            let codecs = ["snap::", "zstd::", "flate2::", "lz4_flex::", "brotli_decompressor::"];
            let ciphers = ["aes::", "aes_gcm::", "ctr::"];
            let rooms: [(&[&str], &[&str]); 2] = [
                (&codecs, &["format-parquet/src/page/", "format-text/src/"]),
                (&ciphers, &["format-parquet/src/decrypt/"]),
            ];
            for (names, rooms) in rooms {
                if names.iter().any(|c| line.contains(c))
                    && !rooms.iter().any(|room| source.path.starts_with(room))
                {
                    found.push(format!("{}:{n}: {}", source.path, line.trim()));
                }
            }
        }
    }
    report("codecs and ciphers outside of their rooms", found);
}

#[test]
fn the_parquet_crate_is_named_only_where_copy_writes() {
    let mut found = Vec::new();
    for source in library_sources() {
        if source.path.starts_with("src/copy/parquet/") {
            continue;
        }
        for (n, line) in source.code_lines() {
            let of_crate = ["use parquet::", " parquet::", "(parquet::", " arrow_", "(arrow_"];
            if of_crate.iter().any(|name| line.contains(name)) && !line.contains("::parquet::") {
                found.push(format!("{}:{n}: {}", source.path, line.trim()));
            }
        }
    }
    report("the parquet crate outside of src/copy/parquet/", found);
}

#[test]
fn rooms_of_dwio_do_not_see_each_other() {
    let forbidden: [(&str, &[&str]); 3] = [
        ("dwio/src/reader.rs", &["crate::connector"]),
        ("dwio/src/input/", &["crate::connector", "crate::reader"]),
        ("dwio/src/connector/", &["crate::reader", "crate::input", "crate::fs"]),
    ];
    let mut found = Vec::new();
    for source in library_sources() {
        for (room, names) in forbidden {
            if source.path.starts_with(room) {
                for (n, line) in source.code_lines() {
                    if names.iter().any(|name| line.contains(name)) {
                        found.push(format!("{}:{n}: {}", source.path, line.trim()));
                    }
                }
            }
        }
        if source.path.starts_with("dwio/src/") {
            for (n, line) in source.code_lines() {
                let lower = line.to_ascii_lowercase();
                if lower.contains("parquet") || lower.contains("hive") {
                    found.push(format!("{}:{n}: {}", source.path, line.trim()));
                }
            }
        }
    }
    report("contracts that know too much", found);
}

#[test]
fn scans_know_no_kind_of_table_or_of_file() {
    let source = fs::read_to_string(root().join("exec/src/operator/table_scan.rs")).unwrap();
    let source = Source { path: String::new(), text: source };
    let found = source
        .code_lines()
        .filter(|(_, line)| line.trim_start().starts_with("use dwio::"))
        .filter(|(_, line)| {
            !line.contains("use dwio::connector") && !line.contains("use dwio::filter")
        })
        .map(|(n, line)| format!("{n}: {line}"))
        .collect();
    report("table_scan.rs names more of dwio than connector and filter", found);
    let named = library_sources().into_iter().filter(|s| s.path.starts_with("exec/src/"));
    let found = named.flat_map(|source| {
        let of_a_kind = |line: &str| {
            let line = line.to_ascii_lowercase();
            line.contains("hive") || line.contains("parquet")
        };
        let lines = source.code_lines().filter(|(_, line)| of_a_kind(line));
        lines.map(|(n, line)| format!("{}:{n}: {line}", source.path)).collect::<Vec<_>>()
    });
    report("exec names a kind of table or of file", found.collect());
}

#[test]
fn unsafe_code_stands_only_in_the_listed_files_and_is_argued() {
    let mut found = Vec::new();
    for source in library_sources() {
        let listed = UNSAFE_FILES.contains(&source.path.as_str())
            || CPU_NAMES.iter().any(|cpu| source.path.contains(cpu));
        let lines: Vec<&str> = source.text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap();
            let opens = code.contains("unsafe {") || code.contains("unsafe impl");
            if opens && !listed {
                found.push(format!("{}:{}: not a listed file", source.path, i + 1));
            }
            let argued = lines[i.saturating_sub(6)..=i].iter().any(|l| l.contains("SAFETY"));
            if opens && !argued {
                found.push(format!("{}:{}: no SAFETY comment", source.path, i + 1));
            }
        }
    }
    report("unsafe code", found);
}

/// Returns the attributes of a source's code, each on one line.
fn attributes(source: &Source) -> Vec<String> {
    let code: String = source.code_lines().map(|(_, line)| line.trim().to_string() + " ").collect();
    let starts = code.match_indices("#[").chain(code.match_indices("#!["));
    starts
        .map(|(start, _)| {
            let mut depth = 0;
            let end = code[start..].find(|c| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                c == ']' && depth == 0
            });
            code[start..start + end.unwrap_or(0)].to_string()
        })
        .collect()
}

#[test]
fn what_reads_files_is_under_lints_but_for_kernels_that_say_why() {
    let mut found = Vec::new();
    let mut excepted = Vec::new();
    for source in library_sources() {
        let Some((root, _)) = READS_FILES
            .iter()
            .find(|(root, below)| source.path == *root || source.path.starts_with(below))
        else {
            continue;
        };
        let attributes = attributes(&source);
        if source.path == *root {
            let denied = attributes.iter().find(|a| a.starts_with("#![") && a.contains("deny("));
            let denied = denied.map_or("", String::as_str);
            let missing = READER_LINTS.iter().filter(|lint| !denied.contains(**lint));
            found.extend(missing.map(|lint| format!("{root} does not deny {lint}")));
        }
        for attribute in attributes {
            let silenced = ["clippy::all", "clippy::pedantic", "clippy::restriction"];
            let named = READER_LINTS.iter().chain(&silenced).any(|lint| attribute.contains(lint));
            if !named || attribute.contains("deny(") {
                continue;
            }
            excepted.push(source.path.clone());
            if !attribute.contains("expect(") || !attribute.contains("reason = ") {
                found.push(format!("{}: not expected for a reason: {attribute}", source.path));
            }
            let is_of_cpu = CPU_NAMES.iter().any(|cpu| source.path.contains(cpu));
            if !is_of_cpu && !EXCEPTED.contains(&source.path.as_str()) {
                found.push(format!("{}: not a listed file: {attribute}", source.path));
            }
        }
    }
    let unused = EXCEPTED.iter().filter(|path| !excepted.iter().any(|found| found == *path));
    found.extend(unused.map(|path| format!("{path}: listed, but excepted from nothing")));
    report("readers of files outside of the lints", found);
}

#[test]
fn threads_and_locks_are_named_only_in_sync() {
    let mut found = Vec::new();
    for source in library_sources() {
        if source.path == "vector/src/sync.rs" {
            continue;
        }
        for (n, line) in source.code_lines() {
            let names = ["std::sync", "std::thread", "parking_lot::", "loom::sync", "loom::thread"];
            if names.iter().any(|name| line.contains(name)) {
                found.push(format!("{}:{n}: {}", source.path, line.trim()));
            }
        }
    }
    report("threads and locks outside of vector/src/sync.rs", found);
}

#[test]
fn files_keep_to_one_idea() {
    let mut found = Vec::new();
    for source in sources() {
        let name = source.path.rsplit('/').next().unwrap();
        if ["util.rs", "utils.rs", "helper.rs", "helpers.rs", "common.rs", "misc.rs", "base.rs"]
            .contains(&name)
        {
            found.push(format!("{}: a drawer, not a name", source.path));
        }
        let lines = source.text.lines().count();
        if lines > MAX_FILE_LINES {
            found.push(format!("{}: {lines} lines", source.path));
        }
        if !source.text.starts_with("//!") {
            found.push(format!("{}: no module comment", source.path));
        }
    }
    report("files", found);
}

#[test]
fn nothing_is_stubbed_silenced_or_exported_by_glob() {
    // The names are in pieces, so that this file does not contain them.
    let banned = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
        concat!("FIX", "ME"),
    ];
    let mut found = Vec::new();
    for source in sources() {
        for (n, line) in source.lines() {
            let glob = line.trim_start().starts_with("pub use") && line.contains("::*");
            if glob || banned.iter().any(|b| line.contains(b)) {
                found.push(format!("{}:{n}: {}", source.path, line.trim()));
            }
        }
    }
    report("stubs, silenced tests, glob exports", found);
}

#[test]
fn architecture_names_only_what_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let library: String = library_sources().into_iter().map(|s| s.text).collect();
    let mut found = Vec::new();
    for name in page.split('`').skip(1).step_by(2) {
        let is_path = name.contains('/') && !name.contains(' ') && !name.contains("..");
        if is_path && !root().join(name).exists() {
            found.push(format!("no file `{name}`"));
        }
        let is_type = name.starts_with(char::is_uppercase)
            && name.chars().all(char::is_alphanumeric)
            && name.chars().any(char::is_lowercase);
        let declared = ["struct", "enum", "trait"]
            .iter()
            .any(|kind| library.contains(&format!("{kind} {name}")));
        // Error kinds are variants.
        if is_type && !declared && !library.contains(&format!("    {name},")) {
            found.push(format!("no type `{name}`"));
        }
    }
    report("ARCHITECTURE.md", found);
}
