//! Maps recorded file paths to the paths at which the files are now.

use connector_hive::HiveSplit;

/// Pairs of path prefixes: the recorded one and its replacement.
#[derive(Debug, Clone, Default)]
pub struct PathMap {
    pairs: Vec<(String, String)>,
}

impl PathMap {
    /// Makes a map in which the first prefix of each pair is replaced by the second; of several
    /// pairs that match a path, the one with the longest prefix is used.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        PathMap { pairs }
    }

    /// Replaces the path of a split by the current path of its file.
    pub(super) fn apply(&self, split: &mut HiveSplit) {
        if let Some(path) = self.mapped(&split.path) {
            split.path = path;
            // The recorded file size does not apply to another file.
            split.file_bytes = None;
        }
    }

    fn mapped(&self, path: &str) -> Option<String> {
        self.pairs.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from.as_str())?;
            // A prefix must end at the end of a path component.
            let ends = rest.is_empty() || rest.starts_with('/') || from.ends_with('/');
            ends.then(|| format!("{to}{rest}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_whole_names_is_replaced() {
        let pairs = [("/a", "/x"), ("/a/b", "/y"), ("s3a://bucket/", "/local/")];
        let map = PathMap::new(pairs.map(|(from, to)| (from.to_string(), to.to_string())));
        assert_eq!(map.mapped("/a/c.parquet").as_deref(), Some("/x/c.parquet"));
        assert_eq!(map.mapped("/a/b/c.parquet").as_deref(), Some("/y/c.parquet"));
        assert_eq!(map.mapped("/a/bc.parquet").as_deref(), Some("/x/bc.parquet"));
        assert_eq!(map.mapped("s3a://bucket/t/f").as_deref(), Some("/local/t/f"));
        assert_eq!(map.mapped("/ab"), None);
    }
}
