//! What the front end asks of the engine's functions: types of aggregates, folding of constants.

use dwio::expr::TypedExpr;
use exec::expr::Resolved;
use vector::{Error, Result, Type, Value};

use super::literal;

/// The types of an aggregate.
pub(crate) fn resolve_aggregate(name: &str, args: &[Type]) -> Result<Resolved> {
    let result = match (name, args) {
        ("count", []) => Type::BigInt,
        ("count", [_]) => Type::BigInt,
        ("min" | "max", [ty]) => ty.clone(),
        ("sum", [ty]) if ty.is_integer() => Type::BigInt,
        ("sum", [Type::Decimal { scale, .. }]) => Type::Decimal { precision: 38, scale: *scale },
        ("sum" | "avg", [ty]) if ty.is_float() => Type::Double,
        ("avg", [ty]) if ty.is_integer() => Type::Double,
        ("avg", [ty @ Type::Decimal { .. }]) => ty.clone(),
        _ => {
            let given: Vec<String> = args.iter().map(ToString::to_string).collect();
            return Err(Error::invalid_input(
                "an aggregate does not take arguments of these types",
            )
            .with("name", name)
            .with("arguments", format!("({})", given.join(", "))));
        }
    };
    Ok(Resolved::new(args.to_vec(), result))
}

/// Computes an expression of constants.
pub(crate) fn fold_constant(expr: &TypedExpr) -> Result<TypedExpr> {
    if let TypedExpr::Cast { input, ty, .. } = expr
        && let TypedExpr::Constant { value, ty: from } = &**input
    {
        if value.is_null() {
            return Ok(TypedExpr::constant(Value::Null, ty.clone()));
        }
        if let Some(value) = literal::exact_as(value, from, ty) {
            return Ok(TypedExpr::constant(value, ty.clone()));
        }
        if let (Type::Double, Some(number)) = (ty, value.as_i128()) {
            let scale = if let Type::Decimal { scale, .. } = from { *scale } else { 0 };
            let number = number as f64 / 10f64.powi(scale.into());
            return Ok(TypedExpr::constant(Value::Double(number), Type::Double));
        }
    }
    Err(Error::unsupported("not folded").with("expression", expr))
}
