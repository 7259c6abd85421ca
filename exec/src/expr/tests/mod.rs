//! Tests of expressions by behaviour, and helpers to write expressions.
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | a model that evaluates expressions for one row |
//! | `properties.rs` | random columns with random encodings against the model |
//! | `forms.rs` | AND, OR, CASE, COALESCE: truth tables, lazy evaluation, errors |
//! | `failures.rs` | errors of single rows against individual evaluation |
//! | `functions.rs` | each function by examples |
//! | `arrays.rs` | functions of arrays against loops over values |
//! | `lambdas.rs` | higher-order functions |
//! | `casts.rs` | tables of casts |
//! | `edges.rs` | all functions and casts at the limits of types, for overflows |
//! | `registered.rs` | functions with state that an embedder registers |
//! | `sharing.rs` | shared evaluation: equal subtrees, dictionaries, constants |

mod arrays;
mod built;
mod casts;
mod edges;
mod failures;
mod forms;
mod functions;
mod lambdas;
mod model;
mod properties;
mod registered;
mod sharing;

use super::*;
use vector::Type;
use vector::testing::{batch_of, values_of};

fn column(name: &str, ty: Type) -> TypedExpr {
    TypedExpr::field(name, ty)
}

fn bigint(value: i64) -> TypedExpr {
    TypedExpr::constant(Value::BigInt(value), Type::BigInt)
}

fn double(value: f64) -> TypedExpr {
    TypedExpr::constant(Value::Double(value), Type::Double)
}

fn boolean(value: bool) -> TypedExpr {
    TypedExpr::constant(Value::Boolean(value), Type::Boolean)
}

fn varchar(value: &str) -> TypedExpr {
    TypedExpr::constant(Value::bytes(value), Type::Varchar)
}

fn decimal(unscaled: i64, precision: u8, scale: u8) -> TypedExpr {
    let ty = Type::decimal(precision, scale).unwrap();
    let value = match ty.kind() {
        vector::TypeKind::BigInt => Value::BigInt(unscaled),
        _ => Value::HugeInt(unscaled.into()),
    };
    TypedExpr::constant(value, ty)
}

fn null(ty: Type) -> TypedExpr {
    TypedExpr::constant(Value::Null, ty)
}

/// Returns a call with the type that the registry resolves.
#[track_caller]
fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
    let resolved = FunctionRegistry::builtin().resolve(name, &types).unwrap();
    TypedExpr::call(name, args, resolved.result)
}

/// Returns the values of an expression for the selected rows of a batch, and nulls elsewhere.
fn evaluate_rows(
    expr: &TypedExpr,
    batch: &RowVector,
    rows: &SelectivityVector,
) -> Result<Vec<Value>> {
    let registry = FunctionRegistry::builtin();
    let mut set = ExprSet::compile(std::slice::from_ref(expr), batch.row_type(), &registry)?;
    let vectors = ExprSet::evaluate(&mut set, batch, rows)?;
    assert_eq!(vectors.len(), 1);
    assert_eq!(vectors[0].len(), batch.len());
    assert!(vectors[0].ty().is_equivalent(expr.ty()), "{} is no {}", vectors[0].ty(), expr.ty());
    let values = values_of(&vectors[0]).into_iter().enumerate();
    Ok(values.map(|(i, v)| if rows.contains(i) { v } else { Value::Null }).collect())
}

fn evaluate(expr: &TypedExpr, batch: &RowVector) -> Result<Vec<Value>> {
    evaluate_rows(expr, batch, &SelectivityVector::all(batch.len()))
}

/// Returns the value of an expression without columns.
fn value(expr: &TypedExpr) -> Result<Value> {
    let batch = RowVector::batch(Arc::new(RowType::empty()), 1, vec![]).unwrap();
    evaluate(expr, &batch).map(|mut values| values.remove(0))
}

#[track_caller]
fn assert_value(expr: TypedExpr, expected: Value) {
    let found = value(&expr).unwrap();
    let same_kind = std::mem::discriminant(&found) == std::mem::discriminant(&expected);
    assert!(same_kind && found == expected, "{expr}: {found:?}, expected {expected:?}");
}

#[track_caller]
fn assert_error(expr: TypedExpr, expected: &str) {
    let error = value(&expr).unwrap_err();
    assert_eq!(error.kind(), vector::ErrorKind::InvalidInput, "{error}");
    let text = error.to_string();
    assert_eq!(text.lines().next().unwrap(), format!("invalid input: {expected}"), "{expr}");
}
