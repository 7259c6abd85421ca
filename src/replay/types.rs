//! Reads types from plan JSON: `{"name": "Type", "type": "ARRAY", "cTypes": [...]}`.

use vector::sync::Arc;
use vector::{Result, RowType, TimeUnit, Type};

use super::json::Json;

/// Reads a type.
pub(super) fn read_type(json: &Json<'_>) -> Result<Type> {
    if let Some(reference) = json.optional("ref")? {
        return Err(reference.refuse("a reference into a cache of types"));
    }
    let kind = json.member("type")?;
    Ok(match kind.text()? {
        "BOOLEAN" => Type::Boolean,
        "TINYINT" => Type::TinyInt,
        "SMALLINT" => Type::SmallInt,
        "INTEGER" => Type::Integer,
        "BIGINT" => Type::BigInt,
        "HUGEINT" => Type::HugeInt,
        "REAL" => Type::Real,
        "DOUBLE" => Type::Double,
        "VARCHAR" => Type::Varchar,
        "VARBINARY" => Type::Varbinary,
        "TIMESTAMP" | "TIMESTAMP UTC" => Type::Timestamp,
        "UNKNOWN" => Type::Unknown,
        "DATE" => Type::Date,
        "TIME" => Type::Time(TimeUnit::Millis),
        "INTERVAL DAY TO SECOND" | "INTERVAL YEAR TO MONTH" => Type::Interval,
        "DECIMAL" => {
            let (precision, scale) = (json.member("precision")?, json.member("scale")?);
            json.check(Type::decimal(precision.integer()?, scale.integer()?))?
        }
        "ARRAY" => {
            let [element] = children(json, "one element type")?;
            Type::array(element)
        }
        "MAP" => {
            let [key, value] = children(json, "a key type and a value type")?;
            Type::map(key, value)
        }
        "ROW" => Type::Row(Arc::new(read_row(json)?)),
        _ => return Err(kind.refuse("a type that is not built")),
    })
}

fn children<const N: usize>(json: &Json<'_>, expected: &'static str) -> Result<[Type; N]> {
    let children = json.member("cTypes")?;
    let types = children.elements()?.iter().map(read_type).collect::<Result<Vec<_>>>()?;
    types.try_into().map_err(|_| children.wrong(expected))
}

/// Reads a type that must be a ROW.
pub(super) fn read_row_type(json: &Json<'_>) -> Result<Arc<RowType>> {
    match read_type(json)? {
        Type::Row(row) => Ok(row),
        _ => Err(json.wrong("a ROW type")),
    }
}

fn read_row(json: &Json<'_>) -> Result<RowType> {
    let names = json.optional_elements("names")?;
    let types = json.optional_elements("cTypes")?;
    if names.len() != types.len() {
        return Err(json.wrong("as many names as types"));
    }
    let fields = names.iter().zip(&types).map(|(name, ty)| Ok((name.text()?, read_type(ty)?)));
    Ok(RowType::new(fields.collect::<Result<Vec<_>>>()?))
}
