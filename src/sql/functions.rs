//! Properties of the engine's functions that the front end uses beside their types.

use dwio::expr::TypedExpr;
use exec::expr::{FunctionRegistry, fold_constant};
use vector::Value;

/// Evaluates an expression of constants and returns the result as a constant. An expression whose
/// evaluation fails is returned unchanged: it may never be needed (`IF(false, 1 / 0, 2)`), and
/// fails at run time if it is.
pub(crate) fn folded(expr: TypedExpr, functions: &FunctionRegistry) -> TypedExpr {
    if let TypedExpr::Cast { input, ty, .. } = &expr
        && matches!(&**input, TypedExpr::Constant { value: Value::Null, .. })
    {
        return TypedExpr::constant(Value::Null, ty.clone());
    }
    match fold_constant(&expr, functions) {
        Some(value) => TypedExpr::constant(value, expr.ty().clone()),
        None => expr,
    }
}
