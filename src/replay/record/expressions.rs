//! Writes expressions as Velox's JSON, with its function names.

use dwio::expr::TypedExpr;
use serde_json::{Value as Json, json};
use vector::{Error, Result, RowType, Type, Value};

use super::types::{function_json, row_json, type_json};
use super::values::{interval_json, value_json};

/// Returns the JSON of an expression.
pub(super) fn expr_json(expr: &TypedExpr) -> Result<Json> {
    Ok(match expr {
        TypedExpr::Field { name, ty } => field_json(name, ty)?,
        TypedExpr::Constant { value: Value::HugeInt(stored), ty: Type::Interval } => {
            let (value, ty) = interval_json(*stored)?;
            json!({"name": "ConstantTypedExpr", "type": ty, "value": value})
        }
        TypedExpr::Constant { value, ty } => {
            let value = value_json(value, ty)?;
            json!({"name": "ConstantTypedExpr", "type": type_json(ty)?, "value": value})
        }
        TypedExpr::Cast { input, ty, try_cast } => json!({
            "name": "CastTypedExpr", "type": type_json(ty)?, "inputs": [expr_json(input)?],
            "nullOnFailure": try_cast, "isTryCast": try_cast,
        }),
        TypedExpr::Dereference { input, index, ty } => json!({
            "name": "DereferenceTypedExpr", "type": type_json(ty)?, "inputs": [expr_json(input)?],
            "fieldIndex": index,
        }),
        TypedExpr::Lambda { columns, captures, body } => {
            let num_parameters = columns.len().saturating_sub(captures.len());
            let parameters = columns.fields().take(num_parameters);
            let parameters: RowType =
                RowType::new(parameters.map(|(name, ty)| (name, ty.clone())).collect::<Vec<_>>());
            json!({
                "name": "LambdaTypedExpr", "type": function_json(&parameters, body.ty())?,
                "signature": row_json(&parameters)?, "body": expr_json(body)?,
            })
        }
        TypedExpr::Call { name, args, ty } => call_json(name, args, ty)?,
    })
}

/// Returns the JSON of a column.
pub(super) fn field_json(name: &str, ty: &Type) -> Result<Json> {
    Ok(json!({"name": "FieldAccessTypedExpr", "type": type_json(ty)?, "fieldName": name}))
}

fn call_json(name: &str, args: &[TypedExpr], ty: &Type) -> Result<Json> {
    let name = match (name, args) {
        ("modulus", _) => "mod",
        ("substring", _) => "substr",
        ("ceiling", _) => "ceil",
        ("row_constructor", _) => {
            let inputs = args.iter().map(expr_json).collect::<Result<Vec<_>>>()?;
            return Ok(json!({"name": "ConcatTypedExpr", "type": type_json(ty)?,
                "inputs": inputs}));
        }
        ("in", [value, members @ ..]) => {
            return call("in", &[expr_json(value)?, list_json(value.ty(), members)?], ty);
        }
        ("nullif", [value, other]) => {
            let same = call("eq", &[expr_json(value)?, expr_json(other)?], &Type::Boolean)?;
            let null = expr_json(&TypedExpr::constant(Value::Null, ty.clone()))?;
            return call("if", &[same, null, expr_json(value)?], ty);
        }
        (name, _) => name,
    };
    let inputs = args.iter().map(expr_json).collect::<Result<Vec<_>>>()?;
    call(name, &inputs, ty)
}

fn call(name: &str, inputs: &[Json], ty: &Type) -> Result<Json> {
    Ok(json!({"name": "CallTypedExpr", "type": type_json(ty)?, "functionName": name,
        "inputs": inputs}))
}

/// Returns the members of IN as one list literal.
fn list_json(ty: &Type, members: &[TypedExpr]) -> Result<Json> {
    let value_of = |member: &TypedExpr| match member {
        TypedExpr::Constant { value, ty: own } if own.is_equivalent(ty) || value.is_null() => {
            Ok(value.clone())
        }
        other => Err(Error::unsupported("IN with members that are no literals of its type")
            .with("member", other)),
    };
    let values = members.iter().map(value_of).collect::<Result<Vec<_>>>()?;
    let list = TypedExpr::constant(Value::Array(values.into()), Type::array(ty.clone()));
    expr_json(&list)
}
