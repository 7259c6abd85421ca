//! Constructors of structs and arrays, and functions of the contents of arrays and maps.

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    ArrayVector, BitmapMut, Buffer, DecodedVector, DictionaryVector, Error, FlatVector, Mapping,
    Result, RowVector, Type, Value, Vector, VectorBuilder, VectorRef, equal_rows,
};

use crate::expr::by_row::ROWS_PER_LOOK;
use crate::expr::coercion::common_type;
use crate::expr::kernel::{Argument, Call, Kernel, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("contains", &["(ARRAY(T), T) -> BOOLEAN"], contains).with_rule(member),
    Function::scalar("map_keys", &["(MAP(K,V)) -> ARRAY(K)"], map_keys).with_rule(keys),
    Function::scalar("map_values", &["(MAP(K,V)) -> ARRAY(V)"], map_values).with_rule(values),
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
    let (first, rest) = types.split_first()?;
    let common = rest.iter().try_fold(first.clone(), |common, ty| common_type(&common, ty))?;
    Some(Resolved::new(vec![common.clone(); types.len()], Type::array(common)))
}

/// Resolves an array and a value of the common type of its elements.
fn member(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(element), wanted] = types else { return None };
    let common = common_type(element, wanted)?;
    let args = vec![Type::array(common.clone()), common];
    Some(Resolved::new(args, Type::Boolean))
}

pub(in crate::expr) fn keys(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(key, _)] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Array(Arc::clone(key))))
}

pub(in crate::expr) fn values(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(_, value)] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Array(Arc::clone(value))))
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

/// Returns true when an element equals the value; null when none does and an element is null.
pub(in crate::expr) fn contains(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let [container, wanted] = call.args else {
            return Err(Error::internal("contains has two arguments"));
        };
        let Vector::Array(array) = container.base().as_ref() else {
            return Err(wrong_storage(container.ty()));
        };
        let elements = DecodedVector::new(array.elements())?;
        let (mut found, mut known) = (BitmapMut::new(), BitmapMut::new());
        let mut tick = StopTick::every(ROWS_PER_LOOK);
        for row in 0..call.num_rows() {
            tick.row()?;
            let (mut is_found, mut has_null) = (false, false);
            if call.rows.contains(row) {
                for at in array.span(container.index(row)) {
                    if elements.is_null(at) {
                        has_null = true;
                    } else if equal_rows(&elements, at, wanted, row)? {
                        is_found = true;
                        break;
                    }
                }
            }
            found.push(is_found);
            known.push(call.rows.contains(row) && (is_found || !has_null));
        }
        FlatVector::boolean(found.freeze(), known.freeze_validity()).map(Vector::Flat)
    }))
}

fn map_keys(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| entries(call, true)))
}

fn map_values(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| entries(call, false)))
}

/// Returns the keys or values of each map as arrays over the same entries.
fn entries(call: &Call<'_>, are_keys: bool) -> Result<Vector> {
    let argument = &call.args[0];
    let Vector::Map(map) = argument.base().as_ref() else {
        return Err(wrong_storage(argument.ty()));
    };
    let side = if are_keys { map.keys() } else { map.values() };
    let (offsets, lengths) = (map.offsets().clone(), map.lengths().clone());
    let array = ArrayVector::new(offsets, lengths, map.validity().cloned(), Arc::clone(side))?;
    Ok(Arc::unwrap_or_clone(placed(Arc::new(Vector::Array(array)), argument)))
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
