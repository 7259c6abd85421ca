//! How a table writes its values as text (rule S7.11).
//!
//! ```text
//! serde.field.delim         separates columns            \x01
//! serde.collection.delim    elements, fields, entries    \x02
//! serde.mapkey.delim        a key and its value          \x03
//!                           what is nested deeper        \x04 .. \x08
//! serde.escape.delim        before a separator that is text, an n that is a line feed, and an r
//!                           that is a carriage return; off when absent
//! table.serialization.null.format     null               \N
//! table.skip.header.line.count        lines without rows at the file's start
//! ```
//!
//! Serde parameters come from splits, table parameters from the table handle. A parameter that would
//! change what is read and is not built is refused by name.

use dwio::config::Config;
use vector::{Error, Result};

/// Before a serde parameter of a split, among the options of a format.
pub const SERDE_PREFIX: &str = "serde.";

/// Before a parameter of the table, among the options of a format.
pub const TABLE_PREFIX: &str = "table.";

/// The serde parameters that are known, those of which only the usual value is built among them.
pub const SERDE_PARAMETERS: [&str; 14] = [
    "field.delim",
    "serialization.format",
    "collection.delim",
    "colelction.delim",
    "mapkey.delim",
    "escape.delim",
    "serialization.null.format",
    "skip.header.line.count",
    "skip.footer.line.count",
    "serialization.last.column.takes.rest",
    "serialization.escape.crlf",
    "line.delim",
    "serialization.encoding",
    "timestamp.formats",
];

/// Refuses a parameter that nobody reads. For what people type: the parameters of tables have names
/// that are not for us.
pub fn check_parameter(name: &str, value: &str) -> Result<()> {
    if !SERDE_PARAMETERS.contains(&name) {
        return Err(Error::invalid_input("no such serde parameter")
            .with("parameter", name)
            .hint(format!("the parameters are {}", SERDE_PARAMETERS.join(", "))));
    }
    // Without its text an escape is a backslash, but nothing separates by nothing.
    if value.is_empty() && name.ends_with(".delim") && name != "escape.delim" {
        return Err(Error::invalid_input("a separator is empty").with("parameter", name));
    }
    Ok(())
}

/// Levels of nesting that have a separator.
pub const NUM_SEPARATORS: usize = 8;

/// Bytes of the longest line, unless a setting says otherwise: a packed file of a few kilobytes may
/// hold a line of any length, and its values are held beside it.
const DEFAULT_MAX_LINE_BYTES: usize = 16 << 20;

/// Strings of vectors are shorter than this, so lines have to be.
const MAX_MAX_LINE_BYTES: usize = 1 << 29;

/// What becomes of a text that is no value of its column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadValues {
    /// It is null, as in Hive.
    Null,
    /// It is an error.
    Refuse,
}

/// How values are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    separators: [u8; NUM_SEPARATORS],
    /// The byte before a separator that is text, if there is one.
    pub escape: Option<u8>,
    /// What stands for null.
    pub null_text: Vec<u8>,
    /// Lines without rows at the start of a file.
    pub header_lines: u64,
    /// True when the last column has what is left of the line, separators and all.
    pub last_column_takes_rest: bool,
    /// Bytes of a line at most.
    pub max_line_bytes: usize,
    /// What becomes of bad values.
    pub bad_values: BadValues,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            separators: [1, 2, 3, 4, 5, 6, 7, 8],
            escape: None,
            null_text: b"\\N".to_vec(),
            header_lines: 0,
            last_column_takes_rest: false,
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
            bad_values: BadValues::Null,
        }
    }
}

impl Dialect {
    /// The dialect that the options of the format describe. `InvalidInput` for a parameter that
    /// makes no sense, `Unsupported` for one that is not built.
    pub fn new(options: &Config) -> Result<Self> {
        let mut dialect = Dialect::default();
        let serde = |name: &'static str| Parameter::of(options, SERDE_PREFIX, name);
        let anywhere =
            |name: &'static str| serde(name).or_else(|| Parameter::of(options, TABLE_PREFIX, name));
        let names: [&[&'static str]; 3] = [
            &["field.delim", "serialization.format"],
            // The second spelling is Hive's own mistake, and in use.
            &["collection.delim", "colelction.delim"],
            &["mapkey.delim"],
        ];
        for (separator, names) in dialect.separators.iter_mut().zip(names) {
            let given = names.iter().find_map(|name| serde(name).filter(|p| !p.text.is_empty()));
            if let Some(given) = given {
                *separator = given.separator()?;
            }
        }
        dialect.escape = serde("escape.delim").map(|given| given.escape());
        if let Some(given) = anywhere("serialization.null.format") {
            dialect.null_text = given.text.as_bytes().to_vec();
        }
        if let Some(given) = anywhere("skip.header.line.count") {
            dialect.header_lines = given.parsed()?;
        }
        if let Some(given) = anywhere("serialization.last.column.takes.rest") {
            dialect.last_column_takes_rest = given.parsed()?;
        }
        // Tells Hive to write line ends as escapes; they are read as such in any case.
        if let Some(given) = anywhere("serialization.escape.crlf") {
            given.parsed::<bool>()?;
        }
        dialect.max_line_bytes =
            options.get("max-line-bytes", DEFAULT_MAX_LINE_BYTES)?.clamp(1, MAX_MAX_LINE_BYTES);
        dialect.bad_values = match options.text("bad-values") {
            None | Some("null") => BadValues::Null,
            Some("error") => BadValues::Refuse,
            Some(other) => {
                return Err(Error::invalid_input("bad values are null or an error")
                    .with("setting", "text.bad-values")
                    .with("value", other));
            }
        };
        let as_usual: [(&'static str, &[&str]); 4] = [
            ("skip.footer.line.count", &["0"]),
            ("line.delim", &["\n", "10"]),
            ("serialization.encoding", &["UTF-8", "utf-8", "utf8", "UTF8"]),
            ("timestamp.formats", &[]),
        ];
        for (name, usual) in as_usual {
            if let Some(given) = anywhere(name)
                && !given.text.is_empty()
                && !usual.contains(&given.text)
            {
                return Err(Error::unsupported("a parameter of text tables that is not built")
                    .with("parameter", name)
                    .with("value", given.text));
            }
        }
        Ok(dialect)
    }

    /// The separator of a level: 0 is that of columns. None when it is nested too deep.
    pub fn separator(&self, level: usize) -> Option<u8> {
        self.separators.get(level).copied()
    }
}

/// A parameter that is given.
#[derive(Debug, Clone, Copy)]
struct Parameter<'a> {
    name: &'static str,
    text: &'a str,
}

impl<'a> Parameter<'a> {
    fn of(options: &'a Config, prefix: &str, name: &'static str) -> Option<Self> {
        let text = options.text(&format!("{prefix}{name}"))?;
        Some(Parameter { name, text })
    }

    /// A character code when it is made of digits, else the first byte.
    fn separator(self) -> Result<u8> {
        match self.text.as_bytes() {
            digits if digits.iter().all(u8::is_ascii_digit) => self.parsed(),
            [first, ..] => Ok(*first),
            [] => Err(self.wrong()),
        }
    }

    /// A code when it is a number that fits a byte, else the first byte; a backslash when empty.
    fn escape(self) -> u8 {
        let first = self.text.as_bytes().first().copied().unwrap_or(b'\\');
        self.text.parse().unwrap_or(first)
    }

    fn parsed<T: std::str::FromStr>(self) -> Result<T> {
        self.text.trim().to_ascii_lowercase().parse().map_err(|_| self.wrong())
    }

    fn wrong(self) -> Error {
        Error::invalid_input("a parameter of a text table has no such value")
            .with("parameter", self.name)
            .with("value", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_people_type_are_known_and_separate_by_something() {
        assert!(SERDE_PARAMETERS.iter().all(|name| check_parameter(name, ",").is_ok()));
        assert!(check_parameter("field.delimiter", ",").is_err());
        assert!(check_parameter("field.delim", "").is_err());
        assert!(check_parameter("escape.delim", "").is_ok());
        assert!(check_parameter("serialization.null.format", "").is_ok());
    }
}
