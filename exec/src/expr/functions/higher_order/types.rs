//! Typing rules of higher-order functions, in which the type of a lambda is the type of its result.

use vector::sync::Arc;
use vector::{Error, Result, Type};

use crate::expr::coercion::can_coerce;
use crate::expr::registry::HigherOrder;
use crate::expr::typing::Resolved;

/// Returns true when a lambda returns BOOLEAN, or a type that converts to it.
fn is_test(ty: &Type) -> bool {
    can_coerce(ty, &Type::Boolean)
}

pub(in crate::expr) fn transform(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(_), result] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::array(result.clone())))
}

pub(in crate::expr) fn filter(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![array.clone(), Type::Boolean], array.clone()))
}

pub(in crate::expr) fn matches(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![array.clone(), Type::Boolean], Type::Boolean))
}

pub(in crate::expr) fn map_filter(types: &[Type]) -> Option<Resolved> {
    let [map @ Type::Map(..), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![map.clone(), Type::Boolean], map.clone()))
}

pub(in crate::expr) fn transform_keys(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(_, value), key] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Map(Arc::new(key.clone()), Arc::clone(value))))
}

pub(in crate::expr) fn transform_values(types: &[Type]) -> Option<Resolved> {
    let [Type::Map(key, _), value] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::Map(Arc::clone(key), Arc::new(value.clone()))))
}

pub(in crate::expr) fn zip_with(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(_), Type::Array(_), result] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::array(result.clone())))
}

/// The state has the result type of the first lambda, because that lambda takes and returns the
/// state.
pub(in crate::expr) fn reduce(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), state, next, result] = types else { return None };
    let args = vec![array.clone(), next.clone(), next.clone(), result.clone()];
    can_coerce(state, next).then(|| Resolved::new(args, result.clone()))
}

/// Returns the parameter types of each lambda of a function, given the types of the other
/// arguments.
pub(super) fn parameters(function: HigherOrder, args: &[&Type]) -> Result<Vec<Vec<Type>>> {
    use HigherOrder as F;
    Ok(match (function, args) {
        (
            F::Transform | F::Filter | F::AnyMatch | F::AllMatch | F::NoneMatch,
            [Type::Array(element)],
        ) => vec![vec![(**element).clone()]],
        (F::MapFilter | F::TransformKeys | F::TransformValues, [Type::Map(key, value)]) => {
            vec![vec![(**key).clone(), (**value).clone()]]
        }
        (F::ZipWith, [Type::Array(left), Type::Array(right)]) => {
            vec![vec![(**left).clone(), (**right).clone()]]
        }
        (F::Reduce, [Type::Array(element), state]) => {
            let state = (*state).clone();
            vec![vec![state.clone(), (**element).clone()], vec![state]]
        }
        _ => {
            return Err(Error::invalid_input("a function takes lambdas behind other arguments")
                .with("arguments", args.len()));
        }
    })
}
