//! Discovery: finds the data files and partitions of a table in a file system.
//!
//! ```text
//! nation/                          file                      partition values
//!   _SUCCESS            hidden
//!   ds=2026-09-01/
//!     hour=7/
//!       part-0.parquet         ->  ../part-0.parquet         ["2026-09-01", "7"]
//!   ds=__HIVE_DEFAULT_PARTITION__/
//!     hour=8/part-0.parquet    ->  ../part-0.parquet         [null, "8"]
//! ```
//!
//! The walk descends from the table's directory. Each `key=value` directory adds a partition value.
//! A condition on partitions is tested at each level, and a directory that cannot have rows is
//! never listed. Files and directories whose names start with `_` or `.` are hidden, and so are
//! names that end with `._COPYING_`, which are being written. Other directories are descended into
//! and add no partition value. All files must have the same keys in the same order; a table with
//! different depths is rejected with an error that names two paths. An empty file without the
//! partition keys of the other files (a marker of an object store, for example) is ignored.
//!
//! Discovery opens no file.

use std::time::{SystemTime, UNIX_EPOCH};

use dwio::fs::{FileEntry, FileSystem};
use dwio::reader::FileFormat;
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type, Value};

use crate::plan::prune::PartitionPredicate;
use crate::split::hive_split::{HiveSplit, PartitionKeys, SerdeParameters};
use crate::table::hidden_columns::{FILE_MODIFIED_TIME, FILE_SIZE, PATH};
use crate::table::partition::{TextRules, inferred_type, parse_directory_name, parse_value};

/// Maximum depth of directories; a deeper one is assumed to be a loop of links.
pub(crate) const MAX_DEPTH: usize = 64;

/// Options for discovering a table.
#[derive(Debug, Default)]
pub struct DiscoveryOptions<'a> {
    /// Types of partition keys by name. The type of any other key is inferred from its values.
    pub partition_types: Vec<(String, Type)>,
    /// If true, `key=value` directories are treated as ordinary ones.
    pub without_partitions: bool,
    /// Condition that drops partitions during the walk. It applies to the keys whose types are
    /// given in `partition_types`.
    pub predicate: Option<&'a mut PartitionPredicate>,
}

/// One data file of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// Full path of the file.
    pub path: String,
    /// Length of the file in bytes.
    pub len: u64,
    /// Time of the last change, if known.
    pub modified: Option<SystemTime>,
    /// Text of the value of each partition key, in the table's order of keys; `None` is null.
    pub partition_values: Vec<Option<String>>,
}

/// The files and partitions of a table.
#[derive(Debug, Clone)]
pub struct HiveTable {
    /// Path at which the table was found.
    pub path: String,
    /// Data files in the order of their paths.
    pub files: Vec<DataFile>,
    /// Partition keys in the order of the directories, with their types.
    pub partition_columns: Arc<RowType>,
}

impl HiveTable {
    /// Discovers the table at `path`, which is a file or a directory.
    ///
    /// # Errors
    /// `NotFound` if nothing is there or the directory has no data file, `InvalidInput` if files
    /// have different partition keys or a key is repeated, `Limit` if directories are nested too
    /// deeply, and errors of the file system.
    pub fn discover(
        files: &dyn FileSystem,
        path: &str,
        options: DiscoveryOptions<'_>,
    ) -> Result<HiveTable> {
        let entry = files.stat(path)?;
        let mut walk = Walk::new(files, options);
        if entry.is_directory {
            walk.directory(&entry.path)?;
        } else {
            walk.add(entry, &[])?;
        }
        walk.finish(path)
    }

    /// Returns the table of a list of files that the caller found, by a glob for example. Partition
    /// keys are parsed from the directories between `base` and each file; with an empty `base`,
    /// from the whole paths.
    ///
    /// # Errors
    /// As [`HiveTable::discover`].
    pub fn from_files(
        files: &dyn FileSystem,
        base: &str,
        paths: &[String],
        options: DiscoveryOptions<'_>,
    ) -> Result<HiveTable> {
        let mut walk = Walk::new(files, options);
        for path in paths {
            let entry = files.stat(path)?;
            let below = path.strip_prefix(base).unwrap_or(path);
            let directories = match below.rsplit_once('/') {
                _ if entry.is_directory => below,
                Some((directories, _)) => directories,
                None => "",
            };
            let mut keys = Vec::new();
            for name in directories.split('/') {
                keys.extend(walk.partition_key(name, path)?);
            }
            if !walk.may_pass(&keys)? {
                walk.pruned += 1;
            } else if entry.is_directory {
                walk.descend(&entry.path, keys)?;
            } else {
                walk.add(entry, &keys)?;
            }
        }
        walk.finish(base)
    }

    /// Returns the data files that may have rows, which are the non-empty ones (rule S7.16).
    pub fn nonempty_files(&self) -> impl Iterator<Item = &DataFile> + Clone {
        self.files.iter().filter(|f| f.len > 0)
    }

    /// Total length of all data files in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|f| f.len).sum()
    }

    /// Returns the value of partition key `name` for one of the table's files; `None` if the table
    /// has no such key.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not valid for the key's type.
    pub fn partition_value(&self, file: &DataFile, name: &str) -> Result<Option<Value>> {
        let Some(i) = self.partition_columns.index_of(name) else { return Ok(None) };
        let (Some(text), Some(ty)) =
            (file.partition_values.get(i), self.partition_columns.types().get(i))
        else {
            return Ok(None);
        };
        parse_value(name, text.as_deref(), ty, TextRules::default())
            .map(Some)
            .map_err(|e| e.in_named("file", &file.path))
    }

    /// Returns the splits of the files that may have rows for `predicate`, in the order of the
    /// files. A file of more than `options.target_bytes` is divided into ranges of equal length,
    /// about the target.
    ///
    /// # Errors
    /// Errors of the predicate, and `InvalidInput` for a partition value that is not valid for its
    /// type.
    pub fn splits(
        &self,
        mut predicate: Option<&mut PartitionPredicate>,
        options: &SplitOptions,
    ) -> Result<Vec<HiveSplit>> {
        let mut splits = Vec::new();
        let mut keys: Option<(&[Option<String>], PartitionKeys)> = None;
        for file in self.nonempty_files() {
            if let Some(predicate) = predicate.as_deref_mut()
                && !predicate.may_pass(|name, _| self.constant(file, name))?
            {
                continue;
            }
            // Neighbouring files are usually in the same partition and share its keys.
            let keys = match &keys {
                Some((values, keys)) if *values == file.partition_values => Arc::clone(keys),
                _ => {
                    let made = self.partition_keys(file);
                    keys = Some((&file.partition_values, Arc::clone(&made)));
                    made
                }
            };
            self.cut(file, keys, options, &mut splits);
        }
        Ok(splits)
    }

    fn partition_keys(&self, file: &DataFile) -> PartitionKeys {
        let names = self.partition_columns.names().iter().cloned();
        names.zip(file.partition_values.iter().cloned()).collect()
    }

    /// Returns the value of a column that is constant for all rows of a file.
    fn constant(&self, file: &DataFile, name: &str) -> Result<Option<Value>> {
        Ok(match name {
            PATH => Some(Value::bytes(&file.path)),
            FILE_SIZE => i64::try_from(file.len).ok().map(Value::BigInt),
            FILE_MODIFIED_TIME => millis(file.modified).map(Value::BigInt),
            _ => self.partition_value(file, name)?,
        })
    }

    fn cut(
        &self,
        file: &DataFile,
        keys: PartitionKeys,
        options: &SplitOptions,
        out: &mut Vec<HiveSplit>,
    ) {
        let mut split = HiveSplit::new(&options.connector_id, &file.path, options.format.clone())
            .with_partition_keys(keys)
            .with_serde_parameters(Arc::clone(&options.serde_parameters))
            .with_synthesized_column(FILE_SIZE, file.len.to_string());
        split.file_bytes = Some(file.len);
        if let Some(millis) = millis(file.modified) {
            split = split.with_synthesized_column(FILE_MODIFIED_TIME, millis.to_string());
        }
        let num_ranges = file.len.div_ceil(options.target_bytes.max(1)).max(1);
        let range_bytes = file.len.div_ceil(num_ranges);
        let mut start = 0;
        while start < file.len {
            let length = range_bytes.min(file.len - start);
            out.push(split.clone().with_range(start, length));
            start += length;
        }
    }
}

/// Options for dividing a table into splits.
#[derive(Debug, Clone)]
pub struct SplitOptions {
    /// Id of the connector that reads the splits.
    pub connector_id: String,
    /// Format of the table's files.
    pub format: FileFormat,
    /// Approximate maximum number of bytes per split.
    pub target_bytes: u64,
    /// Serde parameters of the files.
    pub serde_parameters: SerdeParameters,
}

fn millis(time: Option<SystemTime>) -> Option<i64> {
    let since = time?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// Keys and texts of the directories above a file.
type Keys = [(String, Option<String>)];

/// A directory that is still to be listed.
struct Pending {
    path: String,
    depth: usize,
    keys: Vec<(String, Option<String>)>,
}

struct Walk<'a> {
    fs: &'a dyn FileSystem,
    options: DiscoveryOptions<'a>,
    files: Vec<DataFile>,
    /// Partition keys of the first file, with its path.
    keys: Option<(Vec<String>, String)>,
    pruned: usize,
}

impl<'a> Walk<'a> {
    fn new(fs: &'a dyn FileSystem, options: DiscoveryOptions<'a>) -> Self {
        Walk { fs, options, files: Vec::new(), keys: None, pruned: 0 }
    }

    fn directory(&mut self, path: &str) -> Result<()> {
        self.descend(path, Vec::new())
    }

    fn descend(&mut self, path: &str, keys: Vec<(String, Option<String>)>) -> Result<()> {
        let mut pending = vec![Pending { path: path.to_string(), depth: 0, keys }];
        while let Some(directory) = pending.pop() {
            if directory.depth > MAX_DEPTH {
                return Err(Error::limit("directories are nested too deep, maybe by a link")
                    .with("max", MAX_DEPTH)
                    .in_named("path", directory.path));
            }
            let mut below = Vec::new();
            for entry in self.fs.list(&directory.path)? {
                let name = file_name(&entry.path);
                if is_hidden(name) {
                    continue;
                }
                if !entry.is_directory {
                    self.add(entry, &directory.keys)?;
                    continue;
                }
                let mut keys = directory.keys.clone();
                if let Some(named) = self.partition_key(name, &entry.path)? {
                    keys.push(named);
                    if !self.may_pass(&keys)? {
                        self.pruned += 1;
                        continue;
                    }
                }
                below.push(Pending { path: entry.path, depth: directory.depth + 1, keys });
            }
            pending.extend(below.into_iter().rev());
        }
        Ok(())
    }

    fn partition_key(&self, name: &str, path: &str) -> Result<Option<(String, Option<String>)>> {
        if self.options.without_partitions {
            return Ok(None);
        }
        parse_directory_name(name).map_err(|e| e.in_named("path", path))
    }

    /// Returns false if the condition excludes all rows below these keys.
    fn may_pass(&mut self, keys: &Keys) -> Result<bool> {
        let Some(predicate) = self.options.predicate.as_deref_mut() else { return Ok(true) };
        let types = &self.options.partition_types;
        predicate.may_pass(|name, _| {
            let Some((_, text)) = keys.iter().find(|(key, _)| key == name) else { return Ok(None) };
            let Some((_, ty)) = types.iter().find(|(key, _)| key == name) else { return Ok(None) };
            parse_value(name, text.as_deref(), ty, TextRules::default()).map(Some)
        })
    }

    fn add(&mut self, entry: FileEntry, keys: &Keys) -> Result<()> {
        let same = |first: &Vec<String>| first.iter().eq(keys.iter().map(|(key, _)| key));
        let differs = self.keys.as_ref().is_some_and(|(first, _)| !same(first));
        if differs && entry.len == 0 {
            return Ok(());
        }
        if differs && self.files.iter().all(|file| file.len == 0) {
            // All files found so far are empty, so their keys do not determine those of the table.
            self.files.clear();
            self.keys = None;
        }
        match &self.keys {
            Some((first, path)) if !same(first) => {
                let found: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
                return Err(Error::invalid_input(
                    "two files of a table have different partition keys",
                )
                .with("first", path)
                .with("first_keys", list(first.iter().map(String::as_str)))
                .with("second", &entry.path)
                .with("second_keys", list(found))
                .hint("name a directory in which all files lie equally deep"));
            }
            Some(_) => {}
            None => {
                let names: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
                if let Some((i, twice)) =
                    names.iter().enumerate().find(|(i, name)| names[..*i].contains(name))
                {
                    return Err(Error::invalid_input("a partition key occurs twice in a path")
                        .with("key", twice)
                        .with("level", i + 1)
                        .in_named("path", entry.path));
                }
                self.keys = Some((names, entry.path.clone()));
            }
        }
        self.files.push(DataFile {
            path: entry.path,
            len: entry.len,
            modified: entry.modified,
            partition_values: keys.iter().map(|(_, text)| text.clone()).collect(),
        });
        Ok(())
    }

    fn finish(self, path: &str) -> Result<HiveTable> {
        if self.files.is_empty() && self.pruned == 0 {
            return Err(Error::not_found("no data files").in_named("path", path));
        }
        let given = &self.options.partition_types;
        let names = match self.keys {
            Some((names, _)) => names,
            // All partitions were pruned, so only the keys with given types are known.
            None => given.iter().map(|(name, _)| name.clone()).collect(),
        };
        let types: Vec<Type> = names
            .iter()
            .enumerate()
            .map(|(i, name)| match given.iter().find(|(given, _)| given == name) {
                Some((_, ty)) => ty.clone(),
                None => inferred_type(
                    self.files.iter().map(|f| f.partition_values.get(i).and_then(|v| v.as_deref())),
                ),
            })
            .collect();
        Ok(HiveTable {
            path: path.to_string(),
            files: self.files,
            partition_columns: Arc::new(RowType::new(names.into_iter().zip(types))),
        })
    }
}

/// Returns true for names that Hive and Spark ignore.
fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.']) || name.ends_with("._COPYING_")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "none".to_string() } else { names.join("/") }
}
