//! Subfields: paths into nested columns, and their text form (rules S3.1 to S3.6).
//!
//! ```text
//! a.b[1]["k"][*]      column a, field b, position or key 1, key k, all elements
//! ```
//!
//! In the text form, names consist of letters, digits and a few punctuation characters. Any other
//! name is added to a path with [`Subfield::column`] and [`Subfield::then`], which take it
//! literally.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

use vector::sync::Arc;
use vector::{Error, Result};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathElement {
    /// A column or a struct field, by name.
    Field(Arc<str>),
    /// An array position or an integer map key.
    Index(i64),
    /// A string map key.
    Key(Arc<[u8]>),
    /// All elements.
    All,
}

impl PathElement {
    /// Returns the name of a column or field; `None` for other steps.
    pub fn as_field(&self) -> Option<&str> {
        match self {
            PathElement::Field(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the array position or integer key; `None` for other steps.
    pub fn as_index(&self) -> Option<i64> {
        match self {
            PathElement::Index(index) => Some(*index),
            _ => None,
        }
    }

    /// Returns the string key; `None` for other steps.
    pub fn as_key(&self) -> Option<&[u8]> {
        match self {
            PathElement::Key(key) => Some(key),
            _ => None,
        }
    }
}

/// A path whose first step names a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subfield {
    path: Vec<PathElement>,
}

impl Subfield {
    /// Returns the path of a column. The name is taken literally, even if it contains separators
    /// (rule S3.4).
    pub fn column(name: impl Into<Arc<str>>) -> Self {
        Subfield { path: vec![PathElement::Field(name.into())] }
    }

    /// Appends a step to the path.
    pub fn then(mut self, element: PathElement) -> Self {
        self.path.push(element);
        self
    }

    /// Parses the text form of a path.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a path; the error marks the position of the fault with a
    /// caret.
    ///
    /// ```
    /// # use ocior_dwio as dwio;
    /// use dwio::subfield::{PathElement, Subfield};
    ///
    /// let path = Subfield::parse(r#"a.b[1]["k"]"#).unwrap();
    /// assert_eq!(path.path()[2], PathElement::Index(1));
    /// assert_eq!(path.to_string(), r#"a.b[1]["k"]"#);
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, rest: text.char_indices().peekable() };
        let mut path = Self::column(parser.name()?);
        while let Some(element) = parser.next_element()? {
            path.path.push(element);
        }
        Ok(path)
    }

    /// Returns the steps of the path; the first is always a field.
    pub fn path(&self) -> &[PathElement] {
        &self.path
    }

    /// Returns the name of the column.
    pub fn column_name(&self) -> &str {
        self.path.first().and_then(PathElement::as_field).unwrap_or_default()
    }

    /// Returns true if the path is a column without further steps.
    pub fn is_column(&self) -> bool {
        self.path.len() == 1
    }

    /// Returns true if this path is a proper prefix of `longer`; no path is a prefix of itself
    /// (rule S3.5).
    pub fn is_prefix_of(&self, longer: &Subfield) -> bool {
        self.path.len() < longer.path.len() && longer.path.starts_with(&self.path)
    }
}

impl fmt::Display for Subfield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, element) in self.path.iter().enumerate() {
            match element {
                PathElement::Field(name) if i == 0 => f.write_str(name)?,
                PathElement::Field(name) => write!(f, ".{name}")?,
                PathElement::Index(index) => write!(f, "[{index}]")?,
                PathElement::All => f.write_str("[*]")?,
                PathElement::Key(key) => {
                    let text = String::from_utf8_lossy(key);
                    write!(f, "[\"{}\"]", text.replace('\\', "\\\\").replace('"', "\\\""))?;
                }
            }
        }
        Ok(())
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

impl Parser<'_> {
    /// Parses the next step, a field or a subscript; returns `None` at the end of the text.
    fn next_element(&mut self) -> Result<Option<PathElement>> {
        match self.peek() {
            None => Ok(None),
            Some('.') => {
                self.rest.next();
                Ok(Some(PathElement::Field(self.name()?.into())))
            }
            Some('[') => {
                self.rest.next();
                let element = match self.peek() {
                    Some('"') => self.key()?,
                    Some('*') => {
                        self.rest.next();
                        PathElement::All
                    }
                    _ => self.index()?,
                };
                self.expect(']')?;
                Ok(Some(element))
            }
            Some(_) => Err(self.error("invalid path")),
        }
    }

    fn name(&mut self) -> Result<String> {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_ -:$/@|#".contains(c);
        let name = self.run_of(is_in_name);
        if name.is_empty() { Err(self.error("invalid path")) } else { Ok(name) }
    }

    fn index(&mut self) -> Result<PathElement> {
        let start = self.rest.clone();
        let run = self.run_of(|c| c.is_ascii_alphanumeric() || "_ -".contains(c));
        match run.parse() {
            Ok(index) => Ok(PathElement::Index(index)),
            Err(_) => {
                self.rest = start;
                Err(self.error(if run.is_empty() { "invalid path" } else { "invalid index" }))
            }
        }
    }

    /// Parses a quoted string, in which `\` escapes `"` and `\`.
    fn key(&mut self) -> Result<PathElement> {
        self.expect('"')?;
        let mut key = String::new();
        loop {
            match self.peek() {
                Some('"') => break,
                Some('\\') => {
                    self.rest.next();
                    match self.peek() {
                        Some(c @ ('"' | '\\')) => key.push(c),
                        _ => return Err(self.error("invalid path")),
                    }
                }
                Some(c) => key.push(c),
                None => return Err(self.error("invalid path")),
            }
            self.rest.next();
        }
        self.expect('"')?;
        // A star selects all elements, with or without quotes (rule S3.2).
        Ok(if key == "*" { PathElement::All } else { PathElement::Key(key.into_bytes().into()) })
    }

    fn run_of(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let mut run = String::new();
        while let Some((_, c)) = self.rest.next_if(|(_, c)| is_part(*c)) {
            run.push(c);
        }
        run
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, c)| *c)
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        match self.rest.next_if(|(_, c)| *c == wanted) {
            Some(_) => Ok(()),
            None => Err(self.error("invalid path")),
        }
    }

    fn error(&mut self, message: &'static str) -> Error {
        let at = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        let (before, after) = self.text.split_at(at);
        Error::invalid_input(message).with("path", format_args!("{before}^{after}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> PathElement {
        PathElement::Key(text.as_bytes().into())
    }

    #[test]
    fn a_path_is_printed_as_it_is_read() {
        let path = Subfield::column("a")
            .then(PathElement::Field("b c".into()))
            .then(PathElement::Index(-7))
            .then(key("k\"\\é]"))
            .then(PathElement::All);
        let text = r#"a.b c[-7]["k\"\\é]"][*]"#;
        assert_eq!(path.to_string(), text);
        assert_eq!(Subfield::parse(text).unwrap(), path);
        assert_eq!(Subfield::parse(r#"a["*"]"#).unwrap().path()[1], PathElement::All);
        assert_eq!(Subfield::parse(r#"a[""]"#).unwrap().path()[1], key(""));
        assert_eq!(Subfield::parse("$path").unwrap(), Subfield::column("$path"));
    }

    #[test]
    fn what_is_no_path_is_marked_where_it_breaks() {
        for (text, marked) in [
            ("", "^"),
            ("[1]", "^[1]"),
            ("a.", "a.^"),
            ("a..b", "a.^.b"),
            ("a.*", "a.^*"),
            ("a.[1]", "a.^[1]"),
            ("a[1", "a[1^"),
            ("a[]", "a[^]"),
            ("a[1]b", "a[1]^b"),
            (r#"a["k]"#, r#"a["k]^"#),
            (r#"a["\n"]"#, r#"a["\^n"]"#),
            ("é", "^é"),
            ("a]", "a^]"),
        ] {
            let error = Subfield::parse(text).unwrap_err();
            assert_eq!(error.to_string(), format!("invalid input: invalid path (path={marked})"));
        }
        let error = Subfield::parse("a[1x]").unwrap_err();
        assert_eq!(error.to_string(), "invalid input: invalid index (path=a[^1x])");
    }

    #[test]
    fn a_name_with_separators_is_one_column() {
        let literal = Subfield::column("c.0");
        assert!(literal.is_column() && literal.column_name() == "c.0");
        let parsed = Subfield::parse("c.0").unwrap();
        assert_ne!(parsed, literal);
        assert!(Subfield::column("c").is_prefix_of(&parsed) && !parsed.is_prefix_of(&parsed));
    }
}
