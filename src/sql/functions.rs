//! What the front end asks of the engine's functions beyond their types.

use dwio::expr::TypedExpr;
use exec::expr::{FunctionRegistry, fold_constant};
use vector::Value;

/// The value of an expression of constants as a constant. What cannot be computed stays as it is:
/// it may never be needed (`IF(false, 1 / 0, 2)`), and fails when it is.
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
