//! Expansion of glob patterns in a file system, level by level.
//!
//! ```text
//! data/ds=2026-*/**/part-?.parquet
//! ---- ---------- -- --------------
//! fixed  names  any depth  names
//! ```
//!
//! Only directories that the pattern can match are listed. Hidden names (`_`, `.`) match only
//! patterns that begin with the same kind of character.

use dwio::fs::{FileEntry, FileSystem};
use globset::{GlobBuilder, GlobMatcher};
use vector::{Error, Result};

/// Maximum depth of directories below `**`; a deeper one is assumed to be a loop of links.
const MAX_DEPTH: usize = 64;

/// Returns true if a path has characters of a pattern.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// Returns the matching paths in order; `NotFound` if there are none.
pub(super) fn expand(files: &dyn FileSystem, pattern: &str) -> Result<Vec<String>> {
    let (root, below) = root_of(pattern);
    let mut found = vec![root.to_string()];
    let parts: Vec<&str> = below.split('/').filter(|p| !p.is_empty()).collect();
    for (i, part) in parts.iter().enumerate() {
        let last = i + 1 == parts.len();
        found = match *part {
            "**" => deeper(files, found, last)?,
            part if is_pattern(part) => matching(files, &found, part, last, pattern)?,
            part => found.iter().map(|base| join(base, part)).collect(),
        };
        // A fixed part after a pattern exists only in some of the directories.
        if !is_pattern(part) && parts[..i].iter().any(|p| is_pattern(p)) {
            found.retain(|path| files.stat(path).is_ok());
        }
    }
    if found.is_empty() {
        return Err(Error::not_found("no file matches the pattern").with("pattern", pattern));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Splits a path into its root, which is empty, `/` or `scheme://`, and the rest.
fn root_of(path: &str) -> (&str, &str) {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let end = match path.split_once("://") {
        Some((scheme, _)) if is_scheme(scheme) => scheme.len() + "://".len(),
        _ => usize::from(path.starts_with('/')),
    };
    path.split_at(end)
}

fn join(base: &str, name: &str) -> String {
    match base {
        "" => name.to_string(),
        base if base.ends_with('/') => format!("{base}{name}"),
        base => format!("{base}/{name}"),
    }
}

/// Returns the entries of a directory.
fn entries(files: &dyn FileSystem, base: &str) -> Result<Vec<FileEntry>> {
    files.list(if base.is_empty() { "." } else { base })
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.']) || name.ends_with("._COPYING_")
}

fn matching(
    files: &dyn FileSystem,
    bases: &[String],
    part: &str,
    last: bool,
    pattern: &str,
) -> Result<Vec<String>> {
    let matcher = matcher(part, pattern)?;
    let mut found = Vec::new();
    for base in bases {
        for entry in entries(files, base)? {
            let name = name_of(&entry.path);
            let wanted = (last || entry.is_directory)
                && matcher.is_match(name)
                && (!is_hidden(name) || is_hidden(part));
            if wanted {
                found.push(join(base, name));
            }
        }
    }
    Ok(found)
}

fn matcher(part: &str, pattern: &str) -> Result<GlobMatcher> {
    let glob = GlobBuilder::new(part).literal_separator(true).build().map_err(|e| {
        Error::invalid_input("not a glob pattern").with("pattern", pattern).caused_by(e)
    })?;
    Ok(glob.compile_matcher())
}

/// Returns the directories and all directories below them; instead the files below them if `**`
/// ends the pattern.
fn deeper(files: &dyn FileSystem, bases: Vec<String>, last: bool) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut pending: Vec<(String, usize)> = bases.into_iter().map(|b| (b, 0)).collect();
    while let Some((base, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return Err(Error::limit("directories are nested too deep, maybe by a link")
                .with("max", MAX_DEPTH)
                .in_named("path", base));
        }
        for entry in entries(files, &base)? {
            let name = name_of(&entry.path);
            if is_hidden(name) {
                continue;
            }
            if entry.is_directory {
                pending.push((join(&base, name), depth + 1));
            } else if last {
                found.push(join(&base, name));
            }
        }
        if !last {
            found.push(base);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwio::fs::MemoryFiles;
    use vector::ErrorKind;

    fn files() -> MemoryFiles {
        let files = MemoryFiles::new();
        for path in [
            "/d/a.parquet",
            "/d/b.parquet",
            "/d/b.txt",
            "/d/_hidden.parquet",
            "/d/ds=1/x.parquet",
            "/d/ds=2/x.parquet",
            "/d/ds=2/h=1/y.parquet",
            "/d/.tmp/z.parquet",
        ] {
            files.put(path, vec![0]);
        }
        files
    }

    fn found(pattern: &str) -> Vec<String> {
        expand(&files(), pattern).unwrap()
    }

    #[test]
    fn patterns_match_within_one_level() {
        assert_eq!(found("/d/*.parquet"), ["/d/a.parquet", "/d/b.parquet"]);
        assert_eq!(found("/d/?.{txt,parquet}"), ["/d/a.parquet", "/d/b.parquet", "/d/b.txt"]);
        assert_eq!(found("/d/ds=*/x.parquet"), ["/d/ds=1/x.parquet", "/d/ds=2/x.parquet"]);
        assert_eq!(found("/d/ds=[2-9]/*.parquet"), ["/d/ds=2/x.parquet"]);
        assert_eq!(found("/d/_*.parquet"), ["/d/_hidden.parquet"]);
        assert_eq!(found("/d/*/h=1/y.parquet"), ["/d/ds=2/h=1/y.parquet"]);
        assert_eq!(found("/d/ds=*"), ["/d/ds=1", "/d/ds=2"]);
    }

    #[test]
    fn files_that_are_being_written_match_no_pattern() {
        let files = MemoryFiles::new();
        for path in ["/d/a", "/d/b._COPYING_", "/d/k=1/c._COPYING_"] {
            files.put(path, vec![0]);
        }
        assert_eq!(expand(&files, "/d/*").unwrap(), ["/d/a", "/d/k=1"]);
        assert_eq!(expand(&files, "/d/**").unwrap(), ["/d/a"]);
    }

    #[test]
    fn two_stars_go_down_any_depth_but_not_into_hidden_directories() {
        assert_eq!(
            found("/d/**/*.parquet"),
            [
                "/d/a.parquet",
                "/d/b.parquet",
                "/d/ds=1/x.parquet",
                "/d/ds=2/h=1/y.parquet",
                "/d/ds=2/x.parquet",
            ]
        );
        assert_eq!(found("/d/ds=2/**"), ["/d/ds=2/h=1/y.parquet", "/d/ds=2/x.parquet"]);
    }

    #[test]
    fn what_a_path_begins_with_stays() {
        assert_eq!(root_of("s3://bucket/*.parquet"), ("s3://", "bucket/*.parquet"));
        assert_eq!(root_of("file:///d/*"), ("file://", "/d/*"));
        assert_eq!(root_of("/d/*"), ("/", "d/*"));
        assert_eq!(root_of("d*/a://b"), ("", "d*/a://b"));
        let files = MemoryFiles::new();
        for path in ["s3://b/a.parquet", "s3://b/k=1/b.parquet", "s3://c/a.parquet"] {
            files.put(path, vec![0]);
        }
        let found = |pattern| expand(&files, pattern).unwrap();
        assert_eq!(found("s3://b/*.parquet"), ["s3://b/a.parquet"]);
        assert_eq!(found("s3://b/**/*.parquet"), ["s3://b/a.parquet", "s3://b/k=1/b.parquet"]);
    }

    #[test]
    fn what_matches_nothing_and_what_is_no_pattern_are_errors() {
        let error = expand(&files(), "/d/*.csv").unwrap_err();
        assert_eq!(error.to_string(), "not found: no file matches the pattern (pattern=/d/*.csv)");
        assert_eq!(expand(&files(), "/d/[.parquet").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(expand(&files(), "/no/*.csv").unwrap_err().kind(), ErrorKind::NotFound);
    }
}
