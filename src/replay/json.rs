//! JSON values with their position in the document, which errors report.
//!
//! ```text
//! unsupported: a plan node that is not built (name=WindowNode)
//!   in plan "/sources/0"
//! ```
//!
//! A member that is `null` is treated as absent, as the writers of plans do.

use serde_json::Value;
use vector::{Error, Result};

/// A value inside of a JSON document.
#[derive(Debug, Clone)]
pub(super) struct Json<'a> {
    value: &'a Value,
    document: &'static str,
    /// JSON pointer from the document's root to the value.
    path: String,
}

impl<'a> Json<'a> {
    /// Returns the root of a document, which errors call `document`.
    pub(super) fn root(document: &'static str, value: &'a Value) -> Self {
        Json { value, document, path: String::new() }
    }

    fn below(&self, step: impl std::fmt::Display, value: &'a Value) -> Self {
        Json { value, document: self.document, path: format!("{}/{step}", self.path) }
    }

    /// Returns the JSON pointer of this value.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Adds this position to an error.
    pub(super) fn locate(&self, error: Error) -> Error {
        error.in_named(self.document, if self.path.is_empty() { "/" } else { &self.path })
    }

    /// Adds this position to the error of a result.
    pub(super) fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.locate(error))
    }

    /// Returns the `Unsupported` error that this value names a `what`, which is not implemented.
    pub(super) fn refuse(&self, what: &'static str) -> Error {
        let name = match self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.locate(Error::unsupported(what).with("name", name))
    }

    /// Returns the `Unsupported` error that this object's class is a `what`, which is not
    /// implemented.
    pub(super) fn refuse_class(&self, what: &'static str) -> Error {
        match self.class() {
            Ok((_, class)) => class.refuse(what),
            Err(error) => error,
        }
    }

    /// Returns the error that this value is not of the expected kind.
    pub(super) fn wrong(&self, expected: &'static str) -> Error {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.locate(
            Error::invalid_input("a value of the wrong kind")
                .with("expected", expected)
                .with("found", kind),
        )
    }

    /// Returns a member that is required.
    pub(super) fn member(&self, name: &'static str) -> Result<Json<'a>> {
        self.optional(name)?.ok_or_else(|| {
            self.locate(Error::invalid_input("a member is missing").with("member", name))
        })
    }

    /// Returns a member, if it is present.
    pub(super) fn optional(&self, name: &str) -> Result<Option<Json<'a>>> {
        let Value::Object(members) = self.value else { return Err(self.wrong("an object")) };
        Ok(members.get(name).filter(|v| !v.is_null()).map(|v| self.below(name, v)))
    }

    /// Returns the members of an object.
    pub(super) fn members(&self) -> Result<Vec<(&'a str, Json<'a>)>> {
        let Value::Object(members) = self.value else { return Err(self.wrong("an object")) };
        Ok(members.iter().map(|(name, v)| (name.as_str(), self.below(name, v))).collect())
    }

    /// Returns the members of the object `name`, which may be absent.
    pub(super) fn optional_members(&self, name: &str) -> Result<Vec<(&'a str, Json<'a>)>> {
        self.optional(name)?.map_or(Ok(Vec::new()), |json| json.members())
    }

    /// Returns the elements of an array.
    pub(super) fn elements(&self) -> Result<Vec<Json<'a>>> {
        let Value::Array(elements) = self.value else { return Err(self.wrong("an array")) };
        Ok(elements.iter().enumerate().map(|(i, v)| self.below(i, v)).collect())
    }

    /// Returns the elements of the array `name`, which may be absent.
    pub(super) fn optional_elements(&self, name: &str) -> Result<Vec<Json<'a>>> {
        self.optional(name)?.map_or(Ok(Vec::new()), |json| json.elements())
    }

    /// Returns the class of this object, which is its member `name`, and that member for errors.
    pub(super) fn class(&self) -> Result<(&'a str, Json<'a>)> {
        let name = self.member("name")?;
        Ok((name.text()?, name))
    }

    /// Returns true for `null`.
    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// Returns the text of a string.
    pub(super) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    /// Returns a boolean.
    pub(super) fn boolean(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("a boolean"))
    }

    /// Returns a boolean member that is false when absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        self.optional(name)?.map_or(Ok(false), |json| json.boolean())
    }

    /// Returns an integer that fits `T`.
    pub(super) fn integer<T: TryFrom<i64>>(&self) -> Result<T> {
        let number = self.value.as_i64().ok_or_else(|| self.wrong("an integer"))?;
        T::try_from(number).map_err(|_| {
            self.locate(Error::invalid_input("an integer is out of range").with("value", number))
        })
    }

    /// Returns an integer of up to 128 bits, which is written as a number or as decimal text.
    pub(super) fn huge_integer(&self) -> Result<i128> {
        match self.value {
            Value::String(text) => text.parse().map_err(|_| self.wrong("a whole number")),
            _ => self.integer::<i64>().map(i128::from),
        }
    }

    /// Returns a float, which is written as a number or as `NaN`, `Infinity`, `-Infinity`.
    pub(super) fn float(&self) -> Result<f64> {
        match self.value {
            Value::String(text) if text == "NaN" => Ok(f64::NAN),
            Value::String(text) if text == "Infinity" => Ok(f64::INFINITY),
            Value::String(text) if text == "-Infinity" => Ok(f64::NEG_INFINITY),
            other => other.as_f64().ok_or_else(|| self.wrong("a number")),
        }
    }

    /// Returns the text of a setting, which may be written as a string, a number or a boolean.
    pub(super) fn setting(&self) -> Result<String> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Bool(_) | Value::Number(_) => Ok(self.value.to_string()),
            _ => Err(self.wrong("a setting")),
        }
    }
}
