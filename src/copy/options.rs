//! Options of COPY, by name.
//!
//! | option | formats | meaning |
//! |---|---|---|
//! | `FORMAT parquet`, `csv`, `jsonl` | all | by default the format of the path's extension |
//! | `PARTITION_BY (a, b)` | all | a folder of Hive partitions instead of a file |
//! | `PER_THREAD_OUTPUT [true]` | all | a folder with a file per driver, as for a path with final `/` |
//! | `OVERWRITE [true]` | all | replaces existing output |
//! | `HEADER [true]` | csv | a header line with the names, on by default |
//! | `COMPRESSION snappy`, `none` | parquet | compression of pages |
//! | `ROW_GROUP_SIZE n` | parquet | maximum number of rows of a row group |
//! | `TIMESTAMP_UNIT millis`, `micros`, `nanos` | parquet | unit of stored timestamps |
//!
//! The default of `TIMESTAMP_UNIT` is the unit of the source file, or microseconds if it is unknown.

use std::collections::HashSet;

use dwio::stored::StoredColumn;
use vector::{Error, Result, RowType};

#[cfg(feature = "copy-parquet")]
use super::parquet::{Codec, ParquetLayout};
use crate::sql::{CopyOption, CopyRequest};

/// Target and format of a COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyTarget {
    pub(super) path: String,
    pub(super) format: CopyFormat,
    /// Positions of the partition keys among the query's columns, outermost first.
    pub(super) partition_by: Vec<usize>,
    /// If true, the target is a folder in which each driver has a file.
    pub(super) per_driver: bool,
    pub(super) overwrite: bool,
    /// Metadata that the source files have for the query's columns, as far as it is known.
    pub(super) stored: Vec<StoredColumn>,
}

/// Format of a file, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CopyFormat {
    Csv {
        has_header: bool,
    },
    JsonLines,
    #[cfg(feature = "copy-parquet")]
    Parquet(ParquetLayout),
}

impl CopyTarget {
    /// Parses the options of a statement whose query returns `row_type`. Returns `InvalidInput` for
    /// options that do not exist, have invalid values, or do not belong to the format, and
    /// `Unsupported` for a format that this build does not write.
    pub(crate) fn new(request: &CopyRequest, row_type: &RowType) -> Result<Self> {
        for (i, option) in request.options.iter().enumerate() {
            if request.options.iter().take(i).any(|before| before.name == option.name) {
                return Err(wrong(option, "an option of COPY is given twice"));
            }
        }
        let mut target = CopyTarget {
            path: request.path.clone(),
            format: chosen_format(request)?,
            partition_by: Vec::new(),
            per_driver: request.path.ends_with('/'),
            overwrite: false,
            stored: Vec::new(),
        };
        if request.path.contains("://") {
            return Err(Error::unsupported("COPY writes to the local disk only")
                .with("path", &request.path));
        }
        for option in &request.options {
            match option.name.as_str() {
                "FORMAT" => {}
                "PARTITION_BY" => target.partition_by = keys(option, row_type)?,
                "PER_THREAD_OUTPUT" => target.per_driver = switch(option)?,
                "OVERWRITE" => target.overwrite = switch(option)?,
                _ => target.format.set(option)?,
            }
        }
        target.check(row_type)?;
        Ok(target)
    }

    /// Returns the target with the metadata that the source files have for the query's columns.
    pub(crate) fn with_stored_columns(self, stored: Vec<StoredColumn>) -> Self {
        CopyTarget { stored, ..self }
    }

    fn check(&self, row_type: &RowType) -> Result<()> {
        let names = row_type.names();
        let mut seen = HashSet::with_capacity(names.len());
        for name in names {
            if !seen.insert(name) {
                return Err(Error::invalid_input("COPY would write two columns of one name")
                    .in_named("column", name)
                    .hint("AS gives one of them another name"));
            }
        }
        // Names of keys are written in lower case (rule S8.19), and a key hides a column of its
        // name.
        let keys = self.partition_by.iter().filter_map(|key| Some((key, names.get(*key)?)));
        for (key, name) in keys {
            let twins = row_type.positions_in_any_case(name);
            if let Some(twin) = twins.iter().find(|i| *i != key).and_then(|i| names.get(*i)) {
                return Err(Error::invalid_input(
                    "a partition key and another column have names that differ in case only",
                )
                .with("column", twin)
                .in_named("column", name)
                .hint("AS gives one of them another name"));
            }
        }
        match self.partition_by.len() {
            _ if names.is_empty() => {
                Err(Error::invalid_input("COPY of a query without columns has nothing to write"))
            }
            all if all == names.len() => {
                Err(Error::invalid_input("PARTITION_BY leaves no column for the files"))
            }
            _ => Ok(()),
        }
    }

    /// Describes the path, the format and the partition keys.
    pub(crate) fn describe(&self, row_type: &RowType) -> String {
        let names = row_type.names();
        let keys: Vec<&str> = self
            .partition_by
            .iter()
            .filter_map(|key| names.get(*key).map(String::as_str))
            .collect();
        let by = if keys.is_empty() { String::new() } else { format!(" by {}", keys.join(", ")) };
        format!("{} as {}{by}", self.path, self.ending())
    }

    /// Path of the output.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Extension of the files.
    pub(super) fn ending(&self) -> &'static str {
        match self.format {
            CopyFormat::Csv { .. } => "csv",
            CopyFormat::JsonLines => "jsonl",
            #[cfg(feature = "copy-parquet")]
            CopyFormat::Parquet(_) => "parquet",
        }
    }
}

impl CopyFormat {
    fn set(&mut self, option: &CopyOption) -> Result<()> {
        match (option.name.as_str(), self) {
            ("HEADER", CopyFormat::Csv { has_header }) => *has_header = switch(option)?,
            #[cfg(feature = "copy-parquet")]
            ("COMPRESSION", CopyFormat::Parquet(layout)) => {
                layout.codec = match word(option)?.as_str() {
                    "snappy" => Codec::Snappy,
                    "none" | "uncompressed" => Codec::Uncompressed,
                    _ => return Err(wrong(option, NO_SUCH_VALUE).hint("snappy or none")),
                }
            }
            #[cfg(feature = "copy-parquet")]
            ("ROW_GROUP_SIZE", CopyFormat::Parquet(layout)) => {
                let rows = word(option)?.parse().ok().filter(|rows| *rows > 0);
                layout.row_group_rows = rows.ok_or_else(|| wrong(option, NO_SUCH_VALUE))?;
            }
            #[cfg(feature = "copy-parquet")]
            ("TIMESTAMP_UNIT", CopyFormat::Parquet(layout)) => {
                layout.timestamps = Some(match word(option)?.as_str() {
                    "millis" => vector::TimeUnit::Millis,
                    "micros" => vector::TimeUnit::Micros,
                    "nanos" => vector::TimeUnit::Nanos,
                    _ => return Err(wrong(option, NO_SUCH_VALUE).hint("millis, micros or nanos")),
                })
            }
            ("HEADER" | "COMPRESSION" | "ROW_GROUP_SIZE" | "TIMESTAMP_UNIT", _) => {
                return Err(wrong(option, "an option of COPY that this format has not"));
            }
            _ => {
                return Err(wrong(option, "no such option of COPY").hint(
                    "FORMAT, PARTITION_BY, PER_THREAD_OUTPUT, OVERWRITE; HEADER of csv; COMPRESSION, ROW_GROUP_SIZE, \
                     TIMESTAMP_UNIT of parquet",
                ));
            }
        }
        Ok(())
    }
}

const NO_SUCH_VALUE: &str = "an option of COPY has no such value";

/// Returns the format that the statement names, else that of the path's extension.
fn chosen_format(request: &CopyRequest) -> Result<CopyFormat> {
    let named = request.options.iter().find(|option| option.name == "FORMAT");
    let name = match named {
        Some(option) => word(option)?,
        None => {
            let file = request.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            file.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_ascii_lowercase())
        }
    };
    match name.as_str() {
        "csv" => Ok(CopyFormat::Csv { has_header: true }),
        "jsonl" | "ndjson" => Ok(CopyFormat::JsonLines),
        #[cfg(feature = "copy-parquet")]
        "parquet" => Ok(CopyFormat::Parquet(ParquetLayout::default())),
        #[cfg(not(feature = "copy-parquet"))]
        "parquet" => Err(Error::unsupported("this build does not write Parquet")
            .hint("build it with --features copy-parquet, or write csv or jsonl")),
        _ => Err(match named {
            Some(option) => wrong(option, "COPY does not write this format"),
            None => Error::invalid_input("COPY does not know the format of its file")
                .with("path", &request.path),
        }
        .hint("FORMAT parquet, csv or jsonl")),
    }
}

fn wrong(option: &CopyOption, sentence: &'static str) -> Error {
    let error = Error::invalid_input(sentence).with("option", &option.name);
    match option.values.as_slice() {
        [] => error,
        values => error.with("value", values.join(", ")),
    }
}

/// Returns the single value of an option in lower case.
fn word(option: &CopyOption) -> Result<String> {
    match option.values.as_slice() {
        [value] => Ok(value.to_ascii_lowercase()),
        _ => Err(wrong(option, "an option of COPY needs one value")),
    }
}

/// Returns the value of a boolean option; an option without a value is true.
fn switch(option: &CopyOption) -> Result<bool> {
    if option.values.is_empty() {
        return Ok(true);
    }
    match word(option)?.as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(wrong(option, NO_SUCH_VALUE).hint("true or false")),
    }
}

/// Returns the positions of the named columns.
fn keys(option: &CopyOption, row_type: &RowType) -> Result<Vec<usize>> {
    let mut found = Vec::with_capacity(option.values.len());
    for name in &option.values {
        let same = |known: &String| known.eq_ignore_ascii_case(name);
        let position = row_type.index_of(name);
        let position = position.or_else(|| row_type.names().iter().position(same));
        match position {
            Some(position) if found.contains(&position) => {
                return Err(Error::invalid_input("PARTITION_BY names a column twice")
                    .in_named("column", name));
            }
            Some(position) => found.push(position),
            None => {
                return Err(Error::invalid_input("PARTITION_BY names no column of the query")
                    .with("columns", row_type.names().join(", "))
                    .in_named("column", name));
            }
        }
    }
    if found.is_empty() {
        return Err(wrong(option, "an option of COPY needs a value"));
    }
    Ok(found)
}
