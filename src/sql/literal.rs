//! Translates SQL literals into constants, and SQL type names into types.
//!
//! | text | type |
//! |---|---|
//! | `1`, `3000000000`, `10000000000000000000` | INTEGER, BIGINT, HUGEINT: the first that holds it |
//! | `0.05` | DECIMAL with exactly its digits; DOUBLE beyond 38 of them |
//! | `5e-2` | DOUBLE |
//! | `'x'`, `X'00ff'` | VARCHAR, VARBINARY |
//! | `DATE '2026-09-01'`, `TIMESTAMP '...'` | the type named |

use dwio::expr::TypedExpr;
use sqlparser::ast::{
    ArrayElemTypeDef, BinaryLength, DataType, ExactNumberInfo, ObjectName, StructField,
    TimezoneInfo, Value as Literal,
};
use vector::types::{MAX_PRECISION, MAX_SHORT_PRECISION, decimal, temporal};
use vector::{Error, Result, RowType, TimeUnit, Timestamp, Type, Value};

/// Returns the constant of a literal; `negative` is true for a number after a minus sign.
pub(crate) fn constant(literal: &Literal, negative: bool) -> Result<TypedExpr> {
    let (value, ty) = match literal {
        Literal::Number(text, _) => return number(text, negative),
        Literal::Boolean(value) => (Value::Boolean(*value), Type::Boolean),
        Literal::Null => (Value::Null, Type::Unknown),
        Literal::SingleQuotedString(text)
        | Literal::EscapedStringLiteral(text)
        | Literal::UnicodeStringLiteral(text)
        | Literal::NationalStringLiteral(text) => (Value::bytes(text), Type::Varchar),
        Literal::DollarQuotedString(text) => (Value::bytes(&text.value), Type::Varchar),
        Literal::HexStringLiteral(digits) => (hex(digits)?, Type::Varbinary),
        Literal::Placeholder(name) => {
            return Err(Error::unsupported("query parameters are not supported yet")
                .with("parameter", name));
        }
        other => {
            return Err(
                Error::unsupported("this form of literal is not supported").with("literal", other)
            );
        }
    };
    Ok(TypedExpr::constant(value, ty))
}

/// Parses a number: integer, exact decimal or, with an exponent, DOUBLE.
fn number(text: &str, negative: bool) -> Result<TypedExpr> {
    let plain = text.replace('_', "");
    let signed = if negative { format!("-{plain}") } else { plain.clone() };
    let exact = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if !exact {
        return double(&signed);
    }
    if !plain.contains('.')
        && let Ok(value) = signed.parse::<i128>()
    {
        return Ok(integer(value));
    }
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let whole_digits = whole.trim_start_matches('0').len();
    let digits = (whole_digits + fraction.len()).max(1);
    match (u8::try_from(digits), u8::try_from(fraction.len())) {
        (Ok(precision), Ok(scale)) if precision <= MAX_PRECISION => {
            let unscaled = decimal::parse(&signed, precision, scale)
                .ok_or_else(|| Error::internal("a decimal literal that does not fit its digits"))?;
            Ok(decimal_constant(unscaled, precision, scale))
        }
        _ => double(&signed),
    }
}

fn double(text: &str) -> Result<TypedExpr> {
    let value: f64 =
        text.parse().map_err(|_| Error::invalid_input("not a number").with("text", text))?;
    if value.is_infinite() {
        return Err(Error::invalid_input("a number is too large").with("text", text));
    }
    Ok(TypedExpr::constant(Value::Double(value), Type::Double))
}

fn integer(value: i128) -> TypedExpr {
    if let Ok(value) = i32::try_from(value) {
        TypedExpr::constant(Value::Integer(value), Type::Integer)
    } else if let Ok(value) = i64::try_from(value) {
        TypedExpr::constant(Value::BigInt(value), Type::BigInt)
    } else {
        TypedExpr::constant(Value::HugeInt(value), Type::HugeInt)
    }
}

fn decimal_constant(unscaled: i128, precision: u8, scale: u8) -> TypedExpr {
    let value = match i64::try_from(unscaled) {
        Ok(short) if precision <= MAX_SHORT_PRECISION => Value::BigInt(short),
        _ => Value::HugeInt(unscaled),
    };
    TypedExpr::constant(value, Type::Decimal { precision, scale })
}

fn hex(digits: &str) -> Result<Value> {
    let broken = || Error::invalid_input("not a hexadecimal literal").with("text", digits);
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(broken());
    }
    let bytes: Vec<u8> = (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).map_err(|_| broken()))
        .collect::<Result<_>>()?;
    Ok(Value::bytes(bytes))
}

/// Converts a text literal to a value of `ty`, where a value of that type is expected; returns
/// `None` for types to which text is not converted implicitly.
pub(crate) fn text_as(text: &[u8], ty: &Type) -> Option<Result<Value>> {
    let utf8 = std::str::from_utf8(text).ok();
    let value = match ty {
        Type::Date => utf8
            .and_then(temporal::parse_date)
            .and_then(|days| i32::try_from(days).ok())
            .map(Value::Integer),
        Type::Timestamp => utf8.and_then(Timestamp::parse).map(Value::Timestamp),
        Type::Time(unit) => utf8.and_then(temporal::parse_time).and_then(|(seconds, nanos)| {
            let per_second = unit.per_second();
            let step = temporal::NANOS_PER_SECOND / per_second as u64;
            // A truncated literal would be equal to values that differ from what was written.
            nanos
                .is_multiple_of(step)
                .then(|| Value::BigInt(seconds * per_second + (nanos / step) as i64))
        }),
        Type::Varbinary => Some(Value::bytes(text)),
        _ => return None,
    };
    Some(value.ok_or_else(|| {
        Error::invalid_input("a text is not of the type that is expected here")
            .with("text", String::from_utf8_lossy(text))
            .with("type", ty)
    }))
}

/// Converts an exact number to a value of `ty`; `None` unless `ty` is an exact numeric type that
/// can represent it.
///
/// This lets `tiny = 1` and `price < 24` be compared in the column's own type, which keeps the
/// column free of casts and its filter simple.
pub(crate) fn exact_as(value: &Value, from: &Type, ty: &Type) -> Option<Value> {
    let from_scale = scale_of(from)?;
    let scale = scale_of(ty)?;
    let number = value.as_i128()?;
    let number = match from_scale.checked_sub(scale) {
        Some(0) => number,
        Some(down) => {
            let unit = decimal::power_of_ten(down)?;
            if number % unit != 0 {
                return None;
            }
            number / unit
        }
        None => number.checked_mul(decimal::power_of_ten(scale - from_scale)?)?,
    };
    match ty {
        Type::TinyInt => i8::try_from(number).ok().map(Value::TinyInt),
        Type::SmallInt => i16::try_from(number).ok().map(Value::SmallInt),
        Type::Integer => i32::try_from(number).ok().map(Value::Integer),
        Type::BigInt => i64::try_from(number).ok().map(Value::BigInt),
        Type::HugeInt => Some(Value::HugeInt(number)),
        Type::Decimal { precision, .. } if decimal::fits(number, *precision) => {
            match i64::try_from(number) {
                Ok(short) if *precision <= MAX_SHORT_PRECISION => Some(Value::BigInt(short)),
                _ => Some(Value::HugeInt(number)),
            }
        }
        _ => None,
    }
}

fn scale_of(ty: &Type) -> Option<u8> {
    match ty {
        Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt | Type::HugeInt => Some(0),
        Type::Decimal { scale, .. } => Some(*scale),
        _ => None,
    }
}

/// Returns the type that a SQL type name means.
///
/// # Errors
///
/// `ErrorKind::Unsupported` for types that do not exist in the engine.
pub(crate) fn data_type(named: &DataType) -> Result<Type> {
    Ok(match named {
        DataType::Bool | DataType::Boolean => Type::Boolean,
        DataType::TinyInt(_) => Type::TinyInt,
        DataType::SmallInt(_) | DataType::Int2(_) => Type::SmallInt,
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => Type::Integer,
        DataType::BigInt(_) | DataType::Int8(_) => Type::BigInt,
        DataType::HugeInt => Type::HugeInt,
        DataType::Real | DataType::Float4 => Type::Real,
        DataType::Float(ExactNumberInfo::None) => Type::Real,
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 => Type::Double,
        // A length would have to be enforced; none of the engine's types has one.
        DataType::Varchar(None)
        | DataType::CharacterVarying(None)
        | DataType::CharVarying(None)
        | DataType::Text
        | DataType::String(None) => Type::Varchar,
        DataType::Varbinary(None | Some(BinaryLength::Max))
        | DataType::Blob(None)
        | DataType::Bytea
        | DataType::Bytes(None)
        | DataType::Binary(None) => Type::Varbinary,
        DataType::Date => Type::Date,
        DataType::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            time_type(named, *digits)?
        }
        DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | DataType::TimestampNtz(_)
        | DataType::Datetime(_) => Type::Timestamp,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
            decimal_type(*info)?
        }
        DataType::Uuid => Type::Uuid,
        DataType::Array(
            ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::SquareBracket(element, None)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => Type::array(data_type(element)?),
        DataType::Map(key, value, _) => Type::map(data_type(key)?, data_type(value)?),
        DataType::Struct(fields, _) => struct_type(fields)?,
        DataType::Custom(name, modifiers) if modifiers.is_empty() => custom_type(name)?,
        other => return Err(unknown_type(other)),
    })
}

fn unknown_type(named: &dyn std::fmt::Display) -> Error {
    Error::unsupported("no such type").with("type", named).hint(
        "there are BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, REAL, DOUBLE, VARCHAR, \
         VARBINARY, DATE, TIME, TIMESTAMP, DECIMAL(p,s), UUID",
    )
}

fn custom_type(name: &ObjectName) -> Result<Type> {
    let text = name.to_string();
    Type::parse(&text).map_err(|_| unknown_type(&text))
}

/// Returns the type of `TIME '...'` for a literal with more fraction digits than the default
/// precision of the named type.
pub(crate) fn fine_enough(named: &DataType, ty: Type, text: &TypedExpr) -> Type {
    let TypedExpr::Constant { value: Value::Bytes(text), .. } = text else { return ty };
    let point = text.iter().position(|byte| *byte == b'.');
    let digits = point.map_or(0, |point| text.len() - point - 1);
    match named {
        DataType::Time(None, _) if digits > 6 => Type::Time(TimeUnit::Nanos),
        _ => ty,
    }
}

fn time_type(named: &DataType, digits: Option<u64>) -> Result<Type> {
    let digits = digits.unwrap_or(6);
    let unit = u8::try_from(digits).ok().and_then(TimeUnit::from_digits);
    unit.map(Type::Time).ok_or_else(|| unknown_type(named))
}

fn decimal_type(info: ExactNumberInfo) -> Result<Type> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (18, 3),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision), Ok(scale)) => Type::decimal(precision, scale),
        _ => Err(Error::invalid_input("a decimal needs 1 to 38 digits and a scale within")
            .with("precision", precision)
            .with("scale", scale)),
    }
}

fn struct_type(fields: &[StructField]) -> Result<Type> {
    let fields = fields.iter().map(|field| {
        let name = field.field_name.as_ref().map_or(String::new(), |n| n.value.clone());
        Ok((name, data_type(&field.field_type)?))
    });
    Ok(Type::Row(vector::sync::Arc::new(RowType::new(fields.collect::<Result<Vec<_>>>()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, negative: bool) -> String {
        let constant = constant(&Literal::Number(text.into(), false), negative).unwrap();
        format!("{constant} {}", constant.ty())
    }

    #[test]
    fn numbers_get_the_smallest_type_that_holds_them() {
        assert_eq!(shown("1", false), "1 INTEGER");
        assert_eq!(shown("2147483648", true), "-2147483648 INTEGER");
        assert_eq!(shown("2147483648", false), "2147483648 BIGINT");
        assert_eq!(shown("9223372036854775808", true), "-9223372036854775808 BIGINT");
        assert_eq!(shown("9223372036854775808", false), "9223372036854775808 HUGEINT");
        assert_eq!(shown("1_000", false), "1000 INTEGER");
    }

    #[test]
    fn numbers_with_a_point_are_exact_and_those_with_an_exponent_are_not() {
        assert_eq!(shown("0.05", false), "0.05 DECIMAL(2,2)");
        assert_eq!(shown("0.05", true), "-0.05 DECIMAL(2,2)");
        assert_eq!(shown("100.50", false), "100.50 DECIMAL(5,2)");
        assert_eq!(shown("00.0", false), "0.0 DECIMAL(1,1)");
        assert_eq!(shown("5.", false), "5 DECIMAL(1,0)");
        assert_eq!(shown(".5", false), "0.5 DECIMAL(1,1)");
        assert_eq!(shown("5e-2", false), "0.05 DOUBLE");
        assert_eq!(
            shown(&format!("{}.5", "1".repeat(30)), false).len(),
            32 + " DECIMAL(31,1)".len()
        );
        assert!(shown(&"9".repeat(50), false).ends_with("DOUBLE"));
        let huge = constant(&Literal::Number("1e999".into(), false), false).unwrap_err();
        assert_eq!(huge.to_string(), "invalid input: a number is too large (text=1e999)");
    }

    #[test]
    fn text_becomes_dates_and_times_where_they_are_expected() {
        assert_eq!(text_as(b"2026-09-01", &Type::Date).unwrap().unwrap(), Value::Integer(20_697));
        let error = text_as(b"yesterday", &Type::Date).unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid input: a text is not of the type that is expected here \
             (text=yesterday type=DATE)"
        );
        assert!(text_as(b"1", &Type::BigInt).is_none());
        let millis = |text: &[u8]| text_as(text, &Type::Time(TimeUnit::Millis)).unwrap();
        assert_eq!(millis(b"00:00:01.5").unwrap(), Value::BigInt(1_500));
        assert!(millis(b"00:00:01.5004").is_err());
    }

    #[test]
    fn a_time_literal_keeps_all_of_its_digits() {
        let named = DataType::Time(None, TimezoneInfo::None);
        let ty = |text: &str| {
            let text = TypedExpr::constant(Value::bytes(text), Type::Varchar);
            fine_enough(&named, Type::Time(TimeUnit::Micros), &text)
        };
        assert_eq!(ty("12:00:00.123456"), Type::Time(TimeUnit::Micros));
        assert_eq!(ty("12:00:00.123456789"), Type::Time(TimeUnit::Nanos));
    }

    #[test]
    fn exact_numbers_move_into_a_columns_type_only_when_nothing_is_lost() {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let five = Value::Integer(5);
        assert_eq!(exact_as(&five, &Type::Integer, &Type::TinyInt), Some(Value::TinyInt(5)));
        assert_eq!(exact_as(&five, &Type::Integer, &decimal(4, 2)), Some(Value::BigInt(500)));
        assert_eq!(
            exact_as(&Value::BigInt(500), &decimal(4, 2), &Type::BigInt),
            Some(Value::BigInt(5))
        );
        assert_eq!(exact_as(&Value::BigInt(501), &decimal(4, 2), &Type::BigInt), None);
        assert_eq!(exact_as(&Value::Integer(1000), &Type::Integer, &Type::TinyInt), None);
        assert_eq!(exact_as(&five, &Type::Integer, &Type::Double), None);
    }

    #[test]
    fn types_have_their_usual_names() {
        use crate::sql::parse::parse_expression;
        use sqlparser::ast::Expr;
        let named = |text: &str| match parse_expression(&format!("CAST(x AS {text})")).unwrap() {
            Expr::Cast { data_type: named, .. } => data_type(&named).map(|t| t.to_string()),
            other => panic!("{other}"),
        };
        for (text, ty) in [
            ("int", "INTEGER"),
            ("bigint", "BIGINT"),
            ("double", "DOUBLE"),
            ("double precision", "DOUBLE"),
            ("varchar", "VARCHAR"),
            ("string", "VARCHAR"),
            ("decimal(15, 2)", "DECIMAL(15,2)"),
            ("timestamp", "TIMESTAMP"),
            ("date", "DATE"),
            ("float16", "FLOAT16"),
            ("hugeint", "HUGEINT"),
            ("uuid", "UUID"),
        ] {
            assert_eq!(named(text).unwrap(), ty, "{text}");
        }
        assert!(named("frob").unwrap_err().to_string().starts_with("unsupported: no such type"));
        assert!(named("decimal(50,2)").is_err());
        assert!(named("varchar(3)").is_err());
    }
}
