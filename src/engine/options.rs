//! Options of one query.

use connector_hive::{DEFAULT_SCHEMA_FILES, SerdeParameters};
use dwio::config::Config;
use dwio::reader::{FileFormat, SERDE_PREFIX};
use exec::QueryConfig;
use vector::sync::{Arc, thread};
use vector::{Error, Result, RowType, Type};

use crate::replay::record::Recording;

/// Setting with the types of partition keys: `ds=DATE,hour=BIGINT`.
const PARTITION_TYPES: &str = "partition_types";

/// Setting with the format of files.
const INPUT_FORMAT: &str = "input_format";

/// Setting with the columns of files and their types: `id=BIGINT,name=VARCHAR`.
const TABLE_SCHEMA: &str = "table_schema";

/// Setting with the maximum number of files that are opened to infer a table's columns.
const SCHEMA_FILES: &str = "max_schema_files";

/// Options for running a query.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// Number of drivers that scan in parallel, at least one. With one driver, rows are returned in
    /// the order of paths and of rows within a file.
    pub drivers: usize,
    /// Settings by name, as `--set key=value` passes them:
    /// * those of [`QueryConfig`](exec::QueryConfig) and those of the connector;
    /// * `partition_types` (`ds=DATE,hour=BIGINT`): types of keys, instead of inferred ones;
    /// * `table_schema`: columns of files, in the same form;
    /// * `input_format`: the format of files;
    /// * `max_schema_files` (1,000 by default): maximum number of files of a table that are opened
    ///   to infer its columns;
    /// * `parquet_max_page_bytes` (2 GiB - 1 by default, the most that the format has): the largest
    ///   page that is decompressed;
    /// * names with the prefix `serde.`, such as `serde.field.delim`: parameters of text files.
    pub settings: Config,
    /// Recording of the query's trace, if requested; for one run only.
    pub recording: Option<Arc<Recording>>,
}

impl Default for QueryOptions {
    /// One driver for each processor.
    fn default() -> Self {
        let drivers = thread::available_parallelism().map_or(1, usize::from);
        QueryOptions { drivers, settings: Config::new(), recording: None }
    }
}

impl QueryOptions {
    /// Rejects unknown settings, since a misspelt one must not silently use the default. Names of
    /// connector settings may have dashes or underscores and may omit their prefix. Settings with a
    /// format as prefix are left to the format.
    pub(super) fn check_settings(&self) -> Result<()> {
        let spelled = |name: &str| name.replace(['-', '.'], "_");
        let known: Vec<String> = QueryConfig::NAMES
            .iter()
            .chain(&connector_hive::SETTING_NAMES)
            .chain(&[PARTITION_TYPES, INPUT_FORMAT, TABLE_SCHEMA, SCHEMA_FILES])
            .map(|name| spelled(name))
            .collect();
        for (name, value) in self.settings.iter() {
            if let Some(parameter) = name.strip_prefix(SERDE_PREFIX) {
                format_text::check_parameter(parameter, value)?;
                continue;
            }
            let plain = spelled(name);
            let plain = plain.strip_prefix("hive_").unwrap_or(&plain);
            if known.iter().any(|k| k == plain) || is_of_format(plain) {
                continue;
            }
            let error = Error::invalid_input("no such setting").with("setting", name);
            return Err(match exec::expr::nearest(plain, known.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error.hint(format!("the settings are {}", known.join(", "))),
            });
        }
        Ok(())
    }

    /// Returns the types given for partition keys.
    pub(super) fn partition_types(&self) -> Result<Vec<(String, Type)>> {
        self.named_types(PARTITION_TYPES)
    }

    /// Returns the options for the files of tables.
    pub(super) fn file_options(&self) -> Result<FileOptions> {
        let columns = self.named_types(TABLE_SCHEMA)?;
        let parameters = self.settings.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix(SERDE_PREFIX)?.to_string(), value.to_string()))
        });
        let format = self.settings.text(INPUT_FORMAT).unwrap_or(format_parquet::FORMAT_NAME);
        Ok(FileOptions {
            format: FileFormat::new(format),
            columns: (!columns.is_empty()).then(|| Arc::new(RowType::new(columns))),
            serde_parameters: Arc::new(parameters.collect()),
            max_schema_files: self.max_schema_files()?,
        })
    }

    fn max_schema_files(&self) -> Result<usize> {
        let Some(text) = self.settings.text(SCHEMA_FILES) else { return Ok(DEFAULT_SCHEMA_FILES) };
        text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            Error::invalid_input("a setting must be a whole number of at least 1")
                .with("setting", SCHEMA_FILES)
                .with("found", text)
        })
    }

    fn named_types(&self, setting: &str) -> Result<Vec<(String, Type)>> {
        let text = self.settings.text(setting).unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        // The syntax of the fields of a row, with `=` between name and type.
        let fields = split_outside_parentheses(text).into_iter().map(|pair| {
            let (name, ty) = pair.split_once('=').ok_or_else(|| {
                Error::invalid_input("a type of a column is written NAME=TYPE")
                    .with("setting", setting)
                    .with("found", pair)
            })?;
            Ok((name.trim().to_string(), Type::parse(ty.trim())?))
        });
        let fields: Vec<(String, Type)> = fields.collect::<Result<_>>()?;
        for (i, (name, _)) in fields.iter().enumerate() {
            if fields[..i].iter().any(|(before, _)| before.eq_ignore_ascii_case(name)) {
                return Err(Error::invalid_input("a column is named twice")
                    .with("setting", setting)
                    .in_named("column", name));
            }
        }
        Ok(fields)
    }
}

/// Options of a query for the files of its tables.
#[derive(Debug, Clone)]
pub(super) struct FileOptions {
    /// Format of the files.
    pub(super) format: FileFormat,
    /// Columns of the files; `None` to read them from a file.
    pub(super) columns: Option<Arc<RowType>>,
    /// Parameters of text files.
    pub(super) serde_parameters: SerdeParameters,
    /// Maximum number of files of a table that are opened to infer its columns.
    pub(super) max_schema_files: usize,
}

fn is_of_format(name: &str) -> bool {
    let formats = [format_parquet::FORMAT_NAME, format_text::FORMAT_NAME];
    let mut rests = formats.iter().filter_map(|format| name.strip_prefix(format));
    rests.any(|rest| rest.starts_with('_'))
}

/// Splits at commas outside parentheses, so that `DECIMAL(10,2)` is one part.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0usize, 0);
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A scan without SQL: files, columns and a condition.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Files, directories or glob patterns; at least one.
    pub paths: Vec<String>,
    /// Columns to return, each a name or a path into a struct (`a.b`); `None` for all columns.
    pub columns: Option<Vec<String>>,
    /// Condition in SQL that the rows must pass.
    pub filter: Option<String>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_types_are_read_from_a_setting() {
        let mut options = QueryOptions::default();
        assert_eq!(options.partition_types().unwrap(), []);
        options.settings.set("partition_types", "ds=DATE, p = DECIMAL(10,2)");
        let types = options.partition_types().unwrap();
        let decimal = Type::Decimal { precision: 10, scale: 2 };
        assert_eq!(types, [("ds".to_string(), Type::Date), ("p".to_string(), decimal)]);
        options.settings.set("partition_types", "ds");
        assert!(options.partition_types().unwrap_err().is_user());
    }

    #[test]
    fn a_setting_that_nobody_reads_is_refused_with_the_nearest_name() {
        let mut options = QueryOptions::default();
        for name in ["sample-seed", "hive.ignore_missing_files", "max_output_batch_rows"] {
            options.settings.set(name, "1");
        }
        options.settings.set("parquet_use_column_names", "true");
        options.check_settings().unwrap();
        options.settings.set("max_output_batch_row", "1");
        assert_eq!(
            options.check_settings().unwrap_err().to_string(),
            "invalid input: no such setting (setting=max_output_batch_row)\n  \
             hint: did you mean max_output_batch_rows?"
        );
    }

    #[test]
    fn serde_parameters_and_columns_are_refused_where_nobody_could_mean_them() {
        let checked = |name: &str, value: &str| {
            let mut options = QueryOptions::default();
            options.settings.set(name, value);
            options.check_settings().and_then(|()| options.file_options().map(drop))
        };
        checked("serde.field.delim", "|").unwrap();
        checked("table_schema", "a=BIGINT,b=VARCHAR").unwrap();
        for (name, value) in [
            ("serde.field.delimiter", "|"),
            ("serde.field.delim", ""),
            ("table_schema", "a=BIGINT,A=VARCHAR"),
        ] {
            assert!(checked(name, value).unwrap_err().is_user(), "{name}={value}");
        }
    }
}
