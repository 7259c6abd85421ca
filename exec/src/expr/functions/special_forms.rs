//! Special forms: they determine for which rows each argument is evaluated.
//!
//! The compiler expands BETWEEN, NULLIF and IN to simpler nodes, and `eval.rs` evaluates the others.

use vector::Type;

use crate::expr::coercion::{can_coerce, common_of};
use crate::expr::registry::{Form, Function};
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::form("between", &["(T, T, T) -> BOOLEAN for scalar T"], Form::Between),
    Function::form("in", &["(T, T, ...) -> BOOLEAN for scalar T"], Form::In),
    Function::form("and", &["(BOOLEAN, BOOLEAN, ...) -> BOOLEAN"], Form::And).with_rule(junction),
    Function::form("or", &["(BOOLEAN, BOOLEAN, ...) -> BOOLEAN"], Form::Or).with_rule(junction),
    Function::form("if", &["(BOOLEAN, T [, T]) -> T"], Form::Switch).with_rule(if_else),
    Function::form("switch", &["(BOOLEAN, T, [BOOLEAN, T, ...] [, T]) -> T"], Form::Switch)
        .with_rule(switch),
    Function::form("coalesce", &["(T, ...) -> T"], Form::Coalesce),
    Function::form("try", &["(T) -> T"], Form::Try),
    Function::form("nullif", &["(T, T) -> T for scalar T"], Form::NullIf),
];

/// Resolves one or more conditions.
fn junction(types: &[Type]) -> Option<Resolved> {
    let fits = !types.is_empty() && types.iter().all(|ty| can_coerce(ty, &Type::Boolean));
    fits.then(|| Resolved::new(vec![Type::Boolean; types.len()], Type::Boolean))
}

fn if_else(types: &[Type]) -> Option<Resolved> {
    if matches!(types.len(), 2 | 3) { switch(types) } else { None }
}

fn switch(types: &[Type]) -> Option<Resolved> {
    if types.len() < 2 {
        return None;
    }
    // Conditions are at even positions, except for a last argument that is the ELSE branch.
    let is_condition = |i: usize| i.is_multiple_of(2) && i + 1 < types.len();
    let mut branches = Vec::with_capacity(types.len());
    for (i, ty) in types.iter().enumerate() {
        if !is_condition(i) {
            branches.push(ty.clone());
        } else if !can_coerce(ty, &Type::Boolean) {
            return None;
        }
    }
    let common = common_of(&branches)?;
    let arg = |i| if is_condition(i) { Type::Boolean } else { common.clone() };
    Some(Resolved::new((0..types.len()).map(arg).collect(), common))
}
