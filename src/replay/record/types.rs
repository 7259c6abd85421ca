//! Writes types as Velox's JSON.

use serde_json::{Value as Json, json};
use vector::{Error, Result, RowType, Type};

/// Returns the JSON of a type; `Unsupported` for types that Velox does not have.
pub(super) fn type_json(ty: &Type) -> Result<Json> {
    let plain = |kind: &str| json!({"name": "Type", "type": kind});
    Ok(match ty {
        Type::Boolean => plain("BOOLEAN"),
        Type::TinyInt => plain("TINYINT"),
        Type::SmallInt => plain("SMALLINT"),
        Type::Integer => plain("INTEGER"),
        Type::BigInt => plain("BIGINT"),
        Type::HugeInt => plain("HUGEINT"),
        Type::Real => plain("REAL"),
        Type::Double => plain("DOUBLE"),
        Type::Varchar => plain("VARCHAR"),
        Type::Varbinary => plain("VARBINARY"),
        Type::Timestamp => plain("TIMESTAMP"),
        Type::Unknown => plain("UNKNOWN"),
        Type::Date => json!({"name": "DateType", "type": "DATE"}),
        Type::Decimal { precision, scale } => {
            json!({"name": "Type", "type": "DECIMAL", "precision": precision, "scale": scale})
        }
        Type::Array(element) => {
            json!({"name": "Type", "type": "ARRAY", "cTypes": [type_json(element)?]})
        }
        Type::Map(key, value) => {
            let children = [type_json(key)?, type_json(value)?];
            json!({"name": "Type", "type": "MAP", "cTypes": children})
        }
        Type::Row(row) => row_json(row)?,
        Type::Float16 | Type::Time(_) | Type::Interval | Type::Uuid => {
            return Err(Error::unsupported("a type that traces have no form for").with("type", ty));
        }
    })
}

/// Returns the JSON of a row type.
pub(super) fn row_json(row: &RowType) -> Result<Json> {
    let children = row.types().iter().map(type_json).collect::<Result<Vec<_>>>()?;
    Ok(json!({"name": "Type", "type": "ROW", "names": row.names(), "cTypes": children}))
}

/// Returns the JSON of a function type.
pub(super) fn function_json(parameters: &RowType, result: &Type) -> Result<Json> {
    let mut children = parameters.types().iter().map(type_json).collect::<Result<Vec<_>>>()?;
    children.push(type_json(result)?);
    Ok(json!({"name": "Type", "type": "FUNCTION", "cTypes": children}))
}
