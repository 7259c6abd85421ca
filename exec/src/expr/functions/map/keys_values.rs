//! `map_keys` and `map_values`: the keys and the values of maps as arrays.

use vector::sync::Arc;
use vector::{ArrayVector, Result, Type, Vector};

use crate::expr::functions::nested::constructors::placed;
use crate::expr::kernel::{Argument, Call, Kernel, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("map_keys", &["(MAP(K,V)) -> ARRAY(K)"], map_keys).with_rule(keys),
    Function::scalar("map_values", &["(MAP(K,V)) -> ARRAY(V)"], map_values).with_rule(values),
];

fn keys(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(key, _)] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Array(Arc::clone(key))))
}

fn values(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(_, value)] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Array(Arc::clone(value))))
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
