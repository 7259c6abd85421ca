//! Options of all commands, and the engine that they configure.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dwio::config::Config;
use dwio::fs::LocalAccess;
use format_parquet::ParquetReaderFactory;
use format_parquet::decrypt::{FixedKeys, KeyProvider};
use vector::sync::Arc;
use vector::{Error, ResultExt, Type};

use super::Failure;
use super::output_file::OutputFile;
use crate::output::OutputFormat;
use crate::{Engine, EngineBuilder, QueryOptions};

/// Options that are accepted before or after the command.
#[derive(Debug, Args)]
pub(super) struct GlobalArgs {
    /// Format of the results; auto is a table on a terminal and CSV elsewhere
    #[arg(short, long, global = true, value_enum, default_value = "auto", value_name = "FORMAT")]
    pub(super) format: Format,
    /// Write results to this file, or to standard output for `-`; the extension selects the
    /// format unless --format is given
    #[arg(short, long, global = true, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,
    /// Temporary file of the output, if the output is replaced at the end.
    #[arg(skip)]
    pub(super) output_file: Option<OutputFile>,
    /// Number of scan threads; by default one per processor for `query`, and one for `scan`, which
    /// keeps the order of rows
    #[arg(long, global = true, visible_alias = "threads", value_name = "N",
          value_parser = at_least_one, help_heading = "Engine")]
    pub(super) drivers: Option<usize>,
    /// Memory limit of the query, such as 2GiB or 500MB
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory_size,
          help_heading = "Engine")]
    pub(super) memory: Option<u64>,
    /// Size of a cache of file contents; none by default, because the operating system caches local
    /// files
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory_size,
          help_heading = "Engine")]
    pub(super) cache: Option<u64>,
    /// Types of partition columns instead of the types inferred from directory names
    #[arg(
        long,
        global = true,
        value_name = "NAME=TYPE,..",
        value_parser = named_types,
        help_heading = "Engine"
    )]
    pub(super) partition_types: Option<String>,
    /// Format of the files: parquet, or text for Hive text tables, which need --schema
    #[arg(long, global = true, value_name = "FORMAT", help_heading = "Engine")]
    pub(super) input_format: Option<String>,
    /// Columns of the files with their types, instead of the schemas of the files
    #[arg(long, global = true, value_name = "NAME=TYPE,..", value_parser = named_types,
          help_heading = "Engine")]
    pub(super) schema: Option<String>,
    /// Parameters of text files: field.delim, collection.delim, mapkey.delim, escape.delim,
    /// serialization.null.format, skip.header.line.count; \\t is a tab, \\x01 a byte
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = serde_parameter,
          help_heading = "Engine")]
    pub(super) serde: Vec<(String, String)>,
    /// Map files into memory instead of reading them if they cannot shrink (sealed memory files,
    /// fs-verity, SquashFS, EROFS, ISO 9660)
    #[arg(long, global = true, help_heading = "Engine")]
    pub(super) mmap: bool,
    /// Keys of encrypted files: a JSON file with the members footer, columns and aad_prefix, all
    /// in hexadecimal
    #[arg(long, global = true, value_name = "PATH", value_parser = super::keys::read,
          help_heading = "Engine")]
    pub(super) keys: Option<FixedKeys>,
    /// Verify the checksums of pages that have one; some writers store wrong checksums
    #[arg(long, global = true, help_heading = "Engine")]
    pub(super) verify_checksums: bool,
    /// Change a setting of the engine
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = key_value,
          help_heading = "Engine")]
    pub(super) set: Vec<(String, String)>,
}

/// The values of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Selected by the destination of the output
    Auto,
    /// Aligned columns for people
    Table,
    /// One JSON array of objects
    Json,
    /// One canonical JSON object per line
    Jsonl,
    /// Comma-separated values with a header line
    Csv,
    /// Tab-separated values with a header line
    Tsv,
    /// A Markdown table
    Markdown,
}

impl GlobalArgs {
    /// Returns the format of results: the requested one, else that of the output file's extension,
    /// else a table if standard output is a terminal, and CSV otherwise.
    pub(super) fn output_format(&self) -> OutputFormat {
        self.chosen_format().unwrap_or_else(|| {
            let is_for_people = self.output.is_none() && std::io::stdout().is_terminal();
            if is_for_people { OutputFormat::Table } else { OutputFormat::Csv }
        })
    }

    /// Returns the format that is requested by `--format` or by the output file's extension.
    pub(super) fn chosen_format(&self) -> Option<OutputFormat> {
        match self.format {
            Format::Table => Some(OutputFormat::Table),
            Format::Json => Some(OutputFormat::Json),
            Format::Jsonl => Some(OutputFormat::CanonicalJsonLines),
            Format::Csv => Some(OutputFormat::Csv),
            Format::Tsv => Some(OutputFormat::Tsv),
            Format::Markdown => Some(OutputFormat::Markdown),
            Format::Auto => self.output.as_deref().and_then(by_ending),
        }
    }

    /// Checks that the extension of the output file is that of a result format, unless `--format`
    /// is given. A file without extension or with `txt` is accepted.
    pub(super) fn check_output(&self) -> Result<(), Failure> {
        let Some(path) = self.output.as_deref().filter(|_| self.format == Format::Auto) else {
            return Ok(());
        };
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let Some(ending) = ending.filter(|ending| ending != "txt" && !is_device(path)) else {
            return Ok(());
        };
        if by_ending(path).is_some() {
            return Ok(());
        }
        let file = path.display();
        Err(Failure::Usage(match ending.as_str() {
            "parquet" => format!(
                "--output prints text, and {file} is called a Parquet file\n  \
                 hint: COPY (SELECT ..) TO '{file}' writes Parquet"
            ),
            _ => format!(
                "--output {file} has the ending of no format that results are printed in\n  \
                 hint: csv, tsv, json, jsonl or md; or say --format"
            ),
        }))
    }

    /// Returns the engine that the options configure.
    pub(super) fn engine(&self) -> Engine {
        self.engine_builder().build()
    }

    /// Returns the builder of that engine, so that the caller can add settings.
    pub(super) fn engine_builder(&self) -> EngineBuilder {
        let access = if self.mmap { LocalAccess::Map } else { LocalAccess::Pread };
        let mut builder = Engine::builder().local_access(access);
        if let Some(bytes) = self.memory {
            builder = builder.memory_limit(bytes);
        }
        if let Some(bytes) = self.cache {
            builder = builder.cache_bytes(bytes);
        }
        let parquet = match self.key_provider() {
            Some(keys) => ParquetReaderFactory::with_keys(keys),
            None => ParquetReaderFactory::default(),
        };
        let parquet = parquet.verifying_checksums(self.verify_checksums);
        builder.format(Arc::new(parquet))
    }

    /// Returns the keys of `--keys`.
    pub(super) fn key_provider(&self) -> Option<Arc<dyn KeyProvider>> {
        self.keys.clone().map(|keys| Arc::new(keys) as Arc<dyn KeyProvider>)
    }

    /// Returns the options of a query, with `default_drivers` if `--drivers` is not given.
    pub(super) fn query_options(&self, default_drivers: Option<usize>) -> QueryOptions {
        let mut settings: Config = self.set.iter().cloned().collect();
        let of_tables = [
            (PARTITION_TYPES, &self.partition_types),
            (TABLE_SCHEMA, &self.schema),
            (INPUT_FORMAT, &self.input_format),
        ];
        for (setting, given) in of_tables {
            if let Some(given) = given {
                settings.set(setting, given);
            }
        }
        for (key, value) in &self.serde {
            settings.set(format!("serde.{key}"), value);
        }
        let mut options = QueryOptions { settings, ..QueryOptions::default() };
        if let Some(drivers) = self.drivers.or(default_drivers) {
            options.drivers = drivers;
        }
        options
    }
}

/// Returns true for a device or pipe, whose name does not indicate a format.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Setting of `--partition-types`.
const PARTITION_TYPES: &str = "partition_types";
/// Setting of `--schema`.
const TABLE_SCHEMA: &str = "table_schema";
/// Setting of `--input-format`.
const INPUT_FORMAT: &str = "input_format";

fn by_ending(path: &Path) -> Option<OutputFormat> {
    Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" => OutputFormat::Json,
        "jsonl" | "ndjson" => OutputFormat::CanonicalJsonLines,
        "csv" => OutputFormat::Csv,
        "tsv" => OutputFormat::Tsv,
        "md" => OutputFormat::Markdown,
        _ => return None,
    })
}

/// A statement given as an argument, in a file, or on standard input (`-` or no argument).
#[derive(Debug, Args)]
pub(super) struct SqlArgs {
    /// The statement; read from standard input if it is `-` or absent
    #[arg(value_name = "SQL", conflicts_with = "file")]
    sql: Option<String>,
    /// Read the statement from this file
    #[arg(short = 'F', long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Name a file, directory or glob pattern for use in FROM
    #[arg(long, value_name = "NAME=PATH", value_parser = key_value)]
    table: Vec<(String, String)>,
}

impl SqlArgs {
    /// Returns the statement.
    pub(super) fn text(&self) -> Result<String, Failure> {
        if let Some(path) = &self.file {
            let read = std::fs::read_to_string(path)
                .map_err(|e| Error::from_io(e, "cannot read the statement"))
                .in_named("file", path.to_string_lossy());
            return Ok(read?);
        }
        match self.sql.as_deref() {
            Some(sql) if sql != "-" => Ok(sql.to_string()),
            None if std::io::stdin().is_terminal() => {
                Err(Failure::Usage("a statement is needed: as argument, -F FILE, or input".into()))
            }
            _ => {
                let mut text = String::new();
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(|e| Error::from_io(e, "cannot read the statement from the input"))?;
                Ok(text)
            }
        }
    }

    /// Registers the tables of `--table` with the engine.
    pub(super) fn register_tables(&self, engine: &mut Engine) -> vector::Result<()> {
        self.table.iter().try_for_each(|(name, path)| engine.register_table(name, path))
    }
}

/// Parses an integer of at least one.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_string()),
        Ok(number) => Ok(number),
        Err(_) => Err("not a whole number".to_string()),
    }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.is_empty() => {
            Ok((key.trim().to_string(), value.to_string()))
        }
        _ => Err("expected NAME=VALUE".to_string()),
    }
}

/// Parses a parameter of text files. Its value may be empty and may have escapes for bytes that are
/// difficult to pass through a shell.
fn serde_parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_string(), without_codes(value)))
        }
        _ => Err("expected KEY=VALUE".to_string()),
    }
}

/// Replaces `\t` and `\xNN`; other backslashes are kept.
fn without_codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let code = after.strip_prefix('x').and_then(|code| code.get(..2));
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = if let Some(code) = code.filter(u8::is_ascii) {
            out.push(char::from(code));
            after.get(3..).unwrap_or_default()
        } else if let Some(after) = after.strip_prefix('t') {
            out.push('\t');
            after
        } else {
            out.push('\\');
            after
        };
    }
    out.push_str(rest);
    out
}

/// Checks a list such as `ds=DATE,price=DECIMAL(10,2)` and returns it unchanged for the engine.
fn named_types(text: &str) -> Result<String, String> {
    // A comma within parentheses is part of the type.
    let mut depth = 0i32;
    let pairs = text.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    for pair in pairs {
        let (_, ty) = key_value(pair)?;
        Type::parse(ty.trim()).map_err(|error| error.to_string())?;
    }
    Ok(text.to_string())
}

/// Parses a size such as `2GiB`, `1.5GB`, `512M` or a number of bytes.
fn memory_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: f64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err("expected a size such as 2GiB or 500MB".to_string()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| "not a number".to_string())?;
    let bytes = number * unit;
    // A larger limit has no effect, and up to this value the conversion is exact enough.
    if !(1.0..=1e18).contains(&bytes) {
        return Err("must be from 1 byte to 1e18 bytes".to_string());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_decimal_and_binary_units() {
        assert_eq!(memory_size("2GiB"), Ok(2 << 30));
        assert_eq!(memory_size("1.5GB"), Ok(1_500_000_000));
        assert_eq!(memory_size("64M"), Ok(64 << 20));
        assert_eq!(memory_size("4096"), Ok(4096));
        for wrong in ["", "GiB", "-1", "0", "2 parsecs", "NaN", "inf", "1e30"] {
            assert!(memory_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_need_a_name_and_a_value() {
        assert_eq!(key_value("t=a=b"), Ok(("t".into(), "a=b".into())));
        assert!(key_value("t").is_err());
        assert!(key_value("=x").is_err());
        assert!(key_value("t=").is_err());
    }

    #[test]
    fn parameters_of_text_may_be_empty_or_codes() {
        let value = |text| serde_parameter(text).map(|(_, value)| value);
        assert_eq!(value("field.delim=\\t"), Ok("\t".into()));
        assert_eq!(value("field.delim=\\x01"), Ok("\u{1}".into()));
        assert_eq!(value("serialization.null.format=\\N"), Ok("\\N".into()));
        assert_eq!(value("escape.delim=\\"), Ok("\\".into()));
        assert_eq!(value("escape.delim="), Ok("".into()));
        assert!(value("field.delim").is_err());
    }

    #[test]
    fn types_of_columns_are_checked_when_they_are_read() {
        for right in ["ds=date", "ds=DATE,price=decimal(10,2), n=bigint"] {
            assert_eq!(named_types(right), Ok(right.into()));
        }
        for wrong in ["", "ds", "ds=daate", "ds=date,", "ds=date n=bigint"] {
            assert!(named_types(wrong).is_err(), "{wrong}");
        }
    }
}
