//! Text encoding of a table: separators, escape byte, null text and header lines (rule S7.11 names
//! the parameters).
//!
//! ```text
//! serde.field.delim         separates columns            \x01
//! serde.collection.delim    elements, fields, entries    \x02
//! serde.mapkey.delim        a key and its value          \x03
//!                           deeper levels of nesting     \x04 .. \x08
//! serde.escape.delim        precedes a separator that is text, an n for a line feed, and an r for
//!                           a carriage return; no escapes if absent
//! table.serialization.null.format     text of null       \N
//! table.skip.header.line.count        lines without rows at the start of the file
//! ```
//!
//! Serde parameters belong to splits, table parameters to the table handle. A parameter that would
//! change the result and is not implemented is rejected with an error that names it.

use dwio::config::Config;
use dwio::reader::{SERDE_PREFIX, TABLE_PREFIX};
use vector::{Error, Result};

/// The serde parameters that are accepted. For some of them only the usual value is implemented.
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

/// Checks a serde parameter that a user has written. Parameters of tables are not checked this way,
/// since tables may have parameters of other programs.
///
/// # Errors
/// `InvalidInput` for an unknown parameter or an empty separator.
pub fn check_parameter(name: &str, value: &str) -> Result<()> {
    if !SERDE_PARAMETERS.contains(&name) {
        return Err(Error::invalid_input("no such serde parameter")
            .with("parameter", name)
            .hint(format!("the parameters are {}", SERDE_PARAMETERS.join(", "))));
    }
    // An empty escape parameter means a backslash, but an empty separator is invalid.
    if value.is_empty() && name.ends_with(".delim") && name != "escape.delim" {
        return Err(Error::invalid_input("a separator is empty").with("parameter", name));
    }
    Ok(())
}

/// Number of nesting levels that have a separator.
pub(crate) const NUM_SEPARATORS: usize = 8;

/// Maximum length of a line in bytes if no setting changes it. The limit is necessary because a
/// compressed file of a few kilobytes may contain a line of any length, and the values of a line
/// are kept in addition to it.
const DEFAULT_MAX_LINE_BYTES: usize = 16 << 20;

/// Upper limit of the maximum line length. Strings of vectors must be shorter than this, so lines
/// must be too.
const MAX_MAX_LINE_BYTES: usize = 1 << 29;

/// Treatment of a text that is not a valid value of its column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadValues {
    /// The value is null, as in Hive.
    Null,
    /// The value is an error.
    Refuse,
}

/// Text encoding of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialect {
    separators: [u8; NUM_SEPARATORS],
    /// Escape byte, which makes the separator after it text; `None` if the table has no escapes.
    pub escape: Option<u8>,
    /// Text that stands for null.
    pub null_text: Vec<u8>,
    /// Number of lines without rows at the start of a file.
    pub header_lines: u64,
    /// If true, the last column is the rest of the line, separators included.
    pub last_column_takes_rest: bool,
    /// Maximum number of bytes of a line.
    pub max_line_bytes: usize,
    /// Treatment of texts that are not valid values.
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
    /// Returns the dialect that the options of the format describe.
    ///
    /// # Errors
    /// `InvalidInput` for a parameter with an invalid value, `Unsupported` for one that is not
    /// implemented.
    pub(crate) fn new(options: &Config) -> Result<Self> {
        let mut dialect = Dialect::default();
        let serde = |name: &'static str| Parameter::of(options, SERDE_PREFIX, name);
        let anywhere =
            |name: &'static str| serde(name).or_else(|| Parameter::of(options, TABLE_PREFIX, name));
        let names: [&[&'static str]; 3] = [
            &["field.delim", "serialization.format"],
            // The second spelling is a mistake in Hive that tables use.
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
        // Makes Hive write line ends as escapes. Reading accepts such escapes in any case.
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

    /// Returns the separator of a nesting level, where level 0 separates columns; `None` if the
    /// level is too deep.
    pub(crate) fn separator(&self, level: usize) -> Option<u8> {
        self.separators.get(level).copied()
    }
}

/// A parameter with its text.
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

    /// Returns the character code if the text consists of digits, else its first byte.
    fn separator(self) -> Result<u8> {
        match self.text.as_bytes() {
            digits if digits.iter().all(u8::is_ascii_digit) => self.parsed(),
            [first, ..] => Ok(*first),
            [] => Err(self.wrong()),
        }
    }

    /// Returns the character code if the text is a number that fits a byte, else its first byte; a
    /// backslash if the text is empty.
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
