//! Logical types and their storage kinds.
//!
//! A [`Type`] is the meaning of a value, and its [`TypeKind`] is how the value is stored. Code that
//! only moves or compares bytes dispatches on kinds, while code that prints, casts or converts
//! dispatches on types (rule S1.9).
//!
//! | type | kind (storage) | stored as |
//! |---|---|---|
//! | BOOLEAN | Boolean | bit |
//! | TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT | same names | i8, i16, i32, i64, i128 |
//! | REAL, DOUBLE; FLOAT16 | Real, Double; Real | f32, f64; f32, widened exactly |
//! | VARCHAR, VARBINARY | same names | 16-byte string view |
//! | DATE | Integer | days since 1970-01-01 |
//! | TIME(unit) | BigInt | units since midnight |
//! | TIMESTAMP | Timestamp | seconds and nanoseconds since 1970-01-01T00:00:00 |
//! | DECIMAL(p <= 18, s), DECIMAL(p > 18, s) | BigInt, HugeInt | unscaled integer |
//! | UUID | HugeInt | big-endian bytes as a number |
//! | INTERVAL | HugeInt | months, days, milliseconds packed, see [`Interval`] |
//! | ARRAY, MAP, ROW, UNKNOWN | same names | nested vectors; UNKNOWN has only nulls |

pub mod calendar;
pub mod decimal;
mod row_type;
pub mod string_view;
pub mod temporal;
pub mod uuid;
pub mod value;

use crate::sync::Arc;
use std::fmt;

pub use row_type::RowType;
pub use string_view::StringView;
pub use temporal::{Interval, TimeUnit, Timestamp};
pub use value::Value;

use crate::error::{Error, Result};

/// Largest precision of a short decimal, which is stored as an unscaled 64-bit integer (rule S1.8).
pub const MAX_SHORT_PRECISION: u8 = 18;
/// Largest precision of any decimal.
pub const MAX_PRECISION: u8 = 38;

/// A logical type: the meaning of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Boolean,
    /// 8-bit signed integer.
    TinyInt,
    /// 16-bit signed integer.
    SmallInt,
    /// 32-bit signed integer.
    Integer,
    /// 64-bit signed integer.
    BigInt,
    /// 128-bit signed integer.
    HugeInt,
    /// Half-precision float, stored as the equal `f32`.
    Float16,
    /// 32-bit float.
    Real,
    /// 64-bit float.
    Double,
    /// Text. The writer is expected to produce UTF-8, which is not verified.
    Varchar,
    /// Arbitrary bytes.
    Varbinary,
    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    Date,
    /// Time of day in the given unit.
    Time(TimeUnit),
    /// A point in time, or a local date and time; the engine does not apply time zones to it.
    Timestamp,
    /// Fixed-point number with `precision` digits, `scale` of them after the decimal point.
    Decimal {
        /// Total number of digits, 1 to [`MAX_PRECISION`].
        precision: u8,
        /// Number of digits after the decimal point, at most `precision`.
        scale: u8,
    },
    /// 16-byte identifier.
    Uuid,
    /// Months, days and milliseconds.
    Interval,
    /// List of elements.
    Array(Arc<Type>),
    /// List of key-value pairs: the type of the keys and that of the values.
    Map(Arc<Type>, Arc<Type>),
    /// Struct of named fields.
    Row(Arc<RowType>),
    /// Type of a column in which every value is null (rule S1.10).
    Unknown,
}

/// How a value is stored; kernels are selected by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum TypeKind {
    Boolean,
    TinyInt,
    SmallInt,
    Integer,
    BigInt,
    HugeInt,
    Real,
    Double,
    Varchar,
    Varbinary,
    Timestamp,
    Array,
    Map,
    Row,
    Unknown,
}

impl Type {
    /// Returns the type of arrays of `element`.
    pub fn array(element: Type) -> Type {
        Type::Array(Arc::new(element))
    }

    /// Returns the type of maps from `key` to `value`.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    /// Returns the type of rows of named fields.
    pub fn row<N: Into<String>>(fields: impl IntoIterator<Item = (N, Type)>) -> Type {
        Type::Row(Arc::new(RowType::new(fields)))
    }

    /// Returns a decimal type.
    ///
    /// # Errors
    /// `InvalidInput` unless `1 <= precision <= 38` and `scale <= precision`.
    pub fn decimal(precision: u8, scale: u8) -> Result<Type> {
        if precision == 0 || precision > MAX_PRECISION || scale > precision {
            return Err(Error::invalid_input("a decimal needs 1 to 38 digits and a scale within")
                .with("precision", precision)
                .with("scale", scale));
        }
        Ok(Type::Decimal { precision, scale })
    }

    /// Returns the kind, which is how values of this type are stored.
    pub fn kind(&self) -> TypeKind {
        match self {
            Type::Boolean => TypeKind::Boolean,
            Type::TinyInt => TypeKind::TinyInt,
            Type::SmallInt => TypeKind::SmallInt,
            Type::Integer | Type::Date => TypeKind::Integer,
            Type::BigInt | Type::Time(_) => TypeKind::BigInt,
            Type::HugeInt | Type::Uuid | Type::Interval => TypeKind::HugeInt,
            Type::Real | Type::Float16 => TypeKind::Real,
            Type::Double => TypeKind::Double,
            Type::Varchar => TypeKind::Varchar,
            Type::Varbinary => TypeKind::Varbinary,
            Type::Timestamp => TypeKind::Timestamp,
            Type::Decimal { precision, .. } if *precision <= MAX_SHORT_PRECISION => {
                TypeKind::BigInt
            }
            Type::Decimal { .. } => TypeKind::HugeInt,
            Type::Array(_) => TypeKind::Array,
            Type::Map(..) => TypeKind::Map,
            Type::Row(_) => TypeKind::Row,
            Type::Unknown => TypeKind::Unknown,
        }
    }

    /// Returns true if both types have the same kinds and parameters. The names of row fields are
    /// ignored, as in casts between plan and file (rule S1.7).
    pub fn is_equivalent(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Array(a), Type::Array(b)) => a.is_equivalent(b),
            (Type::Map(k, v), Type::Map(l, w)) => k.is_equivalent(l) && v.is_equivalent(w),
            (Type::Row(a), Type::Row(b)) => {
                let mut types = a.types().iter().zip(b.types());
                Arc::ptr_eq(a, b) || (a.len() == b.len() && types.all(|(x, y)| x.is_equivalent(y)))
            }
            (a, b) => a == b,
        }
    }

    /// Returns true for ARRAY, MAP and ROW.
    pub fn is_nested(&self) -> bool {
        matches!(self, Type::Array(_) | Type::Map(..) | Type::Row(_))
    }

    /// Returns true for TINYINT, SMALLINT, INTEGER and BIGINT. HUGEINT is not included.
    pub fn is_integer(&self) -> bool {
        matches!(self, Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt)
    }

    /// Returns true for FLOAT16, REAL and DOUBLE.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::Float16 | Type::Real | Type::Double)
    }

    /// Returns true for all types that support arithmetic: integers, HUGEINT, floats and decimals.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, Type::HugeInt | Type::Decimal { .. })
    }

    /// Returns the fields if this is a ROW.
    pub fn as_row(&self) -> Option<&Arc<RowType>> {
        match self {
            Type::Row(row) => Some(row),
            _ => None,
        }
    }

    /// Parses the text that [`Type`] prints; names of types are accepted in upper and lower case.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a type; `Limit` if the type is nested too deeply.
    pub fn parse(text: &str) -> Result<Type> {
        let mut parser = parse::Parser::new(text);
        let ty = parser.ty()?;
        parser.end()?;
        Ok(ty)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Boolean => f.write_str("BOOLEAN"),
            Type::TinyInt => f.write_str("TINYINT"),
            Type::SmallInt => f.write_str("SMALLINT"),
            Type::Integer => f.write_str("INTEGER"),
            Type::BigInt => f.write_str("BIGINT"),
            Type::HugeInt => f.write_str("HUGEINT"),
            Type::Float16 => f.write_str("FLOAT16"),
            Type::Real => f.write_str("REAL"),
            Type::Double => f.write_str("DOUBLE"),
            Type::Varchar => f.write_str("VARCHAR"),
            Type::Varbinary => f.write_str("VARBINARY"),
            Type::Date => f.write_str("DATE"),
            Type::Time(unit) => write!(f, "TIME({})", unit.digits()),
            Type::Timestamp => f.write_str("TIMESTAMP"),
            Type::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Type::Uuid => f.write_str("UUID"),
            Type::Interval => f.write_str("INTERVAL"),
            Type::Array(element) => write!(f, "ARRAY({element})"),
            Type::Map(key, value) => write!(f, "MAP({key},{value})"),
            Type::Row(row) => write!(f, "ROW({row})"),
            Type::Unknown => f.write_str("UNKNOWN"),
        }
    }
}

mod parse {
    //! Parser of the text form of types: `ROW(a BIGINT,"b c" ARRAY(VARCHAR))`.

    use super::*;

    /// Maximum nesting depth of a parsed type.
    const MAX_DEPTH: usize = 100;

    pub(super) struct Parser<'a> {
        text: &'a str,
        rest: &'a str,
        depth: usize,
    }

    impl<'a> Parser<'a> {
        pub(super) fn new(text: &'a str) -> Self {
            Parser { text, rest: text, depth: 0 }
        }

        fn error(&self) -> Error {
            Error::invalid_input("not the name of a type")
                .with("text", self.text)
                .with("offset", self.text.len() - self.rest.len())
        }

        fn skip_space(&mut self) {
            self.rest = self.rest.trim_start();
        }

        fn take(&mut self, c: char) -> bool {
            self.skip_space();
            match self.rest.strip_prefix(c) {
                Some(rest) => {
                    self.rest = rest;
                    true
                }
                None => false,
            }
        }

        fn expect(&mut self, c: char) -> Result<()> {
            if self.take(c) { Ok(()) } else { Err(self.error()) }
        }

        pub(super) fn end(&mut self) -> Result<()> {
            self.skip_space();
            if self.rest.is_empty() { Ok(()) } else { Err(self.error()) }
        }

        fn word(&mut self) -> &'a str {
            self.skip_space();
            let end = self
                .rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            word
        }

        fn number(&mut self) -> Result<u8> {
            let word = self.word();
            word.parse().map_err(|_| self.error())
        }

        fn field_name(&mut self) -> Result<String> {
            if !self.take('"') {
                let word = self.word();
                return if word.is_empty() { Err(self.error()) } else { Ok(word.to_string()) };
            }
            let mut name = String::new();
            loop {
                let end = self.rest.find('"').ok_or_else(|| self.error())?;
                let (part, rest) = self.rest.split_at(end);
                name.push_str(part);
                self.rest = rest.strip_prefix('"').unwrap_or(rest);
                match self.rest.strip_prefix('"') {
                    Some(rest) => {
                        name.push('"');
                        self.rest = rest;
                    }
                    None => return Ok(name),
                }
            }
        }

        pub(super) fn ty(&mut self) -> Result<Type> {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Error::limit("type nested too deep").with("max", MAX_DEPTH));
            }
            let word = self.word().to_ascii_uppercase();
            let ty = match word.as_str() {
                "BOOLEAN" | "BOOL" => Type::Boolean,
                "TINYINT" => Type::TinyInt,
                "SMALLINT" => Type::SmallInt,
                "INTEGER" | "INT" => Type::Integer,
                "BIGINT" => Type::BigInt,
                "HUGEINT" => Type::HugeInt,
                "FLOAT16" => Type::Float16,
                "REAL" | "FLOAT" => Type::Real,
                "DOUBLE" => Type::Double,
                "VARCHAR" | "STRING" => Type::Varchar,
                "VARBINARY" | "BINARY" => Type::Varbinary,
                "DATE" => Type::Date,
                "TIMESTAMP" => Type::Timestamp,
                "UUID" => Type::Uuid,
                "INTERVAL" => Type::Interval,
                "UNKNOWN" => Type::Unknown,
                "TIME" => {
                    let mut digits = 3;
                    if self.take('(') {
                        digits = self.number()?;
                        self.expect(')')?;
                    }
                    Type::Time(TimeUnit::from_digits(digits).ok_or_else(|| self.error())?)
                }
                "DECIMAL" => {
                    self.expect('(')?;
                    let precision = self.number()?;
                    let scale = if self.take(',') { self.number()? } else { 0 };
                    self.expect(')')?;
                    Type::decimal(precision, scale)?
                }
                "ARRAY" => {
                    self.expect('(')?;
                    let element = self.ty()?;
                    self.expect(')')?;
                    Type::array(element)
                }
                "MAP" => {
                    self.expect('(')?;
                    let key = self.ty()?;
                    self.expect(',')?;
                    let value = self.ty()?;
                    self.expect(')')?;
                    Type::map(key, value)
                }
                "ROW" => Type::row(self.fields()?),
                _ => return Err(self.error()),
            };
            self.depth -= 1;
            Ok(ty)
        }

        fn fields(&mut self) -> Result<Vec<(String, Type)>> {
            self.expect('(')?;
            let mut fields = Vec::new();
            if self.take(')') {
                return Ok(fields);
            }
            loop {
                let name = self.field_name()?;
                fields.push((name, self.ty()?));
                if !self.take(',') {
                    break;
                }
            }
            self.expect(')')?;
            Ok(fields)
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_type_reads_back_what_it_prints() {
        let ty = Type::row([
            ("a", Type::BigInt),
            ("b c\"", Type::array(Type::decimal(20, 4).unwrap())),
            ("m", Type::map(Type::Varchar, Type::Time(TimeUnit::Micros))),
            ("r", Type::row([("x", Type::Unknown)])),
        ]);
        let text = ty.to_string();
        assert_eq!(
            text,
            "ROW(a BIGINT,\"b c\"\"\" ARRAY(DECIMAL(20,4)),m MAP(VARCHAR,TIME(6)),\
             r ROW(x UNKNOWN))"
        );
        assert_eq!(Type::parse(&text).unwrap(), ty);
    }

    #[test]
    fn bad_type_texts_are_user_errors() {
        for text in ["", "BIGINTS", "DECIMAL(0,0)", "DECIMAL(39,1)", "ARRAY(", "ROW(a)", "MAP(x)"] {
            assert!(Type::parse(text).unwrap_err().is_user(), "{text}");
        }
        assert!(Type::parse(&"ARRAY(".repeat(100_000)).is_err());
    }

    #[test]
    fn equivalence_ignores_field_names_and_nothing_else() {
        let a = Type::row([("a", Type::BigInt)]);
        assert!(a.is_equivalent(&Type::row([("b", Type::BigInt)])));
        assert!(!a.is_equivalent(&Type::row([("a", Type::Integer)])));
        assert!(!Type::Date.is_equivalent(&Type::Integer));
    }
}
