//! The error type of the workspace.
//!
//! The [`ErrorKind`] states which side has to act. The message is a fixed sentence, and the values
//! that belong to it follow as fields. Every level that the error passes on its way up (file, row
//! group, column, page, split, operator) adds one frame, so that the text states where the error
//! occurred:
//!
//! ```text
//! corrupt: definition level above the column's maximum (level=5 max=3)
//!   in page 7, column "tags.element", row group 2, file "part-0.parquet"
//! ```

use std::borrow::Cow;
use std::fmt;

/// Result of every fallible operation in Ocior.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Class of an [`Error`]: which side has to act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file violates its format.
    Corrupt,
    /// The input is valid, but Ocior does not implement it.
    Unsupported,
    /// The request (SQL, plan, option or value) is wrong.
    InvalidInput,
    /// A file, directory, table or column does not exist.
    NotFound,
    /// The operating system refused a read or a write.
    Io,
    /// A memory or size limit would be exceeded.
    Limit,
    /// The query was cancelled.
    Cancelled,
    /// Ocior has a bug.
    Internal,
}

impl ErrorKind {
    /// Returns the word that starts the printed error.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::InvalidInput => "invalid input",
            ErrorKind::NotFound => "not found",
            ErrorKind::Io => "i/o",
            ErrorKind::Limit => "limit",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Internal => "internal",
        }
    }
}

/// Maximum number of bytes of text from a file or a query that an error quotes.
const MAX_QUOTED: usize = 200;

/// An error: kind, message, fields, frames from the innermost to the outermost, and the cause.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    fields: Vec<(&'static str, String)>,
    frames: Vec<(&'static str, String)>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {
        $($(#[$doc])* #[cold]
        pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
            Self::new(ErrorKind::$kind, message)
        })*
    };
}

impl Error {
    /// Creates an error of `kind` with a fixed sentence; values are added with [`Error::with`].
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            fields: Vec::new(),
            frames: Vec::new(),
            hint: None,
            source: None,
        }))
    }

    constructors! {
        /// Creates an error for a file that violates its format.
        corrupt => Corrupt;
        /// Creates an error for valid input that Ocior does not implement.
        unsupported => Unsupported;
        /// Creates an error for a wrong request.
        invalid_input => InvalidInput;
        /// Creates an error for a file, directory, table or column that does not exist.
        not_found => NotFound;
        /// Creates an error for a read or write that the operating system refused.
        io => Io;
        /// Creates an error for a memory or size limit that would be exceeded.
        limit => Limit;
        /// Creates an error for a cancelled query.
        cancelled => Cancelled;
        /// Creates an error for a bug in Ocior.
        internal => Internal;
    }

    /// Converts an operating system error to kind `NotFound` or `Io` and keeps it as the cause.
    #[cold]
    pub fn from_io(error: std::io::Error, message: impl Into<Cow<'static, str>>) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Self::new(kind, message).caused_by(error)
    }

    /// Adds a field to the message, printed as `name=value`. Control characters are escaped, and
    /// text longer than 200 bytes is truncated.
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.fields.push((name, printable(&value.to_string())));
        self
    }

    /// Adds a frame for a place with a number or another unquoted name, such as `page 7`.
    pub fn in_place(mut self, place: &'static str, ordinal: impl fmt::Display) -> Self {
        self.0.frames.push((place, printable(&ordinal.to_string())));
        self
    }

    /// Adds a frame for a named place; the name is printed in quotes.
    pub fn in_named(mut self, place: &'static str, name: impl AsRef<str>) -> Self {
        self.0.frames.push((place, format!("\"{}\"", printable(name.as_ref()))));
        self
    }

    /// Sets a hint for the user, printed on its own line.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the cause.
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the fixed sentence, without fields and frames.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the value of the field `name`, or `None` if the error has no such field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.fields.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }

    /// Returns true if a frame already has this kind of place, such as `page`.
    pub fn is_in(&self, place: &str) -> bool {
        self.0.frames.iter().any(|(p, _)| *p == place)
    }

    /// Returns true if the query, the data or the environment caused the error, and false for
    /// `Internal`.
    pub fn is_user(&self) -> bool {
        self.0.kind != ErrorKind::Internal
    }

    /// Returns a second error that prints the same, for a failure that several receivers must get.
    /// The cause is kept as text only.
    pub fn duplicate(&self) -> Error {
        Error(Box::new(Inner {
            kind: self.0.kind,
            message: self.0.message.clone(),
            fields: self.0.fields.clone(),
            frames: self.0.frames.clone(),
            hint: self.0.hint.clone(),
            source: self.0.source.as_ref().map(|s| s.to_string().into()),
        }))
    }
}

/// Escapes control characters and truncates long text, because the text may come from a hostile
/// file.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_QUOTED));
    for c in text.chars() {
        if out.len() >= MAX_QUOTED {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &self.0;
        write!(f, "{}: {}", e.kind.as_str(), e.message)?;
        for (i, (name, value)) in e.fields.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { " (" } else { " " })?;
        }
        if !e.fields.is_empty() {
            f.write_str(")")?;
        }
        if let Some(source) = &e.source {
            write!(f, ": {}", printable(&source.to_string()))?;
        }
        for (i, (place, name)) in e.frames.iter().enumerate() {
            write!(f, "{}{place} {name}", if i == 0 { "\n  in " } else { ", " })?;
        }
        if let Some(hint) = &e.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as _)
    }
}

/// Adds frames to the error of a result, at no cost when the result is `Ok`.
pub trait ResultExt<T> {
    /// Adds a frame as [`Error::in_place`] does.
    fn in_place(self, place: &'static str, ordinal: impl fmt::Display) -> Result<T>;
    /// Adds a frame as [`Error::in_named`] does.
    fn in_named(self, place: &'static str, name: impl AsRef<str>) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn in_place(self, place: &'static str, ordinal: impl fmt::Display) -> Result<T> {
        self.map_err(|e| e.in_place(place, ordinal))
    }

    fn in_named(self, place: &'static str, name: impl AsRef<str>) -> Result<T> {
        self.map_err(|e| e.in_named(place, name))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_error_prints_sentence_values_and_places_from_the_inside_out() {
        let error = Error::corrupt("definition level above the column's maximum")
            .with("level", 5)
            .with("max", 3)
            .in_place("page", 7)
            .in_named("column", "tags.element")
            .in_named("file", "part-0.parquet");
        assert_eq!(
            error.to_string(),
            "corrupt: definition level above the column's maximum (level=5 max=3)\n  \
             in page 7, column \"tags.element\", file \"part-0.parquet\""
        );
        assert_eq!(error.field("level"), Some("5"));
        assert!(error.is_in("page") && !error.is_in("row group"));
        assert_eq!(error.duplicate().to_string(), error.to_string());
    }

    #[test]
    fn text_of_a_hostile_file_is_escaped_and_cut() {
        let long = format!("a\u{1b}[31m{}", "x".repeat(10_000));
        let text = Error::corrupt("bad name").with("name", &long).to_string();
        assert!(text.contains("a\\u{1b}[31m"));
        assert!(text.len() < 300, "{}", text.len());
    }

    #[test]
    fn a_missing_file_is_not_found_and_other_failures_are_io() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(Error::from_io(missing, "cannot open").kind(), ErrorKind::NotFound);
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert_eq!(Error::from_io(denied, "cannot open").kind(), ErrorKind::Io);
    }

    #[test]
    fn only_internal_errors_are_not_the_users() {
        assert!(!Error::internal("x").is_user());
        assert!(Error::corrupt("x").is_user());
    }
}
