//! The one error type of the workspace.
//!
//! A **kind** says who has to act; the message is a fixed sentence, the values follow as fields,
//! and every boundary on the way up (file, row group, column, page, split, operator) adds one
//! frame, so that the text ends in a place:
//!
//! ```text
//! corrupt: definition level above the column's maximum (level=5 max=3)
//!   in page 7, column "tags.element", row group 2, file "part-0.parquet"
//! ```

use std::borrow::Cow;
use std::fmt;

/// The result of everything that can fail in Ocior.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act on an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file breaks its format.
    Corrupt,
    /// Valid, but not built yet.
    Unsupported,
    /// The request (SQL, plan, option, value) is wrong.
    InvalidInput,
    /// A file, directory, table or column does not exist.
    NotFound,
    /// The operating system refused a read or write.
    Io,
    /// A memory or size bound would be passed.
    Limit,
    /// The query was stopped.
    Cancelled,
    /// A mistake in Ocior itself.
    Internal,
}

impl ErrorKind {
    /// The word that opens the printed error.
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

/// The bytes of a file or query text that an error may quote, at most.
const MAX_QUOTED: usize = 200;

/// One error: kind, message, fields, frames from the inside out, and the cause.
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
    /// Makes an error of `kind` with a fixed sentence; values belong into [`Error::with`].
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
        /// The file breaks its format.
        corrupt => Corrupt;
        /// Valid, but not built yet.
        unsupported => Unsupported;
        /// The request is wrong.
        invalid_input => InvalidInput;
        /// Something named does not exist.
        not_found => NotFound;
        /// The operating system refused.
        io => Io;
        /// A bound would be passed.
        limit => Limit;
        /// The query was stopped.
        cancelled => Cancelled;
        /// A mistake in Ocior itself.
        internal => Internal;
    }

    /// Turns an operating system error into `NotFound` or `Io`, keeping the cause.
    #[cold]
    pub fn from_io(error: std::io::Error, message: impl Into<Cow<'static, str>>) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Self::new(kind, message).caused_by(error)
    }

    /// Adds a value to the sentence, printed as `name=value`; long text is cut.
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.fields.push((name, printable(&value.to_string())));
        self
    }

    /// Adds the place this error passes on its way up; a number is printed bare.
    pub fn in_place(mut self, place: &'static str, ordinal: impl fmt::Display) -> Self {
        self.0.frames.push((place, printable(&ordinal.to_string())));
        self
    }

    /// Adds the named place this error passes on its way up; the name is printed quoted.
    pub fn in_named(mut self, place: &'static str, name: impl AsRef<str>) -> Self {
        self.0.frames.push((place, format!("\"{}\"", printable(name.as_ref()))));
        self
    }

    /// Adds advice for the user, printed on a line of its own.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Keeps the cause.
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Who has to act.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The fixed sentence, without fields and frames.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The value of the field `name`, if it was given.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.fields.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }

    /// True when a frame already names this kind of place.
    pub fn is_in(&self, place: &str) -> bool {
        self.0.frames.iter().any(|(p, _)| *p == place)
    }

    /// True when the query, the data or the environment is at fault, false for `Internal`.
    pub fn is_user(&self) -> bool {
        self.0.kind != ErrorKind::Internal
    }

    /// A second error that prints the same, for a failure that several parties must see.
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

/// Escapes control characters and cuts overlong text, since it may come from a hostile file.
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

/// Adds frames to the error of a result, at no cost when it is `Ok`.
pub trait ResultExt<T> {
    /// See [`Error::in_place`].
    fn in_place(self, place: &'static str, ordinal: impl fmt::Display) -> Result<T>;
    /// See [`Error::in_named`].
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
