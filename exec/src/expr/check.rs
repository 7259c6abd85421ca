//! Validation of an expression without compiling it: columns, functions and the types of calls.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::compile::MAX_DEPTH;
use super::registry::FunctionRegistry;

/// Checks `exprs` over rows of `input`, and the bodies of lambdas over their own columns.
///
/// # Errors
/// `InvalidInput` for an unknown column or function, and for inconsistent types; `Limit` for an
/// expression that is nested too deeply.
pub(super) fn check(
    exprs: &[TypedExpr],
    input: &Arc<RowType>,
    registry: &FunctionRegistry,
) -> Result<()> {
    let (checker, columns) = (Checker { registry }, columns(input));
    exprs.iter().try_for_each(|expr| checker.expr(expr, &columns, 1))
}

type Columns<'a> = HashMap<&'a str, &'a Type>;

/// Returns the columns by name, where the first of several columns with one name counts.
fn columns(input: &RowType) -> Columns<'_> {
    let mut columns = Columns::new();
    for (name, ty) in input.fields() {
        columns.entry(name).or_insert(ty);
    }
    columns
}

struct Checker<'a> {
    registry: &'a FunctionRegistry,
}

impl Checker<'_> {
    fn expr(&self, root: &TypedExpr, columns: &Columns<'_>, depth: usize) -> Result<()> {
        let mut rest = vec![(root, depth)];
        while let Some((expr, depth)) = rest.pop() {
            if depth > MAX_DEPTH {
                return Err(Error::limit("an expression is nested too deep").with("max", MAX_DEPTH));
            }
            self.node(expr, columns, depth)?;
            rest.extend(expr.inputs().iter().map(|input| match is_flattened(expr, input) {
                true => (input, depth),
                false => (input, depth + 1),
            }));
        }
        Ok(())
    }

    fn node(&self, expr: &TypedExpr, columns_in: &Columns<'_>, depth: usize) -> Result<()> {
        match expr {
            TypedExpr::Field { name, ty } => match columns_in.get(&**name) {
                Some(found) if found.is_equivalent(ty) => Ok(()),
                found => {
                    let found = found.map_or("no such column".to_string(), ToString::to_string);
                    Err(Error::invalid_input("an expression uses a column its input has not")
                        .with("column", name)
                        .with("type", ty)
                        .with("found", found))
                }
            },
            TypedExpr::Constant { value, ty } if !value.fits(ty) => {
                Err(Error::invalid_input("a constant does not fit its type").with("type", ty))
            }
            TypedExpr::Call { name, args, ty } => {
                let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
                let resolved = self.registry.resolve(name, &types)?;
                if resolved.result.is_equivalent(ty) {
                    return Ok(());
                }
                Err(Error::invalid_input("a call was given another type than it has")
                    .with("name", name)
                    .with("given", ty)
                    .with("found", resolved.result))
            }
            TypedExpr::Dereference { input, index, ty } => {
                let field = input.ty().as_row().and_then(|row| row.types().get(*index));
                if field.is_some_and(|field| field.is_equivalent(ty)) {
                    return Ok(());
                }
                Err(Error::invalid_input("a struct has no such field")
                    .with("struct", input.ty())
                    .with("index", index))
            }
            TypedExpr::Lambda { columns: of_body, captures, body } => {
                let captured = of_body.types().iter().rev().zip(captures.iter().rev());
                for (ty, capture) in captured {
                    if !ty.is_equivalent(capture.ty()) {
                        return Err(Error::invalid_input("a lambda captures another type")
                            .with("captured", capture.ty())
                            .with("column", ty));
                    }
                }
                self.expr(body, &columns(of_body), depth + 1)
            }
            TypedExpr::Constant { .. } | TypedExpr::Cast { .. } => Ok(()),
        }
    }
}

/// Returns true for a conjunction directly within a conjunction, which the compiler flattens, and
/// likewise for disjunctions.
fn is_flattened(outer: &TypedExpr, inner: &TypedExpr) -> bool {
    match (outer, inner) {
        (TypedExpr::Call { name: outer, .. }, TypedExpr::Call { name: inner, .. }) => {
            outer == inner && matches!(&**outer, "and" | "or")
        }
        _ => false,
    }
}
