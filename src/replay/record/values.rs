//! Writes literals as Velox's JSON: `{"type": "BIGINT", "value": 7}`.

use format_text::base64;
use serde_json::{Value as Json, json};
use vector::{Error, Interval, Result, Timestamp, Type, Value};

/// Returns the literal of a value of type `ty`.
pub(super) fn value_json(value: &Value, ty: &Type) -> Result<Json> {
    if let Value::Timestamp(point) = value {
        let mut json = timestamp_json(*point);
        json["type"] = json!("TIMESTAMP");
        json["value"] = json!(-1);
        return Ok(json);
    }
    let text = || match value {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    };
    let (kind, value) = match (ty, value) {
        (ty, Value::Null) => (kind_of(ty)?, Json::Null),
        (_, Value::Boolean(v)) => ("BOOLEAN", json!(v)),
        (_, Value::TinyInt(v)) => ("TINYINT", json!(v)),
        (_, Value::SmallInt(v)) => ("SMALLINT", json!(v)),
        (_, Value::Integer(v)) => ("INTEGER", json!(v)),
        (_, Value::BigInt(v)) => ("BIGINT", json!(v)),
        (_, Value::HugeInt(v)) => ("HUGEINT", huge(*v)),
        (_, Value::Real(v)) => ("REAL", float(f64::from(*v))),
        (_, Value::Double(v)) => ("DOUBLE", float(*v)),
        (Type::Varchar, Value::Bytes(_)) => {
            let text = text().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            ("VARCHAR", json!(text))
        }
        (_, Value::Bytes(bytes)) => ("VARBINARY", json!(base64::encode(bytes))),
        (Type::Array(element), Value::Array(items)) => {
            let items = items.iter().map(|item| value_json(item, element));
            ("ARRAY", json!(items.collect::<Result<Vec<_>>>()?))
        }
        (Type::Map(key_type, value_type), Value::Map(entries)) => {
            let keys = entries.iter().map(|(key, _)| value_json(key, key_type));
            let values = entries.iter().map(|(_, value)| value_json(value, value_type));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            ("MAP", json!({"keys": keys, "values": values.collect::<Result<Vec<_>>>()?}))
        }
        (Type::Row(row), Value::Row(fields)) => {
            let fields = fields.iter().zip(row.types()).map(|(field, ty)| value_json(field, ty));
            ("ROW", json!(fields.collect::<Result<Vec<_>>>()?))
        }
        (ty, _) => {
            return Err(
                Error::unsupported("a literal that traces have no form for").with("type", ty)
            );
        }
    };
    Ok(json!({"type": kind, "value": value}))
}

/// Returns a timestamp inside of a filter or a literal.
pub(super) fn timestamp_json(point: Timestamp) -> Json {
    json!({"seconds": point.seconds(), "nanos": point.nanos()})
}

/// Returns the months or the milliseconds of an interval that has only one of them, and its type.
pub(super) fn interval_json(stored: i128) -> Result<(Json, Json)> {
    let interval = Interval::from_stored(stored);
    let millis = i64::from(interval.days) * 86_400_000 + i64::from(interval.millis);
    if interval.months == 0 {
        let ty = json!({"name": "IntervalDayTimeType", "type": "INTERVAL DAY TO SECOND"});
        return Ok((json!({"type": "BIGINT", "value": millis}), ty));
    }
    if millis == 0 {
        let ty = json!({"name": "IntervalYearMonthType", "type": "INTERVAL YEAR TO MONTH"});
        return Ok((json!({"type": "INTEGER", "value": interval.months}), ty));
    }
    Err(Error::unsupported("an interval of months and of days"))
}

fn kind_of(ty: &Type) -> Result<&'static str> {
    Ok(match ty.kind() {
        vector::TypeKind::Boolean => "BOOLEAN",
        vector::TypeKind::TinyInt => "TINYINT",
        vector::TypeKind::SmallInt => "SMALLINT",
        vector::TypeKind::Integer => "INTEGER",
        vector::TypeKind::BigInt => "BIGINT",
        vector::TypeKind::HugeInt => "HUGEINT",
        vector::TypeKind::Real => "REAL",
        vector::TypeKind::Double => "DOUBLE",
        vector::TypeKind::Varchar => "VARCHAR",
        vector::TypeKind::Varbinary => "VARBINARY",
        vector::TypeKind::Timestamp => "TIMESTAMP",
        vector::TypeKind::Array => "ARRAY",
        vector::TypeKind::Map => "MAP",
        vector::TypeKind::Row => "ROW",
        vector::TypeKind::Unknown => "UNKNOWN",
    })
}

/// Returns a number if it fits 64 bits, else decimal text.
fn huge(value: i128) -> Json {
    i64::try_from(value).map_or_else(|_| json!(value.to_string()), |value| json!(value))
}

/// Returns a number, or the name of a value that JSON numbers cannot represent.
pub(super) fn float(value: f64) -> Json {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}
