//! Literals: `{"type": "BIGINT", "value": 7}`, read as values of the type that the plan gives.

use vector::{Error, Interval, Result, Timestamp, Type, TypeKind, Value};

use super::json::Json;
use connector_hive::base64;

const MILLIS_PER_DAY: u64 = 86_400_000;

/// Reads a literal of type `ty`.
pub(super) fn read_value(json: &Json<'_>, ty: &Type) -> Result<Value> {
    let Some(value) = json.optional("value")? else { return Ok(Value::Null) };
    if *ty == Type::Interval {
        let are_months = json.member("type")?.text()? == "INTEGER";
        let interval = value.check(interval(value.integer()?, are_months))?;
        return Ok(Value::HugeInt(interval.to_stored()));
    }
    Ok(match ty.kind() {
        TypeKind::Boolean => Value::Boolean(value.boolean()?),
        TypeKind::TinyInt => Value::TinyInt(value.integer()?),
        TypeKind::SmallInt => Value::SmallInt(value.integer()?),
        TypeKind::Integer => Value::Integer(value.integer()?),
        TypeKind::BigInt => Value::BigInt(value.integer()?),
        TypeKind::HugeInt => Value::HugeInt(value.huge_integer()?),
        TypeKind::Real => Value::Real(value.float()? as f32),
        TypeKind::Double => Value::Double(value.float()?),
        TypeKind::Varchar => Value::bytes(value.text()?),
        TypeKind::Varbinary => {
            let bytes = base64::decode(value.text()?);
            Value::bytes(bytes.ok_or_else(|| value.wrong("base64"))?)
        }
        TypeKind::Timestamp => Value::Timestamp(read_timestamp(json)?),
        TypeKind::Array | TypeKind::Map | TypeKind::Row => nested(&value, ty)?,
        TypeKind::Unknown => return Err(value.wrong("null")),
    })
}

/// Reads the members `seconds` and `nanos`.
pub(super) fn read_timestamp(json: &Json<'_>) -> Result<Timestamp> {
    let seconds = json.member("seconds")?.integer()?;
    Ok(Timestamp::new(seconds, json.member("nanos")?.integer()?))
}

fn nested(json: &Json<'_>, ty: &Type) -> Result<Value> {
    match ty {
        Type::Array(element) => {
            let elements = json.elements()?;
            Ok(Value::Array(
                elements.iter().map(|e| read_value(e, element)).collect::<Result<_>>()?,
            ))
        }
        Type::Map(key, value) => {
            let (keys, values) = (json.member("keys")?, json.member("values")?);
            let (keys, values) = (keys.elements()?, values.elements()?);
            if keys.len() != values.len() {
                return Err(json.wrong("as many keys as values"));
            }
            let entries = keys.iter().zip(&values);
            let entries = entries.map(|(k, v)| Ok((read_value(k, key)?, read_value(v, value)?)));
            Ok(Value::Map(entries.collect::<Result<_>>()?))
        }
        Type::Row(row) => {
            let fields = json.elements()?;
            if fields.len() != row.len() {
                return Err(json.wrong("as many values as the struct has fields"));
            }
            let fields = fields.iter().zip(row.types()).map(|(f, ty)| read_value(f, ty));
            Ok(Value::Row(fields.collect::<Result<_>>()?))
        }
        _ => Err(json.wrong("a nested value")),
    }
}

/// An interval of months, or of milliseconds.
pub(super) fn interval(amount: i64, are_months: bool) -> Result<Interval> {
    let too_long = || Error::unsupported("an interval that is negative or too long");
    let amount: u64 = amount.try_into().map_err(|_| too_long())?;
    let part = |amount: u64| u32::try_from(amount).map_err(|_| too_long());
    Ok(if are_months {
        Interval { months: part(amount)?, days: 0, millis: 0 }
    } else {
        Interval {
            months: 0,
            days: part(amount / MILLIS_PER_DAY)?,
            millis: part(amount % MILLIS_PER_DAY)?,
        }
    })
}
