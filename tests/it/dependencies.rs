//! docs/dependencies.md names each direct dependency of each crate with its reason, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The members of the workspace: name in the table, and path of the manifest.
const MEMBERS: [(&str, &str); 7] = [
    ("connector-hive", "connector-hive/Cargo.toml"),
    ("dwio", "dwio/Cargo.toml"),
    ("exec", "exec/Cargo.toml"),
    ("format-parquet", "format-parquet/Cargo.toml"),
    ("format-text", "format-text/Cargo.toml"),
    ("ocior", "Cargo.toml"),
    ("vector", "vector/Cargo.toml"),
];

/// Minimum number of words of a reason: one word explains nothing.
const MIN_WORDS: usize = 2;

fn text_of(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Returns the external crates that a manifest names, with false for those that only tests use.
fn direct_dependencies(manifest: &str) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    let mut is_shipped = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let kind = section.rsplit('.').next().unwrap_or(section);
            is_shipped = match kind {
                _ if section.starts_with("workspace") || section.starts_with("profile") => None,
                "dependencies" | "build-dependencies" => Some(true),
                "dev-dependencies" => Some(false),
                _ => None,
            };
        } else if let (Some(is_shipped), Some((name, _))) = (is_shipped, line.split_once('='))
            && !line.starts_with('#')
        {
            let name = name.trim().split('.').next().unwrap_or_default();
            if !MEMBERS.iter().any(|(member, _)| *member == name) {
                *found.entry(name.to_string()).or_default() |= is_shipped;
            }
        }
    }
    found
}

#[test]
fn each_direct_dependency_has_its_reason_and_nothing_else_is_listed() {
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (member, manifest) in MEMBERS {
        for (name, is_shipped) in direct_dependencies(&text_of(manifest)) {
            let user = if is_shipped { member.to_string() } else { format!("{member} (tests)") };
            expected.entry(name).or_default().insert(user);
        }
    }
    assert!(expected.len() > 20, "the manifests were not understood");
    let text = text_of("docs/dependencies.md");
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, users, what, why] = cells.as_slice() else { panic!("four cells: {line}") };
        for reason in [what, why] {
            assert!(reason.split_whitespace().count() >= MIN_WORDS, "no reason: {line}");
        }
        let users = users.split(", ").map(String::from).collect::<BTreeSet<_>>();
        let again = listed.insert(name.trim_matches('`').to_string(), users);
        assert!(again.is_none(), "twice: {name}");
    }
    for (name, users) in &expected {
        let found = listed.get(name);
        assert_eq!(found, Some(users), "users of {name} in docs/dependencies.md");
    }
    for name in listed.keys() {
        assert!(
            expected.contains_key(name),
            "{name} is in docs/dependencies.md and in no manifest"
        );
    }
}

/// Returns true when a Rust file below `dir` names the crate.
fn is_named_below(dir: &Path, name: &str) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    entries.map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return is_named_below(&path, name);
        }
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_rust && fs::read_to_string(&path).unwrap().contains(&format!("{name}::"))
    })
}

#[test]
fn each_direct_dependency_is_used() {
    for (member, manifest) in MEMBERS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest);
        let crate_dir = path.parent().unwrap();
        for name in direct_dependencies(&text_of(manifest)).keys() {
            let in_code = name.replace('-', "_");
            let dirs = ["src", "tests", "benches"];
            let is_named = dirs.iter().any(|dir| is_named_below(&crate_dir.join(dir), &in_code));
            assert!(is_named, "{member} depends on {name} and does not name it");
        }
    }
}

#[test]
fn manifests_of_every_form_are_understood() {
    let manifest = "[package]\nname = \"x\"\n[workspace.dependencies]\na = \"1\"\n\
        [dependencies]\nvector.workspace = true\nb.workspace = true\nc = { version = \"1\" }\n\
        # d = \"1\"\n[target.'cfg(unix)'.dependencies]\ne = \"1\"\n[dev-dependencies]\nb = \"1\"\n\
        f = \"1\"\n[profile.dev.package.parquet]\nopt-level = 0\n[features]\ng = [\"dep:c\"]\n";
    let found = direct_dependencies(manifest);
    let expected = [("b", true), ("c", true), ("e", true), ("f", false)];
    assert_eq!(found, expected.map(|(name, shipped)| (name.to_string(), shipped)).into());
}
