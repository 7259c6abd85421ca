//! Constructors of structs and arrays.

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    Buffer, DecodedVector, DictionaryVector, Mapping, Result, RowVector, Type, Value, Vector,
    VectorBuilder, VectorRef,
};

use crate::expr::by_row::ROWS_PER_LOOK;
use crate::expr::coercion::common_of;
use crate::expr::kernel::{Argument, Kernel, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("row_constructor", &["(T, ...) -> ROW"], row_constructor)
        .with_rule(row_of_any),
    Function::scalar("array_constructor", &["(T, ...) -> ARRAY(T)"], array_constructor)
        .with_rule(array_of_one_type),
];

/// Resolves arguments of any types to a struct of them, with fields without names.
fn row_of_any(types: &[Type]) -> Option<Resolved> {
    let row = Type::row(types.iter().map(|ty| ("", ty.clone())));
    (!types.is_empty()).then(|| Resolved::new(types.to_vec(), row))
}

/// Resolves arguments of one common type to an array of them.
fn array_of_one_type(types: &[Type]) -> Option<Resolved> {
    let common = common_of(types)?;
    Some(Resolved::new(vec![common.clone(); types.len()], Type::array(common)))
}

/// Returns a struct of the arguments, which is never null itself.
fn row_constructor(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| {
        let row_type = call.ty.as_row().ok_or_else(|| wrong_storage(call.ty))?;
        let children = call.args.iter().map(rewrapped).collect();
        RowVector::new(Arc::clone(row_type), call.num_rows(), None, children).map(Vector::Row)
    }))
}

/// Returns an array of the arguments, which is never null itself.
fn array_constructor(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| {
        let mut out = VectorBuilder::new(call.ty.clone());
        let mut tick = StopTick::every(ROWS_PER_LOOK);
        for row in 0..call.num_rows() {
            tick.row()?;
            if call.rows.contains(row) {
                let items = call.args.iter().map(|arg| arg.value(row));
                out.push(&Value::Array(items.collect::<Result<Vec<_>>>()?.into()))?;
            } else {
                out.push_null();
            }
        }
        Ok(Arc::unwrap_or_clone(out.finish()?))
    }))
}

/// Returns an argument as a vector.
pub(in crate::expr) fn rewrapped(argument: &DecodedVector) -> VectorRef {
    placed(Arc::clone(argument.base()), argument)
}

/// Returns `base` with the mapping and the nulls of an argument, in place of the argument's own
/// base.
pub(in crate::expr) fn placed(base: VectorRef, argument: &DecodedVector) -> VectorRef {
    if matches!(argument.mapping(), Mapping::Identity) && base.len() == argument.len() {
        return base;
    }
    let indices: Buffer<u32> = (0..argument.len()).map(|row| argument.index(row) as u32).collect();
    let validity = argument.validity().cloned();
    Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(base, indices, validity)))
}
